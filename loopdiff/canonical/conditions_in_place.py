"""Forward substitution of conditions: truth values of arrays are worked out where they are asked for.

    for i: m[i] = x[i] > c
    for i:                                becomes   for i:
        if m[i]: s += y[i]                              if x[i] > c: s += y[i]

A condition on what is still there costs less than a byte that is written and read, and the reverse sweep may ask it
again where it would have to keep all of these arrays. So it is for arrays of the function's own, all of whose elements
one nest makes by a few comparisons, where nothing that these depend on is written until the last element is read. They
come out the same wherever they stand: operations that decide are rounded one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from loopdiff.canonical.put_in_place import nest_with_lets, unseen_arrays, without_arrays
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import is_from_zero
from loopdiff.ir.ops import FUNCTIONS
from loopdiff.ir.types import BOOL
from loopdiff.ir.walk import (
    loads,
    map_blocks,
    map_expr,
    map_own_exprs,
    subexprs,
    substitute,
    written_arrays,
)

MOST_OPERATIONS = 8  # of a condition that is asked again
Block = tuple[ir.Stmt, ...]


@dataclass(frozen=True, slots=True)
class Condition:
    """The elements of `array` are `value`, `indices` being their subscripts."""

    array: str
    indices: tuple[ir.Expr, ...]
    value: ir.Expr

    @property
    def operands(self) -> frozenset[str]:
        return frozenset((self.array, *(e.access.array for e in loads(self.value))))

    def at(self, subscripts: Sequence[ir.Expr]) -> ir.Expr:
        return substitute(self.value, dict(zip(self.indices, subscripts, strict=True)))


def with_conditions_in_place(ls: ir.LoopSet) -> ir.LoopSet:
    """`ls`, normal and strict where it decides, without arrays of truth values that can be asked for again instead."""
    truths = {a.name for a in ls.arrays if a.type is not None and a.type.element == BOOL}
    held = unseen_arrays(ls) & truths
    return without_arrays(ls, held, lambda rest: replace(ls, body=block(ls, rest, ls.body, ())))


def block(ls: ir.LoopSet, held: frozenset[str], body: Block, known: tuple[Condition, ...]) -> Block:
    """`body` with the conditions that are `known` ahead of it, and those made in it, in place of elements of `held`."""
    out: list[ir.Stmt] = []
    for stmt in body:
        written = written_arrays((stmt,))
        known = tuple(c for c in known if not c.operands & written)
        found = {c.array: c for c in known}

        def asked(expr: ir.Expr, found: Mapping[str, Condition] = found) -> ir.Expr:
            match expr:
                case ir.Load(access=access) if access.array in found:
                    return found[access.array].at(access.subscripts)
                case _:
                    return expr

        new = map_own_exprs(lambda e, asked=asked: map_expr(asked, e), stmt)
        new = map_blocks(lambda inner, known=known: block(ls, held, inner, known), new)
        made = condition(ls, new) if isinstance(new, ir.Loop) else None
        if made is not None and made.array in held:
            known = (*known, made)
        out.append(new)
    return tuple(out)


def condition(ls: ir.LoopSet, stmt: ir.Stmt) -> Condition | None:
    """What the nest `stmt` makes all elements of an array, if that is a condition worth asking again."""
    parts = nest_with_lets(stmt)
    if parts is None:
        return None
    loops, lets, stmt = parts
    indices = tuple(ir.Index(p.index) for p in loops)
    if not isinstance(stmt, ir.Assign) or not indices or stmt.target.subscripts != indices:
        return None
    extents, value = ls.array(stmt.target.array).extents, substitute(stmt.value, lets)
    is_whole = extents == tuple(p.upper for p in loops) and all(map(is_from_zero, loops))
    operations = [e for e in subexprs(value) if isinstance(e, ir.Apply)]
    is_free = len(operations) <= MOST_OPERATIONS and not any(e.op in FUNCTIONS for e in operations)
    found = Condition(stmt.target.array, indices, value)
    is_own = stmt.target.array not in {e.access.array for e in loads(value)}
    return found if is_whole and is_free and is_own else None
