"""What was read of a function is not read a second time, and nothing else is taken for it."""

from __future__ import annotations

import ast
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from loopdiff.errors import UnsupportedLoopError
from loopdiff.frontend import readings
from loopdiff.frontend.capture import argument_types
from loopdiff.frontend.parse import parse_function
from loopdiff.frontend.parsing.sites import KnownLists
from loopdiff.frontend.readings import Readings, are_one
from loopdiff.immutable import replace
from loopdiff.source.functions import SourceFunction, source_of
from tests.texts import registered

REFUSED = """
def f(x, n):
    g, h = (lambda v: 2.0 * v), 0.5
    with n:
        x[0] = g(x[1]) * h
    for t in range(3):
        x = x[1:]
    return x.sum()
"""


def read_of(monkeypatch: pytest.MonkeyPatch, function: Any, **arguments: Any) -> list[SourceFunction]:
    """What is read of a function that is refused."""
    found: list[SourceFunction] = []
    parse = readings.parse_as_written

    def noted(source: SourceFunction, *given: Any) -> Any:
        found.append(source)
        return parse(source, *given)

    monkeypatch.setattr(readings, "parse_as_written", noted)
    with pytest.raises(UnsupportedLoopError):
        parse_function(source_of(function), argument_types(arguments))
    return found


def test_what_was_refused_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is written, and taken apart: there were four readings, of which two were the same again."""
    read = read_of(monkeypatch, registered(REFUSED, "<refused twice>"), x=np.ones(9), n=2)
    texts = [ast.dump(source.node, include_attributes=True) for source in read]
    assert len(texts) == len(set(texts)) == 2


def test_only_what_is_written_the_same_in_the_same_place_is_one() -> None:
    source = source_of(registered("def f(x):\n    return 0.0 * x\n", "<one>"))
    again = replace(source, node=ast.parse(source.text).body[0])
    assert again.node is not source.node
    assert are_one(source, again)
    for text in ("return -0.0 * x", "return 0 * x", "return False * x", "return  0.0 * x", "return 0.0 * y"):
        other = ast.parse(f"def f(x):\n    {text}\n").body[0]
        assert not are_one(source, replace(source, node=other)), text


def test_names_mean_the_very_same_objects() -> None:
    source = source_of(registered("def f(x):\n    return a * x\n", "<meant>", a=1.5))
    first, second = SimpleNamespace(a=1.0), SimpleNamespace(a=1.0)
    assert first == second
    held, equal, other = (replace(source, outer={"a": value}) for value in (first, first, second))
    assert are_one(held, equal)
    assert not are_one(held, other)
    assert not are_one(replace(source, outer={"a": math.inf}), replace(source, outer={"a": -math.inf}))


def test_lists_of_known_length_are_read_again_where_they_matter() -> None:
    """A list that is written out is none as it is written, and is one when such lists are taken."""
    function = registered("def f(x, k):\n    v = [1.0, 2.0]\n    return x[0] * v[k]\n", "<known list>")
    source, types = source_of(function), argument_types({"x": np.ones(3), "k": 1})
    tried = Readings(types)
    with pytest.raises(UnsupportedLoopError):
        tried.read(source, sources := readings.Sources(), takes_known=False)
    assert tried.read(source, sources).ls.arrays
    assert len(tried.past) == 2


def test_it_is_noted_whether_known_lists_mattered() -> None:
    lists = KnownLists(are_taken=False)
    assert not lists.mattered
    assert not lists.may_be_taken()
    assert lists.mattered


TWICE = """
def f(x, n):
    y = x + {1}
    for t in range(n):
        x = with_two(x, 2)
    return x.sum() + [z for z in y]

def with_two(v, *rest):
    return v
"""


def test_a_way_that_is_tried_ends_where_it_is_refused_for_certain() -> None:
    function = registered(TWICE, "<tried>")
    source, tried = source_of(function), Readings(argument_types({"x": np.ones(3), "n": 2}))
    said: list[tuple[str, ...]] = []
    for is_tried in (True, False, True):
        with pytest.raises(UnsupportedLoopError) as error:
            tried.read(source, sources := readings.Sources(), is_tried=is_tried)
        said.append(error.value.codes)
    assert [reading.is_all for reading in tried.past] == [False, True, False]
    assert len(said[0]) == 1
    assert len(said[1]) > 1
    with pytest.raises(UnsupportedLoopError) as error:  # all that is wrong is never taken from what was only tried
        Readings(tried.types, [replace(tried.past[0], sources=sources)]).read(source, sources)
    assert error.value.codes == said[1]


def test_a_way_is_read_to_its_end_where_more_may_be_decided_later() -> None:
    """How the list grows decides what it is: nothing is certain behind it before the end."""
    text = "def f(x):\n    v = [x[0]]\n    v.append(x[1])\n    y = {2.0}\n    return y + {1.0}\n"
    tried = Readings(argument_types({"x": np.ones(3)}))
    with pytest.raises(UnsupportedLoopError) as error:
        tried.read(source_of(registered(text, "<list first>")), readings.Sources(), is_tried=True)
    assert tried.past[0].is_all
    assert len(error.value.codes) > 1
