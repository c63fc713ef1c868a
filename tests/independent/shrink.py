"""Make a program that fails small: drop what it can do without."""

from __future__ import annotations

import ast
import copy
import time
from collections.abc import Callable, Iterator

from .expected import Program

Body = list[ast.stmt]


def bodies(tree: ast.AST) -> Iterator[Body]:
    """Every list of statements of a program, outer ones first."""
    for node in ast.walk(tree):
        for name in ("body", "orelse"):
            body = getattr(node, name, None)
            if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
                yield body


def parts_of(node: ast.expr) -> list[ast.expr]:
    """The operands of an expression, any of which may stand for all of it."""
    return [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]


def expression_places(tree: ast.AST) -> Iterator[tuple[ast.AST, str, int | None]]:
    """Where expressions are that values are computed by."""
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr) and not isinstance(getattr(value, "ctx", None), ast.Store):
                yield node, name, None
            elif isinstance(value, list):
                yield from ((node, name, i) for i, item in enumerate(value) if isinstance(item, ast.expr))


def without_statements(tree: ast.Module) -> Iterator[ast.Module]:
    for place in range(len(list(bodies(tree)))):
        size = len(list(bodies(tree))[place])
        for i in range(size - 1, -1, -1):
            shorter = copy.deepcopy(tree)
            body = list(bodies(shorter))[place]
            del body[i]
            if not body and not drop_empty(shorter, body):
                continue
            yield shorter


def drop_empty(tree: ast.Module, body: Body) -> bool:
    """Whether a program may have this list of statements empty: as the `else` of something."""
    return any(getattr(node, "orelse", None) is body for node in ast.walk(tree))


def unwrapped(tree: ast.Module) -> Iterator[ast.Module]:
    """Programs where a branch or loop is replaced by what is inside."""
    for place, body in enumerate(bodies(tree)):
        for i, statement in enumerate(body):
            for name in ("body", "orelse"):
                if isinstance(statement, (ast.If, ast.For, ast.While)) and getattr(statement, name):
                    other = copy.deepcopy(tree)
                    outer = list(bodies(other))[place]
                    outer[i : i + 1] = getattr(outer[i], name)
                    yield other


def with_simpler_expressions(tree: ast.Module) -> Iterator[ast.Module]:
    for place, (node, name, i) in enumerate(expression_places(tree)):
        value = getattr(node, name) if i is None else getattr(node, name)[i]
        for part in range(len(parts_of(value))):
            other = copy.deepcopy(tree)
            owner, _, _ = list(expression_places(other))[place]
            old = getattr(owner, name) if i is None else getattr(owner, name)[i]
            new = parts_of(old)[part]
            if i is None:
                setattr(owner, name, new)
            else:
                getattr(owner, name)[i] = new
            yield other


def with_fewer_arguments(program: Program) -> Iterator[Program]:
    tree = ast.parse(program.source)
    main = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "f")
    used = {node.id for node in ast.walk(main) if isinstance(node, ast.Name)}
    for parameter in list(main.args.args):
        if parameter.arg not in used:
            main.args.args.remove(parameter)
            args = {name: value for name, value in program.args.items() if name != parameter.arg}
            yield Program(ast.unparse(tree) + "\n", args, program.name)
            return


def variants(program: Program) -> Iterator[Program]:
    yield from with_fewer_arguments(program)
    tree = ast.parse(program.source)
    for step in (without_statements, unwrapped, with_simpler_expressions):
        for other in step(tree):
            try:
                text = ast.unparse(other) + "\n"
                ast.parse(text)
            except (ValueError, SyntaxError):
                continue
            if len(text) < len(program.source) and "def f(" in text:
                yield Program(text, program.args, program.name)


def shrunk(program: Program, fails: Callable[[Program], bool], seconds: float = 60.0) -> Program:
    """The smallest program found that still fails."""
    end = time.process_time() + seconds
    seen = set()
    while True:
        for other in variants(program):
            if time.process_time() > end:
                return program
            if other.source in seen:
                continue
            seen.add(other.source)
            if fails(other):
                program = other
                break
        else:
            return program


class Anonymous(ast.NodeTransformer):
    """Names in the order of their first use, and no constants: what is left is the form of a program."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id not in ("np", "math", "range", "len", "max", "min", "abs"):
            node.id = self.names.setdefault(node.id, f"v{len(self.names)}")
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.arg = self.names.setdefault(node.arg, f"v{len(self.names)}")
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.Constant(type(node.value).__name__)


def form(program: Program) -> str:
    """A spelling that programs share which differ in names and numbers only."""
    return ast.dump(Anonymous().visit(ast.parse(program.source)))
