"""Functions inside that read objects which change between their calls: plain Python is the oracle, and central
differences for the gradients."""

# ruff: noqa: B905
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.errors import LoopdiffError
from tests.gradients.interpreted import interpreting

X = np.linspace(0.3, 1.4, 6)


class Body:
    def __init__(self, pos, vel, m):
        self.pos, self.vel, self.m = pos, vel, m
        self.hits = 0.0

    def moved(self, dt):
        self.pos = self.pos + dt * self.vel
        self.hits += self.m


def bodies_of(x):
    return [Body(x[0:2] * 1.0, x[2:4] * 1.0, 1.0), Body(x[1:3] * 2.0, x[3:5], x[5]), Body(x[2:4], x[4:6], 3.0)]


def of_steps(x, n):
    bodies = [Body(x[0:2], x[2:4], 1.0), Body(x[1:3], x[3:5], 2.0), Body(x[2:4], x[4:6], x[0])]

    def accel(i):
        a = np.zeros(2)
        for j, b in enumerate(bodies):
            if j != i:
                d = b.pos - bodies[i].pos
                a = a + b.m * d / (d @ d + 0.1)
        return a

    for _ in range(n):
        for i, b in enumerate(bodies):
            b.vel = b.vel + 0.01 * accel(i)
        for b in bodies:
            b.pos = b.pos + 0.01 * b.vel
    return sum([b.m * (b.vel @ b.vel) for b in bodies]) + accel(0)[0]


def all_at_once(x, n):
    bodies = bodies_of(x)

    def accel(i):
        a = np.zeros(2)
        for b in bodies:
            d = b.pos - bodies[i].pos
            a += b.m * d / (d @ d + 0.1)
        return a

    for _ in range(n):
        pulls = [accel(i) for i in range(3)]
        for b, a in zip(bodies, pulls):
            b.vel = b.vel + 0.1 * a
            b.moved(0.1)
    return sum([b.vel @ b.pos * b.hits for b in bodies])


def between_calls(x, n):
    b, t = Body(x[0], x[1], 2.0), 0.0

    def energy(k):
        return b.m * b.vel**2 * k + b.pos

    t += energy(1.0)
    b.vel = b.vel * x[2]
    t = t * 0.5 + energy(2.0)
    for k in range(n):
        b.vel += x[k % 6] * energy(0.1)
        if b.vel > 2.0:
            b.pos = b.pos * 0.5
            t += energy(x[3])
        b.moved(0.1)
        t += energy(k)
    return t + energy(1.0)


def of_dictionaries(x, n):
    p, t = {"a": x[0], "b": [x[1], x[2]]}, 0.0

    def total(s):
        return p["a"] * s + p["b"][0] * p["b"][1]

    for k in range(n):
        p["a"] = p["a"] * 0.5 + total(x[3])
        p["b"][0] += 0.1 * k
        t += total(k)
    return t


PLAIN = [of_steps, all_at_once, between_calls, of_dictionaries]


@pytest.mark.parametrize("plain", PLAIN)
def test_functions_inside_read_objects_as_they_are(plain: Callable[..., Any]) -> None:
    h = 1e-6
    with interpreting():
        f = vectorize_grad(wrt="x")(plain)
        for n in (0, 1, 4):
            value, gradients = f.value_and_grad(X, n)
            assert value == pytest.approx(plain(X, n), rel=1e-12)
            expected = [(plain(X + h * e, n) - plain(X - h * e, n)) / (2 * h) for e in np.eye(6)]
            np.testing.assert_allclose(gradients.x, expected, rtol=1e-6, atol=1e-8)


def gives_it_back(x):
    b = Body(x[0], x[1], 2.0)

    def same():
        return b

    c = same()
    b.vel = b.vel * x[2]
    return c.vel


def gives_part_of_it(x):
    bodies = [Body(x[0], x[1], 2.0), Body(x[1], x[2], 2.0)]

    def one(k):
        return bodies[k]

    c = one(0)
    bodies[0].vel = x[3]
    return c.vel + bodies[0].vel


def in_a_tuple(x):
    b = Body(x[0], x[1], 2.0)

    def pair(k):
        return k, b

    k, c = pair(2.0)
    b.vel = x[3]
    return c.vel * k


def as_a_value(x):
    b = Body(x[0], x[1], 2.0)

    def energy(k):
        return b.vel * k

    steps = [energy, energy]
    b.vel = b.vel * x[2]
    return steps[0](1.0) + steps[1](2.0)


def by_a_default(x):
    b = Body(x[0], x[1], 2.0)

    def energy(k, of=b):
        return of.vel * k

    b = Body(x[2], x[3], 1.0)
    b.vel = b.vel * x[2]
    return energy(1.0)


def later(x):
    b = Body(x[0], x[1], 2.0)

    def energy(k):
        return b.vel * k

    found = (energy(k) for k in range(3))
    b.vel = b.vel * x[2]
    return sum(found)


@pytest.mark.parametrize("plain", [gives_it_back, gives_part_of_it, in_a_tuple, as_a_value, by_a_default, later])
def test_what_others_may_have_is_right_or_refused(plain: Callable[..., Any]) -> None:
    with interpreting():
        try:
            value = vectorize_grad(plain)(X)
        except LoopdiffError:
            return
        assert value == pytest.approx(plain(X), rel=1e-13)
