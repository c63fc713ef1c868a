"""Index-set splitting at the ends of a period: iterations that do not wrap round go in a loop of their own.

                                               if 0 < n: y[0] = x[n - 1] + x[min(1, n - 1)]
    for i in range(n):                         for i in range(1, n - 1):
        y[i] = x[(i - 1) % n] + x[(i + 1) % n]     y[i] = x[i - 1] + x[i + 1]
                                  becomes      if n - 1 >= 1: y[n - 1] = x[n - 2] + x[0]

    for j in range(n):                         for j in range(i + 1): s += x[j] * w[i - j]
        s += x[j] * w[(i - j) % n]   becomes   for j in range(i + 1, n): s += x[j] * w[i - j + n]

Griebl, Feautrier and Lengauer, "Index set splitting" (International Journal of Parallel Programming 28, 2000). What is
left is affine: its subscripts are followed exactly, vectors load what lies side by side, and its derivative gathers
where it would scatter. Iterations stay in their order. A shift that is no constant is brought into one period first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from itertools import product

from loopdiff.canonical.invariant_motion import is_total
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.affine import added, from_linear, linear
from loopdiff.ir.build import at_least_one, compare, integer, is_constant, shifted
from loopdiff.ir.names import NameSupply, supply
from loopdiff.ir.ops import Op
from loopdiff.ir.renaming import body_at, renamed_block
from loopdiff.ir.types import INT
from loopdiff.ir.walk import (
    all_statements,
    exits,
    lets_in,
    loops_in,
    map_blocks,
    map_stmt_exprs,
    nodes_in,
    subexprs,
    substitute,
    written_arrays,
)

Block = tuple[ir.Stmt, ...]
Values = Mapping[ir.Expr, ir.Expr]
MOST_INSIDE = 160  # statements of all copies of a body without loops in it
MOST_STATEMENTS, MOST_SHIFTED = 64, 24  # of one with loops in it, and where shifts are no constants
MOST_ADDED = 64  # by all copies of nests
MOST_PEELED = 4  # iterations at an end, each written out
MOST_SHIFTS = 2  # that are no constants, of one loop


@immutable
class Remainder:
    """`expr`, which is `(sign * index + constant + rest) % divisor`."""

    expr: ir.Expr
    sign: int
    constant: int
    rest: tuple[tuple[ir.Expr, int], ...]
    divisor: ir.Expr

    @property
    def least(self) -> int:
        """Without `rest`: from which index on there is no wrap, or no further one."""
        return -self.constant if self.sign > 0 else self.constant + 1

    @property
    def gap(self) -> int:
        """Without `rest`: how far below the divisor the indices end for which this holds."""
        return -self.least

    def at(self, index: ir.Expr, shift: ir.Expr, periods: int) -> ir.Expr:
        """The dividend with `shift` for the constant and `rest`, and `periods` of the divisor more."""
        terms, constant = linear(shift)
        for part, factor in ((index, self.sign), (self.divisor, periods)):
            more, offset = linear(part)
            terms, constant = added(terms, more, factor), constant + factor * offset
        return from_linear(terms, constant, self.expr.loc, INT)


@immutable
class Range:
    """What is known of an index: it is at least `first`, and less than the divisor by more than `gap`."""

    first: int
    gap: int


def split_ranges(ls: ir.LoopSet) -> ir.LoopSet:
    """`ls`, normal, with loops over a period as one loop without remainders and the iterations at its ends."""
    if not any(isinstance(e, ir.Apply) and e.op is Op.MOD for e in nodes_in(ls.body)):
        return ls
    body = Splitter(supply(ls)).block(ls.body, {})
    return ls if body == ls.body else replace(ls, body=body)


@immutable
class Splitter:
    """Splits the loops of one function; `added` are the statements that copies of nests have brought."""

    names: NameSupply
    added: list[int] = field(default_factory=list)

    def block(self, body: Block, around: Mapping[str, ir.Loop]) -> Block:
        out: list[ir.Stmt] = []
        for stmt in body:
            if isinstance(stmt, ir.Loop):
                stmt = replace(stmt, body=self.block(stmt.body, {**around, stmt.index: stmt}))
                out += self.loop(stmt, around)
            else:
                out.append(map_blocks(lambda inner: self.block(inner, around), stmt))
        return tuple(out)

    def loop(self, loop: ir.Loop, around: Mapping[str, ir.Loop]) -> Block:
        """`loop`, unless it only checks, in pieces, in each of which remainders by what it goes up to are sums."""
        if not is_constant(loop.step, 1) or exits(loop) or not written_arrays(loop.body):
            return (loop,)
        for found in grouped(remainders(loop)):
            within = range_of(loop, found[0].divisor)
            if within is not None:
                return self.pieces(loop, found, within, around)
        return (loop,)

    def pieces(
        self, loop: ir.Loop, found: list[Remainder], within: Range, around: Mapping[str, ir.Loop]
    ) -> Block:  # fmt: skip
        constant = [r for r in found if not r.rest and -MOST_PEELED <= r.constant <= MOST_PEELED]
        moved = [r for r in found if r not in constant][:MOST_SHIFTS]
        first = max((within.first, *(r.least for r in constant)))
        gap = max((within.gap, *(r.gap for r in constant)))
        moved = moved if first >= 0 and gap >= 0 else []
        count = (first - within.first + gap - within.gap + 1) << len(moved)
        is_few = first - within.first <= MOST_PEELED and gap - within.gap <= MOST_PEELED
        if not (constant or moved) or not is_few or not self.has_room(loop, count, bool(moved)):
            return (loop,)
        divisor = found[0].divisor
        values = {r.expr: r.at(ir.Index(loop.index), integer(r.constant), int(r.sign < 0)) for r in constant}
        upper = shifted(divisor, -gap)
        middle = replace(loop, lower=integer(first), upper=upper, body=rewritten(loop.body, values))
        lets, shifts = self.shifts(moved, around)
        main = self.halves(middle, tuple(zip(moved, shifts, strict=True)), Range(first, gap))
        below = (self.at_start(loop, constant, within, k) for k in range(within.first, first))
        above = (self.at_end(loop, constant, first, k) for k in range(gap, within.gap, -1))
        return (*lets, *below, *main, *above)

    def has_room(self, loop: ir.Loop, count: int, is_shifted: bool) -> bool:
        """Whether there may be so many copies of the body: code takes time to compile."""
        size = len(all_statements(loop.body))
        if not any(True for _ in loops_in(loop.body)):
            return count * size <= MOST_INSIDE
        is_small = count * size <= (MOST_SHIFTED if is_shifted else MOST_STATEMENTS)
        if not is_small or sum(self.added) + (count - 1) * size > MOST_ADDED:
            return False
        self.added.append((count - 1) * size)
        return True

    # -- iterations at the ends ------------------------------------------------------------------------------
    def at_start(self, loop: ir.Loop, found: list[Remainder], within: Range, k: int) -> ir.Stmt:
        """Iteration `k`, if there is one."""
        least = k + 1 + within.gap
        values = {r.expr: reduced(r.sign * k + r.constant, least, r) for r in found}
        return self.iteration(loop, values, integer(k), compare(Op.LT, integer(k), loop.upper))

    def at_end(self, loop: ir.Loop, found: list[Remainder], first: int, k: int) -> ir.Stmt:
        """The iteration that is `k` below the divisor, if it is not less than `first`."""
        index = shifted(found[0].divisor, -k)
        values = {r.expr: reduced(-r.sign * k + r.constant, first + k, r) for r in found}
        return self.iteration(loop, values, index, compare(Op.GE, index, integer(first)))

    def iteration(self, loop: ir.Loop, values: Values, index: ir.Expr, cond: ir.Expr) -> ir.Stmt:
        body = body_at(replace(loop, body=rewritten(loop.body, values)), index)
        return ir.If(cond, renamed_block(body, self.names), loc=loop.loc)

    # -- shifts that are no constants ------------------------------------------------------------------------
    def shifts(self, found: list[Remainder], around: Mapping[str, ir.Loop]) -> tuple[Block, list[ir.Expr]]:
        """What each dividend has besides the index, in one period: Lets that come first, and their names."""
        lets: list[ir.Stmt] = []
        shifts: list[ir.Expr] = []
        for r in found:
            shift = from_linear(dict(r.rest), r.constant, r.expr.loc, INT)
            if not is_within(shift, r.divisor, around):
                name = self.names.fresh("shift")
                lets.append(ir.Let(name, ir.Apply(Op.MOD, (shift, at_least_one(r.divisor))), loc=r.expr.loc))
                shift = ir.Var(name)
            shifts.append(shift)
        return tuple(lets), shifts

    def halves(self, loop: ir.Loop, found: tuple[tuple[Remainder, ir.Expr], ...], within: Range) -> Iterator[ir.Stmt]:
        """`loop` below and from the index on at which each of the dividends of `found` wraps."""
        turns = [turn(r, shift) for r, shift in found]
        # Where there is no iteration, a turn from the other side may be beyond the end.
        is_least = [r.sign > 0 or isinstance(shift, ir.Index) for r, shift in found]
        is_whole = within == Range(0, 0)
        for sides in product((False, True), repeat=len(found)):
            lower = [t for t, is_above in zip(turns, sides, strict=True) if is_above]
            upper = [t for t, is_above in zip(turns, sides, strict=True) if not is_above]
            if not (is_whole and lower):
                lower.append(loop.lower)
            if not (is_whole and any(least and not above for least, above in zip(is_least, sides, strict=True))):
                upper.append(loop.upper)
            values = {
                r.expr: r.at(ir.Index(loop.index), shift, int(r.sign < 0) * is_above - int(r.sign > 0) * is_above)
                for (r, shift), is_above in zip(found, sides, strict=True)
            }
            piece = replace(
                loop, lower=extreme(Op.MAX, lower), upper=extreme(Op.MIN, upper), body=rewritten(loop.body, values)
            )
            yield from renamed_block((piece,), self.names) if any(sides) else (piece,)


def turn(found: Remainder, shift: ir.Expr) -> ir.Expr:
    """From which index on a dividend with `shift`, which is within a period, wraps round."""
    return found.at(integer(0), ir.Apply(Op.NEG, (shift,)), 1) if found.sign > 0 else shifted(shift, 1)


def extreme(op: Op, parts: list[ir.Expr]) -> ir.Expr:
    return parts[0] if len(parts) == 1 else ir.Apply(op, tuple(parts))


def reduced(dividend: int, least: int, found: Remainder) -> ir.Expr:
    """The remainder of a constant by a divisor that is at least `least`."""
    if 0 <= dividend < least:
        return integer(dividend)
    if -least <= dividend < 0:
        return shifted(found.divisor, dividend)
    if dividend == least == 1:
        return ir.Apply(Op.MIN, (integer(1), shifted(found.divisor, -1)))
    return ir.Apply(Op.MOD, (integer(dividend), found.divisor), loc=found.expr.loc)


def rewritten(body: Block, values: Values) -> Block:
    return tuple(map_stmt_exprs(lambda e: substitute(e, values), s) for s in body)


# -- what there is to split ----------------------------------------------------------------------------------
def range_of(loop: ir.Loop, divisor: ir.Expr) -> Range | None:
    """What is known of the index of `loop`, if that goes from a constant up to the divisor, or a few less."""
    terms, gap = linear(ir.Apply(Op.SUB, (divisor, loop.upper)))
    if terms or not isinstance(loop.lower, ir.Const):
        return None
    return Range(int(loop.lower.value), gap)


def is_within(shift: ir.Expr, divisor: ir.Expr, around: Mapping[str, ir.Loop]) -> bool:
    """Whether `shift` is the index of a loop that stays within a period."""
    if not isinstance(shift, ir.Index) or shift.name not in around:
        return False
    loop = around[shift.name]
    found = range_of(loop, divisor) if is_constant(loop.step, 1) else None
    return found is not None and found.first >= 0 and found.gap >= 0


def grouped(found: Iterator[Remainder]) -> list[list[Remainder]]:
    """Remainders by one divisor together."""
    groups: dict[ir.Expr, dict[ir.Expr, Remainder]] = {}
    for r in found:
        groups.setdefault(r.divisor, {}).setdefault(r.expr, r)
    return [[*group.values()] for group in groups.values()]


def remainders(loop: ir.Loop) -> Iterator[Remainder]:
    """Those in the body of `loop` of its index, added to or taken from what stays the same in it."""
    lets: dict[ir.Expr, ir.Expr] = {}
    for stmt in all_statements(loop.body):
        if isinstance(stmt, ir.Let) and is_sum(stmt.value):
            lets[ir.Var(stmt.name)] = substitute(stmt.value, lets)
    changing = {loop.index, *(inner.index for inner in loops_in(loop.body))}
    made = lets_in(loop.body)

    def is_same(expr: ir.Expr) -> bool:
        return not any(
            isinstance(e, ir.Load) or (isinstance(e, ir.Index) and e.name in changing)
            or (isinstance(e, ir.Var) and e.name in made) or (isinstance(e, ir.Apply) and not is_total(e))
            for e in subexprs(expr)
        )  # fmt: skip

    for expr in nodes_in(loop.body):
        match expr:
            case ir.Apply(op=Op.MOD, args=(dividend, divisor)) if is_same(divisor):
                terms, constant = linear(substitute(dividend, lets))
                terms.pop(divisor, None)  # whole periods
                sign = terms.pop(ir.Index(loop.index), 0)
                if abs(sign) == 1 and all(map(is_same, terms)):
                    yield Remainder(expr, sign, constant, tuple(terms.items()), divisor)
            case _:
                pass


def is_sum(expr: ir.Expr) -> bool:
    """Whether `expr` is a sum of indices, extents and the like."""
    sums = (Op.ADD, Op.SUB, Op.NEG)
    return all(
        isinstance(e, ir.Index | ir.Dim | ir.Param | ir.Const | ir.Var) or (isinstance(e, ir.Apply) and e.op in sums)
        for e in subexprs(expr)
    )
