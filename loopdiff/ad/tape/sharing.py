"""Copies of whole arrays that could be made in place of what a plan of the tape records read by read."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from loopdiff.ad.tape.ahead import Ahead
from loopdiff.ad.tape.needed import Needed
from loopdiff.ad.tape.providers import At, AtUse, Slot
from loopdiff.ad.tape.versions import ArrayVersion, Copies, Read, are_exclusive, versions_read
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import Path, loads, stmt_exprs, subexprs
from loopdiff.model import tuning


def shareable(needed: Needed) -> Copies:
    """The copies that other recordings could read, too, of those that are made, and those that could be made for
    several of them, if less is kept then."""
    kept = {slot: frozenset(reads_of(needed, path, value)) for slot, path, value in recorded(needed)}
    arrays = {access.array for reads in kept.values() for _, access in reads}
    ends = frozenset((array, path) for array, path in needed.snapshots if path and array in arrays)
    if needed.policy in ("store", "rows"):
        return Copies(ends, {})
    kept = {slot: frozenset(read for read in reads if is_lost(needed, read)) for slot, reads in kept.items()}
    if not any(kept.values()):
        return Copies(ends, {})
    for slot, read in chosen_between(needed):
        kept[slot] = kept.get(slot, frozenset()) | {read}
    found = dict.fromkeys(read for reads in kept.values() for read in sorted(reads, key=lambda r: (r[0], str(r[1]))))
    scopes = (needed.owner_of(access.array, path) for path, access in found)
    versions = versions_read(needed.facts, zip(found, scopes, strict=True))
    covered = (slot for slot, reads in kept.items() if reads and reads <= versions.keys())
    spared = sum(needed.tape.weight_of(needed.tape.array(slot.name).extents or ()) for slot in covered)
    spared -= weight_of_versions(needed, set(versions.values()))
    return Copies(ends, versions if spared > tuning.LIGHTER_BY * needed.tape.weight else {})


def recorded(needed: Needed) -> Iterator[tuple[Slot, Path, ir.Expr]]:
    """What is recorded, in which slots."""
    yield from ((slot, path, value) for (path, value, _), slot in needed.recorded.slots.items() if path)
    for name, slot in needed.recorded_lets.items():
        site = needed.facts.lets[name]
        yield from ((slot, site.path, value) for value in stmt_exprs(site.stmt))


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
    return isinstance(needed.provider(access, At(path)), Ahead | AtUse)


def chosen_between(needed: Needed) -> Iterator[tuple[Slot, Read]]:
    """Reads, in branches of conditions, of arrays that are copied as an iteration ends, whatever the branch."""
    for (path, access), loop in needed.from_ends.items():
        if loop and is_in_branch(needed, path, len(loop)):
            yield needed.snapshots[access.array, loop], (path, access)


def is_in_branch(needed: Needed, path: Path, depth: int) -> bool:
    """Whether the statement at `path` is in a branch, in the iteration of the loop that is so deep around it."""
    around = (needed.facts.sites[path[:k]].stmt for k in range(depth + 1, len(path)))
    return any(isinstance(s, ir.If) for s in around)


# -- weights -------------------------------------------------------------------------------------------------
def weight_of_versions(needed: Needed, versions: Collection[ArrayVersion]) -> float:
    """How much copies of `versions` keep, of which those in different branches share a tape."""
    groups: list[list[ArrayVersion]] = []
    for version in sorted(versions, key=lambda v: (v.path, v.array)):
        group = next((g for g in groups if all(is_never_with(needed, version, other) for other in g)), None)
        if group is None:
            groups.append([version])
        else:
            group.append(version)
    return sum(needed.tape.weight_of(extents_of_version(needed, group[0])) for group in groups)


def extents_of_version(needed: Needed, version: ArrayVersion) -> tuple[ir.Expr, ...]:
    """Those of copies of `version`, an unknown one for a loop that data ends."""
    tape, scope = needed.tape, needed.owner_of(version.array, version.path)
    around = [p for p, _ in tape.loops(version.path, scope)]
    lengths = (tape.segment_length(p) if p == scope else needed.facts.trip_hull(p) for p in around)
    return (*(ir.Dim(version.array, 0) if n is None else n for n in lengths), *version.sizes)


def is_never_with(needed: Needed, one: ArrayVersion, other: ArrayVersion) -> bool:
    same_loops = needed.facts.loops_around(one.path) == needed.facts.loops_around(other.path)
    return same_loops and one.sizes == other.sizes and are_exclusive(needed.facts, one.path, other.path)
