"""What loops can become, as values: vectors, register tiles, chunks for threads, grids and kernels of a GPU."""
