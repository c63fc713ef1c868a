"""Stencils on arrays beyond the second cache, forward and reverse, against the roofline of this machine.

The bound is the larger of two times: that of the fewest bytes that can move (every array of a step read or written
once, at the bandwidth of a copy of the same footprint), and that of the operations at the peak of multiply-adds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import machine
import numpy as np
from kernels import BY_KERNEL, Kernel, Problem, problem_of
from peers import jax_arrays, loops
from report import duration
from suite import checked
from timing import Call, paired

from tests.corpus import Arguments, Entry

SHARE = 0.70


def heat_3d(T, A, B):
    N = A.shape[0]
    for t in range(1, T):
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                for k in range(1, N - 1):
                    B[i, j, k] = (
                        0.125 * (A[i + 1, j, k] - 2.0 * A[i, j, k] + A[i - 1, j, k])
                        + 0.125 * (A[i, j + 1, k] - 2.0 * A[i, j, k] + A[i, j - 1, k])
                        + 0.125 * (A[i, j, k + 1] - 2.0 * A[i, j, k] + A[i, j, k - 1])
                        + A[i, j, k]
                    )
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                for k in range(1, N - 1):
                    A[i, j, k] = (
                        0.125 * (B[i + 1, j, k] - 2.0 * B[i, j, k] + B[i - 1, j, k])
                        + 0.125 * (B[i, j + 1, k] - 2.0 * B[i, j, k] + B[i, j - 1, k])
                        + 0.125 * (B[i, j, k + 1] - 2.0 * B[i, j, k] + B[i, j, k - 1])
                        + B[i, j, k]
                    )


def heat_oracle(xp, T, A, B):
    def step(X):
        inner = X[1:-1, 1:-1, 1:-1]
        total = 0.25 * inner
        for axis in range(3):
            for side in (slice(2, None), slice(None, -2)):
                cut = [slice(1, -1)] * 3
                cut[axis] = side
                total = total + 0.125 * X[tuple(cut)]
        return total

    for _ in range(1, T):
        B = B.at[1:-1, 1:-1, 1:-1].set(step(A))
        A = A.at[1:-1, 1:-1, 1:-1].set(step(B))
    return {"A": A, "B": B}


def heat_args(r: np.random.Generator, T: int = 3, N: int = 5) -> Arguments:
    return {"T": T, "A": r.random((N, N, N)), "B": r.random((N, N, N))}


HEAT = Entry(
    name="heat_3d",
    function=heat_3d,
    make=heat_args,
    wrt=("A", "B"),
    outputs=("A", "B"),
    oracle=heat_oracle,
    notes="PolyBench/NPBench heat_3d",
)


@dataclass(frozen=True)
class Case:
    """A stencil with the bytes that the forward and the reverse sweep have to move and the operations they do."""

    kernel: Kernel
    sizes: Mapping[str, int]
    forward_bytes: Callable[[Arguments], float]
    reverse_bytes: Callable[[Arguments], float]
    footprint: Callable[[Arguments], int]

    def problem(self) -> Problem:
        args = self.kernel.entry.make(np.random.default_rng(0), **self.sizes)
        return problem_of(self.kernel, "x".join(map(str, self.sizes.values())), args)


def two_arrays(a: Arguments) -> float:
    """Each of the two half steps of every step reads one array and writes the other."""
    return 2.0 * (a["T"] - 1) * (a["A"].nbytes + a["B"].nbytes)


HEAT_KERNEL = Kernel(
    "heat_3d", ("A", "B"), lambda a: 2.0 * (a["T"] - 1) * 15 * a["A"].size, 2.0, restored=("A", "B"), own_entry=HEAT
)
CASES = (
    Case(BY_KERNEL["jacobi_2d"], {"T": 11, "N": 1000}, two_arrays, two_arrays, lambda a: 2 * a["A"].nbytes),
    Case(HEAT_KERNEL, {"T": 11, "N": 100}, two_arrays, two_arrays, lambda a: 2 * a["A"].nbytes),
    Case(
        BY_KERNEL["hdiff"],
        {"I": 128, "J": 128, "K": 80},
        lambda a: float(a["f"].nbytes + a["coeff"].nbytes + a["out"].nbytes),
        lambda a: float(2 * a["f"].nbytes + 3 * a["coeff"].nbytes),
        lambda a: a["f"].nbytes + 2 * a["coeff"].nbytes,
    ),
)


def sweep_calls(at: Problem) -> dict[str, Call]:
    """The two sweeps apart; between calls of the reverse sweep the adjoints start again from weights and zeros."""
    args = tuple(at.args.values())
    k = loops.decorated(at).compile(*args)
    workspace = k.workspace(*args)
    names = [n.removesuffix("_adj") for n in k.signature("reverse")[len(args) + len(workspace) :]]
    adjoints = [np.zeros_like(at.args[name]) for name in names]
    for name, adjoint in zip(names, adjoints, strict=True):
        adjoint[...] = at.weight.get(name, 0.0)
    return {
        "forward": lambda: k.unchecked.forward(*args, *workspace),
        "reverse": lambda: k.unchecked.reverse(*args, *workspace, *adjoints),
    }


def rows(task: Mapping[str, Any], trying: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    trying("peak")
    peak = machine.multiply_adds("float64")
    for case in CASES:
        trying(case.kernel.name)
        at = case.problem()
        checked("loopdiff", loops.gradient(at, loops.decorated(at)), at, jax_arrays.reference(at))
        at.restore()
        times = {k: t.median for k, t in paired(sweep_calls(at), budget=min(3.0, task["budget"])).items()}
        bandwidth = machine.copy_bandwidth(case.footprint(at.initial))
        flops = at.flops[0]
        moved = {"forward": case.forward_bytes(at.initial), "reverse": case.reverse_bytes(at.initial)}
        work = {"forward": flops, "reverse": flops * (at.kernel.growth - 1.0)}
        bound = {name: max(moved[name] / bandwidth, work[name] / peak) for name in times}
        share = {name: bound[name] / times[name] for name in times}
        yield {
            "kernel": at.name,
            "size": at.size,
            "times": times,
            "share": share,
            "bandwidth": bandwidth,
            "cells": {
                "stencil": f"{at.name} {at.size}",
                "copies, GB/s": f"{bandwidth / 1e9:.1f}",
                **{name: duration(times[name]) for name in times},
                **{f"{name}, GB/s": f"{moved[name] / times[name] / 1e9:.1f}" for name in times},
                **{f"{name}, of the roofline": f"{share[name]:.0%}" for name in times},
            },
            "targets": [
                (f"{at.name}, {name}: {SHARE:.0%} of the roofline", f"{share[name]:.0%}", share[name] >= SHARE)
                for name in times
            ],
        }
