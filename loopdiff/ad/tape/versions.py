"""Versions: what arrays are when a statement begins, copied as far as it is read, in place of what each read sees.

    for t:                                              for t:
        for i: g[i] = f[p[i]] * f[q[i]]      copies         for j: tape[t, j] = f[j]
        for i: f[i] = g[i]                                  for i: g[i] = f[p[i]] * f[q[i]]
                                                            for i: f[i] = g[i]

A read of an element sees the version of its array at a statement around it if nothing inside of that statement writes
the element before the read: value-based flow (Feautrier, "Dataflow analysis of array and scalar references", IJPP 1991)
says so, one element at a time. What a triangular product overwrites in place, row by row, is read as it was at first.
Likewise it sees the version behind that statement, if nothing inside writes the element after the read: the scores that
a loop makes, and finds the greatest of, are those that the next loop takes exponentials of. Where an iteration reads
one row of an array, the version is of that row.

A copy is made only where loops that read it are known to have about as many iterations as it has elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from itertools import takewhile
from math import prod
from typing import TypeVar

from loopdiff.ad.facts import Facts
from loopdiff.ad.tape.carriers import Read, carrier_among
from loopdiff.ad.tape.parts import Parts, is_no_greater, is_within, joined, parts_read
from loopdiff.ad.tape.plan import Loops, Scope
from loopdiff.analysis.strides import coefficient
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.affine import folded, is_index_arithmetic, linear
from loopdiff.ir.build import add, extents_of, integer, sub
from loopdiff.ir.ops import Op
from loopdiff.ir.slicing import names_in
from loopdiff.ir.types import INT
from loopdiff.ir.walk import Path, common_prefix, indices_in, substitute
from loopdiff.model import tuning

T = TypeVar("T")
Sizes = tuple[ir.Expr, ...]


@immutable
class ArrayVersion:
    """The array as it is whenever the statement at `path` begins, at the subscripts `row` of its first axes: its first
    elements, so many along each of the others, and of these the `parts` that are read in an iteration of the loops
    around. `place`: where it is first what it is at `path`; `carrier`: the read that a copy is made with, element
    by element, if there is such a one."""

    array: str
    path: Path
    sizes: Sizes
    parts: Parts
    row: Sizes = ()
    place: Path = ()
    carrier: Read | None = None


Versions = Mapping[Read, ArrayVersion]


@immutable
class Copies:
    """Arrays that are copied: at the `ends` of iterations of loops, and in `versions`, each for some reads."""

    ends: frozenset[tuple[str, Path]]
    versions: Versions

    @property
    def made(self) -> tuple[ArrayVersion, ...]:
        """The versions that are copied."""
        return tuple(dict.fromkeys(self.versions.values()))


NO_COPIES = Copies(frozenset(), {})


@immutable
class Seen:
    """How the statement at `path` reads the version at `place`, or a `row` of it: by `access`, which needs these
    `sizes` of it, and in one iteration these `parts`. A copy for this read alone would be `no_gain`; `is_rider`: it may
    read much less than that, so others must be the reason for a copy."""

    path: Path
    access: ir.Access
    place: Path
    sizes: Sizes
    parts: Parts
    row: Sizes = ()
    no_gain: bool = False
    is_rider: bool = False


def versions_read(facts: Facts, reads: Iterable[tuple[Read, Scope]]) -> Versions:
    """The versions that `reads`, each in a scope, could find in place of what is recorded for each."""
    found: dict[tuple[str, Path, Sizes], list[Seen]] = {}
    for (at, access), scope in reads:
        seen = smallest_version(facts, at, access, scope)
        if seen is not None:
            found.setdefault((access.array, seen.place, seen.row), []).append(seen)
    versions: dict[Read, ArrayVersion] = {}
    for (array, place, row), together in found.items():
        reasons = [s for s in together if not s.is_rider]
        sizes = greater_sizes(facts, array, [s.sizes for s in reasons]) if reasons else ()
        seen_by = [s for s in together if not s.is_rider or holds(facts, array, sizes, s.sizes)] if reasons else []
        if len(seen_by) > 1 or (seen_by and not seen_by[0].no_gain):
            parts = joined(s.parts for s in seen_by)
            path = sunk(facts, array, place, [s.path for s in seen_by])
            carrier = carrier_among(facts, path, ((s.path, s.access) for s in seen_by), parts, len(row))
            version = ArrayVersion(array, path, sizes, parts, row, place, carrier)
            versions |= {(s.path, s.access): version for s in seen_by}
    return versions


def copy_seen(facts: Facts, path: Path, access: ir.Access, scope: Scope, copies: Copies) -> ArrayVersion | None:
    """The version that copies are made of, in which the statement at `path` finds what it reads in `access`."""
    if (path, access) in copies.versions:
        return copies.versions[path, access]
    alike = [v for v in copies.made if v.array == access.array]
    seen = smallest_version(facts, path, access, scope) if alike else None
    if seen is None:
        return None
    return next((v for v in alike if is_seen_in(facts, v, seen)), None)


def is_seen_in(facts: Facts, version: ArrayVersion, seen: Seen) -> bool:
    """Whether copies of `version` are made whenever what has `seen` it runs, and hold all that this reads."""
    is_same = (version.place, version.row) == (seen.place, seen.row)
    is_made = seen.path[: len(version.path) - 1] == version.path[:-1] and version.path <= seen.path
    if not (is_same and is_made) or are_exclusive(facts, version.path, seen.path):
        return False
    return all(map(is_within, seen.parts, version.parts)) and holds(facts, version.array, version.sizes, seen.sizes)


def smallest_version(facts: Facts, path: Path, access: ir.Access, scope: Scope) -> Seen | None:
    """The version in which the statement at `path` finds what it reads in `access`: that of the whole array, unless
    copies of it have as many axes as the recordings that they replace, and those of a row have fewer."""
    whole = version_read(facts, path, access, scope)
    if whole is not None and not whole.is_rider and axes_of(facts, whole) < len(facts.loops_around(path)):
        return whole
    nearer = nearer_version(facts, path, access, scope) if access.subscripts else None
    if whole is None or nearer is None:
        return whole or nearer
    return nearer if whole.is_rider or axes_of(facts, nearer) < axes_of(facts, whole) else whole


def axes_of(facts: Facts, seen: Seen) -> int:
    """How many axes a tape of its copies has, but for short ones."""
    return len(facts.loops_around(seen.place)) + sum(not isinstance(size, ir.Const) for size in seen.sizes)


def version_read(facts: Facts, path: Path, access: ir.Access, scope: Scope) -> Seen | None:
    """The version, of the outermost statement in `scope` around the one at `path`, in which that finds what it reads in
    `access`."""
    for length in range(1 + len(scope or ()), len(path) + 1):
        place = path[:length]
        if not facts.is_written_within(place, path, access, False):
            known = sizes_read(facts, path, access, length)
            sizes = bounds_of(facts, path, access) if known is None else known
            parts = parts_read(facts, path, access.subscripts, length)
            return Seen(path, access, first_alike(facts, access.array, place), sizes, parts, is_rider=known is None)
    return None


def nearer_version(facts: Facts, path: Path, access: ir.Access, scope: Scope) -> Seen | None:
    """The like, of a row that is the same throughout a statement, or behind that statement."""
    for length in range(1 + len(scope or ()), len(path)):
        row = row_read(facts, path, access, length)
        known = sizes_read(facts, path, access, length, len(row))
        if known is None:
            continue
        place: Path | None = path[:length]
        if facts.is_written_within(path[:length], path, access, False):
            place = next_after(facts, path[:length])
            if place is None or facts.is_written_within(path[:length], path, access, True):
                continue
        loops = sum(len(p) >= length for p, _ in facts.loops_around(path))
        parts = parts_read(facts, path, access.subscripts[len(row) :], length)
        return Seen(path, access, first_alike(facts, access.array, place), known, parts, row, loops <= len(known))
    return None


def are_copies_small(facts: Facts, access: ir.Access, inner: Loops) -> bool:
    """Whether copies of an array have no more elements than recordings of what is read in `access`, in each iteration
    of what is around the loops `inner`: by the axes and these loops, of each of which one is taken for as long as
    another. Short axes that a loop runs over together with others, as where a reshape is read, are none beside them,
    where there is a loop that reads the same again."""
    rank, indices = len(access.subscripts), [indices_in(s) for s in access.subscripts]
    if not inner or rank <= len(inner):
        return bool(inner)
    if any(names_in(s) for s in access.subscripts):
        return False
    extents = extents_of(facts.ls.array(access.array))
    is_long = [not (isinstance(n, ir.Const) and (n.value == 1 or i)) for n, i in zip(extents, indices, strict=True)]
    used = frozenset[str]().union(*indices)
    return sum(is_long) < len(inner) and any(loop.index not in used for _, loop in inner)


# -- where a copy is made ------------------------------------------------------------------------------------
def first_alike(facts: Facts, array: str, place: Path) -> Path:
    """The first statement of the block before which `array` is what it is before the one at `place`."""
    *block, number = place
    around = facts.sites[tuple(block)].stmt if block else None
    first = len(around.then) if isinstance(around, ir.If) and number >= len(around.then) else 0
    while number > first and not is_barrier(facts, array, (*block, number - 1)):
        number -= 1
    return (*block, number)


def next_after(facts: Facts, place: Path) -> Path | None:
    """The statement after the one at `place` in its block, of which there may be none."""
    *block, number = place
    around = facts.sites[tuple(block)].stmt if block else None
    if isinstance(around, ir.If) and number + 1 == len(around.then):
        return None
    following = (*block, number + 1)
    return following if following in facts.sites else None


def is_barrier(facts: Facts, array: str, path: Path) -> bool:
    return isinstance(facts.sites[path].stmt, ir.Exit) or array in facts.written(path)


def sunk(facts: Facts, array: str, place: Path, paths: list[Path]) -> Path:
    """`place`, or one in the branch of a condition behind it in which all the statements at `paths` are. In a condition
    ahead of it, the array is not yet what it is there."""
    shared = reduce(common_prefix, paths)
    if shared[: len(place)] < place:
        return place
    for length in range(len(place), len(shared) + 1):
        around = facts.sites[shared[:length]].stmt
        if not isinstance(around, ir.If) or any(len(path) == length for path in paths):
            break
        inside = [path[length] for path in paths]
        if any(k < len(around.then) for k in inside) and any(k >= len(around.then) for k in inside):
            break
        place = first_alike(facts, array, (*shared[:length], min(inside)))
    return place


def are_exclusive(facts: Facts, one: Path, other: Path) -> bool:
    """Whether two statements are in different branches of a condition."""
    shared = common_prefix(one, other)
    around = facts.sites[shared].stmt if shared else None
    if not isinstance(around, ir.If) or len(shared) == min(len(one), len(other)):
        return False
    return (one[len(shared)] < len(around.then)) != (other[len(shared)] < len(around.then))


def never_with(
    facts: Facts, version: ArrayVersion, copied: Mapping[ArrayVersion, T], is_alike: Callable[[T], bool]
) -> T | None:  # fmt: skip
    """The tape, if `is_alike` says that it is as large, of versions that no iteration copies that copies `version`."""
    users: dict[T, list[Path]] = {}
    for other, tape in copied.items():
        users.setdefault(tape, []).append(other.path)
    found = (tape for tape, paths in users.items() if all(are_exclusive(facts, version.path, p) for p in paths))
    return next(filter(is_alike, found), None)


# -- how large it is -----------------------------------------------------------------------------------------
def row_read(facts: Facts, path: Path, access: ir.Access, depth: int) -> Sizes:
    """The first subscripts of `access`, read at `path`, that are the same throughout the statement so deep around it,
    and surely those of elements; not all of them."""
    outside = {loop.index: p for p, loop in facts.loops_around(path) if len(p) < depth}
    extents = extents_of(facts.ls.array(access.array))
    pairs = zip(access.subscripts[:-1], extents, strict=False)
    return tuple(s for s, _ in takewhile(lambda pair: is_inside(facts, *pair, outside), pairs))


def is_inside(facts: Facts, subscript: ir.Expr, extent: ir.Expr, loops: Mapping[str, Path]) -> bool:
    """Whether `subscript`, which counts with one of `loops`, is surely less than `extent` and not negative."""
    used = indices_in(subscript)
    if len(used) != 1 or not used <= loops.keys():
        return False
    (index,) = used
    hull, sign = facts.index_hull(loops[index]), coefficient(subscript, index)
    if hull is None or sign not in (1, -1):
        return False
    least, greatest = (substitute(subscript, {ir.Index(index): end}) for end in hull[::sign])
    (terms, below), (others, left) = linear(least), linear(sub(extent, greatest))
    return not (terms or others) and below >= 0 and left >= 1


def sizes_read(facts: Facts, path: Path, access: ir.Access, depth: int, first: int = 0) -> Sizes | None:
    """How many elements along each axis from the `first` on a copy for a read at `path` has, by the loops inside of the
    statement so deep around it; None if it may have many more than the loops have iterations, but for a few along an
    axis."""
    loops = {loop.index: p for p, loop in facts.loops_around(path) if len(p) >= depth}
    extents = extents_of(facts.ls.array(access.array))[first:]
    found: dict[int, ir.Expr] = {}
    passed: set[int] = set()
    for axis, subscript in enumerate(access.subscripts[first:]):
        size, used = size_by_loop(facts, path, subscript, loops)
        if size is not None:
            found[axis] = size
            loops = {index: p for index, p in loops.items() if index not in used}
            passed |= {axis} if used else set()
    for axis, extent in enumerate(extents):
        if axis in found:
            continue
        index = next((i for i, p in loops.items() if is_as_long(facts.trip_hull(p), extent)), None)
        if index is None and not isinstance(extent, ir.Const):
            return None
        loops = {i: p for i, p in loops.items() if i != index}
        found[axis] = extent
        passed |= set() if index is None else {axis}
    sizes = tuple(found[axis] for axis in range(len(extents)))
    few = prod(int(s.value) for axis, s in enumerate(sizes) if isinstance(s, ir.Const) and axis not in passed)
    return sizes if few <= tuning.COPIED_SURPLUS else None


def size_by_loop(
    facts: Facts, path: Path, subscript: ir.Expr, loops: Mapping[str, Path]
) -> tuple[ir.Expr | None, frozenset[str]]:  # fmt: skip
    """How many elements, from 0 on, a subscript runs through that counts with one of `loops` or stands still, and that
    loop; None of another one."""
    if isinstance(subscript, ir.Const):
        return integer(int(subscript.value) + 1), frozenset()
    used = indices_in(subscript) & loops.keys()
    if len(used) != 1:
        return None, used
    (index,) = used
    last = greatest(facts, path, subscript)
    if last is None or coefficient(subscript, index) not in (1, -1):
        return None, used
    size = folded(add(last, integer(1)), INT)
    return (size if is_as_long(facts.trip_hull(loops[index]), size) else None), used


def greatest(facts: Facts, path: Path, subscript: ir.Expr) -> ir.Expr | None:
    """What a subscript at `path` never exceeds, by the loops that it counts with; None if that is not known."""
    if not is_index_arithmetic(subscript):
        return None
    ends: dict[ir.Expr, ir.Expr] = {}
    for place, loop in facts.loops_around(path):
        sign = coefficient(subscript, loop.index)
        if sign == 0:
            continue
        hull = facts.index_hull(place)
        if hull is None or sign is None:
            return None
        ends[ir.Index(loop.index)] = hull[1] if sign > 0 else hull[0]
    return substitute(subscript, ends)


def is_as_long(hull: ir.Expr | None, extent: ir.Expr) -> bool:
    """Whether a loop of `hull` iterations goes through an axis of that extent, but for a few elements at its ends."""
    match hull:
        case None:
            return False
        case ir.Apply(op=Op.MAX, args=(ir.Const(value=0), trips)):
            return is_as_long(trips, extent)
        case _:
            terms, constant = linear(sub(hull, extent))
            return not terms and constant >= -tuning.COPIED_EDGES


def bounds_of(facts: Facts, path: Path, access: ir.Access) -> Sizes:
    """So many elements along each axis are enough for a read at `path`."""
    found: list[ir.Expr] = []
    for subscript, extent in zip(access.subscripts, extents_of(facts.ls.array(access.array)), strict=True):
        last = greatest(facts, path, subscript)
        found.append(extent if last is None else folded(add(last, integer(1)), INT))
    return tuple(found)


def holds(facts: Facts, array: str, sizes: Sizes, needed: Sizes) -> bool:
    """Whether copies of these `sizes` of `array`, or of rows of it, have as many elements as are `needed` along each
    axis, or all that there are."""
    extents = extents_of(facts.ls.array(array))
    extents = extents[len(extents) - len(sizes) :]
    axes = zip(sizes, needed, extents, strict=True)
    return all(is_enough(size, least) or is_enough(size, extent) for size, least, extent in axes)


def is_enough(size: ir.Expr, needed: ir.Expr) -> bool:
    """Whether `size` is surely no less than `needed`."""
    if isinstance(size, ir.Apply) and size.op is Op.MAX:
        return any(is_enough(part, needed) for part in size.args)
    return is_no_greater(needed, size)


def greater_sizes(facts: Facts, array: str, needed: list[Sizes]) -> Sizes:
    """The sizes that are enough for all of those `needed`."""
    extents, found = extents_of(facts.ls.array(array)), list[ir.Expr]()
    extents = extents[len(extents) - len(needed[0]) :]
    for extent, several in zip(extents, zip(*needed, strict=True), strict=True):
        is_few = isinstance(extent, ir.Const) and extent.value <= tuning.COPIED_SURPLUS
        found.append(extent if is_few or extent in several else greatest_of(dict.fromkeys(several)))
    return tuple(found)


def greatest_of(sizes: Iterable[ir.Expr]) -> ir.Expr:
    """The maximum of `sizes`, without those that are surely no greater than another one."""
    found: list[ir.Expr] = []
    for size in sizes:
        if not any(is_enough(other, size) for other in found):
            found = [*(other for other in found if not is_enough(size, other)), size]
    return found[0] if len(found) == 1 else ir.Apply(Op.MAX, tuple(found))
