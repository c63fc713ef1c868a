"""Whole kernels written with the vector type, at forced widths: matmul tile, fused map and reduction,
histogram."""

from __future__ import annotations

import re

import numba
import numpy as np
import pytest

from loopdiff.backends.cpu.simd import (
    fma,
    host_width,
    iota,
    load,
    load_masked,
    load_splat,
    muladd,
    reduce_add,
    scatter_add,
    scatter_add_masked,
    select,
    splat,
    store,
    store_masked,
    tail_mask,
    transpose,
    vector_bits,
)
from loopdiff.backends.cpu.vector_math import VECTOR_FUNCTIONS

log1p = VECTOR_FUNCTIONS["log1p"]
WIDTHS = [1, 2, 4, 8]


def matmul_source(rows: int, columns: int, width: int) -> str:
    """C = A @ B by register tiles of `rows` x `columns * width`, for shapes that tiles divide."""
    tile = [(r, c) for r in range(rows) for c in range(columns)]
    lines = [
        "def matmul(C, A, B):",
        f"    for m in range(0, C.shape[0], {rows}):",
        f"        for n in range(0, C.shape[1], {columns * width}):",
        *(f"            c{r}_{c} = splat(0.0, {width})" for r, c in tile),
        "            for k in range(A.shape[1]):",
        *(f"                b{c} = load(B, (k, n + {c * width}), {width})" for c in range(columns)),
    ]
    for r in range(rows):
        lines.append(f"                a = load_splat(A, (m + {r}, k), {width})")
        lines += [f"                c{r}_{c} = fma(a, b{c}, c{r}_{c})" for c in range(columns)]
    lines += [f"            store(C, (m + {r}, n + {c * width}), c{r}_{c})" for r, c in tile]
    return "\n".join(lines)


def compiled_matmul(rows: int, columns: int, width: int):
    namespace = {"splat": splat, "load": load, "load_splat": load_splat, "fma": fma, "store": store}
    exec(matmul_source(rows, columns, width), namespace)
    return numba.njit(namespace["matmul"])


@pytest.mark.parametrize("width", WIDTHS)
def test_tiled_matmul(width):
    rng = np.random.default_rng(width)
    a, b, c = rng.random((6, 5)), rng.random((5, 2 * width)), np.full((6, 2 * width), np.nan)
    compiled_matmul(3, 2, width)(c, a, b)
    np.testing.assert_allclose(c, a @ b, rtol=1e-14)


@pytest.mark.skipif(vector_bits() != 512, reason="counts AVX-512 registers")
def test_matmul_tile_stays_in_registers():
    """The inner loop of the 9 x 24 tile is 27 multiply-adds, 3 loads, 9 broadcasts and no spilled vector:
    addresses of rows may lie on the stack, as LLVM has them on some processors."""
    rng = np.random.default_rng(0)
    a, b, c = rng.random((72, 72)), rng.random((72, 72)), np.empty((72, 72))
    matmul = compiled_matmul(9, 3, host_width("float64"))
    matmul(c, a, b)
    np.testing.assert_allclose(c, a @ b, rtol=1e-14)
    blocks = matmul.inspect_asm(matmul.signatures[0]).split("\n.L")
    inner = [block for block in blocks if block.count("vfmadd") == 27]
    assert inner
    assert all(len(re.findall(r"vmovup[ds]|vmovap[ds]", block)) == 3 for block in inner)
    assert all(block.count("vbroadcastsd") == 9 for block in inner)
    assert not any("%rsp" in line and "mm" in line for block in inner for line in block.splitlines())


@pytest.mark.parametrize("width", WIDTHS)
def test_masked_tail_of_a_fused_map_and_reduction(width):
    @numba.njit
    def run(x, y):
        total, stop = splat(0.0, width), x.size - x.size % width
        for i in range(0, stop, width):
            v = load(x, (i,), width)
            total = muladd(v, v, total)
            store(y, (i,), log1p(v))
        if stop < x.size:
            mask = tail_mask(x.size - stop, width)
            v = load_masked(x, (stop,), mask)
            total = select(mask, muladd(v, v, total), total)
            store_masked(y, (stop,), log1p(v), mask)
        return reduce_add(total)

    for n in (0, 1, 7, 8, 21):
        x, guarded = np.linspace(0.5, 2, n), np.full(40, -1.0)
        np.testing.assert_allclose(run(x, guarded[:n]), x @ x, rtol=1e-14)
        np.testing.assert_allclose(guarded[:n], np.log1p(x), rtol=1e-15)
        assert (guarded[n:] == -1.0).all()


@pytest.mark.parametrize("width", WIDTHS)
def test_scatter_add_counts_lanes_that_meet(width):
    @numba.njit
    def run(index, weight, bins, counts):
        for i in range(0, index.size, width):
            mask = tail_mask(index.size - i, width)
            at = load_masked(index, (i,), mask)
            scatter_add_masked(bins, (1, at), load_masked(weight, (i,), mask), mask)
        scatter_add(counts, (iota(0, 0, width),), 2 * iota(1, 1, width))

    rng = np.random.default_rng(3)
    index, weight = rng.integers(0, 4, 21), rng.random(21)
    bins, counts = np.zeros((2, 4)), np.zeros(2, np.int32)
    run(index, weight, bins, counts)
    expected = np.zeros((2, 4))
    np.add.at(expected[1], index, weight)
    np.testing.assert_array_equal(bins, expected)
    np.testing.assert_array_equal(counts, [width * (width + 1), 0])


def test_transpose():
    @numba.njit
    def run(a, out):
        columns = transpose((load(a, (0, 0), 4), load(a, (1, 0), 4), load(a, (2, 0), 4), load(a, (3, 0), 4)))
        for k in range(4):
            store(out, (k, 0), columns[k])

    a = np.arange(16, dtype=np.float32).reshape(4, 4)
    out = np.empty_like(a)
    run(a, out)
    np.testing.assert_array_equal(out, a.T)
