"""Recognition of loops over the lanes, or the rows, of one block of a strip-mined loop."""

from __future__ import annotations

from loopdiff.errors import Span
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import add, integer, sub
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import all_statements

FEW = 16  # lanes around loops that hand on values: as many as two or more vectors have


@immutable
class LaneBlock:
    """`size` lanes of the loop over `index` from `start`, the index of the loop over blocks."""

    index: str
    start: str
    size: int

    @property
    def place(self) -> ir.Expr:
        """Which of the lanes an iteration is."""
        return sub(ir.Index(self.index), ir.Index(self.start))

    def loop(self, upper: ir.Expr, body: tuple[ir.Stmt, ...], loc: Span) -> ir.Loop:
        """The loop over the lanes, all of which end at `upper`."""
        return block_loop(self.index, self.start, integer(self.size), upper, body, loc)

    def holds(self, access: ir.Access, ls: ir.LoopSet) -> bool:
        """Whether an array has an element for every lane, also for those that the last block lacks."""
        extents = ls.array(access.array).extents
        if not extents or not access.subscripts or access.subscripts[-1] != self.place:
            return False
        return isinstance(extents[-1], ir.Const) and extents[-1].value >= self.size


def block_loop(index: str, start: str, size: ir.Expr, upper: ir.Expr, body: tuple[ir.Stmt, ...], loc: Span) -> ir.Loop:
    """The loop over one block of so many iterations from `start`, all of which end at `upper`."""
    stop = ir.Apply(Op.MIN, (add(ir.Index(start), size), upper))
    return ir.Loop(index, ir.Index(start), stop, integer(1), body, loc=loc)


def lane_block(loop: ir.Loop) -> LaneBlock | None:
    """The block that `loop` runs over, if it is such a loop."""
    match block_of(loop):
        case start, ir.Const(value=size):
            return LaneBlock(loop.index, start, int(size))
        case _:
            return None


def block_of(loop: ir.Loop) -> tuple[str, ir.Expr] | None:
    """The index of the loop over blocks that `loop` runs over one of, if it does, and how large they are."""
    match loop.lower, loop.upper:
        case ir.Index(name=start), ir.Apply(
            op=Op.MIN, args=(ir.Apply(op=Op.ADD, args=(ir.Index(name=first), size)), _)
        ):
            return (start, size) if first == start else None
        case _:
            return None


def is_block_loop(loop: ir.Loop) -> bool:
    """Whether `loop` goes over blocks of rows or lanes."""
    inside = all_statements(loop.body)
    return any(isinstance(s, ir.Loop) and (b := block_of(s)) is not None and b[0] == loop.index for s in inside)
