"""Work estimates as formulas of loop bounds, evaluated at run time to decide whether threads are worth it.

Rough on purpose: it has to be right within a factor of two or three, and cheap to evaluate before every loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from loopdiff.canonical.invariant_motion import is_total
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import integer, sub
from loopdiff.ir.ops import Effort, Op, effort
from loopdiff.ir.types import F64
from loopdiff.ir.walk import accesses, all_statements, nodes_of, subexprs, substitute
from loopdiff.mapping.loops import Mapping, TiledNest, VectorLoop

# Nanoseconds of an operation, of a slow one, of an elementary function and of an access at a computed place.
SIMPLE, SLOW, FUNCTION, PLACE = 0.3, 2.0, 8.0, 1.0
EFFORTS: dict[Effort, float] = {"plain": SIMPLE, "quotient": SLOW, "function": FUNCTION}
PRODUCT, GATHERED = 0.05, 0.3  # one multiplication and addition of a register tile, and where operands are gathered
LANES = 6.0  # how much faster vectors are
UNKNOWN = 8.0  # iterations of a loop whose bounds are found on the way
MOST_IN_A_ROW = 64  # summands, one after the other
RAISING = frozenset((Op.FLOORDIV, Op.MOD, Op.POW, Op.SHL, Op.SHR))

Chosen = Callable[[ir.Stmt], Mapping | None]


def number(value: float) -> ir.Const:
    return ir.Const(value, F64)


def estimate_of(body: tuple[ir.Stmt, ...], chosen: Chosen) -> Estimate:
    """Formulas of what is known before `body`; `chosen` says what loops became."""
    everything = all_statements(body)
    known = {s.index: s for s in everything if isinstance(s, ir.Loop)}
    inside = {s.name for s in everything if isinstance(s, ir.Let)}
    return Estimate(chosen, known, inside)


class Estimate:
    """The formula for statements inside loops with the indices `known`, where the Lets `inside` are bound."""

    unknown = UNKNOWN

    def __init__(self, chosen: Chosen, known: dict[str, ir.Loop], inside: set[str]) -> None:
        self.chosen, self.known, self.inside = chosen, known, inside

    def statement(self, stmt: ir.Stmt, speed: float = 1.0) -> ir.Expr:
        match stmt:
            case ir.Loop(body=body):
                mapping = self.chosen(stmt)
                if isinstance(mapping, TiledNest):
                    is_batch = not mapping.is_dot and mapping.lanes != mapping.columns
                    return self.tile(stmt, GATHERED if is_batch else PRODUCT)
                inner = LANES if isinstance(mapping, VectorLoop) else speed
                return times_work(self.trips(stmt), self.block(body, inner))
            case ir.If(then=then, orelse=orelse):
                return plus_work(number(SIMPLE), plus_work(self.block(then, speed), self.block(orelse, speed)))
            case _:
                return number(cost(stmt, speed))

    def runs(self, loops: tuple[ir.Loop, ...]) -> ir.Expr:
        """How often what is inside the nested `loops` runs."""
        total: ir.Expr = number(1.0)
        for loop in loops:
            total = times_work(total, self.trips(loop))
        return total

    def block(self, body: tuple[ir.Stmt, ...], speed: float = 1.0) -> ir.Expr:
        return all_work([self.statement(stmt, speed) for stmt in body])

    def tile(self, stmt: ir.Stmt, price: float) -> ir.Expr:
        total: ir.Expr = number(price)
        for inner in all_statements((stmt,)):
            if isinstance(inner, ir.Loop):
                total = times_work(self.trips(inner), total)
        return total

    def trips(self, loop: ir.Loop) -> ir.Expr:
        """Iterations of `loop`, those of one around it being half way through."""
        step, span = supposed_step(loop), self.span(loop)
        if any(self.is_found_on_the_way(e) for e in subexprs(span)):
            return number(self.unknown)
        if isinstance(span, ir.Const):
            return number(max(float(span.value) / abs(step), 0.0))
        found: ir.Expr = ir.Apply(Op.MAX, (ir.Cast(F64, span), number(0.0)))
        return found if abs(step) == 1 else times_work(number(1.0 / abs(step)), found)

    def span(self, loop: ir.Loop) -> ir.Expr:
        """How far the bounds of `loop` are from each other."""
        bounds = (loop.upper, loop.lower) if supposed_step(loop) > 0 else (loop.lower, loop.upper)
        return self.outside(sub(*bounds))

    def is_found_on_the_way(self, expr: ir.Expr) -> bool:
        """Whether `expr` has no value yet, or may raise where the program does not get to it."""
        match expr:
            case ir.Load():
                return True
            case ir.Var(name=name):
                return name in self.inside
            case ir.Apply(op=op, args=args) if op in RAISING:
                is_plain = isinstance(args[1], ir.Const) and args[1].value > 0
                return not is_plain and not is_total(expr)
            case _:
                return False

    def outside(self, expr: ir.Expr) -> ir.Expr:
        """`expr` with indices inside the region in the middle of their ranges."""
        while True:
            names = {e.name for e in subexprs(expr) if isinstance(e, ir.Index) and e.name in self.known}
            if not names:
                return expr
            middles: dict[ir.Expr, ir.Expr] = {}
            for name in names:
                loop = self.known[name]
                both = ir.Apply(Op.ADD, (loop.lower, loop.upper))
                middles[ir.Index(name)] = ir.Apply(Op.FLOORDIV, (both, integer(2)))
            expr = substitute(expr, middles)


def supposed_step(loop: ir.Loop) -> int:
    """The step of `loop`; one that is not known is taken for 1."""
    return int(loop.step.value) if isinstance(loop.step, ir.Const) else 1


def plus_work(a: ir.Expr, b: ir.Expr) -> ir.Expr:
    match a, b:
        case ir.Const(value=x), ir.Const(value=y):
            return number(float(x) + float(y))
        case ir.Const(value=0.0), _:
            return b
        case _, ir.Const(value=0.0):
            return a
        case _:
            return ir.Apply(Op.ADD, (a, b))


def all_work(parts: Sequence[ir.Expr]) -> ir.Expr:
    """The sum of `parts`, one after the other; of many that of both halves, lest sums become as deep as programs are
    long."""
    if len(parts) > MOST_IN_A_ROW:
        half = len(parts) // 2
        return plus_work(all_work(parts[:half]), all_work(parts[half:]))
    return reduce(plus_work, parts, number(0.0))


def times_work(a: ir.Expr, b: ir.Expr) -> ir.Expr:
    match a, b:
        case ir.Const(value=x), ir.Const(value=y):
            return number(float(x) * float(y))
        case (ir.Const(value=1.0), other) | (other, ir.Const(value=1.0)):
            return other
        case _:
            return ir.Apply(Op.MUL, (a, b))


def cost(stmt: ir.Stmt, speed: float) -> float:
    """Nanoseconds of a statement that is no loop, `speed` times faster in vectors."""
    plain, places = 0.0, 0.0
    nodes = list(nodes_of(stmt))
    for node in nodes:
        if isinstance(node, ir.Apply):
            plain += EFFORTS[effort(node.op)]
    for access in accesses(stmt):
        if any(isinstance(e, ir.Load) for s in access.subscripts for e in subexprs(s)):
            places += PLACE
        elif access.subscripts:
            plain += SIMPLE
    return plain / speed + places
