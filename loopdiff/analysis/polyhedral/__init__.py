"""The integer-set model of a LoopSet: which instance of which statement touches which element, and in what order."""
