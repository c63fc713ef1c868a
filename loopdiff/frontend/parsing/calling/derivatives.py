"""Calls of derivatives inside programs: `energy.grad(x)`, whose loops take the place of the call once types are known.

Numbers, arrays and rows of arrays are passed as they are, other views in a copy. What comes back are new arrays and
numbers, in the named tuples that the call outside gives.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping

from loopdiff.errors import LoopdiffError
from loopdiff.frontend.arrays.broadcasting import is_unit, require_equal
from loopdiff.frontend.arrays.element_types import dtype_of, kind_so_far
from loopdiff.frontend.arrays.nests import copied_view
from loopdiff.frontend.arrays.values import View
from loopdiff.frontend.binding.types import PYTHON_KINDS
from loopdiff.frontend.capture import ArgumentType, ScalarArgument
from loopdiff.frontend.derivatives import (
    DIRECTED,
    Derivable,
    Derivative,
    DerivedLoops,
    Fields,
    Method,
    as_derivable,
    asked_here,
    derivative_rule,
)
from loopdiff.frontend.parsing.bindings import Record, Value
from loopdiff.frontend.parsing.calling.arguments import arguments_of
from loopdiff.frontend.parsing.calling.ruled import given_value, is_shared, passed_part
from loopdiff.frontend.parsing.outside import outside_constant
from loopdiff.frontend.parsing.state import State
from loopdiff.frontend.parsing.ways.buffers import declare
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.names import NameSupply
from loopdiff.ir.types import ArrayType
from loopdiff.ir.walk import map_expr
from loopdiff.source.functions import python_function

METHODS: Mapping[str, Method] = {m: m for m in ("grad", "value_and_grad", "jvp", "hvp")}
OTHERS = ("vjp", "jacobian")  # give what no program can hold


@immutable
class Called:
    """`method` of the function `of`, called by `node`."""

    of: Derivable
    method: Method | None
    node: ast.Call

    @property
    def name(self) -> str:
        return ast.unparse(self.node.func)


def derivative_in(state: State, node: ast.expr) -> Called | None:
    """The derivative that `node` calls, if it does."""
    if not isinstance(node, ast.Call):
        return None
    match node.func:
        case ast.Attribute(value=owner, attr=attr) if attr in (*METHODS, *OTHERS):
            found, method = as_derivable(state.outside(owner)), METHODS.get(attr)
        case ast.Name() | ast.Attribute():  # a gradient that is a function itself
            value = state.outside(node.func)
            found, method = (as_derivable(value) if python_function(value) is None else None), "call"
        case _:
            return None
    return None if found is None else Called(found, method, node)


def derivative_call(state: State, called: Called) -> Value | None:
    """What `called` gives; None after a rejection."""
    if called.method is None:
        hint = "call `grad`, `value_and_grad`, `jvp` or `hvp`, which give numbers and arrays"
        state.reject("LD109", f"`{called.name}` is a derivative that no program can hold", called.node, hint)
        return None
    state.need_types()
    given = arguments_given(state, called)
    if given is None:
        return None
    copied: set[str] = set()
    args, directions = ({n: passed(state, called, n, v, copied) for n, v in values.items()} for values in given)
    if any(v is None for v in (*args.values(), *directions.values())):
        return None
    found = made_for(state, called, args, tuple(directions))  # type: ignore[arg-type]
    if found is None:
        return None
    types, made = found
    values = {p: args[p] for p in made.loops.params if p in args}
    values |= {tangent: directions[name] for name, tangent in made.directions.items()}
    if is_misfit(state, called, values, made, copied):  # type: ignore[arg-type]
        return None
    for name, tangent in made.directions.items():
        require_shape(state, called, name, args[name], values[tangent])
    rule = derivative_rule(called.name, called.of, called.method, types, tuple(directions), made)
    return call_of(state, called, rule, values)  # type: ignore[arg-type]


def arguments_given(state: State, called: Called) -> tuple[dict[str, Value], dict[str, Value]] | None:
    """Arguments, and directions, by the names of parameters; None after a rejection."""
    node, signature = called.node, called.of.signature
    along: dict[str, str] = {}
    if called.method in DIRECTED:
        match node:
            case ast.Call(args=[ast.Tuple(elts=elts) | ast.List(elts=elts), directions], keywords=[]):
                named = directions_in(directions)
            case _:
                elts, named = [], None
        if named is None:
            hint = f"write the tuple and the names in the call: `{called.name}((x, y), dict(x=x_direction))`"
            state.reject("LD110", f"`{called.name}` takes a tuple of arguments and directions by name", node, hint)
            return None
        unknown = next((k for k in named if k not in signature.parameters), None)
        if unknown is not None:
            state.reject("LD110", f"`{unknown}` is no argument of what `{called.name}` differentiates", node)
            return None
        names = NameSupply(signature.parameters)
        along = {names.fresh(f"{name}_direction"): name for name in named}
        keywords = [ast.keyword(new, named[name]) for new, name in along.items()]
        node = ast.copy_location(ast.Call(node.func, elts, keywords), node)
        extra = (inspect.Parameter(new, inspect.Parameter.KEYWORD_ONLY) for new in along)
        signature = inspect.Signature((*signature.parameters.values(), *extra))
    found = arguments_of(state, called.name, signature, lambda v, at: outside_constant(state, v, at), node)
    if found is None:
        return None
    return {n: v for n, v in found.items() if n not in along}, {along[n]: v for n, v in found.items() if n in along}


def directions_in(node: ast.expr) -> dict[str, ast.expr] | None:
    """`dict(x=u)` and `{"x": u}`; None for anything else."""
    match node:
        case ast.Call(func=ast.Name("dict"), args=[], keywords=keywords) if all(k.arg is not None for k in keywords):
            return {str(k.arg): k.value for k in keywords}
        case ast.Dict(keys=keys, values=values) if all(isinstance(k, ast.Constant) for k in keys):
            return {str(k.value): v for k, v in zip(keys, values, strict=True)}  # type: ignore[union-attr]
        case _:
            return None


def passed(state: State, called: Called, name: str, value: Value, copied: set[str]) -> ir.Expr | View | None:
    """`value` as the loops of the derivative can have it: a number, an array or a row of one, which is one of the
    `copied` where it is neither of these."""
    found, span = given_value(state, value, name, called.node), state.source.span(called.node)
    if isinstance(found, View) and passed_part(state, found, span) is None:
        copied.add(name)
        return copied_view(state, found, name, span)
    if isinstance(found, View | ir.Expr):
        return found
    message = f"`{name}` of `{called.name}` gets neither a number nor an array"
    state.reject("LD109", message, called.node, "write the call for each case")
    return None


# -- types ---------------------------------------------------------------------------------------------------
def made_for(
    state: State, called: Called, args: Mapping[str, ir.Expr | View], along: tuple[str, ...]
) -> tuple[dict[str, ArgumentType], DerivedLoops] | None:
    """The types that `args` are taken to have, and the loops of the derivative for these; None after a rejection."""
    assert called.method is not None
    axes: dict[str, tuple[int, ...]] = {}
    while True:
        types = {n: type_of(state, v, axes.get(n, ())) for n, v in args.items()}
        made: DerivedLoops | str
        try:
            made = called.of.derivative(called.method, types, along)
        except LoopdiffError as error:
            if state.diagnostics:  # of which the types of what is not known may be a consequence
                return None
            if "LD401" not in error.codes:
                raise asked_here(error, called.name, state.source.span(called.node)) from None
            made = "it gets no structure"  # as long as none is taken apart
        if isinstance(made, str):
            state.reject("LD109", f"`{called.name}` cannot be called in a program: {made}", called.node, WAY)
            return None
        found = {n: tuple(int((n, k, 1) in made.asked and is_unit(state, v.extents[k])) for k in range(v.rank))
                 for n, v in args.items() if isinstance(v, View)}  # fmt: skip
        if {n: u for n, u in found.items() if any(u)} == {n: u for n, u in axes.items() if any(u)}:
            return types, made
        axes = found


WAY = "call it outside and pass what it gives, or write what it computes as a function"


def type_of(state: State, value: ir.Expr | View, axes: tuple[int, ...]) -> ArgumentType:
    """The type of an argument: that of a cell is what is known so far, which binding sees to."""
    if isinstance(value, View):
        return ArrayType(dtype_of(state, value.array) or "float64", value.rank, axes=axes)
    kind = kind_so_far(state, value)
    return ScalarArgument(kind.storage, kind in PYTHON_KINDS)


# -- the call ------------------------------------------------------------------------------------------------
def call_of(state: State, called: Called, rule: Derivative, values: Mapping[str, ir.Expr | View]) -> Value | None:
    """The call of `rule`, and what it gives; None after a rejection."""
    if is_shared(state, rule, values, called.node):
        return None
    made, span, stem = rule.made, state.source.span(called.node), called.name.split(".")[-1]
    cells: list[ir.Access] = []
    filled: list[View] = []
    results: list[ir.Expr | View] = []
    for result, kind in zip(made.loops.results, made.results, strict=True):
        if isinstance(result, ir.ArrayResult):
            assert isinstance(kind, ArrayType)
            extents = extents_of(made.loops.array(result.array), values)
            decl = ir.ArrayDecl("", ArrayType(kind.dtype, kind.rank), "local", extents, loc=span)
            array, _ = declare(state, decl, stem, None, span)
            filled.append(state.all_of(array, span))
            results.append(filled[-1])
        else:
            cells.append(state.temporary(stem, span))
            results.append(ir.Load(cells[-1], loc=span))
    state.whole.kinds.update(zip((c.array for c in cells), made.numbers, strict=True))
    parts = [passed_part(state, v, span) if isinstance(v, View) else v for v in (*values.values(), *filled)]
    state.out.append(ir.Call(rule, "primal", tuple(parts), tuple(cells), loc=span))
    altered = [v.array for n, v in values.items() if n in made.written and isinstance(v, View)]
    state.whole.note_altered(altered, state.whole.clock)
    return structured(made.given, results)


def is_misfit(
    state: State, called: Called, values: Mapping[str, ir.Expr | View], made: DerivedLoops, copied: set[str]
) -> bool:
    """Whether a direction has other axes than its argument, or the loops write a copy; reports it."""
    for name, tangent in made.directions.items():
        ranks = [v.rank if isinstance(v, View) else 0 for v in (values[name], values[tangent])]
        if ranks[0] != ranks[1]:
            message = f"the direction of `{name}` in `{called.name}` has other axes than it"
            state.reject("LD110", message, called.node, "give it the shape of its argument")
            return True
    for name in made.written & copied:
        hint = "pass an array, or a row of one"
        state.reject("LD109", f"`{called.name}` writes `{name}`, and gets a view of it", called.node, hint)
        return True
    return False


def require_shape(
    state: State, called: Called, name: str, value: ir.Expr | View | None, direction: ir.Expr | View | None
) -> None:
    """The direction of `name` must have the extents of its argument, when the program runs."""
    if isinstance(value, View) and isinstance(direction, View):
        for extent, given in zip(value.extents, direction.extents, strict=True):
            message = f"the direction of `{name}` in `{called.name}` has another shape than it"
            require_equal(state, given, extent, message, state.source.span(called.node))


def extents_of(decl: ir.ArrayDecl, values: Mapping[str, ir.Expr | View]) -> tuple[ir.Expr, ...]:
    """The extents of an array that the loops make, in those of the `values` of their parameters."""

    def outside(expr: ir.Expr) -> ir.Expr:
        match expr:
            case ir.Dim(array=name, axis=axis) if isinstance(view := values.get(name), View):
                return view.extents[axis]
            case ir.Param(name=name) if isinstance(value := values.get(name), ir.Expr):
                return value
            case _:
                return expr

    return tuple(map_expr(outside, e) for e in decl.extents or ())


def structured(given: Fields | tuple[int | Fields, ...], results: list[ir.Expr | View]) -> Value:
    """The `results` as the call outside gives them."""
    if isinstance(given, Fields):
        return Record.of(given.names, [results[k] for k in given.places])
    parts = tuple(results[k] if isinstance(k, int) else structured(k, results) for k in given)
    return parts if len(parts) != 1 else parts[0]
