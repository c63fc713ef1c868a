"""Molecular dynamics of Lennard-Jones atoms by velocity Verlet's method: the push that sends them to given places. The
forces are the gradient of the energy, inside the program that is differentiated."""

from __future__ import annotations

import numpy as np

from loopdiff import vectorize_grad


@vectorize_grad(wrt=("x",))
def energy(x, sigma):
    e = 0.0
    for i in range(x.shape[0]):
        for j in range(i):
            s6 = (sigma * sigma / ((x[i] - x[j]) ** 2).sum()) ** 3
            e += 4.0 * (s6 * s6 - s6)
    return e


@vectorize_grad(wrt=("v", "sigma"))
def far_from(goal, q, v, sigma, h, steps):
    """How far from `goal` the atoms are in the end."""
    x, u = q.copy(), v.copy()
    force = -energy.grad(x, sigma).x
    for _ in range(steps):
        u = u + 0.5 * h * force
        x = x + h * u
        force = -energy.grad(x, sigma).x
        u = u + 0.5 * h * force
    return ((x - goal) ** 2).sum()


def main() -> None:
    grid = np.array([(i, j) for i in range(3) for j in range(3)], dtype=float)
    q, v = 1.2 * grid, np.zeros((9, 2))
    goal = q + 0.1 * np.random.default_rng(0).standard_normal(q.shape)
    for k in range(401):
        loss, g = far_from.value_and_grad(goal, q, v, 1.0, 0.01, 50)
        if k % 200 == 0:
            print(f"step {k:3d}  distance {loss:.1e}")
        v -= 0.5 * g.v
    e = 1e-6
    ends = [far_from(goal, q, v, 1.0 + s, 0.01, 50) for s in (e, -e)]
    slope = far_from.grad(goal, q, v, 1.0, 0.01, 50).sigma
    print(f"slope by sigma: differences agree to {abs((ends[0] - ends[1]) / (2 * e) - slope):.0e}")


if __name__ == "__main__":
    main()
