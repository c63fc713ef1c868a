"""From a LoopSet to an equal one that runs faster, or that a later step can read; and the schedule of its loops."""
