"""A Gauss-Seidel sweep that overwrites its only array: reverse mode of an in-place recurrence.

The map from the initial to the final values of `A` is linear, so nothing of it has to be kept for the reverse
sweep, however many time steps there are; `k.temporaries` shows that.
"""

from __future__ import annotations

import numpy as np

from loopdiff import check_grads, vectorize_grad


@vectorize_grad
def seidel(T, A):
    N = A.shape[0]
    for _ in range(T - 1):
        for i in range(1, N - 1):
            for j in range(1, N - 1):
                A[i, j] = (
                    A[i - 1, j - 1] + A[i - 1, j] + A[i - 1, j + 1]
                    + A[i, j - 1] + A[i, j] + A[i, j + 1]
                    + A[i + 1, j - 1] + A[i + 1, j] + A[i + 1, j + 1]
                ) / 9.0  # fmt: skip


def main() -> None:
    rng = np.random.default_rng(0)
    A = rng.random((50, 50))
    target = rng.random((50, 50))

    # Half the squared distance of the smoothed field to a target: its derivative is their difference.
    smoothed = A.copy()
    _, pullback = seidel.vjp(20, smoothed)
    gradient = pullback(A=smoothed - target).A
    print(f"loss {0.5 * np.sum((smoothed - target) ** 2):.6f}, |gradient| {np.linalg.norm(gradient):.6f}")

    k = seidel.compile(20, A)
    print("kept between the sweeps:", list(k.temporaries) or "nothing")
    print(check_grads(seidel, (4, rng.random((7, 7)))))


if __name__ == "__main__":
    main()
