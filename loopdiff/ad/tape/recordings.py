"""What is recorded, and in which slots of the tape; what others record is found by the values that they may see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from loopdiff.ad.facts import Facts
from loopdiff.ad.tape.plan import Guards, Scope
from loopdiff.ad.tape.providers import Slot
from loopdiff.ad.tape.same_reads import KnownReads, same_read
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import Path

Recorded = tuple[Path, ir.Expr, Guards]  # what a statement evaluates under conditions inside it


@dataclass(slots=True)
class Recordings:
    """The `slots` of what is recorded. Reads of an array with no writes between them are together, as others do not see
    the same."""

    facts: Facts
    slots: dict[Recorded, Slot] = field(default_factory=dict)
    reads: dict[tuple[str, int], list[tuple[KnownReads, Slot]]] = field(default_factory=dict)

    def add(self, key: Recorded, slot: Slot) -> None:
        self.slots[key] = slot
        path, expr, guards = key
        if path and isinstance(expr, ir.Load) and not guards:
            version = expr.access.array, self.facts.state_of(expr.access.array, path)
            self.reads.setdefault(version, []).append((KnownReads(path, expr.access, slot.loops), slot))

    def alike(
        self, path: Path, access: ir.Access, scope: Scope
    ) -> Iterator[tuple[Slot, Mapping[ir.Expr, ir.Expr]]]:  # fmt: skip
        """Slots of a scope that hold, in some iterations, what the statement at `path` sees in `access`: see
        `same_read`."""
        for known, slot in self.reads.get((access.array, self.facts.state_of(access.array, path)), ()):
            there = same_read(self.facts, path, access, known) if slot.scope == scope else None
            if there is not None:
                yield slot, there
