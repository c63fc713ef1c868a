"""`np.linalg`: matrix forms of the derivatives, singular matrices, complex ones, and what LAPACK makes of each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from loopdiff import UnsupportedLoopError, vectorize_grad
from tests.ad.interpreted import vjp
from tests.gradients.interpreted import interpreting
from tests.texts import registered

from .test_accepted import check_against_python

pytestmark = pytest.mark.part(3)
RNG = np.random.default_rng(3)
A, B = RNG.standard_normal((5, 5)), RNG.standard_normal((5, 2))
S = A @ A.T + np.eye(5)
Z = A + 1j * RNG.standard_normal((5, 5))
NONE = np.zeros((0, 0))


def plain_of(expression: str) -> Any:
    return registered(f"def f(a, b):\n    return {expression}\n", f"<linalg {expression}>", np=np)


@pytest.mark.part(3)
@pytest.mark.parametrize(
    ("expression", "a", "b"),
    [
        ("np.linalg.solve(a, b)", A, B.astype(np.float32)), ("np.linalg.solve(a, b)", A.astype(np.float32), B),
        ("np.linalg.solve(a, b)", Z, B), ("np.linalg.solve(a.T, b[:, 0])", A, Z), ("np.linalg.inv(a)", Z, B),
        ("np.linalg.solve(a, b)", Z.astype(np.complex64), Z.T), ("np.linalg.solve(a, b[:, 0])", Z.T, Z),
        ("np.linalg.solve(a, b[:, 0])", Z.astype(np.complex64), A.astype(np.float32)),
        ("np.linalg.solve(a, b)", NONE + 0j, NONE), ("np.linalg.inv(a)", np.diag([1e-200j, 1e200, 1.0]), B),
        ("np.linalg.solve(a, b)", np.array([[0.0, 1j], [2.0, 0.0]]), np.array([[2j, 4.0], [1.0, -1j]])),
        ("np.linalg.solve(a, b)", np.stack([Z, Z.T]), np.stack([A, S])), ("np.linalg.inv(1j * a)", A, B),
        ("np.linalg.solve(a, b)", NONE, NONE), ("np.linalg.solve(a[::2, 1:4], b[:3])", A, B),
        ("np.linalg.det(a)", Z, B), ("np.linalg.det(a)", NONE, B), ("np.linalg.inv(a)", NONE, B),
        ("np.linalg.det(a)", np.zeros((3, 3)), B), ("np.linalg.slogdet(a)", np.ones((2, 2)), B),
        ("np.linalg.slogdet(a)", -np.eye(3), B), ("np.linalg.slogdet(a)", NONE, B),
        ("np.linalg.cholesky(a)", Z @ Z.conj().T + np.eye(5), B), ("np.linalg.cholesky(np.tril(a))", S, B),
        ("np.linalg.matrix_power(a, b)", A, 6), ("np.linalg.matrix_power(a, b)", A, 0),
    ],
)  # fmt: skip
def test_values(expression: str, a: np.ndarray, b: Any) -> None:
    check_against_python(plain_of(expression), [a, b])


def test_gradients_in_matrix_form() -> None:
    text = (
        "def f(A, B, S):\n    X = np.linalg.solve(A, B)\n    s, l = np.linalg.slogdet(S)\n"
        "    return (X * X).sum() + np.linalg.det(A) + s * l + np.linalg.cholesky(S).sum()\n"
    )
    found = vjp(registered(text, "<matrix forms>", np=np), {"A": A, "B": B, "S": S}).gradients
    X = np.linalg.solve(A, B)
    Y = np.linalg.solve(A.T, 2.0 * X)
    inverse, factor = np.linalg.inv(A), np.linalg.cholesky(S)
    np.testing.assert_allclose(found["B"], Y, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(found["A"], np.linalg.det(A) * inverse.T - Y @ X.T, rtol=1e-9, atol=1e-11)
    # Murray, Differentiation of the Cholesky decomposition, 2016; the lower triangle stands for both.
    half = np.tril(factor.T @ np.tril(np.ones((5, 5)))) * (1.0 - 0.5 * np.eye(5))
    outer = np.linalg.inv(factor)
    P = outer.T @ half @ outer
    of_factor = np.tril(P + P.T) * (1.0 - 0.5 * np.eye(5))
    np.testing.assert_allclose(found["S"], of_factor + np.linalg.inv(S).T, rtol=1e-9, atol=1e-11)


def test_gradients_of_complex_systems_in_matrix_form() -> None:
    """Cotangents are those of JAX: they go back through the transpose."""
    text = "def f(A, B):\n    return np.linalg.solve(A, B)\n"
    f = vectorize_grad(registered(text, "<complex systems>", np=np))
    for right in (Z[:, :3] * 1j, Z[0]):
        seed = right + 1.0
        found = f.vjp(Z, right)[1](seed)._asdict()
        x, back = np.linalg.solve(Z, right), np.linalg.solve(Z.T, seed)
        np.testing.assert_allclose(found["B"], back, rtol=1e-9, atol=1e-11)
        outer = np.outer(back, x) if right.ndim == 1 else back @ x.T
        np.testing.assert_allclose(found["A"], -outer, rtol=1e-9, atol=1e-11)


def test_systems_are_solved_as_well_as_by_lapack() -> None:
    """Backward errors, also of matrices that are almost singular."""
    f = vectorize_grad(plain_of("np.linalg.solve(a, b)"))
    for turned in (1.0, 1j):
        for least in (1.0, 1e-8, 1e-14):
            q, _ = np.linalg.qr(RNG.standard_normal((40, 40)) + turned * RNG.standard_normal((40, 40)))
            p, _ = np.linalg.qr(RNG.standard_normal((40, 40)) + turned * RNG.standard_normal((40, 40)))
            a, b = q @ np.diag(np.geomspace(1.0, least, 40)) @ p, RNG.standard_normal((40, 2))
            x = f(a, b)
            assert np.abs(a @ x - b).max() <= 1e-14 * np.linalg.norm(a) * np.linalg.norm(x)


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("n", [1, 5, 17, 40])
def test_rows_that_change_places(n: int, dtype: type) -> None:
    """Every row is in the way of another one."""
    f = vectorize_grad(registered("def f(A, B):\n    return np.linalg.solve(A, B)\n", "<places>", np=np))
    rng = np.random.default_rng(n)
    A, B, W = (rng.standard_normal(s).astype(dtype) for s in ((n, n), (n, 3), (n, 3)))
    if dtype is complex:
        A, B = A + 1j * rng.standard_normal(A.shape), B - 1j * rng.standard_normal(B.shape)
    A = np.roll(0.1 * A + 5.0 * np.eye(n), 2, axis=0)
    X, pullback = f.vjp(A, B)
    found, expected = pullback(W), np.linalg.solve(A.T, W)
    np.testing.assert_allclose(X, np.linalg.solve(A, B), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.B, expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found.A, -expected @ X.T, rtol=1e-10, atol=1e-12)
    _, (along,) = f.jvp((A, B), {"A": W @ W.T})
    np.testing.assert_allclose(along, -np.linalg.solve(A, W @ (W.T @ X)), rtol=1e-9, atol=1e-11)


def cofactors(m: np.ndarray) -> np.ndarray:
    n = len(m)
    rest = [[np.delete(np.delete(m, i, 0), j, 1) for j in range(n)] for i in range(n)]
    return np.array([[(-1) ** (i + j) * np.linalg.det(rest[i][j]) for j in range(n)] for i in range(n)])


def test_determinants_of_singular_matrices_have_derivatives() -> None:
    """The gradient is the matrix of cofactors, and theirs are differences of them."""
    f = vectorize_grad(registered("def f(a):\n    return np.linalg.det(a)\n", "<det>", np=np))
    same_columns = np.array([[0.0, 1.0], [0.0, 1.0]])
    double_row = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 1.0, 1.0]])
    for m in (np.zeros((1, 1)), np.zeros((2, 2)), np.zeros((3, 3)), same_columns, double_row, np.diag([1.0, 0.0, 0.0])):
        way = RNG.standard_normal(m.shape)
        value, gradient, product = f.hvp((m,), dict(a=way))
        assert value == pytest.approx(np.linalg.det(m), abs=1e-15)
        np.testing.assert_allclose(gradient.a, cofactors(m), atol=1e-14)
        differences = (cofactors(m + 1e-3 * way) - cofactors(m - 1e-3 * way)) / 2e-3
        np.testing.assert_allclose(product.a, differences, atol=1e-9)


@pytest.mark.parametrize("expression", ["np.linalg.norm(a)", "np.linalg.cholesky(a)[1, 1]"])
def test_second_derivatives_where_elements_are_zero(expression: str) -> None:
    """By differences of first derivatives."""
    f = vectorize_grad(registered(f"def f(a):\n    return {expression}\n", f"<zeros {expression}>", np=np))
    way, at = np.array([[0.3, 0.7], [-0.4, 0.2]]), np.eye(2)
    with interpreting():
        _, _, product = f.hvp((at,), dict(a=way))
        difference = (f.grad(at + 1e-5 * way).a - f.grad(at - 1e-5 * way).a) / 2e-5
    np.testing.assert_allclose(product.a, difference, atol=1e-9)


@pytest.mark.parametrize(
    ("expression", "a", "said"),
    [
        ("np.linalg.solve(a, b)", np.ones((5, 5)), "Singular matrix"),
        ("np.linalg.inv(a)", np.zeros((5, 5)), "Singular matrix"), ("np.linalg.inv(a)", B, "must be square"),
        ("np.linalg.cholesky(a)", -S, "not positive definite"), ("np.linalg.det(a)", B, "must be square"),
    ],
)  # fmt: skip
def test_what_numpy_raises_is_raised(expression: str, a: np.ndarray, said: str) -> None:
    plain = plain_of(expression)
    with pytest.raises(np.linalg.LinAlgError):
        plain(a, B)
    with pytest.raises(Exception, match=f"LD332: .*{said}"):
        vjp(plain, {"a": a, "b": B})


@pytest.mark.parametrize(
    ("expression", "a", "said"),
    [
        ("np.linalg.solve(a, b)", np.outer([1, 1j, 2, -1j, 0], np.ones(5)), "Singular matrix"),
        ("np.linalg.inv(a)", np.diag([1j, 0.0]), "Singular matrix"), ("np.linalg.inv(a)", B + 0j, "must be square"),
    ],
)  # fmt: skip
def test_what_numpy_raises_of_complex_matrices_is_raised(expression: str, a: np.ndarray, said: str) -> None:
    plain = plain_of(expression)
    with pytest.raises(np.linalg.LinAlgError):
        plain(a, B)
    with pytest.raises(ValueError, match=f"LD332: .*{said}"):
        vectorize_grad(plain)(a, B)


def test_ranks_that_are_not_taken_are_named() -> None:
    f = vectorize_grad(plain_of("np.linalg.inv(a)"))
    with pytest.raises(UnsupportedLoopError, match=r"LD110: functions of np\.linalg take a matrix"):
        f(np.ones((2, 2, 2, 2)), B)


def supported(x, several):
    """A complex system, all but the first row and column of it."""
    n = x.size
    K = np.zeros((n, n), dtype=complex)
    for e in range(n):
        K[e, e] = x[e] + 2.0 + 1j
    for e in range(n - 1):
        K[e, e + 1] = 0.3j * x[e]
        K[e + 1, e] = 0.2 * x[e]
    free = np.ones(n, dtype=bool)
    free[0] = False
    left = K[np.ix_(free, free)]
    u = np.linalg.solve(left, (x + 0j)[free])
    total = np.sum(np.abs(u) ** 2)
    if several:
        w = np.linalg.solve(left, np.eye(n)[free] + 1j)
        total += np.sum(np.abs(w) ** 2)
    return total


def test_complex_systems_of_what_a_mask_chooses() -> None:
    f, x = vectorize_grad(cache=False)(supported), np.array([0.3, 0.5, 0.8, 1.1])
    for several in (False, True):
        value, (slope,) = f.value_and_grad(x, several)
        assert value == pytest.approx(supported(x, several), rel=1e-13)
        ways = 1e-6 * np.eye(4)
        differences = [(supported(x + way, several) - supported(x - way, several)) / 2e-6 for way in ways]
        np.testing.assert_allclose(slope, differences, rtol=1e-7)
