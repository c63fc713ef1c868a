"""Programs in which Python and NumPy do what others may read otherwise: who sees a change, and what an integer is.

Each takes a vector and gives a number. The text is that of plain Python; `traps_of_python.py` gives it to every peer
that takes it as it stands, and `truth` says what is right: the value by running it, the gradient by a complex step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Program = Callable[[Any], Any]
Answer = np.ndarray | str

RAISED, REFUSED = "raises", "refused"
X = np.array([2.0, 3.0, 5.0])
ROWS = np.array([9.0, 8.0, 2.0])
ALONE = ROWS[2:]  # one element, with others before it in memory


# -- what an operand is -----------------------------------------------------------------------------------------------
def normalised(w):
    norm = (w * w).sum()
    w /= norm
    return norm


def array_before_a_call(x):
    w = 1.0 * x
    return (w * normalised(w)).sum() + w[0]


def tripled(v):
    v[0] = 3.0 * v[0]
    return v[1]


def element_before_a_call(x):
    w = 1.0 * x
    return w[0] * tripled(w) + w[0] * w[0]


def elements_change_places(x):
    w = 1.0 * x
    w[0], w[1] = w[1], w[0]
    return w[0] * w[0] * w[1]


def iterator_used_twice(x):
    pairs = zip(x, 2.0 * x)  # noqa: B905
    s = 0.0
    for a, b in pairs:
        s = s + a * b
    for a, b in pairs:
        s = s + a * a
    return s


# -- views ------------------------------------------------------------------------------------------------------------
def diagonal_of_what_changes(x):
    A = np.outer(x, x)
    d = np.diag(A)
    A += np.outer(x, x)
    return (d * d).sum()


def store_to_a_diagonal(x):
    A = np.outer(x, x)
    d = np.diag(A)
    d *= 2.0
    return (A * A).sum()


def store_to_a_broadcast_array(x):
    B = np.broadcast_to(1.0 * x, (2, 3))
    B[0] *= 2.0
    return (B * B).sum()


# -- integers ---------------------------------------------------------------------------------------------------------
def floats_added_to_integers(x):
    counts = np.array([-2, 3, -1])
    for k, step in enumerate((0.5, -0.4, 0.7)):
        counts[k] += step
    return (counts * x).sum()


def negative_integers_divided(x):
    s = 0.0
    for i in range(3):
        s = s + x[i] * ((i - 2) // 2)
    return s


def trips_beyond_32_bits(x, n=70_000):
    p = 1.0
    for _ in range(n * n // 1_000_000_000):
        p = p * x[0]
    return p


def subscript_before_the_first(x):
    return x[-2] * x[-1]


# -- what is right ----------------------------------------------------------------------------------------------------
TITLES: dict[Program, str] = {
    array_before_a_call: "an array, then a call that changes it",
    element_before_a_call: "an element, then a call that changes it",
    elements_change_places: "elements change places in one assignment",
    iterator_used_twice: "an iterator used twice",
    diagonal_of_what_changes: "`np.diag` of a matrix that changes",
    floats_added_to_integers: "floats added to integers",
    store_to_a_diagonal: "a store to `np.diag` of a matrix",
    store_to_a_broadcast_array: "a store to `np.broadcast_to`",
    subscript_before_the_first: "`x[-2]` of one element",
    negative_integers_divided: "`//` of negative integers",
    trips_beyond_32_bits: "a trip count whose product has 33 bits",
}


def argument(program: Program) -> np.ndarray:
    return ALONE if program is subscript_before_the_first else X


def flat(value: Any, gradient: Any = ()) -> np.ndarray:
    """A value, and what is known of its gradient behind it."""
    return np.concatenate([np.ravel(np.asarray(a, dtype=float)) for a in (value, gradient)])


def truth(program: Program) -> Answer:
    """Value and gradient of plain Python, or that it raises."""
    x = argument(program)
    try:
        value = program(x.copy())
    except (IndexError, ValueError):
        return RAISED
    return flat(value, [np.imag(program(x + 1e-30j * one)) / 1e-30 for one in np.eye(x.size)])
