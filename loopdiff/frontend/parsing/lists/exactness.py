"""Lists of floats that integers are put into: of what is computed of these, nothing may show that they were rounded."""

from __future__ import annotations

from collections.abc import Mapping

from loopdiff.errors import raise_if
from loopdiff.errors.codes import reject
from loopdiff.frontend.binding.exactness import Exactness
from loopdiff.frontend.binding.sizes import Sizes
from loopdiff.frontend.parsing.iterations import MadeList
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.types import ArrayType, ScalarType
from loopdiff.ir.walk import map_body

HINT = "write `float(...)` of the integers, or `0.0` for `0`"
APART = "keep the integers in a list of their own"
ROUNDED = "integers of a list that also holds floats may be too large here for what is computed to be exact"
LIMITS = (26, 20, 17, 13, 10, 8, 6, 4)  # bits of the integers that a call gives, the first that are few enough


def with_lists_of_floats(ls: ir.LoopSet, bound: ir.LoopSet, lists: Mapping[str, MadeList]) -> ir.LoopSet:
    """`ls`, a surface LoopSet, with checks of the integers that are put into those of the `lists` that hold floats:
    `bound` is the LoopSet with its types. Raises UnsupportedLoopError (LD134) if some that are computed may be too
    large for a float."""
    sizes = Sizes(ls, frozenset(lists), element_types(bound))
    sizes.find()
    large = [a for a in sorted(lists) if sizes.is_mixed(a) and sizes.is_too_large(a)]
    bits, rounded = most_bits(sizes) if any(map(sizes.is_mixed, lists)) else (LIMITS[0], None)
    found = {a: list(sizes.checks(a, bits)) for a in large}
    wrong = (a for a in large if sizes.is_narrow(a) or None in found[a])
    displays = ((lists[a].owner.source, lists[a].display, APART if sizes.is_narrow(a) else HINT) for a in wrong)
    message = "this list holds floats, and integers that may be too large for one"
    raise_if([reject("LD134", message, source.span(display), hint) for source, display, hint in displays])
    if rounded is not None:
        raise_if([reject("LD134", ROUNDED, rounded.loc, APART)])
    checks = {id(stmt): check for each in found.values() for stmt, check in filter(None, each)}
    body = map_body(ls.body, lambda s: (checks[id(s)], s) if id(s) in checks else (s,))
    return replace(ls, body=body) if checks else ls


def element_types(ls: ir.LoopSet) -> dict[str, ScalarType | None]:
    types = {a.name: a.type.element if isinstance(a.type, ArrayType) else None for a in ls.arrays}
    return types | {s.name: s.type for s in ls.scalars}


def most_bits(sizes: Sizes) -> tuple[int, ir.Expr | None]:
    """How many bits integers that a call gives may have in lists of floats; and what is not exact however few they
    have, if there is something."""
    found: ir.Expr | None = None
    for limit in LIMITS:
        found = next(Exactness(sizes, limit).inexact(), None)
        if found is None:
            return limit, None
    return LIMITS[0], found
