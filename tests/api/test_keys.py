"""Programs that Python runs differently never share a key, and those with the same content do, wherever they stand."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import textwrap
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest

import loopdiff
from loopdiff import UnsupportedLoopError, vectorize_grad
from loopdiff.cache.keys import identity_of
from loopdiff.cache.store import Store
from loopdiff.errors import NOWHERE, ArgumentError, Home, Span
from loopdiff.frontend.callees import Sources
from loopdiff.source.functions import source_of
from loopdiff.source.positions import Homes
from tests.api.nestings import defined, drawn, outcome, variants
from tests.texts import registered

pytestmark = pytest.mark.part(3)
ROOT = Path(loopdiff.__file__).parents[1]
K = 10.0


def key_of(function: Callable[..., Any]) -> str | None:
    source, sources = source_of(function), Sources()
    sources.read(source)
    return identity_of(source, sources).key


def made(text: str, file: str = "<keys>", name: str = "f", **names: Any) -> Any:
    """What the program calls `f`, or `name`."""
    return registered(textwrap.dedent(text), file, name, **names, np=np, functools=functools)


# -- names inside that are called as names outside -------------------------------------------------------------
def inner_assignment(K: float) -> Any:
    def f(x):
        def sq(v):
            K = v * v
            return K

        t = 0.0
        for i in range(x.shape[0]):
            t += K * sq(x[i])
        return t

    return f


def one_of_two(K: float) -> Any:
    def f(x):
        def sq(v):
            K = v * v
            return K

        def scaled(v):
            return K * v

        t = 0.0
        for i in range(x.shape[0]):
            t += scaled(sq(x[i]))
        return t

    return f


def inner_loop(K: float) -> Any:
    def f(x):
        def sq(v):
            t = 0.0
            for K in range(2):
                t += K * v * v
            return t

        t = 0.0
        for i in range(x.shape[0]):
            t += K * sq(x[i])
        return t

    return f


def in_a_helper(K: float) -> Any:
    helper = inner_assignment(K)

    def f(x):
        return helper(x)

    return f


def inner_parameter(K: float) -> Any:
    def f(x):
        scaled = lambda v, c=K: (lambda K: K * v)(c)  # noqa: E731
        t = 0.0
        for i in range(x.shape[0]):
            t += scaled(x[i]) * x[i]
        return t

    return f


MAKERS = (inner_assignment, one_of_two, inner_loop, in_a_helper, inner_parameter)


@pytest.mark.parametrize("make", MAKERS)
def test_names_inside_do_not_hide_those_outside(make: Callable[[float], Any]) -> None:
    x = np.array([1.0, 2.0])
    for factor in (2.0, 3.0):
        value, gradient = vectorize_grad(make(factor)).value_and_grad(x)
        assert value == make(factor)(x) == 5.0 * factor
        assert gradient.x.tolist() == [2.0 * factor, 4.0 * factor]


# -- the property ----------------------------------------------------------------------------------------------
@pytest.mark.part(3)
@pytest.mark.parametrize("seed", range(120))
def test_programs_that_differ_have_different_keys(seed: int) -> None:
    text, keys, outcomes = drawn(seed, is_wild=seed % 2 == 0), {}, {}
    for name, values in variants().items():
        function = defined(text, values, f"<nesting {name}>")
        keys[name] = key_of(function)
        outcomes[name] = repr(outcome(function))
    for one, found in outcomes.items():
        same = [other for other, key in keys.items() if key is not None and key == keys[one]]
        assert {outcomes[other] for other in same} <= {found}, text


def test_compiled_programs_mean_what_python_makes_of_them() -> None:
    """Of one text, under several values of the names outside, with one cache for all."""
    compiled = 0
    for seed in range(60):
        text = drawn(seed, is_wild=False)
        for name, values in list(variants().items())[seed % 3 :: 3]:
            function = defined(text, values, f"<compiled {name}>")
            try:
                found = outcome(vectorize_grad(function))
            except UnsupportedLoopError:  # a name that may have no value
                break
            except ArgumentError as error:  # one that has none
                found = {("LD331",): "UnboundLocalError"}.get(error.codes)
            if isinstance(found, str):
                assert found == outcome(function), text
                continue
            np.testing.assert_allclose(found, outcome(function), rtol=1e-12, err_msg=text)
            compiled += 1
    assert compiled > 60


# -- what functions are given ----------------------------------------------------------------------------------
class Pair(NamedTuple):
    """Fields in one order."""

    a: float
    b: float


class Riap(NamedTuple):
    """Fields in the other."""

    b: float
    a: float


def scaled_by(v, c):
    return v * c.a


def with_first(v, c=(2.0, 3.0)):
    return v * c[0]


def owner(value: float, kind: str) -> Any:
    """Something with an attribute `a`."""
    match kind:
        case "module":
            made = types.ModuleType("made")
            made.a = value  # type: ignore[attr-defined]
            return made
        case "class":
            return type("Made", (), {"a": value})
        case "record":
            return types.SimpleNamespace(a=value)
        case _:
            return Pair(value, 5.0) if value == 2.0 else Riap(2.0, value)


@pytest.mark.parametrize("kind", ["module", "class", "record", "tuple"])
def test_attributes_of_what_a_helper_is_given_count(kind: str) -> None:
    """Those of modules as they were when the function was decorated, those of classes and objects at each call."""
    for value in (2.0, 3.0):
        given = owner(value, kind)

        def f(x):
            return scaled_by(x, given)  # noqa: B023

        compiled = vectorize_grad(f)
        assert compiled(1.5) == f(1.5) == 1.5 * value
        if kind in ("module", "class", "record"):
            given.a = 7.0
            assert compiled(np.float32(2.0)) == 2.0 * (value if kind == "module" else 7.0)
            assert vectorize_grad(f)(1.5) == 10.5


def test_variables_around_that_have_no_value_yet_are_not_those_outside() -> None:
    """Python would take the value that comes; the one of the global `K` it never takes."""

    def make() -> Any:
        def f(x):
            return K * x

        if f.__code__.co_argcount:
            vectorize_grad(f)
        K = 5.0
        return K

    with pytest.raises(UnsupportedLoopError, match="LD113: `K` is not defined"):
        make()


def test_what_defaults_use_counts_when_decorated() -> None:
    f = """
    S = 2.0
    def scaled(v):
        return S * v
    def apply(v, g=scaled):
        return g(v)
    def f(x):
        return apply(x)
    """
    names: dict[str, Any] = {}
    plain = made(f, **names)
    compiled = vectorize_grad(plain)
    plain.__globals__["S"] = 9.0
    assert compiled(1.0) == 2.0
    assert vectorize_grad(plain)(1.0) == plain(1.0) == 9.0


def test_parameters_are_those_of_the_function_that_runs() -> None:
    """Whatever it says that it wraps."""
    text = """
    def g(a, b):
        return a - b
    def flipped(h):
        @functools.wraps(h)
        def wrapper(b, a):
            return h(b, a)
        return wrapper
    k = flipped(g)
    def f(x, y):
        return 2.0 * k(x, y) + k(a=x, b=y)
    """
    plain = made(text)
    assert vectorize_grad(plain)(1.0, 5.0) == plain(1.0, 5.0) == -4.0


class Odd(float):
    """A number that multiplies in a way of its own."""

    def __rmul__(self, other: Any) -> float:
        return 100.0


class Plain(float):
    """A number with a name."""

    name = "plain"


def test_numbers_that_calculate_in_a_way_of_their_own_are_refused() -> None:
    odd, plain = Odd(2.0), Plain(2.0)
    with pytest.raises(UnsupportedLoopError, match="LD113: `odd` is of type Odd, not a number"):
        vectorize_grad(lambda x: x * odd)
    assert vectorize_grad(lambda x: x * plain)(3.0) == 6.0


def test_functions_called_as_those_of_scipy_are_not_taken_for_them() -> None:
    """A ufunc knows its name and not where it is from."""
    text = "import numba\n@numba.vectorize(['f8(f8)'], target='parallel')\ndef gamma(x):\n    return 2.0 * x\n"
    text += "def f(x):\n    return gamma(x)\n"
    with pytest.raises(UnsupportedLoopError, match="LD109: `gamma` is not a function loopdiff knows"):
        vectorize_grad(made(text))


VALUES = (
    0.0, -0.0, 1, 1.0, True, np.True_, np.float32(1.0), np.float64(1.0), np.int64(1), np.int32(1), 1j, np.complex64(1j),
    float("nan"), -float("nan"), float("inf"), None, "1", (1,), (1.0,), ((1,), ()), ((1, ()),), np.sin, np.cos, np.abs,
    abs, numba.int32, numba.int64, np.dtype("f4"), np.dtype("f8"), np.float32, float, int, len, range, numba.prange,
    np, scaled_by, with_first, lambda v: v, lambda v: -v,
)  # fmt: skip
UNSTABLE = (types, Pair, Odd, object(), functools.partial(abs, 1))


def test_values_that_differ_have_different_keys() -> None:
    def using(value: Any) -> Any:
        return lambda x: x * value

    keys = [key_of(using(value)) for value in VALUES]
    assert None not in keys
    assert len(set(keys)) == len(keys)
    assert {key_of(using(value)) for value in UNSTABLE} == {None}
    read_at_calls = (np.zeros(2), np.ones(3)), ([1.0], [2.0], {}, Pair(1.0, 2.0))  # what is known of them counts later
    for values in read_at_calls:
        found = {key_of(using(value)) for value in values}
        assert len(found) == 1
        assert found.isdisjoint({None, *keys})


# -- rules -----------------------------------------------------------------------------------------------------
def ruled(body: str, decorator: str = "", **names: Any) -> str | None:
    """The key of a function that calls one with a rule, whose function has that body."""
    text = f"""
    import loopdiff, numba
    {decorator}
    def opaque(x):
        {body}
    loopdiff.rule(opaque, active=("x",), partials={{"x": lambda x: 1.0}})
    def f(x):
        return opaque(x)
    """
    return key_of(made(text, **names))


def test_what_functions_of_rules_use_counts() -> None:
    """Numba compiles them as they are: by all rules of Python, not those of the front end."""
    keys = [
        ruled("return x * K", K=2.0),
        ruled("return x * K", K=3.0),
        ruled("return x * sum([K * y for y in (1.0, 2.0)])", K=2.0),
        ruled("return x * sum([K * y for y in (1.0, 2.0)])", K=3.0),
        ruled("return x + sum([L for K in (K, 1.0)])", K=2.0, L=1.0),
        ruled("return x + sum([L for K in (K, 1.0)])", K=3.0, L=1.0),
        ruled("return x + sum([L for K in (K, 1.0)])", K=2.0, L=2.0),
        ruled("return T(x)", T=numba.int32),
        ruled("return T(x)", T=numba.int64),
        ruled("return x", "@numba.njit"),
        ruled("return x", "@numba.njit(fastmath=True)"),
        ruled("return x", "@numba.njit(**OPTIONS)", OPTIONS={"fastmath": False}),
        ruled("return x", "@numba.njit(**OPTIONS)", OPTIONS={"fastmath": True}),
    ]
    assert len(set(keys)) == len(keys)
    assert None not in keys
    assert ruled("return x * K[0]", K=np.ones(2)) is None
    assert ruled("return x * K", K=2.0) == keys[0]


# -- elsewhere ---------------------------------------------------------------------------------------------------
SAME = """
def double(v):
    # of no use
    return v + v

def f(x, n, y):
    for i in range(n):
        last = i
        y[i] = np.exp(double(x[i + 1]))
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] * y[last]
    return s
"""
ELSEWHERE = f"import math\n\n\n{SAME}"


def report(call: Callable[[], Any]) -> list[str]:
    with pytest.raises(loopdiff.ArgumentError) as caught:
        call()
    return str(caught.value).splitlines()


def files(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


def test_the_same_function_elsewhere_is_not_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And speaks of the lines of its own file."""
    monkeypatch.setenv("LOOPDIFF_CACHE_DIR", str(tmp_path))
    x, kept, shown = np.linspace(0.0, 1.0, 5), [], []
    for file, text, line in (("<here>", SAME, 9), ("<there>", ELSEWHERE, 12)):
        f = vectorize_grad(made(text, file))
        value, _ = f.value_and_grad(x, 4, np.zeros(5))
        f.vjp(x, 4, np.zeros(5))
        f.jvp((x, 4, np.zeros(5)), {"x": x})
        assert value == pytest.approx(x.sum() * np.exp(2.0 * x[4]))
        assert report(lambda f=f: f(x, 5, np.zeros(5)))[:4] == [
            f"LD310: `x[i + 1]` at line {line} reads axis 0 of `x` up to n: it needs x.shape[0] > n or n <= 0",
            f"  --> {file}:{line}:30",
            "   |         y[i] = np.exp(double(x[i + 1]))",
            "   |                              ^^^^^^^^",
        ]
        assert report(lambda f=f: f(x, 0, np.zeros(5)))[:2] == [
            f"LD331: `last` has no value: the loop at line {line - 2} did not run",
            f"  --> {file}:{line + 3}:{text.splitlines()[line + 2].index('last') + 1}",
        ]
        compiled = f.compile(x, 4, np.zeros(5))
        lines = {t.line for t in compiled.temporaries}
        assert lines == {line - 1}
        assert f"line {line + 2}" in f.explain(x, 4, np.zeros(5))
        shown.append(compiled.source("reverse"))
        kept.append(files(tmp_path))
    assert kept[0] == kept[1]
    assert shown[0] == shown[1]
    assert "# line 4: y[i] = np.exp(double(x[i + 1]))" in shown[0]


def test_another_file_in_another_process(tmp_path: Path) -> None:
    """As of a notebook that is started again: nothing is derived, and nothing new is kept."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "LOOPDIFF_CACHE_DIR": str(tmp_path / "cache")}
    use = "\nfrom loopdiff import vectorize_grad\nx, y = np.linspace(0.0, 1.0, 5), np.zeros(5)\n"
    use += "print(vectorize_grad(f).value_and_grad(x, 4, y))\n"
    use += "import sys; print('loopdiff.frontend.parse' in sys.modules)\n"
    printed, kept = [], []
    for name, text in (("first.py", SAME), ("second.py", ELSEWHERE)):
        (tmp_path / name).write_text(f"import numpy as np\n{text}{use}")
        command = [sys.executable, str(tmp_path / name)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout.splitlines())
        kept.append(files(tmp_path / "cache"))
    assert printed[0][:-1] == printed[1][:-1]
    assert printed[1][-1] == "False"
    assert kept[0] == kept[1]


def test_schedules_that_name_lines_mean_those_of_the_file() -> None:
    for file, text, line in (("<here>", SAME, 11), ("<there>", ELSEWHERE, 14)):
        f = vectorize_grad(schedule={"primal": {f"i@{line}": "scalar"}})(made(text, file))
        x = np.linspace(0.0, 1.0, 5)
        assert f(x, 4, np.zeros(5)) > 0.0
        moved = vectorize_grad(schedule={"primal": {f"i@{line + 1}": "scalar"}})(made(text, file))
        with pytest.raises(loopdiff.ScheduleError, match=f"i@{line + 1}"):
            moved(x, 4, np.zeros(5))


def test_what_functions_of_rules_use_may_change_before_they_are_compiled() -> None:
    """Numba takes the values that there are when it compiles, or compiled before: what is kept is kept for these."""
    text = """
    import loopdiff
    def opaque(x):
        return x * K
    loopdiff.rule(opaque, active=("x",), partials={"x": lambda x: K})
    def f(x):
        return opaque(x)
    """
    first, second = made(text, K=2.0), made(text, K=2.0)
    late, early = vectorize_grad(first), vectorize_grad(second)
    first.__globals__["K"] = 3.0
    assert late(1.5) in (3.0, 4.5)
    assert early(1.5) == second(1.5) == 3.0
    assert vectorize_grad(made(text, K=2.0))(1.5) == 3.0
    assert vectorize_grad(made(text, K=3.0))(1.5) == 4.5


LATE = """
import sys
import loopdiff
K = float(sys.argv[1])

def opaque(x):
    return x * K

loopdiff.rule(opaque, active=("x",), partials={"x": lambda x: K})

@loopdiff.vectorize_grad
def f(x):
    return opaque(x)

K = float(sys.argv[2])
print(f(1.0), f.grad(1.0)[0])
"""


def test_what_functions_of_rules_use_may_change_in_another_process(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "LOOPDIFF_CACHE_DIR": str(tmp_path / "cache")}
    (tmp_path / "late.py").write_text(LATE)
    for first, then in ((2, 3), (2, 2), (3, 3)):
        command = [sys.executable, str(tmp_path / "late.py"), str(first), str(then)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert done.stdout.split() == [f"{then}.0"] * 2


def test_settings_of_numba_belong_to_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [key_of(scaled_by)]
    for name, value in (("CPU_FEATURES", "+sse2"), ("CPU_NAME", "generic"), ("BOUNDSCHECK", 1)):
        monkeypatch.setattr(numba.core.config, name, value)
        keys.append(key_of(scaled_by))
    assert len(set(keys)) == 4


def test_what_comes_from_functions_that_the_key_does_not_know_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOOPDIFF_CACHE_DIR", str(tmp_path))
    here, there = Home("here.py", 3, "f"), Home("there.py", 9, "f")
    span = Span("here.py", 5, 1, 6, 2, Span("here.py", 4, 0, 4, 9, None, here), here)
    Store("key", Homes((there,))).save("stage", span)
    assert files(tmp_path) == set()
    Store("key", Homes((here,))).save("stage", (span, NOWHERE))
    found, nowhere = Store("key", Homes((there,))).load("stage")
    assert (found, nowhere) == (Span("there.py", 11, 1, 12, 2), NOWHERE)
    assert (found.called_from, found.home) == (Span("there.py", 10, 0, 10, 9), there)
