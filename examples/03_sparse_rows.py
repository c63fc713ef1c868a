"""A sparse matrix in CSR form: loops whose bounds and subscripts are data, fitted by gradient descent."""

from __future__ import annotations

import numpy as np

from loopdiff import vectorize_grad


@vectorize_grad(wrt=("values", "x"))
def misfit(indptr, indices, values, x, b):
    loss = 0.0
    for i in range(indptr.shape[0] - 1):
        r = -b[i]
        for p in range(indptr[i], indptr[i + 1]):
            r += values[p] * x[indices[p]]
        loss += r * r
    return 0.5 * loss


def random_rows(rng, rows: int, columns: int, count: int):
    """Row pointers and column indices of `count` entries in random places."""
    owner = np.sort(rng.integers(0, rows, count))
    return np.searchsorted(owner, np.arange(rows + 1)).astype(np.int64), rng.integers(0, columns, count)


def main() -> None:
    rng = np.random.default_rng(0)
    indptr, indices = random_rows(rng, 300, 100, 2000)
    values, x, b = rng.random(2000), np.zeros(100), rng.random(300)
    for step in range(101):
        loss, g = misfit.value_and_grad(indptr, indices, values, x, b)
        if step % 25 == 0:
            print(f"step {step:3d}  loss {loss:.6f}  |g.x| {np.linalg.norm(g.x):.2e}")
        x -= 0.01 * g.x

    matrix = np.zeros((300, 100))
    np.add.at(matrix, (np.repeat(np.arange(300), np.diff(indptr)), indices), values)
    loss, g = misfit.value_and_grad(indptr, indices, values, x, b)
    expected = matrix.T @ (matrix @ x - b)
    print(f"error of g.x against a dense matrix: {np.abs(g.x - expected).max():.1e}")


if __name__ == "__main__":
    main()
