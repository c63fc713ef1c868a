"""Lists that grow in dictionaries, records and objects, under several names and in functions, against what Python
computes and central differences."""

from __future__ import annotations

import copy
from collections import namedtuple
from dataclasses import dataclass, field

import numpy as np
import pytest

from loopdiff import UnsupportedLoopError, vectorize_grad
from tests.gradients.interpreted import interpreting

X = np.array([1.3, -0.7, 2.1, 0.4, -1.9, 0.85, 3.2])
Pair = namedtuple("Pair", "first second")


@dataclass
class Log:
    """Lists that the class makes."""

    name: str
    t: list = field(default_factory=list)
    y: list = field(default_factory=list)

    def add(self, t, y):
        self.t.append(t)
        self.y.append(y)


class Body:
    """Keeps its path."""

    def __init__(self, x, v):
        self.x, self.v, self.path = x, v, [x]

    def step(self, dt):
        self.v = self.v - dt * self.x
        self.x = self.x + dt * self.v
        self.path.append(self.x)


class Stack:
    """Gives elements away."""

    def __init__(self):
        self.items = []

    def push(self, v):
        self.items.append(v)

    def pop(self):
        return self.items.pop()


class Writer:
    """Writes into a list that others have."""

    def __init__(self, log):
        self.log = log

    def write(self, v):
        self.log.append(v)


def dictionaries(x):
    h = {"young": [], "old": [], "n": 0}
    for v in x:
        if v < -1.0:
            continue
        h["young"].append(v * v)
        h["n"] += 1
        if v > 0.0:
            h["old"].append(v)
    return np.mean(h["young"]) / np.sum(h["old"]) + h["n"] * h["old"][-1] + max(h["young"])


def several_at_once(x):
    h = {k: [] for k in ("a", "b")}
    rows = [[], []]
    for v in x:
        for k in h:
            h[k].append(v if k == "a" else v * v)
        rows[0].append(v)
        rows[1].append((v, 2.0 * v))
    whole = {k: np.array(v) for k, v in h.items()}
    return (whole["a"] * whole["b"]).sum() + sum(rows[0]) + sum(a * b for a, b in rows[1])


def records(x):
    log, pair = Log("run"), Pair([], [])
    for k, v in enumerate(x):
        log.add(0.1 * k, v * v)
        pair.first.append(v)
        pair.second.append(np.array([v, 1.0]))
    return np.trapezoid(log.y, log.t) + np.array(pair.second)[:, 0].sum() * pair.first[2]


def objects(x):
    bodies = [Body(x[0], x[1]), Body(x[2], x[3])]
    for _ in range(2 * len(x)):
        for b in bodies:
            b.step(0.1)
    return sum(bodies[0].path) * bodies[1].path[len(x)] + len(bodies[0].path)


def stacks(x):
    s, t = Stack(), 0.0
    for v in x:
        s.push(v)
    for _ in range(2):
        t = 0.5 * t + s.pop() * s.pop()
        s.push(t)
    return t + len(s.items) * s.items[-1]


def more_names(x):
    log = []
    a, b = Writer(log), Writer(log)
    h = {"y": log}
    g = copy.copy(h)
    mine = g["y"]
    for v in x:
        a.write(v)
        b.write(2.0 * v)
        mine.append(v * v)
    return sum(log) + len(a.log) + 3.0 * h["y"][-1] * b.log[0]


def copies(x):
    h = {"y": []}
    for v in x:
        h["y"].append(v)
    held, part, made = h["y"].copy(), h["y"][1:], np.array(h["y"])
    for v in x:
        h["y"].append(v)
        made[0] += v
    return len(held) + 10 * len(part) + made.sum() + sum(h["y"])


def begun_again(x):
    h, t = {"y": []}, 0.0
    for k in range(3):
        h["y"] = []
        for v in x[k:]:
            h["y"].append(v * v)
            if v < 0.0:
                h["y"].clear()
        t += sum(h["y"])
    return t + len(h["y"])


def asked_while_they_grow(x):
    h, k = {"y": []}, 0
    while k < len(x) and sum(h["y"]) < 5.0:
        if h["y"] and x[k] > h["y"][-1]:
            h["y"].append(x[k])
        elif not h["y"]:
            h["y"].append(0.5 * x[k])
        k += 1
    return sum(h["y"]) + k


def put(v, a):
    v.append(a)
    return len(v)


def filled(x, n):
    h = {"w": [], "f": []}
    w = x[0]
    for k in range(n):
        w = w - 0.1 * np.cos(w) * x[k]
        put(h["w"], w)
        h["f"].append(np.sin(w))
    return w, h


def in_functions(x):
    def more(a):
        w.append(a * x[0])
        return w.pop(0)

    w = [x[1], x[2]]
    last, h = filled(x, len(x))
    n = 0.0
    for v in x:
        n = len(w) + 10.0 * put(w, w[-1] * 0.5 + v) + len(w)
    return last + np.sum(h["f"]) + h["w"][0] + more(x[3]) * more(x[4]) + n + sum(w)


def backward(x):
    gains = []
    for v in x:
        gains.append(v * np.ones(2))
    gains.reverse()
    return gains, x[0]


def turned_round(x):
    gains, last = backward(x)
    rows = [[x[0], x[1]], [x[2], x[3]]]
    for v in x:
        rows.append([v, 2.0 * v])
    rows.reverse()
    for k, m in enumerate(gains):
        last = last + (k + 1) * m.sum()
    return last + rows[0][1] * rows[-1][0]


def drawn(v, a):
    v.pop()
    v.append(a)
    return 2.0


def read_before_they_change(x):
    v = []
    for u in x:
        v.append(u)
    total = v[-1] * drawn(v, 9.0) + v[-1] + sum(np.array(v) * drawn(v, x[1]) + np.array(v))
    return total + np.array([v[-1], drawn(v, x[2]), v[-1]]) @ np.array([1.0, 2.0, 4.0])


PROGRAMS = (
    dictionaries, several_at_once, records, objects, stacks, more_names, copies, begun_again, asked_while_they_grow,
    in_functions, turned_round, read_before_they_change,
)  # fmt: skip


@pytest.mark.part(2)
@pytest.mark.parametrize("plain", PROGRAMS, ids=lambda f: f.__name__)
def test_lists_grow_as_they_do_in_python(plain) -> None:
    with interpreting():
        value, slopes = vectorize_grad(plain).value_and_grad(X)
    assert value == pytest.approx(plain(X), rel=1e-13)
    expected = [(plain(X + h) - plain(X - h)) / 2e-6 for h in 1e-6 * np.eye(len(X))]
    np.testing.assert_allclose(slopes.x, expected, rtol=1e-6, atol=1e-7)


def deeply_copied(x):
    h = {"y": []}
    g = copy.deepcopy(h)
    for v in x:
        h["y"].append(v)
    return sum(g["y"]) + len(h["y"])


def grown_in_a_loop_over_it(x):
    h = {"y": [x[0]]}
    for u in h["y"]:
        h["y"].append(u)
        if len(h["y"]) > 9:
            break
    return sum(h["y"])


def changed_places(x):
    h = {"y": [], "z": []}
    for v in x:
        if v > 0.0:
            h["y"], h["z"] = h["z"], h["y"]
        h["y"].append(v)
    return sum(h["y"]) + 10.0 * len(h["z"])


def one_or_the_other(x):
    h = {"y": []}
    for v in x:
        longer = [*h["y"], v]
        h["y"].append(v)
        if len(longer) > 3:
            h["y"] = longer
    return sum(h["y"])


def turned_by(rows):
    rows.reverse()
    return 2.0


def read_before_it_is_turned(x):
    rows = []
    for v in x:
        rows.append(v * np.ones(2))
    product = rows[0] * turned_by(rows)
    return product[0] + rows[0][1]


def swapped_by(rows):
    rows[0], rows[1] = rows[1], rows[0]
    return 2.0


def read_before_it_is_swapped(x):
    rows = []
    for v in x:
        rows.append(v * np.ones(2))
    product = rows[0] * swapped_by(rows)
    return product[0] + rows[0][1]


REFUSED = (
    deeply_copied, grown_in_a_loop_over_it, changed_places, one_or_the_other, read_before_it_is_turned,
    read_before_it_is_swapped,
)  # fmt: skip


@pytest.mark.parametrize("plain", REFUSED, ids=lambda f: f.__name__)
def test_what_lists_of_the_run_cannot_do_is_refused(plain) -> None:
    with interpreting(), pytest.raises(UnsupportedLoopError):
        vectorize_grad(plain)(X)
