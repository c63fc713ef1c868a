"""PyTorch through `torch.compile`, where the program is small enough for it.

Loops over time are unrolled by its tracer: a kernel with more than some hundred steps is left to eager PyTorch.
"""

from __future__ import annotations

from kernels import Problem

from peers import Gradient
from peers.torch_eager import prepared

TITLE = "torch.compile"
NEEDS = ("torch",)
UNROLLED = {"seidel_2d", "durbin", "lstm_diag", "nussinov_real", "jacobi_2d", "nbody", "fdtd_2d", "vadv", "hash_grid"}


def gradient(problem: Problem) -> Gradient | None:
    return None if problem.name in UNROLLED else prepared(problem, compile_loss=True)
