"""Dead code: statements that cannot influence what is asked for, by name and regardless of order."""

from __future__ import annotations

from dataclasses import replace

from loopdiff.ir.nodes import (
    Access,
    Accumulate,
    Allocate,
    ArrayResult,
    Assign,
    Call,
    Exit,
    Expr,
    If,
    Let,
    Load,
    Loop,
    LoopSet,
    Require,
    ScalarResult,
    Stmt,
    Var,
)
from loopdiff.ir.walk import exits, statements, stmt_exprs, subexprs, written_arrays

Names = frozenset[str]


def eliminate_dead(ls: LoopSet, live_arrays: Names) -> LoopSet:
    """`ls` without the statements, loops and local arrays that reach neither `live_arrays` nor a result.

    `Require`s stay, and with them what their conditions need.
    """
    live = live_arrays
    for result in ls.results:
        live |= names_in(result.value) if isinstance(result, ScalarResult) else {result.array}
    live = live_names(ls.body, live, None)
    body = keep_live(ls.body, live, None)
    kept = tuple(a for a in ls.arrays if a.name in ls.params or a.name in live or ArrayResult(a.name) in ls.results)
    return replace(ls, body=body, arrays=kept)


def live_names(body: tuple[Stmt, ...], wanted: Names, writable: Names | None) -> Names:
    """Arrays, cells and Lets whose definitions in `body` can influence `wanted`; only `writable` arrays count."""
    live = wanted
    while True:
        more = live
        for site in statements(body):
            if is_live(site.stmt, live, writable):
                leaving = [s for loop in site.loops for s in exits(loop)]
                exprs = [e for s in (*site.enclosing, *leaving, site.stmt) for e in stmt_exprs(s)]
                more |= {n for e in exprs for n in names_in(e)}
                if isinstance(site.stmt, Call):  # it is made for one of its results, and leaves the others too
                    more |= written_arrays((site.stmt,))
        if more == live:
            return live
        live = more


def names_in(expr: Expr) -> Names:
    """Arrays and Lets that `expr` reads."""
    return frozenset(
        e.access.array if isinstance(e, Load) else e.name for e in subexprs(expr) if isinstance(e, Load | Var)
    )


def is_live(stmt: Stmt, live: Names, writable: Names | None) -> bool:
    match stmt:
        case Let(name=name):
            return name in live
        case Assign(target=Access(array=array)) | Accumulate(target=Access(array=array)) | Allocate(array=array):
            return array in live and (writable is None or array in writable)
        case Call():
            written = written_arrays((stmt,))
            return bool(written & live) and (writable is None or written <= writable)
        case Require():
            return writable is None
        case _:
            return False


def keep_live(body: tuple[Stmt, ...], live: Names, writable: Names | None) -> tuple[Stmt, ...]:
    """`body` with only the live statements and the control structure around them."""
    out: list[Stmt] = []
    for stmt in body:
        match stmt:
            case Loop(body=inner):
                new = keep_live(inner, live, writable)
                out += [replace(stmt, body=new)] if any(not isinstance(s, Exit) for s in new) else []
            case If(then=then, orelse=orelse):
                new_then, new_else = keep_live(then, live, writable), keep_live(orelse, live, writable)
                out += [replace(stmt, then=new_then, orelse=new_else)] if new_then or new_else else []
            case Exit():
                out.append(stmt)
            case _ if is_live(stmt, live, writable):
                out.append(stmt)
            case _:
                pass
    return tuple(out)
