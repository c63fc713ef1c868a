"""DaCe's automatic differentiation: the loops with slices, as its own benchmarks have them, compiled by a C++ compiler.

Its backward pass starts from one number, so the weighted sum of the outputs is part of the program. Building takes half
a minute per kernel and is kept on disk.
"""

# pyright: reportInvalidTypeForm=false, reportGeneralTypeIssues=false
# Without postponed annotations: DaCe reads the types of parameters from them.
import importlib
import os
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np
from kernels import Problem

from peers import Gradient

TITLE = "DaCe"
NEEDS = ("dace",)


def jacobi_2d(dace: Any, T: int, N: int) -> Any:
    @dace.program
    def program(
        A: dace.float64[N, N], B: dace.float64[N, N], wA: dace.float64[N, N], wB: dace.float64[N, N],
        S: dace.float64[1],
    ):  # fmt: skip
        for t in range(1, T):
            B[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])
            A[1:-1, 1:-1] = 0.2 * (B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1])
        S[0] = np.sum(A * wA + B * wB)

    return program


def seidel_2d(dace: Any, T: int, N: int) -> Any:
    @dace.program
    def program(A: dace.float64[N, N], wA: dace.float64[N, N], S: dace.float64[1]):
        for t in range(T - 1):
            for i in range(1, N - 1):
                for j in range(1, N - 1):
                    A[i, j] = (
                        A[i - 1, j - 1] + A[i - 1, j] + A[i - 1, j + 1] + A[i, j - 1] + A[i, j] + A[i, j + 1]
                        + A[i + 1, j - 1] + A[i + 1, j] + A[i + 1, j + 1]
                    ) / 9.0  # fmt: skip
        S[0] = np.sum(A * wA)

    return program


PROGRAMS: dict[str, Callable[[Any, int, int], Any]] = {"jacobi_2d": jacobi_2d, "seidel_2d": seidel_2d}


def gradient(problem: Problem) -> Gradient | None:
    if problem.name not in PROGRAMS or problem.dtype != "float64":
        return None
    dace: Any = importlib.import_module("dace")
    folder = os.path.join(tempfile.gettempdir(), "loopdiff-bench-dace")
    dace.Config.set("default_build_folder", value=folder)
    dace.Config.set("cache", value="unique")
    first = problem.initial
    sdfg = PROGRAMS[problem.name](dace, first["T"], first["A"].shape[0]).to_sdfg()
    importlib.import_module("dace.autodiff").add_backward_pass(sdfg=sdfg, inputs=list(problem.wrt), outputs=["S"])
    run = sdfg.compile()
    state = {name: first[name].copy() for name in problem.wrt}
    weights = {f"w{name}": w for name, w in problem.weight.items()}
    slopes = {f"gradient_{name}": np.zeros_like(first[name]) for name in problem.wrt}
    total, seed = np.zeros(1), np.ones(1)

    def call() -> tuple[Any, dict[str, Any]]:
        for name, array in state.items():
            np.copyto(array, first[name])
        for array in slopes.values():
            array.fill(0.0)
        seed[0] = 1.0
        run(**state, **weights, **slopes, S=total, gradient_S=seed)
        return total, {name: slopes[f"gradient_{name}"] for name in problem.wrt}

    return call
