"""Shapes that are equal because a loop asks for it: `x = x + K @ y` goes on only if `K` has as many rows as `x`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from loopdiff.errors import Span
from loopdiff.frontend.parsing.bindings import Bindings
from loopdiff.frontend.parsing.state import State
from loopdiff.frontend.parsing.ways.joins import loop_name, view_of
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op


def suppose_required(
    state: State, names: Iterable[str], ways: Sequence[Bindings], body: Sequence[ir.Stmt], span: Span
) -> bool:
    """Note those of `names` that stand for arrays whose shapes `body` requires to be equal, before the loop and on the
    one way to the end of an iteration; whether that is new of one."""
    decisions, equal = state.whole.decisions, Equal(state, body)
    found = frozenset(loop_name(state, n) for n in names if len(ways) == 2 and equal.are_of_one_shape(n, ways, span))
    is_new = not found <= decisions.required
    decisions.required |= found
    return is_new


class Equal:
    """Extents that are equal where every statement of `body` has been reached."""

    def __init__(self, state: State, body: Sequence[ir.Stmt]) -> None:
        self.state, self.others = state, dict[ir.Expr, ir.Expr]()
        for stmt in body:
            match stmt:
                case ir.Require(cond=ir.Apply(op=Op.EQ, args=(one, other)), code="LD320"):
                    first, second = self.first(one), self.first(other)
                    if first != second:
                        self.others[first] = second
                case _:
                    pass

    def first(self, extent: ir.Expr) -> ir.Expr:
        """The one of those that are equal to `extent` that stands for all."""
        found = self.state.known(extent)
        while found in self.others:
            found = self.others[found]
        return found

    def are_of_one_shape(self, name: str, ways: Iterable[Bindings], span: Span) -> bool:
        """Whether the arrays that `name` stands for on the `ways` have one shape."""
        views = [view_of(self.state, way.get(name), span) for way in ways]
        shapes = {None if view is None else tuple(map(self.first, view.extents)) for view in views}
        return None not in shapes and len(shapes) == 1
