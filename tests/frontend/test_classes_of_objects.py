"""Classes of objects, `type(self)`, `self.__class__` and `cls`: what they have, and what is made of them. Plain Python
is the oracle, and differences of it for the gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from loopdiff import ArgumentError, vectorize_grad
from tests.gradients.interpreted import interpreting

X = np.array([1.5, 2.5])
TABLE = np.array([[1.0, 2.0], [3.0, 4.0]])


class Base:
    rate = 0.5
    weights = TABLE
    steps = (1.0, 2.0)
    shape = np.tanh

    def __init__(self, w, b=1.0):
        self.w = w
        self.b = b

    @classmethod
    def made(cls, w):
        return cls(2.0 * w)

    @classmethod
    def cost(cls, x):
        return cls.rate * x[0] ** 2

    def energy(self, x):
        return self.w * x[0] ** 2 + self.b * self.rate

    def own(self, x):
        return type(self).rate * x[0] ** 2 + self.__class__.rate * x[1] + sum(s * x[1] for s in type(self).steps)

    def doubled(self):
        return type(self)(2.0 * self.w)

    def tripled(self):
        return self.__class__(3.0 * self.w)


class Derived(Base):
    rate = 0.25

    def energy(self, x):
        return super().energy(x) + x[1] ** 2

    @classmethod
    def cost(cls, x):
        return super().cost(x) + cls.rate

    @vectorize_grad(wrt="x")
    def loss(self, x):
        return super().energy(x) + type(self).rate * x[0] + self.own(x) + self.cost(x) + Base.energy(self, x)

    @vectorize_grad(wrt="x")
    def above(self, x):
        return super().energy(x)


class Third(Derived):
    rate = 7.0


@dataclass
class Point:
    k: float
    rate = 0.75

    def moved(self, x):
        return type(self)(self.k + type(self).rate * x[0])


def of_methods(m, x):
    return m.energy(x) + m.own(x) + m.cost(x) + m.doubled().w * x[0] + m.tripled().w * x[1]


def of_classes(m, x):
    kind = type(m)
    found = kind.rate * x[0] + kind(x[1]).w + type(m).cost(x) + m.__class__.steps[1] * x[1] + type(m).shape(x[1])
    return found + (x[0] if type(m).__name__ == "Third" else x[1]) + (x[0] if kind is Derived else 0.0)


def of_arrays(m, x):
    return (m.weights @ x).sum() + (type(m).weights[0] * x).sum()


def of_class_alone(m, x):
    return m.__class__.rate * x[0]


def made_inside(m, x):
    d = Third(x[0])
    return d.energy(x) + Derived.made(x[1]).energy(x) + d.cost(x) + type(d).rate * Point(x[0]).moved(x).k


class Kept:
    SHIFTS = ((1.0, 2.0), (0.5, 3.0))

    def __init__(self, w):
        self.w = w

    def shifted(self):
        return sum(self.w * a + b for a, b in self.SHIFTS)


class Keeping:
    def __init__(self, w):
        self.kept = Kept(w)


def made_in_another(m, x):
    return Keeping(x[0]).kept.shifted() * x[1]


def from_outside(m, x):
    return Third.cost(x) + Derived.rate * x[1]


CALLED = [of_methods, of_classes, of_arrays, of_class_alone, made_inside, made_in_another, from_outside]


def differences(function: Callable[..., Any], m: Any) -> list[float]:
    h = 1e-6
    return [(function(m, X + h * e) - function(m, X - h * e)) / (2 * h) for e in np.eye(2)]


@pytest.fixture
def other_classes() -> Iterator[Callable[[], None]]:
    """What gives the classes other numbers, until the test ends."""

    def change() -> None:
        Base.rate, Base.weights, Derived.rate, Third.rate, Point.rate = 0.7, 2.0 * TABLE, 1.25, 3.0, 5.0

    yield change
    Base.rate, Base.weights, Derived.rate, Third.rate, Point.rate = 0.5, TABLE, 0.25, 7.0, 0.75


@pytest.mark.parametrize("function", CALLED)
@pytest.mark.parametrize("kind", [Derived, Third])
def test_classes_have_what_python_finds(
    function: Callable[..., Any], kind: type[Any], other_classes: Callable[[], None]
) -> None:
    m = kind(2.0, 3.0)
    with interpreting():
        f = vectorize_grad(wrt="x")(function)
        for change in (lambda: None, other_classes):  # read at each call
            change()
            value, gradients = f.value_and_grad(m, X)
            assert value == pytest.approx(function(m, X), rel=1e-13)
            np.testing.assert_allclose(gradients.x, differences(function, m), rtol=1e-6)


def test_classes_are_asked_where_no_argument_is_an_object() -> None:
    def tuples(x):
        return Kept(x[0]).shifted()

    def in_another(x):
        return Keeping(x[0]).kept.shifted() * x[1]

    with interpreting():
        for function in (tuples, in_another):
            f = vectorize_grad(function)
            assert f(X) == pytest.approx(function(X), rel=1e-13)
            np.testing.assert_allclose(f.grad(X).x, differences(lambda _, x, f=function: f(x), None), rtol=1e-6)


@pytest.mark.parametrize("kind", [Derived, Third])
def test_decorated_methods_call_those_above(kind: type[Any], other_classes: Callable[[], None]) -> None:
    m = kind(2.0, 3.0)
    with interpreting():
        for method in (kind.loss, kind.above):
            for change in (lambda: None, other_classes):
                change()
                value, gradients = getattr(m, method.__wrapped__.__name__).value_and_grad(X)
                assert value == pytest.approx(method.__wrapped__(m, X), rel=1e-13)
                np.testing.assert_allclose(gradients.x, differences(method.__wrapped__, m), rtol=1e-6)


def test_arrays_of_classes_are_written_as_others_from_outside(other_classes: Callable[[], None]) -> None:
    def writes(m, x):
        m.weights[0, 1] = x[0] * x[1]
        return m.weights[0, 1] * m.weights[0, 0]

    def under_two_names(m, x):
        m.weights[0, 1] = x[0]
        return Base.weights[0, 1]

    with interpreting():
        Base.weights = TABLE.copy()
        assert vectorize_grad(wrt="x")(writes).grad(Base(2.0), X).x.tolist() == [2.5, 1.5]
        assert Base.weights[0, 1] == 1.5 * 2.5
        with pytest.raises(ArgumentError, match="LD304"):
            vectorize_grad(wrt="x")(under_two_names)(Base(2.0), X)
        other_classes()
