"""Sinking of zero stores into the contractions that add to them, which then start their sums themselves.

    x_adj = zeros                                    for i:
    for j:                                               for k:
        for k:                        becomes                x_adj[i, k] = 0.0
            for i:                                           for j:
                x_adj[i, k] += ...                               x_adj[i, k] += ...

A register tile then only stores what it has summed. Where it is not certain that the loops go over the whole array,
they stop at its end, and what is beyond them is set to zero in loops of its own. Inside loops, zeros are left to the
contraction that goes over the same elements; those that are left for the next iteration go if it starts anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from loopdiff.analysis.contractions import Contraction, contraction, is_rectangular, is_uniform
from loopdiff.analysis.polyhedral.model import build_model
from loopdiff.analysis.privatization import is_zero
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import extents_of, integer, is_constant, natural, zero
from loopdiff.ir.names import NameSupply, supply
from loopdiff.ir.ops import Op
from loopdiff.ir.typing import TypeEnv, type_env
from loopdiff.ir.walk import Site, accesses, all_statements, statements, touched_arrays
from loopdiff.model import tuning
from loopdiff.model.register_tiles import choose_tile, is_product_operand
from loopdiff.passes.storage.copy_propagation import known_outside, same_elements
from loopdiff.passes.storage.first_writes import NEVER, needed_zeros, rewritten

ONE = integer(1)


def start_sums(ls: ir.LoopSet, *, in_tiles_only: bool = True) -> ir.LoopSet:
    """`ls`, whose loops are arranged, with zeros for contractions left to these where they are in register tiles, or
    everywhere, as threads of a GPU hold each sum in a register.
    """
    starter = Starter(ls, type_env(ls), supply(ls), in_tiles_only)
    body = ls.body
    for stmt in ls.body:
        if isinstance(stmt, ir.Allocate) and is_zero(stmt.fill):
            body = starter.without_zeros(body, stmt)
    ls = replace(ls, body=tuple(starter.inside(s) for s in body))
    for number in range(len(ls.body)):
        ls = without_last_zeros(ls, number)
    return ls


@dataclass(frozen=True, slots=True)
class Starter:
    ls: ir.LoopSet
    types: TypeEnv
    names: NameSupply
    in_tiles_only: bool

    def without_zeros(self, body: tuple[ir.Stmt, ...], fill: ir.Allocate) -> tuple[ir.Stmt, ...]:
        """`body` with the zeros of `fill` left to the next statement that has to do with its array, if it can."""
        place = body.index(fill)
        users = (k for k, s in enumerate(body) if k > place and fill.array in touched_arrays((s,)))
        user = next(users, None)
        started = None if user is None else self.started(body[user], fill.array)
        if user is None or started is None:
            return body
        return (*body[:place], replace(fill, fill=None), *body[place + 1 : user], *started, *body[user + 1 :])

    def started(self, stmt: ir.Stmt, array: str) -> tuple[ir.Stmt, ...] | None:
        """`stmt`, if it holds its sums in registers, with zeros at the start of those in `array`, and in what is left
        over."""
        found = contraction(stmt)
        if found is None or found.start is not None or found.update.target.array != array:
            return None
        axes = own_axes(found)
        if axes is None or not self.can_start(found):
            return None
        extents = extents_of(self.ls.array(array))
        is_open = [loop.upper != extent for loop, extent in zip(axes, extents, strict=True)]
        if sum(is_open) > tuning.OPEN_AXES:
            return None
        within = {
            loop.index: replace(loop, upper=ir.Apply(Op.MIN, (loop.upper, extent)))
            for loop, extent, is_left in zip(axes, extents, is_open, strict=True)
            if is_left
        }
        rest = (self.zeros(found, axes, extents, within, k) for k, is_left in enumerate(is_open) if is_left)
        return nest_of(found, within, self.zero_in(found.update.target)), *rest

    def inside(self, stmt: ir.Stmt) -> ir.Stmt:
        """`stmt` with zeros in the bodies of loops left to contractions there."""
        if not isinstance(stmt, ir.Loop):
            return stmt
        body = tuple(self.inside(s) for s in stmt.body)
        for place in range(len(body)):
            body = self.with_start(body, place)
        return replace(stmt, body=tuple(s for s in body if not is_empty(s)))

    def with_start(self, body: tuple[ir.Stmt, ...], place: int) -> tuple[ir.Stmt, ...]:
        """`body` with the zeros of the contraction at `place` in it, if those are what last became of its elements."""
        found = contraction(body[place])
        if found is None or found.start is not None or not self.can_start(found):
            return body
        array = found.update.target.array
        before = [k for k in range(place) if array in touched_arrays((body[k],))]
        zeros = [s for s in statements((body[before[-1]],)) if touches(s.stmt, array)] if before else []
        if len(zeros) != 1 or not is_zeroing(zeros[0]) or has_exits(body[before[-1] : place]):
            return body
        (site,) = zeros
        assert isinstance(site.stmt, ir.Assign)
        if not same_elements(site.stmt.target, site.loops, found.update.target, found.loops):
            return body
        started = nest_of(found, {}, self.zero_in(found.update.target))
        rest = without_statement(body[before[-1]], site.stmt)
        new = contraction(started)
        if new is None or not self.can_start(new):
            return body
        return (*body[: before[-1]], rest, *body[before[-1] + 1 : place], started, *body[place + 1 :])

    def can_start(self, found: Contraction) -> bool:
        """Whether the contraction holds its sums in registers, without any of its work done again for each term."""
        if not is_rectangular(found.loops) or not is_uniform(found, self.types):
            return False
        if self.in_tiles_only:
            return choose_tile(self.ls, found) is not None
        return is_product_operand(found.summand, frozenset(p.index for p in found.loops))

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


def own_axes(found: Contraction) -> list[ir.Loop] | None:
    """The loop that goes along each axis of the target, if each has one of its own that begins at 0."""
    loops = {p.index: p for p in found.loops}
    names = [s.name if isinstance(s, ir.Index) else "" for s in found.update.target.subscripts]
    is_own = len(set(names)) == len(names) and all(n in loops and is_constant(loops[n].lower, 0) for n in names)
    return [loops[n] for n in names] if is_own else None


def nest_of(found: Contraction, within: dict[str, ir.Loop], start: ir.Stmt) -> ir.Stmt:
    """The contraction with the loops `within` in place of those that have their names, and `start` before its sums."""
    inner: tuple[ir.Stmt, ...] = (replace(found.update, value=found.summand),)
    for loop in reversed(found.loops):
        if loop.index in found.sums:
            inner = (replace(loop, body=inner),)
    inner = (start, *inner)
    for loop in reversed(found.loops):
        if loop.index in found.kept:
            inner = (replace(within.get(loop.index, loop), body=inner),)
    return inner[0]


# -- inside loops ---------------------------------------------------------------------------------------------
def touches(stmt: ir.Stmt, array: str) -> bool:
    return any(a.array == array for a in accesses(stmt))


def is_zeroing(site: Site) -> bool:
    """Whether the statement sets elements of an array to zero under no condition."""
    is_plain = isinstance(site.stmt, ir.Assign) and is_zero(site.stmt.value) and bool(site.stmt.target.subscripts)
    return is_plain and not site.is_conditional


def has_exits(body: Sequence[ir.Stmt]) -> bool:
    return any(isinstance(s, ir.Exit) for s in all_statements(tuple(body)))


def is_empty(stmt: ir.Stmt) -> bool:
    return isinstance(stmt, ir.Loop) and not stmt.body


def without_statement(stmt: ir.Stmt, gone: ir.Stmt) -> ir.Stmt:
    """A nest without the statement `gone`, and without loops around nothing else."""
    if not isinstance(stmt, ir.Loop):
        return stmt
    body = (without_statement(s, gone) for s in stmt.body if s is not gone)
    return replace(stmt, body=tuple(s for s in body if not is_empty(s)))


def without_last_zeros(ls: ir.LoopSet, number: int) -> ir.LoopSet:
    """`ls` without zeros at the end of an iteration of loop `number`, in arrays of its own, that nothing reads."""
    loop = ls.body[number]
    if not isinstance(loop, ir.Loop):
        return ls
    sites = [replace(s, path=(number, *s.path[1:])) for s in statements((loop,))]
    last = {a.array: s for s in sites for a in accesses(s.stmt) if a.subscripts}
    zeros = {array: s for array, s in last.items() if is_zeroing(s) and len(s.loops) > 1}
    unseen = zeros.keys() - known_outside(ls, number)
    if not unseen or has_exits(loop.body):
        return ls
    needed = needed_zeros(build_model(ls), unseen, set(), unseen)
    unread = {zeros[array].path for array in unseen} - {path for path, where in needed.items() if where != NEVER}
    return rewritten(ls, lambda stmt, path: None if path in unread else stmt)
