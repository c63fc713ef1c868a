"""Calls of functions that have a rule: they stay calls, of numbers and of parts of arrays."""

from __future__ import annotations

import ast
import inspect
from collections import Counter
from collections.abc import Callable, Mapping

from loopdiff.errors import Span
from loopdiff.frontend.arrays.integers import distance
from loopdiff.frontend.arrays.nests import copied_view
from loopdiff.frontend.arrays.values import ArrayValue, View, has_holes, hole
from loopdiff.frontend.parsing.bindings import ArrayName, Value
from loopdiff.frontend.parsing.calling.arguments import Callee, arguments_of
from loopdiff.frontend.parsing.outside import outside_constant
from loopdiff.frontend.parsing.state import State
from loopdiff.ir import nodes as ir
from loopdiff.rules.definitions import Rule, parameters_of, plain
from loopdiff.source.functions import plain_function

WriteOut = Callable[[State, Callee, Mapping[str, Value], ast.Call], Value | None]


def ruled_call(state: State, rule: Rule, node: ast.Call, write_out: WriteOut) -> Value | None:
    """Call the function of `rule`; its result, () for none, or None after a rejection.

    `write_out` writes out a Python function: the one that gives the shape of the tape.
    """
    state.need_types()  # whether an argument is an array
    signature = inspect.signature(plain(rule.function))
    given = arguments_of(state, rule.name, signature, lambda value, at: outside_constant(state, value, at), node)
    if given is None:
        return None
    values = {name: given_value(state, value, name, node) for name, value in given.items()}
    written = signature.bind(*node.args, **{str(k.arg): k.value for k in node.keywords}).arguments
    args = {name: as_argument(state, rule, name, value, written.get(name, node)) for name, value in values.items()}
    if None in args.values() or is_shared(state, rule, values, node):
        return None
    tape = tape_shape(state, rule, values, node, write_out)
    if tape is None:
        return None
    span = state.source.span(node)
    results = () if rule.result is None else (state.temporary(rule.name, span),)
    state.out.append(ir.Call(rule, "primal", tuple(args[p] for p in rule.params), results, tape, loc=span))
    # Not with the statement: the call may stand in a condition.
    state.whole.note_altered(
        [v.array for n, v in values.items() if n in rule.changed and isinstance(v, View)], state.whole.clock
    )
    return ir.Load(results[0], loc=span) if results else ()


def given_value(state: State, value: Value, name: str, node: ast.Call) -> Value:
    """`value` as a number or a view; computed arrays are stored."""
    span = state.source.span(node)
    match value:
        case ArrayName(array=array):
            return state.all_of(array, span)
        case ArrayValue():
            return copied_view(state, value, name, span)
        case _:
            return value


def as_argument(state: State, rule: Rule, name: str, value: Value, node: ast.expr) -> ir.Expr | None:
    """`value`, given by `node` for the parameter `name`, as an argument of a Call; None after a rejection."""
    what = f"`{name}` of `{rule.name}`"
    if isinstance(value, View):
        part = passed_part(state, value, state.source.span(node))
        if part is None:
            state.reject("LD132", f"{what} gets a view that is neither an array nor a row of one", node)
        return part
    if not isinstance(value, ir.Expr):
        state.reject("LD132", f"{what} gets neither a number nor an array", node, "write the call for each case")
        return None
    if name in rule.changed:
        state.reject("LD132", f"{what} is written, and gets a number", node, "pass an array, or a row of one")
        return None
    return value


def passed_part(state: State, view: View, span: Span) -> ir.Load | None:
    """The array that `view` is, or its part at a few first subscripts; None if it is neither."""
    count = len(view.subscripts) - view.rank
    fixed, rest = view.subscripts[:count], view.subscripts[count:]
    whole = state.all_of(view.array, span)
    extents = zip(whole.extents[count:], view.extents, strict=True)
    is_rest = count >= 0 and all(s == hole(k) for k, s in enumerate(rest))
    if not is_rest or any(map(has_holes, fixed)) or any(distance(a, b) != 0 for a, b in extents):
        return None
    state.whole.fresh.discard(view.array)
    return ir.Load(ir.Access(view.array, fixed, loc=span), loc=span)


def is_shared(state: State, rule: Rule, values: Mapping[str, Value], node: ast.Call) -> bool:
    """Whether one array is given twice and written; reports it."""
    arrays = {n: v.array for n, v in values.items() if isinstance(v, View)}
    counts = Counter(arrays.values())
    shared = next((n for n, a in arrays.items() if n in rule.changed and counts[a] > 1), None)
    if shared is not None:
        array = arrays[shared]
        message = f"`{rule.name}` gets `{array}` twice and writes it, as `{shared}`"
        state.reject("LD132", message, node, f"pass a copy for one of them: `{array}.copy()`")
    return shared is not None


def tape_shape(
    state: State, rule: Rule, values: Mapping[str, Value], node: ast.Call, write_out: WriteOut
) -> tuple[ir.Expr, ...] | None:
    """The shape of what the rule keeps between the sweeps, () for nothing; None after a rejection."""
    if rule.shape is None:
        return ()
    function = plain_function(rule.shape)
    callee = Callee(state.whole.sources.of(function), function.__code__, None)
    found = write_out(state, callee, {n: values[n] for n in parameters_of(function)}, node)
    if found is None:
        return None
    shape = tuple(map(state.known, found if isinstance(found, tuple) else (found,)))  # type: ignore[arg-type]
    if not all(isinstance(e, ir.Expr) and state.is_fixed(e) for e in shape):
        hint = "use extents of its arguments, and integers that nothing changes"
        state.reject("LD132", f"the shape of the tape of `{rule.name}` is not known at entry", node, hint)
        return None
    return shape or (ir.Const(1),)
