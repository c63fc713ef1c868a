"""Accuracy (in units in the last place, against mpmath) and special values of the vector functions, every
method."""

from __future__ import annotations

import math
import platform
import subprocess
import sys
from functools import cache
from pathlib import Path

import mpmath
import numba
import numpy as np
import pytest
from numba.core import types

from loopdiff.backends.cpu import vector_math
from loopdiff.backends.cpu.compile import FASTMATH
from loopdiff.backends.cpu.simd import host_width, load, store
from loopdiff.backends.cpu.vector_math import libmvec
from loopdiff.backends.cpu.vector_math.functions import (
    BINARY,
    LIBRARY_ONLY,
    NAMES,
    ONE_ULP,
    OWN,
    vector_function,
)
from loopdiff.ir import scalar_eval
from loopdiff.ir.ops import Op

pytestmark = pytest.mark.part(3)

mpmath.mp.prec = 140
COUNT = 320
PRECISE = {
    "exp2": lambda x: mpmath.power(2, x),
    "log2": lambda x: mpmath.log(x, 2),
    "pow": mpmath.power,
    "cbrt": lambda x: mpmath.sign(x) * mpmath.root(abs(x), 3),
}
RANGES = {
    "exp": (-708, 709), "exp2": (-1021, 1023), "expm1": (-40, 709), "tanh": (-20, 20), "log1p": (-0.999, 5),
    "sin": (-100, 100), "cos": (-100, 100), "tan": (-100, 100), "atan": (-20, 20), "erf": (-6, 6),
    "asin": (-1, 1), "acos": (-1, 1), "atanh": (-0.999, 0.999), "acosh": (1, 50), "erfc": (-5, 9),
    "sinh": (-80, 80), "cosh": (-80, 80), "asinh": (-80, 80), "atan2": (-9, 9), "hypot": (-9, 9),
    "cbrt": (-80, 80),
}  # fmt: skip
SINGLE_LIMIT = 86.0
SPECIAL = np.array([
    0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 5e-324, -5e-324, 1e-310, 1e-45, 1e-40, 1e300,
    -1e300, 3e38,
    710.0, 709.7, -746.0, -740.0, 88.6, 89.0, -104.0, -100.0, 1024.0, 1023.5, -1075.5, -1074.0, 128.0,
    2.0, 0.5, 3.0,
    -3.0, -2.5, 1e-20, -1e-20, 1e22, 1e10, 2.0**31,
])  # fmt: skip
NUMPY_NAMES = {
    "pow": "power", "atan": "arctan", "asin": "arcsin", "acos": "arccos", "atan2": "arctan2",
    "asinh": "arcsinh",
    "acosh": "arccosh", "atanh": "arctanh",
}  # fmt: skip
METHODS = [
    *((name, "own") for name in OWN),
    *((name, "libmvec") for name in NAMES if name not in ("gamma", "lgamma", "fmod")),
    *((name, "auto") for name in ("exp", "sinh")),
]


@cache
def kernel(name: str, method: str, width: int):
    """As generated code has it: what Numba allows other sums and products may not reach inside."""
    function = vector_function(name, method)
    if name in BINARY:

        @numba.njit(fastmath=set(FASTMATH))
        def binary(x, y, out):
            for i in range(0, x.size, width):
                store(out, (i,), function(load(x, (i,), width), load(y, (i,), width)))

        return binary

    @numba.njit(fastmath=set(FASTMATH))
    def unary(x, y, out):
        for i in range(0, x.size, width):
            store(out, (i,), function(load(x, (i,), width)))

    return unary


def applied(name: str, method: str, x: np.ndarray, y: np.ndarray, width: int = 0) -> np.ndarray:
    """The function of the elements, in vectors of `width` lanes (0: a register's)."""
    width = width or host_width(str(x.dtype))
    padded = [np.concatenate([v, np.ones(-v.size % width, v.dtype)]) for v in (x, y)]
    out = np.empty_like(padded[0])
    kernel(name, method, width)(*padded, out)
    return out[: x.size]


def need(name: str, method: str, dtype: type) -> None:
    element = types.float32 if dtype is np.float32 else types.float64
    if method == "libmvec" and not libmvec.variants(name, element, 2 if name in BINARY else 1):
        pytest.skip("libmvec lacks it here")


def points(name: str, dtype: type) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    is_single = dtype is np.float32
    if name not in RANGES:
        x = np.exp(rng.uniform(-80, 80, COUNT) if is_single else rng.uniform(-700, 700, COUNT))
        x[: COUNT // 2] = rng.uniform(0.3, 3, COUNT // 2)
        y = rng.uniform(-2, 2, COUNT)
        if name == "pow":
            near_one = slice(0, COUNT // 2)  # whose powers range from underflow to overflow
            y[near_one] *= (42 if is_single else 350) / np.abs(np.log(x[near_one]))
            x[COUNT // 2 :] = np.exp(rng.uniform(-40, 40, COUNT // 2))
    else:
        low, high = RANGES[name]
        low, high = (max(low, -SINGLE_LIMIT), min(high, SINGLE_LIMIT)) if is_single else (low, high)
        x = rng.uniform(low, high, COUNT)
        inner = (max(low, -1), min(high, 1)) if low < 1 else (low, low + 0.1)
        x[: COUNT // 3] = rng.uniform(*inner, COUNT // 3)
        if low < 0:
            x[: COUNT // 8] *= 10.0 ** rng.uniform(-12, 0, COUNT // 8)
        y = rng.uniform(-9, 9, COUNT)
    return x.astype(dtype), y.astype(dtype)


def worst_ulp(name: str, got: np.ndarray, x: np.ndarray, y: np.ndarray) -> float:
    """Largest error of `got` in units in the last place of the true value, which mpmath computes to 140
    bits."""
    precise = PRECISE.get(name) or getattr(mpmath, name)
    worst = 0.0
    for result, *args in zip(got, x, y, strict=True):
        true = precise(*(mpmath.mpf(float(a)) for a in args[: 2 if name in BINARY else 1]))
        unit = np.spacing(abs(got.dtype.type(float(true))))
        worst = max(worst, float(abs(mpmath.mpf(float(result)) - true) / mpmath.mpf(float(unit))))
    return worst


@pytest.mark.part(7)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("name", "method"), METHODS)
def test_at_most_four_ulp(name, method, dtype):
    need(name, method, dtype)
    x, y = points(name, dtype)
    assert worst_ulp(name, applied(name, method, x, y), x, y) <= 4.0


def numpy_value(name: str, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if name in ("erf", "erfc"):
        return np.array([getattr(math, name)(float(v)) for v in x]).astype(x.dtype)
    with np.errstate(all="ignore"):
        return getattr(np, NUMPY_NAMES.get(name, name))(*((x, y) if name in BINARY else (x,)))


@pytest.mark.part(5)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("name", "method"), METHODS)
def test_special_values(name, method, dtype):
    """Zeros with their signs, infinities, nan, denormals, overflow and underflow are NumPy's."""
    need(name, method, dtype)
    with np.errstate(all="ignore"):
        x = SPECIAL.astype(dtype)
    x, y = (g.ravel() for g in np.meshgrid(x, x)) if name in BINARY else (x, x)
    got, true = applied(name, method, x, y), numpy_value(name, x, y)
    with np.errstate(all="ignore"):
        near = np.abs(got.astype(float) - true) <= 5 * np.spacing(np.abs(true)).astype(float)
    fine = (np.isnan(got) & np.isnan(true)) | ((near | (got == true)) & (np.signbit(got) == np.signbit(true)))
    wrong = [(x[i], y[i], got[i], true[i]) for i in np.nonzero(~fine)[0]]
    assert not wrong


@cache
def nearest_to_quarter_turns(count: int) -> np.ndarray:
    """The doubles, of those next to the first 10000 multiples of pi/2, that lie closest to them."""
    quarter = mpmath.pi / 2
    near = [float(n * quarter) for n in range(1, 10001)]
    near.sort(key=lambda x: abs(x - mpmath.nint(x / quarter) * quarter) / x)
    return np.array(near[:count])


@pytest.mark.parametrize("method", ["own", "libmvec"])
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_large_and_nearly_singular_arguments(name, method):
    need(name, method, np.float64)
    large = [*np.random.default_rng(0).uniform(1e4, 1e9, 24), 1e9, 1e15, 1e22, 1e300, 884279719003555.0]
    x = np.concatenate([large, nearest_to_quarter_turns(40)])
    assert worst_ulp(name, applied(name, method, x, x), x, x) <= 4.0


@pytest.mark.part(3)
@pytest.mark.parametrize("width", [1, 2, 3, 4, 16])
@pytest.mark.parametrize("method", ["own", "libmvec", "libm"])
def test_every_width(width, method):
    x = np.linspace(0.5, 7.0, 48)
    for name, true in (("exp", np.exp(x)), ("pow", x**x), ("log1p", np.log1p(x))):
        np.testing.assert_allclose(applied(name, method, x, x, width), true, rtol=1e-15)
    single = x.astype(np.float32)
    for name, true in (("exp", np.exp(single)), ("atan", np.arctan(single))):
        np.testing.assert_allclose(applied(name, method, single, single, width), true, rtol=5e-7)


@pytest.mark.part(3)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", [*ONE_ULP, "tan", "expm1"])
def test_high_accuracy_is_about_one_ulp(name, dtype):
    x, y = points(name, dtype)
    assert worst_ulp(name, applied(name, "high", x, y), x, y) <= 1.01


def test_functions_without_vector_form_are_the_interpreters():
    """Gamma functions and fmod, on both element types, agree with the reference interpreter's scalars."""
    names = ("gamma", "lgamma", "digamma", "trigamma", "fmod")
    gamma, lgamma, digamma, trigamma, fmod = (vector_math.VECTOR_FUNCTIONS[n] for n in names)

    @numba.njit
    def run(x, y, out):
        for i in range(0, x.size, 4):
            v = load(x, (i,), 4)
            store(out, (0, i), gamma(v))
            store(out, (1, i), lgamma(v))
            store(out, (2, i), digamma(v))
            store(out, (3, i), trigamma(v))
            store(out, (4, i), fmod(v, load(y, (i,), 4)))

    x = np.array([0.5, 3.25, -1.5, 40.0, math.inf, 1.0, -2.0, 1e-3])
    y = np.array([0.3, -2.0, 1.0, 7.0, 2.0, math.inf, 0.0, -1e-4])
    oracles = (scalar_eval.gamma, scalar_eval.lgamma, scalar_eval.digamma, scalar_eval.trigamma)
    with np.errstate(all="ignore"):
        for dtype, tolerance in ((np.float64, 1e-14), (np.float32, 3e-7)):
            u, w = x.astype(dtype), y.astype(dtype)
            out = np.empty((5, x.size), dtype)
            run(u, w, out)
            expected = [[oracle(float(v)) for v in u] for oracle in oracles] + [np.fmod(u, w)]
            np.testing.assert_allclose(out, np.array(expected).astype(dtype), rtol=tolerance)


def test_scalars_use_the_c_library():
    exp, power = vector_math.VECTOR_FUNCTIONS["exp"], vector_math.VECTOR_FUNCTIONS["pow"]

    @numba.njit
    def both(x, n):
        return exp(x), power(x, n)

    assert both(1.5, 3) == (math.exp(1.5), 3.375)


def test_tables_name_operations():
    names = {f"{how}{op.name.lower()}" for op in Op for how in ("", "strict_")}
    assert set(vector_math.VECTOR_FUNCTIONS) - {"decided_hypot"} <= names  # and one for comparisons
    assert set(LIBRARY_ONLY) | set(OWN) < set(vector_math.VECTOR_FUNCTIONS)
    assert vector_math.vector_functions("high").keys() == vector_math.vector_functions("default").keys()


def test_every_operation_is_a_function_or_an_operator():
    operators = {"add", "sub", "mul", "floordiv", "mod", "neg", "div", "invert", "and", "or", "not"}
    operators |= {"bitand", "bitor", "bitxor", "shl", "shr", "lt", "le", "gt", "ge", "eq", "ne"}
    operators |= {
        "stop",
        "strong_mul",
        "sloped",
        "strict_add",
        "strict_sub",
        "strict_mul",
        "strict_div",
        "float16",
        "bfloat16",
    }
    assert {op.name.lower() for op in Op} - set(vector_math.VECTOR_FUNCTIONS) == operators


CACHED = """
import math
import numba, numpy as np
from loopdiff.backends.cpu.scalar_math import digamma
from loopdiff.backends.cpu.simd import lanewise, load, store
from loopdiff.backends.cpu.vector_math import VECTOR_FUNCTIONS
exp, sinh = VECTOR_FUNCTIONS["exp"], VECTOR_FUNCTIONS["sinh"]
digammas = lanewise(digamma)

@numba.njit(cache=True)
def run(x, out):
    for i in range(0, x.size, 8):
        v = load(x, (i,), 8)
        store(out, (i,), exp(v) + sinh(v) + 0.0 * digammas(v + 1.0))

x = np.linspace(0, 1, 16)
out = np.empty(16)
run(x, out)
assert np.allclose(out, np.exp(x) + np.sinh(x), rtol=1e-15)
print(sum(run.stats.cache_hits.values()))
"""


def run_program(program: Path, **variables: str) -> str:
    root = str(Path(vector_math.__file__).parents[4])
    environment = {"PYTHONPATH": root, "NUMBA_CACHE_DIR": str(program.parent), "PATH": "", **variables}
    done = subprocess.run([sys.executable, str(program)], env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_compiled_code_survives_the_disk_cache(tmp_path: Path):
    """In a fresh process the library is loaded before cached machine code that calls it (`sinh` does)."""
    program = tmp_path / "cached.py"
    program.write_text(CACHED)
    assert [run_program(program) for _ in range(2)] == ["0", "1"]


FORCED = """
import math
import numba, numpy as np
from loopdiff.backends.cpu.simd import host_width, load_masked, store_masked, tail_mask
from loopdiff.backends.cpu.vector_math import VECTOR_FUNCTIONS
from loopdiff.backends.cpu.vector_math.functions import vector_function
W, V = host_width("float64"), host_width("float32")
exp, sin = (VECTOR_FUNCTIONS[name] for name in ("exp", "sin"))
log1p, atan, erf, tanh = (vector_function(name, "own") for name in ("log1p", "atan", "erf", "tanh"))
pow_, atan2 = (vector_function(name, "own") for name in ("pow", "atan2"))

@numba.njit
def run(x, out):
    for i in range(0, x.size, W):
        mask = tail_mask(x.size - i, W)
        v = load_masked(x, (i,), mask)
        store_masked(out, (i,), exp(v) * log1p(v) + sin(v) + atan(v) + erf(v) - tanh(v), mask)

x = np.linspace(0, 3, 21)
x[0] = 1e-320
out = np.empty(21)
run(x, out)
erfs = np.array([math.erf(v) for v in x])
assert np.allclose(out, np.exp(x) * np.log1p(x) + np.sin(x) + np.arctan(x) + erfs - np.tanh(x), rtol=2e-15)
print(W, "zmm" in run.inspect_asm(run.signatures[0]))

@numba.njit
def singles(x, y, out):
    for i in range(0, x.size, V):
        mask = tail_mask(x.size - i, V)
        u, v = load_masked(x, (i,), mask), load_masked(y, (i,), mask)
        store_masked(out, (i,), pow_(u, v) + atan2(v, u) + erf(v) * log1p(u), mask)

x, y = x.astype(np.float32), np.linspace(-2, 2, 21).astype(np.float32)
out = np.empty(21, np.float32)
singles(x[1:], y[1:], out[1:])
erfs = np.array([math.erf(v) for v in y])
assert np.allclose(out[1:], (x**y + np.arctan2(y, x) + erfs * np.log1p(x))[1:], rtol=2e-6, atol=2e-7)
"""
AVX2 = "+avx,+avx2,+fma,+sse,+sse2,+sse3,+ssse3,+sse4.1,+sse4.2,+bmi,+bmi2,+lzcnt,+popcnt"


@pytest.mark.skipif(platform.machine() != "x86_64", reason="forces x86 machine types")
@pytest.mark.parametrize(
    ("name", "features", "width"),
    [("haswell", AVX2, 4), ("x86-64", "+sse,+sse2", 2)],
    ids=["avx2", "sse2"],
)
def test_lesser_machines(name, features, width, tmp_path: Path):
    """Numba's own override of the CPU decides the width and which library variants are called."""
    program = tmp_path / "forced.py"
    program.write_text(FORCED)
    assert run_program(program, NUMBA_CPU_NAME=name, NUMBA_CPU_FEATURES=features) == f"{width} False"
