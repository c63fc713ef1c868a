"""The headline loss against `jax.jit(jax.value_and_grad(...))` and against three products of that size by OpenBLAS."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from kernels import Kernel, Problem, problem_of
from peers import loops
from report import duration, ratio
from suite import checked
from timing import Call, Timing, paired

from tests.corpus import BY_NAME

ENTRY = BY_NAME["matmul_loss"]
SHAPES = ((72, 72, 72), (71, 73, 67), (16, 16, 16), (256, 256, 256))
TO_JAX, TO_DOTS = 0.42, 1.05


def jax_gradient(at: Problem) -> Any:
    import jax
    import jax.numpy as jnp

    def loss(A: Any, B: Any) -> Any:
        return -2.5 * jnp.sum(jnp.log1p(0.25 * (A @ B - 18.0) ** 2))

    step = jax.jit(jax.value_and_grad(loss, argnums=(0, 1)))
    a, b = jnp.asarray(at.initial["A"]), jnp.asarray(at.initial["B"])
    return lambda: jax.block_until_ready(step(a, b))


def three_dots(A: np.ndarray, B: np.ndarray) -> Call:
    """A @ B and the two products of its adjoints, into arrays that are there already."""
    C, A_adj, B_adj = A @ B, np.empty_like(A), np.empty_like(B)

    def call() -> None:
        np.dot(A, B, out=C)
        np.dot(C, B.T, out=A_adj)
        np.dot(A.T, C, out=B_adj)

    return call


def times_of(shape: tuple[int, int, int], dtype: str, budget: float) -> dict[str, Timing]:
    M, K, N = shape
    rng = np.random.default_rng(0)
    args = {"A": rng.random((M, K)), "B": rng.random((K, N)), "C": np.zeros((M, N))}
    kernel = Kernel("matmul_loss", ("result",), lambda a: 2.0 * M * K * N, wrt=("A", "B"))
    at = problem_of(kernel, "x".join(map(str, shape)), args, dtype)
    f = loops.decorated(at)
    step, gradient = jax_gradient(at), loops.gradient(at, f)
    found = step()[1]
    checked("loopdiff", gradient, at, {name: np.asarray(v) for name, v in zip("AB", found, strict=True)})
    candidates: dict[str, Call] = {
        "primal": loops.primal(at, f),
        "value_and_grad": gradient,
        "jax": step,
        "dots": three_dots(at.initial["A"], at.initial["B"]),
    }
    sweeps = loops.sweeps(at, f)
    return paired(candidates | ({} if sweeps is None else {"sweeps": sweeps}), budget=budget)


def rows(task: Mapping[str, Any], trying: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    for dtype in ("float64", "float32"):
        for shape in SHAPES:
            trying(f"{shape} {dtype}")
            found = times_of(shape, dtype, min(3.0, task["budget"]))
            times = {name: t.median for name, t in found.items()}
            to_jax, to_dots = (times["value_and_grad"] / times[other] for other in ("jax", "dots"))
            targets = []
            if shape == SHAPES[0] and dtype == "float64":
                targets = [
                    (f"headline against JAX: at most {TO_JAX}", f"{to_jax:.3f}", to_jax <= TO_JAX),
                    (f"headline against three dots: at most {TO_DOTS}", f"{to_dots:.3f}", to_dots <= TO_DOTS),
                ]
            cells = {
                "size": f"{'x'.join(map(str, shape))} {dtype}",
                "primal": duration(times["primal"]),
                "sweeps": duration(times.get("sweeps")),
                "`value_and_grad`": duration(times["value_and_grad"]),
                "JAX": duration(times["jax"]),
                "three dots": duration(times["dots"]),
                "to JAX": ratio(to_jax),
                "to the dots": ratio(to_dots, TO_DOTS),
            }
            yield {"shape": shape, "dtype": dtype, "times": times, "cells": cells, "targets": targets}
