"""Elements of tapes that a vector loop asks for before it comes to them.

A tape was written long before it is read: its elements come from memory, or the outermost cache. Processors notice that
a loop goes through them one after the other, but begin anew with each page of 4096 bytes; a vector loop that reads
neighbours on a tape asks for those that are a page ahead. A sweep that goes back through the slices of a tape has the
next elements behind the ones it reads where a slice is smaller than that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from loopdiff.analysis.strides import stride_of, varying_names
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import is_constant, parted
from loopdiff.ir.walk import all_statements, loads_in, loops_in, subexprs

PAGE, LINE = 4096, 64  # bytes


@immutable
class TapeStream:
    """Neighbours that a loop reads, and which way it goes on along each axis but the last: up (1), down (-1), or nobody
    knows (0)."""

    access: ir.Access
    itemsize: int
    ways: tuple[int, ...]

    @property
    def first(self) -> tuple[int, ...]:
        """Which of several rows of one tape comes first: the greatest."""
        *outer, last = (parted(s)[1] for s in self.access.subscripts)
        return (*(way * offset for way, offset in zip(self.ways, outer, strict=True)), last)

    @property
    def elements_of_line(self) -> int:
        return LINE // self.itemsize

    @property
    def distance(self) -> str:
        """How many bytes lie between what is read and what comes a page later, in Python.

        It goes on along the first axis, from the inside, that is as long; where loops go both ways, sizes decide which.
        """
        text, outer = "", 0
        for axis, way in enumerate((*self.ways, 1)):
            if not way or way == outer:
                continue
            sizes = " * ".join(f"{self.access.array}.shape[{k}]" for k in range(axis, len(self.ways) + 1))
            is_long = f"{way * PAGE} if {self.itemsize} * {sizes} >= {PAGE} else "
            text, outer = (is_long if outer else "") + (text or str(way * PAGE)), way
        return text


def tape_streams(loop: ir.Loop, ls: ir.LoopSet, ways: Mapping[str, int]) -> Iterator[TapeStream]:
    """Of each tape of which `loop` reads neighbours, iteration after iteration, the row that comes first; loops around
    go the `ways` by their indices."""
    if any(inner is not loop for inner in loops_in((loop,))):
        return
    own = {s.name for s in all_statements(loop.body) if isinstance(s, ir.Let)}
    varying = varying_names(loop)
    found: dict[str, list[TapeStream]] = {}
    for access in dict.fromkeys(load.access for load in loads_in(loop.body)):
        decl = ls.array(access.array)
        if decl.role != "tape" or decl.type is None or decl.type.layout != "C" or not access.subscripts:
            continue
        nodes = [e for s in access.subscripts for e in subexprs(s)]
        is_known = not any(isinstance(e, ir.Load) or (isinstance(e, ir.Var) and e.name in own) for e in nodes)
        is_last = parted(access.subscripts[-1])[0] == ir.Index(loop.index)
        if is_known and is_last and stride_of(access, loop.index, varying, ls) == "unit":
            along = tuple(way_of(s, ways) for s in access.subscripts[:-1])
            stream = TapeStream(access, np.dtype(decl.type.dtype).itemsize, along)
            found.setdefault(access.array, []).append(stream)
    yield from (max(streams, key=lambda s: s.first) for streams in found.values())


def way_of(subscript: ir.Expr, ways: Mapping[str, int]) -> int:
    match parted(subscript)[0]:
        case ir.Index(name):
            return ways.get(name, 0)
        case _:
            return 0


def ways_of(ls: ir.LoopSet) -> dict[str, int]:
    """Which way each loop goes, by its index."""
    steps = {p.index: p.step for p in loops_in(ls.body)}
    return {name: 1 if is_constant(step, 1) else -1 if is_constant(step, -1) else 0 for name, step in steps.items()}
