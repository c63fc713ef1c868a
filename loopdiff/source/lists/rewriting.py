"""What is done with lists, where these grow and shrink at their ends: statements that move elements to other places."""

from __future__ import annotations

import ast
import heapq
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import Any

from loopdiff.numpy_functions import arranging
from loopdiff.source.dictionaries.parts import Filled, expression_of, load_of, statements_of
from loopdiff.source.first_iterations import copied_tree
from loopdiff.source.harmless import changes_nothing
from loopdiff.source.lists.found import NUMBERS, UNKNOWN, Binding, Found, Lists, is_bounded_queue
from loopdiff.source.lists.keys import key_expressions
from loopdiff.source.lists.uses import HEAPS, can_be_filled_again, mentions, mentions_number, parents_in
from loopdiff.source.scopes import fresh

ENDS = ("", "0", "-1")


class Places(ast.NodeTransformer):
    """Names for what stands in the place of lists. `changed` are those of which something was written otherwise,
    `called` the functions that it takes. `has_failed`: something could not be written so."""

    def __init__(self, lists: Lists, words: set[str]) -> None:
        self.lists, self.words = lists, words
        self.called: dict[str, Any] = {}
        self.limits: dict[str, str] = {}
        self.changed: set[str] = set()
        self.ahead: list[ast.stmt] | None = None
        self.has_failed = False
        parents = parents_in(lists.function)
        several = [f for f in lists.found.values() if len(f.bindings) > 1]
        self.refilled = {f.name for f in several if can_be_filled_again(lists, f, parents)}
        firsts = (min(f.bindings, key=lambda b: (b.stmt.lineno, b.stmt.col_offset)) for f in lists.found.values())
        self.first = {id(b.value) for b in firsts}

    def new(self, stem: str) -> str:
        return fresh(self.words, stem)

    def function(self, value: Any) -> str:
        """A name for a function."""
        found = next((n for n, known in self.called.items() if known is value), None)
        if found is None:
            found = self.new(value.__name__)
            self.called[found] = value
        return found

    def failed(self, node: Any) -> Any:
        self.has_failed = True
        return node

    def listed(self, node: ast.AST) -> Found | None:
        return self.lists.found.get(node.id) if isinstance(node, ast.Name) else None

    def written(self, text: str, place: ast.AST, **given: ast.expr) -> list[ast.stmt]:
        """The statements of a text, in which words in capitals stand for functions, lists and what is `given`."""
        return statements_of(text, place, **given)

    def new_list(self, stem: str, width: int) -> str:
        """A name for a list of tuples of that width."""
        name = self.new(stem)
        self.lists.found[name] = Found(name, [], width or NUMBERS)
        self.changed.add(name)
        return name

    def held(self, node: ast.expr, stem: str, ahead: list[ast.stmt]) -> ast.expr:
        """`node`, which is evaluated ahead."""
        match node:
            case ast.Constant():
                return node
            case ast.Tuple(elts=elts) if not any(isinstance(e, ast.Starred) for e in elts):
                return ast.copy_location(ast.Tuple([self.held(e, stem, ahead) for e in elts], ast.Load()), node)
            case _:
                name = self.new(stem)
                ahead += self.written(f"{name} = VALUE", node, VALUE=node)
                return ast.copy_location(load_of(name), node)


class Expressions(Places):
    """Writes expressions: what only reads where it stands, and what moves elements ahead of its statement."""

    # -- reading ---------------------------------------------------------------------------------------------
    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.Compare(left, [ast.In() | ast.NotIn() as op], [ast.Name(id=name) as own]) if (
                (found := self.listed(own)) is not None and found.width == NUMBERS
            ):
                self.changed.add(name)
                there = expression_of(f"{self.function(arranging.is_in)}({name}, ITEM)", node, ITEM=left)
                return there if isinstance(op, ast.In) else ast.copy_location(ast.UnaryOp(ast.Not(), there), node)
            case _:
                return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        match node:
            case ast.Call(ast.Attribute(ast.Name(id=name) as own, "index" | "count" as attr), [item], []) if (
                (found := self.listed(own)) is not None and found.width == NUMBERS
            ):
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
        calls = [n for n in ast.walk(node) if isinstance(n, ast.Call)]
        moving = [n for n in calls if self.writer_of(n) is not None]
        changed = {n.id for call in moving if not self.only_reads(call) for n in call_lists(call) if self.listed(n)}
        inside = {id(n) for call in moving for n in ast.walk(call)}
        around = {id(c) for c in calls for n in ast.walk(c) if n in moving}
        others = [c for c in calls if id(c) not in inside | around]
        with self.before(ahead):
            found = self.visit(node)
        if moving:
            own = {id(n) for call in moving for n in ast.walk(call)}
            rest = [n for n in ast.walk(stmt) if id(n) not in own]
            self.has_failed |= any(isinstance(n, ast.Name) and n.id in changed for n in rest)
            self.has_failed |= any(isinstance(n, ast.NamedExpr) for n in ast.walk(node))
            self.has_failed |= not all(self.is_harmless(c) for c in others)
        return found, ahead

    def is_harmless(self, call: ast.Call) -> bool:
        match call.func:
            case ast.Attribute(value=own) if self.listed(own) is not None:
                return True
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
        if len(args) != 1 or not args:
            return None
        are_tuples = self.lists.items_width(args[0]) > NUMBERS
        if value is sorted and named <= {"key", "reverse"} and (named or are_tuples):
            return self.in_order
        if (value is min or value is max) and named <= {"key"} and (named or are_tuples):
            return self.chosen
        return None

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
        has_calls = any(isinstance(n, ast.Call) for e in found or () for n in ast.walk(e))
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
        return expression_of(f"{name}[:{self.function(max)}(COUNT, 0)]", node, COUNT=count)

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


class Statements(Expressions):
    """Writes statements."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if node.name == self.lists.function.name:
            node.body = self.block(node.body)
        return node

    def block(self, nodes: Sequence[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for node in nodes:
            found = self.visit(node)
            made += found if isinstance(found, list) else [found]
        return made

    def visit_If(self, node: ast.If) -> Any:
        node.test, ahead = self.in_turn(node.test, ast.Expr(node.test))
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        return [*ahead, node]

    def visit_While(self, node: ast.While) -> Any:
        node.test = self.perhaps(node.test)
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        return node

    def visit_For(self, node: ast.For) -> Any:
        node.iter, ahead = self.in_turn(node.iter, ast.Expr(node.iter))
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        return [*ahead, node]

    def visit_Return(self, node: ast.Return) -> Any:
        if node.value is None:
            return node
        node.value, ahead = self.in_turn(node.value, node)
        return [*ahead, node]

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        if (found := self.listed(node.target)) is not None and isinstance(node.op, ast.Add):
            return self.extended(found, node.value, node)
        node.target = self.perhaps(node.target)
        node.value, ahead = self.in_turn(node.value, node)
        return [*ahead, node]

    def visit_Assert(self, node: ast.Assert) -> Any:
        node.test, ahead = self.in_turn(node.test, node)
        return [*ahead, node]

    def visit_Delete(self, node: ast.Delete) -> Any:
        match node.targets:
            case [ast.Subscript(value=ast.Name(id=name) as own, slice=place)] if (
                self.listed(own) is not None and not isinstance(place, ast.Slice | ast.Tuple)
            ):
                self.changed.add(name)
                text = f"{self.function(arranging.place_to_end)}(PLACE, {name})\n{name}.pop()"
                found, ahead = self.in_turn(place, node)
                return [*ahead, *self.written(text, node, PLACE=found)]
            case _:
                return node

    # -- assignments -----------------------------------------------------------------------------------------
    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is None:
            return node
        return self.visit_Assign(ast.copy_location(ast.Assign([node.target], node.value), node))

    def visit_Assign(self, node: ast.Assign) -> Any:
        match node.targets:
            case [ast.Name() as target] if (found := self.listed(target)) is not None:
                return self.bound(found, node)
            case _:
                node.targets = [self.perhaps(t) for t in node.targets]
                node.value, ahead = self.in_turn(node.value, node)
                return [*ahead, node]

    def bound(self, found: Found, node: ast.Assign) -> Any:
        """A statement that gives a list to a name."""
        if is_bounded_queue(node.value, self.lists.value_of):
            return self.queue(found, node)
        if len(found.bindings) > 1 and id(node.value) not in self.first:
            if found.name not in self.refilled:
                return self.simple(node)
            self.changed.add(found.name)
            return self.filled_again(found, node)
        if found.width > NUMBERS and not isinstance(node.value, ast.List):
            return self.filled(found, node)
        if isinstance(node.value, ast.Name) and (given := self.listed(node.value)) and given.name in self.refilled:
            node.value = expression_of(f"{given.name}[:]", node.value)
        return self.simple(node)

    def simple(self, node: ast.Assign) -> Any:
        value, ahead = self.in_turn(node.value, node)
        node.value = value
        return [*ahead, node]

    def filled(self, found: Found, node: ast.Assign) -> list[ast.stmt]:
        """A list of tuples that is made of others: it begins without elements."""
        begun = self.written(f"{found.name} = []", node)
        if mentions(node.value, found.name):
            return self.failed([node])
        return [*begun, *self.added(found, node.value, node)]

    def added(self, found: Found, value: ast.expr, node: ast.stmt) -> list[ast.stmt]:
        """Statements that append the elements of the list `value`."""
        name = found.name
        match value:
            case ast.List(elts=elts):
                ahead: list[ast.stmt] = []
                items = [self.held(self.visit_in(e, node, ahead), "item", ahead) for e in elts]
                return [*ahead, *(s for i in items for s in self.written(f"{name}.append(ITEM)", node, ITEM=i))]
            case ast.ListComp(elt=elt, generators=parts):
                return self.block_of(elt, parts, name, node)
            case ast.Call(func=func, args=[over], keywords=[]) if self.lists.is_called(func, list):
                return self.each_added(found, over, node)
            case _:
                return self.each_added(found, value, node)

    def visit_in(self, value: ast.expr, stmt: ast.stmt, ahead: list[ast.stmt]) -> ast.expr:
        made, first = self.in_turn(value, ast.copy_location(ast.Expr(value), stmt))
        ahead += first
        return made

    def each_added(self, found: Found, over: ast.expr, node: ast.stmt) -> list[ast.stmt]:
        ahead: list[ast.stmt] = []
        over = self.visit_in(over, node, ahead)
        each = ", ".join(self.new("each") for _ in range(found.width))
        text = f"for {each} in OVER:\n    {found.name}.append(({each}))"
        return [*ahead, *self.written(text, node, OVER=over)]

    def block_of(
        self, elt: ast.expr, parts: Sequence[ast.comprehension], name: str, node: ast.stmt
    ) -> list[ast.stmt]:  # fmt: skip
        """The loops of a comprehension, with names of their own."""
        names = {n.id for p in parts for n in ast.walk(p.target) if isinstance(n, ast.Name)}
        inner = [n for e in (elt, *(t for p in parts for t in p.ifs)) for n in ast.walk(e)]
        if any(isinstance(n, ast.Lambda | ast.ListComp | ast.GeneratorExp | ast.DictComp | ast.SetComp) for n in inner):
            return self.failed([])
        if any(mentions(p.iter, n) for p in parts[:1] for n in names):
            return self.failed([])
        own = Filled({n: load_of(self.new(n)) for n in names})
        body: list[ast.stmt] = self.written(f"{name}.append(ITEM)", node, ITEM=own.visit(copied_tree(elt)))
        for part in reversed(parts):
            for test in reversed(part.ifs):
                body = [ast.If(own.visit(copied_tree(test)), body, [])]
            target = own.visit(copied_tree(part.target))
            for inner_target in ast.walk(target):
                if isinstance(inner_target, ast.Name | ast.Tuple | ast.List):
                    inner_target.ctx = ast.Store()
            body = [ast.For(target, own.visit(copied_tree(part.iter)), body, [])]
        return self.block([ast.fix_missing_locations(ast.copy_location(s, node)) for s in body])

    def filled_again(self, found: Found, node: ast.Assign) -> list[ast.stmt]:
        """`v = w`: the elements of the list that is there go, and those of the other one come."""
        name, value = found.name, node.value
        empty = self.written(f"{name}.clear()", node)
        match value:
            case ast.Name(id=other) if other == name:
                return []
            case ast.Name():
                return [*empty, *self.each_added(found, value, node)]
            case ast.List(elts=elts):
                ahead: list[ast.stmt] = []
                items = [self.held(self.visit_in(e, node, ahead), "item", ahead) for e in elts]
                more = [s for i in items for s in self.written(f"{name}.append(ITEM)", node, ITEM=i)]
                return [*ahead, *empty, *more]
            case ast.BinOp(left=ast.Name(id=own), op=ast.Add(), right=right) if own == name and not mentions(
                right, name
            ):
                return self.added(found, right, node)
            case ast.BinOp(left=ast.Name(id=own), op=ast.Add(), right=ast.List() as right) if own == name:
                return self.added(found, right, node)
            case ast.Subscript(slice=ast.Slice(lower=ast.Constant(value=1), upper=None, step=None)) if mentions(
                value.value, name
            ):
                return self.written(f"if {name}:\n    {name}.pop(0)", node)
            case _:
                pass
        other = self.new_list(f"{name}_new", found.width)
        made = ast.copy_location(ast.Assign([ast.Name(other, ast.Store())], value), node)
        first = self.filled(self.lists.found[other], made) if found.width > NUMBERS else self.simple(made)
        return [*first, *empty, *self.each_added(found, load_of(other), node)]

    # -- queues ----------------------------------------------------------------------------------------------
    def queue(self, found: Found, node: ast.Assign) -> list[ast.stmt]:
        """`q = deque(over, maxlen=k)`."""
        assert isinstance(node.value, ast.Call)
        args, keywords = node.value.args, node.value.keywords
        if len(found.bindings) > 1 or found.width != NUMBERS:
            return self.failed([node])
        self.changed.add(found.name)
        ahead: list[ast.stmt] = []
        over = self.visit_in(args[0], node, ahead) if args else None
        limit = self.limits[found.name] = self.new(f"{found.name}_maxlen")
        most = keywords[0].value if keywords else args[1]
        text = f"{limit} = MOST\nassert {limit} >= 0, 'ValueError: maxlen must be non-negative'\n{found.name} = []"
        begun = self.written(text, node, MOST=most)
        if over is None or ast.unparse(over) in ("[]", "()"):
            return [*ahead, *begun]
        each = self.new("each")
        loop = self.written(f"for {each} in OVER:\n    pass", node, OVER=over)
        assert isinstance(loop[0], ast.For)
        loop[0].body = self.joining(found.name, load_of(each), node)
        return [*ahead, *begun, *loop]

    def joining(self, name: str, item: ast.expr, node: ast.AST, is_first: bool = False) -> list[ast.stmt]:
        """An item comes to a queue, and the one at the other end goes if there are too many."""
        if is_first:
            text = f"{name}.append(ITEM)\n{self.function(arranging.last_to_place)}(0, {name})\n"
        else:
            text = f"{name}.append(ITEM)\n"
        text += f"if len({name}) > {self.limits[name]}:\n    {name}.pop({'' if is_first else 0})"
        return self.written(text, node, ITEM=item)

    # -- methods ---------------------------------------------------------------------------------------------
    def visit_Expr(self, node: ast.Expr) -> Any:
        match node.value:
            case ast.Call(ast.Attribute(own, attr), args, keywords) if (found := self.listed(own)) is not None:
                return self.method(found, attr, args, keywords, node)
            case ast.Call(func=ast.Name() | ast.Attribute() as func, args=[own, *args], keywords=[]) if (
                self.lists.value_of(func) in HEAPS and (found := self.listed(own)) is not None
            ):
                return self.heap_changed(found, self.lists.value_of(func), args, node)
            case _:
                value, ahead = self.in_turn(node.value, node)
                node.value = value
                return [*ahead, node] if not isinstance(value, ast.Name) else ahead

    def method(
        self, found: Found, attr: str, args: list[ast.expr], keywords: list[ast.keyword], node: ast.Expr
    ) -> Any:  # fmt: skip
        name, ahead = found.name, list[ast.stmt]()
        parts = [self.visit_in(a, node, ahead) for a in args]
        match attr, parts, keywords:
            case "append", [item], []:
                if name in self.limits:
                    own = self.held(item, "item", ahead)
                    return [*ahead, *self.joining(name, own, node)]
                return [*ahead, *self.written(f"{name}.append(ITEM)", node, ITEM=item)]
            case "appendleft", [item], [] if name in self.limits:
                own = self.held(item, "item", ahead)
                return [*ahead, *self.joining(name, own, node, is_first=True)]
            case _ if name in self.limits and attr in ("insert", "sort", "extend", "reverse", "remove", "rotate"):
                return self.failed(node)
            case "insert", [place, item], []:
                at, own = self.held(place, "at", ahead), self.held(item, "item", ahead)
                text = f"{name}.append(ITEM)\n{self.function(arranging.last_to_place)}(PLACE, {name})"
                return self.done(name, ahead, self.written(text, node, ITEM=own, PLACE=at))
            case "remove", [item], [] if found.width == NUMBERS:
                place = f"{self.function(arranging.place_in)}({name}, ITEM)"
                text = f"{self.function(arranging.place_to_end)}({place}, {name})\n{name}.pop()"
                return self.done(name, ahead, self.written(text, node, ITEM=item))
            case "pop", [place], [] if ast.unparse(place) not in ENDS:
                text = f"{self.function(arranging.place_to_end)}(PLACE, {name})\n{name}.pop()"
                return self.done(name, ahead, self.written(text, node, PLACE=place))
            case "extend", [_], []:
                return self.extended(found, args[0], node)
            case "reverse", [], []:
                return self.done(name, ahead, self.written(f"{self.function(arranging.turned_round)}({name})", node))
            case "sort", [], _ if {k.arg for k in keywords} <= {"key", "reverse"}:
                with self.before(ahead):
                    self.sorted_in_place(name, keywords, node)
                return ahead
            case "clear", [], []:
                return self.done(name, ahead, [node])
            case _:
                node.value = self.perhaps_generic(node.value)
                return [*ahead, node]

    def done(self, name: str, ahead: list[ast.stmt], made: list[ast.stmt]) -> list[ast.stmt]:
        self.changed.add(name)
        return [*ahead, *made]

    def extended(self, found: Found, value: ast.expr, node: ast.stmt) -> Any:
        """`v.extend(over)`, `v += over`."""
        if found.name in self.limits:
            return self.failed([node])
        match value:
            case ast.ListComp() | ast.List():
                if mentions(value, found.name) and isinstance(value, ast.ListComp):
                    return self.failed([node])
                made = self.added(found, value, node)
            case ast.GeneratorExp(elt=elt, generators=parts) if not mentions(value, found.name):
                made = self.block_of(elt, parts, found.name, node)
            case _ if mentions(value, found.name):
                return self.failed([node])
            case _:
                made = self.each_added(found, value, node)
        return self.done(found.name, [], made)

    def heap_changed(self, found: Found, function: Any, args: list[ast.expr], node: ast.Expr) -> Any:
        name, ahead = found.name, list[ast.stmt]()
        if function is heapq.heapify and not args:
            return self.done(name, [], self.written(f"{self.function(arranging.into_heap)}({name})", node))
        if function is heapq.heappush and len(args) == 1:
            item = self.visit_in(args[0], node, ahead)
            text = f"{name}.append(ITEM)\n{self.function(arranging.last_into_heap)}({name})"
            return self.done(name, ahead, self.written(text, node, ITEM=item))
        value, ahead = self.in_turn(node.value, node)
        return ahead
