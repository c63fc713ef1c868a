"""Eigenvalues and singular values: NumPy's values and signs, JAX's gradients, differences, and the steps' order."""

from __future__ import annotations

import jax
import numpy as np
import pytest
import scipy.linalg

from loopdiff import ArgumentError, UnsupportedLoopError, vectorize_grad
from loopdiff.numpy_functions import spectra
from tests.frontend.test_factors import WEIGHTS, check_values, gradient_of_jax, plain_of
from tests.gradients.interpreted import interpreting

pytestmark = pytest.mark.part(5)
RNG = np.random.default_rng(8)
SQUARE, TALL, WIDE = RNG.standard_normal((4, 4)), RNG.standard_normal((5, 3)), RNG.standard_normal((2, 4))
SHAPES = [SQUARE, TALL, WIDE, np.full((1, 1), -2.0), np.ones((3, 1)), np.ones((1, 3)), np.zeros((0, 0)), np.eye(3)]
LAYOUTS = [np.asfortranarray(TALL), RNG.standard_normal((10, 6))[::2, ::-2], SQUARE.T, TALL.astype(np.float32)]


def test_values_are_those_of_numpy() -> None:
    for a in (*SHAPES, *LAYOUTS, 10 * np.eye(3, dtype=np.int64)):
        check_values("np.linalg.svd(a, full_matrices=False)", a)
        check_values("np.linalg.svd(a, compute_uv=False)", a)
        if a.shape[0] == a.shape[1]:
            check_values("np.linalg.eigh(a)", a)
            check_values("np.linalg.eigvalsh(a, 'U')", a)


def test_vectors_of_float32_have_the_signs_of_numpy() -> None:
    """NumPy computes them in float64, whose LAPACK may give other signs than that of float32: of the first it does."""
    vectors = vectorize_grad(plain_of("np.linalg.eigh(a)[1]"))
    sides = vectorize_grad(plain_of("np.linalg.svd(a)"))
    rng = np.random.default_rng(3)
    first = np.array([[-0.713, 0.147, -1.233], [1.457, 0.617, -0.123], [-0.463, -0.103, 1.457]])
    for a in (first, *rng.standard_normal((10, 3, 3))):
        a = a.astype(np.float32)
        s = a + a.T
        np.testing.assert_allclose(vectors(s, WEIGHTS), np.linalg.eigh(s)[1], rtol=1e-6)
        u, _, vh = sides(a, WEIGHTS)
        expected = np.linalg.svd(a)
        np.testing.assert_allclose(u, expected[0], rtol=1e-5)
        np.testing.assert_allclose(vh, expected[2], rtol=1e-5)
    s = (first + first.T).astype(np.float32)
    signs = np.sign(scipy.linalg.eigh(s, driver="evd")[1]) == np.sign(np.linalg.eigh(s)[1])
    assert not signs.all(), "the first could not tell"


@pytest.mark.part(2)
@pytest.mark.parametrize(
    "expression",
    [
        "np.linalg.norm(a, 2)", "np.linalg.norm(a, -2)", "np.linalg.norm(a, 'nuc')", "np.linalg.cond(a)",
        "np.linalg.norm(a, 'nuc', keepdims=True)", "np.linalg.norm(a, 2, keepdims=True)", "np.linalg.cond(a, -2)",
        "np.linalg.cond(a.T @ a, 1)", "np.linalg.cond(a.T @ a, 'fro')", "np.linalg.matrix_rank(a) * a",
        "np.linalg.matrix_rank(np.outer(a[0], a[1])) * a", "np.linalg.matrix_rank(a, 1.5) * a",
        "np.linalg.matrix_rank(a.astype(np.float32)) * a",
    ],
)  # fmt: skip
def test_what_follows_from_singular_values(expression: str) -> None:
    check_values(expression, TALL)


OF_EIGH = "(w * b[0, : w.shape[0]]).sum() + (v**3 * b[: v.shape[0], : v.shape[1]]).sum()"
OF_SVD = (
    "(s * b[0, : s.shape[0]]).sum() + (u**3 * b[: u.shape[0], : u.shape[1]]).sum()"
    " + (v**3 * b[: v.shape[0], : v.shape[1]]).sum()"
)
SYMMETRIC = "np.tril(a) + np.tril(a, -1).T"
LOSSES = {
    "eigh": f"(lambda w, v: {OF_EIGH})(*np.linalg.eigh({SYMMETRIC}))",
    "svd": f"(lambda u, s, v: {OF_SVD})(*np.linalg.svd(a, full_matrices=False))",
    "norm": "np.linalg.norm(a, 'nuc') * np.linalg.cond(a)",
}


def directional(name: str, a: np.ndarray, way: np.ndarray) -> float:
    """Richardson's difference of the loss along `way`."""
    plain = plain_of(LOSSES[name])
    coarse, fine = ((plain(a + h * way, WEIGHTS) - plain(a - h * way, WEIGHTS)) / (2 * h) for h in (2e-4, 1e-4))
    return (4 * fine - coarse) / 3


@pytest.mark.parametrize("name", LOSSES)
def test_first_and_second_derivatives(name: str) -> None:
    plain = plain_of(LOSSES[name])
    f = vectorize_grad(plain, wrt=("a",))
    with interpreting():
        for a in dict(eigh=(SQUARE,), svd=(SQUARE, TALL, WIDE), norm=(TALL,))[name]:
            way = RNG.standard_normal(a.shape)
            value, gradient, product = f.hvp((a, WEIGHTS), dict(a=way))
            assert value == pytest.approx(plain(a, WEIGHTS), rel=1e-12)
            assert np.sum(gradient.a * way) == pytest.approx(directional(name, a, way), rel=1e-7)
            assert f.jvp((a, WEIGHTS), dict(a=way))[1].result == pytest.approx(np.sum(gradient.a * way), rel=1e-10)
            np.testing.assert_allclose(gradient.a, gradient_of_jax(LOSSES[name], a), rtol=1e-9, atol=1e-10)
            with jax.enable_x64(True):
                expected = jax.jvp(lambda x: gradient_of_jax(LOSSES[name], x), (a,), (way,))[1]
            np.testing.assert_allclose(product.a, expected, rtol=1e-8, atol=1e-8)


def test_only_the_lower_triangle_is_read_and_has_a_derivative() -> None:
    a = SQUARE + np.triu(np.full((4, 4), 7.0), 1)
    with interpreting():
        value, gradient = vectorize_grad(plain_of("np.linalg.eigh(a)[0][1]")).value_and_grad(a, 0.0)
    assert value == pytest.approx(np.linalg.eigvalsh(a)[1], rel=1e-13)
    assert (np.triu(gradient.a, 1) == 0.0).all()
    assert (np.tril(gradient.a) != 0.0).any()


def test_values_alone_have_derivatives_where_several_are_equal() -> None:
    """Of vectors none exists there; the sum of equal values is as smooth as others."""
    with interpreting():
        found = vectorize_grad(plain_of("(np.linalg.eigvalsh(a) ** 2).sum()")).grad(np.eye(3), 0.0).a
        np.testing.assert_allclose(found, 2.0 * np.eye(3), atol=1e-14)
        found = vectorize_grad(plain_of("np.linalg.norm(a, 'nuc')")).grad(np.eye(4, 3), 0.0).a
        np.testing.assert_allclose(found, np.eye(4, 3), atol=1e-14)
        found = vectorize_grad(plain_of("np.linalg.eigh(a)[1][0, 1]")).grad(np.eye(3), 0.0).a
        assert not np.isfinite(found).all()


def test_singular_square_matrices_have_derivatives() -> None:
    a = np.diag([3.0, 2.0, 0.0])
    plain = plain_of("(lambda u, s, v: u[1, 0] * v[0, 0])(*np.linalg.svd(a))")
    with interpreting():
        found = vectorize_grad(plain).grad(a, 0.0).a
    way = RNG.standard_normal((3, 3))
    difference = (plain(a + 1e-6 * way, 0.0) - plain(a - 1e-6 * way, 0.0)) / 2e-6
    assert np.sum(found * way) == pytest.approx(difference, rel=1e-6)


@pytest.mark.parametrize("shape", [(4, 4), (6, 3)])
def test_the_steps_follow_a_change_up_to_its_fifth_power(
    shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The functions in plain Python, their constant part held at another matrix: what is left shrinks as the sixth
    power of the distance at least, so that derivatives up to the fifth are exact."""
    rng = np.random.default_rng(2)
    a, way = rng.standard_normal(shape), rng.standard_normal(shape)
    monkeypatch.setattr(spectra, "without_derivative", lambda _: a)

    def error_of_singular_vectors(t: float) -> float:
        u, s, vh = spectra.svd(a + t * way, False)
        others = np.linalg.svd(a + t * way, False)
        signs = np.sign(np.sum(u * others[0], axis=0))
        return max(
            np.abs(s - others[1]).max(), np.abs(u - signs * others[0]).max(), np.abs(vh.T - signs * others[2].T).max()
        )

    assert 1e-13 < error_of_singular_vectors(0.02) < error_of_singular_vectors(0.04) / 2**5.5
    if shape[0] == shape[1]:
        a, way = a + a.T, way + way.T

        def error_of_eigenvectors(t: float) -> float:
            w, v = spectra.eigh(a + t * way)
            others = np.linalg.eigh(a + t * way)
            signs = np.sign(np.sum(v * others[1], axis=0))
            return max(np.abs(w - others[0]).max(), np.abs(v - signs * others[1]).max())

        assert 1e-13 < error_of_eigenvectors(0.02) < error_of_eigenvectors(0.04) / 2**5.5


def test_in_a_loop() -> None:
    def principal(A):
        s = 0.0
        for k in range(A.shape[0]):
            u, d, _ = np.linalg.svd(A[k], full_matrices=False)
            s += abs(u[0, 0]) * d[0]
        return s

    A = RNG.standard_normal((3, 5, 2))
    with interpreting():
        value, gradient = vectorize_grad(principal).value_and_grad(A)
    assert value == pytest.approx(principal(A), rel=1e-12)
    way = RNG.standard_normal(A.shape)
    difference = (principal(A + 1e-6 * way) - principal(A - 1e-6 * way)) / 2e-6
    assert np.sum(gradient.A * way) == pytest.approx(difference, rel=1e-6)


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("np.linalg.eigh(a, 'U')[0]", "LD110: .* lower triangle"), ("np.linalg.svd(a, hermitian=True)[1]", "LD110"),
        ("np.linalg.eigh(np.stack((a, a)))[0]", "LD110"), ("np.linalg.svd(1j * a)[1]", "LD222"),
        ("np.linalg.eigh(1j * a)[0]", "LD222"), ("np.linalg.matrix_rank(a, hermitian=True)", "LD110"),
        ("np.linalg.norm(a, 'max')", "LD110: Invalid norm order"), ("np.linalg.eigvalsh(a, 'u')", "LD110: `UPLO`"),
        ("np.linalg.matrix_rank(a, 0.1, rtol=0.1)", "LD110: `tol` and `rtol`"),
    ],
)  # fmt: skip
def test_what_is_not_taken_is_named(expression: str, code: str) -> None:
    with pytest.raises(UnsupportedLoopError, match=code):
        vectorize_grad(plain_of(expression))(TALL, 0.0)


@pytest.mark.parametrize(
    ("expression", "a", "message"),
    [
        ("np.linalg.eigh(a)[0]", TALL, "must be square"), ("np.linalg.svd(a)[0]", TALL, "full_matrices=False"),
        ("np.linalg.eigh(a)[0]", np.full((2, 2), np.nan), "finite"),
        ("np.linalg.svd(a, False)[0]", np.full((2, 3), np.inf), "finite"),
        ("np.linalg.norm(a, 3)", TALL, "Invalid norm order"),
    ],
)  # fmt: skip
def test_what_lapack_cannot_take_is_an_error(expression: str, a: np.ndarray, message: str) -> None:
    with interpreting(), pytest.raises(ArgumentError, match=f"LD332.*{message}"):
        vectorize_grad(plain_of(expression))(a, 0.0)


def test_without_scipy_there_is_no_lapack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spectra, "HAS_LAPACK", False)
    for expression in ("np.linalg.eigh(a)[0]", "np.linalg.svd(a, False)[1]"):
        with pytest.raises(UnsupportedLoopError, match=r"LD110.*SciPy, which is not installed"):
            vectorize_grad(plain_of(expression))(SQUARE, 0.0)
