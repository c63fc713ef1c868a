"""Products of matrices side by side against NumPy: extents around edges, operands and results that lie in any way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numba
import numpy as np
import pytest

from loopdiff.backends.cpu.multiply import use
from loopdiff.backends.cpu.simd import lane_products
from loopdiff.backends.cpu.simd.kernels import Lanes
from loopdiff.model.register_tiles import TileShape
from tests.backends.test_products import TYPES, Multiply, compiled, laid_out

EDGES = [1, 2, 3, 4, 5, 7, 8, 9, 12, 17]


@pytest.fixture(scope="module", params=["float64", "float32", "small", "small, without rooms"])
def function(request: Any) -> Iterator[tuple[Multiply, str]]:
    """The products of this machine, and ones with little room for copies or none."""
    if request.param in TYPES:
        yield use("lane_product", request.param).ctypes, request.param
        return
    with pytest.MonkeyPatch.context() as patch:
        rooms = 2 if request.param == "small" else 0
        chosen = lane_products.LaneProduct(Lanes(numba.types.float64, 4), TileShape(4, 3), 3 * 64 * 5 * 32, rooms)
        patch.setattr(lane_products, "lane_product_of", lambda element: chosen)
        yield compiled(lane_products.lane_product), "float64"


def check(function: Multiply, name: str, extents: tuple[int, ...], seed: int) -> None:
    """c[r, n, l] (+)= scale * sum of a[r, l, s3, s2, s1] * b[n, l, s3, s2, s1]; elements beside those of C stay."""
    dtype, tolerance = TYPES[name]
    rng = np.random.default_rng(seed)
    rows, columns, count, n1, n2, n3 = extents
    a = laid_out(rng, (rows, count, n3, n2, n1), tuple(rng.permutation(5)), (1, 1, -2)[rng.integers(3)], dtype)
    b = laid_out(rng, (columns, count, n3, n2, n1), tuple(rng.permutation(5)), (1, 1, -2)[rng.integers(3)], dtype)
    wide = laid_out(rng, (rows, columns + 1, count + 1), tuple(rng.permutation(3)), (1, 1, 2)[rng.integers(3)], dtype)
    before, c = wide.astype(np.float64), wide[:, :columns, :count]
    is_sum, scale = bool(seed % 2), (1.0, -0.5)[seed // 2 % 2]
    strides = [x.strides[k] for x in (a, b) for k in (0, 1, 4, 3, 2)]
    function(
        *(c.ctypes.data, *c.strides, a.ctypes.data, *strides[:5], b.ctypes.data, *strides[5:]),
        *(rows, columns, count, n1, n2, n3, int(is_sum), scale),
    )
    sums = scale * np.einsum("rlzyx,nlzyx->rnl", a.astype(np.float64), b.astype(np.float64))
    before[:, :columns, :count] = sums + is_sum * before[:, :columns, :count]
    np.testing.assert_allclose(wide, before, rtol=tolerance, atol=10 * tolerance)


def test_edges(function: tuple[Multiply, str]) -> None:
    rng = np.random.default_rng(1)
    for seed in range(120):
        rows, columns, count, n1 = (int(n) for n in rng.choice(EDGES, 4))
        n2, n3 = (int(n) for n in rng.integers(1, 4, 2))
        check(*function, (rows, columns, count, n1, n2, n3), seed)


@pytest.mark.parametrize(
    "extents", [(65, 9, 9, 3, 1, 1), (3, 130, 5, 66, 1, 1), (128, 70, 17, 64, 1, 1), (9, 7, 20, 130, 2, 1)]
)
def test_edges_of_blocks(function: tuple[Multiply, str], extents: tuple[int, ...]) -> None:
    for seed in range(6):
        check(*function, extents, seed)


@pytest.mark.parametrize("place", range(6))
def test_nothing_to_do(function: tuple[Multiply, str], place: int) -> None:
    for seed in range(4):
        extents = [2, 3, 4, 5, 2, 2]
        extents[place] = 0
        check(*function, tuple(extents), seed)
