"""The canonical form of LoopSets and the rewritings into it: derivations begin and end with it."""
