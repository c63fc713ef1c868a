"""What Python evaluates once is checked once: it raises also where there are no elements, or nobody reads them."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from loopdiff import ArgumentError, vectorize_grad
from tests.independent.oracle import plain_function

X3, X4, E0 = np.ones(3), np.ones(4), np.ones(0)
NO_COLUMNS, NO_ROWS, INDICES = np.ones((3, 0)), np.ones((0, 3)), np.array([1, 9])

# By the statement: arguments for which Python raises IndexError.
RAISING: dict[str, dict[str, Any]] = {
    "x[k:] = y[k]": {"x": X4, "y": X4, "k": 4},
    "x[k:] = y[k] * y[0] + 1.0": {"x": X4, "y": X4, "k": 4},
    "x[k:] *= y[k]": {"x": X4, "y": X4, "k": 4},
    "x = x[k:] * y[k]": {"x": X4, "y": X4, "k": 4},
    "x[k:] = y[k] if k > 2 else y[0]": {"x": X4, "y": X4, "k": 4},
    "x[x > 9.0] = y[k]": {"x": X4, "y": X4, "k": 4},
    "x[i] = y[k]": {"x": X4, "y": X4, "k": 4, "i": np.zeros(0, dtype=np.int64)},
    "x[0] = (y[k] * E).sum()": {"x": X4, "y": X4, "k": 4, "E": E0},
    "x[0] = np.clip(E, y[k], 1.0).sum()": {"x": X4, "y": X4, "k": 4, "E": E0},
    "x[0] = np.where(k > 9, y[k], 1.0)": {"x": X4, "y": X4, "k": 4},
    "z = np.where(x > 9.0, y[k], 1.0)": {"x": X4, "y": X4, "k": 4},
    "r = A[k]": {"A": np.ones((3, 2)), "k": 3},
    "n = len(A[k])": {"A": np.ones((3, 2)), "k": -4},
    "A[k] += 1.0": {"A": NO_COLUMNS, "k": 3},
    "A[:, k] = 1.0": {"A": NO_ROWS, "k": 3},
    "A.T[k] = 1.0": {"A": NO_ROWS, "k": 3},
    "for v in A[k]:\n        x[0] = v": {"A": NO_COLUMNS, "x": X3, "k": 3},
    "for i in range(k):\n        A[i] = 0.0": {"A": NO_COLUMNS, "k": 4},
    "for i in range(k):\n        x[i] = A[i].sum()": {"A": NO_COLUMNS, "x": X4, "k": 4},
    "x[0] = A[i].sum()": {"A": NO_COLUMNS, "x": X3, "i": INDICES},
    "x[0] = A[i, k].sum()": {"A": np.ones((3, 3)), "x": X3, "i": np.zeros(0, dtype=np.int64), "k": 3},
    "x[0] = A[i[k]].sum()": {"A": NO_COLUMNS, "x": X3, "i": INDICES, "k": 1},
    "if x[0] > 0.5:\n        r = A[k]": {"A": np.ones((3, 2)), "x": X3, "k": 3},
    "r = A[i[k]]": {"A": np.ones((3, 2)), "i": INDICES, "k": 1},
    "for j in range(k):\n        if x[j] > 0.5:\n            r = A[j]": {"A": np.ones((3, 2)), "x": X4, "k": 4},
    "x[2:] = y[i[k]]": {"x": np.ones(2), "y": X3, "i": INDICES, "k": 1},
    "m = k\n    for j in range(k):\n        m = len(A[m])": {"A": np.ones((4, 1)), "k": 5},
    "m = k\n    for j in range(2):\n        m += 1\n        r = A[m]": {"A": np.ones((4, 2)), "k": 2},
    "m = 0\n    for j in range(3):\n        m += i[j]\n        r = A[:, m]": {
        "A": np.ones((2, 4)),
        "i": np.array([1, 2, 1]),
    },
    "m = 0\n    for j in range(3):\n        m += i[j]\n        n = A[m, 1:].size": {
        "A": np.ones((4, 3)),
        "i": np.array([1, 2, 1]),
    },
}
# By the statement: arguments without elements, or with loops that do not run, for which Python raises nothing.
WORKING: dict[str, dict[str, Any]] = {
    "x[k:] = y[k]": {"x": X3, "y": X4, "k": 3},
    "x[k:] = y[k - 5]": {"x": X3, "y": X4, "k": 3},
    "x[k:] = y[k] if k < 3 else 1.0": {"x": X3, "y": X3, "k": 3},
    "x[k:] = y[4] if len(y) > 4 else 1.0": {"x": X3, "y": X3, "k": 3},
    "for i in range(k, 9):\n        A[i] = 0.0": {"A": NO_COLUMNS, "k": 9},
    "for i in range(k):\n        x[i] = y[i]": {"x": E0, "y": E0, "k": -1},
    "for i in range(k):\n        x[i:] = y[i]": {"x": E0, "y": X3, "k": 3},
    "A[-k] = 0.0": {"A": NO_COLUMNS, "k": 3},
    "for i in range(1, 4):\n        A[-i] = 0.5 * i": {"A": np.ones((3, 2))},
    "x[x > 9.0] = y[k - 4]": {"x": X3, "y": X4, "k": 3},
    "if k > 9:\n        x[:] = y[k]": {"x": X3, "y": X3, "k": 3},
    "x[0] = A[i].sum()": {"A": NO_COLUMNS, "x": X3, "i": np.array([1, 2])},
}


def fresh(args: dict[str, Any]) -> dict[str, Any]:
    """Arguments of their own, which share no memory with each other."""
    return {name: copy.deepcopy(value) for name, value in args.items()}


def function(statement: str, args: dict[str, Any]) -> Any:
    return plain_function(f"def f({', '.join(args)}, s=1.0):\n    {statement}\n    return s * 2.0\n")


@pytest.mark.part(5)
@pytest.mark.parametrize("statement", RAISING)
def test_raises_as_python_does(statement: str) -> None:
    args = RAISING[statement]
    plain = function(statement, args)
    with pytest.raises(IndexError):
        plain(**fresh(args))
    f = vectorize_grad(plain)
    for call in (f, f.value_and_grad):
        with pytest.raises(ArgumentError, match=r"LD31[01]"):
            call(**fresh(args), s=1.0)


@pytest.mark.parametrize("statement", WORKING)
def test_works_as_in_python(statement: str) -> None:
    wanted, got = fresh(WORKING[statement]), fresh(WORKING[statement])
    plain = function(statement, wanted)
    plain(**wanted)
    vectorize_grad(plain)(**got, s=1.0)
    for name, value in wanted.items():
        np.testing.assert_array_equal(got[name], value)


def test_loops_are_left_by_the_shape_of_an_array() -> None:
    text = "def f(x, A):\n    t = 0.0\n    for v in x:\n        t += v\n        if A.size > 2:\n            break\n"
    f = vectorize_grad(plain_function(text + "        if A.ndim == 1:\n            break\n    return t\n"))
    assert [f(X3, np.ones((1, n))) for n in (3, 2)] == [1.0, 3.0]
    assert f(X3, np.ones(1)) == 1.0


# By the statements: what is divided by `n`, which is zero.
DIVISIONS = (
    "k = 3 // n",
    "k = 3 % n + 1",
    "k = 2\n    k -= 5 // n",
    "x[3:] = 7 // n",
    "x[3:] = x[3:] * (7 // n)",
    "for i in range(3):\n        k = i // n",
    "if 3 // n > 1:\n        pass",
    "x[0] = np.where(n > 0, 7 // (n + 0), 1.0)",
    "k = 1 if 3 // n > 1 else 2",
    "k, q = divmod(3, n)",
)


@pytest.mark.parametrize("statement", DIVISIONS)
def test_integers_are_not_divided_by_zero(statement: str) -> None:
    plain = plain_function(f"def f(x, n):\n    {statement}\n    return x[1] * 2.0\n")
    with pytest.raises(ZeroDivisionError):
        plain(np.ones(3), 0)
    f = vectorize_grad(plain)
    for call in (f, f.value_and_grad, f.vjp):
        with pytest.raises((ZeroDivisionError, ArgumentError)):
            call(np.ones(3), 0)
        call(np.ones(3), 2)


@pytest.mark.parametrize("statement", ["k = 3 // n if n else 0", "for i in range(n):\n        k = i // n"])
def test_divisions_that_python_does_not_reach(statement: str) -> None:
    f = vectorize_grad(plain_function(f"def f(x, n):\n    {statement}\n    return x[1] * 2.0\n"))
    assert f(np.ones(3), 0) == 2.0


def test_shape_with_a_negative_extent() -> None:
    f = vectorize_grad(plain_function("def f(x, n, m):\n    return x.reshape(n, m).sum()\n"))
    with pytest.raises(ArgumentError, match="LD322"):
        f(np.ones(4), -2, -2)
