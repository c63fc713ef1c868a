"""A matrix product and its two adjoints, written as loops, against OpenBLAS and the peak of multiply-adds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import machine
import numpy as np
from headline import three_dots
from report import ratio
from timing import Call, paired

from loopdiff import vectorize_grad

SIZES = (16, 32, 48, 64, 72, 96, 128, 192, 255, 256, 384, 512, 1024)
PEAK, BLAS, LARGE, ODD = 0.80, 1.0, 0.85, 1.3


def matmul(A, B, C):
    for m in range(A.shape[0]):
        for n in range(B.shape[1]):
            s = 0.0
            for k in range(A.shape[1]):
                s += A[m, k] * B[k, n]
            C[m, n] = s


def candidates(n: int) -> dict[str, Call]:
    """The sweeps apart and together on their own buffers, and NumPy's products, checked against each other."""
    rng = np.random.default_rng(0)
    A, B, C = rng.random((n, n)), rng.random((n, n)), np.zeros((n, n))
    k = vectorize_grad(wrt=("A", "B"))(matmul).compile(A, B, C)
    workspace = k.workspace(A, B, C)
    weight = rng.random((n, n))
    adjoints = {"C_adj": weight, "A_adj": np.full((n, n), np.nan), "B_adj": np.full((n, n), np.nan)}
    buffers = [adjoints[name] for name in k.signature("pullback") if name.endswith("_adj")]
    pullback = k.unit("pullback").call  # the reverse sweep as `vjp` runs it: gradients overwrite what is there

    def forward() -> None:
        k.unchecked.forward(A, B, C, *workspace)

    def reverse() -> None:
        pullback(A, B, C, *workspace, *buffers)

    forward()
    reverse()
    np.testing.assert_allclose(C, A @ B, rtol=1e-12)
    np.testing.assert_allclose(adjoints["A_adj"], weight @ B.T, rtol=1e-12)
    np.testing.assert_allclose(adjoints["B_adj"], A.T @ weight, rtol=1e-12)
    out, one = np.empty((n, n)), np.empty((n, n))
    return {
        "forward": forward,
        "reverse": reverse,
        "dot": lambda: np.dot(A, B, out=out),
        "adjoint dots": lambda: (np.dot(weight, B.T, out=out), np.dot(A.T, weight, out=one)),
        "dots": three_dots(A, B),
    }


def rows(task: Mapping[str, Any], trying: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    trying("peak")
    peak = machine.multiply_adds("float64")
    forward_times: dict[int, float] = {}
    for n in SIZES:
        trying(str(n))
        times = {k: t.median for k, t in paired(candidates(n), budget=min(2.0, task["budget"])).items()}
        ours = times["forward"] + times["reverse"]
        speed, share = times["dots"] / ours, 6.0 * n**3 / ours / peak
        forward_times[n] = times["forward"]
        cells = {
            "n": str(n),
            "forward, GFLOP/s": f"{2.0 * n**3 / times['forward'] / 1e9:.1f}",
            "reverse, GFLOP/s": f"{4.0 * n**3 / times['reverse'] / 1e9:.1f}",
            "both, of the peak": f"{share:.0%}",
            "OpenBLAS, of the peak": f"{6.0 * n**3 / times['dots'] / peak:.0%}",
            "forward to `dot`": ratio(times["forward"] / times["dot"]),
            "reverse to two": ratio(times["reverse"] / times["adjoint dots"]),
            "both to three": ratio(1.0 / speed),
        }
        yield {"n": n, "times": times, "cells": cells, "targets": targets(n, speed, share, forward_times)}


def targets(n: int, speed: float, share: float, forward: Mapping[int, float]) -> list[tuple[str, str, bool]]:
    """What the row says about: 80 % of the peak at 72, OpenBLAS's speed up to 512, 0.85 of it at 1024, 255 to 256."""
    found = []
    if n == 72:
        found.append((f"matmul and adjoints at 72: {PEAK:.0%} of the peak", f"{share:.0%}", share >= PEAK))
    least = LARGE if n > 512 else BLAS
    found.append((f"matmul and adjoints at {n}: at least {least} of OpenBLAS's speed", f"{speed:.2f}", speed >= least))
    if n == 256:
        odd = forward[255] / forward[256]
        found.append((f"dot at 255 against 256: at most {ODD}", f"{odd:.2f}", odd <= ODD))
    return found
