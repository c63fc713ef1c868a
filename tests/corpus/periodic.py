"""Programs on rings and tori: neighbours are counted round the ends, by `%` or by `np.roll`."""

from __future__ import annotations

import numpy as np

from .entry import Entry


def reaction_diffusion(u, v, steps, feed, kill):
    for _ in range(steps):
        around_u = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, axis=1) - 4.0 * u
        left, right = np.roll(v, 1, axis=1), np.roll(v, -1, axis=1)
        around_v = np.roll(v, 1, axis=0) + np.roll(v, -1, axis=0) + left + right - 4.0 * v
        reaction = u * v * v
        u = u + 0.16 * around_u - reaction + feed * (1.0 - u)
        v = v + 0.08 * around_v + reaction - (feed + kill) * v
    return (u * v).sum()


def reaction_diffusion_oracle(xp, u, v, steps, feed, kill):
    def around(a):
        return sum(xp.roll(a, s, axis) for s in (-1, 1) for axis in (0, 1)) - 4.0 * a

    for _ in range(steps):
        reaction = u * v * v
        u, v = (
            u + 0.16 * around(u) - reaction + feed * (1.0 - u),
            v + 0.08 * around(v) + reaction - (feed + kill) * v,
        )
    return {"result": (u * v).sum()}


def shifts_on_a_ring(x, y, k):
    n = x.shape[0]
    for i in range(n):
        back = (i - 1 + n) % n
        y[i] += x[(i + 1) % n] * x[back] - x[(i - 2) % n] * x[(i + k) % n]
    for i in range(n - 1):
        y[(i - k) % n] *= x[-i % n]
    for i in range(n):
        y[(k - i) % n] += x[i] * x[i]


def shifts_oracle(xp, x, y, k):
    n = len(x)
    y = y + xp.roll(x, -1) * xp.roll(x, 1) - xp.roll(x, 2) * xp.roll(x, -k)
    factors = xp.concatenate([x[:1], x[:1:-1], xp.ones(1)])
    y = y * xp.roll(factors, -k)
    return {"y": y + (x * x)[np.array([(k - i) % n for i in range(n)])]}


def circular_convolution(x, w, y):
    n = x.shape[0]
    for i in range(n):
        for j in range(n):
            y[i] += x[j] * w[(i - j) % n]
    total = 0.0
    for i in range(n):
        for lag in range(3):
            total += y[i] * y[(i + lag) % n]
    return total


def convolution_oracle(xp, x, w, y):
    n = len(x)
    y = y + w[(np.arange(n)[:, None] - np.arange(n)) % n] @ x
    return {"y": y, "result": sum((y * xp.roll(y, -lag)).sum() for lag in range(3))}


def relaxed_torus(s, b, sweeps):
    n, m = s.shape
    for _ in range(sweeps):
        for i in range(n):
            for j in range(m):
                around = s[(i - 1) % n, j] + s[(i + 1) % n, j] + s[i, (j - 1) % m] + s[i, (j + 1) % m]
                s[i, j] = np.tanh(0.4 * around + b[i, j])


def torus_oracle(xp, s, b, sweeps):
    n, m = s.shape
    a = [[s[i, j] for j in range(m)] for i in range(n)]
    for _ in range(sweeps):
        for i in range(n):
            for j in range(m):
                around = a[i - 1][j] + a[(i + 1) % n][j] + a[i][j - 1] + a[i][(j + 1) % m]
                a[i][j] = xp.tanh(0.4 * around + b[i, j])
    return {"s": xp.stack([xp.stack(row) for row in a])}


VELOCITIES = ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, -1))


def streaming(f, steps, omega):
    f = f.copy()
    for _ in range(steps):
        mean = f.sum(axis=0) / 7.0
        moved = np.empty_like(f)
        for k in range(7):
            relaxed = f[k] + omega * (mean * mean - f[k])
            moved[k] = np.roll(relaxed, VELOCITIES[k], axis=(0, 1))
        f = moved
    return (f[1] * f[5]).sum()


def streaming_oracle(xp, f, steps, omega):
    for _ in range(steps):
        mean = f.sum(axis=0) / 7.0
        f = xp.stack([xp.roll(g + omega * (mean * mean - g), v, (0, 1)) for g, v in zip(f, VELOCITIES, strict=True)])
    return {"result": (f[1] * f[5]).sum()}


ENTRIES: tuple[Entry, ...] = (
    Entry(
        name="reaction_diffusion",
        function=reaction_diffusion,
        make=lambda r, n=4: dict(u=r.random((n, n + 1)), v=r.random((n, n + 1)), steps=3, feed=0.04, kill=0.06),
        wrt=("u", "v", "feed"),
        oracle=reaction_diffusion_oracle,
        is_twin=True,
        is_analytic=True,
        notes="Gray and Scott, Autocatalytic reactions in the isothermal, continuous stirred tank reactor, 1984",
    ),
    Entry(
        name="shifts_on_a_ring",
        function=shifts_on_a_ring,
        make=lambda r, n=7, k=-3: dict(x=r.random(n), y=r.random(n), k=k),
        wrt=("x", "y"),
        outputs=("y",),
        oracle=shifts_oracle,
        is_twin=True,
        is_analytic=True,
    ),
    Entry(
        name="circular_convolution",
        function=circular_convolution,
        make=lambda r, n=5: dict(x=r.random(n), w=r.random(n), y=r.random(n)),
        wrt=("x", "w", "y"),
        outputs=("y",),
        oracle=convolution_oracle,
        is_twin=True,
        is_analytic=True,
    ),
    Entry(
        name="relaxed_torus",
        function=relaxed_torus,
        make=lambda r, n=3, m=4: dict(s=r.normal(size=(n, m)), b=r.normal(size=(n, m)), sweeps=2),
        wrt=("s", "b"),
        outputs=("s",),
        oracle=torus_oracle,
        is_twin=True,
        is_analytic=True,
        notes="mean-field equations of an Ising model on a torus, relaxed in place",
    ),
    Entry(
        name="streaming",
        function=streaming,
        make=lambda r, n=3, m=4: dict(f=r.random((7, n, m)), steps=2, omega=0.6),
        wrt=("f", "omega"),
        oracle=streaming_oracle,
        is_twin=True,
        is_analytic=True,
        notes="the two steps of a lattice Boltzmann method: relaxation, and streaming along each velocity",
    ),
)
