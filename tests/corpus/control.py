"""Branches, conditions, and what scalar variables may do across them."""

from __future__ import annotations

import math

import numpy as np

from tests.corpus.entry import Entry


def branch_escapes(x, y):
    for i in range(x.shape[0]):
        if x[i] < 0.0:
            v = x[i] * x[i]
            w = 1.0
        elif x[i] < 0.7:
            v = math.sin(x[i])
            w = v * 2.0
        else:
            v = math.exp(x[i])
            w = x[i] / v
        y[i] = v * w


def branch_keeps(x, y):
    v = 0.5
    last = 1.0
    for i in range(x.shape[0]):
        if x[i] > 0.2:
            v = v * x[i]
        else:
            if x[i] < -0.5:
                last = v + x[i] * last
        y[i] = v * last
    return last


def branch_writes(x, y):
    n = x.shape[0]
    for i in range(n):
        if x[i] > 0.0:
            y[i] = x[i] * y[i]
            if i > 0:
                y[i - 1] += x[i] * x[i]
        else:
            y[i] *= y[i]
            x[i] = 0.5 * x[i] * y[i]


def conditional_expression(x, y):
    for i in range(x.shape[0]):
        y[i] = x[i] * x[i] if x[i] > 0.0 else -2.0 * x[i]
        y[i] += 1.0 / x[i] if x[i] != 0.0 and i % 2 == 0 else 0.0
        y[i] *= 3.0 if i < 2 else 0.5 if i < 4 else x[i]


def chained_comparisons(x, lo, hi):
    s = 0.0
    for i in range(x.shape[0]):
        if lo < x[i] <= hi:
            s += x[i] * x[i] * x[i]
        if 0 <= i - 1 < x.shape[0] and not (x[i] < 0.0 or x[i] > 2.0):
            s += x[i - 1] * x[i]
    return s


def boolean_values(x, keep, y):
    inside = False
    for i in range(x.shape[0]):
        inside = inside or x[i] > 0.8
        even = i % 2 == 0
        if keep[i] and not inside:
            y[i] = x[i] * x[i]
        elif even ^ keep[i]:
            y[i] = -x[i]
        if i & 1:
            y[i] += math.sin(x[i])


def flag_for_break(x, limit):
    s = 0.0
    done = False
    for i in range(x.shape[0]):
        if not done:
            s += x[i] * x[i]
            if s > limit:
                done = True
    return s * s


def short_circuit(x, n):
    s = 0.0
    for i in range(x.shape[0] + 1):
        if i < n and x[i] > 0.0:
            s += x[i] * x[i]
    return s


def assertions(x, y):
    n = x.shape[0]
    assert n > 0, "x is empty"
    assert y.shape[0] == n
    for i in range(n):
        if x[i] > 10.0:
            raise ValueError(f"x[{i}] is too large")
        y[i] = x[i] * x[i]


# Ratios where there are any, as NumPy users write them: the divisions by zero are among those that are not taken.
def ratios(x, y):
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(y > 1.0, x / (y - 0.5), 0.0)
    total = 0.0
    for i in range(x.shape[0]):
        with np.errstate(all="ignore"):
            if y[i] <= 1.0:
                continue
        total += parts[i] ** 2
    return total


def ratios_oracle(xp, x, y):
    safe = xp.where(y > 1.0, y - 0.5, 1.0)
    return {"result": xp.sum(xp.where(y > 1.0, (x / safe) ** 2, 0.0))}


def signed(r, n=9):
    return dict(x=r.uniform(-1.5, 1.5, n), y=r.uniform(0.5, 1.5, n))


def crossed_out(x, n):
    kept = np.ones(n + 1)
    t = 0.0
    for i in range(2, n + 1):
        if kept[i] > 0.0:
            t += x[i - 1] ** 2
            for j in range(2 * i, n + 1, i):
                kept[j] = 0.0
    return t + kept.sum()


def crossed_out_oracle(xp, x, n):
    primes = np.array([i for i in range(2, n + 1) if all(i % j for j in range(2, i))])
    return {"result": xp.sum(x[primes - 1] ** 2) + len(primes) + 2.0}


def chosen_and_exchanged(x, y):
    chosen = np.zeros(x.shape[0])
    m = 0
    for i in range(x.shape[0]):
        if x[i] > 0.5:
            chosen[m] = 2.0 * x[i]
            m += 1
    k = 0
    for i in range(x.shape[0]):
        before = y[i]
        if x[i] > 0.5:
            y[i] = chosen[k]
            x[i] = before
            k += 1


def chosen_and_exchanged_oracle(xp, x, y):
    return {"x": xp.where(x > 0.5, y, x), "y": xp.where(x > 0.5, 2.0 * x, y)}


def chosen_under_names(x):
    chosen = np.zeros(x.shape[0])
    m = 0
    for v in x:
        if v > 0.5:
            u = np.exp(v)
            chosen[m] = u * u + u
            m += 1
    s = 0.0
    for k in range(m):
        s += chosen[k]
    return s


ENTRIES = (
    Entry(
        name="branch_escapes",
        function=branch_escapes,
        make=signed,
        wrt=("x",),
        outputs=("y",),
        constructs=("if, elif, else",),
    ),
    Entry(
        name="branch_keeps",
        function=branch_keeps,
        make=signed,
        wrt=("x",),
        outputs=("y",),
        constructs=("if, elif, else",),
    ),
    Entry(
        name="branch_writes",
        function=branch_writes,
        make=signed,
        wrt=("x", "y"),
        outputs=("x", "y"),
        constructs=("if, elif, else",),
    ),
    Entry(
        name="conditional_expression",
        function=conditional_expression,
        make=signed,
        wrt=("x",),
        outputs=("y",),
        constructs=("conditional expression",),
    ),
    Entry(
        name="chained_comparisons",
        function=chained_comparisons,
        make=lambda r: dict(x=r.uniform(-1.5, 1.5, 9), lo=-0.4, hi=0.9),
        wrt=("x",),
        constructs=("comparisons, chained and boolean",),
    ),
    Entry(
        name="boolean_values",
        function=boolean_values,
        make=lambda r: dict(x=r.random(9), keep=r.random(9) < 0.5, y=np.zeros(9)),
        wrt=("x", "y"),
        outputs=("y",),
        constructs=(
            "comparisons, chained and boolean",
            "integer and boolean arrays",
        ),
    ),
    Entry(
        name="flag_for_break",
        function=flag_for_break,
        make=lambda r: dict(x=r.random(9), limit=1.3),
        wrt=("x",),
        constructs=("integer and boolean arrays",),
    ),
    Entry(
        name="short_circuit",
        function=short_circuit,
        make=lambda r: dict(x=r.uniform(-1, 1, 7), n=7),
        wrt=("x",),
        constructs=("comparisons, chained and boolean",),
        notes="the second condition is out of range when the first is false",
    ),
    Entry(
        name="ratios",
        function=ratios,
        make=lambda r, n=9: dict(x=r.random(n), y=np.where(r.random(n) < 0.5, r.uniform(1.5, 2.0, n), 0.5)),
        wrt=("x", "y"),
        oracle=ratios_oracle,
        is_twin=True,
        constructs=("with np.errstate(...)",),
    ),
    Entry(
        name="assertions",
        function=assertions,
        make=signed,
        wrt=("x",),
        outputs=("y",),
        is_analytic=True,
        constructs=("assert", "raise"),
    ),
    Entry(
        name="chosen_and_exchanged",
        function=chosen_and_exchanged,
        make=lambda r, n=9: dict(x=r.uniform(0.6, 1.5, n) * np.where(r.random(n) < 0.6, 1.0, 0.3), y=r.random(n)),
        wrt=("x", "y"),
        outputs=("x", "y"),
        oracle=chosen_and_exchanged_oracle,
        is_twin=True,
        notes="what a name stood for was read again where the element had been overwritten",
    ),
    Entry(
        name="chosen_under_names",
        function=chosen_under_names,
        make=lambda r, n=9: dict(x=r.uniform(0.6, 1.5, n) * np.where(r.random(n) < 0.6, 1.0, 0.3)),
        wrt=("x",),
        oracle=lambda xp, x: {"result": xp.sum(xp.where(x > 0.5, xp.exp(2.0 * x) + xp.exp(x), 0.0))},
        is_twin=True,
        notes="a name in the branch was not there where its value was read (an internal error)",
    ),
    Entry(
        name="crossed_out",
        function=crossed_out,
        make=lambda r, n=12: dict(x=r.random(n), n=n),
        wrt=("x",),
        oracle=crossed_out_oracle,
        is_twin=True,
        notes="LLVM divides 128-bit integers by a function that compiled code did not find: it jumped nowhere",
    ),
)
