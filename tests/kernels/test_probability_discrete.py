"""Log probabilities of counts and choices against SciPy's, and their derivatives against mpmath's at fifty digits."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from scipy import special, stats

from loopdiff.kernels import probability
from tests.kernels.test_probability_continuous import near

pytestmark = pytest.mark.part(3)

Numbers = tuple[float, ...]


def log_choices(n: Any, k: Any) -> Any:
    return mp.loggamma(n + 1) - mp.loggamma(k + 1) - mp.loggamma(n - k + 1)


# By name: the log probability in mpmath's numbers, SciPy's, by which parameters it has derivatives, and points.
PROBABILITIES: dict[str, tuple[Callable[..., Any], Callable[..., Any], tuple[int, ...], list[Numbers]]] = {
    "poisson": (
        lambda k, r: k * mp.log(r) - r - mp.loggamma(k + 1),
        stats.poisson.logpmf,
        (1,),
        [(0.0, 0.5), (3.0, 2.5), (40.0, 37.0), (1000.0, 1e3), (1e9, 1.0001e9)],
    ),
    "binomial": (
        lambda k, n, p: log_choices(n, k) + k * mp.log(p) + (n - k) * mp.log(1 - p),
        stats.binom.logpmf,
        (2,),
        [(0.0, 4.0, 0.3), (4.0, 4.0, 0.3), (20.0, 50.0, 0.5), (3.0, 1000.0, 0.004), (3.0, 1e6, 4e-6)],
    ),
    "negative_binomial": (
        lambda k, n, p: mp.loggamma(k + n) - mp.loggamma(n) - mp.loggamma(k + 1) + n * mp.log(p) + k * mp.log(1 - p),
        stats.nbinom.logpmf,
        (1, 2),
        [(0.0, 4.0, 0.3), (4.0, 0.7, 0.3), (20.0, 50.0, 0.5), (3.0, 1e6, 0.99999), (300.0, 2.0, 0.01)],
    ),
    "bernoulli": (
        lambda k, z: k * z - mp.log(1 + mp.exp(z)),
        lambda k, z: stats.bernoulli.logpmf(k, special.expit(z)),
        (1,),
        [(0.0, 0.5), (1.0, -2.0), (1.0, 0.0), (0.0, 0.0)],
    ),
}
# Counts that there are none of, parameters that do not exist, and counts that are no whole numbers or NaN.
OUTSIDE: dict[str, tuple[Numbers, ...]] = {
    "poisson": ((-1.0, 2.0), (-2.0, 0.0)),
    "binomial": ((-1.0, 3.0, 0.5), (4.0, 3.0, 0.5)),
    "negative_binomial": ((-1.0, 3.0, 0.5), (-2.0, 0.5, 0.5)),
    "bernoulli": ((-1.0, 2.0), (2.0, 2.0)),
}
INVALID: dict[str, tuple[Numbers, ...]] = {
    "poisson": ((1.0, -1.0), (-1.0, -1.0), (1.0, np.nan)),
    "binomial": ((1.0, -1.0, 0.5), (1.0, 2.0, 1.5), (1.0, 2.0, -0.5), (1.0, 2.0, np.nan), (3.0, 2.0, np.nan)),
    "negative_binomial": ((1.0, 0.0, 0.5), (1.0, -1.0, 0.5), (1.0, 2.0, 0.0), (1.0, 2.0, 1.5), (1.0, np.nan, 0.5)),
    "bernoulli": ((1.0, np.nan), (2.0, np.nan)),
}
NOT_WHOLE: dict[str, tuple[tuple[Numbers, float], ...]] = {
    "poisson": (((1.5, 2.0), -np.inf), ((np.nan, 1.0), np.nan)),
    "binomial": (((1.5, 3.0, 0.5), -np.inf), ((1.0, 2.5, 0.5), np.nan), ((np.nan, 2.0, 0.5), np.nan)),
    "negative_binomial": (((1.5, 3.0, 0.5), -np.inf), ((np.nan, 2.0, 0.5), np.nan)),
    "bernoulli": (((0.5, 2.0), -np.inf), ((np.nan, 1.0), np.nan)),
}


def columns(name: str, rows: Any) -> list[np.ndarray]:
    """Arguments, of which counts are integers."""
    by = PROBABILITIES[name][2]
    return [c.copy() if k in by else c.astype(np.int64) for k, c in enumerate(np.array(rows).T)]


@cache
def answer(name: str) -> tuple[np.ndarray, list[np.ndarray], Any]:
    """Values, derivatives by `PROBABILITIES[name][2]`, and the function: one program for each operator."""
    function = getattr(probability, name).of()
    rows = PROBABILITIES[name][3]
    value, pullback = function.vjp(*columns(name, rows))
    return value, list(pullback(np.ones(len(rows)))), function


@pytest.mark.parametrize("name", PROBABILITIES)
def test_values(name: str) -> None:
    exact, scipys, _, rows = PROBABILITIES[name]
    # SciPy has fewer digits of large numbers.
    near(answer(name)[0], scipys(*np.array(rows).T), 1e-6)
    with np.errstate(all="ignore"):
        near(answer(name)[0], getattr(probability, name).py_func(*np.array(rows).T), 1e-14)
    with mp.workdps(50):
        near(answer(name)[0], [exact(*map(mp.mpf, row)) for row in rows], 1e-13)


@pytest.mark.parametrize("name", PROBABILITIES)
def test_derivatives(name: str) -> None:
    exact, _, places, rows = PROBABILITIES[name]
    with mp.workdps(50):
        for k, gradient in zip(places, answer(name)[1], strict=True):
            order = tuple(int(k == j) for j in range(len(rows[0])))
            near(gradient, [mp.diff(exact, tuple(map(mp.mpf, row)), order) for row in rows], 1e-11)


@pytest.mark.parametrize("name", PROBABILITIES)
def test_outside_of_the_support_and_of_domains(name: str) -> None:
    value, pullback = answer(name)[2].vjp(*columns(name, OUTSIDE[name]))
    assert np.all(value == -np.inf)
    assert all(np.all(g == 0.0) for g in pullback(np.ones(len(value))))
    value, pullback = answer(name)[2].vjp(*columns(name, INVALID[name]))
    assert np.all(np.isnan(value))
    pullback(np.ones(len(value)))


@pytest.mark.parametrize("name", PROBABILITIES)
def test_counts_that_are_no_whole_numbers(name: str) -> None:
    rows = [*NOT_WHOLE[name], (PROBABILITIES[name][3][1], answer(name)[0][1])]
    value = answer(name)[2](*np.array([row for row, _ in rows]).T.copy())
    np.testing.assert_allclose(value, [expected for _, expected in rows], rtol=1e-13)


def test_parameters_at_the_ends_of_their_domains() -> None:
    for name, rows in {
        "poisson": ((0.0, 0.0), (1.0, 0.0)),
        "binomial": ((0.0, 3.0, 0.0), (1.0, 3.0, 0.0), (3.0, 3.0, 1.0), (2.0, 3.0, 1.0), (0.0, 0.0, 0.5)),
        "negative_binomial": ((0.0, 2.0, 1.0), (1.0, 2.0, 1.0)),
    }.items():
        found = answer(name)[2].vjp(*columns(name, rows))[0]
        np.testing.assert_allclose(found, PROBABILITIES[name][1](*np.array(rows).T), atol=1e-15)
    sure = [(1.0, np.inf), (1.0, -np.inf), (0.0, np.inf), (0.0, -np.inf), (1.0, 800.0), (1.0, -800.0)]
    assert list(answer("bernoulli")[2].vjp(*columns("bernoulli", sure))[0]) == [0.0, -np.inf, -np.inf, 0.0, 0.0, -800.0]


def test_counts_may_be_broadcast_and_numbers() -> None:
    k = np.array([0, 2, 5, -1])
    value, pullback = probability.poisson.of().vjp(k, 2.5)
    np.testing.assert_allclose(value, stats.poisson.logpmf(k, 2.5), rtol=1e-14)
    assert pullback(np.ones(4)).rate == pytest.approx(7 / 2.5 - 3, rel=1e-14)
    np.testing.assert_allclose(probability.poisson(k, np.array(3)), stats.poisson.logpmf(k, 3), rtol=1e-14)
    np.testing.assert_allclose(probability.poisson(k, np.array([3, 1, 2, 0])), stats.poisson.logpmf(k, [3, 1, 2, 0]))
    assert probability.poisson(2, 2.5) == pytest.approx(value[1], rel=1e-14)


def test_choices() -> None:
    logits = np.array([[0.3, -1.0, 2.0], [800.0, 0.0, 799.0], [-np.inf, 0.0, 1.0], [-np.inf, 0.0, 1.0]])
    k = np.array([1, 2, 0, 3])
    value, pullback = probability.categorical.of().vjp(k, logits)
    np.testing.assert_allclose(value[:2], special.log_softmax(logits, axis=1)[[0, 1], k[:2]], rtol=1e-13)
    assert list(value[2:]) == [-np.inf, -np.inf]
    expected = np.eye(4)[k][:, :3] - special.softmax(logits, axis=1)
    np.testing.assert_allclose(pullback(np.ones(4)).logits[:2], expected[:2], rtol=1e-13, atol=1e-16)
    assert np.all(pullback(np.ones(4)).logits[3] == 0.0)
    assert probability.categorical(1, logits[0]) == pytest.approx(value[0], rel=1e-14)
    with_one = probability.categorical(k, logits[0])
    assert with_one[3] == -np.inf
    np.testing.assert_allclose(with_one[:3], special.log_softmax(logits[0])[k[:3]], rtol=1e-14)


def test_choices_by_log_probabilities() -> None:
    logs = np.log([0.2, 0.3, 0.5])
    value, pullback = probability.categorical.of(normalized=True).vjp(np.array([2, 2, 0, -1]), logs)
    np.testing.assert_array_equal(value, [*logs[[2, 2, 0]], -np.inf])
    np.testing.assert_array_equal(pullback(np.ones(4)).logits, [1.0, 0.0, 2.0])
