"""Arrays of the GPU: those of callers, of other libraries, and what is done to them between compiled functions."""
