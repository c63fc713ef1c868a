"""Reorderings against execution traces of random nests, and on nests with a name."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import combinations, product
from typing import Any

import pytest

from loopdiff.analysis.exposure import depth_of
from loopdiff.analysis.legality import AnyOrder, Distribution, Fusion, Jam, is_legal, violation, within
from loopdiff.analysis.polyhedral.model import Model, build_model
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import integer
from loopdiff.ir.names import supply
from loopdiff.ir.ops import Op
from loopdiff.ir.renaming import renamed_block
from loopdiff.ir.walk import Path, statements
from tests.analysis.nests import (
    LARGE,
    SMALL,
    FlatWriter,
    Machine,
    Touch,
    Writer,
    add,
    at,
    executions,
    loop,
    mul,
    op,
    program,
    read,
    real,
    sub,
    total,
)

LAGS = (0, 1)
COUNTS = (2, 4)
Answers = set[tuple[object, ...]]
Truth = Callable[[ir.LoopSet, Machine], Answers]


def loop_paths(ls: ir.LoopSet) -> list[Path]:
    return [s.path for s in statements(ls.body) if isinstance(s.stmt, ir.Loop)]


def cuts(ls: ir.LoopSet, path: Path) -> range:
    """Places between the statements of a loop's body."""
    body = next(s.stmt for s in statements(ls.body) if s.path == path)
    assert isinstance(body, ir.Loop)
    return range(1, len(body.body))


# -- what the analysis says ----------------------------------------------------------------------------------
def conflicts(model: Model) -> Answers:
    """(loop, array, is_strict) where iterations in any order conflict on this array alone."""
    names = frozenset(a.name for a in model.ls.arrays)
    return {
        (path, name, is_strict)
        for path in loop_paths(model.ls)
        for name in names
        for is_strict in (False, True)
        if not is_legal(model, AnyOrder(path, names - {name}), is_strict=is_strict)
    }


def refused_splits(model: Model) -> Answers:
    found: Answers = set()
    for path in loop_paths(model.ls):
        for cut in cuts(model.ls, path):
            events = within(model, path)
            first = [e for e in events if e.path[len(path)] < cut]
            second = [e for e in events if e.path[len(path)] >= cut]
            if not is_legal(model, Distribution(first, second, depth_of(model, path) - 1)):
                found.add((path, cut))
    return found


def refused_fusions(model: Model) -> Answers:
    """(first loop, second loop, lag) that may not become one."""
    return {
        (first, second, lag)
        for first, second in neighbours(model.ls)
        for lag in LAGS
        if not is_legal(model, Fusion(within(model, first), within(model, second), lag))
    }


def refused_jams(model: Model) -> Answers:
    """(loop, number of iterations) of which the statements of the body may not run together."""
    return {
        (path, count)
        for path in unit_loops(model.ls)
        for count in COUNTS
        if not is_legal(model, Jam(path, tuple((k,) for k in range(len(model.loop(path).body))), count))
    }


def unit_loops(ls: ir.LoopSet) -> list[Path]:
    return [s.path for s in statements(ls.body) if isinstance(s.stmt, ir.Loop) and s.stmt.step == integer(1)]


def neighbours(ls: ir.LoopSet) -> list[tuple[Path, Path]]:
    """Outermost loops that count by one, the second anywhere after the first."""
    return list(combinations([path for path in unit_loops(ls) if len(path) == 1], 2))


# -- what happens --------------------------------------------------------------------------------------------
def keep_order(a: Touch, b: Touch) -> bool:
    """Whether touches of one element have to keep their order: one writes, and they are no updates of one kind."""
    return (a.is_write or b.is_write) and (a.combines is None or a.combines != b.combines)


def pairs_in(machine: Machine, path: Path) -> list[tuple[Touch, Touch]]:
    """Touches of one element, one of which writes, in one run of the loop at `path`, in the order of execution."""
    out: list[tuple[Touch, Touch]] = []
    for touches in machine.by_element():
        runs: dict[int, list[Touch]] = {}
        for touch in touches:
            place = touch.inside(path)
            if place is not None:
                runs.setdefault(place[1], []).append(touch)
        for run in runs.values():
            out += [(a, b) for k, b in enumerate(run) for a in run[:k] if a.is_write or b.is_write]
    return out


def real_conflicts(ls: ir.LoopSet, machine: Machine) -> Answers:
    found: Answers = set()
    for path in loop_paths(ls):
        for a, b in pairs_in(machine, path):
            if a.inside(path) != b.inside(path):
                found.add((path, a.access.array, True))
                if keep_order(a, b):
                    found.add((path, a.access.array, False))
    return found


def real_orders(ls: ir.LoopSet, machine: Machine) -> Answers:
    """Cuts of loop bodies across which something later in the body happens before something earlier."""
    found: Answers = set()
    for path in loop_paths(ls):
        for a, b in pairs_in(machine, path):
            if keep_order(a, b):
                found |= {(path, cut) for cut in range(b.path[len(path)] + 1, a.path[len(path)] + 1)}
    return found


def real_fusions(ls: ir.LoopSet, machine: Machine) -> Answers:
    """(first loop, second loop, lag) with a touch in the first that comes after one of the second once they are one."""
    found: Answers = set()
    for touches in machine.by_element():
        for first, second in neighbours(ls):
            for a, b in product(touches, touches):
                one, other = a.inside(first), b.inside(second)
                if one is not None and other is not None and keep_order(a, b):
                    found |= {(first, second, lag) for lag in LAGS if one[2] > other[2] + lag}
    return found


def real_jams(ls: ir.LoopSet, machine: Machine) -> Answers:
    """(loop, count) with a statement of an iteration that comes before one of an iteration less than `count` earlier,
    which belongs before it."""
    found: Answers = set()
    for path in unit_loops(ls):
        for a, b in pairs_in(machine, path):
            one, other = a.inside(path), b.inside(path)
            assert one is not None
            assert other is not None
            if b.path[len(path)] < a.path[len(path)] and keep_order(a, b):
                found |= {(path, count) for count in COUNTS if 1 <= abs(other[2] - one[2]) < count}
    return found


@cache
def executed(ls: ir.LoopSet, seed: int, sizes: tuple[tuple[int, int], ...]) -> list[Machine]:
    return executions(ls, seed, sizes)


def compare(ls: ir.LoopSet, seed: int, answer: Answers, truth: Truth, *, is_exact: bool) -> None:
    """Never less than what happens; exactly that if nothing depends on data."""
    found = set().union(*(truth(ls, m) for m in executed(ls, seed, SMALL)))
    assert found <= answer, (truth, found - answer)
    if is_exact and found != answer:
        found |= set().union(*(truth(ls, m) for m in executed(ls, seed, LARGE)))
        assert found == answer, (truth, found ^ answer)


@pytest.mark.part(5)
@pytest.mark.parametrize("seed", [*range(30), *range(100, 125)])
def test_random_nests(seed: int) -> None:
    is_affine = seed < 100
    ls = Writer(random.Random(seed), is_affine=is_affine).loopset()
    model = build_model(ls)
    compare(ls, seed, conflicts(model), real_conflicts, is_exact=is_affine)
    compare(ls, seed, refused_splits(model), real_orders, is_exact=is_affine)
    compare(ls, seed, refused_fusions(model), real_fusions, is_exact=is_affine)
    compare(ls, seed, refused_jams(model), real_jams, is_exact=False)


@pytest.mark.part(3)
@pytest.mark.parametrize("seed", range(25))
def test_random_nests_over_arrays_laid_out_by_hand(seed: int) -> None:
    ls = FlatWriter(random.Random(seed)).loopset()
    model = build_model(ls)
    compare(ls, seed, conflicts(model), real_conflicts, is_exact=False)
    compare(ls, seed, refused_splits(model), real_orders, is_exact=False)
    compare(ls, seed, refused_fusions(model), real_fusions, is_exact=False)
    compare(ls, seed, refused_jams(model), real_jams, is_exact=False)


@pytest.mark.part(7)
@pytest.mark.parametrize("seed", range(200, 240))
def test_random_neighbours(seed: int) -> None:
    """Loops of two random nests, one after the other."""
    writer = Writer(random.Random(seed), is_affine=True)
    first, second = writer.loopset(), writer.loopset()
    ls = replace(first, body=(*first.body, *renamed_block(second.body, supply(first))))
    compare(ls, seed, refused_fusions(build_model(ls)), real_fusions, is_exact=True)


# -- nests with a name ---------------------------------------------------------------------------------------
def body(*stmts: ir.Stmt, **known: Any) -> Model:
    arrays = {"x": 1, "y": 1, "a": 2, "idx": 1}
    return build_model(program(*stmts, arrays=arrays, integers=("idx",), **known))


def carriers(model: Model, *, is_strict: bool = False) -> set[str]:
    """Indices of the loops with a conflict between iterations."""
    return {
        model.loop(path).index
        for path in loop_paths(model.ls)
        if not is_legal(model, AnyOrder(path), is_strict=is_strict)
    }


def set_x(subscript: ir.Expr | int | str, *parts: ir.Expr) -> ir.Assign:
    return ir.Assign(at("x", subscript), total(*parts))


CARRIED: list[tuple[str, ir.Stmt, set[str]]] = [
    ("recurrence", loop("i", 1, "N", set_x("i", read("x", sub("i", 1)))), {"i"}),
    ("recurrence downwards", loop("i", sub("N", 1), 0, set_x("i", read("x", sub("i", 1))), step=-1), {"i"}),
    ("even from odd", loop("i", 0, "N", set_x(mul(2, "i"), read("x", add(mul(2, "i"), 1)))), set()),
    ("stride over the distance", loop("i", 0, "N", set_x("i", read("x", add("i", 1))), step=2), set()),
    ("distance of one stride", loop("i", 0, "N", set_x("i", read("x", add("i", 2))), step=2), {"i"}),
    ("two halves", loop("i", 0, "N", set_x("i", read("x", add("i", "N")))), set()),
    ("at most one iteration", loop("i", 0, op(Op.MIN, "N", 1), set_x(0, real(1))), set()),
    ("no iteration", loop("i", 3, 3, set_x("i", read("x", sub("i", 1)))), set()),
    (
        "triangle",
        loop("i", 0, "N", loop("j", 0, "i", ir.Assign(at("a", "i", "j"), read("a", "j", "i")))),
        set(),
    ),
    (
        "substitution",
        loop("i", 0, "N", loop("j", 0, "i", set_x("i", read("x", "i"), read("x", "j")))),
        {"i", "j"},
    ),
    (
        "rows below",
        loop("i", 1, "N", loop("j", 0, "M", ir.Assign(at("a", "i", "j"), read("a", sub("i", 1), "j")))),
        {"i"},
    ),
    ("scatter", loop("i", 0, "N", set_x(read("idx", "i"), real(1))), {"i"}),
    ("gather", loop("i", 0, "N", set_x("i", read("y", read("idx", "i")))), set()),
    (
        "guarded away",
        loop("i", 0, "N", ir.If(op(Op.LT, "i", 1), (set_x(0, real(1)),), (set_x("i", real(2)),))),
        set(),
    ),
    (
        "guarded read",
        loop("i", 0, "N", set_x("i", ir.Select(op(Op.GT, "i", "N"), read("x", sub("i", 1)), real(1)))),
        set(),
    ),
]


def flat(left: ir.Expr, right: ir.Expr | None = None, columns: ir.Expr | int | str = "M", first: int = 0) -> ir.Stmt:
    """A nest over rows `i` and columns `j` that sets an element of x, from another one."""
    inner = set_x(left, real(1) if right is None else read("x", right))
    return loop("i", 1, "N", loop("j", first, columns, inner))


HERE = add(mul("i", "M"), "j")
CARRIED += [
    ("rows by hand", flat(HERE), set()),
    ("rows by hand, the radix first", flat(add("j", mul("M", "i"))), set()),
    ("rows by hand that are one too long", flat(HERE, columns=add("M", 1)), {"i"}),
    ("rows by hand that begin too early", flat(HERE, first=-1), {"i"}),
    ("columns by hand", flat(add(mul("j", "N"), "i")), set()),
    ("neighbours in rows by hand", flat(HERE, sub(HERE, 1), first=1), {"j"}),
    ("neighbours in rows by hand, from the end", flat(sub(sub(mul(add("i", 1), "M"), 1), "j"), None), set()),
    ("rows above by hand", flat(HERE, add(mul(sub("i", 1), "M"), "j")), {"i"}),
    ("rows above by hand, from the last element", flat(HERE, sub(HERE, "M")), {"i"}),
    ("rows of another length", flat(HERE, add(mul("i", "N"), "j")), {"i", "j"}),
    ("three digits", loop("k", 0, 9, flat(add(mul(add(mul("k", "N"), "i"), "M"), "j"))), set()),
    ("three digits spelled out", loop("k", 0, 9, flat(add(add(mul(mul("k", "M"), "N"), mul("i", "M")), "j"))), set()),
    (
        "three digits, one of them too large, so that nothing is known of the first two",
        loop("k", 0, 9, flat(add(mul(add(mul("k", "M"), "i"), "M"), "j"))),
        {"i", "k"},
    ),
]


@pytest.mark.parametrize(("stmt", "expected"), [c[1:] for c in CARRIED], ids=[c[0] for c in CARRIED])
def test_conflicts_between_iterations(stmt: ir.Stmt, expected: set[str]) -> None:
    assert carriers(body(stmt)) == expected


def test_sums_conflict_only_where_their_order_counts() -> None:
    model = body(loop("i", 0, "N", loop("j", 0, "M", ir.Accumulate("add", at("x", "i"), read("a", "i", "j")))))
    assert carriers(model) == set()
    assert carriers(model, is_strict=True) == {"j"}
    mixed = body(
        loop("i", 0, "N", ir.Accumulate("add", at("x", 0), real(1)), ir.Accumulate("max", at("x", 0), real(1)))
    )
    assert carriers(mixed) == {"i"}
    fed = body(loop("i", 0, "N", ir.Accumulate("add", at("x", 0), read("x", 0))))
    assert carriers(fed) == {"i"}


def test_private_arrays_do_not_conflict() -> None:
    model = body(loop("i", 0, "N", ir.Assign(at("s"), read("x", "i")), set_x("i", read("s"))), local={"s": ()})
    found = violation(model, AnyOrder((0,)))
    assert found is not None
    assert found.array == "s"
    assert is_legal(model, AnyOrder((0,), frozenset({"s"})))


def may_split_after_first(first: ir.Stmt, second: ir.Stmt) -> bool:
    model = body(loop("i", 1, "N", first, second))
    events = within(model, (0,))
    cut = {k: [e for e in events if e.path[1] == k] for k in (0, 1)}
    return is_legal(model, Distribution(cut[0], cut[1], 0))


def test_a_split_keeps_every_value_with_its_reader() -> None:
    store = set_x("i", real(1))
    assert may_split_after_first(store, ir.Assign(at("y", "i"), read("x", "i")))
    assert may_split_after_first(store, ir.Assign(at("y", "i"), read("x", sub("i", 1))))
    assert not may_split_after_first(store, ir.Assign(at("y", "i"), read("x", add("i", 1))))
    assert not may_split_after_first(ir.Assign(at("y", "i"), read("x", sub("i", 1))), store)
    assert may_split_after_first(ir.Assign(at("y", "i"), read("x", add("i", 1))), store)


def test_sums_into_one_array_may_be_split() -> None:
    sum_up = ir.Accumulate("add", at("x", 0), read("y", "i"))
    assert may_split_after_first(sum_up, ir.Accumulate("add", at("x", 0), real(1)))
    assert not may_split_after_first(sum_up, ir.Accumulate("max", at("x", 0), real(1)))
    assert not may_split_after_first(sum_up, ir.Assign(at("a", "i", 0), read("x", 0)))
