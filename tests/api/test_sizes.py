"""Memory between the sweeps has the sizes that the arguments of each call ask for, though sizes are found once."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import add
from loopdiff.ir.types import INT, ArrayType
from loopdiff.memory.arena import SIZES_KEPT, sizes_function


def waves(x, n):
    """A tape of as many rows as `n` says, over all of `x`."""
    s = np.zeros(x.shape[0])
    for _ in range(n):
        for i in range(x.shape[0]):
            s[i] = math.sin(s[i] + x[i])
    t = 0.0
    for i in range(x.shape[0]):
        t += s[i]
    return t


def test_calls_of_other_sizes_in_turn() -> None:
    f = vectorize_grad(waves, wrt=("x",), tape="store")
    sizes = [(5, 2), (5, 3), (7, 2), (5, 2), (1, 4), (7, 0), (5, 3)]
    for length, n in sizes * 2:
        x = np.linspace(0.1, 0.9, length)
        value, found = f.value_and_grad(x, n)
        assert value == pytest.approx(waves(x, n), rel=1e-13)
        s, slope = np.zeros(length), np.zeros(length)
        for _ in range(n):
            slope = np.cos(s + x) * (slope + 1.0)
            s = np.sin(s + x)
        np.testing.assert_allclose(found.x, slope, rtol=1e-12)


def decl(*extents: Any) -> ir.ArrayDecl:
    return ir.ArrayDecl("tape", ArrayType("float64", len(extents)), "tape", extents)


def test_sizes_follow_shapes_and_numbers() -> None:
    sizes = sizes_function(("x", "n", "y"), [decl(ir.Dim("x", 0), add(ir.Param("n"), ir.Const(1, INT)))], ["y"])
    for length, n, width in ((3, 4, 2), (3, 5, 2), (2, 4, 1), (3, 4, 2)):
        assert sizes(np.ones(length), n, np.ones((width, 2))) == ((length, n + 1), (width, 2))


def test_sizes_that_elements_decide_are_found_in_each_call() -> None:
    sizes = sizes_function(("x",), [decl(ir.Load(ir.Access("x", (ir.Const(0, INT),))))])
    x = np.array([3, 4])
    assert sizes(x) == ((3,),)
    x[0] = 5
    assert sizes(x) == ((5,),)


def test_few_sizes_are_kept() -> None:
    sizes = sizes_function(("n",), [decl(ir.Param("n"))])
    for n in range(3 * SIZES_KEPT):
        assert sizes(n) == ((n,),)
    assert cast(Any, sizes).__globals__["known"].cache_info().currsize <= SIZES_KEPT


def test_a_size_may_be_an_array_of_no_axes() -> None:
    def doubled(x, n):
        s = np.zeros(n)
        for i in range(x.shape[0]):
            s[i] = 2.0 * x[i]
        t = 0.0
        for i in range(x.shape[0]):
            t += s[i] * s[i]
        return t

    f = vectorize_grad(doubled, wrt=("x",))
    for n in (5, 7):
        value, found = f.value_and_grad(np.arange(5.0), np.array(n))
        assert value == 120.0
        np.testing.assert_array_equal(found.x, 8.0 * np.arange(5.0))
