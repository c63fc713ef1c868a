"""Numbers that are arrays without axes: NumPy returns such from `np.where`, `np.array` and `np.zeros_like`
of numbers.

Names that are assigned one another share it, and an augmented assignment to one of them changes what all of them mean;
so do lists that hold it. Cells and lists hold values, so that a program in which this can happen is rejected.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Set

from loopdiff.errors import Diagnostic
from loopdiff.errors.codes import reject
from loopdiff.frontend.arrays.element_types import kind_so_far
from loopdiff.frontend.arrays.values import Quantity
from loopdiff.frontend.binding.types import join_kinds
from loopdiff.frontend.parsing.bindings import Value
from loopdiff.frontend.parsing.sites import Copy
from loopdiff.frontend.parsing.state import State, Whole
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import all_statements
from loopdiff.numpy_functions import is_of_numpy
from loopdiff.source.scopes import own_nodes


def shared_boxes(whole: Whole, body: tuple[ir.Stmt, ...]) -> Iterator[Diagnostic]:
    """A rejection (LD123) for each name that is changed in place while another may stand for the same array, or a list
    may hold it, and for each list of which an element is while others may have that."""
    if not whole.boxed or not whole.changed:
        return
    stores = [s for s in all_statements(body) if isinstance(s, ir.Assign | ir.Accumulate)]
    sharing = lists_and_slices(whole, stores)
    kept = [s for s in stores if is_kept(s.target, sharing) and (isinstance(s, ir.Assign) or s.op != "add")]
    origins = {(s.target.array, origin) for s in kept for origin in handed_on(s.value, whole.boxed, sharing)}
    boxes = {cell for cell, origin in origins if origin is None}
    boxes |= {e.access.array for e in whole.boxed if isinstance(e, ir.Load) and e.access.subscripts}
    while more := {cell for cell, origin in origins if origin in boxes} - boxes:
        boxes |= more
    shared = {cell for pair in origins if pair[0] != pair[1] and pair[1] in boxes for cell in pair if cell is not None}
    for cell, (name, span, is_wider) in whole.changed.items():
        if cell in shared:
            message = f"`{name}` may be an array without axes, changed in place for all names that share it"
            yield reject("LD123", message, span)
        elif is_wider and cell in boxes:
            message = f"`{name}` may be an array without axes, whose type does not become wider in place"
            yield reject("LD123", message, span)


def lists_and_slices(whole: Whole, stores: Iterable[ir.Assign | ir.Accumulate]) -> Set[str]:
    """Arrays that lists are kept in, or that are filled from such: slices that loops go over are."""
    filled = ((s.target, s.value) for s in stores if s.target.subscripts and isinstance(s.value, ir.Load))
    return {*whole.lists, *(target.array for target, value in filled if value.access.array in whole.lists)}


def is_kept(access: ir.Access, sharing: Set[str]) -> bool:
    """Whether `access` is of a cell, or of an element of a list: what is stored there is not copied in Python."""
    return not access.subscripts or access.array in sharing


def note_changed(state: State, node: ast.AugAssign, old: Quantity, value: Quantity) -> None:
    """A name, or an element of a list, whose number `old` is changed in place by `value`, which may be of a wider type,
    or an array."""
    if not isinstance(old, ir.Load):
        return
    cell, is_wider = old.access.array, False
    if state.whole.boxed and state.types is not None and not old.access.subscripts:
        kind = kind_so_far(state, old)
        is_wider = not isinstance(value, ir.Expr) or join_kinds(kind, kind_so_far(state, value)) != kind
    before = state.whole.changed.get(cell, (ast.unparse(node.target), state.source.span(node), False))
    state.whole.changed[cell] = (*before[:2], before[2] or is_wider)


def handed_on(value: ir.Expr, boxed: Set[ir.Expr], sharing: Set[str]) -> Iterator[str | None]:
    """Cells and lists whose object, or one of whose objects, may be the one that `value` gives; None for an array that
    `np.where` made."""
    if value in boxed:
        yield None
        if isinstance(value, ir.Load):
            yield value.access.array
        return
    match value:
        case ir.Load(access=access) if is_kept(access, sharing):
            yield access.array
        case ir.Select(then=then, orelse=orelse):
            yield from handed_on(then, boxed, sharing)
            yield from handed_on(orelse, boxed, sharing)
        case ir.Apply(op=Op.MIN | Op.MAX, args=args):
            for arg in args:
                yield from handed_on(arg, boxed, sharing)
        case _:
            pass


def note_element_view(state: State, target: ast.Name, value: Value, node: ast.expr) -> None:
    """A name for `x[0, ...]`, an array without axes which is a view of `x`: that it is not written to, nor changes as
    `x` does, is seen to when all is known."""
    if not (isinstance(value, ir.Load) and value.access.subscripts and isinstance(node, ast.Subscript)):
        return
    level = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if is_of_numpy(state.source.home.file) or not any(isinstance(n, ast.Constant) and n.value is ... for n in level):
        return
    span = state.source.span(node)
    site = state.site("element", span)
    changes_it = (n.target for n in own_nodes(state.source.node) if isinstance(n, ast.AugAssign))
    is_changed = any(isinstance(t, ast.Name) and t.id == target.id for t in changes_it)
    if is_changed or site in state.whole.decisions.shared:
        message = f"`{ast.unparse(node)}` is an array without axes, which changes with the other"
        state.reject("LD110", message, node, "take its element: `x[0]`")
    state.whole.copies.append(Copy(site, state.whole.event(value.access.array), value.access.array))
