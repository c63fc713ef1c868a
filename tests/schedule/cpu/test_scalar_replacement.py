"""Elements that iterations hand on stay in registers: the same operations in the same order, nothing else touched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.analysis.polyhedral.model import build_model
from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import run
from loopdiff.ir.verify import verify
from loopdiff.pipeline.cpu import arrange_loops
from loopdiff.schedule.cpu.planner import plan
from loopdiff.schedule.cpu.scalar_replacement import hold_in_registers
from tests.gradients.interpreted import normal_form

pytestmark = pytest.mark.part(2)


def forwards(n, x, y):
    for i in range(1, n):
        x[i] = 0.5 * x[i - 1] + y[i]


def backwards(n, x, y):
    for i in range(n - 2, -1, -1):
        x[i] += 0.5 * x[i + 1]


def spread(n, x, y):
    for i in range(1, n - 1):
        b = x[i] / 3.0
        x[i - 1] += b
        x[i] = b
        x[i + 1] += b


def spread_downwards(n, x, y):
    for i in range(n - 2, 0, -1):
        b = x[i] / 3.0
        x[i - 1] += b
        x[i] = b + y[i]
        x[i + 1] -= b


def in_rows(n, x, y):
    for k in range(1, 3):
        for i in range(1, n):
            y[k, i] = y[k, i - 1] * 0.5 + y[k - 1, i]
            y[k - 1, i] += y[k, i]


def sometimes(n, x, y):
    for i in range(1, n):
        x[i] = x[i - 1] + y[i]
        if y[i] > 1.0:
            x[i] = 0.0


def twice(n, x, y):
    for i in range(n):
        x[i] += y[i]
        y[i] = np.sqrt(abs(x[i]))
        x[i] *= y[i]


def scanned(n, x, y):
    for i in range(2, n):
        x[i] = x[i - 1] + x[i - 2] * 0.25


def far(n, x, y):
    for i in range(n - 5):
        x[i + 5] = x[i] + x[i + 1] + x[i + 2] + x[i + 3] + x[i + 4]


def with_holes(n, x, y):
    for i in range(1, n - 1):
        x[i + 1] += x[i - 1] * 0.5


def guarded(n, x, y):
    for i in range(n):
        if i > 0:
            x[i] = x[i - 1] * 0.5 + y[i]
        else:
            x[i] = 1.0


def chosen(n, x, y):
    for i in range(n):
        x[i] = x[i - 1] + 1.0 if i > 0 else 1.0


def other_rows(n, x, y):
    for k in range(2):
        for m in range(2):
            for i in range(1, n):
                y[k, i] = y[m, i - 1] + 0.5 * y[k, i - 1]


def looked_up(n, x, y):
    for i in range(1, n):
        x[i] = x[i - 1] + x[int(abs(y[i])) % i]


def stretched(n, x, y):
    for i in range(1, n // 2):
        x[2 * i] = x[2 * i - 2] + x[2 * i - 1]


def left_early(n, x, y):
    for i in range(1, n):
        x[i] = x[i - 1] + y[i]
        if x[i] > 2.0:
            break


def perhaps_refused(n, x, y):
    for i in range(1, n):
        x[i] = x[i - 1] + y[min(int(x[i - 1] * x[i - 1]), n - 1)]


HELD = (forwards, backwards, spread, spread_downwards, in_rows, sometimes, scanned)
LEFT = (far, with_holes, guarded, chosen, other_rows, looked_up, stretched, left_early, perhaps_refused)
TABLES = (in_rows, other_rows)


def arguments(function: Callable[..., Any], n: int) -> dict[str, Any]:
    r = np.random.default_rng(n)
    table = function in TABLES
    return {"n": n, "x": r.standard_normal(n), "y": r.standard_normal((3, n) if table else n)}


def held(function: Callable[..., Any]) -> tuple[ir.LoopSet, ir.LoopSet]:
    ls = arrange_loops(normal_form(function, arguments(function, 8)), fastmath=False)
    return ls, hold_in_registers(ls, plan(build_model(ls), may_reassociate=False))


@pytest.mark.parametrize("function", HELD)
def test_elements_are_held(function: Callable[..., Any]) -> None:
    ls, found = held(function)
    verify(found, "held")
    assert len(found.arrays) > len(ls.arrays)


@pytest.mark.parametrize("function", LEFT)
def test_elements_that_others_may_be_or_that_may_not_be_there_are_not(function: Callable[..., Any]) -> None:
    ls, found = held(function)
    assert found is ls


@pytest.mark.part(3)
@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 11])
@pytest.mark.parametrize("function", [*HELD, *LEFT, twice])
def test_values_are_the_same_bits(function: Callable[..., Any], n: int) -> None:
    expected, found = arguments(function, n), arguments(function, n)
    function(**expected)
    run(held(function)[1], found)
    for name in ("x", "y"):
        np.testing.assert_array_equal(found[name], expected[name])


@pytest.mark.part(5)
@pytest.mark.parametrize("n", [0, 1, 2, 3, 11])
@pytest.mark.parametrize("function", [*HELD, *LEFT, twice])
def test_compiled_values_are_those_of_python(function: Callable[..., Any], n: int) -> None:
    expected, found = arguments(function, n), arguments(function, n)
    function(**expected)
    vectorize_grad(function, wrt=("x",))(**found)
    for name in ("x", "y"):
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-13, atol=1e-13)


def test_a_row_is_stored_once_in_each_iteration() -> None:
    """Of three additions to neighbours one store remains, and those after the last iteration."""
    lines = vectorize_grad(spread, wrt=("x",)).compile(**arguments(spread, 8)).source("primal").splitlines()
    loop = next(k for k, s in enumerate(lines) if s.strip().startswith("for i "))
    stores = [k for k, s in enumerate(lines) if s.strip().startswith("x[")]
    depth = len(lines[loop]) - len(lines[loop].lstrip())
    inside = [k for k in stores if len(lines[k]) - len(lines[k].lstrip()) > depth]
    assert (len(inside), len(stores)) == (1, 3)


def many_rows(x, y):
    for r in range(x.shape[0]):
        for i in range(1, x.shape[1] - 1):
            b = x[r, i] / 3.0
            x[r, i - 1] += b
            x[r, i] = b
            x[r, i + 1] += b * y[r, i]


def limited_columns(x, y):
    row = np.empty(x.shape[1], x.dtype)
    for r in range(x.shape[0]):
        row[0] = x[r, 0]
        for i in range(1, x.shape[1]):
            row[i] = 0.5 * row[i - 1] + x[r, i]
            if row[i] > 0.7:
                row[i] = row[i] - y[r, i]
        for i in range(x.shape[1] - 2, -1, -1):
            row[i] += 0.5 * row[i + 1]
            y[r, i] += row[i] * row[i + 1]


@pytest.mark.parametrize("is_parallel", [False, True])
@pytest.mark.parametrize("function", [many_rows, limited_columns])
def test_rows_in_chunks_and_in_lanes(function: Callable[..., Any], is_parallel: bool) -> None:
    """Conditional writes among them; so many rows that threads share them."""
    r = np.random.default_rng(4)
    args = {"x": r.random((203, 67)), "y": r.random((203, 67))}
    expected, mine = ({k: v.copy() for k, v in args.items()} for _ in range(2))
    function(**expected)
    f = vectorize_grad(function, wrt=("x", "y"), parallel=is_parallel)
    _, pullback = f.vjp(**mine)
    for name in args:
        np.testing.assert_allclose(mine[name], expected[name], rtol=1e-12, atol=1e-14)
    written = [k for k in args if not np.array_equal(args[k], expected[k])]
    bar = {k: r.standard_normal(args[k].shape) for k in written}
    found = pullback(**{k: v.copy() for k, v in bar.items()})
    way = {k: r.standard_normal(v.shape) for k, v in args.items()}
    shifted = {k: v + 1e-30j * way[k] for k, v in args.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np, "empty", lambda shape, dtype: np.zeros(shape, complex))
        function(**shifted)
    along = sum(float(np.sum(bar[k] * shifted[k].imag)) for k in written) / 1e-30
    pulled = sum(float(np.sum(getattr(found, k) * way[k])) for k in args)
    np.testing.assert_allclose(pulled, along, rtol=1e-9)
