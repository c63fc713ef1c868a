"""Expressions that ask lists, and those that move their elements: by statements ahead of the one that they stand in."""

from __future__ import annotations

import ast
import heapq
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import Any

from loopdiff.numpy_functions import arranging
from loopdiff.source.dictionaries.parts import expression_of, load_of
from loopdiff.source.harmless import changes_nothing
from loopdiff.source.lists.found import NUMBERS
from loopdiff.source.lists.keys import key_expressions
from loopdiff.source.lists.places import Places
from loopdiff.source.lists.uses import READING, holders, mentions
from loopdiff.source.nodes import syntax_nodes

ENDS = ("", "0", "-1")


class Moving(Places):
    """Writes expressions: what only reads where it stands, and what moves elements ahead of its statement."""

    # -- reading ---------------------------------------------------------------------------------------------
    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        first, *later = node.comparators
        node.left = self.visit(node.left)
        node.comparators = [self.visit(first), *map(self.perhaps, later)]  # those only where what is before holds
        match node:
            case ast.Compare(left, [ast.In() | ast.NotIn() as op], [ast.Name(id=name) as own]) if (
                found := self.listed(own)
            ) is not None and found.width == NUMBERS:
                self.changed.add(name)
                there = expression_of(f"{self.function(arranging.is_in)}({name}, ITEM)", node, ITEM=left)
                return there if isinstance(op, ast.In) else ast.copy_location(ast.UnaryOp(ast.Not(), there), node)
            case _:
                return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        match node:
            case ast.Call(ast.Attribute(ast.Name(id=name) as own, "index" | "count" as attr), [item], []) if (
                found := self.listed(own)
            ) is not None and found.width == NUMBERS:
                self.changed.add(name)
                asked = self.function(arranging.place_in if attr == "index" else arranging.count_in)
                return expression_of(f"{asked}({name}, ITEM)", node, ITEM=self.visit(item))
            case _ if (write := self.writer_of(node)) is not None:
                if self.ahead is None:
                    return self.failed(node)
                return write(node)
            case _:
                return self.generic_visit(node)

    # -- when ------------------------------------------------------------------------------------------------
    @contextmanager
    def before(self, ahead: list[ast.stmt] | None) -> Any:
        outer, self.ahead = self.ahead, ahead
        try:
            yield
        finally:
            self.ahead = outer

    def perhaps(self, node: Any) -> Any:
        """What may not be evaluated when the statement is, or several times."""
        with self.before(None):
            return self.visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        first, *later = node.values
        node.values = [self.visit(first), *map(self.perhaps, later)]
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        node.test = self.visit(node.test)
        node.body, node.orelse = self.perhaps(node.body), self.perhaps(node.orelse)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return self.perhaps_generic(node)

    def perhaps_generic(self, node: Any) -> Any:
        with self.before(None):
            return self.generic_visit(node)

    def comprehension_of(self, node: Any) -> ast.AST:
        first = node.generators[0]
        first.iter = over = self.visit(first.iter)
        first.iter = ast.Constant(0)
        self.perhaps_generic(node)
        first.iter = over
        return node

    visit_ListComp = comprehension_of
    visit_GeneratorExp = comprehension_of
    visit_SetComp = comprehension_of
    visit_DictComp = comprehension_of

    def in_turn(self, node: ast.expr, stmt: ast.stmt) -> tuple[ast.expr, list[ast.stmt]]:
        """`node`, the expression of `stmt` that is evaluated first, and what runs ahead of it."""
        ahead: list[ast.stmt] = []
        calls = [n for n in syntax_nodes(node) if isinstance(n, ast.Call)]
        moving = [n for n in calls if self.writer_of(n) is not None]
        changed = {n.id for call in moving if not self.only_reads(call) for n in call_lists(call) if self.listed(n)}
        asked = {n.id for call in moving for n in syntax_nodes(call) if isinstance(n, ast.Name) and self.listed(n)}
        inside = {id(n) for call in moving for n in syntax_nodes(call)}
        around = {id(c) for c in calls for n in syntax_nodes(c) if n in moving}
        others = [c for c in calls if id(c) not in inside | around]
        if moving:
            self.has_failed |= asks_before(stmt, moving, holders(self.lists, changed))
            self.has_failed |= any(isinstance(n, ast.NamedExpr) for n in syntax_nodes(node))
            held = holders(self.lists, asked)
            self.has_failed |= not all(self.is_harmless(c, held) for c in others)
        with self.before(ahead):
            found = self.visit(node)
        return found, ahead

    def is_harmless(self, call: ast.Call, asked: set[str]) -> bool:
        """Whether `call` changes nothing, or a list that is none of those that are `asked` ahead of it."""
        match call.func:
            case ast.Attribute(value=ast.Name(id=name) as own, attr=attr) if self.listed(own) is not None:
                return attr in READING or name not in asked
            case func:
                return changes_nothing(self.lists.value_of(func), call)

    # -- moving ----------------------------------------------------------------------------------------------
    def writer_of(self, node: ast.AST) -> Callable[[Any], ast.expr] | None:
        """What writes the call `node` as statements ahead, and a name for what it gives; None for other nodes."""
        match node:
            case ast.Call(ast.Attribute(own, "pop"), [place], []) if self.listed(own) is not None:
                return None if ast.unparse(place) in ENDS else self.popped
            case ast.Call(func=ast.Attribute() | ast.Name() as func, args=args):
                return self.writer_of_function(self.lists.value_of(func), args, node)
            case _:
                return None

    def writer_of_function(self, value: Any, args: Sequence[ast.expr], node: ast.Call) -> Any:
        named = {k.arg for k in node.keywords}
        if any(isinstance(a, ast.Starred) for a in args):
            return None
        if value is heapq.heappop and len(args) == 1 and self.listed(args[0]) is not None:
            return self.taken_from_heap
        if value is heapq.heappushpop and len(args) == 2 and self.listed(args[0]) is not None:
            return self.pushed_and_taken
        if value in (heapq.nsmallest, heapq.nlargest) and len(args) == 2 and named <= {"key"}:
            return self.smallest
        if len(args) != 1 or (isinstance(args[0], ast.Name) and args[0].id in self.dictionaries):
            return None
        are_tuples = self.lists.items_width(args[0]) > NUMBERS
        if value is sorted and not named and ast.unparse(args[0]).endswith(".items()"):
            return None  # of a dictionary, whose keys are sorted
        if value is sorted and named <= {"reverse"} and self.is_set(args[0]):
            return None  # whose keys are sorted, too
        if value is sorted and named <= {"key", "reverse"} and (named or are_tuples):
            return self.in_order
        if (value is min or value is max) and named <= {"key"} and (named or are_tuples):
            return self.chosen
        return None

    def is_set(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and self.lists.value_of(node.func) is set

    def only_reads(self, node: ast.Call) -> bool:
        value = self.lists.value_of(node.func) if isinstance(node.func, ast.Name | ast.Attribute) else None
        return any(value is f for f in (sorted, min, max, heapq.nsmallest, heapq.nlargest))

    def popped(self, node: ast.Call) -> ast.expr:
        """`v.pop(k)`."""
        assert isinstance(node.func, ast.Attribute)
        assert isinstance(node.func.value, ast.Name)
        name, given = node.func.value.id, self.new("taken")
        self.changed.add(name)
        text = f"{self.function(arranging.place_to_end)}(PLACE, {name})\n{given} = {name}.pop()"
        place = self.visit(node.args[0])
        self.put_ahead(self.written(text, node, PLACE=place))
        return ast.copy_location(load_of(given), node)

    def put_ahead(self, stmts: list[ast.stmt]) -> None:
        assert self.ahead is not None
        self.ahead += stmts

    def taken_from_heap(self, node: ast.Call) -> ast.expr:
        """`heappop(v)`."""
        name, given = ast.unparse(node.args[0]), self.new("taken")
        self.changed.add(name)
        text = f"{self.function(arranging.least_to_end)}({name})\n{given} = {name}.pop()"
        self.put_ahead(self.written(text, node))
        return ast.copy_location(load_of(given), node)

    def pushed_and_taken(self, node: ast.Call) -> ast.expr:
        """`heappushpop(v, item)`: what comes and is less than all goes again at once."""
        return self.failed(node)

    def collected(self, over: ast.expr, node: ast.AST, stem: str) -> str:
        """A list of what a loop over `over` finds."""
        width = self.lists.items_width(over)
        name = self.new_list(stem, width)
        each = [self.new("each") for _ in range(max(width, 1))]
        target = ", ".join(each)
        text = f"{name} = []\nfor {target} in OVER:\n    {name}.append(({target}))"
        self.put_ahead(self.written(text, node, OVER=self.visit(over)))
        return name

    def keys_of(self, name: str, key: ast.expr | None, node: ast.AST) -> list[str]:
        """Lists of what `key` gives for the elements of the list `name`: that itself if there is no key."""
        if key is None or (isinstance(key, ast.Constant) and key.value is None):
            return [name]
        each = self.new("each")
        found = key_expressions(key, each, self.lists.value_of)
        has_calls = any(isinstance(n, ast.Call) for e in found or () for n in syntax_nodes(e))
        if found is None or (len(found) > 1 and has_calls) or mentions(key, name):
            self.failed(node)
            return [name]
        names = [self.new("key") for _ in found]
        for own, value in zip(names, found, strict=True):
            text = f"{own} = [VALUE for {each} in {name}]"
            self.put_ahead(self.written(text, node, VALUE=self.perhaps(value)))
        return names

    def sorted_in_place(self, name: str, keywords: Sequence[ast.keyword], node: ast.AST) -> None:
        """The elements of the list `name` are put in order, ahead."""
        assert self.ahead is not None
        given = {k.arg: k.value for k in keywords}
        descending = self.held(self.visit(given.get("reverse", ast.Constant(False))), "reverse", self.ahead)
        keys, order = self.keys_of(name, given.get("key"), node), self.new("order")
        text = f"{order} = {self.function(arranging.order_of)}(REVERSE, {', '.join(keys)})\n"
        text += f"{self.function(arranging.put_in_order)}({order}, {name})"
        self.changed.add(name)
        self.put_ahead(self.written(text, node, REVERSE=descending))

    def in_order(self, node: ast.Call) -> ast.expr:
        """`sorted(over, key=..., reverse=...)`."""
        name = self.collected(node.args[0], node, "ordered")
        self.sorted_in_place(name, node.keywords, node)
        return ast.copy_location(load_of(name), node)

    def smallest(self, node: ast.Call) -> ast.expr:
        """`nsmallest(n, over)`: the first of what is in order."""
        assert self.ahead is not None
        count = self.held(self.visit(node.args[0]), "count", self.ahead)
        name = self.collected(node.args[1], node, "ordered")
        is_last = self.lists.value_of(node.func) is heapq.nlargest
        reverse = [ast.keyword("reverse", ast.Constant(is_last))]
        self.sorted_in_place(name, [*node.keywords, *reverse], node)
        self.put_ahead(
            self.written(f"while len({name}) > 0 and len({name}) > COUNT:\n    {name}.pop()", node, COUNT=count)
        )
        return ast.copy_location(load_of(name), node)

    def chosen(self, node: ast.Call) -> ast.expr:
        """`min(over, key=...)`, `max(over, key=...)`: the first of the least or greatest."""
        name = self.collected(node.args[0], node, "choices")
        keys, place = self.keys_of(name, next((k.value for k in node.keywords), None), node), self.new("place")
        is_greatest = self.lists.value_of(node.func) is max
        text = f"{place} = {self.function(arranging.first_of)}({is_greatest}, {', '.join(keys)})"
        self.put_ahead(self.written(text, node))
        return expression_of(f"{name}[{place}]", node)


def call_lists(node: ast.Call) -> list[ast.Name]:
    """Names of lists that a call may change."""
    owner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
    return [n for n in (*owner, *node.args) if isinstance(n, ast.Name)]


def asks_before(stmt: ast.stmt, moving: Sequence[ast.Call], names: set[str]) -> bool:
    """Whether `stmt` may mention lists of `names` before the calls `moving` change them, which are not evaluated before
    the rest, but ahead."""
    own = {id(n) for call in moving for n in syntax_nodes(call)}
    targets = stmt.targets if isinstance(stmt, ast.Assign) else []
    later = {id(n) for target in targets for n in syntax_nodes(target)}
    rest = [n for n in syntax_nodes(stmt) if isinstance(n, ast.Name) and n.id in names and id(n) not in own | later]
    end = max((call.end_lineno or 0, call.end_col_offset or 0) for call in moving)
    return any((n.lineno, n.col_offset) < end for n in rest)
