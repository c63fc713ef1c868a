"""Gradients of functions of structures, and of methods, called inside programs: checked by central differences of the
plain Python program, in which the calls inside are compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import optree
import pytest

from loopdiff import DifferentiationError, UnsupportedLoopError, vectorize_grad
from loopdiff.testing import check_grads

X = np.linspace(0.1, 1.3, 4)
RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(5, 4)), RNG.normal(size=5)


@vectorize_grad(wrt="t")
def network(params, t):
    h = np.tanh(params[0]["w"] * t + params[0]["b"])
    return (params[1]["w"] * h).sum() + params[1]["b"]


@vectorize_grad(wrt="params")
def equation(params, times):
    """How far the network is from the solution of u' = -u with u(0) = 1."""
    loss = (network(params, 0.0) - 1.0) ** 2
    for t in times:
        u, slope = network.value_and_grad(params, t)
        loss += (slope.t + u) ** 2
    return loss


@vectorize_grad
def energy(p, y):
    return (p["w"] ** 2 * y).sum() * p["b"]


@vectorize_grad
def by_name(p, y):
    v, g = energy.value_and_grad(p, y)
    return v + (g.p["w"] ** 2).sum() + g.p["b"]


@vectorize_grad(wrt=("y", "p"))
def energy_of_both(p, y):
    return (p["w"] ** 2 * y).sum() * p["b"]


@vectorize_grad
def by_place(p, y):
    g = energy_of_both.grad(y=y, p=p)
    gy, gp = energy_of_both.grad(p, y)
    return (g[0] ** 2).sum() + 2.0 * (g[1]["w"] ** 2).sum() + 3.0 * (gy * gp["w"]).sum()


def bump(y):
    y[0] = 2.0 * y[0]
    return y[0]


@vectorize_grad(wrt=("b", "a"))
def two_arrays(a, b):
    return (a * a * b).sum()


@vectorize_grad
def behind_what_writes(p, x):
    y = x.copy()
    s = bump(y) + energy.grad(p, y).y[0]
    a, b = bump(y), two_arrays.grad(y, x)[0]
    s += bump(y) * p["b"] * energy.grad(p, y).p["b"]
    return s + a * b[1] + (two_arrays.grad(x, 2.0 * y)[0] * x).sum()


@vectorize_grad(wrt="p['w']")
def of_part(p, y):
    return (p["w"] ** 3 * y).sum() * p["b"] * p["n"]


@vectorize_grad
def by_part(p, y):
    g = of_part.grad(p, y)
    return (g.p["w"] * y).sum() if g.p["b"] is None else 0.0


@vectorize_grad(wrt=["p[-1]", "y"])
def of_last(y, p):
    return (p[0] ** 2 * p[1] * y).sum()


@vectorize_grad
def by_last(y, p):
    """Nothing but `wrt` says that `p` is a structure, when this is decorated."""
    g = of_last.grad(y, p)
    return (g.p[1] * g.y).sum()


@vectorize_grad(wrt=("p['w']", "y"))
def of_nothing(p, y):
    return (y**3).sum()


@vectorize_grad
def of_unread(y):
    g = of_nothing.grad({"w": 2.0 * y}, y)
    return (g.y * y).sum() + g.p["w"].sum()


@vectorize_grad
def misfit(w):
    return ((A @ w - B) ** 2).sum()


@vectorize_grad
def descent(w, rate):
    for _ in range(3):
        w = w - rate * misfit.grad(w).w
    return misfit(w)


@vectorize_grad(wrt="layers")
def layered(layers, x):
    for W, b in layers:
        x = np.tanh(W * x + b)
    return x.sum()


@vectorize_grad
def trained(layers, x, rate):
    for _ in range(2):
        g = layered.grad(layers, x)
        layers = [(W - rate * dW, b - rate * db) for (W, b), (dW, db) in zip(layers, g.layers, strict=True)]
    return layered(layers, x)


def squares(record):
    return sum((part**2).sum() for part in record)


@vectorize_grad
def quartic(x):
    return (x**4).sum() + x[0] * x[1]


@vectorize_grad
def as_a_whole(x):
    v, g = quartic.value_and_grad(x)
    both = quartic.value_and_grad(2.0 * x)
    w, (h,) = both
    return v * squares(g) + w + (h * both[1].x).sum()


class Well:
    def __init__(self, k):
        self.k, self.visits = k, []

    @vectorize_grad
    def energy(self, q):
        return 0.5 * self.k * (q**2).sum() + (q**4).sum()

    @vectorize_grad(wrt="self")
    def of_self(self, q):
        return self.energy(q)

    @vectorize_grad
    def trajectory(self, q, v):
        for _ in range(5):
            v = v - 0.05 * self.energy.grad(q).q
            q = q + 0.05 * v
        return self.energy(q) + 0.5 * (v * v).sum()

    @vectorize_grad
    def stiffness(self, q):
        return self.of_self.grad(q).self.k * self.k

    @vectorize_grad
    def minimum(self, q):
        n = 0
        while self.energy(q) > 0.5 and n < 50:
            v, g = self.energy.value_and_grad(q=q)
            q = q - 0.1 * g.q / (1.0 + v)
            n += 1
        return (q**2).sum()


PARAMS = [{"w": X, "b": 0.5 * X}, {"w": X[::-1].copy(), "b": 0.3}]
WELL = Well(2.0)
CASES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "equation": (equation, (PARAMS, np.linspace(0.0, 2.0, 3))),
    "by_name": (by_name, ({"w": X, "b": 2.0}, X + 1.0)),
    "by_place": (by_place, ({"w": X, "b": 2.0}, X + 1.0)),
    "by_part": (by_part, ({"w": X, "b": 2.0, "n": 3}, X + 1.0)),
    "by_last": (by_last, (X + 1.0, [X, 2.0 * X])),
    "of_unread": (of_unread, (X,)),
    "behind_what_writes": (behind_what_writes, ({"w": X, "b": 2.0}, X + 1.0)),
    "as_a_whole": (as_a_whole, (X,)),
    "descent": (descent, (X, 0.01)),
    "trained": (trained, ([(X, X), (X, 2.0 * X)], X, 0.1)),
    "trajectory": (Well.trajectory, (WELL, X, np.zeros(4))),
    "stiffness": (Well.stiffness, (WELL, X)),
    "minimum": (Well.minimum, (WELL, X)),
}


def differences(f: Any, args: tuple[Any, ...], position: int) -> Any:
    """The gradient of the Python program by the argument at `position`, by central differences."""
    leaves, spec = optree.tree_flatten(args[position])

    def slope(k: int, place: tuple[int, ...], step: float = 1e-5) -> float:
        def at(sign: float) -> float:
            moved = [np.array(leaf, float) for leaf in leaves]
            moved[k][place] += sign * step
            whole = [m if np.ndim(m) else float(m) for m in moved]
            return f(*args[:position], optree.tree_unflatten(spec, whole), *args[position + 1 :])

        return (at(1.0) - at(-1.0)) / (2.0 * step)

    places = [list(np.ndindex(np.shape(leaf))) for leaf in leaves]
    found = [np.reshape([slope(k, p) for p in of], np.shape(leaves[k])) for k, of in enumerate(places)]
    return optree.tree_unflatten(spec, found)


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients(name: str) -> None:
    f, args = CASES[name]
    value, g = f.value_and_grad(*args)
    assert value == pytest.approx(f.py_func(*args), rel=1e-12)
    for position, field in enumerate(f.signature.parameters):
        if field not in g._fields or (name == "by_part" and field == "p"):
            continue
        expected = differences(f.py_func, args, position)
        for mine, other in zip(optree.tree_leaves(getattr(g, field)), optree.tree_leaves(expected), strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-6)


def test_a_part_of_a_structure() -> None:
    p, y = {"w": X, "b": 2.0, "n": 3}, X + 1.0
    assert by_part(p, y) == pytest.approx((3.0 * X**2 * y * y * 6.0).sum())
    np.testing.assert_allclose(by_part.grad(p, y).p["w"], 36.0 * X * y * y)


def test_forward_and_reverse_mode_agree() -> None:
    check_grads(by_name, ({"w": X, "b": 2.0}, X + 1.0))
    check_grads(Well.trajectory, (WELL, X, np.zeros(4)))
    check_grads(WELL.trajectory, (X, np.zeros(4)))


def test_what_is_a_structure_is_known_at_the_call() -> None:
    @vectorize_grad(wrt="z")
    def cubes(z, m):
        return m["A"] * (z["x"] ** 3).sum()

    @vectorize_grad(wrt="x")
    def of_dictionary(x, m):
        return cubes.grad({"x": x}, m).z["x"].sum()

    @vectorize_grad
    def of_copies(w):
        new = {}
        for key in w:
            new[key] = 2.0 * w[key]
        return (energy.grad(new, X).y ** 2).sum()

    np.testing.assert_allclose(of_dictionary.grad(X, {"A": 2.0}).x, 12.0 * X)
    assert of_copies({"w": X, "b": 0.5}) == pytest.approx(((4.0 * X**2) ** 2).sum())


def test_what_is_computed_by_the_number_of_axes_is_known_at_each_call() -> None:
    @vectorize_grad(wrt="p")
    def by_axes(p, x):
        if p["w"].ndim == 1:
            return (p["w"] * x).sum()
        return 3.0 * (p["w"] ** 2).sum() * x.sum()

    @vectorize_grad(wrt="x")
    def called(p, x):
        return (by_axes.grad(p, x).p["w"] ** 2).sum() * x[0]

    for w in (np.ones(4), np.ones((2, 4)), np.ones(4)):
        assert called({"w": w}, X) == pytest.approx(called.py_func({"w": w}, X))


def test_integers_have_no_gradient() -> None:
    @vectorize_grad
    def counted(p, y):
        return (p["w"] * y).sum() * p["n"][0]

    @vectorize_grad(wrt="y")
    def called(p, y):
        g = counted.grad(p, y)
        return (g.y * y).sum()

    with pytest.raises(DifferentiationError, match="LD402"):
        called({"w": X, "n": np.array([2])}, X)


def test_gradients_in_one_of_two_ways() -> None:
    @vectorize_grad(wrt="y")
    def chosen(p, y):
        return energy.grad(p, y).y[0] if y[0] > 0.5 else y[0]

    for y in (X, X + 1.0):
        assert chosen({"w": X, "b": 2.0}, y) == pytest.approx(2.0 * X[0] ** 2 if y[0] > 0.5 else y[0])
        np.testing.assert_allclose(chosen.grad({"w": X, "b": 2.0}, y).y, [0.0 if y[0] > 0.5 else 1.0, 0.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (lambda p, y: energy.grad(p, y)[0]["w"].sum(), "has no field `0`|Gradients"),
        (lambda p, y: with_default.grad(p, y).y[0], "is to have a gradient by `s`"),
    ],
    ids=["place", "default"],
)
def test_refusals(body: Any, said: str) -> None:
    with pytest.raises(UnsupportedLoopError, match=said):
        vectorize_grad(body, wrt="y")({"w": X, "b": 2.0}, X)


@vectorize_grad(wrt=("y", "s"))
def with_default(p, y, s=2.0):
    return (p["w"] * y).sum() * s
