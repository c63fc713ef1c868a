"""Walks that leave things as they are give the same objects, and what is found of a LoopSet is no part of it."""

from __future__ import annotations

import pickle
from dataclasses import replace

from loopdiff.ir import nodes as ir
from loopdiff.ir.reader import read_loopset
from loopdiff.ir.walk import all_statements, map_blocks, map_stmt_exprs, substitute

TEXT = """loopset f(x, y, n)
    argument x: float64[:]
    argument y: float64[:]
    scalar n: int64
for i in range(0, n, 1):
    let v = x[i] * 2.0
    if v > 1.0:
        y[i] = v
    else:
        y[0] += v
"""


def test_what_stays_is_the_same_object() -> None:
    loop = read_loopset(TEXT).body[0]
    for stmt in all_statements((loop,)):
        assert map_stmt_exprs(lambda e: e, stmt) is stmt
        assert map_blocks(tuple, stmt) is stmt
    branch = next(s for s in all_statements((loop,)) if isinstance(s, ir.If))
    found = map_stmt_exprs(lambda e: substitute(e, {ir.Index("i"): ir.Index("k")}), branch)
    assert isinstance(found, ir.If)
    assert found.cond is branch.cond
    assert found.then != branch.then
    assert found.orelse[0] is branch.orelse[0]


def test_what_is_found_of_a_loopset_is_no_part_of_it() -> None:
    ls, other = read_loopset(TEXT), read_loopset(TEXT)
    assert ls.declared["y"] is ls.array("y")
    assert ls == other
    assert hash(ls) == hash(other)
    assert pickle.loads(pickle.dumps(ls)).array("x") == ls.array("x")
    fewer = replace(ls, arrays=ls.arrays[:1])
    assert fewer.has_array("x")
    assert not fewer.has_array("y")
