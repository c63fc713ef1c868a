"""Makes a failing program small: cuts of its syntax tree and of its sizes, kept while it fails the same way."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from copy import deepcopy

from loopdiff.fuzz.program import RandomProgram
from loopdiff.immutable import replace
from loopdiff.source.nodes import syntax_nodes

Fails = Callable[[RandomProgram], bool]


def shrink(program: RandomProgram, fails: Fails, *, attempts: int = 1500) -> RandomProgram:
    """The smallest program found for which `fails` holds, as it does for `program`; at most `attempts` tries."""
    remaining = attempts
    improved = True
    while improved and remaining > 0:
        improved = False
        for candidate in candidates(program):
            if remaining == 0:
                break
            remaining -= 1
            if size(candidate) < size(program) and fails(candidate):
                program, improved = candidate, True
                break
    return program


def size(program: RandomProgram) -> tuple[int, ...]:
    """What shrinking makes less, the first that differs deciding."""
    nodes = sum(1 for _ in syntax_nodes(ast.parse(program.text)))
    extents = sum(m + n for m, n in program.sizes)
    plain = sum(a != replace(a, layout="C", dtype="float64", data="uniform") for a in program.arguments)
    return len(program.sizes), nodes, extents, plain, program.setting.weight, len(program.wrt), len(program.text)


def candidates(program: RandomProgram) -> Iterator[RandomProgram]:
    """Smaller programs, the boldest cuts first."""
    if len(program.sizes) > 1:
        yield from (replace(program, sizes=(s,)) for s in program.sizes)
        return
    yield from (replace(program, setting=plainer) for plainer in program.setting.plainer())
    tree = ast.parse(program.text)
    for cut in (cut_statements, cut_expressions):
        for smaller in cut(tree):
            yield from rewritten(program, smaller)
    yield from cut_arguments(program)
    for M, N in program.sizes:
        smaller = ((M // 2, N), (M, N // 2), (M - 1, N), (M, N - 1))
        yield from (replace(program, sizes=((m, n),)) for m, n in smaller if m >= 0 and n >= 0)


def rewritten(program: RandomProgram, tree: ast.Module) -> Iterator[RandomProgram]:
    """`program` with the text of `tree`, if that is Python, and comes to an end as far as one can see."""
    if not all(may_end(n) for n in syntax_nodes(tree) if isinstance(n, ast.While)):
        return
    text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    try:
        compile(text, "<candidate>", "exec")
    except (SyntaxError, ValueError):
        return
    yield replace(program, text=text)


def may_end(loop: ast.While) -> bool:
    """Whether the body leaves the loop, or changes what its condition is about."""
    inside = [n for stmt in loop.body for n in syntax_nodes(stmt)]
    asked = {n.id for n in syntax_nodes(loop.test) if isinstance(n, ast.Name)}
    set_there = {n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    changes = bool(asked & set_there) or any(isinstance(n, ast.Subscript) for n in syntax_nodes(loop.test))
    return changes or any(isinstance(n, ast.Break | ast.Return) for n in inside)


def blocks(tree: ast.AST) -> Iterator[tuple[list[ast.stmt], int]]:
    """Every statement of the function as its block and its position, in textual order; of a module, what it defines."""
    for node in syntax_nodes(tree):
        for field in ("body", "orelse"):
            block = getattr(node, field, None)
            if isinstance(block, list) and not (isinstance(node, ast.Module) and len(block) == 1):
                yield from ((block, k) for k in range(len(block)))


def cut_statements(tree: ast.Module) -> Iterator[ast.Module]:
    """Without one statement, or with the body of a compound statement in its place."""
    for number in range(sum(1 for _ in blocks(tree))):
        yield from edited(tree, number, lambda stmt: [])
    for number in range(sum(1 for _ in blocks(tree))):
        yield from edited(tree, number, lambda stmt: getattr(stmt, "body", None))
        yield from edited(tree, number, lambda stmt: getattr(stmt, "orelse", None) or None)


def edited(tree: ast.Module, number: int, edit: Callable[[ast.stmt], list[ast.stmt] | None]) -> Iterator[ast.Module]:
    """A copy of `tree` with statement `number` replaced, unless `edit` gives None."""
    copy = deepcopy(tree)
    block, position = list(blocks(copy))[number]
    found = edit(block[position])
    if found is not None:
        block[position : position + 1] = found
        yield copy


def cut_expressions(tree: ast.Module) -> Iterator[ast.Module]:
    """With one expression replaced by one of its parts, or by a constant."""
    for number, node in enumerate(syntax_nodes(tree)):
        if not isinstance(node, ast.expr) or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            continue
        if isinstance(node, ast.Constant | ast.Name | ast.Attribute):
            continue
        for part in parts(node):
            yield replaced(tree, number, part)


def parts(node: ast.expr) -> list[ast.expr]:
    """Expressions that could stand for `node`."""
    match node:
        case ast.BinOp(left=left, right=right):
            return [left, right]
        case ast.UnaryOp(operand=operand):
            return [operand]
        case ast.IfExp(body=body, orelse=orelse):
            return [body, orelse]
        case ast.Compare(left=left, comparators=[*others]):
            return [ast.Compare(left, node.ops[:1], others[:1])] if len(others) > 1 else [ast.Constant(True)]
        case ast.BoolOp(values=values) | ast.Tuple(elts=values):
            return values
        case ast.Call(args=args, func=func, keywords=keywords):
            shorter = [ast.Call(func, args[:-1], keywords)] if len(args) > 1 else []
            return [*args, *(k.value for k in keywords), *shorter, ast.Constant(0.5)]
        case ast.Subscript(slice=ast.Name() | ast.Constant() | ast.Tuple()):
            return [ast.Constant(0.5)]
        case ast.Subscript(value=value, slice=inner):
            return [ast.Subscript(value, p, ast.Load()) for p in parts(inner)]
        case _:
            return []


def replaced(tree: ast.Module, number: int, part: ast.expr) -> ast.Module:
    """A copy of `tree` with `part` for node `number` of its walk."""
    copy = deepcopy(tree)
    target = next(node for k, node in enumerate(syntax_nodes(copy)) if k == number)

    class Put(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return deepcopy(part) if node is target else self.generic_visit(node)

    Put().visit(copy)
    return copy


def cut_arguments(program: RandomProgram) -> Iterator[RandomProgram]:
    """Without one argument, with one argument less to differentiate, or with a plainer one."""
    for number, argument in enumerate(program.arguments):
        name = argument.name
        kept = tuple(a for a in program.arguments if a is not argument)
        wrt = tuple(n for n in program.wrt if n != name)
        tree = ast.parse(program.text)
        definition = tree.body[0]
        assert isinstance(definition, ast.FunctionDef)
        if not any(isinstance(n, ast.Name) and n.id == name for n in syntax_nodes(definition)) and wrt:
            del definition.args.args[number]
            yield replace(program, text=ast.unparse(tree) + "\n", arguments=kept, wrt=wrt)
        if wrt and name in program.wrt:
            yield replace(program, wrt=wrt)
        for plainer in (
            replace(argument, layout="C"),
            replace(argument, dtype="float64"),
            replace(argument, data="uniform"),
        ):
            if argument.is_floating and plainer != argument:
                changed = tuple(plainer if a is argument else a for a in program.arguments)
                yield replace(program, arguments=changed)
