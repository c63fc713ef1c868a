"""Products of complex matrices: NumPy's values and types, and derivatives that the product rule gives."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from loopdiff import LoopdiffError, vectorize_grad
from tests.gradients.interpreted import interpreting


def plain(A, B):
    return A @ B


def turned(A, B):
    return np.dot(A, B.T.conj())


def by_letters(A, B):
    return np.einsum("ij,kj->ki", A, B)


def of_terms(A, B):
    return (A * 2.0) @ np.exp(B) - A @ B


def in_steps(A, B):
    C = A @ B
    for _ in range(3):
        C = A @ C / 4.0
    C[0, 0] = 1.0
    return C


def in_place(A, B):
    B[:] = A @ B
    B[:, 1:] += A @ B[:, 1:]
    return B


def in_batches(A, B):
    return np.array([A, A + 1.0]) @ np.array([B, B * 2.0])


def of_vectors(A, B):
    x = A @ B[0] - B[1] @ A
    for t in range(3):
        x = 0.5 * (A @ x) + np.dot(x, B) * (t + 1.0)
    return x


FORMS: tuple[Callable[..., np.ndarray], ...] = (
    plain,
    turned,
    by_letters,
    of_terms,
    in_steps,
    in_place,
    in_batches,
    of_vectors,
)
RNG = np.random.default_rng(0)


def numbers(*shape: int, dtype: str = "complex128") -> np.ndarray:
    found = RNG.normal(size=shape) + 1j * RNG.normal(size=shape)
    return (found if dtype.startswith("c") else found.real).astype(dtype)


@pytest.mark.parametrize("form", FORMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    "types",
    [("complex128",) * 2, ("complex64",) * 2, ("complex128", "float64"), ("complex64", "float32")],
    ids="-".join,
)
def test_values_are_numpys(form: Callable[..., np.ndarray], types: tuple[str, str]) -> None:
    for kinds in (types, types[::-1]):
        A, B = (numbers(3, 3, dtype=k) for k in kinds)
        if form is in_place and not np.iscomplexobj(B):
            continue
        with interpreting():
            found = vectorize_grad(form)(A.copy(), B.copy())
        expected = form(A.copy(), B.copy())
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-5 if expected.dtype == "complex64" else 1e-12)


def test_shapes_that_are_no_squares_and_none_at_all() -> None:
    f = vectorize_grad(plain)
    with interpreting():
        for rows, inner, columns in ((2, 5, 3), (1, 4, 1), (0, 3, 2), (3, 0, 2), (2, 3, 0)):
            A, B = numbers(rows, inner), numbers(inner, columns)
            np.testing.assert_allclose(f(A, B), A @ B, rtol=1e-12)
        with pytest.raises(LoopdiffError, match="do not fit together"):
            f(numbers(2, 3), numbers(2, 3))


def test_infinities_and_nan_go_where_numpy_has_them() -> None:
    A, B = numbers(3, 3), numbers(3, 3)
    A[1, 2], B[0, 1] = np.nan, np.inf
    with interpreting(), np.errstate(invalid="ignore"):
        found, expected = vectorize_grad(plain)(A, B), sum(A[:, k, None] * B[k] for k in range(3))
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(expected))


def of_one_row(A, B):
    return A[0] @ B + (A @ B)[:, 1]


@pytest.mark.parametrize("form", [plain, turned, by_letters, of_one_row], ids=lambda f: f.__name__)
def test_derivatives_are_those_of_the_product_rule(form: Callable[..., np.ndarray]) -> None:
    """Each form is linear in either operand, `turned` over the reals."""
    A, B, dA, dB = (numbers(4, 4) for _ in range(4))
    change = form(dA, B) + form(A, dB)
    seed = numbers(*change.shape)
    with interpreting():
        f = vectorize_grad(form)
        _, tangents = f.jvp((A, B), {"A": dA, "B": dB})
        _, pullback = f.vjp(A, B)
        found = pullback(seed)._asdict()
    np.testing.assert_allclose(np.asarray(tangents).reshape(change.shape), change, rtol=1e-12)
    both = np.sum(found["A"] * dA).real + np.sum(found["B"] * dB).real
    np.testing.assert_allclose(both, np.sum(seed * change).real, rtol=1e-12)
    if form is plain:
        np.testing.assert_allclose(found["A"], seed @ B.T, rtol=1e-12)
        np.testing.assert_allclose(found["B"], A.T @ seed, rtol=1e-12)


def rotated(psi, angle):
    turn = np.cos(angle) * np.eye(2) - 1j * np.sin(angle) * np.ones((2, 2))
    plain = angle * np.ones((2, 2))
    return plain @ np.tensordot(turn, psi, axes=([1], [1])).transpose(1, 0, 2)[0] @ plain


def test_what_a_matrix_is_made_of_may_be_seen_later() -> None:
    psi = numbers(2, 2, 2)
    with interpreting():
        found = vectorize_grad(rotated)(psi, 0.3)
    np.testing.assert_allclose(found, rotated(psi, 0.3), rtol=1e-12)


def power_of_matrix(A, x):
    state = np.eye(3, dtype=np.complex128)
    for k in range(4):
        state = (A[k] @ state) * np.exp(1j * x)
    return np.sum(np.abs(state) ** 2)


def test_gradients_through_steps_are_those_of_differences() -> None:
    A, x = numbers(4, 3, 3), 0.3
    with interpreting():
        f = vectorize_grad(power_of_matrix, wrt=("A", "x"))
        value, found = f.value_and_grad(A, x)
    assert value == pytest.approx(power_of_matrix(A, x), rel=1e-12)
    dA = numbers(4, 3, 3)
    step = 1e-6
    slope = (power_of_matrix(A + step * dA, x + step) - power_of_matrix(A - step * dA, x - step)) / (2.0 * step)
    assert np.sum(found[0] * dA).real + found[1] == pytest.approx(slope, rel=1e-7)


def test_products_of_large_ones_when_compiled() -> None:
    A, B = numbers(70, 33), numbers(33, 41)
    f = vectorize_grad(plain)
    np.testing.assert_allclose(f(A, B), A @ B, rtol=1e-11)
    seed = numbers(70, 41)
    found = f.vjp(A, B)[1](seed)._asdict()
    np.testing.assert_allclose(found["A"], seed @ B.T, rtol=1e-11)
    np.testing.assert_allclose(found["B"], A.T @ seed, rtol=1e-11)
