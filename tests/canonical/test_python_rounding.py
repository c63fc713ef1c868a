"""What decisions are made from is strict, and nothing else; an addition is one of a sum over a loop or decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.analysis.decisions import JUMPS, OF_POSITIVE
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import STRICT
from loopdiff.ir.walk import expressions, subexprs
from tests.corpus import BY_NAME
from tests.gradients.interpreted import lowered_by_name


def residual(x, y):
    tol = 0.1
    e = 1.0
    s = 0.0
    while e > tol:
        e = 0.0
        for i in range(x.shape[0]):
            r = 0.5 * x[i] - y[i] * y[i]
            e += r * r
            s += x[i] * y[i] + 0.5
        e = e / 4.0
        tol = tol * 10.0
    return s


def pivots(x, y):
    n = x.shape[0]
    A = np.empty((n, n))
    for i in range(n):
        for j in range(i + 1):
            A[i, j] = x[i] * y[j]
            for k in range(j):
                A[i, j] -= A[i, k] * A[j, k]
        if A[i, i] > 0.0:
            y[i] = 1.0
    return y[0]


def filled(x, y):
    w = np.zeros(x.shape[0])
    for k in range(3):
        for i in range(x.shape[0]):
            w[i] += x[i] * y[k]
    for i in range(x.shape[0]):
        w[i] += x[i] * 2.0
    z = 0.0
    for i in range(x.shape[0]):
        z += x[i] * x[i]
        y[i] = np.floor(w[i]) + z
    return z


def running(x, y):
    z = 0.0
    for i in range(x.shape[0]):
        z = z + x[i] + y[i] * 0.5
        y[i] = np.floor(z)
    return z


def far(x, y):
    s = 0.0
    for i in range(x.shape[0]):
        r = x[i] * x[i] + y[i] * y[i] - 1.0
        s += np.sqrt(x[i] * x[i] + y[i] * y[i]) * np.exp(x[i] * y[i])
        s += np.log(y[i] * y[i] - 0.5 * x[i])
        s += r
    return s


LINES = {
    residual: ["let e_2 = strict_div(e_1[], 4.0)", "let tol_1 = strict_mul(tol[], 10.0)"],
    pivots: ["A[i, j] = strict_mul(x[i], y[j])"],
    filled: ["w[i_1] = strict_add(w[i_1], strict_mul(x[i_1], 2.0))"],
    running: ["z[] = strict_add(z[], x[i])", "z[] = strict_add(z[], strict_mul(y[i], 0.5))"],
    far: ["s[] += log(strict_sub(strict_mul(y[i], y[i]), strict_mul(0.5, x[i])))"],
}


@pytest.mark.parametrize("function", LINES)
def test_strict_lines(function: Callable[..., Any]) -> None:
    text = vectorize_grad(wrt=("x",), cache=False)(function).compile(np.ones(3), np.ones(3)).ir("normal")
    assert [line.strip() for line in text.splitlines() if "strict" in line] == LINES[function], text


@pytest.mark.part(9)
@pytest.mark.parametrize("name", BY_NAME)
def test_without_decisions_nothing_is_strict(name: str) -> None:
    ls = lowered_by_name(name)
    nodes = [e for expr in expressions(ls) for e in subexprs(expr)]
    decides = any(
        (isinstance(e, ir.Apply) and e.op in (*JUMPS, *OF_POSITIVE))
        or (isinstance(e, ir.Cast) and not e.dtype.is_float)
        for e in nodes
    )
    is_strict = any(isinstance(e, ir.Apply) and (e.op in STRICT or e.is_strict) for e in nodes)
    assert decides or not is_strict
