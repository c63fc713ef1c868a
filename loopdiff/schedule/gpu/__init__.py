"""Schedules for GPUs: kernels, their threads, warps and tiles."""
