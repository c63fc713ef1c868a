"""Statements that change lists, as statements by which these grow and shrink at their ends."""

from __future__ import annotations

import ast
import heapq
from collections.abc import Sequence
from typing import Any

from loopdiff.numpy_functions import arranging
from loopdiff.source.dictionaries.parts import Filled, expression_of, load_of
from loopdiff.source.lists.found import NUMBERS, Found, is_bounded_queue
from loopdiff.source.lists.moving import ENDS
from loopdiff.source.lists.slices import SliceStatements
from loopdiff.source.lists.uses import HEAPS, mentions
from loopdiff.source.nodes import copied_tree, syntax_nodes


class ListStatements(SliceStatements):
    """Writes statements."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if node is self.lists.function:
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
            return self.joined_on(found, node.value, node)
        node.target = self.perhaps(node.target)
        node.value, ahead = self.in_turn(node.value, node)
        return [*ahead, node]

    def visit_Assert(self, node: ast.Assert) -> Any:
        node.test, ahead = self.in_turn(node.test, node)
        return [*ahead, node]

    def visit_Delete(self, node: ast.Delete) -> Any:
        match node.targets:
            case [ast.Subscript(value=ast.Name(id=name) as own, slice=place)] if self.listed(
                own
            ) is not None and not isinstance(place, ast.Slice | ast.Tuple):
                self.changed.add(name)
                text = f"{self.function(arranging.place_to_end)}(PLACE, {name})\n{name}.pop()"
                found, ahead = self.in_turn(place, node)
                return [*ahead, *self.written(text, node, PLACE=found)]
            case [ast.Subscript(value=own, slice=ast.Slice() as part)] if (found_list := self.listed(own)) is not None:
                return self.without_slice(found_list, part, node)
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
            case [ast.Subscript(value=own, slice=ast.Slice() as part)] if (found := self.listed(own)) is not None:
                return self.with_slice(found, part, node)
            case _:
                node.targets = [self.perhaps(t) for t in node.targets]
                node.value, ahead = self.in_turn(node.value, node)
                return [*ahead, node]

    def bound(self, found: Found, node: ast.Assign) -> Any:
        """A statement that gives a list to a name."""
        if is_bounded_queue(node.value, self.lists.value_of):
            return self.queue(found, node)
        if isinstance(node.value, ast.Name) and (given := self.listed(node.value)) and given.is_bounded:
            return self.failed(node)
        if len(found.bindings) > 1 and id(node.value) not in self.first:
            if found.name not in self.refilled:
                return self.simple(node)
            self.changed.add(found.name)
            return self.filled_again(found, node)
        if found.width > NUMBERS and isinstance(node.value, ast.Name) and not self.may_copy(found):
            return self.failed(node)
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
        names = {n.id for p in parts for n in syntax_nodes(p.target) if isinstance(n, ast.Name)}
        inner = [n for e in (elt, *(t for p in parts for t in p.ifs)) for n in syntax_nodes(e)]
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
            for inner_target in syntax_nodes(target):
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
            case ast.Subscript(
                value=ast.Name(id=own), slice=ast.Slice(lower=ast.Constant(value=1), upper=None, step=None)
            ) if own == name:
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
        if attr == "extend" and len(args) == 1 and not keywords:
            return self.extended(found, args[0], node)
        parts = self.held_in_turn(args, node, ahead)
        match attr, parts, keywords:
            case "append", [item], []:
                if name in self.limits:
                    own = self.held(item, "item", ahead)
                    return [*ahead, *self.joining(name, own, node)]
                return [*ahead, *self.written(f"{name}.append(ITEM)", node, ITEM=item)]
            case "appendleft", [item], [] if name in self.limits:
                own = self.held(item, "item", ahead)
                return [*ahead, *self.joining(name, own, node, is_first=True)]
            case _ if name in self.limits and attr in ("insert", "sort", "reverse", "remove", "rotate"):
                return self.failed(node)
            case "insert", [place, item], []:
                own = self.held(item, "item", ahead)
                text = f"{name}.append(ITEM)\n{self.function(arranging.last_to_place)}(PLACE, {name})"
                return self.done(name, ahead, self.written(text, node, ITEM=own, PLACE=place))
            case "remove", [item], [] if found.width == NUMBERS:
                place = f"{self.function(arranging.place_in)}({name}, ITEM)"
                text = f"{self.function(arranging.place_to_end)}({place}, {name})\n{name}.pop()"
                return self.done(name, ahead, self.written(text, node, ITEM=item))
            case "pop", [place], [] if ast.unparse(place) not in ENDS:
                text = f"{self.function(arranging.place_to_end)}(PLACE, {name})\n{name}.pop()"
                return self.done(name, ahead, self.written(text, node, PLACE=place))
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

    def held_in_turn(self, args: Sequence[ast.expr], node: ast.stmt, ahead: list[ast.stmt]) -> list[ast.expr]:
        """The arguments of a call, each evaluated before what goes ahead of those behind it."""
        parts: list[ast.expr] = []
        for arg in args:
            part = self.visit_in(arg, node, ahead)
            parts.append(part if arg is args[-1] else self.held(part, "given", ahead))
        return parts

    def done(self, name: str, ahead: list[ast.stmt], made: list[ast.stmt]) -> list[ast.stmt]:
        self.changed.add(name)
        return [*ahead, *made]

    def extended(self, found: Found, value: ast.expr, node: ast.stmt) -> list[ast.stmt]:
        """`v.extend(over)`, `v += over`."""
        if found.name in self.limits:
            return self.failed([node])
        match value:
            case ast.ListComp() | ast.List():
                has_star = any(isinstance(e, ast.Starred) for e in getattr(value, "elts", ()))
                if has_star or (mentions(value, found.name) and isinstance(value, ast.ListComp)):
                    return self.failed([node])
                made = self.added(found, value, node)
            case ast.GeneratorExp(elt=elt, generators=parts) if not mentions(value, found.name):
                made = self.block_of(elt, parts, found.name, node)
            case _ if mentions(value, found.name):
                return self.failed([node])
            case _:
                made = self.each_added(found, value, node)
        return self.done(found.name, [], made)

    def joined_on(self, found: Found, value: ast.expr, node: ast.stmt) -> list[ast.stmt]:
        """`v += over`, which makes an array of `v` if `over` is one."""
        match value:
            case ast.ListComp() | ast.List() | ast.Tuple() | ast.GeneratorExp():
                return self.extended(found, value, node)
            case ast.Call(func=func) if self.lists.is_called(
                func, list, sorted, tuple, range, reversed, zip, map, filter
            ):
                return self.extended(found, value, node)
            case _ if self.lists.makes(value):
                return self.extended(found, value, node)
            case _:
                ahead: list[ast.stmt] = []
                is_part = not any(isinstance(n, ast.Call | ast.BinOp | ast.NamedExpr) for n in syntax_nodes(value))
                over = value if is_part else self.held(value, "over", ahead)
                text = f"{self.function(arranging.no_array)}(OVER)"
                return [*ahead, *self.written(text, node, OVER=over), *self.extended(found, over, node)]

    def heap_changed(self, found: Found, function: Any, args: list[ast.expr], node: ast.Expr) -> Any:
        name, ahead = found.name, list[ast.stmt]()
        if function is heapq.heapify and not args:
            return self.done(name, [], self.written(f"{self.function(arranging.into_heap)}({name})", node))
        if function is heapq.heappush and len(args) == 1:
            item = self.visit_in(args[0], node, ahead)
            text = f"{name}.append(ITEM)\n{self.function(arranging.last_into_heap)}({name})"
            return self.done(name, ahead, self.written(text, node, ITEM=item))
        return self.in_turn(node.value, node)[1]
