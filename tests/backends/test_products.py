"""Products of matrices against NumPy: extents around the edges of tiles and blocks, operands that lie in any way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np
import pytest

from loopdiff.backends.cpu.multiply import FUNCTIONS, multiply, use
from loopdiff.backends.cpu.simd import products
from loopdiff.backends.cpu.simd.kernels import Lanes
from loopdiff.backends.cpu.simd.products import ADD, GIVE_UP, IN_PARTS
from loopdiff.backends.cpu.simd.rooms import NOTHING_YET
from loopdiff.model.machine import Cache, Machine
from loopdiff.model.register_tiles import Blocks, TileShape, product_blocks, register_tile, tall_tiles

Multiply = Callable[..., int]
TYPES = {"float64": (np.float64, 1e-12), "float32": (np.float32, 2e-4)}


def small_product(rooms: int, held: int) -> products.Product:
    """Tiles of 4 rows and up to 3 vectors of 4 lanes, the last of them of 2 where that is enough, some of them taller,
    or 6 rows and 4 vectors; blocks of 6 iterations and 8 rows."""
    tall = (TileShape(12, 1), TileShape(6, 2), TileShape(6, 4))
    lanes, narrow = (Lanes(numba.types.float64, width) for width in (4, 2))
    return products.Product(lanes, TileShape(4, 3), Blocks(6, 8, held), rooms, tall, narrow)


@pytest.fixture(scope="module", params=["float64", "float32", "small", "small, without rooms"])
def function(request: Any) -> Iterator[tuple[Multiply, str]]:
    """A product of matrices: those of this machine, and one with small blocks that has room for copies or has none."""
    if request.param in TYPES:
        yield use("product", request.param).ctypes, request.param
        return
    with pytest.MonkeyPatch.context() as patch:
        chosen = small_product(2, 6 * 24 * 8) if request.param == "small" else small_product(0, 6 * 24 * 8)
        patch.setattr(products, "product_of", lambda element: chosen)
        yield compiled(products.product), "float64"


def compiled(function: Any) -> Multiply:
    """A function for float64 like those that `use` knows, of what is patched now."""
    _, *names = FUNCTIONS[function.__name__]
    signature = numba.types.int64(*[numba.types.int64] * len(names), numba.types.float64)
    text = f"def call({', '.join(names)}, scale):\n    return function(({', '.join(names)}), scale)"
    scope: dict[str, Any] = {"function": function}
    exec(text, scope)
    return numba.cfunc(signature)(scope["call"]).ctypes


def laid_out(rng: Any, shape: tuple[int, ...], order: tuple[int, ...], gap: int, dtype: Any) -> np.ndarray:
    """Random numbers whose axes lie in memory in that order, elements `gap` apart (backwards if negative)."""
    wide = [shape[k] for k in order]
    wide[-1] *= abs(gap)
    held = rng.standard_normal(wide).astype(dtype)[..., ::gap]
    return held.transpose(np.argsort(order))


def run(
    function: Multiply, a: np.ndarray, b: np.ndarray, c: np.ndarray, is_sum: int, scale: float, kept: int = 0
) -> int:  # fmt: skip
    """c[r2, r, n] (+)= scale * sum of a[r2, r, s3, s2, s1] * b[n, s3, s2, s1]; the ticket of what is kept of b."""
    rows2, rows, n3, n2, n1 = a.shape
    left = [a.strides[k] for k in (1, 0, 4, 3, 2)]
    right = [b.strides[k] for k in (0, 3, 2, 1)]
    return function(
        *(c.ctypes.data, c.strides[1], c.strides[0], a.ctypes.data, *left, b.ctypes.data, *right),
        *(rows, rows2, c.shape[2], n1, n2, n3, int(is_sum), kept, scale),
    )


def check(function: Multiply, name: str, extents: tuple[int, ...], seed: int) -> None:
    """One product of random layout against NumPy; elements between those of C stay as they are."""
    dtype, tolerance = TYPES[name]
    rng = np.random.default_rng(seed)
    rows2, rows, columns, n1, n2, n3 = extents
    gaps = (1, 1, 2, -1)
    a = laid_out(rng, (rows2, rows, n3, n2, n1), tuple(rng.permutation(5)), gaps[rng.integers(4)], dtype)
    b = laid_out(rng, (columns, n3, n2, n1), tuple(rng.permutation(4)), gaps[rng.integers(4)], dtype)
    wide = rng.standard_normal((rows2, rows + 1, columns + 3)).astype(dtype)
    before, c = wide.copy(), wide[:, :rows, :columns]
    is_sum, scale = bool(seed % 2), (1.0, -0.5)[seed // 2 % 2]
    run(function, a, b, c, is_sum, scale)
    sums = scale * np.einsum("pqzyx,nzyx->pqn", a.astype(np.float64), b.astype(np.float64))
    expected = before.astype(np.float64)
    expected[:, :rows, :columns] = sums + is_sum * expected[:, :rows, :columns]
    np.testing.assert_allclose(wide, expected, rtol=tolerance, atol=10 * tolerance)


EDGES = [1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 13, 16, 17, 23, 24, 25, 31, 33]


def test_edges_of_tiles(function: tuple[Multiply, str]) -> None:
    rng = np.random.default_rng(1)
    for seed in range(120):
        rows2, n2, n3 = (int(n) for n in rng.integers(1, 4, 3))
        rows, columns, n1 = (int(n) for n in rng.choice(EDGES, 3))
        check(*function, (rows2, rows, columns, n1, n2, n3), seed)


BLOCKS = [
    (1, 3, 19, 70, 1, 1),
    (1, 1, 8, 32, 1, 1),
    (1, 2, 100, 300, 1, 1),
    (1, 96, 96, 256, 1, 1),
    (1, 121, 100, 353, 1, 1),
    (1, 119, 120, 351, 1, 1),
    (1, 250, 121, 705, 1, 1),
    (2, 100, 192, 86, 3, 1),
    (1, 33, 1100, 260, 1, 1),
    (1, 40, 2200, 40, 2, 3),
    (3, 30, 64, 3, 3, 30),
    (1, 130, 130, 1, 300, 1),
    (1, 100, 200, 2, 130, 2),
]


@pytest.mark.part(3)
@pytest.mark.parametrize("extents", BLOCKS)
def test_edges_of_blocks(function: tuple[Multiply, str], extents: tuple[int, ...]) -> None:
    for seed in range(4):
        check(*function, extents, seed)


@pytest.mark.parametrize("place", range(6))
def test_nothing_to_do(function: tuple[Multiply, str], place: int) -> None:
    """Without rows or columns nothing happens; without terms the sum is zero."""
    for seed in range(4):
        extents = [2, 3, 4, 5, 2, 2]
        extents[place] = 0
        check(*function, tuple(extents), seed)


def test_rows_may_overlap(function: tuple[Multiply, str]) -> None:
    """C[i + j] += A[i] * B[j]: a product of polynomials."""
    call, name = function
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(n).astype(TYPES[name][0]) for n in (21, 50))
    c, size = np.zeros(70, a.dtype), a.itemsize
    steps = (size, 0, 0, 0, 0)
    call(c.ctypes.data, size, 0, a.ctypes.data, *steps, b.ctypes.data, size, 0, 0, 0, 21, 1, 50, 1, 1, 1, 1, 0, 1.0)
    np.testing.assert_allclose(c, np.convolve(a, b), rtol=1e-3, atol=1e-5)


def test_few_rows_of_many_have_the_same_bits() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((1, 40, 1, 1, 70)), rng.standard_normal((30, 1, 1, 70))
    call, whole, parts = use("product", "float64").ctypes, np.zeros((1, 40, 30)), np.zeros((1, 40, 30))
    run(call, a, b, whole, True, 1.0)
    for first in range(0, 40, 3):
        run(call, a[:, first : first + 3], b, parts[:, first : first + 3], ADD | IN_PARTS, 1.0)
    np.testing.assert_array_equal(whole, parts)


def test_threads_have_rooms_of_their_own() -> None:
    """Equal bits from more threads at once than there are rooms."""
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((1, 130, 1, 1, 270)), rng.standard_normal((270, 1, 1, 300)).transpose(3, 1, 2, 0)
    call = use("product", "float64").ctypes
    results = [np.zeros((1, 130, 300)) for _ in range(40)]
    with ThreadPoolExecutor(20) as pool:
        list(pool.map(lambda c: run(call, a, b, c, True, 1.0), results))
    np.testing.assert_allclose(results[0], np.einsum("pqzyx,nzyx->pqn", a, b), atol=1e-11)
    assert all(np.array_equal(c, results[0]) for c in results)


KEPT = [(1, 8, 70, 30, 1, 1), (1, 3, 24, 6, 1, 1), (2, 9, 25, 7, 3, 1), (1, 130, 50, 2, 90, 2), (1, 8, 64, 700, 1, 1)]


@pytest.mark.parametrize("extents", KEPT)
def test_copies_are_kept_for_those_with_the_ticket(function: tuple[Multiply, str], extents: tuple[int, ...]) -> None:
    """As long as nobody needs the room the product is that of what was copied; without the ticket of what is there."""
    call, name = function
    dtype, tolerance = TYPES[name]
    rng = np.random.default_rng(6)
    rows2, rows, columns, n1, n2, n3 = extents
    a = rng.standard_normal((rows2, rows, n3, n2, n1)).astype(dtype)
    b = laid_out(rng, (columns, n3, n2, n1), (0, 1, 2, 3), 1, dtype)
    first, again, anew, given_up = (np.zeros((rows2, rows, columns), dtype) for _ in range(4))
    ticket = run(call, a, b, first, False, 1.0, NOTHING_YET)
    b *= 2.0
    assert run(call, a, b, again, False, 1.0, ticket) == ticket
    expected = np.einsum("pqzyx,nzyx->pqn", a, b)
    is_kept = ticket != NOTHING_YET
    np.testing.assert_allclose(again, first if is_kept else expected, rtol=tolerance, atol=20 * tolerance)
    np.testing.assert_allclose(again * (2.0 if is_kept else 1.0), expected, rtol=tolerance, atol=20 * tolerance)
    run(call, a, b, anew, False, 1.0)
    call(*[0] * (len(FUNCTIONS["product"]) - 3), GIVE_UP, ticket, 0.0)
    found = run(call, a, b, given_up, False, 1.0, ticket)
    assert (found == ticket) == (not is_kept)
    call(*[0] * (len(FUNCTIONS["product"]) - 3), GIVE_UP, found, 0.0)
    for c in (anew, given_up):
        np.testing.assert_allclose(c, expected, rtol=tolerance, atol=20 * tolerance)


def test_copies_of_several_are_kept_beside_each_other_and_by_threads() -> None:
    rng = np.random.default_rng(0)
    call = use("product", "float64").ctypes
    a = rng.standard_normal((1, 8, 1, 1, 40))
    right = [rng.standard_normal((50, 1, 1, 40)) for _ in range(5)]

    def work(seed: int) -> list[np.ndarray]:
        tickets, found = [NOTHING_YET] * len(right), [np.zeros((1, 8, 50)) for _ in right]
        for _ in range(30):
            for k, b in enumerate(right):
                tickets[k] = run(call, a + seed, b, found[k], False, 1.0, tickets[k])
        for ticket in tickets:
            call(*[0] * (len(FUNCTIONS["product"]) - 3), GIVE_UP, ticket, 0.0)
        return found

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(work, range(16)))
    for seed, found in enumerate(results):
        for c, b in zip(found, right, strict=True):
            np.testing.assert_allclose(c, np.einsum("pqzyx,nzyx->pqn", a + seed, b), atol=1e-11)


def test_what_is_no_operand_is_refused() -> None:
    @numba.njit
    def call(c, a, b, scale):
        extents = ((2,), (2,), (2,))
        multiply(c, (0, 0), ((1, 0),), a, (0, 0), ((1, 0), (0, 1)), b, (0, 0), ((0, 1), (1, 0)), extents, 0, scale)

    square = np.ones((2, 2))
    call(square.copy(), square, square, 1.0)
    for wrong in (
        (square, square.astype(np.float32), square),
        (square, square, np.ones(2)),
        (np.ones(2), square, square),
    ):
        with pytest.raises(numba.TypingError):
            call(*wrong, 1.0)


def test_tiles_fill_the_registers() -> None:
    assert register_tile(32) == TileShape(8, 3)
    assert register_tile(16) == TileShape(4, 3)
    assert register_tile(32).registers <= 32
    assert tall_tiles(Machine()) == (TileShape(6, 4),)
    assert tall_tiles(Machine(256)) == (TileShape(12, 1), TileShape(6, 2))


def test_blocks_fit_into_the_caches() -> None:
    assert product_blocks(Machine()) == Blocks(352, 120, 41 * 3 * 64 * 352)
    for sizes in ((48 << 10, 2 << 20, 16 << 20), (64 << 10, 512 << 10), (16 << 10,)):
        for bits in (512, 256, 128):
            blocks = product_blocks(Machine(bits, caches=tuple(Cache(size, 1.0) for size in sizes)))
            assert blocks.depth * 3 * bits // 8 <= 3 * sizes[0]
            assert blocks.rows * blocks.depth * 8 <= max(sizes[min(1, len(sizes) - 1)] // 3, 8 * blocks.depth * 8)
            assert blocks.held >= blocks.depth * 3 * bits // 8
