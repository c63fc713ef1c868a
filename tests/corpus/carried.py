"""Small loops that carry state: ten on which tools are compared (`tests/gradients/test_kernels.py`), and others.

Four of them are elsewhere: `read_then_overwrite`, `while_newton`, `scatter_then_square` and `iterated_square`.
"""

from __future__ import annotations

import numpy as np

from tests.corpus.entry import Entry


def carried_product(x, n):
    p = 1.0
    for i in range(n):
        p *= x[i] + 0.5
    return p


def inverse_of_sum(x, n):
    s = 0.0
    for i in range(n):
        s += x[i] * x[i]
    return 1.0 / s


def sine_recurrence(a):
    for i in range(1, a.shape[0]):
        a[i] = np.sin(a[i - 1] * a[i])
    s = 0.0
    for i in range(a.shape[0]):
        s += a[i]
    return s


def running_maximum_with_continue(x, y):
    best = 0.0
    for i in range(x.shape[0]):
        if x[i] < 0.0:
            continue
        if x[i] > best:
            best = x[i]
        y[i] = best * best * x[i]
    return best


def triangular_carry(x):
    s = 0.0
    for i in range(x.shape[0]):
        t = 1.0
        for j in range(i + 1):
            t = t * x[j] + x[i]
        s += t * t
    return s


def break_on_data(x, limit):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] * x[i]
        if s > limit:
            break
        s = s * x[i]
    return s * s


def passenger_in_while(x, y):
    steps = 0
    for i in range(x.shape[0]):
        v = x[i]
        passenger = 3.0 * x[i]
        while v < 2.0:
            v = v * v + 0.5
            steps += 1
        y[i] = v * passenger
    return steps


def reset_and_reused(A, y):
    total = 0.0
    for i in range(A.shape[0]):
        s = 0.0
        for j in range(A.shape[1]):
            s += A[i, j] * A[i, j]
        y[i] = s
        s = 1.0
        for j in range(A.shape[1]):
            s *= A[i, j]
        total += s * y[i]
    return total


def newton_roots(x, y, trips):
    for i in range(x.shape[0]):
        v = x[i]
        while abs(v * v - x[i]) > 1e-12 * x[i]:
            v = 0.5 * (v + x[i] / v)
            trips[i] += 1
        y[i] = v


def table_products(t, start, y):
    for i in range(y.shape[0]):
        k = start[i]
        while k < 3:
            y[i] *= t[k]
            k += 1


def slow_growth(u, r, steps):
    for _ in range(steps):
        for i in range(u.shape[0]):
            u[i] += r[i] * u[i] * (1.0 - u[i])


def kernel(name, function, make, wrt, outputs=(), is_analytic=False, notes=""):
    return Entry(
        name=name, function=function, make=make, wrt=wrt, outputs=outputs, is_analytic=is_analytic, notes=notes
    )


ENTRIES = (
    kernel("carried_product", carried_product, lambda r: dict(x=r.random(6), n=5), ("x",), (), True, "kernel 1"),
    kernel("inverse_of_sum", inverse_of_sum, lambda r: dict(x=r.random(6), n=5), ("x",), (), True, "kernel 2"),
    kernel("sine_recurrence", sine_recurrence, lambda r: dict(a=r.random(6)), ("a",), ("a",), True, "kernel 4"),
    kernel(
        "running_maximum_with_continue",
        running_maximum_with_continue,
        lambda r: dict(x=r.uniform(-0.5, 1.0, 9), y=np.ones(9)),
        ("x",),
        ("y",),
        notes="kernel 6, trap 5",
    ),
    kernel("triangular_carry", triangular_carry, lambda r: dict(x=r.random(6)), ("x",), (), True, "kernel 7"),
    kernel("break_on_data", break_on_data, lambda r: dict(x=r.random(9) + 0.3, limit=1.5), ("x",), notes="kernel 10"),
    kernel(
        "passenger_in_while",
        passenger_in_while,
        lambda r: dict(x=r.uniform(0.6, 1.5, 5), y=np.zeros(5)),
        ("x",),
        ("y",),
        notes="reserve f: a value that only rides along",
    ),
    kernel(
        "reset_and_reused",
        reset_and_reused,
        lambda r: dict(A=r.random((4, 5)), y=np.zeros(4)),
        ("A",),
        ("y",),
        True,
        "reserve j: two inner loops under one, and one name for two values",
    ),
    kernel(
        "newton_roots",
        newton_roots,
        lambda r: dict(x=r.uniform(0.1, 1000, 9), y=np.zeros(9), trips=np.zeros(9, np.int64)),
        ("x",),
        ("y", "trips"),
        notes="case 8: trip counts differ from lane to lane",
    ),
    kernel(
        "table_products",
        table_products,
        lambda r: dict(t=r.random(4), start=np.array([0, 2, 3, 1]), y=r.random(4)),
        ("t", "y"),
        ("y",),
        True,
        "case 8",
    ),
    kernel(
        "slow_growth",
        slow_growth,
        lambda r: dict(u=r.random(5), r=r.random(5), steps=21),
        ("u", "r"),
        ("u",),
        True,
        "case 8: `steps` times the state is more than memory holds",
    ),
)
