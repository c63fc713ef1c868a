"""`has_aux`: gradients of what is returned first, and nothing of what is returned beside it."""

from __future__ import annotations

from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pytest
from scipy.optimize import minimize

import loopdiff.scipy
from loopdiff import DifferentiationError, vectorize_grad
from loopdiff.specialize.specialization import Specialization

X = np.linspace(0.0, 1.3, 5)


class Fit(NamedTuple):
    loss: float
    residuals: np.ndarray


@vectorize_grad(has_aux=True)
def with_roots(x):
    roots = np.sqrt(x)  # whose derivative at 0 is infinite
    return (x * x).sum(), roots


@vectorize_grad(has_aux=True)
def of_roots(x):
    roots = np.sqrt(x)
    return (roots[1:] ** 3).sum(), roots, 3.0 * x[0], len(x)


@vectorize_grad(has_aux=True)
def in_structures(p):
    y = 2.0 * p["w"]
    return (y[1:] ** 3).sum() * p["b"], {"y": y, "others": [p["b"] * 2.0, y[0]]}


@vectorize_grad(has_aux=True)
def named(x, y):
    r = np.sin(x) - y
    return Fit((r * r).sum(), r)


@vectorize_grad(has_aux=True)
def of_complex(z):
    return (z * z.conj()).real.sum(), 2.0 * z, z[0] * z[1]


@vectorize_grad(has_aux=True)
def in_place(x, y):
    for i in range(x.shape[0]):
        y[i] = y[i] * x[i]
    return y.sum(), y.copy()


def test_the_value_is_what_the_function_returns_and_gradients_are_of_the_loss():
    (loss, roots), g = with_roots.value_and_grad(X)
    assert loss == pytest.approx((X**2).sum())
    np.testing.assert_allclose(roots, np.sqrt(X))
    np.testing.assert_allclose(g.x, 2.0 * X)  # finite where that of the roots is not


def test_grad_gives_what_is_beside_the_loss_too():
    g, roots = with_roots.grad(X)
    np.testing.assert_allclose(g.x, 2.0 * X)
    np.testing.assert_allclose(roots, np.sqrt(X))
    g, aux = of_roots.grad(X)
    np.testing.assert_allclose(g.x[1:], 1.5 * np.sqrt(X[1:]))
    assert g.x[0] == 0.0
    assert (type(aux), aux[1:]) == (tuple, (0.0, 5))


def test_structures_and_named_tuples_beside_the_loss():
    (loss, aux), g = in_structures.value_and_grad({"w": X, "b": 3.0})
    np.testing.assert_allclose(g.p["w"][1:], 3.0 * 24.0 * X[1:] ** 2)
    assert g.p["b"] == pytest.approx(loss / 3.0)
    assert aux["others"] == [6.0, 0.0]
    fit, g = named.value_and_grad(X, 0.5 * X)
    assert type(fit) is Fit
    np.testing.assert_allclose(g.x, 2.0 * fit.residuals * np.cos(X))


@pytest.mark.parametrize(
    ("function", "beside"),
    [
        (lambda x, *rest: ((x * x).sum(), rest), ()),
        (lambda x: ((x * x).sum(), None), None),
        (lambda x: ((x * x).sum(), {}), {}),
        (lambda x: ((x * x).sum(), "done"), "done"),
    ],
    ids=("tuple", "none", "dictionary", "text"),
)
def test_what_goes_with_a_loss_may_hold_no_numbers(function: Any, beside: Any):
    f = vectorize_grad(function, has_aux=True)
    (loss, found), g = f.value_and_grad(X)
    assert (loss, found) == (pytest.approx((X * X).sum()), beside)
    assert f.grad(X)[1] == beside
    np.testing.assert_allclose(g.x, 2.0 * X)
    _, along = f.jvp((X,), {"x": X})
    assert along.result == (pytest.approx(2.0 * (X * X).sum()), None if beside == "done" else beside)


def test_complex_numbers_beside_the_loss():
    z = X + 0.5j
    (_, double, _), g = of_complex.value_and_grad(z)
    np.testing.assert_allclose(g.z, 2.0 * z.conj())
    np.testing.assert_allclose(double, 2.0 * z)


def test_arrays_are_written_once():
    y = X + 1.0
    (loss, after), g = in_place.value_and_grad(X, y)
    np.testing.assert_allclose(y, (X + 1.0) * X)
    np.testing.assert_allclose(after, y)
    assert loss == pytest.approx(y.sum())
    np.testing.assert_allclose((g.x, g.y), (X + 1.0, X))


@pytest.mark.parametrize(
    "options", [{"memory_limit": 1e6}, {"check": "first"}, {"tape": "recompute"}, {"target": "cuda-emulated"}], ids=str
)
def test_other_settings(options: dict[str, Any]):
    f = vectorize_grad(with_roots.py_func, has_aux=True, **options)
    (_, roots), g = f.value_and_grad(X[1:])
    np.testing.assert_allclose(g.x, 2.0 * X[1:])
    np.testing.assert_allclose(roots, np.sqrt(X[1:]))


def test_other_derivatives_are_of_all_that_is_returned():
    x, along = X[1:], np.array([0.3, -1.0, 2.0, 0.5])
    (_, roots), pullback = with_roots.vjp(x)
    np.testing.assert_allclose(pullback((1.0, along)).x, 2.0 * x + along / (2.0 * roots))
    _, tangents = with_roots.jvp((x,), {"x": along})
    np.testing.assert_allclose(tangents.result[1], along / (2.0 * roots))
    np.testing.assert_allclose(with_roots.jacobian(x).result[1].x, np.diag(0.5 / roots))


def test_nothing_is_written_before_it_is_refused():
    @vectorize_grad(has_aux=True)
    def alone(y):
        y[0] = 5.0
        return y.sum()

    y = np.ones(3)
    with pytest.raises(DifferentiationError, match="LD404"):
        alone.value_and_grad(y)
    assert y[0] == 1.0


def test_scipy_minimises_the_loss():
    objective = loopdiff.scipy.value_and_grad(named, 0.5 * X, wrt="x")
    found = minimize(objective, np.ones(5), jac=True)
    np.testing.assert_allclose(np.sin(found.x), 0.5 * X, atol=1e-5)
    assert objective.fun(found.x) == pytest.approx(found.fun)


@pytest.mark.parametrize("args", [(with_roots, X), (in_structures, {"w": X, "b": 3.0})], ids=("array", "structure"))
def test_gradients_of_losses_are_compiled_ahead(args: tuple[Any, ...]):
    f = vectorize_grad(args[0].py_func, has_aux=True, cache=False)
    f.precompile(*args[1:])
    with patch.object(Specialization, "unit", side_effect=AssertionError("compiled late")):
        f.value_and_grad(*args[1:])


@vectorize_grad(has_aux=True)
def beside_none(x):
    return (x * x).sum(), None


@vectorize_grad(has_aux=True)
def beside_empty(x):
    return (x * x).sum(), ()


@vectorize_grad(has_aux=True)
def beside_texts(p):
    return (p["x"] * p["x"]).sum(), {"unit": "J"}, []


def test_what_is_no_number_beside_the_loss():
    for f, aux in ((beside_none, None), (beside_empty, ())):
        (loss, beside), g = f.value_and_grad(X)
        assert (loss, beside) == (pytest.approx((X**2).sum()), aux)
        np.testing.assert_allclose(g.x, 2.0 * X)
        assert f.grad(X)[1] == aux
    g, beside = beside_texts.grad({"x": X})
    assert beside == ({"unit": "J"}, [])
    np.testing.assert_allclose(g.p["x"], 2.0 * X)


def test_a_loss_alone_in_structures_is_refused():
    @vectorize_grad(has_aux=True)
    def alone(p):
        return ((p["x"] * p["x"]).sum(),)

    @vectorize_grad(has_aux=True)
    def number(p):
        return (p["x"] * p["x"]).sum()

    for f in (alone, number):
        with pytest.raises(DifferentiationError, match=r"LD404.*has_aux"):
            f.grad({"x": X})
