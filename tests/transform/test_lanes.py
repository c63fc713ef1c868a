"""Independent outer loops as lanes: the same values, buffers with an axis more, tapes in blocks of lanes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from loopdiff.ad.reverse import build_sweeps
from loopdiff.ir.build import integer
from loopdiff.ir.interpret import run
from loopdiff.ir.printer import print_expr
from loopdiff.ir.verify import verify
from loopdiff.transform.blocked import block_primal, block_sweeps
from loopdiff.transform.layout import align_tapes
from tests.corpus import BY_NAME
from tests.gradients import harness
from tests.gradients.interpreted import lowered, normal_form
from tests.gradients.test_tape_plans import forward_and_reverse


@pytest.mark.parametrize("policy", ["auto", "store", "recompute"])
def test_gradients_are_the_same(policy: Any) -> None:
    entry = BY_NAME["gmm"]
    ls = lowered(entry)
    plain = build_sweeps(ls, entry.wrt, policy)
    forward, reverse = align_tapes(*block_sweeps(plain.forward, plain.reverse, 2))
    verify(forward, "lanes")
    verify(reverse, "lanes")
    assert any("_lanes" in a.name for a in forward.arrays)
    weight = harness.weights({"result": np.float64(1.0)}, 0)
    expected = forward_and_reverse(entry, ls, plain, weight)
    blocked = replace(plain, forward=forward, reverse=reverse)
    for key, found in forward_and_reverse(entry, ls, blocked, weight).items():
        np.testing.assert_allclose(found, expected[key], rtol=1e-9, atol=1e-12, err_msg=key)


def test_tapes_of_lanes_are_kept_in_their_blocks() -> None:
    entry = BY_NAME["gmm"]
    plain = build_sweeps(lowered(entry), entry.wrt, "store")
    forward, reverse = align_tapes(*block_sweeps(plain.forward, plain.reverse, 2))
    tapes = [a for a in plain.forward.arrays if a.role == "tape" and len(a.extents or ()) == 3]
    assert tapes
    for tape in tapes:
        assert tape.extents is not None
        found = forward.array(tape.name).extents
        assert found is not None
        count, *rest, size = found
        assert print_expr(count) == f"({print_expr(tape.extents[0])} + 1) // 2"
        assert (*rest, size) == (*tape.extents[1:], integer(2))
        assert reverse.array(tape.name).extents == forward.array(tape.name).extents


def triangular(x, c, y):
    row = np.zeros(c.shape[0])
    for i in range(x.shape[0]):
        for a in range(c.shape[0]):
            s = c[a] * x[i]
            for b in range(a):
                s += c[b] * row[b]
            row[a] = math.sin(s)
        y[i] = row[c.shape[0] - 1]


def carried(x, c, y):
    row = np.zeros(c.shape[0])
    for i in range(x.shape[0]):
        for a in range(c.shape[0]):
            s = c[a] * x[i]
            for b in range(a):
                s += c[b] * row[b]
            row[a] += math.sin(s)
        y[i] = row[c.shape[0] - 1]


def test_only_independent_iterations_become_lanes() -> None:
    rng = np.random.default_rng(0)
    args = dict(x=rng.random(5), c=rng.random(4), y=np.zeros(5))
    ls = normal_form(triangular, args)
    found = block_primal(ls, 2)
    assert {a.name for a in found.arrays} - {a.name for a in ls.arrays} == {"row_lanes"}
    mine = {k: v.copy() for k, v in args.items()}
    run(found, mine)
    triangular(**args)
    np.testing.assert_allclose(mine["y"], args["y"], rtol=1e-13)
    other = normal_form(carried, args)
    assert block_primal(other, 2) is other
