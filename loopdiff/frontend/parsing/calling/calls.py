"""Calls: scalar functions, of arrays element by element, `len`, and what works on whole arrays."""

from __future__ import annotations

import ast
import builtins
from typing import Any, cast

import numpy as np

from loopdiff.errors import Span
from loopdiff.frontend.arrays.broadcasting import require_equal
from loopdiff.frontend.arrays.constructions import JOINING, array_like
from loopdiff.frontend.arrays.effects import stored_call
from loopdiff.frontend.arrays.element_types import kind_so_far, may_widen
from loopdiff.frontend.arrays.elementwise import combined, complex_part
from loopdiff.frontend.arrays.evaluated import require_elements
from loopdiff.frontend.arrays.functions import array_call, clip_call, method_call
from loopdiff.frontend.arrays.integers import ONE, ZERO
from loopdiff.frontend.arrays.shapes import constant_bound, extent_at, rank_of, shaped
from loopdiff.frontend.arrays.subscripts import element_of
from loopdiff.frontend.arrays.values import Array, ArrayValue, Quantity, View, as_array, fill, is_array, one_of_two
from loopdiff.frontend.binding.types import Kind
from loopdiff.frontend.functions import ScalarFunction, scalar_function
from loopdiff.frontend.owners import is_surely_numpys, is_surely_pythons, note_made
from loopdiff.frontend.parsing.bindings import (
    ArrayName,
    Given,
    ListName,
    ListRow,
    LocalFunction,
    Outside,
    Record,
    Value,
    Varying,
)
from loopdiff.frontend.parsing.calling.classes import class_answer
from loopdiff.frontend.parsing.calling.derivatives import derivative_in
from loopdiff.frontend.parsing.calling.of_lists import gives_list, of_lists, of_made
from loopdiff.frontend.parsing.lists.making import may_be_sorted
from loopdiff.frontend.parsing.lists.read_at_once import MAKING
from loopdiff.frontend.parsing.lists.reading import elements_in
from loopdiff.frontend.parsing.lists.shrinking import popped
from loopdiff.frontend.parsing.meanings import is_class_asked
from loopdiff.frontend.parsing.order import at_once
from loopdiff.frontend.parsing.outside import reject_outside, root_is_local
from loopdiff.frontend.parsing.placing import with_place
from loopdiff.frontend.parsing.state import State
from loopdiff.frontend.parsing.totals import Filling, gathered_items, gathers, goes_through, total_of
from loopdiff.frontend.parsing.ways.joins import view_of
from loopdiff.frontend.parsing.ways.snapshots import tried
from loopdiff.frontend.parsing.ways.varying import is_up_to
from loopdiff.frontend.refused import REFUSED_METHODS, REFUSED_MODULES
from loopdiff.ir import nodes as ir
from loopdiff.ir.types import F64, INT
from loopdiff.ir.walk import loads
from loopdiff.numpy_functions import GRIDS
from loopdiff.numpy_functions.branching import COMPLEX, Owner, Question
from loopdiff.numpy_functions.elementwise import around, to_digits
from loopdiff.source.functions import LIBRARIES, MISSING
from loopdiff.source.nodes import syntax_nodes


def parse_call(state: State, node: ast.Call) -> Quantity:
    result = state.whole.call(state, node)
    if result is not MISSING:
        return result_of_helper(state, result, node)
    callee, text = state.outside(node.func), ast.unparse(node.func)
    if callee is MISSING:
        note_made(state, callee)
        found = popped(state, node) or method_of_number(state, node) or method_call(state, node)
        return unknown_call(state, node, text) if found is None else found
    if gathers(state, node, callee):
        return gathered_items(state, node, callee)
    if is_numpys(callee):
        note_made(state, callee)
    is_given = is_numpys(callee) and any(gives_list(state, node, k) for k in range(len(node.args)))
    if (found := of_lists(state, node, callee) if is_given else of_made(state, node, callee)) is not None:
        return found
    if (found := known_answer(state, node, callee)) is not None:
        return found
    if (found := stored_call(state, node)) is not None:
        return found
    if callee is np.clip:
        return clip_call(state, node)
    if (callee is np.real or callee is np.imag) and len(node.args) == 1 and not node.keywords:
        return complex_part(state, "real" if callee is np.real else "imag", state.quantity(node.args[0]), node)
    if (found := array_call(state, node, callee)) is not None:
        return found
    if goes_through(node, callee):
        return result_of_helper(state, total_of(state, node, callee), node)
    function = scalar_function(callee)
    return unknown_call(state, node, text) if function is None else scalar_call(state, node, callee, function)


def to_decimals(state: State, node: ast.Call, args: list[ast.expr], function: Any = around) -> Quantity:
    """`np.round` or `round` of `args`, the number and perhaps how many decimals."""
    made = ast.Call(ast.Constant(function), args, node.keywords)
    return state.quantity(ast.fix_missing_locations(ast.copy_location(made, node)))


def known_answer(state: State, node: ast.Call, callee: object) -> ir.Expr | None:
    """A length, true or false, where the call asks for what is known while the program is read; None for others."""
    if callee is len:
        return length(state, node)
    if isinstance(callee, Question):
        return answer(state, node, callee)
    return class_answer(state, node, callee) if is_class_asked(state, node) else None


def answer(state: State, node: ast.Call, question: Question) -> ir.Expr:
    """What is so of the number, or of the elements of the array, that `node` asks about."""
    element = state.known(as_array(state.quantity(node.args[0])).element)
    kind = kind_so_far(state, element)
    if isinstance(question, Owner):
        is_so = (is_surely_numpys if question.is_numpys else is_surely_pythons)(state, element)
    elif question.kinds == COMPLEX:
        is_so = kind.is_complex
    else:
        is_so = kind in (Kind.INT, Kind.BOOL) and not may_widen(state, element)
    is_so = is_so or (question.takes_literals and isinstance(element, ir.Const))
    return ir.Const(is_so, loc=state.source.span(node))


def is_numpys(callee: object) -> bool:
    return isinstance(callee, np.ufunc) or str(getattr(callee, "__module__", "")).split(".")[0] == "numpy"


def grid_call(state: State, node: ast.expr) -> ast.Call | None:
    """`np.mgrid[a:b, c:d]` as a call that makes it, of `np.arange(a, b)`, or of `np.linspace` for steps like `5j`; and
    `np.r_[a, b:c]`, which joins what is in it."""
    found = state.outside(node.value) if isinstance(node, ast.Subscript) else None
    grid = next((g for g in (*GRIDS, *JOINING) if found is g), None)
    if grid is None or not isinstance(node, ast.Subscript):
        return None
    made: list[ast.expr] = []
    for part in node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]:
        match part:
            case ast.Slice(lower=lower, upper=ast.expr() as upper, step=ast.Constant(value=complex(imag=count))):
                function, step = np.linspace, ast.Constant(int(count))
            case ast.Slice(lower=lower, upper=ast.expr() as upper, step=step):
                function, step = np.arange, step or ast.Constant(1)
            case ast.Slice():
                return None
            case _ if grid in JOINING:
                made.append(part)
                continue
            case _:
                return None
        made.append(ast.Call(ast.Constant(cast(Any, function)), [lower or ast.Constant(0), upper, step], []))
    call = ast.copy_location(ast.Call(ast.Constant(GRIDS.get(grid) or JOINING[grid]), made, []), node)
    for inner in syntax_nodes(call):
        ast.copy_location(inner, inner if hasattr(inner, "lineno") else node)
    return call


def scalar_call(state: State, node: ast.Call, callee: object, function: ScalarFunction) -> Quantity:
    """A function of numbers, or of arrays element by element."""
    text, span = ast.unparse(node.func), state.source.span(node)
    if any(callee is f for f in (np.round, np.around)) and len(node.args) + len(node.keywords) > 1:
        return to_decimals(state, node, node.args)
    if callee is round and len(node.args) + len(node.keywords) > 1:
        return to_decimals(state, node, node.args, to_digits)
    if node.keywords:
        named = ", ".join(f"`{k.arg}=`" if k.arg else "`**`" for k in node.keywords)
        return state.reject("LD110", f"`{text}` is called with {named}", node)
    if callee is float and (special := special_float(node)) is not None:
        return ir.Const(special, loc=span)
    nodes = unpacked(node, callee in (min, max))
    if any(isinstance(a, ast.Starred) for a in nodes):
        return state.reject("LD110", f"`{text}` is called with `*`", node, "write the arguments one by one")
    if not function.takes(len(nodes)):
        return state.reject("LD110", f"`{text}` takes {function.arity_text}, here {len(nodes)}", node)
    args = operands(state, callee, nodes, function.name.startswith(("np.", "scipy.")))
    if any(map(is_array, args)) and not function.is_elementwise:
        hint = "use the function of `np` that works element by element, or a reduction"
        return state.reject("LD108", f"`{text}` takes numbers, here an array", node, hint)
    found = combined(state, lambda *values: with_place(function.build(*values), span), args, node)
    note_box(state, callee, found)
    return found


def operands(state: State, callee: object, nodes: list[ast.expr], is_numpy: bool) -> list[Quantity]:
    """The values of `nodes`: all of them, also where the choice of `np.where` leaves one unread."""
    args = at_once(state, nodes, array_like if is_numpy else State.quantity)
    if callee is np.where:
        for arg, node in zip(args, nodes, strict=True):
            require_elements(state, arg, node)
    return args


def method_of_number(state: State, node: ast.Call) -> Quantity | None:
    """The value of `z.conj()` and of `x.sum().item()`; None for other methods."""
    match node:
        case ast.Call(func=ast.Attribute(value=base, attr="conj" | "conjugate"), args=[], keywords=[]):
            return complex_part(state, "conj", state.quantity(base), node)
        case ast.Call(func=ast.Attribute(value=base, attr="round"), args=args) if root_is_local(state, base):
            return to_decimals(state, node, [base, *args])
        case ast.Call(func=ast.Attribute(value=base, attr="item"), args=[], keywords=[]):
            return item_of(state, state.quantity(base), node)
        case ast.Call(func=ast.Attribute(value=base, attr="item"), args=[first, *rest], keywords=[]) if root_is_local(
            state, base
        ):
            return item_at(state, base, [first, *rest], node)
        case _:
            return None


def item_at(state: State, base: ast.expr, places: list[ast.expr], node: ast.Call) -> Quantity:
    """`A.item(i, j)`, and `A.item(k)`, which counts the elements row by row."""
    whole = tried(state, base) if len(places) == 1 else None
    place, names = places[0] if len(places) == 1 else ast.Tuple(places, ast.Load()), list[str]()
    if isinstance(whole, View | ArrayValue) and whole.rank > 1:
        if any(isinstance(n, ast.Call) for n in syntax_nodes(base)):
            text, hint = ast.unparse(node), "give the array a name, or write its row and column"
            return state.reject("LD109", f"`{text}` counts the elements of what has no name", node, hint)
        names = [state.fresh_names("size")[0] for _ in whole.extents]
        state.bindings.update({name: Given(size) for name, size in zip(names, whole.extents, strict=True)})
        is_from_end = isinstance(place, ast.UnaryOp) and isinstance(place.op, ast.USub)
        first = f"({' * '.join(names)} + PLACE)" if is_from_end else "PLACE"
        rows = [" // ".join([first, *names[axis:]]) for axis in range(1, whole.rank + 1)]
        places_by_axis = [rows[0], *(f"{row} % {size}" for row, size in zip(rows[1:], names[1:], strict=True))]
        place = Filling({"PLACE": place}).expression(", ".join(places_by_axis))
    part = ast.fix_missing_locations(ast.copy_location(ast.Subscript(base, place, ast.Load()), node))
    found = item_of(state, state.quantity(part), node)
    for name in names:
        state.bindings.pop(name, None)
    return found


def item_of(state: State, value: Quantity, node: ast.Call) -> Quantity:
    """`v.item()`: a number of NumPy's, or the only one of an array, as one of Python's, which does not widen what it
    meets."""
    span, text = state.source.span(node), ast.unparse(node.func)
    if isinstance(value, View | ArrayValue):
        state.need_types()
        for size in value.extents:
            require_equal(state, size, ONE, f"`{text}()` of an array that has not one element", span)
        value = fill(value.element, (ZERO,) * value.rank)
    kind, is_settled = kind_so_far(state, value), all(load.access.subscripts for load in loads(value))
    if kind in (Kind.F32, Kind.F64):  # one of Python's has no such method
        return ir.Cast(F64, value, loc=span)
    if kind in (Kind.BOOL, Kind.INT) and is_settled:
        return value if kind is Kind.BOOL else ir.Cast(INT, value, loc=span)
    return state.reject("LD109", f"`{text}()` of what may be no number, or change", node, REFUSED_METHODS["item"])


def note_box(state: State, callee: object, value: Quantity) -> None:
    """Remember that `value` is a number which NumPy returns as an array (see `boxes`)."""
    if callee is np.where and not is_array(value):
        state.whole.boxed.add(value)  # type: ignore[arg-type]


def one_of(state: State, value: Varying, span: Span) -> Array:
    """The array that `value` is, element by element."""
    *others, last = (as_array(v) for b in value.options if (v := view_of(state, b, span)) is not None)
    for number, option in reversed(list(enumerate(others))):
        last = one_of_two(is_up_to(value.which, number, span), option, last, span)
    return last


def result_of_helper(state: State, value: Value | None, node: ast.Call) -> Quantity:
    """`value`, the result of a helper called by `node`, as a number or an array."""
    text, span = ast.unparse(node.func), state.source.span(node)
    match value:
        case None:
            return ir.Const(0, loc=span)
        case ArrayName(array=array):
            state.need_types()
            return state.all_of(array, span)
        case Varying():
            return one_of(state, value, span)
        case ListName() | ListRow():
            return state.reject(
                "LD111", f"`{text}` returns a list, used here as a number", node, "give it a name first"
            )
        case Outside() | LocalFunction():
            hint = "give the function a name first"
            return state.reject("LD111", f"`{text}` returns a function, used here as a number", node, hint)
        case tuple():
            what = f"{len(value)} values" if value else "nothing"
            return state.reject("LD111", f"`{text}` returns {what}, used here as a number", node)
        case quantity:
            return quantity


def element_of_call(state: State, node: ast.Subscript) -> Quantity:
    """`f(x)[1]`: of several values that `f` returns the second, or else a part of the array."""
    call, place = node.value, constant_bound(node.slice)
    assert isinstance(call, ast.Call)
    assert place is not None
    result = state.whole.call(state, call)
    if isinstance(result, tuple):
        is_there = -len(result) <= place < len(result)
        return result_of_helper(state, result[place] if is_there else result, call)
    found = parse_call(state, call) if result is MISSING else result_of_helper(state, result, call)
    return element_of(state, found, place, node)


def field_of_call(state: State, node: ast.Attribute) -> Quantity | None:
    """`f.grad(x).x`, and `f.value_and_grad(x)[1].x`; None for attributes of other things."""
    match node.value:
        case ast.Subscript(value=ast.Call() as call, slice=part):
            place = constant_bound(part)
        case call:
            place = None
    if derivative_in(state, call) is None:
        return None
    assert isinstance(call, ast.Call)
    found = state.whole.call(state, call)
    if isinstance(found, tuple) and place is not None and -len(found) <= place < len(found):
        found = found[place]
    if found is None:
        return ir.Const(0, loc=state.source.span(node))
    value = field_at(state, found, node.attr, call)
    return ir.Const(0, loc=state.source.span(node)) if value is None else result_of_helper(state, value, call)


def field_at(state: State, values: Value, field: str | int, node: ast.AST) -> Value | None:
    """One of the fields that `values` have; None after a rejection."""
    found = values.at(field) if isinstance(values, Record) else None
    if found is None:
        known = ", ".join(values.names) if isinstance(values, Record) else "none"
        hint = "`wrt` of the function says what it is differentiated by"
        state.reject("LD107", f"there is no field `{field}`, there are: {known}", node, hint)
    return found


def special_float(node: ast.Call) -> float | None:
    """`float("inf")`, `float("-inf")`, `float("nan")` and other numbers in strings."""
    match node.args:
        case [ast.Constant(value=str() as text)]:
            try:
                return float(text)
            except ValueError:
                return None
        case _:
            return None


def unpacked(node: ast.Call, takes_sequence: bool) -> list[ast.expr]:
    """Arguments; `max((a, b))` is `max(a, b)`."""
    match node.args:
        case [ast.Tuple(elts=elts) | ast.List(elts=elts)] if takes_sequence:
            return elts
        case args:
            return args


def length(state: State, node: ast.Call) -> ir.Expr:
    span = state.source.span(node)
    match node.args:
        case [given] if (view := elements_in(state, given)) is not None:
            return view.extents[0]
        case [ast.Attribute(value=base, attr="shape")] if (
            array := shaped(state, base, takes_numbers=True)
        ) is not None:
            return rank_of(array, span)
        case [ast.Constant(value=str(text))]:
            return ir.Const(len(text), loc=span)
        case [argument] if isinstance(value := state.outside(argument), tuple | list | range | str):
            return ir.Const(len(value), loc=span)
        case [argument] if root_is_local(state, argument):
            array = shaped(state, argument)
            found = None if array is None else extent_at(state, array, 0, span)
            if found is not None:
                return with_place(found, span)
        case _:
            pass
    return state.reject("LD110", "`len` takes the name of an array", node, "use `A.shape[axis]`")


def is_users_class(value: type) -> bool:
    return getattr(builtins, value.__name__, None) is not value and value.__module__.split(".")[0] not in LIBRARIES


def unknown_call(state: State, node: ast.Call, text: str) -> ir.Expr:
    """The precise reason why `node` cannot be called."""
    match node.func:
        case ast.Attribute(value=base, attr=attr) if root_is_local(state, base):
            if isinstance(base, ast.Name) and base.id in state.survey.parameters and not state.is_helper:
                state.need_types()  # it may be an array
            if isinstance(base, ast.Call):
                state.quantity(base)  # which says what is wrong with it
            hint = REFUSED_METHODS.get(attr, "write it as a loop, or call a function of NumPy that is known")
            return state.reject("LD109", f"`{text}()` calls a method of a local value", node, hint)
        case ast.Name(id=name) if state.is_local(name):
            return state.reject("LD109", f"`{name}` is a local variable, called as a function", node)
        case _:
            pass
    if not isinstance(node.func, ast.Name | ast.Attribute):
        made = state.outside(node.func.func) if isinstance(node.func, ast.Call) else MISSING
        if isinstance(node.func, ast.Constant):
            made, text = cast(Any, node.func.value), getattr(node.func.value, "__name__", text)
        return state.reject("LD109", f"`{text}` cannot be called", node, hint_for(made))
    value = state.outside(node.func)
    owner = state.outside(node.func.value) if isinstance(node.func, ast.Attribute) else MISSING
    if value is MISSING and callable(getattr(owner, text.split(".")[-1], None)):
        if isinstance(owner, np.ufunc):
            hint = "write the loop that it stands for"
        else:
            hint = hint_for(owner) or "write it as a function, and pass what it reads of the object as arguments"
        return state.reject("LD109", f"`{text}` is a method", node, hint)
    if isinstance(value, type) and is_users_class(value):
        hint = hint_for(value) or "use one variable for each of its fields"
        return state.reject("LD109", f"`{text}` is a class, and makes an object", node, hint)
    if value is MISSING:
        return reject_outside(state, node, node.func)
    return unknown_function(state, node, text, value)


def unknown_function(state: State, node: ast.Call, text: str, value: object) -> ir.Expr:
    """The same of a function from outside, which is the `value` of a name."""
    if any(value is f for f in (range, enumerate, zip, reversed)):
        return state.reject("LD111", f"`{text}(...)` is only accepted as what a `for` loop goes over", node)
    if any(value is f for f in MAKING):
        return list_not_made(state, node, value)
    if value is set or value is frozenset:
        return state.reject("LD111", f"`{ast.unparse(node)}` is a set, used as one value", node, hint_for(value))
    return state.reject("LD109", f"`{text}` is not a function loopdiff knows", node, hint_for(value))


def list_not_made(state: State, node: ast.Call, value: object) -> ir.Expr:
    """Why the list that `node` makes is refused."""
    whole = ast.unparse(node)
    if value is sorted and any(k.arg != "reverse" or not isinstance(k.value, ast.Constant) for k in node.keywords):
        message = f"`{whole}` may not be evaluated here, or sorts what is no list of numbers or tuples of numbers"
        return state.reject(
            "LD134", message, node, "give the list a name, in a statement ahead: `w = sorted(v, key=...)`"
        )
    if len(node.args) != 1 or isinstance(node.args[0], ast.Starred):
        return state.reject("LD110", f"`{whole}` is called with arguments it does not take here", node)
    if value is sorted and not may_be_sorted(state, node.args[0]):
        message = f"`{ast.unparse(node.args[0])}` is no list of numbers or array with one axis, which are sorted here"
        return state.reject("LD134", message, node, "sort places by a key: `sorted(range(n), key=lambda i: x[i])`")
    return state.reject("LD111", f"`{whole}` is a list, used here as a number or an array", node, hint_for(value))


def hint_for(value: object) -> str | None:
    """What to write instead of a function from outside, or of a method of an object; None for those of which nothing is
    known."""
    kinds = (value, type(value), type(getattr(value, "__self__", None)))
    names = [str(getattr(kind, "__name__", "")) for kind in kinds[: 2 if callable(value) else 1]]
    homes = [f"{getattr(kind, '__module__', None)}." for kind in kinds]
    found = [hint for module, hint in REFUSED_MODULES.items() if any(h.startswith(f"{module}.") for h in homes)]
    return next((REFUSED_METHODS[n] for n in names if n in REFUSED_METHODS), found[0] if found else None)
