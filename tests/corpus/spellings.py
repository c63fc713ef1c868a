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


def comparison_functions(a, b, y):
    for i in range(a.shape[0]):
        if np.logical_and(np.less(a[i], b[i]), np.greater(a[i], 0.3)) or np.equal(i, 2):
            y[i] = a[i] * a[i]
        elif np.logical_or(np.less_equal(b[i], 0.5), np.greater_equal(a[i], 0.9)):
            y[i] = a[i] * b[i]
        elif np.logical_not(np.not_equal(i, 3)) or np.bool_(i > 4):
            y[i] = b[i] * b[i]
        if m.isfinite(a[i]) and not m.isinf(b[i]) and not np.isnan(a[i]):
            y[i] += a[i]


def integer_functions(x, y):
    n = y.shape[0]
    for i in range(x.shape[0]):
        k = np.bitwise_or(np.left_shift(i, 1), 1) ^ np.bitwise_and(i, 6)
        j = np.floor_divide(np.bitwise_xor(k, 5), 2) + np.right_shift(k, 1)
        y[np.remainder(j, n)] += x[i] * x[i]
        y[np.int64(x[i] * 4.0)] += x[i]
        y[(~i | np.invert(k)) % n] += x[i] * (i | 2)


def float_functions(a, b, y):
    for i in range(a.shape[0]):
        y[i] = np.fmod(a[i] * 5.0, b[i]) * np.copysign(a[i], b[i] - 0.5)
        y[i] += np.fmax(a[i], b[i]) * np.fmin(a[i], b[i] * b[i])
        y[i] += m.radians(a[i]) * m.degrees(b[i]) + np.radians(b[i]) * np.degrees(a[i])
        y[i] += np.float_power(a[i], 3) + np.fabs(a[i] - b[i])
        y[i] += np.trunc(a[i] * 3.0) * b[i] + np.round(b[i] * 7.0) * a[i] + np.around(a[i] * 5.0)


def to_float32(x, y):
    for i in range(x.shape[0]):
        y[i] = np.float32(2.5) * x[i] * x[i]


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
        name="comparison_functions",
        function=comparison_functions,
        make=lambda r: dict(a=r.random(8), b=r.random(8), y=np.zeros(8)),
        wrt=("a", "b"),
        outputs=("y",),
        constructs=("operators as functions", "tests of floats"),
    ),
    Entry(
        name="integer_functions",
        function=integer_functions,
        make=lambda r: dict(x=r.random(7), y=r.random(5)),
        wrt=("x", "y"),
        outputs=("y",),
        constructs=("operators as functions", "integer arithmetic", "computed subscripts"),
    ),
    Entry(
        name="float_functions",
        function=float_functions,
        make=lambda r: dict(
            a=np.linspace(0.22, 0.94, 6) + 1e-3 * r.random(6),
            b=np.linspace(0.87, 0.33, 6) + 1e-3 * r.random(6),
            y=np.zeros(6),
        ),
        wrt=("a", "b"),
        outputs=("y",),
        constructs=("operators as functions", "elementary functions", "rounding and sign"),
        notes="away from all steps",
    ),
    Entry(
        name="to_float32",
        function=to_float32,
        make=lambda r: dict(x=r.random(5).astype(np.float32), y=np.zeros(5, np.float32)),
        wrt=("x",),
        outputs=("y",),
        constructs=("conversions",),
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
