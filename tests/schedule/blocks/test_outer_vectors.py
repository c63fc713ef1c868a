"""Independent outer loops as lanes: the same values, buffers with an axis more, tapes in blocks of lanes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import integer
from loopdiff.ir.interpret import run
from loopdiff.ir.printer import print_expr
from loopdiff.ir.verify import verify
from loopdiff.ir.walk import statements
from loopdiff.schedule.blocks.sweeps import block_primal, block_sweeps
from loopdiff.schedule.blocks.tape_layout import align_tapes
from tests.corpus import BY_NAME
from tests.gradients import harness
from tests.gradients.interpreted import lowered, normal_form, sweeps_of
from tests.gradients.test_tape_plans import forward_and_reverse


@pytest.mark.parametrize("policy", ["auto", "store", "recompute"])
def test_gradients_are_the_same(policy: Any) -> None:
    entry = BY_NAME["gmm"]
    ls = lowered(entry)
    plain = sweeps_of("gmm", policy)
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
    plain = sweeps_of("gmm", "store")
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


# -- loops that hand on values -------------------------------------------------------------------------------
def filtered(x, c, y):
    for i in range(x.shape[0]):
        s = 0.0
        for k in range(x.shape[1]):
            s = 0.9 * s + x[i, k]
            y[i, k] = math.sin(s) * c[k]


def solved(x, c, y):
    """Tridiagonal systems along the rows."""
    n = x.shape[1]
    cc = np.empty(n, x.dtype)
    dc = np.empty(n, x.dtype)
    for i in range(x.shape[0]):
        cc[0] = c[0] / 4.0
        dc[0] = x[i, 0] / 4.0
        for k in range(1, n):
            z = 1.0 / (4.0 - c[k - 1] * cc[k - 1])
            cc[k] = c[k] * z
            dc[k] = (x[i, k] - x[i, k - 1] * dc[k - 1]) * z
        for k in range(n - 2, -1, -1):
            dc[k] = dc[k] - cc[k] * dc[k + 1]
        for k in range(n):
            y[i, k] = dc[k]


def in_columns(x, c, y):
    for i in range(x.shape[0]):
        for k in range(1, x.shape[1]):
            y[i, k] = 0.5 * y[i, k - 1] + x[i, k] * x[i, k - 1] + c[k]


def summed_across(x, c, y):
    for i in range(1, x.shape[0]):
        for k in range(1, x.shape[1]):
            y[i, k] = 0.5 * y[i, k - 1] + y[i - 1, k] + x[i, k]


def in_rows_of_vectors(x, c, y):
    for i in range(x.shape[0]):
        for k in range(1, x.shape[1]):
            y[i, k] = x[i, k - 1] * c[k] + x[i, k]


def of_convolution(x, c, y):
    for i in range(x.shape[0]):
        s = 0.0
        for k in range(c.shape[0]):
            s = 0.5 * s + c[k]
            y[0, i + k] += s * x[i, 0]


def there_and_back(x, c, y):
    row = np.empty(x.shape[1], x.dtype)
    for i in range(x.shape[0]):
        s = 0.0
        for k in range(x.shape[1]):
            s = 0.5 * s + x[i, k]
            row[k] = s
        s = 0.0
        for k in range(x.shape[1] - 1, -1, -1):
            s = 0.5 * s + row[k] * c[k]
            y[i, k] = s


HANDING_ON = (solved, there_and_back)
OTHERS = (filtered, in_columns, summed_across, in_rows_of_vectors, of_convolution)


def rows(n: int, length: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(n)
    return {"x": rng.random((n, length)), "c": rng.random(length), "y": rng.random((n + 1, n + length))}


@pytest.mark.parametrize("function", HANDING_ON)
def test_loops_around_such_that_hand_on_values_become_lanes(function: Any) -> None:
    ls = normal_form(function, rows(6, 7))
    found = block_primal(ls)
    verify(found, "lanes")
    assert any(s.stmt.index == "i_block" for s in statements(found.body) if isinstance(s.stmt, ir.Loop))


@pytest.mark.parametrize("function", OTHERS)
def test_others_stay(function: Any) -> None:
    """Iterations that need each other, loops that are vectors inside, and those that have no buffers."""
    ls = normal_form(function, rows(6, 7))
    assert block_primal(ls) is ls


@pytest.mark.part(5)
@pytest.mark.parametrize("n", [1, 3, 4, 8, 16, 19, 35])
@pytest.mark.parametrize("function", [*HANDING_ON, *OTHERS])
def test_values_and_gradients_in_lanes(function: Any, n: int) -> None:
    args = rows(n, 6)
    expected, mine = ({k: v.copy() for k, v in args.items()} for _ in range(2))
    function(**expected)
    f = vectorize_grad(function, wrt=("x", "c", "y"))
    _, pullback = f.vjp(**mine)
    np.testing.assert_allclose(mine["y"], expected["y"], rtol=1e-12, atol=1e-14)
    bar = np.random.default_rng(1).standard_normal(args["y"].shape)
    found = pullback(y=bar.copy())
    moved = {k: np.random.default_rng(len(k)).standard_normal(v.shape) for k, v in args.items()}
    shifted = {k: v + 1e-30j * moved[k] for k, v in args.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(math, "sin", np.sin)
        function(**shifted)
    along = float(np.sum(bar * shifted["y"].imag)) / 1e-30
    pulled = sum(float(np.sum(getattr(found, k) * moved[k])) for k in args)
    np.testing.assert_allclose(pulled, along, rtol=1e-10, atol=1e-10)
