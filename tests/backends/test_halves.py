"""Arrays of float16 and bfloat16: NumPy's and ml_dtypes' own conversions say what is loaded and stored, float32
programs on widened arrays what derivatives are."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numba import njit, types
from numba.core.errors import TypingError

from loopdiff import ArgumentError, UnsupportedLoopError, vectorize_grad
from loopdiff.backends.cpu.rounded_arrays import rounded_copy
from loopdiff.backends.cpu.simd import halves, load, store, to_bfloat16, to_float16
from loopdiff.ir.interpret import compile_loopset
from loopdiff.ir.scalar_eval import nearest_half
from loopdiff.testing import check_grads

pytestmark = pytest.mark.part(2)

ml_dtypes = pytest.importorskip("ml_dtypes")  # jax brings it
DTYPES = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)]
each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)
UNIT = {"float16": 2.0**-11, "bfloat16": 2.0**-8}  # half a unit in the last place of 1.0, and a bound of a rounding


@vectorize_grad
def copied(x, y):
    for i in range(x.shape[0]):
        y[i] = x[i]


@vectorize_grad
def scaled_sum(a, x, y):
    for i in range(x.shape[0]):
        y[i] = a * x[i] + y[i]


@vectorize_grad
def product(x, y):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] * y[i]
    return s


@vectorize_grad
def relaxed(x, n):
    t = x.copy()
    for _ in range(n):
        for i in range(1, t.shape[0] - 1):
            t[i] = 0.5 * t[i] + 0.25 * np.sin(t[i - 1]) + 0.25 * t[i + 1] * t[i + 1]
    return np.sum(t * t)


@vectorize_grad
def added_up(x, y):
    for i in range(x.shape[0]):
        y[i % 3] += x[i]


@vectorize_grad
def local_halves(x):
    t = np.full(x.shape[0], 0.1, dtype=np.float16)
    for i in range(x.shape[0]):
        t[i] += x[i]
    return t, x.astype(np.float16), np.zeros_like(x), x[1:]


@vectorize_grad
def in_columns(A, x, y):
    y[:] = A @ x + A[::2, 0].sum()


@vectorize_grad
def matrices(A, B):
    return A @ B.T + np.outer(A[:, 0], B[:, 1])


def wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float32)


def bits(x: np.ndarray) -> np.ndarray:
    return x.view(np.uint16)


def drawn(dtype: np.dtype[Any], *shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def difficult(dtype: np.dtype[Any]) -> np.ndarray:
    """Numbers of float64 about each place where rounding changes: all numbers of the format, what is halfway between
    neighbours, and the float64 next to that on both sides."""
    every = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    with np.errstate(invalid="ignore"):
        known = np.unique(every[np.isfinite(every)].astype(np.float64))
    middle = (known[1:] + known[:-1]) / 2
    last = known[-1] + (known[-1] - known[-2]) / 2  # from here on it is infinite
    edges = np.concatenate((middle, [last, -last]))
    beside = [np.nextafter(edges, np.inf), np.nextafter(edges, -np.inf)]
    return np.concatenate((known, edges, *beside, [0.0, -0.0, np.inf]))


def nearest_by_fractions(dtype: np.dtype[Any], value: float) -> float:
    """The number of a format that is nearest, found among its neighbours by exact arithmetic."""
    with np.errstate(over="ignore"):
        start = np.float32(value).astype(dtype)
    near = [start, np.nextafter(start, dtype.type(np.inf)), np.nextafter(start, dtype.type(-np.inf))]
    finite = [x for x in near if np.isfinite(wide(np.asarray(x)))]
    least = min(abs(Fraction(float(x)) - Fraction(value)) for x in finite)
    best = [x for x in finite if abs(Fraction(float(x)) - Fraction(value)) == least]
    return float(min(best, key=lambda x: int(np.asarray(x).view(np.uint16)) & 1))


# -- conversions ---------------------------------------------------------------------------------------------
def converted(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Functions on whole vectors: widening, and rounding."""
    half = types.Array(halves.HALVES[dtype.name], 1, "C")
    single = types.Array(types.float32, 1, "C")

    def move(found, out):
        for i in range(0, found.shape[0], 8):
            store(out, (i,), load(found, (i,), 8))

    function: Any = njit(move)
    return function.compile((half, single)), function.compile((single, half))


@each_dtype
@pytest.mark.parametrize("has_instructions", [True, False])
def test_all_bit_patterns(dtype: np.dtype[Any], has_instructions: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """By instructions of the processor, where it has them, and by integer operations."""
    if not has_instructions:
        monkeypatch.setattr(halves, "converts_float16", lambda: False)
    widen, narrow = converted(dtype)
    every = np.arange(1 << 16, dtype=np.uint16)
    found, back = np.zeros(1 << 16, np.float32), np.zeros(1 << 16, dtype)
    widen(every.view(dtype), found)
    expected = wide(every.view(dtype))
    is_nan = np.isnan(expected)
    np.testing.assert_array_equal(found[~is_nan].view(np.uint32), expected[~is_nan].view(np.uint32))
    narrow(found, back)
    quiet = every | np.where(is_nan, 1 << (9 if dtype == np.float16 else 6), 0).astype(np.uint16)
    assert np.isnan(found[is_nan]).all()
    np.testing.assert_array_equal(bits(back) | (quiet & ~every), quiet)


@each_dtype
@pytest.mark.parametrize("has_instructions", [True, False])
def test_stores_round_to_nearest_even(
    dtype: np.dtype[Any], has_instructions: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_instructions:
        monkeypatch.setattr(halves, "converts_float16", lambda: False)
    with np.errstate(over="ignore"):
        x = difficult(dtype).astype(np.float32)
        x = np.concatenate((x, np.nextafter(x, np.float32(np.inf)), np.nextafter(x, np.float32(-np.inf))))
        x = np.resize(x, (x.size + 7) // 8 * 8)
        expected, found = x.astype(dtype), np.zeros(x.size, dtype)
    converted(dtype)[1](x, found)
    np.testing.assert_array_equal(bits(found), bits(expected))


@each_dtype
def test_float64_is_rounded_once(dtype: np.dtype[Any]) -> None:
    """Halfway between two numbers of the format, but for less than float32 has: by way of float32 the even one."""
    function = to_float16 if dtype == np.float16 else to_bfloat16

    @njit
    def rounded(x):
        return function(x)

    x = difficult(dtype)
    x = x[(np.abs(x) < 1e38) & (np.abs(x) < float(np.finfo(np.float16).max) * (1.0 if dtype == np.float16 else 1e38))]
    chosen = np.random.default_rng(1).choice(x, 2000)
    for value in chosen:
        expected = nearest_by_fractions(dtype, float(value))
        assert rounded(value) == expected
        assert nearest_half(dtype.name, np.float64(value)) == expected


@each_dtype
def test_whole_arrays_are_rounded(dtype: np.dtype[Any]) -> None:
    for x in (drawn(np.dtype(np.float32), 5003), np.asfortranarray(drawn(np.dtype(np.float32), 30, 7))):
        found = rounded_copy(x, dtype)
        np.testing.assert_array_equal(bits(found), bits(x.astype(dtype)))
        assert found.flags.f_contiguous == x.flags.f_contiguous


# -- programs ------------------------------------------------------------------------------------------------
@each_dtype
def test_copies_keep_every_number(dtype: np.dtype[Any]) -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    for x in (every, every[::-3]):
        y = np.zeros(x.shape[0], dtype)
        copied(x, y)
        is_nan = np.isnan(wide(x))
        np.testing.assert_array_equal(bits(y)[~is_nan], bits(x.copy())[~is_nan])
        assert np.isnan(wide(y)[is_nan]).all()


@each_dtype
def test_values(dtype: np.dtype[Any]) -> None:
    x, y, z = drawn(dtype, 101), drawn(dtype, 101, seed=1), drawn(dtype, 101, seed=1)
    scaled_sum(np.float32(0.5), x, y)  # the product is exact, so that a fused sum is the same
    np.testing.assert_array_equal(bits(y), bits((np.float32(0.5) * wide(x) + wide(z)).astype(dtype)))
    np.testing.assert_allclose(product(x, z), np.sum(wide(x) * wide(z)), rtol=1e-4)
    A, out = drawn(dtype, 6, 101), np.zeros(6, dtype)
    in_columns(A, x, out)
    exact = wide(A).astype(float) @ wide(x) + wide(A)[::2, 0].sum()
    np.testing.assert_allclose(wide(out), exact, rtol=UNIT[dtype.name] * 1.01, atol=1e-5)


@each_dtype
def test_accumulation_in_place_rounds_each_time(dtype: np.dtype[Any]) -> None:
    """As NumPy does for these: its additions of two halves round, too."""
    x, y = drawn(dtype, 50), np.zeros(3, dtype)
    expected = y.copy()
    for i in range(50):
        expected[i % 3] += x[i]
    added_up(x, y)
    np.testing.assert_array_equal(bits(y), bits(expected))


def test_local_arrays() -> None:
    x = np.linspace(0.0, 1.0, 20)
    t, converted_x, zeros, part = local_halves(x)
    assert (t.dtype, converted_x.dtype, zeros.dtype, part.dtype) == (np.float16, np.float16, np.float64, np.float64)
    tenth = np.float32(np.float16(0.1))
    np.testing.assert_array_equal(t, (tenth + x).astype(np.float16))
    np.testing.assert_array_equal(converted_x, x.astype(np.float16))
    t, _, zeros, part = local_halves(x.astype(np.float16))
    assert (t.dtype, zeros.dtype, part.dtype) == (np.float16, np.float16, np.float16)


@each_dtype
def test_the_interpreter_does_the_same(dtype: np.dtype[Any]) -> None:
    x, program = drawn(dtype, 9), vectorize_grad(relaxed.__wrapped__)
    value = program(x, 3)
    (spec,) = program.specializations.values()
    (expected,) = compile_loopset(spec.normal)({"x": x, "n": 3})
    np.testing.assert_allclose(value, expected, rtol=UNIT[dtype.name])


def test_nothing_computes_with_elements() -> None:
    """A place that forgets to widen does not compile."""
    half = types.Array(halves.float16, 1, "C")
    for forgets in (lambda x: x[0] + x[1], lambda x: x[0] > np.float32(1.0), lambda x: np.sqrt(x[0])):
        with pytest.raises((TypingError, NotImplementedError)):
            njit(forgets).compile((half,))


# -- derivatives ---------------------------------------------------------------------------------------------
def assert_rounded_once(found: np.ndarray, exact: np.ndarray, dtype: np.dtype[Any], noise: float = 1e-6) -> None:
    """`found` is a half, and as near as one rounding, and those of float32, allow."""
    assert found.dtype == dtype
    np.testing.assert_allclose(wide(found), exact, rtol=UNIT[dtype.name] + noise, atol=noise)


@each_dtype
def test_gradients_are_those_of_float32(dtype: np.dtype[Any]) -> None:
    x, y = drawn(dtype, 70), drawn(dtype, 70, seed=1)
    value, gradients = product.value_and_grad(x, y)
    assert type(value) is np.float32
    np.testing.assert_array_equal(bits(gradients.x), bits(y))
    np.testing.assert_array_equal(bits(gradients.y), bits(x))
    mixed = product.grad(x, wide(y))
    assert (mixed.x.dtype, mixed.y.dtype) == (dtype, np.float32)
    long = drawn(dtype, 9000)  # rounded many at once
    np.testing.assert_array_equal(bits(product.grad(long, long[::-1]).x), bits(long[::-1].copy()))


@pytest.mark.parametrize("tape", ["auto", "recompute"])
def test_gradients_through_halves_that_change(tape: Any) -> None:
    """What is rounded in between moves the place where slopes are taken: by less than a few roundings here."""
    x = (drawn(np.dtype(np.float64), 9) * 0.5).astype(np.float16)
    program = vectorize_grad(tape=tape, wrt=("x",))(relaxed.__wrapped__)
    value, gradients = program.value_and_grad(x, 4)
    expected, slopes = program.value_and_grad(wide(x), 4)
    np.testing.assert_allclose(value, expected, rtol=4e-3)
    assert gradients.x.dtype == np.float16
    np.testing.assert_allclose(wide(gradients.x), slopes.x, rtol=1e-2, atol=1e-2)


@each_dtype
def test_pullbacks_and_tangents(dtype: np.dtype[Any]) -> None:
    a, x, y, bar = np.float32(0.3), drawn(dtype, 40), drawn(dtype, 40, seed=1), drawn(dtype, 40, seed=2)
    _, pullback = scaled_sum.vjp(a, x, y.copy())
    for cotangent in (bar, wide(bar)):
        gradients = pullback(y=cotangent)
        assert_rounded_once(gradients.x, a * wide(bar), dtype)
        np.testing.assert_array_equal(bits(gradients.y), bits(bar))
        np.testing.assert_allclose(gradients.a, np.sum(wide(x) * wide(bar)), rtol=1e-4)
    _, tangents = scaled_sum.jvp((a, x, y.copy()), {"x": bar, "a": 2.0})
    assert_rounded_once(tangents.y, a * wide(bar) + 2.0 * wide(x), dtype)
    _, gradients, products = product.hvp((x, y), {"x": bar})
    np.testing.assert_array_equal(bits(gradients.x), bits(y))
    np.testing.assert_array_equal(bits(products.y), bits(bar))
    jacobian = scaled_sum.jacobian(a, x[:3], y[:3].copy())
    assert_rounded_once(jacobian.y.x.astype(dtype), a * np.eye(3), dtype)
    assert jacobian.y.x.dtype == np.float32  # matrices of SciPy have no halves
    sparse = scaled_sum.jacobian(a, x[:3], y[:3].copy(), structure="sparse")
    np.testing.assert_array_equal(sparse.y.x.toarray(), jacobian.y.x)
    mixed = scaled_sum.jacobian(a, x[:3].astype(np.float16), x[:3].astype(ml_dtypes.bfloat16))
    np.testing.assert_array_equal(mixed.y.y, np.eye(3))


@each_dtype
def test_products_of_matrices(dtype: np.dtype[Any]) -> None:
    """Elements that a product has several times are widened once, in arrays of float32."""
    A, B, bar = drawn(dtype, 12, 9), drawn(dtype, 7, 9, seed=1), drawn(np.dtype(np.float32), 12, 7)
    value, pullback = matrices.vjp(A, B)
    expected, pull = matrices.vjp(wide(A), wide(B))
    assert value.dtype == np.float32
    np.testing.assert_allclose(value, expected, rtol=1e-5, atol=1e-5)
    for found, exact in zip(pullback(bar), pull(bar), strict=True):
        assert_rounded_once(found, exact, dtype, 1e-5)


@each_dtype
def test_checks_of_derivatives(dtype: np.dtype[Any]) -> None:
    """The identity of the modes, and differences, which are those of the program on widened arrays."""
    x, y = drawn(dtype, 9), drawn(dtype, 9, seed=1)
    assert check_grads(product, (x, y)).is_good
    vectorize_grad(check="first")(product.__wrapped__).grad(x, y)


def test_sums_of_adjoints_are_float32() -> None:
    """Three thousand cotangents of one element: added up in float16, steps of 1.5 would stop at 4096."""
    x, y = np.ones(1, np.float16), np.full(3000, 1.5, np.float16)
    assert spread.grad(x, y).x == np.float16(4500.0)


@vectorize_grad
def spread(x, y):
    s = 0.0
    for i in range(y.shape[0]):
        s += x[0] * y[i]
    return s


@vectorize_grad
def calls_a_gradient(x, y):
    return np.sum(product.grad(x, y).x)


# -- what holds for other arrays ------------------------------------------------------------------------------
@each_dtype
def test_checks_of_arrays_hold(dtype: np.dtype[Any]) -> None:
    x = drawn(dtype, 10)
    locked = x.copy()
    locked.flags.writeable = False
    for code, call in (
        ("LD303", lambda: copied(x, locked)),
        ("LD304", lambda: copied(x[:-1], x[1:])),
        ("LD310", lambda: copied(x, drawn(dtype, 9))),
        ("LD209", lambda: copied(x.astype(dtype.newbyteorder(">")), x)),
        ("LD348", lambda: changed_after(x.copy())),
    ):
        with pytest.raises(ArgumentError) as caught:
            call()
        assert caught.value.codes == (code,)


def changed_after(x: np.ndarray) -> Any:
    _, pullback = product.vjp(x, x.copy())
    x[0] += x[1]
    return pullback()


def test_numbers_and_derivatives_in_programs_are_refused() -> None:
    with pytest.raises(ArgumentError, match="LD210: `a` is a float16"):
        scaled_sum(np.float16(1.0), np.ones(2), np.ones(2))  # type: ignore[arg-type]
    with pytest.raises(UnsupportedLoopError, match=r"LD109.*it takes arrays of float16 or bfloat16"):
        calls_a_gradient(np.ones(3, np.float16), np.ones(3, np.float16))
