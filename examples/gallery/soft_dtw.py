"""Soft dynamic time warping (Cuturi and Blondel, ICML 2017): a mean of curves that are shifted against each other."""

from __future__ import annotations

import numpy as np

from loopdiff import vectorize_grad


@vectorize_grad(wrt=("x",))
def soft_dtw(x, y, gamma):
    n, m = x.shape[0], y.shape[0]
    R = np.full((n + 1, m + 1), 1e10)
    R[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            d = (x[i - 1] - y[j - 1]) ** 2
            a, b, c = R[i - 1, j - 1], R[i - 1, j], R[i, j - 1]
            low = min(a, b, c)
            soft = np.exp((low - a) / gamma) + np.exp((low - b) / gamma) + np.exp((low - c) / gamma)
            R[i, j] = d + low - gamma * np.log(soft)
    return R[n, m]


def main() -> dict[str, np.ndarray]:
    t = np.linspace(0.0, 1.0, 60)
    curves = [np.exp(-0.5 * ((t - middle) / 0.08) ** 2) for middle in (0.35, 0.45, 0.55, 0.65)]
    mean = np.mean(curves, axis=0)
    print(f"height of the ordinary mean {mean.max():.2f}")
    for k in range(101):
        losses, slopes = zip(*(soft_dtw.value_and_grad(mean, c, 0.01) for c in curves), strict=True)
        if k % 50 == 0:
            print(f"step {k:3d}  loss {sum(losses):.3f}")
        mean = mean - 0.05 * sum(g.x for g in slopes)
    print(f"height of the warped mean {mean.max():.2f}")
    return {f"curve {i + 1}": c for i, c in enumerate(curves)} | {
        "ordinary mean": np.mean(curves, axis=0),
        "warped mean": mean,
    }


if __name__ == "__main__":
    main()
