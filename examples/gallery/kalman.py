"""A Kalman filter for a body that moves in a line: its likelihood, and the noise that makes it largest."""

from __future__ import annotations

import numpy as np

from loopdiff import vectorize_grad


@vectorize_grad(wrt=("log_q", "log_r"))
def surprise(log_q, log_r, z):
    """Minus the log likelihood of the positions `z`, for logarithms of the variances of process and measurement."""
    F = np.array([[1.0, 1.0], [0.0, 1.0]])
    Q = np.exp(log_q) * np.array([[0.25, 0.5], [0.5, 1.0]])
    R = np.exp(log_r)
    x = np.zeros(2)
    P = 10.0 * np.eye(2)
    total = 0.0
    for t in range(z.shape[0]):
        x = F @ x
        P = F @ P @ F.T + Q
        residual = z[t] - x[0]
        S = P[0, 0] + R
        gain = P[:, 0] / S
        total += 0.5 * (np.log(2.0 * np.pi * S) + residual * residual / S)
        x = x + gain * residual
        P = P - np.outer(gain, P[0])
    return total


def track(rng: np.random.Generator, steps: int, q: float, r: float) -> np.ndarray:
    place, speed, seen = 0.0, 0.0, np.zeros(steps)
    for t in range(steps):
        push = np.sqrt(q) * rng.standard_normal()
        place, speed = place + speed + 0.5 * push, speed + push
        seen[t] = place + np.sqrt(r) * rng.standard_normal()
    return seen


def main() -> None:
    z = track(np.random.default_rng(0), 500, 0.01, 4.0)
    at = np.zeros(2)
    for k in range(201):
        value, g = surprise.value_and_grad(at[0], at[1], z)
        if k % 50 == 0:
            print(f"step {k:3d}  minus log likelihood {value:.2f}")
        at -= 0.002 * np.array([g.log_q, g.log_r])
    q, r = np.exp(at)
    print(f"variances found: process {q:.3f} (drawn with 0.010), measurement {r:.2f} (4.00)")


if __name__ == "__main__":
    main()
