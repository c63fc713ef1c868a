"""What emitters of loops are to the writers that they hand loops to: where text goes, and what it needs."""

from __future__ import annotations

from dataclasses import dataclass, field

from loopdiff.backends.cpu.emit import ScalarEmitter
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.typing import type_of
from loopdiff.ir.walk import Path, all_statements
from loopdiff.mapping.loops import Mapping, Parallel


@immutable
class Aside:
    """The function `name` takes over where the `condition` holds."""

    name: str
    condition: str


@dataclass(slots=True)
class LoopEmitter(ScalarEmitter):
    """Writes loops as `mappings` and `sharing` say, by index: whatever part of a loop is written, in whichever place.

    `simd`, `functions`, `products` and `threads` collect imports, `chunks` the functions of chunks, `nests` those of
    nests that are written once. `is_sharing`: loops to be shared are written in chunks just now. `is_inside`: as
    others, in a nest that is written both ways. `aside`: what to do instead. `may_reassociate`: sums may be made in any
    order. `around`: how many loops there are around what is being written, `ticks` what an iteration of the innermost
    one counts, and `looks` the import of what they need to look out for signals. `kept`: tickets of products, by the
    index of their outermost loop. `ways`: which way loops go, by index, where there are tapes.
    """

    mappings: dict[str, tuple[Path, Mapping]] = field(default_factory=dict)
    sharing: dict[str, Parallel] = field(default_factory=dict)
    simd: set[str] = field(default_factory=set)
    functions: set[str] = field(default_factory=set)
    products: set[tuple[str, str]] = field(default_factory=set)
    threads: set[str] = field(default_factory=set)
    chunks: list[str] = field(default_factory=list)
    nests: list[str] = field(default_factory=list)
    is_sharing: bool = False
    is_inside: bool = False
    aside: Aside | None = None
    may_reassociate: bool = False
    looks: set[str] = field(default_factory=set)
    kept: dict[str, str] = field(default_factory=dict)
    around: int = 0
    ticks: str = ""
    ways: dict[str, int] = field(default_factory=dict)

    def on_threads(self, stmt: ir.Loop) -> None:
        """The nest with its shared loops in chunks."""
        self.is_sharing = True
        self.loop(stmt)
        self.is_sharing = False

    def on_one_thread(self, stmt: ir.Loop) -> None:
        """The nest, or the part of it that is a chunk, as if there were no threads."""
        before = self.is_sharing, self.is_inside
        self.is_sharing, self.is_inside = False, True
        self.as_mapped(stmt)
        self.is_sharing, self.is_inside = before

    def as_mapped(self, stmt: ir.Loop) -> None:
        """Write the loop as its mapping says."""
        raise NotImplementedError

    def take_types(self, body: tuple[ir.Stmt, ...]) -> None:
        """Know the types of the Lets of `body`, which are new."""
        lets = dict(self.types.lets)
        self.types = replace(self.types, lets=lets)
        for stmt in all_statements(body):
            if isinstance(stmt, ir.Let):
                lets[stmt.name] = type_of(stmt.value, self.types)

    def mapping_of(self, stmt: ir.Stmt) -> Mapping | None:
        found = self.mappings.get(stmt.index) if isinstance(stmt, ir.Loop) else None
        return None if found is None else found[1]
