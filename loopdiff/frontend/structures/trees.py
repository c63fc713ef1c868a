"""What an expression stands for that holds several values: which, under which keys, and how it is written."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from loopdiff.immutable import immutable, replace
from loopdiff.source.functions import MISSING

Kind = Literal["tuple", "list", "dict", "record"]
Path = tuple[Any, ...]
Origin = tuple[str, int, int]  # a function, and a line and a column in its text


@immutable
class Rank:
    """An array has so many axes; none: it is a number, of the class `kind` where that is known."""

    axes: int
    kind: type[Any] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """One value, a number or an array: that of the expression `expr`. `known`: which integer it is, of which rank an
    array, or which function that is defined inside; MISSING for others."""

    expr: ast.expr
    known: Any = MISSING


@dataclass(frozen=True, slots=True, eq=False)
class Static:
    """A value that is known before the loops run, and is no number or array of the call: None, a text, a function."""

    value: Any


class NotSeen(Exception):
    """A program reads an attribute that is not known to be read."""


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    """Several values: `items[k]` is the one under `keys[k]`, a place, a key of a dictionary or the name of a field.

    `type` is the class that Python would make of it. `is_ordered`: a loop over it goes in the order of the keys; not
    known of a dictionary that was filled in one order or another. `is_fresh`: it was made just now, nobody has it yet.
    `origin` is where a list stands in the text, if it is written out there. `seen`: the attributes that an object was
    given with; None for all that it has.
    """

    kind: Kind
    type: type[Any]
    keys: tuple[Any, ...]
    items: tuple[Tree, ...]
    is_ordered: bool = True
    is_fresh: bool = False
    origin: Origin | None = None
    seen: frozenset[str] | None = None

    def place(self, key: Any) -> int | None:
        """Which key `key` is; None if it is none. `True`, `1` and `1.0` are one key of a dictionary.

        Raises NotSeen for an attribute that the object may have, and was not given with.
        """
        if self.seen is not None and key not in self.seen:
            raise NotSeen
        for place, known in enumerate(self.keys):
            if known == key and (self.kind == "dict" or type(known) is type(key)):
                return place
        return None

    def item(self, key: Any) -> Tree | None:
        """What stands under `key`; None if nothing does."""
        place = self.place(key)
        return None if place is None else self.items[place]

    def with_items(self, items: tuple[Tree, ...]) -> Branch:
        return replace(self, items=items)


Tree = Leaf | Static | Branch


class LastItem:
    """As a value: what a loop variable holds behind a loop whose items were written in its place."""

    def __repr__(self) -> str:
        return "the last item of what a loop went over and changed"


LAST = Static(LastItem())


@immutable
class Blank:
    """As a value in the text: a new object of the class `kind`, without attributes."""

    kind: type[Any]


@immutable
class Taken:
    """As a value in the text: what stands at `path` in what `name` holds, with the structures at `own` that nobody else
    has."""

    name: str
    path: Path
    own: frozenset[Path]


def in_row(kind: Literal["tuple", "list"], items: tuple[Tree, ...]) -> Branch:
    """A tuple or list of `items`."""
    return Branch(kind, tuple if kind == "tuple" else list, tuple(range(len(items))), items, is_fresh=True)


def dictionary_of(items: Mapping[Any, Tree]) -> Branch:
    return Branch("dict", dict, tuple(items), tuple(items.values()), is_fresh=True)


def shared(tree: Tree) -> Tree:
    """`tree` where others may have it, too."""
    if not isinstance(tree, Branch):
        return tree
    return replace(tree, items=tuple(map(shared, tree.items)), is_fresh=False)


def fresh_paths(tree: Tree, path: Path = ()) -> Iterator[Path]:
    """Where in `tree` the structures are that nobody else has."""
    if isinstance(tree, Branch):
        if tree.is_fresh:
            yield path
        for key, item in zip(tree.keys, tree.items, strict=True):
            yield from fresh_paths(item, (*path, key))


def freshened(tree: Tree, paths: Collection[Path], path: Path = ()) -> Tree:
    """`tree`, which is fresh at `paths`."""
    if not isinstance(tree, Branch):
        return tree
    items = (freshened(item, paths, (*path, key)) for key, item in zip(tree.keys, tree.items, strict=True))
    return replace(tree, items=tuple(items), is_fresh=path in paths)


def holds_structures(tree: Tree) -> bool:
    """Whether `tree` is a structure that may be changed, or has one in it."""
    is_open = isinstance(tree, Branch) and not issubclass(tree.type, tuple | range)
    return is_open or (isinstance(tree, Branch) and any(map(holds_structures, tree.items)))


def is_sequence(tree: Tree) -> bool:
    """Whether `tree` has its items in places: tuples, lists and named tuples."""
    return isinstance(tree, Branch) and (tree.kind in ("tuple", "list") or issubclass(tree.type, tuple))


def row_like(tree: Branch, items: tuple[Tree, ...]) -> Branch:
    """A list of `items` if `tree` is one, else a tuple: what Python makes of a part of it, or of more than one."""
    return in_row("list" if tree.kind == "list" else "tuple", items)


def has_length(tree: Branch) -> bool:
    return is_sequence(tree) or tree.kind == "dict"


def leaves(tree: Tree, path: Path = ()) -> Iterator[tuple[Path, Leaf]]:
    """The values in `tree` that the loops compute with, in order, and where they stand in it."""
    match tree:
        case Leaf():
            yield path, tree
        case Branch(keys=keys, items=items):
            for key, item in zip(keys, items, strict=True):
                yield from leaves(item, (*path, key))
        case Static():
            pass


def statics(tree: Tree) -> Iterator[Any]:
    """The values in `tree` that are known before the loops run."""
    match tree:
        case Static(value=value):
            yield value
        case Branch(items=items):
            for item in items:
                yield from statics(item)
        case Leaf():
            pass


def types_in(tree: Tree) -> Iterator[type[Any]]:
    """The classes of structures in `tree`."""
    if isinstance(tree, Branch):
        yield tree.type
        for item in tree.items:
            yield from types_in(item)


def with_leaves(tree: Tree, make: Callable[[Path, Leaf], Tree], path: Path = ()) -> Tree:
    """`tree` with what `make` gives for the leaf at each path."""
    match tree:
        case Leaf():
            return make(path, tree)
        case Branch(keys=keys, items=items):
            made = (with_leaves(item, make, (*path, k)) for k, item in zip(keys, items, strict=True))
            return tree.with_items(tuple(made))
        case Static():
            return tree


def merged(a: Tree, b: Tree) -> Tree | None:
    """What holds for both trees, which differ in the values of their leaves alone; None if they differ in more."""
    match a, b:
        case Leaf(), Leaf():
            return a if same(a.known, b.known) else Leaf(a.expr)
        case Static(value=first), Static(value=second):
            return a if same(first, second) else None
        case Branch(), Branch() if a.kind == b.kind and a.type is b.type and set(a.keys) == set(b.keys):
            items = tuple(merged(item, other) for k, item in zip(a.keys, a.items, strict=True) if (other := b.item(k)))
            if len(items) < len(a.items) or any(i is None for i in items):
                return None
            is_ordered = a.is_ordered and b.is_ordered and a.keys == b.keys
            found = tuple(i for i in items if i is not None)
            return replace(a, items=found, is_ordered=is_ordered, is_fresh=a.is_fresh and b.is_fresh)
        case _:
            return None


def are_alike(a: Tree, b: Tree) -> bool:
    """Whether two trees differ in nothing but the values of their leaves."""
    return merged(a, b) is not None


def origins_apart(a: Tree, b: Tree) -> set[Origin]:
    """Where the lists in two trees are written out that are longer in one of these than in the other, or known in one
    alone."""
    lists = [tree for tree in (a, b) if isinstance(tree, Branch) and tree.kind == "list"]
    if not isinstance(a, Branch) or not isinstance(b, Branch) or (len(lists) > 1 and a.keys != b.keys):
        return {tree.origin for tree in lists if tree.origin is not None}
    both = [(item, b.item(key)) for key, item in zip(a.keys, a.items, strict=True)]
    return {origin for item, other in both if other is not None for origin in origins_apart(item, other)}


def same(a: Any, b: Any) -> bool:
    """Whether two values that are known before the loops run are one for them."""
    return a is b or (type(a) is type(b) and isinstance(a, str | int | Rank) and a == b)


def form(tree: Tree) -> str:
    """What is alike for trees that are alike: for people, and in keys beside `statics`."""
    match tree:
        case Leaf(known=known):
            return "*" if known is MISSING else f"{known!r}"
        case Static():
            return "="
        case Branch(kind=kind, keys=keys, items=items):
            inside = ", ".join(f"{k!r}: {form(item)}" for k, item in zip(keys, items, strict=True))
            return f"{kind} {tree.type.__qualname__} {tree.is_ordered} {{{inside}}}"


def described(tree: Tree) -> str:
    """`tree` in the words of a report."""
    match tree:
        case Leaf():
            return "a number or an array"
        case Static(value=value):
            return repr(value)
        case Branch(kind="record"):
            return f"a `{tree.type.__name__}`"
        case Branch(kind=kind, keys=keys):
            word = {"tuple": "a tuple", "list": "a list", "dict": "a dictionary"}[kind]
            return f"{word} of {len(keys)}"


def apart_in(text: str, first: Tree, second: Tree) -> tuple[str, str]:
    """What differs in two trees of what is written as `text`: the first part of the same name that does, and what it is
    in both, in words."""
    if isinstance(first, Branch) and isinstance(second, Branch) and first.type is second.type:
        is_record = first.kind == "record"
        for key, item in zip(first.keys, first.items, strict=True):
            other = second.item(key)
            if other is None and is_record:
                return text, f"a `{first.type.__name__}` with `{key}`, or one without"
            if other is not None and not are_alike(item, other):
                return apart_in(f"{text}.{key}" if is_record else f"{text}[{key!r}]", item, other)
        missing = [k for k in second.keys if first.item(k) is None]
        if is_record and missing:
            return text, f"a `{first.type.__name__}` with `{missing[0]}`, or one without"
    return text, ", or ".join(map(described, (first, second)))
