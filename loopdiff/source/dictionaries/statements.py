"""What is done with dictionaries, where these are lists."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import numpy as np

from loopdiff.immutable import replace
from loopdiff.numpy_functions import keyed
from loopdiff.source.dictionaries.expressions import Expressions
from loopdiff.source.dictionaries.groups import dictionary_of_list, grows_in, kept_list, lists_of
from loopdiff.source.dictionaries.iteration import dictionary_view, gone_through
from loopdiff.source.dictionaries.keys import other_key
from loopdiff.source.dictionaries.parts import (
    Filled,
    Round,
    expression_of,
    is_bound_in,
    load_of,
    owner_of,
    statements_of,
)
from loopdiff.source.dictionaries.removing import discarded, given_away, losing_keys, taking_over, without_keys
from loopdiff.source.dictionaries.screening import what_tells
from loopdiff.source.dictionaries.spellings import with_plain_spellings
from loopdiff.source.dictionaries.tables import Making, Table, making, tables_in
from loopdiff.source.functions import SourceFunction
from loopdiff.source.nodes import copied_tree, syntax_nodes
from loopdiff.source.scopes import words_in


def with_dictionaries(source: SourceFunction) -> SourceFunction:
    """`source` with such dictionaries apart; itself where there are none, or something is done with one that no list
    can do."""
    made = as_lists(source)
    return made if isinstance(made, SourceFunction) else source


def as_lists(source: SourceFunction) -> SourceFunction | ast.AST | None:
    """`source` with such dictionaries apart; None where there are none; else what is done that no list can do, a node
    without a place if that does not show."""
    source = with_plain_spellings(source)
    tables = tables_in(source.node, source.outer, given_away(source.node))
    if not tables:
        return None
    if (telling := what_tells(source.node, tables, source.outer)) is not None:
        return telling
    rewriting = Statements(tables, source.outer, {*words_in(source.node), *source.outer})
    rewriting.losing = losing_keys(source.node)
    if (key := other_key(source.node, rewriting)) is not None:
        return key
    made = rewriting.visit(copied_tree(source.node))
    left = (n for n in syntax_nodes(made) if isinstance(n, ast.Name) and n.id in tables)
    if (unfit := rewriting.failing or next(left, None)) is not None:
        return unfit
    if (kept := kept_list(made, rewriting)) is not None:
        return kept
    lists = frozenset(name for table in tables.values() for name in lists_of(table))
    outer = {**source.outer, **rewriting.called}
    spoken = (*source.spoken, *((own, name) for name, table in tables.items() for own in lists_of(table)))
    node = ast.fix_missing_locations(made)
    return replace(source, node=node, outer=outer, lists=source.lists | lists, spoken=spoken)


def as_list(made: Any) -> list[ast.stmt]:
    return made if isinstance(made, list) else [made]


class Statements(Expressions):
    """Writes statements."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.body = self.block(node.body)
        return node

    def block(self, nodes: Sequence[ast.stmt]) -> list[ast.stmt]:
        return [made for stmt in nodes for made in as_list(self.visit(stmt))]

    def simple(self, node: Any) -> Any:
        """A statement, after what has to run ahead of it."""
        ahead: list[ast.stmt] = []
        with self.before(ahead, node):
            made = self.generic_visit(node)
        return [*ahead, made]

    visit_Return = simple

    def visit_Expr(self, node: ast.Expr) -> Any:
        match node.value:
            case ast.Call(func=ast.Attribute(ast.Name(id=name), "setdefault"), args=[key, _]) if name in self.tables:
                return self.asked_for(name, key, node) if self.is_there(name, key) else self.simple(node)[:-1]
            case ast.Call(func=ast.Attribute(ast.Name(id=name), "add"), args=[key], keywords=[]) if name in self.tables:
                return self.member(name, key, node)
            case ast.Call(func=ast.Attribute(ast.Name(id=name), "remove" | "discard" as attr), args=[key]) if (
                name in self.tables and self.tables[name].is_set
            ):
                return discarded(self, name, key, node, attr == "discard") or self.failed(node)
            case ast.Call(func=ast.Attribute(ast.Name(id=name), "clear"), args=[], keywords=[]) if name in self.tables:
                return without_keys(self, name, node) or self.failed(node)
            case ast.Call(ast.Attribute(ast.Name(id=name), "pop"), [key, ast.Constant(value=None)], []) if (
                name in self.tables
            ):
                return discarded(self, name, key, node, True) or self.failed(node)
            case ast.Call(ast.Attribute(ast.Name(id=name), "pop"), [_, *_], []) if name in self.tables:
                return self.simple(node)[:-1]
            case ast.Call(func=ast.Attribute(own, "append"), args=[item], keywords=[]) if (
                name := dictionary_of_list(own, self.tables)
            ) is not None:
                return self.list_grown(name, own, item, node)
            case _:
                return self.simple(node)

    def asked_for(self, name: str, key: ast.expr, node: ast.Expr) -> list[ast.stmt]:
        """`d.setdefault(key, value)` where nobody may give it a key: that has to be there."""
        ahead: list[ast.stmt] = []
        with self.before(ahead, node):
            self.held("place", self.place_there(self.tables[name], key, node))
        return ahead

    def member(self, name: str, key: ast.expr, node: ast.Expr) -> Any:
        """`s.add(key)` of a set."""
        ahead: list[ast.stmt] = []
        if not self.tables[name].is_set:
            return self.failed(node)
        with self.before(ahead, node):
            self.made_there(name, key, ast.copy_location(ast.Constant(1), node), node, in_turn=True)
        return ahead

    def visit_Delete(self, node: ast.Delete) -> Any:
        match node.targets:
            case [ast.Subscript(value=ast.Name(id=name), slice=key)] if name in self.tables:
                return discarded(self, name, key, node, may_miss=False) or self.failed(node)
            case _:
                return self.generic_visit(node)

    def visit_Assert(self, node: ast.Assert) -> Any:
        ahead: list[ast.stmt] = []
        with self.before(ahead, node.test):
            node.test = self.truth(node.test)
        return [*ahead, node]

    # -- assignments -----------------------------------------------------------------------------------------
    def visit_Assign(self, node: ast.Assign) -> Any:
        stores = [t for t in node.targets if isinstance(t, ast.Subscript) and self.table(t.value) is not None]
        match node.targets:
            case [ast.Name(id=name)] if name in self.tables and self.table(node.value) is not None:
                assert isinstance(node.value, ast.Name)
                return taking_over(self, name, node.value.id, node) or self.failed(node)
            case [ast.Name(id=name)] if name in self.tables:
                return self.begun(name, node)
            case [ast.Subscript(value=ast.Name(id=name), slice=key)] if stores:
                return self.stored(name, key, node.value, node)
            case [ast.Tuple(elts=elts)] if any(self.table(e) for e in elts):
                return self.begun_together(elts, node)
            case [ast.Tuple(elts=elts)] if any(isinstance(e, ast.Subscript) and self.table(e.value) for e in elts):
                return self.each_stored(elts, node.value, node)
            case _ if stores:
                return self.failed(node)
            case _:
                ahead: list[ast.stmt] = []
                with self.before(ahead, node):
                    node.value = self.part(node.value)
                    node.targets = [self.part(t) for t in node.targets]
                return [*ahead, node]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if self.table(node.target) is None or node.value is None:
            return self.simple(node)
        return self.visit_Assign(ast.copy_location(ast.Assign([node.target], node.value), node))

    def each_stored(self, targets: Sequence[ast.expr], value: ast.expr, node: ast.stmt) -> Any:
        """`d[a], d[b] = value`: one after the other, when all values are there."""
        if any(isinstance(t, ast.Starred | ast.Tuple | ast.List) for t in targets):
            return self.failed(node)
        names = [self.name("item") for _ in targets]
        found = as_list(self.simple(statements_of(f"{', '.join(names)} = VALUE", node, VALUE=value)[0]))
        for name, target in zip(names, targets, strict=True):
            found += as_list(self.visit(ast.copy_location(ast.Assign([target], load_of(name)), node)))
        return found

    def begun_together(self, targets: Sequence[ast.expr], node: ast.Assign) -> Any:
        """`a, b = {}, e`: what is empty can be made first."""
        if not isinstance(node.value, ast.Tuple):
            return self.failed(node)
        pairs = list(zip(targets, node.value.elts, strict=True))
        found: list[ast.stmt] = []
        for target, value in pairs:
            if self.table(target) is not None:
                found += self.visit(ast.copy_location(ast.Assign([target], value), node))
        rest = [pair for pair in pairs if self.table(pair[0]) is None]
        if rest:
            left = ast.Tuple([t for t, _ in rest], ast.Store()), ast.Tuple([v for _, v in rest], ast.Load())
            stmt = ast.Assign([left[0]], left[1])
            found += as_list(self.visit(ast.fix_missing_locations(ast.copy_location(stmt, node))))
        return found

    def begun(self, name: str, node: ast.Assign) -> Any:
        """`d = {...}`."""
        made, table = making(node.value, self.outer), self.tables[name]
        if made is None or name in self.inside or any(name == own for own, _ in self.there):
            return self.failed(node)
        if made.each is not None and self.is_asked(made.each, name):
            return self.made_of_itself(name, made.each, node)
        lists: list[ast.stmt] = []
        for own in lists_of(table):
            empty = ast.copy_location(ast.List([], ast.Load()), node.value)
            lists.append(ast.copy_location(ast.Assign([ast.Name(own, ast.Store())], empty), node))
        lists += statements_of(f"{table.heads} = {self.function(np.full)}({keyed.BUCKETS}, -1)", node)
        ahead: list[ast.stmt] = []
        with self.before(ahead, node):
            pairs = [
                (self.held_key(table, key), self.held("item", self.part(value), in_turn=True))
                for key, value in made.first
            ]
        found = [*ahead, *lists]
        if pairs and table.owners is not None:
            return self.failed(node)
        for parts, value in pairs:
            found += self.put(table, parts, value, node)
        return found + self.block([*self.filling(name, made, node)])

    def made_of_itself(self, name: str, each: ast.expr, node: ast.Assign) -> Any:
        """`d = {k: f(v) for k, v in d.items()}`: other values in the same places."""
        match each:
            case ast.DictComp(
                key=ast.Name(id=key),
                value=value,
                generators=[ast.comprehension(target=ast.Tuple(elts=[ast.Name(id=first), _]), iter=over, ifs=[])],
            ) if key == first and not self.is_asked(value, name) and ast.unparse(over) == f"{name}.items()":
                return self.block(self.filling(name, Making(each=each), node))
            case _:
                return self.failed(node)

    def filling(self, name: str, made: Making, node: ast.Assign) -> list[ast.stmt]:
        """Loops that do what a comprehension does, or that count."""
        match made.each:
            case None:
                return []
            case ast.DictComp(generators=parts) | ast.SetComp(generators=parts) as each:
                values = (each.key, each.value) if isinstance(each, ast.DictComp) else (each.elt,)
                names = {n.id for p in parts for n in syntax_nodes(p.target) if isinstance(n, ast.Name)}
                if any(is_bound_in(n, names) for n in (*values, *(t for p in parts for t in (p.iter, *p.ifs)))):
                    return self.failed([])
                own = Filled({n: load_of(self.name(n)) for n in names})
                overs = [parts[0].iter, *(own.visit(p.iter) for p in parts[1:])]
                body: list[ast.stmt] = [own.visit(s) for s in self.stored_in_turn(name, values, node)]
                for part, over in zip(reversed(parts), reversed(overs), strict=True):
                    for test in reversed(part.ifs):
                        body = [ast.If(own.visit(test), body, [])]
                    body = [ast.For(as_target(own.visit(part.target)), over, body, [])]
            case over:
                item = self.name("each")
                if dictionary_view(self, over) is not None:  # its values count, not its keys
                    return self.failed([])
                is_new = isinstance(over, ast.ListComp) or (made.is_set and isinstance(over, ast.Call))
                over = over if is_new else expression_of("OVER[:]", over, OVER=over)
                stored = f"{name}.add({item})" if made.is_set else f"{name}[{item}] += 1"
                body = statements_of(f"for {item} in OVER:\n    {stored}", node, OVER=over)
        return [ast.fix_missing_locations(ast.copy_location(s, node)) for s in body]

    def stored_in_turn(self, name: str, values: Sequence[ast.expr], node: ast.stmt) -> list[ast.stmt]:
        """What `key: value` of a comprehension does: unlike `d[key] = value` it evaluates the key first; or the item of
        a set."""
        if len(values) == 1:
            return statements_of(f"{name}.add(KEY)", node, KEY=values[0])
        key, value = values
        if isinstance(value, ast.List) and not value.elts:  # nothing is in any of the lists yet
            return statements_of(f"{name}.setdefault(KEY, [])", node, KEY=key)
        if not any(self.is_change(n) or self.added_to(n) is not None for e in (key, value) for n in syntax_nodes(e)):
            return statements_of(f"{name}[KEY] = VALUE", node, KEY=key, VALUE=value)
        parts = key.elts if isinstance(key, ast.Tuple) else [key]
        names = [self.name("key") for _ in parts]
        held = [s for n, p in zip(names, parts, strict=True) for s in statements_of(f"{n} = PART", p, PART=p)]
        return [*held, *statements_of(f"{name}[{', '.join(names)}] = VALUE", node, VALUE=value)]

    def stored(self, name: str, key: ast.expr, value: ast.expr, node: ast.stmt) -> Any:
        """`d[key] = value`: Python evaluates the value first."""
        table, ahead = self.tables[name], list[ast.stmt]()
        if table.is_set:
            return self.failed(node)
        if isinstance(value, ast.Constant) and not table.is_read:  # it may be a truth value, which no list holds
            value = ast.copy_location(ast.Constant(1), value)
        with self.before(ahead, key, value):
            given = self.held("item", self.part(value), in_turn=True)
            if table.owners is not None:
                return self.list_stored(table, name, key, given, node)
            if self.is_there(name, key):
                at = self.place_there(table, key, node)
                return [*ahead, *statements_of(f"{table.values}[PLACE] = VALUE", node, PLACE=at, VALUE=given)]
            parts = self.held_key(table, key)
        return [*ahead, *self.put(table, parts, given, node)]

    def list_stored(self, table: Table, name: str, key: ast.expr, given: ast.expr, node: ast.stmt) -> Any:
        """`d[key] = [...]`: what the key had before belongs to nobody."""
        if self.ahead is None or not isinstance(given, ast.List) or name in self.inside:
            return self.failed(node)
        empty = ast.copy_location(ast.List([], ast.Load()), given)
        place, each = self.made_there(name, key, empty, node, in_turn=True), self.name("each")
        if not isinstance(place, ast.Name):
            return node
        text = f"for {each} in {self.function(range)}({self.function(len)}({table.owners})):\n"
        text += f"    if {table.owners}[{each}] == {place.id}:\n        {table.owners}[{each}] = -2"
        return [*self.ahead, *statements_of(text, node), *self.appended(table, place.id, given.elts, node)]

    def list_grown(self, name: str, own: ast.expr, item: ast.expr, node: ast.stmt) -> Any:
        """`d[key].append(item)`."""
        table, ahead = self.tables[name], list[ast.stmt]()
        with self.before(ahead, node):
            match own:
                case ast.Subscript(slice=key) if table.missing is not None and not self.is_there(name, key):
                    place = self.made_there(name, key, table.missing, node, in_turn=True)
                case ast.Subscript(slice=key):
                    place = self.held("place", self.place_there(table, key, node))
                case ast.Call(args=[key, value]):
                    place = self.made_there(name, key, value, node, in_turn=True)
                case _:
                    return self.failed(node)
            item = self.part(item)
        return [*ahead, *self.appended(table, place.id, [item], node)] if isinstance(place, ast.Name) else node

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        match node.target:
            case ast.Subscript(value=ast.Name(id=name), slice=key) if name in self.tables:
                table = self.tables[name]
            case _:
                return self.simple(node)
        if table.owners is not None or table.is_set:
            return self.failed(node)
        ahead: list[ast.stmt] = []
        with self.before(ahead, *((key, node.value) if table.adds else (node,))):
            if table.missing is None or self.is_there(name, key):
                at, node.value = self.place_there(table, key, node), self.part(node.value)
            elif table.adds or not self.is_steady:
                at, node.value = self.made_there(name, key, table.missing, node, in_turn=True), self.part(node.value)
            else:
                node.value = self.held("item", self.part(node.value))
                at = self.made_there(name, key, table.missing, node, in_turn=True)
        place = expression_of(f"{table.values}[PLACE]", node.target, PLACE=at)
        assert isinstance(place, ast.Subscript)
        place.ctx = ast.Store()
        node.target = place
        return [*ahead, node]

    # -- ways ------------------------------------------------------------------------------------------------
    def visit_If(self, node: ast.If) -> Any:
        ahead: list[ast.stmt] = []
        with self.before(ahead, node.test):
            node.test = self.truth(node.test)
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        return [*ahead, node]

    def visit_While(self, node: ast.While) -> Any:
        """What is asked of dictionaries behind other conditions is asked in the loop, so that these bound it."""
        match node:
            case ast.While(test=ast.BoolOp(ast.And(), [first, *others]), orelse=[]) if not self.is_asked(first):
                left = others[0] if len(others) == 1 else ast.copy_location(ast.BoolOp(ast.And(), others), others[0])
                if self.is_asked(left):
                    node.test = first
                    node.body = [*statements_of("if not LEFT:\n    break", left, LEFT=left), *node.body]
            case _:
                pass
        with self.before(None):
            node.test = self.truth(node.test)
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        return node

    def is_asked(self, node: ast.expr, name: str = "") -> bool:
        found = {n.id for n in syntax_nodes(node) if isinstance(n, ast.Name) and n.id in self.tables}
        return name in found if name else bool(found)

    def visit_For(self, node: ast.For) -> Any:
        ahead: list[ast.stmt] = []
        if any(self.is_asked(node.iter, n) and grows_in(node.body, n) for n, t in self.tables.items() if t.owners):
            return self.failed(node)
        found = gone_through(self, node.target, node.iter)
        with self.before(ahead, node.iter):
            node.target, node.iter = found.target, self.part(found.over)
        first = [s for n, value in found.named.items() for s in statements_of(f"{n} = VALUE", node.target, VALUE=value)]
        if self.is_late(found, node.body):
            return self.failed(node)
        stored = {n.id for stmt in node.body for n in syntax_nodes(stmt) if isinstance(n, ast.Name) and is_store(n)}
        there = tuple((name, keys) for name, keys in found.there if stored.isdisjoint(keys))
        with self.over(replace(found, there=there)):
            node.body = [*first, *self.block(node.body)]
        node.orelse = self.block(node.orelse)
        return [*ahead, node]

    def is_late(self, found: Round, body: Sequence[ast.stmt]) -> bool:
        """Whether the loop, which finds values of a copy in the dictionary, may find there what it put into it."""
        if not found.named or found.inside:
            return False
        return any(self.is_put(n, own, keys) for own, keys in found.there for stmt in body for n in syntax_nodes(stmt))

    def is_put(self, node: ast.AST, own: str, keys: Sequence[str]) -> bool:
        """Whether `node` changes the dictionary, but for the value of the key in hand."""
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Name(id=key), ctx=ast.Store()) if name == own:
                return (key,) != tuple(keys)
            case (
                ast.Subscript(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()) | ast.Name(id=name, ctx=ast.Store())
            ):
                return name == own or name in keys
            case ast.Call(func=ast.Attribute() as func):
                return is_named(owner_of(func), own) and func.attr not in ("get", "keys", "values", "items")
            case _:
                return False


def is_named(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def is_store(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def as_target(node: ast.expr) -> ast.expr:
    """`node` as what a loop binds."""
    for inner in syntax_nodes(node):
        if isinstance(inner, ast.Name | ast.Tuple | ast.List | ast.Starred):
            inner.ctx = ast.Store()
    return node
