"""The loop IR: nodes, types, printing, checking, and an interpreter that says what a LoopSet means."""
