"""A function without structures: one parameter for each value that it computes with, and a flat tuple as its result.

What is given for parameters decides what there is: how many elements a list has, which keys a dictionary. Loops over
these are written out, and names that hold several values become variables, so that what is parsed afterwards are
numbers, arrays and functions alone.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NoReturn

from loopdiff.errors import UnsupportedLoopError
from loopdiff.errors.codes import reject
from loopdiff.frontend.callees import Sources
from loopdiff.frontend.liveness import find_last_reads
from loopdiff.frontend.structures.absent import names_with_none
from loopdiff.frontend.structures.arguments import written_defaults
from loopdiff.frontend.structures.given import outer_tree
from loopdiff.frontend.structures.objects.above import with_above
from loopdiff.frontend.structures.plain import keep_given_lists
from loopdiff.frontend.structures.rewriting import copied, later
from loopdiff.frontend.structures.scope import (
    MOST_ITEMS,
    PLAIN,
    Apart,
    ColumnLists,
    Growing,
    Hidden,
    Local,
    Scope,
    Walk,
    holds_functions,
    in_variables,
    key_of,
    name_read,
    stored_names,
)
from loopdiff.frontend.structures.statements import block
from loopdiff.frontend.structures.trees import (
    Branch,
    Leaf,
    Rank,
    Tree,
    are_alike,
    described,
    fresh_paths,
    leaves,
    merged,
    types_in,
    with_leaves,
)
from loopdiff.frontend.structures.values import tree_of
from loopdiff.immutable import replace
from loopdiff.ir.names import NameSupply
from loopdiff.numpy_functions import is_of_numpy
from loopdiff.source.functions import MISSING, SourceFunction
from loopdiff.source.nodes import syntax_children, syntax_nodes
from loopdiff.source.scopes import own_names, parameters, words_in

RETURNED = "return its bounds, or the numbers: `np.arange(n)`"


def taken_apart(
    source: SourceFunction,
    sources: Sources,
    given: Mapping[str, Tree],
    most: int = MOST_ITEMS,
    by_columns: bool = False,
    written_out: Collection[tuple[str, int]] = (),
) -> Apart:
    """`source` for what is `given` for its parameters.

    What was rejected (LD104, LD134) is a number in what comes of it. Lists that grow in loops over what is not known,
    or of more than `most` iterations, are left to the parser. `by_columns`: where only the run says which item of a
    list is meant, there is a list for each place in the items, which comes last else. Loops that are `written_out`, by
    their files and lines, are so if they have a few iterations.
    """
    source, growing = with_above(source), Growing(most, by_columns=by_columns, written_out=written_out)
    while True:
        scope, rebound = Scope(source, sources, names_of(source.node), WALK, growing=growing), len(growing.rebound)
        found = apart(scope, source, given, inspect.Parameter.POSITIONAL_OR_KEYWORD, scope.hidden)
        said = [d for part in (found, *scope.callees.values()) for d in part.diagnostics]
        lists = {key for d in said for key in growing.said.get(d, ())} - growing.plain
        is_open = not growing.by_columns and not growing.open_places.isdisjoint(said)
        if not lists and not is_open and len(growing.rebound) == rebound:
            if found.result is not None and range in types_in(found.result):
                said = reject("LD134", f"`{source.name}` returns a `range`", source.span(source.node), RETURNED)
                found = replace(found, diagnostics=(*found.diagnostics, said))
            return replace(found, is_long=growing.is_long, is_open=growing.is_open, leaves_rows=growing.leaves_rows)
        growing.plain |= lists
        growing.by_columns |= is_open and not lists


def names_of(node: ast.FunctionDef) -> NameSupply:
    """Names that new ones keep clear of."""
    return NameSupply(words_in(node))


def of_callee(
    caller: Scope, source: SourceFunction, given: Mapping[str, Tree], node: ast.Call, local: Local | None
) -> Apart | None:
    """A function that is called, `local` if it is one inside; None for one that is being taken apart in the same way:
    it calls itself."""
    key = key_of(source, given)
    if key in caller.active:
        return None
    if local is not None:
        return of_local(local, caller, source, given, node)
    is_kept = not any(map(holds_functions, given.values()))
    if is_kept and key in caller.callees:
        return caller.callees[key]
    called = replace(source, called_from=caller.source.span(node))
    scope = Scope(
        called,
        caller.sources,
        names_of(source.node),
        WALK,
        caller.callees,
        (*caller.active, key),
        growing=caller.growing,
    )
    try:
        found = apart(scope, called, given, inspect.Parameter.KEYWORD_ONLY, scope.hidden)
    except RecursionError:
        endless(caller, source, node)
    if is_kept:
        caller.callees[key] = found
    return found


def endless(caller: Scope, source: SourceFunction, node: ast.Call) -> NoReturn:
    """Raise UnsupportedLoopError (LD130) for the first of the calls of a function that calls itself, each time with
    something else."""
    if any(isinstance(key, tuple) and key[0] is source.code for key in caller.active):
        raise RecursionError
    message, hint = f"`{source.name}` calls itself more often than can be followed", "write the recursion as a loop"
    raise UnsupportedLoopError(reject("LD130", message, caller.source.span(node), hint)) from None


def of_local(local: Local, caller: Scope, source: SourceFunction, given: Mapping[str, Tree], node: ast.Call) -> Apart:
    """A function that is defined inside another, with what names around hold when it is called."""
    around = local.scope
    scope = inner_scope(around, source)
    scope.callees, scope.active = caller.callees, (*caller.active, key_of(source, given))
    try:
        found = apart(scope, source, given, inspect.Parameter.KEYWORD_ONLY, {})
    except RecursionError:
        endless(caller, source, node)
    is_changed = any(map(is_apart, given.values())) or not is_same(found.source.node, local.generic)
    found = replace(found, is_changed=is_changed)
    if found.is_changed:
        name = around.names.fresh(source.name)
        definition = copied(found.source.node, name=name)
        around.out.append(definition)
        found = replace(found, source=replace(found.source, name=name, node=definition))
    return found


def is_apart(tree: Tree) -> bool:
    """Whether what a parameter gets is more than a number, or an array, of which nothing or the rank is known."""
    return not isinstance(tree, Leaf) or not (tree.known is MISSING or isinstance(tree.known, Rank))


def is_same(first: ast.FunctionDef, second: ast.FunctionDef) -> bool:
    """Whether two functions do the same."""
    return ast.dump(ast.Module(first.body, [])) == ast.dump(ast.Module(second.body, []))


def inner_scope(around: Scope, source: SourceFunction) -> Scope:
    held = {n: h for n, known in around.held.items() if (h := around.bound.get(n, known)) is not None}
    return Scope(
        source, around.sources, around.names, WALK, around.callees, around.active, held,
        outer=around.outer, hidden=around.hidden, outside=around.outside, around=around, growing=around.growing,
    )  # fmt: skip


def of_definition(around: Scope, node: ast.FunctionDef) -> ast.FunctionDef:
    """A function that is defined inside another, for single values, with what names around hold here."""
    own = own_names(node)
    read = {n.id for n in syntax_nodes(node) if isinstance(n, ast.Name)} - own
    around.captured |= {n: held for n in read if isinstance(held := around.held.get(n), Branch)}
    for name in read if may_keep(around.source.node, node) else ():
        around.disown(name)
    inner = inner_scope(around, around.source)
    inner.held = later(around.held)
    for name in own:
        inner.held.pop(name, None)
    inner.held |= {a.arg: PLAIN for a in parameters(node.args)}
    with inner.block() as body:
        block(inner, node.body)
    made = without_idle(inner, body)
    around.generic.append((node.name, inner.diagnostics))
    return copied(node, body=made or node.body)


def may_keep(around: ast.FunctionDef, node: ast.FunctionDef) -> bool:
    """Whether somebody may have what the function `node` reads of the names of that `around` it after a call, but for
    what it returns: it is a value itself, has functions or defaults, or somebody else reads its name."""
    inside = [n for stmt in node.body for n in syntax_nodes(stmt)]
    if any(isinstance(n, ast.Lambda | ast.FunctionDef | ast.NamedExpr) for n in inside) or node.args.defaults:
        return True
    if any(default is not None for default in node.args.kw_defaults) or node.decorator_list:
        return True
    direct = {id(n.func) for n in of_body(around.body) if isinstance(n, ast.Call)}
    uses = [n for n in syntax_nodes(around) if isinstance(n, ast.Name) and n.id == node.name]
    return any(id(n) not in direct for n in uses)


def of_body(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """What is in `nodes`, but in no function or generator inside, which may run later."""
    for node in nodes:
        yield node
        if not isinstance(node, ast.FunctionDef | ast.Lambda | ast.GeneratorExp):
            yield from of_body(syntax_children(node))


def without_idle(scope: Scope, body: list[ast.stmt]) -> list[ast.stmt]:
    """`body` without functions inside that nothing calls as they are, in single values, and without flags that nothing
    reads; what is wrong with other functions is among the diagnostics."""
    wrong = [(of, said) for of, said in scope.generic if said]
    while True:
        nodes = [n for stmt in body for n in syntax_nodes(stmt)]
        read = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        idle = {id(n) for n in nodes if is_idle(n, read)} if wrong else set[int]()
        idle |= {id(n) for n in nodes if id(n) in scope.fills and scope.fills[id(n)][1] not in read}
        if not idle:
            break
        body = [made for stmt in body for made in without(stmt, idle)]
    there = {id(n) for n in nodes}
    for of, said in wrong:
        if (of in read) if isinstance(of, str) else id(of) in there:
            scope.diagnostics += [d for d in said if d not in scope.diagnostics]
    return body


def is_idle(node: ast.AST, read: Collection[str]) -> bool:
    match node:
        case ast.FunctionDef(name=name) | ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda()):
            return name not in read
        case _:
            return False


def without(node: ast.stmt, idle: Collection[int]) -> list[ast.stmt]:
    """`node` without the statements in it that are `idle`."""
    if id(node) in idle:
        return []
    fields = {f: part for f, part in ast.iter_fields(node) if f in ("body", "orelse") and isinstance(part, list)}
    parts = {f: [made for stmt in part for made in without(stmt, idle)] for f, part in fields.items()}
    if "body" in parts and not parts["body"]:
        parts["body"] = [ast.copy_location(ast.Pass(), node)]
    return [copied(node, **parts) if parts else node]


def apart(
    scope: Scope,
    source: SourceFunction,
    given: Mapping[str, Tree],
    kind: inspect._ParameterKind,
    hidden: Mapping[Hidden, str],
) -> Apart:
    """`source` with the body that `scope` makes of it; its parameters are of one `kind`, those in `hidden` the last."""
    node, known = source.node, {a.arg: a for a in parameters(source.node.args)}
    own_here = own_names(node)
    for name in own_here:
        scope.held.pop(name, None)
    scope.last = find_last_reads(node, own_here)
    became: dict[str, tuple[str, ...]] = {}
    functions: set[str] = set()
    for name in source.signature.parameters:
        own = in_variables(scope, name, given.get(name, Leaf(name_read(name, known[name]))), known[name])
        became[name] = tuple(leaf.expr.id for _, leaf in leaves(own) if isinstance(leaf.expr, ast.Name))
        functions |= {
            n for n, (_, leaf) in zip(became[name], leaves(own), strict=True) if isinstance(leaf.known, Local)
        }
        scope.hold(name, own, known[name])
        scope.owned |= {(name, path) for path in fresh_paths(given[name])} if name in given else set()
    scope.flags = {name: scope.names.fresh(f"no_{name}") for name in names_with_none(node)}
    scope.at_start = ColumnLists([], frozenset(n for names in became.values() for n in names))
    with scope.block() as body:
        keep_given_lists(scope, node)
        block(scope, node.body)
    in_columns = {name for key in scope.at_start.made for name in key}
    scope.growing.rebound |= {(source.name, name) for name in in_columns & stored_names(body)}
    body = without_idle(scope, [*scope.at_start.out, *body])
    read = {n.id for stmt in body for n in syntax_nodes(stmt) if isinstance(n, ast.Name)}
    whole = {name: tuple(n for n in names if n not in functions - read) for name, names in became.items()}
    whole, at = {**whole, **{name: (name,) for name in hidden.values()}}, ast.copy_location(ast.arg(""), node)
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
        apart=(*given.items(), *((of.text, outer_tree(there)) for of, there in scope.outside.items())),
        hidden=frozenset(hidden.values()),
        spoken=(*source.spoken, *scope.texts.items()),
    )
    is_changed = any(map(is_apart, given.values())) or not is_same(made, node)
    result = result_of(scope, node)
    return Apart(
        own, result, became, is_changed or bool(hidden), hidden, scope.outside, scope.uses_ranks,
        frozenset(functions - read), frozenset(scope.as_arrays), tuple(scope.diagnostics),
    )  # fmt: skip


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
    """What the function gives, on all ways the same; of a function of NumPy the parser knows which way is taken."""
    first = scope.results[0] if scope.results else None
    for other in scope.results[1:]:
        is_same = first is other or (first is not None and other is not None and are_alike(first, other))
        if not is_same and (isinstance(first, Branch) or isinstance(other, Branch)):
            if is_of_numpy(scope.source.home.file):
                return None
            words = " and ".join("nothing" if r is None else described(r) for r in (first, other))
            found = reject("LD104", f"`{node.name}` returns {words}", scope.source.span(node))
            scope.diagnostics.append(found)
            break
        if isinstance(first, Branch) and isinstance(other, Branch):
            first = merged(first, other)  # fresh if it is so on all ways
    if not isinstance(first, Branch):
        return None
    made = with_leaves(first, lambda _, leaf: Leaf(ast.copy_location(ast.Constant(0), leaf.expr)))
    assert isinstance(made, Branch)
    return made


WALK = Walk(tree_of, of_callee, of_definition)


def is_flat(tree: Branch) -> bool:
    """Whether `tree` is a tuple of single values, which functions give as they are."""
    return tree.type is tuple and all(isinstance(i, Leaf) for i in tree.items)
