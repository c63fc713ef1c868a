"""Liveness of scalar cells and Lets over structured control flow (Aho et al., Compilers, 9.2.5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import may_divide_by_zero
from loopdiff.ir.names import NameSupply
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import all_statements, lets_used, loads, operands, stmt_exprs, subexprs

Names = frozenset[str]
Guards = tuple[tuple[ir.Expr, bool], ...]  # conditions with their outcomes


def cells_read(exprs: Iterable[ir.Expr], cells: Names) -> Names:
    if not cells:
        return cells
    return frozenset(e.access.array for expr in exprs for e in loads(expr) if e.access.array in cells)


def drop_dead_cell_stores(ls: ir.LoopSet, cells: Names, reads: NameSupply | None = None) -> ir.LoopSet:
    """`ls` without stores to cells that nothing reads, and without Lets nothing uses.

    `reads`: what reads elements, or divides, stays as Lets of these names: elements may not be there.
    """
    results = cells_read((r.value for r in ls.results if isinstance(r, ir.ScalarResult)), cells)
    while True:
        body, _ = sweep(ls.body, results, cells, reads=reads)
        out = drop_dead_lets(replace(ls, body=body), reads)
        if out == ls:
            return out
        ls = out


def sweep(
    body: tuple[ir.Stmt, ...],
    live: Names,
    cells: Names,
    after_loop: Names = frozenset(),
    reads: NameSupply | None = None,
) -> tuple[tuple[ir.Stmt, ...], Names]:
    """`body` without dead cell stores, and the cells live before it, given those live after it.

    `after_loop` are those live after the loop whose body this is. `reads` names Lets of what dead stores read.
    """
    kept: list[ir.Stmt] = []
    for stmt in reversed(body):
        match stmt:
            case ir.Assign(target=target) | ir.Accumulate(target=target) if target.array in cells:
                if target.array in live:
                    overwritten = {target.array} if isinstance(stmt, ir.Assign) else set()
                    live = (live - overwritten) | cells_read(stmt_exprs(stmt), cells)
                    kept.append(stmt)
                elif reads is not None and may_raise(stmt.value):
                    live |= cells_read((stmt.value,), cells)
                    kept.append(ir.Let(reads.fresh(f"{target.array}_unused"), stmt.value, loc=stmt.loc))
            case ir.Loop(body=inner):
                around = live
                new, entry = sweep(inner, around, cells, live, reads)
                while not entry <= around:
                    around |= entry
                    new, entry = sweep(inner, around, cells, live, reads)
                if new:
                    live = around | cells_read(stmt_exprs(stmt), cells)
                    kept.append(replace(stmt, body=new))
                else:
                    unused = read_for_nothing((stmt.lower, stmt.upper), stmt, reads)
                    live |= cells_read((s.value for s in unused), cells)
                    kept += unused
            case ir.If(then=then, orelse=orelse):
                new_then, live_then = sweep(then, live, cells, reads=reads)
                new_else, live_else = sweep(orelse, live, cells, reads=reads)
                if new_then or new_else:
                    live = live_then | live_else | cells_read(stmt_exprs(stmt), cells)
                    kept.append(replace(stmt, then=new_then, orelse=new_else))
                else:
                    unused = read_for_nothing((stmt.cond,), stmt, reads)
                    live |= cells_read((s.value for s in unused), cells)
                    kept += unused
            case ir.Call(results=results):
                live = (live - {r.array for r in results}) | cells_read(stmt_exprs(stmt), cells)
                kept.append(stmt)
            case ir.Exit():
                live |= after_loop | cells_read(stmt_exprs(stmt), cells)
                kept.append(stmt)
            case _:
                live |= cells_read(stmt_exprs(stmt), cells)
                kept.append(stmt)
    return tuple(reversed(kept)), live


def read_for_nothing(exprs: Iterable[ir.Expr], stmt: ir.Loop | ir.If, reads: NameSupply | None) -> list[ir.Let]:
    """Lets of what a statement that does nothing asks for, if that may raise."""
    if reads is None:
        return []
    return [ir.Let(reads.fresh("unused"), e, loc=stmt.loc) for e in exprs if may_raise(e)]


def may_raise(expr: ir.Expr) -> bool:
    """Whether Python may raise where it evaluates `expr`: for an element that is not there, or a divisor of zero."""
    return any(load.access.subscripts for load in loads(expr)) or any(True for _ in divisions(expr))


def divisions(expr: ir.Expr, guards: Guards = ()) -> Iterator[tuple[ir.Apply, Guards]]:
    """Every `//` and `%` in `expr` whose divisor may be zero, with the conditions under which it is evaluated."""
    match expr:
        case ir.Select(cond=cond, then=then, orelse=orelse):
            yield from divisions(cond, guards)
            yield from divisions(then, (*guards, (cond, True)))
            yield from divisions(orelse, (*guards, (cond, False)))
        case ir.Apply(op=(Op.AND | Op.OR) as op, args=args):
            for arg in args:
                yield from divisions(arg, guards)
                guards = (*guards, (arg, op is Op.AND))
        case _:
            for part in operands(expr):
                yield from divisions(part, guards)
            if may_divide_by_zero(expr):
                yield expr, guards


def drop_dead_lets(ls: ir.LoopSet, reads: NameSupply | None) -> ir.LoopSet:
    """`ls` without Lets whose name no expression mentions, but, given `reads`, those that may raise."""
    used = set(lets_used(ls.body))
    used |= {
        e.name for r in ls.results if isinstance(r, ir.ScalarResult) for e in subexprs(r.value) if isinstance(e, ir.Var)
    }
    if reads is not None:
        lets = (s for s in all_statements(ls.body) if isinstance(s, ir.Let))
        used |= {s.name for s in lets if may_raise(s.value)}
    return replace(ls, body=without_lets(ls.body, frozenset(used), reads))


def without_lets(body: tuple[ir.Stmt, ...], used: Names, reads: NameSupply | None) -> tuple[ir.Stmt, ...]:
    out: list[ir.Stmt] = []
    for stmt in body:
        match stmt:
            case ir.Let(name=name) if name not in used:
                continue
            case ir.Loop(body=inner):
                new = without_lets(inner, used, reads)
                out += [replace(stmt, body=new)] if new else read_for_nothing((stmt.lower, stmt.upper), stmt, reads)
            case ir.If(then=then, orelse=orelse):
                new_then, new_else = without_lets(then, used, reads), without_lets(orelse, used, reads)
                left = [replace(stmt, then=new_then, orelse=new_else)] if new_then or new_else else []
                out += left or read_for_nothing((stmt.cond,), stmt, reads)
            case _:
                out.append(stmt)
    return tuple(out)
