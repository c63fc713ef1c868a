"""What a program may read of the objects that it is given: their other attributes may be whatever they like.

A model keeps the losses of its training in a list; that this grows makes no other program of its energy.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from types import FunctionType
from typing import Any

from loopdiff.errors import UnsupportedLoopError
from loopdiff.frontend.callees import Sources
from loopdiff.frontend.classes import is_plain_class
from loopdiff.frontend.structures.given import with_attributes
from loopdiff.frontend.structures.methods import functions_of
from loopdiff.frontend.structures.signs import is_known, sources_reached
from loopdiff.frontend.structures.trees import Branch, Tree
from loopdiff.immutable import immutable, replace
from loopdiff.source.functions import SourceFunction, python_function
from loopdiff.source.nodes import syntax_nodes

ROWS = (list, tuple)


@immutable
class Seen:
    """A program may read the attributes `names` of objects of the classes `kinds`; without `kinds`, all.

    Texts do not say all names. What is read besides is noticed where it is looked up (`trees.NotSeen`).
    """

    kinds: frozenset[type[Any]] = frozenset()
    names: frozenset[str] = frozenset()

    def of(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """`values` with objects that have nothing else."""
        try:
            return tuple([self.part(value) for value in values]) if self.kinds else values
        except RecursionError:
            return values  # which hold themselves

    def part(self, value: Any) -> Any:
        if type(value) in ROWS and value and type(value[0]) in self.kinds:
            return type(value)([self.part(item) for item in value])
        if type(value) not in self.kinds:
            return value
        own = vars(value)
        kept = {name: self.part(part) for name, part in own.items() if name in self.names}
        is_whole = len(kept) == len(own) and all(part is own[name] for name, part in kept.items())
        return value if is_whole else with_attributes(type(value), kept)

    def marked(self, tree: Tree) -> Tree:
        """`tree`, in which it stands of objects what they were given with."""
        if not isinstance(tree, Branch) or not self.kinds:
            return tree
        items = tuple(map(self.marked, tree.items))
        return replace(tree, items=items, seen=self.names if tree.type in self.kinds else None)


ALL = Seen()


def attributes_seen(source: SourceFunction, sources: Sources, values: Collection[Any]) -> Seen:
    """What may be read of objects among `values`: what has a name in `source`, in what that calls, in functions among
    the values, and in methods that have such a name; whatever they have where a text cannot be had."""
    try:
        objects = list(objects_in(values))
        kinds = frozenset(map(type, objects))
        return Seen(kinds, named_attributes(source, sources, values, objects)) if kinds else ALL
    except UnsupportedLoopError:
        return ALL


def named_attributes(
    source: SourceFunction, sources: Sources, values: Collection[Any], objects: Collection[Any]
) -> frozenset[str]:  # fmt: skip
    classes = {c for kind in map(type, objects) for c in kind.__mro__[:-1]}
    inside = [part for one in objects for part in vars(one).values()]
    functions = {f for v in (*values, *inside) if is_known(v) and (f := python_function(v)) is not None}
    names, met, waiting = set[str](), set[FunctionType](), [*sources_reached(source, sources)]
    while waiting or functions:
        waiting += [one for f in functions for one in sources_reached(sources.of(f), sources)]
        for one in waiting:
            names.update(attribute_names(one.node))
        met |= functions
        waiting, functions = [], set(named_methods(classes, names)) - met
    return frozenset(names)


def attribute_names(text: ast.AST) -> Iterator[str]:
    """Names of attributes in a text."""
    for node in syntax_nodes(text):
        match node:
            case ast.Attribute(attr=name):
                yield name
            case ast.MatchClass(kwd_attrs=names):
                yield from names
            case _:
                pass


def named_methods(kinds: Iterable[type], names: Collection[str]) -> Iterator[FunctionType]:
    """Methods that are called by one of `names`, or by Python."""
    for kind in kinds:
        for name, value in vars(kind).items():
            if name in names or (name.startswith("__") and name != "__init__"):
                yield from functions_of(value)


def objects_in(values: Iterable[Any]) -> Iterator[Any]:
    """Objects of plain classes, in rows and dictionaries and in each other, each once."""
    waiting, met = list(values), set[int]()
    while waiting:
        value = waiting.pop()
        is_object = is_plain_class(type(value))
        if id(value) in met or not (is_object or isinstance(value, list | tuple | dict)):
            continue
        met.add(id(value))
        if is_object:
            yield value
            waiting += vars(value).values()
        else:
            waiting += value.values() if isinstance(value, dict) else value
