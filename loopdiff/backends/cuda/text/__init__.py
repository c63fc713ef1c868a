"""The text of kernels and of the host functions that launch them, for GPUs and for their emulation."""
