"""Unroll-and-jam: vector loops of neighbouring rows become one, which reads only once what the rows have in common.

    for i in range(N):                           for i in range(0, N, 2):
        for j in range(M):              becomes      for j in range(M):
            b[i, j] = a[i, j] + a[i + 1, j]              x = a[i + 1, j]
                                                         b[i, j], b[i + 1, j] = a[i, j] + x, x + a[i + 2, j]

(Carr and Kennedy, "Improving the ratio of memory operations to floating-point operations in loops", TOPLAS 1994.) Rows
that are there under conditions on indices are taken together where the conditions hold for all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import reduce

import numpy as np

from loopdiff.analysis.legality import Jam, is_legal
from loopdiff.analysis.polyhedral.model import Model
from loopdiff.analysis.polyhedral.terms import guarded_loads
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import add, compare, conjuncts, integer, is_constant, mul, parted, shifted
from loopdiff.ir.names import NameSupply
from loopdiff.ir.ops import Op
from loopdiff.ir.renaming import renamed
from loopdiff.ir.types import ArrayType
from loopdiff.ir.walk import (
    Path,
    has_values,
    loads,
    loads_of,
    map_accesses,
    map_expr,
    map_stmt_exprs,
    stmt_exprs,
    subexprs,
    substitute,
)
from loopdiff.mapping.loops import Mapping as LoopMapping
from loopdiff.mapping.loops import VectorLoop
from loopdiff.model import tuning
from loopdiff.passes.loops.fusion import with_one_constant

PAGE, NEAR = 4096, 160  # bytes
LIMITS = frozenset((Op.LT, Op.LE, Op.GT, Op.GE))


@immutable
class Leaf:
    """A statement that one iteration of a loop runs where all conditions in it hold, and where it stands below it."""

    path: Path
    stmt: ir.Let | ir.Assign | ir.Accumulate | ir.Loop


@immutable
class JammedRows:
    """One iteration of a loop where all `limits` in it hold."""

    leaves: tuple[Leaf, ...]
    limits: tuple[ir.Expr, ...]


def jammed_rows(loop: ir.Loop) -> JammedRows | None:
    """What an iteration of `loop` does, if that is statements and innermost loops of as many iterations each time,
    under conditions that hold in a range of iterations. Where these do not hold, iterations run one after the other.
    """
    if not is_constant(loop.step, 1) or any(True for _ in loads(loop.upper)):
        return None
    leaves: list[Leaf] = []
    limits: list[ir.Expr] = []

    def gather(body: tuple[ir.Stmt, ...], path: Path) -> bool:
        for number, stmt in enumerate(body):
            here = (*path, number)
            match stmt:
                case ir.If(cond=cond, then=then) if then and all(is_limit(c, loop.index) for c in conjuncts(cond)):
                    limits.extend(conjuncts(cond))
                    if not gather(then, here):
                        return False
                case ir.Loop() if is_row(stmt, loop.index):
                    leaves.append(Leaf(here, stmt))
                case ir.Let():
                    leaves.append(Leaf(here, stmt))
                case ir.Assign(target=target) | ir.Accumulate(target=target) if target.subscripts:
                    leaves.append(Leaf(here, stmt))
                case _:
                    return False
        return True

    return JammedRows(tuple(leaves), tuple(limits)) if gather(loop.body, ()) else None


def is_limit(cond: ir.Expr, index: str) -> bool:
    """Whether `cond` holds in a range of iterations over `index`, whatever is in memory."""
    if not isinstance(cond, ir.Apply) or cond.op not in LIMITS:
        return False
    sides = [parted(a)[0] for a in cond.args]
    is_known = not has_values(*sides)
    return is_known and all(s == ir.Index(index) or ir.Index(index) not in subexprs(s) for s in sides)


def is_row(loop: ir.Loop, index: str) -> bool:
    """Whether each iteration over `index` has all of `loop`, which gives elements that it does not read later."""
    bounds = [e for b in (loop.lower, loop.upper) for e in subexprs(b)]
    if any(isinstance(e, ir.Load | ir.Var) or e == ir.Index(index) for e in bounds) or not is_constant(loop.step, 1):
        return False
    given: set[str] = set()
    for stmt in loop.body:
        if any(load.access.array in given for load in loads_of(stmt)):
            return False
        match stmt:
            case ir.Let():
                pass
            case ir.Assign(target=target) | ir.Accumulate(target=target, op="add") if target.subscripts:
                if target.array in given:
                    return False
                given.add(target.array)
            case _:
                return False
    return True


# -- how many ------------------------------------------------------------------------------------------------
def rows_together(
    model: Model, path: Path, mappings: Iterable[tuple[Path, LoopMapping]], registers: int, may_reassociate: bool
) -> int:  # fmt: skip
    """How many iterations of the loop at `path` go together: 1 if none may, or if nothing is gained."""
    loop = model.loop(path)
    rows, vectors = jammed_rows(loop), {p[len(path) :]: m for p, m in mappings}
    if rows is None or not all(
        isinstance(m := vectors.get(leaf.path), VectorLoop) and not m.reductions and not m.may_be_short
        for leaf in rows.leaves
        if isinstance(leaf.stmt, ir.Loop)
    ):
        return 1
    leaves = tuple(leaf.path for leaf in rows.leaves)
    for count in tuning.JAMMED_ROWS:
        change = Jam(path, leaves, count)
        if is_gain(rows, loop.index, count, registers) and is_legal(model, change, is_strict=not may_reassociate):
            return count
    return 1


def is_gain(rows: JammedRows, index: str, count: int, registers: int) -> bool:
    """Whether so many iterations have enough elements of rows in common, and room for these in registers."""
    alone, together, held = 0, 0, 0
    for leaf in rows.leaves:
        elements = set(row_elements(leaf, index))
        found = Counter(moved(a, index, k) for a in elements for k in range(count))
        alone += found.total()
        together += len(found)
        held = max(held, sum(n > 1 for n in found.values()))
    return 0 < together <= (1.0 - tuning.JAM_SHARES) * alone and held + count + tuning.JAM_RESERVED <= registers


def row_elements(leaf: Leaf, index: str) -> Iterator[ir.Access]:
    """What a vector loop reads or adds to that lies along rows, one for each iteration over `index`."""
    if isinstance(leaf.stmt, ir.Loop):
        for stmt in leaf.stmt.body:
            read = [load.access for load in loads_of(stmt)]
            for access in (*read, *([stmt.target] if isinstance(stmt, ir.Accumulate) else [])):
                indices = {e for s in access.subscripts for e in subexprs(s)}
                if {ir.Index(index), ir.Index(leaf.stmt.index)} <= indices:
                    yield access


def moved(access: ir.Access, index: str, by: int) -> ir.Access:
    """`access` so many iterations over `index` later."""
    there: dict[ir.Expr, ir.Expr] = {ir.Index(index): shifted(ir.Index(index), by)}
    return replace(access, subscripts=tuple(at(s, there) for s in access.subscripts))


def at(expr: ir.Expr, places: Mapping[ir.Expr, ir.Expr]) -> ir.Expr:
    """`expr` with parts replaced, and constants that are added to the same added up."""
    return map_expr(with_one_constant, substitute(expr, places))


# -- the loops -----------------------------------------------------------------------------------------------
def are_all_there(rows: JammedRows, index: str, start: ir.Expr, count: int) -> tuple[ir.Expr, ...]:
    """Conditions under which all `limits` hold in so many iterations over `index` from `start` on."""
    found: dict[ir.Expr, None] = {}
    for cond in rows.limits:
        assert isinstance(cond, ir.Apply)
        is_lower = (cond.op in (Op.GT, Op.GE)) == (parted(cond.args[0])[0] == ir.Index(index))
        found[at(cond, {ir.Index(index): start if is_lower else shifted(start, count - 1)})] = None
    return tuple(found)


def are_apart(rows: JammedRows, index: str, arrays: Mapping[str, ArrayType]) -> tuple[ir.Expr, ...]:
    """Conditions under which no row begins, but for a few elements, a whole number of pages after the one before:
    processors take loads for what was stored just now if addresses agree in the bits within a page, and wait ("4-KByte
    memory aliasing", Intel 64 and IA-32 Architectures Optimization Reference Manual). Rows of so few elements go alone
    as well."""
    found: dict[ir.Expr, None] = {}
    for access in (a for leaf in rows.leaves for a in row_elements(leaf, index)):
        moving = [k for k, s in enumerate(access.subscripts) if ir.Index(index) in subexprs(s)]
        kind = arrays[access.array]
        if len(moving) == 1 and kind.layout in ("C", "F"):
            inner = range(moving[0] + 1, kind.rank) if kind.layout == "C" else range(moving[0])
            found[reduce(mul, (ir.Dim(access.array, k) for k in inner), integer(np.dtype(kind.dtype).itemsize))] = None
    page, near = integer(PAGE), integer(NEAR)
    return tuple(compare(Op.GE, ir.Apply(Op.MOD, (add(size, near), page)), integer(2 * NEAR)) for size in found)


def side_by_side(rows: JammedRows, index: str, start: ir.Expr, count: int, names: NameSupply) -> tuple[ir.Stmt, ...]:
    """What the statements become for so many iterations over `index` from `start` on."""
    copies: list[dict[ir.Expr, ir.Expr]] = [{ir.Index(index): shifted(start, k)} for k in range(count)]
    found: list[ir.Stmt] = []
    for leaf in rows.leaves:
        if isinstance(leaf.stmt, ir.Loop):
            found.append(replace(leaf.stmt, body=jammed(leaf.stmt.body, copies, names)))
            continue
        if isinstance(leaf.stmt, ir.Let):
            for copy in copies:
                copy[ir.Var(leaf.stmt.name)] = ir.Var(names.fresh(leaf.stmt.name))
        found += [at_copy(leaf.stmt, copy) for copy in copies]
    return tuple(found)


def at_copy(stmt: ir.Stmt, copy: dict[ir.Expr, ir.Expr]) -> ir.Stmt:
    """`stmt` with names and indices of that copy."""

    def tidied(access: ir.Access) -> ir.Access:
        return replace(access, subscripts=tuple(map_expr(with_one_constant, s) for s in access.subscripts))

    return map_accesses(tidied, renamed(stmt, copy))


def jammed(body: tuple[ir.Stmt, ...], copies: list[dict[ir.Expr, ir.Expr]], names: NameSupply) -> tuple[ir.Stmt, ...]:
    """`body` for all copies: first what several of them read, then all values, then what becomes of these."""
    lists: list[list[ir.Stmt]] = []
    for copy in copies:
        own = {ir.Var(s.name): ir.Var(names.fresh(s.name)) for s in body if isinstance(s, ir.Let)}
        lists.append([at_copy(s, {**copy, **own}) for s in body])
    common = {load: ir.Var(names.fresh(f"{load.access.array.lower()}_read")) for load in common_loads(lists)}
    known: dict[ir.Expr, ir.Expr] = {**common}
    values: list[ir.Stmt] = [ir.Let(name.name, load) for load, name in common.items()]
    given: dict[ir.Access, ir.Assign | ir.Accumulate] = {}
    for number in range(len(body)):
        for found in lists:
            stmt = map_stmt_exprs(lambda e: substitute(e, known), found[number])
            if not isinstance(stmt, ir.Assign | ir.Accumulate):
                values.append(stmt)
                continue
            value = ir.Var(names.fresh(f"{stmt.target.array.lower()}_new"))
            values.append(ir.Let(value.name, stmt.value, loc=stmt.loc))
            before = given.get(stmt.target)
            given[stmt.target] = replace(stmt, value=value if before is None else add(before.value, value))
    return (*values, *given.values())


def common_loads(lists: list[list[ir.Stmt]]) -> list[ir.Load]:
    """What more than one of the copies reads, one of them whatever else holds: it is there for certain, then."""
    certain: set[ir.Load] = set()
    found: Counter[ir.Load] = Counter()
    for stmts in lists:
        own: dict[ir.Load, None] = {}
        for load, guards in (g for s in stmts for e in stmt_exprs(s) for g in guarded_loads(e)):
            own[load] = None
            certain |= set() if guards else {load}
        found.update(own.keys())
    return [load for load, times in found.items() if times > 1 and load in certain]
