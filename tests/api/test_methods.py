"""Decorated methods, functions of any number of arguments, and what `wrt` can name."""

from __future__ import annotations

import pickle
from collections import namedtuple
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize

import loopdiff.scipy
from loopdiff import ArgumentError, DifferentiationError, UnsupportedLoopError, vectorize_grad

X = np.linspace(0.1, 1.3, 4)


class Spring:
    power = 2

    def __init__(self, k, rest):
        self.k, self.rest = k, rest

    def force(self, u):
        return self.k * u

    @vectorize_grad
    def energy(self, x, scale=1.0):
        e = 0.0
        for i in range(x.shape[0]):
            e += scale * self.force(x[i] - self.rest[i]) ** self.power
        return e

    @vectorize_grad(wrt="self")
    def stiffness(self, x):
        return self.energy(x)

    @vectorize_grad(wrt=("self.k", "x"))
    def both(self, x):
        return self.energy(x, scale=2.0)

    @vectorize_grad
    def alone(self):
        return self.k**2

    def plain(self, x):
        return (x * self.rest).sum()

    @staticmethod
    @vectorize_grad
    def total(x):
        return x.sum()


@dataclass(frozen=True)
class Well:
    depth: float

    @vectorize_grad
    def __call__(self, x):
        return self.depth * (x**4).sum()


def slope(s: Spring, x: np.ndarray) -> np.ndarray:
    return 2.0 * s.k**2 * (x - s.rest)


def test_a_method_takes_its_instance():
    s = Spring(2.0, X[::-1].copy())
    assert s.energy(X) == pytest.approx((4.0 * (X - s.rest) ** 2).sum())
    value, g = s.energy.value_and_grad(X, scale=3.0)
    assert value == pytest.approx(3.0 * s.energy(X))
    np.testing.assert_allclose(g.x, 3.0 * slope(s, X))
    assert g._fields == ("x", "scale")  # not `self`, which nobody asked for


def test_all_derivatives_of_a_method():
    s, along = Spring(1.5, np.zeros(4)), np.array([1.0, -2.0, 0.5, 0.0])
    np.testing.assert_allclose(s.energy.vjp(X)[1](2.0).x, 2.0 * slope(s, X))
    assert s.energy.jvp((X, 1.0), {"x": along})[1].result == pytest.approx(slope(s, X) @ along)
    np.testing.assert_allclose(s.energy.hvp((X, 1.0), {"x": along})[2].x, 4.5 * along)
    np.testing.assert_allclose(s.energy.jacobian(X).result.x, slope(s, X))
    np.testing.assert_allclose(s.energy.on("cuda-emulated").grad(X).x, slope(s, X))
    assert "energy" in str(s.energy.explain(X))
    s.energy.precompile(X)
    assert s.energy.compile(X).forward is not None


def test_a_change_of_the_instance_is_seen():
    s = Spring(2.0, np.zeros(4))
    s.energy(X)
    s.k = 3.0
    np.testing.assert_allclose(s.energy.grad(X).x, slope(s, X))
    s.rest[:] = 0.5
    np.testing.assert_allclose(s.energy.grad(X).x, slope(s, X))


def test_instances_share_what_is_compiled():
    one, other = Spring(2.0, np.zeros(4)), Spring(3.0, np.ones(4))
    one.energy(X), other.energy(X)
    assert len(Spring.energy.structured) == 1


def test_a_gradient_by_the_instance_where_it_is_asked_for():
    s = Spring(2.0, np.zeros(4))
    g = s.stiffness.grad(X)
    assert (type(g.self), g._fields) == (Spring, ("self",))
    assert g.self.k == pytest.approx(2.0 * s.energy(X) / s.k)
    np.testing.assert_allclose(g.self.rest, -slope(s, X))
    g = s.both.grad(X)
    assert g.self.k == pytest.approx(4.0 * s.energy(X) / s.k)
    assert g.self.rest is None
    np.testing.assert_allclose(g.x, 2.0 * slope(s, X))
    with pytest.raises(DifferentiationError, match="LD403"):
        s.alone.grad()
    assert vectorize_grad(s.alone, wrt="self").grad().self.k == 4.0


def test_places_of_arguments_are_counted_behind_the_instance():
    class Potential:
        k = 2.0

        @vectorize_grad(wrt=0)
        def at(self, x, y):
            return self.k * (x * y).sum()

    g = Potential().at.grad(X, X + 1.0)
    assert g._fields == ("x",)
    np.testing.assert_allclose(g.x, 2.0 * (X + 1.0))


def test_the_function_of_the_class_takes_the_instance_as_an_argument():
    s = Spring(2.0, np.zeros(4))
    np.testing.assert_allclose(Spring.energy.grad(s, X).x, s.energy.grad(X).x)


def test_methods_of_instances_can_be_decorated():
    s = Spring(2.0, X[::-1].copy())
    np.testing.assert_allclose(vectorize_grad(s.plain).grad(X).x, s.rest)
    np.testing.assert_allclose(vectorize_grad(s.energy, wrt="x").grad(X).x, slope(s, X))


def test_scipy_takes_methods():
    s = Spring(2.0, X[::-1].copy())
    found = minimize(loopdiff.scipy.value_and_grad(s.energy), np.zeros(4), jac=True)
    np.testing.assert_allclose(found.x, s.rest, atol=1e-6)


def test_static_methods_and_calls_of_objects():
    s = Spring(2.0, X)
    np.testing.assert_allclose(s.total.grad(X).x, np.ones(4))
    np.testing.assert_allclose(Well(2.0).__call__.grad(X).x, 8.0 * X**3)
    assert Well(2.0)(X) == pytest.approx(2.0 * (X**4).sum())


def test_methods_are_equal_where_functions_and_instances_are_the_same():
    one, other = Spring(2.0, X), Spring(2.0, X)
    assert one.energy == one.energy
    assert hash(one.energy) == hash(one.energy)
    assert one.energy != other.energy
    assert pickle.loads(pickle.dumps(Spring.energy)) is Spring.energy
    assert repr(one.energy).startswith("<loopdiff method Spring.energy of <")


def test_a_method_that_changes_its_instance_is_refused():
    class Counter:
        def __init__(self):
            self.count = 1.0

        @vectorize_grad
        def step(self, x):
            self.count += 1.0
            return self.count * x.sum()

    counter = Counter()
    with pytest.raises(UnsupportedLoopError, match="LD134"):
        counter.step(X)
    assert counter.count == 1.0


# -- any number of arguments -------------------------------------------------------------------------------
@vectorize_grad
def weighted(x, *others, scale=2.0, **named):
    s = scale * (x * x).sum()
    for other in others:
        s += (other * x).sum()
    for name, value in named.items():
        if name != "ignored":
            s += value * x[0]
    return s * (1 + len(others))


def test_any_number_of_arguments():
    assert weighted(X) == pytest.approx(2.0 * (X**2).sum())
    value, g = weighted.value_and_grad(X, 2.0 * X, X + 1.0, a=1.5, ignored=7.0)
    assert value == pytest.approx(weighted.py_func(X, 2.0 * X, X + 1.0, a=1.5, ignored=7.0))
    assert g._fields == ("x", "others", "scale", "named")
    np.testing.assert_allclose(g.others[0], 3.0 * X)
    np.testing.assert_allclose(g.x[1:], 3.0 * (4.0 * X + 2.0 * X + X + 1.0)[1:])
    assert g.named == {"a": pytest.approx(3.0 * X[0]), "ignored": 0.0}
    assert weighted.grad(X, scale=1.0)._fields == ("x", "scale")


def test_gradients_of_arguments_alone():
    @vectorize_grad
    def product(*arrays):
        return (arrays[0] * arrays[-1]).sum()

    g = product.grad(X, X + 1.0)
    np.testing.assert_allclose(g.arrays, (X + 1.0, X))
    np.testing.assert_allclose(product.grad(X).arrays[0], 2.0 * X)


# -- what `wrt` names ---------------------------------------------------------------------------------------
Layer = namedtuple("Layer", "W b")


def network(layers, x):
    h = x
    for W, b in layers:
        h = np.tanh(W * h + b)
    return h.sum()


def layers() -> list[Layer]:
    return [Layer(X, 0.5 * X), Layer(2.0 * X, X)]


@pytest.mark.parametrize(
    ("wrt", "there"),
    [
        (0, {(0, 0), (0, 1), (1, 0), (1, 1)}),
        (-2, {(0, 0), (0, 1), (1, 0), (1, 1)}),
        ("layers[1]", {(1, 0), (1, 1)}),
        ("layers[-1].b", {(1, 1)}),
        (("layers[0][0]", "layers[1].b"), {(0, 0), (1, 1)}),
    ],
)
def test_parts_of_arguments(wrt, there):
    f = vectorize_grad(network, wrt=wrt)
    whole, g = vectorize_grad(network).grad(layers(), X), f.grad(layers(), X)
    assert g._fields == ("layers",)
    assert {(i, j) for i in range(2) for j in range(2) if g.layers[i][j] is not None} == there
    for i, j in there:
        np.testing.assert_allclose(g.layers[i][j], whole.layers[i][j])


def test_gradients_come_in_the_order_of_wrt():
    f = vectorize_grad(lambda p, y: (p["w"] ** 2).sum() * p["b"] * y, wrt=("y", "p['w']"))
    y, p = f.grad({"w": X, "b": 2.0}, 3.0)
    assert y == pytest.approx(2.0 * (X**2).sum())
    np.testing.assert_allclose(p["w"], 12.0 * X)
    assert p["b"] is None


def test_what_has_a_gradient_is_found_at_each_call():
    """As numbers of a structure are integers in one call and floats in another."""

    def scaled(p, x):
        return (p["w"] * x).sum() * p["n"]

    f, g = vectorize_grad(scaled, wrt="p"), vectorize_grad(scaled, wrt=("x", "p"))
    whole = {"w": X, "n": 3}
    for p in (whole, {"w": X, "n": 3.0}, {"w": np.arange(4), "n": 2.5}, {"w": X.astype(np.float32), "n": 2.0}, whole):
        for found in (f.grad(p, X).p, g.value_and_grad(p, X)[1].p):
            if isinstance(p["n"], int):
                assert found["n"] is None
            else:
                assert found["n"] == pytest.approx((p["w"] * X).sum())
            if p["w"].dtype.kind == "i":
                assert found["w"] is None
            else:
                np.testing.assert_allclose(found["w"], p["n"] * X, rtol=1e-6)
    with pytest.raises(DifferentiationError, match="LD403"):
        f.grad({"w": np.arange(4), "n": 3}, X)
    with pytest.raises(DifferentiationError, match="LD402"):
        vectorize_grad(scaled, wrt="p").grad({"w": np.arange(4), "n": 3}, X)
    with pytest.raises(DifferentiationError, match="LD402"):
        vectorize_grad(scaled, wrt="p['n']").grad(whole, X)


# -- what of an instance matters ----------------------------------------------------------------------------
class Linear:
    def __init__(self, w):
        self.w, self.inputs = w, []

    def __call__(self, x):
        return np.tanh(self.w * x)


class Training:
    """What changes from step to step is not what the loss reads."""

    def __init__(self):
        self.layers, self.last, self.scale = [Linear(X), Linear(-X)], Linear(2.0 * X), 1.5
        self.losses, self.steps, self.log, self.myself = [], 0, {}, self

    @vectorize_grad
    def loss(self, x):
        x = x.copy()
        for layer in self.layers:
            x = layer(x)
        return self.scale * (self.last(x) ** 2).sum()

    @vectorize_grad(wrt="self")
    def by_parameters(self, x):
        return self.loss(x)

    def fit(self, x):
        for _ in range(3):
            value, g = self.loss.value_and_grad(x)
            self.losses.append(value)
            self.last.inputs.append(x)
            self.layers[0].inputs.append(x)
            self.log[self.steps] = "done"
            self.steps += 1
            x = x - 0.1 * g.x
        return x


def test_attributes_that_are_not_read_may_change():
    training = Training()
    training.fit(X)
    assert len(Training.loss.structured) == 1
    other = Training()
    other.note = "which the other has not"
    np.testing.assert_allclose(other.fit(X), training.fit(X))
    assert len(Training.loss.structured) == 1
    del training.myself  # gradients have all that objects have
    g = training.by_parameters.grad(X).self
    assert vars(g).keys() == vars(training).keys()
    assert g.scale == pytest.approx(training.loss(X) / 1.5)


def test_objects_from_outside_are_read_at_each_call():
    training = Training()

    def of_object(x):
        return training.scale * training.last(x).sum() + (training.steps if training.log is None else 0.0)

    def of_fields(x):
        z = np.zeros(training.shape)
        for i in range(training.steps):
            z[0, 0] += training.scale * x[i]
        return z.sum() if training.kind == "sum" else 2.0 * z[0, 0]

    f, g = vectorize_grad(of_object), vectorize_grad(of_fields)
    training.shape, training.kind = (2, 2), "sum"
    for scale, steps, kind, log in ((1.5, 1, "sum", {}), (2.5, 3, "other", {}), (0.5, 2, "sum", None)):
        training.scale, training.steps, training.kind, training.log = scale, steps, kind, log
        training.losses.append(1.0)
        assert f(X) == pytest.approx(of_object(X))
        assert g(X) == pytest.approx(of_fields(X))
        assert g.grad(X).x[0] == pytest.approx(scale * (steps > 0) * (1.0 if kind == "sum" else 2.0))
    assert len(f.structured) == 3  # by `steps`, whatever the losses are


# -- what classes have --------------------------------------------------------------------------------------
class Rated:
    rate = 1.0


class Decay(Rated):
    steps, kind, both = 3, "slow", (0.5, 2)
    activation = staticmethod(np.tanh)
    shape = np.sin

    def __init__(self, start):
        self.start = start

    @property
    def doubled(self):
        return 2.0 * self.rate

    @vectorize_grad
    def total(self, x):
        s = 0.0
        for _ in range(self.steps):
            s += self.start * self.rate * x
        if self.kind == "slow":
            s += self.doubled * x
        return s + self.both[0] * self.activation(x) * self.shape(x)


@dataclass
class Bounded:
    a: float
    LIMIT = 3.0

    def __len__(self):
        return 2

    def __getitem__(self, k):
        return self.a * k


class Config:
    rate, steps, mode = 0.5, 2, "sum"


SPACE = SimpleNamespace(rate=1.0)


@vectorize_grad
def of_classes(x):
    s = Config.rate * x if Config.mode == "sum" else x
    for _ in range(Config.steps):
        s *= SPACE.rate
    walker = Bounded(x)
    return s + walker.LIMIT * walker.a + len(walker) * walker[3]


def test_what_classes_have_is_read_at_each_call(monkeypatch):
    def check() -> None:
        assert decay.total(0.7) == pytest.approx(Decay.total.py_func(decay, 0.7))
        assert of_classes(0.7) == pytest.approx(of_classes.py_func(0.7))
        for f, py in (
            (decay.total, lambda x: Decay.total.py_func(decay, x)),
            (of_classes, of_classes.py_func),
        ):
            assert f.grad(0.7).x == pytest.approx((py(0.7 + 1e-6) - py(0.7 - 1e-6)) / 2e-6, rel=1e-6)

    decay = Decay(2.0)
    check()
    for owner, name, value in (
        (Rated, "rate", 3.0), (Decay, "steps", 2), (Decay, "kind", "fast"), (Decay, "both", (1.5, 2)),
        (Decay, "shape", np.cos), (Config, "rate", 2.5), (Config, "mode", "other"), (Config, "steps", 4),
        (Bounded, "LIMIT", 5.0), (SPACE, "rate", 1.5),
    ):  # fmt: skip
        monkeypatch.setattr(owner, name, value)
        check()


def test_none_then_an_array_then_none():
    @vectorize_grad(wrt="p")
    def weighted_sum(p, w=None):
        return (p["x"] ** 2).sum() if w is None else (w * p["x"] ** 2).sum()

    p = {"x": X}
    for w in (None, X, None, 2.0 * X, None):
        assert weighted_sum(p, w) == pytest.approx(weighted_sum.py_func(p, w))
        np.testing.assert_allclose(weighted_sum.grad(p, w).p["x"], 2.0 * X * (1.0 if w is None else w))


class Row:
    def __init__(self, w):
        self.w = w

    def __len__(self):
        return len(self.w)

    def __getitem__(self, k):
        return 10.0 * self.w[k]

    def __iter__(self):
        return iter(3.0 * self.w)

    def __contains__(self, value):
        return value == 1.0


def of_items(row, x):
    s = 0.0
    for k in range(len(row)):
        s += row[k] * x[k]
    return s + row[-1]


def test_lengths_and_items_of_objects():
    f = vectorize_grad(of_items)
    assert f(Row(X), X) == pytest.approx(of_items(Row(X), X))
    np.testing.assert_allclose(f.grad(Row(X), X).x, 10.0 * X)


@pytest.mark.parametrize(
    "function",
    [
        lambda row, x: sum(v * x[0] for v in row),
        lambda row, x: x[0] if 1.0 in row else x[1],
        lambda row, x: x[0] if row else x[1],
        lambda row, x: max(*row) * x[0],
        lambda row, x: np.sum(row) * x[0],
    ],
    ids=["iterated", "contains", "truth", "starred", "array"],
)
def test_what_else_objects_do_by_their_methods_is_refused(function):
    with pytest.raises(UnsupportedLoopError, match=r"LD134|LD111"):
        vectorize_grad(function)(Row(X), X)


class Own:
    @staticmethod
    def square(x):
        return x * x

    @vectorize_grad
    def loss(self, x):
        return Own.square(x)


def test_the_class_around_a_method_is_not_there_yet():
    with pytest.raises(UnsupportedLoopError, match=r"the class is not there yet: `self.square`"):
        Own().loss(0.5)


# -- what no text says --------------------------------------------------------------------------------------
class Scaled:
    scale = 1.0

    def __init__(self, v):
        self.scale, self.k, self.others = v, 3.0, []


class Holder:
    def __init__(self, m):
        self.value = m.scale

    def of(self, m):
        return m.scale * self.value


def read_scale(m):
    return m.scale


HOOKS = {"pre": [read_scale]}
ask = getattr


@pytest.mark.parametrize(
    "function",
    [
        lambda m, x: Holder(m).value * x.sum() * m.k,
        lambda m, x: Holder(m).of(m) * x.sum(),
        lambda m, x: HOOKS["pre"][0](m) * x.sum(),
        lambda m, x: sum(h(m) for h in HOOKS["pre"]) * x.sum() * m.k,
        lambda m, x: ask(m, "scale") * x.sum(),
        lambda m, x: (lambda f: f(m))(read_scale) * x.sum(),
    ],
    ids=["constructor", "method", "hook", "hooks", "alias", "argument"],
)
def test_attributes_that_no_text_names_at_first_sight(function):
    f, m = vectorize_grad(function, wrt="x"), Scaled(10.0)
    for scale in (10.0, 4.0):
        m.scale = scale
        m.others.append(1)
        expected = function(m, X)
        try:
            value = f(m, X)
        except UnsupportedLoopError:
            continue
        assert value == pytest.approx(expected)
        np.testing.assert_allclose(f.grad(m, X).x, np.full(4, expected / X.sum()))


def test_functions_that_are_given_read_what_they_like():
    f = vectorize_grad(lambda m, fs, x: fs[0](m) * x.sum() * m.k, wrt="x")
    assert f(Scaled(10.0), [read_scale], X) == pytest.approx(30.0 * X.sum())


def test_names_that_stars_take():
    @vectorize_grad
    def positional(x, /, **options):
        return x * options["x"]

    @vectorize_grad
    def rest_by_name(x, *rest, **options):
        return x + rest[0] + 3.0 * options["rest"]

    assert positional(2.0, x=5.0) == 10.0
    assert rest_by_name(1.0, 2.0, rest=4.0) == 15.0


def test_what_a_call_takes_apart_is_as_it_is_at_that_call() -> None:
    """Arguments are taken apart once for each call, and again after anything in them changed."""

    @vectorize_grad(wrt="x")
    def f(m, x, s=2.0):
        return m.k * x[0] * s

    m, x = Spring(3.0, 0.5), X.copy()
    for k in (3.0, 4.0, 5.0):
        m.k = k
        f.explain(m, x)  # which recognises the arguments, and computes nothing
        m.k = k + 1.0
        assert f(m, x) == pytest.approx((k + 1.0) * x[0] * 2.0)
        assert f(m, x, s=3.0) == f(x=x, m=m, s=3.0) == pytest.approx((k + 1.0) * x[0] * 3.0)
        assert f.value_and_grad(s=1.0, x=x, m=m)[1].x[0] == k + 1.0
        m.k = k
        assert f.grad(m, x=x).x[0] == 2.0 * k
    other = Spring(7.0, 0.5)
    assert [f(one, x) for one in (m, other, m)] == pytest.approx([one.k * x[0] * 2.0 for one in (m, other, m)])


def test_arguments_by_name_in_any_order() -> None:
    @vectorize_grad
    def f(x, a, b=2.0, c=3.0):
        return x[0] * a * b + c

    for named in ({"a": 1.5}, {"c": 1.0, "a": 2.0}, {"b": 0.5, "a": 2.0, "c": 4.0}):
        assert f(X, **named) == f.__wrapped__(X, **named)
        assert f(**named, x=X) == f.__wrapped__(X, **named)
    for args, named, code in (
        ((X,), {}, "LD301"),
        ((X, 1.0), {"a": 2.0}, "LD302"),
        ((X, 1.0), {"d": 2.0}, "LD302"),
        ((X, 1.0, 2.0, 3.0, 4.0), {}, "LD302"),
        ((X, 1.0, 2.0, 3.0), {"x": X}, "LD302"),
    ):
        with pytest.raises(ArgumentError, match=code):
            f(*args, **named)
