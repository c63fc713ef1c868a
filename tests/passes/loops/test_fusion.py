"""Neighbouring nests row by row: the same values, only where the dependences allow it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from loopdiff.ir import nodes as ir
from loopdiff.ir.build import integer, sub
from loopdiff.ir.interpret import run
from loopdiff.ir.verify import verify
from loopdiff.ir.walk import statements
from loopdiff.passes.loops.fusion import fuse
from loopdiff.pipeline import code
from loopdiff.pipeline.stages import Stages
from loopdiff.settings.options import Options
from loopdiff.settings.requests import Request, Requests
from tests.corpus import BY_NAME
from tests.gradients.interpreted import lowered, normal_form

Arrays = dict[str, np.ndarray]


def arrays(*names: str, rows: int = 11) -> Arrays:
    rng = np.random.default_rng(0)
    return {n: rng.random((rows, 5)) for n in names}


def fused(function: Callable[..., Any], args: Arrays) -> tuple[int, Arrays]:
    """How many loops the function has left at its outermost level, and what the fused program makes of `args`."""
    ls = normal_form(function, args)
    found = fuse(ls)
    verify(found, "fused")
    mine = {k: v.copy() for k, v in args.items()}
    run(found, mine)
    return sum(isinstance(s, ir.Loop) for s in found.body), mine


def check(function: Callable[..., Any], args: Arrays, loops: int) -> None:
    count, mine = fused(function, args)
    function(**args)
    assert count == loops
    for name, value in args.items():
        np.testing.assert_array_equal(mine[name], value, err_msg=name)


def shifted(read: int, write: int, low: int, high: int) -> Callable[..., Any]:
    def program(a, b):
        N, M = a.shape
        for i in range(4, N - 4):
            for j in range(M):
                b[i, j] = 0.5 * a[i + read, j]
        for i in range(low, N - high):
            for j in range(M):
                a[i + write, j] = b[i, j] + 1.0

    return program


@pytest.mark.part(3)
@pytest.mark.parametrize(("read", "write"), list(product(range(-3, 4), range(-3, 4))))
def test_shifted_reads_and_writes(read: int, write: int) -> None:
    """Row i + write is read in iteration i + write - read, which must not come later: at most two rows behind."""
    is_fused = write - read <= 2
    for low, high in ((4, 4), (3, 5), (5, 3)):
        check(shifted(read, write, low, high), arrays("a", "b", rows=14), loops=1 if is_fused else 2)


def chain(a, b, c):
    N, M = a.shape
    for i in range(N):
        for j in range(M):
            b[i, j] = 2.0 * a[i, j]
    for i in range(N - 1):
        for j in range(M):
            c[i, j] = b[i + 1, j] - b[i, j]
    for i in range(1, N - 1):
        for j in range(M):
            a[i, j] = c[i, j] - c[i - 1, j]


def transposed(a, b):
    N = a.shape[1]
    for i in range(N):
        for j in range(N):
            b[i, j] = 2.0 * a[i, j]
    for i in range(N):
        for j in range(N):
            a[i, j] = b[j, i]


def strangers(a, b):
    N, M = a.shape
    for i in range(N):
        for j in range(M):
            a[i, j] *= 2.0
    for i in range(N):
        for j in range(M):
            b[i, j] *= 2.0


def sums(a, b):
    N, M = a.shape
    for i in range(N):
        for j in range(M):
            b[0, j] += a[i, j]
    for i in range(N):
        for j in range(M):
            b[0, j] += 2.0 * a[i, j]


def sum_then_use(a, b):
    N, M = a.shape
    for i in range(N):
        for j in range(M):
            b[0, j] += a[i, j]
    for i in range(N):
        for j in range(M):
            a[i, j] -= b[0, j]


@pytest.mark.parametrize("rows", [0, 1, 2, 5])
@pytest.mark.parametrize(
    ("function", "names", "loops"),
    [(chain, "abc", 1), (strangers, "ab", 2), (sums, "ab", 2), (sum_then_use, "ab", 2), (transposed, "ab", 2)],
)
def test_programs(function: Callable[..., Any], names: str, loops: int, rows: int) -> None:
    if function in (sums, sum_then_use, transposed) and rows < 5:
        return
    check(function, arrays(*names, rows=rows), loops)


def deep(back: int, behind: int) -> Callable[..., Any]:
    """Rows of planes: the second plane needs row `back` of the first, the third row `behind` of the second."""

    def program(a, b, c):
        N, M, K = a.shape
        for i in range(N):
            for j in range(M):
                for k in range(K):
                    b[i, j, k] = 2.0 * a[i, j, k]
        for i in range(1, N - 1):
            for j in range(2, M - 2):
                for k in range(K):
                    c[i, j, k] = b[i + 1, j + back, k] - b[i - 1, j, k]
        for i in range(1, N - 2):
            for j in range(2, M - 2):
                for k in range(K):
                    a[i, j, k] = c[i, j + behind, k] * c[i + 1, j, k]

    return program


def depths(body: tuple[ir.Stmt, ...]) -> tuple[int, int]:
    """How many loops there are at the outermost level and right inside, conditions apart."""
    outer = [s for s in statements(body) if isinstance(s.stmt, ir.Loop) and not s.loops]
    return len(outer), sum(isinstance(s.stmt, ir.Loop) and len(s.loops) == 1 for s in statements(body))


@pytest.mark.part(3)
@pytest.mark.parametrize("shape", [(0, 5, 3), (1, 1, 1), (2, 9, 3), (3, 4, 2), (4, 3, 3), (7, 6, 3)])
@pytest.mark.parametrize(("back", "behind", "inside"), [(0, 0, 1), (2, 0, 1), (-2, 1, 1), (1, 2, 1), (0, -2, 1)])
def test_loops_of_fused_rows(back: int, behind: int, inside: int, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    args = {n: rng.random(shape) for n in "abc"}
    ls = normal_form(deep(back, behind), args)
    found = fuse(ls)
    verify(found, "fused")
    assert depths(ls.body) == (3, 3)
    assert depths(found.body) == (1, inside)
    mine = {k: v.copy() for k, v in args.items()}
    run(found, mine)
    deep(back, behind)(**args)
    for name, value in args.items():
        np.testing.assert_array_equal(mine[name], value, err_msg=name)


def side_by_side(a, b, c):
    """The second nest may run along with the first, but what it makes, and reads, is two rows further on there."""
    N, M = a.shape
    x = np.zeros((N, M))
    y = np.zeros((N, M))
    for i in range(N):
        for j in range(M):
            x[i, j] = 2.0 * a[i, j]
    for i in range(N - 2):
        for j in range(M):
            y[i, j] = 3.0 * a[i + 2, j]
    for i in range(N - 2):
        for j in range(M):
            b[i, j] = x[i + 2, j] + y[i, j] * c[i, j]


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 7])
def test_nests_wait_for_those_that_use_their_rows(rows: int) -> None:
    args = {n: np.random.default_rng(0).random((rows, 4)) for n in "abc"}
    ls = normal_form(side_by_side, args)
    found = fuse(ls)
    (loop,) = (s for s in found.body if isinstance(s, ir.Loop))
    index = ir.Index(loop.index)
    writes = {s.stmt.target for s in statements(loop.body) if isinstance(s.stmt, ir.Assign)}
    behind = {w.array: w.subscripts[0] for w in writes}
    assert behind == {"x": index, "y": sub(index, integer(2)), "b": sub(index, integer(2))}
    mine = {k: v.copy() for k, v in args.items()}
    run(found, mine)
    side_by_side(**args)
    for name, value in args.items():
        np.testing.assert_array_equal(mine[name], value, err_msg=name)


def against_the_rows(a, b):
    """Planes may follow one behind the other, rows may not: row `M - 1 - j` is written last."""
    N, M, K = a.shape
    for i in range(N):
        for j in range(M):
            for k in range(K):
                b[i, j, k] = 2.0 * a[i, j, k]
    for i in range(N):
        for j in range(M):
            for k in range(K):
                a[i, j, k] = b[i, M - 1 - j, k]


def test_loops_of_fused_rows_that_stay_apart() -> None:
    args = {n: np.random.default_rng(0).random((3, 4, 2)) for n in "ab"}
    found = fuse(normal_form(against_the_rows, args))
    assert depths(found.body) == (1, 2)
    mine = {k: v.copy() for k, v in args.items()}
    run(found, mine)
    against_the_rows(**args)
    for name, value in args.items():
        np.testing.assert_array_equal(mine[name], value, err_msg=name)


@pytest.mark.parametrize("name", ["fdtd_2d", "hdiff", "jacobi_2d"])
def test_stencils_of_the_suite(name: str) -> None:
    entry = BY_NAME[name]
    ls = lowered(entry)
    found = fuse(ls)
    verify(found, "fused")
    assert found != ls
    plain, mine = entry.args(0), entry.args(0)
    run(ls, plain)
    run(found, mine)
    for key, value in plain.items():
        np.testing.assert_array_equal(mine[key], value, err_msg=key)


def test_compiled_functions_are_fused_but_where_schedules_are_asked_for() -> None:
    ls = lowered(BY_NAME["hdiff"])
    asked = Requests((Request("primal", "i", 0, "scalar"),))
    found = {
        name: code.arrange_for_target(ls, options, requests, Stages("hdiff"))
        for name, options, requests in (
            ("plain", Options(), Requests()),
            ("parallel", Options(parallel=True), Requests()),
            ("asked", Options(), asked),
        )
    }
    counts = {name: sum(isinstance(s, ir.Loop) for s in (made.threads or made).ls.body) for name, made in found.items()}
    assert counts["plain"] == counts["parallel"] < counts["asked"] == sum(isinstance(s, ir.Loop) for s in ls.body)
