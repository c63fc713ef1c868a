"""Python expressions to values: numbers and arrays.

A rejected expression becomes a constant, so that the rest of the function is looked at too.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from loopdiff.frontend.arrays.constructions import array_like
from loopdiff.frontend.arrays.contractions import matmul
from loopdiff.frontend.arrays.element_types import is_truth_value
from loopdiff.frontend.arrays.elementwise import combined, complex_part
from loopdiff.frontend.arrays.shapes import may_be_array, shape_attribute, shape_compared
from loopdiff.frontend.arrays.subscripts import is_element_of_call, subscript
from loopdiff.frontend.arrays.values import Quantity, View, is_array
from loopdiff.frontend.parsing.bindings import ArrayName, Cell, Given, ListName, ListRow, LocalFunction, Outside
from loopdiff.frontend.parsing.calling.calls import element_of_call, field_of_call, grid_call, parse_call
from loopdiff.frontend.parsing.folding import binary, decided
from loopdiff.frontend.parsing.lists.lengths import spoken
from loopdiff.frontend.parsing.lists.read_at_once import is_made_whole, list_behind, may_make, under_name
from loopdiff.frontend.parsing.lists.reading import elements_in, is_list
from loopdiff.frontend.parsing.order import at_once, boolean, chain, either, lazily, truth_value
from loopdiff.frontend.parsing.outside import is_none, outside_constant, outside_value, root_is_local
from loopdiff.frontend.parsing.state import State
from loopdiff.frontend.refused import REFUSED_EXPRESSIONS
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import loads, subexprs
from loopdiff.source.functions import MISSING

BINARY: dict[type[ast.operator], Op] = {
    ast.Add: Op.ADD, ast.Sub: Op.SUB, ast.Mult: Op.MUL, ast.Div: Op.DIV, ast.FloorDiv: Op.FLOORDIV,
    ast.Mod: Op.MOD, ast.Pow: Op.POW, ast.BitAnd: Op.BITAND, ast.BitOr: Op.BITOR, ast.BitXor: Op.BITXOR,
    ast.LShift: Op.SHL, ast.RShift: Op.SHR,
}  # fmt: skip
UNARY: dict[type[ast.unaryop], Op] = {ast.USub: Op.NEG, ast.Invert: Op.INVERT}
COMPARE: dict[type[ast.cmpop], Op] = {
    ast.Lt: Op.LT, ast.LtE: Op.LE, ast.Gt: Op.GT, ast.GtE: Op.GE, ast.Eq: Op.EQ, ast.NotEq: Op.NE,
}  # fmt: skip


def parse_quantity(state: State, node: ast.expr) -> Quantity:
    """The value of `node`, a number or an array."""
    match node:
        case ast.Constant(value=value):
            return outside_constant(state, value, node)
        case ast.Name():
            return name_value(state, node)
        case ast.Attribute():
            return attribute(state, node)
        case ast.Subscript() if (call := grid_call(state, node)) is not None:
            return parse_call(state, call)
        case ast.Subscript(value=base) if (call := grid_call(state, base)) is not None:
            return parse_quantity(state, ast.copy_location(ast.Subscript(call, node.slice, node.ctx), node))
        case ast.Subscript() if may_make(state, list_behind(node)):
            return part_of_made(state, node)
        case ast.Subscript():
            return element_of_call(state, node) if is_element_of_call(node) else subscript(state, node)
        case ast.UnaryOp() | ast.BinOp() | ast.BoolOp() | ast.Compare() | ast.IfExp():
            return operation(state, node)
        case ast.Call():
            return parse_call(state, node)
        case _:
            message, hint = REFUSED_EXPRESSIONS.get(type(node), (f"`{ast.unparse(node)}` is not a number", None))
            found = state.reject("LD111", message, node, hint)
            state.forget(node)
            return found


def name_value(state: State, node: ast.Name) -> Quantity:
    name, span = node.id, state.source.span(node)
    if not state.is_local(name):
        return outside_value(state, node)
    match state.settle(name, node):
        case Cell() as cell:
            return state.load(cell, span)
        case Given(value=value):
            return replace(value, loc=span)
        case ArrayName(array=array):
            state.need_types()
            return state.all_of(array, span)
        case View() as view:
            return view
        case LocalFunction():
            return state.reject("LD111", f"`{name}` is a function, used here as a number", node, "call it")
        case ListName() | ListRow():
            text = spoken(state, name)
            return list_as_value(state, text, node)
        case Outside() | None:
            return ir.Const(0, loc=span)


def attribute(state: State, node: ast.Attribute) -> Quantity:
    if (found := field_of_call(state, node)) is not None:
        return found
    if node.attr in ("real", "imag") and state.outside(node) is MISSING:
        return complex_part(state, node.attr, parse_quantity(state, node.value), node)
    if not root_is_local(state, node):
        return outside_value(state, node)
    return shape_attribute(state, node)


def list_as_value(state: State, text: str, node: ast.expr) -> ir.Expr:
    """The rejection of a list, which `text` says, where there is no place for one."""
    hint = f"make an array of it: `np.array({text})`"
    return state.reject("LD111", f"`{text}` is a list, used here as a number or an array", node, hint)


def part_of_made(state: State, node: ast.Subscript) -> Quantity:
    """An element of a list that is made here, as `sorted(x)[k]`; of anything else the same part."""
    with under_name(state, node) as named:
        if named is None:
            return ir.Const(0, loc=state.source.span(node))
        if named is not node and is_list(state, named):
            return list_as_value(state, ast.unparse(node), node)
        assert isinstance(named, ast.Subscript)
        return element_of_call(state, named) if is_element_of_call(named) else subscript(state, named)


# -- operators -----------------------------------------------------------------------------------------------
def operation(state: State, node: ast.UnaryOp | ast.BinOp | ast.BoolOp | ast.Compare | ast.IfExp) -> Quantity:
    match node:
        case ast.UnaryOp():
            return unary(state, node)
        case ast.BinOp(left=left, op=op, right=right):
            first, second = both(state, left, right)
            return binary_operation(state, op, first, second, node)
        case ast.BoolOp(op=op, values=values):
            kind = Op.AND if isinstance(op, ast.And) else Op.OR
            return boolean(kind, lazily(state, kind, values, State.number, boolean), state.source.span(node))
        case ast.Compare():
            return comparison(state, node)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            cond = chosen(state, test)
            if isinstance(cond, ir.Const):
                return parse_quantity(state, body if cond.value else orelse)
            return either(state, cond, body, orelse, node)


def both(state: State, left: ast.expr, right: ast.expr) -> Sequence[Quantity]:
    """The values of two operands; a list beside an array is one."""
    nodes = (left, right)
    lists = [k for k, n in enumerate(nodes) if isinstance(n, ast.List | ast.Tuple) or is_list(state, n)]
    if len(lists) != 1 or not may_be_array(state, nodes[1 - lists[0]]):
        return at_once(state, nodes, State.quantity)
    found = at_once(state, nodes, array_like)
    if not is_array(found[1 - lists[0]]):
        refused = nodes[lists[0]]
        state.quantity(refused)  # which says what is wrong with it
    return found


def binary_operation(state: State, op: ast.operator, left: Quantity, right: Quantity, node: ast.AST) -> Quantity:
    if isinstance(op, ast.MatMult):
        return matmul(state, left, right, node)
    span = state.source.span(node)
    return combined(state, lambda a, b: binary(BINARY[type(op)], a, b, span), [left, right], node)


def unary(state: State, node: ast.UnaryOp) -> Quantity:
    if isinstance(node.op, ast.Not):
        return condition(state, node)
    span, op = state.source.span(node), node.op
    (operand,) = at_once(state, [node.operand], State.quantity)

    def build(value: ir.Expr) -> ir.Expr:
        match op, value:
            case ast.Invert(), ir.Apply() if is_array(operand) and is_truth_value(state, value):
                return ir.Apply(Op.NOT, (value,), loc=span)  # elements are NumPy's, whatever they are made of
            case ast.Invert(), _ if not is_array(operand) and is_truth_value(state, value) and of_list(state, value):
                message = "`~` of a truth value in a list is -1 or -2 if that is one of Python's"
                return state.reject("LD212", message, node, "write `not a`")
            case ast.UAdd(), _:
                return value
            case ast.USub(), ir.Const(value=given, dtype=None):
                return ir.Const(-given, loc=span)
            case _:
                return ir.Apply(UNARY[type(op)], (value,), loc=span)

    return combined(state, build, [operand], node)


def of_list(state: State, value: ir.Expr) -> bool:
    """Whether `value` is made of elements of lists."""
    return any(load.access.array in state.whole.lists for load in loads(value))


def is_written_number(node: ast.expr) -> bool:
    number = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else node
    return isinstance(number, ast.Constant) and isinstance(number.value, int | float)


def one_of_numbers(name: ast.Name, numbers: list[ast.expr], is_in: bool, node: ast.expr) -> ast.BoolOp:
    """`k in (0, 4)` as `k == 0 or k == 4`."""
    kind, join = (ast.Eq, ast.Or) if is_in else (ast.NotEq, ast.And)
    tests: list[ast.expr] = [ast.copy_location(ast.Compare(name, [kind()], [number]), node) for number in numbers]
    return ast.copy_location(ast.BoolOp(join(), tests), node)


def comparison(state: State, node: ast.Compare) -> Quantity:
    """`a < b <= c` is `a < b and b <= c`."""
    match node:
        case ast.Compare(left=ast.Name() as name, ops=[ast.Is() | ast.IsNot() as op], comparators=[ast.Constant(None)]):
            if state.is_local(name.id):
                state.settle(name.id, name)
            return ir.Const(is_none(state, name) == isinstance(op, ast.Is), loc=state.source.span(node))
        case ast.Compare(
            left=ast.Constant(value=value), ops=[ast.Is() | ast.IsNot() as op], comparators=[ast.Constant(None)]
        ):
            return ir.Const((value is None) == isinstance(op, ast.Is), loc=state.source.span(node))
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() as op], comparators=[right]) if (
            first := text_of(state, left)
        ) is not None and (second := text_of(state, right)) is not None:
            return ir.Const((first == second) == isinstance(op, ast.Eq), loc=state.source.span(node))
        case ast.Compare(
            left=ast.Name() as name,
            ops=[ast.In() | ast.NotIn() as op],
            comparators=[ast.Tuple(elts=elts) | ast.List(elts=elts) | ast.Set(elts=elts)],
        ) if elts and all(map(is_written_number, elts)):
            return operation(state, one_of_numbers(name, elts, isinstance(op, ast.In), node))
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() as op], comparators=[right]) if any(
            isinstance(n, ast.Attribute) and n.attr == "shape" for n in (left, right)
        ):
            if (found := equal_shapes(state, left, right, node)) is not None:
                return found if isinstance(op, ast.Eq) else opposite(found)
        case _:
            pass
    for op in node.ops:
        if type(op) not in COMPARE:
            word = {ast.In: "in", ast.NotIn: "not in", ast.Is: "is", ast.IsNot: "is not"}[type(op)]
            is_identity = isinstance(op, ast.Is | ast.IsNot)
            hint = "compare with `==`" if is_identity else "compare with each value: `x == a or x == b`"
            return state.reject("LD111", f"`{word}` is not supported", node, hint)
    span = state.source.span(node)

    def test(op: ast.cmpop, a: ir.Expr, b: ir.Expr) -> ir.Expr:
        return binary(COMPARE[type(op)], a, b, span)

    if len(node.ops) == 1:
        values = both(state, node.left, node.comparators[0])
        return combined(state, lambda a, b: test(node.ops[0], a, b), values, node)
    return chain(state, state.number(node.left), node.ops, node.comparators, State.number, test)


def equal_shapes(state: State, left: ast.expr, right: ast.expr, node: ast.expr) -> ir.Expr | None:
    """Whether two shapes are equal, extent by extent; None where one is no shape."""
    first = shape_compared(state, left)
    second = None if first is None else shape_compared(state, right)
    if first is None or second is None:
        return None
    span = state.source.span(node)
    if len(first) != len(second):
        return ir.Const(False, loc=span)
    tests = [decided(state.known(binary(Op.EQ, a, b, span))) for a, b in zip(first, second, strict=True)]
    if any(isinstance(test, ir.Const) and not test.value for test in tests):
        return ir.Const(False, loc=span)
    return truth_value(Op.AND, [t for t in tests if not isinstance(t, ir.Const)], span)


def text_of(state: State, node: ast.expr) -> str | None:
    """The string that `node` is, written out or from outside the function."""
    match node:
        case ast.Constant(value=value):
            pass
        case ast.Name(id=name) if not state.is_local(name):
            value = state.outside(node)
        case _:
            return None
    return value if isinstance(value, str) else None


def opposite(test: ir.Expr) -> ir.Expr:
    is_known = isinstance(test, ir.Const)
    return ir.Const(not test.value, loc=test.loc) if is_known else ir.Apply(Op.NOT, (test,), loc=test.loc)


def condition(state: State, node: ast.expr) -> ir.Expr:
    """`node` where only its truth matters: `and` and `or` of numbers are truth values too."""
    match node:
        case ast.BoolOp(op=op, values=values):
            kind = Op.AND if isinstance(op, ast.And) else Op.OR
            return truth_value(kind, lazily(state, kind, values, condition, truth_value), state.source.span(node))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return replace(opposite(condition(state, operand)), loc=state.source.span(node))
        case ast.Name() if is_list(state, node):
            return length_above_zero(state, node)
        case _ if is_made_whole(state, node):
            with under_name(state, node) as named:
                return state.number(node) if named is None or named is node else length_above_zero(state, named)
        case _:
            found = state.number(node)
            if any(isinstance(e, ir.RankOf) for e in subexprs(found)):
                state.need_types()  # with which it is decided
            return found


def length_above_zero(state: State, node: ast.expr) -> ir.Expr:
    """Whether there are elements in the list that `node` is."""
    view, span = elements_in(state, node), state.source.span(node)
    length = ir.Const(0, loc=span) if view is None else view.extents[0]
    return ir.Apply(Op.GT, (length, ir.Const(0, loc=span)), loc=span)


def chosen(state: State, test: ast.expr) -> ir.Expr:
    """The condition of a branch; a constant where numbers that are known decide it."""
    found = condition(state, test)
    known = decided(state.known(found))
    return known if isinstance(known, ir.Const) else found
