"""Functions split along axes: what parts find together is what the whole finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from loopdiff.analysis.split_axes import SplitAxis, find_split_axes
from loopdiff.canonical.parts import program_of_part
from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import run
from loopdiff.ir.printer import print_expr
from loopdiff.ir.walk import subexprs, written_arrays
from loopdiff.pipeline.derive import with_results_given
from tests.corpus import ENTRIES, Entry
from tests.gradients.interpreted import allocated, evaluate, in_real_parts, lowered, normal_form, sweeps_of

Values = dict[str, Any]
rng = np.random.default_rng(5)


def copied(args: Values) -> Values:
    return {n: v.copy() if isinstance(v, np.ndarray) else v for n, v in args.items()}


def value_of(args: Values, expr: ir.Expr) -> int | None:
    """From shapes and integers alone."""
    nodes = list(subexprs(expr))
    names = {e.array if isinstance(e, ir.Dim) else e.name for e in nodes if isinstance(e, ir.Dim | ir.Param)}
    if any(isinstance(e, ir.Load | ir.Var | ir.Index) for e in nodes) or not names <= args.keys():
        return None
    value = eval(print_expr(expr), {**args, "int64": int})
    return value if isinstance(value, int) else None


def axes_of(
    ls: ir.LoopSet, args: Values, given: frozenset[str], unseen: frozenset[str] = frozenset()
) -> list[SplitAxis]:  # fmt: skip
    found = find_split_axes(ls, partial(value_of, args), given, unseen)
    return [axis for axis in found if axis.extent > 1 and axis.loops]


def with_results(ls: ir.LoopSet, args: Values) -> tuple[ir.LoopSet, Values]:
    """The form that JAX calls, whose results are arrays of the caller with anything in them."""
    whole = with_results_given(ls)
    held = copied(args)
    for name in whole.params:
        if name not in held:
            decl = whole.array(name)
            assert decl.extents is not None
            assert decl.type is not None
            held[name] = np.full([evaluate(e, whole, args, {}) for e in decl.extents], 77, decl.type.dtype)
    return whole, held


def check_parts(
    ls: ir.LoopSet, args: Values, axes: Sequence[SplitAxis], unseen: frozenset[str] = frozenset()
) -> None:  # fmt: skip
    """Two parts along each of `axes`, of different sizes."""
    whole, own = copied(args), program_of_part(ls, axes)
    numbers = numbers_among(run(ls, whole))
    found = {n: np.zeros_like(v) for n, v in whole.items() if isinstance(v, np.ndarray)}
    totals = np.zeros(len(numbers))
    for which in product((0, 1), repeat=len(axes)):
        half = {node: halves(a.extent)[k] for a, k in zip(axes, which, strict=True) for node in a.apart}
        places = {n: tuple(half.get((n, k), slice(None)) for k in range(v.ndim)) for n, v in found.items()}
        held = {n: v[places[n]].copy() if n in places else v for n, v in args.items()}
        numbers_here = numbers_among(run(own, held))

        def is_own(concerned: Callable[[SplitAxis], bool], which: Sequence[int] = which) -> bool:
            """Whether a part has a share in something: along other axes the first one stands for all."""
            return all(concerned(a) or k == 0 for a, k in zip(axes, which, strict=True))

        for name, value in found.items():
            if is_own(lambda a, n=name: n in a.sums or n in {array for array, _ in a.apart}):
                value[places[name]] += held[name]
        totals += [r if is_own(lambda a, k=k: k in a.results) else 0.0 for k, r in enumerate(numbers_here)]
    for name in (written_arrays(ls.body) & frozenset(ls.params)) - unseen:
        compare(found[name], whole[name], name)
    for total, number in zip(totals, numbers, strict=True):
        compare(total, number, "result")


def numbers_among(results: Sequence[Any]) -> list[float]:
    return [float(v) if np.ndim(v) == 0 else 0.0 for v in results]


def halves(extent: int) -> tuple[slice, slice]:
    return slice(0, extent // 2), slice(extent // 2, extent)


def compare(found: Any, expected: Any, name: str) -> None:
    is_single = np.asarray(expected).dtype == np.float32
    np.testing.assert_allclose(found, expected, 1e-4 if is_single else 1e-8, 1e-5 if is_single else 1e-10, err_msg=name)


def programs(entry: Entry) -> Iterator[tuple[ir.LoopSet, Values, frozenset[str], frozenset[str]]]:
    """The function, its forward and its reverse sweep, with arguments, which of them hold something, and at which
    nobody looks afterwards, as in JAX."""
    real = in_real_parts(entry)
    args = real.args(0)
    normal = lowered(entry)
    yield *with_results(normal, args), frozenset(normal.params), frozenset()
    sweeps = sweeps_of(entry.name)
    forward, reverse = sweeps.forward, sweeps.reverse
    state = allocated(sweeps, copied(args))
    ls, held = with_results(forward, state)
    yield ls, held, frozenset(normal.params), frozenset()
    run(forward, state)
    written = written_arrays(normal.body)
    scratch = {n for n in reverse.params if n in state and reverse.has_array(n) and reverse.array(n).role == "adjoint"}
    given = {n for n in reverse.params if n in state} - scratch
    unseen = scratch | {n for n in given if n not in normal.params}
    for name in reverse.params:
        if name in state:
            continue
        if not reverse.has_array(name):
            state[name] = float(rng.standard_normal())
            continue
        decl = reverse.array(name)
        like = args.get(name.removesuffix("_adj"))
        assert decl.type is not None
        if like is not None and decl.extents is None:
            is_given = name.removesuffix("_adj") in written
            state[name] = (rng.standard_normal(like.shape) * is_given).astype(decl.type.dtype)
            given |= {name} if is_given else set()
        else:
            shape = [evaluate(e, reverse, args, {}) for e in decl.extents or ()]
            state[name] = rng.standard_normal(shape).astype(decl.type.dtype)
            given |= {name}
            unseen |= {name}
    yield reverse, state, frozenset(given), frozenset(unseen)


@pytest.mark.part(7)
@pytest.mark.parametrize("entry", ENTRIES[::3], ids=lambda e: e.name)
def test_parts_of_the_corpus(entry: Entry) -> None:
    """Of the function and its sweeps, along one axis and along two at once; all entries pass, some are run here."""
    for ls, args, given, unseen in programs(entry):
        axes = axes_of(ls, args, given, unseen)
        for count in (1, 2):
            for some in combinations(axes, count):
                check_parts(ls, args, some, unseen)


# -- what may be split, and what may not ---------------------------------------------------------------------
def least_squares(X, y, w):
    total = 0.0
    for i in range(X.shape[0]):
        p = 0.0
        for j in range(X.shape[1]):
            p += X[i, j] * w[j]
        total += (p - y[i]) ** 2
    return total / X.shape[0]


def trajectories(x, y):
    for _ in range(5):
        for i in range(x.shape[0]):
            y[i] = y[i] + 0.1 * np.sin(x[i] * y[i])


def countdown(x, y):
    for i in range(x.shape[0] - 1, -1, -1):
        y[i] = x[i] * x[i]


def column_means(X, w):
    mean = np.zeros(X.shape[1])
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            mean[j] += X[i, j]
    for j in range(X.shape[1]):
        mean[j] = mean[j] / X.shape[0] * w[j]
    return mean


def product_of_matrices(X, Y):
    return X @ np.tanh(Y)


def neighbours(x, y):
    for i in range(x.shape[0] - 1):
        y[i] = x[i] * x[i + 1]


def recurrence(x, y):
    for i in range(1, x.shape[0]):
        y[i] = y[i - 1] * x[i]


def numbered(x, y):
    for i in range(x.shape[0]):
        y[i] = i * x[i]


def pairs(x, y):
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            y[i] += x[i] * x[j]


def normalized(x, y):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i]
    for i in range(x.shape[0]):
        y[i] = x[i] / total


def greatest(x):
    found = x[0]
    for i in range(x.shape[0]):
        found = max(found, x[i])
    return found


def last(x):
    found = 0.0
    for i in range(x.shape[0]):
        found = x[i]
    return found


def penalized(X, w):
    total = 0.0
    for i in range(X.shape[0]):
        total += X[i, 0]
    for j in range(w.shape[0]):
        total += w[j] ** 2
    return total


def squared_sum(x):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i]
    return total * total


def added_up(x, y):
    for i in range(x.shape[0]):
        for j in range(y.shape[0]):
            y[j] += x[i]


def some(x, y, n):
    for i in range(n):
        y[i] = 2.0 * x[i]


def counted(x, y):
    k = 0
    for i in range(x.shape[0]):
        if x[i] > 0.0:
            y[k] = x[i]
            k += 1


def stopped(x, y):
    for i in range(x.shape[0]):
        if x[i] < 0.0:
            break
        y[i] = x[i]


def tail(x, n):
    y = np.zeros(x.shape[0])
    for i in range(x.shape[0] - n, x.shape[0]):
        y[i] = np.sin(x[i])
    return y


def tail_downwards(x, y, n):
    for i in range(x.shape[0] - 1, x.shape[0] - n - 1, -1):
        y[i] = np.sin(x[i])


def where_positive(x, y):
    total = 0.0
    for i in range(x.shape[0]):
        if x[i] > 0.0:
            total += y[i]
    return total


def made_anew(x):
    g = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        g = np.zeros(x.shape[0])
        g[i] = x[i]
    return g


def diagonal(D, y):
    for i in range(y.shape[0]):
        D[i, i] = y[i]


def trace(D):
    total = 0.0
    for i in range(D.shape[0]):
        total += D[i, i]
    return total


def moved_by_an_index(x, y):
    for i in range(x.shape[0]):
        if i >= 1:
            y[i] = x[i]


X, Y, x, y, w = (rng.standard_normal(s) for s in ((6, 4), (4, 6), 6, 6, 4))
APART = [
    (least_squares, (X, y, w), [{("X", 0), ("y", 0)}], {"total"}),
    (trajectories, (x, y), [{("x", 0), ("y", 0)}], set()),
    (countdown, (x, y), [{("x", 0), ("y", 0)}], set()),
    (column_means, (X, w), [{("X", 0)}, {("X", 1), ("mean", 0), ("w", 0)}], {"mean"}),
    (product_of_matrices, (X, Y), [{("X", 0)}, {("X", 1), ("Y", 0)}, {("Y", 1)}], set()),
    (penalized, (X, w), [], set()),
    (added_up, (x, w), [{("y", 0)}], set()),
    (some, (x, y, 6), [{("x", 0), ("y", 0)}], set()),
    (tail, (x, 6), [{("x", 0), ("y", 0)}], set()),
    (tail_downwards, (x, y, 6), [{("x", 0), ("y", 0)}], set()),
    (where_positive, (x, y), [{("x", 0), ("y", 0)}], {"total"}),
]
WHOLE = [(neighbours, (x, y)), (recurrence, (x, y)), (numbered, (x, y)), (pairs, (x, y)), (normalized, (x, y)),
         (greatest, (x,)), (last, (x,)), (squared_sum, (x,)), (some, (x, y, 5)), (counted, (x, y)),
         (stopped, (x, y)), (made_anew, (x,)), (diagonal, (X @ Y, y)), (trace, (X @ Y,)), (tail, (x, 4)),
         (moved_by_an_index, (x, y))]  # fmt: skip


def found_for(function: Callable[..., Any], values: Sequence[Any]) -> tuple[ir.LoopSet, Values, list[SplitAxis]]:
    args = dict(zip(function.__code__.co_varnames, values, strict=False))
    normal = normal_form(function, args)
    ls, held = with_results(normal, args)
    return ls, held, axes_of(ls, held, frozenset(normal.params))


@pytest.mark.parametrize(("function", "values", "expected", "sums"), APART, ids=lambda v: getattr(v, "__name__", ""))
def test_what_may_be_split(
    function: Callable[..., Any], values: Sequence[Any], expected: list[set[tuple[str, int]]], sums: set[str]
) -> None:
    ls, held, axes = found_for(function, values)
    own = [{(a, k) for a, k in axis.apart if a in function.__code__.co_varnames} for axis in axes]
    assert sorted(map(sorted, own)) == sorted(map(sorted, expected))
    assert sums <= {name for axis in axes for name in axis.sums}
    for count in range(1, len(axes) + 1):
        for chosen in combinations(axes, count):
            check_parts(ls, held, chosen)


@pytest.mark.parametrize(("function", "values"), WHOLE, ids=lambda v: getattr(v, "__name__", ""))
def test_what_stays_whole(function: Callable[..., Any], values: Sequence[Any]) -> None:
    assert found_for(function, values)[2] == []
