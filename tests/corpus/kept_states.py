"""Time loops whose states are kept once for all that reads them: copies, fields of each step, loops that are left."""

from __future__ import annotations

import numpy as np

from .entry import Entry


def cavity_until_steady(u, p, dt, tol):
    change = 1.0
    steps = 0
    while change > tol and steps < 6:
        un = u.copy()
        b = np.zeros_like(u)
        b[1:-1, 1:-1] = u[1:-1, 2:] * u[2:, 1:-1] - u[1:-1, :-2] * u[:-2, 1:-1]
        b[1:-1, 0] = u[1:-1, 1] * u[1:-1, -1]
        for _ in range(2):
            pn = p.copy()
            p[1:-1, 1:-1] = 0.25 * (pn[1:-1, 2:] + pn[1:-1, :-2] + pn[2:, 1:-1] * pn[:-2, 1:-1]) - b[1:-1, 1:-1] ** 2
            p[:, 0] = p[:, 1]
            p[1:-1, -1] = pn[1:-1, 0] * b[1:-1, 0]
        u[1:-1, 1:-1] = un[1:-1, 1:-1] - dt * un[1:-1, 1:-1] * (un[1:-1, 2:] - un[1:-1, :-2]) - dt * p[1:-1, 1:-1]
        u[1:-1, -1] = un[1:-1, -1] * (1.0 - dt * un[2:, 0])
        change = np.sum((u - un) ** 2)
        steps += 1
    return np.sum(u * p)


def left_between_reads(x, n, limit):
    total = 0.0
    for t in range(n):
        old = x.copy()
        total += np.sum(old * np.sin(x))
        x[1:] = old[1:] * old[:-1] + 0.5
        if np.sum(x) > limit:
            break
        for i in range(x.shape[0] - 1):
            x[i] += old[i + 1] * x[i]
            total += old[i] * x[i + 1] * x[i]
    return total


def copied_and_branched(x, y, n):
    s = 0.0
    for t in range(n):
        old = np.empty_like(x)
        for i in range(x.shape[0]):
            old[i] = x[i]
        if t % 2 == 0:
            for i in range(x.shape[0]):
                y[i] += x[i] * x[x.shape[0] - 1 - i]
            old[0] = 2.0
        for i in range(1, x.shape[0]):
            s += old[i - 1] * x[i] * x[0]
            x[i] = x[i] * y[i] + old[i - 1]
    return s


def gathered_in_while(x, idx, w, tol):
    err = 1.0
    k = 0
    while err > tol and k < 5:
        before = x.copy()
        for i in range(x.shape[0]):
            x[i] = 0.5 * x[i] + w * before[idx[i]] ** 2
            x[idx[i]] += 0.1 * before[i] * x[i]
        err = 0.0
        for i in range(x.shape[0]):
            err = max(err, abs(x[i] - before[i]))
        k += 1
    return k


def kept(name, function, make, wrt, outputs, notes):
    return Entry(name=name, function=function, make=make, wrt=wrt, outputs=outputs, notes=notes)


ENTRIES: tuple[Entry, ...] = (
    kept(
        "cavity_until_steady",
        cavity_until_steady,
        lambda r, n=6, m=5: dict(u=r.uniform(0.1, 0.9, (n, m)), p=r.uniform(0.1, 0.9, (n, m)), dt=0.05, tol=1e-9),
        ("u", "p", "dt"),
        ("u", "p"),
        "a `while` loop around copies, a field of each step, and edges (channel flow of CFD Python)",
    ),
    kept(
        "left_between_reads",
        left_between_reads,
        lambda r, n=5: dict(x=r.uniform(0.3, 0.6, n), n=6, limit=4.2),
        ("x",),
        ("x",),
        "the copy of the last step is read before the loop is left, and not after it",
    ),
    kept(
        "copied_and_branched",
        copied_and_branched,
        lambda r, n=4: dict(x=r.uniform(0.3, 0.9, n), y=r.uniform(0.3, 0.9, n), n=3),
        ("x", "y"),
        ("x", "y"),
        "a copy that one branch changes",
    ),
    kept(
        "gathered_in_while",
        gathered_in_while,
        lambda r, n=5: dict(x=r.uniform(0.2, 0.7, n), idx=r.integers(0, n, n), w=0.7, tol=1e-12),
        ("x", "w"),
        ("x",),
        "reads of a copy at computed places, in a loop that its data ends",
    ),
)
