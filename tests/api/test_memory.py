"""Calls for which there is not enough memory: the error says how much each array takes, and what takes less.

The arrays asked for are larger than what a process can address, so nothing is ever given.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba.core.runtime import _nrt_python

from loopdiff import BackendError, OutOfMemoryError, vectorize_grad
from tests.api.interrupted import held

HUGE = 10**16
BEYOND = 2 * 10**18  # elements: more bytes than 64 bits can say
BYTES = 8 * HUGE
WITH_TAPE = "tape='recompute'` keeps less between the sweeps, `memory_limit=`"
WITHOUT_TAPE = "call it with smaller arrays"
x = np.array([0.5])


def steps(x, n):
    h = x[0]
    total = 0.0
    for _ in range(n):
        h = np.tanh(h * x[0]) * h
        total += h
    return total


def squares(x, n):
    y = np.zeros(n)
    for i in range(n):
        y[i] = x[0] + i
    total = 0.0
    for i in range(n):
        total += y[n - 1 - i] * y[i]
    return total


def products(x, n, m):
    y = np.zeros(n)
    for i in range(n):
        y[i] = x[0] * i
    z = np.zeros(m)
    total = 0.0
    for i in range(m):
        z[i] = x[0] + y[n - 1]
        total += z[i // 2] * z[i]
    return total


def row_sums(x, rows):
    total = 0.0
    for i in range(rows.shape[0] - 1):
        s = 1.0
        for _ in range(rows[i], rows[i + 1]):
            s = np.sin(s * x[0]) + s
        total += s * s
    return total


def powers(x):
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            total += x[i, j] ** 3
    return total


def doubled(x):
    return 2.0 * x


def refused(call: Callable[[], Any], name: str, hint: str) -> dict[str, int]:
    """Bytes by array, as the refusal has them."""
    with pytest.raises(OutOfMemoryError) as caught:
        call()
    error = caught.value
    assert isinstance(error, MemoryError)
    assert isinstance(error, BackendError)
    assert error.codes == ("LD610",)
    first, last = str(error).splitlines()
    assert first.startswith(f"LD610: there is not enough memory for `{name}`; bytes of its arrays: ")
    assert hint in last
    return {array: int(size) for array, size in re.findall(r"`([\w ]+)` (\d+)", first.partition(";")[2])}


@pytest.mark.parametrize("target", ["cpu", "cuda-emulated"])
def test_tapes(target):
    f = vectorize_grad(tape="store", target=target)(steps)
    expected = f.grad(x, 10)
    k = f.compile(x, 10)
    tapes = {t.name: BYTES for t in k.temporaries if t.decision == "store"}
    assert len(tapes) == 2
    limited = vectorize_grad(tape="store", target=target, memory_limit=10**20)(steps)
    for call in (f.value_and_grad, f.grad, f.vjp, k.workspace, limited.grad):
        assert refused(lambda call=call: call(x, HUGE), "steps", WITH_TAPE) == tapes
    assert set(refused(lambda: f.grad(x, BEYOND), "steps", WITH_TAPE).values()) == {8 * BEYOND}
    assert f.grad(x, 10) == expected


def test_tapes_that_are_counted():
    rows = np.array([0, HUGE])
    f = vectorize_grad(tape="store")(row_sums)
    k = f.compile(x, np.array([0, 1]))
    for call in (f.value_and_grad, f.vjp, k.workspace):
        found = refused(lambda call=call: call(x, rows), "row_sums", WITH_TAPE)
        assert found
        assert set(found.values()) == {BYTES}


@pytest.mark.parametrize("size", [HUGE, BEYOND])
def test_arrays_of_the_function_itself(size):
    f = vectorize_grad(squares)
    expected = f.grad(x, 10)
    k = f.compile(x, 10)
    needed = 8 * size
    assert refused(lambda: f(x, size), "squares", WITHOUT_TAPE) == {"y": needed}
    assert refused(lambda: k.primal(x, size), "primal", WITHOUT_TAPE) == {"y": needed}
    assert refused(lambda: f.jvp((x, size), {"x": x}), "squares", WITHOUT_TAPE) == {"y": needed, "y_tan": needed}
    assert refused(lambda: k.tangent(x, size, x.copy()), "tangent", WITHOUT_TAPE) == {"y": needed, "y_tan": needed}
    assert refused(lambda: f.jacobian(x, size), "squares", "") == {"y": needed, "y_tan": needed}
    for call in (f.value_and_grad, f.vjp):
        assert refused(lambda call=call: call(x, size), "squares", WITH_TAPE)["y"] == needed
    assert f.grad(x, 10) == expected


@pytest.mark.parametrize("settings", [{}, {"parallel": True}, {"target": "cuda-emulated"}], ids=str)
def test_arrays_made_before_are_given_back(settings):
    f = vectorize_grad(**settings)(products)
    k = f.compile(x, 3, 4)
    calls = (f, k.primal, f.value_and_grad, f.vjp)
    for call in calls:
        call(x, 3, 4)
    _nrt_python.memsys_enable_stats()
    try:
        before = held()
        for call in calls:
            for _ in range(5):
                with pytest.raises(OutOfMemoryError):
                    call(x, 3, HUGE)
        assert held() == before
    finally:
        _nrt_python.memsys_disable_stats()


def test_gradients():
    f = vectorize_grad(powers)
    wide = np.broadcast_to(0.5, (1 << 28, 1 << 28))
    assert refused(lambda: f.grad(wide), "powers", "") == {"x_adj": wide.nbytes}


def test_jacobians():
    f = vectorize_grad(doubled)
    wide = np.ones(10**7)
    assert refused(lambda: f.jacobian(wide), "doubled", WITHOUT_TAPE) == {"result by x": 8 * 10**14}
