"""Dictionaries that grow by keys of the run, in functions whose arguments are lists, dictionaries and records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from loopdiff import UnsupportedLoopError, vectorize_grad
from loopdiff.testing import check_grads
from tests.gradients.interpreted import interpreting

X, KEYS = np.linspace(0.3, 1.2, 6), np.array([1, 2, 1, 3, 2, 1])


class Model(NamedTuple):
    w: float
    z: float


def memo_of_dictionary(p, x, n):
    memo = {0: 1.0, 1: p["w"]}
    for k in range(2, n):
        memo[k] = memo[k - 1] * x[0] + memo[k - 2] * p["z"]
    return memo[n - 1]


def memo_of_record(p, x, n):
    memo = {0: 1.0, 1: p.w}
    for k in range(2, n):
        memo[k] = memo[k - 1] * x[0] + memo[k - 2] * p.z
    return memo[n - 1]


def memo_of_arrays(p, x, n):
    memo = {0: 1.0, 1: p[0][1]}
    for k in range(2, n):
        memo[k] = memo[k - 1] * p[1][k] + memo[k - 2]
    return memo[n - 1] * x.sum()


def memo_of_pair(p, x, n):
    memo = {0: 1.0, 1: p[0]}
    for k in range(2, n):
        memo[k] = memo[k - 1] * x[0] + memo[k - 2] * p[1]
    return memo[n - 1]


def memo_of_function(p, x, n):
    memo = {0: 1.0, 1: 0.5}
    for k in range(2, n):
        memo[k] = p(memo[k - 1], x[0]) + memo[k - 2]
    return memo[n - 1]


def totals(p, x, n):
    found = defaultdict(float)
    for i in range(len(x)):
        found[KEYS_OF[i] % n] += x[i] * p["w"]
    return sum(v * v for v in found.values())


def last_seen(p, x, n):
    seen, t = {}, 0.0
    for i in range(len(x)):
        k = i * i % n
        if k in seen:
            t += seen[k] * x[i] * p["w"]
        seen[k] = x[i]
    return t


def groups(p, x, n):
    found = {}
    for i in range(len(x)):
        found.setdefault(i % n, []).append(x[i] * p["w"])
    return sum(sum(g) ** 2 for g in found.values())


def known_and_not(p, x, n):
    """One dictionary has the keys of the argument, the other those of the run."""
    twice = {name: 2.0 * p[name] for name in p}
    memo = {0: 1.0}
    for k in range(1, n):
        memo[k] = memo[k - 1] * twice["w"] + twice["z"] * x[k % 6]
    return memo[n - 1]


def known_alone(p, x, n):
    """The keys are those that there are."""
    d = {0: p["w"], 1: p["z"], 2: 1.0}
    for i in range(len(x)):
        d[i % 3] = d[i % 3] * x[i] + d[(i + n) % 3]
    return d[0] * d[1] + d[2]


KEYS_OF = (1, 2, 1, 3, 2, 1)
PAIR = {"w": 0.7, "z": 0.4}
CASES = [
    (memo_of_dictionary, PAIR),
    (memo_of_record, Model(0.7, 0.4)),
    (memo_of_arrays, [X, 2.0 * X]),
    (memo_of_pair, (0.7, 0.4)),
    (memo_of_function, lambda a, b: a * b),
    (totals, PAIR),
    (last_seen, PAIR),
    (groups, PAIR),
    (known_and_not, PAIR),
    (known_alone, PAIR),
]


@pytest.mark.parametrize(("plain", "given"), CASES)
def test_they_grow_beside_arguments_that_are_structures(plain: Callable[..., Any], given: Any) -> None:
    with interpreting():
        f = vectorize_grad(plain)
        for n in (2, 5, 6):
            assert f(given, X, n) == pytest.approx(plain(given, X, n), rel=1e-12)
        if not callable(given):
            check_grads(f, (given, X, 5))


def unfit(p, x, n):
    memo = {0: 1.0}
    for k in range(1, n):
        memo[k] = p["w"] * memo[k - 1]
        memo = dict(reversed(memo.items()))
    return memo[0]


def test_what_no_list_can_stand_for_is_refused_as_before() -> None:
    with pytest.raises(UnsupportedLoopError, match="LD"):
        vectorize_grad(unfit)(PAIR, X, 4)
