"""What is recorded, and in which slots of the tape; what a statement records serves others in its block that see the
same.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from loopdiff.ad.facts import Facts
from loopdiff.ad.tape.plan import Guards, Loops, Scope
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import Path, all_statements, loads

Recorded = tuple[Path, ir.Expr, Guards]  # what a statement evaluates under conditions inside it
Alike = tuple[Path, ir.Load, tuple[tuple[str, int], ...]]  # loads in a block that see the same if nothing leaves it


@immutable
class Slot:
    """A tape array with one leading axis per loop in `loops` (below a counted loop: one running position)."""

    name: str
    loops: Loops
    scope: Scope


@dataclass(slots=True)
class Recordings:
    """The `slots` of what is recorded, and those of loads by what they see."""

    facts: Facts
    slots: dict[Recorded, Slot] = field(default_factory=dict)
    together: dict[Alike, list[tuple[Path, Slot]]] = field(default_factory=dict)

    def add(self, key: Recorded, slot: Slot) -> None:
        self.slots[key] = slot
        path, expr, guards = key
        if path and isinstance(expr, ir.Load) and not guards:
            self.together.setdefault(self.alike(path, expr), []).append((path, slot))

    def alike(self, path: Path, load: ir.Load) -> Alike:
        """The same for the loads of one block between which none of the arrays that they read is written."""
        arrays = {e.access.array for e in loads(load)}
        return path[:-1], load, tuple((a, self.facts.state_of(a, path)) for a in sorted(arrays))

    def elsewhere(self, path: Path, load: ir.Load, scope: Scope) -> Slot | None:
        """The slot of `scope` in which another statement records what the one at `path` loads, whenever that runs."""
        found = self.together.get(self.alike(path, load), ())
        return next((s for other, s in found if s.scope == scope and self.run_together(path, other)), None)

    def run_together(self, path: Path, other: Path) -> bool:
        """Whether two statements of a block are in one branch of it, and nothing between them leaves it."""
        around = self.facts.sites[path[:-1]].stmt if path[:-1] else self.facts.ls
        first, last = sorted((path[-1], other[-1]))
        if isinstance(around, ir.If) and first < len(around.then) <= last:
            return False
        between = (self.facts.sites[*path[:-1], k].stmt for k in range(first, last))
        return not any(isinstance(s, ir.Exit) for s in all_statements(tuple(between)))
