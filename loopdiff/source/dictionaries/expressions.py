"""What is asked of dictionaries, where these are lists."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from loopdiff.numpy_functions import keyed
from loopdiff.source.dictionaries.iteration import dictionary_view, gone_through
from loopdiff.source.dictionaries.parts import Filled, Rewriting, expression_of, is_bound_in, load_of
from loopdiff.source.dictionaries.removing import removed
from loopdiff.source.dictionaries.tables import Table
from loopdiff.source.nodes import syntax_nodes

GATHERING = (len, sum, max, min, any, all, sorted, list, tuple, enumerate, zip, reversed)
VALUES = ("elt", "key", "value")  # of comprehensions


class Expressions(Rewriting):
    """Writes expressions."""

    def truth(self, node: ast.expr) -> ast.expr:
        """A condition: of a dictionary, whether there is anything in it."""
        match node:
            case ast.Name(id=name) if name in self.tables:
                return expression_of(f"{self.function(len)}({self.tables[name].keys[0]}) > 0", node)
            case ast.UnaryOp(op=ast.Not()):
                node.operand = self.truth(node.operand)
                return node
            case ast.BoolOp(op=op, values=[first, *others]):
                known = asked_keys(first) if isinstance(op, ast.And) else ()
                with self.before(self.ahead):
                    first = self.truth(first)
                with self.before(None), self.knowing(known):
                    node.values = [first, *map(self.truth, others)]
                return node
            case _:
                return self.part(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        first, *others = node.values
        node.values = [self.part(first), *map(self.perhaps, others)]
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        with self.knowing(asked_keys(node.test)):
            node.body = self.perhaps(node.body)
        node.test, node.orelse = self.truth(node.test), self.perhaps(node.orelse)
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        node.operand = self.truth(node.operand) if isinstance(node.op, ast.Not) else self.part(node.operand)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        with self.before(None), self.rebinding({n.arg for n in syntax_nodes(node.args) if isinstance(n, ast.arg)}):
            return self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """`key in d`."""
        match node:
            case ast.Compare(left=key, ops=[ast.In() | ast.NotIn() as op], comparators=[own]) if (
                (view := dictionary_view(self, own)) is not None and view.part == "keys" and not view.is_copied
            ):
                table = self.tables[view.name]
                place = self.place_of(table, self.key_parts(table, key), node)
                return expression_of(f"PLACE {'>=' if isinstance(op, ast.In) else '<'} 0", node, PLACE=place)
            case _:
                return self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        table = self.table(node.value)
        if table is None or not isinstance(node.ctx, ast.Load):
            return self.generic_visit(node)
        assert isinstance(node.value, ast.Name)
        return self.value_at(table, node.value.id, node.slice, node)

    def value_at(self, table: Table, own: str, key: ast.expr, node: ast.expr) -> ast.expr:
        """`d[key]`, which a `defaultdict` gets if it does not have it, but for one that a loop goes over."""
        if table.is_set:
            return self.failed(node)
        if table.missing is not None and not table.adds:
            place = self.place_of(table, self.key_parts(table, key), node)
            return self.value_or(table, place, table.missing, node)
        if table.missing is None or self.is_there(own, key):
            place = self.place_there(table, key, node)
        else:
            place = self.made_there(own, key, table.missing, node)
        return self.value_in(table, place, node, not self.is_known(own, key))

    def value_or(self, table: Table, place: ast.expr, other: ast.expr, node: ast.expr) -> ast.expr:
        if table.owners is not None:  # no item belongs to a key that is not there
            return self.value_in(table, place, node, may_fail=False) if is_empty(other) else self.failed(node)
        called = self.function(keyed.value_or)
        return expression_of(f"{called}({table.values}, PLACE, OTHER)", node, PLACE=place, OTHER=other)

    # -- calls -----------------------------------------------------------------------------------------------
    def visit_Call(self, node: ast.Call) -> ast.AST:
        match node:
            case ast.Call(func=ast.Attribute(ast.Name(id=name), attr), args=args, keywords=[]) if name in self.tables:
                return self.method(name, attr, args, node)
            case ast.Call(args=[own], keywords=[ast.keyword(arg="key", value=key)]) if (
                (self.value(node.func) is max or self.value(node.func) is min)
                and (view := dictionary_view(self, own)) is not None
                and view.part != "values"
                and not view.is_copied
            ):
                return self.best(view.name, view.part, key, node)
            case ast.Call(func=called, args=args) if self.is_harmless(node):
                node.args = [self.gathered(a, self.value(called)) for a in args]
                return self.generic_visit(node)
            case _:
                return self.generic_visit(node)

    def gathered(self, node: ast.expr, called: Any) -> ast.expr:
        """An argument of a function that goes through it, or asks how long it is: it takes no copy then."""
        view = dictionary_view(self, node)
        if view is None or view.is_sorted or (view.is_copied and (called is list or called is tuple)):
            return node
        table = self.tables[view.name]
        if table.is_set and called not in (len, min, max, sorted):
            return self.failed(node)
        columns = table.keys if view.part == "keys" or table.owners is not None else (table.values,)
        if table.owners is not None and view.part != "keys" and called is not len:
            return node
        is_list = called is len or (
            len(columns) == 1 and view.part != "items" and (called in GATHERING or view.is_copied)
        )
        return expression_of(columns[0], node) if is_list else node

    def method(self, name: str, attr: str, args: Sequence[ast.expr], node: ast.Call) -> ast.expr:
        table = self.tables[name]
        if table.is_set:
            return self.failed(node)
        match attr, args:
            case "get", [key, other]:
                place = self.place_of(table, self.key_parts(table, key), node)
                return self.value_or(table, place, self.part(other), node)
            case "get", [key] if isinstance(node.func, ast.Attribute) and table.missing is not None:
                return self.failed(node)
            case "setdefault", [key, value]:
                is_there = self.is_there(name, key)
                place = self.place_there(table, key, node) if is_there else self.made_there(name, key, value, node)
                return self.value_in(table, place, node, not self.is_known(name, key))
            case "pop", [_, ast.Constant(value=None)]:
                return self.failed(node)  # what it gives may be None
            case "pop", [_] | [_, _]:
                return removed(self, name, args, node)
            case "keys", [] if len(table.keys) == 1:
                return expression_of(table.keys[0], node)
            case "values", [] if table.owners is None:
                return expression_of(table.values, node)
            case _:
                return self.failed(node)

    def best(self, name: str, part: str, key: ast.expr, node: ast.Call) -> ast.expr:
        """`max(d, key=d.get)`, `max(d.items(), key=lambda pair: ...)`."""
        table, at = self.tables[name], self.name("place")
        if table.is_set or (table.owners is not None and part == "items"):
            return self.failed(node)
        keys = [f"{k}[PLACE]" for k in table.keys]
        whole = f"({', '.join(keys)})" if len(keys) > 1 else keys[0]
        whole = f"({whole}, {table.values}[PLACE])" if part == "items" else whole
        match key:
            case ast.Attribute(ast.Name(id=own), "get") if own == name and part == "keys":
                rank = expression_of(f"{table.values}[{at}]", key)
            case ast.Lambda(args=ast.arguments(args=[ast.arg(arg=each)], defaults=[]), body=body) if not is_bound_in(
                body, [each]
            ):
                item = expression_of(whole, key, PLACE=load_of(at))
                with self.knowing(((name, (each,)),) if part == "keys" else ()):
                    rank = Filled({each: item}).visit(self.perhaps(body))
            case _:
                return self.failed(node)
        text = f"{self.function(range)}({self.function(len)}({table.keys[0]}))"
        over, by = expression_of(text, node), expression_of(f"lambda {at}: RANK", node, RANK=rank)
        found: ast.expr = ast.copy_location(ast.Call(node.func, [over], [ast.keyword("key", by)]), node)
        if len(keys) > 1 or part == "items":
            found = self.held("place", found) if self.ahead is not None and self.is_steady else found
        return expression_of(whole, node, PLACE=found)

    # -- comprehensions ----------------------------------------------------------------------------------------
    def comprehension(self, node: Any) -> ast.AST:
        """The first of what it goes over is evaluated at once."""
        outer, ahead = (self.inside, self.there), self.ahead
        for k, part in enumerate(node.generators):
            found = gone_through(self, part.target, part.iter)
            with self.before(ahead if k == 0 and self.is_steady else None):
                part.target, part.iter = found.target, self.part(found.over)
            rest = [*part.ifs, *node.generators[k + 1 :], *(getattr(node, f) for f in VALUES if hasattr(node, f))]
            if any(is_bound_in(n, found.named) for n in rest):
                return self.failed(node)
            self.fill(node, k, Filled(found.named))
            bound = {n.id for n in syntax_nodes(part.target) if isinstance(n, ast.Name)} | found.named.keys()
            known = tuple(one for one in self.there if bound.isdisjoint(one[1]))
            self.inside, self.there = (*self.inside, *found.inside), (*known, *found.there)
            with self.before(None):
                part.ifs = [self.truth(test) for test in part.ifs]
        for field in VALUES:
            if hasattr(node, field):
                setattr(node, field, self.perhaps(getattr(node, field)))
        self.inside, self.there = outer
        return node

    def fill(self, node: Any, k: int, named: Filled) -> None:
        """Write what names stand for that the part `k` of a comprehension binds."""
        part, later = node.generators[k], node.generators[k + 1 :]
        part.ifs = [named.visit(test) for test in part.ifs]
        for other in later:
            other.iter, other.ifs = named.visit(other.iter), [named.visit(test) for test in other.ifs]
        for field in VALUES:
            if hasattr(node, field):
                setattr(node, field, named.visit(getattr(node, field)))

    visit_ListComp = visit_GeneratorExp = visit_DictComp = visit_SetComp = comprehension


def asked_keys(node: ast.expr) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The dictionary and the name of a key that it has where `node` is true, if this is `key in d`."""
    match node:
        case ast.Compare(left=ast.Name(id=key), ops=[ast.In()], comparators=[ast.Name(id=own)]):
            return ((own, (key,)),)
        case _:
            return ()


def is_empty(node: ast.expr) -> bool:
    return isinstance(node, ast.List | ast.Tuple) and not node.elts
