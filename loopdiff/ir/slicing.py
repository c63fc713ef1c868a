"""Dead code: statements that cannot influence what is asked for, by name and regardless of order."""

from __future__ import annotations

from collections import defaultdict

from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.reachability import reached
from loopdiff.ir.walk import Path, all_statements, exits, statements, stmt_exprs, subexprs, written_arrays

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
    seed: set[str | Path] = set(wanted)
    onward: defaultdict[str | Path, list[str | Path]] = defaultdict(list)
    for site in statements(body):
        exprs, block = stmt_exprs(site.stmt), site.path[:-1]
        if isinstance(site.stmt, ir.Loop):
            exprs += tuple(e for s in exits(site.stmt) for e in stmt_exprs(s))
        needed = (block, *(n for e in exprs for n in names_in(e)))
        match site.stmt:
            case ir.Loop() | ir.If():  # needed by whatever is made inside
                onward[site.path] += needed
            case ir.Require() if writable is None:
                seed.update(needed)
            case stmt:
                made = made_by(stmt, writable)
                for name in made:  # a call is made for one of its results, and leaves the others too
                    onward[name] += (*needed, *made)
    return frozenset(n for n in reached(seed, onward) if isinstance(n, str))


def names_in(expr: ir.Expr) -> Names:
    """Arrays and Lets that `expr` reads."""
    return frozenset(
        e.access.array if isinstance(e, ir.Load) else e.name for e in subexprs(expr) if isinstance(e, ir.Load | ir.Var)
    )


def names_read(body: tuple[ir.Stmt, ...]) -> Names:
    """Arrays and Lets that statements, and those inside of them, read; what they add to is not among them."""
    return frozenset(n for s in all_statements(body) for e in stmt_exprs(s) for n in names_in(e))


def is_live(stmt: ir.Stmt, live: Names, writable: Names | None) -> bool:
    """Whether `stmt` makes one of the `live` names, or checks something for all of them."""
    if isinstance(stmt, ir.Require):
        return writable is None
    return not live.isdisjoint(made_by(stmt, writable))


def made_by(stmt: ir.Stmt, writable: Names | None) -> Names:
    """The Let, cells and arrays that `stmt` itself defines; none where not all of these arrays are `writable`."""
    match stmt:
        case ir.Let(name=name):
            return frozenset((name,))
        case (
            ir.Assign(target=ir.Access(array=array))
            | ir.Accumulate(target=ir.Access(array=array))
            | ir.Allocate(array=array)
        ):
            made = frozenset((array,))
        case ir.Call():
            made = written_arrays((stmt,))
        case _:
            return frozenset()
    return made if writable is None or made <= writable else frozenset()


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
