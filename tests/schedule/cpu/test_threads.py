"""What chunks may have for themselves, and that their order does not matter: loops that threads would share are
interpreted backwards, each iteration with its own arrays and cells poisoned."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.backends.cpu.compile import Style
from loopdiff.backends.load import CompiledFunction
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import add, compare, floordiv, integer, mul, sub
from loopdiff.ir.names import supply
from loopdiff.ir.ops import Op
from loopdiff.ir.renaming import renamed_block
from loopdiff.ir.types import ScalarType
from loopdiff.ir.verify import verify
from loopdiff.ir.walk import all_statements, map_body
from loopdiff.mapping.loops import Parallel, Serial
from loopdiff.pipeline.code import arrange_for_target
from loopdiff.pipeline.cpu import arrange_loops, schedule_loops
from loopdiff.pipeline.stages import Stages
from loopdiff.schedule.blocks import sweeps as blocked
from loopdiff.schedule.cpu.overlapped_chunks import only_into
from loopdiff.settings.options import Options
from loopdiff.specialize.specialization import Specialization
from loopdiff.specialize.units import NOTHING, Unit
from tests.corpus import BY_NAME, Entry
from tests.gradients import harness
from tests.gradients.interpreted import interpreted_function, interpreting, normal_form

pytestmark = pytest.mark.part(2)

Shared = dict[int, Parallel]


def backwards(ls: ir.LoopSet, shared: Shared) -> ir.LoopSet:
    return replace(ls, body=block(ls, ls.body, shared))


def block(ls: ir.LoopSet, body: tuple[ir.Stmt, ...], shared: Shared) -> tuple[ir.Stmt, ...]:
    out: list[ir.Stmt] = []
    for stmt in body:
        match stmt:
            case ir.Loop(body=inner) if id(stmt) in shared:
                sharing = shared[id(stmt)]
                chunks = (*in_chunks(ls, stmt, sharing), *poison(ls, sharing, False))
                if sharing.instead:
                    once = compare(Op.EQ, sub(stmt.upper, stmt.lower), stmt.step)
                    instead = renamed_block((replace(stmt, body=block(ls, inner, shared)),), supply(ls))
                    out.append(ir.If(once, tuple(instead), chunks))
                else:
                    out += chunks
            case ir.Loop(body=inner):
                out.append(replace(stmt, body=block(ls, inner, shared)))
            case ir.If(then=then, orelse=orelse):
                out.append(replace(stmt, then=block(ls, then, shared), orelse=block(ls, orelse, shared)))
            case _:
                out.append(stmt)
    return tuple(out)


def in_chunks(ls: ir.LoopSet, loop: ir.Loop, sharing: Parallel) -> list[ir.Stmt]:
    """Every iteration as a chunk of its own, or chunks as short as they may be, from the last to the first."""
    if sharing.beside:
        return [through_all_steps(ls, loop, sharing)]
    if not sharing.late and not sharing.early:
        return [turned(ls, loop, sharing)]
    size, chunk, names, found = sharing.reach, ir.Index("chunk"), supply(ls), list[ir.Stmt]()
    start = add(loop.lower, mul(chunk, integer(size)))
    count = floordiv(add(sub(loop.upper, loop.lower), integer(size - 1)), integer(size))
    for is_rest in (False, True) if sharing.late else (False,):
        upper = ir.Apply(Op.MIN, (add(start, integer(size)), loop.upper))
        body = with_late(loop, sharing.late, start, is_rest=is_rest) if sharing.late else loop.body
        rows: tuple[ir.Stmt, ...] = (replace(loop, lower=start, upper=upper, body=body),)
        if sharing.early:
            before = replace(loop, lower=sub(start, integer(sharing.early)), upper=start)
            again = only_into((before,), frozenset((*sharing.arrays, *sharing.cells)))
            first = ir.If(compare(Op.GT, chunk, integer(0)), tuple(renamed_block(again, names)))
            rows = (*poison(ls, sharing, True), first, *rows)
        chunks = ir.Loop("chunk", sub(count, integer(1)), integer(-1), integer(-1), rows)
        found += renamed_block((chunks,), names)
    return found


def with_late(loop: ir.Loop, late: tuple[int, ...], start: ir.Expr, *, is_rest: bool) -> tuple[ir.Stmt, ...]:
    """What a chunk that begins at `start` does at once, or the rest."""
    found: list[ir.Stmt] = []
    for stmt, number in zip(loop.body, late, strict=True):
        begin = compare(Op.LT if is_rest else Op.GE, ir.Index(loop.index), add(start, integer(number)))
        first = compare(Op.GT if is_rest else Op.EQ, ir.Index("chunk"), integer(0))
        found.append(ir.If(ir.Apply(Op.AND if is_rest else Op.OR, (begin, first)), (stmt,)))
    return tuple(found)


def through_all_steps(ls: ir.LoopSet, loop: ir.Loop, sharing: Parallel) -> ir.Loop:
    """Each place of the axis that the steps of `loop` have in common as a chunk of its own, from the last to the
    first."""
    along = next(s for s in all_statements(loop.body) if isinstance(s, ir.Loop) and s.index == sharing.index)
    assert isinstance(along.step, ir.Const)
    place, side = supply(ls).fresh("place"), 1 if along.step.value > 0 else -1

    def at_place(stmt: ir.Stmt) -> tuple[ir.Stmt, ...]:
        if not isinstance(stmt, ir.Loop) or stmt.index not in sharing.cut:
            return (stmt,)
        return (replace(stmt, lower=ir.Index(place), upper=add(ir.Index(place), integer(side))),)

    body = (*poison(ls, sharing, True), *map_body((loop,), at_place))
    last, end = sub(along.upper, integer(side)), sub(along.lower, integer(side))
    return ir.Loop(place, last, end, integer(-side), body)


def turned(ls: ir.LoopSet, loop: ir.Loop, sharing: Parallel) -> ir.Loop:
    """The nest with the loops along which chunks are cut from their last iterations to their first."""
    along = {sharing.index, *(c.index for c in sharing.further)}
    if along & {s.index for s in all_statements(loop.body) if isinstance(s, ir.Loop)}:
        inner = (turned(ls, s, sharing) if isinstance(s, ir.Loop) else s for s in loop.body)
        loop, own = replace(loop, body=tuple(inner)), ()
    else:
        own = tuple(poison(ls, sharing, True))
    if loop.index not in along:
        return loop
    assert isinstance(loop.step, ir.Const)
    step = int(loop.step.value)
    side = integer(1 if step > 0 else -1)
    count = floordiv(sub(sub(loop.upper, loop.lower), side), integer(step))
    last = add(loop.lower, mul(count, integer(step)))
    body = (*own, *loop.body)
    return replace(loop, lower=last, upper=sub(loop.lower, side), step=integer(-step), body=body)


def poison(ls: ir.LoopSet, sharing: Parallel, is_before: bool) -> Iterator[ir.Stmt]:
    """What nobody may see: in chunks' own cells and arrays before an iteration, and after the loop."""

    def bad(name: str) -> ir.Const:
        kind = ls.array(name).type
        assert kind is not None
        wrong = float("nan") if kind.element.is_float else kind.element is ScalarType.BOOL or 1 << 40
        return ir.Const(wrong, kind.element)

    yield from (ir.Allocate(a, bad(a)) for a in sharing.arrays)
    yield from (ir.Assign(ir.Access(c), bad(c)) for c in sharing.cells)
    for name in sharing.zero:
        yield ir.Allocate(name, ir.Const(0.0, bad(name).dtype) if is_before else bad(name))


def disordered_unit(
    spec: Specialization, label: str, ls: ir.LoopSet, requests: object = None, reader: ir.LoopSet | None = None
) -> Unit:
    arranged = arrange_for_target(ls, Options(parallel=True), NOTHING, Stages(ls.name), reader)
    arranged = arranged.threads or arranged
    sites = {path: loop for path, loop in loops_of(arranged.ls.body, ())}
    found = [(p, s) for p, s in arranged.schedule.sharing if isinstance(s, Parallel)]
    shared = {id(sites[p]): s for p, outer in found for p, s in ((p, outer), *outer.instead)}
    assert shared, "nothing to share in " + label
    turned_over = backwards(arranged.ls, shared)
    verify(turned_over, "disordered")
    return Unit(ls, CompiledFunction(ls.name, interpreted_function(turned_over), "", Path()))


def loops_of(body: tuple[ir.Stmt, ...], prefix: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], ir.Stmt]]:
    for number, stmt in enumerate(body):
        yield (*prefix, number), stmt
        match stmt:
            case ir.Loop(body=inner):
                yield from loops_of(inner, (*prefix, number))
            case ir.If(then=then, orelse=orelse):
                yield from loops_of(then + orelse, (*prefix, number))
            case _:
                pass


@contextmanager
def disordering() -> Iterator[None]:
    """What would be compiled is interpreted, shared loops backwards, in blocks of two rows."""
    rows = partial(blocked.block_sweeps, rows=2)
    with patch.object(Specialization, "unit", disordered_unit), patch.object(blocked, "block_sweeps", rows):
        yield


def run(entry: Entry, context: Callable[[], Any]) -> list[np.ndarray]:
    with context():
        args = entry.args(0)
        result, pullback = vectorize_grad(wrt=entry.wrt, cache=False)(entry.function).vjp(*args.values())
        weight = harness.weights(harness.outputs_of(entry, result, args), 0)
        cotangents = {n: weight[n] for n in entry.outputs if n in weight}
        outputs = [np.array(args[n]) for n in entry.outputs]
        first = pullback(*harness.seeds_of(result, weight), **cotangents)
        again = pullback(*harness.seeds_of(result, weight), **cotangents)
        return [*outputs, *map(np.asarray, first), *map(np.asarray, again)]


@pytest.mark.part(2)
@pytest.mark.parametrize(
    "name",
    [
        "jacobi_2d",
        "fdtd_2d",
        "hdiff",
        "vadv",
        "attention",
        "mlp_rows",
        "gmm",
        "hash_grid",
        "weighted_histogram",
        "syrk",
    ],
)
def test_order_of_chunks_and_what_is_in_their_arrays_do_not_matter(name: str) -> None:
    entry = BY_NAME[name]
    tolerance = 1e-4 if harness.is_narrow(entry) else 1e-10
    for found, expected in zip(run(entry, disordering), run(entry, interpreting), strict=True):
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def handed_on(a, y):
    n, m = a.shape
    u, v = np.empty((n, m)), np.empty((n, m))
    for i in range(n):
        for j in range(m):
            u[i, j] = np.sin(a[i, j])
    for i in range(1, n - 1):
        for j in range(m):
            v[i, j] = u[i + 1, j] - u[i - 1, j] * a[i, j]
    for i in range(2, n - 2):
        for j in range(m):
            y[i, j] = v[i + 1, j] * v[i - 1, j] + u[i, j]


def both_ways(a, y):
    n, m = a.shape
    for i in range(1, n):
        for j in range(m):
            y[i, j] = a[i, j] * a[i - 1, j]
    for i in range(n - 1):
        for j in range(m):
            a[i + 1, j] = y[i + 1, j] * y[i, j]
    for i in range(n - 3):
        for j in range(m):
            y[i, j] = a[i + 3, j] + a[i, j]


def primal_and_pullback(function: Callable[..., Any], n: int, context: Callable[[], Any]) -> list[np.ndarray]:
    with context():
        f = vectorize_grad(cache=False)(function)
        a, y = np.random.default_rng(n).uniform(0.5, 1.5, (2, n, 4))
        others = a.copy(), y.copy()
        f(*others)
        _, pullback = f.vjp(a, y)
        return [*others, a, y, *pullback(y=np.cos(np.arange(y.size)).reshape(y.shape))]


@pytest.mark.parametrize("function", [handed_on, both_ways])
def test_fused_loops_in_chunks_of_any_length(function: Callable[..., Any]) -> None:
    for n in (1, 4, 7, 23):
        found = primal_and_pullback(function, n, disordering)
        for got, expected in zip(found, primal_and_pullback(function, n, interpreting), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-10)


def few_outer(x, y):
    """Iterations of the outer loop hand on nothing, those of the inner ones sums and a buffer."""
    n, m, d = x.shape
    h = np.empty(d)
    for b in range(n):
        total = 0.0
        for i in range(m):
            for j in range(d):
                h[j] = np.sin(x[b, i, j]) * y[i, j]
            for j in range(d):
                total += h[j] * h[d - 1 - j]
        for i in range(m):
            for j in range(d):
                y[i, j] += total * x[b, i, j]


def test_inner_loops_instead_of_one_that_runs_once() -> None:
    def outputs(n: int, context: Callable[[], Any]) -> list[np.ndarray]:
        x, y = np.random.default_rng(n).random((n, 6, 4)), np.ones((6, 4))
        with context():
            f = vectorize_grad(cache=False)(few_outer)
            _, pullback = f.vjp(x, y)
            return [y, *map(np.asarray, pullback(y=np.cos(np.arange(24.0)).reshape(6, 4)))]

    for n in (0, 1, 3):
        for found, expected in zip(outputs(n, disordering), outputs(n, interpreting), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-11)


def left_in_a_cell(x, a, y, m):
    """What is late would need the `t` of its iteration."""
    for i in range(1, a.shape[0]):
        if m[i] > 0.0:
            t = x[i]
        else:
            t = 0.0
            for j in range(a.shape[1]):
                t += x[i] * j
        for j in range(a.shape[1]):
            y[i, j] = t * x[i] + a[i - 1, j]
        for j in range(a.shape[1]):
            a[i, j] = t + 2.0 * x[i]


def test_what_an_iteration_leaves_in_cells_is_there_for_all_of_it() -> None:
    def outputs(context: Callable[[], Any]) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(5)
        a, y = rng.uniform(0.5, 1.5, (2, 9, 4))
        with context():
            vectorize_grad(cache=False, parallel=True)(left_in_a_cell)(rng.random(9), a, y, rng.standard_normal(9))
        return a, y

    for found, expected in zip(outputs(disordering), outputs(interpreting), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_chunks_begin_early_or_leave_something_for_last() -> None:
    arrays = {"a": np.ones((9, 9)), "y": np.ones((9, 9))}
    for function, early, late in ((handed_on, 4, ()), (both_ways, 0, (0, 2, 5))):
        ls = normal_form(function, arrays)
        arranged = arrange_for_target(ls, Options(parallel=True), NOTHING, Stages(ls.name))
        found = [s for _, s in (arranged.threads or arranged).schedule.sharing if isinstance(s, Parallel)]
        assert [(s.early, s.late) for s in found if s.early or s.late] == [(early, late)]


# -- which loops ---------------------------------------------------------------------------------------------
def sharing_of(function: Callable[..., Any], **args: Any) -> list[Parallel | Serial]:
    ls = normal_form(function, args)
    arranged = schedule_loops(arrange_loops(ls, fastmath=True, fusion="none"), Style(dead=blocked.own_arrays(ls)))
    return [s for _, s in arranged.schedule.sharing]


def test_sums_of_neighbours_reach_as_far_as_they_are_apart() -> None:
    def spread(x, y):
        for i in range(2, x.shape[0] - 3):
            for j in range(x.shape[1]):
                e = np.exp(x[i, j])
                y[i - 2, j] += e
                y[i + 3, j] += e

    *_, found = sharing_of(spread, x=np.ones((9, 9)), y=np.ones((9, 9)))
    assert isinstance(found, Parallel)
    assert (found.near, found.reach, found.sums) == (("y",), 5, ())


def test_sums_of_neighbours_in_gather_form_have_nothing_in_common() -> None:
    def spread(x, y):
        for i in range(1, x.shape[0] - 1):
            for j in range(1, x.shape[1] - 1):
                y[i - 1, j] += x[i, j]
                y[i + 1, j] += x[i, j]
                y[i, j - 1] += x[i, j]
                x[i, j] = 0.0

    found = sharing_of(spread, x=np.ones((9, 9)), y=np.ones((9, 9)))
    assert [(s.near, s.reach, s.sums) for s in found if isinstance(s, Parallel)] == [((), 1, ())] * 2


def test_sums_at_computed_places_are_apart() -> None:
    def count(x, y):
        for i in range(x.shape[0]):
            y[int(x[i]) % 4] += 1.0

    assert [s.sums for s in sharing_of(count, x=np.ones(9), y=np.ones(4)) if isinstance(s, Parallel)][-1] == (
        ("y", "add"),
    )


def test_a_kept_value_is_no_chunk_s_own() -> None:
    def last(x, y):
        k = 0.0
        for i in range(x.shape[0]):
            if x[i] > 0.0:
                k = x[i]
            y[i] = 1.0
        return k

    def buffer(x, y):
        h = np.zeros(3)
        for i in range(x.shape[0]):
            h[i % 3] += x[i]
            y[i] = h[0]

    assert not any(isinstance(s, Parallel) for f in (last, buffer) for s in sharing_of(f, x=np.ones(9), y=np.ones(9)))
