"""Scheduled code: scalar statements, vector loops and register tiles, as a schedule says."""

from __future__ import annotations

from dataclasses import dataclass, field

from loopdiff.analysis.ownership import owned_cells
from loopdiff.backends.cpu.chunks import ChunkWriter, write_both
from loopdiff.backends.cpu.emit import ScalarEmitter
from loopdiff.backends.cpu.product import ProductWriter
from loopdiff.backends.cpu.tile import TileWriter
from loopdiff.backends.cpu.vector import VectorLoopWriter
from loopdiff.ir.nodes import Loop, Stmt
from loopdiff.ir.walk import Path, statements
from loopdiff.transform.contractions import contraction
from loopdiff.transform.mapping import Mapping as LoopMapping
from loopdiff.transform.mapping import Parallel, ScalarLoop, TiledNest, VectorLoop


@dataclass(slots=True)
class ScheduledEmitter(ScalarEmitter):
    """Writes loops as `mappings` and `sharing` say (by identity of the statement).

    `simd`, `functions`, `products` and `threads` collect imports, `chunks` the functions of chunks. `is_sharing`: loops
    to be shared are written in chunks just now. `is_inside`: as others, in a nest that is written both ways.
    """

    mappings: dict[int, tuple[Path, LoopMapping]] = field(default_factory=dict)
    sharing: dict[int, Parallel] = field(default_factory=dict)
    simd: set[str] = field(default_factory=set)
    functions: set[str] = field(default_factory=set)
    products: set[tuple[str, str]] = field(default_factory=set)
    threads: set[str] = field(default_factory=set)
    chunks: list[str] = field(default_factory=list)
    is_sharing: bool = False
    is_inside: bool = False
    kept: list[Loop] = field(default_factory=list)  # the identity of a statement lasts as long as it does

    def loop(self, stmt: Loop) -> None:
        sharing = self.sharing.get(id(stmt)) if self.is_sharing else None
        shared = [s.stmt for s in statements((stmt,)) if id(s.stmt) in self.sharing]
        if sharing is not None:
            ChunkWriter(self, stmt, sharing).write()
        elif shared and not self.is_sharing and not self.is_inside:
            write_both(self, stmt, [s for s in shared if isinstance(s, Loop)])
        else:
            self.as_mapped(stmt)

    def on_threads(self, stmt: Loop) -> None:
        """The nest with its shared loops in chunks."""
        self.is_sharing = True
        self.loop(stmt)
        self.is_sharing = False

    def on_one_thread(self, stmt: Loop) -> None:
        """The nest, or the part of it that is a chunk, as if there were no threads."""
        before = self.is_sharing, self.is_inside
        self.is_sharing, self.is_inside = False, True
        self.as_mapped(stmt)
        self.is_sharing, self.is_inside = before

    def as_mapped(self, stmt: Loop) -> None:
        """The loop as its mapping says."""
        path, mapping = self.mappings.get(id(stmt), ((), ScalarLoop("")))
        match mapping:
            case VectorLoop(may_be_short=may_be_short):
                VectorLoopWriter.of(self, stmt, owned_cells(self.ls, path)).write(may_be_short)
            case TiledNest():
                found = contraction(stmt)
                assert found is not None
                if mapping.product is None:
                    TileWriter(self, mapping, found).write()
                else:
                    ProductWriter(self, mapping.product, found).write()
            case ScalarLoop():
                ScalarEmitter.loop(self, stmt)

    def mapping_of(self, stmt: Stmt) -> LoopMapping | None:
        found = self.mappings.get(id(stmt))
        return None if found is None else found[1]

    def take_for(self, stmt: Loop, known: Loop) -> None:
        """Write `stmt` in the way of the loop `known`."""
        if id(known) in self.mappings:
            self.mappings[id(stmt)] = self.mappings[id(known)]
            self.kept.append(stmt)
