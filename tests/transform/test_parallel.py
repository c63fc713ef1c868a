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
from loopdiff.backends.cpu.compile import Style, arrange_loops, schedule_loops
from loopdiff.backends.load import CompiledFunction
from loopdiff.ir.build import add, floordiv, integer, mul, sub
from loopdiff.ir.nodes import Access, Allocate, Assign, Const, If, Loop, LoopSet, Stmt
from loopdiff.ir.types import ScalarType
from loopdiff.ir.verify import verify
from loopdiff.specialization import Specialization
from loopdiff.transform import blocked
from loopdiff.transform.mapping import Parallel, Serial
from loopdiff.units import Unit
from tests.corpus import BY_NAME, Entry
from tests.gradients import harness
from tests.gradients.interpreted import interpreted_function, interpreting, normal_form

Shared = dict[int, Parallel]


def backwards(ls: LoopSet, shared: Shared) -> LoopSet:
    return replace(ls, body=block(ls, ls.body, shared))


def block(ls: LoopSet, body: tuple[Stmt, ...], shared: Shared) -> tuple[Stmt, ...]:
    out: list[Stmt] = []
    for stmt in body:
        match stmt:
            case Loop() if id(stmt) in shared:
                sharing = shared[id(stmt)]
                out += [turned(ls, stmt, sharing), *poison(ls, sharing, False)]
            case Loop(body=inner):
                out.append(replace(stmt, body=block(ls, inner, shared)))
            case If(then=then, orelse=orelse):
                out.append(replace(stmt, then=block(ls, then, shared), orelse=block(ls, orelse, shared)))
            case _:
                out.append(stmt)
    return tuple(out)


def turned(ls: LoopSet, loop: Loop, sharing: Parallel) -> Loop:
    """The nest with the shared loop from its last iteration to its first."""
    if loop.index != sharing.index:
        inner = (turned(ls, s, sharing) if isinstance(s, Loop) else s for s in loop.body)
        return replace(loop, body=tuple(inner))
    assert isinstance(loop.step, Const)
    step = int(loop.step.value)
    side = integer(1 if step > 0 else -1)
    count = floordiv(sub(sub(loop.upper, loop.lower), side), integer(step))
    last = add(loop.lower, mul(count, integer(step)))
    body = (*poison(ls, sharing, True), *loop.body)
    return replace(loop, lower=last, upper=sub(loop.lower, side), step=integer(-step), body=body)


def poison(ls: LoopSet, sharing: Parallel, is_before: bool) -> Iterator[Stmt]:
    """What nobody may see: in chunks' own cells and arrays before an iteration, and after the loop."""

    def bad(name: str) -> Const:
        kind = ls.array(name).type
        assert kind is not None
        wrong = float("nan") if kind.element.is_float else kind.element is ScalarType.BOOL or 1 << 40
        return Const(wrong, kind.element)

    yield from (Allocate(a, bad(a)) for a in sharing.arrays)
    yield from (Assign(Access(c), bad(c)) for c in sharing.cells)
    for name in sharing.zero:
        yield Allocate(name, Const(0.0, bad(name).dtype) if is_before else bad(name))


def disordered_unit(
    spec: Specialization, label: str, ls: LoopSet, requests: object = None, reader: LoopSet | None = None
) -> Unit:
    arranged = schedule_loops(arrange_loops(ls, fastmath=True), Style(dead=blocked.own_arrays(ls, reader)))
    sites = {path: loop for path, loop in loops_of(arranged.ls.body, ())}
    shared = {id(sites[p]): s for p, s in arranged.schedule.sharing if isinstance(s, Parallel)}
    assert shared, "nothing to share in " + label
    found = backwards(arranged.ls, shared)
    verify(found, "disordered")
    return Unit(ls, CompiledFunction(ls.name, interpreted_function(found), "", Path()))


def loops_of(body: tuple[Stmt, ...], prefix: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], Stmt]]:
    for number, stmt in enumerate(body):
        yield (*prefix, number), stmt
        match stmt:
            case Loop(body=inner):
                yield from loops_of(inner, (*prefix, number))
            case If(then=then, orelse=orelse):
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


@pytest.mark.parametrize(
    "name",
    ["jacobi_2d", "hdiff", "vadv", "attention", "mlp_rows", "gmm", "hash_grid", "weighted_histogram", "syrk"],
)
def test_order_of_chunks_and_what_is_in_their_arrays_do_not_matter(name: str) -> None:
    entry = BY_NAME[name]
    tolerance = 1e-4 if harness.is_narrow(entry) else 1e-10
    for found, expected in zip(run(entry, disordering), run(entry, interpreting), strict=True):
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


# -- which loops ---------------------------------------------------------------------------------------------
def sharing_of(function: Callable[..., Any], **args: Any) -> list[Parallel | Serial]:
    ls = normal_form(function, args)
    arranged = schedule_loops(arrange_loops(ls, fastmath=True, may_fuse=False), Style(dead=blocked.own_arrays(ls)))
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
