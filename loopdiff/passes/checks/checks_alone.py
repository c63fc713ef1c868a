"""The bounds checks of a reverse sweep as a LoopSet of their own, to be run before it.

A reverse sweep checks nothing that the forward sweep has checked. That is of no help where other index arrays come, or
tapes that no forward sweep has filled: what these hold decides which elements are read and written.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.slicing import eliminate_dead
from loopdiff.ir.walk import has_values, statements, subexprs
from loopdiff.passes.checks.bounds_checks import add_checks


def only_checks(ls: ir.LoopSet, like: Mapping[str, str], counted: Collection[str]) -> ir.LoopSet:
    """A program with the parameters of `ls` that raises LD310 or LD347 where `ls` would leave an array; nothing, if
    types and shapes see to it that it does not. It may write the arrays it is given.

    Arrays have the extents that they declare, those of `like` those of another one; totals `counted` say nothing.
    """
    arrays = tuple(with_extents(a, like, counted) if a.name in ls.params else a for a in ls.arrays)
    plain = replace(ls, name=f"{ls.name}_checks", arrays=arrays, results=(), returns_tuple=False)
    found = eliminate_dead(add_checks(plain), frozenset())
    looks_into_arrays = any(is_of_elements(s.stmt, bool(s.path[1:])) for s in statements(found.body))
    return found if looks_into_arrays else replace(found, body=())


def with_extents(decl: ir.ArrayDecl, like: Mapping[str, str], counted: Collection[str]) -> ir.ArrayDecl:
    """A parameter with its extents in terms of arguments, or as an argument of any extents."""
    extents = decl.extents
    if decl.name in like and decl.type is not None:
        return replace(decl, extents=tuple(ir.Dim(like[decl.name], axis) for axis in range(decl.type.rank)))
    if extents is None or any(isinstance(e, ir.Param) and e.name in counted for x in extents for e in subexprs(x)):
        return replace(decl, role="argument", extents=None)
    return decl


def is_of_elements(stmt: object, is_inside: bool) -> bool:
    """Whether a check is about more than shapes and numbers that the program is given."""
    if not isinstance(stmt, ir.Require):
        return False
    return is_inside or has_values(stmt.cond)
