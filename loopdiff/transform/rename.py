"""Fresh names for the loops and Lets of copied statements."""

from __future__ import annotations

from dataclasses import replace

from loopdiff.ir.nodes import Accumulate, Allocate, Assign, Expr, If, Index, Let, Loop, Require, Stmt, Var
from loopdiff.ir.walk import statements, substitute
from loopdiff.names import NameSupply

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
        case Require(cond=cond):
            return replace(stmt, cond=expr(cond))
        case Allocate(fill=fill):
            return stmt if fill is None else replace(stmt, fill=expr(fill))
