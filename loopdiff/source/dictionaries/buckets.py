"""Lists of empty lists that grow, as `bins = [[] for _ in range(n)]`: all that is in them is in one list, and another
says of each in which of the lists it is.

Where tuples are in the lists, as after `adj[i].append((j, w))`, there is one for each place in the tuples. Items are
copied where they are read: nobody may tell these from the lists.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np

from loopdiff.immutable import replace
from loopdiff.numpy_functions import keyed
from loopdiff.source.dictionaries.groups import is_copy_of, kept_list
from loopdiff.source.dictionaries.parts import Filled, Rewriting, is_bound_in
from loopdiff.source.dictionaries.tables import Table
from loopdiff.source.functions import SourceFunction
from loopdiff.source.nodes import copied_tree, syntax_nodes
from loopdiff.source.scopes import bound_by, fresh, words_in

ARANGE, LEN, RANGE, ZIP = (ast.Constant(cast(Any, function)) for function in (np.arange, len, range, zip))
FUNCTIONS: tuple[Any, ...] = (keyed.item_in, sum, keyed.owners_for)


def with_buckets(source: SourceFunction) -> SourceFunction:
    """`source` with such lists apart; itself where there are none, or more is done with one than can be done so."""
    words, node = {*words_in(source.node), *source.outer}, source.node
    lists, called = set[str](), [fresh(words, f.__name__) for f in FUNCTIONS]
    outer = {**source.outer, **dict(zip(called, FUNCTIONS, strict=True))}
    spoken = dict[str, str]()
    for name, width in widths_of(source.node).items():
        buckets = Buckets(name, width, words, called[2])
        asked = Asked((buckets.owners, *buckets.values), *called[:2])
        made = ast.fix_missing_locations(asked.visit(buckets.visit(copied_tree(node))))
        tables = {own: Table((), "", "", own, None, False, buckets.owners) for own in buckets.values}
        if not buckets.has_failed and kept_list(made, Rewriting(tables, outer, words)) is None:
            for mention in (n for n in syntax_nodes(made) if isinstance(n, ast.Name) and n.id == buckets.numbers):
                mention.id = name  # as reports are to call it
            node, lists = made, {*lists, buckets.owners, *buckets.values}
            spoken |= dict.fromkeys((buckets.owners, *buckets.values), name)
    if node is source.node:
        return source
    named = (*source.spoken, *spoken.items())
    return replace(source, node=node, outer=outer, lists=source.lists | lists, spoken=named)


def widths_of(function: ast.FunctionDef) -> Mapping[str, int]:
    """How long the tuples are that go into such lists of lists, by their names, 1 for what is no tuple."""
    nodes = list(syntax_nodes(function))
    made = Counter(name for node in nodes if (name := makes_buckets(node)) is not None)
    bound = Counter(name for node in nodes for name in bound_by(node))
    bound += Counter(node.arg for node in nodes if isinstance(node, ast.arg))
    widths: dict[str, set[int]] = {name: set() for name, count in made.items() if bound[name] == count}
    for node in nodes:
        match node:
            case ast.Call(ast.Attribute(ast.Subscript(value=ast.Name(id=name)), "append"), [item], []) if (
                name in widths
            ):
                widths[name].add(len(item.elts) if isinstance(item, ast.Tuple) else 1)
            case _:
                pass
    return {name: found.pop() for name, found in widths.items() if len(found) == 1 and 0 not in found}


def makes_buckets(node: ast.AST) -> str | None:
    """The name that gets a list of empty lists by `node`."""
    match node:
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.ListComp(
                elt=ast.List(elts=[]), generators=[ast.comprehension(target=ast.Name(), ifs=[], is_async=0)]
            ),
        ):
            return name
        case _:
            return None


def load(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def store(name: str) -> ast.expr:
    return ast.Name(name, ast.Store())


def call(function: ast.expr, *args: ast.expr) -> ast.Call:
    return ast.Call(function, list(args), [])


class Buckets(ast.NodeTransformer):
    """Writes the list of lists `name`, of tuples of `width` items or of other things if that is 1, as the lists
    `values` and `owners`. `numbers` is an array of their numbers: a subscript of the list is one of that. Where items
    are gone through, the function that is called `checked` sees to it that there is such a number, which nobody would
    ask if there are no items. `has_failed`: something could not be written so."""

    def __init__(self, name: str, width: int, words: set[str], checked: str) -> None:
        self.name, self.words, self.checked = name, words, checked
        self.numbers, self.owners = fresh(words, f"{name}_numbers"), fresh(words, f"{name}_owners")
        self.values = [fresh(words, f"{name}_values{k}" if width > 1 else f"{name}_values") for k in range(width)]
        self.has_failed = False

    def new(self, stem: str) -> str:
        return fresh(self.words, f"{self.name}_{stem}")

    def is_named(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and node.id == self.name

    def subscript_of(self, node: ast.AST) -> ast.expr | None:
        """Which of the lists `node` is; None for anything else."""
        match node:
            case ast.Subscript(value=own, slice=place, ctx=ast.Load()) if self.is_named(own):
                return None if isinstance(place, ast.Slice | ast.Tuple) else place
            case _:
                return None

    def key(self, subscript: ast.expr) -> ast.expr:
        """The number of the list that the `subscript` means."""
        place = ast.Subscript(load(self.numbers), self.visit(subscript), ast.Load())
        return ast.copy_location(place, subscript)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        self.has_failed |= node.id == self.name
        return node

    # -- statements ------------------------------------------------------------------------------------------
    def visit_Assign(self, node: ast.Assign) -> Any:
        match node.value:
            case ast.ListComp(generators=[part]) if makes_buckets(node) == self.name:
                over = self.visit(part.iter)
                return [ast.copy_location(stmt, node) for stmt in self.begun(over)]
            case _:
                return self.generic_visit(node)

    def begun(self, over: ast.expr) -> Iterator[ast.stmt]:
        """As many empty lists as there are items in `over`."""
        match over:
            case ast.Call(func=ast.Name(id="range"), args=[count], keywords=[]):
                yield ast.Assign([store(self.numbers)], call(ARANGE, count))
            case _:
                yield ast.Assign([store(self.numbers)], call(ARANGE, call(LEN, over)))
        for name in (self.owners, *self.values):
            yield ast.Assign([store(name)], ast.List([], ast.Load()))

    def visit_Expr(self, node: ast.Expr) -> Any:
        match node.value:
            case ast.Call(ast.Attribute(own, "append"), [item], []) if (at := self.subscript_of(own)) is not None:
                return [ast.copy_location(stmt, node) for stmt in self.grown(at, item)]
            case _:
                return self.generic_visit(node)

    def grown(self, subscript: ast.expr, item: ast.expr) -> Iterator[ast.stmt]:
        """The `item`, or what is in it, put into the list that the `subscript` means."""
        parts = item.elts if isinstance(item, ast.Tuple) else [item]
        names = [self.new(stem) for stem in ("at", *("item" for _ in parts))]
        for name, value in zip(names, [self.key(subscript), *map(self.visit, parts)], strict=True):
            yield ast.Assign([store(name)], value)
        for own, name in zip((self.owners, *self.values), names, strict=True):
            yield ast.Expr(call(ast.Attribute(load(own), "append", ast.Load()), load(name)))

    def visit_For(self, node: ast.For) -> Any:
        if (at := self.subscript_of(node.iter)) is not None:
            return [ast.copy_location(stmt, node) for stmt in self.over_one(at, node)]
        if (found := self.over_all(node.target, node.iter)) is not None:
            node.target, node.iter, name, items = found
            node.body = [ast.copy_location(ast.Assign([store(name)], items), node), *node.body]
        return self.generic_visit(node)

    def over_one(self, subscript: ast.expr, node: ast.For) -> Iterator[ast.stmt]:
        """A loop over the list that the `subscript` means: over all that there is, without what is others'."""
        names = [self.new(stem) for stem in ("at", "owner", *("item" for _ in self.values))]
        yield ast.Assign([store(names[0])], self.key(subscript))
        items = [load(name) for name in names[2:]]
        found = ast.Assign([node.target], items[0] if len(items) == 1 else ast.Tuple(items, ast.Load()))
        is_own = ast.Compare(load(names[1]), [ast.Eq()], [load(names[0])])
        body = [ast.copy_location(stmt, node) for stmt in (found,)] + self.block(node.body)
        inside = ast.copy_location(ast.If(is_own, body, []), node)
        yield ast.For(self.target(names[1:]), self.together(), [inside], self.block(node.orelse))

    def block(self, nodes: Sequence[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for node in nodes:
            found = self.visit(node)
            made += found if isinstance(found, list) else [found]
        return made

    def target(self, names: Sequence[str]) -> ast.expr:
        return ast.Tuple(list(map(store, names)), ast.Store())

    def together(self, number: ast.expr | None = None) -> ast.expr:
        """All items, with what they belong to; after a look for the list with that `number`."""
        owners = load(self.owners) if number is None else call(load(self.checked), load(self.owners), number)
        return call(ZIP, owners, *map(load, self.values))

    def over_all(self, target: ast.expr, over: ast.expr) -> tuple[ast.expr, ast.expr, str, ast.expr] | None:
        """What a loop over all lists binds, and goes over instead, with the name for each, and what is in it."""
        numbers = call(RANGE, call(LEN, load(self.numbers)))
        match target, over:
            case ast.Name(id=name), ast.Name() if self.is_named(over):
                key = self.new("at")
                target = store(key)
            case (
                ast.Tuple(elts=[ast.Name(id=key), ast.Name(id=name)]),
                ast.Call(ast.Name(id="enumerate"), [own], []),
            ) if self.is_named(own):
                target = store(key)
            case (
                ast.Tuple(elts=[ast.Name(id=name), other]),
                ast.Call(ast.Name(id="zip"), [own, beside], []),
            ) if self.is_named(own):
                key = self.new("at")
                target, numbers = ast.Tuple([store(key), other], ast.Store()), call(ZIP, numbers, beside)
            case _:
                return None
        return ast.copy_location(target, over), ast.copy_location(numbers, over), name, self.items(load(key), over)

    # -- expressions -----------------------------------------------------------------------------------------
    def items(self, key: ast.expr, node: ast.AST) -> ast.expr:
        """What is in the list with that `key`."""
        self.has_failed |= len(self.values) > 1
        return self.first_items(key, node)

    def first_items(self, key: ast.expr, node: ast.AST) -> ast.expr:
        """The same; of tuples, what is in their first place."""
        owner, item = self.new("owner"), self.new("item")
        is_own = ast.Compare(load(owner), [ast.Eq()], [key])
        owners = load(self.owners)
        if not isinstance(key, ast.Name):
            owners = call(load(self.checked), owners, copied_tree(key))
        over = call(ZIP, owners, load(self.values[0]))
        part = ast.comprehension(self.target([owner, item]), over, [is_own], 0)
        return ast.copy_location(ast.ListComp(load(item), [part]), node)

    def key_inside(self, subscript: ast.expr) -> ast.expr:
        """The same where it is evaluated once for each item, and Python evaluates it once."""
        self.has_failed |= any(isinstance(n, ast.Call | ast.NamedExpr) for n in syntax_nodes(subscript))
        return self.key(subscript)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        at = self.subscript_of(node)
        return self.generic_visit(node) if at is None else self.items(self.key_inside(at), node)

    def visit_Call(self, node: ast.Call) -> Any:
        match node:
            case ast.Call(func=ast.Name(id="len"), args=[own], keywords=[]) if self.is_named(own):
                return ast.copy_location(call(LEN, load(self.numbers)), node)
            case ast.Call(func=ast.Name(id="len"), args=[own], keywords=[]) if (
                at := self.subscript_of(own)
            ) is not None:
                items = self.first_items(self.key_inside(at), own)
                return ast.copy_location(ast.Call(node.func, [items], []), node)
            case _:
                return self.generic_visit(node)

    def visit_ListComp(self, node: ast.ListComp) -> Any:
        return self.comprehension(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> Any:
        return self.comprehension(node)

    def comprehension(self, node: Any) -> Any:
        """A comprehension, in which loops may go over one of the lists, or over all."""
        for k, part in enumerate(node.generators):
            if (at := self.subscript_of(part.iter)) is not None:
                owner, own = self.new("owner"), {n.id for n in syntax_nodes(part.target) if isinstance(n, ast.Name)}
                self.has_failed |= any(isinstance(n, ast.Name) and n.id in own for n in syntax_nodes(at))
                items = part.target.elts if isinstance(part.target, ast.Tuple) else [part.target]
                self.has_failed |= len(items) != len(self.values) and len(self.values) > 1
                each = [part.target] if len(self.values) == 1 else items
                part.target = ast.Tuple([store(owner), *each], ast.Store())
                number = self.key_inside(at)
                part.iter = self.together(number)
                part.ifs = [ast.Compare(load(owner), [ast.Eq()], [copied_tree(number)]), *part.ifs]
            elif (found := self.over_all(part.target, part.iter)) is not None:
                part.target, part.iter, name, items = found
                read = {name, *(n.id for n in syntax_nodes(items) if isinstance(n, ast.Name))}
                inside = (node.elt, *part.ifs, *node.generators[k + 1 :])
                self.has_failed |= any(is_bound_in(n, read) for n in inside)
                filled = Filled({name: items})
                part.ifs = [filled.visit(test) for test in part.ifs]
                node.generators[k + 1 :] = [filled.visit(later) for later in node.generators[k + 1 :]]
                node.elt = filled.visit(node.elt)
        return self.generic_visit(node)


class Asked(ast.NodeTransformer):
    """Writes what is asked of copies of what is in one of `lists`, without the copy: how many there are, whether there
    are any, and for one of them, by the functions that are called `item` and `total`."""

    def __init__(self, lists: Sequence[str], item: str, total: str) -> None:
        self.lists, self.item, self.total = lists, item, total

    def is_copy(self, node: ast.AST) -> bool:
        return is_copy_of(node, self.lists)

    def number(self, node: ast.expr) -> ast.expr:
        assert isinstance(node, ast.ListComp)
        return ast.copy_location(call(load(self.total), ast.ListComp(ast.Constant(1), node.generators)), node)

    def truth(self, node: ast.expr) -> ast.expr:
        """A condition, in which lists stand for whether they have items."""
        match node:
            case ast.BoolOp(op=op, values=values):
                return ast.copy_location(ast.BoolOp(op, list(map(self.truth, values))), node)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return ast.copy_location(ast.UnaryOp(node.op, self.truth(operand)), node)
            case _ if self.is_copy(node):
                return ast.copy_location(ast.Compare(self.number(node), [ast.Gt()], [ast.Constant(0)]), node)
            case _:
                return node

    def visit_If(self, node: ast.If) -> ast.AST:
        node.test = self.truth(node.test)
        return self.generic_visit(node)

    def visit_While(self, node: ast.While) -> ast.AST:
        node.test = self.truth(node.test)
        return self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        node.test = self.truth(node.test)
        return self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        node.ifs = list(map(self.truth, node.ifs))
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Name(id="len"), args=[own], keywords=[]) if self.is_copy(own):
                return self.number(own)
            case _:
                return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.Subscript(ast.ListComp(generators=[part]) as own, at, ast.Load()) if self.is_copy(own):
                if isinstance(at, ast.Slice | ast.Tuple):
                    return node
                assert isinstance(part.iter, ast.Call)
                assert isinstance(part.ifs[0], ast.Compare)
                owners, items = part.iter.args
                owners = owners.args[0] if isinstance(owners, ast.Call) else owners
                return ast.copy_location(call(load(self.item), owners, items, *part.ifs[0].comparators, at), node)
            case _:
                return node
