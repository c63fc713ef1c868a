"""Sums of a nest that meet in an array, apart: an array for each place that iterations add to, or a scalar.

    for i: for k:                                x_1 = zeros
        (a recurrence along k)                   for i: for k:
        x[i, k] += u                                 x[i, k] += u
        x[i + 1, k] += v             becomes         x_1[i + 1, k] += v
                                                 for i: for k: x[i, k] += x_1[i, k]; x_1[i, k] = 0.0

Iterations of `i` have no element in common then, and are threads; so it is with `x[i]` and `x[n - i]`. Adjoints of
columns that look at their neighbours are such nests: what is between the sums keeps them from gather form. Where all
add to the same element, `x[t] += v`, they sum in a scalar, and that goes there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from loopdiff.analysis.polyhedral.model import Model, build_model
from loopdiff.analysis.strides import coefficient
from loopdiff.errors import Span
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import all_of, compare, extents_of, integer, nested, over_elements, zero
from loopdiff.ir.names import NameSupply, supply
from loopdiff.ir.ops import Op
from loopdiff.ir.types import ArrayType
from loopdiff.ir.walk import (
    Path,
    all_statements,
    exchanged,
    indices_in,
    lets_in,
    loads_of,
    loops_in,
    map_body,
    subexprs,
    written_arrays,
)
from loopdiff.mapping.grids import Grid
from loopdiff.schedule.gpu.grid_mapper import GridMapper, Mapped, perfect_nest
from loopdiff.schedule.gpu.host_values import is_extent, is_on_host, names_made, names_used
from loopdiff.schedule.gpu.split_sums import when_there
from loopdiff.settings.requests import Requests

Names = frozenset[str]
T = TypeVar("T")
MOST_PLACES = 4  # arrays for one


@immutable
class Candidate:
    """A nest at `path` that is a kernel with that `grid`."""

    nest: ir.Loop
    path: Path
    grid: Grid


@immutable
class Apart:
    """New names for what a nest adds to: of `arrays` of their own by array and subscript along a loop, and of cells by
    the `elements` that they are for, with whether anything is added there."""

    index: str
    arrays: dict[tuple[str, ir.Expr], Part]
    elements: dict[ir.Access, tuple[str, ir.Expr]]


@immutable
class Part:
    """An array for what a nest adds to elements of another one at some place, with an axis for each of its subscripts
    that changes in the nest. `fixed` are the others, by axis."""

    name: str
    fixed: Mapping[int, ir.Expr]

    def of(self, each: Sequence[T]) -> tuple[T, ...]:
        """Of something for each axis of the other array, that for the axes of this one."""
        return tuple(e for axis, e in enumerate(each) if axis not in self.fixed)


def part_sums(model: Model, dead: Names, requests: Requests) -> Model:
    """The model of a LoopSet in which sums of a nest are apart where that makes more threads, or spares lists and
    copies. Nobody looks at the `dead` arrays before or after; sums may be added up in another order."""
    tried: list[ir.Loop] = []
    while (found := next(candidates(GridMapper(model, dead, True, requests), tried), None)) is not None:
        tried.append(found.nest)
        for apart in ways(model.ls, found):
            new = build_model(with_sums_apart(model.ls, found, apart))
            path, nest = place_of(new, found.nest)
            mapped = GridMapper(new, dead, True, requests).mapped(nest, path)
            if isinstance(mapped, Mapped) and is_better(mapped.grid, found.grid):
                model = new
                tried.append(nest)
                break
    return model


def place_of(model: Model, nest: ir.Loop) -> tuple[Path, ir.Loop]:
    """Where the loop is that has the index of `nest`, and what has become of it."""
    return next(
        (p, s.stmt) for p, s in model.sites.items() if isinstance(s.stmt, ir.Loop) and s.stmt.index == nest.index
    )


def is_better(new: Grid, old: Grid) -> bool:
    """Whether a grid has more threads, or as many that need fewer lists and copies."""
    fewer = len(new.lists) + len(new.copies) < len(old.lists) + len(old.copies)
    return len(new.axes) > len(old.axes) or (len(new.axes) == len(old.axes) and fewer)


def candidates(mapper: GridMapper, tried: Sequence[ir.Loop]) -> Iterator[Candidate]:
    def inside(body: tuple[ir.Stmt, ...], prefix: Path) -> Iterator[Candidate]:
        for number, stmt in enumerate(body):
            path = (*prefix, number)
            if not isinstance(stmt, ir.Loop) or any(stmt is t for t in tried):
                continue
            found = mapper.mapped(stmt, path)
            if isinstance(found, str):
                yield from inside(stmt.body, path)
            else:
                yield Candidate(stmt, path, found.grid)

    return inside(mapper.model.ls.body, ())


def ways(ls: ir.LoopSet, found: Candidate) -> Iterator[Apart]:
    """What may be apart in a nest: sums into single elements, then those that meet along one of its outermost loops."""
    nest, names = found.nest, supply(ls)
    sums = sums_only(nest)
    single: dict[ir.Access, tuple[str, ir.Expr]] = {}
    for name in (*found.grid.lists, *found.grid.copies):
        runs = when_added_to(nest, sums.get(name, []))
        if runs is not None:
            single[sums[name][0]] = names.fresh(f"{name}_sum"), runs
    if single:
        yield Apart("", {}, single)
    for loop, _, _ in perfect_nest(nest, found.path, written_arrays(nest.body)):
        if len(found.path) > 1 and not (is_extent(loop.lower) and is_extent(loop.upper)):
            continue  # it may be a block of few of the rows, all of which would be added up for each of them
        arrays: dict[tuple[str, ir.Expr], Part] = {}
        for name, targets in sums.items():
            places = places_along(targets, loop.index)
            fixed = fixed_axes(nest, targets)
            if places is not None and fixed is not None and 1 < len(places) <= MOST_PLACES:
                arrays |= {(name, place): Part(names.fresh(f"{name}_apart"), fixed) for place in places[1:]}
        if arrays:
            yield Apart(loop.index, arrays, {})


def sums_only(nest: ir.Loop) -> dict[str, list[ir.Access]]:
    """The elements that a nest adds to, of arrays with which it does nothing else."""
    stmts = [s for s in all_statements((nest,)) if not isinstance(s, ir.Loop | ir.If)]
    others = {load.access.array for s in all_statements((nest,)) for load in loads_of(s)}
    found: dict[str, list[ir.Access]] = {}
    for stmt in stmts:
        if isinstance(stmt, ir.Accumulate) and stmt.op == "add" and stmt.target.subscripts:
            found.setdefault(stmt.target.array, []).append(stmt.target)
        else:
            others |= written_arrays((stmt,))
    return {name: targets for name, targets in found.items() if name not in others}


def when_added_to(nest: ir.Loop, targets: list[ir.Access]) -> ir.Expr | None:
    """When a nest adds something to the one element that it adds to; None if there are others, or nobody knows."""
    inner = {p.index for p in loops_in((nest,))} | lets_in((nest,))
    parts = [e for t in targets for s in t.subscripts for e in subexprs(s)]
    if any(isinstance(e, ir.Load) or (isinstance(e, ir.Index | ir.Var) and e.name in inner) for e in parts):
        return None
    return when_there(nest, targets[0]) if len(targets) == 1 else None


def fixed_axes(nest: ir.Loop, targets: list[ir.Access]) -> dict[int, ir.Expr] | None:
    """The axes along which all targets are at one place during the whole nest, and where that is; None if nobody can
    say, or only after the nest. A part with these axes would take as long as the array for each run of the nest."""
    fixed: dict[int, ir.Expr] = {}
    made = names_made((nest,)) | written_arrays(nest.body)
    for axis, places in enumerate(zip(*(t.subscripts for t in targets), strict=True)):
        if any(not names_used((p,)) & made and not is_on_host(p, made) for p in places):
            return None
        if not names_used(places) & made and len(set(places)) == 1:
            fixed[axis] = places[0]
    return fixed


def places_along(targets: list[ir.Access], index: str) -> list[ir.Expr] | None:
    """The subscripts by which iterations of a loop add to elements of their own; None if some do not."""
    places = [place_along(t, index) for t in targets]
    return None if None in places else list(dict.fromkeys(p for p in places if p is not None))


def place_along(access: ir.Access, index: str) -> ir.Expr | None:
    moving = [s for s in access.subscripts if index in indices_in(s)]
    return moving[0] if len(moving) == 1 and abs(coefficient(moving[0], index) or 0) == 1 else None


def with_sums_apart(ls: ir.LoopSet, found: Candidate, apart: Apart) -> ir.LoopSet:
    """`ls` with the sums of a nest apart."""
    names = supply(ls)
    new_names = (*(p.name for p in apart.arrays.values()), *(cell for cell, _ in apart.elements.values()))
    names = NameSupply({*names.taken, *new_names})

    def moved(stmt: ir.Stmt) -> tuple[ir.Stmt, ...]:
        if not isinstance(stmt, ir.Accumulate):
            return (stmt,)
        if stmt.target in apart.elements:
            return (replace(stmt, target=ir.Access(apart.elements[stmt.target][0], loc=stmt.loc)),)
        place = place_along(stmt.target, apart.index) if apart.index else None
        part = None if place is None else apart.arrays.get((stmt.target.array, place))
        if part is None:
            return (stmt,)
        return (replace(stmt, target=ir.Access(part.name, part.of(stmt.target.subscripts), loc=stmt.loc)),)

    loc, decls = found.nest.loc, list[ir.ArrayDecl]()
    before, after, first = list[ir.Stmt](), list[ir.Stmt](), list[ir.Stmt]()
    for target, (cell, runs) in apart.elements.items():
        kind = ls.array(target.array).type
        assert kind is not None
        decls.append(ir.ArrayDecl(cell, ArrayType(kind.dtype, 0), "local", ()))
        before.append(ir.Assign(ir.Access(cell), zero(kind.element), loc=loc))
        added = ir.Accumulate("add", target, ir.Load(ir.Access(cell)), loc=loc)
        after.append(ir.If(runs, (added,), loc=loc))
    for (name, _), part in apart.arrays.items():
        decl = ls.array(name)
        assert decl.type is not None
        kind = replace(decl.type, layout="C", rank=decl.type.rank - len(part.fixed))
        decls.append(ir.ArrayDecl(part.name, kind, "local", part.of(extents_of(decl))))
        first.append(ir.Allocate(part.name, zero(decl.type.element), loc=loc))
        after.append(brought(decl, part, names, loc))
    new = exchanged(ls.body, {found.path: (*before, *map_body((found.nest,), moved), *after)})
    top = found.path[0]
    return replace(ls, arrays=(*ls.arrays, *decls), body=(*new[:top], *first, *new[top:]))


def brought(decl: ir.ArrayDecl, part: Part, names: NameSupply, loc: Span) -> ir.Stmt:
    """The loops that add a part to its array, where that has such elements, and leave zeros there."""
    loops, place = over_elements(extents_of(decl), names, loc=loc)
    own = ir.Access(part.name, part.of(place))
    there = tuple(part.fixed.get(axis, index) for axis, index in enumerate(place))
    assert decl.type is not None
    added = ir.Accumulate("add", ir.Access(decl.name, there), ir.Load(own), loc=loc)
    body = nested(part.of(loops), (added, ir.Assign(own, zero(decl.type.element), loc=loc)))
    inside = [
        c
        for axis, e in part.fixed.items()
        for c in (compare(Op.GE, e, integer(0)), compare(Op.LT, e, extents_of(decl)[axis]))
    ]
    return ir.If(all_of(inside), body, loc=loc) if inside else body[0]
