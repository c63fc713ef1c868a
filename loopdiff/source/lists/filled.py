"""Lists of None that get arrays one after the other, as `g = [None] * n` and `g[i] = h @ x` in a loop: as lists that
grow, turned round if the last array comes first. That each one is the next, and that all are there where somebody asks
for others than those that are, is checked when it runs."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from loopdiff.immutable import replace
from loopdiff.source.dictionaries.parts import expression_of, statements_of
from loopdiff.source.dictionaries.tables import value_in
from loopdiff.source.functions import SourceFunction
from loopdiff.source.lists.missing import as_numbers, in_turn, is_nothing, is_question, names_of_missing
from loopdiff.source.nodes import copied_tree, direct_call, syntax_children, syntax_nodes
from loopdiff.source.scopes import Comprehension, Function, bound_within, fresh, stores_among, words_in

IN_TURN = "gets its arrays one after the other"
ALL_THERE = "TypeError: None is asked for as an array"
PLAIN = (ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp)
TESTS = (ast.Compare, ast.BoolOp)


def with_filled_lists(source: SourceFunction, known: Collection[str] = ()) -> SourceFunction:
    """`source` with such lists so, those that are `known` to get arrays, and those that cannot get numbers; itself
    where there are none."""
    source = in_turn(source)
    node, words, lists = source.node, {*words_in(source.node), *source.outer}, set[str]()
    for name in names_of_missing(source.node):
        if name not in known and as_numbers(source, name, set(words)) is not None:
            continue
        filling = FilledList(name, fresh(words, f"size_of_{name}"), source)
        body = filling.block(copied_tree(node.body))
        if not filling.has_failed:
            node, lists = copied_with(node, body), {*lists, name}
    outer = {"len": len, **source.outer}
    return replace(source, node=node, outer=outer, lists=source.lists | lists) if lists else source


def copied_with(node: ast.FunctionDef, body: list[ast.stmt]) -> ast.FunctionDef:
    made = copied_tree(node)
    made.body = body
    return ast.fix_missing_locations(made)


class FilledList(ast.NodeTransformer):
    """Writes the list `name` as one that grows up to `size`, from its end if it `is_turned`. `has_failed`: something
    could not be written so."""

    def __init__(self, name: str, size: str, source: SourceFunction) -> None:
        self.name, self.size, self.source = name, size, source
        nodes = syntax_nodes(source.node)
        inside = (n for f in nodes if isinstance(f, Function) and f is not source.node for n in syntax_nodes(f))
        asked = [n for n in nodes if isinstance(n, ast.Compare)]
        self.has_failed = any(self.is_own(n) for n in inside) or any(map(self.is_asked_for_none, asked))
        self.has_failed |= "len" in bound_within(source.node)
        filling = [loop for loop in outer_loops(source.node.body) if self.is_stored_in(loop)]
        self.is_turned = any(is_downward(n) and self.is_stored_in(n) for loop in filling for n in syntax_nodes(loop))
        self.has_failed |= len(filling) > 1  # what is there already gets something else

    def is_asked_for_none(self, node: ast.Compare) -> bool:
        """Whether `node` asks what may be None of the list, or of what is in it."""
        is_whole = any(self.is_own(n) for n in (node.left, *node.comparators))
        return is_whole or (is_question(node) and bool(self.uses(node.left)))

    def is_stored_in(self, node: ast.AST) -> bool:
        stores = (n for n in syntax_nodes(node) if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store))
        return any(self.is_own(n.value) for n in stores)

    def is_own(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and node.id == self.name

    def uses(self, node: ast.AST) -> list[ast.AST]:
        return [n for n in syntax_nodes(node) if self.is_own(n)]

    def block(self, nodes: Sequence[ast.stmt]) -> list[ast.stmt]:
        return [made for node in nodes for made in self.statement(node)]

    def statement(self, node: ast.stmt) -> Iterator[ast.stmt]:
        match node:
            case ast.Assign([ast.Name(id=name)], value) if name == self.name:
                yield from self.begun(value, node)
            case ast.Assign([ast.Subscript(ast.Name(id=name), place)], value) if name == self.name:
                yield from self.filled(place, value, node)
            case ast.For():
                yield from self.checks(node.iter, node)
                node.iter = self.visit(node.iter)
                node.body, node.orelse = self.block(node.body), self.block(node.orelse)
                self.has_failed |= bool(self.uses(node.target))
                yield node
            case ast.If() | ast.While():
                self.has_failed |= isinstance(node, ast.While) and bool(self.uses(self.visit(copied_tree(node.test))))
                yield from self.checks(node.test, node)
                node.test = self.visit(node.test)
                node.body, node.orelse = self.block(node.body), self.block(node.orelse)
                yield node
            case ast.Assign() | ast.AugAssign() | ast.AnnAssign() | ast.Expr() | ast.Return() | ast.Assert():
                yield from self.checks(node, node)
                yield self.visit(node)
            case _:
                self.has_failed |= bool(self.uses(node))
                yield node

    def begun(self, value: ast.expr, node: ast.stmt) -> Iterator[ast.stmt]:
        """`g = [None] * n`."""
        match value:
            case ast.BinOp(left=ast.List(), right=count) | ast.BinOp(left=count, right=ast.List()):
                pass
            case ast.ListComp(item, [ast.comprehension(iter=ast.Call(function, [count], []))]) if (
                is_nothing(item) and value_in(self.source.outer, function) is range
            ):
                pass
            case _:
                self.has_failed = True
                return
        least = direct_call(max, [count, ast.copy_location(ast.Constant(0), node)], node)
        yield from statements_of(f"{self.size} = LEAST\n{self.name} = []", node, LEAST=least)

    def filled(self, place: ast.expr, value: ast.expr, node: ast.stmt) -> Iterator[ast.stmt]:
        """`g[i] = value`."""
        self.has_failed |= is_nothing(value) or not is_plain(place) or bool(self.uses(place))
        if negated(place) is not None:
            place = expression_of(f"{self.size} + PLACE", place, PLACE=place)
        yield from self.checks(value, node)
        is_row = isinstance(value, ast.List | ast.ListComp)
        item = "VALUE" if is_row else "VALUE[...]"  # no number
        test = f"len({self.name}) == PLACE and AGAIN < {self.size}"
        if self.is_turned:
            test = f"len({self.name}) == {self.size} - 1 - PLACE and AGAIN >= 0"
        yield from statements_of(
            f"assert {test}, '`{self.name}` {IN_TURN}'\n{self.name}.append({item})",
            node,
            PLACE=place,
            AGAIN=copied_tree(place),
            VALUE=self.visit(value),
        )

    def checks(self, node: ast.AST, at: ast.stmt) -> Iterator[ast.stmt]:
        """What is checked ahead of the statement `at`, a part of which `node` is."""
        found, met = list(evaluated_where(node)), set[tuple[str, ...]]()
        inner = {name for n, _ in found if isinstance(n, Comprehension) for name in stores_among(syntax_nodes(n))}
        parts = {id(n.value): n.slice for n, _ in found if isinstance(n, ast.Subscript) and self.is_own(n.value)}
        lengths = {id(n.args[0]) for n, _ in found if self.is_length(n)}  # type: ignore[attr-defined]
        for used, conds in found:
            place = parts.get(id(used))
            is_there = is_natural(place) or (self.is_turned and negated(place) is not None)
            if not self.is_own(used) or id(used) in lengths or is_there:
                continue
            test, given = f"len({self.name}) == {self.size}", list[ast.expr]()
            if place is not None and is_plain(place) and inner.isdisjoint(words_in(place)):
                test, given = "G0 >= 0" if self.is_turned else f"G0 >= 0 or {test}", [place]
            for cond in conds:
                if is_plain(cond, (*PLAIN, *TESTS)) and not self.uses(cond) and inner.isdisjoint(words_in(cond)):
                    test, given = f"not G{len(given)} or {test}", [*given, cond]
            key = test, *map(ast.unparse, given)
            if key not in met:
                met.add(key)
                copies = {f"G{k}": copied_tree(one) for k, one in enumerate(given)}
                yield from statements_of(f"assert {test}, '{ALL_THERE}'", at, **copies)

    def is_length(self, node: ast.AST) -> bool:
        match node:
            case ast.Call(ast.Name() as function, [ast.Name(id=name)], []) if name == self.name:
                return value_in(self.source.outer, function) is len
            case _:
                return False

    def visit_Call(self, node: ast.Call) -> Any:
        if self.is_length(node):
            return ast.copy_location(ast.Name(self.size, ast.Load()), node)
        return self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        if not self.is_turned or not self.is_own(node.value):
            return self.generic_visit(node)
        if (own := negated(node.slice)) is not None:
            node.slice = ast.copy_location(ast.Constant(own - 1), node.slice)
        elif is_plain(node.slice):
            node.slice = expression_of(f"{self.size} - 1 - PLACE", node.slice, PLACE=node.slice)
        else:
            self.has_failed = True
        return node

    def visit_Name(self, node: ast.Name) -> Any:
        """The whole list, which is there."""
        turned = expression_of(f"{self.name}[::-1]", node) if self.is_turned and self.is_own(node) else node
        return ast.copy_location(turned, node)


def outer_loops(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Loops that are in no other."""
    for node in body:
        if isinstance(node, ast.For | ast.While):
            yield node
        elif isinstance(node, ast.If):
            yield from outer_loops((*node.body, *node.orelse))


def is_downward(node: ast.AST) -> bool:
    """Whether `node` is a loop over integers that become smaller."""
    match node:
        case ast.For(iter=ast.Call(ast.Name(id="range"), [_, _, step], [])):
            return negated(step) is not None
        case ast.For(iter=ast.Call(ast.Name(id="reversed"), [ast.Call(ast.Name(id="range"))], [])):
            return True
        case _:
            return False


def negated(node: ast.expr | None) -> int | None:
    """`k` of `-k`, a number that is written out."""
    match node:
        case ast.UnaryOp(ast.USub(), ast.Constant(value=int(number))):
            return number
        case _:
            return None


def is_plain(node: ast.expr, kinds: tuple[type[ast.expr], ...] = PLAIN) -> bool:
    """Whether `node`, a subscript or a condition, is made of names and numbers alone: it may be evaluated ahead, and
    twice."""
    return all(isinstance(n, kinds) for n in syntax_nodes(node))


def evaluated_where(node: ast.AST, conds: tuple[ast.expr, ...] = ()) -> Iterator[tuple[ast.AST, tuple[ast.expr, ...]]]:
    """All nodes in `node`, and the conditions under which conditional expressions evaluate them."""
    yield node, conds
    match node:
        case ast.IfExp(test, body, orelse):
            yield from evaluated_where(test, conds)
            yield from evaluated_where(body, (*conds, *facts(test, True)))
            yield from evaluated_where(orelse, (*conds, *facts(test, False)))
        case ast.BoolOp(op, values):
            for value in values:
                yield from evaluated_where(value, conds)
                conds = (*conds, *facts(value, isinstance(op, ast.And)))
        case _:
            for part in syntax_children(node):
                yield from evaluated_where(part, conds)


def facts(test: ast.expr, holds: bool) -> list[ast.expr]:
    """Conditions all of which hold where `test` does, or does not."""
    match test:
        case ast.BoolOp(op, values) if isinstance(op, ast.And) is holds:
            return [fact for value in values for fact in facts(value, holds)]
        case ast.UnaryOp(ast.Not(), operand):
            return facts(operand, not holds)
        case _:
            return [test if holds else ast.copy_location(ast.UnaryOp(ast.Not(), test), test)]


def is_natural(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value >= 0
