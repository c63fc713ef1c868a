"""Scheduled code: scalar statements, vector loops and register tiles, as a schedule says."""

from __future__ import annotations

from dataclasses import dataclass, field

from loopdiff.analysis.ownership import owned_cells
from loopdiff.backends.cpu.emit import ScalarEmitter
from loopdiff.backends.cpu.tile import TileWriter
from loopdiff.backends.cpu.vector import VectorLoopWriter
from loopdiff.ir.nodes import Loop
from loopdiff.ir.walk import Path
from loopdiff.transform.contractions import contraction
from loopdiff.transform.schedule import Mapping as LoopMapping
from loopdiff.transform.schedule import ScalarLoop, TiledNest, VectorLoop


@dataclass(slots=True)
class ScheduledEmitter(ScalarEmitter):
    """Writes loops as `mappings` says (by identity of the statement); `simd` and `functions` collect imports."""

    mappings: dict[int, tuple[Path, LoopMapping]] = field(default_factory=dict)
    simd: set[str] = field(default_factory=set)
    functions: set[str] = field(default_factory=set)

    def loop(self, stmt: Loop) -> None:
        path, mapping = self.mappings.get(id(stmt), ((), ScalarLoop("")))
        match mapping:
            case VectorLoop():
                VectorLoopWriter.of(self, stmt, owned_cells(self.ls, path)).write()
            case TiledNest():
                found = contraction(stmt)
                assert found is not None
                TileWriter(self, mapping, found).write()
            case ScalarLoop():
                ScalarEmitter.loop(self, stmt)
