"""Calls of gradients with structures: `energy.grad(params, x)` where `params` is a list, a dictionary or an object.

    v, g = energy.value_and_grad(p, x)        v, (g_p_w, g_p_b) = energy.value_and_grad(p_w=p_w, p_b=p_b, x=x)
    p["w"] - rate * g.p["w"]                  p_w - rate * g_p_w

The function of the leaves is made as for calls from outside, and differentiated by what its decorator says.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from loopdiff.errors import DifferentiationError
from loopdiff.frontend.derivatives import Derivable, as_derivable, asked_here
from loopdiff.frontend.structures.arguments import parameters_given
from loopdiff.frontend.structures.iterated import spread
from loopdiff.frontend.structures.objects.above import found_in
from loopdiff.frontend.structures.objects.chosen import chosen_names
from loopdiff.frontend.structures.rewriting import base_of, element
from loopdiff.frontend.structures.scope import Apart, Scope, name_read, name_stored
from loopdiff.frontend.structures.signs import may_write
from loopdiff.frontend.structures.trees import Branch, Leaf, Static, Tree, in_row, leaves
from loopdiff.source.functions import MISSING
from loopdiff.source.parameters import is_method
from loopdiff.source.records import FieldTargets

METHODS = ("grad", "value_and_grad")
OWN_LINE = "assign it to a name on a line of its own"
NOTHING = Static(None)


def gradient_given(scope: Scope, node: ast.Call) -> Tree | None:
    """What the call of a gradient gives, of a function that is given a structure, or reads arrays from outside; None
    for other calls."""
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
    source = scope.sources.of(of.innermost)
    if given is None:
        return None
    trees = {name: tree for name, tree in given.items() if not isinstance(tree, Leaf) or tree.known is not MISSING}
    apart = scope.walk.take_apart(scope, source, trees, node, None)
    if apart is None or not (apart.hidden or any(isinstance(t, Branch) for t in given.values())):
        return None
    scope.diagnostics += [d for d in apart.diagnostics if d not in scope.diagnostics]
    scope.outside.update(apart.outside)
    if id(node) not in scope.leading and may_write(source, scope.sources):
        return scope.reject(f"`{ast.unparse(node)}` may change what is read before it", node, OWN_LINE)
    if not scope.may_run_ahead:
        return scope.reject(f"`{ast.unparse(node)}` may not run at all here", node, OWN_LINE)
    tree = run_gradient_ahead(scope, node, attr, of, apart, given)
    scope.ahead[id(node)] = node, tree
    return tree


def derivable_at(scope: Scope, owner: ast.expr) -> tuple[Derivable, tuple[Tree, ...]] | None:
    """The decorated function that `owner` is, and the object that it is a method of."""
    found = as_derivable(scope.value_outside(owner))
    if found is not None or not isinstance(owner, ast.Attribute):
        return None if found is None else (found, ())
    tree = base_of(scope, owner.value)
    if not isinstance(tree, Branch) or tree.kind != "record":
        return None
    found = as_derivable(found_in(tree.type, owner.attr))
    return None if found is None else (found, (tree,) if is_method(found.signature) else ())


def run_gradient_ahead(
    scope: Scope, node: ast.Call, attr: str, of: Derivable, apart: Apart, given: Mapping[str, Tree]
) -> Tree:
    """Put the call before the statement: the value and the gradients, in variables of their own."""
    floating = {name: list(floating_of(apart, name, tree)) for name, tree in given.items()}
    asked = of.requested or tuple(n for n, found in floating.items() if found and n not in apart.source.unasked)
    all_floating = {n for found in floating.values() for n in found}
    try:
        chosen = [n for text in asked for n in chosen_names(apart, given, text, all_floating)]
    except DifferentiationError as error:
        raise asked_here(error, ast.unparse(node.func), scope.source.span(node)) from None
    flat = of.flat(apart.source, scope.sources.copied(), tuple(chosen))
    names = {n: scope.names.fresh(f"gradient_{n}") for n in chosen}
    targets = FieldTargets([name_stored(new, node) for new in names.values()], ast.Store())
    targets.fields = list(names)
    roots = [name for name in given if any(n in names for n in apart.parameters[name])]
    parts = [in_names(given[r], iter(apart.parameters[r]), names, node) for r in roots]
    found: Tree = Branch("record", of.record_of(tuple(roots)), tuple(roots), tuple(parts))
    target: ast.expr = ast.copy_location(targets, node)
    if attr == "value_and_grad":
        value = scope.names.fresh("value")
        target = ast.copy_location(ast.Tuple([name_stored(value, node), target], ast.Store()), node)
        found = in_row("tuple", (Leaf(name_read(value, node)), found))
    pairs = (zip(apart.parameters[name], leaves(tree), strict=True) for name, tree in given.items())
    keywords = [ast.keyword(n, leaf.expr) for pair in pairs for n, (_, leaf) in pair]
    keywords += [ast.keyword(name, scope.parameter_for(value, node)) for value, name in apart.hidden.items()]
    function = ast.copy_location(ast.Attribute(scope.name_for(flat, node), attr, ast.Load()), node.func)
    call = ast.copy_location(ast.Call(function, [], keywords), node)
    scope.out.append(ast.copy_location(ast.Assign([target], call), node))
    return found


def floating_of(apart: Apart, name: str, tree: Tree) -> Iterator[str]:
    """The leaves of an argument that are not known to be integers."""
    pairs = zip(apart.parameters[name], leaves(tree), strict=True)
    return (n for n, (_, leaf) in pairs if not isinstance(leaf.known, int))


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
