"""Bounds conditions against executions: a call passes if and only if no subscript leaves its array."""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import reduce

import pytest

from loopdiff.analysis.bounds import bounds_conditions, negative_subscripts, unchecked_accesses
from loopdiff.analysis.overflow import without_overflow
from loopdiff.analysis.polyhedral.model import build_model
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.printer import print_expr
from loopdiff.ir.walk import subexprs
from tests.analysis.nests import FlatWriter, Machine, Writer, add, at, e, loop, mul, op, program, read, real, sub, total


def holds(cond: ir.Expr, machine: Machine) -> bool:
    return bool(machine.value(cond, ()))


def machines(ls: ir.LoopSet, seed: int, number: int) -> list[Machine]:
    rng = random.Random(seed)
    out: list[Machine] = []
    for _ in range(number):
        extents = {
            "x": (rng.randrange(9),),
            "a": (rng.randrange(9), rng.randrange(9)),
            "idx": (rng.randrange(9),),
        }
        data = {k: rng.randrange(-1, 6) for k in range(-60, 60)}
        scalars = {"N": rng.randrange(6), "M": rng.randrange(5), "S": rng.choice((-2, -1, 1, 2))}
        machine = Machine(
            ls, extents, scalars,
            lambda name, where, data=data: data[where[0]] if name == "idx" else (sum(where) % 3) / 2,
        )  # fmt: skip
        machine.run()
        out.append(machine)
    return out


def strays(machine: Machine) -> set[tuple[object, ...]]:
    """Executed accesses with a subscript out of range, by path, access and axis."""
    return {
        (t.path, t.access, axis)
        for t in machine.strays
        for axis, k in enumerate(t.element)
        if not 0 <= k < machine.extents[t.access.array][axis]
    }


@pytest.mark.part(3)
@pytest.mark.parametrize("seed", range(30))
def test_affine_conditions_are_exact(seed: int) -> None:
    ls = Writer(random.Random(seed)).loopset()
    model = build_model(ls)
    requires = bounds_conditions(model)
    assert unchecked_accesses(model) == ()
    for machine in machines(ls, seed, 80):
        assert all(holds(r.cond, machine) for r in requires) == (not strays(machine)), (
            machine.extents,
            machine.scalars,
        )


def assert_strays_are_found(ls: ir.LoopSet, seed: int) -> None:
    model = build_model(ls)
    requires = bounds_conditions(model)
    unchecked = {(u.path, u.access, u.axis): u.sufficient for u in unchecked_accesses(model)}
    for machine in machines(ls, seed, 40):
        for stray in strays(machine):
            if stray in unchecked:
                sufficient = unchecked[stray]  # type: ignore[index]
                assert sufficient is None or not holds(sufficient, machine), stray
            else:
                assert not all(holds(r.cond, machine) for r in requires), stray


@pytest.mark.part(3)
@pytest.mark.parametrize("seed", range(100, 130))
def test_every_stray_access_is_found_or_left_to_element_checks(seed: int) -> None:
    ls = Writer(random.Random(seed), is_affine=False).loopset()
    assert_strays_are_found(ls, seed)


@pytest.mark.part(3)
@pytest.mark.parametrize("seed", range(30))
def test_arrays_laid_out_by_hand(seed: int) -> None:
    ls = FlatWriter(random.Random(seed)).loopset()
    assert_strays_are_found(ls, seed)


def test_rows_by_hand_are_checked_once() -> None:
    """Scalars may not be so large that integers overflow; what is affine in products keeps its exact condition."""
    ls = program(
        loop("i", 0, "N", loop("j", 0, "M", ir.Assign(at("x", add(mul("i", "M"), "j")), real(1)))),
        loop("i", 0, "N", ir.Assign(at("y", sub(sub(mul("N", "M"), 1), "i")), real(1))),
        arrays={"x": 1, "y": 1},
    )
    (found,) = unchecked_accesses(build_model(ls))
    assert found.sufficient is not None
    assert (
        print_expr(found.sufficient) == "N <= 1099511627776 and N >= -1099511627776 and x.shape[0] // max(1, M) > N - 1"
    )
    assert conditions(ls) == ["N * M >= N or N <= 0", "y.shape[0] >= N * M or N <= 0"]


@pytest.mark.parametrize(
    ("cond", "expected"),
    [
        (op(Op.GE, ir.Dim("x", 0), "N"), "True"),
        (op(Op.GE, ir.Dim("x", 0), sub(ir.Dim("x", 0), 1)), "True"),
        (op(Op.GE, ir.Dim("x", 0), add("N", 1)), "N <= 1099511627776 and N >= -1099511627776"),
        (
            op(Op.GE, ir.Dim("x", 0), mul("N", ir.Dim("x", 1))),
            "N <= 2147483648 and N >= -2147483648 and x.shape[1] <= 2147483648",
        ),
        (op(Op.GE, ir.Dim("x", 0), mul(mul("N", "N"), "N")), "N <= 1048576 and N >= -1048576"),
        (op(Op.GE, ir.Dim("x", 0), mul(1 << 61, "N")), "None"),
        # The extents of one array are multiplied without overflow, or NumPy does not make it.
        (
            op(Op.GE, ir.Dim("y", 0), mul(mul(ir.Dim("x", 2), ir.Dim("x", 0)), ir.Dim("x", 1))),
            "x.shape[0] * x.shape[2] <= 281474976710656 and x.shape[0] * x.shape[1] * x.shape[2] <= 281474976710656"
            " and x.shape[2] <= 281474976710656 and x.shape[0] <= 281474976710656 and x.shape[1] <= 281474976710656",
        ),
        (
            op(Op.GE, ir.Dim("y", 0), mul(mul(ir.Dim("x", 0), ir.Dim("x", 0)), ir.Dim("x", 1))),
            "x.shape[0] <= 281474976710656 // max(1, x.shape[0]) // max(1, x.shape[1])",
        ),
    ],
)  # fmt: skip
def test_conditions_that_do_not_overflow(cond: ir.Expr, expected: str) -> None:
    found = without_overflow(cond)
    assert (str(found) if found is None else print_expr(found)) == expected


def test_products_of_extents_do_not_overflow_where_they_are_said_not_to() -> None:
    """Of many extents of several arrays, against integers without end; small ones are let through."""
    rng, told, passed = random.Random(3), 0, 0
    dims = [ir.Dim(array, axis) for array in "xyz" for axis in range(2)]
    for _ in range(200):
        product = reduce(mul, rng.choices(dims, k=rng.randint(2, 6)))
        cond = op(Op.GE, rng.choice(dims), sub(add(product, mul(3, rng.choice(dims))), "N"))
        found = without_overflow(cond)
        told += found is not None
        for most in (3, 1 << 12, 1 << 31):
            given = {d: rng.choice((0, 2, rng.randrange(most))) for d in dims} | {ir.Param("N"): rng.randrange(9)}
            large = [whole(x, given) for x in subexprs(cond) if isinstance(x, ir.Apply) and x.op is not Op.GE]
            is_let = found is not None and whole(found, given)
            passed += is_let
            assert not is_let or max(map(abs, large)) < 1 << 63
            assert is_let or max(map(abs, large)) >= 1 << 40 or most > 3
    assert told == 200
    assert passed > 300


def whole(expr: ir.Expr, given: Mapping[ir.Expr, int]) -> int:
    match expr:
        case ir.Apply(op=operation, args=args):
            if operation is Op.AND:
                return all(whole(x, given) for x in args)
            a, b = (whole(x, given) for x in args)
            return {
                Op.ADD: a + b, Op.SUB: a - b, Op.MUL: a * b, Op.MAX: max(a, b), Op.LE: a <= b, Op.GE: a >= b,
                Op.FLOORDIV: a // (b or 1),
            }[operation]  # fmt: skip
        case ir.Const(value=value):
            return int(value)
        case _:
            return given[expr]


def conditions(ls: ir.LoopSet) -> list[str]:
    return [print_expr(r.cond) for r in bounds_conditions(build_model(ls))]


def test_matmul() -> None:
    nest = loop("m", 0, ir.Dim("A", 0), loop("n", 0, ir.Dim("B", 1), loop("k", 0, ir.Dim("A", 1), ir.Accumulate(
        "add", at("C", "m", "n"), op(Op.MUL, read("A", "m", "k"), read("B", "k", "n"))
    ))))  # fmt: skip
    ls = program(nest, arrays={"A": 2, "B": 2, "C": 2}, scalars=())
    found = bounds_conditions(build_model(ls))
    assert [print_expr(r.cond) for r in found] == [
        "B.shape[0] >= A.shape[1] or A.shape[0] <= 0 or B.shape[1] <= 0",
        "C.shape[0] >= A.shape[0] or A.shape[1] <= 0 or B.shape[1] <= 0",
        "C.shape[1] >= B.shape[1] or A.shape[0] <= 0 or A.shape[1] <= 0",
    ]
    assert found[0].code == "LD310"
    assert "`B[k, n]`" in found[0].message
    assert "up to A.shape[1] - 1" in found[0].message


def test_guarded_stencil_needs_nothing() -> None:
    left = ir.Select(op(Op.GT, "i", 0), read("x", sub("i", 1)), real(0))
    right = ir.Select(op(Op.LT, add("i", 1), ir.Dim("x", 0)), read("x", add("i", 1)), real(0))
    ls = program(loop("i", 0, ir.Dim("x", 0), ir.Assign(at("x", "i"), total(left, right))), arrays={"x": 1}, scalars=())
    assert conditions(ls) == []


def test_short_circuit_guards_the_second_condition() -> None:
    cond = ir.Apply(Op.AND, (op(Op.GT, "i", 0), ir.Apply(Op.GT, (read("x", sub("i", 1)), real(0)))))
    ls = program(
        loop("i", 0, ir.Dim("x", 0), ir.If(cond, (ir.Assign(at("x", "i"), real(1)),))), arrays={"x": 1}, scalars=()
    )
    model = build_model(ls)
    assert bounds_conditions(model) == ()
    assert unchecked_accesses(model) == ()


def test_stencil_without_guard_is_negative() -> None:
    ls = program(loop("i", 0, "N", ir.Assign(at("x", "i"), read("x", sub("i", 1)))), arrays={"x": 1}, scalars=("N",))
    found = bounds_conditions(build_model(ls))
    assert [(r.code, print_expr(r.cond)) for r in found] == [
        ("LD311", "N <= 0"),
        ("LD310", "x.shape[0] >= N"),
    ]


def test_steps_and_products() -> None:
    ls = program(
        loop("i", 0, "N", ir.Assign(at("x", add("i", 1)), real(1)), step=2),
        loop("j", 0, mul("N", "M"), ir.Assign(at("y", "j"), real(1))),
        arrays={"x": 1, "y": 1},
    )
    assert conditions(ls) == [
        "x.shape[0] >= 2 * ((N + 1) // 2)",
        "y.shape[0] >= N * M",
    ]


def test_local_arrays_use_their_extents() -> None:
    body = loop("i", 0, "N", ir.Assign(at("buf", add("i", 1)), real(1)))
    assert conditions(program(body, arrays={}, local={"buf": (add("N", 1),)}, scalars=("N",))) == []
    assert conditions(program(body, arrays={}, local={"buf": (e("N"),)}, scalars=("N",))) == ["N <= 0"]


def test_always_negative_subscripts_count_from_the_end() -> None:
    ls = program(
        loop("i", 0, "N", ir.Assign(at("x", sub(-1, "i")), read("x", sub("i", 1)))),
        arrays={"x": 1},
        scalars=("N",),
    )
    found = negative_subscripts(build_model(ls))
    assert [(n.path, n.axis, print_expr(n.access.subscripts[0])) for n in found] == [((0, 0), 0, "-1 - i")]


def test_negative_index_as_subscript() -> None:
    body = ir.Assign(at("x", "i"), real(1))
    always = program(loop("i", op(Op.NEG, "N"), 0, body), arrays={"x": 1}, scalars=("N",))
    mixed = program(loop("i", op(Op.NEG, "N"), "N", body), arrays={"x": 1}, scalars=("N",))
    assert [n.path for n in negative_subscripts(build_model(always))] == [(0, 0)]
    assert negative_subscripts(build_model(mixed)) == ()
    assert conditions(mixed)[0] == "N <= 0"


def test_scatter_is_checked_by_element() -> None:
    ls = program(
        loop("i", 0, ir.Dim("idx", 0), ir.Accumulate("add", at("y", read("idx", "i")), read("x", "i"))),
        arrays={"idx": 1, "x": 1, "y": 1}, integers=("idx",), scalars=(),
    )  # fmt: skip
    model = build_model(ls)
    assert [print_expr(r.cond) for r in bounds_conditions(model)] == ["x.shape[0] >= idx.shape[0]"]
    (found,) = unchecked_accesses(model)
    assert (found.access, found.axis, found.is_write, found.sufficient) == (
        at("y", read("idx", "i")),
        0,
        True,
        None,
    )


def test_data_dependent_condition_gives_a_sufficient_one() -> None:
    cond = ir.Apply(Op.GT, (read("x", "i"), real(0)))
    ls = program(
        loop("i", 0, ir.Dim("x", 0), ir.If(cond, (ir.Assign(at("y", "i"), real(1)),))),
        arrays={"x": 1, "y": 1},
        scalars=(),
    )
    (found,) = unchecked_accesses(build_model(ls))
    assert found.sufficient is not None
    assert print_expr(found.sufficient) == "y.shape[0] >= x.shape[0]"
