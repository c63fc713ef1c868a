"""Slices in loops whose variables decide what is negative, clamped or empty, against plain Python at small sizes."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import numpy as np
import pytest

from loopdiff.errors import ArgumentError
from loopdiff.ir.interpret import run
from loopdiff.ir.printer import print_loopset
from tests.gradients.interpreted import normal_form
from tests.lengths import IS_LONG
from tests.texts import registered


def bound(rng: random.Random, names: tuple[str, ...]) -> str:
    base = rng.choice([*names, *names, "0", "n", "k", "len(x)", "len(x) // 2", "(len(x) - k) // 3"])
    scaled = rng.choice([base, base, base, f"2 * {base}", f"-{base}", f"k + {base}", f"{base} - k"])
    return scaled + rng.choice(["", "", " + 1", " - 1", " + 2", " - 3"])


def span(rng: random.Random, names: tuple[str, ...]) -> str:
    step = rng.choice(["", "", ":2", ":-1", ":-2", ":3"])
    lower, upper = (rng.choice(["", bound(rng, names), bound(rng, names)]) for _ in range(2))
    return f"x[{lower}:{upper}{step}]"


def program(seed: int) -> str:
    rng = random.Random(seed)
    lines, names, margin = ["def f(x, n):", "    k = x.shape[0] // 3", "    t = 0.0"], (), "    "
    for name in "ij"[: rng.randint(1, 2)]:
        step = rng.choice(["1", "1", "1", "2", "-1", "-2"])
        lines.append(f"{margin}for {name} in range({bound(rng, names)}, {bound(rng, names)}, {step}):")
        margin, names = margin + "    ", (*names, name)
        for _ in range(rng.randint(1, 2)):
            part = span(rng, names)
            lines.append(f"{margin}t += {rng.choice(names)} * {part}.sum() + 100.0 * {part}.shape[0]")
    return "\n".join([*lines, "    return t"]) + "\n"


@pytest.mark.parametrize("first", range(0, 120 if IS_LONG else 60, 12))
def test_slices_in_loops(first: int) -> None:
    for seed in range(first, first + 12):
        function = registered(program(seed), f"<slices {seed}>")
        loops = normal_form(function, {"x": np.ones(3), "n": 2})
        for length, n in product(range(7), (-2, 0, 1, 3, 6)):
            x = np.random.default_rng(seed).normal(size=length)
            (found,) = run(loops, {"x": x.copy(), "n": n})
            assert np.isclose(found, function(x, n), rtol=1e-12), f"{length} elements, n = {n}\n{program(seed)}"


def conv(x, w, y):
    for i in range(x.shape[0] - w.shape[0] + 1):
        y[i] = np.sum(x[i : i + w.shape[0]] * w)
    return np.sum(y * y)


def pool(x, y):
    for i in range(x.shape[0] // 2):
        y[i] = np.max(x[2 * i : 2 * i + 2])
    return np.sum(y)


def triangle(a, x):
    for i in range(x.shape[0] - 1, -1, -1):
        for j in range(i):
            x[i] -= a[i, j] * np.sum(x[j : i + 1])
    return np.sum(x)


@pytest.mark.parametrize(
    ("function", "args", "extents"),
    [
        (conv, (np.ones(5), np.ones(2), np.ones(4)), "range(0, w.shape[0], 1)"),
        (pool, (np.ones(6), np.ones(3)), "max[] max= x[2 * i + 1]"),
    ],
)
def test_ranges_of_loops_decide_slices(function: Any, args: tuple[np.ndarray, ...], extents: str) -> None:
    """Nothing is clamped: an inner loop goes over all of the slice, as is known from the loop around."""
    names = function.__code__.co_varnames
    text = print_loopset(normal_form(function, dict(zip(names, args, strict=False))))
    assert extents in text
    assert "min(" not in text
    assert " if " not in text


def test_nothing_is_required_of_slices_in_triangles() -> None:
    loops = normal_form(triangle, {"a": np.ones((4, 4)), "x": np.ones(4)})
    text = print_loopset(loops)
    assert "LD310: `x[" not in text
    assert "min(" not in text
    x, a = np.arange(4.0), np.random.default_rng(0).normal(size=(4, 4))
    found = run(loops, {"a": a, "x": x.copy()})
    assert np.isclose(found[0], triangle(a, x.copy()), rtol=1e-12)


def lu(a, x):
    for k in range(a.shape[0] - 1):
        for i in range(k + 1, a.shape[0]):
            a[i, k] /= a[k, k]
            a[i, k + 1 :] -= a[i, k] * a[k, k + 1 :]
    return np.sum(a)


def lu_outer(a, x):
    for k in range(a.shape[0] - 1):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return np.sum(a)


def cholesky(a, x):
    for k in range(a.shape[0]):
        a[k + 1 :, k] = (a[k + 1 :, k] - a[k + 1 :, :k] @ a[k, :k]) / a[k, k]
    return np.sum(a)


def prefixes(a, x):
    for i in range(x.shape[0]):
        x[:i] = x[:i][::-1]
        x[i:] += 0.5 * x[: x.shape[0] - i] ** 2
    return np.sum(x)


def windows(a, x):
    s = 0.0
    for i in range(x.shape[0]):
        w = x[i : i + 2].copy()
        x[i : i + 2] = w[::-1] * w[0]
        z = x[i:] ** 2
        s += z.sum() * z[0] + np.sum(np.sin(x[i // 2 :: 2]))
    return s


@pytest.mark.parametrize("function", [lu, lu_outer, cholesky, prefixes, windows])
def test_arrays_as_large_as_slices_have_room(function: Any) -> None:
    """Of arrays whose extents loops decide, a limit is known at entry."""
    loops = normal_form(function, {"a": np.ones((3, 3)), "x": np.ones(3)})
    for n in range(6):
        rng = np.random.default_rng(n)
        a, x = rng.normal(size=(n, n)) + 4.0 * np.eye(n), rng.normal(size=n)
        mine = a.copy(), x.copy()
        (found,) = run(loops, {"a": mine[0], "x": mine[1]})
        assert np.isclose(found, function(a, x), rtol=1e-12)
        assert all(np.allclose(ours, theirs, rtol=1e-12) for ours, theirs in zip(mine, (a, x), strict=True))


def before_the_start(u, v):
    return np.sum(u * v) + v[-2]


def write_before_the_start(u, v):
    v[-2] = 5.0
    return np.sum(u * v)


def local_before_the_start(u, v):
    t = np.zeros(1)
    t[0] = v[0]
    return np.sum(u) * t[-2]


@pytest.mark.parametrize("function", [before_the_start, write_before_the_start, local_before_the_start])
def test_subscripts_count_from_the_end_once(function: Any) -> None:
    u, v = np.ones(3), np.array([4.0])
    with pytest.raises(IndexError):
        function(u, v)
    with pytest.raises(ArgumentError, match="LD311"):
        run(normal_form(function, {"u": u, "v": v}), {"u": u, "v": v})


def ends_of_rows(x, n):
    t = 0.0
    for i in range(n):
        t += (i + 1.0) * x[i:n].sum()
        for j in range(n - 1, i, -1):
            t += x[: n - i].sum() * j
    return t


@pytest.mark.parametrize("n", [-3, -1, 0, 1, 2, 4, 6])
def test_where_a_loop_runs_its_end_counts_from_the_start(n: int) -> None:
    x = np.array([1.0, 3.0, -2.0, 5.0])
    ls = normal_form(ends_of_rows, {"x": x, "n": n})
    assert " if " not in print_loopset(ls)
    (found,) = run(ls, {"x": x, "n": n})
    assert found == ends_of_rows(x, n)
