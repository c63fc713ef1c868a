"""Memory outside of compiled code: arenas, recycled gradients, arrays of GPUs, and whether they were changed."""
