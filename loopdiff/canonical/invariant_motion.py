"""Loop-invariant code motion of divisions and functions, so that derivatives need them once as well.

    for d in range(D):                      let invariant = p[j] / z if 0 < D else 0.0
        out[d] += p[j] / z * V[j, d]        for d in range(D):
                                                out[d] += invariant * V[j, d]

Compilers do this to code anyway. Done before differentiation, the adjoint of the quotient is one sum over `d`, to which
the partials of the division are applied once (Aho et al., Compilers, 9.5.1, for the conditions).
"""

from __future__ import annotations

from collections.abc import Iterator

from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import has_iterations, zero
from loopdiff.ir.names import NameSupply, supply
from loopdiff.ir.ops import COMPARISONS, PRODUCTS, SUMS, Op
from loopdiff.ir.typing import TypeEnv, type_env, type_of
from loopdiff.ir.walk import map_blocks, may_stop, operands, rebuild, statements, subexprs, written_arrays

PLAIN = frozenset((*SUMS, *PRODUCTS, Op.NEG, Op.ABS, Op.MIN, Op.MAX, Op.SIGN, Op.COPYSIGN))
LOGICAL = frozenset((Op.AND, Op.OR, Op.NOT))
INDEX_ARITHMETIC = frozenset((Op.ADD, Op.SUB, Op.MUL, Op.NEG, *COMPARISONS, *LOGICAL))


def is_total(expr: ir.Apply) -> bool:
    """Whether an operation on integers has a value, and raises nothing, whatever its operands are."""
    match expr:
        case ir.Apply(op=Op.FLOORDIV | Op.MOD, args=(_, ir.Const(value=value))):
            return value > 0
        case ir.Apply(op=Op.FLOORDIV | Op.MOD, args=(_, ir.Apply(op=Op.MAX, args=args))):
            return any(isinstance(a, ir.Const) and a.value > 0 for a in args)
        case _:
            return expr.op in PLAIN or expr.op in COMPARISONS or expr.op in LOGICAL


def hoist(ls: ir.LoopSet) -> ir.LoopSet:
    """The normal LoopSet `ls` with what is costly and the same in every iteration of a loop ahead of the loop."""
    mover = Mover(type_env(ls), supply(ls))
    body = mover.block(ls.body)
    return ls if body == ls.body else replace(ls, body=body)


@immutable
class Mover:
    types: TypeEnv
    names: NameSupply

    def block(self, body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        out: list[ir.Stmt] = []
        for stmt in body:
            match stmt:
                case ir.Loop():
                    out += self.loop(replace(stmt, body=self.block(stmt.body)))
                case _:
                    out.append(map_blocks(self.block, stmt))
        return tuple(out)

    def loop(self, loop: ir.Loop) -> Iterator[ir.Stmt]:
        """`loop`, after Lets of what its own statements compute anew in every iteration."""
        inside = list(statements(loop.body))
        defined = frozenset(s.stmt.name for s in inside if isinstance(s.stmt, ir.Let))
        always = not may_stop(loop.body)
        hoisting = Hoisting(self, loop, defined, written_arrays(loop.body), {})
        body = tuple(hoisting.stmt(s, always) for s in loop.body)
        yield from hoisting.found.values()
        yield replace(loop, body=body)


@immutable
class Hoisting:
    """What is found in one loop, which defines the Lets `defined` and writes the arrays `written`."""

    mover: Mover
    loop: ir.Loop
    defined: frozenset[str]
    written: frozenset[str]
    found: dict[ir.Expr, ir.Let]

    def stmt(self, stmt: ir.Stmt, always: bool) -> ir.Stmt:
        """`stmt` of the loop's body. `always`: every iteration runs it."""
        match stmt:
            case ir.Loop() | ir.Require() | ir.Exit() | ir.Allocate() | ir.Call():
                return stmt
            case ir.If(cond=cond, then=then, orelse=orelse):
                new_then = tuple(self.stmt(s, False) for s in then)
                new_else = tuple(self.stmt(s, False) for s in orelse)
                return replace(stmt, cond=self.expr(cond, always), then=new_then, orelse=new_else)
            case ir.Let(value=value) | ir.Assign(value=value) | ir.Accumulate(value=value):
                return replace(stmt, value=self.expr(value, always))
            case ir.Jump():
                return stmt

    def expr(self, expr: ir.Expr, always: bool) -> ir.Expr:
        """`expr` with its largest movable parts replaced. `always`: every iteration evaluates it."""
        if self.is_movable(expr, always):
            return self.moved(expr)
        match expr:
            case ir.Select(cond=cond, then=then, orelse=orelse):
                parts = (self.expr(cond, always), self.expr(then, False), self.expr(orelse, False))
            case ir.Apply(op=Op.AND | Op.OR, args=(first, *rest)):
                parts = (self.expr(first, always), *(self.expr(a, False) for a in rest))
            case ir.Load():
                return expr
            case _:
                parts = tuple(self.expr(e, always) for e in operands(expr))
        old = operands(expr)
        return expr if all(a is b for a, b in zip(old, parts, strict=True)) else rebuild(expr, parts)

    def is_movable(self, expr: ir.Expr, always: bool) -> bool:
        parts = list(subexprs(expr))
        if not any(isinstance(e, ir.Apply) and is_costly(e) for e in parts) or not self.is_float(expr):
            return False
        if all(isinstance(e, ir.Apply | ir.Const) for e in parts):
            return False
        if any(isinstance(e, ir.Apply) and not self.is_safe(e) for e in parts):
            return False
        return all(self.is_same(e) for e in parts) and (always or not any(is_element(e) for e in parts))

    def is_same(self, part: ir.Expr) -> bool:
        match part:
            case ir.Index(name=name):
                return name != self.loop.index
            case ir.Var(name=name):
                return name not in self.defined
            case ir.Load(access=access):
                return access.array not in self.written and self.is_counted
            case _:
                return True

    @property
    def is_counted(self) -> bool:
        return isinstance(self.loop.step, ir.Const)

    def is_float(self, expr: ir.Expr) -> bool:
        return type_of(expr, self.mover.types).is_float

    def is_safe(self, part: ir.Apply) -> bool:
        """Whether evaluating `part` cannot raise: operations on integers can."""
        return part.op in INDEX_ARITHMETIC or any(self.is_float(a) for a in part.args)

    def moved(self, expr: ir.Expr) -> ir.Var:
        """The name of a Let of `expr` ahead of the loop; elements are read only if there is an iteration."""
        if expr not in self.found:
            value = expr
            if any(is_element(e) for e in subexprs(expr)):
                value = ir.Select(has_iterations(self.loop), expr, zero(type_of(expr, self.mover.types)))
            self.found[expr] = ir.Let(self.mover.names.fresh("invariant"), value, loc=expr.loc)
        return ir.Var(self.found[expr].name, loc=expr.loc)


def is_element(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Load) and bool(expr.access.subscripts)


def is_costly(part: ir.Apply) -> bool:
    return part.op not in PLAIN and part.op not in COMPARISONS and part.op not in LOGICAL
