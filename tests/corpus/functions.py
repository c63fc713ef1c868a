"""The scalar functions of the language, in their `math` and `numpy` spellings."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import psi

from loopdiff import stop_gradient
from tests.corpus.entry import Entry


def elementary_math(x, y):
    for i in range(x.shape[0]):
        v = x[i]
        y[i, 0] = math.sqrt(v)
        y[i, 1] = math.exp(v)
        y[i, 2] = math.expm1(v)
        y[i, 3] = math.log(v)
        y[i, 4] = math.log1p(v)
        y[i, 5] = math.log2(v)
        y[i, 6] = math.log10(v)
        y[i, 7] = math.sin(v)
        y[i, 8] = math.cos(v)
        y[i, 9] = math.tan(v)
        y[i, 10] = math.asin(v)
        y[i, 11] = math.acos(v)
        y[i, 12] = math.atan(v)
        y[i, 13] = math.sinh(v)
        y[i, 14] = math.cosh(v)
        y[i, 15] = math.tanh(v)
        y[i, 16] = math.asinh(v)
        y[i, 17] = math.acosh(v + 1.0)
        y[i, 18] = math.atanh(v)
        y[i, 19] = math.cbrt(v)
        y[i, 20] = math.exp2(v)


def elementary_numpy(x, y):
    for i in range(x.shape[0]):
        v = x[i]
        y[i, 0] = np.sqrt(v)
        y[i, 1] = np.exp(v)
        y[i, 2] = np.expm1(v)
        y[i, 3] = np.log(v)
        y[i, 4] = np.log1p(v)
        y[i, 5] = np.log2(v)
        y[i, 6] = np.log10(v)
        y[i, 7] = np.sin(v)
        y[i, 8] = np.cos(v)
        y[i, 9] = np.tan(v)
        y[i, 10] = np.arcsin(v)
        y[i, 11] = np.arccos(v)
        y[i, 12] = np.arctan(v)
        y[i, 13] = np.sinh(v)
        y[i, 14] = np.cosh(v)
        y[i, 15] = np.tanh(v)
        y[i, 16] = np.arcsinh(v)
        y[i, 17] = np.arccosh(v + 1.0)
        y[i, 18] = np.arctanh(v)
        y[i, 19] = np.cbrt(v)
        y[i, 20] = np.exp2(v)


def elementary_oracle(xp, x, y):
    names = "sqrt exp expm1 log log1p log2 log10 sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh"
    columns = [getattr(xp, name)(x) for name in names.split()]
    columns += [xp.arccosh(x + 1.0), xp.arctanh(x), xp.cbrt(x), xp.exp2(x)]
    return {"y": xp.stack(columns, 1)}


def special_functions(x, y):
    for i in range(x.shape[0]):
        y[i, 0] = math.erf(x[i])
        y[i, 1] = math.erfc(x[i])
        y[i, 2] = math.gamma(x[i] + 1.0)
        y[i, 3] = math.lgamma(x[i] + 0.5)
        y[i, 4] = psi(x[i] + 1.0)


def binary_functions(a, b, y):
    for i in range(a.shape[0]):
        y[i, 0] = math.hypot(a[i], b[i])
        y[i, 1] = np.hypot(b[i], 2.0)
        y[i, 2] = math.atan2(a[i], b[i])
        y[i, 3] = np.arctan2(b[i], -a[i])
        y[i, 4] = math.copysign(a[i], b[i] - 0.5)
        y[i, 5] = math.fmod(5.0 * a[i], b[i])
        y[i, 6] = a[i] % b[i] + 7.0 * a[i] // b[i]
        y[i, 7] = math.log(a[i], 3.0)


def roundings(x, y):
    for i in range(x.shape[0]):
        v = 3.0 * x[i]
        y[i] = math.floor(v) * v + math.ceil(v) * x[i] + math.trunc(v) * x[i] * x[i]
        y[i] += round(v) * x[i] + np.floor(v) * v - np.ceil(v) + np.trunc(v) * v
        y[i] += np.sign(v) * v + abs(v) * v + math.fabs(x[i]) + np.abs(v - 1.0)
        y[i] += np.rint(v) * v


def extremes(x, y):
    for i in range(1, x.shape[0] - 1):
        y[i] = min(x[i], x[i - 1]) * max(x[i], x[i + 1], 0.5)
        y[i] += np.maximum(x[i], 0.3) - np.minimum(x[i - 1], x[i + 1])
        y[i] += min(x[i], x[i - 1], x[i + 1], y[i], 0.9)
        y[i] += np.clip(x[i], 0.2, 0.6)


def powers(x, n, y):
    for i in range(x.shape[0]):
        v = x[i]
        p = abs(v) + 0.1
        y[i, 0] = v**2 + v**3
        y[i, 1] = v**-1 + v**-2
        y[i, 2] = p**0.5 + p**-1.5
        y[i, 3] = p**v
        y[i, 4] = 2.0**v + 3**v
        y[i, 5] = v ** n[i]
        y[i, 6] = math.pow(p, v) + np.power(p, 1.3)
        y[i, 7] = v**2.0 + v**3.0 + v**0
        y[i, 8] = (-p) ** 3 + v**1


def arithmetic(a, b, y):
    for i in range(a.shape[0]):
        y[i] = -a[i] + b[i] * 2 - a[i] / b[i] + 3 / a[i] - (+b[i]) + a[i] // 0.25
        y[i] = y[i] * (a[i] - b[i]) * 1e-1 + float(i) * a[i]


COLUMNS = 21


def declared_constants(x, w, y):
    t = 0.0
    for i in range(x.shape[0]):
        y[i] = stop_gradient(w[i]) * x[i] * x[i]
        t += y[i] * stop_gradient(np.sin(w[i]))
    return t


ENTRIES = (
    Entry(
        name="elementary_math",
        function=elementary_math,
        make=lambda r: dict(x=r.uniform(0.1, 0.9, 9), y=np.zeros((9, COLUMNS))),
        wrt=("x",),
        outputs=("y",),
        oracle=elementary_oracle,
        is_twin=True,
        constructs=("elementary functions",),
    ),
    Entry(
        name="elementary_numpy",
        function=elementary_numpy,
        make=lambda r: dict(x=r.uniform(0.1, 0.9, 9), y=np.zeros((9, COLUMNS))),
        wrt=("x",),
        outputs=("y",),
        oracle=elementary_oracle,
        is_twin=True,
        constructs=("elementary functions",),
    ),
    Entry(
        name="special_functions",
        function=special_functions,
        make=lambda r: dict(x=r.uniform(-0.4, 2.5, 9), y=np.zeros((9, 5))),
        wrt=("x",),
        outputs=("y",),
        constructs=("elementary functions",),
    ),
    Entry(
        name="binary_functions",
        function=binary_functions,
        make=lambda r: dict(a=r.uniform(0.1, 1, 9), b=r.uniform(0.1, 1, 9), y=np.zeros((9, 8))),
        wrt=("a", "b"),
        outputs=("y",),
        constructs=("elementary functions",),
    ),
    Entry(
        name="roundings",
        function=roundings,
        make=lambda r: dict(x=r.uniform(-1, 1, 9), y=np.zeros(9)),
        wrt=("x",),
        outputs=("y",),
        constructs=("rounding and sign",),
    ),
    Entry(
        name="extremes",
        function=extremes,
        make=lambda r: dict(x=r.random(9), y=np.zeros(9)),
        wrt=("x",),
        outputs=("y",),
        constructs=("min and max",),
    ),
    Entry(
        name="powers",
        function=powers,
        make=lambda r: dict(x=r.uniform(0.2, 1, 9) * r.choice([-1, 1], 9), n=r.integers(-2, 4, 9), y=np.zeros((9, 9))),
        wrt=("x",),
        outputs=("y",),
        constructs=("powers",),
    ),
    Entry(
        name="declared_constants",
        function=declared_constants,
        make=lambda r: dict(x=r.random(9), w=r.random(9), y=np.zeros(9)),
        wrt=("x",),
        outputs=("y",),
        constructs=("stop_gradient",),
        notes="only what does not depend on x is declared constant: elsewhere differences see what derivatives do not",
    ),
    Entry(
        name="arithmetic",
        function=arithmetic,
        make=lambda r: dict(a=r.uniform(0.3, 1, 9), b=r.uniform(0.3, 1, 9), y=np.zeros(9)),
        wrt=("a", "b"),
        outputs=("y",),
    ),
)
