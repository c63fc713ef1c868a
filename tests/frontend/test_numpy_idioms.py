"""What programs with NumPy write between their formulas: rows that are repeated, the only element of an array, angles
that are unwrapped, arrays in one piece, and what is asked of numbers as of arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from loopdiff import ArgumentError, LoopdiffError, UnsupportedLoopError, vectorize_grad
from loopdiff.testing import check_grads
from tests.gradients.interpreted import interpreting

X, A = np.array([0.7, 1.3, -0.4, 2.1, 0.9, 1.7]), np.arange(9.0).reshape(3, 3) / 7 + 0.1
KEYS = np.array([1, 2, 1, 3, 2, 0])


# -- rows of a length that the run says --------------------------------------------------------------------------
def repeated_rows(u, n):
    a = np.array([[u] * n, [0.5] * n])
    return (a * a).sum() * a[0, n - 1]


def rows_of_several(u, n):
    a = np.array([[u, 2.0] * n, (2 * n) * [u * u], (0.5,) * (2 * n)])
    return (a * a).sum() * a[0, 2] * a[1, 1]


def rows_behind_each_other(u, n):
    a = np.array([[u] * (n - 1) + [1.0], [0.5] + [2.0] * (n - 1)])
    return (a * a).sum() * a[1, 0]


def rows_beside_others(u, n):
    v = [u * i for i in range(n)]
    a = np.array([v, [u] * n, np.ones(n), [u * u * i for i in range(n)]])
    return (a * a).sum() * a[1, 0] * a[3, n - 1]


def deeper(u, n):
    a = np.array([[[u] * n, [1.0] * n], [[2.0] * n, [u * u] * n]])
    return (a * a).sum() * a[1, 0, 0]


def given_to_functions(u, n):
    a = np.vstack([[u] * n, [0.0] * n]) @ np.array([1.0] * n)
    return a[0] * a[0] + np.stack(([1] * n, [u] * n)).sum() + np.sum([[u] * n, [1.0] * n])


ROWS = [repeated_rows, rows_of_several, rows_behind_each_other, rows_beside_others, deeper, given_to_functions]


@pytest.mark.parametrize("plain", ROWS)
def test_rows_are_repeated(plain: Callable[..., Any]) -> None:
    with interpreting():
        f = vectorize_grad(plain)
        for n in (2, 3, 5):
            assert f(0.7, n) == pytest.approx(plain(0.7, n), rel=1e-13)
        check_grads(f, (0.7, 3))


def of_other_lengths(u, n):
    return np.array([[u] * n, [2.0] * (n + 1)]).sum()


def of_integers(x, n):
    return np.array([[1] * n, [2] * n]) // 2 * x[0] + x[np.array([[0] * n, [1] * n])]


def test_rows_have_one_length_and_the_type_of_their_numbers() -> None:
    with interpreting():
        with pytest.raises(ArgumentError, match="LD320"):
            vectorize_grad(of_other_lengths)(0.7, 3)
        np.testing.assert_allclose(vectorize_grad(of_integers)(X, 3), of_integers(X, 3))


# -- the only element --------------------------------------------------------------------------------------------
def of_slices(x, n):
    return x[0:1].item() + 2.0 * x[n : n + 1].item() + x[-1:].item() * x[1:2][np.newaxis, :].item()


def of_products(x, n):
    w = x[:2].reshape(1, 2) @ x[1:3].reshape(2, 1)
    b = x.reshape(-1, 1)
    return w.item() * (b.T @ b).item() + x.sum(keepdims=True).item()


def of_displays(x, n):
    a = np.array([[x[n] * 2.0]])
    return a.item() * a[0].item() + np.array([x[0]]).item() + np.zeros((1, 1)).item()


def by_subscripts(x, n):
    b = x.reshape(2, 3)
    return x.item(n) * b.item(1, n) + b[0].item(-1)


def row_by_row(x, n):
    b, c = x.reshape(2, 3), x.reshape(1, 3, 2)
    found = b.item(4) * b.item(n) + b.T.item(2 * n + 1) * b.item(-2) + c.item(n + 3) + c[:, ::2].item(3)
    return found + (2.0 * b - b[::-1]).item(5)


def as_it_was(x, n):
    y = x[:1]
    t = y.item()
    y[0] = 5.0
    return t * x[n] * x[0]


@pytest.mark.parametrize("plain", [of_slices, of_products, of_displays, by_subscripts, row_by_row, as_it_was])
def test_item_is_the_only_element(plain: Callable[..., Any]) -> None:
    with interpreting():
        f = vectorize_grad(plain, wrt=("x",))
        assert f(X.copy(), 2) == pytest.approx(plain(X.copy(), 2), rel=1e-13)
        check_grads(f, (X.copy(), 2))


def several(x, n):
    return x[0:n].item()


def test_arrays_of_several_elements_have_no_item() -> None:
    with interpreting():
        f = vectorize_grad(several)
        assert f(X, 1) == 0.7
        for n in (0, 2):
            with pytest.raises(ArgumentError, match=r"LD320: `x\[0:n\].item\(\)` of an array that has not one element"):
                f(X, n)


# -- np.unwrap ---------------------------------------------------------------------------------------------------
ANGLES = np.array([0.3, 2.9, -2.8, 3.1, -0.2, -3.0, 2.2, 9.7, -9.9])
UNWRAPPED: dict[str, Callable[[Any], Any]] = {
    "plain": lambda p: np.unwrap(p),
    "discont": lambda p: np.unwrap(p, 4.0),
    "period": lambda p: np.unwrap(p, period=2.0),
    "both": lambda p: np.unwrap(p, discont=1.5, period=2.5),
    "rows": lambda p: np.unwrap(p.reshape(3, 3)),
    "columns": lambda p: np.unwrap(p.reshape(3, 3), axis=0),
    "of one": lambda p: np.unwrap(p[:1]),
    "of steps that are half a period": lambda p: np.unwrap(np.round(2.0 * p) / 2.0, period=1.0),
    "of integers": lambda p: np.unwrap(np.array([0, 5, -5, 9, 3]), period=4.0),
}


@pytest.mark.parametrize("name", UNWRAPPED)
def test_unwrapped_angles_are_numpys(name: str) -> None:
    plain = UNWRAPPED[name]
    with interpreting():
        f = vectorize_grad(plain)
        for p in (ANGLES, ANGLES.astype(np.float32), -1.7 * ANGLES, np.cumsum(ANGLES)):
            found = f(p)
            np.testing.assert_array_equal(found, plain(p))
            assert found.dtype == plain(p).dtype


def weighted_unwrapped(p, w):
    return (np.unwrap(p) * w).sum()


def test_unwrapped_angles_have_the_derivatives_of_angles() -> None:
    w = np.linspace(0.2, 1.7, 9)
    with interpreting():
        g = vectorize_grad(weighted_unwrapped).grad(ANGLES, w)
    np.testing.assert_allclose(g.p, w, rtol=1e-15)
    np.testing.assert_allclose(g.w, np.unwrap(ANGLES), rtol=1e-15)


def integers_alone(x):
    return np.unwrap(np.array([0, 5, -5]), period=4) * x[0]


def test_integers_with_a_whole_period_are_refused() -> None:
    with pytest.raises(UnsupportedLoopError, match=r"np.unwrap of integers|LD1"), interpreting():
        vectorize_grad(integers_alone)(X)


# -- arrays in one piece -----------------------------------------------------------------------------------------
def read_rows(a):
    b = np.ascontiguousarray(a.T)
    return (b[0] * b[1]).sum() + np.asfortranarray(a * 2.0)[1, 2] + np.ascontiguousarray(a[0, 0])[0]


def stored_in_rows(a):
    b = np.ascontiguousarray(a)
    b[0, 1] = 5.0
    return a.sum() * b[1, 1]


def stored_in_columns(a):
    b = np.asfortranarray(a)
    b[0, 1] = 5.0
    return a.sum() * b[1, 1]


def stored_in_turned(a):
    b, c = np.ascontiguousarray(a.T), np.asfortranarray(a.T)
    b[0, 1] = 5.0
    c[1, 0] = 3.0
    return a.sum() * b[1, 1] * c[0, 1]


def stored_in_a_part(a):
    b, c = np.ascontiguousarray(a[:, 1:]), np.ascontiguousarray(a[1:])
    b[0, 1] = 5.0
    c[0, 0] = 3.0
    return a.sum() * b[1, 1] * c[0, 1]


def of_another_type(a):
    b = np.ascontiguousarray(a, dtype=np.float64)
    b[0, 1] = 5.0
    return a.sum() * b[1, 1]


def layouts() -> Iterator[np.ndarray[Any, Any]]:
    yield A.copy()
    yield np.asfortranarray(A)
    yield np.repeat(A, 2, axis=1)[:, ::2]
    yield np.repeat(A, 2, axis=0)[::2]


PIECES = [read_rows, stored_in_rows, stored_in_columns, stored_in_turned, stored_in_a_part, of_another_type]


@pytest.mark.parametrize("plain", PIECES)
def test_arrays_in_one_piece_are_theirs_or_copies_as_in_numpy(plain: Callable[..., Any]) -> None:
    """Whatever their order in memory is; or nothing is said of them."""
    taken = 0
    for own, other in zip(layouts(), layouts(), strict=True):
        with interpreting():
            f = vectorize_grad(plain)
            try:
                found = f(own)
            except LoopdiffError as error:
                assert {"LD122", "LD322"} & set(error.codes)  # noqa: PT017
                continue
        assert found == pytest.approx(plain(other), rel=1e-13)
        np.testing.assert_array_equal(own, other)
        taken += 1
    assert taken >= 1 + (plain is read_rows) * 3


def of_columns(a):
    b = np.asfortranarray(a * 2.0)
    c = b.reshape(-1)
    return (c * b.T.ravel()).sum() + np.ascontiguousarray(b.T)[0, 1]


def test_columns_that_follow_each_other_are_reshaped_row_by_row() -> None:
    with interpreting():
        f = vectorize_grad(of_columns)
        assert f(A) == pytest.approx(of_columns(A), rel=1e-13)
        check_grads(f, (A,))


# -- of numbers as of arrays -------------------------------------------------------------------------------------
def sizes(u):
    return np.size(u) * u + np.ndim(u) + len(np.shape(u)) + np.size(u * 2.0) + np.size(3.0)


def shapes(u):
    if np.shape(u) == ():
        return u * u
    return (u * u).sum() * np.shape(u)[0]


def inside(v):
    return v * np.size(v) if np.ndim(v) == 0 else v.sum() * np.shape(v)[0]


def of_both(x, u):
    return inside(x) + inside(u) + inside(x[0]) + inside(2.0 * x) + (x.shape != ()) + np.size(np.outer(x, x), 1)


def without_axes(u):
    return np.zeros(np.shape(u)) + u


@pytest.mark.parametrize(("plain", "args"), [(sizes, (0.3,)), (shapes, (0.3,)), (shapes, (X,)), (of_both, (X, 0.4))])
def test_numbers_have_sizes_and_shapes(plain: Callable[..., Any], args: tuple[Any, ...]) -> None:
    with interpreting():
        f = vectorize_grad(plain)
        assert f(*args) == pytest.approx(plain(*args), rel=1e-13)
        check_grads(f, args)


def test_no_array_has_the_shape_of_a_number() -> None:
    with pytest.raises(UnsupportedLoopError, match="LD115"):
        vectorize_grad(without_axes)(0.3)


# -- np.r_ and np.c_, and np.bincount ----------------------------------------------------------------------------
def joined_and_asked(x, u):
    both = np.c_[x, x * u].T[1].sum() + np.r_[x, u].shape[0] + np.r_[x, u][-1] + np.c_[x, x].ravel().dot(np.r_[x, x])
    return both + len(np.r_[x, u]) * np.r_[x, u].std() + np.r_[0:4].sum() * u + np.mgrid[0:3, 0:2][1].sum()


def counted_in_displays(x, u):
    return (np.bincount([0, 2, 0], [u, 1.0, x[1]]) * x[:3]).sum() + np.bincount((0, 1), minlength=1)[1] * u


@pytest.mark.parametrize("plain", [joined_and_asked, counted_in_displays])
def test_what_is_joined_and_counted_is_an_array(plain: Callable[..., Any]) -> None:
    with interpreting():
        f = vectorize_grad(plain)
        assert f(X, 0.4) == pytest.approx(plain(X, 0.4), rel=1e-13)
        check_grads(f, (X, 0.4))


def counted(x, k):
    return (np.bincount(k, x) ** 2).sum()


def test_how_many_are_counted_is_asked_for_where_the_run_says() -> None:
    with pytest.raises(ArgumentError, match=r"LD332.*`minlength` of np.bincount must be given"):
        vectorize_grad(counted)(X, KEYS)
