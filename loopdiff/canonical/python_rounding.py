"""Rounding of conditions, subscripts and bounds as in Python: strict operations where a decision depends on the value.

    t = -1.0 + 2.0 * i / (n - 1.0)            let t = strict_add(-1.0, strict_div(strict_mul(2.0, i), ...))
    if t > 0.0: ...                  becomes   if t > 0.0: ...

A compiler may make a product with a reciprocal of the quotient, or one operation of a product and a sum, in one sweep
and not in another: then `t` is 0 in one of them and not in the other, and they go different ways. Everything derived
from the result of this transform inherits its operations.
"""

from __future__ import annotations

from collections.abc import Iterable

from loopdiff.analysis.decisions import Deciding, Stake, addend, deciding, is_decided, stakes_of_operands, total
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import is_atom, rounded_alone
from loopdiff.ir.ops import FUNCTIONS, Op
from loopdiff.ir.typing import TypeEnv, type_env, type_of
from loopdiff.ir.walk import Path, operands, rebuild


def keep_decisions(ls: ir.LoopSet, is_strict: bool = False) -> ir.LoopSet:
    """The normal LoopSet `ls` with operations that decisions depend on rounded one by one; all, if it `is_strict`.

    Sums that decide nothing are accumulations again, however they were written.
    """
    types = type_env(ls)
    keeper = Keeper(types, deciding(ls, types), is_strict)
    body = keeper.block(ls.body, (), 0)
    results = tuple(
        replace(r, value=keeper.expr(r.value, keeper.stake())) if isinstance(r, ir.ScalarResult) else r
        for r in ls.results
    )
    return replace(ls, body=body, results=results)


@immutable
class Keeper:
    types: TypeEnv
    deciding: Deciding
    is_strict: bool

    # -- statements ------------------------------------------------------------------------------------------
    def block(self, body: tuple[ir.Stmt, ...], path: Path, first: int) -> tuple[ir.Stmt, ...]:
        """`body`, whose statements are the children of that at `path` from number `first` on."""
        found = tuple(self.statement(s, (*path, k)) for k, s in enumerate(body, first))
        return found if self.is_strict else together(found)

    def statement(self, stmt: ir.Stmt, path: Path) -> ir.Stmt:
        match stmt:
            case ir.Let(name=name, value=value):
                return replace(stmt, value=self.expr(value, self.stake(name)))
            case ir.Assign() | ir.Accumulate():
                return self.store(stmt, path)
            case ir.Loop(lower=lower, upper=upper, step=step, body=body):
                lower, upper, step = (self.expr(e, Stake.NONE) for e in (lower, upper, step))
                return replace(stmt, lower=lower, upper=upper, step=step, body=self.block(body, path, 0))
            case ir.If(cond=cond, then=then, orelse=orelse):
                then, orelse = self.block(then, path, 0), self.block(orelse, path, len(then))
                return replace(stmt, cond=self.expr(cond, Stake.NONE), then=then, orelse=orelse)
            case ir.Exit(cond=cond) | ir.Require(cond=cond):
                return replace(stmt, cond=self.expr(cond, Stake.NONE))
            case ir.Call(args=args):
                return replace(stmt, args=tuple(None if a is None else self.expr(a, self.stake()) for a in args))
            case ir.Allocate() | ir.Jump():
                return stmt

    def store(self, stmt: ir.Assign | ir.Accumulate, path: Path) -> ir.Stmt:
        target = replace(stmt.target, subscripts=tuple(self.expr(e, Stake.NONE) for e in stmt.target.subscripts))
        rest = None if self.is_strict else addend(stmt)
        if rest is None:
            return replace(stmt, target=target, value=self.expr(stmt.value, self.stake(target.array)))
        stake = self.stake(target.array) if path in self.deciding.additions else Stake.NONE
        if is_decided(total(stmt), stake):
            return ir.Assign(target, self.expr(total(stmt), stake), loc=stmt.loc)
        return ir.Accumulate("add", target, self.expr(rest, stake), loc=stmt.loc)

    def stake(self, name: str = "") -> Stake:
        """What hangs on the value of `name`; without one, on any."""
        return Stake.DECISION if self.is_strict else self.deciding.stakes.get(name, Stake.NONE)

    # -- expressions -----------------------------------------------------------------------------------------
    def expr(self, expr: ir.Expr, stake: Stake) -> ir.Expr:
        """`expr`, on which `stake` hangs, rounded operation by operation where that matters."""
        old = operands(expr)
        stakes = stakes_of_operands(expr, stake, self.types)
        new = tuple(self.expr(e, found) for e, found in zip(old, stakes, strict=True))
        found = expr if all(a is b for a, b in zip(old, new, strict=True)) else rebuild(expr, new)
        if not isinstance(found, ir.Apply) or not is_decided(expr, stake) or not type_of(expr, self.types).is_float:
            return found
        match found:
            case ir.Apply(op=Op.POW, args=(base, ir.Const(value=2))) if is_atom(base):
                return ir.Apply(Op.STRICT_MUL, (base, base), loc=expr.loc)
            case ir.Apply(op=Op.POW, args=(base, ir.Const(value=-1))):
                return ir.Apply(Op.STRICT_DIV, (ir.Const(1.0, type_of(expr, self.types)), base), loc=expr.loc)
            case ir.Apply(op=op) if op in FUNCTIONS:
                return replace(found, is_strict=True)
            case _:
                return rounded_alone(found)


def together(stmts: Iterable[ir.Stmt]) -> tuple[ir.Stmt, ...]:
    """The statements, with what `s = s + e + f` adds to a cell, one after the other, added at once."""
    out: list[ir.Stmt] = []
    for stmt in stmts:
        match out[-1:], stmt:
            case [ir.Accumulate(op="add", target=ir.Access(subscripts=()) as cell) as last], ir.Accumulate(
                op="add"
            ) if cell == stmt.target and last.loc == stmt.loc:
                out[-1] = replace(last, value=ir.Apply(Op.ADD, (last.value, stmt.value), loc=stmt.value.loc))
            case _:
                out.append(stmt)
    return tuple(out)
