"""Functions that entries of `calls` call from another module."""

from __future__ import annotations

import math

from numba import njit

from loopdiff import vectorize_grad

SOFTNESS = 0.1


def axpy(a, x, y):
    for i in range(x.shape[0]):
        y[i] += a * x[i]


def soft(v, by=SOFTNESS):
    return math.sqrt(v * v + by)


@njit
def square_root(a, tol=1e-12):
    x = a
    while abs(x * x - a) > tol:
        x = 0.5 * (x + a / x)
    return x


@vectorize_grad
def norm(x):
    t = 0.0
    for v in x:
        t += soft(v)
    return square_root(t)


@vectorize_grad(wrt=("q",))
def chain(q, stiffness):
    e = 0.0
    for i in range(q.shape[0] - 1):
        e += stiffness * math.cosh(q[i + 1] - q[i])
    return e


cube = lambda v: v * v * v


class Walker:
    """An object that methods and operators change."""

    def __init__(self, at, speed):
        self.at, self.speed = at, speed

    def step(self, force):
        self.at += self.speed * force
        return self

    def __iadd__(self, other):
        self.at += other.at
        self.speed += other.speed
        return self

    @property
    def pace(self):
        return self.speed * self.at

    @pace.setter
    def pace(self, value):
        self.speed = value / self.at
