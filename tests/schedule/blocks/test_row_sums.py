"""Rows of 32 bits that all blocks add to get a part sum for each block: the same sums, with smaller errors."""

from __future__ import annotations

import numpy as np
import pytest

from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import run
from loopdiff.ir.verify import verify
from loopdiff.schedule.blocks.sweeps import block_primal
from tests.gradients.interpreted import normal_form


def squares(x, w, total):
    h = np.empty_like(total)
    for n in range(x.shape[0]):
        for i in range(w.shape[0]):
            s = w[i, 0] * 0.0
            for j in range(w.shape[1]):
                s += w[i, j] * x[n, j]
            h[i] = s
        for i in range(w.shape[0]):
            total[i] += h[i] * h[i]


def squares_read_again(x, w, total):
    h = np.empty_like(total)
    for n in range(x.shape[0]):
        for i in range(w.shape[0]):
            s = w[i, 0] * 0.0
            for j in range(w.shape[1]):
                s += w[i, j] * x[n, j]
            h[i] = s
        for i in range(w.shape[0]):
            total[i] += h[i] * total[0]


def given(rows: int, dtype: type) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    shapes = {"x": (rows, 3), "w": (5, 3), "total": (5,)}
    return {name: rng.uniform(0.1, 0.2, shape).astype(dtype) for name, shape in shapes.items()}


def blocked(function, dtype: type) -> ir.LoopSet:
    found = block_primal(normal_form(function, given(4, dtype)))
    verify(found, "row sums")
    assert "_block" in str(found.body)
    return found


@pytest.mark.parametrize("rows", [0, 1, 63, 64, 65, 200])
def test_sums_are_the_same(rows: int) -> None:
    found = blocked(squares, np.float32)
    assert any(a.name.endswith("_part") for a in found.arrays)
    mine, theirs = given(rows, np.float32), given(rows, np.float32)
    run(found, mine)
    squares(**theirs)
    np.testing.assert_allclose(mine["total"], theirs["total"], rtol=2e-6)


def test_errors_do_not_grow_with_the_number_of_rows() -> None:
    mine, exact = given(20_000, np.float32), given(20_000, np.float32)
    for args in (mine, exact):
        args["x"][:] = args["x"][0]
    run(blocked(squares, np.float32), mine)
    one = np.square(exact["w"].astype(float) @ exact["x"][0].astype(float))
    error = np.abs(mine["total"] / (exact["total"] + 20_000 * one) - 1.0).max()
    assert error < 4e-6  # 2e-4 for one after the other


@pytest.mark.parametrize(("function", "dtype"), [(squares, np.float64), (squares_read_again, np.float32)])
def test_others_are_left_alone(function, dtype: type) -> None:
    found = block_primal(normal_form(function, given(4, dtype)))
    assert not any(a.name.endswith("_part") for a in found.arrays)
