"""Which parameter of a function each value of a call is for, and the call of the function taken apart for them."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence

from loopdiff.frontend.structures.scope import Apart, Local, Scope
from loopdiff.frontend.structures.trees import Branch, Leaf, Tree, dictionary_of, in_row, leaves
from loopdiff.source.functions import MISSING, SourceFunction
from loopdiff.source.parameters import STARS

Spread = Callable[[Sequence[ast.expr]], tuple[Tree, ...]]


def parameters_given(
    signature: inspect.Signature, node: ast.Call, spread: Spread, element: Callable[[ast.expr], Tree]
) -> dict[str, Tree] | None:
    """What `node` gives for each parameter that it gives something for, in the order in which Python evaluates it.

    What goes behind stars becomes a tuple, or a dictionary. None for a call that does not fit.
    """
    values = spread(node.args)
    named: dict[str, Tree] = {}
    for keyword in node.keywords:
        tree = element(keyword.value)
        if keyword.arg is not None:
            named[keyword.arg] = tree
        elif isinstance(tree, Branch) and tree.kind == "dict" and all(isinstance(k, str) for k in tree.keys):
            named |= dict(zip(tree.keys, tree.items, strict=True))
        else:
            return None
    try:
        bound = signature.bind(*values, **named).arguments
    except TypeError:
        return None
    given = {name: together(signature.parameters[name].kind, value) for name, value in bound.items()}
    stars = {n: p.kind for n, p in signature.parameters.items() if p.kind in STARS and n not in given}
    given |= {n: together(kind, () if kind is inspect.Parameter.VAR_POSITIONAL else {}) for n, kind in stars.items()}
    order = {id(tree): k for k, tree in enumerate((*values, *named.values()))}
    return dict(sorted(given.items(), key=lambda pair: order.get(id(pair[1]), len(order))))


def together(kind: object, value: Tree | tuple[Tree, ...] | Mapping[str, Tree]) -> Tree:
    """The value of a parameter."""
    if kind is inspect.Parameter.VAR_POSITIONAL and isinstance(value, tuple):
        return in_row("tuple", value)
    if isinstance(value, Mapping):
        return dictionary_of(value)
    assert not isinstance(value, tuple)
    return value


def written_defaults(arguments: ast.arguments) -> Iterator[tuple[str, ast.expr]]:
    """The defaults as they are written."""
    positional = [*arguments.posonlyargs, *arguments.args]
    first = len(positional) - len(arguments.defaults)
    yield from ((a.arg, d) for a, d in zip(positional[first:], arguments.defaults, strict=True))
    pairs = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    yield from ((a.arg, d) for a, d in pairs if d is not None)


def apart_for(
    scope: Scope, source: SourceFunction, given: Mapping[str, Tree], node: ast.Call, local: Local | None = None
) -> Apart | None:
    """A function taken apart for what a call gives it; the caller depends on what it finds. None if it calls itself."""
    trees = {name: t for name, t in given.items() if not isinstance(t, Leaf) or t.known is not MISSING}
    apart = scope.walk.take_apart(scope, source, trees, node, local)
    if apart is not None:
        scope.diagnostics += [d for d in apart.diagnostics if d not in scope.diagnostics]
        scope.outside.update(apart.outside)
        scope.uses_ranks |= apart.uses_ranks
    return apart


def call_apart(scope: Scope, given: Mapping[str, Tree], node: ast.Call, function: ast.expr, apart: Apart) -> ast.Call:
    """The call of a function that was taken apart, with what it finds outside."""
    call = call_with(given, node, function, apart)
    call.keywords += [ast.keyword(name, scope.parameter_for(value, node)) for value, name in apart.hidden.items()]
    return call


def call_with(
    given: Mapping[str, Tree],
    node: ast.Call,
    function: ast.expr,
    apart: Apart | None = None,
) -> ast.Call:
    """The call of `function` with these values, each by the name of the parameter that it is for."""
    keywords = [
        ast.keyword(name, leaf.expr)
        for of, tree in given.items()
        for name, (_, leaf) in zip((of,) if apart is None else apart.parameters[of], leaves(tree), strict=True)
        if apart is None or name not in apart.unused
    ]
    return ast.copy_location(ast.Call(function, [], keywords), node)
