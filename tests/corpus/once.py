"""Loops of which one iteration does it all: no iteration depends on another, and yet they may not be taken apart."""

from __future__ import annotations

import numpy as np

from .entry import Entry


def sums_and_reads_at_one_place(x, y):
    for i in range(x.shape[0]):
        if i == 2:
            y[0] += x[i] * x[i]
            x[i] = y[0]


def sums_and_scales_at_one_place(x, y):
    for i in range(x.shape[0]):
        if i == 2:
            y[0] += x[i] * x[i]
            y[0] = y[0] * 0.8


def one_turn_around_a_loop(x, y):
    for _ in range(1):
        y[0] += x[0]
        for i in range(x.shape[0]):
            y[0] = y[0] * 0.8 + x[i]


def the_last_turn_alone(x, y):
    n = x.shape[0]
    for t in range(n - 1, n):
        y[0] += x[t]
        for _ in range(n):
            y[0] *= 0.9


def fading_in_one_turn(x, y):
    for i in range(x.shape[0]):
        for _ in range(1):
            for _ in range(i, 1, -1):
                y[i] *= 0.8
            x[i] = y[i]


def entry(function, wrt, outputs, notes):
    return Entry(
        name=function.__name__,
        function=function,
        make=lambda r: dict(x=r.random(19), y=r.random(19)),
        wrt=wrt,
        outputs=outputs,
        oracle=ORACLES[function.__name__],
        is_analytic=True,
        notes=notes,
    )


def at(xp, vector, k, value):
    return xp.where(np.arange(vector.shape[0]) == k, value, vector)


def read_oracle(xp, x, y):
    total = y[0] + x[2] * x[2]
    return {"x": at(xp, x, 2, total), "y": at(xp, y, 0, total)}


def last_oracle(xp, x, y):
    return {"y": at(xp, y, 0, (y[0] + x[-1]) * 0.9 ** x.shape[0])}


def turn_oracle(xp, x, y):
    n = x.shape[0]
    weights = 0.8 ** np.arange(n - 1, -1, -1.0)
    return {"y": at(xp, y, 0, (y[0] + x[0]) * 0.8**n + xp.sum(weights * x))}


def fading_oracle(xp, x, y):
    faded = y * 0.8 ** np.maximum(np.arange(y.shape[0]) - 1, 0)
    return {"x": faded, "y": faded}


ORACLES = {
    "sums_and_reads_at_one_place": read_oracle,
    "sums_and_scales_at_one_place": lambda xp, x, y: {"y": at(xp, y, 0, (y[0] + x[2] * x[2]) * 0.8)},
    "one_turn_around_a_loop": turn_oracle,
    "the_last_turn_alone": last_oracle,
    "fading_in_one_turn": fading_oracle,
}

ENTRIES = (
    entry(sums_and_reads_at_one_place, ("x", "y"), ("x", "y"), "lanes summed apart from an element that was read"),
    entry(sums_and_scales_at_one_place, ("x", "y"), ("y",), "lanes summed apart from an element that was scaled"),
    entry(one_turn_around_a_loop, ("x", "y"), ("y",), "lanes of one turn summed apart from what loops in it change"),
    entry(the_last_turn_alone, ("x", "y"), ("y",), "the same for a turn whose number is data"),
    entry(fading_in_one_turn, ("y",), ("x", "y"), "the same in the reverse sweep alone"),
)
