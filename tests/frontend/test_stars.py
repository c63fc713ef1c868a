"""Stars in calls that make objects: how many values they give, and what they give on to constructors above."""

from __future__ import annotations

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.errors import LoopdiffError


class Tuned:
    """Some of what makes it has defaults."""

    def __init__(self, kp, ki, kd=0.5, dt=0.1):
        self.kp, self.ki, self.kd, self.dt = kp, ki, kd, dt


def of_gains(g, x):
    c = Tuned(*g)
    d = Tuned(2.0, *g[:2], dt=x[0])
    e = Tuned(x[1], *g[2:])
    return c.kp * c.ki * x[0] + c.kd * c.dt * x[1] + d.kp * d.ki * d.kd * d.dt + e.kp * e.ki + e.kd * e.dt


def test_stars_give_some_of_the_parameters_that_have_defaults() -> None:
    f, x, h = vectorize_grad(of_gains), np.array([1.5, 0.7]), 1e-6
    for g in (np.array([1.2, 0.3, 0.4]), np.array([1.2, 0.3, 0.4, 0.2])):
        value, gradients = f.value_and_grad(g, x)
        assert value == pytest.approx(of_gains(g, x), rel=1e-13)
        expected = [(of_gains(g + h * e, x) - of_gains(g - h * e, x)) / (2 * h) for e in np.eye(len(g))]
        np.testing.assert_allclose(gradients.g, expected, rtol=1e-6, atol=1e-9)
    for g in (np.ones(2), np.ones(5)):
        with pytest.raises(LoopdiffError, match=r"LD3.. *:.*(2 to 4|1 to 3|outside)"):
            f(g, x)


class Named(Tuned):
    """What makes it gives all, or the rest, to the class that it is derived from."""

    def __init__(self, name, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.name = name


class Linked(Tuned):
    """Somebody has the object before all of it is there."""

    def __init__(self, *args):
        rows = (self, *args)
        super().__init__(*rows)


def test_stars_go_to_the_constructor_above() -> None:
    def named(x):
        a, b = Named("a", x[0], x[1]), Named("b", x[1], kd=x[0], ki=3.0)
        return a.kp * a.ki * a.kd + b.kp * b.ki * b.kd * b.dt + (x[0] if a.name == "a" else x[1])

    f, x, h = vectorize_grad(named), np.array([1.5, 0.7]), 1e-6
    value, gradients = f.value_and_grad(x)
    assert value == pytest.approx(named(x), rel=1e-13)
    expected = [(named(x + h * e) - named(x - h * e)) / (2 * h) for e in np.eye(2)]
    np.testing.assert_allclose(gradients.x, expected, rtol=1e-6, atol=1e-9)

    def linked(x):
        return Linked(x[0], x[1]).kd

    with pytest.raises(LoopdiffError):
        vectorize_grad(linked)(x)
