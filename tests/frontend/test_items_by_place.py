"""Items of lists of tuples, records and objects of which only the run says which is meant, against what Python computes
and central differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from loopdiff import UnsupportedLoopError, vectorize_grad
from tests.gradients.interpreted import interpreting

X = np.array([0.9, 0.25, 0.61, 0.37, 0.08, 0.74])
TABLE = [(0.5, 1, np.array([1.0, 2.0])), (1.5, 0, np.array([3.0, 4.0]))]


class Point(NamedTuple):
    """Two numbers."""

    u: float
    v: float


@dataclass
class Dose:
    """A record with an array and a method."""

    time: float
    amount: float
    w: np.ndarray

    def at(self, t):
        return self.amount * np.exp(-0.1 * (t - self.time)) + self.w.sum()


@dataclass
class Patient:
    """A record that holds lists of others."""

    doses: list
    points: list
    given: list


class Schedule:
    """An object that keeps its place in a list."""

    def __init__(self, rows, scale):
        self.rows, self.scale, self.k = rows, scale, 0

    def level(self, t):
        while self.k < len(self.rows) and self.rows[self.k][0] <= t:
            self.k += 1
        return self.rows[max(self.k - 1, 0)][1] * self.scale


def patient(x):
    doses = [Dose(0.1, 2.0 * x[0], x[:3] * 2.0), Dose(0.4, 3.0 * x[1], x[3:] * x[2])]
    return Patient(doses, [Point(x[0], x[1]), Point(x[2], 2.0), Point(x[4], x[0])], [(0.2, x[3], 1), (0.5, 2.5, 4)])


def counted(p, x):
    y, k = x * 1.0, 0
    for v in x:
        while k < len(p.given) and p.given[k][0] <= v:
            when, amount, place = p.given[k]
            y[place] += amount * when
            k += 1
    return y @ y


def by_another_name(p, x):
    given, t = p.given, 0.0
    for i, v in enumerate(x):
        t += given[i % 2][1] * v * x[given[(i + 1) % 2][2]]
    return t


def records(p, x):
    t = 0.0
    for i, v in enumerate(x):
        d = p.doses[i % 2]
        t += d.amount * v + d.w[0] * d.time + p.points[(i + 1) % 3].u * p.points[i % 3][1] + p.doses[i // 3].at(v)
    return t


def objects(p, x):
    schedule, t = Schedule([(a, b * 2.0) for a, b, _ in p.given], 2.0), 0.0
    for v in np.sort(x):
        t += schedule.level(v) * v
    return t


def in_a_condition_of_what_is_made_here(p, x):
    rows, t, k = [(q.u, q.v, 1) for q in p.points], 0.0, 0
    for v in x:
        while k < 3 and rows[k][0] >= v - 0.05:
            t += rows[k][1] * v
            k += rows[k][2]
    return t


def changed_between(p, x):
    t = 0.0
    for i, v in enumerate(x):
        rows = [(1.0, v, p.doses[0].w), (2.0, v * v, p.doses[1].w)] if v > 0.5 else [(v, 2.0, d.w) for d in p.doses]
        t += rows[i % 2][0] * rows[(i + 1) % 2][1] * rows[i % 2][2][1]
    return t


def in_expressions(p, x):
    scaled = lambda i: p.doses[i % 2].amount * 2.0  # noqa: E731

    def inner(i):
        return p.doses[i % 2].time * p.points[i % 3].v

    t = sum(p.doses[i % 2].amount * v for i, v in enumerate(x)) + max(p.points[i % 3].u for i in range(len(x)))
    for i, v in enumerate(x):
        t += (p.doses[i % 2].amount if v > 0.5 else p.doses[(i + 1) % 2].time) + scaled(i) * inner(i)
        if v > 0.3 and p.doses[i // 4].amount > 1.0:
            t += p.points[int(np.floor(v * 2.9))][1] * p.points[i % 3 - 1 if i % 3 else 0].u
    return t


def of_a_table(p, x):
    t = 0.0
    for i, v in enumerate(x):
        t += TABLE[i % 2][0] * v + TABLE[i % 2][2][TABLE[i % 2][1]] * p.doses[0].amount
    return t


def item_that_stays(p, x):
    t, now = 0.0, p.doses[0]
    for i, v in enumerate(x):
        if v > 0.5:
            now = p.doses[i % 2]
        t += now.amount * v
    return t


def grown(p, x):
    trees, t = [], 0.0
    for j in range(len(x)):
        trees.append((j, x[j] * p.given[0][1]))
    for tree in trees:
        t += x[tree[0]] * tree[1]
    for i in range(len(trees)):
        j, w = trees[-1 - i]
        t += x[j] * w * x[trees[i][0]]
    return t


def grown_of_names_that_some_ways_bind(p, x):
    stumps, t = [], 0.0
    for r in range(3):
        best = np.inf
        for j in range(len(x)):
            e = (x[j] - 0.3 * r - p.given[0][1]) ** 2
            if e < best:
                best, where, half = e, j, 0.5 * x[j]
        stumps.append((where, half))
    for stump in stumps:
        t += x[stump[0]] * stump[1]
    return t


def parts(p: Patient) -> list[Any]:
    """What has a slope in what `patient` makes, in order."""
    return [v for d in p.doses for v in (d.time, d.amount, *d.w)] + [v for q in p.points for v in q] + [
        v for row in p.given for v in row[:2]
    ]  # fmt: skip


def moved(p: Patient, k: int, h: float) -> Patient:
    """`p` with the k-th of its `parts` moved."""
    values = iter([v + h * (j == k) for j, v in enumerate(parts(p))])
    doses = [Dose(next(values), next(values), np.array([next(values) for _ in d.w])) for d in p.doses]
    points = [Point(next(values), next(values)) for _ in p.points]
    return Patient(doses, points, [(next(values), next(values), row[2]) for row in p.given])


@pytest.mark.parametrize(
    "plain",
    [
        counted, by_another_name, records, objects, in_a_condition_of_what_is_made_here, 
        changed_between, in_expressions, of_a_table, item_that_stays, grown, grown_of_names_that_some_ways_bind,
    ],
)  # fmt: skip
def test_items_are_those_of_python(plain: Callable[..., Any]) -> None:
    p = patient(X)
    with interpreting():
        value, slopes = vectorize_grad(plain).value_and_grad(p, X)
    assert value == pytest.approx(plain(p, X), rel=1e-13)
    h = 1e-6
    of_x = [(plain(p, X + step) - plain(p, X - step)) / (2 * h) for step in h * np.eye(len(X))]
    np.testing.assert_allclose(slopes.x, of_x, rtol=1e-6, atol=1e-7)
    of_parts = [(plain(moved(p, k, h), X) - plain(moved(p, k, -h), X)) / (2 * h) for k in range(len(parts(p)))]
    np.testing.assert_allclose(parts(slopes.p), of_parts, rtol=1e-6, atol=1e-7)


def written_through(p, x):
    t = 0.0
    for i, v in enumerate(x):
        w = p.doses[i % 2].w
        w[0] = v
        t += p.doses[0].w[0] * v
    return t


def written_meanwhile(p, x):
    t = 0.0
    for i, v in enumerate(x):
        p.doses[0].w[0] += v
        t += p.doses[i % 2].w[0] * v
    return t


def changed_by_place(p, x):
    for i, v in enumerate(x):
        p.doses[i % 2].amount += v
    return p.doses[0].amount


def changed_by_another_name(p, x):
    t = 0.0
    for i, v in enumerate(x):
        d = p.doses[i % 2]
        p.doses[0].amount = v * 2.0
        t += d.amount * v
    return t


def changed_in_its_loop(p, x):
    rows, k, t = [(q.u, q.v) for q in p.points], 0, 0.0
    while k < 3 and rows[k][0] < 9.0:
        rows[0] = (rows[0][0] + 1.0, x[k])
        t += rows[k][1] * rows[0][1] * rows[k][0]
        k += 1
    return t


def called_as_an_argument(p, x):
    return sum([(x, 1.0), (p.points[0].u, 2.0)][int(v > 0.5)][0] * v for x in x for v in p.doses[0].w)


@pytest.mark.parametrize(
    ("plain", "reason"),
    [
        (written_through, "in a list, is written to later"),
        (written_meanwhile, "in a list, is written to later"),
        (changed_by_place, "is changed where others may have it, too"),
        (changed_by_another_name, "is changed where others may have it, too"),
        (changed_in_its_loop, "which item the condition of a loop reads is not known, and the loop changes it"),
        (called_as_an_argument, "is meant is not known"),
    ],
)
def test_items_that_change_are_refused(plain: Callable[..., Any], reason: str) -> None:
    """A list for each place holds what was there: who changes that would not be seen."""
    with interpreting(), pytest.raises(UnsupportedLoopError, match=reason):
        vectorize_grad(plain)(patient(X), X)
