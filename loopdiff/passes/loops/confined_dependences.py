"""Index-set splitting at dependences that are confined to one iteration: it runs apart, and those before it, and after.

    for j in range(n):                                      for j in range(0, k): ...
        w[i, j] = min(w[i, j], w[i, k] + w[k, j])  becomes  w[i, k] = min(w[i, k], w[i, k] + w[k, k])
                                                            for j in range(k + 1, n): ...

Where some iterations meet what stays in one place, `w[i, k]`, and one iteration moves over that place, it alone stands
between the others: the weak-zero dependences of Goff, Kennedy and Tseng ("Practical dependence testing", PLDI 1991),
split as by Griebl, Feautrier and Lengauer ("Index set splitting", 2000). All iterations stay in their order. A loop is
split where the dependences then let each of its parts be a vector, and did not before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import field

from loopdiff.analysis.legality import AnyOrder, is_legal
from loopdiff.analysis.ownership import owned_cells
from loopdiff.analysis.polyhedral.model import Model, build_model, index_hull
from loopdiff.analysis.strides import coefficient, dense_axis, varying_names
from loopdiff.canonical.index_set_splitting import is_sum
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.affine import added, from_linear, linear
from loopdiff.ir.build import add, all_of, compare, integer, is_descending, is_unit_step, sub
from loopdiff.ir.names import NameSupply, supply
from loopdiff.ir.ops import Op
from loopdiff.ir.renaming import body_at, renamed_block, renamed_names
from loopdiff.ir.types import INT
from loopdiff.ir.walk import (
    Path,
    accesses,
    all_statements,
    exchanged,
    lets_in,
    loads,
    statements,
    subexprs,
    written_access,
)

MOST_INSIDE = 40  # statements of a body of which there are to be three
MOST_ADDED = 160  # by all copies of a function
MOST_POINTS = 3  # that are tried of one loop
LEAST_TRIPS = 16  # of a loop that is split, if it is known how many it has


def split_at_dependences(ls: ir.LoopSet, is_strict: bool = False) -> ir.LoopSet:
    """`ls` with innermost loops whose dependences one iteration stands between in three parts, two of them vectors."""
    found = {s.path: p for s in statements(ls.body) if isinstance(s.stmt, ir.Loop) and (p := points_of(s.stmt, ls))}
    if not found:
        return ls
    model = build_model(ls)
    found = {path: points for path, points in found.items() if not is_free(model, path, is_strict)}
    kept: dict[Path, ir.Expr] = {}
    for number in range(MOST_POINTS):
        tried = {path: points[number] for path, points in found.items() if path not in kept and len(points) > number}
        kept |= those_freed(model, tried, is_strict) if tried else {}
    return Splitter(model, supply(ls)).with_parts(kept) if kept else ls


def those_freed(model: Model, tried: Mapping[Path, ir.Expr], is_strict: bool) -> dict[Path, ir.Expr]:
    """Those loops, with the iterations where they were tried to be split, of which both parts are vectors."""
    splitter = Splitter(model, supply(model.ls))
    after = build_model(splitter.with_parts(tried))
    places = {s.index: path for path, site in after.sites.items() if isinstance(s := site.stmt, ir.Loop)}
    return {
        path: point
        for path, point in tried.items()
        if path in splitter.parts and all(is_free(after, places[i], is_strict) for i in splitter.parts[path])
    }


def is_free(model: Model, path: Path, is_strict: bool) -> bool:
    """Whether iterations of the loop at `path` may come in any order."""
    return is_legal(model, AnyOrder(path, owned_cells(model, path)), is_strict=is_strict)


# -- where to split ------------------------------------------------------------------------------------------
def points_of(loop: ir.Loop, ls: ir.LoopSet) -> list[ir.Expr]:
    """The iterations of `loop`, innermost and of unit step, that move along an array over what others of its accesses
    to that array stay at."""
    body = all_statements(loop.body)
    if (
        not is_unit_step(loop)
        or is_short(loop)
        or len(body) > MOST_INSIDE
        or not all(isinstance(s, PLAIN) for s in body)
    ):
        return []
    changed = [access for s in body if (access := written_access(s)) is not None]
    if {e.array for e in loads_of_bounds(loop)} & {access.array for access in changed}:
        return []
    written = {access.array for access in changed if access.subscripts}
    by_array: dict[str, list[ir.Access]] = {}
    for access in dict.fromkeys(a for s in body for a in accesses(s) if a.array in written):
        by_array.setdefault(access.array, []).append(access)
    if not any(len(found) > 1 for found in by_array.values()):
        return []
    inside = varying_names(loop) | lets_in(loop.body)
    points = (p for found in by_array.values() for p in meetings(loop, found, inside, ls))
    return list(dict.fromkeys(points))[:MOST_POINTS]


def is_short(loop: ir.Loop) -> bool:
    terms, trips = linear(sub(loop.upper, loop.lower))
    return not terms and abs(trips) < LEAST_TRIPS


PLAIN = (ir.Let, ir.Assign, ir.Accumulate, ir.If)


def loads_of_bounds(loop: ir.Loop) -> Iterator[ir.Access]:
    """What the range of `loop`, which is evaluated once, is read from: the parts of the loop read it again."""
    return (load.access for bound in (loop.lower, loop.upper) for load in loads(bound))


def meetings(loop: ir.Loop, found: list[ir.Access], inside: frozenset[str], ls: ir.LoopSet) -> Iterator[ir.Expr]:
    """Iterations in which one of the accesses `found`, to one array, which moves from neighbour to neighbour, is where
    another one stays."""
    for moving in found:
        axis = dense_axis(moving, ls)
        if axis is None or coefficient(moving.subscripts[axis], loop.index) not in (1, -1):
            continue
        terms, offset = linear(moving.subscripts[axis])
        sign = terms.pop(ir.Index(loop.index), 0)
        for staying in found:
            place = staying.subscripts[axis]
            if abs(sign) == 1 and are_same_throughout((place, *terms), inside):
                others, constant = linear(place)
                point = {t: sign * n for t, n in added(others, terms, -1).items()}
                yield from_linear(point, sign * (constant - offset), loop.loc, INT)


def are_same_throughout(places: Collection[ir.Expr], inside: frozenset[str]) -> bool:
    """Whether `places` are sums of what is known before a loop in which the names `inside` vary, or are made."""
    names = (e.name for place in places for e in subexprs(place) if isinstance(e, ir.Index | ir.Var))
    return all(map(is_sum, places)) and not any(name in inside for name in names)


# -- the parts -----------------------------------------------------------------------------------------------
@immutable
class Splitter:
    """Puts loops of the program of `model` in parts; `parts`, the indices of the two loops that each has become."""

    model: Model
    names: NameSupply
    parts: dict[Path, tuple[str, str]] = field(default_factory=dict)
    cells: list[ir.ArrayDecl] = field(default_factory=list)

    def with_parts(self, points: Mapping[Path, ir.Expr]) -> ir.LoopSet:
        """The program with each of these loops split at its point, as far as there may be more statements."""
        room, found = MOST_ADDED, dict[Path, tuple[ir.Stmt, ...]]()
        for path, point in points.items():
            room -= 2 * len(all_statements(self.model.loop(path).body))
            if room >= 0:
                found[path] = self.split(path, point)
        ls = self.model.ls
        return replace(ls, body=exchanged(ls.body, found), arrays=(*ls.arrays, *self.cells))

    def split(self, path: Path, point: ir.Expr) -> tuple[ir.Stmt, ...]:
        """The loop at `path` up to the iteration `point`, that one if it is among its own, and the loop from there."""
        loop = self.model.loop(path)
        down, one = is_descending(loop), integer(1)
        nearest, farthest, next_one = (Op.MAX, Op.MIN, sub(point, one)) if down else (Op.MIN, Op.MAX, add(point, one))
        reaches, ends = (
            ((loop.lower, point), (point, add(loop.upper, one))),
            ((point, loop.lower), (loop.upper, next_one)),
        )
        tests = [pair for pair in (reaches if down else ends) if not self.is_at_least(path, *pair)]
        is_first, is_last = ((reaches if down else ends)[k] not in tests for k in range(2))
        before = replace(loop, upper=point if is_last else ir.Apply(nearest, (loop.upper, point)))
        alone = replace(loop, body=self.with_own_cells(path))
        (after,) = renamed_block((replace(loop, body=self.with_own_cells(path)),), self.names)
        assert isinstance(after, ir.Loop)
        after = replace(after, lower=next_one if is_first else ir.Apply(farthest, (loop.lower, next_one)))
        self.parts[path] = loop.index, after.index
        once = renamed_block(body_at(alone, point), self.names)
        if tests:
            once = (ir.If(all_of(compare(Op.GE, *pair) for pair in tests), once, loc=loop.loc),)
        return before, *once, after

    def is_at_least(self, path: Path, one: ir.Expr, other: ir.Expr) -> bool:
        """Whether `one` is surely not less than `other` at `path`, at the ends of the loops around it."""
        terms, least = linear(sub(one, other))
        for place in (path[:k] for k in range(len(path) - 1, 0, -1)):
            around = self.model.sites[place].stmt
            factor = terms.pop(ir.Index(around.index), 0) if isinstance(around, ir.Loop) else 0
            if factor:
                hull = index_hull(self.model, place)
                if hull is None:
                    return False
                more, constant = linear(hull[factor < 0])
                terms, least = added(terms, more, factor), least + factor * constant
        return not terms and least >= 0

    def with_own_cells(self, path: Path) -> tuple[ir.Stmt, ...]:
        """The body of the loop at `path` with other cells where each of its iterations has its own."""
        ls, new = self.model.ls, dict[str, str]()
        for cell in sorted(owned_cells(self.model, path)):
            new[cell] = self.names.fresh(cell)
            self.cells.append(replace(ls.array(cell), name=new[cell]))
        return renamed_names(self.model.loop(path).body, new)
