"""Factors of matrices and pseudo-inverses: NumPy's values and signs, JAX's gradients, differences."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

from loopdiff import ArgumentError, UnsupportedLoopError, vectorize_grad
from loopdiff.frontend.binding.bind import bind
from loopdiff.frontend.capture import argument_types
from loopdiff.frontend.parse import parse_function
from loopdiff.source.functions import source_of
from tests.frontend.test_accepted import run_bound
from tests.gradients.interpreted import interpreting
from tests.texts import registered

pytestmark = pytest.mark.part(3)
RNG = np.random.default_rng(5)
SQUARE, TALL, WIDE = RNG.standard_normal((4, 4)), RNG.standard_normal((5, 3)), RNG.standard_normal((2, 4))
SHAPES = [SQUARE, TALL, WIDE, np.full((1, 1), -2.0), np.ones((3, 1)), np.ones((1, 3)), np.zeros((0, 0))]
LAYOUTS = [
    np.asfortranarray(TALL),
    RNG.standard_normal((10, 6))[::2, ::-2],
    SQUARE.T,
    np.eye(3),
    TALL.astype(np.float32),
]
BOUND: dict[str, dict[str, Any]] = {}  # by the expression and the types
WEIGHTS = RNG.standard_normal((8, 8))


def plain_of(expression: str) -> Any:
    return registered(f"def f(a, b):\n    return {expression}\n", f"<factors {expression}>", np=np)


def check_values(expression: str, a: np.ndarray, b: Any = 0.0) -> None:
    given = {"a": a, "b": b}
    types = argument_types(given)
    if str(types) not in BOUND.setdefault(expression, {}):
        BOUND[expression][str(types)] = bind(parse_function(source_of(plain_of(expression)), types), types)
    found = run_bound(BOUND[expression][str(types)], given)
    expected = plain_of(expression)(a, b)
    tolerance = 2e-5 if a.dtype == np.float32 else 1e-13
    for value, other in zip(found, expected if isinstance(expected, tuple) else (expected,), strict=True):
        assert np.asarray(value).dtype == np.asarray(other).dtype
        assert np.shape(value) == np.shape(other)
        np.testing.assert_allclose(value, other, rtol=tolerance, atol=tolerance)


def test_factors_with_right_angles_have_the_signs_of_lapack() -> None:
    for a in (*SHAPES, *LAYOUTS, np.zeros((3, 2)), np.triu(SQUARE)):
        check_values("np.linalg.qr(a)", a)
    check_values("np.linalg.qr(2.0 * a, mode='r')", TALL)


def test_pseudo_inverses_and_least_squares() -> None:
    for a in (*SHAPES, LAYOUTS[1], LAYOUTS[-1]):
        check_values("np.linalg.pinv(a)", a)
    for a in (SQUARE, TALL, WIDE):
        right = RNG.standard_normal((a.shape[0], 2))
        check_values("np.linalg.lstsq(a, b, rcond=None)[:2]", a, right)
        check_values("np.linalg.lstsq(a, b[:, 1])[:2]", a, right)


def test_least_squares_of_columns_that_are_almost_one() -> None:
    """No normal equations, whose condition is the square of that of `a`."""
    a = np.vander(np.linspace(0.0, 1.0, 12), 9)
    with interpreting():
        found = vectorize_grad(plain_of("np.linalg.lstsq(a, b)[0]"))(a, a @ np.ones(9))
    np.testing.assert_allclose(found, np.ones(9), atol=1e-9)


OF_QR = "(q * b[: q.shape[0], : q.shape[1]]).sum() + (r * r * b[: r.shape[0], : r.shape[1]]).sum()"
LOSSES = {
    "qr": f"(lambda q, r: {OF_QR})(*np.linalg.qr(a))",
    "pinv": "(np.linalg.pinv(a) * b[: a.shape[1], : a.shape[0]]).sum()",
    "lstsq": "(lambda x, s, k, w: (x**2).sum() + s.sum() * k)(*np.linalg.lstsq(a, b[: a.shape[0]]))",
}


def gradient_of_jax(expression: str, a: Any) -> Any:
    f = registered(f"def f(a, b):\n    return {expression}\n", f"<jax {expression}>", np=jax.numpy)
    with jax.enable_x64(True):
        return jax.grad(f)(jax.numpy.asarray(a), jax.numpy.asarray(WEIGHTS))


@pytest.mark.parametrize("name", ["qr", "lstsq"])
def test_gradients(name: str) -> None:
    plain = plain_of(LOSSES[name])
    f = vectorize_grad(plain, wrt=("a",))
    with interpreting():
        for a in (SQUARE, TALL, WIDE):
            value, gradient = f.value_and_grad(a, WEIGHTS)
            assert value == pytest.approx(plain(a, WEIGHTS), rel=1e-12)
            if a is TALL or (a is SQUARE and name != "lstsq"):  # of others JAX has no gradients
                np.testing.assert_allclose(gradient.a, gradient_of_jax(LOSSES[name], a), rtol=1e-9, atol=1e-10)
            else:
                way = RNG.standard_normal(a.shape)
                differences = [plain(a + h * way, WEIGHTS) for h in (1e-6, -1e-6)]
                assert np.sum(gradient.a * way) == pytest.approx((differences[0] - differences[1]) / 2e-6, rel=1e-6)


@pytest.mark.parametrize("name", ["qr", "pinv"])
def test_second_derivatives(name: str) -> None:
    f = vectorize_grad(plain_of(LOSSES[name]), wrt=("a",))
    with interpreting():
        for a in (TALL, np.eye(3)) if name == "pinv" else (TALL,):
            way = RNG.standard_normal(a.shape)
            _, gradient, product = f.hvp((a, WEIGHTS), dict(a=way))
            assert np.sum(gradient.a * way) == pytest.approx(f.jvp((a, WEIGHTS), dict(a=way))[1].result, rel=1e-10)
            difference = (f.grad(a + 1e-5 * way, WEIGHTS).a - f.grad(a - 1e-5 * way, WEIGHTS).a) / 2e-5
            np.testing.assert_allclose(product.a, difference, rtol=1e-5, atol=1e-5)


def test_columns_that_are_zero_below_the_diagonal_keep_their_signs() -> None:
    """LAPACK reflects nothing there, and changes the sign as soon as there is something: JAX's derivative is that of a
    sign that stays."""
    a = np.triu(SQUARE) + np.eye(4)
    with interpreting():
        gradient = vectorize_grad(plain_of(LOSSES["qr"]), wrt=("a",)).grad(a, WEIGHTS).a
    np.testing.assert_allclose(gradient, gradient_of_jax(LOSSES["qr"], a), rtol=1e-9, atol=1e-10)


def test_derivatives_that_do_not_exist_are_not_finite() -> None:
    a = np.zeros((3, 2))
    a[:, 0] = 1.0
    with interpreting():  # nothing is known of the second column
        gradient = vectorize_grad(plain_of("np.linalg.qr(a)[0][2, 1]"), wrt=("a",)).grad(np.zeros((3, 2)), WEIGHTS).a
        assert not np.isfinite(gradient).all()
        with pytest.raises(ArgumentError, match=r"LD332.*full rank"):
            vectorize_grad(plain_of("np.linalg.pinv(a)"))(a, 0.0)


def test_in_a_loop() -> None:
    def steps(A, b):
        s = 0.0
        for k in range(A.shape[0]):
            q, r = np.linalg.qr(A[k])
            s += (q.T @ b)[1] * r[0, 1]
        return s

    A, b = RNG.standard_normal((3, 5, 2)), RNG.standard_normal(5)
    with interpreting():
        value, gradient = vectorize_grad(steps).value_and_grad(A, b)
    assert value == pytest.approx(steps(A, b), rel=1e-12)
    way = RNG.standard_normal(A.shape)
    difference = (steps(A + 1e-6 * way, b) - steps(A - 1e-6 * way, b)) / 2e-6
    assert np.sum(gradient.A * way) == pytest.approx(difference, rel=1e-6)


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("np.linalg.qr(a, 'complete')[0]", "LD110: `mode` of np.linalg.qr is"), ("np.linalg.qr(1j * a)[0]", "LD220"),
        ("np.linalg.qr(np.stack((a, a)))[0]", "LD110"), ("np.linalg.pinv(a, 0.1)", "LD110: .* no `rcond`"),
        ("np.linalg.lstsq(a, a, 0.1)[0]", "LD110: .* no `rcond`"), ("np.linalg.pinv(1j * a)", "LD220"),
        ("np.linalg.lstsq(a, a)[3][0]", "LD134"),
    ],
)  # fmt: skip
def test_what_is_not_taken_is_named(expression: str, code: str) -> None:
    with pytest.raises(UnsupportedLoopError, match=code):
        vectorize_grad(plain_of(expression))(TALL, 0.0)
