"""Where the reverse sweep has values of the primal from, under one choice of what is kept.

What is still there is read, what is kept comes from the tape, and all else is made of its parts. There is one answer
for what is emitted (`needed`) and for what is weighed (`demands`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from loopdiff.ad.emitter import Emitter
from loopdiff.ad.facts import Facts
from loopdiff.ad.rounded import Rounded, rounded
from loopdiff.ad.tape.plan import Guards, Scope, Segment, Tape
from loopdiff.ad.tape.recordings import Recorded
from loopdiff.ad.tape.versions import NO_COPIES, ArrayVersion, Copies, are_copies_small, copy_seen
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.names import NameSupply
from loopdiff.ir.typing import type_of
from loopdiff.ir.walk import Path, loads, loads_of, operands, written_arrays
from loopdiff.settings.options import SEGMENT_LEVELS, PlanPolicy


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
class LoadedFrom:
    """What a statement loaded, from its `provider`."""

    load: ir.Load
    provider: Provider


@immutable
class Stored:
    """What the statement stored at `target`."""

    target: ir.Access


@immutable
class OnTape:
    """Recorded where the statement evaluates it."""


@immutable
class Made:
    """Worked out again of what it is made of: some of it `exact`, and `parts` up to rounding, each where it is asked
    for."""

    exact: tuple[ir.Expr, ...]
    parts: tuple[tuple[ir.Expr, At], ...]


Origin = Itself | Named | LoadedFrom | Stored | OnTape | Made
ITSELF, ON_TAPE = Itself(), OnTape()


@immutable
class TapeChoice:
    """What is kept: `values`, where statements evaluate them, and `copies` of arrays; of all else, what is read."""

    values: frozenset[Recorded] = frozenset()
    copies: Copies = NO_COPIES

    @property
    def is_of_values(self) -> bool:
        """Whether no versions are copied."""
        return not self.copies.versions


@dataclass(slots=True)
class Origins:
    """The answers for one reverse sweep, of which the iterations of the loops `replayed` and the segments of those
    `segmented` run again. `deciders` are what rounding decides in these, by statement."""

    facts: Facts
    policy: PlanPolicy
    replayed: frozenset[Path]
    segmented: frozenset[Path]
    names: NameSupply
    choice: TapeChoice
    tape: Tape = field(init=False)
    copied: dict[Path, frozenset[str]] = field(default_factory=dict)
    written: frozenset[str] = field(init=False)
    rounded: dict[Path, Rounded] = field(init=False)
    deciders: dict[Path, frozenset[ir.Expr]] = field(init=False)

    def __post_init__(self) -> None:
        loops = {p: self.facts.sites[p].stmt for p in sorted(self.segmented)}
        fresh = self.names.fresh
        segments = {
            p: Segment(fresh(f"{s.index}_length"), fresh(f"{s.index}_first"), SEGMENT_LEVELS[self.policy])
            for p, s in loops.items()
            if isinstance(s, ir.Loop)
        }
        self.tape = Tape(self.facts, self.names, segments)
        self.written = written_arrays(self.facts.ls.body)
        self.rounded = {p: rounded(self.facts, p) for p in loops}
        found = [items for r in self.rounded.values() for items in r.values.items()]
        self.deciders = {at: frozenset(e for e, _ in values) for at, values in found}

    # -- scopes ----------------------------------------------------------------------------------------------
    def scope_of(self, path: Path) -> Scope:
        """The innermost loop around the statement at `path` of which the reverse sweep runs iterations again."""
        inside = self.scopes_around(path)
        return inside[-1] if inside else None

    def scopes_around(self, path: Path) -> list[Path]:
        return [p for p, _ in self.facts.loops_around(path) if p in self.replayed or p in self.segmented]

    def owner_of(self, array: str, path: Path) -> Scope:
        """The innermost scope around `path` that has `array` to itself; None: the whole function."""
        inside = self.scopes_around(path)
        return next((p for p in reversed(inside) if array in self.own(p)), None)

    def own(self, scope: Path) -> frozenset[str]:
        """Arrays and cells of a scope: what an iteration owns, or what a segment works out on copies."""
        if scope not in self.segmented:
            return self.facts.owners(scope)
        if scope not in self.copied:
            self.copied[scope] = frozenset(
                load.access.array
                for path, site in self.facts.sites.items()
                if path[: len(scope)] == scope and path != scope
                for load in loads_of(site.stmt)
                if load.access.array in self.written and self.facts.is_overwritten(path, load.access, None)
            )
        return self.copied[scope]

    # -- values ----------------------------------------------------------------------------------------------
    def origin(self, expr: ir.Expr, at: At) -> Origin:
        """Where the reverse sweep has `expr` from, evaluated where the primal did, up to rounding."""
        match expr:
            case ir.Const() | ir.Index() | ir.Param() | ir.Dim():
                return ITSELF
            case ir.Var(name=name):
                return Named(name)
            case ir.Load(access=access):
                return LoadedFrom(expr, self.provider(access, at))
            case _:
                target = self.stored_result(expr, at)
                if target is not None:
                    return Stored(target)
                return ON_TAPE if self.is_kept(expr, at) else made_of(expr, at)

    def is_decided(self, expr: ir.Expr, at: At) -> bool:
        """Whether rounding decides `expr` in a loop that runs again: it is found then, not worked out twice."""
        return expr in self.deciders.get(at.path, ())

    def is_kept(self, expr: ir.Expr, at: At) -> bool:
        """Whether the tape plan records `expr`, an operation, rather than repeat it; never for a result (no path)."""
        if self.is_decided(expr, at):
            return True
        is_stored = self.policy == "store" and isinstance(expr, ir.Apply)
        is_chosen = is_stored or (at.path, expr, at.guards) in self.choice.values
        return is_chosen and self.is_number_of(expr, at)

    def is_number_of(self, expr: ir.Expr, at: At) -> bool:
        """Whether `expr` is a floating number that a statement evaluates."""
        return bool(at.path) and type_of(expr, self.facts.types).is_float

    def stored_result(self, expr: ir.Expr, at: At) -> ir.Access | None:
        """Where the statement at `at` stored `expr`, all that it assigns; None where it does not pay to read that.

        An argument's memory is asked only for what would have to be recorded otherwise: the caller may well use it for
        something else before the reverse sweep.
        """
        stmt = self.facts.sites[at.path].stmt if at.path else None
        if not isinstance(stmt, ir.Assign) or not stmt.target.subscripts or stmt.value != expr:
            return None
        array = stmt.target.array
        is_local = self.facts.ls.array(array).role == "local"
        if not is_local and not any(isinstance(self.provider(e.access, at), AtUse) for e in loads(expr)):
            return None
        owner = self.owner_of(array, at.path)
        is_lost = self.facts.is_rewritten(at.path, stmt.target, None if owner in self.segmented else owner)
        return None if is_lost else stmt.target

    def provider(self, access: ir.Access, at: At) -> Provider:
        """Where the value that the statement at `at` loaded from `access` can be found in the reverse sweep."""
        array = access.array
        is_cell = not access.subscripts and self.facts.ls.array(array).role != "argument"
        if array not in self.written:  # such a cell has no value, and a check before its use says so
            return CopiedAt(()) if is_cell else InPlace()
        owner = self.owner_of(array, at.path)
        if not at.path:
            return CopiedAt(()) if is_cell else InPlace()
        overwritten = self.facts.is_overwritten
        remembering = None if owner in self.segmented else owner
        if not overwritten(at.path, access, remembering):
            return CopiedAt(()) if is_cell and remembering is None else InPlace()
        version = copy_seen(self.facts, at.path, access, owner, self.choice.copies)
        if version is not None:
            return version
        loops = self.tape.loops(at.path, owner)
        is_local = self.facts.ls.array(array).role == "local"
        for depth, (path, _) in enumerate(loops, start=1):
            is_small = are_copies_small(self.facts, access, loops[depth:])
            if not (is_local and (is_small or (array, path) in self.choice.copies.ends)):
                continue
            if self.comes_to_end(path, at.path) and not overwritten(at.path, access, path):
                return CopiedAt(path)
        return AtUse()

    def comes_to_end(self, path: Path, inner: Path) -> bool:
        """Whether iterations of the loop at `path` that come to the statement `inner` come to their end, where
        snapshots are made."""
        loop = self.facts.sites[path].stmt
        assert isinstance(loop, ir.Loop)
        return not any(isinstance(s, ir.Exit) for s in loop.body[inner[len(path)] :])


def made_of(expr: ir.Expr, at: At) -> Made:
    match expr:
        case ir.Select(cond=cond, then=then, orelse=orelse):
            return Made((cond,), ((then, at.under(cond, True)), (orelse, at.under(cond, False))))
        case _:
            return Made((), tuple((part, at) for part in operands(expr)))
