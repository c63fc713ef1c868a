"""Python's integers have no end, those of compiled loops have 64 bits. Where one may outgrow them, as `h = h * 33 + i`
in a loop, it is checked (LD335) ahead of the statement that computes it.

How many bits integers need follows from the text: from literals, from remainders and masks, and from what loops do with
their variables. Numbers that a call gives, extents and counters are taken to have 20 bits, those that are made of
floating numbers, as places are, 31, loops to have at most 2**28 iterations. Elements of arrays, and what is computed
with these, wrap as NumPy's do, and are left alone; so are the generators of random numbers of our own library.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial, reduce
from pathlib import Path

from loopdiff.errors import Span
from loopdiff.frontend.parsing.placing import with_place
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import all_of, any_of, compare, integer
from loopdiff.ir.ops import COMPARISONS, Op
from loopdiff.ir.types import F32, F64, INT
from loopdiff.ir.typing import TypeEnv, cell_types, type_env, type_of
from loopdiff.ir.walk import all_statements, loads, map_body, map_expr, map_stmt_exprs, operands, stmt_exprs

WORD = 63  # bits of a magnitude that 64 bits hold
DIGITS = 53  # and of one that a float does
GIVEN = 20  # of numbers that a call gives, of extents and counters: three are multiplied without a check
ROUNDED = 31  # of those that are made of floating numbers
ITERATIONS = 28
MOST_ROUNDS = 8  # until what still grows is taken to grow for ever
LIMIT = float(2**63) * (1.0 - 2.0**-40)  # products and sums of floating numbers are a little off
RING = (Op.ADD, Op.SUB, Op.MUL, Op.NEG)
GROWING = (*RING, Op.POW, Op.SHL)
MOST_POWER = 1000
LIBRARY = str(Path(__file__).parents[2] / "kernels")
MESSAGE = "an integer becomes larger than 64 bits hold"
COMPARED = "an integer is too large for the float that it is compared with: write `float(...)` of it"
Bits = Mapping[str, float]
Stores = Mapping[str, Sequence[ir.Expr]]
Check = tuple[ir.Expr, Span, str]  # what must hold, where in the text, and what is wrong otherwise


def with_checked_integers(ls: ir.LoopSet) -> ir.LoopSet:
    """Bound `ls` with checks of the integers of Python that may need more than 64 bits."""
    ls = with_exact_numbers(ls)
    env, stores = type_env(ls), stores_of(ls)
    sizes = Sizes(env, python_cells(ls, env, stores), bits_of_cells(stores))

    def checked(stmt: ir.Stmt) -> tuple[ir.Stmt, ...]:
        exprs = stmt_exprs(stmt)
        if isinstance(stmt, ir.Accumulate):
            exprs = (*exprs[:-1], stored_value(stmt))
        return (*(required(*check) for e in exprs for check in sizes.checks(e, stmt.loc)), stmt)

    body = map_body(ls.body, checked)
    results = (r.value for r in ls.results if isinstance(r, ir.ScalarResult))
    last = tuple(required(*check) for value in results for check in sizes.checks(value, value.loc))
    return replace(ls, body=(*body, *last)) if last or body != ls.body else ls


def required(cond: ir.Expr, at: Span, message: str) -> ir.Stmt:
    return ir.Require(with_place(cond, at), "LD335", message, loc=at)


def with_exact_numbers(ls: ir.LoopSet) -> ir.LoopSet:
    """`ls` with floating numbers for those that are written as integers beyond 64 bits, as `2**80 * x`."""

    def rounded(expr: ir.Expr) -> ir.Expr:
        value = written(expr.value) if isinstance(expr, ir.Cast) and expr.dtype in (F32, F64) else None
        if value is None or abs(value) < 2**WORD or not isinstance(expr, ir.Cast):
            return expr
        return ir.Cast(expr.dtype, ir.Const(float(value), F64, loc=expr.loc), loc=expr.loc)

    body = tuple(map_stmt_exprs(partial(map_expr, rounded), stmt) for stmt in ls.body)
    results = (ir.ScalarResult(map_expr(rounded, r.value)) if isinstance(r, ir.ScalarResult) else r for r in ls.results)
    return replace(ls, body=body, results=tuple(results))


def written(expr: ir.Expr) -> int | None:
    """The integer that `expr` is, of literals alone; None for others, and beyond all floating numbers."""
    match expr:
        case ir.Const(value=int() as value):
            return int(value)
        case ir.Apply(op=Op.POW, args=(base, ir.Const(value=int() as exponent))) if 0 <= exponent < MOST_POWER:
            found = written(base)
            return None if found is None or abs(found) > MOST_POWER else found**exponent
        case ir.Apply(op=Op.MUL, args=(first, second)):
            factors = written(first), written(second)
            return None if factors[0] is None or factors[1] is None else factors[0] * factors[1]
        case _:
            return None


def stored_value(stmt: ir.Assign | ir.Accumulate) -> ir.Expr:
    """What is stored by the statement."""
    if isinstance(stmt, ir.Assign):
        return stmt.value
    op = {"add": Op.ADD, "max": Op.MAX, "min": Op.MIN}[stmt.op]
    return ir.Apply(op, (ir.Load(stmt.target), stmt.value), loc=stmt.loc)


def stores_of(ls: ir.LoopSet) -> Stores:
    """What each cell of an integer gets, in the order of the text; itself from calls, which say nothing."""
    found: dict[str, list[ir.Expr]] = {name: [] for name, kind in cell_types(ls).items() if kind is INT}
    for stmt in all_statements(ls.body):
        match stmt:
            case ir.Assign(target=target) | ir.Accumulate(target=target) if target.array in found:
                found[target.array].append(stored_value(stmt))
            case ir.Call(results=results):
                for result in results:
                    found.get(result.array, []).append(ir.Cast(INT, ir.Const(0.0, F64)))
            case _:
                pass
    return found


def python_cells(ls: ir.LoopSet, env: TypeEnv, stores: Stores) -> frozenset[str]:
    """Cells that hold integers of Python, and never one that an element of an array went into."""
    numbers = frozenset(s.name for s in ls.scalars if s.is_weak)
    found = frozenset(stores)
    while True:
        kept = frozenset(c for c in found if all(is_pythons(value, found, numbers) for value in stores[c]))
        if kept == found:
            return found | numbers
        found = kept


def is_pythons(expr: ir.Expr, cells: Collection[str], numbers: Collection[str]) -> bool:
    """Whether an integer is Python's, given which names hold such."""
    match expr:
        case ir.Load(access=access):
            return access.array in cells
        case ir.Param(name=name):
            return name in numbers
        case ir.Cast() | ir.Const() | ir.Index() | ir.Dim() | ir.SizeOf() | ir.RankOf():
            return True
        case ir.Var() | ir.PartOf() | ir.Pair():
            return False
        case ir.Apply(op=op) if op in COMPARISONS:
            return True
        case _:
            return all(is_pythons(e, cells, numbers) for e in operands(expr))


# -- bits ----------------------------------------------------------------------------------------------------
def bits_of_cells(stores: Stores) -> Bits:
    """How many bits the magnitude of each cell needs at most, infinitely many where loops may multiply it for ever."""
    settled: dict[str, float] = {}
    while True:
        bits = {cell: settled.get(cell, 0.0) for cell in stores}
        growing = set(stores)
        for _ in range(MOST_ROUNDS):
            growing.clear()
            for cell, values in stores.items():
                now = settled.get(cell, max((bits_of(v, bits) for v in values), default=0.0))
                growing |= {cell} if now > bits[cell] else set()
                bits[cell] = now
            if not growing:
                return bits
        added = added_alone(stores, growing)
        beyond = {**bits, **dict.fromkeys(growing, 0.0 if added else math.inf)}
        if added:
            apart = [{cell} for cell in added if not any((added - {cell}) & cells_in(v) for v in stores[cell])]
            for cells in apart or [added]:
                most = max(bits_of(v, beyond) for cell in cells for v in stores[cell])
                settled |= dict.fromkeys(cells, most + math.log2(len(cells)) + ITERATIONS)
        else:
            fast = [cell for cell in growing if any(times(v, growing) > 1 for v in stores[cell])]
            settled |= {cell: max(bits_of(v, beyond) for v in stores[cell]) for cell in fast}


def added_alone(stores: Stores, growing: Collection[str]) -> set[str]:
    """Those of the cells that grow by what is added to one of them, and by nothing else."""
    found = {cell for cell in growing if all(times(v, growing) <= 1 for v in stores[cell])}
    while True:
        others = set(growing) - found
        kept = {cell for cell in found if not any(others & cells_in(v) for v in stores[cell])}
        if kept == found:
            return found
        found = kept


def cells_in(expr: ir.Expr) -> set[str]:
    return {load.access.array for load in loads(expr)}


def times(expr: ir.Expr, cells: Collection[str]) -> float:
    """How many of `cells` are added up in `expr`; infinitely many where one is multiplied."""
    match expr:
        case ir.Load(access=access):
            return float(access.array in cells)
        case ir.Apply(op=Op.ADD | Op.SUB, args=args):
            return sum(times(a, cells) for a in args)
        case ir.Apply(op=Op.MIN | Op.MAX, args=args):
            return max(times(a, cells) for a in args)
        case ir.Select(then=then, orelse=orelse):
            return max(times(then, cells), times(orelse, cells))
        case ir.Apply(op=Op.NEG | Op.ABS | Op.STOP | Op.FLOORDIV | Op.SHR, args=(first, *_)):
            return times(first, cells)
        case ir.Apply(op=Op.MOD, args=(_, second)):
            return times(second, cells)
        case ir.Apply(op=Op.BITAND, args=args) if any(is_mask(a) for a in args):
            return 0.0
        case ir.Cast():
            return 0.0
        case _:
            return math.inf if cells_in(expr) & set(cells) else 0.0


def is_mask(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Const) and expr.value >= 0


def bits_of(expr: ir.Expr, bits: Bits) -> float:
    """How many bits the magnitude of an integer needs at most."""
    match expr:
        case ir.Const(value=int() as value):
            return float(abs(value).bit_length())
        case ir.Load(access=access):
            return bits.get(access.array, WORD)
        case ir.Index() | ir.Dim() | ir.SizeOf() | ir.RankOf() | ir.Param():
            return GIVEN
        case ir.Cast(value=ir.Load() | ir.Var() | ir.Apply()):
            return ROUNDED
        case ir.Select(then=then, orelse=orelse):
            return max(bits_of(then, bits), bits_of(orelse, bits))
        case ir.Apply():
            return bits_of_operation(expr, bits)
        case _:
            return WORD


def bits_of_operation(expr: ir.Apply, bits: Bits) -> float:
    """The same of an operation."""
    first, *rest = sizes = [bits_of(a, bits) for a in expr.args]
    match expr.op, expr.args[-1]:
        case Op.ADD | Op.SUB, _:
            return max(sizes) + float(min(sizes) > 0.0)
        case Op.MUL, _:
            return sum(sizes)
        case Op.POW | Op.SHL | Op.SHR | Op.FLOORDIV | Op.MOD as op, ir.Const(value=value) if value >= 0:
            return bits_by_number(op, first, int(value))
        case Op.POW | Op.SHL, _:
            return 0.0 if first == 0.0 else 1.0 if first == 1.0 and expr.op is Op.POW else math.inf
        case Op.MOD, _:
            return rest[0]
        case Op.BITAND, _ if masks := [s for a, s in zip(expr.args, sizes, strict=True) if is_mask(a)]:
            return min(masks)
        case op, _ if op in COMPARISONS:
            return 1.0
        case _:
            return max(sizes)


def bits_by_number(op: Op, first: float, value: int) -> float:
    """The same of an operation of what has `first` bits with a number that is written out."""
    match op:
        case Op.POW:
            return first * value if value else 1.0
        case Op.SHL:
            return first + value
        case Op.SHR:
            return max(0.0, first - value)
        case Op.FLOORDIV:
            return max(0.0, first - value.bit_length() + 1.0)
        case _:
            return float(max(0, value - 1).bit_length())


# -- checks --------------------------------------------------------------------------------------------------
@immutable
class Sizes:
    """What is known of integers: which names hold Python's, and how many bits cells need."""

    env: TypeEnv
    pythons: frozenset[str]
    bits: Bits

    def checks(self, expr: ir.Expr, at: Span) -> Iterator[Check]:
        """What must hold ahead of `expr`, what is inside of it first."""
        match expr:
            case ir.Apply(op=Op.BITAND, args=args) if any(map(is_mask, args)):
                for arg in args:
                    yield from self.inside(arg, at)
            case _:
                yield from checks_of_parts(expr, lambda part: self.checks(part, at))
                place = expr.loc if expr.loc.line else at
                if isinstance(expr, ir.Apply) and self.may_outgrow(expr):
                    yield self.fits(expr), place, MESSAGE
                elif isinstance(expr, ir.Apply) and expr.op in COMPARISONS:
                    yield from ((cond, place, COMPARED) for cond in self.comparable(*expr.args))

    def inside(self, expr: ir.Expr, at: Span) -> Iterator[Check]:
        """The checks of `expr` whose last bits alone are looked at: sums and products have the right ones."""
        if isinstance(expr, ir.Apply) and expr.op in RING:
            for arg in expr.args:
                yield from self.inside(arg, at)
        else:
            yield from self.checks(expr, at)

    def may_outgrow(self, expr: ir.Apply) -> bool:
        """Whether an operation gives an integer of Python that may need more bits than there are."""
        if expr.loc.file.startswith(LIBRARY):
            return False
        is_growing = expr.op in GROWING and type_of(expr, self.env) is INT and bits_of(expr, self.bits) > WORD
        return is_growing and is_pythons(expr, self.pythons, self.pythons)

    def comparable(self, *sides: ir.Expr) -> Iterator[ir.Expr]:
        """That floats tell which of both `sides` is larger. Python compares an integer with a float as they are, NumPy
        as floats: those differ where the float is the one that the integer is rounded to."""
        for side, other in (sides, sides[::-1]):
            if isinstance(side, ir.Cast) and side.dtype is F64 and self.is_large_beside(side.value, other):
                most = integer(1 << DIGITS)
                is_held = compare(Op.LT, integer(-1 << DIGITS), side.value), compare(Op.LT, side.value, most)
                yield any_of((all_of(is_held), compare(Op.NE, side, other)))

    def is_large_beside(self, expr: ir.Expr, other: ir.Expr) -> bool:
        """Whether `expr` is an integer of Python that floats may not hold, and `other` may be a float of Python."""
        is_given = isinstance(expr, ir.Param) and isinstance(other, ir.Param)
        if isinstance(other, ir.Const) or (isinstance(other, ir.Load) and other.access.subscripts):
            return False
        is_large = is_given or bits_of(expr, self.bits) > DIGITS
        return is_large and type_of(expr, self.env) is INT and is_pythons(expr, self.pythons, self.pythons)

    def fits(self, expr: ir.Apply) -> ir.Expr:
        """Whether what `expr` gives has its place in 64 bits, as its operands do."""
        first, *rest = expr.args
        if expr.op is Op.SHL and (size := bits_of(first, self.bits)) <= WORD:
            return compare(Op.LE, rest[0], integer(WORD - math.ceil(size)))
        number: ir.Expr = ir.Cast(F64, first)
        if expr.op is Op.SHL:
            number = ir.Apply(Op.MUL, (number, ir.Apply(Op.POW, (ir.Const(2.0, F64), rest[0]))))
        elif expr.op is Op.POW:
            number = ir.Apply(Op.POW, (number, rest[0]))
        else:
            number = ir.Apply(expr.op, tuple(ir.Cast(F64, a) for a in expr.args))
        return compare(Op.LT, ir.Apply(Op.ABS, (number,)), ir.Const(LIMIT, F64))


def negated(cond: ir.Expr) -> ir.Expr:
    return ir.Apply(Op.NOT, (cond,))


def checks_of_parts(expr: ir.Expr, checks: Callable[[ir.Expr], Iterator[Check]]) -> Iterator[Check]:
    """The `checks` of each part of `expr`, where this is evaluated."""
    match expr:
        case ir.Select(cond=cond, then=then, orelse=orelse):
            yield from checks(cond)
            yield from unless(negated(cond), checks(then))
            yield from unless(cond, checks(orelse))
        case ir.Apply(op=Op.AND | Op.OR as op, args=args):
            for number, arg in enumerate(args):
                ends = (negated(a) if op is Op.AND else a for a in args[:number])
                yield from reduce(lambda found, end: unless(end, found), ends, checks(arg))
        case _:
            for part in operands(expr):
                yield from checks(part)


def unless(exempt: ir.Expr, checks: Iterator[Check]) -> Iterator[Check]:
    """The `checks`, of which there is no need where `exempt` holds."""
    return ((any_of((exempt, cond)), at, message) for cond, at, message in checks)
