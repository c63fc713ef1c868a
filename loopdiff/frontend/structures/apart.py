"""A function without structures: one parameter for each value that it computes with, and a flat tuple as its result.

What is given for parameters decides what there is: how many elements a list has, which keys a dictionary. Loops over
these are written out, and names that hold several values become variables, so that what is parsed afterwards are
numbers, arrays and functions alone.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Collection, Mapping
from dataclasses import replace

from loopdiff.errors.codes import reject
from loopdiff.frontend.callees import Sources
from loopdiff.frontend.structures.arguments import written_defaults
from loopdiff.frontend.structures.rewriting import copied
from loopdiff.frontend.structures.scope import PLAIN, Apart, OuterArray, Scope, Walk, in_variables, key_of, name_read
from loopdiff.frontend.structures.statements import block
from loopdiff.frontend.structures.trees import Branch, Leaf, Path, Tree, are_alike, described, leaves, with_leaves
from loopdiff.frontend.structures.values import tree_of
from loopdiff.ir.names import NameSupply
from loopdiff.source.functions import SourceFunction
from loopdiff.source.scopes import own_names, parameters


def taken_apart(
    source: SourceFunction,
    sources: Sources,
    given: Mapping[str, Tree],
    arrays: Collection[tuple[str, Path]] = (),
) -> Apart:
    """`source` for what is `given` for its parameters; leaves at `arrays`, names of parameters with paths, are arrays.

    What was rejected (LD104, LD134) is a number in what comes of it.
    """
    scope = Scope(source, sources, names_of(source.node), WALK)
    scope.arrays = frozenset(scope.variable(name, path) for name, path in arrays if path)
    return apart(scope, source, given, inspect.Parameter.POSITIONAL_OR_KEYWORD, scope.hidden)


def names_of(node: ast.FunctionDef) -> NameSupply:
    """Names that new ones keep clear of."""
    words = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return NameSupply(words | {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)} | {node.name})


def of_callee(caller: Scope, source: SourceFunction, given: Mapping[str, Tree], node: ast.Call) -> Apart | None:
    """A function that is called; None for one that is being taken apart in the same way: it calls itself."""
    key = key_of(source, given)
    if key in caller.active:
        return None
    is_own = source.code is caller.source.code
    if not is_own and key in caller.callees:
        return caller.callees[key]
    names = caller.names if is_own else names_of(source.node)
    called = replace(source, called_from=source.called_from if is_own else caller.source.span(node))
    scope = Scope(called, caller.sources, names, WALK, caller.callees, (*caller.active, key))
    if is_own:
        scope.held, scope.functions = dict(caller.held), dict(caller.functions)
        scope.outer, scope.hidden = caller.outer, caller.hidden
    found = apart(scope, called, given, inspect.Parameter.KEYWORD_ONLY, {} if is_own else scope.hidden)
    if is_own and (given or found.is_changed):
        name = caller.names.fresh(source.name)
        definition = copied(found.source.node, name=name)
        caller.out.append(definition)
        return replace(found, source=replace(found.source, name=name, node=definition))
    if not is_own:
        caller.callees[key] = found
    return found


def of_definition(around: Scope, node: ast.FunctionDef) -> ast.FunctionDef:
    """A function that is defined inside another, with what names around hold here."""
    own = own_names(node)
    read = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} - own
    around.captured |= {n: held for n in read if isinstance(held := around.held.get(n), Branch)}
    around.owned -= read
    inner = Scope(
        around.source, around.sources, around.names, WALK, around.callees, around.active,
        {**around.held, **dict.fromkeys(own, PLAIN)}, functions=dict(around.functions), outer=around.outer,
        hidden=around.hidden,
    )  # fmt: skip
    for name in own - {a.arg for a in parameters(node.args)}:
        inner.held.pop(name)
    with inner.block() as body:
        block(inner, node.body)
    around.diagnostics += [d for d in inner.diagnostics if d not in around.diagnostics]
    return copied(node, body=body or node.body)


def apart(
    scope: Scope,
    source: SourceFunction,
    given: Mapping[str, Tree],
    kind: inspect._ParameterKind,
    hidden: Mapping[OuterArray, str],
) -> Apart:
    """`source` with the body that `scope` makes of it; its parameters are of one `kind`, those in `hidden` the last."""
    node, known = source.node, {a.arg: a for a in parameters(source.node.args)}
    for name in own_names(node):
        scope.held.pop(name, None)
    became: dict[str, tuple[str, ...]] = {}
    for name in source.signature.parameters:
        own = in_variables(scope, name, given.get(name, Leaf(name_read(name, known[name]))), known[name])
        became[name] = tuple(leaf.expr.id for _, leaf in leaves(own) if isinstance(leaf.expr, ast.Name))
        scope.held[name] = PLAIN if isinstance(own, Leaf) else own
    with scope.block() as body:
        block(scope, node.body)
    whole, at = {**became, **{name: (name,) for name in hidden.values()}}, ast.copy_location(ast.arg(""), node)
    made = copied(
        node,
        args=arguments_of(node.args, whole, {name: known.get(name, at) for name in whole}, kind),
        body=body or [ast.copy_location(ast.Pass(), node)],
        decorator_list=[],
        returns=None,
    )
    outer = {**source.outer, **scope.outer}
    own = replace(
        source,
        node=made,
        signature=signature_of(source.signature, whole, kind),
        outer=outer,
        apart=tuple(given.items()),
        hidden=frozenset(hidden.values()),
    )
    is_changed = bool(given) or ast.dump(ast.Module(body, [])) != ast.dump(ast.Module(node.body, []))
    result = result_of(scope, node)
    return Apart(
        own, result, became, is_changed or bool(hidden), hidden, frozenset(scope.as_arrays), tuple(scope.diagnostics)
    )


def arguments_of(
    written: ast.arguments,
    became: Mapping[str, tuple[str, ...]],
    known: Mapping[str, ast.arg],
    kind: inspect._ParameterKind,
) -> ast.arguments:
    """The parameters that those of a function became, each in the place of that, with its default."""
    flat = [(name, of) for of, names in became.items() for name in names]
    copies = [ast.copy_location(ast.arg(name), known[of]) for name, of in flat]
    if kind is inspect.Parameter.POSITIONAL_OR_KEYWORD:
        return ast.arguments([], copies, None, [], [], None, [])
    defaults = dict(written_defaults(written))
    return ast.arguments(
        [], [], None, copies, [defaults.get(of) if name == of else None for name, of in flat], None, []
    )


def signature_of(
    signature: inspect.Signature, became: Mapping[str, tuple[str, ...]], kind: inspect._ParameterKind
) -> inspect.Signature:
    """The same as a signature; a function that is called by its leaves gets all of them."""
    is_called = kind is inspect.Parameter.POSITIONAL_OR_KEYWORD

    def default(name: str, of: str) -> object:
        is_own = name == of and of in signature.parameters and not is_called
        return signature.parameters[of].default if is_own else inspect.Parameter.empty

    flat = [(name, of) for of, names in became.items() for name in names]
    return inspect.Signature([inspect.Parameter(name, kind, default=default(name, of)) for name, of in flat])


def result_of(scope: Scope, node: ast.FunctionDef) -> Branch | None:
    """What the function gives, on all ways the same."""
    first = scope.results[0] if scope.results else None
    for other in scope.results[1:]:
        is_same = first is other or (first is not None and other is not None and are_alike(first, other))
        if not is_same and (isinstance(first, Branch) or isinstance(other, Branch)):
            words = " and ".join("nothing" if r is None else described(r) for r in (first, other))
            found = reject("LD104", f"`{node.name}` returns {words}", scope.source.span(node))
            scope.diagnostics.append(found)
            break
    if not isinstance(first, Branch):
        return None
    made = with_leaves(first, lambda _, leaf: Leaf(ast.copy_location(ast.Constant(0), leaf.expr)))
    assert isinstance(made, Branch)
    return made


WALK = Walk(tree_of, of_callee, of_definition)


def is_flat(tree: Branch) -> bool:
    """Whether `tree` is a tuple of single values, which functions give as they are."""
    return tree.type is tuple and all(isinstance(i, Leaf) for i in tree.items)
