"""Hulls of loops against executions, and what the affine view recognises."""

from __future__ import annotations

import random

import pytest

from loopdiff.analysis.exposure import exposed_reads
from loopdiff.analysis.polyhedral.model import build_model, index_hull, trip_hull
from loopdiff.analysis.polyhedral.sets import instances
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.printer import print_expr
from loopdiff.ir.reader import read_loopset
from loopdiff.ir.walk import statements
from tests.analysis.nests import (
    LARGE,
    SMALL,
    Writer,
    add,
    at,
    e,
    executions,
    loop,
    mul,
    op,
    program,
    read,
    real,
    sub,
)


@pytest.mark.parametrize("seed", [*range(20), *range(100, 110)])
def test_hulls(seed: int) -> None:
    ls = Writer(random.Random(seed), is_affine=seed < 100).loopset()
    model, machines = build_model(ls), executions(ls, seed, SMALL + LARGE[:20])
    for site in statements(ls.body):
        if not isinstance(site.stmt, ir.Loop):
            continue
        trips, indices = trip_hull(model, site.path), index_hull(model, site.path)
        for machine in machines:
            spans = [s for s in machine.trips.get(site.path, []) if len(s)]
            if not spans:
                continue
            most = max(map(len, spans))
            first, last = min(min(s) for s in spans), max(max(s) for s in spans)
            if seed < 100:
                assert trips is not None
                assert indices is not None
                assert machine.value(trips, ()) == most, print_expr(trips)
                assert [machine.value(x, ()) for x in indices] == [first, last]
            else:
                assert trips is None or machine.value(trips, ()) >= most
                assert indices is None or (
                    machine.value(indices[0], ()) <= first and last <= machine.value(indices[1], ())
                )


def hull(*body: ir.Loop, path: tuple[int, ...]) -> str | None:
    found = trip_hull(build_model(program(*body, arrays={"x": 1, "p": 1}, integers=("p",))), path)
    return None if found is None else print_expr(found)


def test_trip_hull_reads_well() -> None:
    store = ir.Assign(at("x", "j"), real(1))
    assert hull(loop("j", 0, ir.Dim("x", 0), store), path=(0,)) == "x.shape[0]"
    assert hull(loop("j", 1, sub("N", 1), store), path=(0,)) == "N - 2"
    assert hull(loop("j", 0, "N", store, step=2), path=(0,)) == "(N + 1) // 2"
    assert hull(loop("j", sub("N", 1), -1, store, step=-1), path=(0,)) == "N"
    assert hull(loop("j", 0, mul("N", "M"), store), path=(0,)) == "N * M"
    assert hull(loop("i", 0, "N", loop("j", 0, "i", store)), path=(0, 0)) == "N - 1"
    assert hull(loop("i", 0, "N", loop("j", "i", op(Op.MIN, "M", add("i", 4)), store)), path=(0, 0)) == "min(4, M)"
    assert hull(loop("i", 0, "N", loop("j", read("p", "i"), "N", store)), path=(0, 0)) is None
    assert hull(loop("j", 0, "N", store, step="M"), path=(0,)) == "-(-N // M)"


def exposed(ls: ir.LoopSet, scope: tuple[int, ...] | None = None) -> set[str]:
    return {access.array for _, access in exposed_reads(build_model(ls), scope)}


def test_same_indirect_element_in_one_iteration() -> None:
    element = at("x", read("p", "i"))
    body = loop("i", 0, "N", ir.Assign(element, real(1)), ir.Accumulate("add", element, real(2)))
    assert exposed(program(body, arrays={"x": 1, "p": 1}, integers=("p",)), (0,)) == {"p"}
    moved = loop(
        "i", 0, "N", ir.Assign(element, real(1)), ir.Assign(at("p", "i"), e(0)), ir.Accumulate("add", element, real(2))
    )
    assert exposed(program(moved, arrays={"x": 1, "p": 1}, integers=("p",)), (0,)) == {"p", "x"}


def test_same_let_in_one_iteration() -> None:
    element = at("x", ir.Var("v"))
    let = ir.Let("v", read("p", "i"))
    write = ir.Assign(at("p", "i"), e(0))
    body = loop("i", 0, "N", let, ir.Assign(element, real(1)), write, ir.Accumulate("add", element, real(2)))
    assert exposed(program(body, arrays={"x": 1, "p": 1}, integers=("p",)), (0,)) == {"p"}


def test_gather_after_filling_the_array() -> None:
    fill = loop("i", 0, ir.Dim("x", 0), ir.Assign(at("x", "i"), real(1)))
    gather = loop("j", 0, "N", ir.Accumulate("add", at("s"), read("x", read("p", "j"))))
    part = loop("i", 0, sub(ir.Dim("x", 0), 1), ir.Assign(at("x", "i"), real(1)))
    known = {"arrays": {"x": 1, "p": 1}, "local": {"s": ()}, "integers": ("p",)}
    assert exposed(program(fill, gather, **known)) == {"p", "s"}
    assert exposed(program(part, gather, **known)) == {"p", "s", "x"}


def test_both_branches_of_a_data_dependent_condition_write() -> None:
    cond = op(Op.GT, read("x", "i"), real(0))
    write, other = ir.Assign(at("s"), real(1)), ir.Assign(at("s"), real(2))
    use = ir.Assign(at("x", "i"), read("s"))
    both = loop("i", 0, "N", ir.If(cond, (write,), (other,)), use)
    one = loop("i", 0, "N", ir.If(cond, (write,)), use)
    again = loop("i", 0, "N", ir.If(cond, (write,)), ir.If(cond, (use,)))
    known = {"arrays": {"x": 1}, "local": {"s": ()}}
    assert "s" not in exposed(program(both, **known))
    assert "s" in exposed(program(one, **known))
    assert "s" in exposed(program(again, **known)), "x is written, so the second condition may differ"


def test_what_excludes_conditions_of_data_is_one_set() -> None:
    """Sets of two pieces for each branch not taken, times those of another event, took minutes to compare."""
    stmt = ir.Assign(at("s"), real(1))
    for position in range(8):
        stmt = ir.If(op(Op.GT, read("x", position), real(0)), (ir.Assign(at("x", position), real(1)),), (stmt,))
    model = build_model(program(loop("i", 0, "N", stmt), arrays={"x": 1}, local={"s": ()}))
    (event,) = model.touching("s", is_write=True)
    assert len(event.opaques) == 8
    assert instances(model, event).n_basic_set() == 1


def test_a_question_of_floats_that_is_true_in_many_ways_is_one_truth_value() -> None:
    """`0 <= d < a or b <= d <= c`, and the like in each `elif`: sets of as many pieces as the product of the ways."""
    value = read("x", "i")

    def within(low: float) -> ir.Expr:
        return op(Op.AND, op(Op.LE, real(low), value), op(Op.LT, value, real(low + 1)))

    stmt = ir.Assign(at("s"), real(1))
    for low in range(0, 12, 3):
        cond = op(Op.OR, within(low), within(low + 1), within(low + 2))
        stmt = ir.If(cond, (ir.Assign(at("s"), real(low)),), (stmt,))
    few = ir.If(within(0), (ir.Assign(at("t"), real(1)),))
    known = {"arrays": {"x": 1}, "local": {"s": (), "t": ()}}
    model = build_model(program(loop("i", 0, "N", stmt, few), **known))
    events = model.touching("s", is_write=True)
    assert [len(e.opaques) for e in events] == [1, 2, 3, 4, 4]
    assert all(instances(model, e).n_basic_set() == 1 for e in events)
    assert len(model.touching("t", is_write=True)[0].opaques) == 2
    assert "s" not in exposed(program(loop("i", 0, "N", stmt, ir.Assign(at("x", "i"), read("s"))), **known))


@pytest.mark.parametrize("other", ["-", "+"])
def test_conditions_through_values_that_lets_share(other: str) -> None:
    """Two chains of Lets, each the sum of the one before and itself: written out, 2 ** 60 operations. Where they
    compute the same, the two conditions are one.
    """
    chains = [f"let {c}{k + 1} = {c}{k} {sign} {c}{k}" for c, sign in (("a", "+"), ("b", other)) for k in range(60)]
    lines = ["for i in range(0, x.shape[0], 1):", "    let a0 = x[i]", "    let b0 = x[i]"]
    lines += [f"    {line}" for line in chains]
    lines += ["    if a60 > 0.0:", "        s[] = 1.0", "    if b60 > 0.0:", "        y[i] = s[]"]
    head = ["loopset f(x, y)", *(f"    argument {n}: float64[:]" for n in "xy"), "    local s: float64[] extents ()"]
    found = exposed(read_loopset("\n".join([*head, *lines])))
    assert ("s" in found) == (other == "-")


def test_subscripts_through_values_that_lets_share() -> None:
    """Each Let has the one before twice: written out, 2 ** 60 operations. Different chains may meet, equal ones do."""
    chains = [f"let {c}{k + 1} = {c}{k} ^ ({c}{k} >> {by})" for c, by in (("a", 3), ("b", 5)) for k in range(60)]
    lines = ["for i in range(0, x.shape[0], 1):", "    let a0 = i", "    let b0 = i", *(f"    {c}" for c in chains)]
    head = ["loopset f(x, y, s)", *(f"    argument {n}: float64[:]" for n in "xys")]
    for other, is_exposed in (("a60", False), ("b60", True)):
        body = [*lines, "    s[a60] = x[i]", f"    y[i] = s[{other}]"]
        assert ("s" in exposed(read_loopset("\n".join([*head, *body])))) == is_exposed


def test_inner_loop_with_loaded_bounds_repeats() -> None:
    """The row buffer of a compressed row is filled and read over the same loaded range."""

    def row(index: str, *body: ir.Assign) -> ir.Loop:
        return loop(index, read("p", "i"), read("p", add("i", 1)), *body)

    fill = row("j", ir.Assign(at("buf", "j"), real(1)))
    use = row("k", ir.Assign(at("x", "k"), read("buf", "k")))
    short = loop("k", sub(read("p", "i"), 1), read("p", add("i", 1)), ir.Assign(at("x", "k"), read("buf", "k")))
    known = {"arrays": {"x": 1, "p": 1}, "local": {"buf": (e("M"),)}, "integers": ("p",)}
    assert exposed(program(loop("i", 0, "N", fill, use), **known), (0,)) == {"p"}
    assert exposed(program(loop("i", 0, "N", fill, short), **known), (0,)) == {"p", "buf"}


def test_requirements_and_ranges_are_known() -> None:
    """What the program checked, and that no subscript leaves its array, narrows the question."""
    fill = loop("i", 0, ir.Dim("x", 0), ir.Assign(at("x", "i"), real(1)))
    use = loop("j", 0, "N", ir.Accumulate("add", at("s"), read("x", "j")))
    unknown = loop("i", 0, "M", ir.Assign(at("x", "i"), real(1)))
    check = ir.Require(op(Op.LE, "N", "M"), "LD332", "assertion failed")
    known = {"arrays": {"x": 1}, "local": {"s": ()}}
    assert "x" not in exposed(program(fill, use, **known))
    assert "x" in exposed(program(unknown, use, **known))
    assert "x" not in exposed(program(check, unknown, use, **known))
    assert "x" in exposed(program(unknown, use, check, **known))


def test_arrays_may_be_as_long_as_a_count_made_elsewhere() -> None:
    tape = program(loop("i", 0, "N", ir.Assign(at("t", "i"), real(1))), arrays={}, local={"t": (e("TOTAL"),)})
    assert index_hull(build_model(tape), (0,)) is not None
