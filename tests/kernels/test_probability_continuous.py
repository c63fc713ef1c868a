"""Log densities of numbers against SciPy's, and their derivatives against mpmath's at fifty digits."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from loopdiff import LoopdiffError, vectorize_grad
from loopdiff.kernels import Operator, probability

pytestmark = pytest.mark.part(3)

Numbers = tuple[float, ...]


def log_gamma(x: Any) -> Any:
    return mp.log(mp.gamma(x)) if x < 100 else mp.loggamma(x)


def gauss(z: Any) -> Any:
    return -z * z / 2 - mp.log(2 * mp.pi) / 2


def mass(low: Any, high: Any) -> Any:
    if low > 0:
        low, high = -high, -low
    return mp.log(mp.ncdf(high) - mp.ncdf(low))


# By name: the log density in mpmath's numbers, SciPy's, and arguments, one row for each point.
DENSITIES: dict[str, tuple[Callable[..., Any], Callable[..., Any], list[Numbers]]] = {
    "normal": (
        lambda x, m, s: gauss((x - m) / s) - mp.log(s),
        lambda x, m, s: stats.norm.logpdf(x, m, s),
        [(0.3, 0.1, 0.7), (-4.0, 2.0, 0.5), (1e3, 0.0, 1e-2)],
    ),
    "lognormal": (
        lambda x, m, s: gauss((mp.log(x) - m) / s) - mp.log(s) - mp.log(x),
        lambda x, m, s: stats.lognorm.logpdf(x, s, 0.0, np.exp(m)),
        [(0.3, 0.1, 0.7), (4.0, -2.0, 0.5), (1e-5, 0.0, 3.0)],
    ),
    "student_t": (
        lambda x, v, m, s: (
            log_gamma((v + 1) / 2)
            - log_gamma(v / 2)
            - mp.log(mp.pi * v) / 2
            - mp.log(s)
            - (v + 1) / 2 * mp.log(1 + ((x - m) / s) ** 2 / v)
        ),
        lambda x, v, m, s: stats.t.logpdf(x, v, m, s),
        [
            (0.3, 0.4, 0.1, 0.7),
            (-4.0, 5.0, 2.0, 0.5),
            (1.5, 59.9, 0.0, 1.0),
            (1.5, 60.1, 0.0, 1.0),
            (2.0, 1e7, 1.0, 3.0),
        ],
    ),
    "laplace": (
        lambda x, m, s: -abs(x - m) / s - mp.log(2 * s),
        lambda x, m, s: stats.laplace.logpdf(x, m, s),
        [(0.3, 0.1, 0.7), (-4.0, 2.0, 0.5)],
    ),
    "cauchy": (
        lambda x, m, s: -mp.log(mp.pi * s * (1 + ((x - m) / s) ** 2)),
        lambda x, m, s: stats.cauchy.logpdf(x, m, s),
        [(0.3, 0.1, 0.7), (-4.0, 2.0, 0.5), (1e6, 0.0, 1.0)],
    ),
    "logistic": (
        lambda x, m, s: -(x - m) / s - 2 * mp.log(1 + mp.exp(-(x - m) / s)) - mp.log(s),
        lambda x, m, s: stats.logistic.logpdf(x, m, s),
        [(0.3, 0.1, 0.7), (-4.0, 2.0, 0.5), (2.0, 2.0, 0.5), (1e4, 0.0, 1.0), (-1e4, 0.0, 1.0)],
    ),
    "gamma": (
        lambda x, a, b: a * mp.log(b) + (a - 1) * mp.log(x) - b * x - log_gamma(a),
        lambda x, a, b: stats.gamma.logpdf(x, a, 0.0, 1.0 / b),
        [(0.3, 0.4, 0.7), (4.0, 2.0, 0.5), (1.0, 1.0, 1.0), (90.0, 100.0, 1.1), (1e6, 1e6, 1.001), (30.0, 12.5, 0.1)],
    ),
    "inverse_gamma": (
        lambda x, a, b: a * mp.log(b) - (a + 1) * mp.log(x) - b / x - log_gamma(a),
        lambda x, a, b: stats.invgamma.logpdf(x, a, 0.0, b),
        [(0.3, 0.4, 0.7), (4.0, 2.0, 0.5), (0.01, 1.0, 2.0), (2.0, 1e6, 2.001e6)],
    ),
    "beta": (
        lambda x, a, b: (a - 1) * mp.log(x) + (b - 1) * mp.log(1 - x) + log_gamma(a + b) - log_gamma(a) - log_gamma(b),
        lambda x, a, b: stats.beta.logpdf(x, a, b),
        [(0.3, 0.4, 0.7), (0.9, 2.0, 2.0), (1e-9, 1.0, 20.0), (0.4, 13.0, 15.0), (0.01, 0.5, 1e6), (0.5, 12.1, 11.9)],
    ),
    "exponential": (
        lambda x, r: mp.log(r) - r * x,
        lambda x, r: stats.expon.logpdf(x, 0.0, 1.0 / r),
        [(0.3, 0.4), (4.0, 20.0)],
    ),
    "half_normal": (
        lambda x, s: mp.log(2) + gauss(x / s) - mp.log(s),
        lambda x, s: stats.halfnorm.logpdf(x, 0.0, s),
        [(0.3, 0.4), (4.0, 2.0)],
    ),
    "half_cauchy": (
        lambda x, s: mp.log(2 / mp.pi) - mp.log(s * (1 + (x / s) ** 2)),
        lambda x, s: stats.halfcauchy.logpdf(x, 0.0, s),
        [(0.3, 0.4), (4.0, 2.0)],
    ),
    "weibull": (
        lambda x, k, s: mp.log(k / s) + (k - 1) * mp.log(x / s) - (x / s) ** k,
        lambda x, k, s: stats.weibull_min.logpdf(x, k, 0.0, s),
        [(0.3, 0.4, 0.7), (4.0, 2.0, 1.5), (2.0, 1.0, 3.0)],
    ),
    "von_mises": (
        lambda x, m, k: k * mp.cos(x - m) - mp.log(2 * mp.pi * mp.besseli(0, k)),
        lambda x, m, k: stats.vonmises.logpdf(x, k, m),
        [(0.3, 0.1, 0.7), (-2.0, 1.0, 8.0), (1.0, 1.1, 19.99), (1.0, 1.1, 20.01), (0.5, 0.501, 1e5), (0.3, 0.1, 1e-9)],
    ),
    "uniform": (
        lambda x, a, b: -mp.log(b - a) + 0 * x,
        lambda x, a, b: stats.uniform.logpdf(x, a, b - a),
        [(0.3, 0.1, 0.7), (-2.0, -2.0, 8.0), (8.0, -2.0, 8.0)],
    ),
    "truncated_normal": (
        lambda x, m, s, a, b: gauss((x - m) / s) - mp.log(s) - mass((a - m) / s, (b - m) / s),
        lambda x, m, s, a, b: stats.truncnorm.logpdf(x, (a - m) / s, (b - m) / s, m, s),
        [
            (0.3, 0.1, 0.7, 0.0, 2.0),
            (0.3, 0.1, 0.7, 0.2, 2.0),
            (-0.3, 0.1, 0.7, -3.0, 0.0),
            (0.3, 3.0, 0.25, 0.0, 0.5),
            (-9.5, 0.0, 1.0, -20.0, -9.0),
            (3.001, 0.0, 1.0, 3.0, 3.002),
            (20.01, 0.0, 1.0, 20.0, 20.03),
            (6.2, 0.0, 1.0, 5.9, 8.0),
        ],
    ),
}


@cache
def found(name: str) -> tuple[np.ndarray, list[np.ndarray], Any]:
    """Values, derivatives by all arguments, and the pullback's function: one program for each operator."""
    function = getattr(probability, name).of()
    rows = np.array(DENSITIES[name][2])
    value, pullback = function.vjp(*rows.T.copy())
    return value, list(pullback(np.ones(len(rows)))), function


def near(found: Any, expected: Any, tolerance: float) -> None:
    expected = np.array(expected, dtype=float)
    assert np.all(np.abs(np.array(found) - expected) <= tolerance * np.maximum(1.0, np.abs(expected))), (
        found,
        expected,
    )


@pytest.mark.part(5)
@pytest.mark.parametrize("name", DENSITIES)
def test_values(name: str) -> None:
    exact, scipys, rows = DENSITIES[name]
    with mp.workdps(50):
        near(found(name)[0], [exact(*map(mp.mpf, row)) for row in rows], 1e-13 if name != "student_t" else 2e-13)
    if name not in (
        "student_t",
        "truncated_normal",
        "von_mises",
        "gamma",
        "inverse_gamma",
    ):  # where SciPy has fewer digits
        near(found(name)[0], scipys(*np.array(rows).T), 1e-12)
    else:
        near(found(name)[0], scipys(*np.array(rows).T), 1e-7)


@pytest.mark.part(5)
@pytest.mark.parametrize("name", DENSITIES)
def test_the_same_in_python(name: str) -> None:
    with np.errstate(all="ignore"):
        value = getattr(probability, name).py_func(*np.array(DENSITIES[name][2]).T)
    near(found(name)[0], value, 1e-14)


@pytest.mark.part(3)
@pytest.mark.parametrize("name", DENSITIES)
def test_derivatives(name: str) -> None:
    exact, _, rows = DENSITIES[name]
    with mp.workdps(50):
        for k, gradient in enumerate(found(name)[1]):
            order = tuple(int(k == j) for j in range(len(rows[0])))
            near(gradient, [mp.diff(exact, tuple(map(mp.mpf, row)), order) for row in rows], 1e-11)


# Points outside of the support, and parameters outside of their domain, of which NaN is one.
OUTSIDE: dict[str, tuple[Numbers, ...]] = {
    "lognormal": ((-1.0, 0.0, 1.0), (0.0, 0.0, 1.0)),
    "gamma": ((-1.0, 2.0, 1.0), (-1e-300, 0.5, 1.0), (np.inf, 1.0, 1.0)),
    "inverse_gamma": ((-1.0, 2.0, 1.0), (0.0, 2.0, 1.0)),
    "beta": ((-0.1, 2.0, 1.0), (1.1, 0.5, 0.5)),
    "exponential": ((-1.0, 2.0),),
    "half_normal": ((-1.0, 2.0),),
    "half_cauchy": ((-1.0, 2.0),),
    "weibull": ((-1.0, 2.0, 1.0), (-1.0, 0.5, 1.0), (np.inf, 1.0, 1.0)),
    "uniform": ((-1.0, 0.0, 1.0), (1.5, 0.0, 1.0)),
    "truncated_normal": ((-1.0, 0.0, 1.0, 0.0, 1.0), (1.5, 0.0, 1.0, 0.0, 1.0)),
}
INVALID: dict[str, tuple[Numbers, ...]] = {
    "normal": ((0.0, 0.0, 0.0), (0.0, 0.0, -1.0)),
    "lognormal": ((1.0, 0.0, 0.0), (-1.0, 0.0, -1.0)),
    "student_t": ((0.0, 0.0, 0.0, 1.0), (0.0, -1.0, 0.0, 1.0), (0.0, 1.0, 0.0, 0.0)),
    "laplace": ((0.0, 0.0, 0.0), (0.0, 0.0, -1.0)),
    "cauchy": ((0.0, 0.0, 0.0), (0.0, 0.0, -1.0)),
    "logistic": ((0.0, 0.0, 0.0), (0.0, 0.0, -1.0)),
    "gamma": ((1.0, 0.0, 1.0), (1.0, 1.0, -1.0), (-1.0, -1.0, 1.0)),
    "inverse_gamma": ((1.0, 0.0, 1.0), (1.0, 1.0, -1.0), (-1.0, -1.0, 1.0)),
    "beta": ((0.5, 0.0, 1.0), (0.5, 1.0, -1.0), (-1.0, -1.0, 1.0)),
    "exponential": ((1.0, 0.0), (-1.0, -1.0)),
    "half_normal": ((1.0, 0.0), (-1.0, -1.0)),
    "half_cauchy": ((1.0, 0.0), (-1.0, -1.0)),
    "weibull": ((1.0, 0.0, 1.0), (1.0, 1.0, 0.0), (-1.0, -1.0, 1.0)),
    "von_mises": ((0.0, 0.0, -1.0),),
    "uniform": ((0.5, 1.0, 0.0), (1.0, 1.0, 1.0)),
    "truncated_normal": ((0.5, 0.0, 0.0, 0.0, 1.0), (0.5, 0.0, 1.0, 1.0, 0.0), (0.5, 0.0, 1.0, 0.5, 0.5)),
}


@pytest.mark.part(3)
@pytest.mark.parametrize("name", OUTSIDE)
def test_outside_of_the_support(name: str) -> None:
    rows = np.array(OUTSIDE[name])
    value, pullback = found(name)[2].vjp(*rows.T.copy())
    assert np.all(value == -np.inf)
    assert all(np.all(g == 0.0) for g in pullback(np.ones(len(rows))))
    assert np.all(DENSITIES[name][1](*rows.T) == -np.inf)


@pytest.mark.part(3)
@pytest.mark.parametrize("name", INVALID)
def test_outside_of_a_domain(name: str) -> None:
    rows = [*INVALID[name]]
    good = DENSITIES[name][2][0]
    rows += [(*good[:k], np.nan, *good[k + 1 :]) for k in range(len(good))]
    if name in OUTSIDE:
        off = OUTSIDE[name][0]
        rows += [(*off[:k], np.nan, *off[k + 1 :]) for k in range(1, len(off))]
    value, pullback = found(name)[2].vjp(*np.array(rows).T.copy())
    assert np.all(np.isnan(value))
    pullback(np.ones(len(rows)))


ENDS = {
    "gamma": [(0.0, 1.0, 2.0), (0.0, 2.0, 2.0), (0.0, 0.5, 2.0)],
    "beta": [(0.0, 1.0, 2.0), (1.0, 2.0, 1.0), (0.0, 2.0, 1.0), (1.0, 0.5, 0.5), (1.0, 2.0, 3.0)],
    "weibull": [(0.0, 1.0, 2.0), (0.0, 2.0, 2.0), (0.0, 0.5, 2.0)],
    "exponential": [(0.0, 2.0), (np.inf, 2.0)],
    "half_normal": [(0.0, 2.0), (np.inf, 2.0)],
    "half_cauchy": [(0.0, 2.0), (np.inf, 2.0)],
    "normal": [(np.inf, 0.0, 1.0), (-np.inf, 0.0, 1.0)],
    "cauchy": [(np.inf, 0.0, 1.0)],
    "laplace": [(np.inf, 0.0, 1.0)],
    "logistic": [(np.inf, 0.0, 1.0), (-np.inf, 0.0, 1.0)],
    "truncated_normal": [
        (0.0, 0.0, 1.0, 0.0, np.inf),
        (0.0, 0.0, 1.0, -np.inf, np.inf),
        (2.0, 1.0, 1.0, -np.inf, 2.0),
    ],
}


@pytest.mark.part(5)
@pytest.mark.parametrize("name", ENDS)
def test_ends_of_the_support(name: str) -> None:
    """Where a density is zero, finite or infinite at an end, as SciPy's are."""
    columns = np.array(ENDS[name]).T.copy()
    np.testing.assert_allclose(found(name)[2].vjp(*columns)[0], DENSITIES[name][1](*columns), rtol=1e-12)


def test_slopes_at_ends_of_the_support() -> None:
    _, pullback = found("beta")[2].vjp(*np.array([[0.0, 1.0, 2.0], [1.0, 2.0, 1.0]]).T.copy())
    np.testing.assert_allclose(pullback(np.ones(2)).x, [-1.0, 1.0])


def test_a_bound_that_is_infinite_has_no_derivative() -> None:
    _, pullback = found("truncated_normal")[2].vjp(*np.array([[0.5, 0.1, 2.0, -np.inf, np.inf]] * 2).T.copy())
    x, mean, scale, lower, upper = pullback(np.ones(2))
    assert (lower[0], upper[0]) == (0.0, 0.0)
    near([x[0], mean[0], scale[0]], [-0.1, 0.1, 0.16 / 8.0 - 0.5], 1e-15)


def test_second_derivatives_where_branches_meet() -> None:
    """Of equal numbers, of which neither is the smaller, and at the middle, which is on neither side."""
    for name, row in {"beta": (0.3, 2.0, 2.0), "logistic": (2.0, 2.0, 0.5)}.items():
        function, names = getattr(probability, name).of(), list(getattr(probability, name).parameters)
        along = [0.3, 1.0, -0.7]
        change = function.hvp(row, dict(zip(names, along, strict=True)))[2]
        with mp.workdps(50):
            point = tuple(map(mp.mpf, row))
            orders = [[tuple(int(i == n) + int(j == n) for n in range(3)) for j in range(3)] for i in range(3)]
            exact = [
                sum(a * mp.diff(DENSITIES[name][0], point, o) for a, o in zip(along, r, strict=True)) for r in orders
            ]
        near(change, exact, 1e-11)


def test_broadcasting() -> None:
    x, mean, scale = np.linspace(-1.0, 1.0, 4), np.array([[0.5], [0.1], [0.2]]), 0.7
    value, pullback = probability.normal.of().vjp(x, mean, scale)
    np.testing.assert_allclose(value, stats.norm.logpdf(x, mean, scale), rtol=1e-14)
    z = (x - mean) / scale
    gradients = pullback(np.ones((3, 4)))
    np.testing.assert_allclose(gradients.x, -(z / scale).sum(axis=0), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(gradients.mean, (z / scale).sum(axis=1, keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(gradients.scale, ((z * z - 1.0) / scale).sum(), rtol=1e-12)


def of_numbers(x, a, b):
    return (
        probability.normal(x, a, b) + probability.lognormal(x, a, b) + probability.student_t(x, a),
        probability.laplace(x, a, b) + probability.cauchy(x, a, b) + probability.logistic(x, a, b),
        probability.gamma(x, a, b) + probability.inverse_gamma(x, a, b) + probability.beta(x, a, b),
        probability.exponential(x, a) + probability.half_normal(x, a) + probability.half_cauchy(x, a),
        probability.weibull(x, a, b) + probability.von_mises(x, a, b) + probability.uniform(x, x - a, b),
        probability.truncated_normal(x, a, b, 0.0, 1.0),
    )


def test_numbers_give_numbers() -> None:
    """Also in a program with them all."""
    sums = vectorize_grad(of_numbers)(0.3, 1.5, 2.5)
    assert all(isinstance(value, float) for value in sums)
    np.testing.assert_allclose(sums, of_numbers(0.3, 1.5, 2.5), rtol=1e-13)
    assert probability.student_t(0.5, 3.0) == pytest.approx(stats.t.logpdf(0.5, 3.0), rel=1e-14)


def test_shapes() -> None:
    """Vectors, matrices and arrays with more axes, and axes of one element."""
    rng = np.random.default_rng(0)
    for shapes in (((), (2,), ()), ((3,), (1,), (3,)), ((2, 1), (3,), ()), ((2, 1, 1), (3, 1), (4,))):
        arguments = [rng.uniform(0.5, 2.0, size=shape) if shape else 1.5 for shape in shapes]
        found = probability.gamma(*arguments)
        np.testing.assert_allclose(found, DENSITIES["gamma"][1](*arguments), rtol=1e-12, atol=1e-13)
    with pytest.raises(LoopdiffError):
        probability.gamma(np.ones(2), np.ones(3), 1.0)


def test_type_is_kept() -> None:
    x = np.array([0.25, 0.5], dtype=np.float32)
    value = probability.von_mises(x, np.float32(0.1), np.float32(2.0))
    assert value.dtype == np.float32
    np.testing.assert_allclose(value, stats.vonmises.logpdf(x, 2.0, 0.1), rtol=1e-6)


def test_all_densities_are_tested() -> None:
    names = {n for n in probability.__all__ if getattr(probability, n).__module__.endswith(".continuous")}
    assert names == set(DENSITIES) == set(INVALID)
    assert all(isinstance(getattr(probability, name), Operator) for name in probability.__all__)
