"""Memory of local arrays: made where the program makes them, but in loops whose iterations hand arrays on, made before
the loop, one for each place and each array that is still in use there.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from loopdiff.errors import Span
from loopdiff.frontend.parsing.bindings import Bindings, Varying, VaryingUsed
from loopdiff.frontend.parsing.state import State
from loopdiff.frontend.parsing.ways.reach import arrays_of
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import subexprs

LONGEST_EXTENT = 4000


def is_too_long(formula: ir.Expr) -> bool:
    """Whether a formula has more operations than programs need: those of parts of parts are many times longer each
    time."""
    return next(islice(subexprs(formula), LONGEST_EXTENT, None), None) is not None


def declare(
    state: State,
    decl: ir.ArrayDecl,
    stem: str,
    filled: ir.Expr | None,
    span: Span,
    ways: Sequence[Bindings] | None = None,
) -> tuple[str, ir.Expr | None]:
    """An array like `decl`: its name, and what it has yet to be filled with. No name stands for it on any of the `ways`
    here, of which there is one unless they are given."""
    outermost = state.whole.heads[0] if state.whole.heads else None
    if outermost is not None and decl.like is not None:
        dtype_like = decl.dtype_like or (decl.like if decl.type is None else None)
        decl = replace(decl, extents=state.all_of(decl.like, span).extents, like=None, dtype_like=dtype_like)
    extents = None if decl.extents is None else tuple(map(state.known, decl.extents))
    if any(map(is_too_long, extents or ())):
        message = "how long this array is follows from others by a formula that is too long"
        state.reject("LD208", message, span)
        decl = replace(decl, extents=(ir.Const(1),) * len(extents or ()))
        extents = decl.extents
    if outermost is None or extents is None or not all(map(state.is_fixed, extents)):
        name = state.array_name(stem)
        state.arrays[name] = replace(decl, name=name)
        state.whole.births[name] = state.whole.event(name)
        state.out.append(ir.Allocate(name, filled, loc=span))
        return name, None
    decl = replace(decl, extents=extents)
    site = state.whole.site
    state.whole.site += 1
    known = outermost.buffers.setdefault(site, [])
    for name in known:
        if outermost.declared[name] == replace(decl, name=name) and is_free(state, name, ways or (state.bindings,)):
            state.whole.births[name] = state.whole.event(name)
            return name, filled
    name = state.array_name(stem)
    known.append(name)
    state.arrays[name] = outermost.declared[name] = replace(decl, name=name)
    state.whole.births[name] = state.whole.event(name)
    return name, filled


def is_free(state: State, array: str, ways: Sequence[Bindings]) -> bool:
    """Whether no name stands for `array` on any of the `ways` here, and no loop goes over it. Raises VaryingUsed if
    that depends on a cell from before the statement; one that the statement has set tells nothing yet."""
    if any(array in s.iterated for s in state.whole.active):
        return False
    around = (s.bindings for s in state.whole.active if s is not state)
    bindings = [b for names in (*around, *ways) for b in names.values()]
    varying = [b for b in bindings if isinstance(b, Varying)]
    if any(array in arrays_of(b) for b in bindings if b not in varying):
        return False
    for binding in varying:
        if array in arrays_of(binding) and binding.which in state.whole.catching:
            raise VaryingUsed(binding.which)
    return not any(array in arrays_of(b) for b in varying)
