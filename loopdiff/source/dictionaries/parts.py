"""Names, keys and places: what statements and expressions of dictionaries as lists are put together from."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from loopdiff.immutable import immutable
from loopdiff.numpy_functions import keyed
from loopdiff.source.dictionaries.tables import Outer, Table, value_in
from loopdiff.source.harmless import changes_nothing
from loopdiff.source.nodes import copied_tree, syntax_nodes
from loopdiff.source.scopes import bound_by, fresh

PLACES: tuple[Callable[..., Any], ...] = (keyed.place_of, keyed.place_of_pair, keyed.place_of_triple)
BUCKETS: tuple[Callable[..., Any], ...] = (keyed.bucket_of, keyed.bucket_of_pair, keyed.bucket_of_triple)


class Filled(ast.NodeTransformer):
    """Puts expressions in the place of names, and items of tuples in that of subscripts of these."""

    def __init__(self, given: dict[str, ast.expr]) -> None:
        self.given = given

    def visit_Name(self, node: ast.Name) -> ast.AST:
        found = self.given.get(node.id)
        return node if found is None else copied_tree(found)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.Subscript(value=ast.Tuple(elts=elts), slice=ast.Constant(value=int(k))) if k < len(elts):
                return elts[k]
            case _:
                return node


def is_bound_in(node: ast.AST, names: Collection[str]) -> bool:
    """Whether functions or comprehensions in `node` have names of their own that are called so."""
    return any(name in names for n in syntax_nodes(node) for name in (*bound_by(n), getattr(n, "arg", None)))


def unplaced(tree: ast.Module) -> ast.Module:
    """`tree` without places in a text."""
    for node in syntax_nodes(tree):
        for place in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
            if hasattr(node, place):
                delattr(node, place)
    return tree


def statements_of(text: str, place: ast.AST, **given: ast.expr) -> list[ast.stmt]:
    """The statements of a text in the place of a node, with expressions for names in it."""
    made = Filled(given).visit(unplaced(ast.parse(text))).body
    return [ast.copy_location(stmt, place) for stmt in made]


def expression_of(text: str, place: ast.AST, **given: ast.expr) -> ast.expr:
    """The same for an expression."""
    (stmt,) = statements_of(text, place, **given)
    assert isinstance(stmt, ast.Expr)
    return ast.copy_location(stmt.value, place)


def load_of(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def owner_of(node: ast.expr) -> ast.expr:
    """What `node` is a part of, or got by a method of."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node


@immutable
class Round:
    """What a loop binds and goes over; `named` are names that stand for expressions of these; `inside`, the dictionary
    that must not grow in it; `there`, a dictionary and names for a key that it has."""

    target: ast.expr
    over: ast.expr
    named: dict[str, ast.expr]
    inside: tuple[str, ...] = ()
    there: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass
class Rewriting(ast.NodeTransformer):
    """Writes the `tables` of a function as lists. `words` are names that new ones keep clear of, `called` functions
    that it has got names for.

    `ahead` is what has to run before the statement that is being written, None where nothing may; `is_steady`: nothing
    that the statement calls changes what it reads; `asked` are dictionaries that it asks for what adding a key changes;
    `inside` are the dictionaries that loops around go over, `there`
    names of keys that dictionaries have; those that are `losing` keys may have lost them.
    `failing` is what could not be written so.
    """

    tables: dict[str, Table]
    outer: Outer
    words: set[str]
    called: dict[str, Any] = field(default_factory=dict)
    ahead: list[ast.stmt] | None = None
    is_steady: bool = True
    asked: frozenset[str] = frozenset()
    inside: tuple[str, ...] = ()
    there: tuple[tuple[str, tuple[str, ...]], ...] = ()
    failing: ast.AST | None = None
    losing: frozenset[str] = frozenset()

    def table(self, node: ast.AST) -> Table | None:
        """The dictionary that a name stands for."""
        return self.tables.get(node.id) if isinstance(node, ast.Name) else None

    def failed(self, node: Any) -> Any:
        if self.failing is None:
            place = node.over if isinstance(node, Round) else node
            self.failing = place if hasattr(place, "lineno") else ast.Pass()
        return node

    def name(self, stem: str) -> str:
        """A new name."""
        return fresh(self.words, stem)

    def function(self, value: Any) -> str:
        """A name for a function."""
        found = next((n for n, known in self.called.items() if known is value), None)
        if found is None:
            found = self.name(f"{value.__name__}_")
            self.called[found] = value
        return found

    def value(self, node: ast.expr) -> Any:
        """The value of a name from outside; MISSING if it has none."""
        return value_in(self.outer, node)

    # -- when ------------------------------------------------------------------------------------------------
    @contextmanager
    def before(self, ahead: list[ast.stmt] | None, *nodes: ast.AST) -> Iterator[None]:
        """Inside, what has to run ahead of `nodes`, or of parts of the same if there are none, goes to that list."""
        outer = self.ahead, self.is_steady, self.asked
        inner = [n for node in nodes for n in syntax_nodes(node)]
        self.ahead = ahead
        if nodes:
            self.is_steady = not any(map(self.is_change, inner))
            adding = {id(own) for n in inner if (own := self.added_to(n)) is not None}
            self.asked = frozenset(n.id for n in inner if isinstance(n, ast.Name) and id(n) not in adding)
        try:
            yield
        finally:
            self.ahead, self.is_steady, self.asked = outer

    def is_change(self, node: ast.AST) -> bool:
        """Whether `node` may change what the rest of its statement reads."""
        match node:
            case ast.Call():
                return not self.is_harmless(node)
            case ast.NamedExpr() | ast.Await() | ast.Yield() | ast.YieldFrom():
                return True
            case _:
                return False

    def added_to(self, node: ast.AST) -> ast.expr | None:
        """The dictionary that gets a key by `node`, if it does not have that: one after the other, ahead."""
        match node:
            case ast.Subscript(value=own, ctx=ast.Load()):
                table = self.table(own)
                return own if table is not None and table.missing is not None and table.adds else None
            case ast.Call(func=ast.Attribute(own, "setdefault")):
                return own
            case ast.Call(func=ast.Attribute(own, "pop"), args=[_, *_]) if self.table(own) is not None:
                return own
            case _:
                return None

    @contextmanager
    def over(self, found: Round) -> Iterator[None]:
        """Inside is the body of that loop."""
        outer = self.inside, self.there
        self.inside, self.there = (*self.inside, *found.inside), (*self.there, *found.there)
        try:
            yield
        finally:
            self.inside, self.there = outer

    @contextmanager
    def knowing(self, there: tuple[tuple[str, tuple[str, ...]], ...]) -> Iterator[None]:
        """Inside, these dictionaries have these keys."""
        outer, self.there = self.there, (*self.there, *there)
        try:
            yield
        finally:
            self.there = outer

    @contextmanager
    def rebinding(self, names: Collection[str]) -> Iterator[None]:
        """Inside, `names` stand for something else."""
        outer, self.there = self.there, tuple(one for one in self.there if not set(names) & set(one[1]))
        try:
            yield
        finally:
            self.there = outer

    def is_there(self, own: str, key: ast.expr) -> bool:
        """Whether the dictionary has that key, or nobody may give it one now."""
        return own in self.inside or self.is_known(own, key)

    def is_known(self, own: str, key: ast.expr) -> bool:
        """Whether a loop or condition around says that the dictionary has that key."""
        names = key.elts if isinstance(key, ast.Tuple) else [key]
        named = tuple(n.id for n in names if isinstance(n, ast.Name))
        if own in self.losing:
            return False
        return len(named) == len(names) and (own, named) in self.there

    def is_harmless(self, node: ast.Call) -> bool:
        """Whether a call changes no more than a dictionary: of Python's own functions, and those of libraries."""
        if isinstance(node.func, ast.Attribute) and self.table(owner_of(node.func)) is not None:
            return True
        return changes_nothing(self.value(node.func), node)

    def part(self, node: ast.expr) -> ast.expr:
        found = self.visit(node)
        assert isinstance(found, ast.expr)
        return found

    def perhaps(self, node: ast.expr) -> ast.expr:
        """What may not be evaluated when the statement is, or several times."""
        with self.before(None):
            return self.part(node)

    def held(self, stem: str, value: ast.expr, in_turn: bool = False) -> ast.expr:
        """`value`, which is evaluated ahead; displays of values are displays of names. `in_turn`: all that comes before
        it in the statement is, too."""
        match value:
            case ast.Name() | ast.Constant():
                return value
            case ast.Tuple(elts=elts) | ast.List(elts=elts) if not any(isinstance(e, ast.Starred) for e in elts):
                kind = type(value)
                return ast.copy_location(kind([self.held(stem, e, in_turn) for e in elts], ast.Load()), value)
            case _:
                pass
        if self.ahead is None or not (self.is_steady or in_turn):
            return self.failed(value)
        name = self.name(stem)
        self.ahead += statements_of(f"{name} = VALUE", value, VALUE=value)
        return ast.copy_location(load_of(name), value)

    # -- keys ------------------------------------------------------------------------------------------------
    def key_parts(self, table: Table, key: ast.expr) -> list[ast.expr]:
        """What each list of keys has of `key`."""
        if len(table.keys) == 1:
            return [self.part(key)]
        if isinstance(key, ast.Tuple) and len(key.elts) == len(table.keys):
            return [self.part(e) for e in key.elts]
        if not isinstance(key, ast.Name):
            return [self.failed(key)] * len(table.keys)
        return [expression_of(f"{key.id}[{k}]", key) for k in range(len(table.keys))]

    def held_key(self, table: Table, key: ast.expr) -> list[ast.expr]:
        return [self.held("key", p, in_turn=True) for p in self.key_parts(table, key)]

    def place_of(self, table: Table, parts: Sequence[ast.expr], node: ast.AST) -> ast.expr:
        """Where a key is, -1 if it is not there."""
        called = load_of(self.function(PLACES[len(table.keys) - 1]))
        lists = map(load_of, (table.heads, table.links, *table.keys))
        return ast.copy_location(ast.Call(called, [*lists, *parts], []), node)

    def place_there(self, table: Table, key: ast.expr, node: ast.AST) -> ast.expr:
        """Where a key is, that has to be there."""
        place = self.place_of(table, self.key_parts(table, key), node)
        return expression_of(f"{self.function(keyed.place_there)}(PLACE)", node, PLACE=place)

    def added(self, table: Table, parts: Sequence[ast.expr], value: ast.expr, node: ast.AST) -> list[ast.stmt]:
        """The key and its value come to the others; the items of a list come later."""
        columns, bucket = {f"KEY{k}": p for k, p in enumerate(parts)}, self.name("bucket")
        texts = [
            f"{bucket} = {self.function(BUCKETS[len(parts) - 1])}({', '.join(columns)})",
            f"{table.links}.append({table.heads}[{bucket}])",
            f"{table.heads}[{bucket}] = {self.function(len)}({table.keys[0]})",
            *(f"{k}.append(KEY{n})" for n, k in enumerate(table.keys)),
        ]
        texts += [f"{table.values}.append(VALUE)"] if table.owners is None else []
        return statements_of("\n".join(texts), node, VALUE=value, **columns)

    def put(self, table: Table, parts: Sequence[ast.expr], value: ast.expr, node: ast.AST) -> list[ast.stmt]:
        """`value` comes to the key, wherever that is."""
        place, at = self.name("place"), self.place_of(table, parts, node)
        text = f"{place} = PLACE\nif {place} < 0:\n    pass\nelse:\n    {table.values}[{place}] = VALUE"
        first, question = statements_of(text, node, PLACE=at, VALUE=value)
        assert isinstance(question, ast.If)
        question.body = self.added(table, parts, value, node)
        return [first, question]

    def value_in(self, table: Table, place: ast.expr, node: ast.AST, may_fail: bool = True) -> ast.expr:
        """The value of the key in that place, which may not be there: then there is an error."""
        if table.owners is None:
            return expression_of(f"{table.values}[PLACE]", node, PLACE=place)
        if table.more:
            return self.failed(node) if self.ahead is None else self.items_apart(table, place, node)
        if self.ahead is None:  # the place is asked for with each item, and not if there is none
            return self.failed(node) if may_fail or not self.is_steady else self.items_at(table, place, node)
        return self.held("items", self.items_at(table, self.held("place", place), node))

    def items_apart(self, table: Table, place: ast.expr, node: ast.AST) -> ast.expr:
        """The tuples that belong to the key in that place, of a list for each place in them."""
        at = self.held("place", place)
        parts = [self.held("items", self.items_at(table, at, node, own)) for own in (table.values, *table.more)]
        return ast.copy_location(ast.Call(load_of(self.function(zip)), parts, []), node)

    def items_at(self, table: Table, place: ast.expr, node: ast.AST, values: str = "") -> ast.expr:
        """The items that belong to the key in that place, of the list `values` if there are several."""
        owner, item = self.name("owner"), self.name("item")
        both = f"{self.function(zip)}({table.owners}, {values or table.values})"
        return expression_of(f"[{item} for {owner}, {item} in {both} if {owner} == PLACE]", node, PLACE=place)

    def made_there(
        self, name: str, key: ast.expr, value: ast.expr, node: ast.AST, in_turn: bool = False
    ) -> ast.expr:  # fmt: skip
        """The place of a key, which gets `value` if it is not there; that is evaluated after the key. Ahead: nothing
        else in the statement asks the dictionary for more than such values, unless all that comes before is `in_turn`
        evaluated ahead, too."""
        table = self.tables[name]
        if self.ahead is None or not (in_turn or (self.is_steady and name not in self.asked)):
            return self.failed(node)
        parts = self.held_key(table, key)
        given, place = self.held("first", self.part(copied_tree(value)), in_turn), self.name("place")
        text = f"{place} = PLACE\nif {place} < 0:\n    {place} = {self.function(len)}({table.keys[0]})"
        first, question = statements_of(text, node, PLACE=self.place_of(table, parts, node))
        assert isinstance(question, ast.If)
        question.body += self.added(table, parts, given, node)
        if table.owners is not None and isinstance(given, ast.List):
            question.body += self.appended(table, place, given.elts, node)
        self.ahead += [first, question]
        return ast.copy_location(load_of(place), node)

    def appended(self, table: Table, place: str, items: Sequence[ast.expr], node: ast.AST) -> list[ast.stmt]:
        """The list in that place gets `items`."""
        found: list[ast.stmt] = []
        for item in items:
            parts = item.elts if table.more and isinstance(item, ast.Tuple) else [item]
            names = {f"ITEM{k}": part for k, part in enumerate(parts)}
            texts = [f"{own}.append({n})" for own, n in zip((table.values, *table.more), names, strict=True)]
            found += statements_of("\n".join([f"{table.owners}.append({place})", *texts]), node, **names)
        return found
