"""Where the values of scalar cells go: which cells, and what else, depend on what a cell holds at the entry of a block.

Strong liveness (Nielson, Nielson and Hankin, "Principles of Program Analysis", exercise 2.4), for all sets of cells at
once that may be live at the end: an assignment passes on to what it reads whatever comes of what it assigns, and a
condition all that comes of what it decides. That distributes over unions, so one sweep backwards with sets of ends in
place of truth values answers for each set.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import loads, stmt_exprs

Names = frozenset[str]
Ends = list[int]  # for each cell, bits of the ends that depend on its value
USED = 1  # the bit of everything that is no cell


def live_at_entry(body: tuple[ir.Stmt, ...], live_out: Names, cells: Names) -> Names:
    """Cells whose value at the entry of `body` may be read in it or, through it, by a reader after it."""
    flow = Flow.of(cells)
    wanted = USED | sum(flow.bit(name) for name in live_out)
    return frozenset(name for name, ends in flow.reached(body) if ends & wanted)


def exposed_cells(body: tuple[ir.Stmt, ...], asked: Names, cells: Names) -> Names:
    """Those of the `asked` cells whose value at the entry of `body` it may read, were it only for another cell; not for
    that cell alone, which nobody asks for then."""
    if not asked:
        return asked
    flow = Flow.of(cells)
    return frozenset(name for name, ends in flow.reached(body) if name in asked and ends & ~flow.bit(name))


@immutable
class Flow:
    """Sweeps backwards over statements, with the place of each cell."""

    places: Mapping[str, int]

    @staticmethod
    def of(cells: Names) -> Flow:
        return Flow({name: k for k, name in enumerate(sorted(cells))})

    def bit(self, name: str) -> int:
        """The end that is the value of a cell after the block."""
        return 2 << self.places[name]

    def reached(self, body: tuple[ir.Stmt, ...]) -> Iterable[tuple[str, int]]:
        """Cells, and the ends that their values at the entry of `body` reach."""
        ends = [2 << k for k in range(len(self.places))]
        self.block(self.parts(body), ends, ends)
        return zip(self.places, ends, strict=True)

    # -- statements, with what they read ---------------------------------------------------------------------
    def parts(self, body: tuple[ir.Stmt, ...]) -> list[Part]:
        """The statements of `body`, the last one first."""
        return [self.part(stmt) for stmt in reversed(body)]

    def part(self, stmt: ir.Stmt) -> Part:
        read = {e.access.array for expr in stmt_exprs(stmt) for e in loads(expr)}
        reads = tuple(self.places[n] for n in read if n in self.places)
        match stmt:
            case ir.Assign(target=target) | ir.Accumulate(target=target) if target.array in self.places:
                place = self.places[target.array]
                return Part(reads, place, (place,) if isinstance(stmt, ir.Assign) else ())
            case ir.Loop(body=body):
                return Part(reads, blocks=(self.parts(body),), is_loop=True)
            case ir.If(then=then, orelse=orelse):
                return Part(reads, blocks=(self.parts(then), self.parts(orelse)))
            case ir.Call(results=results):
                return Part(reads, None, tuple(self.places[r.array] for r in results if r.array in self.places))
            case _:
                return Part(reads, None, is_exit=isinstance(stmt, ir.Exit))

    # -- the sweep -------------------------------------------------------------------------------------------
    def block(self, parts: list[Part], ends: Ends, after_loop: Ends) -> int:
        """Take `ends` from behind the statements to before them; all that comes of what they do. `after_loop` are those
        behind the loop whose body this is."""
        found = 0
        for part in parts:
            if part.blocks:
                comes = self.blocks(part, ends)
            else:
                comes = USED if part.target is None else ends[part.target]
            if part.is_exit:
                take_in(ends, after_loop)
            for place in part.overwritten:
                ends[place] = 0
            for place in part.reads if comes else ():
                ends[place] |= comes
            found |= comes
        return found

    def blocks(self, part: Part, ends: Ends) -> int:
        """The same for a loop, any number of times, or for either branch."""
        if not part.is_loop:
            then, orelse = (list(ends) for _ in part.blocks)
            comes = self.block(part.blocks[0], then, ends) | self.block(part.blocks[1], orelse, ends)
            ends[:] = then
            take_in(ends, orelse)
            return comes
        behind, comes, before = list(ends), 0, None
        while ends != before:
            before, around = list(ends), list(ends)
            comes = self.block(part.blocks[0], around, behind)
            take_in(ends, around)
        return comes


@immutable
class Part:
    """A statement: the places of the cells that it reads, of its `target`, without which it does something else, and of
    those that are `overwritten`. `blocks` are those inside."""

    reads: tuple[int, ...]
    target: int | None = None
    overwritten: tuple[int, ...] = ()
    blocks: tuple[list[Part], ...] = ()
    is_loop: bool = False
    is_exit: bool = False


def take_in(ends: Ends, others: Ends) -> None:
    for place, bits in enumerate(others):
        ends[place] |= bits
