"""Names for structures of objects that change: `p = self.p` in a method that stores other attributes of `self`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from loopdiff import UnsupportedLoopError, vectorize_grad
from loopdiff.testing import check_grads
from tests.gradients.interpreted import interpreting

X = np.linspace(0.3, 1.2, 4)


class OfDictionary:
    def __init__(self, a, b):
        self.p = {"a": a, "b": b}
        self.v = 0.0

    def rate(self, x):
        return self.v * self.p["b"] + x

    def step(self, x):
        p = self.p
        r = self.rate(x)
        self.v = self.v * p["a"] + p["b"] * x + r
        return self.v


class OfList:
    def __init__(self, a, b):
        self.p, self.v = [a, b], 0.0

    def step(self, x):
        p, v = self.p, self.v
        if x > 0.5:
            q = self.p
            self.v = v * p[0] + q[1] * x
        return self.v


@dataclass
class Pair:
    a: float
    b: float


class OfRecord:
    def __init__(self, a, b):
        self.p = Pair(a, b)
        self.v = 0.0

    def step(self, x):
        p = self.p
        self.v = self.v * p.a + p.b * x
        p.b = p.b * 0.5
        return self.v + self.p.b


class OfOthers:
    def __init__(self, a, b):
        self.inner = OfDictionary(a, b)
        self.v = 0.0

    def step(self, x):
        inner = self.inner
        p = inner.p
        self.v += p["a"] * inner.step(x)
        return self.v * p["b"]


class OnlyThere:
    """What is changed is what has two names."""

    def __init__(self, a, b):
        self.p = {"a": a, "b": b}
        self.v = 0.0

    def step(self, x):
        p = self.p
        p["a"] = p["a"] * x + self.p["b"]
        return p["a"]


@pytest.mark.parametrize("kind", [OfDictionary, OfList, OfRecord, OfOthers, OnlyThere])
def test_parts_have_names_in_methods_that_change_the_object(kind: type[Any]) -> None:
    plain = making(kind)
    with interpreting():
        f = vectorize_grad(plain)
        assert f(X, 0.7) == pytest.approx(plain(X, 0.7), rel=1e-13)
        check_grads(f, (X, 0.7))


def making(kind: type[Any]) -> Callable[..., Any]:
    def run(x, a):
        m, t = kind(a, 0.4), 0.0
        for i in range(4):
            t += m.step(x[i])
        return t + m.v

    return run


def test_they_have_beside_arguments_that_are_structures() -> None:
    def run(p, x):
        m, t = OfDictionary(p["a"], p["b"]), 0.0
        for i in range(4):
            t += m.step(x[i])
        return t * m.v

    given = {"a": 0.7, "b": 0.4}
    with interpreting():
        f = vectorize_grad(run)
        assert f(given, X) == pytest.approx(run(given, X), rel=1e-13)
        check_grads(f, (given, X))


# -- what is another object later ---------------------------------------------------------------------------------
class Replaced(OfDictionary):
    def renew(self):
        self.p = {"a": 2.0, "b": 3.0}

    def step(self, x):
        p = self.p
        self.renew()
        p["a"] = p["a"] * x
        self.v = self.v + p["a"] * self.p["b"]
        return self.v


class MadeAgain(OfDictionary):
    def step(self, x):
        p, v = self.p, self.v
        self.__init__(2.0, x)
        self.v = v + p["a"] * self.p["b"]
        return self.v


class Computed(OfDictionary):
    @property
    def q(self):
        return {"a": self.v}

    def step(self, x):
        q = self.q
        self.v = self.v + x * 2.0
        return q["a"] * self.v


class OfAnother(OfDictionary):
    def step(self, x):
        other = self
        p = other.p
        other.p = {"a": 2.0, "b": x}
        self.v = self.v + p["a"] * self.p["b"]
        return self.v


class ReadOfOld(OfDictionary):
    def step(self, x):
        t = 0.0
        for i in range(2):
            if i > 0:
                t += p["a"]  # noqa: F821
            p = self.p
            self.v = self.v + x * p["b"]
            self.p = {"a": x, "b": self.v}
        return t


class Late(OfDictionary):
    def step(self, x):
        p = self.p

        def twice():
            return 2.0 * p["a"]

        self.v = self.v + twice() * x
        return self.v


def of_others(x, a):
    p = {"a": a, "b": 0.5}
    m = OfDictionary(a, 0.4)
    m.p = p
    own = m.p
    own["a"] = own["a"] * 2.0
    return p["a"] * x.sum()


REFUSED = (*map(making, (Replaced, MadeAgain, OfAnother, ReadOfOld, Late)), of_others)


@pytest.mark.parametrize("plain", REFUSED)
def test_what_may_be_another_object_or_that_of_others_is_refused(plain: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedLoopError, match="others may have it"):
        vectorize_grad(plain)(X, 0.7)


def test_what_is_computed_is_as_it_was() -> None:
    plain = making(Computed)
    with interpreting():
        assert vectorize_grad(plain)(X, 0.7) == pytest.approx(plain(X, 0.7), rel=1e-13)
