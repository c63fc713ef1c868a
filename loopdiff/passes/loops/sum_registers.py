"""Scalar replacement of sums, and of what is greatest or least: an element that all iterations of a loop accumulate in
stays in a register.

    for k in range(K):                          if 0 < K:
        C[m, n] += A[m, k] * B[k, n]                total = C[m, n]
                                      becomes       for k in range(K):
                                                        total += A[m, k] * B[k, n]
                                                    C[m, n] = total

What starts at zero right before the loop is not read. The additions are the same, in the same order. A compiler does
that itself where it can prove that no two arrays overlap, which for arguments of a kernel it cannot. A condition that
stands between the loop and what it accumulates, and is the same for all its iterations, is asked before the loop (loop
unswitching: Allen and Kennedy, "Optimizing compilers for modern architectures", section 13.2).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from loopdiff.canonical.invariant_motion import is_total
from loopdiff.errors import Span
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import all_of, has_iterations, is_clear
from loopdiff.ir.names import NameSupply, supply
from loopdiff.ir.renaming import renamed
from loopdiff.ir.types import F64, ArrayType
from loopdiff.ir.walk import (
    Site,
    accesses,
    all_statements,
    children,
    lets_in,
    loops_in,
    map_accesses,
    map_blocks,
    may_stop,
    nodes_of,
    statements,
    subexprs,
    written_arrays,
)
from loopdiff.mapping.launches import Launch, LaunchPlan, map_launches

OPS = ("add", "max", "min")


def hold_sums(plan: LaunchPlan) -> LaunchPlan:
    """`plan` with the sums of its threads in cells of their own."""
    holder = SumHolder(plan.ls, supply(plan.ls), [])
    steps = map_launches(lambda launch: (holder.launch(launch),), plan.steps)
    if not holder.cells:
        return plan
    return replace(plan, ls=replace(plan.ls, arrays=(*plan.ls.arrays, *holder.cells)), steps=steps)


@immutable
class SumHolder:
    """`lists`: arrays whose elements a thread cannot read, as what it adds to them goes to a list."""

    ls: ir.LoopSet
    names: NameSupply
    cells: list[ir.ArrayDecl]
    lists: frozenset[str] = frozenset()

    def launch(self, launch: Launch) -> Launch:
        before = len(self.cells)
        lists = frozenset(launch.grid.lists) if launch.grid is not None else frozenset[str]()
        new = replace(self, lists=lists).block(launch.body)
        own = tuple(c.name for c in self.cells[before:])
        return replace(launch, body=new, cells=(*launch.cells, *own)) if own else launch

    def block(self, body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        out: list[ir.Stmt] = []
        for stmt in body:
            match stmt:
                case ir.Loop():
                    found, guard = dict(sums_in(stmt, self.ls, OPS)), guard_of(stmt, self.ls)
                    started = self.started(stmt, found, out)
                    if guard is not None:
                        out.append(self.unswitched(stmt, guard))
                    elif started is not None:
                        out[len(out) - len(found) :] = started
                    else:
                        out.append(self.held(stmt, found) or map_blocks(self.block, stmt))
                case _:
                    out.append(map_blocks(self.block, stmt))
        return tuple(out)

    def started(
        self, loop: ir.Loop, found: Mapping[ir.Access, tuple[ir.Loop, ...]], before: Sequence[ir.Stmt]
    ) -> tuple[ir.Stmt, ...] | None:  # fmt: skip
        """The loop with all that it adds to in cells, if the statements right before it say where that starts."""
        last = before[len(before) - len(found) :]
        starts = {s.target: s.value for s in last if isinstance(s, ir.Assign) and is_clear(s)}
        if not found or starts.keys() != found.keys() or any(found.values()):
            return None
        kept, new = self.in_cells(loop, found)
        begin = (ir.Assign(kept[element], value, loc=loop.loc) for element, value in starts.items())
        return (*begin, new, *(ir.Assign(element, ir.Load(cell), loc=loop.loc) for element, cell in kept.items()))

    def held(self, loop: ir.Loop, found: Mapping[ir.Access, tuple[ir.Loop, ...]]) -> ir.Stmt | None:
        """The loop with the elements in cells that it only accumulates in; None if there are none."""
        around = [p for loops in found.values() for p in loops]
        runs = runs_all(loop, around) if found else None
        if runs is None:
            return None
        kept, new = self.in_cells(loop, found)
        before = [ir.Assign(cell, self.first(element), loc=loop.loc) for element, cell in kept.items()]
        after = [self.last(element, cell, loop.loc) for element, cell in kept.items()]
        # Where `loop` has iterations and one inside has none, the rest of it runs all the same.
        return ir.If(runs, (*before, new, *after), (self.again(loop),) if around else (), loc=loop.loc)

    def unswitched(self, loop: ir.Loop, guard: ir.Expr) -> ir.Stmt:
        """The loop where `guard` holds, and where it does not."""
        other = self.block(decided((self.again(loop),), guard, holds=False))
        return ir.If(guard, self.block(decided((loop,), guard, holds=True)), other, loc=loop.loc)

    def again(self, loop: ir.Loop) -> ir.Stmt:
        """`loop` a second time: indices tell loops apart."""
        return renamed(loop, {ir.Index(p.index): ir.Index(self.names.fresh(p.index)) for p in loops_in((loop,))})

    def in_cells(self, loop: ir.Loop, found: Iterable[ir.Access]) -> tuple[dict[ir.Access, ir.Access], ir.Loop]:
        """A cell for each element, and the loop with these."""
        kept: dict[ir.Access, ir.Access] = {}
        for target in found:
            kind = self.ls.array(target.array).type
            assert kind is not None
            cell = ir.ArrayDecl(self.names.fresh(f"{target.array}_total"), ArrayType(kind.dtype, 0), "local", ())
            self.cells.append(cell)
            kept[target] = ir.Access(cell.name)
        new = map_accesses(lambda a: kept.get(a, a), loop)
        assert isinstance(new, ir.Loop)
        return kept, replace(new, body=self.block(new.body))

    def first(self, element: ir.Access) -> ir.Expr:
        """What a cell begins with."""
        return ir.Const(0.0, F64) if element.array in self.lists else ir.Load(element)

    def last(self, element: ir.Access, cell: ir.Access, loc: Span) -> ir.Stmt:
        """The statement that brings a cell back."""
        if element.array in self.lists:  # which are for sums alone
            return ir.Accumulate("add", element, ir.Load(cell), loc=loc)
        return ir.Assign(element, ir.Load(cell), loc=loc)


def sums_in(
    loop: ir.Loop,
    ls: ir.LoopSet,
    ops: Sequence[str] = ("add",),
    *,
    with_choices: bool = False,
) -> Iterator[tuple[ir.Access, tuple[ir.Loop, ...]]]:
    """Elements that every iteration accumulates in, by one of `ops`, and that nothing else in the loop touches, with
    the loops around; `with_choices`: those as well that only some iterations add to."""
    for target, site in accumulated_in(loop, ls, ops):
        if with_choices or not site.is_conditional:
            yield target, site.loops


def guard_of(loop: ir.Loop, ls: ir.LoopSet) -> ir.Expr | None:
    """The condition under which all iterations accumulate in an element, or none of them; None if there is none, or
    more than one: each would double the loop."""
    changing, written = changing_in(loop), written_arrays(loop.body)
    found = [g for _, site in accumulated_in(loop, ls, OPS) for g in site.enclosing if isinstance(g, ir.If)]
    conditions = dict.fromkeys(g.cond for g in found)
    return next(iter(conditions)) if len(conditions) == 1 and is_guard(found[0], changing, written) else None


def decided(body: tuple[ir.Stmt, ...], guard: ir.Expr, *, holds: bool) -> tuple[ir.Stmt, ...]:
    """`body` where the condition holds, or does not: without loops in which nothing is left to do."""
    out: list[ir.Stmt] = []
    for stmt in body:
        match stmt:
            case ir.If(cond=cond, then=then, orelse=orelse) if cond == guard:
                out += decided(then if holds else orelse, guard, holds=holds)
            case ir.Loop() | ir.If():
                inner = map_blocks(lambda b: decided(b, guard, holds=holds), stmt)
                out += [inner] if children(inner) else []
            case _:
                out.append(stmt)
    return tuple(out)


def changing_in(loop: ir.Loop) -> frozenset[str]:
    return lets_in(loop.body).union(p.index for p in loops_in((loop,)))


def accumulated_in(loop: ir.Loop, ls: ir.LoopSet, ops: Sequence[str]) -> Iterator[tuple[ir.Access, Site]]:
    """Elements in which iterations accumulate, and that nothing else in the loop touches, and where they do."""
    inside = list(statements(loop.body))
    if may_stop(loop.body):
        return
    changing, written = changing_in(loop), written_arrays(loop.body)
    for site in inside:
        match site.stmt:
            case ir.Accumulate(op=op, target=target) if op in ops and is_float_array(ls, target.array):
                others = (a for s in inside for a in accesses(s.stmt) if a.array == target.array)
                is_alone = all(a == target for a in others) and not is_used(target, op, inside)
                parts = (e for s in target.subscripts for e in subexprs(s))
                is_fixed = not any(is_changing(e, changing, written) for e in parts)
                if is_alone and is_fixed:
                    yield target, site
            case _:
                pass


def is_guard(stmt: ir.If, changing: frozenset[str], written: frozenset[str]) -> bool:
    """Whether the condition is the same for all iterations, and may be asked before them: it fails nowhere."""
    parts = list(subexprs(stmt.cond))
    is_safe = all(is_total(e) if isinstance(e, ir.Apply) else not reads_element(e) for e in parts)
    return is_safe and not any(is_changing(e, changing, written) for e in parts)


def reads_element(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Load) and bool(expr.access.subscripts)


def is_float_array(ls: ir.LoopSet, name: str) -> bool:
    kind = ls.array(name).type if ls.has_array(name) else None
    return kind is not None and kind.rank > 0 and kind.dtype in ("float64", "float32")


def is_used(target: ir.Access, op: str, inside: Iterable[Site]) -> bool:
    """Whether the element is read, given a value, or accumulated in by another operation than `op`."""
    for site in inside:
        match site.stmt:
            case ir.Assign(target=other) if other == target:
                return True
            case ir.Accumulate(op=another, target=other) if other == target and another != op:
                return True
            case _:
                pass
        if any(isinstance(e, ir.Load) and e.access == target for e in nodes_of(site.stmt)):
            return True
    return False


def is_changing(expr: ir.Expr, names: frozenset[str], written: frozenset[str]) -> bool:
    match expr:
        case ir.Index(name=name) | ir.Var(name=name):
            return name in names
        case ir.Load(access=access):
            return access.array in written
        case _:
            return False


def runs_all(loop: ir.Loop, around: Sequence[ir.Loop]) -> ir.Expr | None:
    """Whether the loop, and each of those `around` what it adds to, has an iteration; None if that changes inside."""
    conditions: list[ir.Expr] = []
    inner = list({p.index: p for p in (loop, *around)}.values())
    indices = {p.index for p in inner}
    lets = {s.name for s in all_statements(loop.body) if isinstance(s, ir.Let)}
    written = written_arrays(loop.body)
    for part in inner:
        if not isinstance(part.step, ir.Const):
            return None
        bounds = [e for b in (part.lower, part.upper) for e in subexprs(b)]
        if any(is_changing(e, frozenset(indices | lets), written) for e in bounds):
            return None
        conditions.append(has_iterations(part))
    return all_of(conditions)
