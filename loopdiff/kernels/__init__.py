"""Operators that people would otherwise write by hand, as loops that read like their definitions.

Each is a plain Python function over NumPy arrays, which decorated functions may call, with the forms that `Operator`
names: NumPy arrays in and out, derivatives of any kind, JAX, PyTorch.
"""

from loopdiff.kernels.operator import Operator, operator

ROOMS = ("nn", "probability", "science", "encodings", "networks")  # imported by whoever uses them

__all__ = ["ROOMS", "Operator", "operator"]
