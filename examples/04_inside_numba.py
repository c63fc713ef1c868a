"""The generated functions inside the caller's own `@njit` code: training without a return to Python."""

from __future__ import annotations

import numpy as np
from numba import njit

from loopdiff import vectorize_grad


@vectorize_grad(wrt=("w",))
def logistic_loss(X, y, w):
    loss = 0.0
    for i in range(X.shape[0]):
        z = 0.0
        for j in range(X.shape[1]):
            z += X[i, j] * w[j]
        loss += np.log1p(np.exp(-y[i] * z))
    return loss / X.shape[0]


def main() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 8))
    y = np.sign(X @ rng.standard_normal(8))
    w = np.zeros(8)

    k = logistic_loss.compile(X, y, w)
    forward, reverse = k.forward, k.reverse
    workspace = k.workspace(X, y, w)
    print("forward", k.signature("forward"))
    print("reverse", k.signature("reverse"))

    @njit
    def train(X, y, w, w_adj, steps, rate, workspace):
        value = 0.0
        for _ in range(steps):
            value = forward(X, y, w, *workspace)
            w_adj[:] = 0.0  # adjoints of inputs are added to
            reverse(X, y, w, *workspace, 1.0, w_adj)
            for j in range(w.shape[0]):
                w[j] -= rate * w_adj[j]
        return value

    print(f"loss before {logistic_loss(X, y, w):.6f}")
    train(X, y, w, np.zeros_like(w), 200, 1.0, workspace)
    print(f"loss after  {logistic_loss(X, y, w):.6f}")


if __name__ == "__main__":
    main()
