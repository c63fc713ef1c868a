"""Where the reverse sweep asks for values of the primal, and what it has them from: those that a statement loaded in
place, in a copy or on the tape, and others likewise, or of what they are made of.
"""

from __future__ import annotations

from loopdiff.ad.emitter import Emitter
from loopdiff.ad.tape.plan import Guards, Loops, Scope
from loopdiff.ad.tape.versions import ArrayVersion
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import Path


@immutable
class At:
    """Where a value is asked for: the primal statement, the conditions around the expression inside it, and the
    emitter that may hold shared subexpressions (None: the value must be one closed expression)."""

    path: Path
    guards: Guards = ()
    emitter: Emitter | None = None

    def under(self, cond: ir.Expr, outcome: bool, emitter: Emitter | None = None) -> At:
        return At(self.path, (*self.guards, (cond, outcome)), emitter)


@immutable
class InPlace:
    """The memory still holds the value."""


@immutable
class CopiedAt:
    """A copy of the array made at the end of each iteration of the loop at `path` (of the function: empty)."""

    path: Path


@immutable
class AtUse:
    """Recorded where it is read."""


Provider = InPlace | CopiedAt | ArrayVersion | AtUse


@immutable
class Itself:
    """It is known: a constant, an index, an argument, an extent."""


@immutable
class Named:
    """The value of a Let."""

    name: str


@immutable
class Loaded:
    """What a statement loaded, from its `provider`."""

    load: ir.Load
    provider: Provider


@immutable
class Stored:
    """What the statement stored at `target`."""

    target: ir.Access


@immutable
class Kept:
    """Recorded where the statement evaluates it."""


@immutable
class Made:
    """Worked out again of what it is made of: some of it `exact`, and `parts` up to rounding, each where it is asked
    for."""

    exact: tuple[ir.Expr, ...]
    parts: tuple[tuple[ir.Expr, At], ...]


@immutable
class Slot:
    """A tape array with one leading axis per loop in `loops` (below a counted loop: one running position)."""

    name: str
    loops: Loops
    scope: Scope


Origin = Itself | Named | Loaded | Stored | Kept | Made
ITSELF, KEPT = Itself(), Kept()
