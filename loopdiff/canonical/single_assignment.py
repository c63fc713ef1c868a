"""Single assignment of scalars: bound and derived LoopSets become normal ones, whose scalars are Lets.

A cell (a rank-0 local array) whose value is known where it is read becomes a `Let` or is replaced by the constant,
index, parameter, dimension or affine integer expression it holds. So is the index of a loop that runs once, as those of
stencil codes that are written level by level, `for k in range(K - 1, K)`: its body stands in its place. Cells that
remain are loop-carried, floating numbers merged by an `If`, or accumulated in a loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial

from loopdiff.analysis.liveness import drop_dead_cell_stores
from loopdiff.canonical.if_conversion import choices
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.affine import linear
from loopdiff.ir.build import is_constant, nested, over_elements
from loopdiff.ir.names import NameSupply, supply
from loopdiff.ir.ops import Op
from loopdiff.ir.types import INT, ScalarType
from loopdiff.ir.typing import cell_types
from loopdiff.ir.walk import (
    all_statements,
    lets_used,
    map_blocks,
    map_body,
    map_expr,
    map_stmt_exprs,
    stmt_exprs,
    subexprs,
    touched_arrays,
    written_arrays,
)

Known = Mapping[str, ir.Expr]
AFFINE_OPS = (Op.ADD, Op.SUB, Op.MUL, Op.NEG, Op.FLOORDIV, Op.MOD)


def normalize(ls: ir.LoopSet, keeps_reads: bool = False) -> ir.LoopSet:
    """`ls` (bound or derived) with scalars in single assignment; its results and array writes are unchanged.

    `keeps_reads`: elements that are read for nothing still are, until `drop_unused`.
    """
    ls = expand_fills(ls)
    forward = Forwarding(cell_types(ls), supply(ls))
    ls, cells = forward.loopset(ls), frozenset(forward.cells)
    ls = drop_dead_cell_stores(ls, cells, supply(ls) if keeps_reads else None)
    ls = replace(ls, body=forward_cell_reads(ls.body, cells, used_by_results(ls)))
    return name_lets_after_cells(drop_unused_cells(ls, cells), forward.cell_of)


def forward_cells(ls: ir.LoopSet) -> ir.LoopSet:
    """`ls` with known cell values put in place of reads; branches that only set integers become values."""
    return Forwarding(cell_types(ls), supply(ls), keeps_lets=True).loopset(ls)


def replace_known(expr: ir.Expr, known: Known) -> ir.Expr:
    def rewrite(e: ir.Expr) -> ir.Expr:
        match e:
            case ir.Load(access=access):
                return known.get(access.array, e)
            case ir.Var(name=name):
                return known.get(name, e)
            case _:
                return e

    return map_expr(rewrite, expr)


def is_inlined(value: ir.Expr, cell_type: ScalarType) -> bool:
    """Whether readers of a cell repeat `value` itself: leaves, and integer affine expressions over immutable names."""
    match value:
        case ir.Const() | ir.Index() | ir.Param() | ir.Var() | ir.Dim():
            return True
        case ir.Apply(op=op, args=args) if op in AFFINE_OPS and cell_type == INT:
            return all(is_inlined(a, cell_type) for a in args)
        case _:
            return False


@dataclass(slots=True)
class Forwarding:
    """One forward walk over the structured program, carrying what each cell, and each Let of an atom, is known to hold.

    `cell_of` records the cell each created Let came from. `keeps_lets`: Lets of atoms stay although nothing needs them.
    """

    cells: Mapping[str, ScalarType]
    names: NameSupply
    keeps_lets: bool = False
    cell_of: dict[str, str] = field(default_factory=dict)

    def loopset(self, ls: ir.LoopSet) -> ir.LoopSet:
        body, known = self.block(ls.body, {})
        results = tuple(
            ir.ScalarResult(replace_known(r.value, known)) if isinstance(r, ir.ScalarResult) else r for r in ls.results
        )
        return replace(ls, body=body, results=results)

    def block(self, body: tuple[ir.Stmt, ...], known: Known) -> tuple[tuple[ir.Stmt, ...], Known]:
        out: list[ir.Stmt] = []
        for stmt in body:
            new, known = self.statement(stmt, known)
            out += new
        return tuple(out), known

    def statement(self, stmt: ir.Stmt, known: Known) -> tuple[tuple[ir.Stmt, ...], Known]:
        match stmt:
            case ir.Assign(target=ir.Access(array=cell), value=value) if cell in self.cells:
                return self.define(stmt, cell, replace_known(value, known), known)
            case ir.Accumulate(op="add", target=ir.Access(array=cell), value=value) if cell in known:
                return self.define(stmt, cell, plus(known[cell], replace_known(value, known)), known)
            case ir.Accumulate(target=ir.Access(array=cell)) if cell in self.cells:
                return (map_stmt_exprs(lambda e: replace_known(e, known), stmt),), forget(known, {cell})
            case ir.Let():
                return self.let(replace(stmt, value=replace_known(stmt.value, known)), known)
            case ir.Loop():
                return self.loop(stmt, known)
            case ir.If():
                return self.branch(stmt, known)
            case ir.Call(results=results):
                new = map_stmt_exprs(lambda e: replace_known(e, known), stmt)
                return (new,), forget(known, {r.array for r in results})
            case _:
                return (map_stmt_exprs(lambda e: replace_known(e, known), stmt),), known

    def loop(self, stmt: ir.Loop, known: Known) -> tuple[tuple[ir.Stmt, ...], Known]:
        lower, upper, step = (replace_known(e, known) for e in stmt_exprs(stmt))
        if is_constant(step, 0):  # nobody gets here: what stands before the loop has raised
            return (), known
        if (
            is_inlined(lower, INT)
            and runs_once(lower, upper, step)
            and not any(isinstance(s, ir.Exit) for s in stmt.body)
        ):
            return self.block(at_index(stmt.body, stmt.index, lower), known)
        after = forget(known, written_arrays(stmt.body))
        inner, _ = self.block(stmt.body, after)
        return (replace(stmt, lower=lower, upper=upper, step=step, body=inner),), after

    def let(self, stmt: ir.Let, known: Known) -> tuple[tuple[ir.Stmt, ...], Known]:
        """A Let of an atom is that atom; after a Let of a cell, the cell is known to hold it."""
        match stmt.value:
            case ir.Const() | ir.Index() | ir.Param() | ir.Var() | ir.Dim() if not self.keeps_lets:
                return (), {**known, stmt.name: stmt.value}
            case ir.Load(access=ir.Access(array=cell)) if cell in self.cells:
                return (stmt,), {**known, cell: ir.Var(stmt.name, loc=stmt.loc)}
            case _:
                return (stmt,), known

    def define(
        self, stmt: ir.Assign | ir.Accumulate, cell: str, value: ir.Expr, known: Known
    ) -> tuple[tuple[ir.Stmt, ...], Known]:
        """A store of `value`; the store itself stays until liveness shows that nothing reads it."""
        if is_inlined(value, self.cells[cell]):
            return (ir.Assign(stmt.target, value, loc=stmt.loc),), {**known, cell: value}
        name = self.names.fresh(cell)
        self.cell_of[name] = cell
        held = ir.Var(name, loc=stmt.loc)
        stored = ir.Assign(stmt.target, held, loc=stmt.loc)
        return (ir.Let(name, value, loc=stmt.loc), stored), {**known, cell: held}

    def branch(self, stmt: ir.If, known: Known) -> tuple[tuple[ir.Stmt, ...], Known]:
        then, after_then = self.block(stmt.then, known)
        orelse, after_else = self.block(stmt.orelse, known)
        plain = replace(stmt, cond=replace_known(stmt.cond, known), then=then, orelse=orelse)
        chosen = choices(plain, after_then, after_else, self.cells)
        if not chosen:
            return (plain,), forget(known, written_arrays(then + orelse))
        lets: list[ir.Let] = []
        cond = plain.cond
        if len(chosen) > 1:
            lets.append(ir.Let(self.names.fresh("is_so"), cond, loc=stmt.loc))
            cond = ir.Var(lets[0].name, loc=stmt.loc)
        held = {cell: ir.Var(self.names.fresh(cell), loc=stmt.loc) for cell in chosen}
        self.cell_of.update((var.name, cell) for cell, var in held.items())
        lets += [ir.Let(held[cell].name, replace(value, cond=cond), loc=stmt.loc) for cell, value in chosen.items()]
        return (*lets, *(ir.Assign(ir.Access(c), var, loc=stmt.loc) for c, var in held.items())), {**known, **held}


def forget(known: Known, cells: set[str] | frozenset[str]) -> Known:
    return {c: e for c, e in known.items() if c not in cells}


def plus(a: ir.Expr, b: ir.Expr) -> ir.Expr:
    """`a + b`, without an addition to the zero that starts an accumulation."""
    if isinstance(a, ir.Const) and a.value == 0:
        return b
    return ir.Apply(Op.ADD, (a, b), loc=b.loc)


def runs_once(lower: ir.Expr, upper: ir.Expr, step: ir.Expr) -> bool:
    """Whether a loop has one iteration, whatever the parameters are."""
    (left, first), (right, end) = linear(lower), linear(upper)
    if not isinstance(step, ir.Const) or left != right:
        return False
    width = int(step.value.real)
    return 0 < end - first <= width or 0 < first - end <= -width


def at_index(body: tuple[ir.Stmt, ...], index: str, value: ir.Expr) -> tuple[ir.Stmt, ...]:
    """The iteration of a loop in which its index is `value`."""

    def rewrite(e: ir.Expr) -> ir.Expr:
        return value if isinstance(e, ir.Index) and e.name == index else e

    return tuple(map_stmt_exprs(partial(map_expr, rewrite), stmt) for stmt in body)


def expand_fills(ls: ir.LoopSet) -> ir.LoopSet:
    """Allocations filled with something other than a constant become an allocation and a loop nest of stores."""
    names = supply(ls)

    def rewrite(stmt: ir.Stmt) -> tuple[ir.Stmt, ...]:
        if not isinstance(stmt, ir.Allocate) or stmt.fill is None or isinstance(stmt.fill, ir.Const):
            return (stmt,)
        decl = ls.array(stmt.array)
        loops, place = over_elements(decl.extents or (), names, loc=stmt.loc)
        let = ir.Let(names.fresh("fill"), stmt.fill, loc=stmt.loc)
        filled = ir.Assign(ir.Access(stmt.array, place, loc=stmt.loc), ir.Var(let.name), loc=stmt.loc)
        return (replace(stmt, fill=None), let, *nested(loops, (filled,)))

    return replace(ls, body=map_body(ls.body, rewrite))


def used_by_results(ls: ir.LoopSet) -> frozenset[str]:
    values = [r.value for r in ls.results if isinstance(r, ir.ScalarResult)]
    return frozenset(e.name for value in values for e in subexprs(value) if isinstance(e, ir.Var))


def forward_cell_reads(body: tuple[ir.Stmt, ...], cells: frozenset[str], pinned: frozenset[str]) -> tuple[ir.Stmt, ...]:
    """Lets that only copy a cell vanish where the cell cannot change before their last use; `pinned` Lets stay."""
    out: list[ir.Stmt] = []
    remaining = list(body)
    while remaining:
        stmt = remaining.pop(0)
        cell = copied_cell(stmt, cells)
        if isinstance(stmt, ir.Let) and cell is not None and stmt.name not in pinned:
            span = reach(remaining, stmt.name, cell)
            if span is not None:
                rewrite = partial(put, name=stmt.name, value=stmt.value)
                remaining[:span] = [map_stmt_exprs(rewrite, s) for s in remaining[:span]]
                continue
        out.append(map_blocks(lambda inner: forward_cell_reads(inner, cells, pinned), stmt))
    return tuple(out)


def copied_cell(stmt: ir.Stmt, cells: frozenset[str]) -> str | None:
    """The cell whose value a Let copies."""
    match stmt:
        case ir.Let(value=ir.Load(access=ir.Access(array=array))) if array in cells:
            return array
        case _:
            return None


def put(expr: ir.Expr, name: str, value: ir.Expr) -> ir.Expr:
    return map_expr(lambda e: value if isinstance(e, ir.Var) and e.name == name else e, expr)


def uses(stmt: ir.Stmt, name: str) -> bool:
    """Whether `stmt` or anything inside it reads the Let `name`."""
    return name in lets_used((stmt,))


def reach(rest: list[ir.Stmt], name: str, cell: str) -> int | None:
    """How many statements of `rest` hold every use of `name` with `cell` unchanged; None if it may change first."""
    last = max((k for k, stmt in enumerate(rest) if uses(stmt, name)), default=-1)
    for k in range(last + 1):
        writes = cell in written_arrays((rest[k],))
        if writes and (k < last or not isinstance(rest[k], ir.Assign | ir.Accumulate)):
            return None
    return last + 1


def drop_unused_cells(ls: ir.LoopSet, cells: frozenset[str]) -> ir.LoopSet:
    """`ls` without declarations of cells that its body no longer touches."""
    used = touched_arrays(ls.body)
    for result in ls.results:
        if isinstance(result, ir.ScalarResult):
            used |= {e.access.array for e in subexprs(result.value) if isinstance(e, ir.Load)}
    kept = tuple(a for a in ls.arrays if a.name not in cells or a.name in used or a.name in ls.params)
    return replace(ls, arrays=kept)


def name_lets_after_cells(ls: ir.LoopSet, cell_of: Mapping[str, str]) -> ir.LoopSet:
    """The first Let of a cell that is gone takes the cell's own name, as the user wrote it."""
    declared = {a.name for a in ls.arrays} | {s.name for s in ls.scalars}
    renamed: dict[str, str] = {}
    loops = {s.index for s in all_statements(ls.body) if isinstance(s, ir.Loop)}
    for stmt in all_statements(ls.body):
        if isinstance(stmt, ir.Let) and stmt.name in cell_of:
            cell = cell_of[stmt.name]
            if cell not in declared and cell not in renamed.values() and cell not in loops:
                renamed[stmt.name] = cell
    return rename_lets(ls, renamed)


def rename_lets(ls: ir.LoopSet, renamed: Mapping[str, str]) -> ir.LoopSet:
    """`ls` with Lets renamed, their uses too."""

    def expr(e: ir.Expr) -> ir.Expr:
        return map_expr(lambda x: replace(x, name=renamed.get(x.name, x.name)) if isinstance(x, ir.Var) else x, e)

    def stmt(s: ir.Stmt) -> tuple[ir.Stmt, ...]:
        return (replace(s, name=renamed.get(s.name, s.name)) if isinstance(s, ir.Let) else s,)

    body = map_body(tuple(map_stmt_exprs(expr, s) for s in ls.body), stmt)
    results = tuple(ir.ScalarResult(expr(r.value)) if isinstance(r, ir.ScalarResult) else r for r in ls.results)
    return replace(ls, body=body, results=results)
