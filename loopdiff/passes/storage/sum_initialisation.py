"""Sinking of zero stores into the contractions that add to them, which then start their sums themselves.

    x_adj = zeros                                    for i:
    for j:                                               for k:
        for k:                        becomes                x_adj[i, k] = 0.0
            for i:                                           for j:
                x_adj[i, k] += ...                               x_adj[i, k] += ...

A register tile then only stores what it has summed. Where it is not certain that the loops go over the whole array,
they stop at its end, and what is beyond them is set to zero in loops of its own. Zeros that a nest writes are left to
the contraction that goes over the same elements; those that are left for the next iteration go if it starts anew.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from functools import partial

from loopdiff.analysis.contractions import Contraction, contraction, is_rectangular, is_uniform, nest_of_update
from loopdiff.analysis.ownership import touches_of
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import extents_of, integer, is_clear, is_constant, is_zero, natural, nested, zero
from loopdiff.ir.names import NameSupply, supply
from loopdiff.ir.ops import Op
from loopdiff.ir.typing import TypeEnv, type_env
from loopdiff.ir.walk import (
    Site,
    accesses,
    all_statements,
    loads_in,
    map_blocks,
    may_stop,
    statements,
    touched_arrays,
    without,
)
from loopdiff.model import tuning
from loopdiff.model.register_tiles import choose_tile, is_product_operand
from loopdiff.passes.storage.copy_propagation import Users, same_elements, users_of
from loopdiff.passes.storage.first_writes import Zeros, drop_unread_zeros, sink_zeros

ONE = integer(1)


def start_sums(ls: ir.LoopSet, *, in_tiles_only: bool = True) -> ir.LoopSet:
    """`ls`, whose loops are arranged, with zeros for contractions left to these where they are in register tiles, or
    everywhere, as threads of a GPU hold each sum in a register.
    """
    ls = replace(ls, body=Starter(ls, type_env(ls), supply(ls), in_tiles_only).block(ls.body))
    users, number = users_of(ls), len(ls.body)
    while (number := min(number, len(ls.body)) - 1) >= 0:  # of loops that did nothing else, nothing is left
        fewer = without_last_zeros(ls, number, users)
        users = users if fewer is ls else users_of(fewer)
        ls = fewer
    return ls


@immutable
class Starter:
    ls: ir.LoopSet
    types: TypeEnv
    names: NameSupply
    in_tiles_only: bool

    def block(self, body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        """A block, and those inside of it, with zeros left to the contractions that first add to them."""
        return sink_zeros(tuple(map_blocks(self.block, s) for s in body), zeros_in, is_concerned, self.started)

    def started(self, stmt: ir.Stmt, zeros: Zeros[ir.Stmt]) -> tuple[ir.Stmt, ...] | None:
        """`stmt`, if it holds its sums in registers, with `zeros` at their start, and in what is left over; or,
        if it adds once to each element, as a nest that stores."""
        found = contraction(stmt)
        if found is None and zeros.site is None:
            return self.stored_whole(stmt, zeros.array)
        if found is None or found.start is not None or found.update.target.array != zeros.array:
            return None
        if not found.kept or not self.can_start(found):
            return None
        if zeros.site is None:
            return self.started_whole(found)
        assert isinstance(zeros.site.stmt, ir.Assign)
        if not same_elements(zeros.site.stmt.target, zeros.site.loops, found.update.target, found.loops):
            return None
        started = nest_of(found, {}, self.zero_in(found.update.target))
        new = contraction(started)
        return (started,) if new is not None and self.can_start(new) else None

    def stored_whole(self, stmt: ir.Stmt, array: str) -> tuple[ir.Stmt, ...] | None:
        """`stmt` with assignments, if it is a nest that adds once to all elements of an array and reads none."""
        found = nest_of_update(stmt)
        if found is None or found.sums or found.update.target.array != array or not is_rectangular(found.loops):
            return None
        axes, is_read = own_axes(found), any(load.access.array == array for load in loads_in((stmt,)))
        if is_read or axes is None or [p.upper for p in axes] != [*extents_of(self.ls.array(array))]:
            return None
        return (stored(stmt),)

    def started_whole(self, found: Contraction) -> tuple[ir.Stmt, ...] | None:
        """The contraction with zeros in all of its array."""
        axes = own_axes(found)
        if axes is None:
            return None
        extents = extents_of(self.ls.array(found.update.target.array))
        is_open = [loop.upper != extent for loop, extent in zip(axes, extents, strict=True)]
        if sum(is_open) > (tuning.OPEN_AXES if self.in_tiles_only else 0):
            return None  # kernels for what is left over, and loops beside those that are threads, cost more than zeros
        within = {
            loop.index: replace(loop, upper=ir.Apply(Op.MIN, (loop.upper, extent)))
            for loop, extent, is_left in zip(axes, extents, is_open, strict=True)
            if is_left
        }
        rest = (self.zeros(found, axes, extents, within, k) for k, is_left in enumerate(is_open) if is_left)
        return nest_of(found, within, self.zero_in(found.update.target)), *rest

    def can_start(self, found: Contraction) -> bool:
        """Whether the contraction holds its sums in registers, without any of its work done again for each term."""
        if not is_uniform(found, self.types):
            return False
        if self.in_tiles_only:
            return choose_tile(self.ls, found) is not None
        indices = frozenset(p.index for p in found.loops)
        return is_rectangular(found.loops) and is_product_operand(found.summand, indices)

    def zero_in(self, target: ir.Access) -> ir.Stmt:
        return ir.Assign(target, zero(self.types.arrays[target.array].element), loc=target.loc)

    def zeros(
        self,
        found: Contraction,
        axes: Sequence[ir.Loop],
        extents: Sequence[ir.Expr],
        within: dict[str, ir.Loop],
        open_: int,
    ) -> ir.Stmt:
        """Zeros beyond the loop over axis `open_`: as far as loops go along axes before it, all along the others."""
        indices = [self.names.fresh(loop.index) for loop in axes]
        target = replace(found.update.target, subscripts=tuple(map(ir.Index, indices)))
        stmt = self.zero_in(target)
        for k in reversed(range(len(axes))):
            lower, upper = axes[k].lower, extents[k]
            if k < open_:
                upper = within.get(axes[k].index, axes[k]).upper
            elif k == open_:
                lower = natural(axes[k].upper)
            stmt = ir.Loop(indices[k], lower, upper, ONE, (stmt,), loc=axes[k].loc)
        return stmt


def stored(stmt: ir.Stmt) -> ir.Stmt:
    """`stmt` with what its update adds as what it stores."""
    if isinstance(stmt, ir.Accumulate):
        return ir.Assign(stmt.target, stmt.value, loc=stmt.loc)
    return map_blocks(lambda body: tuple(map(stored, body)), stmt)


def own_axes(found: Contraction) -> list[ir.Loop] | None:
    """The loop that goes along each axis of the target, if each has one of its own that begins at 0."""
    loops = {p.index: p for p in found.loops}
    names = [s.name if isinstance(s, ir.Index) else "" for s in found.update.target.subscripts]
    is_own = len(set(names)) == len(names) and all(n in loops and is_constant(loops[n].lower, 0) for n in names)
    return [loops[n] for n in names] if is_own else None


def nest_of(found: Contraction, within: dict[str, ir.Loop], start: ir.Stmt) -> ir.Stmt:
    """The contraction with the loops `within` in place of those that have their names, and `start` before its sums."""
    update = replace(found.update, value=found.summand)
    sums = nested([loop for loop in found.loops if loop.index in found.sums], (update,))
    (nest,) = nested([within.get(p.index, p) for p in found.loops if p.index in found.kept], (start, *sums))
    return nest


# -- which zeros ---------------------------------------------------------------------------------------------
def zeros_in(stmt: ir.Stmt) -> Iterator[Zeros[ir.Stmt]]:
    """The zeros that a statement fills an array with, or, with nothing else of the array, writes into elements."""
    if isinstance(stmt, ir.Allocate) and is_zero(stmt.fill):
        yield Zeros(stmt.array, (replace(stmt, fill=None),))
    if has_exits((stmt,)):
        return
    sites = list(statements((stmt,)))
    zeroing = [s for s in sites if is_zeroing(s)]
    touches = touches_of(sites) if zeroing else {}
    for site in zeroing:
        if isinstance(site.stmt, ir.Assign) and len(touches[site.stmt.target.array]) == 1:
            yield Zeros(site.stmt.target.array, without((stmt,), partial(operator.is_, site.stmt)), site)


def has_exits(body: tuple[ir.Stmt, ...]) -> bool:
    return any(isinstance(s, ir.Exit) for s in all_statements(body))


def is_zeroing(site: Site) -> bool:
    """Whether the statement sets elements of an array to zero under no condition."""
    return is_clear(site.stmt) and not site.is_conditional


def is_concerned(stmt: ir.Stmt, zeros: Zeros[ir.Stmt]) -> bool:
    """Whether `stmt` has to do with the array of `zeros`, or may be the last one to run before somebody looks at it."""
    return (zeros.site is not None and may_stop((stmt,))) or zeros.array in touched_arrays((stmt,))


def without_last_zeros(ls: ir.LoopSet, number: int, users: Users) -> ir.LoopSet:
    """`ls` without zeros at the end of an iteration of loop `number`, in arrays of its own, that nothing reads."""
    loop = ls.body[number]
    if not isinstance(loop, ir.Loop):
        return ls
    sites = [replace(s, path=(number, *s.path[1:])) for s in statements((loop,))]
    last = {a.array: s for s in sites for a in accesses(s.stmt) if a.subscripts}
    zeros = {array: s for array, s in last.items() if is_zeroing(s) and len(s.loops) > 1}
    unseen = zeros.keys() - users.beside(number)
    if not unseen or has_exits(loop.body):
        return ls
    return drop_unread_zeros(ls, unseen, unseen)
