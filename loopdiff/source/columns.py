"""Lists of tuples, as `path.append((t, x.copy()))`, as one list for each place in the tuples: a number and an array
have no array in common."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection
from typing import Any, cast

from loopdiff.immutable import replace
from loopdiff.source.functions import SourceFunction
from loopdiff.source.nodes import copied_tree, syntax_nodes
from loopdiff.source.scopes import fresh, stores_among

ZIP = ast.Constant(cast(Any, zip))


def with_columns(function: ast.FunctionDef) -> ast.FunctionDef:
    """`function` with such lists apart, where all that is done with them can be done so."""
    found = function
    for name, width in widths_in(function).items():
        apart = Columns(name, width, found)
        made = ast.fix_missing_locations(apart.visit(copied_tree(found)))
        if not apart.is_left(made):
            found = made
    return found


def widths_in(function: ast.FunctionDef) -> dict[str, int]:
    """How long the tuples are that are appended to lists, by the names of these."""
    nodes = list(syntax_nodes(function))
    stores = Counter(n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    stores += Counter(n.arg for n in nodes if isinstance(n, ast.arg))
    widths: dict[str, set[int]] = {}
    for node in nodes:
        match node:
            case ast.Expr(ast.Call(ast.Attribute(ast.Name(id=name), "append"), [ast.Tuple(elts=elts)], [])):
                is_plain = not any(isinstance(e, ast.Starred) for e in elts)
                widths.setdefault(name, set()).add(len(elts) if is_plain else 0)
            case _:
                pass
    return {n: w for n, (w, *more) in widths.items() if w > 1 and not more and stores[n] == 1}


def columns_of(source: SourceFunction) -> SourceFunction:
    """`source` with such lists apart; itself if there are none."""
    node = with_columns(source.node)
    return source if node is source.node else replace(source, node=node)


def is_plain(node: ast.expr) -> bool:
    """Whether `node` may be evaluated several times."""
    return not any(isinstance(n, ast.Call | ast.NamedExpr) for n in syntax_nodes(node))


def copied_node(display: ast.List, items: list[ast.Name]) -> ast.List:
    """A list of `items` in the place of `display`."""
    return ast.copy_location(ast.List(list(items), ast.Load()), display)


class Columns(ast.NodeTransformer):
    """Writes the list `name` of tuples of `width` items as so many lists. `rows` are names of tuples of it. `taking`
    are functions that take all of the lists."""

    def __init__(
        self, name: str, width: int, function: ast.FunctionDef, taking: Collection[str] = (),
        words: Collection[str] = (),
    ) -> None:  # fmt: skip
        self.name, self.width, self.taking = name, width, taking
        self.names = {*words, *(n.id for n in syntax_nodes(function) if isinstance(n, ast.Name))}
        self.stores, self.bound = stores_among(syntax_nodes(function)), Counter[str]()
        self.parts = [fresh(self.names, f"{name}_{k}") for k in range(width)]
        self.held = [fresh(self.names, f"{name}_item{k}") for k in range(width)]
        self.rows: dict[str, list[str]] = {}

    def is_left(self, made: ast.AST) -> bool:
        """Whether something in `made` asks for the list as a whole, or for a tuple whose name has other meanings."""
        names = (n.id for n in syntax_nodes(made) if isinstance(n, ast.Name))
        return self.name in names or any(self.stores[row] != self.bound[row] for row in self.rows)

    def lists(self, part: ast.expr | None = None) -> list[ast.expr]:
        """The lists, or that `part` of each."""
        names: list[ast.expr] = [ast.Name(p, ast.Load()) for p in self.parts]
        return names if part is None else [ast.Subscript(n, copied_tree(part), ast.Load()) for n in names]

    def is_list(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id == self.name

    # -- statements ------------------------------------------------------------------------------------------
    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.AST]:
        match node:
            case ast.Assign(targets=[target], value=ast.List(elts=rows) as value) if self.is_list(target):
                tuples = [row.elts for row in rows if isinstance(row, ast.Tuple) and len(row.elts) == self.width]
                items = [item for row in tuples for item in row]
                if len(tuples) < len(rows) or any(isinstance(item, ast.Starred) for item in items):
                    return node
                held = [fresh(self.names, f"{self.name}_first{k}") for k in range(len(items))]
                made = [ast.Assign([ast.Name(h, ast.Store())], self.visit(i)) for h, i in zip(held, items, strict=True)]
                for k, part in enumerate(self.parts):
                    column = [ast.Name(h, ast.Load()) for h in held[k :: self.width]]
                    made.append(ast.Assign([ast.Name(part, ast.Store())], copied_node(value, column)))
                return [ast.copy_location(m, node) for m in made]
            case ast.Assign(targets=[ast.Name() | ast.Tuple() as target], value=ast.Call() as call) if self.is_pop(
                call
            ):
                given = ast.Tuple([ast.Name(h, ast.Load()) for h in self.held], ast.Load())
                made = [*self.popped(call), ast.Assign([self.visit(self.row(target))], given)]
                return [ast.copy_location(m, node) for m in made]
            case _:
                return self.generic_visit(node)

    def popped(self, call: ast.Call) -> list[ast.Assign]:
        """What the last tuple has in each place, taken from the lists."""
        own = [ast.Call(ast.Attribute(p, "pop", ast.Load()), list(call.args), []) for p in self.lists()]
        return [ast.Assign([ast.Name(h, ast.Store())], p) for h, p in zip(self.held, own, strict=True)]

    def is_pop(self, node: ast.expr) -> bool:
        match node:
            case ast.Call(ast.Attribute(own, "pop"), args, []) if self.is_list(own):
                return ", ".join(map(ast.unparse, args)) in ("", "-1", "0")
            case _:
                return False

    def visit_Expr(self, node: ast.Expr) -> ast.AST | list[ast.AST]:
        self.generic_visit(node)
        match node:
            case ast.Expr(ast.Call(ast.Attribute(own, "append"), [item], [])) if self.is_list(own):
                if isinstance(item, ast.Tuple) and len(item.elts) == self.width:
                    held = zip(self.held, item.elts, strict=True)
                    first = [ast.Assign([ast.Name(h, ast.Store())], i) for h, i in held]
                else:
                    names = ast.Tuple([ast.Name(h, ast.Store()) for h in self.held], ast.Store())
                    first = [ast.Assign([names], item)]
                pairs = zip(self.lists(), self.held, strict=True)
                calls = (
                    ast.Call(ast.Attribute(p, "append", ast.Load()), [ast.Name(h, ast.Load())], []) for p, h in pairs
                )
                made: list[ast.stmt] = [*first, *map(ast.Expr, calls)]
                return [ast.copy_location(m, node) for m in made]
            case ast.Expr(ast.Call() as call) if self.is_pop(call):
                return [ast.copy_location(m, node) for m in self.popped(call)]
            case ast.Expr(ast.Call(ast.Attribute(own, "clear"), [], [])) if self.is_list(own):
                calls = (ast.Call(ast.Attribute(p, "clear", ast.Load()), [], []) for p in self.lists())
                return [ast.copy_location(ast.Expr(c), node) for c in calls]
            case _:
                return node

    def visit_For(self, node: ast.For) -> ast.AST:
        node.target, node.iter = self.gone_through(node.target, node.iter)
        return self.generic_visit(node)

    # -- expressions -----------------------------------------------------------------------------------------
    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id not in self.rows or not isinstance(node.ctx, ast.Load):
            return node
        items: list[ast.expr] = [ast.Name(n, ast.Load()) for n in self.rows[node.id]]
        return ast.copy_location(ast.Tuple(items, ast.Load()), node)

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        return self.visit_parts(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        return self.visit_parts(node)

    def visit_parts(self, node: ast.ListComp | ast.GeneratorExp) -> ast.AST:
        for part in node.generators:
            part.target, part.iter = self.gone_through(part.target, part.iter)
        return self.generic_visit(node)

    def gone_through(self, target: ast.expr, over: ast.expr) -> tuple[ast.expr, ast.expr]:
        """What a loop over `over` binds, and goes over."""
        match target, over:
            case ast.Tuple(elts=[index, inner]), ast.Call(ast.Name(id="enumerate") as called, [own, *start], []):
                row, columns = self.gone_through(inner, own)
                return ast.Tuple([index, row], ast.Store()), ast.Call(called, [columns, *start], [])
            case _, ast.Name() if self.is_list(over):
                return self.row(target), ast.copy_location(ast.Call(ZIP, self.lists(), []), over)
            case _, ast.Subscript(value=own, slice=ast.Slice() as part) if self.is_list(own):
                return self.row(target), ast.copy_location(ast.Call(ZIP, self.lists(part), []), over)
            case _:
                return target, over

    def row(self, target: ast.expr) -> ast.expr:
        """A name for a tuple as names for its items."""
        if not isinstance(target, ast.Name):
            return target
        self.bound[target.id] += 1
        names = self.rows.setdefault(target.id, [fresh(self.names, f"{target.id}_{k}") for k in range(self.width)])
        return ast.copy_location(ast.Tuple([ast.Name(n, ast.Store()) for n in names], ast.Store()), target)

    def visit_While(self, node: ast.While) -> ast.AST:
        node.test = self.asked(node.test)
        return self.generic_visit(node)

    def visit_If(self, node: ast.If) -> ast.AST:
        node.test = self.asked(node.test)
        return self.generic_visit(node)

    def asked(self, test: ast.expr) -> ast.expr:
        """A condition with one of the lists for the list where it asks whether that has elements."""
        match test:
            case ast.Name() if self.is_list(test):
                return ast.copy_location(self.lists()[-1], test)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return ast.copy_location(ast.UnaryOp(test.op, self.asked(operand)), test)
            case ast.BoolOp(values=values):
                return ast.copy_location(ast.BoolOp(test.op, list(map(self.asked, values))), test)
            case _:
                return test

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        match node:
            case ast.Subscript(value=own, slice=at, ctx=ast.Store()) if self.is_item(own, at, 0) and is_plain(at):
                places: list[ast.expr] = [ast.Subscript(n, copied_tree(at), ast.Store()) for n in self.lists()]
                return ast.copy_location(ast.Tuple(places, ast.Store()), node)
            case ast.Subscript(ctx=ast.Store() | ast.Del()):
                return self.generic_visit(node)
            case ast.Subscript(ast.Subscript(own, at), ast.Constant(value=int(k))) if self.is_item(own, at, k):
                return ast.copy_location(ast.Subscript(self.lists()[k], self.visit(at), ast.Load()), node)
            case ast.Subscript(value=own, slice=at) if self.is_item(own, at, 0):
                return ast.copy_location(ast.Tuple(self.lists(self.visit(at)), ast.Load()), node)
            case ast.Subscript(ast.Name(id=row), ast.Constant(value=int(k))) if (
                row in self.rows and -1 < k < self.width
            ):
                return ast.copy_location(ast.Name(self.rows[row][k], ast.Load()), node)
            case _:
                return self.generic_visit(node)

    def is_item(self, own: ast.expr, at: ast.expr, k: int) -> bool:
        return self.is_list(own) and not isinstance(at, ast.Slice | ast.Tuple) and -1 < k < self.width

    def visit_Call(self, node: ast.Call) -> ast.AST:
        match node:
            case ast.Call(func=ast.Name(id=called), args=args, keywords=[]) if called in self.taking:
                node.args = [p for a in args for p in (self.lists() if self.is_list(a) else [self.visit(a)])]
                return node
            case ast.Call(func=ast.Name(id="len"), args=[own], keywords=[]) if self.is_list(own):
                return ast.copy_location(ast.Call(node.func, [self.lists()[-1]], []), node)
            case ast.Call(func=ast.Name(id="zip"), args=[ast.Starred(value=own)]) if self.is_list(own):
                return ast.copy_location(ast.Tuple(self.lists(), ast.Load()), node)
            case _:
                return self.generic_visit(node)
