"""Insertion of bounds checks for all subscripts, so that compiled code never touches memory outside its arrays.

Limits that follow from shapes and integer arguments are checked once, on entry. Subscripts that depend on
data are checked by loops of their own, ahead of the first write wherever possible (see `inspection`): the nests
that use them keep their vectors, and cannot stop half-way.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial, reduce

from loopdiff.analysis.bounds import (
    Unchecked,
    bounds_conditions,
    negative_subscripts,
    overflow_conditions,
    unchecked_accesses,
)
from loopdiff.analysis.known_sizes import KnownSizes
from loopdiff.analysis.polyhedral.model import Model, build_model, derived_once
from loopdiff.analysis.polyhedral.terms import guarded_loads
from loopdiff.analysis.polyhedral.value_ranges import value_ranges
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import add, compare, integer
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import (
    Path,
    all_statements,
    map_blocks,
    map_body,
    map_sites,
    map_stmt_exprs,
    stmt_exprs,
    subexprs,
    substitute,
    without_children,
    written_access,
    written_arrays,
)
from loopdiff.passes.checks.at_ends import asked_at_ends
from loopdiff.passes.checks.check_placement import Group, place_checks
from loopdiff.passes.checks.computed_subscripts import Kept, keep_place
from loopdiff.passes.checks.early_checks import is_early, with_early_conditions, without_early
from loopdiff.passes.checks.size_checks import extent_conditions, range_conditions
from loopdiff.passes.checks.stated_errors import stated_first
from loopdiff.passes.checks.subscripts_from_end import told_outside, with_subscripts_from_end
from loopdiff.source.words import in_user_words

Guards = tuple[ir.Expr, ...]
Rewrite = Callable[[ir.Stmt, Path], tuple[ir.Stmt, ...]]
Table = Mapping[tuple[Path, ir.Access], tuple[Unchecked, ...]]
OWN_CODES = ("LD310", "LD311", "LD324", "LD325")


def add_checks(ls: ir.LoopSet, words: Collection[str] = (), from_end: bool = False) -> ir.LoopSet:
    """The normal LoopSet `ls` with a `Require` (LD310, LD311) for each subscript that may leave its array.

    `words` are the names in the user's source, for messages. `from_end`: negative subscripts count from there.
    """
    if from_end:
        ls = with_subscripts_from_end(ls)
    ls, early = with_early_conditions(count_from_the_end(with_ranges(ls)))
    model = with_ranges(ls)
    unchecked = list(unchecked_accesses(model))
    places: list[Kept] = []
    while (kept := keep_place(model.ls, unchecked)) is not None:
        places.append(kept)
        model = with_ranges(kept.ls)
        unchecked = list(unchecked_accesses(model))
    ls = model.ls
    conditions = bounds_conditions(model)
    conditions += (*overflow_conditions((*early, *conditions)), *range_conditions(ls))
    table: dict[tuple[Path, ir.Access], tuple[Unchecked, ...]] = {}
    for found in unchecked:
        key = (found.path, found.access)
        table[key] = (*table.get(key, ()), found)
    has_more = bool(table) or any(is_early(s) for s in all_statements(ls.body))
    checked = check_extents(check_elements(ls, table) if has_more else ls)

    def in_words(stmt: ir.Stmt) -> tuple[ir.Stmt, ...]:
        if isinstance(stmt, ir.Require) and stmt.code in OWN_CODES:
            message = reduce(lambda text, kept: kept.in_words(text), places, stmt.message)
            return (replace(stmt, message=in_user_words(message, words)),)
        return (stmt,)

    stated, rest = stated_first(ls, checked.body)
    return replace(
        checked,
        body=without_repeats(asked_at_ends(map_body((*stated, *conditions, *rest), in_words), KnownSizes(ls.params))),
    )


def with_ranges(ls: ir.LoopSet) -> Model:
    """The affine view of `ls`, with what is known of the numbers in its arrays."""
    return build_model(ls, derived_once(ls, "value-ranges", value_ranges))


def without_repeats(body: tuple[ir.Stmt, ...], known: frozenset[ir.Expr] = frozenset()) -> tuple[ir.Stmt, ...]:
    """`body` without checks of what an earlier check has found true: names keep their values, elements until something
    is written."""
    out: list[ir.Stmt] = []
    asked: set[ir.Stmt] = set()  # of elements, since the last write
    for stmt in body:
        if written_arrays((stmt,)):
            asked.clear()
        match stmt:
            case ir.Require(cond=cond) if cond in known:
                continue
            case ir.Require(cond=cond) if not any(isinstance(e, ir.Load) for e in subexprs(cond)):
                known |= {cond}
            case ir.Require(cond=cond):
                if (check := ir.Require(cond, "", "")) in asked:
                    continue
                asked.add(check)
            case ir.If() if only_checks(stmt):
                if stmt in asked:
                    continue
                asked.add(stmt)
            case _:
                stmt = map_blocks(partial(without_repeats, known=known), stmt)
        out.append(stmt)
    return tuple(out)


def only_checks(stmt: ir.If) -> bool:
    return all(isinstance(s, ir.Require | ir.If) for s in all_statements((stmt,)))


# -- walking -------------------------------------------------------------------------------------------------
def with_children_of(stmt: ir.Stmt, other: ir.Stmt) -> ir.Stmt:
    match stmt, other:
        case ir.Loop(), ir.Loop(body=body):
            return replace(stmt, body=body)
        case ir.If(), ir.If(then=then, orelse=orelse):
            return replace(stmt, then=then, orelse=orelse)
        case _:
            return stmt


def extent(ls: ir.LoopSet, array: str, axis: int) -> ir.Expr:
    decl = ls.array(array)
    return ir.Dim(array, axis) if decl.role == "argument" else (decl.extents or ())[axis]


# -- subscripts that count from the end ----------------------------------------------------------------------
def count_from_the_end(model: Model) -> Model:
    """The program with subscripts that are negative in every instance counted from the start."""
    ls = model.ls
    found: dict[Path, dict[ir.Access, ir.Access]] = {}
    for negative in negative_subscripts(model):
        moved = found.setdefault(negative.path, {})
        access = moved.get(negative.access, negative.access)
        subscripts = list(access.subscripts)
        subscripts[negative.axis] = add(subscripts[negative.axis], extent(ls, access.array, negative.axis))
        moved[negative.access] = replace(access, subscripts=tuple(subscripts))

    def rewrite(stmt: ir.Stmt, path: Path) -> tuple[ir.Stmt, ...]:
        moved = found.get(path, {})
        loads: dict[ir.Expr, ir.Expr] = {ir.Load(old): ir.Load(new) for old, new in moved.items()}
        head = without_children(stmt)
        if isinstance(head, ir.Assign | ir.Accumulate) and head.target in moved:
            head = replace(head, target=moved[head.target])
        return (with_children_of(map_stmt_exprs(lambda e: substitute(e, loads), head), stmt),)

    at_end: dict[ir.Expr, ir.Expr] = {ir.Load(old): ir.Load(new) for old, new in found.get((), {}).items()}
    results = tuple(
        ir.ScalarResult(substitute(r.value, at_end)) if isinstance(r, ir.ScalarResult) else r for r in ls.results
    )
    return with_ranges(replace(ls, body=map_sites(ls.body, rewrite), results=results)) if found else model


def check_extents(ls: ir.LoopSet) -> ir.LoopSet:
    """`ls` with a check ahead of every array that is made with an extent that may be negative."""
    return replace(ls, body=map_sites(ls.body, lambda stmt, path: (*extent_conditions(ls, path, stmt), stmt)))


# -- subscripts that depend on data --------------------------------------------------------------------------
def check_elements(ls: ir.LoopSet, table: Table) -> ir.LoopSet:
    """`ls` with the accesses of `table` checked, before anything is written where that is possible."""

    def rewrite(stmt: ir.Stmt, path: Path) -> tuple[ir.Stmt, ...]:
        if isinstance(stmt, ir.Require) and stmt.is_early:
            stmt = replace(stmt, is_early=False)
        return (*requirements(ls, path, stmt, table), stmt)

    groups = [
        Group(without_early((stmt,)), map_sites((stmt,), rewrite, (), number)) for number, stmt in enumerate(ls.body)
    ]
    values = [r.value for r in ls.results if isinstance(r, ir.ScalarResult)]
    at_end = Group((), tuple(c for v in values for c in value_requirements(ls, (), v, table)))
    return place_checks(ls, [*groups, at_end])


def requirements(ls: ir.LoopSet, path: Path, stmt: ir.Stmt, table: Table) -> Iterator[ir.Require]:
    """What must hold before `stmt` evaluates its own expressions and writes its target."""
    head = without_children(stmt)
    for expr in stmt_exprs(head):
        yield from value_requirements(ls, path, expr, table)
    target = written_access(head)
    if target is not None:
        yield from access_requirements(ls, path, target, (), table)


def value_requirements(ls: ir.LoopSet, path: Path, expr: ir.Expr, table: Table) -> Iterator[ir.Require]:
    for load, guards in guarded_loads(expr):
        conditions = tuple(cond if holds else ir.Apply(Op.NOT, (cond,)) for cond, holds in guards)
        yield from access_requirements(ls, path, load.access, conditions, table)


def access_requirements(
    ls: ir.LoopSet, path: Path, access: ir.Access, guards: Guards, table: Table
) -> Iterator[ir.Require]:
    """In range on every unchecked axis, unless a guard keeps the access from happening."""
    for unchecked in table.get((path, access), ()):
        axis = unchecked.axis
        subscript = access.subscripts[axis]
        if runs_over(ls, subscript, extent(ls, access.array, axis)):
            continue
        excuses: list[ir.Expr] = [ir.Apply(Op.NOT, (g,)) for g in guards]
        if unchecked.sufficient is not None:
            excuses.insert(0, unchecked.sufficient)
        low = compare(Op.GE, subscript, integer(0))
        high = compare(Op.LT, subscript, extent(ls, access.array, axis))
        inside = ir.Apply(Op.AND, (low, high))
        cond = ir.Apply(Op.OR, (*excuses, inside)) if excuses else inside
        text = told_outside(ls, access, axis)
        if any(isinstance(e, ir.Load) and e.access.subscripts for e in subexprs(subscript)):
            text += f"; elements that count from its end are written `i % {access.array}.shape[{axis}]`"
        yield ir.Require(cond, "LD310", text, loc=access.loc)


def runs_over(ls: ir.LoopSet, subscript: ir.Expr, size: ir.Expr) -> bool:
    """Whether `subscript` is the index of a loop up to `size`, whatever that is: it may not be affine."""
    if not isinstance(subscript, ir.Index) or any(isinstance(e, ir.Load | ir.Var | ir.Index) for e in subexprs(size)):
        return False
    loops = (s for s in all_statements(ls.body) if isinstance(s, ir.Loop) and s.index == subscript.name)
    loop = next(loops)
    is_upward = isinstance(loop.step, ir.Const) and loop.step.value > 0
    return is_upward and isinstance(loop.lower, ir.Const) and loop.lower.value >= 0 and loop.upper == size
