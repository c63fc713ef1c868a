"""Calls of gradients with structures: `energy.grad(params, x)` where `params` is a list, a dictionary or an object.

    v, g = energy.value_and_grad(p, x)        v, (g_p_w, g_p_b) = energy.value_and_grad(p_w=p_w, p_b=p_b, x=x)
    p["w"] - rate * g.p["w"]                  p_w - rate * g_p_w

The function of the leaves is made as for calls from outside, and differentiated by what its decorator says.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from types import FunctionType
from typing import Any

from loopdiff.errors import DifferentiationError
from loopdiff.frontend.derivatives import Derivable, as_derivable, asked_here
from loopdiff.frontend.structures.arguments import apart_for, call_apart, call_with, parameters_given
from loopdiff.frontend.structures.effects import OutOfTurn
from loopdiff.frontend.structures.iterated import spread
from loopdiff.frontend.structures.objects.above import found_in
from loopdiff.frontend.structures.objects.chosen import chosen_names
from loopdiff.frontend.structures.rewriting import base_of, element
from loopdiff.frontend.structures.scope import Apart, Scope, name_read, name_stored
from loopdiff.frontend.structures.signs import reads_data
from loopdiff.frontend.structures.trees import Branch, Leaf, Rank, Static, Tree, in_row, leaves
from loopdiff.source.functions import MISSING
from loopdiff.source.parameters import is_method, root_named
from loopdiff.source.records import FieldTargets

METHODS = ("grad", "value_and_grad")
OWN_LINE = "assign it to a name on a line of its own"
NOTHING = Static(None)


def gradient_given(scope: Scope, node: ast.Call) -> Tree | None:
    """What the call of a gradient gives; None for other calls, and where numbers and arrays are all that there is and
    it cannot run ahead of its statement, or what it is differentiated by depends on types: the parser knows these."""
    if id(node) in scope.ahead and isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
        return scope.ahead[id(node)][1]
    match node.func:
        case ast.Attribute(value=owner, attr=attr) if attr in METHODS:
            found = derivable_at(scope, owner)
        case _:
            return None
    if found is None:
        return None
    of, first = found
    given = parameters_given(of.signature, node, lambda n: (*first, *spread(scope, n)), lambda n: element(scope, n))
    if given is None:
        return None
    source, is_late = scope.sources.of(of.innermost), id(node) not in scope.leading
    is_apart = not given.keys() <= source.signature.parameters.keys()  # it is the function of leaves of structures
    are_leaves = all(isinstance(tree, Leaf) for tree in given.values())
    if is_apart and not are_leaves:
        return None
    if is_apart or (are_leaves and not reads_data(source, scope.sources)):
        is_sure = of.requested is not None or len(of.signature.parameters) == 1
        may_run = is_sure and scope.may_run_ahead and not is_late and given.keys() >= set(roots_of(of))
        return run_ahead(scope, node, of, None, given) if may_run else None
    apart = apart_for(scope, source, given, node)
    if apart is None:
        return None
    if is_late and scope.may_turn:
        raise OutOfTurn(node)
    if is_late or not scope.may_run_ahead:
        return scope.reject(f"`{ast.unparse(node)}` cannot run ahead of its statement", node, OWN_LINE)
    left = [name for name in roots_of(of) if name not in given]
    if left:
        message = f"`{ast.unparse(node)}` is to have a gradient by `{left[0]}`, which it is not given"
        return scope.reject(message, node, "give it the default")
    return run_ahead(scope, node, of, apart, given)


def roots_of(of: Derivable) -> list[str]:
    """The arguments that a function is differentiated by, in the order of its gradients, as far as `wrt` says so."""
    return list(dict.fromkeys(map(root_named, of.requested or ())))


class Gradients:
    """Gradients by arguments of which types say which have some: they are asked for by name."""


def derivable_at(scope: Scope, owner: ast.expr) -> tuple[Derivable, tuple[Tree, ...]] | None:
    """The decorated function that `owner` is, and the object that it is a method of."""
    found = of_function(scope.value_outside(owner))
    if found is not None or not isinstance(owner, ast.Attribute):
        return None if found is None else (found, ())
    tree = base_of(scope, owner.value)
    if not isinstance(tree, Branch) or tree.kind != "record":
        return None
    found = of_function(found_in(tree.type, owner.attr))
    return None if found is None else (found, (tree,) if is_method(found.signature) else ())


def of_function(value: Any) -> Derivable | None:
    """`value` if it is a decorated function, and no gradient of one."""
    return as_derivable(value) if isinstance(getattr(value, "py_func", None), FunctionType) else None


def run_ahead(scope: Scope, node: ast.Call, of: Derivable, apart: Apart | None, given: Mapping[str, Tree]) -> Tree:
    """Put the call before the statement: the value and the gradients, in variables of their own. `apart` is the
    function taken apart; None for one that is given numbers and arrays."""
    parameters = {n: (n,) for n in given} if apart is None else apart.parameters
    chosen, flat = differentiated(scope, node, of, apart, given, parameters)
    names = {n: scope.names.fresh(f"gradient_{n}") for n in chosen}
    targets = FieldTargets([name_stored(new, node) for new in names.values()], ast.Store())
    targets.fields = list(names)
    known = roots_of(of)
    roots = known or [name for name in given if any(n in names for n in parameters[name])]
    is_sure = bool(known) or len(of.signature.parameters) == 1
    parts = [in_names(given[r], iter(parameters[r]), names, node) for r in roots]
    found: Tree = Branch("record", of.record_of(tuple(roots)) if is_sure else Gradients, tuple(roots), tuple(parts))
    target: ast.expr = ast.copy_location(targets, node)
    assert isinstance(node.func, ast.Attribute)
    if node.func.attr == "value_and_grad":
        value = scope.names.fresh("value")
        target = ast.copy_location(ast.Tuple([name_stored(value, node), target], ast.Store()), node)
        found = in_row("tuple", (Leaf(name_read(value, node)), found))
    function = ast.copy_location(ast.Attribute(scope.name_for(flat, node), node.func.attr, ast.Load()), node.func)
    call = call_with(given, node, function) if apart is None else call_apart(scope, given, node, function, apart)
    scope.out.append(ast.copy_location(ast.Assign([target], call), node))
    scope.ahead[id(node)] = node, found
    return found


def differentiated(
    scope: Scope,
    node: ast.Call,
    of: Derivable,
    apart: Apart | None,
    given: Mapping[str, Tree],
    parameters: Mapping[str, tuple[str, ...]],
) -> tuple[tuple[str, ...], Derivable]:
    """The leaves that gradients are by, and the function of the leaves, which are the `parameters` of arguments."""
    floating = {name: list(floating_of(parameters[name], tree)) for name, tree in given.items()}
    unasked = frozenset[str]() if apart is None else apart.source.unasked
    asked = of.requested or tuple(n for n, found in floating.items() if found and n not in unasked)
    known = {n for found in floating.values() for n in found}
    try:
        chosen = tuple(dict.fromkeys(n for text in asked for n in chosen_names(parameters, given, text, known)))
    except DifferentiationError as error:
        raise asked_here(error, ast.unparse(node.func), scope.source.span(node)) from None
    return chosen, of if apart is None else of.flat(apart.source, scope.sources.copied(), chosen)


def floating_of(names: tuple[str, ...], tree: Tree) -> Iterator[str]:
    """The leaves of an argument that are not known to be integers or functions."""
    pairs = zip(names, leaves(tree), strict=True)
    return (n for n, (_, leaf) in pairs if leaf.known is MISSING or isinstance(leaf.known, Rank))


def in_names(tree: Tree, of: Iterator[str], names: Mapping[str, str], node: ast.AST) -> Tree:
    """`tree` with the variables that hold the gradients by its leaves, None where there are none."""
    match tree:
        case Leaf():
            own = names.get(next(of))
            return NOTHING if own is None else Leaf(name_read(own, node))
        case Branch(items=items):
            return tree.with_items(tuple(in_names(item, of, names, node) for item in items))
        case _:
            return tree
