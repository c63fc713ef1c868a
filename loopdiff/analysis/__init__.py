"""What holds of a LoopSet, proved: dependences, bounds, exposed reads, activity; values, never stored on nodes."""
