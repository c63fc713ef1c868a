"""Numba's compiler for generated functions: from their syntax trees to LLVM in two walks, without Numba's own IR.

Numba reads bytecode, infers types to a fixed point and brings variables into single assignment; for functions of some
hundred lines that takes longer than LLVM does. Generated source needs none of it: it is a small part of Python, every
variable has one type where it is read, and loops are ranges. What the walks do not know (`Unknown`) is left to Numba's
own passes. Operators, functions and arrays are typed and lowered by Numba's code either way.
"""

from loopdiff.backends.cpu import wide_division

from .passes import Direct, DirectOnce, compile_part

wide_division.provide()

__all__ = ["Direct", "DirectOnce", "compile_part"]
