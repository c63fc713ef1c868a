"""Generated functions compiled from their syntax trees: results are those of Numba's own passes, and nothing leaks."""

from __future__ import annotations

import gc
import re
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from llvmlite import binding
from llvmlite import ir as llvm
from numba import njit
from numba.core.runtime import _nrt_python, rtsys

from loopdiff import vectorize_grad
from loopdiff.backends.cpu.direct import Direct, DirectOnce, library
from loopdiff.backends.cpu.direct.folding import drop_unused
from loopdiff.backends.cpu.direct.library import LONG, Library
from loopdiff.backends.cpu.direct.lower import Lowering
from loopdiff.backends.cpu.scalar_math import at
from loopdiff.backends.cpu.simd import load, reduce_add, splat
from loopdiff.backends.load import load_function, write_module
from tests.corpus import BY_NAME

pytestmark = pytest.mark.part(2)

direct = njit(pipeline_class=Direct, error_model="numpy", fastmath={"contract", "nsz"})
HALF = 0.5


@direct
def bars(x: Any, y: Any, n: int) -> Any:
    """A variable of two types, each where it is read; powers, choices, tuples, places from the end."""
    t, width = 0.0, 2 * 2
    end = x.shape[0] - x.shape[0] % width
    for r in range(n):
        for i in range(0, end, 4):
            bar = load(x, (i,), 4) * splat(HALF, 4)
            t += reduce_add(bar)
        for i in range(end, x.shape[0]):
            bar = x[i] * HALF
            t += bar**2 + (bar if bar > 0.5 and i != r else -1)
    for j in range(n - 1, -1, -1):
        y[j, at(j)] = t
        y[-1, j] += x[-1 - j] / 3
        y[j][0] -= min(j, 2)
        if not (j > 1 or n < 0 or y[j, 0] // 1 > 7.5):
            break
    last = x[(0, 1)[1]]
    return last, t, y.shape[1], n**3


@direct
def raised(x: Any, kind: int) -> Any:
    """References: taken over, given back before more is asked for, released where the function ends."""
    if kind == 0:
        raise ValueError("nothing", 7)
    total = x
    for k in range(kind):
        row = np.empty((k + 1, x.shape[0]), np.float64)
        row[...] = 1.5
        total = row[k]
        if k == 4:
            raise ValueError("too many")
        x = np.zeros_like(x)
    if kind == 2:
        return x, total
    return total, x.T


@direct
def reshaped(x: Any, n: int) -> Any:
    """New arrays of the type of another one, and views of arrays in other shapes."""
    y = np.empty((x.size, 2), x.dtype)
    row = y.T.T.reshape(-1)
    for k in range(row.size):
        row[k] = x.reshape(-1)[k // 2] + k
    last = y.reshape(2, x.size)[1, -1]
    z = np.empty((n,), x.dtype)
    return y, last + z.size


@direct
def stepped(x: Any, step: int) -> Any:
    """A range with a step that nobody knows."""
    t = 0.0
    for i in range(0, x.shape[0], step):
        t += x[i]
    return t


@direct
def kept(x: Any) -> Any:
    """A variable would release what the tuple only borrows."""
    t = (x * 2.0, x + 1.0)
    return t[0][0] + t[1][0]


@direct
def taken(x: Any) -> Any:
    """An item of a tuple is the tuple's."""
    return (x, x)[1][0]


@direct
def left(n: int, c: int) -> Any:
    """A variable of another type where the loop is left than where it ends."""
    x = 1
    for i in range(n):
        x = 1.5
        if i == c:
            break
        x = 2
    return x


@njit(pipeline_class=Direct)
def checked(x: Any) -> Any:
    """Operators that can fail, and say where."""
    return x[0] % 3.0 + x[0] // -2.0 + x[0] % x[1]


def pipelines(function: Any) -> set[str]:
    found: set[str] = set()
    for compiled in function.overloads.values():
        found |= set(compiled.metadata["pipeline_times"])
    return found


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F", "A"])
def test_results_are_those_of_numba(kind: Any, order: str) -> None:
    x = np.linspace(-1, 2, 11).astype(kind)
    y = np.zeros((12, 12), kind)[::2, ::2] if order == "A" else np.zeros((6, 6), kind, order)
    usual: Any = njit(error_model="numpy", fastmath={"contract", "nsz"})(bars.py_func)
    expected_y = y.copy("K")
    expected = usual(x, expected_y, 6)
    found: Any = bars(x, y, 6)
    assert found == pytest.approx(expected, rel=1e-12 if kind is np.float64 else 1e-5)
    assert [type(v) for v in found] == [type(v) for v in expected]
    np.testing.assert_allclose(y, expected_y, rtol=1e-6)
    assert pipelines(bars) == {"direct"}


@pytest.fixture
def counting() -> Iterator[None]:
    """Numba counts what is allocated, and what of that is freed: nothing is left of other tests."""
    gc.collect()
    _nrt_python.memsys_enable_stats()
    yield
    _nrt_python.memsys_disable_stats()


@pytest.mark.usefixtures("counting")
def test_nothing_leaks() -> None:
    x = np.arange(5.0)
    for kind in (0, 1, 2, 3, 7):
        before = rtsys.get_allocation_stats()
        if kind in (0, 7):
            with pytest.raises(ValueError, match="nothing" if kind == 0 else "too many"):
                raised(x, kind)
        else:
            found: Any = raised(x, kind)
            total = found[1 if kind == 2 else 0]
            np.testing.assert_array_equal(total, np.full(5, 1.5))
            np.testing.assert_array_equal(found[0 if kind == 2 else 1], np.zeros(5))
            del found, total
        after = rtsys.get_allocation_stats()
        assert after.alloc - before.alloc == after.free - before.free
    assert pipelines(raised) == {"direct"}


@pytest.mark.usefixtures("counting")
def test_views_in_other_shapes() -> None:
    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    before = rtsys.get_allocation_stats()
    y, last = reshaped(x, 4)
    expected = np.repeat(x.ravel(), 2) + np.arange(12, dtype=np.float32)
    np.testing.assert_array_equal(y, expected.reshape(6, 2), strict=True)
    assert last == expected[-1] + 4
    del y
    with pytest.raises(ValueError, match="negative dimensions"):
        reshaped(x, -1)
    after = rtsys.get_allocation_stats()
    assert after.alloc - before.alloc == after.free - before.free
    assert pipelines(reshaped) == {"direct"}


@pytest.mark.parametrize("step", [1, 3, 9, -1, -2, -9])
def test_steps_of_either_sign(step: int) -> None:
    x = np.arange(7.0)
    assert stepped(x, step) == stepped.py_func(x, step)
    assert pipelines(stepped) == {"direct"}


@pytest.mark.usefixtures("counting")
def test_arrays_in_tuples_are_left_to_numba() -> None:
    x = np.arange(3.0)
    before = rtsys.get_allocation_stats()
    for _ in range(2000):
        assert kept(x) == 1.0
        assert taken(x) == 0.0
    after = rtsys.get_allocation_stats()
    assert after.alloc - before.alloc == after.free - before.free
    assert pipelines(kept) == pipelines(taken) == {"nopython"}


def test_a_type_that_leaves_a_loop_early_is_seen_after_it() -> None:
    assert left(5, 2) == 1.5
    assert left(5, 9) == 2


def test_operators_that_can_fail_are_lowered() -> None:
    assert checked(np.array([7.0, 4.0])) == 7.0 % 3.0 + 7.0 // -2.0 + 7.0 % 4.0
    with pytest.raises(ZeroDivisionError):
        checked(np.zeros(2))
    assert pipelines(checked) == {"direct"}


@direct
def idle(x: Any) -> Any:
    """Blocks that do nothing, as generated code has where a condition only has an `else`."""
    t = 0.0
    for k in range(x.shape[0]):
        if x[k] > 0.0:
            pass
        else:
            t += x[k]
    for _ in range(2):
        pass
    return t


def test_blocks_that_do_nothing_are_lowered() -> None:
    assert idle(np.array([1.0, -2.0, -0.5])) == -2.5
    assert pipelines(idle) == {"direct"}


@pytest.mark.parametrize("is_strict", [True, False])
def test_defects_are_left_to_numba_outside_of_tests(monkeypatch: pytest.MonkeyPatch, is_strict: bool) -> None:
    def defect(*_: Any) -> None:
        raise AttributeError("not in this version")

    monkeypatch.setattr(Lowering, "suite", defect)
    monkeypatch.setenv("LOOPDIFF_STRICT", "1" if is_strict else "")
    function: Any = direct(checked.py_func)
    if is_strict:
        with pytest.raises(AttributeError, match="not in this version"):
            function(np.ones(2))
    else:
        assert function(np.ones(2)) == 0.0
        assert pipelines(function) == {"nopython"}


@pytest.mark.parametrize(("name", "is_parallel"), [("softmax", False), ("analytic_signal", True)])
def test_generated_functions_are_compiled_directly(name: str, is_parallel: bool) -> None:
    entry = BY_NAME[name]
    f = vectorize_grad(wrt=entry.wrt, cache=False, parallel=is_parallel)(entry.function)
    k = f.compile(*entry.args(0).values())
    assert pipelines(k.forward) | pipelines(k.reverse) == {"direct"}


@direct
def divided(n: int) -> Any:
    return n % 8, n // 8, n % 3, n // 3, n // 1, n % 1


@pytest.mark.parametrize("n", [-(2**63), -17, -16, -9, -8, -3, -1, 0, 1, 7, 8, 17, 2**63 - 1])
def test_division_by_constants_rounds_down(n: int) -> None:
    assert divided(n) == (n % 8, n // 8, n % 3, n // 3, n // 1, n % 1)


def test_functions_of_many_parameters_and_long_ones_compute_what_python_computes() -> None:
    count = 48
    names = [f"a{k}" for k in range(count)]
    terms = [f"    x += a{k}[{k} % 2, {k} // {count - 1}] * {k + 1}" for k in range(count)]
    loops = [f"    for i in range(a{k}.shape[0]):\n        x += a{k}[i, 0] - a0[0, i]" for k in range(count)]
    body = [f"def long_one({', '.join(names)}):", "    x = 0.0", *terms * 8, *loops, "    return x"]
    text = "\n".join(body) + "\n"
    path = write_module("long_one", text, is_cached=False)
    function = load_function("long_one", path, text).dispatcher
    args = [np.arange(4.0).reshape(2, 2) + k for k in range(count)]
    compiled = direct(function)
    assert compiled(*args) == function(*args)
    library = compiled.overloads[compiled.signatures[0]].library
    assert isinstance(library, Library)
    assert library.written > LONG
    before = [sys.getrefcount(a) for a in args]
    compiled(*args)
    assert [sys.getrefcount(a) for a in args] == before


@pytest.mark.parametrize(("compiler", "is_long"), [(Direct, True), (DirectOnce, False)])
def test_what_is_compiled_once_is_never_too_long(
    compiler: type[Direct], is_long: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "LONG", 0)
    compiled = njit(pipeline_class=compiler)(divided.py_func)
    assert compiled(17)[0] == 1
    assert compiled.overloads[compiled.signatures[0]].library.is_long == is_long


@pytest.mark.parametrize(("longest", "expected"), [(0, 3), (10**6, 1)])
def test_options_of_long_blocks_are_taken_back(longest: int, expected: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("LONG", 0), ("LONG_BLOCK", longest)):
        monkeypatch.setattr(library, name, value)
    told, tell = [], binding.set_option
    monkeypatch.setattr(binding, "set_option", lambda name, text: told.append(text) or tell(name, text))
    assert direct(divided.py_func)(17) == (1, 2, 2, 5, 17, 0)
    assert [t.partition("=")[0] for t in told[:expected]] == [t.partition("=")[0] for t in told[expected:]]


def test_what_nothing_asks_for_is_not_written() -> None:
    integer = llvm.IntType(64)
    module = llvm.Module("unused")
    function = llvm.Function(module, llvm.FunctionType(integer, (integer, integer.as_pointer())), "f")
    start, again, end = (function.append_basic_block(name) for name in ("start", "again", "end"))
    builder = llvm.IRBuilder(start)
    pair = llvm.Constant(llvm.LiteralStructType((integer, integer)), llvm.Undefined)
    builder.insert_value(builder.insert_value(pair, function.args[0], 0), function.args[0], 1)
    asked = builder.inttoptr(function.args[0], integer.as_pointer(), name="asked")
    builder.branch(again)
    builder.position_at_end(again)
    count = builder.phi(integer, name="count")
    count.add_incoming(function.args[0], start)
    more = builder.load(builder.gep(function.args[1], (count,)), name="more")
    count.add_incoming(more, again)
    builder.store(more, asked)
    builder.cbranch(builder.icmp_signed("<", count, more), again, end)
    builder.position_at_end(end)
    builder.ret(count)
    drop_unused(function)
    assert "insertvalue" not in str(module)
    assert all(name in str(module) for name in ("asked", "count", "more", "getelementptr"))
    assert binding.parse_assembly(str(module)).get_function("f").name == "f"


@direct
def filled(n: int, m: int, value: float) -> Any:
    """Arrays that are made and filled: with a number of the call, with bits that are all zero and with others."""
    given, nothing, signs = np.empty((n, m), np.float32), np.empty((m,), np.int64), np.empty((n,), np.float64)
    flags, turned = np.empty((n, m, 2), np.bool_), np.empty((m, n), np.float64)
    given[...] = value
    nothing[...] = 0
    signs[...] = -0.0
    flags[...] = True
    turned.T[...] = value
    return given, nothing, signs, flags, turned


def test_arrays_are_filled_with_what_is_said() -> None:
    given, nothing, signs, flags, turned = filled(3, 5, 0.1)
    assert np.array_equal(given, np.full((3, 5), 0.1, np.float32))
    assert given.strides == (20, 4)
    assert given.flags.owndata is False
    assert given.dtype == np.float32
    assert np.array_equal(nothing, np.zeros(5))
    assert nothing.dtype == np.int64
    assert np.signbit(signs).all()
    assert not signs.any()
    assert flags.all()
    assert flags.shape == (3, 5, 2)
    assert flags.dtype == np.bool_
    assert np.array_equal(turned, np.full((5, 3), 0.1))
    assert turned.shape == (5, 3)
    assert filled(0, 0, 1.0)[0].shape == (0, 0)


@pytest.mark.parametrize(
    ("shape", "error", "text"),
    [
        ((-1, 2), ValueError, "negative dimensions"),
        ((1 << 40, 1 << 40), ValueError, "array is too big"),
        ((1 << 32, 1 << 20), MemoryError, "Allocation failed"),
    ],
)
def test_arrays_that_cannot_be_made(shape: tuple[int, int], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        filled(*shape, 1.0)


@direct
def formulas(n: int, m: int) -> int:
    """The same formulas of numbers where one of them is reached, and where it is not, while a variable changes."""
    t = 0
    if n > m:
        t += (n + m) * 3
    t += (n + m) * 3
    for i in range(n):
        if i > 1 and (n - m) // 2 > i:
            t += (n - m) // 2 + max(i, m) + t * 2
        t += t * 2 if i < m else (n * m) % 7
        m += 1
        t += max(i, m) + (n + m) * 3
    return t + (n - m) // 2 + (n * m) % 7


def test_formulas_are_known_where_they_were_worked_out() -> None:
    for n, m in [(0, 0), (1, 3), (6, -1), (9, 4)]:
        assert formulas(n, m) == formulas.py_func(n, m)


ENTERED = """def entered(a, b, c, n, w, flag):
    total = w * n
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            total += a[i, j] * (i + 1) - b[j, i] * j
            if flag:
                b[j, i] = total
    if n < 0:
        raise ValueError("n < 0")
    return total + c[()], a.shape[0] * n
"""


@pytest.mark.parametrize("knows_arrays", [True, False])
def test_python_enters_functions_with_arrays_of_all_layouts_and_with_numbers(
    knows_arrays: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "is_as_expected", lambda: knows_arrays)
    name = f"entered_{knows_arrays}"
    text = ENTERED.replace("entered", name)
    function = load_function(name, write_module(name, text, is_cached=False), text).dispatcher
    plain: dict[str, Any] = {}
    exec(text, plain)  # what Python itself makes of it
    compiled = direct(function)
    grid = np.arange(24.0).reshape(4, 6)
    layouts = [grid[:3, :2], grid[::-1, ::3][:3], grid[:2, :3].T, np.asfortranarray(grid[:3, :2]), grid[:3, :2].copy()]
    for a in [*layouts, *(layout[:0] for layout in layouts)]:
        for n in (3, np.int64(2), True):
            b, c = np.full((2, 6), 0.5)[:, ::2], np.array(2.0)
            expected = plain[name](a, b.copy(), c, n, 0.25, False)
            before = [sys.getrefcount(v) for v in (a, b, c)]
            assert compiled(a, b, c, int(n), 0.25, False) == expected
            entry = compiled.overloads[compiled.signatures[-1]].entry_point
            assert entry(a, b, c, n, np.float64(0.25), False) == expected
            for wrong, kind in ((-1, ValueError), (1 << 70, OverflowError), (None, TypeError)):
                with pytest.raises(kind):
                    entry(a, b, c, wrong, 0.25, False)
            assert [sys.getrefcount(v) for v in (a, b, c)] == before


HANDED_BACK = """def handed_back(a, n, w):
    made = np.empty((n, a.shape[1]), np.float64)
    for i in range(n):
        for j in range(a.shape[1]):
            made[i, j] = a[i, j] * w
    if n == 0:
        raise ValueError("nothing")
    return made, a, n, n * w
"""


@pytest.mark.usefixtures("counting")
@pytest.mark.parametrize("knows_arrays", [True, False])
def test_python_gets_arrays_back_that_were_made_and_those_that_it_gave(
    knows_arrays: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "is_as_expected", lambda: knows_arrays)
    name = f"handed_back_{knows_arrays}"
    text = "import numpy as np\n" + HANDED_BACK.replace("handed_back", name)
    compiled = direct(load_function(name, write_module(name, text, is_cached=False), text).dispatcher)
    a = np.arange(12.0).reshape(3, 4)
    compiled(a, 2, 0.5)
    gc.collect()
    start, before = rtsys.get_allocation_stats(), sys.getrefcount(a)
    for _ in range(3):
        made, given, n, x = compiled(a, 2, 0.5)
        assert given is a
        assert (n, x) == (2, 1.0)
        np.testing.assert_array_equal(made, a[:2] * 0.5)
        del given
        with pytest.raises(ValueError, match="nothing"):
            compiled(a, 0, 0.5)
    del made
    gc.collect()
    end = rtsys.get_allocation_stats()
    assert end.alloc - start.alloc == end.free - start.free
    assert sys.getrefcount(a) == before


HINTED = """def hinted(x, n):
    s = 0.0
    ends = n - n % 8
    for i in range(0, ends, 8):
        s += np.sin(x[i])
    for i in range(ends, n):
        s += np.cos(x[i])
    return s
"""
MASKED = """def masked(x, n):
    s = splat(0.0, 8)
    for i in range(0, n, 8):
        live = tail_mask(n - i, 8)
        s = select(live, s + load_masked(x, (i,), live), s)
    return reduce_add(s)
"""
LEFT = """def left(x, n):
    s = 0.0
    for i in range(n):
        if x[i] > s:
            s += np.sin(x[i])
    return s
"""


@pytest.mark.parametrize(("name", "text", "count"), [("hinted", HINTED, 2), ("masked", MASKED, 0), ("left", LEFT, 0)])
def test_loops_of_vectors_and_their_rest_are_not_copied(name: str, text: str, count: int) -> None:
    """Those that are masked to the last may be."""
    lanes = "from loopdiff.backends.cpu.simd import load_masked, reduce_add, select, splat, tail_mask\n"
    text = f"import numpy as np\n{lanes}{text}"
    function = load_function(name, write_module(name, text, is_cached=False), text).dispatcher
    compiled = direct(function)
    x = np.linspace(-1.0, 2.0, 21)
    assert compiled(x, 21) == pytest.approx(x.sum() if text.endswith(MASKED) else function(x, 21))
    module = compiled.inspect_llvm(compiled.signatures[0])
    node = re.search(r"^(!\d+) = !\{!\"llvm.loop.unroll.runtime.disable\"\}", module, re.MULTILINE)
    assert (0 if node is None else len(re.findall(rf"= distinct !\{{!\d+, .*{node[1]}\}}", module))) == count
