"""A version that one statement reads serves the others that see it, and only those."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.testing import check_grads
from tests.gradients.interpreted import interpreting


def mirrored(x, y):
    for k in range(1, x.shape[0]):
        s = 0.0
        for i in range(k):
            s += x[k - i - 1] * y[i]
        for i in range(k):
            x[i] = x[i] * y[k - i - 1]
        for i in range(k):
            y[i] = 0.5 * y[i] + s


def shifted(x, y):
    for _ in range(3):
        for i in range(x.shape[0] - 2):
            x[i] *= y[i + 2]
            x[i] *= y[i + 1]
        for i in range(x.shape[0]):
            x[i] *= y[i]
        for i in range(x.shape[0]):
            y[i] = 0.9 * y[i] + 0.1


def written_between(x, y):
    for _ in range(3):
        for i in range(x.shape[0]):
            x[i] *= y[i]
        y[2] = x[1]
        for i in range(x.shape[0]):
            x[i] *= y[x.shape[0] - 1 - i]
        for i in range(x.shape[0]):
            y[i] = 0.9 * y[i] + 0.1


def not_covered(x, y):
    for _ in range(3):
        for i in range(x.shape[0]):
            x[i] *= y[x.shape[0] - 1 - i]
        for i in range(2, x.shape[0]):
            x[i] *= y[i]
        for i in range(x.shape[0]):
            y[i] = 0.9 * y[i] + 0.1


def conditional(x, y):
    for _ in range(3):
        for i in range(x.shape[0]):
            x[i] *= y[x.shape[0] - 1 - i]
        for i in range(x.shape[0]):
            if x[i] > 0.1:
                x[i] *= y[i]
        for i in range(x.shape[0]):
            y[i] = 0.9 * y[i] + 0.1


def twisted(x, y):
    for _ in range(3):
        for i in range(x.shape[0] // 2):
            x[i] *= y[2 * i + 1]
        for i in range(x.shape[0]):
            x[i] *= y[i]
        for i in range(x.shape[0]):
            y[i] = 0.9 * y[i] + 0.1


def in_one_loop(x, y):
    for _ in range(3):
        for i in range(x.shape[0]):
            x[i] *= y[i]
            x[i] *= y[x.shape[0] - 1 - i]
        for i in range(x.shape[0]):
            y[i] = 0.9 * y[i] + 0.1


def in_one_branch(x, y):
    for _ in range(3):
        for i in range(x.shape[0]):
            if x[i] > 0.5:
                s = x[i] * y[i]
                x[i] = s * np.sin(y[i])
                y[i] = 0.9 * y[i] + x[i]
                x[i] *= y[i]
            else:
                x[i] *= np.exp(y[i])
                y[i] *= 0.9 * x[i]


def left_between(x, y):
    for _ in range(3):
        for i in range(x.shape[0]):
            if y[i] > 0.5:
                x[i] *= y[i]
                if x[i] > 0.7:
                    break
                x[i] *= x[i] * y[i]
        for i in range(x.shape[0]):
            y[i] = 0.9 * y[i] + 0.1


@pytest.mark.parametrize(
    ("function", "tapes_of_y"),
    [
        (mirrored, 1),
        (shifted, 1),
        (twisted, 2),  # of a loop over every second element it is not known that it stays within the other one
        (in_one_loop, 1),
        (written_between, 2),
        (not_covered, 1),
        (conditional, 1),
        (in_one_branch, 2),  # before it is written, in either branch, and after that
        (left_between, 2),
    ],
)
def test_tapes_are_shared_where_values_are(function: Callable[..., Any], tapes_of_y: int) -> None:
    rng = np.random.default_rng(0)
    args = (0.4 + rng.random(7), 0.4 + rng.random(7))
    with interpreting():
        f = vectorize_grad(tape="store")(function)
        check_grads(f, args)
        kept = [t.name for t in f.compile(*args).temporaries if t.name.startswith("y_tape")]
    assert len(kept) == tapes_of_y, kept
