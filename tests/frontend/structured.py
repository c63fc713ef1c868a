"""Programs with lists, tuples, dictionaries and records, as people write them, and arguments for each."""

# Loops and branches are written the way users write them.
# ruff: noqa: B905, RUF005, SIM, PLR

from __future__ import annotations

import copy
import dataclasses
import functools
from collections import namedtuple
from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from tests.corpus.helpers import Walker
from tests.frontend.programs import matrix, shows, vector

RNG = np.random.default_rng(7)
Program = tuple[Callable[..., Any], tuple[Any, ...]]
PROGRAMS: dict[str, Program] = {}
Pair = namedtuple("Pair", "w b")


@dataclasses.dataclass(frozen=True)
class Model:
    """A record, of which the kind is known."""

    w: np.ndarray
    scale: float
    kind: str = "square"


class Mode(Enum):
    """Which of two."""

    SUM = 1
    SQUARES = 2


class Move(Enum):
    """Where to, and how likely."""

    LEFT = (-1, 0.5)
    RIGHT = (1, 2.0)


def draw(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape)


def registering(programs: dict[str, Program]) -> Callable[..., Callable[[Callable[..., Any]], Callable[..., Any]]]:
    """What registers a program with its arguments."""

    def given(*args: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            programs[function.__name__] = (function, args)
            return function

        return register

    return given


given = registering(PROGRAMS)


def layer(p, x, act):
    return act(x @ p[0] + p[1])


def network(params, x, act=np.tanh):
    for p in params[:-1]:
        x = layer(p, x, act)
    return layer(params[-1], x, lambda v: v)


@given([(draw(3, 4), draw(4)), (draw(4, 2), draw(2))], draw(5, 3), draw(5, 2))
def layers_through_helpers(params, x, y):
    loss = ((network(params, x) - y) ** 2).mean()
    return loss + 0.1 * sum((w**2).sum() for w, b in params)


@given({"cells": [{"w": draw(3, 3), "b": draw(3)}] * 2, "out": draw(3)}, draw(3), "relu")
def nested_dictionaries(p, x, act):
    for cell in p["cells"]:
        x = cell["w"] @ x + cell["b"]
        if act == "relu":
            x = np.maximum(x, 0.0)
    return p["out"] @ x


def cell_of(state, x, p):
    h, c = state
    h = np.tanh(p["w"] @ h + p["v"] * x)
    return h, c + h.sum()


@given({"w": 0.3 * draw(3, 3), "v": draw(3)}, draw(5))
def carried_tuple(p, xs):
    state = (np.zeros(3), 0.0)
    for t in range(xs.shape[0]):
        state = cell_of(state, xs[t], p)
    return state[0].sum() + state[1]


@given({"x": draw(3), "v": draw(3)}, 0.1, 4)
def carried_dictionary(s, dt, n):
    for _ in range(n):
        v = s["v"] - dt * s["x"]
        s = {"v": v, "x": s["x"] + dt * v}
    return (s["x"] ** 2).sum() + s["v"].sum()


class Step(Enum):
    """Neighbours of a place in a grid."""

    DOWN = (1, 0)
    RIGHT = (0, 1)
    BOTH = (1, 1)


@given(draw(3, 4))
def over_an_enumeration(grid):
    total = 0.0
    for k, step in enumerate(Step):
        di, dj = step.value
        for i in range(grid.shape[0] - 1):
            for j in range(grid.shape[1] - 1):
                total += (k + 1.0) * grid[i, j] * grid[i + di, j + dj]
    return total + sum(grid[s.value] * s.value[0] for s in Step)


@given(Model(draw(3), 1.5), Pair(draw(3), 0.5), Mode.SQUARES)
def records(m, p, mode):
    m = dataclasses.replace(m, w=m.w * m.scale)
    p = p._replace(b=2.0 * p.b)
    out = Pair(m.w * p.w, b=p.b)
    if mode is Mode.SUM:
        return out
    return Pair(out.w**2, b=out.b**2) if m.kind == "square" else out


@given(draw(5))
def members_of_an_enumeration(x):
    def moved(m, i):
        return x[i + m.value[0]] * m.value[1]

    step, weight = Move.LEFT.value
    t = x[2 + step] * weight + moved(Move.RIGHT, 1)
    for i in range(1, 4):
        for k, m in enumerate(Move):
            t += moved(m, i) * x[i] * (k + Mode.SQUARES.value)
    return t + sum(m.value[1] for m in Move)


@given(draw(4), None)
def optional(x, w=None, power=2):
    if w is None:
        w = np.ones(len(x))
    return (w * x**power).sum()


@given({"w": draw(3), "b": draw(2)}, {"w": draw(3), "b": draw(2)}, 0.1)
def results(p, g, rate):
    new = {k: p[k] - rate * g[k] for k in p}
    return new, (sum(v.sum() for v in new.values()), [new["b"], rate])


@given([draw(2), draw(3)], [1.0, 2.0, 3.0], [1, 0])
def known_subscripts(ws, c, idx):
    s = 0.0
    for i in range(len(ws)):
        s += (ws[i] ** (i + 2)).sum()
    for a in reversed(c):
        s = 0.5 * s + a
    for k, i in enumerate(idx):
        s += (k + 1) * ws[0][i]
    return s


@given(draw(3), draw(3))
def local_structures(x, y):
    shape = (len(x), len(y))
    z = np.zeros(shape)
    for i in range(shape[0]):
        for j in range(shape[1]):
            z[i, j] = x[i] * y[j] ** 2
    s = z.sum()
    for v in (x, y):
        y = 2.0 * v
        s += (y**3).sum()
    hs = []
    for k in range(3):
        hs.append(np.sin(x * (k + 1)))
    d = {}
    d["a"] = hs[0].sum()
    d["a"] *= hs[-1].sum()
    p = (s, d["a"])
    p = (p[1], p[0] + x[0])
    a, *rest = (x[0], x[1], y[0])
    return p[0] + 3.0 * p[1] + a * rest[0] * rest[1]


@given(draw(3), {"a": 2.0, "b": 3.0})
def stars(x, given):
    def weighted(v, a, b):
        return a * v.sum() + b * (v**2).sum()

    def all_of(first, *rest):
        total = first.sum()
        for r in rest:
            total += (r**2).sum()
        return total

    both = (x, 2.0 * x)
    return weighted(x, **given) + all_of(*both) * all_of(x)


@given(draw(3), draw(3))
def closures(x, y):
    p = (x, y)

    def part(k):
        return k * p[0].sum() + p[1][0] ** 2

    return part(2.0) + part(y[1])


def changed(p):
    p["a"][0] += 1.0
    return p["a"][0], p["a"].sum()


@given({"a": draw(3)}, [draw(3), draw(3)])
def in_place(p, ws):
    before = p["a"].copy()
    r = changed(p)
    ws[0] *= 2.0
    ws[1][0] = r[0]
    return before[0] + r[0] * r[1] + (ws[0] * ws[1]).sum() + p["a"][0]


@given(draw(3), "first")
def several_targets(x, kind):
    u = v = np.zeros(len(x))
    u[0] = x[1] if kind == "first" else 0.0
    a, b = c, d = x[0] * 2.0, v * x
    p = q = (a, b)
    return (v * x).sum() + p[0] * (q[1] * d).sum() + c


@given(draw(3), None)
def repeated(x, w):
    rows = [np.zeros(3)] * 2
    rows[0][0] = x[1]
    twice = (x * 2.0,) * 2
    twice[0][1] = x[2]
    return rows[1][0] * twice[1].sum() + (len(rows) if w is None else 0.0)


@given([{"w": draw(3)}, {"w": draw(3)}], [{"w": draw(3)}, {"w": draw(3)}], 0.1)
def updates_in_place(params, grads, rate):
    for p, g in zip(params, grads):
        p["w"] -= rate * g["w"]
    names = ["w", "w"]
    return sum(part(p, n).sum() ** 2 for p, n in zip(params, names))


def part(p, name, scale=None):
    if scale is None:
        return p[name]
    return scale * p[name]


WEIGHTS = draw(3)


class Settings:
    """Holds an array from outside."""

    matrix = draw(3, 3)


def scaled(v):
    return (WEIGHTS * v).sum()


@given(draw(3), {"a": draw(3)})
def arrays_from_outside(x, p):
    def inner(v):
        return (Settings.matrix[1] * v * p["a"]).sum()

    s = scaled(x) ** 2 + scaled(2.0 * x)
    for i in range(len(x)):
        s += WEIGHTS[i] * x[i] ** 3 * WEIGHTS.shape[0]
    return inner(x) + sum(inner(t * x) for t in (1.0, 2.0)) + s


def total(tree):
    if isinstance(tree, tuple):
        return sum(total(t) for t in tree)
    return (tree**2).sum()


@given((draw(3), (draw(2), draw(1))))
def recursive(tree):
    return total(tree)


@given(draw(4))
def branches(x):
    best = (0.0, 0)
    for i in range(len(x)):
        if x[i] > best[0]:
            best = (x[i], i)
        if i > 2:
            break
    state = {"k": 0, "s": 0.0}
    while state["k"] < 4:
        state = {"k": state["k"] + 1, "s": state["s"] + x[state["k"]] ** 2}
    return best[0] ** 2 + state["s"]


@given(draw(6), (2, 3), np.float64, lambda v: v**3)
def values_that_are_known(x, shape, kind, power):
    y = np.zeros(3, dtype=kind)
    for i in range(3):
        y[i] = power(x[i])
    return (x.reshape(shape)[1] * y).sum()


@given(draw(6), {"kind": "abc", "w": draw(2)})
def lengths_of_texts(x, model):
    t = 0.0
    for i in range(len(model["kind"])):
        t += x[i] * model["w"][i % 2]
    return t * len(model["kind"])


# -- one for each construct of the language table ------------------------------------------------------------
@shows("lists, tuples and dictionaries of known length", vector(), 0.7)
def known_lengths(x, s):
    n = x.shape[0]
    shape = (n, 2)
    z = np.zeros(shape)
    parts = [x[:2], s * x[2:4]]
    parts.append(parts[0] + parts[-1])
    d = {"first": parts[2][0], "rest": s}
    d["rest"] *= 2.0
    d = {**d, "more": len(parts)}
    for i in range(shape[0]):
        z[i, 1] = d["first"] * x[i] + d["more"]
    a, *others = parts
    return z, a[0] * others[1][1] + d["rest"]


def weighted(c, v, k):
    return c * v + k


@shows("lists, tuples and dictionaries of known length", vector(), vector(), 0.7)
def chosen_structures(x, y, s):
    out = []
    for v in (x, y, 2.0 * x):
        if not out:
            out.append(v)
        else:
            out.append(out[-1] + v)
    a, (b, k) = (x, (y, 1)) if x[0] > s else (y, (x, 2))
    a[1] = 4.0
    low, high = (s, x[2]) if s < x[2] else (x[2], s)
    for _ in range(2):
        low, high = (high, low) if x[1] > high else (0.5 * low, high)
    c, d = tuple(out[2][:2])
    shifted = functools.partial(weighted, high, k=c)
    high = 0.5
    product = functools.reduce(lambda u, w: u * w, [s, c, shifted(high)]) - functools.partial(np.add, s)(c)
    return functools.reduce(np.add, out), b * k, low - high * product, d if out else 0.0


TABLE = [0.5, 0.25, 2.0]
STEPS = ((0, 1), (1, 0), (1, 1))


def weighted_by_place(w, x):
    t = 0.0
    for k in range(len(x)):
        t += w[k % len(w)] * x[k] * TABLE[k % 3]
    return t


@shows("elements of lists and tuples that the run says", vector(), vector(), 0.7)
def by_places(x, y, s):
    lengths, marks = (0.8, s, 0.4), [0, 0, 0]
    grid = [[1.0, s], [x[0], 2.0], [0.5, y[1]]]
    model = {"scale": (s, 1.5, x[2])}

    def reached(q):
        t = 0.0
        for c, v in zip(lengths, q):
            t += c * np.cos(v)
        return t

    total, i = 0.0, 0
    while i < len(x):
        marks[int(abs(x[i]) * 10.0) % 3] += 1
        total += lengths[i % 3] * x[i] + grid[i % 3][i % 2] * y[i]
        i += 1
    for k in range(len(x)):
        di, dj = STEPS[k % 3]
        total += (di - 2.0 * dj) * y[k] * model["scale"][k % 3] * marks[k % 3]
    for v, k, c in zip(y, [2, 0, 1], (1.0, s, x[1])):
        total += v * x[k] * c
    return total + reached(x) * weighted_by_place([1.0, s], y), weighted_by_place((x[0], 2.0, 0.5), y)


@given(vector(), vector(), draw(2))
def arrays_by_places(x, y, w):
    total, parts = 0.0, [x * 2.0, y]
    for p, c in zip(parts, w):
        total += c * np.sum(p**2)
    for k in range(len(x)):
        total += parts[k % 2][k] * w[0]
    return total


@given(vector())
def changed_by_places(x):
    w, k = [0.1, 0.2, 0.3], 0
    v = w

    def raised(row, by):
        row[k % 3] += by

    for i in range(len(x)):
        k = i
        v[i % 3] += x[i] ** 2
        raised(w, x[i])
    return w[0] * w[1] + w[2]


@shows("for over lists, zip, enumerate and dictionaries", vector(), vector(), 3)
def loops_written_out(x, y, n):
    s = 0.0
    for v, c in zip((x, y), [1.0, 2.0]):
        for i in range(n):
            s += c * v[i] ** 2
    for k, v in enumerate(reversed((x, y))):
        v[0] += k * s
    for name, v in {"x": x, "y": y}.items():
        if name == "y":
            v[1] = s
    weights = [s, 2.0, y[1]]
    for k in range(3):
        s = s * 0.5 + weights[k]
    return s


@shows("global and closure arrays", vector(3))
def from_outside(x):
    return x @ Settings.matrix @ WEIGHTS


# Names that variables of our own would have.
one, first = 3.0, 5.0


def named_as_ours(x):
    sum_of, total, end, unpacked = 2.0, 3.0, 9.0, 4.0
    a, b, c = 2.0 * x[:3]
    return sum(total * v for v in x) + sum_of + max(end * v for v in x) + unpacked * a * b + c


@shows("sum, max, min, any, all of what is gone through", vector())
def names_of_the_program(x):
    s = max(first * v + one for v in x)
    return sum(first * v for v in x), s, named_as_ours(x), sum((first for _ in x), one)


@shows("np.array of a comprehension", vector(), matrix(3, 4), 2)
def arrays_of_items(x, A, n):
    k, i, items, place = 7.0, 3, 2.0, 3.0
    signs = np.array([v > 0.0 for v in x])
    w = np.array([items * v if v > 0.0 else k * v * place for v in x[n:]])
    t = np.array([k * 1.5 for k in range(n, -2, -2)], dtype=np.float32)
    for r in range(3):
        k += np.array([A[r, j] * x[r] for j in range(r + 1)]).sum()
    for _ in range(n):
        w = np.array([v * v for v in w])
    rows = np.asarray([A[i].sum() + x[k] for k, i in enumerate(range(3))])
    return signs, w, t, rows, np.array([i for i in range(n)]), k, np.array([v for v in x[:0]]), i, items


@shows("np.ix_, and ends in lists", matrix(4, 5), np.array([3, 0]), np.array([1, 2, 1]))
def open_meshes(A, i, j):
    B = A[np.ix_(i, j)] * 2.0
    A[np.ix_(i[:1], np.array([0, -1]))] += 1.0
    A[np.array([0, -1])] = A[np.array([-1, 0])]
    A[:, np.array([0, -2])] *= 0.5
    return B, A[np.array([[-1], [1]]), np.array([0, -1])], A[1, np.array([-1, i[0]])], A[np.ix_(i)], np.array([-1, 0])


@shows("comprehensions of known length", vector(), 0.7)
def comprehended(x, s):
    powers = [x**k for k in range(1, 4)]
    totals = {k: p.sum() for k, p in enumerate(powers) if k != 1}
    return sum(totals.values()) + max(p[0] for p in powers) * s, min(v for v in [s, x[1], x[2]])


@shows("stacks and queues", np.array([0.9, 0.4, 0.7, 1.3]), 0.8)
def taken_away(x, s):
    stack, queue = [u for u in x], [x[0]]
    while len(stack) > 1:
        stack.append(stack.pop() * s - stack.pop())
    while queue and len(queue) < 3:
        v = queue.pop(0)
        queue.append(v + s)
        queue.append(v * s)
    return stack[0], queue[0] * queue[-1]


@shows("lists of lists that grow", np.array([0.9, 0.4, 0.7, 1.3]), 0.8)
def binned(x, s):
    bins = [[] for _ in range(2)]
    for i, u in enumerate(x):
        bins[i % 2].append(u * s)
    return sum(bins[0]) * len(bins[1]), bins[1][0] * bins[1][-1]


class Recorder:
    """Keeps what it is told."""

    def __init__(self, by):
        self.by, self.values = by, []

    def tell(self, v):
        self.values.append(v * self.by)


@shows("lists in dictionaries and objects that grow", np.array([0.9, 0.4, 0.7, 1.3]), 0.8)
def kept_in_parts(x, s):
    log = {"all": [], "large": [], "count": 0}
    recorder = Recorder(s)
    for u in x:
        log["all"].append(u * s)
        if u > 0.5:
            log["large"].append(u)
            log["count"] += 1
            recorder.tell(u * u)
    large = log["large"]
    large.append(recorder.values[-1])
    return np.mean(log["all"]), sum(log["large"]) * log["count"], np.array(recorder.values).sum() + len(large)


@shows("lists of any length", np.array([0.9, 0.4, 0.7, 1.3]), 0.8)
def listed(x, s):
    def scaled(v, by):
        return [u * by for u in v]

    chosen = [u for u in x if u > 0.5]
    steps = [x[0] * s]
    for u in x:
        steps.append(steps[-1] * u)
    best = [0] * len(x)
    for i, u in enumerate(x):
        best[i] += max(u, best[i - 1])
    rows = []
    for u in x:
        rows += [x * u]
    twice = scaled(chosen, 2.0)
    pairs = sum(a * b for a, b in zip(steps[1:], steps[:-1]))
    total = sum(twice) + sorted(chosen)[1] + len(chosen)
    return pairs, np.array(rows), total, np.mean(best) * best[-1], rows[1].sum() + max(steps)


@shows("lists of lists, and of tuples", np.array([0.9, 0.4, 0.7, 1.3]), 3, 0.8)
def listed_in_lists(x, n, s):
    def product(A, B):
        C = [[0] * len(B[0]) for _ in A]
        for i, row in enumerate(A):
            for j in range(len(B[0])):
                for k, a in enumerate(row):
                    C[i][j] += a * B[k][j]
        return C

    dp = [[s * j for j in range(n)]]
    for i, u in enumerate(x):
        row = [u]
        for j in range(1, n):
            row.append(min(dp[-1][j - 1], dp[i][j], row[j - 1]) + u * s)
        dp.append(row)
    C = product(dp, [[a + j for j in range(2)] for a in x[:n]])
    C[0] = [3.0 * a for a in C[1]]
    pairs, points = [(i, a) for i, a in enumerate(x) if a > 0.5], []
    for b, a in zip(x[1:], x[:-1]):
        points.append([a, b, [a * b, 1.0][0]])
    paths = sum((a - c) * d for (c, d, _), (a, _, _) in zip(points[1:], points[:-1]))
    return (
        np.array(C),
        sum(k * a for k, a in pairs),
        paths + max(points[1]),
        sum(sum(r) for r in dp) + len(C[0]),
        dp[-1][1],
    )


@shows("names for other lists", np.array([0.9, 0.4, 0.7, 1.3]), 3, 0.8)
def listed_anew(x, n, s):
    before, best = [0.3 * j for j in range(len(x))], [0] * len(x)
    for i in range(n):
        row = [s * i]
        for j in range(1, len(x)):
            row.append(min(before[j - 1] + x[j], before[j] + 0.2, row[j - 1] + x[0]))
        if row[-1] > best[-1]:
            best = [a + b for a, b in zip(row, before)]
        before = row
    a, b = [u for u in x], [s * u for u in x]
    for _ in range(n):
        a, b = b, [u + 0.5 * v for u, v in zip(a, b)]
    grid = [[u * j for j in range(n)] for u in x]
    for _ in range(2):
        new = [[0.0] * n for _ in x]
        for i in range(1, len(x)):
            for j in range(1, n):
                new[i][j] = 0.5 * (grid[i - 1][j] + grid[i][j - 1]) + s
        grid = new
    return sum(before) + before[1], sum(best), sum(a) * b[0], sum(map(sum, grid)), grid[-1][-1]


@shows("structures as arguments and results of functions", vector(), 0.7)
def handed_on(x, s):
    def step(state, p, rate=0.1):
        u, v = state
        return u - rate * p["k"] * v, v + rate * u

    def sums(*vectors, **named):
        return {"each": [v.sum() for v in vectors], "named": named["w"] * 2.0}

    state = (x[0], x[1])
    for _ in range(4):
        state = step(state, {"k": s})
    found = sums(x, 2.0 * x, w=state[1])
    return state[0] + found["each"][1] * found["named"]


@shows("which item, where only the run says", vector(), 0.7, 5)
def items_by_place(x, s, n):
    rows, k, t = [(-0.5, x[0], 1), (0.3, s, 3)], 0, 0.0
    for v in x:
        while k < len(rows) and rows[k][0] <= v:
            level, w, place = rows[k]
            t += w * x[place] * level
            k += 1
        t += Walker(x[n % 6], s).at * v
    walkers = [Walker(x[1], s), Walker(x[2], 2.0 * s)]
    return t, walkers[n % 2].at * walkers[k % 2].speed


@shows("objects of classes", vector(), 0.7)
def walked(x, s):
    w, v = Walker(x[0], s), Walker(x[1], 2.0 * s)
    for u in x[2:]:
        w.step(u)
    w.step(s)
    w += v
    w.pace += 0.3
    best = v if w.at > v.at else w
    return best.at, w.at * w.pace, sum(u.at * u.speed for u in [Walker(u, k) for k, u in enumerate(x[:3])])


@shows("loops over several ranges", matrix(), vector())
def places_by_one_name(A, x):
    t, B = 0.0, np.zeros((2, 3, 2))
    for ijk in np.ndindex(B.shape):
        if ijk[1] == 1:
            continue
        B[ijk] = x[ijk[0]] * ijk[2]
    for ij in np.ndindex(A.shape):
        t += A[ij] * x[ij[1]] * (ij[0] + 1)
        ij = (0, 0)
    for k in np.ndindex(x.shape):
        t += x[k] * k[0]
    return t, B.sum()


@shows("arrays behind stars", vector(), 0.7)
def behind_stars(x, s):
    def blend(a, b, c):
        return a * b - c

    rows = [(u, k, s * u) for k, u in enumerate(x)]
    first, places, last = zip(*rows)
    return blend(*x[:3]), np.hypot(*x[1:3]), max(*first) * min(*last), places[2] * first[1]


@shows("copies of lists, dictionaries and objects", vector(), 0.7)
def copied(x, s):
    d = {"rate": s, "log": [x[0], x[1]]}
    e, f, w = copy.copy(d), copy.deepcopy([{"x": x}]), Walker(x[2], s)
    e["rate"] = 2.0
    f[0]["x"][1] = s
    v = copy.copy(w)
    v.step(s)
    log = d["log"].copy()
    log.append(s)
    return d["rate"], e["rate"], f[0]["x"].sum(), sum(log) + len(d["log"]), w.at - v.at


@given({"w": draw(3), "b": draw(2)}, draw(3, 2), 0.5)
def returned_as_they_came(state, m, rate):
    state["w"][0] *= 2.0
    return {**state, "b": state["b"] * rate}, state["w"], m[1], m.T


# -- functions that are given functions ----------------------------------------------------------------------
def plus(y, h, k):
    return tuple(a + h * b for a, b in zip(y, k))


def runge_kutta(f, y, t, h):
    k1 = f(y, t)
    k2 = f(plus(y, h / 2, k1), t + h / 2)
    k3 = f(plus(y, h / 2, k2), t + h / 2)
    k4 = f(plus(y, h, k3), t + h)
    return tuple(a + h / 6 * (p + 2 * q + 2 * r + s) for a, p, q, r, s in zip(y, k1, k2, k3, k4))


def epidemic(y, t, beta):
    s, i = y
    return -beta * s * i, beta * s * i - 0.1 * i * np.cos(t)


@given(draw(2), draw(2), 0.3, 0.4, 3)
def integrators(x, v, beta, h, n):
    def pendulum(y, t):
        position, speed = y
        return speed, -np.sin(position) - beta * t

    y, z = (x, v), (0.9, 0.1)
    for i in range(n):
        y = runge_kutta(pendulum, y, i * h, h)
        z = runge_kutta(lambda y, t: epidemic(y, t, beta), z, i * h, h)
    return y, z[1] * runge_kutta(pendulum, (z[0], z[1]), 0.0, h)[0]


def applied(f, *given):
    return sum(f(p) for p in given)


@given(0.5, 0.3)
def functions_mean_what_they_do_at_the_call(x, y):
    c = 2.0

    def f(x):
        return x[0] * c + x[1] * y

    g = lambda p: p["a"] * c  # noqa: E731
    first = applied(f, (x, y), [y, x]) + applied(g, {"a": y})
    c = 3.0
    fs = [f, lambda p: f(p) ** 2]
    g = fs[1]
    return first + 10.0 * applied(g, (x, y)) + sum(f((y, x)) for f in fs)


def bumped(f, q):
    both = (f(q), q["v"][0], f(q))
    return both[0] * 100.0 + both[1] * 10.0 + both[2]


@given(draw(3))
def functions_that_change_arrays(x):
    def bump(p):
        p["v"][0] += 1.0
        return p["v"][0]

    return bumped(bump, {"v": x})


# -- what is known -------------------------------------------------------------------------------------------
@given({"w0": draw(3), "w1": draw(3), "b": 0.5}, draw(3), 2)
def known_numbers_and_texts(p, x, n):
    layers, last = 2, 0
    for i in range(layers):
        x = np.tanh(p[f"w{i}"] * x) + p["w" + str(i)]
        last = i
    for k in p:
        if k.startswith("w"):
            x = x * p[k]
    first = 0
    for _ in range(n):
        x = x * 0.5 if first == 0 else x + p["b"]
        first = 1
    p = (x[0], x[1])
    first -= 1
    return p[0] + (3.0 if first == 0 else 5.0) * p[1] + last


SETTINGS = {"rate": 0.3, "steps": 2, "kind": "quartic", "sizes": [3, 2], "layers": [{"w": draw(3)}, {"w": draw(3)}]}
ACTIVATIONS = {"tanh": np.tanh, "scaled": lambda v: 2.0 * v, "none": None}
TERMS = ((1, 2.0), (3, 0.5))


@given(draw(3), "scaled")
def structures_from_outside(x, kind):
    def total(settings, v):
        return sum((p["w"] * v).sum() for p in settings["layers"])

    for _ in range(SETTINGS["steps"]):
        x = x - SETTINGS["rate"] * x**2
    for name, act in ACTIVATIONS.items():
        if act is not None:
            x = x + act(x) if name == kind else act(x)
    s = sum(c * x.sum() ** k for k, c in TERMS)
    if SETTINGS["kind"] == "quartic":
        s = s**2
    for f in [np.sin, np.exp, ACTIVATIONS[kind]]:
        s += f(x[0])
    return s + total(SETTINGS, x) + len(SETTINGS["sizes"]) + SETTINGS["sizes"][0]


# -- lists, dictionaries and records that change in place ----------------------------------------------------
@dataclasses.dataclass
class Particle:
    """A record that changes."""

    x: float
    v: float


def parameters_of(x):
    layers = [{"w": x * k} for k in range(2)]
    first = layers[0]["w"]
    return {"layers": layers, "first": first}


@given(draw(4), 2)
def changes_in_place(x, n):
    stack = [0.0] * 4
    for i in range(4):
        stack[i] = x[i] ** 2 + stack[i - 1]
    for _ in range(n):
        for i in range(1, 4):
            stack[i] = stack[i] * 0.5 + stack[i - 1]
    last = stack.pop()
    stack[0], stack[-1] = stack[1] * last, stack[0]
    stack.extend(v * 2.0 for v in (x[0], last))
    stack.insert(1, stack[2] * 3.0)
    first = stack.pop(0)
    stack += [first]
    stack.reverse()
    rows = [[0.0] * 2 for _ in range(2)]
    for i in range(2):
        for j in range(2):
            rows[i][j] = stack[i] * stack[j + 1]
    particle = Particle(x[0], x[1])
    for _ in range(n):
        particle.v -= 0.1 * particle.x
        particle.x += 0.1 * particle.v
    return stack, rows, particle


@given(draw(3), draw(3))
def dictionaries_that_grow(x, g):
    state = dict(m=np.zeros(3), t=0, history={"loss": []})
    for _ in range(3):
        state["t"] += 1
        state["m"] = 0.9 * state["m"] + g * x
        x = x - 0.1 * state["m"] / (1.0 - 0.9 ** state["t"])
        state["history"]["loss"].append((x * g).sum())
    state.update({"x": x}, n=len(state))
    low = state.setdefault("low", x.min())
    m = state.pop("m")
    del state["n"]
    params = parameters_of(x)
    params["layers"][0]["w"] = x * params["first"]
    params["layers"].append({"w": m})
    total = sum(p["w"].sum() for p in params["layers"])
    keys = sorted(state)
    return {k: state[k] for k in keys}, low * total, state.get("none", 3.0)


# -- methods, properties and operators of records ------------------------------------------------------------
@dataclasses.dataclass(frozen=True)
class Vector:
    """A point, with operators."""

    x: float
    y: float
    dimension = 2

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __mul__(self, c):
        return type(self)(self.x * c, self.y * c)

    __rmul__ = __mul__

    def __neg__(self):
        return -1.0 * self

    def dot(self, other):
        return self.x * other.x + self.y * other.y

    @property
    def norm(self):
        return np.sqrt(self.dot(self))

    @classmethod
    def polar(cls, r, t):
        return cls(r * np.cos(t), r * np.sin(t))

    @staticmethod
    def origin():
        return Vector(0.0, 0.0)


@given([Vector(0.5, 0.3), Vector(-0.2, 0.7)], 0.1, 3)
def vectors(points, h, n):
    x, v = points
    for _ in range(n):
        v += h * -x * (1.0 / (1.0 + x.norm**3))
        x = x + h * v
    total = Vector.origin()
    for p in points:
        total = total + p + Vector.polar(p.norm, h)
    return x, v.dot(total) * x.dimension


@dataclasses.dataclass
class Dense:
    """A layer that is called."""

    w: np.ndarray
    act: str = "tanh"

    def __call__(self, x):
        return np.tanh(x @ self.w) if self.act == "tanh" else x @ self.w


class Network(NamedTuple):
    """Layers of layers, with a loss."""

    hidden: list[Dense]
    out: Dense

    def loss(self, x):
        for layer in self.hidden:
            x = layer(x)
        return (self.out(x) ** 2).mean() + self.penalty

    @property
    def penalty(self):
        return 0.1 * sum((layer.w**2).sum() for layer in (*self.hidden, self.out))


FIXED = Dense(draw(3, 3))


@given(Network([Dense(draw(3, 3)), Dense(draw(3, 2), "none")], Dense(draw(2, 1))), draw(4, 3))
def networks(net, x):
    smaller = net._replace(hidden=[*net.hidden[:1], FIXED])._asdict()
    return net.loss(FIXED(x)), sum(h(x).sum() for h in smaller["hidden"])


# -- shapes --------------------------------------------------------------------------------------------------
def zeros_of(shape, like):
    assert len(shape) == 3
    made = np.zeros(shape)
    made[0] = like
    return made.reshape(-1, *like.shape[1:])


@given(draw(2, 3), draw(2, 3))
def shapes(x, y):
    assert x.shape == y.shape
    assert x.shape != y.shape[:1]
    size = 0
    for n in x.shape:
        size += n
    both = (2, *x.shape)
    z = np.zeros(x.shape[:-1] + (4,))
    z[:, 1] = x[:, 0] * y[:, 1]
    stacked = zeros_of(both, x) + zeros_of((2,) + y.shape, y)
    corner = x[0, 1] if x.ndim == len(x.shape) == 2 else x[0, 0, 0]
    return stacked, z.sum() * size * len(both) * corner


# -- None until there is something ---------------------------------------------------------------------------
@given(draw(6), 0.1)
def none_until(x, least):
    best, at, previous, total, found = None, None, None, None, None
    s = 0.0
    for i, v in enumerate(x):
        if best is None or v < best:
            best, at = v, i
        if previous is not None:
            s += previous * v
        previous = v * 2.0
        total = v if total is None else total + v**2
        if found is None and v > least:
            found = v
        if not (found is None or v < 100.0):
            found = None
    if found is not None and found > 0.0:
        s *= found
    return s + best * x[at] + total
