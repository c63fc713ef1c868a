"""Programs that call derivatives, and are differentiated themselves: against closed forms with complex steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff import UnsupportedLoopError, vectorize_grad
from tests.gradients.interpreted import interpreting
from tests.texts import registered

STEP = 1e-30


@vectorize_grad
def energy(x, k):
    return k * (np.sin(x) * x).sum()


@vectorize_grad
def pairs(x):
    e = 0.0
    for i in range(x.shape[0]):
        for j in range(i):
            e += np.exp(-((x[i] - x[j]) ** 2))
    return e


@vectorize_grad(wrt=("k",))
def only_k(x, k):
    return k * k * (np.sin(x) * x).sum()


@vectorize_grad
def cubic(x, a):
    return x * x * x - a


@vectorize_grad
def power(x, n, idx):
    s = 0.0
    for i in range(idx.shape[0]):
        s += x[idx[i]] ** n
    return s


@vectorize_grad
def damping(x, y):
    s = 0.0
    for i in range(x.shape[0]):
        y[i] = y[i] * x[i]
        s += y[i] ** 2
    return s


@vectorize_grad
def spread(A, x):
    return ((A + x) ** 3).sum()


@vectorize_grad(wrt=("t",))
def ends(t, idx):
    w = np.zeros(idx[0])
    w[0] = t[0]
    w[idx[0] - 1] += t[1]
    return w[0] * w[0] * w[-1] * idx[1]


slopes = vectorize_grad(energy.grad)


def energy_slopes(x, k):
    return k * (np.cos(x) * x + np.sin(x)), (np.sin(x) * x).sum()


def pair_slopes(x):
    d = x[:, None] - x[None, :]
    return (-2.0 * d * np.exp(-(d**2))).sum(axis=1)


# -- programs, each with what it computes in NumPy ----------------------------------------------------------------
def leapfrog(x, v, dt, steps):
    for _ in range(steps):
        v = v - dt * pairs.grad(x).x
        x = x + dt * v
    return (x * v).sum()


def leapfrog_in_numpy(x, v, dt, steps):
    for _ in range(steps):
        v = v - dt * pair_slopes(x)
        x = x + dt * v
    return (x * v).sum()


def newton(x, a):
    for _ in range(7):
        v, g = cubic.value_and_grad(x, a)
        x = x - v / g.x
    return x


def unpacked(x, k):
    force, dk = energy.grad(x, k)
    g = energy.grad(2.0 * x, k)
    value, (_, again) = energy.value_and_grad(x, k)
    return (force * g.x).sum() + dk * g[1] + value * again + energy.grad(x, k)[0][1]


def unpacked_in_numpy(x, k):
    (a, da), (b, db) = energy_slopes(x, k), energy_slopes(2.0 * x, k)
    return (a * b).sum() + da * db + k * da * da + a[1]


def rows(A, k):
    s = 0.0
    for i in range(A.shape[0]):
        s += energy.grad(A[i], k).x[0] * energy.grad(A[:, 1], k).x[i] * energy.grad(A[i, 1:], k).x.sum()
    return s


def rows_in_numpy(A, k):
    slope = energy_slopes(A, k)[0]
    return (slope[:, 0] * slope[:, 1] * slope[:, 1:].sum(axis=1)).sum()


def by_k(x, k):
    g = only_k.grad(2.0 * x, k)
    return g.k * g.k


def by_k_in_numpy(x, k):
    return (4.0 * k * (np.sin(2.0 * x) * x).sum()) ** 2


def integers(x, n, idx):
    s = 0.0
    for k in range(1, n):
        s += (power.grad(x, k, idx).x ** 2).sum()
    return s


def integers_in_numpy(x, n, idx):
    w = np.bincount(idx, minlength=x.size)
    return sum(((k * w * x ** (k - 1)) ** 2).sum() for k in range(1, n))


def written(x, y):
    g = damping.grad(x, y)
    return (g.x * y).sum() + g.y.sum()


def written_in_numpy(x, y):
    return (2.0 * x * y * y * (x * y)).sum() + (2.0 * x * x * y).sum()


def directions(x, k, u):
    v, t = energy.jvp((x, k), dict(x=u, k=0.5))
    w, g, h = energy.hvp((x, k), {"x": u})
    return v * t.result + (h.x * u).sum() + w * g.k + h.k


def directions_in_numpy(x, k, u):
    slope, s = energy_slopes(x, k)
    curvature = k * (2.0 * np.cos(x) - x * np.sin(x))
    return k * s * ((slope * u).sum() + 0.5 * s) + (curvature * u * u).sum() + k * s * s + (slope * u).sum() / k


def descent(x, k, n):
    def step(f, y):
        g = f.grad(y, k)
        return y - 0.1 * g.x

    for _ in range(n):
        x = step(energy, x)
    return (x * x).sum() + slopes(x, k).x[0]


def descent_in_numpy(x, k, n):
    for _ in range(n):
        x = x - 0.1 * energy_slopes(x, k)[0]
    return (x * x).sum() + energy_slopes(x, k)[0][0]


def units(A, x):
    return (spread.grad(A, x).A ** 2).sum() + spread.grad(A[:, :1], x).x[0]


def units_in_numpy(A, x):
    slope = 3.0 * (A + x) ** 2
    return (slope.sum(axis=1) ** 2).sum() + slope[:, 0].sum()


def same_names(x, idx, jdx):
    """What is called `t` and `idx` here has other meanings there."""
    t = np.zeros(idx[0])
    for i in range(t.shape[0]):
        t[i] = x[i] ** 2
    return ends.grad(t, jdx).t.sum()


def same_names_in_numpy(x, idx, jdx):
    a, b = x[0] ** 2, x[1] ** 2
    return (2.0 * a * b + a * a) * jdx[1]


@vectorize_grad
def squared_force(x, k):
    return (energy.grad(x, k).x ** 2).sum()


def nested(x, k):
    force, dk = squared_force.grad(x, k)
    return (force * x).sum() * dk


def nested_in_numpy(x, k):
    slope = energy_slopes(x, k)[0]
    return (2.0 * slope * k * (2.0 * np.cos(x) - x * np.sin(x)) * x).sum() * 2.0 * (slope**2).sum() / k


X, U = np.linspace(0.1, 1.0, 4), np.array([0.5, -1.0, 0.3, 0.9])
A = np.linspace(-1.0, 1.0, 12).reshape(3, 4)
PROGRAMS: list[tuple[Callable[..., Any], Callable[..., Any], tuple[Any, ...]]] = [
    (leapfrog, leapfrog_in_numpy, (X, U, 0.1, 3)),
    (newton, lambda _, a: a ** (1 / 3), (1.5, 2.0)),
    (unpacked, unpacked_in_numpy, (X, 1.7)),
    (rows, rows_in_numpy, (A, 1.7)),
    (by_k, by_k_in_numpy, (X, 1.7)),
    (integers, integers_in_numpy, (X, 4, np.array([0, 1, 1, 3]))),
    (written, written_in_numpy, (X, U)),
    (directions, directions_in_numpy, (X, 1.7, U)),
    (descent, descent_in_numpy, (X, 1.7, 3)),
    (units, units_in_numpy, (A[:, :1].copy(), U)),
    (same_names, same_names_in_numpy, (X, np.array([3, 9]), np.array([2, 2]))),
    (nested, nested_in_numpy, (X, 1.7)),
]


def fresh(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args)


def slope_along(function: Callable[..., Any], args: tuple[Any, ...], directions: list[Any]) -> float:
    """The derivative of `function` along `directions`, by a complex step; None stands for none."""
    moved = [a if d is None else a + 1j * STEP * d for a, d in zip(args, directions, strict=True)]
    return function(*moved).imag / STEP


def floating(args: tuple[Any, ...]) -> list[int]:
    return [k for k, a in enumerate(args) if np.asarray(a).dtype.kind == "f"]


@pytest.mark.part(2)
@pytest.mark.parametrize(("program", "in_numpy", "args"), PROGRAMS, ids=[p.__name__ for p, *_ in PROGRAMS])
def test_value_gradient_and_second_derivative(
    program: Callable[..., Any], in_numpy: Callable[..., Any], args: tuple[Any, ...]
) -> None:
    rng = np.random.default_rng(1)
    along = [rng.uniform(-1.0, 1.0, np.shape(a)) if k in floating(args) else None for k, a in enumerate(args)]
    with interpreting():
        f = vectorize_grad(program)
        value, gradients = f.value_and_grad(*fresh(args))
        names = list(f.signature.parameters)
        vectors = {n: d for n, d in zip(names, along, strict=True) if d is not None}
        products = f.hvp(fresh(args), vectors)[2]
    np.testing.assert_allclose(value, in_numpy(*args), rtol=1e-12)
    assert gradients._fields == tuple(names[k] for k in floating(args))
    total = sum((np.asarray(g) * vectors[n]).sum() for n, g in zip(gradients._fields, gradients, strict=True))
    np.testing.assert_allclose(total, slope_along(in_numpy, args, along), rtol=1e-9)
    h = 1e-4

    def slope(t: float) -> float:
        moved = tuple(a if d is None else a + t * d for a, d in zip(args, along, strict=True))
        return slope_along(in_numpy, moved, along)

    second = (8.0 * (slope(h) - slope(-h)) - (slope(2 * h) - slope(-2 * h))) / (12.0 * h)
    total = sum((np.asarray(p) * vectors[n]).sum() for n, p in zip(products._fields, products, strict=True))
    np.testing.assert_allclose(total, second, rtol=1e-8, atol=1e-8)


def test_what_the_inner_function_writes_is_written() -> None:
    y = U.copy()
    with interpreting():
        vectorize_grad(written)(X, y)
    np.testing.assert_allclose(y, X * U, rtol=1e-15)


def test_float32_stays_float32() -> None:
    """A number that a derivative gives is Python's, as outside, and widens nothing."""
    x = X.astype(np.float32)
    with interpreting():
        value, g = vectorize_grad(unpacked).value_and_grad(x, 1.7)
    assert isinstance(value, np.float32)
    assert g.x.dtype == np.float32
    np.testing.assert_allclose(value, unpacked_in_numpy(X, 1.7), rtol=1e-6)


def of_a_dictionary(p):
    along = {"x": p["x"]}
    g = energy.grad(p["x"], p["k"])
    v, t = energy.jvp((p["x"], p["k"]), along)
    return v + t.result + g.k + (g.x * g.x).sum()


def test_arguments_in_a_dictionary() -> None:
    def in_numpy(x, k):
        slope, s = energy_slopes(x, k)
        return k * s + (slope * x).sum() + s + (slope * slope).sum()

    with interpreting():
        value, (g,) = vectorize_grad(of_a_dictionary).value_and_grad({"x": X, "k": 1.7})
    np.testing.assert_allclose(value, in_numpy(X, 1.7), rtol=1e-12)
    np.testing.assert_allclose(g["k"], slope_along(in_numpy, (X, 1.7), [None, 1.0]), rtol=1e-12)
    np.testing.assert_allclose((g["x"] * U).sum(), slope_along(in_numpy, (X, 1.7), [U, None]), rtol=1e-12)


KEYS = """
import numpy as np
from loopdiff import vectorize_grad
BY = 2.0
@vectorize_grad({settings})
def energy(x, k):
    return BY * k * (x * x).sum()
BY = 3.0
@vectorize_grad
def program(x, k):
    return energy.grad(x, k)[0] * 1.0
"""


def test_keys_depend_on_the_function_and_its_settings() -> None:
    def key(settings: str, text: str = KEYS) -> str:
        return registered(text.format(settings=settings), "keys.py", "program").program.key

    assert key("") == key("") != key("wrt='k'") != key("tape='store'")
    assert key("") != key("", KEYS.replace("BY = 2.0", "BY = 2.5"))


@vectorize_grad
def until_small(x):
    while x[0] > 0.2:
        x = np.sin(x)
        if x[1] > 0.9:
            break
    return (x * x).sum()


@vectorize_grad
def twice_until_small(x):
    for _ in range(3):
        x = x - 0.1 * until_small.grad(x).x
    return until_small.grad(x).x[0]


def test_what_follows_from_a_refusal_is_not_said_instead() -> None:
    with pytest.raises(UnsupportedLoopError, match="counted by running it"):
        twice_until_small(np.ones(3))


def test_refused_gradients_of_what_is_read_from_outside_say_why() -> None:
    """Where another reading of the program meets the function of the leaves."""
    offset = np.ones(3)

    @vectorize_grad(wrt=("x",))
    def until_close(x):
        while x[0] > 0.2:
            x = np.sin(x) * offset
            if x[1] > 0.9:
                break
        return (x * x).sum()

    @vectorize_grad
    def called(x):
        return until_close.grad(x).x[0]

    with pytest.raises(UnsupportedLoopError, match="counted by running it"):
        called(np.ones(3))
