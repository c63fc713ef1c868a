"""Spellings that stand for others: `map`, `filter`, `item`, error states, names of results of `np.linalg`."""

from __future__ import annotations

import ast
import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from loopdiff import LoopdiffError, UnsupportedLoopError, vectorize_grad
from loopdiff.source.functions import source_of
from tests.corpus.calls import halved
from tests.gradients.interpreted import interpreting
from tests.texts import registered

x = np.array([0.5, 1.5, 2.5])
A = np.outer(x, x) + np.diag([1.0, 2.0, 4.0])


def cube(v):
    return v * v * v


def mapped(x):
    return sum(map(math.sin, x)) + max(map(abs, x)) + min(map(lambda v: v * v, x))


def several(x):
    return sum(map(lambda u, v: u * v, x, x[::-1])) + sum(map(max, x, x[::-1])) + sum(map(cube, map(cube, x)))


def late(x):
    c = 1.0
    for k, v in enumerate(map(lambda v: v * c, [x[0], x[1], x[2]])):
        c += v * k
    return c


def in_a_loop(x):
    s = 2.0
    for v in map(math.sin, map(lambda s: s * s, x)):
        s += v
    for u, v in map(lambda a: (a, a * a), x):
        s += u * v
    return s + v


def kept_in_a_loop(x):
    s = v = 0.0
    for v in filter(lambda u: u > 1.0, x):
        if v > 9.0:
            continue
        s += v * v
    for u in filter(None, map(lambda w: w - 0.5, filter(lambda u: u < 2.0, x))):
        s += cube(u)
    else:
        s += x[0]
    return s + v


def numbered(x):
    s = 0.0
    for k, v in enumerate(map(cube, x)):
        s += k * v
    for k, (u, v) in enumerate(zip(map(abs, x), x[::-1]), start=1):  # noqa: B905
        s += k * u * v
    for k, v in enumerate(map(max, x, x[::-1]), 2):
        s += v / k
    return s


def kept_and_mapped(x):
    s = sum(map(cube, filter(lambda u: u > 1.0, x)))
    return s + sum(filter(lambda u: u < 2.0, filter(lambda u: u > 1.0, x)))


def changed_last(x):
    w, t = x.copy(), 0.0
    for a, b in zip(w, map(lambda u: u + halved(w), w)):  # noqa: B905
        t += a * b
    for a, b, c in zip(map(math.sin, w), map(lambda u, k=2.0: u * k + abs(u), w), w):  # noqa: B905
        t += a * b * c
    return t + w.sum()


def starred(x):
    y = np.array([*map(cube, x)])
    return y.sum() * y[0] + sum([*map(abs, x)])


def unpacked(x):
    a, b, c = map(cube, (x[0], x[1], x[2]))
    p, q = map(float, (x[0], x[1]))
    return a * b + c + p * q


def listed(x):
    return np.array(list(map(math.sin, x))).sum() + sum(map(sum, [[x[0], x[1]], [x[2]]]))


def filtered(x):
    return sum(filter(lambda v: v > 1.0, x)) * any(map(lambda v: v > 2.0, x))


def named_as_an_argument(x):
    return sum(map(lambda x: x * x, x)) + x[1]


def own_name(x):
    map = x
    return map[0] + map[2]


def closure(x):
    def scaled(v):
        return v * x[0]

    return sum(map(scaled, x)) + sum(map(lambda v, k=2.0: v * k, x))


def rows(A):
    return sum(map(np.sum, A)) + max(map(lambda r: r.sum(), A))


def numbers(x):
    return np.linalg.norm(x).item() + x.mean().item() * x[0].item() + (x[0] > 0.0).item() * x[1]


def eigenvalues(A):
    r = np.linalg.eigh(A)
    return r.eigenvalues @ r.eigenvectors[0] ** 2 + np.linalg.eigh(A).eigenvalues[0]


def factors(A):
    q, s = np.linalg.qr(A), np.linalg.slogdet(A)
    return (q.Q @ q.R)[0, 1] + s.sign * s.logabsdet + np.linalg.svd(A).S.sum() + np.linalg.slogdet(A)[1]


def keys_that_change(x, log):
    def key(v):
        log[0] = log[0] * 2.0
        return v

    d: dict[Any, Any] = dict.fromkeys((key(1), 2), x[0] * log[0])
    return d[1] + d[2]


def keys_that_are_changed(x, log):
    v = [log[0], 2.0, 3.0]
    d = dict.fromkeys((v[0], 5.0), x[0] * v.pop(0))
    return sum(k * u for k, u in d.items())


@pytest.mark.parametrize("plain", [keys_that_change, keys_that_are_changed])
def test_one_value_is_computed_after_the_keys(plain: Callable[..., Any]) -> None:
    """A comprehension computes it before them, which is refused where that could tell."""
    with pytest.raises(UnsupportedLoopError, match=r"LD109: `dict\.fromkeys`"):
        vectorize_grad(plain)(np.array([0.9]), np.array([3.0]))


def of_one_value(x):
    key, value = 5.0, x[0]
    d, counts = dict.fromkeys(("a", "b", "a"), x[1] * 2.0), dict.fromkeys((0, 1, 2), 0.0)
    d["a"] *= key * value
    for i, v in enumerate(x):
        counts[i % 2] += v * v
    shared: dict[str, np.ndarray] = dict.fromkeys(d, x * 2.0)
    shared["a"][0] = 7.0
    totals = dict.fromkeys(np.floor(x), 0.0)
    for v in x:
        totals[np.floor(v)] += v * v
    return d["a"] * d["b"] * len(d) + counts[0] * counts[1] + shared["b"].sum() + sum(k * v for k, v in totals.items())


def sorted_sets(x):
    t = 0.0
    for u in sorted(set(x[x > 1.0])):
        t = 0.5 * t + u
    ts = sorted(set(x))
    for k, u in enumerate(sorted(set(x), reverse=True)):
        t = 0.5 * t + u * k
    for u, v in zip(ts, reversed(sorted(set(x))), strict=True):
        t = 0.5 * t + u * v * len("abc")
    return t + ts[0] * ts[-1] * len(ts)


OF_X = [
    mapped, several, in_a_loop, late, kept_in_a_loop, numbered, kept_and_mapped, changed_last, starred, unpacked,
    listed, filtered, named_as_an_argument, own_name, closure, numbers, of_one_value, sorted_sets]  # fmt: skip
PROGRAMS = [(f, x) for f in OF_X] + [(f, A) for f in (rows, eigenvalues, factors)]


@pytest.mark.part(5)
@pytest.mark.parametrize(("function", "value"), PROGRAMS, ids=lambda v: getattr(v, "__name__", ""))
def test_value_and_gradient(function: Callable[..., Any], value: np.ndarray) -> None:
    """Python's value; the derivative is that of a difference."""
    with interpreting():
        f = vectorize_grad(cache=False)(function)
        assert_allclose(f(value.copy()), function(value.copy()), rtol=1e-12)
        (gradient,) = f.grad(value.copy())
    for place in np.ndindex(value.shape):
        step = np.zeros_like(value)
        step[place] = 1e-6
        slope = (function(value + step) - function(value - step)) / 2e-6
        assert_allclose(gradient[place], slope, rtol=1e-6, atol=1e-6)


def test_single_precision_stays() -> None:
    def f(y, k):
        return y * y[0].item() * k[0].item()

    y, k = x.astype(np.float32), np.array([2, 3])
    with interpreting():
        found = vectorize_grad(cache=False)(f)(y, k)
    assert found.dtype == f(y, k).dtype == np.float32


def test_names_that_hold_something_else_are_left_alone() -> None:
    def f(A, b):
        r = np.linalg.eigh(A)
        r = b
        return r.S

    assert ".S" in ast.unparse(source_of(f).node)
    assert "eigh(A).Q" in ast.unparse(source_of(lambda A: np.linalg.eigh(A).Q).node)
    assert ".S" in ast.unparse(source_of(lambda A: np.linalg.svd(A, compute_uv=False).S).node)


def used_twice(x):
    m = map(abs, (x[0], x[1]))
    return sum(m) + 10.0 * sum(m)


def with_a_start(x):
    return sum(map(lambda r: 2.0 * r, np.outer(x, x)), x)


def with_a_default(x):
    t, k = 0.0, 1.0
    for v in map(lambda u, j=k: u * j, x):
        k += 1.0
        t += v
    return t


def kept_with_a_default(x):
    t, k = 0.0, 0.0
    for v in filter(lambda u, j=k: u > j, x):
        k += 1.0
        t += v * k
    return t


def greatest_with_a_default(x):
    w = x.copy()
    return max(w, key=lambda v, s=halved(w): abs(v - s)) + w.sum()  # noqa: B008


def folded_with_a_default(x):
    w = x.copy()
    return functools.reduce(lambda a, b, s=halved(w): a * s + b, [w[0], w[1], w[2]]) + w.sum()  # noqa: B008


def read_behind_a_change(x):
    w, t = x.copy(), 0.0
    for a, b in zip(map(lambda u: u + halved(w), w), w):  # noqa: B905
        t += a * b
    return t + w.sum()


def added_behind_a_change(x):
    w = x.copy()
    return sum(map(lambda a, b: a * b, map(lambda u: u + halved(w), w), w)) + w.sum()


def of_one_axis_only(x):
    return np.linalg.vector_norm(np.outer(x, x), axis=(0, 1))


def generator_used_twice(x):
    g = (v * x[0] for v in (x[0], x[1]))
    return sum(g) + 10.0 * sum(g)


def pairs_used_twice(x):
    pairs = zip((x[0], x[1]), (x[1], x[2]))  # noqa: B905
    return sum(a * b for a, b in pairs) + sum(a * b for a, b in pairs)


def generator_given_away(x):
    def twice(p):
        return sum(p) + sum(p)

    return twice(v * x[0] for v in (x[0], x[1]))


def changed_on_the_way(x):
    s, t = 2.0, 0.0
    for v in (v * s for v in (x[0], x[1])):
        s += 1.0
        t += v
    return t


def view_of_a_dictionary(x):
    d = {"a": x[0], "b": x[1]}
    v = d.values()
    d["a"] = 3.0 * x[2]
    return sum(v)


KEPT = [used_twice, with_a_start, with_a_default, kept_with_a_default, greatest_with_a_default, folded_with_a_default,
        read_behind_a_change, added_behind_a_change, of_one_axis_only, generator_used_twice, pairs_used_twice,
        generator_given_away, changed_on_the_way, view_of_a_dictionary]  # fmt: skip


@pytest.mark.parametrize("function", KEPT)
def test_iterators_stay_iterators(function: Callable[..., Any]) -> None:
    """They compute items when they are asked for, and give each once: refused where that may be seen."""
    with pytest.raises(LoopdiffError), interpreting():
        vectorize_grad(cache=False)(function)(x)


def sum_of_rows_from(A):
    start = A[0] * 1.0
    total = sum((2.0 * r for r in A), start)
    return (total * start).sum()


def test_sum_adds_nothing_to_its_start() -> None:
    with interpreting():
        f = vectorize_grad(cache=False)(sum_of_rows_from)
        assert f(A.copy()) == sum_of_rows_from(A.copy())


def shadowed(x, map):
    return sum(map(cube, x))


def computed(x):
    return sum(map(x[0], x))


@pytest.mark.parametrize("function", [shadowed, computed])
def test_what_is_not_pythons_own(function: Callable[..., Any]) -> None:
    assert "map(" in ast.unparse(source_of(function).node)
    with pytest.raises(UnsupportedLoopError):
        vectorize_grad(cache=False)(computed)(x)


def test_error_states_are_known_by_any_name() -> None:
    text = 'def f(x):\n    with quiet(all="ignore"):\n        return (x * x).sum()\n'
    f = registered(text, "<quiet>", quiet=np.errstate)
    assert vectorize_grad(f)(x) == f(x)


@pytest.mark.parametrize(
    "context",
    [
        'np.errstate(divide="raise")', 'np.errstate(all="call")', "np.errstate(all=mode)", "np.errstate(**mode)",
        'np.errstate(all="ignore") as e', 'np.errstate(all="ignore"), open("a")', 'other.errstate(all="ignore")',
    ],
)  # fmt: skip
def test_contexts_that_do_something_stay_and_are_refused(context: str) -> None:
    text = f"def f(x, mode=1):\n    other = x\n    with {context}:\n        return (x * x).sum()\n"
    with pytest.raises(UnsupportedLoopError, match="LD103"):
        vectorize_grad(registered(text, f"<with {context}>", np=np))(x)


# -- names given inside expressions, and places of conditions ----------------------------------------------------
def named_first(x):
    s = 0.0
    if (n := len(x)) > 2 and (u := x[0] + n) > 0.5:
        s = u + n
    if (t := x[0]) > 1.0:
        s += 1.0
    elif (v := x[1]) > t:
        s -= v * t
    y = (a := x[1]) * a + np.sum(b := x * a)
    return y * n + s + b[0]


def plus_one(v):
    return v + 1.0


def named_results_of_helpers(x):
    i, s = 0, 0.0
    if (m := plus_one(x[0])) > 0.0:
        s += m
    while i < len(x) and (v := plus_one(x[i])) < 3.0:
        s += v * m
        i += 1
    return s


def named_in_loops(x):
    i, s, v = 0, 0.0, 1.0
    while i < len(x) and (v := x[i]) < 2.0:
        i += 1
        if (w := v * v) < 0.5:
            continue
        s += w
    for v in (z := x[1:]):
        s += v * z[0]
    squares = [r for u in x if (r := u * u) > 1.0]
    return s + v + len(squares) * squares[0] + sum(q for u in x if (q := u - 1.0) > 0.0)


def places(x):
    k = np.where(x > 1.0)
    y = x.copy()
    y[k] = 2.0 * x[k]
    y[np.nonzero((x < 1.0) & (x > 0.0))] *= 3.0
    return y.sum() + len(k[0]) * k[0][-1] + np.shape(x)[0] * np.size(x)


def places_of_masks(x):
    m = x > 1.0
    k = np.where(m)
    m[0] = True
    return x[k].sum() + x[m].prod()


def collected(x):
    u, v = list(2.0 * a for a in x if a > 1.0), tuple(a * a for a in x)
    first, *rest = sorted(a - 1.0 for a in x)
    *some, last = v
    return sum(u) + v[1] * first + sum(rest) * last + len(some)


@pytest.mark.parametrize(
    "function", [named_first, named_results_of_helpers, named_in_loops, places, places_of_masks, collected]
)
def test_other_spellings(function: Callable[..., Any]) -> None:
    with interpreting():
        value, gradient = vectorize_grad(function).value_and_grad(x.copy())
    assert_allclose(value, function(x.copy()), rtol=1e-14)
    steps = 1e-6 * np.eye(len(x))
    assert_allclose(gradient.x, [(function(x + d) - function(x - d)) / 2e-6 for d in steps], rtol=1e-6)


def read_before(x):
    n = 2.0
    return n * x[0] + (n := x[1])


def changes(x):
    x[0] = 5.0
    return x[0]


def changed_before(x):
    return x[0] + (n := changes(x)) * n


def changed_after_sums(x):
    return np.sum(x * 2.0 + (n := changes(x)) * x) + n


def changed_after_comparisons(x):
    return np.sum((x > 1.0) * (n := changes(x))) + n


def named_twice(x):
    return (n := x[0]) + (n := x[1])  # noqa: F841 - the first is read before the second is given


def maybe_named(x):
    return x[0] if x[1] > 0.0 else (n := x[2]) * n


def read_elsewhere(x):
    found = [n for v in x if (n := v * v) > 0.0]
    return sum(found) + n


def read_among_names_of_a_sum(x):
    return sum([sum(n * v for v in x) for v in x if (n := v * v) > 0.0])


def written_into_an_argument(x):
    return np.add(x, 1.0, x).sum() + (n := x[0]) + n


def written_into_an_array(x):
    y = x.copy()
    return np.multiply(y, 2.0, y)[1] * (n := y[0]) + n


def read_by_a_function(x):
    return sum([(lambda v: v * n)(2.0) for v in x if (n := v * v) > 0.0])


@pytest.mark.parametrize(
    "function",
    [
        read_among_names_of_a_sum,
        read_by_a_function,
        written_into_an_argument,
        written_into_an_array,
        read_before,
        changed_before,
        changed_after_sums,
        changed_after_comparisons,
        named_twice,
        maybe_named,
        read_elsewhere,
    ],
)
def test_names_that_cannot_be_given_ahead(function: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedLoopError, match="LD111: `:=` assigns inside an expression"):
        vectorize_grad(function)(x.copy())


def gone_through_twice(x, n):
    r = range(n)
    n, t = 1, 0.0
    for i in r:
        for k, j in enumerate(r):
            t += x[i] * x[j] * k
    for i in reversed(r):
        t = t * x[i] + n
    return t + sum(x[i] ** 2 for i in r)


def range_in_a_loop(x, n):
    t = 0.0
    for i in range(n):
        others = range(i, len(x), 2)
        down = range(i, -1, -1)
        for j in others:
            t += x[i] * x[j]
        for j in down:
            t += x[j]
        t = t * sum(x[k] for k in down)
    return t


def range_that_changes(x, n):
    r = range(n)
    t = 0.0
    for i in r:
        t += x[i]
    r = range(1)
    for i in r:
        t *= x[i]
    return t


@pytest.mark.parametrize("function", [gone_through_twice, range_in_a_loop, range_that_changes])
def test_names_for_ranges_stand_for_them(function: Callable[..., Any]) -> None:
    with interpreting():
        assert vectorize_grad(function)(x, 3) == pytest.approx(function(x, 3), rel=1e-13)


def range_or_number(x, n):
    r = range(n)
    if n > 9:
        r = 3
    return x[0] * len(r)


def test_a_name_for_a_range_or_something_else_is_refused() -> None:
    with (
        interpreting(),
        pytest.raises(UnsupportedLoopError, match="LD134: `r` holds a number or an array"),
    ):
        vectorize_grad(range_or_number)(x, 3)


def variables_read_later(x):
    i, j = 7, 8
    for i, j in itertools.product(range(2), range(0)):
        x[i] += j
    return x[0] * i * j


def variables_changed(x):
    t = 0.0
    for i, j in np.ndindex(3, 2):
        i = i * j
        t += x[i]
    return t


def left_early(x):
    t = 0.0
    for i, j in np.ndindex(3, 2):
        t += x[i] * j
        if t > 1.0:
            break
    return t


@pytest.mark.parametrize("function", [variables_read_later, variables_changed, left_early])
def test_loops_over_several_ranges_that_are_no_nests_are_refused(function: Callable[..., Any]) -> None:
    with interpreting(), pytest.raises(UnsupportedLoopError, match="LD109"):
        vectorize_grad(function)(x)


def slice_that_changes(x):
    part = slice(0, 2)
    if x[0] > 0.1:
        part = slice(1, 3)
    return x[part].sum()


def slice_that_is_given(x):
    def total(part):
        return x[part].sum()

    part = slice(0, 2)
    return total(part)


@pytest.mark.parametrize("function", [slice_that_changes, slice_that_is_given])
def test_a_name_for_a_slice_that_is_more_is_refused(function: Callable[..., Any]) -> None:
    with interpreting(), pytest.raises(UnsupportedLoopError, match="LD109"):
        vectorize_grad(function)(x)


def pairs_kept(x, n):
    path = []
    for k in range(n):
        path.append((x[k], k * x, len(path)))
        if len(path) > 1:
            path.append((path[-2][0] * 2.0, path[-1][1] + 1.0, path[-1][0]))
    found = sum(h[0] * h[1].sum() * h[2] for h in path)
    for h in path:
        found += h[0] * h[1][1]
    a, _, c = path[-1]
    return found + a * c


def pairs_changed(x, n):
    path = []
    for k in range(n):
        path.append((x[k], k * x))
        path[0] = (x[k], x)
    return path[0][0]


def pairs_shared(x, n):
    path, w = [], x * 1.0
    for k in range(n):
        path.append((x[k], w))
        w[k] = 0.0
    return path[0][0] + path[0][1].sum()


def rows_of_two_kinds(x, n):
    path = []
    for k in range(n):
        path.append((x[k], k * x))
    total = sum(h[0] for h in path)
    for h in [x, 2.0 * x]:
        total += h[0]
    return total


def test_lists_of_tuples_are_a_list_for_each_place() -> None:
    with interpreting():
        assert vectorize_grad(pairs_kept)(x, 3) == pytest.approx(pairs_kept(x, 3), rel=1e-13)


@pytest.mark.parametrize("function", [pairs_changed, pairs_shared, rows_of_two_kinds])
def test_lists_of_tuples_that_are_more_than_that_are_refused(function: Callable[..., Any]) -> None:
    with interpreting(), pytest.raises(UnsupportedLoopError, match="LD134"):
        vectorize_grad(function)(x, 3)


def moved(x):
    x[0] += 1.0
    return x[0]


def tuples_of_calls(x):
    a = x[1]
    return x[2] if (moved(x), a) == (a, moved(x)) else x[0]


def tuples_of_signs_of_calls(x):
    a = x[1]
    return x[2] if (-moved(x), a) == (a, -moved(x)) else x[0]


@pytest.mark.parametrize("function", [tuples_of_calls, tuples_of_signs_of_calls])
def test_tuples_whose_items_change_something_are_not_compared_one_by_one(function: Callable[..., Any]) -> None:
    with interpreting(), pytest.raises(UnsupportedLoopError, match="LD134"):
        vectorize_grad(function)(x.copy())


def tuples_of_nan(x):
    v = x[0] * np.nan
    return (x[1] if (v, 1) == (v, 1) else x[2]) + (x[0] if (v, 1) != (v, 1) else x[2])


def test_what_is_no_number_is_equal_to_itself_in_tuples() -> None:
    with interpreting():
        assert vectorize_grad(tuples_of_nan)(x) == tuples_of_nan(x)


def repeated_in_calls(x, n):
    knots = np.concatenate(([0.0] * n, x, [1.0] * (n + 1)))
    ends = np.array([0.5] * n + [x[0], 2.0] + x.tolist())
    return np.sum(knots * np.arange(len(knots))) + np.sum(ends**2 * np.arange(len(ends)))


def repeated_values(x, n):
    return np.dot([-2.0] * n, x[:n] ** 2) + np.average(x[:n], weights=n * [0.5])


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("function", [repeated_in_calls, repeated_values])
def test_lists_of_any_length_are_given_to_functions_of_numpy(function: Callable[..., Any], n: int) -> None:
    with interpreting():
        value, gradients = vectorize_grad(function).value_and_grad(x, n)
    assert value == pytest.approx(function(x, n), rel=1e-13)
    steps = 1e-6 * np.eye(3)
    assert_allclose(gradients.x, [(function(x + h, n) - function(x - h, n)) / 2e-6 for h in steps], rtol=1e-7)


def appended_on_each_way(x, n):
    rows = np.outer(x, x)
    for _ in range(n):
        found = []
        for k in range(len(rows)):
            if rows[k, 0] > 1.0:
                found.append(rows[k] * 0.5)
            elif rows[k, 1] > 3.0:
                found.append(np.sin(rows[k]))
            else:
                found.append(rows[k])
        rows = np.array(found)
    return np.sum(rows * rows)


def test_lists_that_get_an_item_on_each_way() -> None:
    with interpreting():
        value, gradients = vectorize_grad(appended_on_each_way).value_and_grad(x, 3)
    assert value == pytest.approx(appended_on_each_way(x, 3), rel=1e-13)
    steps = 1e-6 * np.eye(3)
    slopes = [(appended_on_each_way(x + h, 3) - appended_on_each_way(x - h, 3)) / 2e-6 for h in steps]
    assert_allclose(gradients.x, slopes, rtol=1e-7)
