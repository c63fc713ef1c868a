"""Extents that are counted from the end: the same program as with those counted from the start."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff import ArgumentError, vectorize_grad
from loopdiff.testing import check_grads


def in_rows_from_the_end(x):
    return (x.reshape(-1, x.shape[-1]) ** 2).sum(axis=1)


def in_rows(x):
    return (x.reshape(-1, x.shape[2]) ** 2).sum(axis=1)


def unpacked_from_the_end(x):
    *_, rows, columns = x.shape
    return x.reshape(-1, rows * columns).sum(axis=0) * columns


def unpacked(x):
    _, rows, columns = x.shape
    return x.reshape(-1, rows * columns).sum(axis=0) * columns


def of_an_array_from_the_end(x):
    y = 2.0 * x
    return y.reshape(y.shape[-3], -1)[:, : y.shape[-1]]


def of_an_array(x):
    y = 2.0 * x
    return y.reshape(y.shape[0], -1)[:, : y.shape[2]]


@pytest.mark.part(4)
@pytest.mark.parametrize(
    ("function", "other"),
    [
        (in_rows_from_the_end, in_rows),
        (unpacked_from_the_end, unpacked),
        (of_an_array_from_the_end, of_an_array),
    ],
)
@pytest.mark.parametrize("shape", [(2, 3, 4), (1, 1, 1), (3, 0, 2)])
def test_the_same_loops(function: Callable[..., Any], other: Callable[..., Any], shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).random(shape)
    f, g = vectorize_grad(function), vectorize_grad(other)
    loops, expected = (h.compile(x).ir("normal").replace(h.__name__, "f") for h in (f, g))
    assert loops == expected
    try:
        value = function(x)
    except ValueError:  # an extent that could be any number
        with pytest.raises(ArgumentError, match="LD322"):
            f(x)
        return
    np.testing.assert_allclose(f(x), value, rtol=1e-15)
    if x.size:
        check_grads(f, (x,))


def test_an_axis_that_is_not_there_is_refused_as_ever() -> None:
    def f(x):
        return x.sum() * x.shape[-3]

    with pytest.raises(Exception, match="LD207"):
        vectorize_grad(f)(np.ones((2, 3)))
