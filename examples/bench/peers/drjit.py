"""Dr.Jit on its LLVM back end: the network over rows with cooperative vectors, weights packed for training."""

from __future__ import annotations

import importlib
import os
from typing import Any

import numpy as np
from kernels import Problem

from peers import Gradient

TITLE = "Dr.Jit"
NEEDS = ("drjit",)


def gradient(problem: Problem) -> Gradient | None:
    """`mlp_rows` only: Dr.Jit's parallel lanes are the rows, and it has no arrays that a lane could overwrite."""
    if problem.name != "mlp_rows":
        return None
    dr: Any = importlib.import_module("drjit")
    nn: Any = importlib.import_module("drjit.nn")
    kinds: Any = importlib.import_module("drjit.llvm.ad")
    suffix = "" if problem.dtype == "float32" else "64"
    vector = getattr(kinds, f"Float{suffix}")
    tensor = getattr(kinds, f"TensorXf{suffix}")
    dr.set_thread_count(int(os.environ.get("OMP_NUM_THREADS", "1")))
    first = problem.initial
    weights = {name: tensor(first[name]) for name in ("W1", "W2", "W3")}
    rows = {name: [vector(np.ascontiguousarray(column)) for column in first[name].T] for name in ("x", "y")}
    count = first["y"].size
    active = [*weights.values(), *(rows["x"] if "x" in problem.wrt else ())]

    def call() -> tuple[Any, dict[str, Any]]:
        for value in active:
            dr.enable_grad(value)
            dr.clear_grad(value)
        layers = nn.pack(*weights.values(), layout="training")
        h = nn.CoopVec(*rows["x"])
        for layer in layers[:-1]:
            h = dr.maximum(nn.matvec(layer, h), 0)
        last = list(nn.matvec(layers[-1], h))
        loss = dr.sum(sum(dr.square(a - b) for a, b in zip(last, rows["y"], strict=True))) / count
        dr.backward(loss)
        slopes = [dr.grad(value) for value in active]
        dr.eval(loss, *slopes)
        dr.sync_thread()
        found = dict(zip(weights, slopes, strict=False))
        if "x" in problem.wrt:
            found["x"] = Columns(slopes[len(weights) :])
        return loss, found

    return call


class Columns:
    """A matrix kept as columns; made one array when somebody looks."""

    def __init__(self, columns: list[Any]) -> None:
        self.columns = columns

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array([np.array(c) for c in self.columns], dtype).T
