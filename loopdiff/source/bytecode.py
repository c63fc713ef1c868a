"""Whether a definition that was read is what Python runs: a file may have been edited since it was imported.

The definition is compiled again, among names like those that were around it, and the instructions are compared. Where
they stand does not count.
"""

from __future__ import annotations
import __future__

import ast
import dis
import inspect
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

from loopdiff.source.nodes import syntax_nodes

FUTURE = 0
for feature in __future__.all_feature_names:
    FUTURE |= getattr(__future__, feature).compiler_flag
REWRITTEN = "@pytest_ar"  # a global of modules whose asserts pytest replaced by its own
JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))
FLAGS_METHODS = sys.version_info >= (3, 12)  # before, methods have an instruction of their own
LOCAL = ".<locals>."
NO_WORK = ("NOP", "RESUME", "EXTENDED_ARG")
Place = tuple[int, int, int, int]


def is_run(node: ast.FunctionDef | ast.Lambda, function: FunctionType) -> bool:
    """Whether `function` is what Python makes of `node`."""
    code = function.__code__
    owners = {n.func.value for n in syntax_nodes(node) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)}
    names = {owner.id for owner in owners if isinstance(owner, ast.Name)}
    modules = {name for name in names if isinstance(function.__globals__.get(name), ModuleType)}
    if any(are_same(found, code) for found in compiled(node, code, modules)):
        return True
    imported = names - {name for c in (code, *inner_codes(code)) for name in with_methods(c)}
    found = list(compiled(node, code, imported))
    asserts = [n for n in syntax_nodes(node) if isinstance(n, ast.Assert)] if REWRITTEN in function.__globals__ else []
    return any(are_same(c, code) or (asserts and are_same_but_for(asserts, c, code)) for c in found)


def compiled(node: ast.FunctionDef | ast.Lambda, code: CodeType, imported: set[str]) -> Iterator[CodeType]:
    """What `node` compiles to where the names that are free in `code` belong to a function around, and those in
    `imported` are imported by the module: Python looks up their attributes in a way of its own when it calls them."""
    statement = ast.copy_location(ast.Expr(node), node) if isinstance(node, ast.Lambda) else node
    body: list[ast.stmt] = [statement]
    if code.co_flags & inspect.CO_NESTED or code.co_freevars:
        frame = ast.parse("def around(): pass").body[0]
        assert isinstance(frame, ast.FunctionDef)
        frame.body = [*(ast.parse(f"{name} = None").body[0] for name in code.co_freevars), statement]
        body = [frame]
    body = [*(ast.parse(f"import {name}").body[0] for name in sorted(imported)), *body]
    flags = code.co_flags & FUTURE
    try:
        module = compile(ast.Module(body, []), code.co_filename, "exec", flags=flags, dont_inherit=True)
    except (SyntaxError, ValueError):
        return
    yield from (c for c in inner_codes(module) if c.co_name == code.co_name)


def with_methods(code: CodeType) -> Iterator[str]:
    """Names of which `code` looks up methods."""
    owner: Any = None
    for instruction in dis.get_instructions(code):
        is_flagged = FLAGS_METHODS and instruction.opname == "LOAD_ATTR" and (instruction.arg or 0) & 1
        if instruction.opname == "LOAD_METHOD" or is_flagged:
            yield owner[-1] if isinstance(owner, tuple) else owner  # two names may be loaded at once
        owner = instruction.argval


def inner_codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from inner_codes(constant)


def are_same(a: CodeType, b: CodeType) -> bool:
    """Whether two functions do the same, wherever they stand."""
    return shape_of(a) == shape_of(b) and all(map(are_same_constants, a.co_consts, b.co_consts))


def shape_of(code: CodeType) -> tuple[Any, ...]:
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, len(code.co_consts))
    return (*counts, code.co_code, code.co_names, code.co_varnames, code.co_cellvars, code.co_freevars)


def are_same_constants(a: Any, b: Any) -> bool:
    """Whether constants are the same, signs of zeros and types included."""
    if isinstance(a, CodeType) and isinstance(b, CodeType):
        return are_same(a, b)
    if isinstance(a, str) and isinstance(b, str) and LOCAL in a and LOCAL in b:  # the qualified name of a class
        return a.rpartition(LOCAL)[2] == b.rpartition(LOCAL)[2]
    return type(a) is type(b) and (a == b if isinstance(a, frozenset) else repr(a) == repr(b))


# -- asserts that were replaced ------------------------------------------------------------------------------
def are_same_but_for(asserts: list[ast.Assert], a: CodeType, b: CodeType) -> bool:
    """Whether two functions, compiled from the same lines, do the same outside `asserts`."""
    places = [(n.lineno, n.col_offset, n.end_lineno or 0, n.end_col_offset or 0) for n in asserts]
    return work(a, places) == work(b, places)


def work(code: CodeType, but_for: list[Place]) -> frozenset[tuple[Any, ...]]:
    """What the instructions of `code` and of functions in it do and where they stand, but for jumps, which depend on
    all of it, and for those inside the places `but_for`."""
    found: set[tuple[Any, ...]] = set()
    for instruction in dis.get_instructions(code):
        at = instruction.positions
        if at is None or at.lineno is None or instruction.opcode in JUMPS or instruction.opname in NO_WORK:
            continue
        place = (at.lineno, at.end_lineno, at.col_offset, at.end_col_offset)
        if any(is_inside(place, statement) for statement in but_for):
            continue
        value = instruction.argval
        if isinstance(value, CodeType):
            found |= work(value, but_for)
            value = value.co_name
        found.add((plain_name(instruction.opname), repr(value), place))
    return frozenset(found)


def is_inside(place: tuple[int, int | None, int | None, int | None], statement: Place) -> bool:
    """Whether `place` is inside `statement`; columns may be unknown."""
    line, end_line, column, end_column = place
    first, start, last, end = statement
    starts_before = line < first or (line == first and column is not None and column < start)
    ends_after = (end_line or line) > last or (end_line == last and end_column is not None and end_column > end)
    return not starts_before and not ends_after


def plain_name(opname: str) -> str:
    """`opname` without what control flow decides: whether a name may have no value, or a value may be borrowed."""
    return opname.replace("_BORROW", "").replace("_CHECK", "")
