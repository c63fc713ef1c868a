"""Fresh names: for the loops and Lets of copied statements, and for whole LoopSets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from loopdiff.ir.names import NameSupply
from loopdiff.ir.nodes import (
    Accumulate,
    Allocate,
    ArrayDecl,
    ArrayResult,
    Assign,
    Call,
    Dim,
    Exit,
    Expr,
    If,
    Index,
    Jump,
    Let,
    Load,
    Loop,
    LoopSet,
    Param,
    Require,
    Result,
    ScalarResult,
    Stmt,
    Var,
)
from loopdiff.ir.walk import map_body, map_expr, map_stmt_exprs, statements, substitute

Renaming = dict[Expr, Expr]


def renamed_block(body: tuple[Stmt, ...], names: NameSupply) -> tuple[Stmt, ...]:
    """`body` with its loop indices and Lets under fresh names."""
    new: Renaming = {}
    for site in statements(body):
        match site.stmt:
            case Loop(index=index):
                new[Index(index)] = Index(names.fresh(index))
            case Let(name=name):
                new[Var(name)] = Var(names.fresh(name))
            case _:
                pass
    return tuple(renamed(s, new) for s in body)


def renamed(stmt: Stmt, new: Renaming) -> Stmt:
    """`stmt` with indices and Lets replaced as `new` says, definitions included."""

    def expr(e: Expr) -> Expr:
        return substitute(e, new)

    match stmt:
        case Let(name=name, value=value):
            to = new.get(Var(name), Var(name))
            assert isinstance(to, Var)
            return replace(stmt, name=to.name, value=expr(value))
        case Loop(index=index, body=body):
            to = new.get(Index(index), Index(index))
            assert isinstance(to, Index)
            inner = tuple(renamed(s, new) for s in body)
            bounds = {"lower": expr(stmt.lower), "upper": expr(stmt.upper), "step": expr(stmt.step)}
            return replace(stmt, index=to.name, body=inner, **bounds)
        case If(cond=cond, then=then, orelse=orelse):
            new_then, new_else = tuple(renamed(s, new) for s in then), tuple(renamed(s, new) for s in orelse)
            return replace(stmt, cond=expr(cond), then=new_then, orelse=new_else)
        case Assign(target=target, value=value) | Accumulate(target=target, value=value):
            subscripts = tuple(expr(e) for e in target.subscripts)
            return replace(stmt, target=replace(target, subscripts=subscripts), value=expr(value))
        case Require(cond=cond) | Exit(cond=cond):
            return replace(stmt, cond=expr(cond))
        case Allocate(fill=fill):
            return stmt if fill is None else replace(stmt, fill=expr(fill))
        case Call():
            return map_stmt_exprs(expr, stmt)
        case Jump():
            return stmt


def renamed_names(body: tuple[Stmt, ...], new: Mapping[str, str]) -> tuple[Stmt, ...]:
    """`body` with arrays, arguments, Lets and indices called `new[name]` where that is given."""

    def name(old: str) -> str:
        return new.get(old, old)

    renamed = (map_stmt_exprs(lambda e: with_new_names(e, new), s) for s in body)
    return map_body(tuple(renamed), lambda s: (with_names(s, name),))


def with_new_names(expr: Expr, new: Mapping[str, str]) -> Expr:
    def name(old: str) -> str:
        return new.get(old, old)

    def leaf(e: Expr) -> Expr:
        match e:
            case Var() | Index() | Param():
                return replace(e, name=name(e.name))
            case Dim(array=array):
                return replace(e, array=name(array))
            case Load(access=access):
                return replace(e, access=replace(access, array=name(access.array)))
            case _:
                return e

    return map_expr(leaf, expr)


def rename_everywhere(ls: LoopSet, new: Mapping[str, str]) -> LoopSet:
    """`ls` with arrays, arguments, Lets and indices called `new[name]` where that is given."""

    def name(old: str) -> str:
        return new.get(old, old)

    def expr(e: Expr) -> Expr:
        return with_new_names(e, new)

    def extents(decl: ArrayDecl) -> tuple[Expr, ...] | None:
        return None if decl.extents is None else tuple(expr(e) for e in decl.extents)

    def result(r: Result) -> Result:
        return ScalarResult(expr(r.value)) if isinstance(r, ScalarResult) else ArrayResult(name(r.array))

    return replace(
        ls,
        params=tuple(name(p) for p in ls.params),
        arrays=tuple(replace(a, name=name(a.name), extents=extents(a)) for a in ls.arrays),
        scalars=tuple(replace(s, name=name(s.name)) for s in ls.scalars),
        body=renamed_names(ls.body, new),
        results=tuple(result(r) for r in ls.results),
    )


def with_names(stmt: Stmt, name: Callable[[str], str]) -> Stmt:
    """`stmt` with the names it defines or writes translated, not those in its expressions."""
    match stmt:
        case Let():
            return replace(stmt, name=name(stmt.name))
        case Loop():
            return replace(stmt, index=name(stmt.index))
        case Assign(target=target) | Accumulate(target=target):
            return replace(stmt, target=replace(target, array=name(target.array)))
        case Allocate(array=array):
            return replace(stmt, array=name(array))
        case Call(results=results):
            return replace(stmt, results=tuple(replace(r, array=name(r.array)) for r in results))
        case _:
            return stmt
