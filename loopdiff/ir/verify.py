"""Numbered invariants of bound and normal LoopSets, run after every stage.

V1 names are unique and declared; V2 subscripts match rank; V3 operand types agree; V4 loop indices are bound by an
enclosing loop and unique; V5 every Var is in scope of its Let; V6 no surface-only expression remains; V7 the step of a
loop is not the constant zero; V8 non-argument arrays state their extents; V9 an Exit is a direct part of a loop's body;
V10 a Call fits the signature of what it calls, and its results go to cells; V11 a Dim is of a declared array and of an
axis that it has, in extents of declarations, too.
"""

from __future__ import annotations

from loopdiff.errors import InternalError
from loopdiff.ir import nodes as ir
from loopdiff.ir.printer import print_expr
from loopdiff.ir.typing import TypeEnv, part_of, type_env, type_of
from loopdiff.ir.walk import all_statements, stmt_exprs, subexprs


def require(condition: bool, rule: str, stage: str, *detail: object) -> None:
    """`detail` becomes text only where the invariant is broken: this runs for every expression, after every pass."""
    if not condition:
        said = " ".join(print_expr(d) if isinstance(d, ir.Expr) else str(d) for d in detail)
        raise InternalError(f"LD900: invariant {rule} broken after stage {stage!r}: {said}; please report this")


def verify(ls: ir.LoopSet, stage: str) -> None:
    """Raise InternalError naming the invariant and `stage` if `ls` is not a valid bound LoopSet."""
    names = [a.name for a in ls.arrays] + [s.name for s in ls.scalars]
    lets = [s.name for s in all_statements(ls.body) if isinstance(s, ir.Let)]
    indices = [s.index for s in all_statements(ls.body) if isinstance(s, ir.Loop)]
    require(len(set(names + lets)) == len(names + lets), "V1", stage, "duplicate among", names, lets)
    require(all(p in names for p in ls.params), "V1", stage, "undeclared parameter in", ls.params)
    require(len(set(indices)) == len(indices), "V4", stage, "duplicate loop index in", indices)
    for decl in ls.arrays:
        require(decl.type is not None, "V6", stage, decl.name, "has no type")
        is_own = decl.role != "argument" and decl.name not in ls.params
        is_fixed = is_own and decl.type is not None and decl.type.rank > 0
        require(not is_fixed or decl.extents is not None, "V8", stage, decl.name)
    env = type_env(ls)
    for extent in (e for decl in ls.arrays for e in decl.extents or ()):
        for node in subexprs(extent):
            if isinstance(node, ir.Dim):
                verify_dim(node, env, stage)
    scope = verify_block(ls.body, frozenset(), frozenset(), ls, env, stage)
    for result in ls.results:
        if isinstance(result, ir.ScalarResult):
            verify_expr(result.value, scope, frozenset(), ls, env, stage)


def verify_block(
    body: tuple[ir.Stmt, ...],
    lets: frozenset[str],
    indices: frozenset[str],
    ls: ir.LoopSet,
    env: TypeEnv,
    stage: str,
    is_loop_body: bool = False,
) -> frozenset[str]:
    for stmt in body:
        for expr in stmt_exprs(stmt):
            part = part_of(expr, env) if isinstance(stmt, ir.Call) else None
            for whole in (expr,) if part is None else part.subscripts:
                verify_expr(whole, lets, indices, ls, env, stage)
        match stmt:
            case ir.Let(name=name):
                lets |= {name}
            case ir.Assign(target=target, value=value) | ir.Accumulate(target=target, value=value):
                require(ls.has_array(target.array), "V1", stage, "undeclared array", target.array)
                kind = env.arrays[target.array]
                require(len(target.subscripts) == kind.rank, "V2", stage, target, "for", kind)
                found = type_of(value, env)
                require(found == kind.element, "V3", stage, target.array, "=", value, "stores", found)
            case ir.Loop(index=index, step=step, body=inner):
                require(not (isinstance(step, ir.Const) and step.value == 0), "V7", stage, index)
                verify_block(inner, lets, indices | {index}, ls, env, stage, is_loop_body=True)
            case ir.Call(rule=rule, form=form, args=args, results=results):
                require(len(args) == len(rule.names(form)), "V10", stage, rule.name, "with arguments", args)
                require(all(r.array in env.arrays and not r.subscripts for r in results), "V10", stage, rule.name)
            case ir.Exit(cond=cond):
                require(is_loop_body, "V9", stage, cond)
            case ir.Jump(kind=kind):
                require(False, "V6", stage, kind)
            case ir.If(then=then, orelse=orelse):
                verify_block(then, lets, indices, ls, env, stage)
                verify_block(orelse, lets, indices, ls, env, stage)
            case _:
                pass
    return lets


def verify_expr(
    expr: ir.Expr, lets: frozenset[str], indices: frozenset[str], ls: ir.LoopSet, env: TypeEnv, stage: str
) -> None:
    for node in subexprs(expr):
        match node:
            case ir.Apply() | ir.Const():  # most of them
                pass
            case ir.SizeOf() | ir.RankOf():
                require(False, "V6", stage, node)
            case ir.Var(name=name):
                require(name in lets, "V5", stage, name, "in", expr)
            case ir.Index(name=name):
                require(name in indices, "V4", stage, name, "in", expr)
            case ir.Param(name=name):
                require(name in env.scalars, "V1", stage, "undeclared scalar", name)
            case ir.Load(access=access):
                require(access.array in env.arrays, "V1", stage, "undeclared array", access.array)
                require(len(access.subscripts) == env.arrays[access.array].rank, "V2", stage, node)
            case ir.Dim():
                verify_dim(node, env, stage)
            case _:
                pass


def verify_dim(dim: ir.Dim, env: TypeEnv, stage: str) -> None:
    require(dim.array in env.arrays, "V11", stage, dim, "of an undeclared array")
    kind = env.arrays[dim.array]
    require(0 <= dim.axis < kind.rank, "V11", stage, dim, "of", kind)
