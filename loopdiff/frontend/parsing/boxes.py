"""Numbers that are arrays without axes: NumPy returns such from `np.where` of numbers.

Names that are assigned one another share it, and an augmented assignment to one of them changes what all of them mean.
Cells hold values, so that a program in which this can happen is rejected.
"""

from __future__ import annotations

from collections.abc import Iterator, Set

from loopdiff.errors import Diagnostic
from loopdiff.errors.codes import reject
from loopdiff.frontend.parsing.state import Whole
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import statements


def shared_boxes(whole: Whole, body: tuple[ir.Stmt, ...]) -> Iterator[Diagnostic]:
    """A rejection (LD123) for each name that is changed in place while another may stand for the same array."""
    if not whole.boxed or not whole.changed:
        return
    stores = [s.stmt for s in statements(body) if isinstance(s.stmt, ir.Assign | ir.Accumulate)]
    cells = [s for s in stores if not s.target.subscripts and (isinstance(s, ir.Assign) or s.op != "add")]
    origins = {(s.target.array, origin) for s in cells for origin in handed_on(s.value, whole.boxed)}
    boxes = {cell for cell, origin in origins if origin is None}
    while more := {cell for cell, origin in origins if origin in boxes} - boxes:
        boxes |= more
    shared = {cell for pair in origins if pair[0] != pair[1] and pair[1] in boxes for cell in pair if cell is not None}
    for cell, (name, span) in whole.changed.items():
        if cell in shared:
            message = f"`{name}` may be an array that `np.where` returned, changed in place for all names that share it"
            yield reject("LD123", message, span)


def handed_on(value: ir.Expr, boxed: Set[ir.Expr]) -> Iterator[str | None]:
    """Cells whose object may be the one that `value` gives; None for an array that `np.where` made."""
    if value in boxed:
        yield None
        return
    match value:
        case ir.Load(access=access) if not access.subscripts:
            yield access.array
        case ir.Select(then=then, orelse=orelse):
            yield from handed_on(then, boxed)
            yield from handed_on(orelse, boxed)
        case ir.Apply(op=Op.MIN | Op.MAX, args=args):
            for arg in args:
                yield from handed_on(arg, boxed)
        case _:
            pass
