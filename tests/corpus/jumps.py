"""Loops that end when their data says so: `while`, `break`, `continue`, `else` and `return` from inside."""

from __future__ import annotations

import numpy as np

from tests.corpus.entry import Entry


def while_newton(a, tol):
    x = a
    while abs(x * x - a) > tol:
        x = 0.5 * (x + a / x)
    return x


def break_continue_else(x, t):
    s = 0.0
    for i in range(x.shape[0]):
        if x[i] < 0.0:
            continue
        if x[i] > t:
            s = s * 2.0
            break
        s += x[i] * x[i]
    else:
        s += 100.0
    return s


def return_from_inner_loop(x, t):
    for i in range(x.shape[0]):
        for j in range(i):
            if x[i] * x[j] > t:
                return x[i] * x[i] - x[j]
        if x[i] == 0.0:
            break
    return x[0]


def endless_with_breaks(x, y):
    n = x.shape[0]
    k = 0
    while True:
        if k >= n:
            break
        if x[k] > 0.0:
            if y[k] > 1.0:
                break
            y[k] *= x[k]
        else:
            k += 1
            continue
        y[k] += x[k] * x[k]
        k += 1


def while_on_integers(x, n):
    s = 0.0
    for i in range(x.shape[0]):
        m = n + i
        z = x[i]
        while m != 1:
            if m % 2 == 0:
                m = m // 2
                z = np.sin(z) + x[i]
            else:
                m = 3 * m + 1
                z = z * x[i]
        s += z
    return s


def while_until_converged(u, v, tol):
    n = u.shape[0]
    err = 1.0
    it = 0
    while err > tol and it < 50:
        err = 0.0
        for i in range(1, n - 1):
            v[i] = 0.5 * (u[i - 1] + u[i + 1]) * u[i]
            err = max(err, abs(v[i] - u[i]))
        for i in range(1, n - 1):
            u[i] = v[i]
        it += 1
    return it


def break_in_rows(A, t):
    out = np.zeros(A.shape[0])
    for i in range(A.shape[0]):
        s = 0.0
        for j in range(A.shape[1]):
            s += A[i, j] * A[i, j]
            if s > t:
                break
            s *= A[i, j]
        out[i] = s
    return out


def break_at_tolerance(c, tol):
    lo = 0.0
    hi = c + 1.0
    mid = 0.5 * (lo + hi)
    for it in range(200):
        mid = 0.5 * (lo + hi)
        f = mid * mid - c
        if abs(f) < tol:
            break
        if f > 0.0:
            hi = mid
        else:
            lo = mid
    x = mid - (mid * mid - c) / (2.0 * mid)
    return x


def while_in_time(x, dt, T):
    t = 0.0
    y = x
    while t < T:
        y += dt * np.sin(y) * y
        t += dt
        if y > 3.0:
            y = 0.5 * y
            continue
        y -= 0.1 * dt * y * y
    return y


def while_with_maximum(x, t):
    m = x[0]
    i = 0
    while i < x.shape[0] and x[i] < t:
        m = max(m, x[i] * x[i])
        i += 1
    return m


def while_scatter_return(x, idx, y, cap):
    total = 0.0
    k = 0
    while total < cap:
        y[idx[k]] += x[k] * x[k]
        total += x[k] * y[idx[k]]
        k += 1
        if k == x.shape[0]:
            return total
    return total * 2.0


def jump(name, function, make, wrt, outputs=(), constructs=("while",), notes=""):
    return Entry(name=name, function=function, make=make, wrt=wrt, outputs=outputs, constructs=constructs, notes=notes)


def step_kept(x, w):
    y = x.copy()
    for _ in range(12):
        r = y * y - w
        if np.sum(r * r) < 1e-3:
            break
        slope = 2.0 * y
        y = y - r / slope
    return np.sum(y * slope)


ENTRIES: tuple[Entry, ...] = (
    jump(
        "step_kept",
        step_kept,
        lambda r, n=4: dict(x=r.uniform(2.0, 3.0, n), w=r.uniform(0.5, 1.5, n)),
        ("x", "w"),
        constructs=("names that some ways bind",),
    ),
    jump("while_newton", while_newton, lambda r: dict(a=r.uniform(1.0, 3.0), tol=1e-9), ("a",)),
    jump("while_never", while_newton, lambda r: dict(a=r.uniform(1.0, 3.0), tol=1e3), ("a",)),
    jump(
        "break_continue_else",
        break_continue_else,
        lambda r: dict(x=r.uniform(-0.5, 1.0, 9), t=0.9),
        ("x",),
        constructs=("break and continue", "else of a loop"),
    ),
    jump(
        "loop_without_break",
        break_continue_else,
        lambda r: dict(x=r.uniform(-0.5, 1.0, 9), t=9.0),
        ("x",),
        constructs=("break and continue", "else of a loop"),
    ),
    jump(
        "return_from_inner_loop",
        return_from_inner_loop,
        lambda r: dict(x=r.uniform(0.1, 1.0, 9), t=0.5),
        ("x",),
        constructs=("return from inside",),
    ),
    jump(
        "return_at_the_end",
        return_from_inner_loop,
        lambda r: dict(x=r.uniform(0.1, 1.0, 9), t=5.0),
        ("x",),
        constructs=("return from inside",),
    ),
    jump(
        "endless_with_breaks",
        endless_with_breaks,
        lambda r: dict(x=r.uniform(-0.3, 1.0, 9), y=r.uniform(0.1, 1.2, 9)),
        ("x", "y"),
        ("y",),
        ("while", "break and continue"),
    ),
    jump("while_on_integers", while_on_integers, lambda r: dict(x=r.random(7), n=3), ("x",)),
    jump(
        "while_until_converged",
        while_until_converged,
        lambda r: dict(u=r.random(12), v=np.zeros(12), tol=1e-3),
        ("u", "v"),
        ("u", "v"),
    ),
    jump(
        "break_in_rows",
        break_in_rows,
        lambda r: dict(A=r.random((5, 9)), t=1.2),
        ("A",),
        constructs=("break and continue",),
        notes="the last iteration of each row is left half-way",
    ),
    jump(
        "break_at_tolerance",
        break_at_tolerance,
        lambda r: dict(c=r.uniform(2.0, 5.0), tol=1e-3),
        ("c",),
        constructs=("break and continue",),
    ),
    jump("while_in_time", while_in_time, lambda r: dict(x=r.uniform(0.5, 0.9), dt=0.05, T=2.0), ("x",)),
    jump("while_with_maximum", while_with_maximum, lambda r: dict(x=r.random(9), t=0.8), ("x",)),
    jump(
        "while_scatter_return",
        while_scatter_return,
        lambda r: dict(x=r.random(9) + 0.1, idx=r.integers(0, 4, 9), y=np.ones(4), cap=2.0),
        ("x", "y"),
        ("y",),
        ("while", "return from inside", "indirect subscripts"),
    ),
)
