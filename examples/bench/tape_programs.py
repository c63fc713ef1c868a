"""Programs whose reverse sweep needs what the forward sweep overwrites, and the least that it can do with.

The first are those of which the tape was once measured and found too large. Each returns a number, so that
`value_and_grad` differentiates it; arrays that it overwrites count as they are at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.corpus.recurrences import lstm_diag, nbody
from tests.corpus.versions import advected, attention_rows, rotated_wave, shortest_paths, triangular_product_in_place

Args = dict[str, Any]


def closest(d):
    shortest_paths(d)
    return np.sum(d * d)


def triangular(A, B):
    triangular_product_in_place(A, B)
    return np.sum(B * B)


def bodies(mass, pos, vel, dt, G, soft, KE, PE):
    nbody(mass, pos, vel, dt, G, soft, KE, PE)
    return np.sum(KE * KE) + np.sum(PE * PE)


def pivoted_lu(A):
    """In place, whole rows change places; the loss is the logarithm of the determinant, and all of both factors."""
    n = A.shape[0]
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[p, k]):
                p = i
        for j in range(n):
            A[k, j], A[p, j] = A[p, j], A[k, j]
        for i in range(k + 1, n):
            A[i, k] /= A[k, k]
            for j in range(k + 1, n):
                A[i, j] -= A[i, k] * A[k, j]
    s = 0.0
    for k in range(n):
        s += np.log(abs(A[k, k]))
    return s + 0.001 * np.sum(A * A)


def gauss_seidel(u, f, sweeps):
    for _ in range(sweeps):
        for i in range(1, u.shape[0] - 1):
            r = f[i] + u[i - 1] - 2.0 * u[i] + u[i + 1] - 0.1 * u[i] ** 3
            u[i] += 0.4 * r
    return np.sum(u * u)


def slope(y, k, rate):
    n = y.shape[0]
    for i in range(n):
        k[i] = (y[(i + 1) % n] - y[(i - 2) % n]) * y[(i - 1) % n] - y[i] + rate


def runge_kutta(y, rate, h, steps):
    """Lorenz' model of 1996 in steps of four stages, each in a buffer of its own."""
    n = y.shape[0]
    k1, k2, k3, k4, z = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    for _ in range(steps):
        slope(y, k1, rate)
        for i in range(n):
            z[i] = y[i] + 0.5 * h * k1[i]
        slope(z, k2, rate)
        for i in range(n):
            z[i] = y[i] + 0.5 * h * k2[i]
        slope(z, k3, rate)
        for i in range(n):
            z[i] = y[i] + h * k3[i]
        slope(z, k4, rate)
        for i in range(n):
            y[i] += h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i])
    return np.sum(y * y)


def hidden_markov(logA, emissions):
    """The logarithm of the likelihood: `logA` from one state to another, `emissions` of each step and state."""
    steps, n = emissions.shape
    alpha, new = np.zeros(n), np.zeros(n)
    for j in range(n):
        alpha[j] = emissions[0, j]
    for t in range(1, steps):
        for j in range(n):
            top = -np.inf
            for i in range(n):
                top = max(top, alpha[i] + logA[i, j])
            s = 0.0
            for i in range(n):
                s += np.exp(alpha[i] + logA[i, j] - top)
            new[j] = top + np.log(s) + emissions[t, j]
        for j in range(n):
            alpha[j] = new[j]
    top = -np.inf
    for j in range(n):
        top = max(top, alpha[j])
    s = 0.0
    for j in range(n):
        s += np.exp(alpha[j] - top)
    return top + np.log(s)


def soft_dtw(x, y, gamma):
    n, m = x.shape[0], y.shape[0]
    R = np.full((n + 1, m + 1), 1e10)
    R[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            a, b, c = R[i - 1, j - 1], R[i - 1, j], R[i, j - 1]
            low = min(a, b, c)
            soft = np.exp((low - a) / gamma) + np.exp((low - b) / gamma) + np.exp((low - c) / gamma)
            R[i, j] = (x[i - 1] - y[j - 1]) ** 2 + low - gamma * np.log(soft)
    return R[n, m]


def smith_waterman(score, gap):
    """The best local alignment, with two rows of the table in memory."""
    n, m = score.shape
    row, above = np.zeros(m + 1), np.zeros(m + 1)
    best = 0.0
    for i in range(n):
        for j in range(m):
            row[j + 1] = max(0.0, above[j] + score[i, j], above[j + 1] - gap, row[j] - gap)
            best = max(best, row[j + 1])
        for j in range(m + 1):
            above[j] = row[j]
    return best


def k_means(x, centres, rounds):
    n, d = x.shape
    k = centres.shape[0]
    counts = np.zeros(k)
    nearest = np.zeros(n, np.int64)
    for _ in range(rounds):
        for p in range(n):
            least = np.inf
            for c in range(k):
                far = 0.0
                for e in range(d):
                    far += (x[p, e] - centres[c, e]) ** 2
                if far < least:
                    least = far
                    nearest[p] = c
        for c in range(k):
            counts[c] = 0.0
            for e in range(d):
                centres[c, e] = 0.0
        for p in range(n):
            counts[nearest[p]] += 1.0
            for e in range(d):
                centres[nearest[p], e] += x[p, e]
        for c in range(k):
            for e in range(d):
                centres[c, e] /= max(counts[c], 1.0)
    s = 0.0
    for p in range(n):
        for e in range(d):
            s += (x[p, e] - centres[nearest[p], e]) ** 2
    return s


def alternating(u, c, steps):
    """Implicit steps of nonlinear diffusion by turns along rows and along columns, a tridiagonal system for each."""
    n = u.shape[0]
    p, q = np.zeros((n, n)), np.zeros((n, n))
    for _ in range(steps):
        for i in range(n):
            p[i, 0], q[i, 0] = 0.0, u[i, 0]
            for j in range(1, n - 1):
                a = c * (1.0 + 0.5 * u[i, j] ** 2)
                p[i, j] = a / (1.0 + 2.0 * a - a * p[i, j - 1])
                q[i, j] = (u[i, j] + a * q[i, j - 1]) / (1.0 + 2.0 * a - a * p[i, j - 1])
        for i in range(n):
            for j in range(n - 2, 0, -1):
                u[i, j] = p[i, j] * u[i, j + 1] + q[i, j]
        for j in range(n):
            p[0, j], q[0, j] = 0.0, u[0, j]
        for i in range(1, n - 1):
            for j in range(n):
                a = c * (1.0 + 0.5 * u[i, j] ** 2)
                p[i, j] = a / (1.0 + 2.0 * a - a * p[i - 1, j])
                q[i, j] = (u[i, j] + a * q[i - 1, j]) / (1.0 + 2.0 * a - a * p[i - 1, j])
        for i in range(n - 2, 0, -1):
            for j in range(n):
                u[i, j] = p[i, j] * u[i + 1, j] + q[i, j]
    return np.sum(u * u)


def red_black(u, f, sweeps):
    n, m = u.shape
    for _ in range(sweeps):
        for colour in range(2):
            for i in range(1, n - 1):
                for j in range(1 + (i + colour) % 2, m - 1, 2):
                    r = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j]
                    u[i, j] += 0.3 * (r + f[i, j] - 0.1 * u[i, j] ** 3)
    return np.sum(u * u)


def waves_until(u, v, c, end):
    """`rotated_wave` in a loop that data end: how long a step is follows from the field. Powers are products, as those
    of Python's are slower, and what decides is computed as Python does.
    """
    n, m = u.shape
    w = np.zeros_like(u)
    t = 0.0
    while t < end:
        t += 1.0 / (1.0 + 0.01 * abs(v[n // 2, m // 2]))
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                lap = v[i - 1, j] + v[i + 1, j] + v[i, j - 1] + v[i, j + 1] - 4.0 * v[i, j]
                w[i, j] = 2.0 * v[i, j] - u[i, j] + c * lap - 0.1 * v[i, j] * v[i, j] * v[i, j]
        u, v, w = v, w, u
    return np.sum(v * v) + np.sum(u)


# -- what they are called with -------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Program:
    """`make` gives arguments of a size, `full` what is measured, `small` what an oracle can follow; `least` the bytes
    that no derivative can do without for arguments, and `reason` what they are.
    """

    name: str
    function: Callable[..., Any]
    make: Callable[..., Args]
    full: Mapping[str, Any]
    small: Mapping[str, Any]
    least: Callable[[Args], int]
    reason: str
    is_asked: bool = False
    wrt: tuple[str, ...] | None = None


def wave_arguments(n: int, steps: int) -> Args:
    r = np.random.default_rng(1)
    u = 0.1 * r.random((n, n))
    return dict(u=u, v=u + 0.001 * r.random((n, n)), c=0.1, steps=steps)


def flow_arguments(n: int, steps: int, dtype: str = "float32") -> Args:
    r = np.random.default_rng(2)
    speeds = (r.uniform(0.6, 2.4, (n, n)).astype(dtype), r.uniform(-1.4, 0.4, (n, n)).astype(dtype))
    return dict(f=r.random((n, n)).astype(dtype), u=speeds[0], v=speeds[1], steps=steps)


def body_arguments(n: int, steps: int) -> Args:
    r = np.random.default_rng(3)
    made = dict(mass=np.full(n, 20.0 / n), pos=r.random((n, 3)), vel=r.random((n, 3)), dt=0.01)
    return {**made, "G": 1.0, "soft": 0.1, "KE": np.zeros(steps + 1), "PE": np.zeros(steps + 1)}


def lstm_arguments(layers: int, steps: int, n: int) -> Args:
    r = np.random.default_rng(4)
    made = dict(main=r.random((2 * layers, 4 * n)), extra=r.random((3, n)), state=r.random((2 * layers, n)))
    return {**made, "seq": r.integers(0, 2, (steps, n)).astype(float)}


def drawn(*shape: int, seed: int = 5, low: float = 0.0, high: float = 1.0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(low, high, shape)


def steps_of(name: str) -> Callable[[Args], int]:
    """An array, as it is ahead of each step."""
    return lambda a: a[name].nbytes * next(a[n] for n in ("steps", "sweeps", "rounds") if n in a)


PROGRAMS = (
    Program(
        "shortest paths", closest, lambda n: dict(d=drawn(n, n, low=0.1)), dict(n=200), dict(n=6),
        lambda a: a["d"].shape[0] ** 3, "a byte for each pair and step: which way was the shorter one", True,
    ),
    Program(
        "advection", advected, flow_arguments, dict(n=128, steps=100), dict(n=6, steps=3, dtype="float64"),
        steps_of("f"), "the field ahead of each step", True,
    ),
    Program(
        "triangular product", triangular, lambda n: dict(A=drawn(n, n), B=drawn(n, n, seed=6)), dict(n=72),
        dict(n=6), lambda a: a["B"].nbytes, "the matrix as it was at first", True,
    ),
    Program(
        "wave", rotated_wave, wave_arguments, dict(n=128, steps=200), dict(n=6, steps=6),
        steps_of("v"), "the field of each step, from which the next two follow", True,
    ),
    Program(
        "attention", attention_rows, lambda n, d: dict(q=drawn(n, d), k=drawn(n, d, seed=6), v=drawn(n, d, seed=7)),
        dict(n=512, d=16), dict(n=6, d=3), lambda a: 8 * (a["q"].shape[0] ** 2 + 2 * a["q"].shape[0]),
        "the scores, and two numbers for each row", True,
    ),
    Program(
        "n-body", bodies, body_arguments, dict(n=25, steps=40), dict(n=4, steps=3),
        lambda a: 2 * a["pos"].nbytes * a["KE"].shape[0], "places and velocities of each step, which energies square",
        True, ("mass", "pos", "vel"),
    ),
    Program(
        "LU with pivoting", pivoted_lu, lambda n: dict(A=drawn(n, n, low=-1.0)), dict(n=150), dict(n=6),
        lambda a: 8 * a["A"].shape[0], "which row was chosen: what is divided and subtracted is in the factors",
    ),
    Program(
        "Gauss-Seidel, nonlinear", gauss_seidel, lambda n, sweeps: dict(u=drawn(n), f=drawn(n, seed=6), sweeps=sweeps),
        dict(n=4096, sweeps=200), dict(n=7, sweeps=4), steps_of("u"), "the vector ahead of each sweep",
    ),
    Program(
        "Runge-Kutta, four stages", runge_kutta, lambda n, steps: dict(y=drawn(n), rate=8.0, h=0.01, steps=steps),
        dict(n=2048, steps=200), dict(n=7, steps=3), steps_of("y"), "the state ahead of each step",
    ),
    Program(
        "LSTM", lstm_diag, lstm_arguments, dict(layers=2, steps=1024, n=14), dict(layers=2, steps=4, n=3),
        lambda a: a["state"].nbytes * (a["seq"].shape[0] - 1), "cells and outputs of all layers ahead of each step",
        wrt=("main", "extra"),
    ),
    Program(
        "hidden Markov model, logarithms", hidden_markov,
        lambda steps, n: dict(logA=np.log(drawn(n, n, low=0.1)), emissions=np.log(drawn(steps, n, low=0.1))),
        dict(steps=400, n=48), dict(steps=4, n=3), lambda a: a["emissions"].nbytes, "a row of each step",
    ),
    Program(
        "soft time warping", soft_dtw, lambda n: dict(x=drawn(n), y=drawn(n, seed=6), gamma=0.5), dict(n=400),
        dict(n=5), lambda a: 8 * (a["x"].shape[0] + 1) ** 2, "the table, which the program has",
    ),
    Program(
        "Smith and Waterman", smith_waterman, lambda n: dict(score=drawn(n, n, low=-1.0), gap=0.3), dict(n=500),
        dict(n=6), lambda a: 2 * a["score"].size, "a byte for each element: which of four won; one: whether it is best",
    ),
    Program(
        "k-means", k_means, lambda n, k, rounds: dict(x=drawn(n, 3), centres=drawn(k, 3, seed=6), rounds=rounds),
        dict(n=5000, k=12, rounds=20), dict(n=9, k=3, rounds=3),
        lambda a: 8 * a["rounds"] * (a["x"].shape[0] + a["centres"].shape[0]),
        "the nearest centre of each point and round, an integer, and how many points it had",
    ),
    Program(
        "alternating directions, nonlinear", alternating, lambda n, steps: dict(u=drawn(n, n), c=0.2, steps=steps),
        dict(n=128, steps=40), dict(n=5, steps=2), lambda a: 2 * a["u"].nbytes * a["steps"],
        "the field ahead of each half of a step: its systems are solved again",
    ),
    Program(
        "red and black, nonlinear", red_black,
        lambda n, sweeps: dict(u=drawn(n, n), f=drawn(n, n, seed=6), sweeps=sweeps),
        dict(n=128, sweeps=100), dict(n=6, sweeps=3), steps_of("u"), "the field ahead of each sweep",
    ),
)  # fmt: skip
BY_NAME = {p.name: p for p in PROGRAMS}
