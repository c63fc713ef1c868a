"""An epidemic (SIR) integrated by Runge-Kutta's method: infection and recovery rates found from counts of the ill."""

from __future__ import annotations

import numpy as np

from loopdiff import vectorize_grad


def slopes(y, beta, gamma):
    infected = beta * y[0] * y[1]
    recovered = gamma * y[1]
    return np.array([-infected, infected - recovered, recovered])


def step(y, beta, gamma, h):
    k1 = slopes(y, beta, gamma)
    k2 = slopes(y + 0.5 * h * k1, beta, gamma)
    k3 = slopes(y + 0.5 * h * k2, beta, gamma)
    k4 = slopes(y + h * k3, beta, gamma)
    return y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)


@vectorize_grad(wrt=("beta", "gamma"))
def misfit(beta, gamma, start, observed, h):
    y = start.copy()
    loss = 0.0
    for day in range(observed.shape[0]):
        y = step(y, beta, gamma, h)
        loss += (y[1] - observed[day]) ** 2
    return loss


def ill(beta: float, gamma: float, start: np.ndarray, days: int) -> np.ndarray:
    y, counts = start, np.zeros(days)
    for day in range(days):
        y = step(y, beta, gamma, 1.0)
        counts[day] = y[1]
    return counts


def main() -> dict[str, np.ndarray]:
    start = np.array([0.99, 0.01, 0.0])
    observed = ill(0.4, 0.1, start, 60)
    rates, speed = np.array([0.3, 0.2]), np.zeros(2)
    for k in range(300):
        loss, g = misfit.value_and_grad(rates[0], rates[1], start, observed, 1.0)
        speed = 0.8 * speed - 0.002 * np.array([g.beta, g.gamma])
        rates = rates + speed
        if k % 100 == 0:
            print(f"step {k:3d}  loss {loss:.2e}")
    print(f"found beta {rates[0]:.3f} and gamma {rates[1]:.3f}")
    return {"observed": observed, "found": ill(rates[0], rates[1], start, 60), "first guess": ill(0.3, 0.2, start, 60)}


if __name__ == "__main__":
    main()
