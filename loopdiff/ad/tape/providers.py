"""Where the reverse sweep asks for values of the primal, and finds those that a statement loaded: in place, in a copy,
or on the tape.
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


@immutable
class Slot:
    """A tape array with one leading axis per loop in `loops` (below a counted loop: one running position)."""

    name: str
    loops: Loops
    scope: Scope


Provider = InPlace | CopiedAt | ArrayVersion | AtUse
