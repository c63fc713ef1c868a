"""Loops that do nothing, or nothing that anybody looks at."""

from __future__ import annotations

import numpy as np

from .entry import Entry


def loop_around_nothing(x, m):
    s = 0.53
    for i in range(x.shape[0] // m):
        if s < 0.25:
            x[i] -= 0.5
    return np.sum(x * x)


def zeros_that_nobody_reads(A):
    t = 0
    b = np.empty(A.shape)
    for i in range(A.shape[0]):
        b[i] = t
    return np.sum(A.sum(axis=0) ** 2)


ENTRIES = (
    Entry(
        name="loop_around_nothing",
        function=loop_around_nothing,
        make=lambda r: dict(x=r.random(9), m=3),
        wrt=("x",),
        oracle=lambda xp, x, m: {"result": xp.sum(x * x)},
        is_twin=True,
        notes="a loop that does nothing, whose range may raise, was a kernel without statements",
    ),
    Entry(
        name="zeros_that_nobody_reads",
        function=zeros_that_nobody_reads,
        make=lambda r: dict(A=r.random((3, 4))),
        wrt=("A",),
        oracle=lambda xp, A: {"result": xp.sum(xp.sum(A, axis=0) ** 2)},
        is_twin=True,
        notes="with its zeros, all of a loop was dropped, and the next one was looked for behind the last",
    ),
)
