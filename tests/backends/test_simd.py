"""Vector primitives against NumPy: operators, lane functions, memory access, several widths and element
types."""

from __future__ import annotations

import ctypes
import math
import mmap
import os

import numba
import numpy as np
import pytest

from loopdiff.backends.cpu.simd import (
    abs_,
    all_,
    any_,
    cast,
    ceil,
    copysign,
    extract,
    floor,
    fma,
    full_mask,
    gather,
    gather_masked,
    get,
    host_width,
    insert,
    iota,
    isfinite,
    isinf,
    isnan,
    lanewise,
    load,
    load_masked,
    load_splat,
    load_splat_masked,
    load_strided,
    load_strided_masked,
    maximum,
    minimum,
    powi,
    put,
    reduce_add,
    reduce_max,
    reduce_min,
    reduce_mul,
    reverse,
    rint,
    root,
    scatter,
    scatter_masked,
    select,
    sign,
    splat,
    sqrt,
    store,
    store_masked,
    store_strided,
    store_strided_masked,
    tail_mask,
    trunc,
)  # fmt: skip

pytestmark = pytest.mark.part(2)

NAN, INF = math.nan, math.inf
EDGES = np.array([0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 3.5, 0.3, -0.3, INF, -INF, NAN, 1e300, -7.0, 2.0, 0.5])


def edge_pairs(dtype: type) -> tuple[np.ndarray, np.ndarray]:
    with np.errstate(all="ignore"):
        x, y = np.meshgrid(EDGES.astype(dtype), EDGES.astype(dtype))
    return x.ravel(), y.ravel()


@pytest.mark.parametrize(("dtype", "width"), [(np.float64, 1), (np.float64, 8), (np.float32, 4), (np.float32, 16)])
def test_float_operators(dtype, width):
    @numba.njit
    def run(x, y, out, masks):
        for i in range(0, x.size, width):
            a, b = load(x, (i,), width), load(y, (i,), width)
            store(out, (0, i), a + b)
            store(out, (1, i), a - b)
            store(out, (2, i), a * b)
            store(out, (3, i), a / b)
            store(out, (4, i), a // b)
            store(out, (5, i), a % b)
            store(out, (6, i), -a)
            store(out, (7, i), minimum(a, b))
            store(out, (8, i), maximum(a, b))
            store(out, (9, i), copysign(a, b))
            store(out, (10, i), 0.1 - a * 3)
            c = a
            c += b
            c *= 0.5
            store(out, (11, i), c)
            store(masks, (0, i), a < b)
            store(masks, (1, i), a <= b)
            store(masks, (2, i), a > b)
            store(masks, (3, i), a >= b)
            store(masks, (4, i), a == b)
            store(masks, (5, i), a != b)
            store(masks, (6, i), (a < b) & ~(a > 0.5) | (b == 1.0) ^ (a != 0))

    x, y = edge_pairs(dtype)
    out, masks = np.empty((12, x.size), dtype), np.empty((7, x.size), np.bool_)
    run(x, y, out, masks)
    with np.errstate(all="ignore"):
        floats = [
            x + y, x - y, x * y, x / y, x // y, x % y, -x, np.minimum(x, y), np.maximum(x, y),
            np.copysign(x, y),
            dtype(0.1) - x * dtype(3), (x + y) * dtype(0.5),
        ]  # fmt: skip
    tests = [x < y, x <= y, x > y, x >= y, x == y, x != y, (x < y) & ~(x > 0.5) | (y == 1.0) ^ (x != 0)]
    for row, expected in enumerate(floats):
        exact = row != 10
        np.testing.assert_allclose(out[row], expected, rtol=0 if exact else 1e-6, err_msg=f"row {row}")
    # A modulo of zero takes the divisor's sign; a negation flips that of zero.
    for row in (4, 5, 6, 9):
        finite = ~np.isnan(floats[row])
        np.testing.assert_array_equal(np.signbit(out[row])[finite], np.signbit(floats[row])[finite], f"row {row}")
    for row, expected in enumerate(tests):
        np.testing.assert_array_equal(masks[row], expected, f"mask {row}")


@pytest.mark.parametrize("width", [2, 8])
def test_integer_operators(width):
    @numba.njit
    def run(x, y, out, quotients):
        for i in range(0, x.size, width):
            a, b = load(x, (i,), width), load(y, (i,), width)
            store(out, (0, i), a + b)
            store(out, (1, i), a - b)
            store(out, (2, i), a * b)
            store(out, (3, i), a // b)
            store(out, (4, i), a % b)
            store(out, (5, i), a & b)
            store(out, (6, i), a | b)
            store(out, (7, i), a ^ b)
            store(out, (8, i), ~a)
            store(out, (9, i), -a)
            store(out, (10, i), a << abs_(b))
            store(out, (11, i), a >> abs_(b))
            store(out, (12, i), minimum(a, b))
            store(out, (13, i), maximum(a, 3))
            store(out, (14, i), sign(a))
            store(out, (15, i), 7 // b + fma(a, b, 1))
            store(quotients, (i,), a / 4)

    values = np.array([0, 1, -1, 2, -2, 3, -3, 7, -7, 8, 64, 70, -64, 1000, -1001, np.iinfo(np.int64).min])
    x, y = (g.ravel() for g in np.meshgrid(values, values))
    out, quotients = np.empty((16, x.size), np.int64), np.empty(x.size)
    run(x, y, out, quotients)
    with np.errstate(all="ignore"):
        shift = np.abs(y)
        expected = [
            x + y, x - y, x * y, x // y, x % y, x & y, x | y, x ^ y, ~x, -x, np.left_shift(x, shift),
            np.right_shift(x, shift), np.minimum(x, y), np.maximum(x, 3), np.sign(x), 7 // y + x * y + 1,
        ]  # fmt: skip
    smallest = np.iinfo(np.int64).min
    for row, values in enumerate(expected):
        # |int64.min| is no shift count.
        defined = y != smallest if row in (10, 11) else np.full(y.shape, True)
        np.testing.assert_array_equal(out[row][defined], values[defined], f"row {row}")
    np.testing.assert_array_equal(quotients, x / 4)


def elementwise_kernel(name: str, width: int):
    """A kernel that stores the results of many functions, one per row."""

    @numba.njit
    def cube(v):
        return v * v * v if v > 0 else -v

    @numba.njit
    def blend(v, w):
        return v + 2 * w

    cubes, blends, gammas = lanewise(cube), lanewise(blend), lanewise(math.gamma)

    @numba.njit
    def run(x, out, ints, masks):
        for i in range(0, x.size, width):
            a = load(x, (i,), width)
            store(out, (0, i), sqrt(abs_(a)))
            store(out, (1, i), floor(a))
            store(out, (2, i), ceil(a))
            store(out, (3, i), trunc(a))
            store(out, (4, i), rint(a))
            store(out, (5, i), sign(a))
            store(out, (6, i), fma(a, a, 0.25))
            store(out, (7, i), select(a > 0, a, 1))
            store(out, (8, i), select(True, a, a + 1))
            store(out, (9, i), cubes(a))
            store(out, (10, i), blends(a, 1.5))
            store(out, (11, i), reverse(reverse(a)))
            store(out, (12, i), insert(a, 1, 9.0))
            store(out, (13, i), gammas(cast(splat(4, width), name)))
            store(masks, (0, i), isnan(a))
            store(masks, (1, i), isinf(a))
            store(masks, (2, i), isfinite(a))
            store(masks, (3, i), cast(a, "bool"))
            small = select(isfinite(a) & (abs_(a) < 1000.0), a, 0.0)
            store(ints, (0, i), cast(small, "int64"))
            store(ints, (1, i), cast(a > 0, "int64"))
            store(ints, (2, i), cast(cast(cast(small, "int64"), name), "int64"))

    return run


@pytest.mark.parametrize(("dtype", "width"), [(np.float64, 8), (np.float32, 2)])
def test_elementwise_functions(dtype, width):
    with np.errstate(all="ignore"):
        x = EDGES.astype(dtype)
    out, ints, masks = (
        np.empty((14, x.size), dtype),
        np.empty((3, x.size), np.int64),
        np.empty((4, x.size), np.bool_),
    )
    elementwise_kernel(np.dtype(dtype).name, width)(x, out, ints, masks)
    small = np.where(np.isfinite(x) & (np.abs(x) < 1000), x, 0)
    inserted = x.copy()
    inserted[1::width] = 9
    with np.errstate(all="ignore"):
        expected = [
            np.sqrt(np.abs(x)), np.floor(x), np.ceil(x), np.trunc(x), np.rint(x), np.sign(x),
            x * x + dtype(0.25),
            np.where(x > 0, x, 1), x, np.where(x > 0, x * x * x, -x), x + 3, x, inserted,
            np.full(x.size, 6.0),
        ]  # fmt: skip
    for row, values in enumerate(expected):
        np.testing.assert_allclose(out[row], values, rtol=2e-7 if dtype is np.float32 else 4e-16, err_msg=f"row {row}")
    for row, values in enumerate([np.isnan(x), np.isinf(x), np.isfinite(x), x != 0]):
        np.testing.assert_array_equal(masks[row], values, f"mask {row}")
    for row, values in enumerate([small.astype(int), (x > 0).astype(int), small.astype(int)]):
        np.testing.assert_array_equal(ints[row], values, f"ints {row}")


def test_literal_powers():
    @numba.njit
    def run(x, k):
        v, n = load(x, (0,), 4), load(k, (0,), 4)
        floats = powi(v, 0), powi(v, 1), powi(v, 5), powi(v, -2), powi(v, 12)
        out = np.empty((5, 4))
        for row in range(5):
            store(out, (row, 0), floats[row])
        store(k, (0,), powi(n, 3))
        return out

    @numba.njit
    def reciprocal(k):
        return reduce_add(powi(load(k, (0,), 4), -1))

    x, k = np.array([0.0, -1.5, 3.0, INF]), np.array([0, -3, 5, 2**40])
    with np.errstate(all="ignore"):
        expected = np.array([x**n for n in (0, 1, 5, -2, 12)])
        cubes = k**3
    np.testing.assert_allclose(run(x, k), expected, rtol=1e-15)
    np.testing.assert_array_equal(k, cubes)
    with pytest.raises(numba.TypingError):
        reciprocal(k)


def test_fma_rounds_once():
    @numba.njit
    def run(x):
        v = splat(x, 4)
        return extract(fma(v, v, -x * x), 3), fma(x, x, -x * x)

    x = 1.0 + 2.0**-30
    assert run(x) == (2.0**-60, 2.0**-60)


@pytest.mark.parametrize("width", [1, 3, 8])
def test_reductions(width):
    @numba.njit
    def run(x, i):
        v = load(x, (i,), width)
        whole = cast(v, "int64")
        return (
            (reduce_add(v), reduce_mul(v), reduce_max(v), reduce_min(v), reduce_max(cast(v, "float32"))),
            (reduce_add(whole), reduce_mul(whole), reduce_max(whole), reduce_min(whole)),
            (any_(v > 8.0), all_(v > 0.0)),
        )

    x = np.array([3.0, -1.0, 4.0, 1.0, -5.0, 9.0, 2.0, 6.0, 5.0, 3.0, 1.0, 2.0, 7.0, 9.0, 3.0, 2.0, 3.0, 8.0, 4.0])
    for i in range(0, x.size - width):
        v = x[i : i + width]
        floats, integers, masks = run(x, i)
        np.testing.assert_allclose(floats, [v.sum(), v.prod(), v.max(), v.min(), v.max()], rtol=1e-15)
        assert integers == (v.sum(), v.prod(), v.max(), v.min())
        assert masks == ((v > 8).any(), (v > 0).all())
    x[3] = NAN
    assert np.isnan(run(x, 3 - min(1, width - 1))[0]).all()


@pytest.mark.parametrize("width", [1, 4])
def test_index_vectors_and_tail_masks(width):
    @numba.njit
    def run(n):
        mask, lanes = tail_mask(n, width), iota(n, -2, width)
        return (
            (reduce_add(mask), reduce_add(lanes), reduce_max(lanes), extract(lanes, width - 1)),
            (any_(mask), all_(mask), all_(full_mask(width)), any_(n > 3)),
        )

    for n in (-3, 0, 1, 3, 4, 9):
        lanes, count = n - 2 * np.arange(width), max(0, min(n, width))
        numbers, flags = run(n)
        assert numbers == (count, lanes.sum(), lanes.max(), lanes[-1])
        assert flags == (count > 0, count == width, True, n > 3)


@pytest.mark.parametrize("width", [2, 4, 8, 16, 32])
def test_tail_masks_of_any_count(width):
    @numba.njit
    def count(n):
        return reduce_add(tail_mask(n, width))

    for n in (
        -(1 << 63),
        -(1 << 32) - 1,
        -(1 << 31),
        -129,
        -1,
        0,
        1,
        width - 1,
        width,
        128,
        255,
        256,
        1 << 32,
        (1 << 63) - 1,
    ):
        assert count(np.int64(n)) == max(0, min(n, width))


def strided_views() -> list[np.ndarray]:
    base = np.arange(24 * 30, dtype=np.float64).reshape(24, 30)
    return [base, np.asfortranarray(base), base[::-1, ::-1], base[1::2, 2::3].repeat(2, 0)[:, ::-1]]


@pytest.mark.parametrize("number", range(4))
def test_loads_from_every_layout(number):
    @numba.njit
    def run(a, i, j, remaining, out):
        mask = tail_mask(remaining, 4)
        store(out, (0, 0), load_strided(a, (i, j), 1, 1, 4))
        store(out, (1, 0), load_strided(a, (i, j + 3), 1, -1, 4))
        store(out, (2, 0), load_strided(a, (i, j), 0, 2, 4))
        store(out, (3, 0), load_strided(a, (i + 3, j), 0, -1, 4))
        store(out, (4, 0), load_strided_masked(a, (i, j + 3), 1, -1, mask))
        store(out, (5, 0), load_strided_masked(a, (i, j), 0, 1, mask))
        store(out, (6, 0), gather(a, (iota(i, 1, 4), iota(j, 1, 4))))
        store(out, (7, 0), gather_masked(a, (i, iota(j, 2, 4)), mask))
        store(out, (8, 0), load_splat(a, (i, j), 4))
        put(out, (9, 0), get(a, (i, j)))
        store(out, (10, 0), load_splat_masked(a, (i, j), mask))
        store(out, (11, 0), load_splat_masked(a, (1000 * i, j), tail_mask(remaining - 3, 4)))

    a = strided_views()[number]
    out = np.zeros((12, 4))
    i, j = 2, 1
    run(a, i, j, 3, out)
    k, on = np.arange(4), np.arange(4) < 3
    expected = [
        a[i, j : j + 4], a[i, j + 3 - k], a[i + 2 * k, j], a[i + 3 - k, j], a[i, j + 3 - k] * on,
        a[i + k, j] * on,
        a[i + k, j + k], a[i, np.minimum(j + 2 * k, a.shape[1] - 1)] * on, np.full(4, a[i, j]), [a[i,
        j], 0, 0, 0], a[i, j] * on, np.zeros(4),
    ]  # fmt: skip
    for row, values in enumerate(expected):
        np.testing.assert_array_equal(out[row], values, f"row {row}")


@pytest.mark.part(5)
@pytest.mark.skipif(os.name == "nt", reason="no mprotect")
@pytest.mark.parametrize("width", [2, 4, 8])
@pytest.mark.parametrize("step", [2, 3, 4, 5])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "int16"])
def test_lanes_a_few_elements_apart(dtype, step, width):
    """No element between lanes is written, and none behind the last lane read: the array ends there."""

    @numba.njit
    def run(a, i, b, remaining, out, into, part):
        mask = tail_mask(remaining, width)
        store(out, (0, 0), cast(load_strided(a, (i,), 0, step, width), "float64"))
        store(out, (1, 0), cast(load_strided_masked(b, (i,), 0, step, mask), "float64"))
        store_strided(into, (i,), 0, step, load_strided(a, (i,), 0, step, width))
        store_strided_masked(part, (i,), 0, step, load_strided(a, (i,), 0, step, width), mask)

    remaining = width - 1
    a = before_a_wall(np.arange(1, 3 + step * (width - 1) + 1).astype(dtype))
    b = before_a_wall(a[: 3 + step * (remaining - 1)])
    into, part = before_a_wall(np.full_like(a, 7)), before_a_wall(np.full_like(b, 7))
    out = np.zeros((2, width))
    run(a, 2, b, remaining, out, into, part)
    expected = a[2::step].astype(float)
    np.testing.assert_array_equal(out, [expected, np.where(np.arange(width) < remaining, expected, 0)])
    for found, lanes in ((into, width), (part, remaining)):
        whole = np.full_like(found, 7)
        whole[2::step] = expected[:lanes]
        np.testing.assert_array_equal(found, whole)


def before_a_wall(values):
    """`values` in memory that ends with them: the page behind it can be neither read nor written."""
    pages = mmap.mmap(-1, 2 * mmap.PAGESIZE)
    whole = np.frombuffer(pages, np.uint8)
    libc = ctypes.CDLL(None, use_errno=True)
    wall = ctypes.c_void_p(whole.ctypes.data + mmap.PAGESIZE)
    assert libc.mprotect(wall, ctypes.c_size_t(mmap.PAGESIZE), 0) == 0, ctypes.get_errno()
    found = whole[mmap.PAGESIZE - values.nbytes : mmap.PAGESIZE].view(values.dtype)
    found[...] = values
    return found


@pytest.mark.parametrize("number", range(4))
def test_stores_to_every_layout(number):
    @numba.njit
    def run(a, i, j, remaining):
        mask = tail_mask(remaining, 4)
        v = cast(iota(-1, -1, 4), "float64")
        store_strided(a, (i, j), 1, 1, v)
        store_strided(a, (i + 1, j + 3), 1, -1, v)
        store_strided(a, (i + 2, j + 4), 0, 2, v)
        store_strided_masked(a, (i + 2, j + 3), 1, -1, v, mask)
        store_strided_masked(a, (i + 3, j), 0, 1, v, mask)
        scatter(a, (iota(i + 7, 1, 4), iota(j, 1, 4)), v)
        scatter_masked(a, (i + 11, iota(j, 1, 4)), v, mask)

    a = strided_views()[number]
    expected = a.copy()
    i, j, k, v, on = 1, 1, np.arange(4), -1.0 - np.arange(4), slice(0, 3)
    expected[i, j : j + 4] = v
    expected[i + 1, j + 3 - k] = v
    expected[i + 2 + 2 * k, j + 4] = v
    expected[i + 2, (j + 3 - k)[on]] = v[on]
    expected[(i + 3 + k)[on], j] = v[on]
    expected[i + 7 + k, j + k] = v
    expected[i + 11, (j + k)[on]] = v[on]
    run(a, i, j, 3)
    np.testing.assert_array_equal(a, expected)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "float32"])
def test_narrow_elements_widen_and_narrow(dtype):
    @numba.njit
    def run(x, index, out, copy, picked, single):
        mask = tail_mask(3, 8)
        v = load(x, (0,), 8)
        store(out, (0,), cast(v, "float64"))
        store_masked(out, (8,), cast(load_masked(x, (8,), mask), "float64"), mask)
        store(copy, (0,), v)
        store_masked(copy, (8,), gather(x, (load(index, (0,), 8),)), mask)
        scatter(picked, (load(index, (0,), 8),), v)
        put(single, (), get(x, 1))

    limits = (0, 1) if dtype in ("bool", "float32") else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    x = np.array([limits[0], limits[1], 1, 0, 1, 1, 0, 1, limits[1], limits[0], 1, 1, 0, 1, 0, 1]).astype(dtype)
    index = np.array([8, 9, 0, 1, 2, 3, 4, 5], np.int32)
    out, copy, picked, single = np.zeros(16), np.zeros_like(x), np.zeros_like(x), np.zeros((), x.dtype)
    run(x, index, out, copy, picked, single)
    np.testing.assert_array_equal(out, np.concatenate([x[:11].astype(float), np.zeros(5)]))
    np.testing.assert_array_equal(copy, np.concatenate([x[:8], x[index[:3]], np.zeros(5, x.dtype)]))
    scattered = np.zeros_like(x)
    scattered[index] = x[:8]
    np.testing.assert_array_equal(picked, scattered)
    assert single[()] == x[1]


def test_tails_touch_nothing_outside():
    """Masked-off lanes past the end of an array are not read or written, at any length."""

    @numba.njit
    def double(x, out):
        n = x.size
        for i in range(0, n, 8):
            mask = tail_mask(n - i, 8)
            store_masked(out, (i,), load_masked(x, (i,), mask) * 2.0, mask)

    for n in range(0, 20):
        guard = np.full(40, -1.0)
        double(np.arange(n, dtype=float), guard[:n])
        np.testing.assert_array_equal(guard, np.concatenate([2.0 * np.arange(n), np.full(40 - n, -1.0)]))


def test_vectors_live_in_tuples_and_cross_calls():
    @numba.njit
    def twice(v, m):
        return select(m, v + v, v), ~m

    @numba.njit
    def run(x, out):
        carried = (splat(0.0, 4), full_mask(4))
        for i in range(0, x.size, 4):
            v, m = twice(load(x, (i,), 4), carried[1])
            carried = (carried[0] + v, m)
        store(out, (0,), carried[0])

    out = np.empty(4)
    run(np.arange(16.0), out)
    np.testing.assert_array_equal(out, [2 * 0 + 4 + 2 * 8 + 12 + 6 * k for k in range(4)])


def test_host_width_follows_register_size():
    assert [host_width(d, 512) for d in ("float64", "float32", "int64", "bool")] == [8, 16, 8, 8]
    assert [host_width(d, 128) for d in ("float64", "float32")] == [2, 4]
    assert host_width("float64", 0) == 1
    assert host_width("float32") in (1, 2 * host_width("float64"))


def test_ill_fitting_operands_are_refused():
    @numba.njit
    def widths(x):
        return load(x, (0,), 4) + load(x, (0,), 8)

    @numba.njit
    def rank(x):
        return reduce_add(load(x, (0, 0), 4))

    @numba.njit
    def shift(x):
        return load(x, (0,), 4) << 1

    @numba.njit
    def write(x):
        store(x, (0,), splat(0.0, 4))

    for function in (widths, rank, shift):
        with pytest.raises(numba.TypingError):
            function(np.zeros(16))
    fixed = np.zeros(16)
    fixed.flags.writeable = False
    with pytest.raises(numba.TypingError):
        write(fixed)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_half_powers_are_those_of_python(dtype):
    """C99 F.9.4.4: unlike the square root, the power of -inf is inf, and that of -0.0 is 0.0."""
    x = np.array([-np.inf, -0.0, 0.0, 4.0, np.nan, np.inf, -1.0, 2.25], dtype)
    out = np.empty_like(x)

    @numba.njit
    def run(x, out):
        store(out, (0,), root(load(x, (0,), 8)))

    run(x, out)
    expected = np.array([np.inf, 0.0, 0.0, 2.0, np.nan, np.inf, np.nan, 1.5], dtype)
    np.testing.assert_array_equal(out, expected)
    assert not np.signbit(out[1])
