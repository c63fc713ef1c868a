"""Guards around statements of the reverse sweep whose contributions are multiples of one adjoint, which may be 0.

    ties = 1.0 if x0 == top else 0.0             ties = 1.0 if x0 == top else 0.0
    for k in range(i, j):                        if bar != 0.0:
        if x[k] == top: ties += 1.0                  for k in range(i, j):
    share = bar / ties if bar != 0.0 else 0.0  becomes   if x[k] == top: ties += 1.0
    for k in range(i, j):                        share = bar / ties if bar != 0.0 else 0.0
        if x[k] == top: x_adj[k] += share        if share != 0.0:
                                                     for k in range(i, j):
                                                         if x[k] == top: x_adj[k] += share

Of the entries of a table of maxima only those on the way to the result have an adjoint. Only loops whose ranges differ
between the iterations of the loop around them: that one cannot become a vector anyway, which a condition would prevent.
Where the rest of an iteration adds nothing but multiples of an adjoint, all of it is left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from loopdiff.analysis.polyhedral.terms import guarded_loads
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import compare, zero
from loopdiff.ir.ops import Op
from loopdiff.ir.typing import TypeEnv, cell_types, type_env, type_of
from loopdiff.ir.walk import all_statements, expressions, indices_in, map_blocks, stmt_exprs
from loopdiff.passes.sweeps.zero_iterations import IterationIdler


def leave_out_idle(ls: ir.LoopSet) -> ir.LoopSet:
    """`ls` with loops under the condition that what they add is not zero, or is asked for."""
    if not any(varies_inside(s) for s in all_statements(ls.body)):
        return ls
    idler = Idler(ls, type_env(ls), frozenset(cell_types(ls)))
    return replace(ls, body=tuple(idler.visited(s) for s in ls.body))


def varies_inside(stmt: ir.Stmt) -> bool:
    return isinstance(stmt, ir.Loop) and any(isinstance(s, ir.Loop) and has_range_of(s, stmt) for s in stmt.body)


def has_range_of(loop: ir.Loop, around: ir.Loop) -> bool:
    """Whether the range of `loop` depends on the iteration of the loop `around` it."""
    return around.index in indices_in(loop.lower, loop.upper)


@immutable
class Idler:
    ls: ir.LoopSet
    types: TypeEnv
    cells: frozenset[str]

    def visited(self, stmt: ir.Stmt) -> ir.Stmt:
        match stmt:
            case ir.Loop(body=body):
                if varies_inside(stmt):
                    skipping = IterationIdler(self.ls, self.types, self.cells).skipping(body)
                    if skipping is not None:
                        return replace(stmt, body=skipping)
                return replace(stmt, body=tuple(self.inside(s, k, stmt) for k, s in enumerate(body)))
            case _:
                return map_blocks(lambda branch: tuple(map(self.visited, branch)), stmt)

    def inside(self, stmt: ir.Stmt, number: int, around: ir.Loop) -> ir.Stmt:
        """Statement `number` of the body of `around`, under the condition that it does something."""
        if not isinstance(stmt, ir.Loop) or not has_range_of(stmt, around):
            return self.visited(stmt)
        cond = self.adds_something(stmt) or self.is_asked_for(stmt, around.body[:number], around.body[number + 1 :])
        return self.visited(stmt) if cond is None else ir.If(cond, (stmt,), loc=stmt.loc)

    def adds_something(self, loop: ir.Loop) -> ir.Expr | None:
        """The condition that `loop` adds anything, if all that it adds is one value from outside."""
        added = {a.value for a in additions(loop)}
        if len(added) != 1:
            return None
        (value,) = added
        inside = {s.name for s in all_statements((loop,)) if isinstance(s, ir.Let)}
        kind = type_of(value, self.types)
        is_outside = isinstance(value, ir.Var) and value.name not in inside and kind.is_float
        return compare(Op.NE, value, zero(kind)) if is_outside else None

    def is_asked_for(self, loop: ir.Loop, before: tuple[ir.Stmt, ...], after: tuple[ir.Stmt, ...]) -> ir.Expr | None:
        """The condition under which alone the cell that `loop` adds to is read, if it is known ahead of the loop.

        The cell has a new value in each iteration of the loop around, which has the statements `before` and `after`.
        """
        targets = {a.target for a in additions(loop)}
        if len(targets) != 1:
            return None
        (target,) = targets
        is_new = target.array in self.cells and any(isinstance(s, ir.Assign) and s.target == target for s in before)
        exprs = [x for s in all_statements(after) for x in stmt_exprs(s)]
        found = [c for x in exprs for c in conditions_of(target.array, x)]
        reads = sum(1 for x in expressions(self.ls) for _ in conditions_of(target.array, x))
        later = {s.name for s in all_statements((loop, *after)) if isinstance(s, ir.Let)}
        match list(dict.fromkeys(found)):
            case [ir.Apply(op=Op.NE, args=(ir.Var(name=name), ir.Const())) as cond] if name not in later:
                return cond if is_new and reads == len(found) else None
            case _:
                return None


def additions(loop: ir.Loop) -> list[ir.Accumulate]:
    """All that the loop does, if it only adds; else nothing."""
    inside = all_statements(loop.body)
    if not all(
        isinstance(s, ir.Loop | ir.If | ir.Let) or (isinstance(s, ir.Accumulate) and s.op == "add") for s in inside
    ):
        return []
    return [s for s in inside if isinstance(s, ir.Accumulate)]


def conditions_of(cell: str, expr: ir.Expr) -> Iterator[ir.Expr | None]:
    """The innermost condition that holds where `cell` is read in `expr`, for each of these reads."""
    for load, guards in guarded_loads(expr):
        if load.access.array == cell:
            yield next((cond for cond, holds in guards[-1:] if holds), None)
