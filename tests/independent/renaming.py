"""Give local names of a program those that a compiler might make up itself, `total`, `x_adj`, `i_1`, or that
its code calls: `load`, `select`."""

from __future__ import annotations

import ast
import random
from dataclasses import replace

from .expected import Program

WORDS = (
    "total", "first", "last", "chosen", "which", "found", "value", "result", "array", "sum_", "prod", "out", "size",
    "left", "tile", "live", "zero", "count", "place", "items", "unpacked", "patience", "tape", "seed", "result_adj",
    "index", "load", "store", "select", "splat", "maximum", "at", "mask", "cast", "max2", "look_out",
)  # fmt: skip
ENDINGS = ("_adj", "_tan", "_out", "_tape", "_new", "_val", "_start", "_end", "_size", "_1", "_2", "_v", "_")


def renamed(rng: random.Random, program: Program) -> Program:
    """The program with other names for some of what it binds itself."""
    tree = ast.parse(program.source)
    names = bound(tree) - set(program.args) - spelt_out(tree)
    used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} | set(program.args)
    new: dict[str, str] = {}
    for name in sorted(names):
        word = rng.choice(WORDS) if rng.random() < 0.6 else rng.choice(sorted(used)) + rng.choice(ENDINGS)
        if rng.random() < 0.7 and word not in used and word not in new.values():
            new[name] = word
    for node in ast.walk(tree):
        match node:
            case ast.Name():
                node.id = new.get(node.id, node.id)
            case ast.arg():
                node.arg = new.get(node.arg, node.arg)
    return replace(program, source=ast.unparse(tree) + "\n")


def bound(tree: ast.Module) -> set[str]:
    """Names that functions bind: parameters and variables."""
    inside = [n for f in tree.body if isinstance(f, ast.FunctionDef) for n in ast.walk(f)]
    stored = {n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return stored | {n.arg for n in inside if isinstance(n, ast.arg)}


def spelt_out(tree: ast.Module) -> set[str]:
    """Names that stand somewhere as texts: keywords, functions, and what is declared global."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.keyword(arg=str(name)) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                found.update(names)
            case _:
                pass
    return found
