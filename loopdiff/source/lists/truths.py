"""Elements of lists of None that are asked whether they are true, or equal: by questions whether they are None."""

from __future__ import annotations

import ast
from typing import Any, TypeVar

from loopdiff.source.dictionaries.parts import expression_of
from loopdiff.source.nodes import copied_tree, syntax_nodes

N = TypeVar("N", bound=ast.AST)


def with_questions(function: ast.FunctionDef, name: str) -> ast.FunctionDef:
    """`function` in which what is asked of elements of the list `name` without a look at None says so:
    `if best[k]` is `if best[k] is not None and best[k]`."""
    return ast.fix_missing_locations(Questions(function, name).visit(copied_tree(function)))


class Questions(ast.NodeTransformer):
    """Writes conditions, `and`, `or` and comparisons of parts of the list `name`, and of the names that get them."""

    def __init__(self, function: ast.FunctionDef, name: str) -> None:
        self.name = name
        self.names = {n for node in syntax_nodes(function) for n in self.names_given(node)}

    def names_given(self, node: ast.AST) -> list[str]:
        match node:
            case ast.Assign(targets=[ast.Name(id=own)], value=ast.Subscript() as value) if self.is_part(value):
                return [own]
            case (
                ast.For(target=ast.Name(id=own), iter=ast.Name(id=over))
                | ast.comprehension(target=ast.Name(id=own), iter=ast.Name(id=over))
                | ast.For(target=ast.Tuple(elts=[_, ast.Name(id=own)]), iter=ast.Call(args=[ast.Name(id=over)]))
                | ast.comprehension(
                    target=ast.Tuple(elts=[_, ast.Name(id=own)]), iter=ast.Call(args=[ast.Name(id=over)])
                )
            ) if over == self.name:
                return [own]
            case _:
                return []

    def is_part(self, node: ast.AST) -> bool:
        """Whether `node` may be None: a number in the list."""
        if isinstance(node, ast.Name):
            return node.id in self.names
        while isinstance(node, ast.Subscript):
            if isinstance(node.slice, ast.Slice):
                return False
            node = node.value
            if isinstance(node, ast.Name):
                return node.id == self.name
        return False

    # -- truth -----------------------------------------------------------------------------------------------
    def truth(self, node: ast.expr) -> ast.expr:
        """`node`, of which is asked only whether it is true."""
        match node:
            case ast.BoolOp(values=values):
                node.values = [self.truth(v) for v in values]
                return node
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                node.operand = self.truth(operand)
                return node
            case _ if self.is_part(node):
                return expression_of("(ITEM is not None) and ITEM", node, ITEM=node)
            case _:
                return self.visit(node)

    def asking(self, node: Any) -> Any:
        node.test = self.truth(node.test)
        for field, old in ast.iter_fields(node):
            if field == "test":
                continue
            if isinstance(old, list):
                setattr(node, field, [self.visit(n) for n in old])
            elif isinstance(old, ast.AST):
                setattr(node, field, self.visit(old))
        return node

    visit_If = asking
    visit_While = asking
    visit_IfExp = asking
    visit_Assert = asking

    def visit_comprehension(self, node: ast.comprehension) -> ast.comprehension:
        node.ifs = [self.truth(n) for n in node.ifs]
        node.iter = self.visit(node.iter)
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        if isinstance(node.op, ast.Not):
            return self.truth(node)
        return self.keeping(node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        match node:
            case ast.Call(func=ast.Name(id="bool"), args=[item], keywords=[]) if self.is_part(item):
                text = "True if (ITEM is not None) and ITEM else False"
                return expression_of(text, node, ITEM=item)
            case _:
                return self.keeping(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        """`best[k] or 1.0`, where the value is asked for."""
        if not any(map(self.is_part, node.values[:-1])):
            return self.keeping(node)
        found = self.visit(node.values[-1])
        text = "ITEM if TRUTH else LATER" if isinstance(node.op, ast.Or) else "LATER if TRUTH else ITEM"
        for value in reversed(node.values[:-1]):
            truth = self.truth(copied_tree(value))
            found = expression_of(text, node, ITEM=self.visit(value), TRUTH=truth, LATER=found)
        return found

    # -- equality --------------------------------------------------------------------------------------------
    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        match node:
            case ast.Compare(left, [ast.Eq() | ast.NotEq() as op], [right]) if not has_calls(node):
                parts = [n for n in (left, right) if self.is_part(n)]
            case _:
                return self.keeping(node)
        if not parts or any(isinstance(n, ast.Constant) and n.value is None for n in (left, right)):
            return self.keeping(node)
        there = " and ".join(f"({word} is not None)" for word in ("LEFT", "RIGHT") if self.is_part(found(word, node)))
        text = f"{there} and LEFT == RIGHT"
        if len(parts) == 2:
            text = f"({text}) or ((LEFT is None) and (RIGHT is None))"
        text = f"({text})" if isinstance(op, ast.Eq) else f"not ({text})"
        return expression_of(text, node, LEFT=left, RIGHT=right)

    def keeping(self, node: N) -> N:
        return self.generic_visit(node)  # type: ignore[return-value]


def found(word: str, node: ast.Compare) -> ast.expr:
    return node.left if word == "LEFT" else node.comparators[0]


def has_calls(node: ast.AST) -> bool:
    return any(isinstance(n, ast.Call | ast.NamedExpr) for n in syntax_nodes(node))
