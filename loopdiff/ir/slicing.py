"""Dead code: statements that cannot influence what is asked for, by name and regardless of order."""

from __future__ import annotations

from dataclasses import replace

from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import exits, statements, stmt_exprs, subexprs, written_arrays

Names = frozenset[str]


def eliminate_dead(ls: ir.LoopSet, live_arrays: Names) -> ir.LoopSet:
    """`ls` without the statements, loops and local arrays that reach neither `live_arrays` nor a result.

    `Require`s stay, and with them what their conditions need.
    """
    live = live_arrays
    for result in ls.results:
        live |= names_in(result.value) if isinstance(result, ir.ScalarResult) else {result.array}
    live = live_names(ls.body, live, None)
    body = keep_live(ls.body, live, None)
    kept = tuple(a for a in ls.arrays if a.name in ls.params or a.name in live or ir.ArrayResult(a.name) in ls.results)
    return replace(ls, body=body, arrays=kept)


def live_names(body: tuple[ir.Stmt, ...], wanted: Names, writable: Names | None) -> Names:
    """Arrays, cells and Lets whose definitions in `body` can influence `wanted`; only `writable` arrays count."""
    live = wanted
    while True:
        more = live
        for site in statements(body):
            if is_live(site.stmt, live, writable):
                leaving = [s for loop in site.loops for s in exits(loop)]
                exprs = [e for s in (*site.enclosing, *leaving, site.stmt) for e in stmt_exprs(s)]
                more |= {n for e in exprs for n in names_in(e)}
                if isinstance(site.stmt, ir.Call):  # it is made for one of its results, and leaves the others too
                    more |= written_arrays((site.stmt,))
        if more == live:
            return live
        live = more


def names_in(expr: ir.Expr) -> Names:
    """Arrays and Lets that `expr` reads."""
    return frozenset(
        e.access.array if isinstance(e, ir.Load) else e.name for e in subexprs(expr) if isinstance(e, ir.Load | ir.Var)
    )


def names_read(body: tuple[ir.Stmt, ...]) -> Names:
    """Arrays and Lets that statements, and those inside of them, read; what they add to is not among them."""
    return frozenset(n for site in statements(body) for e in stmt_exprs(site.stmt) for n in names_in(e))


def is_live(stmt: ir.Stmt, live: Names, writable: Names | None) -> bool:
    match stmt:
        case ir.Let(name=name):
            return name in live
        case (
            ir.Assign(target=ir.Access(array=array))
            | ir.Accumulate(target=ir.Access(array=array))
            | ir.Allocate(array=array)
        ):
            return array in live and (writable is None or array in writable)
        case ir.Call():
            written = written_arrays((stmt,))
            return bool(written & live) and (writable is None or written <= writable)
        case ir.Require():
            return writable is None
        case _:
            return False


def keep_live(body: tuple[ir.Stmt, ...], live: Names, writable: Names | None) -> tuple[ir.Stmt, ...]:
    """`body` with only the live statements and the control structure around them."""
    out: list[ir.Stmt] = []
    for stmt in body:
        match stmt:
            case ir.Loop(body=inner):
                new = keep_live(inner, live, writable)
                out += [replace(stmt, body=new)] if any(not isinstance(s, ir.Exit) for s in new) else []
            case ir.If(then=then, orelse=orelse):
                new_then, new_else = keep_live(then, live, writable), keep_live(orelse, live, writable)
                out += [replace(stmt, then=new_then, orelse=new_else)] if new_then or new_else else []
            case ir.Exit():
                out.append(stmt)
            case _ if is_live(stmt, live, writable):
                out.append(stmt)
            case _:
                pass
    return tuple(out)
