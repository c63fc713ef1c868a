"""NumPy as people write it: masks along any axis, names that the first iteration binds, decimals, small integers."""

from __future__ import annotations

import numpy as np

from .entry import Entry


def masks_along_axes(x, T):
    m = x > 0.5
    k = np.arange(5) > 2
    T[:, m, 1:] *= 2.0
    T[1, m, 0] += x[m]
    T[0, :, k] = np.outer(np.array([1.0, 2.0]), x)
    B = T[:, m, 1:]
    C = T[2, :, k]
    E = T[1:, m, 2]
    return np.sum(B * np.arange(4.0)) + np.sum(C * x) + np.sum(E * E) + B.shape[1] + C.shape[0]


def masks_oracle(xp, x, T):
    m = (np.asarray(x) > 0.5).astype(float)
    k = np.arange(5) > 2
    scale = 1.0 + m[None, :, None] * (np.arange(5) > 0)
    first = np.zeros((3, 4, 5))
    first[1, :, 0] = 1.0
    T = T * scale + first * (m * x)[None, :, None]
    corner = np.zeros((3, 4, 5))
    corner[0, :, 3:] = 1.0
    values = xp.stack([x, x, x, x, 2.0 * x], axis=1)
    T = xp.where(corner > 0, values[None], T)
    total = xp.sum(T[:, :, 1:] * m[None, :, None] * np.arange(4.0)) + xp.sum(T[2, :, 3:] * x[:, None])
    total = total + xp.sum(T[1:, :, 2] ** 2 * m) + np.sum(m) + np.sum(k)
    return {"T": T, "result": total}


def masks_of_matrices(x):
    n = x.size
    K = np.zeros((n, n))
    for e in range(n - 1):
        K[e : e + 2, e : e + 2] += (x[e] + 1.0) * np.array([[1, -1], [-1, 1]])
    free = np.ones(n, dtype=bool)
    free[0] = False
    u = np.zeros(n)
    u[free] = np.linalg.solve(K[np.ix_(free, free)], np.ones(n)[free])
    return u.sum() + np.linalg.det(K[free][:, free])


def matrices_oracle(xp, x):
    k = x[:-1] + 1.0  # springs one behind the other: each carries all the loads beyond it
    loads = np.arange(k.shape[0], 0, -1.0)
    return {"result": xp.sum(loads * loads / k) + xp.prod(k)}


def first_iteration_binds(x):
    s = 0.0
    for t in range(x.size):
        if t == 0:
            mean = 2.0 * x
            best = x[0]
        else:
            mean = 0.5 * mean + x[t]
            best = best + x[t] * x[t]
        s += mean.sum() * best
    for i, v in enumerate(x):
        if i > 0:
            s += (v - last) ** 3  # noqa: F821
        last = v  # noqa: F841
    return s


def first_oracle(xp, x):
    mean, best, s = 2.0 * x, x[0], 0.0
    s = xp.sum(mean) * best
    for t in range(1, x.shape[0]):
        mean, best = 0.5 * mean + x[t], best + x[t] ** 2
        s = s + xp.sum(mean) * best
    return {"result": s + xp.sum((x[1:] - x[:-1]) ** 3)}


def list_turned_round(x):
    path = [0]
    for k in range(1, len(x)):
        path.append((path[-1] + 3) % len(x))
    path.reverse()
    rows = [2.0 * x]
    for k in range(3):
        rows.append(rows[-1] * x)
    first = rows[0]
    rows.reverse()
    s = 0.0
    for k, p in enumerate(path):
        s += k * x[p] ** 2
    return s + np.sum(rows[0]) + np.sum(rows[1] * first)


def turned_oracle(xp, x):
    n = x.shape[0]
    path = [3 * (n - 1 - k) % n for k in range(n)]
    squares = sum(k * x[p] ** 2 for k, p in enumerate(path))
    return {"result": squares + xp.sum(2.0 * x**4) + xp.sum(4.0 * x**4)}


def choices_in_comprehensions(X, C):
    for _ in range(2):
        labels = np.argmin(((X[:, None, :] - C[None, :, :]) ** 2).sum(-1), axis=1)
        C = np.array([X[labels == k].mean(axis=0) if np.any(labels == k) else C[k] for k in range(len(C))])
    return sum(np.min(((x - C) ** 2).sum(axis=1)) for x in X)


def choices_oracle(xp, X, C):
    for _ in range(2):
        distances = np.sum((np.asarray(X)[:, None] - np.asarray(C)) ** 2, axis=-1)
        near = np.argmin(distances, axis=1)[:, None] == np.arange(C.shape[0])
        count = near.sum(axis=0)[:, None]
        C = xp.where(count > 0, near.T.astype(float) @ X / np.maximum(count, 1), C)
    return {"result": xp.sum(xp.min(xp.sum((X[:, None] - C) ** 2, axis=-1), axis=1))}


def decimals_and_small_integers(x):
    signs = (np.arange(6) % 2 * 2 - 1).astype(np.int8)
    narrow = (np.arange(6) * 50).astype(np.uint8)
    whole, rest = np.divmod(x, 0.25)
    a, b = divmod(17, 5)
    return (
        np.sum(np.round(x, 1) * x)
        + x[0].round(2) * np.sum(signs * x)
        + np.sum((narrow + 10) * x)
        + np.sum(whole + rest * rest) * divmod(a, b)[0]
    )


def decimals_oracle(xp, x):
    rounded = np.round(np.asarray(x), 1)
    first = float(np.round(np.asarray(x)[0], 2))
    signs, narrow = np.array([-1, 1, -1, 1, -1, 1]), np.array([10, 60, 110, 160, 210, 4])
    whole = np.floor(np.asarray(x) / 0.25)
    rest = x - 0.25 * whole
    return {"result": xp.sum(rounded * x) + first * xp.sum(signs * x) + xp.sum(narrow * x) + xp.sum(whole + rest**2)}


def trajectory_in_a_list(theta, y0):
    p = dict(alpha=theta[0], beta=theta[1])

    def rhs(y):
        x, z = y
        return np.array([p["alpha"] * x - x * z, x * z - p["beta"] * z])

    h = 0.05
    y = y0.copy()
    ys = [y]
    for _ in range(20):
        k1 = rhs(y)
        k2 = rhs(y + h * k1)
        y = y + h / 2 * (k1 + k2)
        ys.append(y)
    steps = np.array(ys)
    return np.mean(steps[:, 0] ** 2) + steps[-1, 1] * steps[7, 0]


def trajectory_oracle(xp, theta, y0):
    def rhs(y):
        return xp.stack([theta[0] * y[0] - y[0] * y[1], y[0] * y[1] - theta[1] * y[1]])

    rows = [y0]
    for _ in range(20):
        first = rhs(rows[-1])
        rows.append(rows[-1] + 0.025 * (first + rhs(rows[-1] + 0.05 * first)))
    steps = xp.stack(rows)
    return {"result": xp.mean(steps[:, 0] ** 2) + steps[-1, 1] * steps[7, 0]}


def ring(shape, r):
    I, J = np.indices(shape)
    d = np.zeros(shape)
    for i in range(shape[0]):
        d[i, -1] = r
    return d + np.hypot(I - shape[0] // 2, J - shape[1] / 2.0) * r


def shapes_of_its_own(x):
    grid = np.zeros((len(x), 4))
    grid += x[:, None]
    wave = np.sin(grid) * 0.5
    size = wave.shape
    return (ring(wave.shape, x[0]) * wave).sum() + (ring(size[::-1], x[1]).T * wave).sum()


def shapes_oracle(xp, x):
    wave = xp.sin(x)[:, None] * xp.ones(4) * 0.5
    n = x.shape[0]
    first = np.hypot(np.arange(n)[:, None] - n // 2, np.arange(4) - 2.0) + np.eye(4)[-1]
    other = np.hypot(np.arange(4) - 2, np.arange(n)[:, None] - n / 2.0) + np.eye(n)[-1][:, None]
    return {"result": xp.sum(x[0] * first * wave) + xp.sum(x[1] * other * wave)}


def entry(function, make, wrt, oracle, constructs, notes, is_twin=True, outputs=()):
    return Entry(
        name=function.__name__, function=function, make=make, wrt=wrt, oracle=oracle, is_twin=is_twin,
        constructs=constructs, notes=notes, outputs=outputs,
    )  # fmt: skip


ENTRIES = (
    entry(
        masks_along_axes, lambda r: {"x": r.random(4), "T": r.random((3, 4, 5))}, ("x", "T"), masks_oracle, (),
        "where NumPy has the axis of what a mask chooses", is_twin=False, outputs=("T",),
    ),
    entry(masks_of_matrices, lambda r: {"x": r.random(5)}, ("x",), matrices_oracle, (), "sizes that masks decide"),
    entry(
        first_iteration_binds, lambda r: {"x": r.random(5)}, ("x",), first_oracle,
        ("names that the first iteration binds",), "the first iteration stands apart",
    ),
    entry(
        shapes_of_its_own, lambda r: {"x": r.random(5)}, ("x",), shapes_oracle, ("shape, ndim, size, len",),
        "shapes of arrays that a function makes are tuples, which others are given",
    ),
    entry(list_turned_round, lambda r: {"x": r.random(5)}, ("x",), turned_oracle, (), "a list keeps its other names"),
    entry(
        choices_in_comprehensions,
        lambda r: {"X": r.random((7, 2)), "C": np.array([[0.2, 0.3], [0.7, 0.6], [9.0, 9.0]])},
        ("X", "C"), choices_oracle, (), "rows that are one of two arrays", is_twin=False,
    ),
    entry(
        trajectory_in_a_list, lambda r: {"theta": r.random(2) + 0.5, "y0": r.random(2) + 0.5}, ("theta", "y0"),
        trajectory_oracle, (), "a list that grows in many steps is an array, and no step is written out; XLA compiles "
        "the derivative of the oracle for a minute", is_twin=False,
    ),
    entry(
        decimals_and_small_integers, lambda r: {"x": r.random(6) * 0.02 + np.arange(6) * 0.3 + 0.01}, ("x",),
        decimals_oracle, ("narrow integers",), "what is rounded has no derivative", is_twin=False,
    ),
)  # fmt: skip
