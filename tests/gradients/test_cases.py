"""Hard cases with known values: contractions, stencils, recurrences, products of zeros, scatters and ties."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from tests.corpus import triangular
from tests.gradients.harness import decorated

pytestmark = pytest.mark.part(2)


def rel(got: Any, expected: Any) -> float:
    """Largest difference relative to the largest expected entry."""
    expected = np.asarray(expected, float)
    return float(
        np.max(np.abs(np.asarray(got, float) - expected), initial=0.0) / np.max(np.abs(expected), initial=1e-300)
    )


# -- case 1: the headline ---------------------------------------------------------------------------
def matrices(M: int = 72, K: int = 72, N: int = 72, dtype: Any = np.float64) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    A, B = rng.random((M, K)), rng.random((K, N))
    return A.astype(dtype), B.astype(dtype), np.zeros((M, N), dtype)


def closed_form(A: np.ndarray, B: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    A, B = A.astype(np.float64), B.astype(np.float64)
    C = A @ B
    t = -2.5 * np.log1p(0.25 * (C - 18.0) ** 2).sum()
    C_adj = -1.25 * (C - 18.0) / (1.0 + 0.25 * (C - 18.0) ** 2)
    return t, C_adj @ B.T, A.T @ C_adj


def check_headline(A: np.ndarray, B: np.ndarray, C: np.ndarray, rtol: float) -> None:
    expected, A_adj, B_adj = closed_form(A, B)
    value, g = decorated("matmul_loss").value_and_grad(A, B, C)
    assert abs(value - expected) <= rtol * abs(expected)
    assert rel(C, A.astype(float) @ B.astype(float)) <= rtol
    assert (g.A.dtype, g.B.dtype) == (A.dtype, B.dtype)
    assert (g.A.shape, g.B.shape) == (A.shape, B.shape)
    assert rel(g.A, A_adj) <= rtol
    assert rel(g.B, B_adj) <= rtol


class TestHeadline:
    def test_value_and_gradients(self) -> None:
        A, B, C = matrices()
        value, g = decorated("matmul_loss").value_and_grad(A, B, C)
        assert value == pytest.approx(-6373.769582256972, rel=1e-13)
        assert g.A.sum() == pytest.approx(883.7108686, rel=1e-8)
        assert np.linalg.norm(g.A) == pytest.approx(1534.0329346, rel=1e-9)
        assert g.B.sum() == pytest.approx(-94.1431850, rel=1e-7)
        assert np.linalg.norm(g.B) == pytest.approx(1451.2072606, rel=1e-9)
        check_headline(A, B, C, 1e-12)

    @pytest.mark.parametrize("shape", [(71, 73, 67), (1, 1, 1), (2, 9, 3), (17, 5, 8)])
    def test_other_shapes(self, shape: tuple[int, int, int]) -> None:
        check_headline(*matrices(*shape), 1e-12)

    @pytest.mark.parametrize("shape", [(0, 3, 4), (3, 4, 0), (0, 0, 0)])
    def test_no_elements(self, shape: tuple[int, int, int]) -> None:
        A, B, C = matrices(*shape)
        value, g = decorated("matmul_loss").value_and_grad(A, B, C)
        assert value == 0.0
        assert (g.A.shape, g.B.shape) == (A.shape, B.shape)
        assert not g.A.any()
        assert not g.B.any()

    def test_zero_length_sums(self) -> None:
        A, B, C = matrices(3, 0, 4)
        value, g = decorated("matmul_loss").value_and_grad(A, B, C)
        assert value == pytest.approx(-2.5 * 12 * np.log1p(81.0), rel=1e-14)
        assert (g.A.shape, g.B.shape) == ((3, 0), (0, 4))

    def test_float32(self) -> None:
        check_headline(*matrices(dtype=np.float32), 1e-4)

    def test_transposed_views(self) -> None:
        A, B, C = matrices(71, 73, 67)
        check_headline(np.asfortranarray(A), B, C, 1e-12)
        check_headline(A, np.asfortranarray(B), np.asfortranarray(C), 1e-12)

    def test_strided_views(self) -> None:
        rng = np.random.default_rng(0)
        A, B = rng.random((72, 144))[::2, ::2], rng.random((72, 72))[::-1, :35]
        check_headline(A, B, np.zeros((40, 80))[:36, ::2][:, :35], 1e-12)

    def test_sweeps_allocate_nothing(self) -> None:
        from numba import njit
        from numba.core.runtime import _nrt_python
        from numba.core.runtime.nrt import rtsys

        A, B, C = matrices()
        k = decorated("matmul_loss").compile(A, B, C)
        forward, reverse, workspace = k.forward, k.reverse, k.workspace(A, B, C)
        assert k.signature("reverse")[-4:] == ("result_adj", "A_adj", "B_adj", "C_adj")
        buffers = (np.zeros_like(A), np.zeros_like(B), np.zeros_like(C))

        @njit
        def sweeps(A, B, C, workspace, buffers, times):
            for _ in range(times):
                forward(A, B, C, *workspace)
                reverse(A, B, C, *workspace, 1.0, *buffers)

        def counted(times: int) -> tuple[int, int]:
            """Numba's allocations and Python's bytes; each array passed to a dispatcher is wrapped once."""
            before = rtsys.get_allocation_stats()
            tracemalloc.start()
            try:
                sweeps(A, B, C, workspace, buffers, times)
                _, peak = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
            after = rtsys.get_allocation_stats()
            return after.alloc - before.alloc, peak

        @njit
        def allocate(n):
            return np.empty(n).shape[0]

        _nrt_python.memsys_enable_stats()
        before = rtsys.get_allocation_stats().alloc
        allocate(3)
        assert rtsys.get_allocation_stats().alloc == before + 1
        counted(0)
        assert counted(100) == counted(0)
        assert counted(1) == counted(0)
        assert rel(buffers[0], 101 * closed_form(A, B)[1]) <= 1e-12

    def test_what_is_kept(self) -> None:
        arrays = matrices()
        for tape, shapes in (("auto", []), ("recompute", []), ("store", [("A.shape[0]", "B.shape[1]")] * 2)):
            kept = decorated("matmul_loss", tape=tape).compile(*arrays).temporaries
            assert [t.shape for t in kept] == shapes
            assert [t.bytes for t in kept] == [72 * 72 * 8] * len(shapes)


# -- case 2: a squared Laplacian --------------------------------------------------------------------
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-12), (np.float32, 1e-4)])
def test_laplacian_energy(dtype: Any, rtol: float) -> None:
    r = np.random.default_rng(1).standard_normal((101, 97))
    lap = r[:-2, 1:-1] + r[2:, 1:-1] + r[1:-1, :-2] + r[1:-1, 2:] - 4 * r[1:-1, 1:-1]
    expected = np.zeros_like(r)
    for di, dj, w in ((0, 1, 1), (2, 1, 1), (1, 0, 1), (1, 2, 1), (1, 1, -4)):
        expected[di : di + 99, dj : dj + 95] += 2 * w * lap
    value, g = decorated("laplacian_energy").value_and_grad(r.astype(dtype))
    assert value == pytest.approx(185979.646712835, rel=rtol)
    assert rel(g.r, expected) <= rtol
    assert np.linalg.norm(expected) == pytest.approx(4989.2216715327, rel=1e-12)
    if dtype is np.float64:
        assert abs(g.r.sum()) <= 1e-9
        source = decorated("laplacian_energy").compile(r).source("reverse")
        assert "atomic" not in source


# -- case 3: triangular solves and factorisations ---------------------------------------------------
def test_forward_substitution() -> None:
    rng = np.random.default_rng(2)
    L = np.tril(rng.random((64, 64))) + 8 * np.eye(64)
    b, x_adj = rng.standard_normal(64), rng.standard_normal(64)
    x = b.copy()
    _, pullback = decorated("forward_substitution").vjp(L, x)
    assert x_adj @ x == pytest.approx(0.046863528790838, rel=1e-10)
    g = pullback(x=x_adj)
    b_adj = np.linalg.solve(L.T, x_adj)
    assert rel(g.x, b_adj) <= 1e-12
    assert np.linalg.norm(g.x) == pytest.approx(0.9143485582, rel=1e-9)
    assert rel(g.L, -np.tril(np.outer(b_adj, x))) <= 1e-12
    assert g.L.sum() == pytest.approx(-0.3489139840, rel=1e-9)
    assert np.linalg.norm(g.L) == pytest.approx(0.5378134178, rel=1e-9)
    assert not np.triu(g.L, 1).any()


def test_cholesky_against_linear_algebra() -> None:
    jax = pytest.importorskip("jax")
    rng = np.random.default_rng(2)
    M = rng.random((32, 32))
    A, w = M @ M.T / 32 + np.eye(32), np.tril(rng.standard_normal((32, 32)))
    entry = next(e for e in triangular.ENTRIES if e.name == "cholesky")
    factor = A.copy()
    _, pullback = decorated(entry.name).vjp(factor)
    g = pullback(A=w).A
    expected = np.asarray(jax.grad(lambda a: (jax.numpy.linalg.cholesky(a) * w).sum())(A))
    assert rel(np.tril(factor), np.linalg.cholesky(A)) <= 1e-13
    assert rel(symmetrised(g), symmetrised(expected)) <= 1e-10


def symmetrised(g: np.ndarray) -> np.ndarray:
    """The gradient as a function of the lower triangle of a symmetric matrix."""
    return np.tril(g + g.T - np.diag(np.diag(g)))


# -- case 4: products with zero factors -------------------------------------------------------------
def test_gathered_products_with_zeros() -> None:
    rng = np.random.default_rng(3)
    P, basis, co = rng.uniform(0.5, 1.5, (15, 21)), rng.integers(0, 21, (15, 1000)), rng.random(1000)
    P[0, 3] = P[1, 5] = 0.0
    zeros = (P[np.arange(15)[:, None], basis] == 0.0).sum(0)
    assert ((zeros == 1).sum(), (zeros == 2).sum()) == (99, 4)
    value, g = decorated("gathered_products").value_and_grad(co, P, basis)
    assert value == pytest.approx(524.2805346384, rel=1e-12)
    assert g.co.sum() == pytest.approx(1055.9210437, rel=1e-10)
    assert g.P.sum() == pytest.approx(7876.4913212, rel=1e-10)
    assert g.P[0, 3] == pytest.approx(31.5639608409, rel=1e-11)
    assert g.P[1, 5] == pytest.approx(28.1694303917, rel=1e-11)
    assert np.isfinite(g.P).all()
    assert np.isfinite(g.co).all()


# -- case 5: scatter and gather ---------------------------------------------------------------------
def scatter_inputs() -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(4)
    idx = rng.integers(0, 10, 1024)
    return idx, rng.standard_normal(1024), rng.standard_normal(10), rng.standard_normal(10)


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-11), (np.float32, 1e-4)])
def test_scatter_squares(dtype: Any, rtol: float) -> None:
    idx, x, w, _ = scatter_inputs()
    y = np.zeros(10, dtype)
    _, pullback = decorated("scatter_squares").vjp(idx, x.astype(dtype), y)
    g = pullback(y=w.astype(dtype))
    assert w @ y == pytest.approx(-561.2511610612, rel=rtol)
    assert np.linalg.norm(g.x) == pytest.approx(50.0611264846, rel=rtol)
    assert rel(g.x, 2 * x * w[idx]) <= rtol
    assert g._fields == ("x",)


def test_scatter_to_one_place() -> None:
    _, x, w, _ = scatter_inputs()
    idx, y, expected = np.full(1024, 3), np.zeros(10), np.zeros(10)
    np.add.at(expected, idx, x**2)
    _, pullback = decorated("scatter_squares").vjp(idx, x, y)
    assert rel(y, expected) <= 1e-13
    assert rel(pullback(y=w).x, 2 * x * w[3]) <= 1e-13


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-10), (np.float32, 1e-4)])
def test_gather_sines(dtype: Any, rtol: float) -> None:
    idx, x, _, tab = scatter_inputs()
    value, g = decorated("gather_sines").value_and_grad(idx, tab.astype(dtype), x.astype(dtype))
    assert value == pytest.approx((np.sin(tab[idx]) * x).sum(), rel=rtol)
    assert g.tab.sum() == pytest.approx(6.7910263781, rel=max(rtol, 1e-9))
    assert g.tab[0] == pytest.approx(-11.5990633420, rel=rtol)
    expected = np.zeros(10)
    np.add.at(expected, idx, np.cos(tab[idx]) * x)
    assert rel(g.tab, expected) <= rtol
    assert rel(g.x, np.sin(tab[idx])) <= rtol
    assert g._fields == ("tab", "x")


# -- case 6: ties -----------------------------------------------------------------------------------
class TestTies:
    def test_reductions_split_evenly(self) -> None:
        value, g = decorated("largest").value_and_grad(np.array([2.0, 2.0, 3.0, 3.0]))
        assert value == 3.0
        assert g.x.tolist() == [0.0, 0.0, 0.5, 0.5]
        value, g = decorated("smallest").value_and_grad(np.array([2.0, 2.0, 3.0, 3.0]))
        assert value == 2.0
        assert g.x.tolist() == [0.5, 0.5, 0.0, 0.0]

    def test_three_ties_in_a_long_reduction(self) -> None:
        x = np.zeros(100)
        x[[3, 40, 97]] = 1.0
        g = decorated("largest").grad(x).x
        assert np.flatnonzero(g).tolist() == [3, 40, 97]
        assert g.sum() == pytest.approx(1.0, abs=1e-15)

    @pytest.mark.parametrize("x", [(1.0, 1.0001), (1.0001, 1.0)])
    def test_near_ties_do_not_split(self, x: tuple[float, float]) -> None:
        x32 = np.array(x, np.float32)
        assert decorated("largest").grad(x32).x.tolist() == [float(v > 1.0) for v in x]

    @pytest.mark.parametrize("where", [((0, 0), (1, 2)), ((1, 2), (0, 0))])
    def test_near_ties_in_a_window(self, where: tuple[tuple[int, int], ...]) -> None:
        x, y = np.zeros((3, 3), np.float32), np.zeros((1, 1), np.float32)
        x[where[0]], x[where[1]] = 1.0, 1.0001
        _, pullback = decorated("max_pool").vjp(x, y)
        g = pullback(y=np.ones((1, 1), np.float32)).x
        assert np.argwhere(g).tolist() == [list(where[1])]
        assert (g.sum(), y[0, 0]) == (1.0, np.float32(1.0001))

    def test_elementwise(self) -> None:
        y = np.zeros((1, 2))
        _, pullback = decorated("elementwise_extremes").vjp(np.array([2.0]), np.array([2.0]), y)
        g = pullback(y=np.array([[1.0, 4.0]]))
        assert (g.a.tolist(), g.b.tolist()) == ([2.5], [2.5])

    def test_pooling_follows_its_branch(self) -> None:
        x, y = np.ones((10, 10)), np.zeros((4, 4))
        _, pullback = decorated("max_pool").vjp(x, y)
        g = pullback(y=np.ones((4, 4))).x
        expected = np.zeros((10, 10))
        expected[0:8:2, 0:8:2] = 1.0
        np.testing.assert_array_equal(g, expected)
        assert g.sum() == 16.0

    def test_leaky_relu_at_zero(self) -> None:
        x, y = np.array([0.0, 1.0, -1.0]), np.zeros(3)
        _, pullback = decorated("leaky_relu").vjp(x, 0.01, y)
        g = pullback(y=np.ones(3)).x
        assert 0.01 <= g[0] <= 1.0
        assert g[1:].tolist() == [1.0, 0.01]


# -- case 7: recurrences ----------------------------------------------------------------------------
def test_linear_recurrence() -> None:
    rng = np.random.default_rng(5)
    a, b = rng.uniform(-0.9, 0.9, 4097), rng.standard_normal(4097)
    value, g = decorated("linear_recurrence").value_and_grad(a, b)
    assert value == pytest.approx(5890.056691526, rel=1e-12)
    assert g.a.sum() == pytest.approx(42.8690455877, rel=1e-9)
    assert g.b.sum() == pytest.approx(276.7645075389, rel=1e-10)


def test_a_recurrence_keeps_its_order() -> None:
    text = decorated("linear_recurrence").explain(np.ones(9), np.ones(9))
    forward, reverse = text.split("\nreverse sweep")
    for part, name in ((forward, "s"), (reverse, "s_adj")):
        assert f"scalar: iterations of `i` depend on each other through `{name}`" in part.replace(
            "it runs backwards; ", ""
        )


@pytest.mark.parametrize("n", [0, 1])
def test_short_recurrences(n: int) -> None:
    a, b = np.full(n, 0.5), np.full(n, 3.0)
    value, g = decorated("linear_recurrence").value_and_grad(a, b)
    assert value == 9.0 * n
    assert (g.a.tolist(), g.b.tolist()) == ([0.0] * n, [6.0] * n)


def test_iterated_square() -> None:
    y = np.array([1.1])
    _, pullback = decorated("iterated_square").vjp(y)
    assert y[0] == pytest.approx(2.14358881, rel=1e-14)
    assert pullback(y=np.ones(1)).y[0] == pytest.approx(15.5897368, rel=1e-14)


# -- case 8: trip counts that are data ---------------------------------------------------------------
def test_newton_roots() -> None:
    x, y, trips = np.random.default_rng(6).uniform(0.1, 1000, 257), np.zeros(257), np.zeros(257, np.int64)
    _, pullback = decorated("newton_roots").vjp(x, y, trips)
    g = pullback(y=np.ones(257)).x
    assert (trips.min(), trips.max()) == (5, 9)
    assert y.sum() == pytest.approx(5564.816528705, rel=1e-12)
    assert g.sum() == pytest.approx(7.258375192852, rel=1e-12)
    np.testing.assert_allclose(g, 0.5 / np.sqrt(x), rtol=0, atol=2.5e-12)


def test_table_products() -> None:
    y = np.ones(4)
    _, pullback = decorated("table_products").vjp(np.array([2.0, 3.0, 4.0, 5.0]), np.zeros(4, np.int64), y)
    assert y.tolist() == [24.0] * 4
    assert pullback(y=np.ones(4)).t.tolist() == [48.0, 32.0, 24.0, 0.0]


def test_a_hundred_thousand_steps_within_64_megabytes() -> None:
    n, steps = 1024, 100_000
    start, r = np.linspace(0.1, 0.9, n), np.linspace(1e-5, 1e-4, n)
    f = decorated("slow_growth", tape="recompute")
    f.vjp(start.copy(), r, 1)
    tracemalloc.start()
    try:
        u = start.copy()
        _, pullback = f.vjp(u, r, steps)
        g = pullback(u=np.ones(n))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 16e6
    assert sum(t.bytes for t in f.compile(u, r, steps).temporaries) < 16e6
    some = slice(None, None, 341)
    v, rate, by_u, by_r = start[some].tolist(), r[some].tolist(), [1.0] * 4, [0.0] * 4
    for k in range(4):
        for _ in range(steps):
            slope = 1.0 + rate[k] * (1.0 - 2.0 * v[k])
            by_u[k] *= slope
            by_r[k] = by_r[k] * slope + v[k] * (1.0 - v[k])
            v[k] += rate[k] * v[k] * (1.0 - v[k])
    np.testing.assert_allclose(u[some], v, rtol=1e-11)
    np.testing.assert_allclose(g.u[some], by_u, rtol=1e-10)
    np.testing.assert_allclose(g.r[some], by_r, rtol=1e-10)


# -- conventions ------------------------------------------------------------------------------------
def guarded_root(x, y):
    for i in range(x.shape[0]):
        y[i, 0] = np.sqrt(x[i]) if x[i] > 0.0 else 0.0
        y[i, 1] = min(1.0, 1.0 / x[i]) if x[i] != 0.0 else 1.0
        y[i, 2] = abs(x[i])
        y[i, 3] = max(x[i], 0.0)


def test_strong_zero_and_kinks() -> None:
    f = vectorize_grad(wrt=("x",))(guarded_root)
    x, y = np.array([0.0, 4.0, -2.0]), np.zeros((3, 4))
    _, pullback = f.vjp(x, y)
    columns = []
    for k in range(4):
        seed = np.zeros((3, 4))
        seed[:, k] = 1.0
        columns.append(pullback(y=seed).x.tolist())
    assert columns == [[0.0, 0.25, 0.0], [0.0, -1 / 16, -1 / 4], [0.0, 1.0, -1.0], [0.5, 1.0, 0.0]]


def masked_loss(x, w):
    s = 0.0
    for i in range(x.shape[0]):
        s += w[i] * np.log(x[i]) * 0.0 + min(1.0, 1.0 / x[i])
    return s


def test_zero_times_infinity_contributes_nothing() -> None:
    g = vectorize_grad(wrt=("x",))(masked_loss).grad(np.array([1e-320, 0.5, 4.0]), np.zeros(3)).x
    assert np.isfinite(g).all()
    assert g[2] == pytest.approx(-1 / 16)
