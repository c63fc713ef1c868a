"""From LoopSets to compiled functions."""
