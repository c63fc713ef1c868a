"""Elements of tapes that vector loops ask for a page ahead: which, how far, and that nothing else happens."""

from __future__ import annotations

import re
from typing import Any

import numba
import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.backends.cpu.simd import ask_ahead
from loopdiff.backends.cpu.tape_streams import PAGE, TapeStream
from loopdiff.ir import nodes as ir

pytestmark = pytest.mark.part(2)


def grown(x, rates, steps):
    for _ in range(steps):
        for i in range(x.shape[0]):
            x[i] = rates[i] * x[i] * (1.0 - x[i])


def smoothed(u, steps):
    w = np.zeros_like(u)
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            for j in range(u.shape[1]):
                w[i, j] = u[i, j] * u[i - 1, j] * u[i + 1, j]
        u[:] = w


def asked(function: Any, *args: Any) -> tuple[list[str], list[str]]:
    """The requests of the forward and of the reverse sweep."""
    compiled = vectorize_grad(function).compile(*args)
    texts = [re.findall(r"ask_ahead\(.*\)", compiled.source(which)) for which in ("forward", "reverse")]
    return texts[0], texts[1]


def test_reverse_sweeps_ask_for_rows_of_tapes_and_forward_sweeps_for_nothing() -> None:
    forward, reverse = asked(grown, np.ones(50), np.ones(50), 3)
    assert forward == []
    assert reverse
    assert all(re.match(r"ask_ahead\(x_tape, \(_, \(?i", text) for text in reverse)


def test_one_row_of_several_is_asked_for_that_comes_first() -> None:
    _, reverse = asked(smoothed, np.ones((9, 40)), 3)
    assert reverse
    rows = re.findall(r"ask_ahead\(u_tape, \(_, ([^,]*), j\w*\)", "\n".join(reverse))
    assert len(rows) == len(reverse)
    assert not any(re.search(r"- 1$", row) for row in rows)


@pytest.mark.parametrize("seed", range(3))
def test_gradients_at_the_ends_of_tapes_are_those_of_python(seed: int) -> None:
    """What lies behind a tape need not be memory."""
    r = np.random.default_rng(seed)
    for count in (1, 7, 8, 63, 64, 1000):
        x, rates = r.random(count), 1.0 + r.random(count)
        _, pullback = vectorize_grad(wrt=("x",))(grown).vjp(x.copy(), rates, 4)
        (found,) = pullback(x=np.ones(count))
        slope, value = np.ones(count), x.copy()
        for _ in range(4):
            slope *= rates * (1.0 - 2.0 * value)
            value = rates * value * (1.0 - value)
        np.testing.assert_allclose(found, slope, rtol=1e-12)


def stream(*ways: int) -> TapeStream:
    return TapeStream(ir.Access("t", tuple(ir.Index(f"i{k}") for k in range(len(ways) + 1))), 8, ways)


@pytest.mark.parametrize(
    ("ways", "shape", "pages"),
    [
        ((), (5,), 1),
        ((1,), (5, 3), 1),
        ((-1,), (5, 511), -1),
        ((-1,), (5, 512), 1),
        ((0,), (5, 3), 1),
        ((-1, 1), (5, 4, 100), -1),
        ((-1, 1), (5, 6, 100), 1),
        ((-1, 0), (5, 6, 100), -1),
        ((-1, 0), (5, 6, 1000), 1),
        ((1, -1), (5, 6, 100), -1),
        ((1, -1), (5, 5, 100), 1),
        ((1, -1), (5, 5, 600), 1),
    ],
)
def test_the_next_elements_are_where_loops_go_on(ways: tuple[int, ...], shape: tuple[int, ...], pages: int) -> None:
    assert eval(stream(*ways).distance, {"t": np.empty(shape)}) == pages * PAGE


def test_asking_reads_nothing() -> None:
    @numba.njit
    def run(a):
        ask_ahead(a, (0, 0), 1 << 40)
        ask_ahead(a, (0, 0), -(1 << 40))
        ask_ahead(a, (1 << 20, 3), 64)

    a = np.ones((2, 3))
    run(a)
    assert (a == 1.0).all()
