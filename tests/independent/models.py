"""Programs as people write them, with NumPy's functions where arrays are bound anew, and structures; to be varied."""

from __future__ import annotations

from typing import Any

import numpy as np

from .expected import Program
from .idioms import rows
from .structures import Model, State

A, Q, H = rows(11, 3, 3), 0.3 * np.eye(3), rows(12, 2, 3)
S = rows(13, 3, 3) @ rows(13, 3, 3).T + np.eye(3)
V, W, X = rows(14, 3), rows(15, 3), rows(16, 5, 3)

TEXTS: dict[str, tuple[str, dict[str, Any]]] = {
    "covariance of a filter": (
        """
def f(A, Q, n):
    P = np.eye(3)
    for k in range(n):
        P = A @ P @ A.T + Q
        if k % 2 == 0:
            K = P @ np.linalg.inv(P + np.eye(3))
            P = (np.eye(3) - K) @ P
        P = 0.5 * (P + P.T) + np.diag(np.diag(P)) * 0.1
    return np.trace(P) + np.linalg.det(P)
""",
        {"A": A, "Q": Q, "n": 2},
    ),
    "filter": (
        """
def f(A, H, x, ys):
    P = np.identity(3)
    ll = 0.0
    for y in ys:
        x = A @ x
        P = 0.5 * (A @ P @ A.T) + np.eye(3)
        S = H @ P @ H.T + np.eye(2)
        v = y - H @ x
        K = P @ H.T @ np.linalg.inv(S)
        x = x + K @ v
        P = (np.eye(3) - K @ H) @ P
        ll -= v @ np.linalg.solve(S, v) + np.linalg.slogdet(S)[1]
    return ll + x @ x
""",
        {"A": A, "H": H, "x": V, "ys": rows(17, 2, 2)},
    ),
    "series of the exponential": (
        """
def f(A, n):
    E = np.eye(len(A))
    T = np.eye(len(A))
    for k in range(1, n + 2):
        T = T @ A / k
        E = E + T
        if k > 2:
            E = np.linalg.matrix_power(E, 2) / (1.0 + np.linalg.norm(E))
    return (E * E).sum()
""",
        {"A": A, "n": 2},
    ),
    "inverse by iteration": (
        """
def f(A, n):
    X = A.T / np.linalg.norm(A) ** 2
    for k in range(n):
        X = X @ (2.0 * np.eye(3) - A @ X)
    return np.trace(X)
""",
        {"A": S, "n": 3},
    ),
    "implicit steps": (
        """
def f(u, nu, steps):
    N = len(u)
    L = np.diag(np.ones(N - 1), 1) + np.diag(np.ones(N - 1), -1) - 2.0 * np.eye(N)
    M = np.eye(N) - 0.1 * nu * L
    for t in range(steps):
        u = np.linalg.solve(M, u)
        if t > 0:
            M = M + 0.1 * np.diag(u)
    return (u * u).sum()
""",
        {"u": V, "nu": 0.7, "steps": 2},
    ),
    "advection on a ring": (
        """
def f(u, c, steps):
    for t in range(steps):
        left = np.concatenate((u[-1:], u[:-1]))
        right = np.roll(u, -1)
        u = u - 0.5 * c * (right - left) + 0.5 * c * c * (right - 2.0 * u + left)
        if u.max() > 1.03:
            u = np.clip(u, -1.0, 1.0)
    return np.dot(u, u) + np.ptp(u)
""",
        {"u": rows(18, 5), "c": 0.4, "steps": 2},
    ),
    "mixture of normals": (
        """
def f(x, mu, n):
    total = 0.0
    sig = np.ones(2)
    for k in range(n):
        d = np.exp(-0.5 * ((x[:, None] - mu) / sig) ** 2) / sig
        r = d / d.sum(axis=1, keepdims=True)
        N = r.sum(axis=0)
        mu = (r * x[:, None]).sum(axis=0) / N
        sig = np.sqrt((r * (x[:, None] - mu) ** 2).sum(axis=0) / N + 0.1)
        total = np.log(d.sum(axis=1)).sum()
    return total + np.average(mu, weights=N)
""",
        {"x": rows(19, 5), "mu": np.array([1.1, -0.7]), "n": 2},
    ),
    "sorted and filtered": (
        """
def f(x, w, n):
    y = np.cumsum(x)
    for k in range(n):
        z = np.sort(y)
        y = np.where(y > np.median(z), np.diff(np.concatenate((z, z[:1]))), 0.5 * y)
        y = y + np.interp(0.5, np.cumsum(z * z + 0.1), w)
        w = w[np.argsort(y)]
    return np.trapezoid(y) + np.histogram(y, 2, weights=w)[0][0]
""",
        {"x": rows(20, 5), "w": rows(21, 5), "n": 2},
    ),
    "rotations one after the other": (
        """
def f(angles, v):
    M = np.eye(3)
    for k in range(3):
        c, s = np.cos(angles[k]), np.sin(angles[k])
        if k == 0:
            R = np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
        elif k == 1:
            R = np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
        else:
            R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        M = M @ R
        v = np.cross(v, M[0])
    return v @ M @ v
""",
        {"angles": V, "v": W},
    ),
    "recurrent cell": (
        """
def cell(p, s, x):
    z = p["W"] @ s.h + x + p["b"]
    g = 1.0 / (1.0 + np.exp(-z))
    c = g * s.c + (1.0 - g) * np.tanh(z)
    return State(g * np.tanh(c), c)


def f(p, xs, s):
    out = 0.0
    for x in xs:
        s = cell(p, s, x)
        out += s.h @ s.h
    return out + s.c.sum()
""",
        {"p": {"W": A, "b": V}, "xs": X[:2].copy(), "s": State(V.copy(), W)},
    ),
    "layers in a list": (
        """
def dense(layer, h):
    W, b = layer
    return W @ h + b


def f(layers, x, target, act=np.tanh):
    h = x
    for layer in layers[:-1]:
        h = act(dense(layer, h))
    err = dense(layers[-1], h) - target
    penalty = sum((W * W).sum() for W, b in layers)
    return 0.5 * (err * err).sum() + 0.01 * penalty
""",
        {"layers": [(A, V), (A.T.copy(), W)], "x": V.copy(), "target": W.copy()},
    ),
    "descent with momentum": (
        """
def gradient(p, x):
    r = p["w"] * x + p["b"] - 1.0
    return {"w": r * x, "b": r}


def f(p, x, rate, n):
    m = {"w": np.zeros_like(p["w"]), "b": np.zeros_like(p["b"])}
    for k in range(n):
        g = gradient(p, x)
        m = {key: 0.9 * m[key] + g[key] for key in m}
        p = {key: v - rate * m[key] for key, v in p.items()}
    return {"loss": ((p["w"] * x + p["b"] - 1.0) ** 2).sum(), "p": p}
""",
        {"p": {"w": V, "b": W}, "x": X[0].copy(), "rate": 0.1, "n": 2},
    ),
    "epidemic": (
        """
def step(s, p):
    new = p.w * s[0] * s[1]
    return (s[0] - new, s[1] + new - p.k * s[1], s[2] + p.k * s[1])


def f(s, p, n):
    peak = 0.0
    for k in range(n):
        s = step(s, p)
        peak = max(peak, s[1])
        if s[1] > 0.31:
            p = Model(0.8 * p.w, p.b, p.k)
    return peak + s[2] * p.b
""",
        {"s": (0.9, 0.1, 0.0), "p": Model(0.9, 1.3, 0.2), "n": 3},
    ),
    "two bodies": (
        """
def pull(a, b):
    d = b["x"] - a["x"]
    return b["m"] * d / (d @ d + 0.1) ** 1.5


def f(bodies, dt, n):
    for k in range(n):
        first, second = bodies
        v = [first["v"] + dt * pull(first, second), second["v"] + dt * pull(second, first)]
        bodies = [{**b, "x": b["x"] + dt * u, "v": u} for b, u in zip(bodies, v)]
    return sum(0.5 * b["m"] * (b["v"] @ b["v"]) for b in bodies)
""",
        {
            "bodies": [{"x": V, "v": W, "m": 1.2}, {"x": W.copy(), "v": V.copy(), "m": 0.7}],
            "dt": 0.1,
            "n": 2,
        },
    ),
    "columns made orthogonal": (
        """
def f(A, n):
    for k in range(n):
        Q = np.zeros_like(A)
        R = np.zeros((3, 3))
        for j in range(3):
            v = A[:, j]
            for i in range(j):
                R[i, j] = Q[:, i] @ v
                v = v - R[i, j] * Q[:, i]
            R[j, j] = np.linalg.norm(v)
            Q[:, j] = v / R[j, j]
        A = R @ Q
    return np.diag(A).max() + np.tril(A, -1).sum()
""",
        {"A": S, "n": 2},
    ),
    "feedback": (
        """
def f(A, B, x, n):
    P = np.eye(3)
    K = np.zeros((2, 3))
    for k in range(n):
        K = np.linalg.solve(np.eye(2) + B.T @ P @ B, B.T @ P @ A)
        P = np.eye(3) + 0.3 * A.T @ P @ (A - B @ K)
    cost = 0.0
    for k in range(n):
        u = -K @ x
        cost += x @ x + u @ u
        x = A @ x + B @ u
    return cost
""",
        {"A": A, "B": H.T.copy(), "x": V, "n": 2},
    ),
}


def models() -> list[Program]:
    return [Program(text.strip("\n") + "\n", args, name) for name, (text, args) in TEXTS.items()]
