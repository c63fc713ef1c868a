"""Whose names are whose: Python's rules of scopes, on syntax trees.

The front end asks here which names a function assigns, the reading of sources which come from outside it, so that a
value from outside is one for both or for neither.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

from loopdiff.source.nodes import syntax_children, syntax_nodes

MISSING: Final[Any] = object()  # what names from outside mean that have no value there
LIBRARIES = ("numpy", "scipy", "numba", "jax", "torch")  # whose functions are not read
Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
Block = Function | Comprehension | ast.ClassDef


def of_scope(node: ast.AST) -> Iterator[ast.AST]:
    """`node` and what is inside it, but not inside blocks with a scope of their own: of these what is evaluated where
    they stand."""
    yield node
    for child in evaluated_around(node) if isinstance(node, Block) else syntax_children(node):
        yield from of_scope(child)


def evaluated_around(block: Block) -> Iterable[ast.AST]:
    """The parts of `block` that are evaluated in the scope that it stands in."""
    match block:
        case ast.Lambda():
            return given(block.args)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            notes = [a.annotation for a in parameters(block.args) if a.annotation is not None]
            returns = [] if block.returns is None else [block.returns]
            return [*block.decorator_list, *given(block.args), *notes, *returns]
        case ast.ClassDef():
            return [*block.decorator_list, *block.bases, *block.keywords]
        case _:
            return [block.generators[0].iter, *walrus_targets(block)]


def inside(block: Block) -> Iterable[ast.AST]:
    """The parts of `block` that are evaluated in its own scope."""
    match block:
        case ast.Lambda():
            return [block.body]
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return block.body
        case _:
            first, *others = block.generators
            values = [block.key, block.value] if isinstance(block, ast.DictComp) else [block.elt]
            return [first.target, *first.ifs, *others, *values]


def own_nodes(block: Block) -> list[ast.AST]:
    """What is in the scope of `block`, but for what blocks in it have in theirs."""
    return [node for part in inside(block) for node in of_scope(part)]


def given(arguments: ast.arguments) -> list[ast.AST]:
    return [*arguments.defaults, *(d for d in arguments.kw_defaults if d is not None)]


def computes_defaults(function: ast.expr) -> bool:
    """Whether `function` is a lambda with defaults that Python computes where it is made, once."""
    if not isinstance(function, ast.Lambda):
        return False
    defaults = (*function.args.defaults, *function.args.kw_defaults)
    return not all(d is None or isinstance(d, ast.Constant) for d in defaults)


def parameters(arguments: ast.arguments) -> list[ast.arg]:
    stars = [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *stars]


def walrus_targets(node: ast.AST) -> Iterator[ast.Name]:
    """What `:=` assigns inside a comprehension, but for functions in it: names of the function around."""
    for child in syntax_children(node):
        if isinstance(child, ast.NamedExpr):
            yield child.target
        if not isinstance(child, Function):
            yield from walrus_targets(child)


def stores_alone(function: Function) -> dict[str, int]:
    """How often `function` gives values to names that nothing inside it, nor a parameter, is called by."""
    within, own = (stores_among(nodes) for nodes in (syntax_nodes(function), own_nodes(function)))
    return {name: count for name, count in own.items() if count == within[name]}


def stores_among(nodes: Iterable[ast.AST]) -> Counter[str]:
    """How often `nodes` give values to names, those of parameters among them."""
    found: Counter[str] = Counter()
    for node in nodes:
        match node:
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                found[name] += 1
            case _:
                pass
    return found


def fresh(words: set[str], stem: str) -> str:
    """A name that is not among `words`, which it joins."""
    while stem in words:
        stem += "_"
    words.add(stem)
    return stem


def words_in(node: ast.AST) -> set[str]:
    """Every name that `node` mentions, in whichever scope."""
    return {word for n in syntax_nodes(node) for key in ("id", "arg", "name") if (word := getattr(n, key, None))}


def bound_by(node: ast.AST) -> tuple[str, ...]:
    """The names that `node` itself gives a value, or takes it from, in the scope that it stands in."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            return (name,)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return (name,)
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return tuple(a.asname or a.name.split(".")[0] for a in names)
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            return (name,)
        case ast.MatchMapping(rest=str(name)):
            return (name,)
        case _:
            return ()


def bound_within(function: Function) -> frozenset[str]:
    """The names that `function`, or anything inside it, gives a value, its parameters among them."""
    nodes = syntax_nodes(function)
    return frozenset(n for node in nodes for n in ((node.arg,) if isinstance(node, ast.arg) else bound_by(node)))


def own_names(block: Block) -> frozenset[str]:
    """The names that are local to `block`. Those of a class are not seen by what is inside it."""
    return own_among(own_nodes(block), block)


def own_among(nodes: Iterable[ast.AST], block: Block) -> frozenset[str]:
    """`own_names`, from the `nodes` of its scope."""
    if isinstance(block, ast.ClassDef):
        return frozenset()
    bound = {name for node in nodes for name in bound_by(node)}
    if not isinstance(block, Function):
        return frozenset(bound - {n.id for n in walrus_targets(block)})
    elsewhere = {name for node in nodes if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names}
    return frozenset(bound - elsewhere) | {a.arg for a in parameters(block.args)}


def outer_uses(block: Block) -> Iterator[tuple[ast.expr, bool]]:
    """The names, and the longest dotted names, in `block` whose meaning comes from outside it.

    Each with whether no function around can give it one: it is declared `global`, or is a name of a class that has no
    value there yet.
    """
    nodes = own_nodes(block)
    own = own_among(nodes, block)
    declared = {name for node in nodes if isinstance(node, ast.Global) for name in node.names}
    unsure = {n for node in nodes for n in bound_by(node)} if isinstance(block, ast.ClassDef) else set[str]()
    owners = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    for node in nodes:
        if isinstance(node, ast.Name | ast.Attribute) and id(node) not in owners:
            name = "" if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) else root_of(node)
            if name and name not in own:
                yield node, name in declared or name in unsure
        if isinstance(node, Block):
            inner = ((use, is_global or root_of(use) in declared) for use, is_global in outer_uses(node))
            yield from ((use, is_global) for use, is_global in inner if is_global or root_of(use) not in own)


def root_of(node: ast.AST) -> str:
    """The first of dotted names; empty where there is none."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
