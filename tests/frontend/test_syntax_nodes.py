"""`syntax_nodes` and `syntax_children` against the library's walk, on every construct of Python's grammar."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import loopdiff
from loopdiff.source.nodes import syntax_children, syntax_nodes

SIGNS = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
EVERYTHING = """
import a.b as c
from d import e
@f
class G(H, k=1):
    x: int = 1
async def g(a, /, b: int = 2, *c, d=3, **e) -> int:
    async with a as b, c: pass
    async for i in await b: yield i
    return (yield from c)
def h():
    global q
    try:
        del a[1:2:3, ...], b.c
    except (E, F) as error: raise error from None
    else: assert a, "b"
    finally: pass
    match p:
        case {"k": [1, *rest], **more} if x: pass
        case Point(x=0, y=None) | 3 as whole: continue
    while not a < b <= c and d or e: break
    return f"{a!r:>{b}}", {**a, 1: 2}, {1, *b}, lambda *z, y=1: z, [i for i in j if k], {
        i: j for i in k}, -a @ b, (w := 1)
"""
LIBRARY = sorted(Path(loopdiff.__file__).parent.glob("source/*.py"))


@pytest.mark.parametrize(
    "text", [EVERYTHING, *(p.read_text(encoding="utf-8") for p in LIBRARY)], ids=["all", *(p.stem for p in LIBRARY)]
)
def test_nodes_are_those_of_the_library(text: str) -> None:
    tree = ast.parse(text)
    assert syntax_nodes(tree) == [n for n in ast.walk(tree) if not isinstance(n, SIGNS)]
    for node in ast.walk(tree):
        assert syntax_children(node) == [n for n in ast.iter_child_nodes(node) if not isinstance(n, SIGNS)]


def test_fields_that_are_not_set_hold_nothing() -> None:
    """Nodes that rewritings make need not have every field."""
    assert syntax_nodes(call := ast.Call(name := ast.Name("f"))) == [call, name]


class Marked(ast.Tuple):
    """A node of a kind that the library does not have, as rewritings make them."""


def test_kinds_of_nodes_of_our_own() -> None:
    assert syntax_nodes(row := Marked([name := ast.Name("f", ast.Load())], ast.Load())) == [row, name]
