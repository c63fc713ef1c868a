"""LoopSets as CUDA kernels, and as the same kernels on the CPU, block by block and thread by thread."""
