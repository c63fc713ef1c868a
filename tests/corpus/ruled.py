"""Calls of functions that have rules: numbers, rows, in place, with tapes, in loops of unknown length, constants."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

import loopdiff
from tests.corpus.entry import Entry


def power(x, k=2.0):
    return k * x**3


@loopdiff.rule(power, active=("x", "k"))
class PowerRule:
    def tangent(x, x_tan, k, k_tan):
        return k * x**3, 3.0 * k * x * x * x_tan + x**3 * k_tan

    def reverse(x, k, result_adj):
        return 3.0 * k * x * x * result_adj, x**3 * result_adj


@njit
def root(x):
    return math.sqrt(x)


@loopdiff.rule(root, active=("x",))
class RootRule:
    """Infinite slope at zero, where nobody may ask for it."""

    def tangent(x, x_tan):
        y = np.sqrt(x)
        return y, 0.5 / y * x_tan

    @staticmethod
    def reverse(result, result_adj):
        return 0.5 / result * result_adj


def relax(x, y, rate):
    for i in range(x.shape[0]):
        y[i] = rate * math.tanh(x[i]) + 0.5 * y[i] * y[i]


@loopdiff.rule(relax, active=("x", "y", "rate"), overwrites=("y",))
class RelaxRule:
    def tangent(x, x_tan, y, y_tan, rate, rate_tan):
        for i in range(x.shape[0]):
            t = math.tanh(x[i])
            if y_tan is not None:
                y_tan[i] = rate_tan * t + y[i] * y_tan[i]
                if x_tan is not None:
                    y_tan[i] += rate * (1.0 - t * t) * x_tan[i]
            y[i] = rate * t + 0.5 * y[i] * y[i]

    def reverse(x, x_adj, y, y_adj, rate):
        rate_adj = 0.0
        for i in range(x.shape[0]):
            t = math.tanh(x[i])
            rate_adj += t * y_adj[i]
            if x_adj is not None:
                x_adj[i] += rate * (1.0 - t * t) * y_adj[i]
            y_adj[i] *= y[i]
        return rate_adj


def normalised(x, y):
    """Fill `y` with `x` over its norm, and return the norm."""
    norm = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            norm += x[i, j] * x[i, j]
    norm = math.sqrt(norm)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] / norm
    return norm


@loopdiff.rule(normalised, active=("x", "y"), outputs=("y",), result="float64")
class NormalisedRule:
    """The reverse is in terms of what comes out; the tape holds one over the norm."""

    def tape(x):
        return 1

    def forward(x, y, tape):
        norm = math.sqrt((x * x).sum())
        tape[0] = 1.0 / norm
        y[:] = x * tape[0]
        return norm

    def tangent(x, x_tan, y, y_tan):
        norm = math.sqrt((x * x).sum())
        slope = 0.0
        y[:] = x / norm
        if x_tan is not None:
            slope = (y * x_tan).sum()
        if y_tan is not None:
            y_tan[:] = -y * slope / norm
            if x_tan is not None:
                y_tan += x_tan / norm
        return norm, slope

    def reverse(y_out, tape, x_adj, y_adj, result_adj):
        if x_adj is not None:
            x_adj += result_adj * y_out
            if y_adj is not None:
                x_adj += tape[0] * (y_adj - (y_adj * y_out).sum() * y_out)
        if y_adj is not None:
            y_adj[:] = 0.0


def level(x):
    return int(math.floor(4.0 * x))


loopdiff.nondifferentiable(level, result="int64")


@loopdiff.nondifferentiable(outputs=("steps",))
def staircase(x, steps):
    for i in range(x.shape[0]):
        steps[i] = math.floor(4.0 * x[i])


def looked_up(table, x):
    """Entries of a table between which nothing is interpolated, times a number."""
    return table[min(int(4.0 * x), table.shape[0] - 1)] * x


@loopdiff.rule(looked_up, active=("x",), nondifferentiable=("table",))
class LookedUpRule:
    def tangent(table, x, x_tan):
        y = table[min(int(4.0 * x), table.shape[0] - 1)]
        return y * x, y * x_tan

    def reverse(table, x, result_adj):
        return table[min(int(4.0 * x), table.shape[0] - 1)] * result_adj


def wave(x, k):
    return math.sin(k * x)


def wave_by_x(x, k):
    return k * math.cos(k * x)


def wave_by_k(x, k):
    return x * math.cos(k * x)


def wave_by_both(x, k):
    return math.cos(k * x) - k * x * math.sin(k * x)


def wave_by_x_twice(x, k):
    return -k * k * math.sin(k * x)


def wave_by_k_twice(x, k):
    return -x * x * math.sin(k * x)


loopdiff.rule(wave, partials={"x": wave_by_x, "k": wave_by_k})
loopdiff.rule(wave_by_x, partials={"x": wave_by_x_twice, "k": wave_by_both})
loopdiff.rule(wave_by_k, partials={"x": wave_by_both, "k": wave_by_k_twice})


def ruled_partials(x, k):
    """The only one with second derivatives; the first wave is zero, and so is its adjoint."""
    s = 0.0
    for i in range(x.shape[0]):
        a = wave(x[i], k)
        if a > 0.9:
            s += wave(a, 2.0) * k
        s += a**2
        x[i] = s
    return s


def ruled_numbers(x, w):
    def applied(f, v):
        return f(v) if v > 0.6 and f(v) < 2.0 else 0.1 * v

    s = 0.0
    for i in range(x.shape[0]):
        a = power(x[i], k=w)
        if a > 0.1:
            s += a * power(a)
        x[i] = s - applied(power, x[i])
    while power(s) > 1.0:
        s = 0.7 * s * root(s)
    zero = x[0] - x[0]
    return s + (root(zero) if zero > 0.0 else 0.0) + 0.0 * root(x[1] * x[1])


def ruled_rows(x, y, c):
    rows = np.empty((2, x.shape[1], 2))
    units = np.empty_like(rows)
    total = 0.0
    for k in range(2):
        for i in range(x.shape[0]):
            relax(x[i], y, c[k])
            relax(2.0 * y, x[1 - k], 0.5)
        for j in range(x.shape[1]):
            rows[k, j, 0] = x[k, j] * y[j]
            rows[k, j, 1] = c[k] * y[j] + 1.0
        total += normalised(rows[k], units[k])
        for j in range(x.shape[1]):
            y[j] += rows[k, j, 0] * units[k, j, 1]
    return total + y.sum()


def ruled_until(x, y):
    """As often as the data say; the call in the other branch is never made."""
    count = 0
    while count < 50:
        n = normalised(x, y)
        if n < 0.4:
            break
        for i in range(x.shape[0]):
            for j in range(i + 1):
                x[i, j] = 0.6 * y[i, j] * root(n) + 0.1 * x[i, j]
        if n > 1e6:
            relax(x[0], y[1], n)
        count += 1
    return float(count) * x.sum()


def ruled_constants(x, table, y):
    steps = np.empty_like(x)
    staircase(x, steps)
    s = 0.0
    for i in range(x.shape[0]):
        s += looked_up(table, x[i]) * steps[i] * x[level(x[i])]
        y[i] = s
    return s


def halved(y):
    for i in range(y.shape[0]):
        y[i] *= 0.5
    return y.shape[0]


@loopdiff.rule(halved, active=("y",), overwrites=("y",), result="int64")
class HalvedRule:
    def tangent(y, y_tan):
        for i in range(y.shape[0]):
            if y_tan is not None:
                y_tan[i] *= 0.5
            y[i] *= 0.5
        return y.shape[0]

    def reverse(y, y_adj):
        for i in range(y.shape[0]):
            y_adj[i] *= 0.5


def ruled_in_a_condition(x, n):
    a = x * 1.0
    b = a
    if n > 3:
        b = x * x
    t = 0.0
    if halved(a) > 1:
        t = b[0] * x[1]
    return t + halved(a) * b[1]


def ruled_printing(x, y):
    print("entered with", x[:2])
    t = 0.0
    for i in range(x.shape[0]):
        t = 0.5 * t + x[i] * x[i]
        if t > 0.7:
            print(f"{i}: {t:.3f}", x[i])
            t *= x[i]
        y[i] = t
    print("left with", t, y)
    return t


def printing_oracle(xp, x, y):
    states = [0.0 * x[0]]
    for v in x:
        t = 0.5 * states[-1] + v * v
        states.append(xp.where(t > 0.7, t * v, t))
    return {"result": states[-1], "y": xp.stack(states[1:])}


ENTRIES = (
    Entry(
        name="ruled_partials",
        function=ruled_partials,
        make=lambda rng: {"x": np.array([0.0, 0.9, *rng.uniform(0.2, 0.6, 2)]), "k": 1.4},
        wrt=("x", "k"),
        outputs=("x",),
    ),
    Entry(
        name="ruled_numbers",
        function=ruled_numbers,
        make=lambda rng: {"x": rng.uniform(0.5, 1.0, 5), "w": 0.7},
        wrt=("x", "w"),
        outputs=("x",),
        constructs=("function with a rule",),
    ),
    Entry(
        name="ruled_rows",
        function=ruled_rows,
        make=lambda rng: {"x": rng.uniform(0.2, 0.8, (3, 4)), "y": rng.uniform(0.2, 0.8, 4), "c": rng.uniform(0, 1, 2)},
        wrt=("x", "y", "c"),
        outputs=("x", "y"),
    ),
    Entry(
        name="ruled_until",
        function=ruled_until,
        make=lambda rng: {"x": rng.uniform(0.2, 0.8, (3, 3)), "y": np.full((3, 3), np.nan)},
        wrt=("x",),
        outputs=("x", "y"),
    ),
    Entry(
        name="ruled_constants",
        function=ruled_constants,
        make=lambda rng: {
            "x": 0.25 * rng.integers(0, 4, 6) + rng.uniform(0.05, 0.2, 6),
            "table": rng.uniform(0, 1, 6),
            "y": np.zeros(6),
        },
        wrt=("x",),
        outputs=("y",),
    ),
    Entry(
        name="ruled_in_a_condition",
        function=ruled_in_a_condition,
        make=lambda rng: {"x": rng.uniform(0.2, 0.8, 3), "n": 2},
        wrt=("x",),
        notes="what a function with a rule wrote in a condition was not seen by other names of the array",
    ),
    Entry(
        name="ruled_printing",
        function=ruled_printing,
        make=lambda rng: {"x": rng.uniform(0.2, 1.2, 7), "y": np.zeros(7)},
        wrt=("x",),
        outputs=("y",),
        oracle=printing_oracle,
        is_twin=True,
        constructs=("print",),
        notes="what is printed may not be done twice, nor hide what the loop around it does",
    ),
)
