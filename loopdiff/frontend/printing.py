"""`print`: a call of Python, of the values that its text names."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from loopdiff.errors import Span
from loopdiff.frontend.arrays.element_types import kind_so_far
from loopdiff.frontend.arrays.elementwise import complex_part
from loopdiff.frontend.arrays.nests import copied_view
from loopdiff.frontend.arrays.values import ArrayValue, Quantity, View, as_array
from loopdiff.frontend.parsing.calling.ruled import passed_part
from loopdiff.frontend.parsing.state import State
from loopdiff.ir import nodes as ir
from loopdiff.ir.types import ArrayType
from loopdiff.rules.printing import ORDER, printing

TAKEN = ("sep", "end", "flush")


def is_print(state: State, node: ast.Call) -> bool:
    return state.outside(node.func) is print


def parse_print(state: State, node: ast.Call) -> None:
    """Print what `node` prints: its text with the names of values in the place of these."""
    state.need_types()
    span, before = state.source.span(node), state.whole.rejected
    writer = Printed(state)
    args = [writer.text(a) for a in node.args]
    keywords = [ast.keyword(k.arg, writer.text(k.value)) for k in node.keywords if k.arg in TAKEN]
    for other in (k for k in node.keywords if k.arg not in TAKEN):
        state.reject("LD110", f"`print` is called with `{other.arg or '**'}`", other.value, "leave it out")
    if state.whole.rejected > before:
        return
    text = ast.unparse(ast.fix_missing_locations(ast.Call(ast.Name("print", ast.Load()), args, keywords)))
    values = tuple(as_operand(state, v, span) for v in writer.values)
    order = ir.Load(ir.Access(order_of(state, span), loc=span), loc=span)
    state.out.append(ir.Call(printing(text, len(values)), "primal", (order, *values), loc=span))


def order_of(state: State, span: Span) -> str:
    """The array through which everything that the program prints comes in its order."""
    whole = state.whole
    if whole.printed is None:
        whole.printed = whole.names.fresh(ORDER)
        whole.arrays[whole.printed] = ir.ArrayDecl(
            whole.printed, ArrayType("int64", 1), "local", (ir.Const(1, loc=span),), loc=span
        )
    return whole.printed


def as_operand(state: State, value: Quantity, span: Span) -> ir.Expr:
    """`value` as an argument of the call: arrays that are neither whole nor a row are copied, to memory with room for
    them, of which the text says how much is there."""
    if not isinstance(value, View | ArrayValue):
        return value
    part = passed_part(state, value, span) if isinstance(value, View) else None
    if part is None:
        copy = copied_view(state, ArrayValue(value.extents, as_array(value).element), "printed", span)
        part = passed_part(state, copy, span) or ir.Load(ir.Access(copy.array, loc=span), loc=span)
    return part


@dataclass(slots=True)
class Printed:
    """Writes the text of what is printed; `values` are those that it names, in order."""

    state: State
    values: list[Quantity] = field(default_factory=list)

    def text(self, node: ast.expr) -> ast.expr:
        """`node`, which stands where a text or a value may."""
        match node:
            case ast.Constant():
                return node
            case ast.JoinedStr(values=values):
                return ast.JoinedStr([self.text(v) for v in values])
            case ast.FormattedValue(value=value, conversion=conversion, format_spec=spec):
                return ast.FormattedValue(self.text(value), conversion, None if spec is None else self.text(spec))
            case ast.BinOp(left=left, op=op, right=right) if self.is_text(left) or self.is_text(right):
                return ast.BinOp(self.text(left), op, self.several(right))
            case ast.Call(func=ast.Attribute(value=own, attr=name), args=args, keywords=keywords) if self.is_text(own):
                words = [ast.keyword(k.arg, self.text(k.value)) for k in keywords]
                return ast.Call(ast.Attribute(self.text(own), name, ast.Load()), list(map(self.text, args)), words)
            case ast.Call(args=[value], keywords=[]) if self.state.outside(node.func) is str:
                return ast.JoinedStr([ast.FormattedValue(self.text(value), -1, None)])
            case ast.Attribute(value=array, attr="shape"):
                return self.shape(array)
            case _ if isinstance(found := self.state.outside(node), str):
                return ast.Constant(found)
            case _:
                return self.value(node)

    def several(self, node: ast.expr) -> ast.expr:
        """What is to the right of `%`: a text, a value, or several."""
        is_one = not isinstance(node, ast.Tuple)
        return self.text(node) if is_one else ast.Tuple([self.text(e) for e in node.elts], ast.Load())

    def is_text(self, node: ast.expr) -> bool:
        match node:
            case ast.Constant(value=value):
                return isinstance(value, str)
            case ast.JoinedStr():
                return True
            case ast.BinOp(left=left, right=right):
                return self.is_text(left) or self.is_text(right)
            case ast.Call(func=ast.Attribute(value=own)):
                return self.is_text(own)
            case ast.Call():
                return self.state.outside(node.func) is str
            case _:
                return isinstance(self.state.outside(node), str)

    def shape(self, node: ast.expr) -> ast.expr:
        """The extents of an array."""
        found = as_array(self.state.quantity(node))
        return ast.Tuple([self.named(self.state.known(e)) for e in found.extents], ast.Load())

    def value(self, node: ast.expr) -> ast.expr:
        """The name of the number or array `node`."""
        state, value = self.state, self.state.quantity(node)
        if not kind_so_far(state, state.known(as_array(value).element)).is_complex:
            return self.named(value)
        parts = [self.named(complex_part(state, part, value, node)) for part in ("real", "imag")]
        return ast.Call(ast.Name("paired", ast.Load()), parts, [])

    def named(self, value: Quantity) -> ast.expr:
        """The name of `value`, of an array whose length only the run says as far as there are elements."""
        self.values.append(value)
        name = ast.Name(f"v{len(self.values) - 1}", ast.Load())
        extents = [self.state.known(e) for e in as_array(value).extents]
        if all(map(self.state.is_fixed, extents)):
            return name
        parts: list[ast.expr] = [ast.Slice(None, self.named(e)) for e in extents]
        return ast.Subscript(name, ast.Tuple(parts, ast.Load()), ast.Load())
