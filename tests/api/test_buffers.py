"""Generated functions on a caller's buffers: those that do not fit are refused, and no memory but theirs is touched."""

from __future__ import annotations

import gc
import pickle
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError
from numba.core.serialize import dumps as numba_dumps

from loopdiff import ArgumentError, vectorize_grad
from loopdiff.backends import python_objects
from loopdiff.calls import recognition
from tests.lengths import every

pytestmark = pytest.mark.part(3)
MARGIN = 64  # bytes on both sides of every buffer
FILLED = 0xA5


# -- programs: each keeps its buffers in another way --------------------------------------------------------
def steps(A, x, h, n):
    total = 0.0
    for _ in range(n):
        for i in range(A.shape[0]):
            h[i] = np.tanh(h[i] + x[i] * A[i, 1])
    for i in range(A.shape[0]):
        total += h[i] * h[i]
    return total


def row_sums(x, rows):
    total = 0.0
    for i in range(rows.shape[0] - 1):
        s = 1.0
        for j in range(rows[i], rows[i + 1]):
            s = np.sin(s * x[j]) + s
        total += s * s
    return total


def grown(x, limit):
    v = 1.0
    k = 0
    while v < limit:
        v = v + x[k % 3] * v
        k += 1
    return v


def binned(x, n):
    doubled = 2.0 * x
    sums = np.zeros(n)
    for i in range(x.shape[0]):
        doubled[i] = doubled[i] * doubled[i]
        sums[i % n] += doubled[i]
    return sums, doubled[0]


def gathered(x, places, y):
    for i in range(places.shape[0]):
        y[i] = x[places[i]] * x[places[i]]


def weighted(W, x, y):
    for i in range(W.shape[0]):
        for j in range(W.shape[1]):
            y[i] += W[i, j] * np.exp(x[j])


def turned(z, c):
    total = 0.0
    for i in range(z.shape[0]):
        total += abs(z[i] * c) ** 2
    return total


@dataclass(frozen=True)
class Program:
    """A function, its arguments, those that it writes, and the array seeds of its results.

    `is_counted`: how long its tapes are depends on values, so that longer ones are as good.
    """

    function: Callable[..., Any]
    args: Callable[[], tuple[Any, ...]]
    writes: tuple[str, ...] = ()
    seeds: Callable[[tuple[Any, ...]], dict[str, np.ndarray]] = lambda args: {}
    tape: Any = "store"
    is_counted: bool = False


PROGRAMS = (
    Program(steps, lambda: (np.ones((4, 5)), np.linspace(0.1, 0.4, 4), np.zeros(4), 3), ("h",)),
    Program(steps, lambda: (np.ones((4, 5)), np.linspace(0.1, 0.4, 4), np.zeros(4), 3), ("h",), tape="recompute"),
    Program(row_sums, lambda: (np.linspace(0.1, 1.0, 12), np.array([0, 3, 3, 12])), is_counted=True),
    Program(grown, lambda: (np.array([0.1, 0.2, 0.3]), 5.0), is_counted=True),
    Program(binned, lambda: (np.linspace(0.1, 1.0, 7), 3), seeds=lambda args: {"sums_adj": np.ones(args[1])}),
    Program(gathered, lambda: (np.linspace(0.1, 1.0, 7), np.array([0, 6, 3, 3]), np.zeros(4)), ("y",)),
    Program(weighted, lambda: (np.asfortranarray(np.ones((3, 4))), np.ones(8)[::2], np.zeros(3)), ("y",)),
    Program(weighted, lambda: (np.ones((3, 4), np.float32), np.ones(4, np.float32), np.zeros(3, np.float32)), ("y",)),
    Program(turned, lambda: (np.linspace(0.1, 1.0, 5) * (1.0 + 2.0j), 0.5 - 1.0j)),
)
FUNCTIONS = ("primal", "forward", "reverse", "pullback", "gradient", "tangent")
CASES = [
    pytest.param(program, target, id=f"{program.function.__name__}-{number}-{target}")
    for target, programs in (("cpu", PROGRAMS), ("cuda-emulated", PROGRAMS[::5]))
    for number, program in enumerate(programs)
]


@cache
def compiled(program: Program, target: Any) -> Any:
    return vectorize_grad(tape=program.tape, target=target)(program.function).compile(*program.args())


# -- calls whose buffers lie in one block of memory, with room between them ---------------------------------
@dataclass(frozen=True)
class Call:
    """A generated function, what it can be called with, and the memory that all of this is in."""

    function: Any
    values: dict[str, Any]
    block: np.ndarray
    places: dict[str, int]
    written: frozenset[str]
    tapes: frozenset[str]

    def outside(self) -> np.ndarray:
        """What the memory outside of the buffers holds."""
        found = self.block.copy()
        for name, place in self.places.items():
            array = self.values[name]
            found[place : place + span(array)] = 0
        return found

    def array(self, name: str, place: int) -> np.ndarray:
        """An array like a buffer somewhere else."""
        like = self.values[name]
        return np.ndarray(like.shape, like.dtype, self.block, place, like.strides)


def span(array: np.ndarray) -> int:
    """Bytes from the first element of an array to the end of the last."""
    reach = sum(s * (n - 1) for s, n in zip(array.strides, array.shape, strict=True))
    return reach + array.itemsize if array.size else 0


def valid_call(program: Program, target: str, name: str) -> Call:
    k = compiled(program, target)
    args = tuple(a.copy(order="K") if isinstance(a, np.ndarray) and a.flags.forc else a for a in k.args)
    workspace = k.workspace(*args)
    if name in ("reverse", "pullback", "gradient"):
        k.forward(*args, *workspace)
    known = dict(zip(k.signature("forward"), (*args, *workspace), strict=True)) | program.seeds(args)
    values: dict[str, Any] = {}
    for parameter in k.signature(name):
        like = known.get(parameter[:-4], 1.0)
        values[parameter] = known.get(parameter, np.ones_like(like) if isinstance(like, np.ndarray) else 1.0)
    tapes = frozenset(k.signature("forward")) - frozenset(k.signature("primal"))
    match name:
        case "primal" | "tangent":
            written = {p for p in values if p.removesuffix("_tan") in program.writes}
        case "forward":
            kept = tapes if program.tape == "store" else frozenset()
            written = {*program.writes, *(t for t in kept if not t.endswith("_adj"))}
        case _:  # adjoints of written arrays may be read only
            written = {f"{p}_adj" for p in k.signature("primal") if p not in program.writes}
    arrays = {p: v for p, v in values.items() if isinstance(v, np.ndarray)}
    places, size = {}, MARGIN
    for p, array in arrays.items():
        places[p] = size
        size += -(-span(array) // MARGIN) * MARGIN + MARGIN
    block = np.full(size + max(map(span, arrays.values())), FILLED, np.uint8)
    call = Call(getattr(k, name), values, block, places, frozenset(written & arrays.keys()), tapes)
    for p, array in arrays.items():
        values[p] = call.array(p, places[p])
        values[p][...] = array
    return call


@pytest.mark.parametrize(("program", "target"), every(2, CASES))
def test_valid_calls_touch_nothing_else(program, target):
    for name in FUNCTIONS:
        call = valid_call(program, target, name)
        before = call.outside()
        call.function(*call.values.values())
        call.function(**call.values)
        assert np.array_equal(before, call.outside())


# -- damage ------------------------------------------------------------------------------------------------
def no_number(value: Any) -> Iterator[Any]:
    yield from ("1.0", None, [1.0], 1.0j, np.ones(2))
    if isinstance(value, int):
        yield from (float(value), 1 << 70)


def of_another_kind(array: np.ndarray) -> Iterator[Any]:
    """The same elements in a form that no function takes."""
    yield from (None, array.tolist(), 1.0)
    yield array.astype(array.dtype.newbyteorder())
    yield array.astype(np.float64 if array.dtype == np.float32 else np.float32)
    yield array.astype(np.uint64)
    yield array[None]
    yield np.ma.masked_array(array)
    if array.itemsize > 1 and array.size:
        memory = np.zeros(span(array) + 1, np.uint8)
        yield np.ndarray(array.shape, array.dtype, memory, 1, array.strides)
    if array.ndim > 1:
        yield array[0]
    if array.ndim and array.flags.forc and array.shape[-1] > 1:
        yield np.repeat(array, 2, axis=-1)[..., ::2]
    if array.ndim > 1 and min(array.shape) > 1:
        yield np.asfortranarray(array) if array.flags.c_contiguous else np.ascontiguousarray(array)


def of_other_extents(array: np.ndarray) -> Iterator[np.ndarray]:
    order = "C" if array.flags.c_contiguous else "F"
    for axis, extent in enumerate(array.shape):
        for wrong in {0, extent - 1, extent + 1} - {-1, extent}:
            yield np.resize(array, (*array.shape[:axis], wrong, *array.shape[axis + 1 :])).copy(order)


def in_use(call: Call, name: str) -> Iterator[np.ndarray]:
    """The buffer where another one is, or where that ends."""
    for other, place in call.places.items():
        array = call.values[other]
        if other != name and array.size and call.values[name].size:
            yield call.array(name, place)
            yield call.array(name, place + (span(array) - 1) // 8 * 8)


def read_only(array: np.ndarray) -> np.ndarray:
    found = array.view()
    found.flags.writeable = False
    return found


def damages(call: Call, program: Program) -> Iterator[tuple[str, Any, bool]]:
    """Each buffer and what comes in its place, and whether that has to be refused."""
    for name, value in call.values.items():
        if not isinstance(value, np.ndarray):
            yield from ((name, wrong, True) for wrong in no_number(value))
            continue
        yield from ((name, wrong, True) for wrong in of_another_kind(value))
        is_argument = name not in call.tapes and not name.endswith(("_adj", "_tan"))
        may_differ = is_argument or (program.is_counted and name in call.tapes)
        yield from ((name, wrong, not may_differ) for wrong in of_other_extents(value))
        if name in call.written:
            yield name, read_only(value), True
            yield from ((name, wrong, True) for wrong in in_use(call, name))


@pytest.mark.part(2)
@pytest.mark.parametrize(("program", "target"), CASES)
def test_damaged_buffers_are_refused(program, target):
    for name in FUNCTIONS:
        call = valid_call(program, target, name)
        call.function(*call.values.values())  # others like these are recognised
        for damaged, wrong, is_refused in damages(call, program):
            values = {**call.values, damaged: wrong}
            before, around = call.block.copy(), call.outside()
            try:
                call.function(*values.values())
                said = ""
            except ArgumentError as error:
                said = str(error)
            assert not is_refused or f"`{damaged}" in said, (name, damaged, wrong)
            assert not is_refused or np.array_equal(call.block, before)
            assert np.array_equal(call.outside(), around)


@vectorize_grad
def eight(a, b, c, d, e, f, g, h):
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i] * b[i] * c[i] * d[i] + e[i] * f[i] * g[i] * h[i]
    return total


def calls(f, args):
    """What is called by one call of `f`, functions in C among them."""
    names = []
    sys.setprofile(lambda frame, event, arg: names.append(frame.f_code.co_name) if "call" in event else None)
    try:
        f(*args)
    finally:
        sys.setprofile(None)
    return names


def test_checks_of_sixteen_arrays_are_one_call():
    """They are recognised by C, all at once: about 0.5 us, where one call of Python for each would take 2."""
    arrays = tuple(np.full(4, 0.5) for _ in range(8))
    k = eight.compile(*arrays)
    args = (*arrays, 1.0, *(np.zeros(4) for _ in range(8)))
    assert k.signature("reverse") == (*"abcdefgh", "result_adj", *(f"{n}_adj" for n in "abcdefgh"))
    k.reverse(*args)
    checked, plain = calls(k.reverse, args), calls(k.unit("reverse").call, args)
    assert len(checked) - len(plain) == 2, checked


def test_shapes_that_alternate_are_recognised():
    k = eight.compile(*(np.ones(4) for _ in range(8)))
    seen = []
    checks, k.reverse.checks = k.reverse.checks, lambda args: seen.append(args) or checks(args)
    for size in (4, 5, 6, 4, 5, 6):
        buffers = [np.zeros(size) for _ in range(8)]
        k.reverse(*(np.ones(size) for _ in range(8)), 1.0, *buffers)
        assert all((b == 1.0).all() for b in buffers)
    assert len(seen) == 3


def test_numbers_that_size_a_tape_are_looked_at_in_each_call():
    h = np.zeros(4)
    k = vectorize_grad(tape="store")(steps).compile(np.ones((4, 5)), np.ones(4), h, 3)
    workspace = k.workspace(np.ones((4, 5)), np.ones(4), h, 3)
    k.forward(np.ones((4, 5)), np.ones(4), h, 3, *workspace)
    with pytest.raises(ArgumentError, match=r"LD349: `tanh_tape` is float64 of shape \(3, 4\) .* shape \(4, 4\)"):
        k.forward(np.ones((4, 5)), np.ones(4), h, 4, *workspace)


def test_arguments_of_the_reverse_sweep_fit_together():
    """The forward sweep has checked other ones."""
    f = vectorize_grad(wrt=("A",), tape="store")(steps)
    A, x, h = np.ones((4, 5)), np.ones(4), np.zeros(4)
    k = f.compile(A, x, h, 3)
    workspace = k.workspace(A, x, h, 3)
    k.forward(A, x, h, 3, *workspace)
    with pytest.raises(ArgumentError, match=r"LD310: `x\[i\]` at line \d+ reads axis 0 of `x`"):
        k.reverse(A, np.ones(3), h, 3, *workspace, 1.0, np.zeros((4, 5)), np.zeros(4))


# -- what arrays hold -------------------------------------------------------------------------------------------
def upset(array: np.ndarray, rng: np.random.Generator) -> None:
    """Other integers: far outside, just outside, or inside in another order."""
    wrong = (np.full(array.shape, 1 << 40), np.full(array.shape, -1), rng.integers(-3, 15, array.shape))
    array[...] = wrong[rng.integers(3)]


def refusal_of(call: Call) -> set[str]:
    """The codes of the refusal; none where the call is not refused."""
    try:
        call.function(*call.values.values())
    except ArgumentError as error:
        return set(error.codes)
    return set()


@pytest.mark.parametrize(("program", "target"), CASES)
def test_integers_that_no_forward_sweep_has_left_do_no_harm(program, target):
    """Index arrays and tapes decide where the reverse sweep reads and writes."""
    rng = np.random.default_rng(0)
    for name in ("reverse", "pullback", "gradient"):
        call = valid_call(program, target, name)
        call.function(*call.values.values())
        whole = [v for v in call.values.values() if isinstance(v, np.ndarray) and v.dtype.kind == "i"]
        for array in whole * 3:
            kept, around = call.block.copy(), call.outside()
            upset(array, rng)
            before = call.block.copy()
            codes = refusal_of(call)
            assert codes <= {"LD310", "LD347"}
            assert not codes or np.array_equal(call.block, before)
            assert np.array_equal(call.outside(), around)
            call.block[:] = kept


def test_index_arrays_of_the_reverse_sweep_are_looked_at():
    places, x, y = np.array([0, 6, 3, 3]), np.linspace(0.1, 1.0, 7), np.zeros(4)
    k = vectorize_grad(gathered).compile(x, places, y)
    x_adj, y_adj = np.zeros(7), np.ones(4)
    workspace = k.workspace(x, places, y)
    k.forward(x, places, y, *workspace)
    for wrong in (np.array([0, 7, 3, 3]), np.array([0, -1, 3, 3]), np.array([0, 1 << 40, 3, 3])):
        with pytest.raises(ArgumentError, match=r"LD310: `x\[places\[i\]\]`"):
            k.reverse(x, wrong, y, *workspace, x_adj, y_adj)
    assert not x_adj.any()
    k.reverse(x, places, y, *workspace, x_adj, y_adj)
    np.testing.assert_allclose(x_adj, np.bincount(places, minlength=7) * 2.0 * x, rtol=1e-15)


def test_reverse_sweeps_that_shapes_keep_inside_look_into_nothing():
    for number, looks in ((0, False), (6, False), (2, True), (5, True)):
        call = valid_call(PROGRAMS[number], "cpu", "reverse")
        call.function(*call.values.values())
        assert (call.function.look is not None) == looks


# -- where arrays cannot be recognised ---------------------------------------------------------------------
@pytest.fixture
def unknown_interface(monkeypatch):
    monkeypatch.setattr(python_objects, "interface_version", lambda: 0x03000000)
    for found in (python_objects.is_as_expected, recognition.maker):
        found.cache_clear()
    yield
    for found in (python_objects.is_as_expected, recognition.maker):
        found.cache_clear()


@pytest.mark.usefixtures("unknown_interface")
def test_without_recognition_each_call_is_checked():
    program = PROGRAMS[0]
    k = vectorize_grad(tape="store")(steps).compile(*program.args())
    A, x, h, n = program.args()
    workspace = k.workspace(A, x, h, n)
    for _ in range(2):
        k.forward(A, x, h, n, *workspace)
    assert k.forward.kinds == ()
    with pytest.raises(ArgumentError, match="LD304: `h`, which is written, shares memory with `x`"):
        k.forward(A, h, h, n, *workspace)
    assert not python_objects.is_as_expected()


def test_what_recognises_outlives_what_made_it():
    args = (np.ones(3), 4)
    is_known = recognition.recogniser(args, {0}, {1})
    assert is_known is not None
    recognition.maker.cache_clear()
    gc.collect()
    np.full(100_000, -1).copy()
    assert is_known((np.zeros(3), 4))
    assert not is_known((np.zeros(3), 5))


def test_a_compiled_function_that_says_yes_to_all_is_not_used():
    assert recognition.maker() is not None
    assert not recognition.tells_apart(lambda table: lambda args: True)
    assert not recognition.tells_apart(lambda table: lambda args: False)


def test_arguments_go_by_name_and_none_is_missing():
    x = np.array([1.0, 2.0, 3.0, 4.0])
    k = eight.compile(*(x for _ in range(8)))
    assert k.primal(*(x,) * 7, h=2.0 * x) == pytest.approx(3.0 * (x**4).sum())
    with pytest.raises(ArgumentError, match="LD301: `primal` was called without `h`"):
        k.primal(*(x,) * 7)
    with pytest.raises(ArgumentError, match="LD302: `primal` takes 8 arguments, was called with 9"):
        k.primal(*(x,) * 9)


def test_axes_of_one_element_are_those_of_the_compiled_function():
    @vectorize_grad
    def product(x, y):
        return (x * y).sum()

    k = product.compile(np.ones((3, 1)), np.ones((3, 4)))
    assert k.primal(np.ones((2, 1)), np.ones((2, 5))) == 10.0
    with pytest.raises(ArgumentError, match=r"LD349: `x` is float64 of shape \(3, 4\)"):
        k.primal(np.ones((3, 4)), np.ones((3, 4)))
    with pytest.raises(ArgumentError, match="LD349: `y` has one element along axis 1"):
        k.primal(np.ones((3, 1)), np.ones((3, 1)))


# -- in compiled code, where nothing is checked -------------------------------------------------------------
def test_compiled_code_calls_the_function_itself():
    x = np.array([1.0, 2.0, 3.0, 4.0])
    k = eight.compile(*(x for _ in range(8)))
    checked: Any = k.primal
    unchecked: Any = k.unchecked.primal
    assert unchecked is k.unit("primal").dispatcher
    assert checked.py_func is unchecked.py_func

    @njit
    def both(x, given):
        return checked(x, x, x, x, x, x, x, x) + unchecked(x, x, x, x, x, x, x, x) + given(x, x, x, x, x, x, x, x)

    assert both(x, k.primal) == pytest.approx(3.0 * k.primal(*(x,) * 8))
    with pytest.raises(AttributeError, match="no function 'backward'"):
        _ = k.unchecked.backward


def test_compiled_code_gets_no_function_for_other_layouts():
    """It was compiled for rows without gaps, and would read on in them."""
    x = np.array([1.0, 2.0, 3.0, 4.0])
    k = eight.compile(*(x for _ in range(8)))
    primal = k.primal

    @njit
    def value(x):
        return primal(x, x, x, x, x, x, x, x)

    strided = np.repeat(x, 2)[::2]
    assert value(x) == k.primal(*(x,) * 8)
    with pytest.raises(TypingError):
        value(strided)
    with pytest.raises(TypeError):
        k.unchecked.primal(*(strided,) * 8)


def test_numba_can_write_down_a_generated_function():
    x = np.ones(4)
    primal = eight.compile(*(x for _ in range(8))).primal
    with pytest.raises(TypeError, match="cannot be unpickled"):
        pickle.loads(numba_dumps(primal))
