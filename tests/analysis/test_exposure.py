"""Storage questions against execution traces of random nests, and on nests with a name."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import pytest

from loopdiff.analysis.exposure import exposed_reads, overwritten_after, read_after, seen_writes
from loopdiff.analysis.polyhedral.model import build_model
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import Path, statements
from tests.analysis.nests import (
    LARGE,
    SMALL,
    Machine,
    Touch,
    Writer,
    add,
    at,
    e,
    executions,
    loop,
    op,
    program,
    read,
    real,
    sub,
    total,
)

Read = tuple[Path, ir.Access]
AFFINE = range(1000, 1030)
DATA_DEPENDENT = range(600, 630)


def nest(seed: int) -> ir.LoopSet:
    return Writer(random.Random(seed), is_affine=seed >= 1000).loopset()


def scopes(ls: ir.LoopSet) -> list[Path | None]:
    return [None, *(s.path for s in statements(ls.body) if isinstance(s.stmt, ir.Loop))]


def same_iteration(a: Touch, b: Touch, scope: Path | None) -> bool:
    return scope is None or (a.inside(scope) is not None and a.inside(scope) == b.inside(scope))


def located(touch: Touch) -> tuple[str, tuple[int, ...]]:
    return touch.access.array, touch.element


def overwrites(machine: Machine, scope: Path | None) -> set[Read]:
    found: set[Read] = set()
    for touches in machine.by_element():
        for k, a in enumerate(touches):
            if not a.is_write and any(b.is_write and same_iteration(a, b, scope) for b in touches[k + 1 :]):
                found.add((a.path, a.access))
    return found


def exposures(machine: Machine, scope: Path | None) -> set[Read]:
    found: set[Read] = set()
    for touches in machine.by_element():
        for k, a in enumerate(touches):
            is_asked = not a.is_write and (scope is None or a.inside(scope) is not None)
            if is_asked and not any(b.is_write and same_iteration(a, b, scope) for b in touches[:k]):
                found.add((a.path, a.access))
    return found


def escapes(machine: Machine, scope: Path) -> set[str]:
    """Arrays with a value written in an iteration of `scope` and read after it."""
    found: set[str] = set()
    last: dict[tuple[str, tuple[int, ...]], Touch] = {}
    for touch in machine.touches:
        where = located(touch)
        if touch.is_write:
            last[where] = touch
        elif where in last and last[where].inside(scope) is not None and not same_iteration(last[where], touch, scope):
            found.add(touch.access.array)
    return found | {w[0] for w in machine.final() if w in last and last[w].inside(scope) is not None}


@dataclass
class Judge:
    """Compares answers with what happened: never less; and exactly that in nests where nothing depends on
    data.
    """

    seed: int
    ls: ir.LoopSet

    def check(
        self, question: object, answer: set, truth: Callable[[Machine], set], ignored: frozenset = frozenset()
    ) -> None:
        found = union(truth, executed(self.ls, self.seed, SMALL))
        assert found <= answer, (question, found - answer)
        if self.seed >= 1000 and not answer - ignored <= found:
            found |= union(truth, executed(self.ls, self.seed, LARGE))
            assert found <= answer, (question, found - answer)
            assert answer - ignored <= found, (question, answer - found)


def union(truth: Callable[[Machine], set], machines: list[Machine]) -> set:
    return set().union(*(truth(m) for m in machines))


@cache
def executed(ls: ir.LoopSet, seed: int, sizes: tuple[tuple[int, int], ...]) -> list[Machine]:
    return executions(ls, seed, sizes)


@pytest.mark.part(3)
@pytest.mark.parametrize("seed", [*AFFINE, *DATA_DEPENDENT])
def test_random_nests(seed: int) -> None:
    ls = nest(seed)
    model, judge = build_model(ls), Judge(seed, ls)
    reads = {(e.path, e.access) for e in model.events if not e.is_write and not e.is_final}
    # The question is about the location, whether or not a conditional expression reads it.
    guarded = frozenset(
        (e.path, e.access) for e in model.events if e.path and e.frame.parent is not model.frames[e.path]
    )
    for scope in scopes(ls):
        asked = {r for r in reads if scope is None or (r[0][: len(scope)] == scope and r[0] != scope)}
        over = {r for r in asked if overwritten_after(model, *r, scope)}
        judge.check(("overwritten", scope), over, lambda m, s=scope: overwrites(m, s), guarded)
        judge.check(("exposed", scope), set(exposed_reads(model, scope)), lambda m, s=scope: exposures(m, s))
        if scope is not None:
            after = {a.name for a in ls.arrays if read_after(model, scope, a.name)}
            judge.check(("read after", scope), after, lambda m, s=scope: escapes(m, s))


# -- nests with a name ---------------------------------------------------------------------------------------
def names(ls: ir.LoopSet, scope: Path | None = None) -> set[str]:
    return {access.array for _, access in exposed_reads(build_model(ls), scope)}


def test_double_buffering() -> None:
    """x and y take turns: neither is owned by a time step, both are read by the next half step."""
    forth = loop("i", 1, sub("N", 1), ir.Assign(at("y", "i"), total(read("x", sub("i", 1)), read("x", add("i", 1)))))
    back = loop("j", 1, sub("N", 1), ir.Assign(at("x", "j"), read("y", "j")))
    ls = program(loop("t", 0, "M", forth, back), arrays={"x": 1}, local={"y": (e("N"),)})
    model = build_model(ls)
    assert names(ls) == {"x"}
    assert names(ls, (0,)) == {"x"}
    assert not read_after(model, (0,), "y")
    assert read_after(model, (0,), "x")
    assert overwritten_after(model, (0, 0, 0), at("x", sub("i", 1)))
    assert not overwritten_after(model, (0, 0, 0), at("x", sub("i", 1)), (0, 0))
    assert not overwritten_after(model, (0, 1, 0), at("y", "j"), (0,))
    assert overwritten_after(model, (0, 1, 0), at("y", "j"))


def test_row_buffer_belongs_to_the_row() -> None:
    fill = loop("j", 0, "M", ir.Assign(at("row", "j"), read("a", "i", "j")))
    use = loop("k", 0, "M", ir.Assign(at("a", "i", "k"), read("row", sub(sub("M", 1), "k"))))
    ls = program(loop("i", 0, "N", fill, use), arrays={"a": 2}, local={"row": (e("M"),)})
    model = build_model(ls)
    assert names(ls, (0,)) == {"a"}
    assert not read_after(model, (0,), "row")
    assert read_after(model, (0, 0), "row")
    assert not overwritten_after(model, (0, 1, 0), at("row", "k"), (0,))


def test_row_buffer_filled_too_short_is_not() -> None:
    fill = loop("j", 1, "M", ir.Assign(at("row", "j"), read("a", "i", "j")))
    use = loop("k", 0, "M", ir.Assign(at("a", "i", "k"), read("row", "k")))
    last = ir.Assign(at("row", 0), real(1))
    ls = program(loop("i", 0, "N", fill, use, last), arrays={"a": 2}, local={"row": (e("M"),)})
    assert names(ls, (0,)) == {"a", "row"}
    assert read_after(build_model(ls), (0,), "row")


def test_cholesky_reads_what_it_wrote() -> None:
    update = loop(
        "k",
        0,
        "j",
        ir.Accumulate("add", at("a", "i", "j"), op(Op.MUL, read("a", "i", "k"), read("a", "j", "k"))),
    )
    scale = ir.Assign(at("a", "i", "j"), op(Op.DIV, read("a", "i", "j"), read("a", "j", "j")))
    square = loop(
        "l",
        0,
        "i",
        ir.Accumulate("add", at("a", "i", "i"), op(Op.MUL, read("a", "i", "l"), read("a", "i", "l"))),
    )
    root = ir.Assign(at("a", "i", "i"), ir.Apply(Op.SQRT, (read("a", "i", "i"),)))
    ls = program(loop("i", 0, "N", loop("j", 0, "i", update, scale), square, root), arrays={"a": 2})
    model = build_model(ls)
    assert {(p, a) for p, a in exposed_reads(model) if a.subscripts[1] in (e("k"), e("l"))} == set()
    assert not overwritten_after(model, (0, 0, 1), at("a", "j", "j"))
    assert overwritten_after(model, (0, 0, 1), at("a", "i", "j"))
    assert not overwritten_after(model, (0, 0, 0, 0), at("a", "j", "k"))


def test_backward_loop_reads_what_is_still_to_be_overwritten() -> None:
    down = loop("i", sub("N", 1), 0, ir.Assign(at("x", "i"), read("x", sub("i", 1))), step=-1)
    up = loop("i", 1, "N", ir.Assign(at("x", "i"), read("x", sub("i", 1))))
    assert overwritten_after(build_model(program(down, arrays={"x": 1})), (0, 0), at("x", sub("i", 1)))
    assert not overwritten_after(build_model(program(up, arrays={"x": 1})), (0, 0), at("x", sub("i", 1)))


def test_bounds_and_results_are_reads() -> None:
    inner = loop("j", 0, read("p", 0), ir.Assign(at("p", 0), e(1)))
    ls = program(inner, arrays={"p": 1, "x": 1}, integers=("p",), result=read("x", 2))
    model = build_model(ls)
    assert set(exposed_reads(model)) == {((0,), at("p", 0)), ((), at("x", 2))}
    assert overwritten_after(model, (0,), at("p", 0))
    assert not overwritten_after(model, (), at("x", 2))


def test_allocation_kills() -> None:
    use = ir.Assign(at("x", 0), read("buf", 0))
    fill = loop("i", 0, "N", ir.Allocate("buf", real(0)), use, ir.Assign(at("buf", 0), real(1)))
    once = loop("i", 0, "N", use, ir.Assign(at("buf", 0), real(1)))
    known = {"arrays": {"x": 1}, "local": {"buf": (add("N", 1),)}}
    assert names(program(fill, **known), (0,)) == set()
    assert names(program(once, **known), (0,)) == {"buf"}
    assert names(program(ir.Allocate("buf", real(0)), once, **known)) == set()


def made_anew(place: str) -> ir.LoopSet:
    """Two loops in which `buf` is read before, beside and after the `place` where it is made."""
    make, use = ir.Allocate("buf", real(0)), ir.Assign(at("x", "i"), read("buf", 0))
    keep, other = ir.Assign(at("buf", 1), real(1)), ir.Assign(at("x", "j"), read("buf", 1))
    inner = {
        "outer": loop("j", 0, "M", other, keep),
        "inner": loop("j", 0, "M", other, make, other, keep),
        "then": loop("j", 0, "M", ir.If(op(Op.LT, "j", "i"), (make, other), (other, keep)), other),
        "orelse": loop("j", 0, "M", ir.If(op(Op.LT, "j", "i"), (other, keep), (make, other)), other),
        "before": loop("j", 0, "M", other, ir.If(op(Op.LT, "j", "i"), (keep,), ()), other),
    }[place]
    body = (use, make, inner, use, keep) if place == "outer" else (use, inner, use, keep)
    first = (make,) if place == "before" else ()
    return program(
        *first, loop("i", 0, "N", *body), arrays={"x": 1}, local={"buf": (add("N", 2),)}, result=read("buf", 1)
    )


@pytest.mark.parametrize("place", ["outer", "inner", "then", "orelse", "before"])
def test_nothing_is_seen_from_before_an_array_is_made_anew(place: str) -> None:
    ls = made_anew(place)
    model, judge = build_model(ls), Judge(1000, ls)
    for scope in scopes(ls):
        judge.check(("exposed", scope), set(exposed_reads(model, scope)), lambda m, s=scope: exposures(m, s))
        if scope is not None:
            after = {a.name for a in ls.arrays if read_after(model, scope, a.name)}
            judge.check(("read after", scope), after, lambda m, s=scope: escapes(m, s))


@pytest.mark.parametrize("place", ["outer", "inner", "then", "orelse", "before"])
def test_what_a_read_may_find_is_what_was_written_last(place: str) -> None:
    ls = made_anew(place)
    model = build_model(ls)
    found = {(r.path, w.path) for r in model.touching("buf", False) for w in seen_writes(model, r)}
    happened: set[tuple[Path, Path]] = set()
    for machine in executed(ls, 1000, (*SMALL, *LARGE)):
        for touches in machine.by_element():
            last: Touch | None = None
            for touch in touches:
                if touch.is_write:
                    last = touch
                elif last is not None and touch.access.array == "buf":
                    happened.add((touch.path, last.path))
    assert found == happened
