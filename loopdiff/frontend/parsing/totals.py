"""`sum`, `max`, `min`, `any` and `all` of one thing that is gone through: an array, or a generator expression. And
`np.array` of a list comprehension.

A generator expression becomes a function inside the function, with the loops that Python would run; names in it mean
what they do around it, and its own are its own. So does a comprehension, which stores into a new array.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import numpy as np

from loopdiff.frontend.arrays.constructions import of_double
from loopdiff.frontend.arrays.element_types import is_truth_value
from loopdiff.frontend.arrays.elementwise import combined
from loopdiff.frontend.arrays.integers import at_least_zero, times
from loopdiff.frontend.arrays.nests import made_of, new_array
from loopdiff.frontend.arrays.reductions import reduced
from loopdiff.frontend.arrays.shapes import may_be_array, shaped
from loopdiff.frontend.arrays.values import ArrayValue, Quantity, View, is_array
from loopdiff.frontend.arrays.views import bind_view
from loopdiff.frontend.parsing.bindings import ArrayName, Value
from loopdiff.frontend.parsing.folding import binary
from loopdiff.frontend.parsing.iterables import parse_iterable, trips_of
from loopdiff.frontend.parsing.lists.reading import array_in, is_list, kinds_in
from loopdiff.frontend.parsing.meanings import local_function
from loopdiff.frontend.parsing.order import in_order
from loopdiff.frontend.parsing.state import State
from loopdiff.frontend.parsing.ways.snapshots import Snapshot
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.affine import folded
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import all_statements, map_expr, subexprs
from loopdiff.source.nodes import direct_call, syntax_nodes
from loopdiff.source.scopes import computes_defaults

PURE = (range, len, enumerate, zip, reversed, int, abs, min, max)


def goes_through(node: ast.Call, callee: object) -> bool:
    """Whether `node` calls one of these functions with what it goes through, not `max(a, b)` or `max((a, b))`."""
    if callee is max or callee is min:
        return len(node.args) == 1 and not isinstance(node.args[0], ast.Tuple | ast.List | ast.Starred)
    return any(callee is f for f in (sum, any, all))


def total_of(state: State, node: ast.Call, callee: object) -> Value | None:
    """The value of `sum(x)`, `max(v for ...)` and the like; None if it cannot be read so."""
    name = getattr(callee, "__name__", "")
    given = {str(k.arg): k.value for k in node.keywords}
    key = given.pop("key", None) if callee is max or callee is min else None
    rest = [*node.args[1:], *given.values()]
    takes = {"start"} if callee is sum and len(node.args) == 1 else set()
    is_plain = node.args and not isinstance(node.args[0], ast.Starred) and (key is None or not computes_defaults(key))
    if not is_plain or not {*given} <= takes or len(rest) > (callee is sum):
        return state.reject("LD110", f"`{name}` is called with arguments it does not take here", node)
    if key is not None:
        return first_by_key(state, node, name, key)
    match node.args[0]:
        case ast.GeneratorExp(elt=item, generators=parts):
            return written_out(state, node, name, item, parts, rest)
        case ast.ListComp(elt=item, generators=parts) if callee in (sum, max, min):
            return written_out(state, node, name, item, parts, rest)
        case ast.Tuple(elts=items) | ast.List(elts=items) if callee is sum:
            whole: ast.expr = rest[0] if rest else ast.copy_location(ast.Constant(0), node)
            for item in items:
                whole = ast.copy_location(ast.BinOp(whole, ast.Add(), item), node)
            return state.quantity(whole)
        case ast.Attribute(value=base, attr="shape") as shape if callee in (sum, max, min) and not rest:
            return of_shape(state, node, shape, base)
        case _:
            return of_array(state, node, name, rest)


def of_shape(state: State, node: ast.Call, shape: ast.Attribute, base: ast.expr) -> Value:
    """`max(A.shape)` and the like, of the extents one by one."""
    state.need_types()
    array = shaped(state, base)
    rank = 0 if array is None else state.rank(array) if isinstance(array, str) else array.rank
    if not rank:
        return state.quantity(shape)
    found = [ast.copy_location(ast.Subscript(shape, ast.Constant(k), ast.Load()), node) for k in range(rank)]
    items: list[ast.expr] = [ast.fix_missing_locations(e) for e in found]
    if len(items) == 1:
        return state.quantity(items[0])
    elements = ast.copy_location(ast.Tuple(items, ast.Load()), node)
    return state.quantity(ast.copy_location(ast.Call(node.func, [elements], []), node))


def of_array(state: State, node: ast.Call, name: str, rest: list[ast.expr]) -> Value:
    """Elements are gone through, by `sum` rows too."""
    if may_be_array(state, node.args[0]) or is_list(state, node.args[0]):
        state.need_types()
    array, *starts = in_order(state, [node.args[0], *rest], items_or_number)
    if not isinstance(array, View | ArrayValue) or (array.rank > 1 and name != "sum"):
        state.need_types()  # without them, what is not seen to be an array passes for a number
        what = "several axes" if is_array(array) else "a number"
        hint = f"write `np.{name}(...)`" if is_array(array) else None
        return state.reject("LD110", f"`{name}` goes through an array with one axis, here {what}", node, hint)
    written, span = len(state.out), state.source.span(node)
    found = reduced(state, name, array, (0,), False, node)
    for k, stmt in enumerate(state.out[written:], start=written) if name == "sum" else ():
        if isinstance(stmt, ir.Assign) and stmt.loc == span:  # NumPy's own sums are told apart by where they start
            state.out[k] = replace(stmt, loc=state.source.span(node.args[0]))
    return combined(state, lambda a, b: binary(Op.ADD, a, b, span), [found, *starts], node) if starts else found


def items_or_number(state: State, node: ast.expr) -> Quantity:
    """The value of `node`, of a list of numbers or arrays the array of its elements."""
    if len(kinds_in(state, node)) > 1:
        message = f"the elements of `{ast.unparse(node)}` are lists, which are not added up or compared here"
        return state.reject("LD134", message, node, f"make an array of it: `np.array({ast.unparse(node)})`")
    return array_in(state, node) or state.quantity(node)


# -- generator expressions -----------------------------------------------------------------------------------
def written_out(
    state: State, node: ast.Call, name: str, item: ast.expr, parts: list[ast.comprehension], rest: list[ast.expr]
) -> Value | None:
    """A call of a function with the loops `parts` over `item`."""
    total, one, first, end, own = state.fresh_names("total", "one", "first", "end", f"{name}_of")
    called, *bounds = called_range(state, parts) if name in ("max", "min") else [node.func]
    given = bounds or ((rest or [ast.Constant(0)]) if name == "sum" else [])
    iterables = [p.iter for p in parts]
    if name == "sum":
        added = f"{total} = {total} + ITEM" if rest else f"{total} += ITEM"  # nothing into `first`
        before, inner, after = f"{total} = {first}", added, f"return {total}"
    elif name in ("any", "all"):
        test = "ITEM" if name == "any" else "not ITEM"
        before, inner, after = "", f"if {test}:\n    return {name == 'any'}", f"return {name == 'all'}"
    elif bounds:  # the first one by itself, which leaves a reduction
        before = f"assert {first} < {end}, 'no elements'\nTARGET = {first}\n{total} = ITEM"
        inner, after = f"{total} = CALLED({total}, ITEM)", f"return {total}"
        second = ast.BinOp(ast.Name(first, ast.Load()), ast.Add(), ast.Constant(1))
        iterables = [ast.Call(called, [second, ast.Name(end, ast.Load())], [])]
    else:
        before = f"{first} = True\n{total} = 0"
        inner = f"{one} = ITEM\n{total} = {one} if {first} else CALLED({total}, {one})\n{first} = False"
        after = f"assert not {first}, 'no elements'\nreturn {total}"
    fill = Filling({"ITEM": item, "CALLED": node.func, "TARGET": parts[0].target})
    each = fill.statements(inner)
    if name == "sum":  # Python's, which does not go on where it starts
        ast.copy_location(each[0], item)
    loops = in_loops(parts, iterables, each)
    body = [*fill.statements(before), *loops, *fill.statements(after)]
    return called_inside(state, own, (first, end)[: len(given)], body, given, node)


def called_inside(
    state: State, name: str, parameters: Sequence[str], body: list[ast.stmt], given: list[ast.expr], node: ast.AST
) -> Value | None:
    """The value of a call of a function inside the function, which is there for this call alone."""
    arguments = ast.arguments([], [ast.arg(n) for n in parameters], None, [], [], None, [])
    function = ast.FunctionDef(name, arguments, body, [])
    call = ast.Call(ast.Name(name, ast.Load()), given, [])
    for new in (function, call):
        ast.fix_missing_locations(ast.copy_location(new, node))
    state.bindings[name] = local_function(state, function)
    found = state.whole.call(state, call)
    del state.bindings[name]
    return found


def in_loops(parts: Sequence[ast.comprehension], iterables: Sequence[ast.expr], body: list[ast.stmt]) -> list[ast.stmt]:
    """`body` in the loops `parts`, which go over `iterables`."""
    for part, iterable in zip(reversed(parts), reversed(iterables), strict=True):
        for test in reversed(part.ifs):
            body = [ast.If(test, body, [])]
        body = [ast.For(part.target, iterable, body, [])]
    return body


def first_by_key(state: State, node: ast.Call, name: str, key: ast.expr) -> Value | None:
    """`max(x, key=f)`: the first of what is gone through for which `f` is greatest, as Python compares."""
    total, one, rank, best, first, own = state.fresh_names("total", "one", "rank", "best", "first", f"{name}_of")
    match node.args[0]:
        case ast.GeneratorExp(elt=item, generators=parts) | ast.ListComp(elt=item, generators=parts):
            pass
        case over:
            if may_be_array(state, over):
                state.need_types()
            (each,) = state.fresh_names("each")
            item: ast.expr = ast.Name(each, ast.Load())
            parts = [ast.comprehension(ast.Name(each, ast.Store()), over, [], 0)]
    fill, sign = Filling({"KEY": key, "ITEM": item}), ">" if name == "max" else "<"
    before = fill.statements(f"{first} = True\n{total} = 0\n{best} = 0")
    inner = f"{one} = ITEM\n{rank} = KEY({one})\n"
    inner += f"if {first} or {rank} {sign} {best}:\n    {total} = {one}\n    {best} = {rank}\n    {first} = False"
    after = fill.statements(f"assert not {first}, 'no elements'\nreturn {total}")
    loops = in_loops(parts, [p.iter for p in parts], fill.statements(inner))
    return called_inside(state, own, (), [*before, *loops, *after], [], node)


def called_range(state: State, parts: list[ast.comprehension]) -> list[ast.expr]:
    """What `range` is called, first value and end of the only range that `parts` go over, by steps of one; of anything
    else what is called alone."""
    match parts:
        case [ast.comprehension(target=ast.Name(), iter=ast.Call(func, [*bounds], []), ifs=[])] if state.outside(
            func
        ) is range and len(bounds) in (1, 2):
            return [func, *[ast.Constant(0), *bounds][-2:]]
        case _:
            return [parts[0].iter]


class Filling(ast.NodeTransformer):
    """Puts expressions in the place of names, in text without places."""

    def __init__(self, given: dict[str, ast.expr]) -> None:
        self.given = given

    def statements(self, text: str) -> list[ast.stmt]:
        tree = ast.parse(text)
        for node in syntax_nodes(tree):
            for place in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
                if hasattr(node, place):
                    delattr(node, place)
        return self.visit(tree).body

    def expression(self, text: str) -> ast.expr:
        (stmt,) = self.statements(text)
        assert isinstance(stmt, ast.Expr)
        return stmt.value

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.given.get(node.id, node)


def summands(node: ast.expr) -> list[ast.expr]:
    """What `a + b + ...` adds up, in order."""
    is_sum = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)
    return [*summands(node.left), *summands(node.right)] if is_sum else [node]  # type: ignore[attr-defined]


# -- arrays of list comprehensions ---------------------------------------------------------------------------
IN_ORDER = {1: "ROWS.reshape(ROWS.shape[0] * ROWS.shape[1])",
            2: "ROWS.reshape(ROWS.shape[0] * ROWS.shape[1], ROWS.shape[2])"}  # fmt: skip
BESIDE = "MOVED(ROWS, 0, 1).copy().reshape(ROWS.shape[1], ROWS.shape[0] * ROWS.shape[2])"
# What functions make of an array of rows, by the number of axes that each has.
OF_ROWS: dict[object, dict[int, str]] = {
    **dict.fromkeys((np.array, np.asarray, np.stack), dict.fromkeys(range(4), "ROWS")),
    np.vstack: {**IN_ORDER, 1: "ROWS"}, np.column_stack: {1: "ROWS.T", 2: BESIDE}, np.concatenate: IN_ORDER,
    np.hstack: {1: IN_ORDER[1], 2: BESIDE},
}  # fmt: skip


def made_of_rows(node: ast.Call, callee: object, rows: ast.expr, rank: int) -> ast.expr | None:
    """What `node` makes of `rows`, an array of arrays that have `rank` axes each; None where that is not known."""
    given = {k.arg: k.value for k in node.keywords}
    axis = node.args[1] if len(node.args) > 1 else given.get("axis")
    fill = Filling({"ROWS": rows, "MOVED": ast.Constant(cast(Any, np.moveaxis))})
    if axis is None or callee is np.array or callee is np.asarray:
        written = OF_ROWS.get(callee, {}).get(rank)
        whole = None if written is None else fill.expression(written)
        return whole if whole is None or not node.keywords else ast.Call(node.func, [whole], node.keywords)
    if given.keys() - {"axis"} or len(node.args) + len(given) > 2:
        return None
    fill.given["AXIS"] = axis
    match callee, rank, ast.unparse(axis):
        case np.stack, _, _:
            return fill.expression("MOVED(ROWS, 0, AXIS).copy()")
        case np.concatenate, 2, "1" | "-1":
            return fill.expression(BESIDE)
        case np.concatenate, 1 | 2, "0":
            return fill.expression(IN_ORDER[rank])
        case _:
            return None


def gathers(state: State, node: ast.Call, callee: object) -> bool:
    """Whether `node` makes an array of the elements of one comprehension without conditions."""
    match node.args:
        case [ast.ListComp(generators=[ast.comprehension(iter=over, ifs=[], is_async=0)]), *more]:
            calls = (n.func for n in syntax_nodes(over) if isinstance(n, ast.Call))
            is_pure = all(any(state.outside(f) is known for known in PURE) for f in calls)
            takes_more = callee is np.array or callee is np.asarray
            is_one = any(callee is f for f in OF_ROWS)
            has_axis = len(node.args) + len(node.keywords) == 2 and all(k.arg == "axis" for k in node.keywords)
            is_plain = not more and (takes_more or not node.keywords)
            return is_pure and is_one and (is_plain or (has_axis and not takes_more))
        case _:
            return False


def gathered_items(state: State, node: ast.Call, callee: object) -> Quantity:
    """The array that `node` makes, of numbers or of rows. What is gone through is read several times: first to know how
    many elements there are, and of which shape."""
    state.need_types()
    span, comp = state.source.span(node), node.args[0]
    assert isinstance(comp, ast.ListComp)
    (part,), item = comp.generators, as_row(comp.elt)
    is_uniform = any(callee is f for f in (np.array, np.asarray, np.stack))
    row = row_of(state, item, part, node, may_suppose=is_uniform and not is_written_out(part.iter))
    items, place = state.fresh_names("items", "place")
    made = None if row is None else made_of_rows(node, callee, ast.Name(items, ast.Load()), len(row))
    if row is None or made is None:
        what = "arrays whose shape is not known before" if row is None else f"arrays with {len(row)} axes"
        message = f"`{ast.unparse(node.func)}` of a comprehension puts together {what}"
        return state.reject("LD110", message, node, "allocate the array, and store into it in a loop")
    iteration = parse_iterable(state, part.iter)
    if iteration is None:
        return ir.Const(0, loc=span)
    count = at_least_zero(state.known(trips_of(iteration)))
    if row:
        is_any = ir.Apply(Op.GT, (count, ir.Const(0, loc=span)), loc=span)
        state.out.append(
            ir.Require(is_any, "LD332", f"`{ast.unparse(node)}` has elements, whose shape it gets", loc=span)
        )
    start = len(state.out)
    view = new_array(state, "items", (count, *row), span)
    bind_view(state, items, view, span)
    numbered = ast.Constant(enumerate)  # type: ignore[arg-type]
    fill = Filling({"ITEM": item, "TARGET": part.target, "OVER": part.iter, "NUMBERED": numbered})
    body = fill.statements(f"for {place}, TARGET in NUMBERED(OVER):\n    {items}[{place}] = ITEM")
    (own,) = state.fresh_names("gather")
    called_inside(state, own, (), body, [], node)
    stored = [s for s in all_statements(tuple(state.out[start:])) if isinstance(s, ir.Assign)]
    values = [of_double(s.value) for s in stored if s.target.array == view.array]
    made_of(state, view.array, *(v for v in values if isinstance(v, ir.Expr)))
    if values and all(is_truth_value(state, s.value) for s in stored if s.target.array == view.array):
        state.whole.truths.add(view.array)
    found = state.quantity(ast.fix_missing_locations(ast.copy_location(made, node)))
    del state.bindings[items]
    return found


def as_row(item: ast.expr) -> ast.expr:
    """An element of a list, which NumPy takes for an array where it is a list."""
    if not isinstance(item, ast.List | ast.Tuple | ast.ListComp):
        return item
    return direct_call(np.array, [item], item)


def is_written_out(over: ast.expr) -> bool:
    """Whether `over` has a constant number of values: then the whole comprehension can be written out."""
    return not isinstance(over, ast.Call) or all(isinstance(a, ast.Constant | ast.UnaryOp) for a in over.args)


def row_of(
    state: State, item: ast.expr, part: ast.comprehension, node: ast.AST, may_suppose: bool
) -> tuple[ir.Expr, ...] | None:  # fmt: skip
    """The shape of `item` for all that `part` goes over, empty for numbers; None where it is not known at entry. It
    `may_suppose` that slices, as `x[i * n : i * n + w]`, lie inside of arrays; whoever stores them checks that."""
    found = tried_row(state, item, part, node)
    if may_suppose and not all(map(state.is_fixed, found)):
        with inside_of_arrays(state):
            found = tuple(folded(distributed(e)) for e in tried_row(state, item, part, node))
    asked = {e.array for extent in found for e in subexprs(extent) if isinstance(e, ir.Dim)}
    return found if all(map(state.is_fixed, found)) and asked <= state.arrays.keys() else None


@contextmanager
def inside_of_arrays(state: State) -> Iterator[None]:
    """What is parsed inside takes it that slices lie inside of arrays, to find out how long they are then."""
    before, state.whole.is_inside = state.whole.is_inside, True
    try:
        yield
    finally:
        state.whole.is_inside = before


def tried_row(state: State, item: ast.expr, part: ast.comprehension, node: ast.AST) -> tuple[ir.Expr, ...]:
    """The shape of `item`, by parsing it and going back; of one of two arrays that of a copy."""
    before, rejected = Snapshot.of(state), state.whole.rejected
    row, own = state.fresh_names("row", "row_of")
    fill = Filling({"ITEM": item, "TARGET": part.target, "OVER": part.iter})
    body = fill.statements(f"for TARGET in OVER:\n    {row} = ITEM\nreturn {row}")
    found = called_inside(state, own, (), body, [], node)
    extents: tuple[ir.Expr, ...] = ()
    if isinstance(found, ArrayName):
        found = state.all_of(found.array, state.source.span(node))
    if isinstance(found, View | ArrayValue):
        extents = tuple(map(state.known, found.extents))
    is_choice = isinstance(item, ast.IfExp) and state.whole.rejected > rejected
    before.restore(state)
    if not is_choice:
        return extents
    return tried_row(state, direct_call(np.copy, [item], item), part, node)


def distributed(extent: ir.Expr) -> ir.Expr:
    """`extent` with products of sums as sums of products: `(i + 1) * n - i * n` is `n`."""

    def as_sum(expr: ir.Expr) -> ir.Expr:
        match expr:
            case ir.Apply(op=Op.MUL, args=(ir.Apply(op=Op.ADD | Op.SUB as op, args=(a, b)), c)):
                return ir.Apply(op, tuple(as_sum(times(e, c)) for e in (a, b)), loc=expr.loc)
            case ir.Apply(op=Op.MUL, args=(c, ir.Apply(op=Op.ADD | Op.SUB as op, args=(a, b)))):
                return ir.Apply(op, tuple(as_sum(times(c, e)) for e in (a, b)), loc=expr.loc)
            case _:
                return expr

    return map_expr(as_sum, extent)
