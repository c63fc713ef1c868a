"""If-conversion of stores: a branch that stores one of two cheap values in one element becomes one store of a select.

    if a > 0.0:
        x[i, j] = 0.0           becomes   x[i, j] = 0.0 if a > 0.0 else a
    else:
        x[i, j] = a

In a vector that is one store in place of two of parts, which loads would have to wait for. And it is plain to see that
`x[i, j]` is always written, whatever the condition is about.
"""

from __future__ import annotations

from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import PRODUCTS, SUMS, Op
from loopdiff.ir.typing import TypeEnv, type_env, type_of
from loopdiff.ir.walk import all_statements, map_blocks, subexprs

CHEAP = frozenset((*SUMS, *PRODUCTS, Op.NEG, Op.ABS))


def merge_choices(ls: ir.LoopSet) -> ir.LoopSet:
    """`ls` with one store for conditions that choose between values for one element that cost nothing."""
    types = type_env(ls)
    if not any(choice(s, types) for s in all_statements(ls.body)):
        return ls
    return replace(ls, body=tuple(merged(s, types) for s in ls.body))


def merged(stmt: ir.Stmt, types: TypeEnv) -> ir.Stmt:
    return choice(stmt, types) or map_blocks(lambda body: tuple(merged(s, types) for s in body), stmt)


def choice(stmt: ir.Stmt, types: TypeEnv) -> ir.Assign | None:
    """`stmt` as one store, if it does nothing but choose between two values for one element of an array."""
    match stmt:
        case ir.If(
            then=(ir.Assign(target=target) | ir.Accumulate(op="add", target=target) as one,),
            orelse=(ir.Assign(target=same) | ir.Accumulate(op="add", target=same) as other,),
        ) if (isinstance(one, ir.Assign) or isinstance(other, ir.Assign)) and target.subscripts and target == same:
            value, otherwise = stored(one), stored(other)
            are_free = is_free(value, target) and is_free(otherwise, target)
            if not are_free or type_of(value, types) != type_of(otherwise, types):
                return None
            return ir.Assign(target, ir.Select(stmt.cond, value, otherwise), loc=one.loc)
        case _:
            return None


def stored(stmt: ir.Assign | ir.Accumulate) -> ir.Expr:
    """What an assignment or an addition stores."""
    if isinstance(stmt, ir.Assign):
        return stmt.value
    return ir.Apply(Op.ADD, (ir.Load(stmt.target, loc=stmt.loc), stmt.value), loc=stmt.loc)


def is_free(value: ir.Expr, target: ir.Access) -> bool:
    """Whether `value` may be computed for nothing: from what is in registers, or in the element that it is for, in an
    instruction or two."""
    parts = list(subexprs(value))
    is_simple = all(
        isinstance(e, ir.Const | ir.Index | ir.Param | ir.Dim | ir.Var)
        or (isinstance(e, ir.Load) and (not e.access.subscripts or e.access == target))
        or (isinstance(e, ir.Apply) and e.op in CHEAP)
        for e in parts
    )
    return is_simple and sum(isinstance(e, ir.Apply) for e in parts) <= 2
