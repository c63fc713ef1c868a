"""Iterative closest points (Besl and McKay, 1992): the turn and the shift that bring a scan onto a shape."""

from __future__ import annotations

import numpy as np

from loopdiff import vectorize_grad


def rotation(w):
    """Rodrigues' formula: a turn about `w`, by its length."""
    angle = np.linalg.norm(w)
    x, y, z = w / angle
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * (K @ K)


@vectorize_grad(wrt=("w", "t"))
def misfit(w, t, scan, shape):
    """Mean square of distances to the closest points of the shape."""
    total = 0.0
    for p in scan @ rotation(w).T + t:
        nearest = np.argmin(((shape - p) ** 2).sum(axis=1))
        total += ((shape[nearest] - p) ** 2).sum()
    return total / len(scan)


def surface(rng: np.random.Generator, n: int) -> np.ndarray:
    """Points on a bent sheet, no two turns of which look alike."""
    u, v = rng.uniform(-1.0, 1.0, (2, n))
    return np.column_stack((u, 0.6 * v, 0.3 * np.sin(2.0 * u + v) + 0.2 * u * v))


def main() -> None:
    rng = np.random.default_rng(0)
    shape = surface(rng, 800)
    turn, shift = np.array([0.2, -0.15, 0.3]), np.array([0.1, -0.05, 0.08])
    scan = (shape[:300] - shift) @ rotation(turn) + 0.001 * rng.standard_normal((300, 3))
    w, t = np.full(3, 1e-3), np.zeros(3)
    speed_w, speed_t = np.zeros(3), np.zeros(3)
    for k in range(81):
        loss, g = misfit.value_and_grad(w, t, scan, shape)
        speed_w, speed_t = 0.8 * speed_w - 0.2 * g.w, 0.8 * speed_t - 0.1 * g.t
        w, t = w + speed_w, t + speed_t
        if k % 20 == 0:
            print(f"step {k:3d}  mean square distance {loss:.2e}")
    print(f"turn found to {np.abs(w - turn).max():.0e}, shift to {np.abs(t - shift).max():.0e}")


if __name__ == "__main__":
    main()
