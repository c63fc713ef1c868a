"""Reads of an array that is about to change go to the copy that was just made of it.

    for t:                                          for t:
        for i: old[i] = x[i]                            for i: old[i] = x[i]
        for i: f[i] = g(x[i + 1] - x[i])  becomes       for i: f[i] = g(old[i + 1] - old[i])
        for i: x[i] = x[i] + h(old, f)                  for i: x[i] = x[i] + h(old, f)

Both hold the same until one of them is written. What the reverse sweep needs of `x` at this point it finds in the copy,
which stays as it is until the next iteration, or is kept whole, once for all that reads it.
"""

from __future__ import annotations

from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import extents_of, is_constant
from loopdiff.ir.walk import all_statements, into_nest, map_blocks, map_expr, map_stmt_exprs, written_arrays


@immutable
class WholeCopy:
    """All of the array `source`, element by element in the array `to` of the function's own."""

    to: str
    source: str


def read_copies(ls: ir.LoopSet) -> ir.LoopSet:
    """`ls` with copies read in place of arrays that something in the same loop, or after it, changes."""
    if not any(whole_copy_of(ls, s) for s in all_statements(ls.body)):
        return ls
    body = block(ls, ls.body, written_arrays(ls.body))
    return ls if body == ls.body else replace(ls, body=body)


def block(ls: ir.LoopSet, body: tuple[ir.Stmt, ...], changed: frozenset[str]) -> tuple[ir.Stmt, ...]:
    """`body` anew; `changed` are the arrays that the innermost loop around it writes, or the function."""
    known: list[WholeCopy] = []
    out: list[ir.Stmt] = []
    for stmt in body:
        inner = written_arrays((stmt,)) if isinstance(stmt, ir.Loop) else changed
        new = map_blocks(lambda inside, inner=inner: block(ls, inside, inner), stmt)
        written = written_arrays((stmt,))
        known = [c for c in known if not {c.to, c.source} & written]
        out.append(with_reads(new, {c.source: c.to for c in known}))
        copy = whole_copy_of(ls, stmt)
        if copy is not None and copy.source in changed:
            known.append(copy)
    return tuple(out)


def with_reads(stmt: ir.Stmt, copies: dict[str, str]) -> ir.Stmt:
    """`stmt` with elements of the `copies` read in place of those of the arrays that they are copies of."""

    def read(expr: ir.Expr) -> ir.Expr:
        match expr:
            case ir.Load(access=access) if access.subscripts and access.array in copies:
                return replace(expr, access=replace(access, array=copies[access.array]))
            case _:
                return expr

    if not copies or any(isinstance(s, ir.Call) for s in all_statements((stmt,))):
        return stmt
    return map_stmt_exprs(lambda e: map_expr(read, e), stmt)


def whole_copy_of(ls: ir.LoopSet, stmt: ir.Stmt) -> WholeCopy | None:
    """The copy that `stmt` makes, a nest that goes over all elements of two arrays of one shape and type."""
    loops, body = into_nest((stmt,))
    match body:
        case (ir.Assign(target=ir.Access(array=to, subscripts=place), value=ir.Load(access=read)),) if loops:
            indices, source = tuple(ir.Index(p.index) for p in loops), read.array
            is_alike = place == read.subscripts == indices and to != source and is_same_shape(ls, to, source)
            return WholeCopy(to, source) if is_alike and goes_over(loops, extents_of(ls.array(to))) else None
        case _:
            return None


def is_same_shape(ls: ir.LoopSet, to: str, source: str) -> bool:
    own, other = ls.array(to), ls.array(source)
    is_alike = own.type is not None and other.type is not None and own.type.dtype == other.type.dtype
    return is_alike and own.role == "local" and own.extents is not None and extents_of(own) == extents_of(other)


def goes_over(loops: tuple[ir.Loop, ...], extents: tuple[ir.Expr, ...]) -> bool:
    return len(loops) == len(extents) and all(
        is_constant(p.lower, 0) and is_constant(p.step, 1) and p.upper == e for p, e in zip(loops, extents, strict=True)
    )
