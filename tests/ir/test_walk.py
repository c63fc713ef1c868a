"""Walks that leave things as they are give the same objects, and what is found of a LoopSet is no part of it."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from dataclasses import replace

import pytest

from loopdiff.ir import nodes as ir
from loopdiff.ir import walk
from loopdiff.ir.mentions import Mentions, own_mentions
from loopdiff.ir.reader import read_loopset
from loopdiff.ir.types import F64
from loopdiff.ir.walk import (
    all_statements,
    lets_in,
    lets_used,
    map_blocks,
    map_body,
    map_stmt_exprs,
    mentioned,
    read_arrays,
    substitute,
    written_arrays,
)

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


def test_names_are_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """In each statement: where one is exchanged, in that one and in those around it."""
    seen: list[ir.Stmt] = []

    def counted(stmt: ir.Stmt, nodes: Iterable[ir.Expr]) -> Mentions:
        seen.append(stmt)
        return own_mentions(stmt, nodes)

    monkeypatch.setattr(walk, "own_mentions", counted)
    body = read_loopset(TEXT).body
    for _ in range(3):
        assert read_arrays(body) == {"x", "y"}
        assert written_arrays(body) == {"y"}
        assert lets_in(body) == lets_used(body) == {"v"}
        assert mentioned(body) == {"x", "y", "v"}
    assert len(seen) == len(all_statements(body)) == 5
    seen.clear()
    other = {ir.Const(2.0, F64): ir.Load(ir.Access("z", (ir.Index("i"),)))}
    changed = map_body(body, lambda s: (map_stmt_exprs(lambda e: substitute(e, other), s),))
    assert read_arrays(changed) == {"x", "y", "z"}
    assert [type(s) for s in seen] == [ir.Loop, ir.Let]
    assert pickle.loads(pickle.dumps(changed)) == changed
    assert not hasattr(pickle.loads(pickle.dumps(changed))[0], "own_names")
