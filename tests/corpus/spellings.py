"""Other spellings of the same things: aliases, module names, functions for operators, numbers as truth."""

from __future__ import annotations

import math as m
from math import exp as e

import numpy
import numpy as np
from numpy import sin

from tests.corpus.entry import Entry

GAINS = (0.5, 2.0, 4.0)


def other_names(x, y):
    z = x
    out = y
    for i in range(len(z)):
        out[i] = z[i] * z[i] * GAINS[1]
        z[i] = out[i] + GAINS[-1]


def module_names(x, y):
    for i in range(x.shape[0]):
        y[i] = e(x[i]) + m.sqrt(x[i]) * sin(x[i]) + numpy.log(x[i])


def float_tests(x, y):
    for i in range(x.shape[0]):
        if m.isnan(x[i]) or np.isinf(x[i]):
            y[i] = 1.0
        elif np.isfinite(x[i]):
            y[i] = x[i] * x[i]


def truth_of_numbers(x, n, y):
    for i in range(x.shape[0]):
        k = n[i] or 3
        y[i] = x[i] * k + (x[i] if n[i] else 0.0)
        if not n[i] and i:
            y[i] += x[i] * x[i]


def operator_functions(a, b, y):
    for i in range(a.shape[0]):
        y[i] = np.add(a[i], b[i]) * np.subtract(a[i], 0.5) + np.multiply(a[i], b[i])
        y[i] += np.divide(a[i], b[i]) + np.negative(a[i]) + np.square(b[i])
        y[i] += np.where(a[i] > b[i], a[i] * a[i], b[i])
        y[i] += pow(a[i], 2) + np.power(a[i], 3) + np.reciprocal(b[i])


def conversions(x, n, y):
    for i in range(x.shape[0]):
        k = int(x[i] * 5.0)
        y[k] += float(n[i]) * x[i] + np.float64(x[i]) * bool(n[i])
        y[k] *= 1.0 + x[i] * int(x[i] > 0.5)


def accumulations(x, y):
    n = x.shape[0]
    s = 0.0
    p = 1.0
    hi = x[0]
    for i in range(n):
        s = s + x[i] * x[i]
        p = x[i] * p
        hi = max(hi, x[i], 0.5 * x[n - 1 - i])
        y[i % 3] = y[i % 3] - x[i]
        y[3] = min(y[3], x[i])
    return s * p + hi


ENTRIES = (
    Entry(
        name="other_names",
        function=other_names,
        make=lambda r: dict(x=r.random(5), y=np.zeros(5)),
        wrt=("x",),
        outputs=("x", "y"),
        is_analytic=True,
        constructs=("another name for an array", "return of nothing"),
    ),
    Entry(
        name="module_names",
        function=module_names,
        make=lambda r: dict(x=r.uniform(0.1, 1, 5), y=np.zeros(5)),
        wrt=("x",),
        outputs=("y",),
        oracle=lambda xp, x, y: {"y": xp.exp(x) + xp.sqrt(x) * xp.sin(x) + xp.log(x)},
        is_twin=True,
        constructs=("modules under any name",),
    ),
    Entry(
        name="float_tests",
        function=float_tests,
        make=lambda r: dict(x=r.random(5), y=np.zeros(5)),
        wrt=("x",),
        outputs=("y",),
        constructs=("tests of floats",),
    ),
    Entry(
        name="truth_of_numbers",
        function=truth_of_numbers,
        make=lambda r: dict(x=r.random(6), n=np.array([0, 2, 0, -1, 5, 0]), y=np.zeros(6)),
        wrt=("x",),
        outputs=("y",),
        constructs=("and, or of numbers",),
    ),
    Entry(
        name="operator_functions",
        function=operator_functions,
        make=lambda r: dict(a=r.uniform(0.2, 1, 6), b=r.uniform(0.2, 1, 6), y=np.zeros(6)),
        wrt=("a", "b"),
        outputs=("y",),
        constructs=("operators as functions",),
    ),
    Entry(
        name="conversions",
        function=conversions,
        make=lambda r: dict(x=r.random(6), n=r.integers(0, 3, 6), y=r.random(5)),
        wrt=("x", "y"),
        outputs=("y",),
        constructs=("conversions",),
    ),
    Entry(
        name="accumulations",
        function=accumulations,
        make=lambda r: dict(x=r.random(6), y=r.random(4)),
        wrt=("x", "y"),
        outputs=("y",),
        constructs=("accumulation spelt out",),
    ),
)
