"""Max/min reductions as regions, so that ties share the cotangent whatever the order of evaluation.

A region is a run of statements in one block that touch one address of one array or cell only by `max=` (or only by
`min=`). Its derivative is defined on the region as a whole: every operand, the initial value included, that equals
the final value receives the same share of the cotangent. `mark_regions` makes the two values a region needs explicit
as Lets around it; the reverse and tangent transforms look them up by path.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from loopdiff.canonical.single_assignment import forward_cells
from loopdiff.errors import InternalError
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import add, compare, extents_of, integer, mul, zero
from loopdiff.ir.names import NameSupply, supply
from loopdiff.ir.ops import Op
from loopdiff.ir.types import ScalarType
from loopdiff.ir.typing import TypeEnv, type_env, type_of
from loopdiff.ir.walk import (
    Path,
    all_statements,
    children,
    loads,
    map_blocks,
    statements,
    stmt_exprs,
    subexprs,
    touched_arrays,
    without_children,
    written_access,
    written_arrays,
)


@immutable
class Region:
    """A run of statements below `block`, a path; `members` are the numbers of those that take part.

    `before` and `after` name the Lets that hold the target's value around the region. `reach`, unless None, is the
    condition for the target to be inside its array: where that does not hold, nothing of the region runs. `outcome`, of
    a region that is one reduction alone, names a Let that says who attained the extremum: a sum of `INITIAL` and
    `OPERAND`.
    """

    block: Path
    members: tuple[int, ...]
    target: ir.Access
    before: str
    after: str
    reach: ir.Expr | None = None
    outcome: str | None = None


INITIAL, OPERAND = 1, 2


def extrema(stmt: ir.Stmt) -> list[ir.Accumulate]:
    return [s for s in all_statements((stmt,)) if isinstance(s, ir.Accumulate) and s.op in ("max", "min")]


def member_targets(stmt: ir.Stmt) -> dict[str, tuple[ir.Access, str]]:
    """Array -> (address, operation) for each array that `stmt` touches at one address by one kind of extremum only."""
    found = extrema(stmt)
    out: dict[str, tuple[ir.Access, str]] = {}
    for array in {a.target.array for a in found}:
        mine = [a for a in found if a.target.array == array]
        target, op = mine[0].target, mine[0].op
        is_uniform = all(a.target == target and a.op == op for a in mine)
        is_alone = len(mine) == sum(1 for s in all_statements((stmt,)) if touches(s, array))
        reads_itself = any(e.access.array == array for a in mine for e in loads(a.value))
        if is_uniform and is_alone and is_fixed(target, stmt) and not (reads_itself and children(stmt)):
            out[array] = (target, op)
    return dict(sorted(out.items()))


def touches(stmt: ir.Stmt, array: str) -> bool:
    """Whether the statement itself, children apart, reads, writes or allocates `array`."""
    bare = without_children(stmt)
    return array in touched_arrays((bare,))


def is_fixed(target: ir.Access, stmt: ir.Stmt) -> bool:
    """Whether the address of `target` is the same throughout `stmt`."""
    inside = all_statements((stmt,))
    indices = {s.index for s in inside if isinstance(s, ir.Loop)}
    lets = {s.name for s in inside if isinstance(s, ir.Let)}
    written = written_arrays((stmt,))
    for node in (e for sub in target.subscripts for e in subexprs(sub)):
        match node:
            case ir.Index(name=name) if name in indices:
                return False
            case ir.Var(name=name) if name in lets:
                return False
            case ir.Load(access=access) if access.array in written:
                return False
            case _:
                pass
    return True


def mark_regions(ls: ir.LoopSet) -> tuple[ir.LoopSet, tuple[Region, ...]]:
    """`ls` (normal) with a Let before and after every region, and the regions, paths in terms of the result."""
    marker = Marker(ls, supply(ls))
    marked = forward_cells(replace(ls, body=marker.block(ls.body, frozenset(), frozenset())))
    lets = {s.stmt.name: s for s in statements(marked.body) if isinstance(s.stmt, ir.Let)}
    where = {name: site.path for name, site in lets.items()}
    regions: list[Region] = []
    for mark in marker.marks:
        before, after = mark.before, mark.after
        target, reach = place_of(mark, lets[after].stmt)
        block, first, last = where[before][:-1], where[before][-1], where[after][-1]
        inside = [s for s in statements(marked.body) if s.path[:-1] == block and first < s.path[-1] < last]
        members = tuple(s.path[-1] for s in inside if target.array in member_targets(s.stmt))
        regions.append(Region(block, members, target, before, after, reach, mark.outcome))
    return marked, tuple(regions)


@immutable
class Mark:
    """A region before it is known where its statements come to stand."""

    target: ir.Access
    before: str
    after: str
    reach: ir.Expr | None
    outcome: str | None


def place_of(mark: Mark, after: ir.Stmt) -> tuple[ir.Access, ir.Expr | None]:
    """The target and the reach of a region as the Let `after` it has them: a loop of one iteration is gone, and so is
    its index."""
    match after:
        case ir.Let(value=ir.Load(access=access)):
            return access, None
        case ir.Let(value=ir.Select(cond=cond, then=ir.Load(access=access))):
            return access, cond
        case _:
            return mark.target, mark.reach


@immutable
class Marker:
    """Puts Lets around the regions of `ls`, and collects their `marks`."""

    ls: ir.LoopSet
    names: NameSupply
    marks: list[Mark] = field(default_factory=list)

    def block(
        self, body: tuple[ir.Stmt, ...], covered: frozenset[str], touched: frozenset[ir.Access]
    ) -> tuple[ir.Stmt, ...]:
        """`body` marked for the arrays not in `covered`; the elements `touched` are known to be inside their arrays."""
        targets = [{a: t for a, t in member_targets(s).items() if a not in covered} for s in body]
        out: list[ir.Stmt] = []
        opened: dict[str, tuple[str, ir.Expr | None]] = {}
        for k, stmt in enumerate(body):
            before = targets[k - 1] if k else {}
            following = targets[k + 1] if k + 1 < len(body) else {}
            for array, (target, op) in targets[k].items():
                if before.get(array) != (target, op):
                    is_sure = target in touched or isinstance(stmt, ir.Accumulate)
                    reach = None if is_sure else reach_of(target, self.ls)
                    opened[array] = self.names.fresh(f"{array}_before_{op}"), reach
                    out.append(ir.Let(opened[array][0], self.reached(target, reach, stmt), loc=stmt.loc))
            is_alone = bool(targets[k]) and not targets[k].items() & (before.items() | following.items())
            held = self.held(stmt) if isinstance(stmt, ir.Accumulate) and is_alone else ()
            out += held or [self.descend(stmt, covered | targets[k].keys(), touched)]
            touched |= certainly_touched(stmt)
            for array, (target, op) in targets[k].items():
                if following.get(array) != (target, op):
                    after, (first, reach) = self.names.fresh(f"{array}_after_{op}"), opened.pop(array)
                    out.append(ir.Let(after, self.reached(target, reach, stmt), loc=stmt.loc))
                    outcome = self.outcome(first, held[0], after) if held else None
                    out += [] if outcome is None else [outcome]
                    self.marks.append(Mark(target, first, after, reach, None if outcome is None else outcome.name))
        return tuple(out)

    def held(self, stmt: ir.Accumulate) -> tuple[ir.Let, ir.Stmt]:
        """`stmt` with its operand in a Let before it, as it is compared afterwards."""
        operand = ir.Let(self.names.fresh(f"{stmt.target.array}_operand"), stmt.value, loc=stmt.loc)
        return operand, replace(stmt, value=ir.Var(operand.name, loc=stmt.value.loc))

    def outcome(self, before: str, operand: ir.Let, after: str) -> ir.Let:
        """Who of both attained the extremum, as a sum."""
        stayed, is_new = (
            ir.Cast(ScalarType.INT, compare(Op.EQ, ir.Var(name), ir.Var(after))) for name in (before, operand.name)
        )
        code = add(mul(integer(INITIAL), stayed), mul(integer(OPERAND), is_new))
        return ir.Let(self.names.fresh(f"{after}_outcome"), code, loc=operand.loc)

    def descend(self, stmt: ir.Stmt, covered: frozenset[str], touched: frozenset[ir.Access]) -> ir.Stmt:
        return map_blocks(lambda body: self.block(body, covered, touched), stmt)

    def reached(self, target: ir.Access, reach: ir.Expr | None, stmt: ir.Stmt) -> ir.Expr:
        """The value at `target`, if it is inside its array."""
        kind = self.ls.array(target.array).type
        assert kind is not None
        return where(reach, ir.Load(target, loc=stmt.loc), kind.element)


def where(reach: ir.Expr | None, value: ir.Expr, kind: ScalarType) -> ir.Expr:
    """`value` where `reach` holds, else zero."""
    nothing = zero(kind) if kind.is_float else integer(0)
    return value if reach is None else ir.Select(reach, value, nothing)


def reach_of(target: ir.Access, ls: ir.LoopSet) -> ir.Expr | None:
    """The condition for `target` to be inside its array, None for a cell; for its subscripts to have values comes
    first."""
    types = type_env(ls)
    tests = [t for sub in target.subscripts for e in subexprs(sub) for t in defined(e, ls, types)]
    tests += inside(target, ls)
    return ir.Apply(Op.AND, tuple(tests)) if tests else None


def inside(access: ir.Access, ls: ir.LoopSet) -> Iterator[ir.Expr]:
    """That `access` is inside its array."""
    for axis, subscript in enumerate(access.subscripts):
        yield compare(Op.GE, subscript, integer(0))
        yield compare(Op.LT, subscript, extents_of(ls.array(access.array))[axis])


def defined(expr: ir.Expr, ls: ir.LoopSet, types: TypeEnv) -> Iterator[ir.Expr]:
    """That `expr`, the operands of which have values, has one."""
    match expr:
        case ir.Load(access=access):
            yield from inside(access, ls)
        case ir.Apply(op=Op.FLOORDIV | Op.MOD, args=(_, divisor)) if type_of(expr, types) is ScalarType.INT:
            yield compare(Op.NE, divisor, integer(0))
        case ir.Apply(op=Op.POW | Op.SHL | Op.SHR, args=(_, count)) if type_of(expr, types) is ScalarType.INT:
            yield compare(Op.GE, count, integer(0))
        case _:
            pass


def certainly_touched(stmt: ir.Stmt) -> frozenset[ir.Access]:
    """Elements with lasting subscripts that `stmt` itself, no child of it, must read or write."""
    found = {e.access for root in stmt_exprs(stmt) if not has_choice(root) for e in loads(root)}
    target = written_access(stmt)
    return frozenset(a for a in (found | {target}) if a is not None and not any(loads(s) for s in a.subscripts))


def has_choice(expr: ir.Expr) -> bool:
    """Whether part of `expr` may not be evaluated."""
    return any(
        isinstance(e, ir.Select) or (isinstance(e, ir.Apply) and e.op in (Op.AND, Op.OR)) for e in subexprs(expr)
    )


def region_of(regions: tuple[Region, ...], path: Path, array: str) -> Region:
    """The region of `array` that the extremum at `path` belongs to."""
    for region in regions:
        depth = len(region.block)
        is_inside = path[:depth] == region.block and len(path) > depth and path[depth] in region.members
        if region.target.array == array and is_inside:
            return region
    raise InternalError(f"LD902: no region holds the reduction into `{array}`")
