"""Conditions of checks that may be evaluated ahead of the statement they guard, and still imply what it needs.

What a check asks is repeated ahead of a loop, and arithmetic on floating numbers may come out differently there. Where
it decides whether an element is used, the check asks for the element in any case: more than the program needs, and
refused with that reason. Where it decides which element that is, or how far a loop goes, or whether something is
asserted, or raised, the program has to check as it goes.
"""

from __future__ import annotations

from collections.abc import Iterable

from loopdiff.analysis.repeatable import Repeatable
from loopdiff.canonical.invariant_motion import is_total
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import any_of
from loopdiff.ir.ops import Op
from loopdiff.ir.printer import print_expr
from loopdiff.ir.walk import has_values, stmt_exprs, subexprs, written_arrays

Block = tuple[ir.Stmt, ...]
Names = frozenset[str]
ASSERTED = "LD332"  # by the program: whether it does that is a part of what it says


def settled(block: Block, known: Repeatable) -> Block | None:
    """`block`, the checks of a statement and what they need, without anything that arithmetic on floating numbers
    decides; None if checks are left that cannot do without it.
    """
    doubtful: Names = frozenset()
    while True:
        settler = Settler(known, doubtful)
        more = doubtful | frozenset(settler.doubted(block, False))
        if more == doubtful:
            return settler.block(block, False)
        doubtful = more


@immutable
class Settler:
    """Leaves out what depends on the `doubtful` names, or makes some."""

    known: Repeatable
    doubtful: Names

    def is_clean(self, exprs: Iterable[ir.Expr], in_doubt: bool) -> bool:
        """Whether the expressions come out the same ahead; `in_doubt`: even where the program may not ask."""
        nodes = [e for x in exprs for e in subexprs(x)]
        names = {
            e.access.array if isinstance(e, ir.Load) else e.name
            for e in nodes
            if isinstance(e, ir.Load | ir.Var | ir.Index)
        }
        is_same = not names & self.doubtful and all(map(self.known.is_operation, nodes))
        return is_same and not (in_doubt and any(map(may_raise, nodes)))

    def doubted(self, block: Block, in_doubt: bool) -> Iterable[str]:
        """The names that statements of `block` make, which the program may make otherwise."""
        for stmt in block:
            is_clean = self.is_clean(stmt_exprs(stmt), in_doubt)
            match stmt:
                case ir.Loop(index=index, body=body):
                    yield from () if is_clean else (index,)
                    yield from self.doubted(body, in_doubt or not is_clean)
                case ir.If(then=then, orelse=orelse):
                    yield from self.doubted((*then, *orelse), in_doubt or not is_clean)
                case ir.Let(name=name) if in_doubt or not is_clean:
                    yield name
                case ir.Assign() | ir.Accumulate() | ir.Allocate():
                    is_sure = is_clean and not in_doubt and self.known.is_statement(stmt)
                    yield from () if is_sure else written_arrays((stmt,))
                case _:
                    pass

    def block(self, block: Block, in_doubt: bool) -> Block | None:
        out: list[ir.Stmt] = []
        for stmt in block:
            found = self.stmt(stmt, in_doubt)
            if found is None:
                return None
            out += found
        return tuple(out)

    def stmt(self, stmt: ir.Stmt, in_doubt: bool) -> Block | None:
        is_clean = self.is_clean(stmt_exprs(stmt), in_doubt)
        match stmt:
            case ir.Require():
                return self.check(stmt, in_doubt, is_clean)
            case ir.Loop(body=body):
                inner = self.block(body, in_doubt or not is_clean)
                return (replace(stmt, body=inner),) if inner and is_clean else inner
            case ir.If(then=then, orelse=orelse):
                one, other = (self.block(branch, in_doubt or not is_clean) for branch in (then, orelse))
                if one is None or other is None:
                    return None
                return (replace(stmt, then=one, orelse=other),) if is_clean else (*one, *other)
            case ir.Let(name=name):
                return () if name in self.doubtful else (stmt,)
            case ir.Assign() | ir.Accumulate() | ir.Allocate():
                return () if written_arrays((stmt,)) & self.doubtful else (stmt,)
            case ir.Exit() if is_clean and not in_doubt:
                return (stmt,)
            case ir.Exit() | ir.Call():
                return None
            case _:
                return (stmt,)

    def check(self, stmt: ir.Require, in_doubt: bool, is_clean: bool) -> Block | None:
        """A check as it is, or with the alternatives that are certain; None if data decide about which element."""
        if is_clean and not in_doubt:
            return (stmt,)
        if in_doubt and stmt.code == ASSERTED:
            return None
        certain = [a for a in alternatives(stmt.cond) if self.is_clean((a,), True)]
        inside = (a for a in alternatives(stmt.cond) if not (isinstance(a, ir.Apply) and a.op is Op.NOT))
        if not certain or has_values(*inside):
            return None
        shown = any_of([a for a in certain if is_fixed(a)] or certain)
        why = "arithmetic on floating numbers decides whether it is used"
        needs = f"so it needs {print_expr(shown)}, or a condition of its own around it"
        return (replace(stmt, cond=any_of(certain), message=f"{stmt.message}, or may be: {why}, {needs}"),)


def certain_if(cond: ir.Expr) -> ir.Expr | None:
    """An alternative of `cond` that is the same for the whole call and cannot fail; None if it has none."""
    return next((a for a in alternatives(cond) if is_fixed(a)), None)


def alternatives(cond: ir.Expr) -> tuple[ir.Expr, ...]:
    return cond.args if isinstance(cond, ir.Apply) and cond.op is Op.OR else (cond,)


def is_fixed(expr: ir.Expr) -> bool:
    """Whether `expr` follows from shapes and scalar arguments, without an operation that may raise."""
    return not any(isinstance(e, ir.Load | ir.Var | ir.Index) or may_raise(e) for e in subexprs(expr))


def may_raise(expr: ir.Expr) -> bool:
    """Whether an operation on integers may raise, for some operands."""
    match expr:
        case ir.Apply(op=Op.FLOORDIV | Op.MOD, args=(_, divisor)):
            return not isinstance(divisor, ir.Const) and not is_total(expr)
        case ir.Apply(op=Op.POW | Op.SHL | Op.SHR):
            return True
        case _:
            return False
