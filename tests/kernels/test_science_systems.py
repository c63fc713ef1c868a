"""Systems of equations whose matrices are mostly zeros, against dense ones of JAX; what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import solve_banded

pytest.importorskip("jax")

import jax.numpy as jnp

from loopdiff.errors import ArgumentError
from loopdiff.kernels import science
from tests.kernels.against_jax import Case, check

pytestmark = pytest.mark.part(3)

rng = np.random.default_rng(3)
draw = rng.standard_normal
N = 7
lower, diagonal, upper = draw(N - 1), 4.0 + draw(N), draw(N - 1)
bands = draw((4, N)) + 6.0 * (np.arange(4) == 2)[:, None]
# In each row columns in any order, one of them twice.
columns = np.array([0, 1, 0, 2, 3, 0, 0, 3, 3, 4, 1, 2, 5, 6, 5, 6])
starts = np.array([0, 1, 3, 4, 7, 10, 13, 16])
values = np.where(columns == np.repeat(np.arange(N), np.diff(starts)), 3.0, 1.0) + 0.3 * draw(16)


def dense(lower: Any, diagonal: Any, upper: Any, right: Any) -> Any:
    return jnp.linalg.solve(jnp.diag(diagonal) + jnp.diag(lower, -1) + jnp.diag(upper, 1), right)


def of_bands(bands: Any, right: Any) -> Any:
    """One diagonal below, two above, as SciPy lays them out."""
    parts = (bands[0, 2:], bands[1, 1:], bands[2], bands[3, :-1])
    return jnp.linalg.solve(sum(jnp.diag(part, 2 - k) for k, part in enumerate(parts)), right)


def of_rows(values: Any, columns: Any, starts: Any, right: Any) -> Any:
    rows = np.repeat(np.arange(N), np.diff(starts))
    return jnp.linalg.solve(jnp.zeros((N, N)).at[rows, columns].add(values), right)


CASES = [
    Case(science.tridiagonal_solve, (lower, diagonal, upper, draw((N, 2))), dense),
    Case(science.tridiagonal_solve, (lower[:0], diagonal[:1], upper[:0], draw(1)), dense),
    Case(science.banded_solve, (bands, draw((N, 2))), of_bands, {"below": 1, "above": 2}),
    Case(science.csr_triangular_solve, (values, columns, starts, draw(N)), of_rows),
    Case(science.csr_triangular_solve, (values[::-1].copy(), N - 1 - columns[::-1], 16 - starts[::-1], draw((N, 3))),
         of_rows, {"upper": True}),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_solutions_are_those_of_dense_matrices(case: Case) -> None:
    check(case)


def test_bands_lie_as_scipy_has_them() -> None:
    right = draw((N, 2))
    expected = solve_banded((1, 2), bands, right)
    got = science.banded_solve.of(below=1, above=2).vjp(np.where(of_matrix(), bands, np.nan), right)[0]
    np.testing.assert_allclose(got, expected, rtol=1e-12)


def of_matrix() -> np.ndarray:
    """Which elements of the bands are elements of the matrix."""
    rows = np.arange(4)[:, None] - 2 + np.arange(N)
    return (rows >= 0) & (rows < N)


def test_second_derivatives_of_a_solution() -> None:
    """The derivative by the diagonal is `-x` by what solves the transpose, and that of this one has a closed form."""
    f = science.tridiagonal_solve.of()
    right, seed, direction = draw((N, 2)), draw((N, 2)), draw(N)
    A = np.diag(diagonal) + np.diag(lower, -1) + np.diag(upper, 1)
    x, z = np.linalg.solve(A, right), np.linalg.solve(A.T, seed)
    turned = direction[:, None]
    expected = (np.linalg.solve(A, turned * x) * z + x * np.linalg.solve(A.T, turned * z)).sum(axis=1)

    def slope(d: np.ndarray) -> np.ndarray:
        return f.vjp(lower, d, upper, right)[1](seed).diagonal

    step = 1e-4
    got = (slope(diagonal + step * direction) - slope(diagonal - step * direction)) / (2 * step)
    np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.part(3)
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: science.tridiagonal_solve.of().vjp(lower, 0.0 * diagonal, upper, draw((N, 2))), "a pivot is zero"),
        (lambda: science.tridiagonal_solve.of().vjp(lower, diagonal, upper[1:], draw((N, 2))), "one less"),
        (lambda: science.tridiagonal_solve.of().vjp(lower[:0], diagonal[:0], upper[:0], draw((0, 2))), "one less"),
        (lambda: science.tridiagonal_solve.of().vjp(lower, diagonal, upper, np.arange(N)), "integers"),
        (lambda: science.banded_solve.of(below=1, above=2).vjp(np.zeros((4, N)), draw((N, 2))), "a pivot is zero"),
        (lambda: science.banded_solve.of(below=1, above=1).vjp(bands, draw(N)), "below"),
        (lambda: science.csr_triangular_solve.of(upper=True).vjp(values, columns, starts, draw(N)), "not triangular"),
        (lambda: science.csr_triangular_solve.of().vjp(0.0 * values, columns, starts, draw(N)), "a pivot is zero"),
        (lambda: science.csr_triangular_solve.of().vjp(values, columns, starts + (starts == 16), draw(N)), "LD310"),
        (lambda: science.csr_triangular_solve.of().vjp(values, columns, starts[::-1].copy(), draw(N)), "ascend"),
    ],
)
def test_what_is_no_system_is_refused(call: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        call()
