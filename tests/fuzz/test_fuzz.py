"""The fuzzer: a fixed set of programs passes, its oracles are right, and a planted error is found and made small."""

from __future__ import annotations

import ast
import math
import re
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from loopdiff.__main__ import main
from loopdiff.ad import partials
from loopdiff.canonical.simplify import simplify
from loopdiff.canonical.single_assignment import normalize
from loopdiff.errors import UnsupportedLoopError
from loopdiff.frontend.binding.bind import bind
from loopdiff.frontend.capture import argument_types
from loopdiff.frontend.parse import parse_function
from loopdiff.fuzz.campaign import Campaign, run_campaign
from loopdiff.fuzz.check import check, compare_values, expect
from loopdiff.fuzz.duals import STAND_INS, UNARY, Dual, Trace, run_on_duals
from loopdiff.fuzz.engines import named
from loopdiff.fuzz.generate import generate
from loopdiff.fuzz.memory import MARGIN, MemoryLayout, Watched, again, damaged, laid_out
from loopdiff.fuzz.program import RandomArgument, RandomProgram
from loopdiff.fuzz.shrink import shrink, size
from loopdiff.ir.interpret import run
from loopdiff.ir.ops import Op
from loopdiff.source.functions import source_of

pytestmark = pytest.mark.part(2)


# -- oracles -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", sorted(UNARY))
def test_slopes_of_functions_agree_with_differences(name: str) -> None:
    at, step = 1.3 if name == "acosh" else 0.4, 1e-5
    function = getattr(STAND_INS["math"], name)
    slope = function(Dual(at, 1.0, Trace(1e-9))).slope
    assert slope == pytest.approx((function(at + step) - function(at - step)) / (2 * step), rel=1e-8)


def arithmetic(x, c):
    x[0] = (c - x[0]) / x[1] + 2.0 ** x[1] - x[1] ** 2 * x[2] ** c
    x[1] += 3.0 // x[1] + x[2] % c - 1.0 % x[2]
    x[2] = np.where(c > 0.0, -abs(x[2]), c) * np.floor(3.3 * c) + max(x[0], x[1], c)
    return math.atan2(x[0], c) + math.hypot(c, x[1]) + min(x[2], c) + int(c) + math.copysign(x[1], -c)


def test_duals_agree_with_differences() -> None:
    args: dict[str, Any] = {"x": np.array([0.7, 0.45, 1.2]), "c": 0.61}
    along: dict[str, Any] = {"x": np.array([0.3, -1.1, 0.8]), "c": 0.9}
    trace = Trace(1e-9)
    result, finals = run_on_duals(arithmetic, args, along, trace)

    def at(step: float) -> np.ndarray:
        moved = {k: v + step * along[k] for k, v in args.items()}
        return np.array([arithmetic(**moved), *moved["x"]])

    expected = (at(1e-6) - at(-1e-6)) / 2e-6
    np.testing.assert_allclose([result.slope, *(v.slope for v in finals["x"])], expected, rtol=1e-7)
    assert not trace.is_fragile
    assert not trace.has_kink


def whole_arrays(x, A, c):
    y = np.where(x > 0.5, np.sin(x), c * x) + A[0] * np.max(A, axis=0)
    A[:, ::-1] *= np.exp(x)
    x[y > 0.6] += np.min(A)
    return y @ x, c - np.sum(np.maximum(A, c)), np.einsum("ij,j->i", A, x)[1]


def test_the_least_of_zero_and_more_is_positive_zero() -> None:
    """Seed 1400947: the oracle's `min` gave -0.0, whose sign `copysign` takes."""
    found = STAND_INS["min"](0, Dual(0.5, 1.0, Trace(1e-9)))
    assert math.copysign(1.0, found.value) == 1.0


def test_duals_in_arrays_agree_with_differences() -> None:
    args: dict[str, Any] = {"x": np.array([0.7, 0.45]), "A": np.array([[0.3, 0.9], [0.8, 0.1]]), "c": 0.61}
    along: dict[str, Any] = {"x": np.array([0.3, -1.1]), "A": np.array([[0.2, 0.5], [-0.4, 0.6]]), "c": 0.9}
    trace = Trace(1e-9)
    result, _ = run_on_duals(whole_arrays, args, along, trace)

    def at(step: float) -> np.ndarray:
        return np.array(whole_arrays(**{k: v + step * along[k] for k, v in args.items()}))

    np.testing.assert_allclose([r.slope for r in result], (at(1e-6) - at(-1e-6)) / 2e-6, rtol=1e-7)
    assert not trace.is_fragile
    assert not trace.has_kink


def of_complex(z, c, x):
    z[0] = np.exp(0.3j * z[1]) * z[0].conjugate() - complex(x[0], z[1].imag) / np.sqrt(z[1]) + np.sin(c) ** 2
    x[1] = abs(z[0]) + np.angle(c) * z[1].real + np.sum(abs(z) * np.real(z * x))
    z *= np.tanh(z) + 1j * x
    return np.log(z[0]) * np.cos(c)


def test_complex_duals_agree_with_differences() -> None:
    args: dict[str, Any] = {"z": np.array([0.7 - 0.2j, 0.45 + 0.6j]), "c": 0.8 + 0.3j, "x": np.array([0.4, 0.9])}
    along: dict[str, Any] = {"z": np.array([0.3j, -1.1 + 0.5j]), "c": 0.9 - 0.2j, "x": np.array([0.8, 0.1])}
    result, finals = run_on_duals(of_complex, args, along, Trace(1e-9))

    def at(step: float) -> np.ndarray:
        moved = {k: v + step * along[k] for k, v in args.items()}
        return np.array([of_complex(**moved), *moved["z"], *moved["x"]])

    expected = (at(1e-6) - at(-1e-6)) / 2e-6
    slopes = [v.slope for v in (result, *finals["z"], *finals["x"])]
    np.testing.assert_allclose(slopes, expected, rtol=1e-7)


def test_close_comparisons_are_fragile() -> None:
    trace = Trace(1e-9)
    a, b = Dual(0.5, 1.0, trace, True), Dual(0.5, 0.0, trace, True)
    assert a >= b
    assert not trace.is_fragile, "numbers that were given compare the same everywhere"
    assert a + 0.0 >= b
    assert trace.is_fragile


def test_chaos_is_left_alone() -> None:
    """After five hundred iterations the last bit of a sine is everything; no slope tells, as no argument flows in."""
    text = "def f(A):\n    s = 0.53\n    for i in range(A.shape[1]):\n        s += s * math.sin(s)\n    return s\n"
    program = RandomProgram(text, (RandomArgument("A", "matrix"),), ("A",), ((1, 511), (1, 5)))
    assert [expect(program, sizes) is None for sizes in program.sizes] == [True, False]


def test_given_numbers_may_be_rounded_in_single_precision() -> None:
    trace = Trace(1e-4, is_single=True)
    assert Dual(0.3, 1.0, trace, True) >= Dual(0.3, 0.0, trace, True)
    assert trace.is_fragile


# -- programs ----------------------------------------------------------------------------------------------
def test_a_seed_gives_one_program() -> None:
    assert generate(7) == generate(7)
    assert generate(7).text != generate(8).text


def test_programs_cover_the_language() -> None:
    kinds = {ast.For, ast.If, ast.IfExp, ast.AugAssign, ast.BoolOp, ast.Tuple, ast.Slice}
    kinds |= {ast.While, ast.Break, ast.Continue, ast.FunctionDef}
    spellings = {
        "range(ptr[", "range(cnt[", "[idx[", "-1, -1)", "enumerate(", "zip(", "np.zeros(", "_like(", "h1(", ".T",
        ":-1] =", "q0, q1 = q1, q0", "np.add.at(", ".sum(axis=0)", " @ ", "np.einsum(", "[idx]", "[:, None]", "za[",
        "np.conj(", "X0 = ", "x = ", "0.1 * i0",
    }  # fmt: skip
    for seed in range(1000):
        text = generate(seed).text
        kinds -= {type(node) for node in ast.walk(ast.parse(text))}
        spellings -= {spelling for spelling in spellings if spelling in text}
        if not kinds and not spellings:
            return
    pytest.fail(f"never drawn: {kinds} {spellings}")


@pytest.mark.parametrize("first", range(0, 20, 10))
def test_fixed_programs_pass_in_the_interpreter(first: int) -> None:
    outcomes = [check(generate(seed)) for seed in range(first, first + 10)]
    assert [o for o in outcomes if o.verdict == "failed"] == []
    assert sum(o.verdict == "passed" for o in outcomes) >= 7


@pytest.mark.parametrize("first", range(100, 120, 10))
def test_every_level_of_the_ir_means_what_python_means(first: int) -> None:
    for program in map(generate, range(first, first + 10)):
        sizes = program.sizes[0]
        expected = None
        with np.errstate(all="ignore"), suppress(ArithmeticError):
            expected = expect(program, sizes)
        if expected is None or "zs" in program.text:
            continue  # levels before the parts of complex numbers are taken apart have no interpreter
        types = argument_types(program.values(sizes))
        try:
            bound = bind(parse_function(source_of(program.function()), types), types)
        except UnsupportedLoopError:
            continue
        normal = normalize(bound)
        for level in (bound, normal, simplify(normal)):
            args = program.values(sizes)
            found = named(run(level, args, allow_negative=True), args, frozenset(expected.finals))
            compare_values(program.text, found, expected.outputs | expected.finals, expected)


@pytest.mark.slow
def test_a_fixed_program_passes_compiled() -> None:
    outcome = check(generate(3), compiled=True)
    assert outcome.verdict == "passed", outcome


# -- failures ----------------------------------------------------------------------------------------------
@pytest.fixture
def wrong_sine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The derivative of `sin` without its sign change."""
    wrong = partials.unary(lambda t, x, r: partials.call(Op.SIN, x))
    monkeypatch.setitem(partials.TABLE, Op.SIN, wrong)


@pytest.mark.usefixtures("wrong_sine")
def test_a_wrong_partial_is_found_and_made_small(tmp_path: Path) -> None:
    texts = ((seed, generate(seed).text) for seed in range(100))
    plain = sorted((len(text), seed) for seed, text in texts if "sin(" in text and not re.search("def h|zs =", text))
    seed = next(seed for _, seed in plain if check(generate(seed)).verdict == "failed")
    summary = run_campaign(Campaign(seed, 1, None, compiled=0, save=tmp_path, isolate=False))
    ((program, outcome),) = summary.failures
    assert outcome.stage == "interpreted tangent"
    assert "sin(" in program.text
    assert len(program.text.splitlines()) <= 9
    assert len(program.arguments) <= 3
    saved = (tmp_path / f"seed_{program.seed}.py").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    exec(saved, names)
    (entry,) = names["ENTRIES"]
    assert entry.wrt == program.wrt
    entry.function(*entry.args().values())


def test_shrinking_keeps_what_fails() -> None:
    text = """def f(x, y):
    s = 0.5
    for i in range(len(x)):
        y[i] = s
        s += math.sin(x[i]) * 2.0
    return s
"""
    program = RandomProgram(
        text, (RandomArgument("x", "vector"), RandomArgument("y", "vector")), ("x", "y"), ((2, 5), (3, 3))
    )
    small = shrink(program, lambda p: "sin" in p.text and p.sizes[0][1] > 1)
    assert small.text == "def f(y):\n    s += math.sin(0.5)\n"
    assert small.sizes == ((0, 2),)
    assert size(small) < size(program)


def test_shrunk_programs_come_to_an_end() -> None:
    text = """def f(x):
    m = 0
    while m < 2:
        m += 1
        x[0] = math.sin(x[0])
"""
    program = RandomProgram(text, (RandomArgument("x", "vector"),), ("x",), ((2, 2),))
    small = shrink(program, lambda p: "while m < 2" in p.text and "sin" in p.text)
    assert "m += 1" in small.text
    assert size(small) < size(program)


def test_what_raises_in_numpy_must_raise() -> None:
    x = RandomArgument("x", "vector")
    for line in ("x[1:] = x[:-2]", "x[0] = np.max(x[:0])", "x[x > 9.0] = x", "x[:] = x.reshape(2, -1)[0]"):
        found = check(RandomProgram(f"def f(x):\n    {line}\n", (x,), ("x",), ((1, 5),)))
        assert (found.verdict, found.stage) == ("passed", "misuse"), line


def test_every_way_to_fail_is_reported() -> None:
    rejected = RandomProgram(
        "def f(x):\n    with x:\n        x[0] -= 1\n", (RandomArgument("x", "vector"),), ("x",), ((1, 2),)
    )
    assert check(rejected).verdict == "refused"
    assert check(rejected).stage.startswith("LD")


def test_the_command_reports_and_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuzz", "--count", "2", "--seed", "3", "--compiled", "0"]) == 0
    assert capsys.readouterr().out.startswith("2 programs (0 compiled): 2 passed")


# -- memory ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("layout", get_args(MemoryLayout))
@pytest.mark.parametrize("shape", [(5,), (0,), (3, 4), (0, 2)])
def test_writing_beside_a_guarded_array_is_noticed(layout: MemoryLayout, shape: tuple[int, ...]) -> None:
    values = np.arange(math.prod(shape), dtype=np.float32).reshape(shape)
    array = laid_out(values, layout)
    array *= 2.0
    np.testing.assert_array_equal(again(array), 2.0 * values)
    assert again(array).strides == array.strides
    assert not list(damaged({"array": array, "again": again(array)}))
    assert isinstance(array.base, np.ndarray)
    array.base[MARGIN - 1] = 0
    assert list(damaged({"array": array})) == ["array"]


def test_writing_between_strided_elements_is_noticed() -> None:
    array = laid_out(np.ones((3, 4)), "apart")
    assert np.isnan(np.lib.stride_tricks.as_strided(array, (3, 5), array.strides)[:, 4]).all()
    np.lib.stride_tricks.as_strided(array, (3, 5), array.strides)[1, 4] = 1.0
    assert list(damaged({"array": array})) == ["array"]


@pytest.mark.slow
def test_a_sweep_that_writes_beside_its_workspace_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workspaces one element shorter than asked for."""

    def shorter(self: Watched, sizes: Any, dtypes: Any, orders: Any) -> Any:
        return allocate(self, [(s[0] - 1, *s[1:]) for s in sizes], dtypes, orders)

    allocate = Watched.allocate
    monkeypatch.setattr(Watched, "allocate", shorter)
    text = "def f(x):\n    for i in range(1, len(x)):\n        x[i] = math.sin(x[i - 1] * x[i])\n"
    found = check(RandomProgram(text, (RandomArgument("x", "vector"),), ("x",), ((1, 20),)), compiled=True)
    assert (found.verdict, found.stage) == ("failed", "compiled reverse auto, memory")
