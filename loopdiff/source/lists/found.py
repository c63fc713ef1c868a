"""Which names of a function stand for lists that it makes itself, and for nothing else, known from its text alone."""

from __future__ import annotations

import ast
import collections
import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from loopdiff.immutable import immutable
from loopdiff.source.nodes import syntax_nodes
from loopdiff.source.scopes import own_names, stores_among, words_in

ValueOf = Callable[[ast.expr], Any]
NUMBERS, UNKNOWN = 1, 0
COLLECTING = (list, sorted)
PAIRING = ("enumerate", "items")


@immutable
class Binding:
    """A statement that gives the name a list, which is what `value` makes."""

    stmt: ast.stmt
    value: ast.expr


@dataclass(frozen=True, slots=True)
class Found:
    """A list, or several that get the same `name`: how long the tuples in it are, 1 for what is no tuple, and where it
    is made. `is_bounded`: it is a `deque(maxlen=...)`."""

    name: str
    bindings: list[Binding]
    width: int = UNKNOWN
    is_bounded: bool = False


@dataclass(slots=True)
class Lists:
    """The lists of a `function`; `value_of` says what names from outside mean."""

    function: ast.FunctionDef
    value_of: ValueOf
    found: dict[str, Found] = field(default_factory=dict)

    # -- which -----------------------------------------------------------------------------------------------
    def is_list(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and node.id in self.found

    def makes(self, node: ast.expr) -> bool:
        """Whether `node` is a list."""
        match node:
            case ast.List(elts=elts):
                return not any(isinstance(e, ast.Starred) for e in elts)
            case ast.ListComp(generators=parts):
                return not any(p.is_async for p in parts)
            case ast.Name():
                return self.is_list(node)
            case ast.Subscript(value=own, slice=ast.Slice()):
                return self.is_list(own)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self.makes(left) and self.makes(right)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return isinstance(left, ast.List) or isinstance(right, ast.List)
            case ast.Call(func=ast.Attribute(value=own, attr="copy"), args=[], keywords=[]):
                return self.is_list(own)
            case ast.Call(func=func, args=[_, *_]) if self.is_called(func, *COLLECTING, *SMALLEST):
                return True
            case _:
                return is_bounded_queue(node, self.value_of)

    def is_called(self, func: ast.expr, *functions: Any) -> bool:
        value = self.value_of(func) if isinstance(func, ast.Name | ast.Attribute) else func
        value = func.value if isinstance(func, ast.Constant) else value
        return any(value is f for f in functions)

    # -- tuples ----------------------------------------------------------------------------------------------
    def width_of(self, node: ast.expr) -> int:
        """How long the tuples in the list `node` are; UNKNOWN where that does not show."""
        match node:
            case ast.List(elts=elts):
                return joined(map(item_width, elts))
            case ast.ListComp(
                elt=ast.Name(id=name), generators=[ast.comprehension(target=ast.Name(id=own), iter=over)]
            ):
                return self.items_width(over) if name == own else UNKNOWN
            case ast.ListComp(elt=elt):
                return item_width(elt) or NUMBERS
            case ast.Name(id=name) | ast.Subscript(value=ast.Name(id=name)):
                return self.found[name].width if name in self.found else UNKNOWN
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return joined((self.width_of(left), self.width_of(right)))
            case ast.BinOp(left=left, right=right):
                return self.width_of(left if isinstance(left, ast.List) else right)
            case ast.Call(func=ast.Attribute(value=ast.Name() as own, attr="copy"), args=[]):
                return self.width_of(own)
            case ast.Call(func=func, args=[_, over]) if self.is_called(func, *SMALLEST):
                return self.items_width(over)
            case ast.Call(args=[over, *_]):
                return self.items_width(over)
            case _:
                return UNKNOWN

    def items_width(self, over: ast.expr) -> int:
        """How long the tuples are that a loop over `over` finds."""
        match over:
            case ast.Call(func=ast.Name(id="zip"), args=args, keywords=[]):
                return len(args)
            case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called)) if called in PAIRING:
                return 2
            case ast.Call(func=ast.Name(id="reversed"), args=[own]):
                return self.items_width(own)
            case _ if self.makes(over):
                return self.width_of(over)
            case _:
                return UNKNOWN


def joined(widths: Any) -> int:
    """The one of `widths` that is known; -1 if they differ."""
    known = {w for w in widths if w != UNKNOWN}
    return UNKNOWN if not known else known.pop() if len(known) == 1 else -1


def item_width(node: ast.expr) -> int:
    match node:
        case ast.Tuple(elts=elts):
            return -1 if any(isinstance(e, ast.Starred | ast.Tuple | ast.List) for e in elts) else len(elts)
        case ast.Name() | ast.Subscript() | ast.Call() | ast.IfExp():
            return UNKNOWN
        case _:
            return NUMBERS


def is_bounded_queue(node: ast.expr, value_of: ValueOf) -> bool:
    """Whether `node` is `deque(...)` that holds so many elements at most."""
    match node:
        case ast.Call(func=ast.Name() | ast.Attribute() as func, args=args, keywords=keywords):
            named = [k.arg for k in keywords]
            return value_of(func) is collections.deque and (
                (named == ["maxlen"] and len(args) < 2) or (not named and len(args) == 2)
            )
        case _:
            return False


SMALLEST = (heapq.nsmallest, heapq.nlargest)
PUSHING = (heapq.heappush,)


def lists_in(function: ast.FunctionDef, value_of: ValueOf) -> Lists:
    """The lists that `function` makes."""
    lists = Lists(function, value_of)
    bindings: dict[str, list[Binding]] = {}
    inside = {id(n) for f in inner_functions(function) for n in syntax_nodes(f) if n is not f}
    nodes = [n for n in syntax_nodes(function) if id(n) not in inside]
    for node in nodes:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                bindings.setdefault(name, []).append(Binding(node, value))
            case _:
                pass
    stores, added = stores_among(nodes), augmented_in(nodes)
    lists.found = {n: Found(n, b) for n, b in bindings.items() if stores[n] == len(b) + added.get(n, 0)}
    while wrong := [n for n, f in lists.found.items() if not all(lists.makes(b.value) for b in f.bindings)]:
        for name in wrong:
            del lists.found[name]
    held = {name for f in inner_functions(function) for name in words_in(f) - own_to(f)}
    lists.found = {n: f for n, f in lists.found.items() if n not in held}
    find_widths(lists)
    return lists


def augmented_in(nodes: Iterable[ast.AST]) -> Mapping[str, int]:
    """How often names are changed by `+=`."""
    found: dict[str, int] = {}
    for node in nodes:
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = found.get(node.target.id, 0) + 1
    return found


def inner_functions(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Functions inside, but for those that a call gives as its `key`."""
    keys = {k.value for n in syntax_nodes(function) if isinstance(n, ast.Call) for k in n.keywords if k.arg == "key"}
    for node in syntax_nodes(function):
        if isinstance(node, ast.FunctionDef | ast.Lambda) and node is not function and node not in keys:
            yield node
        if isinstance(node, ast.Nonlocal | ast.Global):
            yield ast.Tuple([ast.Name(name, ast.Load()) for name in node.names], ast.Load())


def own_to(node: ast.AST) -> frozenset[str]:
    """Names that mean nothing else outside of the function `node`."""
    return own_names(node) if isinstance(node, ast.FunctionDef | ast.Lambda) else frozenset()


def find_widths(lists: Lists) -> None:
    """What the lists hold, by what they are made of and get later."""
    given: dict[str, list[int]] = {name: [] for name in lists.found}
    for node in syntax_nodes(lists.function):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append" | "appendleft"), args=[item]):
                given.get(name, []).append(item_width(item))
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="insert"), args=[_, item]):
                given.get(name, []).append(item_width(item))
            case ast.Call(func=func, args=[ast.Name(id=name), item]) if lists.is_called(func, *PUSHING):
                given.get(name, []).append(item_width(item))
            case _:
                pass
    for _ in range(len(lists.found) + 1):
        for name, found in lists.found.items():
            width = joined([*given[name], *(lists.width_of(b.value) for b in found.bindings)])
            is_bounded = any(is_bounded_queue(b.value, lists.value_of) for b in found.bindings)
            lists.found[name] = Found(name, found.bindings, width, is_bounded)
    lists.found = {
        n: Found(n, f.bindings, f.width or NUMBERS, f.is_bounded) for n, f in lists.found.items() if f.width >= 0
    }
