"""Checks of loops asked once, ahead of them: at the ends of their ranges, if they hold between as well.

    for j in range(m):                                         require m <= 0 or |m * w| < 2**62 and (m - 1) * w < n
        require j * w < n                          becomes     for j in range(m):
        y[j * w] = ...                                             y[j * w] = ...

A subscript that grows or falls with an index is between what it is at both ends, if no integer in it wraps, which is
asked of what it may be at most; so is the size of a product that might not fit into 64 bits. Both ends are iterations
of the loop: what is asked ahead is asked by the program too. Loops without checks inside can become vectors; where some
have to stay, all do. Nothing is asked ahead of what the program itself raises, and of a loop that may be left early
only what is the same in all iterations.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from loopdiff.analysis.known_sizes import ZERO, KnownSizes
from loopdiff.canonical.simplify import simplify_expr
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import all_of, any_of, compare, has_iterations, is_constant, is_unit_step, is_zero, shifted
from loopdiff.ir.ops import PRODUCTS, SUMS, Op
from loopdiff.ir.types import BOOL, F64
from loopdiff.ir.walk import (
    all_statements,
    exits,
    lets_in,
    loops_in,
    map_blocks,
    map_expr,
    operands,
    subexprs,
    substitute,
)

Block = tuple[ir.Stmt, ...]
OF_INTEGERS = "LD335"  # whether they wrap
OF_SHAPES = frozenset(("LD310", "LD311", "LD320"))
OWN = OF_SHAPES | {"LD322", "LD324", "LD325", OF_INTEGERS}  # what no program raises by itself
ALWAYS = ir.Const(True, BOOL)
RING = (Op.ADD, Op.SUB, Op.MUL, Op.NEG)
SMALL = ir.Const(2.0**62, F64)  # half of what 64 bits hold: magnitudes are rounded
LESS, MORE = (Op.LT, Op.LE), (Op.GT, Op.GE)
MONOTONE = (*SUMS, *PRODUCTS, Op.NEG, Op.MIN, Op.MAX)  # in each operand, the others being the same
MOST = 24  # comparisons of one check


def asked_at_ends(block: Block, known: KnownSizes) -> Block:
    """`block`, of whose sizes something is `known`, with checks ahead of loops that would ask in each iteration."""
    out: list[ir.Stmt] = []
    for stmt in block:
        inside = known.within(stmt) if isinstance(stmt, ir.Loop) else known
        stmt = map_blocks(lambda body, inside=inside: asked_at_ends(body, inside), stmt)
        known = known.after(stmt)
        if isinstance(stmt, ir.Loop) and isinstance(stmt.step, ir.Const):
            found = checks_ahead(stmt, known)
            out += found.values()
            stmt = replace(stmt, body=tuple(s for s in stmt.body if s not in found)) if found else stmt
        out.append(stmt)
    return tuple(out)


def checks_ahead(loop: ir.Loop, known: KnownSizes) -> dict[ir.Require, ir.Require]:
    """Checks of `loop`, each with what to ask ahead instead: all of them, or those that shapes and arguments decide."""
    checks = {s for s in all_statements(loop.body) if isinstance(s, ir.Require)}
    found = dict(asked_ahead(loop, known)) if checks else {}
    if not checks <= found.keys():
        found = {s: r for s, r in found.items() if is_of_shapes(loop, s)}
    return found


def is_of_shapes(loop: ir.Loop, check: ir.Require) -> bool:
    """Whether shapes and integer arguments alone decide a check, as they do how often `loop` runs."""
    parts = (e for expr in (check.cond, loop.lower, loop.upper) for e in subexprs(expr))
    return check.code in OF_SHAPES and not any(isinstance(e, ir.Load | ir.Var | ir.Index) for e in parts)


def asked_ahead(loop: ir.Loop, known: KnownSizes) -> Iterator[tuple[ir.Require, ir.Require]]:
    """What can be asked ahead of `loop`. Each check relies on those before it."""
    inside = {*lets_in(loop.body), *(inner.index for inner in loops_in(loop.body))}
    never = ir.Apply(Op.NOT, (has_iterations(loop),))
    ends = Ends(loop, known)
    for stmt in loop.body:
        match stmt:
            case ir.Exit():
                return
            case ir.Require(cond=cond, code=code) if code in OWN:
                found = ends.of(cond) if is_known(cond, inside) else None
                if found is not None and sum(map(is_comparison, subexprs(found))) <= MOST:
                    yield stmt, replace(stmt, cond=any_of((never, found)))
                elif code == OF_INTEGERS:
                    return
            case _ if any(isinstance(s, ir.Require) and s.code not in OWN for s in all_statements((stmt,))):
                return
            case _:
                pass


def is_known(cond: ir.Expr, inside: set[str]) -> bool:
    """Whether a condition is made of nothing that the loop makes, but its index."""
    return not any(
        isinstance(e, ir.Load) or (isinstance(e, ir.Var | ir.Index) and e.name in inside) for e in subexprs(cond)
    )


def is_comparison(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Apply) and expr.op in (*LESS, *MORE)


@immutable
class Ends:
    """What is true ahead of `loop`, which runs, if something is true in all iterations, and that no integer wraps in
    them."""

    loop: ir.Loop
    known: KnownSizes

    def has_index(self, expr: ir.Expr) -> bool:
        return any(isinstance(e, ir.Index) and e.name == self.loop.index for e in subexprs(expr))

    def of(self, cond: ir.Expr) -> ir.Expr | None:
        """None where there is no saying."""
        if not self.has_index(cond):
            return cond
        bounds = (*subexprs(self.loop.lower), *subexprs(self.loop.upper))
        if exits(self.loop) or not is_unit_step(self.loop) or any(isinstance(e, ir.Load) for e in bounds):
            return None  # rows whose bounds are elements are screened as one range
        match cond:
            case ir.Apply(op=Op.AND, args=args):
                found = [self.of(a) for a in args]
                return None if None in found else all_of(f for f in found if f is not None)
            case ir.Apply(op=Op.OR, args=args) if len(deciding := [a for a in args if self.has_index(a)]) == 1:
                one = self.of(deciding[0])
                return None if one is None else any_of(one if a is deciding[0] else a for a in args)
            case ir.Apply(op=op, args=(a, b)) if is_comparison(cond) and not (self.has_index(a) and self.has_index(b)):
                number, is_small = (a, op in LESS) if self.has_index(a) else (b, op in MORE)
                way = self.outermost(number) if is_small else self.way(number)
                if way is None:
                    return None
                small = (compare(Op.LT, self.magnitude(e), SMALL) for e in self.arithmetic(number))
                is_certain = cond == compare(Op.GE, number, ZERO) and self.known.within(self.loop).is_natural(number)
                return all_of((*small, ALWAYS if is_certain else self.at(cond, way if is_small else -way)))
            case _:
                return None

    def arithmetic(self, number: ir.Expr) -> Iterator[ir.Expr]:
        """Sums and products of integers with the index that must not wrap. What wraps on the way to a sum that does not
        makes no difference."""
        match number:
            case ir.Apply(op=op, args=args) if op in RING:
                yield number
                yield from (e for a in args for e in self.arithmetic(a) if not is_in_ring(a))
            case _:
                yield from (e for part in operands(number) if self.has_index(part) for e in self.arithmetic(part))

    def magnitude(self, number: ir.Expr) -> ir.Expr:
        """How far from zero an integer is at most in any iteration, as a float."""
        match number:
            case ir.Index(name=name) if name == self.loop.index:
                ends = [size_of(bound, self.known) for bound in (self.loop.lower, self.loop.upper)]
                is_up = self.known.within(self.loop).is_natural(number)
                return ends[1] if is_up else ir.Apply(Op.MAX, tuple(ends))
            case ir.Apply(op=op, args=args) if op in (*MONOTONE, Op.FLOORDIV):
                first, *others = map(self.magnitude, args[:1] if op is Op.FLOORDIV else args)
                whole = Op.STRICT_MUL if op is Op.MUL else Op.STRICT_ADD
                return reduce(lambda x, y: ir.Apply(whole, (x, y)), others, first)
            case _:
                return size_of(number, self.known)

    def at(self, cond: ir.Expr, way: int) -> ir.Expr:
        """`cond` at the largest index, at the smallest, or at both, as `way` says."""
        upper = shifted(self.loop.upper, -int(self.loop.step.value))  # type: ignore[union-attr]
        least, most = (self.loop.lower, upper) if is_constant(self.loop.step, 1) else (upper, self.loop.lower)
        ends = {1: (most,), -1: (least,), 0: (least, most)}[way]
        return all_of(without_zeros(substitute(cond, {ir.Index(self.loop.index): end})) for end in ends)

    def outermost(self, number: ir.Expr) -> int | None:
        """Which `way` a number, which may be the size of another, is largest."""
        match number:
            case ir.Apply(op=Op.ABS, args=(inner,)):
                way = self.way(inner)
                return way if way is None or self.known.within(self.loop).is_natural(inner) else 0
            case _:
                return self.way(number)

    def way(self, number: ir.Expr) -> int | None:
        """1 if a number never falls while the index grows, -1 if it never grows, 0 if it does not turn back."""
        match number:
            case ir.Index():
                return 1
            case ir.Cast(value=value, dtype=dtype) if dtype is F64:
                return self.way(value)
            case ir.Apply(op=op, args=args) if op in MONOTONE or (op is Op.FLOORDIV and not self.has_index(args[1])):
                parts = [k for k, a in enumerate(args) if self.has_index(a)]
                way = self.way(args[parts[0]]) if len(parts) == 1 else None
                return None if way is None else way * self.turn(op, args, parts[0])
            case _:
                return None

    def turn(self, op: Op, args: tuple[ir.Expr, ...], place: int) -> int:
        """What becomes of the way of the operand in that place."""
        if op in (Op.NEG, Op.SUB, Op.STRICT_SUB):
            return 1 if op is not Op.NEG and place == 0 else -1
        if op in (*PRODUCTS, Op.FLOORDIV):
            return 1 if self.known.is_natural(args[1 - place]) else 0
        return 1


def is_in_ring(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Apply) and expr.op in RING


def size_of(number: ir.Expr, known: KnownSizes) -> ir.Expr:
    size = ir.Cast(F64, number)
    return size if known.is_natural(number) else ir.Apply(Op.ABS, (size,))


def without_zeros(expr: ir.Expr) -> ir.Expr:
    """`expr` with products that are zero, and what is added to zero, as what they are."""

    def rewrite(expr: ir.Expr) -> ir.Expr:
        match expr:
            case ir.Apply(op=op, args=(a, b)) if op in PRODUCTS and (is_zero(a) or is_zero(b)):
                return a if is_zero(a) else b
            case ir.Apply(op=Op.ADD | Op.STRICT_ADD, args=(a, b)) if is_zero(a) or is_zero(b):
                return b if is_zero(a) else a
            case _:
                return expr

    return simplify_expr(map_expr(rewrite, expr))
