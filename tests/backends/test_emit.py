"""Generated functions against the interpreter: scalar code, vectors, tiles; odd sizes, dtypes and layouts."""

from __future__ import annotations

import re
from typing import Any

import numba
import numpy as np
import pytest
from numba.core.runtime import _nrt_python as nrt
from numba.core.runtime.nrt import rtsys

import loopdiff
from loopdiff.backends.cpu.compile import Style
from loopdiff.backends.cpu.simd.types import has_mask_registers
from loopdiff.backends.load import CompiledFunction
from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import run
from loopdiff.pipeline.cpu import compile_loopset
from tests.ad.interpreted import copied, lower
from tests.backends.programs import PROGRAMS

SIZES = (0, 1, 4, 7, 8, 9, 25, 33)
TOLERANCE = {np.float64: (1e-11, 1e-12), np.float32: (2e-4, 1e-4)}
IN_SINGLE = ("elementwise", "reductions", "conditions", "product", "product_of_rows", "matrix_vector")


def agree(ls: ir.LoopSet, function: CompiledFunction, args: dict[str, Any], dtype: Any) -> None:
    """Results and final arrays of the generated function equal those of the interpreter."""
    expected, found = copied(args), copied(args)
    wanted = run(ls, expected)
    out = function.dispatcher(*[found[p] for p in ls.params])
    got = () if out is None else out if isinstance(out, tuple) else (out,)
    rtol, atol = TOLERANCE[dtype]
    size = next(np.shape(a) for a in args.values())
    for a, b in zip(wanted, got, strict=True):
        np.testing.assert_allclose(b, a, rtol=rtol, atol=atol, err_msg=f"result, {size}")
    for name in (n for n, a in args.items() if isinstance(a, np.ndarray)):
        np.testing.assert_allclose(found[name], expected[name], rtol=rtol, atol=atol, err_msg=f"{name}, {size}")


def fits(name: str, size: int) -> bool:
    """Programs that need some elements are not run without them."""
    return not (name == "kept_by_one_iteration" and size == 0)


@pytest.mark.part(2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_equals_the_interpreter(name: str) -> None:
    function, make = PROGRAMS[name]
    r = np.random.default_rng(7)
    for dtype in (np.float64, np.float32) if name in IN_SINGLE else (np.float64,):
        ls = lower(function, make(r, 9, dtype))
        compiled = compile_loopset(ls)
        for size in filter(lambda n: fits(name, n), SIZES):
            agree(ls, compiled, make(r, size, dtype), dtype)


def spread(a: np.ndarray, order: str) -> np.ndarray:
    """The values of `a` with gaps between them, or in the other memory order."""
    if order == "F":
        return np.asfortranarray(a)
    wide = np.zeros(tuple(2 * n + 1 for n in a.shape), a.dtype)
    view = wide[tuple(slice(0, 2 * n, 2) for n in a.shape)]
    view[...] = a
    return view


@pytest.mark.parametrize("order", ["A", "F"])
@pytest.mark.parametrize("name", ["transposing", "product", "strided_and_reversed"])
def test_any_layout(name: str, order: str) -> None:
    function, make = PROGRAMS[name]
    r = np.random.default_rng(8)
    args = {n: spread(a, order) for n, a in make(r, 13, np.float64).items()}
    plain = {n: np.ascontiguousarray(a) for n, a in args.items()}
    ls = lower(function, args)
    run(ls, plain)
    compile_loopset(ls).dispatcher(*args.values())
    for name_ in args:
        np.testing.assert_allclose(args[name_], plain[name_], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", ["reductions", "conditions"])
def test_without_fastmath_sums_keep_their_order(name: str) -> None:
    function, make = PROGRAMS[name]
    args = make(np.random.default_rng(9), 21, np.float64)
    ls = lower(function, args)
    expected, found = copied(args), copied(args)
    wanted = run(ls, expected)
    compiled = compile_loopset(ls, Style(fastmath=False))
    out = compiled.dispatcher(*found.values())
    for a, b in zip(wanted, () if out is None else out, strict=True):
        np.testing.assert_array_max_ulp(np.float64(a), np.float64(b), 1)
    for key in args:
        np.testing.assert_array_max_ulp(expected[key], found[key], 1)


# -- memory that the program does not touch -------------------------------------------------------------------
def sum_into_one_place(x, y, n):
    for i in range(n):
        y[7] += x[i]


def sum_under_a_condition(x, y, n):
    for i in range(x.shape[0]):
        if x[i] > 2.0:
            y[n] += x[i]


def sum_of_nothing(A, y):
    for j in range(9):
        for i in range(A.shape[0]):
            y[j] += A[i, 0]


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (sum_into_one_place, {"x": np.ones(9), "y": np.zeros(0), "n": 0}),
        (sum_under_a_condition, {"x": np.ones(9), "y": np.zeros(0), "n": 7}),
        (sum_of_nothing, {"A": np.ones((0, 2)), "y": np.zeros(0)}),
    ],
)
def test_elements_no_iteration_reaches_are_left_alone(function: Any, args: dict[str, Any]) -> None:
    """Even adding zero would turn the -0.0 behind the array into 0.0."""
    around = np.full(64, -0.0)
    args = {**args, "y": around[:2]}
    compiled = compile_loopset(lower(function, args))
    compiled.dispatcher(*args.values())
    assert np.signbit(around).all()


# -- names ---------------------------------------------------------------------------------------------------
def transpose(np_, splat):
    for select in range(splat.shape[0]):
        tail_mask = np_[select] * 2.0
        splat[select] = tail_mask


def test_names_of_the_program_never_hide_what_generated_code_calls() -> None:
    x = np.arange(11.0)
    args = {"np_": x, "splat": np.zeros(11)}
    compiled = compile_loopset(lower(transpose, args))
    compiled.dispatcher(*args.values())
    np.testing.assert_array_equal(args["splat"], 2.0 * x)


# -- use from compiled code -----------------------------------------------------------------------------------
def test_callable_from_numba_without_allocating() -> None:
    function, make = PROGRAMS["product"]
    args = make(np.random.default_rng(3), 9, np.float64)
    inner = compile_loopset(lower(function, args)).dispatcher

    @numba.njit
    def caller(A, B, C, times):
        for _ in range(times):
            inner(A, B, C)

    operands = tuple(args.values())
    caller(*operands, 1)
    np.testing.assert_allclose(args["C"], args["A"] @ args["B"], rtol=1e-12)
    nrt.memsys_enable_stats()
    counts = []
    for times in (1, 100):
        before = rtsys.get_allocation_stats().alloc
        caller(*operands, times)
        counts.append(rtsys.get_allocation_stats().alloc - before)
    assert counts[0] == counts[1]


def test_every_statement_names_the_line_it_comes_from() -> None:
    function, make = PROGRAMS["recurrence"]
    source = compile_loopset(lower(function, make(np.random.default_rng(0), 5, np.float64))).source
    assert "x[i] += 0.5 * x[i - 1]" in source.split("# line", 2)[2].split("\n")[0]


@pytest.mark.parametrize(("read", "count"), [("x[i]", 1), ("x[i + 1]", 2)])
def test_what_is_read_anyway_has_the_mask_of_the_loop(read: str, count: int) -> None:
    """It is one value then for LLVM, whose sine and cosine have more than that in common."""
    text = "def f(x, y):\n    for i in range(y.shape[0]):\n        v = np.sin(x[i])\n"
    text += f"        y[i] = np.cos({read}) if v > 0.5 else v\n"
    namespace: dict[str, Any] = {"np": np}
    exec(text, namespace)
    f = loopdiff.vectorize_grad(source=text)(namespace["f"])
    source = f.compile(np.ones(9), np.ones(8)).source("primal")
    assert len(set(re.findall(r"load_masked\(x, \(.*?,\), (live\w*)\)", source))) == count


def source_of(value: str) -> str:
    text = f"def f(x, y):\n    for i in range(y.shape[0]):\n        y[i] = {value}\n"
    namespace: dict[str, Any] = {"np": np}
    exec(text, namespace)
    return loopdiff.vectorize_grad(source=text)(namespace["f"]).compile(np.ones(9), np.ones(9)).source("primal")


@pytest.mark.skipif(not has_mask_registers(), reason="others write what computes less without masks anyway")
def test_loops_around_few_functions_have_whole_vectors() -> None:
    """Masks cost a third of the time of an exponential; long bodies are written once, with masks."""
    assert " store(y, " in source_of("np.exp(x[i])")
    assert " store(y, " not in source_of("np.exp(x[i]) + np.sin(x[i]) * np.log(x[i])")
