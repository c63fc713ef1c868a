"""`negative="from_end"`: subscripts are Python's, its errors included, and so are the derivatives."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff import ArgumentError, vectorize_grad
from loopdiff.testing import check_grads
from tests.gradients.interpreted import interpreting
from tests.texts import registered

RNG = np.random.default_rng(3)
X, A, K = RNG.random(6), RNG.random((4, 3)), np.array([0, -1, 3, -6, 5, 2])


def roughness(x):
    return sum((x[i] - x[i - 1]) ** 2 for i in range(len(x)))


def gathered(x, k):
    s = 0.0
    for i in range(len(k)):
        s += x[k[i]] * x[k[i - 1]] ** 2
    return s


def under_conditions(x, k, shift):
    y = np.zeros(len(x))
    for i in range(len(k)):
        if i > 0 or shift > 2:
            y[k[i - 1]] += x[k[k[i] % 3 - 2]] * (x[i - shift] if i < 3 else 2.0)
    return y


def rows(a, shift):
    s = 0.0
    for i in range(a.shape[0]):
        a[i - 1] += 0.5 * a[i - shift]
        s += (a[i - 2] * a[i - 1, 0]).sum()
    return s


def torus(s):
    e = 0.0
    for i in range(s.shape[0]):
        for j in range(s.shape[1]):
            e += s[i, j] * (s[i - 1, j] + s[i, j - 1])
    return e


def backwards(x, y):
    for i in range(len(x)):
        y[-i] += x[-i - 1]
    return y[-1]


def of_an_argument(x, k):
    return x[k] * x[-k - 1]


def through_a_helper(x):
    def before(v, i):
        return v[i - 1]

    return sum(before(x, i) * x[i] for i in range(len(x)))


def fancy(x, k):
    return (x[k] * x[k // 2]).sum() + x[:-2].sum()


CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (roughness, (X,)), (roughness, (X[:1],)), (roughness, (X[:0],)), (gathered, (X, K)), (gathered, (X[:5], K)),
    *((under_conditions, (X, K, shift)) for shift in (1, 3, 7)), *((rows, (A, shift)) for shift in (0, 1, 4, 5)),
    (torus, (A,)), (backwards, (X, X + 1.0)), *((of_an_argument, (X, k)) for k in (0, -1, -6, 5, 6, -7)),
    (through_a_helper, (X,)), (fancy, (X, K)), (fancy, (X[:5], K)),
]  # fmt: skip


def copied(args: tuple[Any, ...]) -> list[Any]:
    return [a.copy() if isinstance(a, np.ndarray) else a for a in args]


def compare(function: Callable[..., Any], args: tuple[Any, ...]) -> bool:
    """Whether Python gives a value for `args`, which is then the one that is found; else both raise."""
    mine, other = copied(args), copied(args)
    f = vectorize_grad(negative="from_end")(function)
    try:
        expected = function(*other)
    except IndexError:
        with pytest.raises(ArgumentError):
            f(*mine)
        return False
    found = f(*mine)
    assert found is None if expected is None else np.allclose(found, expected, rtol=1e-12, atol=0.0)
    for a, b in zip(mine, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    return True


@pytest.mark.parametrize(("function", "args"), CASES)
def test_values_are_pythons(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    with interpreting():
        compare(function, args)


@pytest.mark.parametrize(("function", "args"), [(roughness, (X,)), (gathered, (X, K)), (rows, (A, 1)), (torus, (A,)),
                                                (backwards, (X, X + 1.0))])  # fmt: skip
def test_gradients(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    check_grads(vectorize_grad(negative="from_end")(function), copied(args))


def drawn(seed: int) -> list[str]:
    rng = random.Random(seed)
    ends = [f"range({rng.choice(['0', '1'])}, {rng.choice(['n', 'n - 1', 'n + 1'])})" for _ in range(2)]
    indices = ["i", "j"][: rng.choice([1, 2])]
    body = [f"{'    ' * k}for {i} in {e}:" for k, (i, e) in enumerate(zip(indices, ends, strict=False))]
    pad = "    " * len(indices)

    def subscript() -> str:
        sign = rng.choice(["", "", "-"])
        shift = rng.choice(["", "- 1", "+ 1", "- 2", "- k", f"- {indices[0]}", "- p[0]"])
        return f"{sign}{rng.choice(indices)} {shift}" if rng.random() < 0.8 else f"p[{rng.choice(indices)} - 1]"

    for _ in range(rng.choice([1, 2])):
        value = f"0.5 * x[{subscript()}] - x[{subscript()}] * {1 + rng.random():.2f}"
        line = f"y[{subscript()}] {rng.choice(['=', '+='])} {value}"
        body.append(f"{pad}if {indices[-1]} > {rng.choice('01k')}: {line}" if rng.random() < 0.3 else pad + line)
    return body


@pytest.mark.part(7)
@pytest.mark.parametrize("seed", range(40))
def test_drawn_programs(seed: int) -> None:
    text = "\n    ".join(["def f(x, y, p, k):", "n = x.shape[0]", *drawn(seed)]) + "\n"
    function = registered(text, f"<from the end {seed}>")
    rng = np.random.default_rng(seed)
    with interpreting():
        for n in range(6):
            for k in (0, 1, -2, n):
                compare(function, (rng.random(n), rng.random(n), rng.integers(-n, n, n) if n else np.zeros(0, int), k))
