"""Lists, heaps, queues and dictionaries that change, against what Python computes and central differences; what Python
has an error for is one, and what a copy could be told from is refused."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff import ArgumentError, UnsupportedLoopError, vectorize_grad
from tests.frontend.changing_bodies import ERRORS, REFUSED, SAME
from tests.frontend.changing_programs import CASES
from tests.gradients.interpreted import interpreting
from tests.texts import registered

X, IDX = np.linspace(0.11, 1.3, 7), np.array([3, 1, 3, 2, 1, 1, 5])
TEXT = """
import heapq
import operator
from collections import defaultdict, deque
from heapq import heapify, heappop, heappush, nlargest, nsmallest

def f(x, idx):
    {body}
"""


def program(body: str) -> Any:
    lines = "\n    ".join(body.split("\n"))
    return registered(TEXT.format(body=lines), f"{__name__} {body}", np=np)


def slopes(plain: Callable[..., Any], given: list[Any], place: int) -> np.ndarray:
    """Central differences by the array in that place."""

    def at(step: np.ndarray) -> float:
        return plain(*(a + step if k == place else a for k, a in enumerate(given)))

    units = np.eye(given[place].size).reshape(-1, *given[place].shape)
    return np.array([(at(1e-6 * u) - at(-1e-6 * u)) / 2e-6 for u in units]).reshape(given[place].shape)


@pytest.mark.part(9)
@pytest.mark.parametrize("plain", CASES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("tape", ["store", "recompute"])
def test_programs_of_people_give_what_python_gives(plain: Callable[..., Any], tape: str) -> None:
    given = [np.copy(a) if isinstance(a, np.ndarray) else a for a in CASES[plain]]
    names = list(inspect.signature(plain).parameters)
    wrt = [n for n, a in zip(names, given, strict=True) if isinstance(a, np.ndarray) and a.dtype == float]
    with interpreting():
        value, gradients = vectorize_grad(wrt=tuple(wrt), tape=tape)(plain).value_and_grad(*given)
    assert value == pytest.approx(plain(*given), rel=1e-12)
    for name in wrt:
        expected = slopes(plain, given, names.index(name))
        np.testing.assert_allclose(getattr(gradients, name), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.part(15)
@pytest.mark.parametrize("body", SAME)
def test_changes_are_what_python_makes_of_them(body: str) -> None:
    plain = program(body)
    with interpreting():
        value, gradients = vectorize_grad(wrt=("x",))(plain).value_and_grad(X.copy(), IDX.copy())
    assert value == pytest.approx(plain(X.copy(), IDX.copy()), rel=1e-9, nan_ok=True)
    np.testing.assert_allclose(gradients.x, slopes(plain, [X, IDX], 0), rtol=1e-5, atol=1e-7)


@pytest.mark.part(3)
@pytest.mark.parametrize("body", ERRORS)
def test_what_python_has_an_error_for_is_one(body: str) -> None:
    with interpreting(), pytest.raises(ArgumentError, match="LD"):
        vectorize_grad(wrt=("x",))(program(body))(X.copy(), IDX.copy())


@pytest.mark.part(3)
@pytest.mark.parametrize("body", REFUSED)
def test_what_a_copy_could_be_told_from_is_refused(body: str) -> None:
    with interpreting(), pytest.raises(UnsupportedLoopError, match="LD"):
        vectorize_grad(wrt=("x",))(program(body))(X.copy(), IDX.copy())


LONG = {
    "v": "v = []\nk = 0\nwhile x[0] * k < 600.0:\n    v.insert(k, x[0])\n    k += 1\nreturn sum(v)",
    "h": "h = []\nk = 0\nwhile x[0] * k < 600.0:\n    heappush(h, (x[0], k))\n    k += 1\nreturn h[0][0]",
    "d": "d = {}\nk = 0\nwhile x[0] * k < 600.0:\n    d[k + idx[0]] = x[0]\n    k += 1\nreturn len(d) * x[0]",
    "bins": "bins = [[] for _ in range(3)]\nk = 0\nwhile x[0] * k < 900.0:\n    bins[k % 3].append(x[0])\n    k += 1\n"
    "return sum(bins[0])",
}


@pytest.mark.parametrize("name", LONG)
def test_lists_that_become_too_long_have_the_names_of_the_program(name: str) -> None:
    with interpreting(), pytest.raises(ArgumentError, match=f"LD334: `{name}` would have more than 4096 elements"):
        vectorize_grad(wrt=("x",))(program(LONG[name]))(X.copy(), IDX.copy())


def test_a_list_has_no_popleft() -> None:
    body = "q = [x[0]]\nq.append(x[1])\nreturn q.popleft() + q.popleft()"
    with pytest.raises(AttributeError):
        program(body)(X, IDX)
    with interpreting(), pytest.raises(UnsupportedLoopError, match="`popleft` of a list of 2 is not followed"):
        vectorize_grad(wrt=("x",))(program(body))(X.copy(), IDX.copy())


INTERNAL = {
    "rows = [x * u for u in x]\nrows.sort()\nreturn rows[0][0]": "`rows.sort()` is called for its effect",
    "rows = [x * u for u in x]\nrows.insert(0, x)\nreturn rows[0][0]": "`rows.insert",
    "h = [(u, x) for u in x]\nheapify(h)\nreturn h[0][0]": "`(u, x)` has lists that differ",
}


@pytest.mark.parametrize("body", INTERNAL)
def test_reports_are_about_what_stands_in_the_program(body: str) -> None:
    with interpreting(), pytest.raises(UnsupportedLoopError) as found:
        vectorize_grad(wrt=("x",))(program(body))(X.copy(), IDX.copy())
    assert INTERNAL[body] in str(found.value)
    assert "column" not in str(found.value)
