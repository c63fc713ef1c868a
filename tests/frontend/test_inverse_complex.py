"""Inverse circular and hyperbolic functions of complex numbers: NumPy's values on both sides of the cuts, and the
derivatives that tables have."""

from __future__ import annotations

import numpy as np
import pytest

from loopdiff import vectorize_grad
from tests.gradients.interpreted import interpreting


def inverses(z):
    return np.arcsin(z), np.arccos(z), np.arctan(z), np.arcsinh(z), np.arccosh(z), np.arctanh(z)


def slopes_of(z):
    below, above = np.sqrt(1.0 - z), np.sqrt(1.0 + z)
    turned = np.sqrt(1.0 - 1j * z) * np.sqrt(1.0 + 1j * z)
    of_sine = 1.0 / (below * above)
    of_tangents = 1.0 / (1.0 + z * z), 1.0 / (1.0 - z) / (1.0 + z)
    return of_sine, -of_sine, of_tangents[0], 1.0 / turned, 1.0 / (np.sqrt(z - 1.0) * above), of_tangents[1]


SIZES = (1e-9, 0.4, 0.999, 1.001, 1.7, 30.0, 1e9)
SIDES = (0.0, -0.0, 1e-12, -1e-12, 0.3, -0.3)
NEAR_CUTS = [p for a in SIZES for s in (a, -a) for b in SIDES for p in (complex(s, b), complex(b, s))]
POINTS = np.array([*NEAR_CUTS, *np.random.default_rng(0).normal(size=(40, 2)).dot([2.0, 2.0j])])


@pytest.fixture(scope="module")
def found():
    with interpreting():
        return vectorize_grad(inverses).jvp((POINTS,), {"z": np.ones_like(POINTS)})


def test_values_are_numpys_on_both_sides_of_the_cuts(found) -> None:
    for value, expected in zip(found[0], inverses(POINTS), strict=True):
        np.testing.assert_allclose(value.real, expected.real, rtol=1e-14, atol=0.0)
        np.testing.assert_allclose(value.imag, expected.imag, rtol=1e-14, atol=0.0)
        np.testing.assert_array_equal(np.signbit(value.imag), np.signbit(expected.imag))


def test_derivatives_are_those_of_the_tables(found) -> None:
    is_beside = (POINTS.real != 0.0) & (POINTS.imag != 0.0)  # where subtractions keep the side of the cut
    for slope, expected in zip(found[1][0], slopes_of(POINTS), strict=True):
        np.testing.assert_allclose(slope[is_beside], expected[is_beside], rtol=1e-11)


def test_derivatives_on_a_cut_are_those_beside_it() -> None:
    on, beside = (np.array([complex(2.0, e), complex(-3.0, -e), complex(e, 1.5)]) for e in (0.0, 1e-14))
    with interpreting():
        f = vectorize_grad(inverses)
        first, second = (f.jvp((z,), {"z": np.ones_like(z)})[1][0] for z in (on, beside))
    for a, b in zip(first, second, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def of_reals(x):
    return np.arcsin(x + 0j) + 2.0 * np.arccos(x + 0j) + 3.0 * np.arccosh(x + 0j) + 4.0 * np.arctanh(x + 0j)


@pytest.mark.parametrize("x", [0.5, 2.0, -2.0, -0.3])
def test_real_numbers_as_complex_ones_are_above_the_cuts(x: float) -> None:
    with interpreting():
        assert vectorize_grad(of_reals)(x) == pytest.approx(of_reals(x), rel=1e-14)


def tangents(z):
    return np.arctan(z), np.arctanh(z)


BESIDE_POLES = [complex(s, y) for s in (1.0, -1.0) for y in (1e-200, -1e-160, 3e-154, 1e-30, -1e-9, 1e-7)]
FAR = [
    complex(a, b)
    for a, b in ((1e150, 1.0), (1.0, 1e150), (3e149, -2e150), (-1e120, 1e-20), (2e153, 1e10), (1e200, -3e200))
]
EXTREME = np.array([*BESIDE_POLES, *(complex(-z.imag, z.real) for z in BESIDE_POLES), *FAR])


def test_tangents_beside_their_poles_and_far_away() -> None:
    """Squares of what is there are out of range: 1 / (1 - z) / (1 + z) is what tables have, factor by factor."""
    with interpreting():
        found, slopes = vectorize_grad(tangents).jvp((EXTREME,), {"z": np.ones_like(EXTREME)})
    factors = [(1.0 - 1j * EXTREME, 1.0 + 1j * EXTREME), (1.0 - EXTREME, 1.0 + EXTREME)]
    for value, expected, slope, (one, other) in zip(found, tangents(EXTREME), slopes[0], factors, strict=True):
        np.testing.assert_allclose(value.real, expected.real, rtol=1e-14, atol=0.0)
        np.testing.assert_allclose(value.imag, expected.imag, rtol=1e-14, atol=0.0)
        np.testing.assert_allclose(slope, 1.0 / one / other, rtol=1e-11)


WEIGHTS = 1.0, 2.0j, 3.0, -1.0, 2.0, 1.0 - 1.0j


def loss(x):
    total = 0.0
    for w, value in zip(WEIGHTS, inverses(x + 0.3j), strict=True):
        total += (w * value).real.sum()
    return total


def test_second_derivatives_are_those_of_the_tables() -> None:
    """What a function states as its derivative has one itself."""
    x = np.array([-1.7, -0.4, 0.2, 0.999, 5.0])
    z, one = x + 0.3j, np.ones_like(x)
    of_sine = z / (1.0 - z * z) / (np.sqrt(1.0 - z) * np.sqrt(1.0 + z))
    of_cosine = -z / (z * z - 1.0) / (np.sqrt(z - 1.0) * np.sqrt(z + 1.0))
    turned = -z / (1.0 + z * z) / (np.sqrt(1.0 - 1j * z) * np.sqrt(1.0 + 1j * z))
    of_tangents = -2.0 * z / (1.0 + z * z) ** 2, 2.0 * z / (1.0 - z * z) ** 2
    curvatures = (of_sine, -of_sine, of_tangents[0], turned, of_cosine, of_tangents[1])
    expected = sum((w * c).real for w, c in zip(WEIGHTS, curvatures, strict=True))
    with interpreting():
        f = vectorize_grad(loss)
        _, _, product = f.hvp((x,), {"x": one})
        _, pullback = vectorize_grad(f.grad).vjp(x)
        np.testing.assert_allclose(product[0], expected, rtol=1e-11)
        np.testing.assert_allclose(pullback((one,))[0], expected, rtol=1e-11)


ENDS = (np.inf, -np.inf)
INFINITE = [p for a in ENDS for b in (*ENDS, 0.0, -0.0, 0.5, -3.0, 1e300) for p in (complex(a, b), complex(b, a))]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_infinite_numbers_have_numpys_values_and_no_slope() -> None:
    z = np.array([*INFINITE, complex(np.inf, np.nan), complex(np.nan, -np.inf)])
    with interpreting():
        found, slopes = vectorize_grad(inverses).jvp((z,), {"z": np.ones_like(z)})
    for value, expected, slope in zip(found, inverses(z), slopes[0], strict=True):
        for mine, numpys in ((value.real, expected.real), (value.imag, expected.imag)):
            np.testing.assert_allclose(mine, numpys, rtol=1e-15)
            is_number = ~np.isnan(numpys) & ~np.isnan(z)
            np.testing.assert_array_equal(np.signbit(mine[is_number]), np.signbit(numpys[is_number]))
        np.testing.assert_array_equal(slope, 0.0)
