"""Placement of bounds checks of data-dependent subscripts: as far ahead of the first write as their operands allow.

What a statement checks is repeated without the rest of it, an inspector. It goes to the earliest place where all
it reads is there; if the function writes an argument before that place, the inspector repeats from the start of
the function. Cells and local arrays that it writes are its own. Only where a subscript depends on elements
of arguments that the function itself writes, or on arithmetic on floating numbers, do the checks stay in place; where
that decides only whether an element is used, they ask for it in any case (`certain_checks`). Where shapes and integer
arguments alone may say that every check of an inspector holds, they are asked first.
"""

from __future__ import annotations

from collections.abc import Sequence

from loopdiff.analysis.repeatable import Repeatable, repeatable
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import all_of, compare, has_iterations, integer
from loopdiff.ir.names import NameSupply, supply
from loopdiff.ir.ops import Op
from loopdiff.ir.renaming import rename_everywhere, renamed_block
from loopdiff.ir.slicing import Names, eliminate_dead
from loopdiff.ir.walk import (
    all_statements,
    lets_used,
    loads_in,
    map_blocks,
    nodes_of,
    seen_params,
    statements,
    touched_arrays,
    written_arrays,
)
from loopdiff.passes.checks.certainty import certain_if, settled

Block = tuple[ir.Stmt, ...]
UNBOUND = "LD331"  # of variables that have no value


@immutable
class Group:
    """One statement of the function's body as it is (or nothing, for the results), and with its checks."""

    plain: Block
    checked: Block

    @property
    def has_checks(self) -> bool:
        return self.plain != self.checked

    def asks(self, code: str) -> bool:
        """Whether a check of that code is in it."""
        return any(isinstance(s, ir.Require) and s.code == code for s in self.plain)

    @property
    def defines(self) -> Names:
        return written_arrays(self.plain) | {s.name for s in self.plain if isinstance(s, ir.Let)}


@immutable
class Inspector:
    """`body` goes ahead of the group at `position`; it `covers` the checks of every earlier group or of one."""

    position: int
    body: Block
    arrays: tuple[ir.ArrayDecl, ...] = ()
    covers_all: bool = False


def place_checks(ls: ir.LoopSet, groups: Sequence[Group]) -> ir.LoopSet:
    """`ls` with the checks of `groups` ahead of what they guard where possible, else in place."""
    names, known = supply(ls), repeatable(ls)
    inspectors: list[Inspector] = []
    blocks = [g.plain for g in groups]
    stated = conditions_ahead(groups)
    for number, group in enumerate(groups):
        if not group.has_checks:
            continue
        found = inspector(ls, groups[: number + 1], names, known)
        if found is None:
            blocks[number] = group.checked
        else:
            found = replace(found, position=max(found.position, stated))
            inspectors = [found] if found.covers_all else [*inspectors, found]
    body: list[ir.Stmt] = []
    for number, block in enumerate(blocks):
        body += [s for i in inspectors if i.position == number for s in i.body]
        body += block
    return replace(ls, body=tuple(body), arrays=(*ls.arrays, *(a for i in inspectors for a in i.arrays)))


def conditions_ahead(groups: Sequence[Group]) -> int:
    """How many conditions on shapes and integer arguments come first: checks may rely on them."""

    def is_condition(group: Group) -> bool:
        (stmt,) = group.plain if len(group.plain) == 1 else (None,)
        return isinstance(stmt, ir.Require) and not group.has_checks and not any(loads_in((stmt,)))

    return next((number for number, group in enumerate(groups) if not is_condition(group)), len(groups))


def inspector(ls: ir.LoopSet, groups: Sequence[Group], names: NameSupply, known: Repeatable) -> Inspector | None:
    """The checks of the last of `groups`, without what they do not need. None if that writes an argument, or might come
    out differently from what the program does.
    """
    *before, last = groups
    own = needed_by_checks(ls, last.checked, known)
    if own is None:
        return None
    position = earliest(before, own, frozenset(a.name for a in ls.arrays if is_cell(a)))
    is_own_private = all(is_cell(ls.array(a)) for a in written_arrays(own))
    is_ahead_of_writes = not any(g.defines & seen_params(ls) for g in before[:position])
    if is_own_private and is_ahead_of_writes:
        return with_own_names(ls, own, position, before, names)
    whole = needed_by_checks(ls, tuple(s for g in groups for s in g.checked), known)
    if whole is not None and not written_arrays(whole) & seen_params(ls):
        return replace(with_own_names(ls, whole, 0, (), names), covers_all=True)
    return with_own_names(ls, own, position, before, names) if is_own_private else None


def is_cell(decl: ir.ArrayDecl) -> bool:
    return decl.role == "local" and decl.type is not None and decl.type.rank == 0


def needed_by_checks(ls: ir.LoopSet, block: Block, known: Repeatable) -> Block | None:
    """The checks in `block` that can be asked ahead for certain, and what they need; None if others are left."""
    own = eliminate_dead(replace(ls, body=block, results=()), frozenset()).body
    certain = settled(own, known)
    return None if certain is None else eliminate_dead(replace(ls, body=certain, results=()), frozenset()).body


def earliest(before: Sequence[Group], block: Block, cells: Names) -> int:
    """The position behind the last of the groups that define what `block` reads, or writes for itself; and behind those
    that ask whether variables have values, if it reads some of the `cells`."""
    used = touched_arrays(block) | lets_used(block)
    asked = UNBOUND if used & cells else None
    return max((n + 1 for n, g in enumerate(before) if g.defines & used or (asked and g.asks(asked))), default=0)


def with_own_names(
    ls: ir.LoopSet, block: Block, position: int, before: Sequence[Group], names: NameSupply
) -> Inspector:
    """`block` as an inspector: what it writes has names of its own, and starts from the values at `position`."""
    new = {array: names.fresh(array) for array in sorted(written_arrays(block))}
    renamed = rename_everywhere(replace(ls, body=block, results=()), new)
    arrays = tuple(a for a in renamed.arrays if a.name in new.values())
    defined = frozenset(n for g in before for n in g.defines)
    starts = tuple(ir.Assign(ir.Access(own), ir.Load(ir.Access(old))) for old, own in new.items() if old in defined)
    body = tuple(if_moving(once(s)) for s in renamed_block(renamed.body, names))
    return Inspector(position, unless_certain((*starts, *body)), arrays)


def if_moving(stmt: ir.Stmt) -> ir.Stmt:
    """`stmt` without loops that would not end: that their step is not zero is asked behind the inspector."""
    stmt = map_blocks(lambda body: tuple(map(if_moving, body)), stmt)
    if not isinstance(stmt, ir.Loop) or isinstance(stmt.step, ir.Const):
        return stmt
    return ir.If(compare(Op.NE, stmt.step, integer(0)), (stmt,), loc=stmt.loc)


def once(stmt: ir.Stmt) -> ir.Stmt:
    """`stmt` with loops that check the same in every iteration entered once, if they run at all."""
    match stmt:
        case ir.Loop(index=index, step=ir.Const(), body=body):
            body = tuple(map(once, body))
            sites = list(statements(body))
            used = any(e == ir.Index(index) for s in sites for e in nodes_of(s.stmt))
            if used or written_arrays(body) or any(isinstance(s, ir.Exit) for s in body):
                return replace(stmt, body=body)
            return ir.If(has_iterations(stmt), body, loc=stmt.loc)
        case _:
            return map_blocks(lambda body: tuple(map(once, body)), stmt)


def unless_certain(block: Block) -> Block:
    """`block`, entered only by calls whose shapes and integer arguments do not already say that all its checks hold."""
    stmts = all_statements(block)
    certain = [certain_if(s.cond) for s in stmts if isinstance(s, ir.Require)]
    known = [c for c in certain if c is not None]
    if None in certain or not known or not any(isinstance(s, ir.Loop) for s in stmts):
        return block
    return (ir.If(ir.Apply(Op.NOT, (all_of(known),)), block),)
