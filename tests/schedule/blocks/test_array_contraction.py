"""Arrays of which a few rows are kept: the same values, and only where no row is needed for longer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff.ad.reverse import build_sweeps
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import integer
from loopdiff.ir.interpret import run
from loopdiff.ir.ops import Op
from loopdiff.ir.verify import verify
from loopdiff.ir.walk import accesses, statements, subexprs
from loopdiff.passes.loops.fusion import fuse
from loopdiff.schedule.blocks.array_contraction import roll_rows
from tests.ad.interpreted import copied
from tests.corpus import BY_NAME
from tests.gradients.interpreted import lowered, normal_form, sweeps_of


def kept(ls: ir.LoopSet) -> dict[str, int]:
    """How many rows are kept of which arrays."""
    found = {}
    for access in (a for s in statements(ls.body) for a in accesses(s.stmt)):
        for e in subexprs(access.subscripts[0]) if access.subscripts else ():
            if isinstance(e, ir.Apply) and e.op is Op.MOD:
                found[access.array] = int(e.args[1].value)  # type: ignore[union-attr]
    return found


def chain(x, y):
    N, M = x.shape
    a = np.empty((N, M))
    b = np.empty((N, M))
    for i in range(N):
        for j in range(M):
            a[i, j] = 2.0 * x[i, j]
    for i in range(1, N - 1):
        for j in range(M):
            b[i, j] = a[i - 1, j] * a[i + 1, j]
    for i in range(1, N - 1):
        for j in range(M):
            y[i, j] += b[i, j] - a[i, j]


def chain_in_time(x, y):
    N, M = x.shape
    a = np.empty((N, M))
    for _ in range(3):
        for i in range(N):
            for j in range(M):
                a[i, j] = x[i, j] + y[i, j]
        for i in range(2, N):
            for j in range(M):
                y[i, j] = 0.5 * (a[i - 2, j] + a[i, j])


def kept_in_time(x, y):
    """The second step finds rows of the first."""
    N, M = x.shape
    a = np.zeros((N, M))
    for t in range(3):
        for i in range(N):
            for j in range(M):
                if t == 0:
                    a[i, j] = x[i, j]
                y[i, j] += a[i, j]


def last_row_again(x, y):
    N, M = x.shape
    a = np.empty((N, M))
    for i in range(N):
        for j in range(M):
            a[i, j] = 2.0 * x[i, j]
            y[i, j] += a[i, j]
    for j in range(M):
        y[0, j] += a[N - 1, j]


def turned_round(x, y):
    N, M = x.shape
    a = np.empty((N, M))
    for i in range(N):
        for j in range(M):
            a[i, j] = 2.0 * x[i, j]
    for i in range(N):
        for j in range(M):
            y[i, j] += a[N - 1 - i, j]


def product_of_rows(x, y):
    N, M = x.shape
    a = np.empty((N, M))
    b = np.empty((N, M))
    for i in range(N):
        for j in range(M):
            a[i, j] = np.sin(x[i, j])
            b[i, j] = x[i, j] * x[i, j]
    for i in range(1, N):
        for j in range(M):
            y[i, j] = (a[i, j] - a[i - 1, j]) * (b[i, j] - b[i - 1, j])


def returned(x, y):
    N, M = x.shape
    a = np.empty((N, M))
    for i in range(N):
        for j in range(M):
            a[i, j] = 2.0 * x[i, j]
            y[i, j] += a[i, j]
    return a


@pytest.mark.part(3)
@pytest.mark.parametrize("rows", [2, 3, 4, 5, 9])
@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (chain, {"a": 4}), (chain_in_time, {"a": 4}), (kept_in_time, {}), (last_row_again, {}),
        (turned_round, {}), (returned, {}),
    ],
)  # fmt: skip
def test_values(function: Callable[..., Any], expected: dict[str, int], rows: int) -> None:
    rng = np.random.default_rng(0)
    args = {n: rng.random((rows, 5)) for n in "xy"}
    rolled = roll_rows(fuse(normal_form(function, args)))
    verify(rolled, "rolled")
    assert kept(rolled) == expected
    rows_of_second = {a.subscripts[0] for s in statements(rolled.body) for a in accesses(s.stmt) if a.array == "b"}
    assert rows_of_second <= {integer(0)}
    mine = copied(args)
    run(rolled, mine)
    function(**args)
    for name, value in args.items():
        np.testing.assert_array_equal(mine[name], value, err_msg=name)


def planes(x, y):
    """Of `b`, which is used in the plane where it is made, two rows are enough; of `c` all are used."""
    N, M, K = x.shape
    b = np.empty((N, M, K))
    c = np.empty((N, M, K))
    for i in range(N):
        for j in range(M):
            for k in range(K):
                b[i, j, k] = 2.0 * x[i, j, k]
    for i in range(N):
        for j in range(M):
            for k in range(K):
                c[i, j, k] = 3.0 * x[i, j, k]
    for i in range(N):
        for j in range(1, M):
            for k in range(K):
                y[i, j, k] += b[i, j, k] - b[i, j - 1, k] + c[i, 0, k]


@pytest.mark.parametrize("shape", [(0, 2, 2), (3, 1, 2), (2, 6, 3)])
def test_rows_of_a_row(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    args = {n: rng.random(shape) for n in "xy"}
    rolled = roll_rows(fuse(normal_form(planes, args)))
    verify(rolled, "rolled")
    found = {(a.array, *a.subscripts[:1]) for s in statements(rolled.body) for a in accesses(s.stmt) if a.array in "bc"}
    assert found == {("b", integer(0)), ("c", integer(0))}
    rows = {a.array: a.subscripts[1] for s in statements(rolled.body) for a in accesses(s.stmt) if a.array in "bc"}
    assert isinstance(rows["b"], ir.Apply)
    assert rows["b"].op is Op.MOD
    assert rows["b"].args[1] == integer(2)
    assert rows["c"] == integer(0)
    mine = copied(args)
    run(rolled, mine)
    planes(**args)
    for name, value in args.items():
        np.testing.assert_array_equal(mine[name], value, err_msg=name)


@pytest.mark.parametrize(("name", "arrays"), [("hdiff", {"lap", "flx"}), ("uneven_stencils", {"flux"})])
def test_stencils(name: str, arrays: set[str]) -> None:
    entry = BY_NAME[name]
    ls = lowered(entry)
    rolled = roll_rows(fuse(ls))
    verify(rolled, "rolled")
    assert set(kept(rolled)) == arrays
    plain, mine = entry.args(0), entry.args(0)
    run(ls, plain)
    run(rolled, mine)
    for key, value in plain.items():
        np.testing.assert_array_equal(mine[key], value, err_msg=key)


def test_what_the_reverse_sweep_reads_stays() -> None:
    """Of the factors of a product it reads both; the sum of fluxes is kept in their place."""
    sweeps = build_sweeps(normal_form(product_of_rows, {n: np.ones((5, 4)) for n in "xy"}), ("x",), "auto")
    assert not kept(roll_rows(fuse(sweeps.forward), sweeps.reverse))
    assert set(kept(roll_rows(fuse(sweeps.forward)))) == {"a", "b"}
    sweeps = sweeps_of("hdiff")
    assert set(kept(roll_rows(fuse(sweeps.forward), sweeps.reverse))) == {"lap", "flx"}
