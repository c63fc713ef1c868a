"""Sums over all rows of a loop that goes by blocks, added up block by block.

    for i0 in range(0, n, 64):                    for i0 in range(0, n, 64):
        for i in block:                               for j: part[j] = 0
            for j: b_adj[j] += t[i - i0, j]           for i in block:
                                          becomes         for j: part[j] += t[i - i0, j]
                                                      for j: b_adj[j] += part[j]

Of n numbers that are added to one of 32 bits one by one, each is rounded to that of the whole sum: the error grows as n
does (Higham, "The accuracy of floating point summation", SIAM J. Sci. Comput. 14, 1993, of blocks and pairs). Sums that
are matrices go to register tiles, which take part sums as well.
"""

from __future__ import annotations

from collections import defaultdict

from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import is_from_zero, is_unit_step, natural, upto, zero
from loopdiff.ir.names import NameSupply
from loopdiff.ir.types import F32, ArrayType
from loopdiff.ir.walk import Site, accesses, has_values, indices_in, map_accesses, map_blocks, statements
from loopdiff.mapping.lane_blocks import block_of, is_block_loop

Block = tuple[ir.Stmt, ...]


def add_by_blocks(ls: ir.LoopSet, names: NameSupply) -> ir.LoopSet:
    """`ls` with rows of part sums for each block of its loops that go by blocks, where sums have 32 bits."""
    adder = Adder(ls, names, [])

    def block(body: Block) -> Block:
        out = list[ir.Stmt]()
        for stmt in body:
            if isinstance(stmt, ir.Loop) and is_block_loop(stmt):
                out.append(adder.with_parts(stmt))
            else:
                out.append(map_blocks(block, stmt))
        return tuple(out)

    body = block(ls.body)
    fresh = tuple(ir.Allocate(a.name) for a in adder.parts)
    return replace(ls, arrays=(*ls.arrays, *adder.parts), body=(*fresh, *body)) if fresh else ls


@immutable
class Adder:
    """Finds the sums of loops of `ls`; `parts` are the arrays that it makes."""

    ls: ir.LoopSet
    names: NameSupply
    parts: list[ir.ArrayDecl]

    def with_parts(self, loop: ir.Loop) -> ir.Loop:
        """A loop that goes by blocks with part sums in it."""
        parts, starts, ends = dict[str, str](), list[ir.Stmt](), list[ir.Stmt]()
        for array, extent in self.sums(loop).items():
            name = self.names.fresh(f"{array}_part")
            self.parts.append(ir.ArrayDecl(name, ArrayType("float32", 1), "local", (natural(extent),)))
            first, last = self.names.fresh("part"), self.names.fresh("part")
            part = ir.Access(name, (ir.Index(last),))
            cleared = ir.Assign(ir.Access(name, (ir.Index(first),)), zero(F32), loc=loop.loc)
            added = ir.Accumulate("add", ir.Access(array, (ir.Index(last),)), ir.Load(part), loc=loop.loc)
            starts.append(upto(first, extent, (cleared,), loop.loc))
            ends.append(upto(last, extent, (added,), loop.loc))
            parts[array] = name
        if not parts:
            return loop
        body = (map_accesses(lambda a: replace(a, array=parts.get(a.array, a.array)), s) for s in loop.body)
        return replace(loop, body=(*starts, *body, *ends))

    def sums(self, loop: ir.Loop) -> dict[str, ir.Expr]:
        """Rows that all rows of blocks add to, and nothing else in `loop` has to do with; how long they are."""
        extents = defaultdict[str, set[ir.Expr | None]](set)
        for site in statements(loop.body):
            if isinstance(site.stmt, ir.Allocate):
                extents[site.stmt.array].add(None)
            own = extent_of_sum(site, loop.index)
            for access in accesses(site.stmt):
                is_target = isinstance(site.stmt, ir.Accumulate) and access is site.stmt.target
                extents[access.array].add(own if is_target else None)
        found = {array: next(iter(e)) for array, e in extents.items() if len(e) == 1 and self.is_row(array)}
        return {array: extent for array, extent in found.items() if extent is not None}

    def is_row(self, array: str) -> bool:
        kind = self.ls.array(array).type
        return kind is not None and kind.dtype == "float32" and kind.rank == 1


def extent_of_sum(site: Site, start: str) -> ir.Expr | None:
    """How many elements the rows of the block from `start` add to, one by one and each of them; None if others."""
    match site.stmt:
        case ir.Accumulate(op="add", target=ir.Access(subscripts=(ir.Index(name=index),))):
            around = {p.index: p for p in site.loops}
        case _:
            return None
    inner = around.get(index)
    is_in_rows = any((found := block_of(p)) is not None and found[0] == start for p in around.values())
    if inner is None or not is_in_rows or not is_unit_step(inner) or not is_from_zero(inner):
        return None
    return None if indices_in(inner.upper) or has_values(inner.upper) else inner.upper
