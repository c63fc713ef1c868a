"""Where the reverse sweep finds a value of the primal that a statement loaded: in place, in a copy, or on the tape."""

from __future__ import annotations

from loopdiff.ad.tape.ahead import Ahead
from loopdiff.ad.tape.plan import Scope
from loopdiff.ad.tape.versions import ArrayVersion
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import Path


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
    loops: tuple[tuple[Path, ir.Loop], ...]
    scope: Scope


Provider = InPlace | CopiedAt | ArrayVersion | Ahead | AtUse
