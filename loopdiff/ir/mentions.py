"""The names in statements: arrays that they read and write, and Lets that they make and read.

They are asked for of the same statements again and again, and of what these are in: who asks whether each of a hundred
statements may stand before each other one would look through all of them ten thousand times. So they are found once
for each statement, and kept with it (`immutable.NamedOnce`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from loopdiff.immutable import NamedOnce
from loopdiff.ir import nodes as ir

Names = frozenset[str]
NONE: Names = frozenset()
keep_names: Any = vars(NamedOnce)["own_names"].__set__


class Mentions(NamedTuple):
    """Arrays and cells that are read and written, and Lets that are made and read."""

    reads: Names
    writes: Names
    makes: Names
    uses: Names


def own_mentions(stmt: ir.Stmt, nodes: Iterable[ir.Expr]) -> Mentions:
    """The names in `stmt` itself, of which all subexpressions are `nodes`; the target of an Accumulate is read, too."""
    found = list(nodes)
    reads = {e.access.array for e in found if isinstance(e, ir.Load)}
    uses = frozenset(e.name for e in found if isinstance(e, ir.Var))
    writes: set[str] = set()
    makes = NONE
    match stmt:
        case ir.Let(name=name):
            makes = frozenset((name,))
        case ir.Assign(target=target):
            writes.add(target.array)
        case ir.Accumulate(target=target):
            writes.add(target.array)
            reads.add(target.array)
        case ir.Allocate(array=array):
            writes.add(array)
        case ir.Call() as call:
            writes.update(a.array for a in (*call.results, *written_parts(call)))
        case _:
            pass
    return Mentions(frozenset(reads), frozenset(writes), makes, uses)


def all_mentions(parts: Sequence[Mentions]) -> Mentions:
    """The names in any of `parts`."""
    return parts[0] if len(parts) == 1 else Mentions(*(NONE.union(*names) for names in zip(*parts, strict=True)))


def written_parts(call: ir.Call) -> tuple[ir.Access, ...]:
    """The parts of arrays that the called function writes."""
    written = call.rule.written(call.form)
    given = zip(call.rule.names(call.form), call.args, strict=True)
    return tuple(arg.access for name, arg in given if name in written and isinstance(arg, ir.Load))
