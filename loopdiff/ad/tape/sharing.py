"""Copies of whole arrays that could be made in place of what a plan of the tape records read by read: what reads could
find there, and what copies weigh."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from loopdiff.ad.tape.needed import Needed
from loopdiff.ad.tape.origins import At, AtUse
from loopdiff.ad.tape.plan import Scope
from loopdiff.ad.tape.recordings import Slot
from loopdiff.ad.tape.versions import ArrayVersion, Read, are_exclusive, smallest_version
from loopdiff.ir import nodes as ir
from loopdiff.ir.types import ArrayType
from loopdiff.ir.walk import Path, loads, stmt_exprs, subexprs
from loopdiff.model import tuning

Weights = Callable[[tuple[ir.Expr, ...], ArrayType | None], float]
UNKNOWN_LENGTH = ir.Param("")


def share_spared(reads: Collection[Read]) -> float:
    """How much of a slot is spared by reading again what it would hold: elements at data-dependent places are gathered
    from copies, where slots have them side by side."""
    subscripts = (s for _, access in reads for s in access.subscripts)
    is_gathered = any(isinstance(e, ir.Load | ir.Var) for s in subscripts for e in subexprs(s))
    return tuning.GATHERED_AGAIN if is_gathered else 1.0


def recorded_operations(needed: Needed) -> Iterator[tuple[Slot, Path, ir.Expr]]:
    """What is recorded but for reads, in which slots; of Lets of reads those that are asked for exactly."""
    slots = needed.recorded.slots.items()
    yield from ((slot, path, value) for (path, value, _), slot in slots if path and not isinstance(value, ir.Load))
    for name, slot in needed.recorded_lets.items():
        site = needed.facts.lets[name]
        for value in stmt_exprs(site.stmt):
            if not isinstance(value, ir.Load) or (site.path, ir.Var(name), ()) in needed.exactly:
                yield slot, site.path, value


def only_name(value: ir.Expr) -> Iterator[str]:
    """The Let of which `value` is made, if it is made of nothing else that may be lost."""
    parts = list(subexprs(value))
    names = {e.name for e in parts if isinstance(e, ir.Var)}
    if len(names) == 1 and not any(isinstance(e, ir.Load) for e in parts):
        yield from names


def reads_of(needed: Needed, path: Path, value: ir.Expr) -> Iterator[Read]:
    """What the statement at `path` reads to evaluate `value`, in Lets that it names as well."""
    pending, lets = [(path, value)], set[str]()
    while pending:
        place, expr = pending.pop()
        yield from ((place, load.access) for load in loads(expr))
        names = {e.name for e in subexprs(expr) if isinstance(e, ir.Var)} & needed.facts.lets.keys() - lets
        lets |= names
        sites = [needed.facts.lets[name] for name in sorted(names)]
        pending += [(site.path, e) for site in sites for e in stmt_exprs(site.stmt)]


def is_lost(needed: Needed, read: Read) -> bool:
    """Whether what is read has to be recorded."""
    path, access = read
    return isinstance(needed.provider(access, At(path)), AtUse)


def chosen_between(needed: Needed) -> Iterator[tuple[Slot, frozenset[Read]]]:
    """Copies of arrays that are made as an iteration ends, with what is read of them: in branches of conditions,
    whatever the branch, or in more iterations than there are versions."""
    users: dict[tuple[str, Path], set[Read]] = {}
    for (path, access), loop in needed.from_ends.items():
        users.setdefault((access.array, loop), set()).add((path, access))
    for (array, loop), reads in users.items():
        if loop and any(is_in_branch(needed, p, len(loop)) or changes_less(needed, p, a, loop) for p, a in reads):
            yield needed.snapshots[array, loop], frozenset(reads)


def changes_less(needed: Needed, path: Path, access: ir.Access, loop: Path) -> bool:
    """Whether the statement at `path` reads a version of an array that iterations of `loop` leave alone."""
    seen = smallest_version(needed.facts, path, access, needed.owner_of(access.array, path))
    return seen is not None and len(seen.place) <= len(loop)


def is_in_branch(needed: Needed, path: Path, depth: int) -> bool:
    """Whether the statement at `path` is in a branch, in the iteration of the loop that is so deep around it."""
    around = (needed.facts.sites[path[:k]].stmt for k in range(depth + 1, len(path)))
    return any(isinstance(s, ir.If) for s in around)


# -- weights -------------------------------------------------------------------------------------------------
def grouped(needed: Needed, versions: Collection[ArrayVersion]) -> list[list[ArrayVersion]]:
    """`versions`, those together that share a tape, as they are in different branches."""
    groups: list[list[ArrayVersion]] = []
    for version in sorted(versions, key=lambda v: (v.path, v.array, str(v.row))):
        group = next((g for g in groups if all(is_never_with(needed, version, other) for other in g)), None)
        if group is None:
            groups.append([version])
        else:
            group.append(version)
    return groups


def weight_of_version(needed: Needed, version: ArrayVersion, weight: Weights) -> float:
    """What copies of `version` weigh: more than as much that is recorded, where they are passes over many elements."""
    kept = weight(extents_of_version(needed, version), needed.facts.ls.array(version.array).type)
    is_pass = version.carrier is None and not all(isinstance(size, ir.Const) for size in version.sizes)
    return kept * (tuning.COPIED_APART if is_pass else tuning.COPIED_WITH)


def extents_of_version(needed: Needed, version: ArrayVersion) -> tuple[ir.Expr, ...]:
    """Those of copies of `version`, an unknown one for a loop that data ends."""
    scope = needed.owner_of(version.array, version.path)
    return (*lengths_around(needed, version.path, scope), *version.sizes)


def lengths_around(needed: Needed, path: Path, scope: Scope) -> tuple[ir.Expr, ...]:
    """How often the loops around the statement at `path` run, inside of `scope`; of one that data end, anything."""
    tape = needed.tape
    around = [p for p, _ in tape.loops(path, scope)]
    lengths = (tape.segment_length(p) if p == scope else needed.facts.trip_hull(p) for p in around)
    return tuple(UNKNOWN_LENGTH if n is None else n for n in lengths)


def is_never_with(needed: Needed, one: ArrayVersion, other: ArrayVersion) -> bool:
    same_loops = needed.facts.loops_around(one.path) == needed.facts.loops_around(other.path)
    return same_loops and one.sizes == other.sizes and are_exclusive(needed.facts, one.path, other.path)
