"""Forward substitution of elements: what an array of the function's own holds is found again where it is asked for.

    for i: m[i] = x[i] > c
    for i:                                becomes   for i:
        if m[i]: s += y[i]                              if x[i] > c: s += y[i]

    for i: r[i] = x[(i - 1) % n]
    for i: y[i] = r[i] - x[i]             becomes   for i: y[i] = x[(i - 1) % n] - x[i]

A condition on what is still there costs less than a byte that is written and read, and so does the element of another
array than a copy of it; the reverse sweep finds them again where it would have to keep all of these arrays. So it is
for conditions of a few comparisons, which come out the same wherever they stand, since operations that decide are
rounded one by one, and for arrays turned round their ends (`np.roll`), where each element is asked for a few times and
not in a product of matrices. One nest has to make all elements, of what is not written until the last one is read.
"""

from __future__ import annotations

from collections.abc import Sequence

from loopdiff.canonical.put_in_place import nest_with_lets, unseen_arrays, without_arrays
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import is_from_zero
from loopdiff.ir.ops import FUNCTIONS, Op
from loopdiff.ir.types import BOOL
from loopdiff.ir.walk import loads, map_blocks, map_expr, map_own_exprs, subexprs, substitute, written_arrays

MOST_OPERATIONS = 8  # of a condition that is asked again
Block = tuple[ir.Stmt, ...]


@immutable
class Elements:
    """The elements of `array` are `value`, `indices` being their subscripts; made inside of `depth` loops."""

    array: str
    indices: tuple[ir.Expr, ...]
    value: ir.Expr
    depth: int

    @property
    def operands(self) -> frozenset[str]:
        return frozenset((self.array, *(e.access.array for e in loads(self.value))))

    def at(self, subscripts: Sequence[ir.Expr]) -> ir.Expr:
        return substitute(self.value, dict(zip(self.indices, subscripts, strict=True)))

    def is_for(self, depth: int) -> bool:
        """Whether they may be asked for inside of `depth` loops: copies no more often than there are elements."""
        return not isinstance(self.value, ir.Load) or depth - self.depth <= len(self.indices)


def with_substitutions(ls: ir.LoopSet) -> ir.LoopSet:
    """`ls`, normal and strict where it decides, without arrays of truth values, and of elements turned round, that can
    be found again instead."""
    return without_arrays(ls, unseen_arrays(ls), lambda rest: replace(ls, body=block(ls, rest, ls.body, (), 0)))


def block(ls: ir.LoopSet, held: frozenset[str], body: Block, known: tuple[Elements, ...], depth: int) -> Block:
    """`body` with the elements of `held` that are `known` ahead of it, and those made in it, in place of them."""
    out: list[ir.Stmt] = []
    for stmt in body:
        written = written_arrays((stmt,))
        known = tuple(e for e in known if not e.operands & written)
        found = {e.array: e for e in known if e.is_for(depth)}

        def asked(expr: ir.Expr, found: dict[str, Elements] = found) -> ir.Expr:
            match expr:
                case ir.Load(access=access) if access.array in found:
                    return found[access.array].at(access.subscripts)
                case _:
                    return expr

        inside = depth + isinstance(stmt, ir.Loop)
        new = map_own_exprs(lambda e, asked=asked: map_expr(asked, e), stmt) if found else stmt
        new = map_blocks(lambda inner, known=known, inside=inside: block(ls, held, inner, known, inside), new)
        made = elements_made(ls, new, depth) if isinstance(new, ir.Loop) else None
        if made is not None and made.array in held:
            known = (*known, made)
        out.append(new)
    return tuple(out)


def elements_made(ls: ir.LoopSet, stmt: ir.Stmt, depth: int) -> Elements | None:
    """What the nest `stmt` makes all elements of an array, if that is worth to be asked for again."""
    parts = nest_with_lets(stmt)
    if parts is None:
        return None
    loops, lets, stmt = parts
    indices = tuple(ir.Index(p.index) for p in loops)
    if not isinstance(stmt, ir.Assign) or not indices or stmt.target.subscripts != indices:
        return None
    decl, value = ls.array(stmt.target.array), substitute(stmt.value, lets)
    is_whole = decl.extents == tuple(p.upper for p in loops) and all(map(is_from_zero, loops))
    is_truth = decl.type is not None and decl.type.element == BOOL
    is_worth = is_free(value) if is_truth else is_turned(value)
    is_own = stmt.target.array not in {e.access.array for e in loads(value)}
    return Elements(stmt.target.array, indices, value, depth) if is_whole and is_worth and is_own else None


def is_free(cond: ir.Expr) -> bool:
    """Whether a condition costs next to nothing."""
    operations = [e for e in subexprs(cond) if isinstance(e, ir.Apply)]
    return len(operations) <= MOST_OPERATIONS and not any(e.op in FUNCTIONS for e in operations)


def is_turned(value: ir.Expr) -> bool:
    """Whether `value` is an element of an array, counted round its ends."""
    return isinstance(value, ir.Load) and any(isinstance(e, ir.Apply) and e.op is Op.MOD for e in subexprs(value))
