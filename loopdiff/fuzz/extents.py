"""Sizes to run a program with: none, one, those beside widths of vectors and tiles, and several blocks of a cache."""

from __future__ import annotations

import ast
from random import Random

from loopdiff.fuzz.program import ProgramSizes
from loopdiff.source.nodes import syntax_children

TIDY: tuple[ProgramSizes, ...] = ((2, 9), (3, 17), (2, 19), (4, 8), (9, 10))
# Enough for several vectors, and for blocks of rows.
LARGE: tuple[ProgramSizes, ...] = ((3, 40), (17, 33), (70, 6), (2, 67), (35, 35))
LOOSE: tuple[ProgramSizes, ...] = ((0, 0), (1, 1), (2, 1), (1, 2), (2, 7), (3, 8), (2, 9), (1, 17), (3, 0), (0, 3))
FIRST: tuple[ProgramSizes, ...] = ((3, 4), (2, 5), (4, 3))
# One less and one more than a vector, a register tile, a block of rows, a page of numbers.
EDGES = tuple(width + d for width in (8, 16, 32, 64, 128, 256, 512, 1024, 2048) for d in (-1, 0, 1))
# The largest extent by the depth of the deepest nest, so that plain Python comes to an end soon.
LONGEST = {0: 2049, 1: 2049, 2: 129, 3: 33}


def draw_sizes(rng: Random, text: str, *, is_tidy: bool, is_short: bool) -> tuple[ProgramSizes, ...]:
    """Three choices of (M, N), and mostly one beside a width."""
    first = rng.choice(LARGE if is_tidy and is_short else TIDY if is_tidy else FIRST)
    found = (first, *rng.sample(LOOSE, 2))
    longest = LONGEST.get(depth(text), 17)
    edge, other = rng.choice([e for e in EDGES if e <= longest]), rng.choice((1, 2, 3, 5))
    return (*found, (edge, other) if rng.random() < 0.25 else (other, edge)) if rng.random() < 0.75 else found


def depth(text: str) -> int:
    """How many loops, written or of whole arrays, may go on inside each other: an estimate from above."""
    function = ast.parse(text).body[0]
    assert isinstance(function, ast.FunctionDef)
    helpers = [s for s in function.body if isinstance(s, ast.FunctionDef)]
    body = [s for s in function.body if not isinstance(s, ast.FunctionDef)]
    called = sum(max((nested(s) for s in h.body), default=0) for h in helpers)
    return max((nested(s) for s in body), default=0) + called


def nested(node: ast.AST) -> int:
    inner = max((nested(child) for child in syntax_children(node)), default=0)
    is_whole = isinstance(node, ast.Slice) or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult))
    if isinstance(node, ast.For | ast.While):
        return inner + 1
    return max(inner, int(is_whole or (isinstance(node, ast.Call) and is_reduction(node))))


def is_reduction(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in ("sum", "mean", "max", "min", "einsum", "dot")
