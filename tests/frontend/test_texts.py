"""A text that is not what Python runs is refused, and all that Python does run is read, wherever it comes from."""

from __future__ import annotations
import __future__

import doctest
import importlib
import linecache
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import loopdiff
from loopdiff.errors import UnsupportedLoopError
from loopdiff.frontend.parse import parse_function
from loopdiff.source.functions import class_around, source_of

pytestmark = pytest.mark.part(2)
ROOT = Path(loopdiff.__file__).parents[1]
HELPER = """
import math

def scaled(v, by=2.0):
    # of the first kind
    w = v * by
    return math.sqrt(w)

twice = lambda v: v + v; thrice = lambda v: 3.0 * v

def adder(c):
    def add(v):
        return v + c
    return add

plus = adder(1.0)

class Model:
    __rate = 0.5
    @staticmethod
    def step(v):
        return v * Model.__rate
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module of helpers in a file of its own."""
    name = f"helpers_{abs(hash(tmp_path))}"
    (tmp_path / f"{name}.py").write_text(HELPER)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return importlib.import_module(name)


FUNCTIONS: list[Callable[[Any], Any]] = [
    lambda m: m.scaled, lambda m: m.twice, lambda m: m.thrice, lambda m: m.plus, lambda m: m.Model.step,
]  # fmt: skip
EDITS = (
    ("v * by", "v / by"),
    ("math.sqrt", "math.cbrt"),
    ("v + v", "v - v"),
    ("3.0 * v", "-3.0 * v"),
    ("v + c", "v + v + c"),
    ("Model.__rate", "Model.rate"),
    ("3.0 * v", "3 * v"),
    ("import math\n", "import math\nimport cmath\n"),
)


def is_read(function: Any) -> bool:
    try:
        return source_of(function) is not None
    except UnsupportedLoopError as error:
        return error.codes != ("LD101",)


def test_edited_functions_are_refused_until_they_are_loaded_again(module: Any) -> None:
    """Of each edit, the functions that it does not touch are still read."""
    file = Path(module.__file__)
    assert all(is_read(f(module)) for f in FUNCTIONS)
    touched = ([0], [0], [1], [2], [3], [4], [2], [0, 1, 2, 3, 4])
    for (old, new), expected in zip(EDITS, touched, strict=True):
        file.write_text(HELPER.replace(old, new))
        os.utime(file, (0, hash(new) % 10**9))
        assert [k for k, f in enumerate(FUNCTIONS) if not is_read(f(module))] == expected, old
        again = importlib.reload(module)
        assert all(is_read(f(again)) for f in FUNCTIONS), old
        file.write_text(HELPER)
        os.utime(file, (0, 0))
        module = importlib.reload(module)


def test_the_report_names_the_call_and_says_to_load_again(module: Any) -> None:
    def calling(x):
        return module.scaled(x)

    file = Path(module.__file__)
    file.write_text(HELPER.replace("v * by", "v * by + 1.0"))
    os.utime(file, (0, 0))
    with pytest.raises(UnsupportedLoopError) as caught:
        loopdiff.vectorize_grad(calling)
    line = calling.__code__.co_firstlineno + 1
    assert str(caught.value).splitlines() == [
        f"LD101: the text at {file}:4 is not the `scaled` that Python runs",
        f"  --> {__file__}:{line}:16",
        "   |         return module.scaled(x)",
        "   |                ^^^^^^^^^^^^^^^^",
        "  hint: load it again: `importlib.reload(module)`, run the cell again, or start Python again",
    ]


def test_comments_and_layout_may_change(module: Any) -> None:
    file = Path(module.__file__)
    file.write_text(HELPER.replace("of the first kind", "of another kind").replace("v * by", "(v  *  by)"))
    os.utime(file, (0, 0))
    assert is_read(module.scaled)


def made(text: str, name: str = "f", flags: int = 0, file: str = "<ipython-input-9>") -> Any:
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    namespace: dict[str, Any] = {}
    exec(compile(text, file, "exec", flags=flags, dont_inherit=True), namespace)
    return namespace[name]


PROGRAMS = """
def f(x, *, y: 'int' = 3) -> float:
    t: float = 0.0
    return t + x
---
from __future__ import annotations
def f(x: np.ndarray):
    (t): Unknown[3] = 1.0
    return t * x
---
def keep(f):
    return f

@keep
@(lambda f: f)
def f(x):
    'Says
        much.'
    return -0.0 + x
---
class A:
    class __B_:
        def __f(__x):
            def __g(): return __y
            return __x.__y + __z__
f = A._A__B_._B___f
---
def g(a):
    class A:
        def f(self, x):
            super().f(x)
            return a + x
    return A.f
f = g(1)
---
import numpy as np, os.path
import math as m
def f(x):
    x.sum(); np.sum(x); m.sqrt(x); os.path.join(x)
    return m
---
def f(x):
    return [y for y in x if (z := y) in {1, 2, 3}], {a: (lambda: a) for a in 'xyz'}, z
---
def f(x):
    global t
    t = x
    def g():
        nonlocal x
        x = 1; assert x, f'{x!r:>{3}} and {"x"}'
    return g
---
def g():
    def f(x):
        class A:
            def h(self): return x
        return A
    return f
f = g()
---
def f(x):
    while x:
        try:
            with x as y: pass
        except ValueError as e: break
        finally: x
    else: 1
---
f = (lambda x: lambda y: x + y)(1)
---
f, g = lambda x: x, lambda x: x
---
é = 1.0
def f(x):
    ü = '→'; return ü + é  ; y
---
if 1:
	def f(x):
		if __debug__: x += 1
		if 0: x = 2
		return x
""".replace("Says", "Says \\").split("---\n")


@pytest.mark.parametrize("text", PROGRAMS)
def test_what_python_runs_is_read(text: str) -> None:
    f = made(text)
    assert source_of(f).node.lineno >= f.__code__.co_firstlineno


def test_features_of_the_future_that_the_text_does_not_ask_for() -> None:
    """Notebooks and doctests remember them from one text to the next."""
    flags = __future__.annotations.compiler_flag
    f = made("def f(x):\n    (t): Unknown[3] = 1.0\n    return t", flags=flags)
    assert source_of(f).name == "f"


def test_the_second_lambda_of_a_line() -> None:
    text = "f, g = lambda x: x, lambda x: x"
    f, g = made(text, "f"), made(text, "g")
    assert [source_of(h).node.body[0].col_offset for h in (f, g)] == [17, 30]


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        ("f", ""), ("A.f", "A"), ("f.<locals>.g", ""), ("A.f.<locals>.g", "A"), ("f.<locals>.A.g", "A"),
        ("A.B.f.<locals>.g.<locals>.h", "B"), ("A.f.<locals>.B.g.<locals>.<lambda>", "B"),
    ],
)  # fmt: skip
def test_class_around(name: str, owner: str) -> None:
    assert class_around(name) == owner


def test_private_names_of_classes() -> None:
    """Inside a class, `__s` is `_A__s`, whatever `__s` is outside."""
    text = """
    __s, _A__s = 2.0, 3.0
    class _A:
        @staticmethod
        def f(__x):
            __t = __s * __x
            return __t
    f = _A.f
    """
    found = loopdiff.vectorize_grad(made(textwrap.dedent(text)))
    assert (found(2.0), found.grad(2.0)[0]) == (6.0, 3.0)


def test_doctests() -> None:
    """
    >>> from loopdiff.source.functions import source_of
    >>> def f(x):
    ...     return 2.0 * x
    >>> source_of(f).name
    'f'
    """
    assert doctest.run_docstring_examples(test_doctests, {}) is None
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner()
    for test in finder.find(test_doctests, globs={}):
        assert runner.run(test).failed == 0


def test_tracing_changes_nothing() -> None:
    """As debuggers and measurements of coverage do."""
    f = made("def f(x):\n    y = x\n    return y")
    before = sys.gettrace()
    sys.settrace(lambda *_: None)
    try:
        f(1.0)
        assert source_of(f).name == "f"
    finally:
        sys.settrace(before)


CHECKING = """
import numpy as np
from loopdiff.source.functions import source_of

def helper(x, n):
    "Says something."
    assert n > 0, "no elements"
    for i in range(n):
        if x[i] > 0.0:
            assert x[i] < 9.0 and len(x) == n
            continue
        while x[i] < -1.0:
            x[i] += 1.0
            assert np.all([v < 3.0 for v in x]); x[i] *= 1.0
    inner = lambda v: v + n
    def local(v):
        assert v
        return v + n
    assert inner(1.0)

def test_read():
    assert source_of(helper).name == "helper"

def test_edited():
    import linecache, pytest
    from loopdiff.errors import UnsupportedLoopError
    lines = open(__file__).readlines()
    for old, new in (("x[i] += 1.0", "x[i] += 2.0"), ("v + n", "v - n"), ("x[i] > 0.0", "x[i] >= 0.0")):
        changed = [line.replace(old, new) for line in lines]
        linecache.getlines = lambda *_: changed
        with pytest.raises(UnsupportedLoopError, match="LD101"):
            source_of(helper)
"""


def run(*command: str, cwd: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, *command], env=environment, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_asserts_that_pytest_rewrites(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(CHECKING)
    run("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py", cwd=tmp_path)


@pytest.mark.parametrize("flag", ["-O", "-OO", "-Xno_debug_ranges"])
def test_flags_of_python(flag: str, tmp_path: Path) -> None:
    (tmp_path / "it.py").write_text(f"{CHECKING}\ntest_read()\nf, g = lambda x: x, lambda x: x\n")
    (tmp_path / "run.py").write_text("import it\nit.source_of(it.g)\n")
    run(flag, "run.py", cwd=tmp_path)
    run(flag, "run.py", cwd=tmp_path)  # from what Python kept of it


def test_asserts_of_this_file() -> None:
    def f(x):
        assert x.shape[0] > 2, "too short"
        return x[0]

    assert parse_function(source_of(f)).name == "f"
