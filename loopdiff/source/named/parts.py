"""Names for parts of objects, as `p = self.p`, by which these are written where the names are read.

A name for a structure is one more who has it, so that what is at `self` no longer is only there. Where attributes of
that name get nothing but in constructors, on the object that is made, `self.p` is the same object all the time.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from types import FunctionType

import numpy as np

from loopdiff.errors import UnsupportedLoopError
from loopdiff.immutable import replace
from loopdiff.source.functions import SourceFunction, dotted_name
from loopdiff.source.nodes import copied_tree, syntax_nodes
from loopdiff.source.scopes import Function, own_names, parameters, stores_alone, stores_among

CONSTRUCTORS = ("__init__", "__post_init__")
# What may give attributes something of which the text does not say the names, or compute them.
OTHERWISE = frozenset(
    ("setattr", "delattr", "vars", "__dict__", "__setattr__", "__delattr__", "__getattr__", "__getattribute__")
)


METHODS = (FunctionType, staticmethod, classmethod)


@dataclass(slots=True, eq=False)
class NamedParts:
    """What the functions of one program do with attributes: those that are `stored` outside of constructors, or
    computed; whether `any_is`; and those that have been `written` where names for them were."""

    stored: set[str] = field(default_factory=set)
    any_is: bool = False
    written: set[str] = field(default_factory=set)

    def note(self, source: SourceFunction) -> None:
        """Look at a function of the program. Raises UnsupportedLoopError, without a word, if attributes that have been
        `written` are not the same all the time."""
        node = source.node
        self.stored.add(node.name)
        words = OTHERWISE if node.name in CONSTRUCTORS else OTHERWISE.union(CONSTRUCTORS)  # made anew, it is another
        self.any_is = self.any_is or node.name in OTHERWISE or not words.isdisjoint(words_and_attributes(node))
        self.stored |= set(attributes_stored(node))
        if self.written and (self.any_is or self.written & self.stored):
            raise UnsupportedLoopError

    def written_out(self, source: SourceFunction) -> SourceFunction:
        """`source` without names for attributes that are the same all the time; itself where there are none."""
        self.note(source)
        if self.any_is or not any(isinstance(n, ast.Attribute) for n in syntax_nodes(source.node)):
            return source
        node = source.node
        while (made := self.without_one(node)) is not None:
            node = made
        return source if node is source.node else replace(source, node=ast.fix_missing_locations(node))

    def without_one(self, node: ast.FunctionDef) -> ast.FunctionDef | None:
        """`node` without one of these names; None where there is none."""
        counts = stores_alone(node)
        for rest, name, value in named_in(node.body):
            path = (dotted_name(value) or "").split(".")
            is_one = counts.get(name) == 1 and path[0] in own_names(node) and path[0] != name
            is_open = any(attr in self.stored or hasattr(np.ndarray, attr) for attr in path[1:])
            if is_one and not is_open and is_only_read(node, name, rest, path):
                self.written |= set(path[1:])
                made = copied_tree(node)
                WrittenOut(name, value).visit(made)
                return made
        return None


def computed_attributes(kind: type) -> Iterator[str]:
    """The attributes of objects of a class that are computed when they are read."""
    own = (pair for c in kind.__mro__[:-1] for pair in vars(c).items())
    yield from (name for name, value in own if hasattr(type(value), "__get__") and not isinstance(value, METHODS))


def words_and_attributes(node: ast.AST) -> Iterator[str]:
    for inner in syntax_nodes(node):
        match inner:
            case ast.Name(id=word) | ast.Attribute(attr=word):
                yield word
            case _:
                pass


def attributes_stored(node: ast.FunctionDef) -> Iterator[str]:
    """The attributes that get something, but for those of an object that the constructor `node` makes."""
    first = next((a.arg for a in parameters(node.args)), None) if node.name in CONSTRUCTORS else None
    for inner in syntax_nodes(node):
        match inner:
            case ast.Attribute(value=ast.Name(id=name), ctx=ast.Store()) if name == first:
                pass
            case ast.Attribute(attr=attr, ctx=ast.Store() | ast.Del()):
                yield attr
            case _:
                pass


def named_in(body: Sequence[ast.stmt]) -> Iterator[tuple[Sequence[ast.stmt], str, ast.Attribute]]:
    """What follows in the block where a name gets an attribute, the name, and the attribute."""
    for k, stmt in enumerate(body):
        match stmt:
            case ast.Assign([ast.Name(id=name)], ast.Attribute() as value):
                yield body[k + 1 :], name, value
            case ast.Assign([ast.Tuple(elts=targets)], ast.Tuple(elts=values)) if len(targets) == len(values):
                for target, part in zip(targets, values, strict=True):
                    if isinstance(target, ast.Name) and isinstance(part, ast.Attribute):
                        yield body[k + 1 :], target.id, part
            case ast.If() | ast.For() | ast.While():
                yield from named_in(stmt.body)
                yield from named_in(stmt.orelse)
            case _:
                pass


def is_only_read(node: ast.FunctionDef, name: str, rest: Iterable[ast.stmt], path: Sequence[str]) -> bool:
    """Whether all that reads `name` is the `rest` of its block, where the object that `path` begins with is the same,
    and no function inside, which may run later, reads it."""
    nodes = [n for stmt in rest for n in syntax_nodes(stmt)]
    read = sum(is_read(n, name) for n in nodes)
    inside = (n for f in nodes if isinstance(f, Function) for n in syntax_nodes(f))
    if path[0] in stores_among(nodes) or set(path[1:]) & set(attributes_in(nodes)):
        return False
    return read == sum(is_read(n, name) for n in syntax_nodes(node)) and not any(is_read(n, name) for n in inside)


def attributes_in(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The attributes of which something is stored."""
    return (n.attr for n in nodes if isinstance(n, ast.Attribute) and not isinstance(n.ctx, ast.Load))


def is_read(node: ast.AST, name: str) -> bool:
    return is_named(node, name) and isinstance(node.ctx, ast.Load)  # type: ignore[attr-defined]


class WrittenOut(ast.NodeTransformer):
    """Writes an attribute for the `name` that it got."""

    def __init__(self, name: str, value: ast.Attribute) -> None:
        self.name, self.value = name, value

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if not is_read(node, self.name):
            return node
        made = copied_tree(self.value)
        for inner in syntax_nodes(made):
            ast.copy_location(inner, node)
        return made

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        match node:
            case ast.Assign([ast.Name(id=name)]) if name == self.name:
                return ast.copy_location(ast.Pass(), node)
            case ast.Assign([ast.Tuple(elts=targets) as whole], ast.Tuple(elts=values) as parts) if any(
                is_named(t, self.name) for t in targets
            ):
                pairs = [(t, v) for t, v in zip(targets, values, strict=True) if not is_named(t, self.name)]
                whole.elts, parts.elts = [t for t, _ in pairs], [v for _, v in pairs]
                if not pairs:
                    return ast.copy_location(ast.Pass(), node)
            case _:
                pass
        self.generic_visit(node)
        return node


def is_named(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
