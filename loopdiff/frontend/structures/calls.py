"""Calls of Python functions that are given structures, or give some."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping, Sequence
from types import MethodType
from typing import Any, cast

import numpy as np

from loopdiff.frontend.structures.arguments import (
    apart_for,
    call_apart,
    call_with,
    parameters_given,
    written_defaults,
)
from loopdiff.frontend.structures.effects import OutOfTurn, has_effects
from loopdiff.frontend.structures.iterated import known_leaf, spread
from loopdiff.frontend.structures.known import static
from loopdiff.frontend.structures.methods import (
    OPERATORS,
    Bound,
    callee,
    class_constant,
    has_records,
    is_property,
    keeps_values,
    method_of,
)
from loopdiff.frontend.structures.objects.dataclass_makers import dataclass_maker
from loopdiff.frontend.structures.objects.gradients import gradient_given
from loopdiff.frontend.structures.objects.making import object_maker
from loopdiff.frontend.structures.objects.ranges import kept_value
from loopdiff.frontend.structures.objects.read_at_calls import OfClass, function_of_class, tree_outside
from loopdiff.frontend.structures.records import of_builtin
from loopdiff.frontend.structures.rewriting import (
    assignment,
    base_of,
    display_of,
    element,
    function_at,
    hand_out,
    rebuilt_part,
)
from loopdiff.frontend.structures.scope import Local, Scope, Version, name_read, name_stored
from loopdiff.frontend.structures.signs import has_maker, is_known, makes_more, may_write, writes_parts
from loopdiff.frontend.structures.trees import Branch, Leaf, Static, Tree, described, in_row, leaves, with_leaves
from loopdiff.immutable import replace
from loopdiff.numpy_functions import ROWS, takes_arrays
from loopdiff.source.functions import MISSING, SourceFunction, python_function
from loopdiff.source.nodes import syntax_children, syntax_nodes

STEADY = (ast.Name, ast.Constant, ast.Lambda)  # what names stand for is the same object after a call


def called(scope: Scope, node: ast.Call) -> Tree | None:
    """What a call gives, where that is a structure, or made of one; None for other calls."""
    known = static(scope, node)
    if known is not MISSING:
        return known_leaf(known, node)
    found = of_builtin(scope, node)
    if found is not None:
        return found
    gradient = gradient_given(scope, node)
    if gradient is not None:
        return gradient
    if (target := length_of(scope, node)) is not None:
        return call_of_method(scope, target, [], node, node.args[0])
    target = callee_of(scope, node.func)
    return None if target is None else given_by(scope, node, target, node)


def length_of(scope: Scope, node: ast.Call) -> Bound | None:
    """The method that says how long the object is of which `node` asks that."""
    match node:
        case ast.Call(args=[part], keywords=[]) if scope.value_outside(node.func) is len:
            return method_of(scope, base_of(scope, part), "__len__")
        case _:
            return None


def given_by(scope: Scope, call: ast.Call, target: Bound, node: ast.expr) -> Tree | None:
    """What `call` of a Python function gives, which stands for `node`; None for single values of single values."""
    pending = kept_call(scope, call, target, node)
    if pending is None:
        return None
    made, result = pending
    if result is None:
        return Leaf(made)
    text, hint = ast.unparse(node), "assign it to a name on a line of its own"
    is_late = id(node) not in scope.leading and may_write(target.source, scope.sources)
    if (is_late or not scope.may_run_ahead) and scope.may_turn and isinstance(node, ast.Call):
        raise OutOfTurn(node)
    if not scope.may_run_ahead:
        return scope.reject(f"`{text}`, {described(result)}, may not run at all here", node, hint)
    if is_late:
        return scope.reject(f"`{text}`, {described(result)}, may change what is read before it", node, hint)
    return run_ahead(scope, made, result, node)


def property_of(scope: Scope, base: Branch, node: ast.Attribute) -> Tree | None:
    """A property of a record, or what its class has under a name."""
    if class_constant(base, node.attr) is not MISSING:
        return tree_outside(scope, OfClass(base.type, node.attr), node)
    target = method_of(scope, base, node.attr) if is_property(base, node.attr) else None
    if target is not None and keeps_values(base.type) and writes_parts(scope.source):
        what = f"`{ast.unparse(node)}` may be kept from before an array was changed"
        return scope.reject(what, node, "make it a `property`, or change no array here")
    return None if target is None else call_of_method(scope, target, [], node, node.value)


def of_class(scope: Scope, kind: type[Any], node: ast.Attribute) -> Tree | None:
    """A number, a text, an array or a function of NumPy that a class has under a name; None for others."""
    if node.attr in ("__name__", "__qualname__"):
        return Static(getattr(kind, node.attr))
    objects = Branch("record", kind, (), ())
    if class_constant(objects, node.attr) is not MISSING:
        return tree_outside(scope, OfClass(kind, node.attr), node)
    return function_of_class(scope, objects, node.attr, node)


def constant_tree(value: Any, node: ast.AST) -> Tree:
    """What a class has under a name: a number as it would be written, a text, None, or a tuple of these."""
    if type(value) is tuple:
        return in_row("tuple", tuple(constant_tree(v, node) for v in value))
    is_number = isinstance(value, int | float)
    return Leaf(ast.copy_location(ast.Constant(value), node)) if is_number else Static(value)


def operator_call(scope: Scope, node: ast.BinOp | ast.UnaryOp) -> Tree | None:
    """An operator between records, or of one; None where there are none."""
    name = OPERATORS.get(type(node.op))
    if name is None or not has_records(scope, node):
        return None
    left, *right = (node.operand,) if isinstance(node, ast.UnaryOp) else (node.left, node.right)
    target = method_of(scope, base_of(scope, left), f"__{name}__")
    if target is not None:
        return call_of_method(scope, target, right, node, left)
    reflected = method_of(scope, base_of(scope, right[0]), f"__r{name}__") if right else None
    return None if reflected is None else call_of_method(scope, reflected, [left], node, right[0])


def call_of_method(scope: Scope, target: Bound, args: list[ast.expr], node: ast.expr, base: ast.expr) -> Tree | None:
    """What a method of `base` gives for `args`, at `node`."""
    return given_by(scope, ast.copy_location(ast.Call(base, args, []), node), target, node)


def leading(node: ast.AST | None) -> Iterator[int]:
    """What of an expression is evaluated before anything else in it is read: names stand for the same things later."""
    match node:
        case ast.IfExp(test=test):
            yield id(node)
            yield from leading(test)
        case ast.Call(func=function, args=args, keywords=named):
            yield id(node)
            bases = [function.value] if isinstance(function, ast.Attribute) else []
            yield from leading_of([*bases, *args, *named])
        case ast.Compare(left=left, comparators=[first, *_]):
            yield from leading_of([left, first])
        case ast.Dict(keys=keys) if not all(isinstance(key, ast.Constant) for key in keys):
            pass
        case ast.Subscript() | ast.Attribute() | ast.BinOp() | ast.UnaryOp() | ast.Tuple() | ast.List() | ast.Dict():
            yield from leading_of(syntax_children(node))
        case ast.keyword() | ast.Starred() | ast.Slice():
            yield from leading_of(syntax_children(node))
        case _:
            pass


def leading_of(parts: Sequence[ast.AST]) -> Iterator[int]:
    """The same of what is evaluated one after the other."""
    return leading(next((part for part in parts if not stays(part)), None))


def stays(node: ast.AST) -> bool:
    """Whether `node` is the same however late it is evaluated: names, and what these are parts of for a call."""
    match node:
        case ast.keyword() | ast.Starred() | ast.Slice() | ast.Tuple():
            return all(map(stays, syntax_children(node)))
        case _:
            return isinstance(node, STEADY)


def run_ahead(scope: Scope, call: ast.expr, result: Branch, node: ast.AST) -> Tree:
    """Put `call` before the statement, once: its `result`, in variables of its own."""
    if id(call) not in scope.ahead:
        names = {path: scope.names.fresh("_".join(("part", *map(str, path)))) for path, _ in leaves(result)}
        if names:
            scope.out.append(assignment([name_stored(n, node) for n in names.values()], call, node))
        elif has_effects(scope, call):
            scope.out.append(ast.copy_location(ast.Expr(call), node))
        scope.ahead[id(call)] = call, with_leaves(result, lambda path, _: Leaf(name_read(names[path], node)))
    return scope.ahead[id(call)][1]


def kept_call(scope: Scope, call: ast.Call, target: Bound, node: ast.AST) -> tuple[ast.expr, Branch | None] | None:
    """`pending_call`, where others have what the call is given afterwards: if the function may keep that."""
    owned = set(scope.owned)
    hand_out(scope, target.first, call.func)
    pending = pending_call(scope, call, target, node)
    if pending is not None and keeps_nothing(call, target, pending[1]):
        scope.owned = owned
    if pending is not None and target.local is not None and not gives_new_ones(pending[1]):
        for name in {n.id for n in syntax_nodes(target.source.node) if isinstance(n, ast.Name)}:
            scope.disown(name)  # which it may have found around it
    return pending


def keeps_nothing(call: ast.Call, target: Bound, result: Branch | None) -> bool:
    """Whether numbers, arrays and new structures are all that is left of what a call is given, which gives `result`."""
    inside = [n for part in (*call.args, *call.keywords) for n in syntax_nodes(part)]
    is_plain = not any(isinstance(n, ast.Call | ast.NamedExpr) for n in inside)
    own = [n for n in syntax_nodes(target.source.node) if n is not target.source.node]
    has_functions = any(isinstance(n, ast.Lambda | ast.FunctionDef) for n in own)
    if target.local is not None or not is_plain or has_functions:
        return False
    return gives_new_ones(result)


def gives_new_ones(result: Branch | None) -> bool:
    return result is None or all(map(is_new, (result,) if result.kind != "tuple" else result.items))


def is_new(tree: Tree) -> bool:
    """Whether nobody has any of the structures in `tree` yet."""
    return not isinstance(tree, Branch) or (tree.is_fresh and all(map(is_new, tree.items)))


def pending_call(scope: Scope, call: ast.Call, target: Bound, node: ast.AST) -> tuple[ast.expr, Branch | None] | None:
    """A call of a Python function that is given structures, or gives some: the call without, and what it gives.

    None for other calls. It stands for `node`.
    """
    if id(node) not in scope.ahead:
        found = without_structures(scope, call, target)
        if not scope.may_run_ahead:
            return found
        scope.ahead[id(node)] = node, found
    return scope.ahead[id(node)][1]


def without_structures(scope: Scope, node: ast.Call, target: Bound) -> tuple[ast.expr, Branch | None] | None:
    source, local = target.source, target.local

    def values(nodes: Sequence[ast.expr]) -> tuple[Tree, ...]:
        return (*target.first, *spread(scope, nodes))

    given = parameters_given(source.signature, node, values, lambda n: kept_value(scope, n))
    if given is None:
        return None
    rows = [name for name, tree in given.items() if is_row(tree)]
    has_rows = bool(rows) and takes_arrays(source.function)
    if has_rows:
        given |= {n: as_tuple(given[n]) if n in ROWS else of_row(scope, given[n], node) for n in rows}
    given |= defaults_of(scope if local is None else local.scope, source, local, given)
    apart = apart_for(scope, source, given, node, local)
    if apart is None:
        return None
    if not apart.is_changed and not apart.hidden and not is_method(scope, node.func):
        has_stars = any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords)
        is_known = apart.result is None and not has_stars and not has_rows
        return None if is_known else (call_with(given, node, rebuilt_part(scope, node.func)), apart.result)
    version = Version(apart.source.name, local.scope) if local is not None else None
    function = ast.Constant(cast(Any, apart)) if version is None else scope.parameter_for(version, node)
    return call_apart(scope, given, node, ast.copy_location(function, node.func), apart), apart.result


def is_row(tree: Tree) -> bool:
    return isinstance(tree, Branch) and tree.kind in ("list", "tuple")


def as_tuple(tree: Tree) -> Tree:
    """A list, and those in it, as a tuple: where NumPy takes either."""
    if not isinstance(tree, Branch) or not is_row(tree):
        return tree
    return in_row("tuple", tuple(map(as_tuple, tree.items)))


def of_row(scope: Scope, tree: Tree, node: ast.AST) -> Leaf:
    """A list or a tuple as an array."""
    made = ast.Call(scope.name_for(np.array, node), [display_of(scope, tree, node)], [])
    return Leaf(ast.copy_location(made, node))


def defaults_of(
    scope: Scope, source: SourceFunction, local: Local | None, given: Mapping[str, Tree]
) -> dict[str, Tree]:
    """The defaults that a call takes and that are no numbers: what a function does with them is known."""
    left = {n: p for n, p in source.signature.parameters.items() if n not in given and p.default is not p.empty}
    if local is None:
        known = {n: p.default for n, p in left.items() if is_known(p.default) or isinstance(p.default, int)}
        return {n: known_leaf(value, source.node) for n, value in known.items()}
    written = dict(written_defaults(source.node.args))
    found = {
        n: element(scope, written[n]) for n in left if isinstance(written[n], ast.Constant | ast.Name | ast.Attribute)
    }
    return {n: tree for n, tree in found.items() if isinstance(tree, Static)}


def is_method(scope: Scope, node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and scope.value_outside(node) is MISSING


def callee_of(scope: Scope, node: ast.expr) -> Bound | None:
    """The Python function that `node` stands for, whose text can be read and which has no rule."""
    if (local := local_of(scope, node)) is not None:
        return Bound(of_definition(local.scope.source, local.node), local)
    called, value = function_at(scope, node), scope.value_outside(node)
    if isinstance(node, ast.Attribute) and called is None:
        method = method_of(scope, base_of(scope, node.value), node.attr)
    else:
        method = method_of(scope, called, "__call__")
    if method is not None:
        return method
    value = called.value if isinstance(called, Static) else value
    if isinstance(value, type) and has_maker(value):
        return object_maker(scope, value)
    if isinstance(value, type) and makes_more(value):
        return dataclass_maker(scope, value)
    if isinstance(value, MethodType) and isinstance(value.__self__, type):
        return callee(scope, value.__func__, Static(value.__self__))
    function = None if value is MISSING or scope.sources.rule_of(value) is not None else python_function(value)
    return callee(scope, function)


def local_of(scope: Scope, node: ast.expr) -> Local | None:
    """The function defined inside that `node` stands for."""
    tree = function_at(scope, node)
    known = getattr(tree, "known", MISSING)
    if isinstance(node, ast.Name) and tree is None:
        known = scope.known(node.id)
    return known if isinstance(known, Local) else None


def of_definition(source: SourceFunction, node: ast.FunctionDef) -> SourceFunction:
    """A function that is defined in that of `source`; its defaults are not looked at."""
    arguments, kinds = node.args, inspect.Parameter
    first = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
    positional = [*arguments.posonlyargs, *arguments.args]
    found = [
        kinds(a.arg, kinds.POSITIONAL_OR_KEYWORD, default=kinds.empty if k < first else None)
        for k, a in enumerate(positional)
    ]
    found += [] if arguments.vararg is None else [kinds(arguments.vararg.arg, kinds.VAR_POSITIONAL)]
    for argument, given in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        found.append(kinds(argument.arg, kinds.KEYWORD_ONLY, default=kinds.empty if given is None else None))
    found += [] if arguments.kwarg is None else [kinds(arguments.kwarg.arg, kinds.VAR_KEYWORD)]
    return replace(source, name=node.name, node=node, signature=inspect.Signature(found))
