"""Max/min reductions as regions, so that ties share the cotangent whatever the order of evaluation.

A region is a run of statements in one block that touch one address of one array or cell only by `max=` (or only by
`min=`). Its derivative is defined on the region as a whole: every operand, the initial value included, that equals
the final value receives the same share of the cotangent. `mark_regions` makes the two values a region needs explicit
as Lets around it; the reverse and tangent transforms look them up by path.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from loopdiff.errors import InternalError
from loopdiff.ir.nodes import Access, Accumulate, If, Index, Let, Load, Loop, LoopSet, Stmt, Var
from loopdiff.ir.walk import (
    Path,
    children,
    loads,
    read_arrays,
    statements,
    subexprs,
    without_children,
    written_arrays,
)
from loopdiff.names import NameSupply
from loopdiff.transform.normalize import forward_cells, supply


@dataclass(frozen=True, slots=True)
class Region:
    """A run of statements below `block`, a path; `members` are the numbers of those that take part.

    `before` and `after` name the Lets that hold the target's value around the region.
    """

    block: Path
    members: tuple[int, ...]
    target: Access
    before: str
    after: str


def extrema(stmt: Stmt) -> list[Accumulate]:
    return [s.stmt for s in statements((stmt,)) if isinstance(s.stmt, Accumulate) and s.stmt.op in ("max", "min")]


def member_targets(stmt: Stmt) -> dict[str, tuple[Access, str]]:
    """Array -> (address, operation) for each array that `stmt` touches at one address by one kind of extremum only."""
    found = extrema(stmt)
    out: dict[str, tuple[Access, str]] = {}
    for array in {a.target.array for a in found}:
        mine = [a for a in found if a.target.array == array]
        target, op = mine[0].target, mine[0].op
        is_uniform = all(a.target == target and a.op == op for a in mine)
        is_alone = len(mine) == sum(1 for s in statements((stmt,)) if touches(s.stmt, array))
        reads_itself = any(e.access.array == array for a in mine for e in loads(a.value))
        if is_uniform and is_alone and is_fixed(target, stmt) and not (reads_itself and children(stmt)):
            out[array] = (target, op)
    return dict(sorted(out.items()))


def touches(stmt: Stmt, array: str) -> bool:
    """Whether the statement itself, children apart, reads, writes or allocates `array`."""
    bare = without_children(stmt)
    return array in read_arrays((bare,)) | written_arrays((bare,))


def is_fixed(target: Access, stmt: Stmt) -> bool:
    """Whether the address of `target` is the same throughout `stmt`."""
    inside = [s.stmt for s in statements((stmt,))]
    indices = {s.index for s in inside if isinstance(s, Loop)}
    lets = {s.name for s in inside if isinstance(s, Let)}
    written = written_arrays((stmt,))
    for node in (e for sub in target.subscripts for e in subexprs(sub)):
        match node:
            case Index(name=name) if name in indices:
                return False
            case Var(name=name) if name in lets:
                return False
            case Load(access=access) if access.array in written:
                return False
            case _:
                pass
    return True


def mark_regions(ls: LoopSet) -> tuple[LoopSet, tuple[Region, ...]]:
    """`ls` (normal) with a Let before and after every region, and the regions, paths in terms of the result."""
    names = supply(ls)
    marks: list[tuple[Access, str, str]] = []
    marked = replace(ls, body=mark_block(ls.body, frozenset(), names, marks))
    marked = forward_cells(marked)
    where = {s.stmt.name: s.path for s in statements(marked.body) if isinstance(s.stmt, Let)}
    regions: list[Region] = []
    for target, before, after in marks:
        block, first, last = where[before][:-1], where[before][-1], where[after][-1]
        inside = [s for s in statements(marked.body) if s.path[:-1] == block and first < s.path[-1] < last]
        members = tuple(s.path[-1] for s in inside if target.array in member_targets(s.stmt))
        regions.append(Region(block, members, target, before, after))
    return marked, tuple(regions)


def mark_block(
    body: tuple[Stmt, ...], covered: frozenset[str], names: NameSupply, marks: list[tuple[Access, str, str]]
) -> tuple[Stmt, ...]:
    """`body` marked for the arrays not in `covered`; what was marked is appended to `marks`."""
    targets = [{a: t for a, t in member_targets(s).items() if a not in covered} for s in body]
    out: list[Stmt] = []
    opened: dict[str, str] = {}
    for k, stmt in enumerate(body):
        before = targets[k - 1] if k else {}
        following = targets[k + 1] if k + 1 < len(body) else {}
        for array, (target, op) in targets[k].items():
            if before.get(array) != (target, op):
                opened[array] = names.fresh(f"{array}_before_{op}")
                out.append(Let(opened[array], Load(target, loc=stmt.loc), loc=stmt.loc))
        out.append(descend(stmt, covered | targets[k].keys(), names, marks))
        for array, (target, op) in targets[k].items():
            if following.get(array) != (target, op):
                after = names.fresh(f"{array}_after_{op}")
                out.append(Let(after, Load(target, loc=stmt.loc), loc=stmt.loc))
                marks.append((target, opened.pop(array), after))
    return tuple(out)


def descend(stmt: Stmt, covered: frozenset[str], names: NameSupply, marks: list[tuple[Access, str, str]]) -> Stmt:
    match stmt:
        case Loop(body=body):
            return replace(stmt, body=mark_block(body, covered, names, marks))
        case If(then=then, orelse=orelse):
            new = mark_block(then, covered, names, marks)
            return replace(stmt, then=new, orelse=mark_block(orelse, covered, names, marks))
        case _:
            return stmt


def region_of(regions: tuple[Region, ...], path: Path, array: str) -> Region:
    """The region of `array` that the extremum at `path` belongs to."""
    for region in regions:
        depth = len(region.block)
        is_inside = path[:depth] == region.block and len(path) > depth and path[depth] in region.members
        if region.target.array == array and is_inside:
            return region
    raise InternalError(f"LD902: no region holds the reduction into `{array}`")
