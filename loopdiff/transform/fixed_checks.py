"""What shapes and integer arguments alone say of checks.

A check is a disjunction: the subscript is inside, or shapes say that every subscript is, or a loop is empty, ... Where
arithmetic on floating numbers decides whether an element is used at all, asking ahead of the loop would repeat that,
and it might come out differently there. Then only the alternatives are asked that are the same for the whole call:
more than the program needs, but for certain enough. Where data decide which element that is, they would be too much.
"""

from __future__ import annotations

from dataclasses import replace

from loopdiff.analysis.repeatable import Repeatable
from loopdiff.ir.build import any_of
from loopdiff.ir.nodes import Apply, Const, Exit, Expr, If, Index, Load, Loop, Require, Stmt, Var
from loopdiff.ir.ops import Op
from loopdiff.ir.printer import print_expr
from loopdiff.ir.walk import subexprs
from loopdiff.transform.hoist import is_total

Block = tuple[Stmt, ...]


def fixed_checks(block: Block, known: Repeatable) -> Block | None:
    """Checks in the place of those in `block` that ask only what is the same for the whole call; None if one of them
    has no such alternative, if data decide which element is used, or if a loop ends early.
    """
    out: list[Stmt] = []
    for stmt in block:
        found = fixed_check(stmt, known)
        if found is None:
            return None
        out += found
    return tuple(out)


def fixed_check(stmt: Stmt, known: Repeatable) -> Block | None:
    match stmt:
        case Exit():
            return None
        case Require(cond=cond):
            return asked(stmt) if certain_if(cond) is not None and not is_chosen_by_data(cond) else None
        case Loop(lower=lower, upper=upper, step=step, body=body):
            inner = fixed_checks(body, known)
            if inner is None or not isinstance(step, Const):
                return inner
            return only_if(Apply(Op.LT if step.value > 0 else Op.GT, (lower, upper)), inner, stmt, known)
        case If(cond=cond, then=then, orelse=orelse):
            taken, other = fixed_checks(then, known), fixed_checks(orelse, known)
            if taken is None or other is None:
                return None
            return (*only_if(cond, taken, stmt, known), *only_if(Apply(Op.NOT, (cond,)), other, stmt, known))
        case _:
            return ()


def is_chosen_by_data(cond: Expr) -> bool:
    """Whether data have a part in which element is used, rather than in whether it is."""
    inside = (a for a in alternatives(cond) if not (isinstance(a, Apply) and a.op is Op.NOT))
    return any(isinstance(e, Load | Var) for a in inside for e in subexprs(a))


def asked(stmt: Require) -> Block:
    """`stmt` with no other alternatives than those that are the same for the whole call."""
    fixed = any_of(a for a in alternatives(stmt.cond) if is_fixed(a))
    why = "arithmetic on floating numbers decides whether it is used"
    needs = f"so it needs {print_expr(fixed)}, or a condition of its own around it"
    return (replace(stmt, cond=fixed, message=f"{stmt.message}, or may be: {why}, {needs}"),)


def only_if(cond: Expr, block: Block, stmt: Stmt, known: Repeatable) -> Block:
    """`block` under `cond`, a condition of `stmt`, if that is the same for the whole call, or else in any case."""
    is_same = is_fixed(cond) and all(map(known.is_operation, subexprs(cond)))
    return (If(cond, block, loc=stmt.loc),) if is_same and block else block


def certain_if(cond: Expr) -> Expr | None:
    """An alternative of `cond` that is the same for the whole call and cannot fail; None if it has none."""
    return next((a for a in alternatives(cond) if is_fixed(a)), None)


def alternatives(cond: Expr) -> tuple[Expr, ...]:
    return cond.args if isinstance(cond, Apply) and cond.op is Op.OR else (cond,)


def is_fixed(expr: Expr) -> bool:
    """Whether `expr` follows from shapes and scalar arguments, without an operation that may raise."""
    for node in subexprs(expr):
        match node:
            case Load() | Var() | Index():
                return False
            case Apply(op=Op.FLOORDIV | Op.MOD, args=(_, divisor)):
                if not isinstance(divisor, Const) and not is_total(node):
                    return False
            case Apply(op=Op.POW | Op.SHL | Op.SHR):
                return False
            case _:
                pass
    return True
