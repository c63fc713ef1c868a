"""Sparse Jacobians: closed forms, the dense ones of the corpus, how many runs there are, patterns that follow data."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, diags_array

import loopdiff
from loopdiff import DifferentiationError, vectorize_grad
from loopdiff.ad.sparsity import build_sparsity
from loopdiff.calls import sparse_jacobian
from loopdiff.calls.sparse_jacobian import grouped
from loopdiff.ir.reader import read_loopset
from tests.api.programs import grow, halves_and_count, total
from tests.corpus import ENTRIES, Entry

pytestmark = pytest.mark.part(2)

# No complex arguments, and few enough numbers for a dense Jacobian.
CHOSEN = [e for e in ENTRIES[4::37] if 0 < sum(np.size(v) for v in e.args(3).values()) < 500]


@vectorize_grad(wrt=("u",))
def diffuse(u, rate, steps, out):
    n = u.shape[0]
    w = u.copy()
    for _ in range(steps):
        v = w.copy()
        for i in range(1, n - 1):
            w[i] = v[i] + rate * v[i] * (v[i - 1] - 2.0 * v[i] + v[i + 1])
    out[:] = w


@vectorize_grad
def rosenbrock(x):
    s = 0.0
    for i in range(x.shape[0] - 1):
        s += 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
    return s


@vectorize_grad(wrt=("x",))
def gathered(x, idx, y):
    for i in range(idx.shape[0]):
        y[i] = x[i] * x[idx[i]]


@vectorize_grad(wrt=("x",))
def chosen(x, y):
    for i in range(1, x.shape[0]):
        if x[i] > 0.0:
            y[i] = x[i] * x[0]
        else:
            y[i] = x[i] * x[i - 1]


@vectorize_grad
def blocks(a, b, y):
    """A solution of two equations for each row."""
    for k in range(a.shape[0]):
        d = a[k, 0, 0] * a[k, 1, 1] - a[k, 0, 1] * a[k, 1, 0]
        y[k, 0] = (a[k, 1, 1] * b[k, 0] - a[k, 0, 1] * b[k, 1]) / d
        y[k, 1] = (a[k, 0, 0] * b[k, 1] - a[k, 1, 0] * b[k, 0]) / d


def wave(x, y):
    for i in range(1, x.shape[0]):
        y[i] = math.sin(x[i]) * x[i - 1]


@loopdiff.rule(wave, active=("x", "y"), overwrites=("y",))
class WaveRule:
    def tangent(x, x_tan, y, y_tan):
        for i in range(1, x.shape[0]):
            y[i] = math.sin(x[i]) * x[i - 1]
            if y_tan is not None:
                y_tan[i] = 0.0
                if x_tan is not None:
                    y_tan[i] = math.cos(x[i]) * x[i - 1] * x_tan[i] + math.sin(x[i]) * x_tan[i - 1]

    def reverse(x, x_adj, y_adj):
        for i in range(1, x.shape[0]):
            if x_adj is not None:
                x_adj[i] += math.cos(x[i]) * x[i - 1] * y_adj[i]
                x_adj[i - 1] += math.sin(x[i]) * y_adj[i]
            y_adj[i] = 0.0


@vectorize_grad(wrt=("x",))
def ruled_rows(x, y):
    for k in range(x.shape[0]):
        wave(x[k], y[k])


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The modes of the runs that find values, one after the other."""
    found: list[str] = []
    for name in ("pushed", "pulled"):
        real = getattr(sparse_jacobian, name)
        monkeypatch.setattr(sparse_jacobian, name, lambda *a, n=name, r=real: found.append(n) or r(*a))
    return found


# -- closed forms ------------------------------------------------------------------------------------------------
def test_bands(runs: list[str]) -> None:
    n = 5000
    u, out = np.random.default_rng(1).uniform(0.5, 1.0, n), np.zeros(n)
    found = diffuse.jacobian(u, 0.1, 1, out, structure="sparse").out.u
    assert isinstance(found, csr_array)
    inner = np.zeros(n)
    inner[1:-1] = 1.0
    mid = np.ones(n)
    mid[1:-1] += 0.1 * (u[:-2] - 4.0 * u[1:-1] + u[2:])
    side = 0.1 * u * inner
    expected = diags_array([side[1:], mid, side[:-1]], offsets=[-1, 0, 1], shape=(n, n)).tocsr()
    expected.eliminate_zeros()
    assert found.nnz == expected.nnz == 3 * (n - 2) + 2
    assert abs(found - expected).max() < 1e-15
    assert runs == ["pushed"] * 3
    np.testing.assert_allclose(out[1:-1], u[1:-1] * (1 + 0.1 * (u[:-2] - 2 * u[1:-1] + u[2:])), rtol=1e-15)


def test_bands_grow_with_steps(runs: list[str]) -> None:
    n = 300
    found = diffuse.jacobian(np.linspace(0.5, 1.0, n), 0.1, 4, np.zeros(n), structure="sparse").out.u
    assert len(runs) == 9
    assert set(found[[150]].indices) == set(range(146, 155))


def test_hessian_of_rosenbrock(runs: list[str]) -> None:
    x = np.random.default_rng(2).uniform(-1.0, 1.0, 400)
    hessian = vectorize_grad(rosenbrock.grad).jacobian(x, structure="sparse").result.x.x
    diagonal = np.zeros(400)
    diagonal[:-1] += 1200.0 * x[:-1] ** 2 - 400.0 * x[1:] + 2.0
    diagonal[1:] += 200.0
    off = -400.0 * x[:-1]
    expected = diags_array([off, diagonal, off], offsets=[-1, 0, 1], shape=(400, 400))
    assert abs(hessian - expected).max() < 1e-10
    assert len(runs) == 3


def test_blocks(runs: list[str]) -> None:
    rng = np.random.default_rng(3)
    a, b, y = rng.uniform(-1.0, 1.0, (70, 2, 2)) + 3.0 * np.eye(2), rng.uniform(-1.0, 1.0, (70, 2)), np.zeros((70, 2))
    found = blocks.jacobian(a, b, y, structure="sparse").y
    inverse = np.linalg.inv(a)
    np.testing.assert_allclose(y, np.linalg.solve(a, b[..., None])[..., 0], rtol=1e-12)
    by_b, by_a = np.zeros((70, 2, 70, 2)), np.zeros((70, 2, 70, 2, 2))
    for k in range(70):
        by_b[k, :, k] = inverse[k]
        by_a[k, :, k] = -np.einsum("ri,j->rij", inverse[k], y[k])
    np.testing.assert_allclose(found.b.toarray(), by_b.reshape(140, 140), atol=1e-12)
    np.testing.assert_allclose(found.a.toarray(), by_a.reshape(140, 280), atol=1e-12)
    assert runs == ["pulled"] * 2  # two rows of each block, and six columns


# -- what depends on what, by data ---------------------------------------------------------------------------------
def test_subscripts_in_arrays(runs: list[str]) -> None:
    rng = np.random.default_rng(4)
    x = rng.uniform(1.0, 2.0, 200)
    for _ in range(2):
        idx = rng.permutation(200)
        found = gathered.jacobian(x, idx, np.zeros(200), structure="sparse").y.x
        expected = np.diag(x[idx])
        expected[np.arange(200), idx] += x
        np.testing.assert_array_equal(found.toarray(), expected)
    assert 4 <= len(runs) <= 8


def test_branches() -> None:
    for seed in range(3):
        x = np.random.default_rng(seed).uniform(-1.0, 1.0, 90)
        found = chosen.jacobian(x, np.zeros(90), structure="sparse").y.x
        dense = chosen.jacobian(x, np.zeros(90)).y.x
        np.testing.assert_array_equal(found.toarray(), dense)
        assert found.nnz == 2 * 89 == np.count_nonzero(dense)


def test_patterns_are_found_once_unless_numbers_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[int] = []
    real = sparse_jacobian.grouped
    monkeypatch.setattr(sparse_jacobian, "grouped", lambda *a: found.append(1) or real(*a))
    x = np.linspace(-1.0, 1.0, 30)
    for program, args in ((diffuse, (x, 0.1, 2)), (gathered, (x, np.arange(30))), (chosen, (x,))):
        program.jacobian(*args, np.zeros(30), structure="sparse")
        found.clear()
        program.jacobian(*args, np.zeros(30), structure="sparse")
        assert bool(found) == (program is chosen)
    diffuse.jacobian(x, 0.2, 2, np.zeros(30), structure="sparse")
    assert not found[2:]
    diffuse.jacobian(x, 0.1, 3, np.zeros(30), structure="sparse")
    assert found[2:]


def test_rules(runs: list[str]) -> None:
    x, y = np.random.default_rng(5).uniform(0.5, 1.0, (40, 3)), np.ones((40, 3))
    found, after = ruled_rows.jacobian(x, y, structure="sparse").y.x, np.ones((40, 3))
    dense = ruled_rows.jacobian(x, after).y.x
    np.testing.assert_allclose(found.toarray(), dense.reshape(120, 120), rtol=1e-15)
    np.testing.assert_array_equal(y, after)
    assert len(runs) == 3  # a row of `y` depends on its row of `x`, as far as anybody knows


# -- the same as dense ones ------------------------------------------------------------------------------------
def matrices(record: Any) -> Iterator[Any]:
    """The matrices of a record, one after the other."""
    if isinstance(record, tuple):
        for part in record:
            yield from matrices(part)
    elif record is not None:
        yield record


@pytest.mark.part(3)
@pytest.mark.parametrize("entry", CHOSEN, ids=lambda e: e.name)
def test_corpus(entry: Entry) -> None:
    f = vectorize_grad(wrt=entry.wrt)(entry.function)
    if any(np.iscomplexobj(v) for v in entry.args(3).values()):
        pytest.skip("complex numbers")
    args, others = entry.args(3), entry.args(3)
    dense, sparse = f.jacobian(*args.values()), f.jacobian(*others.values(), structure="sparse")
    for name, value in others.items():
        scale = np.abs(args[name]).max(initial=1.0)  # sums may be in another order
        np.testing.assert_allclose(value, args[name], rtol=1e-9, atol=1e-12 * scale, err_msg=name)
    pairs = list(zip(matrices(dense), matrices(sparse), strict=True))
    assert pairs
    for expected, found in pairs:
        assert found.dtype == expected.dtype
        scale = np.abs(expected).max(initial=1.0)
        np.testing.assert_allclose(found.toarray(), expected.reshape(found.shape), rtol=1e-9, atol=1e-12 * scale)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_results_of_all_kinds(dtype: type) -> None:
    y = np.array([1.0, 2.0, 0.5], dtype)
    np.testing.assert_array_equal(
        grow.jacobian(y.copy(), 2, structure="sparse").y.y.toarray(), grow.jacobian(y.copy(), 2).y.y
    )
    x = np.array([1.0, 3.0], dtype)
    for expected, found in zip(
        matrices(halves_and_count.jacobian(x, 1.5)),
        matrices(halves_and_count.jacobian(x, 1.5, structure="sparse")),
        strict=True,
    ):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found.toarray(), expected.reshape(found.shape))
    single = total.jacobian(np.array([3.0], dtype), structure="sparse").result.x
    assert (single.shape, single[0, 0]) == ((1, 1), 6.0)


def test_nothing_to_find() -> None:
    assert total.jacobian(np.zeros(0), structure="sparse").result.x.shape == (1, 0)
    empty = gathered.jacobian(np.zeros(0), np.zeros(0, np.int64), np.zeros(0), structure="sparse").y.x
    assert (empty.shape, empty.nnz) == ((0, 0), 0)
    kept = gathered.jacobian(np.ones(3), np.zeros(0, np.int64), np.ones(3), structure="sparse").y.x
    assert kept.nnz == 0


# -- parts -----------------------------------------------------------------------------------------------------
def test_groups_share_no_row() -> None:
    rng = np.random.default_rng(6)
    for _ in range(20):
        entries = rng.random((15, 12)) < 0.2
        rows, columns = np.nonzero(entries)
        groups = grouped(columns, rows, 12, 15)
        assert groups.max() + 1 >= entries.sum(1).max()
        for group in range(groups.max() + 1):
            assert (entries[:, groups == group].sum(1) <= 1).all()


def test_conditions_on_derivatives_are_refused() -> None:
    program = read_loopset("""\
loopset f(x, y)
    argument x: float64[:]
    argument y: float64[:]
for i in range(0, y.shape[0], 1):
    y[i] = x[i]
""")
    tangent = read_loopset("""\
loopset f_tangent(x, y, x_tan, y_tan)
    argument x: float64[:]
    argument y: float64[:]
    tangent x_tan: float64[:]
    tangent y_tan: float64[:]
for i in range(0, y.shape[0], 1):
    if x_tan[i] > 1.0:
        y_tan[i] = x_tan[i]
""")
    with pytest.raises(
        DifferentiationError, match="a branch depends on a derivative: what the outputs depend on is not known"
    ):
        build_sparsity(program, tangent)


def test_scipy_is_asked_for_only_where_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    assert total.jacobian(np.ones(2)).result.x.shape == (2,)
    with pytest.raises(DifferentiationError, match="LD408") as caught:
        total.jacobian(np.ones(2), structure="sparse")
    assert "a sparse Jacobian is made of SciPy's arrays, and SciPy is not installed" in str(caught.value)
    assert "`pip install scipy`" in str(caught.value)
