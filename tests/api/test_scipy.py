"""`loopdiff.scipy`: with each method that SciPy has, and what it packs into a vector."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import loopdiff.scipy
from loopdiff import ArgumentError, DifferentiationError, vectorize_grad

pytestmark = pytest.mark.part(2)

optimize = pytest.importorskip("scipy.optimize")


@vectorize_grad
def valley(x, a):
    s = 0.0
    for i in range(x.shape[0] - 1):
        s += a * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
    return s


@vectorize_grad(wrt="p")
def decay(p, t, seen):
    r = np.empty_like(t)
    for i in range(t.shape[0]):
        r[i] = p[0] * np.exp(-p[1] * t[i]) - seen[i]
    return r


@pytest.fixture(scope="module")
def objective() -> Any:
    return loopdiff.scipy.value_and_grad(valley, 100.0, wrt="x")


GRADIENTS = ("BFGS", "CG", "L-BFGS-B", "TNC", "SLSQP")
PRODUCTS = ("Newton-CG", "trust-ncg", "trust-krylov", "trust-constr")
HESSIANS = ("trust-exact", "trust-constr")


@pytest.mark.parametrize("method", GRADIENTS)
def test_minimize_by_gradients(objective: Any, method: str) -> None:
    found = optimize.minimize(objective, np.full(4, 0.7), jac=True, method=method)
    np.testing.assert_allclose(found.x, 1.0, atol=1e-3)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", PRODUCTS)
def test_minimize_by_products_with_the_hessian(objective: Any, method: str) -> None:
    found = optimize.minimize(objective, np.full(4, 0.7), jac=True, hessp=objective.hvp, method=method)
    np.testing.assert_allclose(found.x, 1.0, atol=1e-4)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", HESSIANS)
def test_minimize_by_the_hessian(objective: Any, method: str) -> None:
    found = optimize.minimize(objective, np.full(4, 0.7), jac=True, hess=objective.hess, method=method)
    np.testing.assert_allclose(found.x, 1.0, atol=1e-4)


def test_values_and_derivatives_are_those_of_scipys_own(objective: Any) -> None:
    x = np.array([0.3, -0.2, 0.5, 1.1])
    assert objective.fun(x) == objective(x)[0] == pytest.approx(optimize.rosen(x), rel=1e-13)
    np.testing.assert_allclose(objective.jac(x), optimize.rosen_der(x), rtol=1e-12)
    np.testing.assert_allclose(objective.hess(x), optimize.rosen_hess(x), rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(objective.hvp(x, x), optimize.rosen_hess_prod(x, x), rtol=1e-11)


@pytest.mark.parametrize("method", ["trf", "dogbox", "lm"])
def test_least_squares(method: str) -> None:
    t = np.linspace(0.0, 3.0, 40)
    r = loopdiff.scipy.residuals(decay, t, 2.0 * np.exp(-0.7 * t))
    found = optimize.least_squares(r, np.array([1.0, 1.0]), jac=r.jac, method=method)
    np.testing.assert_allclose(found.x, [2.0, 0.7], rtol=1e-6)


@pytest.mark.parametrize("sizes", [(2, 5), (5, 2)])
def test_jacobians_by_rows_and_by_columns(sizes: tuple[int, int]) -> None:
    """Reverse mode where there are few residuals, forward mode where there are few parameters."""

    @vectorize_grad
    def product(A, x):
        y = np.zeros(A.shape[0])
        for i in range(A.shape[0]):
            for j in range(A.shape[1]):
                y[i] += A[i, j] * x[j] * x[j]
        return y

    rng = np.random.default_rng(0)
    A, x = rng.random(sizes), rng.random(sizes[1])
    r = loopdiff.scipy.residuals(product, A, wrt="x")
    np.testing.assert_allclose(r(x), A @ (x * x))
    np.testing.assert_allclose(r.jac(x), 2.0 * A * x, rtol=1e-13)


@pytest.mark.parametrize("method", ["hybr", "lm"])
def test_root(method: str) -> None:
    @vectorize_grad
    def crossing(x):
        return np.array([x[0] ** 2 + x[1] ** 2 - 2.0, x[0] - x[1]])

    r = loopdiff.scipy.residuals(crossing)
    found = optimize.root(r, np.array([2.0, 0.5]), jac=r.jac, method=method)
    np.testing.assert_allclose(found.x, [1.0, 1.0], rtol=1e-8)


@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA"])
def test_differential_equations(method: str) -> None:
    @vectorize_grad
    def robertson(t, y, rate):
        d = np.empty_like(y)
        d[0] = -0.04 * y[0] + rate * y[1] * y[2]
        d[2] = 3.0e7 * y[1] * y[1]
        d[1] = -d[0] - d[2]
        return d

    from scipy.integrate import solve_ivp

    field = loopdiff.scipy.vector_field(robertson, 1e4)
    found = solve_ivp(field, (0.0, 40.0), [1.0, 0.0, 0.0], method=method, jac=field.jac, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.y[:, -1], [0.7158, 9.185e-6, 0.2842], rtol=1e-3)


@dataclass
class Layer:
    W: Any
    b: Any


@vectorize_grad(wrt="params")
def loss(params, x, y):
    h = np.tanh(x @ params["first"].W + params["first"].b)
    e = h @ params["out"] * params["scale"] - y
    return (e * e).mean() + params["power"]


def test_trees_and_numbers_are_packed() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.random((20, 2)), rng.random(20)
    first = Layer(rng.random((2, 3)), rng.random(3).astype(np.float32))
    params = {"first": first, "out": rng.random(3), "scale": 0.5, "power": 2}
    f = loopdiff.scipy.value_and_grad(loss, x, y, like=params)
    z = f.pack(params)
    assert z.shape == (6 + 3 + 3 + 1,)
    again = f.unpack(z)
    assert (again["first"].b.dtype, again["power"], again["scale"]) == (np.float32, 2, 0.5)
    value, gradient = f(z)
    assert value == loss(params, x, y)
    steps = 1e-6 * np.eye(z.size)
    differences = [(f.fun(z + d) - f.fun(z - d)) / 2e-6 for d in steps]
    np.testing.assert_allclose(gradient, differences, atol=2e-2, rtol=2e-2)
    exact = [k for k in range(z.size) if not 6 <= k < 9]
    np.testing.assert_allclose(gradient[exact], np.array(differences)[exact], atol=1e-7)
    assert f.hvp(z, z).shape == z.shape
    found = optimize.minimize(f, z, jac=True, options={"maxiter": 20})
    assert found.fun < value


def test_several_parameters() -> None:
    @vectorize_grad
    def line(a, b, x, y):
        s = 0.0
        for i in range(x.shape[0]):
            s += (a[0] * x[i] + b - y[i]) ** 2
        return s

    x = np.arange(5.0)
    f = loopdiff.scipy.value_and_grad(line, x, 3.0 * x + 1.0, wrt=("a", "b"), like=(np.zeros(1), 0.0))
    found = optimize.minimize(f, f.pack(np.zeros(1), 0.0), jac=True)
    a, b = f.unpack(found.x)
    assert (a[0], b) == (pytest.approx(3.0, abs=1e-5), pytest.approx(1.0, abs=1e-5))


def test_the_vector_is_not_changed() -> None:
    @vectorize_grad
    def doubled(x):
        s = 0.0
        for i in range(x.shape[0]):
            x[i] = 2.0 * x[i]
            s += x[i] * x[i]
        return s

    f, z = loopdiff.scipy.value_and_grad(doubled), np.ones(3)
    assert f(z)[0] == f(z)[0] == 12.0
    np.testing.assert_array_equal(z, np.ones(3))
    np.testing.assert_array_equal(f(z)[1], np.full(3, 8.0))


def test_what_fits_no_vector_is_refused(objective: Any) -> None:
    with pytest.raises(ArgumentError, match="LD360"):
        loopdiff.scipy.value_and_grad(np.sum)
    with pytest.raises(DifferentiationError, match="LD401"):
        loopdiff.scipy.value_and_grad(valley, 1.0, wrt="z")
    with pytest.raises(ArgumentError, match="LD301"):
        loopdiff.scipy.value_and_grad(valley, wrt="x")
    with pytest.raises(ArgumentError, match="LD360"):
        loopdiff.scipy.value_and_grad(valley, wrt=("x", "a"))
    shaped = loopdiff.scipy.value_and_grad(valley, 1.0, wrt="x", like=np.zeros(3))
    with pytest.raises(ArgumentError, match="LD360"):
        shaped(np.zeros(4))
    with pytest.raises(ArgumentError, match="LD360"):
        shaped.pack(np.zeros(4))


def test_optimisers_are_not_imported() -> None:
    code = "import sys, loopdiff.scipy; print('scipy.optimize' in sys.modules, 'torch' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False", "False"]
