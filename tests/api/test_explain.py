"""What `explain` says, in the words of the user's program."""

from __future__ import annotations

import numpy as np
import pytest
from numba import float64

from loopdiff import ArgumentError, stop_gradient, vectorize_grad
from loopdiff.calls import compiled
from tests.api.programs import grouped, grow, recurrence, weighted_square
from tests.corpus import helpers
from tests.corpus.ruled import level, looked_up, staircase

X, W = np.arange(1.0, 5.0), np.array([1.0, 0.5, 2.0, 1.0])


def test_the_header_names_function_types_and_wrt() -> None:
    first = weighted_square.explain(X, W, np.zeros(4), 2.0).splitlines()[0]
    assert first.startswith("weighted_square(x: float64[:], w: float64[:], y: float64[:], scale: float64)")
    assert first.endswith("x, w, scale")


def test_loops_are_named_with_their_lines_and_reasons() -> None:
    text = recurrence.explain(X, W)
    line = recurrence.__wrapped__.__code__.co_firstlineno + 2
    assert f"for i (line {line})" in text
    assert "x[i - 1]" in text
    assert text.index("forward sweep") < text.index("reverse sweep") < text.index("between the sweeps")


def test_temporaries_are_listed_with_bytes_and_reasons() -> None:
    stored = vectorize_grad(tape="store")(grow.__wrapped__)
    (kept,) = stored.compile(X, 3).temporaries
    text = stored.explain(X, 3)
    for word in (kept.name, f"{kept.bytes} bytes", kept.decision, kept.reason):
        assert word in text
    assert "bytes" not in stored.explain(float64[::1], int)
    assert "nothing is kept" in weighted_square.explain(X, W, np.zeros(4), 2.0)


def test_values_without_derivative_are_listed() -> None:
    @vectorize_grad
    def stairs(x):
        s = 0.0
        for i in range(x.shape[0]):
            s += np.floor(x[i]) * x[int(x[i]) % 2] * stop_gradient(x[i])
        return s

    text = stairs.explain(X)
    assert "no derivative" in text
    assert "floor(x[i]): it is a step function" in text
    assert "stop_gradient(x[i]): the program declares it constant" in text
    assert "int64(x[i]): integers carry no derivative" in text
    assert "no derivative" not in grouped.explain(np.array([0, 4]), X)


def test_arguments_that_a_rule_declares_constant_are_listed() -> None:
    @vectorize_grad
    def stepped(x, y):
        staircase(x, y)
        return looked_up(y, x[0]) * level(x[1])

    text = stepped.explain(X, W)
    assert "x: the rule of `staircase` declares it constant" in text
    assert "y: the rule of `looked_up` declares it constant" in text
    assert "x[1]: the rule of `level` declares it constant" in text
    assert "x[0]: the rule" not in text


def test_lines_of_helpers_come_with_their_file() -> None:
    @vectorize_grad
    def calling(x, y):
        helpers.axpy(2.0, x, y)

    assert "for axpy_i (line 15 of helpers.py): vectorised" in calling.explain(X, X.copy())
    with pytest.raises(ArgumentError) as caught:
        calling(np.ones(4), np.ones(3))
    report = str(caught.value).splitlines()
    assert report[0].startswith("LD310: `y[axpy_i]` at line 16 of helpers.py reads axis 0 of `y`")
    assert report[4] == "  called from:"
    assert report[6].split() == ["|", "helpers.axpy(2.0,", "x,", "y)"]


def test_names_are_those_of_the_source() -> None:
    @vectorize_grad
    def twice(x, y_1):
        s = 0.0
        for i in range(x.shape[0]):
            y_1[i] = x[i] * x[i]
        for i in range(x.shape[0]):
            s = np.sin(s) + y_1[i]
        return s

    text = twice.explain(X, W)
    assert "i_1" in twice.compile(X, W).source("forward")
    assert "i_1" not in text
    assert "through `s`" in text
    assert "[]" not in text.split("\n", 1)[1]
    assert "y_1: float64[:]" in text


def test_sweeps_are_predicted_and_measured_on_copies() -> None:
    @vectorize_grad
    def doubled(x):
        for i in range(x.shape[0]):
            x[i] = 2.0 * x[i]

    x = np.ones(3)
    assert "forward sweep, predicted " in doubled.explain(x)
    assert doubled.explain(x).count(", measured ") == 2
    assert x.tolist() == [1.0, 1.0, 1.0]
    k = doubled.compile(x)
    assert "measured" not in k.explain(measure=False)
    assert k.explain(measure=True).count(", measured ") == 2
    assert "forward sweep:" in doubled.explain(float64[::1])


def test_arguments_that_would_be_refused_are_measured_only_if_that_is_asked_for() -> None:
    short = (X, W, np.zeros(1), 2.0)
    assert ", measured " not in weighted_square.explain(*short)
    with pytest.raises(ArgumentError, match="LD310"):
        weighted_square.compile(*short).explain(measure=True)


def test_long_runs_are_not_measured_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "QUICK", 0.0)
    assert ", measured " not in weighted_square.explain(X, W, np.zeros(4), 2.0)


def test_texts_are_shown_as_they_are_printed() -> None:
    """At the prompt and in notebooks, which show what `repr` gives."""
    k = recurrence.compile(X, W)
    for text in (recurrence.explain(X, W), k.source("primal"), k.ir("normal")):
        assert "\n" in repr(text)
        assert repr(text) == str(text)
    assert repr(k).startswith("<generated functions of recurrence(")
    assert "forward, reverse" in repr(k)
