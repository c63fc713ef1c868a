"""The CPU: Python source over SIMD operations, compiled by Numba."""
