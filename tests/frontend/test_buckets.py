"""Lists of lists that grow: what one list of items cannot do as they do is refused."""

from __future__ import annotations

import numpy as np
import pytest

from loopdiff import ArgumentError, UnsupportedLoopError, vectorize_grad
from tests.frontend.test_dictionaries import IDX, X, program
from tests.gradients.interpreted import interpreting

FILLED = "bins = [[] for _ in range(40)]\nfor i, v in enumerate(x):\n    bins[i % 6].append(v)\n"
COUNTED = "bins = [[] for _ in range(3)]\nfor i, k in enumerate(idx):\n    bins[i % 3].append(k % 3)\n"

REFUSED = {
    "a call says which list a comprehension goes over": FILLED + "return sum(v for v in bins[int(bump(idx))]) * idx[0]",
    "a call says how long which list is": FILLED + "return len(bins[int(bump(idx))]) * x[1] + idx[0]",
    "a comprehension binds the name that says which": COUNTED
    + "return sum(sum(i * x[i] for i in bins[i]) for i in (1, 2))",
    "a later part binds the name that says which": COUNTED + "return sum(x[k] for k in range(3) for k in bins[k])",
    "a comprehension inside binds the number of a list": FILLED
    + "t = [sum(k * len(b) for k in range(2)) * x[k % 7] for k, b in enumerate(bins)]\nreturn t[1]",
    "a function inside binds the name of a list": FILLED
    + "t = [(lambda b: b + 1.0)(len(b)) for b in bins]\nreturn t[1]",
    "a list is put in": FILLED + "bins[1] = [x[0]]\nreturn sum(bins[1])",
    "a name for one gets an item": FILLED + "b = bins[1]\nb.append(x[0])\nreturn sum(bins[1])",
    "a name for one is read after another item": FILLED + "b = bins[1]\nbins[1].append(x[0])\nreturn sum(b)",
    "an item is stored in one": FILLED + "bins[1][0] = x[2]\nreturn sum(bins[1])",
    "one gives an item away": FILLED + "return bins[1].pop() + sum(bins[1])",
    "the list has another name": FILLED + "other = bins\nother[1].append(x[0])\nreturn sum(bins[1])",
}


@pytest.mark.part(2)
@pytest.mark.parametrize("title", REFUSED)
def test_what_one_list_of_items_does_differently_is_refused(title: str) -> None:
    plain = program(REFUSED[title])
    plain(X.copy(), IDX.copy())
    with interpreting(), pytest.raises(UnsupportedLoopError, match="LD"):
        vectorize_grad(wrt=("x",))(plain)(X.copy(), IDX.copy())


def test_a_list_that_is_not_there_is_an_error() -> None:
    plain = program(FILLED + "return sum(bins[idx[0] + 40])")
    with interpreting(), pytest.raises(Exception, match="LD310"):
        vectorize_grad(wrt=("x",))(plain)(X.copy(), np.zeros_like(IDX))


FEW = "bins = [[] for _ in range(3)]\nfor i, v in enumerate(x):\n    if v > 9.0:\n        bins[i % 3].append(v)\n"
ASKING = {
    "sum": "t += sum(bins[k])",
    "len": "t += len(bins[k])",
    "a loop": "for v in bins[k]:\n        t += v",
    "a condition": "t += x[1] if bins[k] else x[0]",
    "a statement with a condition": "if not bins[k]:\n        t += x[1]",
    "a generator": "t += sum(v * v for v in bins[k])",
    "a comprehension": "t += sum([v * v for v in bins[k] if v > 2.0])",
    "another part of a comprehension": "t += sum(u * v for u in x for v in bins[k])",
    "a name": "b = bins[k]\n    t += sum(b) if b else 0.0",
    "any": "t += 1.0 if any(v > 1.0 for v in bins[k]) else 0.0",
}


@pytest.mark.part(2)
@pytest.mark.parametrize("title", ASKING)
def test_a_list_that_is_not_there_is_an_error_where_there_are_no_items(title: str) -> None:
    plain = program(f"{FEW}t = x[2]\nfor k in idx:\n    {ASKING[title]}\nreturn t")
    indices = IDX % 3
    with interpreting():
        found = vectorize_grad(wrt=("x",))(plain)
        np.testing.assert_allclose(found(X.copy(), indices.copy()), plain(X.copy(), indices.copy()))
        indices[-1] = 3
        with pytest.raises(IndexError):
            plain(X.copy(), indices.copy())
        with pytest.raises(ArgumentError, match=r"LD310: `bins\[k\]`"):
            found(X.copy(), indices.copy())
