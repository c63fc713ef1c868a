"""Arrays whose extents change in loops, within what is known at entry: halves, doubled blocks, levels, gates."""

from __future__ import annotations

import numpy as np

from .entry import Entry


def sizes_halved(x):
    n = len(x)
    a = x.copy()
    s = 0.0
    while n > 1:
        h = n // 2
        b = np.empty(h)
        for i in range(h):
            b[i] = np.sin(a[2 * i]) + a[2 * i + 1] ** 2
        a = b
        s += a.sum()
        n = h
    return s + a[0]


def halved_oracle(xp, x):
    total, a = 0.0, x
    while a.shape[0] > 1:
        even = a.shape[0] // 2 * 2
        a = xp.sin(a[:even:2]) + a[1:even:2] ** 2
        total = total + xp.sum(a)
    return {"result": total + a[0]}


def sizes_doubled(x):
    n = x.shape[0]
    size = 2
    a = x.copy()
    while size <= n:
        half = size // 2
        w = np.cos(np.arange(half) / size)
        for start in range(0, n, size):
            e = a[start : start + half].copy()
            o = a[start + half : start + size] * w
            a[start : start + half] = e + o
            a[start + half : start + size] = e - o * o
        size *= 2
    return np.sum(a**2)


def doubled_oracle(xp, x):
    n, a, size = x.shape[0], x, 2
    while size <= n:
        blocks = xp.reshape(a, (n // size, size))
        e, o = blocks[:, : size // 2], blocks[:, size // 2 :] * np.cos(np.arange(size // 2) / size)
        a = xp.reshape(xp.concatenate((e + o, e - o * o), axis=1), (n,))
        size *= 2
    return {"result": xp.sum(a * a)}


def sizes_of_levels(x, f):
    n = len(x) - 1
    u = x.copy()
    h = 1.0
    while n >= 2:
        r = np.zeros(n + 1)
        r[1:n] = f[1:n] - (2 * u[1:n] - u[: n - 1] - u[2 : n + 1]) / h**2
        u[1:n] = u[1:n] + 0.3 * h * h * r[1:n]
        h *= 2.0
        n //= 2
    return np.dot(u, u)


def levels_oracle(xp, x, f):
    u, h, n = x, 1.0, x.shape[0] - 1
    while n >= 2:
        inner = u[1:n] + 0.3 * (h * h * f[1:n] - (2 * u[1:n] - u[: n - 1] - u[2 : n + 1]))
        u = xp.concatenate((u[:1], inner, u[n:]))
        h, n = 2.0 * h, n // 2
    return {"result": xp.sum(u * u)}


def sizes_of_gates(xs, W, b):
    H = b.size // 4
    h, c = np.zeros(H), np.zeros(H)
    for t in range(xs.shape[0]):
        z = np.concatenate([xs[t], h]) @ W + b
        i, f, o, g = z[:H], z[H : 2 * H], z[2 * H : 3 * H], z[3 * H :]
        c = np.tanh(f) * c + np.tanh(i) * np.sin(g)
        h = np.cos(o) * np.tanh(c)
    return np.sum(h * h)


def gates_oracle(xp, xs, W, b):
    h = c = np.zeros(b.shape[0] // 4)
    for x in xs:
        i, f, o, g = xp.reshape(xp.concatenate((x, h)) @ W + b, (4, -1))
        c = xp.tanh(f) * c + xp.tanh(i) * xp.sin(g)
        h = xp.cos(o) * xp.tanh(c)
    return {"result": xp.sum(h * h)}


def sizes_of_shapes(x):
    y = np.zeros((*x.shape, 2))
    y[..., 0] = x
    y[..., 1] = x**2
    w = x.reshape(*x.shape[:1], -1)
    v = (2.0 * x).reshape(x.shape[:1] + (2, -1))
    z = np.pad(x, ((1, 0), (0, 2), (1, 1)), mode="edge")
    last = np.squeeze(np.sum(z, axis=0, keepdims=True)[:, -1:, -1:])
    picked = v[range(v.shape[0]), [0, 1], 1]
    return np.sum(y[..., 0] * y[..., 1]) + np.sum(w[0] * w[1]) + np.sum(picked**3) + last * np.sum(np.diagflat(x[0]))


def shapes_oracle(xp, x):
    flat = xp.reshape(x, (2, -1))
    v = xp.reshape(2.0 * x, (2, 2, -1))
    last = 2.0 * x[0, -1, -1] + x[1, -1, -1]
    picked = v[0, 0, 1] ** 3 + v[1, 1, 1] ** 3
    return {"result": xp.sum(x**3) + xp.sum(flat[0] * flat[1]) + picked + last * xp.sum(x[0])}


def shorter_and_shorter(values, up, n):
    for _ in range(n):
        values = 0.9 * (up * values[1:] + (1.0 - up) * values[:-1])
    return values[0] + len(values)


def shorter_oracle(xp, values, up, n):
    ways = [1, 4, 6, 4, 1]
    total = sum(ways[k] * up**k * (1.0 - up) ** (4 - k) * values[k] for k in range(5))
    return {"result": 0.9**4 * total + values.shape[0] - n}


def longer_and_longer(v, dt):
    x = 0.5
    path = np.array([x])
    for u in v:
        x += u * dt
        path = np.append(path, x * path[-1])
    return path


def longer_oracle(xp, v, dt):
    return {"result": xp.cumprod(0.5 + xp.concatenate((xp.zeros(1), xp.cumsum(v) * dt)))}


def resized_by_elements(x, limits):
    for limit in limits:
        if x.sum() > 2.0:
            x = x[x > limit]
        else:
            x = np.append(x, limit)
        x = x * 1.05
    return np.sum(x**3) * len(x)


def resized_oracle(xp, x, limits):
    held = np.ones(x.shape[0])
    for limit in limits:
        held = held * (x > limit)
        x = 1.05 * x
    return {"result": xp.sum(held * x**3) * held.sum()}


def halved_in_place(x):
    energy = 0.0
    while len(x) > 1:
        energy += np.sum((x[::2] - x[1::2]) ** 2)
        x = 0.5 * (x[::2] + x[1::2])
    return energy + x[0]


def in_place_oracle(xp, x):
    energy = 0.0
    for size in (4, 2, 1):
        pairs = xp.reshape(x, (size, 2))
        energy = energy + xp.sum((pairs[:, 0] - pairs[:, 1]) ** 2)
        x = xp.mean(pairs, axis=1)
    return {"result": energy + x[0]}


def entry(function, make, wrt, oracle, constructs, notes):
    return Entry(
        name=function.__name__, function=function, make=make, wrt=wrt, oracle=oracle, is_twin=True,
        constructs=constructs, notes=notes,
    )  # fmt: skip


def chebyshev_sums(c, x):
    before, now, total = np.array([1.0]), np.array([0.0, 1.0]), c[0] + c[1] * x
    for k in range(2, len(c)):
        before, now = now, np.concatenate(([0.0], 2.0 * now)) - np.concatenate((before, [0.0, 0.0]))
        power = 1.0
        for a in now:
            total += c[k] * a * power
            power *= x
    return total


def chebyshev_sums_oracle(xp, c, x):
    terms = [1.0, x]
    for _ in range(len(c) - 2):
        terms.append(2.0 * x * terms[-1] - terms[-2])
    return {"result": sum(c[k] * terms[k] for k in range(len(c)))}


def merged(a, b):
    out = np.zeros(0)
    while len(a) > 0 and len(b) > 0:
        if a[0] < b[0]:
            out = np.append(out, a[0])
            a = a[1:]
        else:
            out = np.append(out, b[0])
            b = b[1:]
    out = np.concatenate([out, a, b])
    return np.sum(out * np.arange(len(out)) ** 2)


def merged_oracle(xp, a, b):
    out = xp.sort(xp.concatenate((a, b)))
    return {"result": xp.sum(out * xp.arange(len(out)) ** 2)}


ENTRIES = (
    entry(sizes_halved, lambda r: {"x": r.random(11)}, ("x",), halved_oracle, ("sizes that loops change",), "n = h"),
    entry(
        sizes_doubled, lambda r: {"x": r.random(16)}, ("x",), doubled_oracle, ("sizes that loops change",),
        "the condition of the loop bounds what it doubles",
    ),
    entry(
        sizes_of_levels, lambda r: {"x": r.random(17), "f": r.random(17)}, ("x", "f"), levels_oracle,
        ("sizes that loops change",), "the condition says that the extent is not negative",
    ),
    entry(
        sizes_of_gates, lambda r: {"xs": r.random((3, 2)), "W": r.random((5, 12)), "b": r.random(12)}, ("xs", "W", "b"),
        gates_oracle, (), "parts of a size are known at entry, as those of a shape are",
    ),
    entry(
        shorter_and_shorter, lambda r: {"values": r.random(7), "up": 0.45, "n": 4}, ("values", "up"), shorter_oracle,
        ("names whose arrays loops resize",), "a lattice of options",
    ),
    entry(
        longer_and_longer, lambda r: {"v": r.random(6), "dt": 0.1}, ("v", "dt"), longer_oracle,
        ("names whose arrays loops resize",), "how long the result is is known at entry",
    ),
    entry(
        resized_by_elements, lambda r: {"x": r.uniform(0.5, 1.0, 9), "limits": np.array([0.6, 0.7])}, ("x",),
        resized_oracle, ("names whose arrays loops resize",), "how many elements are left depends on them",
    ),
    entry(
        halved_in_place, lambda r: {"x": r.random(8)}, ("x",), in_place_oracle, ("names whose arrays loops resize",),
        "every second element",
    ),
    entry(sizes_of_shapes, lambda r: {"x": r.random((2, 3, 4))}, ("x",), shapes_oracle, (), "stars of shapes, pads"),
    entry(
        chebyshev_sums, lambda r: {"c": r.normal(size=6), "x": 0.4}, ("c", "x"), chebyshev_sums_oracle,
        ("names whose arrays loops resize",), "two arrays that become longer in turns",
    ),
    entry(
        merged, lambda r: {"a": np.sort(r.random(5)), "b": np.sort(r.random(4))}, ("a", "b"), merged_oracle,
        ("names whose arrays loops resize",), "the loop goes on while two arrays have elements",
    ),
)  # fmt: skip
