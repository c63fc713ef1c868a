"""Lists of None that get numbers later, as `best = [None] * n`: as lists of numbers, beside which others say which of
these are there. Where a number is asked for that is None, there is an error."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from functools import partial
from types import FunctionType
from typing import Any, TypeGuard, cast

from loopdiff.errors import UnsupportedLoopError
from loopdiff.immutable import replace
from loopdiff.numpy_functions import arranging
from loopdiff.source.dictionaries.parts import expression_of, statements_of
from loopdiff.source.dictionaries.tables import value_in
from loopdiff.source.functions import SourceFunction, python_function, source_of
from loopdiff.source.harmless import all_change_nothing, changes_nothing
from loopdiff.source.lists.truths import with_questions
from loopdiff.source.named.in_turn import InTurn
from loopdiff.source.nodes import copied_tree, syntax_children, syntax_nodes
from loopdiff.source.scopes import bound_by, fresh, words_in

LOOKED_AT = (
    ast.FunctionDef, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return, ast.If, ast.While, ast.For,
    ast.Assert,
)  # fmt: skip


def with_missing_apart(source: SourceFunction) -> SourceFunction:
    """`source` with such lists so, where all that is done with one can be done so."""
    source = in_turn(source)
    node, words = source.node, {*words_in(source.node), *source.outer}
    outer, lists = dict(source.outer), set[str]()
    for name in names_of_missing(source.node):
        found = as_numbers(replace(source, node=node), name, words)
        if found is not None:
            node, apart = found
            lists |= {name, apart.flags}
            outer |= apart.called
    return source if node is source.node else replace(source, node=node, outer=outer, lists=source.lists | lists)


def as_numbers(source: SourceFunction, name: str, words: set[str]) -> tuple[ast.FunctionDef, Missing] | None:
    """The function with the list `name` so, and what wrote it; None where that cannot be done."""
    asked = with_questions(source.node, name)
    apart = Missing(name, words, replace(source, node=asked))
    made = ast.fix_missing_locations(apart.visit(asked))
    return None if apart.has_failed else (made, apart)


def in_turn(source: SourceFunction) -> SourceFunction:
    """`source` with `a, b = [None] * n, [None] * k` as two statements."""
    pairs = (n.value for n in syntax_nodes(source.node) if isinstance(n, ast.Assign))
    if not any(isinstance(v, ast.Tuple) and any(map(is_full_of_none, v.elts)) for v in pairs):
        return source
    return replace(source, node=InTurn(is_full_of_none).visit(copied_tree(source.node)))


def names_of_missing(function: ast.FunctionDef) -> Iterator[str]:
    """Names that get one list, which is full of None."""
    bound = Counter(name for node in syntax_nodes(function) for name in bound_by(node))
    bound += Counter(node.arg for node in syntax_nodes(function) if isinstance(node, ast.arg))
    for node in syntax_nodes(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if bound[name] == 1 and is_full_of_none(value):
                yield name
            case _:
                pass


def is_full_of_none(node: ast.expr) -> bool:
    """Whether `node` is a list of None, or of such lists, of one length."""
    match node:
        case (
            ast.BinOp(left=ast.List(elts=[item]), op=ast.Mult()) | ast.BinOp(op=ast.Mult(), right=ast.List(elts=[item]))
        ):
            return is_nothing(item)
        case ast.ListComp(elt=item, generators=[ast.comprehension(ifs=[])]):
            return is_nothing(item) or is_full_of_none(item)
        case _:
            return False


def depth_of(node: ast.AST) -> int:
    """How many lists deep None is in a list that is full of it."""
    match node:
        case ast.BinOp(left=ast.List()) | ast.BinOp(right=ast.List()):
            return 1
        case ast.ListComp(elt=item):
            return 1 + depth_of(item)
        case _:
            return 0


def is_nothing(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def makes(node: ast.Assign, name: str) -> bool:
    return any(isinstance(t, ast.Name) and t.id == name for t in node.targets)


class Filling(ast.NodeTransformer):
    """Puts `value` in the place of None."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.copy_location(ast.Constant(self.value), node) if node.value is None else node


class Missing(ast.NodeTransformer):
    """Writes the list `name` as one of numbers, and `flags`, of which numbers are there. `called` are functions that
    this takes; `has_failed`: something could not be written so."""

    def __init__(self, name: str, words: set[str], source: SourceFunction) -> None:
        self.name, self.source, self.words = name, source, words
        self.depth = max(
            depth_of(n.value) for n in syntax_nodes(source.node) if isinstance(n, ast.Assign) and makes(n, name)
        )
        self.flags = fresh(words, f"{name}_is_there")
        self.known, self.all_known = fresh(words, "known"), fresh(words, "all_known")
        self.called = {self.known: arranging.known, self.all_known: arranging.all_known}
        self.each: dict[str, str] = {}
        self.has_failed = False
        nodes = list(syntax_nodes(source.node))
        asked = {
            n.left.id for n in nodes if isinstance(n, ast.Compare) and is_question(n) and isinstance(n.left, ast.Name)
        }
        given = {name for n in nodes if isinstance(n, ast.Assign) for name in self.names_of_items(n)}
        gone = Counter(n.target.id for n in nodes if isinstance(n, ast.For) and self.is_gone_through(n))
        gone += Counter(n.target.elts[1].id for n in nodes if isinstance(n, ast.For) and self.is_counted_through(n))
        bound = Counter(name for n in nodes for name in bound_by(n))
        assigned = Counter(
            n.targets[0].id for n in nodes if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name)
        )
        self.maybe, self.others = asked & given, set(names_of_missing(source.node))
        self.nothing = {
            n.targets[0].id
            for n in nodes
            if isinstance(n, ast.Assign) and is_nothing(n.value) and isinstance(n.targets[0], ast.Name)
        }
        for own in self.maybe:
            self.each[own] = fresh(words, f"{own}_is_there")
            self.has_failed |= bound[own] != assigned[own]
        self.has_failed |= any(bound[own] != count for own, count in gone.items())
        stored = [n.value for n in syntax_nodes(source.node) if isinstance(n, ast.Assign) and self.is_stored_by(n)]
        values = [v for v in stored if not is_nothing(v)]
        self.holds_truths = bool(values) and all(is_truth(v) for v in values)

    def names_of_items(self, node: ast.Assign) -> Iterator[str]:
        """The name that gets something in the list."""
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript() as value) if self.is_part(value):
                yield name
            case _:
                pass

    def is_gone_through(self, node: ast.For) -> TypeGuard[Any]:
        return isinstance(node.target, ast.Name) and isinstance(node.iter, ast.Name) and node.iter.id == self.name

    def is_counted_through(self, node: ast.For) -> TypeGuard[Any]:
        match node:
            case ast.For(
                target=ast.Tuple(elts=[_, ast.Name()]),
                iter=ast.Call(func=ast.Name(id="enumerate"), args=[ast.Name(id=name)], keywords=[]),
            ):
                return name == self.name
            case _:
                return False

    def is_stored_by(self, node: ast.Assign) -> bool:
        return any(isinstance(t, ast.Subscript) and self.is_part(t) for t in node.targets)

    def failed(self, node: Any) -> Any:
        self.has_failed = True
        return node

    def is_part(self, node: ast.AST) -> bool:
        """Whether `node` is the list, or something in it."""
        while isinstance(node, ast.Subscript):
            node = node.value
        return isinstance(node, ast.Name) and node.id == self.name

    def is_plain(self, node: ast.AST) -> bool:
        """Whether `node`, a place in the list, may be evaluated twice."""
        is_pure = all_change_nothing(node, partial(value_in, self.source.outer))
        parts = [n.slice for n in syntax_nodes(node) if isinstance(n, ast.Subscript)]
        inner = [n for part in parts for n in syntax_nodes(part)]
        is_one = not any(isinstance(part, ast.Slice | ast.Tuple) for part in parts)
        return is_one and is_pure and not any(isinstance(n, ast.NamedExpr) or self.is_part(n) for n in inner)

    def is_number(self, node: ast.AST) -> bool:
        """Whether `node`, a part of the list, is a number in it, or None; whose lists in it have other names, nobody
        would look what is there."""
        return depth_of_part(node) == self.depth

    def flag(self, node: ast.expr, ctx: ast.expr_context) -> ast.expr:
        """Whether the number that `node` is there."""
        if isinstance(node, ast.Subscript):
            inner = self.flag(node.value, ast.Load())
            return ast.copy_location(ast.Subscript(inner, copied_tree(node.slice), ctx), node)
        return ast.copy_location(ast.Name(self.flags, ctx), node)

    # -- statements ------------------------------------------------------------------------------------------
    def visit_Assign(self, node: ast.Assign) -> Any:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name == self.name:
                first = Filling(False if self.holds_truths else 0)
                values = ast.Assign(node.targets, first.visit(copied_tree(value)))
                flags = ast.Assign([ast.Name(self.flags, ast.Store())], Filling(False).visit(copied_tree(value)))
                self.has_failed |= not all_change_nothing(value, partial(value_in, self.source.outer))
                return [ast.copy_location(values, node), ast.copy_location(flags, node)]
            case ast.Assign(targets=[ast.Subscript() as target], value=value) if self.is_part(target):
                if not self.is_plain(target) or not self.is_number(target):
                    return self.failed(node)
                flag = self.flag(target, ast.Store())
                known = ast.Assign([flag], ast.Constant(not is_nothing(value)))
                if is_nothing(value):
                    return ast.copy_location(known, node)
                if isinstance(value, ast.Name) and value.id in self.nothing - self.maybe:
                    return self.failed(node)
                ahead: list[ast.stmt] = []
                found = self.raw(value)
                if found is None:
                    ahead, node.value = self.value_of(value, node)
                else:
                    node.value, known.value = found
                return [*ahead, node, ast.copy_location(known, node)]
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in self.maybe:
                return self.perhaps_nothing(name, value, node)
            case ast.Assign(targets=[ast.Subscript(value=other)], value=value) if (
                self.raw(copied_tree(value)) is not None and root_name(other) in self.others
            ):
                return self.failed(node)
            case ast.Assign(targets=targets) if any(self.is_part(n) for t in targets for n in syntax_nodes(t)):
                return self.failed(node)
            case _:
                return self.simple(node)

    def raw(self, value: ast.expr) -> tuple[ast.expr, ast.expr] | None:
        """What stands for a value that may be None, and whether it is there; None for others."""
        if isinstance(value, ast.Name) and value.id in self.maybe:
            flag = ast.Name(self.each[value.id], ast.Load())
            is_there = ast.Compare(flag, [ast.NotEq()], [ast.Constant(False)])
            return value, ast.copy_location(is_there, value)
        if not isinstance(value, ast.Subscript) or not self.is_part(value) or not self.is_plain(value):
            return None
        if not self.is_number(value):
            return self.failed(None)
        item, flag = self.visit(value).args
        for part in (item, flag):
            part.slice = self.visit(part.slice)
        return item, flag

    def perhaps_nothing(self, name: str, value: ast.expr, node: ast.Assign) -> Any:
        """`k = previous[k]`, of a name of which somebody asks whether it is None."""
        names: list[ast.expr] = [ast.Name(self.each[name], ast.Store()), ast.Name(name, ast.Store())]
        ahead: list[ast.stmt] = []
        given: list[ast.expr]
        if is_nothing(value):
            given = [ast.Constant(False), ast.Constant(0)]
        elif (raw := self.raw(value)) is not None:
            given = [raw[1], raw[0]]
        else:
            ahead, found = self.value_of(value, node)
            given = [ast.Constant(True), found]
        both = ast.Assign([ast.Tuple(names, ast.Store())], ast.Tuple(given, ast.Load()))
        return [*ahead, ast.copy_location(both, node)]

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        if not self.is_part(node.target):
            return self.simple(node)
        if (
            not isinstance(node.target, ast.Subscript)
            or not self.is_plain(node.target)
            or not self.is_number(node.target)
        ):
            return self.failed(node)
        text = "assert FLAG, 'TypeError: None is asked for as a number'"
        ahead, node.value = self.value_of(node.value, node)
        return [*statements_of(text, node, FLAG=self.flag(node.target, ast.Load())), *ahead, node]

    def simple(self, node: Any) -> Any:
        """A statement; if it asks for the whole list, after a look that all is there."""
        ahead, node.value = self.value_of(node.value, node) if node.value is not None else ([], None)
        if isinstance(node, ast.Assign):
            node.targets = [self.visit(t) for t in node.targets]
        return [*ahead, node]

    visit_Expr = simple
    visit_Return = simple
    visit_AnnAssign = simple

    def visit(self, node: ast.AST) -> Any:
        """`node`, written so; a statement of another kind may not ask for the list: nobody would look what is there."""
        is_other = isinstance(node, ast.stmt) and not isinstance(node, LOOKED_AT)
        if is_other and any(isinstance(n, ast.Name) and n.id == self.name for n in syntax_nodes(node)):
            return self.failed(node)
        return super().visit(node)

    def block(self, nodes: list[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for node in nodes:
            found = self.visit(node)
            made += found if isinstance(found, list) else [found]
        return made

    def branching(self, node: Any) -> Any:
        """A statement with a condition, which a loop asks again and again."""
        if isinstance(node.test, ast.Name) and node.test.id == self.name:
            mark_known(node.test)  # how long it is
        ahead, node.test = self.value_of(node.test, node)
        if isinstance(node, ast.While) and ahead:
            text = f"{self.known}(TEST, {self.all_known}({self.flags}))"
            ahead, node.test = [], expression_of(text, node.test, TEST=node.test)
        if isinstance(node, ast.Assert):
            return [*ahead, node]
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        return [*ahead, node]

    visit_If = branching
    visit_While = branching
    visit_Assert = branching

    def value_of(self, value: ast.expr, node: ast.stmt) -> tuple[list[ast.stmt], ast.expr]:
        found = self.visit(value)
        self.has_failed |= any(self.may_be_kept(n) for n in (node, *syntax_nodes(found)))
        wholes = [n for n in syntax_nodes(found) if isinstance(n, ast.Name) and n.id == self.name and not known_in(n)]
        if not wholes:
            return [], found
        text = f"assert {self.all_known}({self.flags}), 'TypeError: None is asked for as a number'"
        return statements_of(text, node), found

    def may_be_kept(self, node: ast.AST) -> bool:
        """Whether somebody may have the list after `node`, who does not ask which of its numbers are there."""
        if isinstance(node, ast.Return) or known_in(node):
            return False
        if isinstance(node, ast.Call) and changes_nothing(value_in(self.source.outer, node.func), node):
            return False
        return any(isinstance(n, ast.Name) and n.id == self.name and not known_in(n) for n in syntax_children(node))

    def visit_For(self, node: ast.For) -> Any:
        node.target, node.iter = self.gone_through(node.target, node.iter)
        node.target = self.visit(node.target)
        ahead, node.iter = self.value_of(node.iter, node)
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        return [*ahead, node]

    # -- expressions -----------------------------------------------------------------------------------------
    def gone_through(self, target: ast.expr, over: ast.expr) -> tuple[ast.expr, ast.expr]:
        match target, over:
            case ast.Name(id=each), ast.Name(id=name) if name == self.name:
                self.has_failed |= self.depth > 1
                flag = self.each.setdefault(each, fresh(self.words, f"{each}_is_there"))
                both = expression_of(f"ZIP({self.name}, {self.flags})", over, ZIP=ast.Constant(cast(Any, zip)))
                for n in syntax_nodes(both):
                    mark_known(n)
                names = ast.Tuple([ast.Name(each, ast.Store()), ast.Name(flag, ast.Store())], ast.Store())
                return ast.copy_location(names, target), both
            case ast.Tuple(elts=[index, inner]), ast.Call(func=ast.Name(id="enumerate"), args=[own], keywords=[]):
                row, columns = self.gone_through(inner, own)
                if columns is own:
                    return target, over
                found = ast.Call(over.func, [columns], [])  # type: ignore[attr-defined]
                return ast.Tuple([index, row], ast.Store()), ast.copy_location(found, over)
            case _:
                return target, over

    def comprehension(self, node: Any) -> Any:
        for k, part in enumerate(node.generators):
            if isinstance(part.target, ast.Name) and isinstance(part.iter, ast.Name) and part.iter.id == self.name:
                own = fresh(self.words, part.target.id)
                inside = [node.elt, *part.ifs, *node.generators[k + 1 :]]
                self.has_failed |= any(part.target.id in bound_by(n) for i in inside for n in syntax_nodes(i))
                for n in (n for i in inside for n in syntax_nodes(i)):
                    if isinstance(n, ast.Name) and n.id == part.target.id:
                        n.id = own
                part.target.id = own
            part.target, part.iter = self.gone_through(part.target, part.iter)
        return self.generic_visit(node)

    visit_ListComp = comprehension
    visit_GeneratorExp = comprehension

    def visit_Compare(self, node: ast.Compare) -> Any:
        match node:
            case ast.Compare(left, [ast.Is() | ast.IsNot() as op], [right]) if is_nothing(right):
                flag = None
                if isinstance(left, ast.Subscript) and self.is_part(left) and self.is_plain(left):
                    self.has_failed |= not self.is_number(left)
                    flag = self.flag(left, ast.Load())
                elif isinstance(left, ast.Name) and left.id in self.each:
                    flag = ast.copy_location(ast.Name(self.each[left.id], ast.Load()), left)
                if flag is None:
                    return self.generic_visit(node)
                return flag if isinstance(op, ast.IsNot) else ast.copy_location(ast.UnaryOp(ast.Not(), flag), node)
            case _ if any(self.is_part(n) for n in (node.left, *node.comparators)) and any(
                map(is_nothing, syntax_nodes(node))
            ):
                return self.failed(node)
            case _:
                return self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        if not self.is_part(node) or not isinstance(node.ctx, ast.Load):
            return self.generic_visit(node)
        if not self.is_plain(node) or not self.is_number(node):
            return self.failed(node)
        flag = self.flag(node, ast.Load())
        for n in (*syntax_nodes(node), *syntax_nodes(flag)):
            mark_known(n)
        return ast.copy_location(ast.Call(ast.Name(self.known, ast.Load()), [node, flag], []), node)

    def visit_Call(self, node: ast.Call) -> Any:
        match node:
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name) as own]) if name == self.name:
                mark_known(own)
                return node
            case ast.Call(func=ast.Name(id="len"), args=[ast.Subscript() as own]) if (
                self.is_part(own) and self.is_plain(own) and not self.is_number(own)
            ):
                for n in syntax_nodes(own):
                    mark_known(n)
                return node
            case ast.Call(func=ast.Attribute(value=own)) if self.is_part(own):
                return self.failed(node)
            case ast.Call(args=args) if self.looks_itself(node) and any(
                self.is_part(a) or (isinstance(a, ast.Name) and a.id in self.each) for a in args
            ):
                return self.failed(node)
            case _:
                return self.generic_visit(node)

    def looks_itself(self, call: ast.Call) -> bool:
        """Whether what is called takes None, which is no error then."""
        value = value_in(self.source.outer, call.func)
        if any(value is f for f in (any, all, print)):
            return True
        functions: list[ast.AST] = [
            n
            for n in syntax_nodes(self.source.node)
            if isinstance(n, ast.FunctionDef) and isinstance(call.func, ast.Name) and n.name == call.func.id
        ]
        if not functions and isinstance(value, FunctionType) and python_function(value) is not None:
            try:
                functions = [source_of(value).node]
            except UnsupportedLoopError:
                return False
        return any(is_nothing(n) for f in functions for n in syntax_nodes(f))

    def visit_Name(self, node: ast.Name) -> Any:
        if node.id in self.each and isinstance(node.ctx, ast.Load):
            value, flag = ast.Name(node.id, ast.Load()), ast.Name(self.each[node.id], ast.Load())
            return ast.copy_location(ast.Call(ast.Name(self.known, ast.Load()), [value, flag], []), node)
        return node


def depth_of_part(node: ast.AST) -> int:
    return 1 + depth_of_part(node.value) if isinstance(node, ast.Subscript) else 0


def root_name(node: ast.expr) -> str:
    """The name of what `node` is a part of."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def is_question(node: ast.Compare) -> bool:
    """Whether `node` asks whether something is None."""
    return len(node.ops) == 1 and isinstance(node.ops[0], ast.Is | ast.IsNot) and is_nothing(node.comparators[0])


def is_truth(node: ast.expr) -> bool:
    return isinstance(node, ast.Compare) or (isinstance(node, ast.Constant) and isinstance(node.value, bool))


def mark_known(node: Any) -> None:
    """What is asked of the list by `node` is known to be there, or seen to."""
    node.is_known = True


def known_in(node: ast.AST) -> bool:
    return getattr(node, "is_known", False)
