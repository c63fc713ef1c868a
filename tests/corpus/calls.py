"""Calls of Python functions: helpers of this module and another, compiled ones, closures, and what they change."""

from __future__ import annotations

import numpy as np

from tests.corpus import helpers
from tests.corpus.entry import Entry
from tests.corpus.helpers import cube, square_root

RATE = 0.3


def relu(v):
    if v > 0.0:
        return v
    return 0.0


def first_above(x, bound, start=0):
    for i in range(start, x.shape[0]):
        if x[i] > bound:
            return i, x[i]
    return -1, 0.0


def bump(x, i, by=RATE):
    x[i] = x[i] * x[i] + by
    return x[i] * by


def scaled(x, c):
    out = np.empty_like(x)
    for i in range(x.shape[0]):
        out[i] = c * x[i]
    return out


def helpers_of_all_kinds(x, y, c):
    def weight(v, k=2.0 * c):
        return v * k + shift

    shift = 1.0
    helpers.axpy(c, x, y)
    shift = helpers.norm(y)
    for i in range(x.shape[0]):
        y[i] = weight(relu(y[i] - 0.5)) + cube(x[i]) + weight(x[i], k=square_root(shift))
    return helpers.soft(c) * shift


def same_array_twice(x, y):
    helpers.axpy(0.5, x, x)
    helpers.axpy(x[1], y, y)
    y[0] = y[0] + bump(y, 0) * y[0]
    for i in range(x.shape[0]):
        y[i] += bump(x, i) + bump(y, i, by=x[i])
        x[i], y[i] = y[i] * bump(x, i), x[i]


def halved(v):
    v *= 0.5
    return v[1]


def lifted(v):
    v[0] += 0.5
    return 1


def weighed(a, b, c):
    return (a * b).sum() * c


def one_of_two_before_a_call(x, y, n):
    w, z = 1.5 * x, 2.0 * y
    total = ((w if n > 1 else z) * halved(w)).sum() + ((w if n > 2 else 3.0 * z) * halved(z)).sum()
    total += weighed(x, w if n < 2 else z, halved(z))
    return total + np.dot(w if n > 1 else 0.5 * z, y * halved(w)) + (w * z).sum()


def computed_before_a_call(x, y):
    w, z = 1.5 * x, 2.0 * y
    total = (2.0 * w)[lifted(w)] * (3.0 * z)[lifted(z) :].sum() + (0.5 * w).reshape(2, 2 * lifted(w))[0].sum()
    total += np.dot(0.5 * w, z * halved(w)) + (0.4 * z).clip(-halved(z), 0.9).sum()
    return total + np.outer(w * w, halved(w) * x).sum()


def oracle_of_choices(xp, x, y, n):
    w, z = 1.5 * x, 2.0 * y
    half = 0.5 * w
    first = ((half if n > 1 else z) * half[1]).sum()
    second = ((half if n > 2 else 3.0 * z) * 0.5 * z[1]).sum()
    third = (x * (half if n < 2 else 0.25 * z)).sum() * 0.25 * z[1]
    last = (0.5 * half if n > 1 else 0.125 * z) @ (y * 0.5 * half[1])
    return {"result": first + second + third + last + (0.5 * half * 0.25 * z).sum()}


def oracle_of_computed(xp, x, y):
    w, z = 1.5 * x, 2.0 * y
    up = xp.concatenate([xp.ones(1), xp.zeros(len(x) - 1)])
    raised, higher = w + 0.5 * up, z + 0.5 * up
    total = 2.0 * w[1] * (3.0 * z)[1:].sum() + (0.5 * raised)[: len(x) // 2].sum()
    w = raised + 0.5 * up
    total = total + 0.5 * (w * higher * 0.5 * w[1]).sum()
    half = 0.5 * w
    total = total + xp.clip(0.4 * higher, -0.5 * higher[1], 0.9).sum()
    return {"result": total + ((half * half)[:, None] * (0.5 * half[1] * x)[None, :]).sum()}


def parts_before_a_call(x, y, n):
    u, v = (1.0 + 0.5j) * x, (0.5 - 1.0j) * y
    total = (u.real * halved(u).real).sum() + ((u if n > 1 else v).imag * halved(v).real).sum()
    return total + (u.real.ravel() * halved(u).imag).sum() + np.abs(u * v).sum()


def search_and_skip(x, y, t):
    k, v = first_above(x, t)
    s = v * v
    while k >= 0 and bump(y, k) < 2.0:
        s += y[k] * x[k]
        k, v = first_above(x, t, k + 1)
        if v > 0.8 and bump(x, k) > 0.5:
            s *= v
        s += bump(x, k) if 0.2 < v < bump(y, k) < 9.0 else relu(v)
    return s


def arrays_returned(x, w):
    def step(u, rate, wave=np.sin):
        total = 0.0
        for v in scaled(u, rate):
            total += wave(v)
        return scaled(u, total), total

    u, a = step(x, 0.5)
    v, b = step(u, a)
    for i in range(w.shape[0]):
        z, c = step(w, 0.1 * v[i])
        w[i] = z[0] + c * b
    return v, a + b


def forces_from_energies(q, stiffness, steps):
    v = np.zeros_like(q)
    for _ in range(steps):
        v = v - 0.1 * helpers.chain.grad(q, stiffness).q
        q = q + 0.1 * v
    energy, g = helpers.chain.value_and_grad(q, stiffness)
    return energy + (g.q * v).sum()


def oracle_of_forces(xp, q, stiffness, steps):
    def force(q):
        pull = stiffness * xp.sinh(q[1:] - q[:-1])
        return xp.concatenate([pull, xp.zeros(1)]) - xp.concatenate([xp.zeros(1), pull])

    v = xp.zeros_like(q)
    for _ in range(steps):
        v = v + 0.1 * force(q)
        q = q + 0.1 * v
    return {"result": stiffness * xp.cosh(q[1:] - q[:-1]).sum() - (force(q) * v).sum()}


def call(name, function, make, wrt, outputs=(), constructs=("call of a function",)):
    return Entry(name=name, function=function, make=make, wrt=wrt, outputs=outputs, constructs=constructs)


def chosen(va, vb, k):
    if k > 1:
        return va
    vb[0] *= vb[1]
    return vb


def either(va, k):
    if k:
        return va if k else 2.0 * va
    va[:] = np.concatenate([va, va])
    return va


def one_of_two_returned(x, y, n):
    w = either(x, n) * 1.0
    return chosen(w, y, n), chosen(y, w, n)


def oracle_of_returned(xp, x, y, n):
    if n > 1:
        return {"result": (x, y)}

    def raised(a):
        return xp.concatenate([a[:1] * a[1], a[1:]])

    return {"y": raised(y), "result": (raised(y), raised(x))}


ENTRIES: tuple[Entry, ...] = (
    call(
        "helpers_of_all_kinds",
        helpers_of_all_kinds,
        lambda r: dict(x=r.uniform(-1.0, 1.0, 9), y=r.uniform(-1.0, 1.0, 9), c=0.7),
        ("x", "y", "c"),
        ("y",),
        (
            "call of a function",
            "function inside the function, lambda",
            "default and keyword arguments",
            "function that changes its arrays",
        ),
    ),
    call(
        "same_array_twice",
        same_array_twice,
        lambda r: dict(x=r.uniform(0.1, 0.7, 7), y=r.uniform(0.1, 0.7, 7)),
        ("x", "y"),
        ("x", "y"),
        ("function that changes its arrays",),
    ),
    call(
        "search_and_skip",
        search_and_skip,
        lambda r: dict(x=r.uniform(0.1, 1.0, 9), y=r.uniform(0.1, 1.0, 9), t=0.4),
        ("x", "y"),
        ("x", "y"),
        ("call of a function", "while"),
    ),
    call(
        "arrays_returned",
        arrays_returned,
        lambda r: dict(x=r.random(6), w=r.random(4)),
        ("x", "w"),
        ("w",),
        ("function that returns an array or several values", "function as an argument or result"),
    ),
    Entry(
        name="forces_from_energies",
        function=forces_from_energies,
        make=lambda r: dict(q=r.uniform(-1.0, 1.0, 7), stiffness=0.8, steps=3),
        wrt=("q", "stiffness"),
        oracle=oracle_of_forces,
        is_twin=True,
        constructs=("derivative of a function",),
    ),
    Entry(
        name="one_of_two_before_a_call",
        function=one_of_two_before_a_call,
        make=lambda r: dict(x=r.uniform(0.1, 0.7, 5), y=r.uniform(0.1, 0.7, 5), n=2),
        wrt=("x", "y"),
        oracle=oracle_of_choices,
        is_twin=True,
        constructs=("function that changes its arrays",),
        notes="one of two arrays was copied before a later operand changed it, where Python hands on the array itself",
    ),
    Entry(
        name="computed_before_a_call",
        function=computed_before_a_call,
        make=lambda r: dict(x=r.uniform(0.1, 0.7, 4), y=r.uniform(0.1, 0.7, 4)),
        wrt=("x", "y"),
        oracle=oracle_of_computed,
        is_twin=True,
        constructs=("function that changes its arrays",),
        notes="what is subscripted, or the first argument, was computed after a later one had changed its arrays",
    ),
    call(
        "parts_before_a_call",
        parts_before_a_call,
        lambda r: dict(x=r.uniform(0.1, 0.7, 5), y=r.uniform(0.1, 0.7, 5), n=1),
        ("x", "y"),
        (),
        ("function that changes its arrays",),
    ),
    Entry(
        name="one_of_two_returned",
        function=one_of_two_returned,
        make=lambda r, n=1: dict(x=r.uniform(0.1, 0.7, 4), y=r.uniform(0.1, 0.7, 4), n=n),
        wrt=("x", "y"),
        outputs=("y",),
        oracle=oracle_of_returned,
        is_twin=True,
        constructs=("function that returns an array or several values",),
        notes="an array that a helper chooses was refused, or ended in a TypeError, where it is returned as it came",
    ),
)
