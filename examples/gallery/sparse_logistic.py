"""Sparse logistic regression: rows of a sparse matrix, and weights of which most are zero, by proximal steps."""

from __future__ import annotations

import numpy as np

from loopdiff import vectorize_grad


@vectorize_grad(wrt=("w", "b"))
def logistic_loss(w, b, data, indices, indptr, y):
    total = 0.0
    for i in range(len(y)):
        lo, hi = indptr[i], indptr[i + 1]
        z = data[lo:hi] @ w[indices[lo:hi]] + b
        total += np.logaddexp(0.0, -y[i] * z)
    return total / len(y)


def sparse_rows(rng: np.random.Generator, n: int, m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A matrix of `n` rows and `m` columns, as SciPy's `csr_array` has it: data, indices, indptr."""
    indptr = np.concatenate(([0], np.cumsum(rng.integers(5, 40, n))))
    return rng.standard_normal(indptr[-1]), rng.integers(0, m, indptr[-1]), indptr


def main() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    n, m = 5000, 300
    data, indices, indptr = sparse_rows(rng, n, m)
    truth = np.zeros(m)
    truth[rng.choice(m, 12, replace=False)] = rng.choice([-4.0, 4.0], 12)
    z = np.add.reduceat(data * truth[indices], indptr[:-1]) - 0.5
    y = np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-z)), 1.0, -1.0)
    w, b, rate, weight = np.zeros(m), 0.0, 20.0, 0.008
    for k in range(151):
        loss, g = logistic_loss.value_and_grad(w, b, data, indices, indptr, y)
        w = w - rate * g.w
        w = np.sign(w) * np.maximum(np.abs(w) - rate * weight, 0.0)
        b -= g.b
        if k % 50 == 0:
            print(f"step {k:3d}  loss {loss:.4f}  weights that are not zero {np.count_nonzero(w)}")
    chosen = w != 0.0
    for _ in range(300):  # once more without the penalty, which makes weights too small
        _, g = logistic_loss.value_and_grad(w, b, data, indices, indptr, y)
        w, b = w - rate * chosen * g.w, b - g.b
    print(f"the 12 weights that the data were drawn with are found: {np.array_equal(w != 0.0, truth != 0.0)}")
    print(f"they are off by {np.abs(w - truth).max():.2f} at most, of 4")
    return {"weights found": w, "true": truth}


if __name__ == "__main__":
    main()
