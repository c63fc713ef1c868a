"""A wave on a string, recorded at one end: the speed of sound along the string is found from the record."""

from __future__ import annotations

import numpy as np

from loopdiff import vectorize_grad


def step(old, now, c, push):
    new = np.zeros_like(now)
    new[1:-1] = 2.0 * now[1:-1] - old[1:-1] + c[1:-1] ** 2 * (now[2:] - 2.0 * now[1:-1] + now[:-2])
    new[2] += push
    return new


@vectorize_grad(wrt=("c",))
def misfit(c, pulse, record):
    n, steps = c.shape[0], pulse.shape[0]
    old, now = np.zeros(n), np.zeros(n)
    loss = 0.0
    for t in range(steps):
        new = step(old, now, c, pulse[t])
        loss += (new[3] - record[t]) ** 2
        old, now = now, new
    return loss


def recorded(c: np.ndarray, pulse: np.ndarray) -> np.ndarray:
    old, now, seen = np.zeros(len(c)), np.zeros(len(c)), np.zeros(len(pulse))
    for t in range(len(pulse)):
        new = step(old, now, c, pulse[t])
        seen[t] = new[3]
        old, now = now, new
    return seen


def main() -> dict[str, np.ndarray]:
    n, t = 60, np.arange(250)
    pulse = np.exp(-0.5 * ((t - 12) / 4.0) ** 2)
    truth = np.full(n, 0.5)
    truth[20:30] = 0.6
    record = recorded(truth, pulse)
    c, first, second = np.full(n, 0.5), np.zeros(n), np.zeros(n)
    for k in range(1, 801):
        loss, g = misfit.value_and_grad(c, pulse, record)
        first, second = 0.9 * first + 0.1 * g.c, 0.99 * second + 0.01 * g.c**2
        c -= 0.005 * first / (1 - 0.9**k) / (np.sqrt(second / (1 - 0.99**k)) + 1e-12)
        if k % 200 == 0:
            print(f"step {k:3d}  misfit {loss:.2e}")
    print(f"speed in the middle {c[22:28].mean():.2f} (it is 0.60), before it {c[8:16].mean():.2f} (0.50)")
    return {"speed found": c, "true": truth}


if __name__ == "__main__":
    main()
