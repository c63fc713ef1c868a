"""Where source text comes from, and that positions are those of the user's file."""

from __future__ import annotations

import ast
import functools
import linecache
import math
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopdiff
from loopdiff.errors import UnsupportedLoopError
from loopdiff.frontend.parse import parse_function
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import statements, subexprs
from loopdiff.source.functions import source_of
from tests.gradients.interpreted import interpreting
from tests.texts import registered

SCALE = 2.0
HINT = (
    "  hint: write it as a `def` in a file or a notebook cell, or hand over the text: `vectorize_grad(source=text)(f)`"
)


def keep(function: Any) -> Any:
    return function


class Model:
    """Functions in a class, indented and decorated."""

    @staticmethod
    @keep
    def relu(x):
        """Text
            over several lines, less indented
        than the code."""
        for i in range(len(x)):
            x[i] = max(x[i], 0.0)

    @classmethod
    def shift(cls, x):
        x[0] += 1.0

    def scale(self, x):
        x[0] *= SCALE


def marked_line(marker: str) -> int:
    lines = Path(__file__).read_text().splitlines()
    return next(k for k, line in enumerate(lines, 1) if line.strip() == marker)


def test_positions_in_a_method_are_those_of_the_file() -> None:
    source = source_of(Model.__dict__["relu"])
    assert source.name == "relu"
    assert source.home.file == __file__
    stores = [s.stmt for s in statements(parse_function(source).body) if isinstance(s.stmt, ir.Accumulate)]
    (store,) = stores
    assert store.loc.line == marked_line("x[i] = max(x[i], 0.0)")
    assert (store.loc.column, store.loc.end_column) == (12, 33)


@pytest.mark.parametrize("function", [Model.relu, Model.shift, Model().scale, Model.__dict__["shift"]])
def test_functions_in_a_class(function: Any) -> None:
    assert source_of(function).node.name in ("relu", "shift", "scale")


def test_columns_count_characters_not_bytes() -> None:
    f = registered("def f(x, é):\n    x[0] = é + é * 3.0\n", "<unicode>")
    (store,) = [s.stmt for s in statements(parse_function(source_of(f)).body) if isinstance(s.stmt, ir.Assign)]
    (three,) = [e for e in subexprs(store.value) if isinstance(e, ir.Const)]
    assert (three.loc.column, three.loc.end_column) == (19, 22)


def test_report_quotes_the_line_of_the_file() -> None:
    def bad(x):
        with x[0] > 0.0:
            x[0] -= 1.0

    with pytest.raises(UnsupportedLoopError) as caught:
        parse_function(source_of(bad))
    line = marked_line("with x[0] > 0.0:")
    assert f"{__file__}:{line}:9" in str(caught.value)
    assert "   |         with x[0] > 0.0:\n   |         ^^^^^^^^^^^^^^^^" in str(caught.value)


def test_a_notebook_cell_and_exec_with_registered_text() -> None:
    text = "import math\n\n\ndef f(x):\n    x[0] = math.pi\n\n\nprint_me = 1\n"
    source = source_of(registered(text, "<ipython-input-1-abc>"))
    assert source.home.first_line == 4
    assert source.node.lineno == 4
    assert source.text == "def f(x):\n    x[0] = math.pi\n"


def test_an_interactive_session() -> None:
    # Python 3.13 registers each statement under a name of its own.
    source = source_of(registered("def f(x):\n    x[0] = 1.0\n", "<python-input-3>"))
    assert source.home.file == "<python-input-3>"


def test_the_second_of_two_functions_of_one_name() -> None:
    text = textwrap.dedent("""
        if True:
            def f(x):
                x[0] = 1.0
            g = f
            def f(x):
                x[0] = 2.0
        """)
    source = source_of(registered(text, "<twice>"))
    assert source.home.first_line == 6
    assert "2.0" in source.text


def test_closures_and_globals() -> None:
    rate = 0.25

    def update(x):
        x[0] = rate * SCALE + np.pi + math.e + len((1, 2)) * 0

    namespace = source_of(update).outer
    assert namespace["rate"] == 0.25
    assert namespace["SCALE"] == 2.0
    assert namespace["len"] is len
    assert "nothing" not in namespace


def test_closure_variable_without_a_value_yet() -> None:
    def outer():
        def f(x):
            x[0] = later

        source = source_of(f)
        later = 1.0
        return source, later

    source, _ = outer()
    assert "later" not in source.outer


def test_wrappers_are_opened() -> None:
    class Dispatcher:
        """Stands for a Numba dispatcher."""

        def __init__(self, function: Any) -> None:
            self.py_func = function

    assert source_of(Dispatcher(Model.relu)).name == "relu"  # type: ignore[arg-type]
    assert source_of(functools.partialmethod(Model.scale).func).name == "scale"


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (abs, "`abs` is not a function written in Python"),
        (np.exp, "`exp` is not a function written in Python"),
        (functools.partial(keep, 1), "`partial` is not a function written in Python"),
    ],
)
def test_functions_without_a_definition(function: Any, message: str) -> None:
    with pytest.raises(UnsupportedLoopError) as caught:
        source_of(function)
    assert caught.value.codes == ("LD100",)
    assert str(caught.value).splitlines()[0] == f"LD100: {message}"
    assert str(caught.value).splitlines()[-1] == HINT


def test_lambdas() -> None:
    first, second = lambda x: x + 1.0, lambda x, y=2.0: (
        x * y
    )  # fmt: skip
    assert ast.unparse(source_of(first).node) == "def anonymous(x):\n    return x + 1.0"
    assert ast.unparse(source_of(second).node) == "def anonymous(x, y=2.0):\n    return x * y"
    inner = (lambda x: lambda y: x * y)(2.0)
    source = source_of(inner)
    assert ast.unparse(source.node.body[0]) == "return x * y"
    assert source.outer["x"] == 2.0


def test_lambda_whose_text_says_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(text: str) -> str:
        monkeypatch.setattr("linecache.getlines", lambda *_: ["\n"] * (line - 1) + [text])
        with pytest.raises(UnsupportedLoopError) as caught:
            source_of(function)
        return str(caught.value)

    function = lambda x: x  # noqa: E731
    file, line = __file__, function.__code__.co_firstlineno
    expected = f"LD101: the text at {file}:{line} is not the `<lambda>` that Python runs"
    for text in ("f = g\n", "f = lambda: 1, lambda: 2\n", "f = lambda x: -x\n", "f = lambda x:\n"):
        assert found(text).startswith(expected)


def test_text_without_a_name_is_that_of_the_function_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.13 keeps the text of `python -c` as `<string>`, which every other text without a name is called too."""
    text = "def f(x):\n    return x[0] * 3.0\n"
    namespace: dict[str, Any] = {}
    exec(compile(text, "<string>", "exec", dont_inherit=True), namespace)
    monkeypatch.setitem(linecache.cache, "<string>", (len(text), None, text.splitlines(True), "<string>"))
    assert source_of(namespace["f"]).text == text
    other = text.replace("3.0", "4.0")
    for found in (other, "def f(x:\n"):
        monkeypatch.setitem(linecache.cache, "<string>", (len(found), None, found.splitlines(True), "<string>"))
        with pytest.raises(UnsupportedLoopError, match="is not available"):
            source_of(namespace["f"])


def test_exec_without_registered_text() -> None:
    namespace: dict[str, Any] = {}
    exec("def f(x):\n    x[0] = 1.0\n", namespace)
    with pytest.raises(UnsupportedLoopError) as caught:
        source_of(namespace["f"])
    assert str(caught.value) == f"LD100: the source of `f` is not available (<string>)\n{HINT}"


TEXT = """
import numpy as np

def weight(v, k):
    return k * v * v

@np.vectorize
def other(v):
    return v

def f(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += weight(x[i], FACTOR)
    return s

g = lambda x: weight(x[0], 2.0)
"""


def test_texts_that_are_handed_over() -> None:
    """Of several texts the one that a function was made of; reports quote it, and helpers are found in it."""
    namespaces: list[dict[str, Any]] = []
    for factor in ("3.0", "4.0"):
        text = TEXT.replace("FACTOR", factor)
        exec(compile(text, "<string>", "exec", dont_inherit=True), namespace := {})
        namespaces.append(namespace)
        loopdiff.vectorize_grad(source=text)(namespace["f"])
    x = np.array([1.0, 2.0])
    with interpreting():
        for factor, namespace in zip((3.0, 4.0), namespaces, strict=True):
            f = loopdiff.vectorize_grad(namespace["f"])
            assert f(x) == 5.0 * factor
            np.testing.assert_allclose(f.grad(x).x, 2.0 * factor * x)
        assert loopdiff.vectorize_grad(namespaces[0]["g"])(x) == 2.0
    wrong = TEXT.replace("FACTOR", "open(x)")
    exec(compile(wrong, "<string>", "exec", dont_inherit=True), namespace := {})
    with pytest.raises(UnsupportedLoopError, match=r"(?s)--> <text \w+>:14.*open\(x\)"):
        loopdiff.vectorize_grad(source=wrong)(namespace["f"])


def test_text_of_a_command() -> None:
    text = (
        "import loopdiff, numpy as np\ndef f(x):\n    return x[0] * 3.0\nprint(loopdiff.vectorize_grad(f)(np.ones(2)))"
    )
    path = str(Path(loopdiff.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, env=environment, check=False)
    assert done.stdout == "3.0\n", done.stderr


def test_text_known_only_to_inspect(monkeypatch: pytest.MonkeyPatch) -> None:
    # Python 3.13.1 and later keep interactive text by code object, not by file name.
    namespace: dict[str, Any] = {}
    text = "def f(x):\n    with x[0] > 0.0:\n        x[0] -= 1.0\n"
    exec(compile(text, "<python-input-7>", "exec", dont_inherit=True), namespace)
    monkeypatch.setattr("inspect.findsource", lambda code: (text.splitlines(True), 0))
    with pytest.raises(UnsupportedLoopError, match=r"with x\[0\] > 0.0:"):
        parse_function(source_of(namespace["f"]))


def test_text_that_is_no_longer_python() -> None:
    f = registered("def f(x):\n    x[0] = 1.0\n", "<broken>")
    linecache.cache["<broken>"] = (0, None, ["def f(x:\n", "    x[0] = 1.0\n"], "<broken>")
    with pytest.raises(UnsupportedLoopError, match="LD101: the text at <broken>:1 is not the `f` that Python runs"):
        source_of(f)


def test_text_that_no_longer_matches() -> None:
    f = registered("def f(x):\n    x[0] = 1.0\n", "<changed>")
    linecache.cache["<changed>"] = (0, None, ["y = 1\n"], "<changed>")
    with pytest.raises(UnsupportedLoopError) as caught:
        source_of(f)
    place = "  --> <changed>:1:1\n   | y = 1\n   | ^"
    hint = "  hint: load it again: `importlib.reload(module)`, run the cell again, or start Python again"
    assert str(caught.value) == f"LD101: the text at <changed>:1 is not the `f` that Python runs\n{place}\n{hint}"
