"""Max/min reductions as regions, so that ties share the cotangent whatever the order of evaluation.

A region is a run of statements in one block that touch one address of one array or cell only by `max=` (or only by
`min=`). Its derivative is defined on the region as a whole: every operand, the initial value included, that equals
the final value receives the same share of the cotangent. `mark_regions` makes the two values a region needs explicit
as Lets around it; the reverse and tangent transforms look them up by path.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from loopdiff.canonical.single_assignment import forward_cells
from loopdiff.errors import InternalError
from loopdiff.ir.build import compare, extents_of, integer, zero
from loopdiff.ir.names import NameSupply, supply
from loopdiff.ir.nodes import Access, Accumulate, Apply, Expr, If, Index, Let, Load, Loop, LoopSet, Select, Stmt, Var
from loopdiff.ir.ops import Op
from loopdiff.ir.types import ScalarType
from loopdiff.ir.typing import TypeEnv, type_env, type_of
from loopdiff.ir.walk import (
    Path,
    children,
    loads,
    read_arrays,
    statements,
    stmt_exprs,
    subexprs,
    without_children,
    written_access,
    written_arrays,
)


@dataclass(frozen=True, slots=True)
class Region:
    """A run of statements below `block`, a path; `members` are the numbers of those that take part.

    `before` and `after` name the Lets that hold the target's value around the region. `reach`, unless None, is the
    condition for the target to be inside its array: where that does not hold, nothing of the region runs.
    """

    block: Path
    members: tuple[int, ...]
    target: Access
    before: str
    after: str
    reach: Expr | None = None


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
    marker = Marker(ls, supply(ls))
    marked = forward_cells(replace(ls, body=marker.block(ls.body, frozenset(), frozenset())))
    where = {s.stmt.name: s.path for s in statements(marked.body) if isinstance(s.stmt, Let)}
    regions: list[Region] = []
    for target, before, after, reach in marker.marks:
        block, first, last = where[before][:-1], where[before][-1], where[after][-1]
        inside = [s for s in statements(marked.body) if s.path[:-1] == block and first < s.path[-1] < last]
        members = tuple(s.path[-1] for s in inside if target.array in member_targets(s.stmt))
        regions.append(Region(block, members, target, before, after, reach))
    return marked, tuple(regions)


@dataclass(frozen=True, slots=True)
class Marker:
    """Puts Lets around the regions of `ls`; `marks` collects target, names of the Lets, and reach of each."""

    ls: LoopSet
    names: NameSupply
    marks: list[tuple[Access, str, str, Expr | None]] = field(default_factory=list)

    def block(self, body: tuple[Stmt, ...], covered: frozenset[str], touched: frozenset[Access]) -> tuple[Stmt, ...]:
        """`body` marked for the arrays not in `covered`; the elements `touched` are known to be inside their arrays."""
        targets = [{a: t for a, t in member_targets(s).items() if a not in covered} for s in body]
        out: list[Stmt] = []
        opened: dict[str, tuple[str, Expr | None]] = {}
        for k, stmt in enumerate(body):
            before = targets[k - 1] if k else {}
            following = targets[k + 1] if k + 1 < len(body) else {}
            for array, (target, op) in targets[k].items():
                if before.get(array) != (target, op):
                    is_sure = target in touched or isinstance(stmt, Accumulate)
                    reach = None if is_sure else reach_of(target, self.ls)
                    opened[array] = self.names.fresh(f"{array}_before_{op}"), reach
                    out.append(Let(opened[array][0], self.reached(target, reach, stmt), loc=stmt.loc))
            out.append(self.descend(stmt, covered | targets[k].keys(), touched))
            touched |= certainly_touched(stmt)
            for array, (target, op) in targets[k].items():
                if following.get(array) != (target, op):
                    after, (first, reach) = self.names.fresh(f"{array}_after_{op}"), opened.pop(array)
                    out.append(Let(after, self.reached(target, reach, stmt), loc=stmt.loc))
                    self.marks.append((target, first, after, reach))
        return tuple(out)

    def descend(self, stmt: Stmt, covered: frozenset[str], touched: frozenset[Access]) -> Stmt:
        match stmt:
            case Loop(body=body):
                return replace(stmt, body=self.block(body, covered, touched))
            case If(then=then, orelse=orelse):
                new = self.block(then, covered, touched)
                return replace(stmt, then=new, orelse=self.block(orelse, covered, touched))
            case _:
                return stmt

    def reached(self, target: Access, reach: Expr | None, stmt: Stmt) -> Expr:
        """The value at `target`, if it is inside its array."""
        kind = self.ls.array(target.array).type
        assert kind is not None
        return where(reach, Load(target, loc=stmt.loc), kind.element)


def where(reach: Expr | None, value: Expr, kind: ScalarType) -> Expr:
    """`value` where `reach` holds, else zero."""
    nothing = zero(kind) if kind.is_float else integer(0)
    return value if reach is None else Select(reach, value, nothing)


def reach_of(target: Access, ls: LoopSet) -> Expr | None:
    """The condition for `target` to be inside its array, None for a cell; for its subscripts to have values comes
    first."""
    types = type_env(ls)
    tests = [t for sub in target.subscripts for e in subexprs(sub) for t in defined(e, ls, types)]
    tests += inside(target, ls)
    return Apply(Op.AND, tuple(tests)) if tests else None


def inside(access: Access, ls: LoopSet) -> Iterator[Expr]:
    """That `access` is inside its array."""
    for axis, subscript in enumerate(access.subscripts):
        yield compare(Op.GE, subscript, integer(0))
        yield compare(Op.LT, subscript, extents_of(ls.array(access.array))[axis])


def defined(expr: Expr, ls: LoopSet, types: TypeEnv) -> Iterator[Expr]:
    """That `expr`, the operands of which have values, has one."""
    match expr:
        case Load(access=access):
            yield from inside(access, ls)
        case Apply(op=Op.FLOORDIV | Op.MOD, args=(_, divisor)) if type_of(expr, types) is ScalarType.INT:
            yield compare(Op.NE, divisor, integer(0))
        case Apply(op=Op.POW | Op.SHL | Op.SHR, args=(_, count)) if type_of(expr, types) is ScalarType.INT:
            yield compare(Op.GE, count, integer(0))
        case _:
            pass


def certainly_touched(stmt: Stmt) -> frozenset[Access]:
    """Elements with lasting subscripts that `stmt` itself, no child of it, must read or write."""
    found = {e.access for root in stmt_exprs(stmt) if not has_choice(root) for e in loads(root)}
    target = written_access(stmt)
    return frozenset(a for a in (found | {target}) if a is not None and not any(loads(s) for s in a.subscripts))


def has_choice(expr: Expr) -> bool:
    """Whether part of `expr` may not be evaluated."""
    return any(isinstance(e, Select) or (isinstance(e, Apply) and e.op in (Op.AND, Op.OR)) for e in subexprs(expr))


def region_of(regions: tuple[Region, ...], path: Path, array: str) -> Region:
    """The region of `array` that the extremum at `path` belongs to."""
    for region in regions:
        depth = len(region.block)
        is_inside = path[:depth] == region.block and len(path) > depth and path[depth] in region.members
        if region.target.array == array and is_inside:
            return region
    raise InternalError(f"LD902: no region holds the reduction into `{array}`")
