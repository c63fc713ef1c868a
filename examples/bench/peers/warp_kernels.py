"""Warp: one kernel launch per nest, a tape of launches, every array written once.

Warp differentiates loops inside a kernel only where their bodies do not read what an earlier iteration wrote, so the
kernels here are those whose nests it can launch over a grid: time steps get arrays of their own.
"""

# pyright: reportInvalidTypeForm=false
# Annotations are values here: Warp reads the types of arrays from them.
from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from kernels import Problem

from peers import Gradient, device

TITLE = "Warp"
NEEDS = ("warp",)

wp: Any = importlib.import_module("warp")
wp.config.quiet = True
f64 = wp.float64
Matrix, Vector, Block, Indices = (
    wp.array2d(dtype=f64), wp.array(dtype=f64), wp.array3d(dtype=f64), wp.array(dtype=wp.int64),
)  # fmt: skip


@wp.kernel
def five_points(source: Matrix, before: Matrix, target: Matrix):
    i, j = wp.tid()
    if i > 0 and j > 0 and i < source.shape[0] - 1 and j < source.shape[1] - 1:
        cross = source[i, j] + source[i, j - 1] + source[i, j + 1] + source[i + 1, j] + source[i - 1, j]
        target[i, j] = f64(0.2) * cross
    else:
        target[i, j] = before[i, j]


@wp.kernel
def laplacian(f: Block, lap: Block):
    i, j, k = wp.tid()
    around = f[i + 2, j + 1, k] + f[i, j + 1, k] + f[i + 1, j + 2, k] + f[i + 1, j, k]
    lap[i, j, k] = f64(4.0) * f[i + 1, j + 1, k] - around


@wp.kernel
def flux_x(f: Block, lap: Block, flx: Block):
    i, j, k = wp.tid()
    r = lap[i + 1, j + 1, k] - lap[i, j + 1, k]
    flx[i, j, k] = wp.where(r * (f[i + 2, j + 2, k] - f[i + 1, j + 2, k]) > f64(0.0), f64(0.0), r)


@wp.kernel
def flux_y(f: Block, lap: Block, fly: Block):
    i, j, k = wp.tid()
    r = lap[i + 1, j + 1, k] - lap[i + 1, j, k]
    fly[i, j, k] = wp.where(r * (f[i + 2, j + 2, k] - f[i + 2, j + 1, k]) > f64(0.0), f64(0.0), r)


@wp.kernel
def diffused(f: Block, coeff: Block, flx: Block, fly: Block, out: Block):
    i, j, k = wp.tid()
    total = flx[i + 1, j, k] - flx[i, j, k] + fly[i, j + 1, k] - fly[i, j, k]
    out[i, j, k] = f[i + 2, j + 2, k] - coeff[i, j, k] * total


@wp.kernel
def sparse_row(indptr: Indices, indices: Indices, vals: Vector, x: Vector, y: Vector):
    i = wp.tid()
    s = f64(0.0)
    for p in range(int(indptr[i]), int(indptr[i + 1])):
        s += vals[p] * x[int(indices[p])]
    y[i] = s


def jacobi_2d(a: dict[str, Any], T: int) -> dict[str, Any]:
    A, B = a["A"], a["B"]
    for _ in range(1, T):
        B = launched(five_points, A.shape, A, B)
        A = launched(five_points, A.shape, B, A)
    return {"A": A, "B": B}


def hdiff(a: dict[str, Any], T: int) -> dict[str, Any]:
    I, J, K = a["out"].shape
    f = a["f"]
    lap = launched(laplacian, (I + 2, J + 2, K), f)
    flx, fly = launched(flux_x, (I + 1, J, K), f, lap), launched(flux_y, (I, J + 1, K), f, lap)
    return {"out": launched(diffused, (I, J, K), f, a["coeff"], flx, fly)}


def spmv_csr(a: dict[str, Any], T: int) -> dict[str, Any]:
    return {"y": launched(sparse_row, a["y"].shape, a["indptr"], a["indices"], a["vals"], a["x"])}


def launched(kernel: Any, shape: tuple[int, ...], *inputs: Any) -> Any:
    """The output of `kernel` over a grid of this shape."""
    out = wp.empty(shape, dtype=f64, device=device(), requires_grad=True)
    wp.launch(kernel, dim=shape, inputs=list(inputs), outputs=[out], device=device())
    return out


def on_device(array: np.ndarray, dtype: Any) -> Any:
    return wp.array(array, dtype=dtype, device=device(), requires_grad=dtype is f64)


FORMS: dict[str, Callable[[dict[str, Any], int], dict[str, Any]]] = {
    f.__name__: f for f in (jacobi_2d, hdiff, spmv_csr)
}


def gradient(problem: Problem) -> Gradient | None:
    form = FORMS.get(problem.name)
    if form is None or problem.dtype != "float64":
        return None
    given = {k: v for k, v in problem.initial.items() if isinstance(v, np.ndarray)}
    args = {k: on_device(v, f64 if v.dtype.kind == "f" else wp.int64) for k, v in given.items()}
    weight = {k: wp.array(w, dtype=f64, device=device()) for k, w in problem.weight.items()}
    steps = int(problem.initial.get("T", 0))

    def call() -> tuple[Any, dict[str, Any]]:
        for name in problem.wrt:
            args[name].grad.zero_()
        with wp.Tape() as tape:
            found = form(args, steps)
        tape.backward(grads={found[name]: wp.clone(w) for name, w in weight.items()})
        gradients = {name: args[name].grad for name in problem.wrt}
        return found, gradients if device() == "cuda" else {name: g.numpy() for name, g in gradients.items()}

    return call
