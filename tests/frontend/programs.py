"""One small function for each accepted construct, with arguments: plain Python says what it must compute."""

# Loop nests are the subject of this file: they are written the way users write loops.
# ruff: noqa: B007, B023, B905, E731, PLR, RUF005, RUF046, RUF059, SIM, UP
# pyright: reportPossiblyUnboundVariable=false

from __future__ import annotations

import cmath
import itertools
import math
import math as m
from dataclasses import dataclass
from math import exp, pi
from types import SimpleNamespace
from typing import Any

import numba
import numpy
import numpy as np
from scipy import special
from scipy.special import gammaln

from loopdiff import stop_gradient
from tests.corpus.helpers import chain
from tests.corpus.ruled import power, staircase

HALF = 0.5
COUNT = 3
WEIGHTS = (0.25, 0.5, 0.25)
SETTINGS = SimpleNamespace(alpha=1.5, name="settings")


class Constants:
    """Holds constants as attributes of a class."""

    beta = 0.125


@dataclass(frozen=True, slots=True)
class Slotted:
    """Holds a constant in a slot."""

    gamma: float


SLOTTED = Slotted(0.75)
SINGLE = np.float32(0.1)
VERBOSE = False


@dataclass(frozen=True, slots=True)
class Program:
    """A function, its arguments, and the row of the language table it shows."""

    construct: str
    function: Any
    arguments: tuple[Any, ...]


PROGRAMS: list[Program] = []


def shows(construct: str, *arguments: Any):
    """Register the function under it."""

    def register(function: Any) -> Any:
        PROGRAMS.append(Program(construct, function, arguments))
        return function

    return register


def vector(n: int = 6, shift: float = 0.0) -> np.ndarray:
    return np.sin(np.arange(n) * 1.7 + 0.3) + shift


def matrix(rows: int = 4, columns: int = 5) -> np.ndarray:
    return np.cos(np.arange(rows * columns) * 0.9).reshape(rows, columns)


def integers(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


# -- loops ---------------------------------------------------------------------------------------------------
@shows("for over range", vector(), 2)
def range_stop(x, n):
    for i in range(n):
        x[i] = 2.0 * x[i]
    for i in range(1, len(x)):
        x[i] += x[i - 1]
    for i in range(0, len(x), 3):
        x[i] -= 1.0


@shows("for over range", vector(), 5)
def range_of_numba(x, n):
    for i in numba.prange(1, n):
        x[i] *= 2.0


@shows("negative step", vector())
def range_down(x):
    for i in range(x.shape[0] - 2, -1, -1):
        x[i] += 0.5 * x[i + 1]
    for i in range(len(x) - 1, 0, -2):
        x[i] = -x[i]


@shows("run-time step", vector(11), 3)
def range_step(x, s):
    for i in range(0, x.size, s):
        x[i] = 1.0
    for i in range(x.size - 1, -1, -s):
        x[i] += 0.25


@shows("for over range", vector())
def bounds_once(x):
    n = 3
    for i in range(n):
        n = n + 1
        x[i] = n
    return n


@shows("for over range", vector())
def assign_index(x):
    total = 0.0
    for i in range(3):
        i = i + 2
        total += x[i] * i
    return total, i


@shows("loop variable after the loop", vector())
def index_after(x):
    for i in range(4):
        x[i] = 0.0
    x[i + 1] = 9.0
    for j in range(len(x) - 1):
        x[j] += 1.0
    return x[j] + i


@shows("loop variable after the loop", vector(), 0)
def guarded_reads(x, n):
    for i in range(n):
        last = x[i]
        t = np.zeros(3)
    a = last if n > 0 else 7.0
    if n > 0 and last > 0.0:
        a = 1.0
    b = n == 0 or last > 0.0
    if n > 2:
        a = t.shape[0] + t[0]
    return a, b


@shows("triangular bounds", matrix(4, 4))
def triangular(a):
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            for k in range(j, i + 1):
                a[i, j] -= 0.1 * a[i, k]


@shows("indirect bounds", integers(0, 2, 2, 5), vector(5), np.zeros(3))
def ragged(ptr, v, y):
    for r in range(ptr.shape[0] - 1):
        for p in range(ptr[r], ptr[r + 1]):
            y[r] += v[p] * v[p]


@shows("imperfect and sibling nests", matrix(), np.zeros(4))
def imperfect(a, y):
    for i in range(a.shape[0]):
        y[i] = 1.0
        for j in range(a.shape[1]):
            y[i] += a[i, j]
        y[i] *= 0.5
        for j in range(a.shape[1]):
            a[i, j] /= y[i]


@shows("for over an array", vector())
def over_array(x):
    s = 0.0
    for v in x:
        s += v * v
    return s


@shows("for over a slice", vector(9), 2)
def over_slice(x, k):
    s = 0.0
    for v in x[1:-1]:
        s = s * 0.5 + v
    for v in x[::-1]:
        s = s * 0.5 + v
    for v in x[k:100]:
        s = s * 0.5 + v
    for v in x[-k:]:
        s = s * 0.5 + v
    for v in x[7:k:-2]:
        s = s * 0.5 + v
    for v in x[-20:3]:
        s = s * 0.5 + v
    for v in x[5:2]:
        s = s + 1000.0
    return s


@shows("for over a slice", matrix())
def over_row(a):
    s = 0.0
    for i in range(a.shape[0]):
        for v in a[i]:
            s = s * 0.5 + v
        for v in a[i, 1:]:
            s = s * 0.5 + v
    for v in a[:, 2]:
        s = s * 0.5 + v
    return s


@shows("enumerate", vector(), np.zeros(6))
def with_enumerate(x, y):
    for i, v in enumerate(x):
        y[i] = v + i
    for k, v in enumerate(x[2:], 1):
        y[k] += v
    for k, i in enumerate(range(5, 0, -2), start=1):
        y[i] += k


@shows("zip", vector(6), vector(4, 1.0), np.zeros(6))
def with_zip(x, w, y):
    s = 0.0
    for a, b in zip(x, w):
        s = s * 0.5 + a * b
    for i, (a, b) in enumerate(zip(x[1:], w)):
        y[i] = a - b
    for a, i in zip(w, range(5, -1, -1)):
        y[i] += a
    return s


@shows("of which class an argument is", vector(), 3, 0.5)
def by_class(x, n, s):
    def total(v):
        if isinstance(v, np.ndarray):
            return (v * v).sum()
        return v if np.isscalar(v) else v[0] * v[1]

    k = (n, n) if isinstance(n, int | np.integer) else n
    f = total if callable(total) else x
    return f(x) + total((s, x[1])) * total(s) + k[1] + (1.0 if isinstance(x[0], float) else 0.0)


@shows("values that nobody uses", matrix(), vector(), 3)
def unused_values(A, x, n):
    A.shape, n
    x[n]
    x[0] > 1.0
    A @ x[: A.shape[1]]
    return x[0]


@shows("loops over several ranges", matrix(), vector(), 3)
def over_several(A, x, n):
    t = 0.0
    for i, j in np.ndindex(n, 2):
        t += A[i, j] * x[j]
    for i, j in np.ndindex((2, n)):
        A[i, j] += t * i
    for i, j in np.ndindex(A.shape):
        if j > n:
            continue
        t = 0.5 * t + A[i, j]
    for (i, j), v in np.ndenumerate(A):
        t += v * (i - 2 * j)
    for i, j in itertools.product(range(n), range(1, 3)):
        t += x[i] * A[i, j]
        n = 1
    for i, j, k in itertools.combinations(range(4), 3):
        t -= A[i, j] * A[j, k]
    return t


@shows("reversed", vector())
def with_reversed(x):
    s = 0.0
    for v in reversed(x):
        s = s * 0.5 + v
    for i in reversed(range(1, 6, 2)):
        s = s * 0.5 + x[i]
    for i in reversed(range(4, 2)):
        s = s + 1000.0
    return s


@shows("zip", vector(9), 3, 2)
def zip_of_ranges(x, s, k):
    for i, j in zip(range(8, -1, -s), range(0, 9, k)):
        x[i] += 10.0 * j
    for i, v in zip(range(1, 9, s), reversed(x[:4])):
        x[i] -= v
    for j, i in enumerate(reversed(range(0, 8, s))):
        x[i] += j


# -- branches and conditions ---------------------------------------------------------------------------------
@shows("if, elif, else", vector())
def branches(x):
    for i in range(len(x)):
        if x[i] > 0.5:
            y = 1.0
        elif x[i] < -0.5:
            y = x[i]
            y *= 2.0
        else:
            y = 0.0
        x[i] = y


@shows("while", vector(), 3.0)
def halving(x, s):
    k = 0
    while s > 0.1 and k < len(x):
        s *= 0.5
        x[k] += s
        k += 1
    while False:
        k = 0
    return k, s


@shows("break and continue", vector())
def skipping(x):
    t = 0.0
    for i in range(len(x)):
        if x[i] < 0.0:
            if i % 2:
                t += 1.0
                continue
            t -= 1.0
        elif x[i] > 0.9:
            t *= 2.0
            break
        for j in range(i):
            if x[j] > x[i]:
                break
            if j == 1:
                continue
            t += x[j]
        x[i] = t
    while True:
        t *= 0.5
        if t < 1.0:
            break
        if t > 2.0:
            continue
        t -= 0.25
    return t


@shows("else of a loop", vector(), 0.6)
def searching(x, s):
    for i in range(len(x)):
        if x[i] > s:
            where = i
            break
        x[i] = 0.0
    else:
        where = -1
    k = 0
    while k < where:
        k += 2
    else:
        x[0] = k
    return where


@shows("return from inside", vector(), 0.6)
def finding(x, s):
    t = np.zeros(2)
    if len(x) == 0:
        return 0.0, t, 0
    for i in range(len(x)):
        k = i
        while k >= 0:
            t[0] += x[k]
            if t[0] > s:
                return x[k], t, k
            k -= 1
        if x[i] < -0.9:
            t[1] = 1.0
            return t[0], t, i
    return -1.0, t, len(x)


@shows("conditional expression", vector())
def conditional(x):
    for i in range(len(x)):
        x[i] = x[i] if x[i] > 0 else (0.1 * x[i] if i % 2 else -x[i])


@shows("comparisons, chained and boolean", vector())
def booleans(x):
    n = 0
    for i in range(len(x)):
        if (0 < i <= 3 and not x[i] < 0) or i == 5:
            n += 1
        if i and x[i]:
            n += 10
        ok = x[i] > 0.2
        if not ok:
            n += 100
        both = ok and i > 1
        n += both
    return n


@shows("and, or of numbers", vector(), 0, 3)
def number_or(x, a, b):
    return (a or b) + (a and b) + (b and 7) + (a or x[0])


@shows("comparisons, chained and boolean", vector(), np.array([True, False, True]), 3)
def more_booleans(x, flag, n):
    always = True and 2 > 1
    never = False or 2 < 1
    some = (True and n > 2) or False
    flag[1] = ~flag[0]
    flag[0] = x[0] - x[0]
    if always and not never and some and not x.ndim > 1:
        flag[2] = 0.5
    return always, never, some, flag[1] and flag[2]


@shows("assert", vector())
def asserted(x):
    assert len(x) > 2, "too short"
    assert x.ndim == 1
    x[2] = 0.0


@shows("with np.errstate(...)", vector(), vector())
def without_warnings(x, y):
    def ratio(v, w):
        with numpy.errstate(all="ignore"):
            return v / w

    total = 0.0
    with np.errstate(divide="ignore", invalid="warn"), numpy.errstate():
        for i in range(x.shape[0]):
            with np.errstate(over="ignore"):
                if x[i] > 0.5:
                    continue
                y[i] = np.where(x[i] < 0.0, 1.0, np.exp(x[i]))
            total += y[i]
        z = np.where(y != 0.0, ratio(x, y), 0.0)
    return total, z.sum()


@shows("names that the first iteration binds", vector(), 4)
def first_bound(x, n):
    t = 0.0
    for i in range(1, n):
        if i == 1:
            first = x * 2.0
        elif i >= 2:
            t += first[i] * last  # noqa: F821
        last = x[i]  # noqa: F841
    for k, v in enumerate(x):
        if k > 0:
            t += (v - before) ** 2  # noqa: F821
        before = v  # noqa: F841
    return t


@shows("print", vector(), 0.5)
def printed(x, s):
    print("begins", x[:2], x.shape, s > 0.2, end=" ...\n", flush=True)
    t = s
    for i, v in enumerate(x):
        if v > 0.0:
            print(f"{i:3d} {t:.4f}", "%5.2f (%d)" % (v, i), str(v).rjust(20), "{:>8.3f}".format(t), sep=" ; ")  # noqa: UP031, UP032
        t = 0.5 * t + v * v
    return t


@shows("raise", vector(), 2)
def raised(x, n):
    def root(v):
        if v < -9.0:
            raise OverflowError("v", v)
        return np.sqrt(v + 9.0)

    if n == 1:
        t = 0.5
    elif n == 2:
        t = root(x[0])
    else:
        raise ValueError(f"n is {n}") from None
    for v in x:
        if v != v:
            raise RuntimeError
    x[1] = t


# -- scalars -------------------------------------------------------------------------------------------------
@shows("scalar locals", vector())
def locals_(x):
    """A docstring."""
    s: float = 0.0
    p = q = 1.5
    for i in range(len(x)):
        t = x[i]
        s += t
        t = t * s
        x[i] = t
        p = p * t + q
    pass
    return p


@shows("scalar locals", vector(), integers(4, 5))
def chained_assignment(x, k):
    a = x[0] = k[0] = x[1] + 3.5
    k[1] = b = 7
    x[2] = a = a + 1.0
    return a, b


@shows("tuple assignment and swap", vector(), integers(3, 1, 2))
def tuples(x, k):
    a, b = 1.0, 2.0
    for i in range(3):
        a, b = b, a + b
    x[0], x[1] = x[1], x[0]
    x[2], a, x[3] = a, x[2], x[2] + x[3]
    (c, d), e = (a, b), x[4]
    j = 0
    j, k[j] = 2, 7
    q, r = divmod(17, k[1] + 4)
    return a, b, c + d * e, q, r


@shows("augmented assignments", vector(), integers(7, 9, 12))
def augmented(x, k):
    x[0] += 1.0
    x[1] -= x[0]
    x[2] *= 3.0
    x[3] /= 7.0
    x[4] **= 2
    x[5] //= 0.3
    k[0] //= 2
    k[1] %= 5
    k[2] <<= 2
    k[2] ^= 5
    k[0] |= 8
    k[1] &= 6
    k[2] >>= 1
    s = 2.0
    s **= 3
    s %= 2.5
    return s


@shows("accumulation spelt out", vector())
def accumulated(x):
    s = 0.0
    big = -1e30
    small = np.inf
    for i in range(len(x)):
        s = s + x[i] * 2.0
        s = x[i] + s
        s = s - x[i] - 1.0
        big = max(big, x[i])
        small = np.minimum(x[i], small)
        big = max(x[i] - 3, big, x[i] + 0.5)
        x[0] = max(x[0], x[i])
        x[1] = x[1] + 0.5 * x[i]
    return s, big, small


@shows("reassigned argument", vector(), 2.5, 3)
def reassigned(x, a, n):
    a = a * 2.0
    n += 1
    for i in range(n):
        x[i] = a
        a = a - 1.0
    return a, n


@shows("scalar locals", vector(), np.arange(6, dtype=np.float32))
def one_name_several_types(x, y):
    r = 0.1
    x[0] = r
    for e in range(3):
        x[e] += 1.0
    e = x[1] * 0.5
    for r in range(2):
        x[r] -= e
    r = y[1] * 0.1
    y[2] = r
    for i in range(3):
        if i > 0:
            e = e * 2
        else:
            e = 1
        x[i] += e
    return r


# -- subscripts ----------------------------------------------------------------------------------------------
@shows("affine, shifted, strided subscripts", vector(12), np.zeros(12))
def affine(x, y):
    n = len(x)
    for i in range(1, 4):
        y[2 * i + 1] = x[i - 1] + x[n - i - 1] - x[3 * i]


@shows("negative subscripts", vector(6), matrix())
def negative(x, a):
    x[-1] = x[-2] + a[-1, -2]
    for i in range(1, 4):
        x[-i] += x[i]
    t = np.zeros(4)
    t[-1] = 3.0
    return t[3] + a[1][-1]


@shows("indirect subscripts", vector(6), integers(0, 2, 2, 5), np.zeros(6))
def indirect(x, idx, y):
    for i in range(len(idx)):
        y[idx[i]] += x[idx[len(idx) - 1 - i]]
        y[idx[idx[0]]] = 1.0


@shows("computed subscripts", vector(16), np.zeros(16))
def computed(x, y):
    for i in range(16):
        y[i // 2] += x[(7 * i + 3) % 16]
        y[i ^ 5] -= x[(i << 1) & 15]
        y[(i >> 1) | 1] += x[-i // 3]
        y[int(abs(x[i]) * 10.0)] += 1.0
        y[int(x[i] * 3.0) % 16] *= 0.5


@shows("arrays laid out by hand", vector(12), np.zeros(12), 3, 4)
def rows_by_hand(x, y, n, m):
    for i in range(n):
        for j in range(m):
            y[i * m + j] += x[m * i + j]
        for j in range(1, m):
            y[i * m + j] += 0.5 * y[i * m + j - 1]
    for i in range(n - 1, -1, -1):
        y[(i + 1) * m - 1] *= x[i * m]


@shows("shape, ndim, size, len", matrix())
def shapes(a):
    M, N = a.shape
    b = np.ones((N, M + 1))
    R, C = b.shape
    s = a.size + 10 * a.ndim + 100 * len(a) + 1000 * a.shape[-1] + b.size + b.ndim + len(b) + R * C
    if a.ndim == 2:
        s += 1
    return s + M + N


@shows("shape, ndim, size, len", np.arange(24.0).reshape(2, 3, 4))
def parts_of_shapes(a):
    L, M = a.shape[:2]
    P, Q = a.shape[1:]
    R, S = a.shape[-2:]
    (T,) = a.shape[1:2]
    U, V, W = a.shape[:]
    return L + 10 * M + 100 * P + Q * R - S + T * len(a.shape), U + V * W


# -- local arrays --------------------------------------------------------------------------------------------
@shows("np.empty, zeros, ones, full, ndarray", vector(), 3)
def allocations(x, n):
    k = n + 2
    a = np.empty(len(x))
    b = np.zeros((k, 2), dtype=np.float32)
    c = np.ones(x.shape)
    d = np.full((2, 3), 7)
    e = np.full(2, x[0], dtype=x.dtype)
    f = np.zeros(shape=(n * 2 - 1,), dtype=int)
    g = np.full(n, True)
    for i in range(len(x)):
        a[i] = x[i] + c[i]
    for i in range(k):
        b[i, 1] = x[i]
    f[2] = 5
    g[1] = x[0] > 5.0
    return a, b, d, e, f, g


@shows("np.empty, zeros, ones, full, ndarray", matrix(), np.float32(2.0))
def more_allocations(a, v):
    t = np.zeros(a.shape[:1], "float32")
    u = np.zeros(a.shape[1:2], dtype="int64", order="C")
    c = np.full(a.shape, 3)
    d = np.full((2,), np.inf)
    e = np.full(2, v)
    g = np.full(2, v * 1.5)
    h = np.full(2, a.size)
    w = np.ndarray(a.shape, dtype=a.dtype)
    w[:] = 2.0 * a
    t[0] = a[0, 0]
    u[0] = c[0, 0]
    return t, u, c, d, e, g, h, w


@shows("names that some ways bind", vector(), 0.8)
def bound_on_some_ways(x, s):
    for k in range(9):
        step = x * s**k
        if np.linalg.norm(step) < 0.5:
            break
        kept = np.outer(step, x)
    for i, u in enumerate(x):
        if u < 0.0:
            continue
        last, where = u * u, i
    if x[0] > 0.0:
        first = x[0] * last
    return kept.sum() + step[0], last * where, first


@shows("np.empty_like and friends", vector(), integers(1, 2, 3))
def allocations_like(x, k):
    a = np.zeros_like(x)
    b = np.ones_like(a, dtype=np.int64)
    c = np.full_like(k, 4)
    d = np.empty_like(k, dtype=x.dtype)
    for i in range(len(k)):
        d[i] = a[i] + b[i] + c[i]
    e = np.zeros_like(x[0])
    e += x[1] * np.ones_like(2)
    return a, b, c, d, e


@shows("array allocated in a loop", matrix())
def allocated_inside(a):
    s = 0.0
    for i in range(a.shape[0]):
        t = np.zeros(a.shape[1])
        for j in range(a.shape[1]):
            t[j] += a[i, j]
        s += t[0] * t[1]
    return s


@shows("another name for an array", vector())
def alias(x):
    y = x
    for i in range(len(y)):
        y[i] += x[i]
    t = np.zeros(2)
    u = t
    u[1] = 4.0
    return t


# -- constants -----------------------------------------------------------------------------------------------
@shows("global and closure constants", vector())
def constants(x):
    for i in range(COUNT):
        x[i] = HALF * x[i] + WEIGHTS[1] + SETTINGS.alpha + len(WEIGHTS) + WEIGHTS[-1]
    if VERBOSE:
        x[0] = 100.0
    x[1] = float("inf")
    x[2] = -np.inf
    x[3] = np.pi + math.e + pi + math.tau
    x[4] = SINGLE * 3.0 + Constants.beta + SLOTTED.gamma
    x[5] = 1e3 - 0x10 + 1_000


@shows("modules under any name", vector())
def modules(x):
    return m.sqrt(2.0) + numpy.exp(x[0]) + exp(x[1]) + np.float64(3) + np.sin(x[2])


# -- functions -----------------------------------------------------------------------------------------------
@shows("elementary functions", vector(), 0.4)
def elementary(x, v):
    s = np.sqrt(v) + np.cbrt(v) + np.exp(v) + np.exp2(v) + np.expm1(v) + np.log(v) + np.log2(v) + np.log10(v)
    s += np.log1p(v) + np.sin(v) + np.cos(v) + np.tan(v) + np.arcsin(v) + np.arccos(v) + np.arctan(v)
    s += np.sinh(v) + np.cosh(v) + np.tanh(v) + np.arcsinh(v) + np.arccosh(v + 1) + np.arctanh(v)
    s += np.hypot(v, 2.0) + np.arctan2(v, -1.0) + np.copysign(v, -2.0) + np.fmod(-v, 0.3)
    s += math.sqrt(v) + math.exp(v) + math.expm1(v) + math.log(v) + math.log2(v)
    s += math.log10(v) + math.log1p(v) + math.sin(v) + math.cos(v) + math.tan(v) + math.asin(v) + math.acos(v)
    s += math.atan(v) + math.sinh(v) + math.cosh(v) + math.tanh(v) + math.asinh(v) + math.acosh(v + 1)
    s += math.atanh(v) + math.hypot(v, 2.0, 3.0) + math.atan2(v, -1.0) + math.copysign(v, -2.0)
    s += math.fmod(-v, 0.3) + math.erf(v) + math.erfc(v) + math.gamma(v) + math.lgamma(v) + math.log(v, 3.0)
    return s + math.radians(v) + math.degrees(v) + np.radians(v) + math.pow(2, 3) + math.fabs(-3)


@shows("elementary functions", 1.3)
def special_functions(v):
    return special.erf(v) + special.erfc(v) + special.gammaln(v) + special.psi(v) + gammaln(v)


@shows("rounding and sign", vector(8, -0.1), 7)
def rounding(x, n):
    s = 0.0
    for i in range(len(x)):
        v = x[i] * 2.5
        s = s * 3 + np.floor(v) + math.floor(v) + np.ceil(v) + math.ceil(v) + np.trunc(v) + math.trunc(v)
        s = s + round(v) + np.rint(v) + np.round(v) + np.sign(v) + abs(v) + np.abs(v) + np.fabs(v)
    return s, math.floor(n), round(n), abs(-n), np.sign(-n), math.trunc(-n)


@shows("min and max", vector(), 3)
def extremes(x, n):
    a = min(x[0], x[1], 0.3) + max(x[2], 0.0) + max((x[3], x[4])) + np.maximum(x[5], 0.1) + np.fmin(x[0], n)
    return a, max(n, 7), min(n, 2, 5), np.clip(x[0], 0.4, 0.6), np.where(x[1] > 0, x[1], 0.0)


@shows("powers", vector(6, 2.0), 3)
def powers(x, n):
    s = x[0] ** 2 + x[1] ** -1 + x[2] ** 0.5 + x[3] ** n + 2 ** x[4] + pow(x[5], 3) + np.power(x[0], 2.0)
    huge = 2**80 * 0.0
    return s, huge, 2**n, n**2, 2**-1, n**-2, np.square(x[1]), np.reciprocal(x[2])


@shows("conversions", vector(6, 1.0), 3)
def conversions(x, n):
    a = int(x[0] * 10) + int(-2.7) + int(n) + (not 0)
    b = float(n) / 2 + float(x[1])
    c = np.float64(n) + np.int64(x[2] * 5)
    return a, b, c, bool(n), bool(x[0] - x[0]), int(True), np.float32(x[3])


@shows("stop_gradient", vector(), 0.3, 2)
def declared_constants(x, s, n):
    x[0] = stop_gradient(s) * x[stop_gradient(n)] + stop_gradient(x[1] > s)
    return stop_gradient(x[0] - s)


@shows("tests of floats", vector())
def float_tests(x):
    x[0] = np.nan
    x[1] = math.inf
    n = 0
    for i in range(len(x)):
        if math.isnan(x[i]) or np.isinf(x[i]):
            n += 1
        if np.isfinite(x[i]):
            n += 10
    return n


@shows("operators as functions", vector(), 6)
def operator_functions(x, n):
    a = np.add(x[0], 1.0) * np.multiply(x[1], 2.0) - np.divide(x[2], 3.0) + np.negative(x[3])
    return a, np.subtract(n, 2), np.bitwise_and(n, 3), np.left_shift(n, 2), np.mod(n, 4), np.greater(n, 2)


@shows("integer arithmetic", 17, -5)
def integer_arithmetic(a, b):
    return a // b, a % b, b // 3, b % 3, a / b, a * b, a & 12, a | 8, a ^ b, ~a, a << 2, b >> 1, -a, +b


@shows("narrow integers", vector(8), np.array([3, 77, 31], np.uint8), np.array([100, -100, 27], np.int8))
def narrow_integers(x, u, v):
    w = (u - v.astype(np.uint8)) * u
    w += 100
    low = v - 100
    return x[w % 8].sum() * low.sum() + x[(u * 2)[1] % 8] * (-v)[1] * (~u)[0] * x[0] + x[1] * (u @ u), u / 2


# -- arrays of other types -----------------------------------------------------------------------------------
@shows("integer and boolean arrays", integers(3, -4, 5), np.array([True, False, True]), np.zeros(3, np.int32))
def integer_arrays(k, flag, out):
    n = 0
    for i in range(3):
        if flag[i]:
            n += k[i]
        k[i] = k[i] / 2
        k[i] += 1.75
        flag[i] = k[i] > 1
        out[i] = k[i] * 2
        flag[i] |= i == 1
    return n


@shows("arrays of any rank", np.arange(16.0).reshape(2, 2, 2, 2), np.array(3.0))
def ranks(a, z):
    s = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            for k in range(a.shape[2]):
                for l in range(a.shape[3]):
                    s = s * 0.9 + a[i, j, k, l]
    return s + z[()]


@shows("return of a scalar", vector())
def returns_scalar(x):
    return x[0] > 0.0


@shows("return of a tuple", vector())
def returns(x):
    t = np.zeros(3)
    t[0] = x[0]
    return x[1], t, 3


@shows("return of nothing", vector())
def returns_nothing(x):
    x[0] = 1.0
    return None


# -- calls ---------------------------------------------------------------------------------------------------
@shows("call of a function", vector(), 0.3)
def calls_in_order(x, s):
    def bump(v, i, by=1.0):
        v[i] += by
        return v[i]

    def above(v, bound):
        for i in range(len(v)):
            if v[i] > bound:
                return i
        return -1

    x[0] = x[0] + bump(x, 0) * x[0] - bump(x, 0)
    x[int(bump(x, 1)) % 2] = x[1] + bump(x, 1)
    x[0] += bump(x, 0)
    x[int(abs(x[2])) % 3] -= bump(x, 2) + bump(x, 0)
    x[3], x[4] = x[4] + bump(x, 3), x[3]
    x[above(x, 0.5)], x[5] = x[5], bump(x, 5)
    a = x[0] if bump(x, 0) > 3.0 and bump(x, 1) > -100.0 else bump(x, 1)
    b = bump(x, 0) > 100.0 and bump(x, 1) > -100.0
    c = bump(x, 0) < 0.0 or x[1] > 100.0 or bump(x, 1) > -100.0 or bump(x, 2) > 0
    d = -100.0 < bump(x, 0) < 1.0 + bump(x, 1) < 3.0 < bump(x, 2)
    e = x[0] or bump(x, 0)

    def length(v):
        v[0] = -v[0]
        return 3

    x[1] += np.full(length(x), bump(x, 0) * x[0])[1]
    k = 0
    while k < 3 and bump(x, 0, s) < 9.0:
        k += 1
    for i in range(above(x, 0.5), len(x) if bump(x, 0) > 0.0 else 2):
        x[i] *= 0.5
    x[0], x[1] = 3.0, 4.0
    for i, j in zip(range(int(x[0])), range(int(x[1]), int(bump(x, 0, 2.0)), int(bump(x, 1, -5.0)))):
        x[i] += j
    x[0], x[1] = 1.0, 3.0
    for i, j in enumerate(range(int(x[0]), int(x[1])), int(bump(x, 0) + bump(x, 1))):
        x[j] += i
    bump(x, 0)
    return a, b, c, d, e, k


@shows("function that changes its arrays", vector(), vector(6, 1.0))
def calls_that_change(x, y):
    def swap(v, w, i):
        v[i], w[i] = w[i], v[i]

    def smooth(v, w):
        for i in range(1, len(v) - 1):
            w[i] = 0.5 * (v[i - 1] + v[i + 1])
        swap(v, w, 0)

    smooth(x, y)
    smooth(y, y)
    for k in range(2):
        smooth(v=y, w=x)


@shows("function that returns an array or several values", vector(), matrix())
def calls_that_return(x, a):
    def scaled(v, c):
        out = np.empty_like(v)
        for i in range(len(v)):
            out[i] = c * v[i]
        return out

    def extremes(v):
        low = high = v[0]
        for e in v:
            low, high = min(low, e), max(high, e)
        return low, high

    def wider(m):
        return m.shape[1], m

    z = scaled(scaled(x, 2.0), x[0])
    low, high = extremes(z)
    (n, b), t = wider(a), 1.0
    b[0, n - 1] = low
    for e in scaled(z, 0.5):
        t += e
    return scaled(z, high), t


@shows("function inside the function, lambda", vector(), 0.7)
def closures(x, s):
    t = 1.0

    def outer(v, k=s * t):
        def inner(v):
            z = v
            for i in range(len(x)):
                z += x[i] * t
            return z

        return inner(v) * t + k

    t = 3.0
    double = lambda v: outer(v) * 2.0
    a = double(s)
    t = 0.5
    if s > 0.0:
        u = 2.0
    b = (lambda q, u=1.0: q * q + u)(s)
    for i in range(3):
        u = i
        product = lambda: u * x[i]
        x[i] = product()
    return a, b, outer(s, k=0.0)


@shows("default and keyword arguments", vector(), 0.7)
def signatures(x, s):
    def f(a, /, b, c=2.0, *, d=None, flag=False):
        a *= b
        if flag:
            return a
        if d is not None:
            return a + c * d[0]
        return a - c

    return f(s, 1.0), f(s, b=2.0, d=x), f(s, c=3.0, b=s, flag=True)


@shows("derivative of a function", matrix(3, 4), vector(4), 0.7)
def derivatives(A, x, s):
    (force,) = chain.grad(x, s)
    for i in range(A.shape[0]):
        e, g = chain.value_and_grad(A[i], s)
        x = x + 0.1 * g.q + e * force
    _, t = chain.jvp((x[1:], s), dict(q=A[0, 1:]))
    return x, t.result


@shows("function with a rule", vector(), 0.7)
def ruled(x, s):
    y = np.empty_like(x)
    staircase(x, y)
    for i in range(x.shape[0]):
        y[i] += power(x[i], k=s) + power(s)
    return y


@shows("function as an argument or result", vector(), 0.7)
def functions_as_values(x, s):
    def scaled(c):
        def g(v):
            return c * v

        return g

    def twice(g, v):
        return g(g(v))

    def add(v, w):
        return v + w

    g = scaled(s)
    plus = add
    s = 100.0
    h = scaled(x[0])
    x[0] = 100.0
    return twice(g, 2.0), twice(lambda v: h(v) + x[1], 1.0), plus(g(1.0), h(1.0)), twice(math.sin, s)


def circle(n: int = 6) -> np.ndarray:
    return vector(n) + 1j * vector(n, 0.2)


@shows("complex numbers", circle(), circle().astype(np.complex64), vector(), 0.3 - 0.4j)
def complex_arithmetic(z, w, x, c):
    t = np.zeros(3, dtype=np.complex64)
    u = np.ones(2, complex)
    v = np.full((2, 2), c * 1j)
    narrow = 0j
    for i in range(3):
        z[i] = (z[i] * c - z[i + 1] / (2.0 - c)) / x[i] + 1j * x[i] - i
        t[i] = -w[i] * 2j + w[i] / 3.0 + x[i] - w[i] * (1 + 0j)
        narrow += w[i] * (0.5j - 1) / t[i]
        u[1] *= z[i] if z[i] != c and z[i] else z[i] * z[i] / (c + z[i])
        v[1, 0] -= u[0] / (3j * z[i]) if abs(z[i] * v[0, 1]) > 0.1 or z[i] == u[1] * c else c
        z[i + 1], z[i] = z[i], z[i + 1] * 1j
    return t, u, v, narrow, c * 2, complex(c) * narrow, np.complex64(c), np.complex128(c), z[0] == z[1]


@shows("parts of complex numbers", circle(), vector(), 0.3 - 0.4j, np.complex64(1j))
def parts(z, x, c, d):
    s = 0.0
    for i in range(2):
        s += z[i].real * z.imag[i] + abs(z[i]) - np.angle(z[i]) + (z[i] * z[i + 1]).imag + x[i].real + x[i].imag
        z[i] = complex(z[i].imag, x[i]) + z[i].conjugate() * np.conj(x[i]) * np.conj(c)
        s += np.real(x[i]) + np.imag(x[i]) + np.angle(x[i]) + cmath.phase(z[i]) + abs(x[i])
    return s, d.real, d.imag, abs(d), abs(c), d.conjugate(), c.conjugate(), np.angle(d), z.shape[0] + z.ndim + len(z)


@shows("functions of complex numbers", circle() - 0.5, 0.3 - 0.4j, 0.7, 3)
def functions_of_complex_numbers(z, c, s, n):
    for i in range(2):
        z[i] = np.sqrt(z[i]) + np.exp(z[i]) - np.log(z[i]) + np.sin(z[i]) * np.cos(c) / np.tanh(z[i]) + np.tan(z[i])
        z[i] += z[i] ** 2 - z[i] ** -3 + z[i] ** s + z[i] ** c + z[i] ** n + 2.0**c + z[i] ** (i - 2) + s**c
    for i in range(4, 6):
        z[i] = np.sqrt(-z[i].real + 0j) + cmath.sqrt(-s) + np.exp(1j * s) + np.sinh(1j * s) * np.cosh(c) + z[i] ** 70
        z[i] += np.expm1(z[i]) - np.log1p(z[i]) + np.log2(z[i]) - np.log10(z[i]) + np.exp2(c) + np.tanh(1j * s)
        z[i] += (-8.0) ** (1 / 3) + cmath.log(s) + np.cosh(1j * s) + np.sin(c.real + 0j) + np.tan(s + 0j)
        z[i] += (0j) ** 0 + (0j * s) ** s + np.arcsin(z[i]) - np.arccos(c) * np.arctan(z[i]) + np.arcsinh(z[i])
        z[i] += cmath.acosh(c) * np.arctanh(z[i]) + np.arcsin(s + 2.0 + 0j)
    return np.isnan(c), np.isinf(z[0]), np.isfinite(z[1])


@shows("conversions", circle().astype(np.complex64), vector(), vector().astype(np.float32))
def conversions_of_elements(z, x, y):
    for i in range(len(x)):
        x[i] = x[i].astype(np.float32) * y[i].astype(np.float64) + y[i].astype(bool)
        y[i] = y[i] * x[i].astype(np.float32)
        z[i] *= x[i].astype(np.complex64)
    own = (x[0] ** 2).sum() + (-y[1] * 2.0).max() + (3 * x[2] - 1).copy()
    return z[0].astype(np.complex128), y[1].astype(np.int64), x[2].astype(np.float32), own


@shows("map, filter, item", vector(4), vector(4))
def short_forms(x, y):
    a, b = map(abs, (x[0], y[1]))
    for u, v in map(lambda p, q: (p * q, p), x, y):
        a += u * v
    r = np.array(list(map(math.sin, y)))
    one = np.outer(x, y)[1:2, 2:3].item() + np.array([[x[3]]]).item() * x[:1].item() + np.size(a) * r.item(2)
    return a * b, sum(map(math.cos, x)), sum(filter(lambda v: v < 1.0, x)), r, x.sum().item() * y, one


@shows(
    "np.vecdot, matvec, vecmat, cumulative_sum, multi_dot, logspace, geomspace, polyder, polyint, array_equal",
    np.arange(1.0, 10.0).reshape(3, 3), vector(3), 0.7,
)  # fmt: skip
def newer_names(A, x, s):
    steps = np.cumulative_sum(x) * np.vecdot(A, x) + np.matvec(A, x) - np.vecmat(x, A)
    if not np.array_equal(steps, x):
        steps = steps + np.geomspace(1.0, 1.0 + s, 3) * np.logspace(0.0, s, 3)
    return steps, np.linalg.multi_dot([x, A, A.T]), np.polyval(np.polyder(x), s) + np.polyint(x)[1]


@shows(
    "np.fft.fft, ifft, rfft, irfft, fft2, fftn, fftfreq, fftshift", np.cos(np.arange(12.0)).reshape(4, 3), vector(), 0.7
)
def spectra(A, x, s):
    z = np.fft.fft(x, 8) * np.exp(-1j * s * np.fft.fftfreq(8, 0.5))
    power = abs(np.fft.fftshift(z)) ** 2
    B = np.fft.ifft2(A, axes=(1, 0))
    for row in A:
        power[:2] += abs(np.fft.rfft(row, norm="forward"))
    return power, B.real + 1.0, np.fft.irfft(z[:5]) + 1.0


@shows(
    "np.choose, compress, extract, putmask, place, unravel_index, lexsort, partition, nanmedian, histogram2d",
    np.array([[1.0, np.nan, 0.5], [0.2, 0.7, 2.5]]), vector(), np.array([2, 0, 1, 2, 0, 2]), 0.7,
)  # fmt: skip
def chosen_and_counted(A, x, idx, s):
    n = len(x)
    i, j = np.unravel_index(np.nanargmax(A), A.shape)
    first = x[np.lexsort((x, idx[:n]))] + np.choose(idx[:n], (x, 2.0 * x, s))
    np.place(x, x > 0.1, [s, 2.0 * s])
    H, edges, _ = np.histogram2d(x, x * x, 2, weights=x)
    number = np.ravel_multi_index((i, j), A.shape) + np.gcd(8, 12) + np.lcm(4, i + 6)
    number += math.lcm(4, 6)
    return (
        first,
        number * math.modf(s)[0],
        np.nanmedian(A, axis=1),
        H,
        edges,
        np.nanquantile(A, s),
        np.polyadd(x, [1.0, s]),
    )


@shows("assignment in an expression", vector(), 0.3)
def named_in_conditions(x, s):
    t, i = 0.0, 0
    if (n := len(x)) > 2 and (first := x[0] * s) > -9.0:
        t += first
    while i < n and (v := x[i]) < 9.0:
        t += v * s
        i += 1
    return t * (a := x[1]) + a, sum([w for u in x if (w := u * u) > 0.1])


@shows("np.nonzero, where, unique, isin, setdiff1d", vector(), np.array([2, 0, 1, 2, 0, 2]))
def places_and_labels(x, labels):
    t = 0.0
    k = np.where(x > 0.5)
    names, counts = np.unique(labels, return_counts=True)
    for name, count in zip(names, counts):
        t += x[: len(labels)][labels == name].sum() * count
    for v in np.setdiff1d(labels, np.intersect1d([1, 7], labels)):
        t += x[v]
    for v in np.union1d([3, 1], labels[:2]):
        t += x[v] * v
    (low,) = np.nonzero(x < 0.5)
    below = x[np.flatnonzero(x < 0.5)].sum()
    return t, x[k].sum() * len(k[0]) + x[low].sum() * below, np.isin(labels, [0, 1]).sum(), np.argwhere(x > 0.5).sum()


@shows("np.r_, np.c_", vector(5), vector(5), 2)
def in_rows_and_columns(x, y, n):
    return np.r_[0.5, x, 1:n, 0:1:3j, [2.0, x[0]]], np.c_[x, y, np.ones(5)], np.r_[np.c_[x, y], np.c_[y, x]][:, 1]


@shows("dictionaries by integers that the run says", vector(), np.array([4, 0, 1, 2, 5]))
def sums_by_key(x, labels):
    sums, counts = {0: 0.0, 1: 0.0, 2: x[0]}, {k: 0 for k in range(3)}
    for i, k in enumerate(labels):
        sums[k % 3] += x[i]
        counts[k % 3] = counts[k % 3] + 1
    return sums[labels[1]] * counts[len(x) % 3], sums[0] + sums[1], sum(counts.values())


@shows("dictionaries of any keys", vector(6), np.array([4, 0, 4, 2, 5, 0]))
def totals_and_groups(x, labels):
    totals, groups = {}, {}
    for k, v in zip(labels, x):
        totals[k] = totals.get(k, 0.0) + v
        groups.setdefault(k, []).append(v * v)
    largest = max(totals, key=totals.get)
    spread = 0.0
    for k in sorted(groups):
        spread += max(groups[k]) - sum(groups[k]) / len(groups[k]) * k
    return totals[largest], spread, len(totals), sum(v for k, v in totals.items() if k in (0, 4))


@shows("dictionaries by integers that the run says", vector(3), np.array([0, 2, 1]))
def keys_that_values_change(x, places):
    def turned(k):
        places[0] = (places[0] + 1) % 3
        return k * 10.0

    sums = {k: x[k] for k in range(3)}
    for k in range(3):
        sums[places[0]] += turned(k) * x[k]  # the key is that of before
    sums[places[0]] = turned(7)  # and that of afterwards
    return sums[0] + 100.0 * sums[1] + 10000.0 * sums[2]
