"""The cases that the systems loopdiff descends from set for their libraries, at full size, with the memory that they
take: convolution, a small network, hash grids, masked attention and infinite scores.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.kernels import encodings, networks, nn

pytestmark = pytest.mark.part(5)
MEGABYTE = 1 << 20
SAMPLES = 65_536
SIDES = np.floor(16 * 1.5 ** np.arange(8)).astype(np.int64)
PRIMES = (1, 2654435761, 805459861)
STATUS = Path("/proc/self/status")
on_linux = pytest.mark.skipif(not STATUS.exists(), reason="the system does not say how much memory there was at most")


def memory_of(call: Callable[[], Any]) -> tuple[float, Any]:
    """Bytes beyond those before it that the process had at most during a call, and what it gave."""

    def said(name: str) -> int:
        found = re.search(rf"{name}:\s+(\d+) kB", STATUS.read_text(encoding="utf-8"))
        assert found is not None
        return 1024 * int(found[1])

    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # forget the most there was so far
    before = said("VmRSS")
    value = call()
    return said("VmHWM") - before, value


def near(found: Any, expected: Any, rtol: float) -> None:
    expected = np.asarray(expected, np.float64)
    np.testing.assert_allclose(np.asarray(found, np.float64), expected, rtol=rtol, atol=rtol * abs(expected).max())


# -- case 9: convolution -------------------------------------------------------------------------------------
OPTIONS = {"groups": 2, "stride": (2, 1), "padding": ((1, 2), (0, 1)), "dilation": (2, 1)}


def test_both_adjoints_of_a_convolution() -> None:
    rng = np.random.default_rng(7)
    X, W = rng.standard_normal((3, 4, 13, 11)), rng.standard_normal((6, 2, 3, 3))
    dY = rng.standard_normal((3, 6, 6, 10))
    value, pullback = nn.conv2d.of(**OPTIONS).vjp(X, W)
    data, filters = pullback(dY)
    for product in (np.vdot(value, dY), np.vdot(data, X), np.vdot(filters, W)):
        assert product == pytest.approx(82.1704697160, abs=1e-8)
    assert np.linalg.norm(data) == pytest.approx(135.5760616134, abs=1e-8)
    assert np.linalg.norm(filters) == pytest.approx(119.1936120166, abs=1e-8)
    flipped, pullback = nn.conv2d.of(**OPTIONS, flip=True).vjp(X, W[:, :, ::-1, ::-1].copy())
    np.testing.assert_allclose(flipped, value, rtol=1e-12, atol=1e-13)
    assert np.linalg.norm(pullback(dY).w) == pytest.approx(119.1936120166, abs=1e-8)


@on_linux
def test_windows_of_images_are_never_in_memory() -> None:
    """260 x 260 x 3 x 100 numbers, filters 5 x 5 x 3 x 6: the windows would be 2 GB."""
    rng = np.random.default_rng(7)
    f, small = nn.conv2d.of(), rng.standard_normal((3, 3, 40, 40)).astype(np.float32)
    w = rng.standard_normal((6, 3, 5, 5)).astype(np.float32)
    f(small, w)
    images = rng.standard_normal((100, 3, 260, 260)).astype(np.float32)
    taken, y = memory_of(lambda: f(images, w))
    assert y.shape == (100, 6, 256, 256)
    assert taken - y.nbytes < MEGABYTE
    picked = rng.integers(0, (100, 6, 256, 256), (50, 4))
    near([y[n, k, p, q] for n, k, p, q in picked],
         [(images[n, :, p : p + 5, q : q + 5].astype(float) * w[k]).sum() for n, k, p, q in picked], 1e-4)  # fmt: skip


# -- case 10: a small network --------------------------------------------------------------------------------
def leaky(x):
    return x if x > 0.0 else 0.01 * x


@vectorize_grad(wrt="layers")
def network_loss(x, layers, targets):
    found = networks.mlp(networks.triangle_encoding(x, octaves=16, shift=0.2), layers, activation=leaky, last=np.exp)
    return ((found - targets) ** 2).mean()


@vectorize_grad
def rendered(x, layers):
    y = np.empty((x.shape[0], 3), dtype=x.dtype)
    for n in range(x.shape[0]):
        row = networks.triangle_encoding(x[n : n + 1], octaves=16, shift=0.2)
        y[n] = networks.mlp(row, layers, activation=leaky, last=np.exp)[0]
    return y


@vectorize_grad(wrt="layers")
def loss_by_row(x, layers, targets):
    total = 0.0
    for n in range(x.shape[0]):
        row = networks.triangle_encoding(x[n : n + 1], octaves=16, shift=0.2)
        y = networks.mlp(row, layers, activation=leaky, last=np.exp)
        for k in range(3):
            total += (y[0, k] - targets[n, k]) ** 2
    return total / (3.0 * x.shape[0])


def network(dtype: Any) -> tuple[Any, ...]:
    rng, widths = np.random.default_rng(10), (64, 64, 64, 64, 3)
    layers = tuple((rng.normal(size=(k, d)) / np.sqrt(d), 0.1 * rng.normal(size=k)) for d, k in pairwise(widths))
    x, targets = rng.uniform(size=(SAMPLES, 2)), rng.uniform(size=(SAMPLES, 3))
    return (
        x.astype(np.float32),
        tuple((w.astype(dtype), b.astype(dtype)) for w, b in layers),
        targets.astype(np.float32),
    )


def states_of(x: Any, layers: Any) -> list[Any]:
    """What is behind the encoding and each layer, in float64."""
    turns = x.astype(float)[:, :, None] * 2.0 ** np.arange(16) + 0.2 * np.arange(16)
    waves = np.stack([turns - 0.25, turns], axis=-1)
    h = (4.0 * np.abs(waves - np.floor(waves) - 0.5) - 1.0).reshape(len(x), -1)
    out = [h]
    for k, (w, b) in enumerate(layers):
        z = h @ w.astype(float).T + b.astype(float)
        h = np.exp(z) if k == len(layers) - 1 else np.where(z > 0, z, 0.01 * z)
        out.append(h)
    return out


def slopes_of(states: Any, layers: Any, targets: Any) -> list[Any]:
    """Gradients of the mean of squares as sums of outer products, in float64."""
    adjoint = 2.0 * (states[-1] - targets) / targets.size
    out: list[Any] = []
    for k in reversed(range(len(layers))):
        h = states[k + 1]
        adjoint = adjoint * (h if k == len(layers) - 1 else np.where(h > 0, 1.0, 0.01))
        out.insert(0, (adjoint.T @ states[k], adjoint.sum(axis=0)))
        adjoint = adjoint @ layers[k][0].astype(float)
    return out


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float32, 1e-4), (np.float16, 1e-2)])
def test_gradients_of_a_network_are_sums_of_outer_products(dtype: Any, rtol: float) -> None:
    x, layers, targets = network(dtype)
    value, gradients = network_loss.value_and_grad(x, layers, targets)
    states = states_of(x, layers)
    assert value == pytest.approx(((states[-1] - targets) ** 2).mean(), rel=rtol)
    for mine, its in zip(gradients.layers, slopes_of(states, layers, targets), strict=True):
        for got, want in zip(mine, its, strict=True):  # which cancel: of waves the sum is a hundredth of what is summed
            assert np.linalg.norm(got - want) < 3.0 * rtol * np.linalg.norm(want)
    again = network_loss.grad(x, layers, targets)
    for mine, its in zip(gradients.layers, again.layers, strict=True):
        assert all(a.tobytes() == b.tobytes() for a, b in zip(mine, its, strict=True))


def test_a_network_row_by_row_keeps_no_more_than_its_states() -> None:
    """Four numbers for each of the states, and what is chosen by: the weights are read again for each row."""
    x, layers, targets = (a[:512] if isinstance(a, np.ndarray) else a for a in network(np.float32))
    value, gradients = loss_by_row.value_and_grad(x, layers, targets)
    kept = sum(t.bytes for t in loss_by_row.compile(x, layers, targets).temporaries)
    assert kept < 5 * 64 * 4 * len(x)
    states = states_of(x, layers)
    assert value == pytest.approx(((states[-1] - targets) ** 2).mean(), rel=1e-4)
    for mine, its in zip(gradients.layers, slopes_of(states, layers, targets), strict=True):
        for got, want in zip(mine, its, strict=True):
            assert np.linalg.norm(got - want) < 3e-4 * np.linalg.norm(want)


@on_linux
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float32, 1e-4), (np.float16, 1e-2)])
def test_no_array_of_samples_by_width_is_made(dtype: Any, rtol: float) -> None:
    """Of 65,536 samples 16 MB; the encoding included."""
    x, layers, _ = network(dtype)
    rendered(x[:512].copy(), layers)
    taken, y = memory_of(lambda: rendered(x, layers))
    assert taken - y.nbytes < 5 * MEGABYTE
    near(y, states_of(x, layers)[-1], rtol)


def test_packing_is_undone_by_unpacking_and_so_are_derivatives() -> None:
    _, layers, _ = network(np.float32)
    buffer, pullback = networks.pack.of().vjp(layers)
    seed = np.random.default_rng(0).normal(size=buffer.shape).astype(np.float32)
    for got, want in zip(networks.unpack(buffer, (64, 64, 64, 64, 3)), layers, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(got, want, strict=True))
    (found,) = pullback(seed)
    for got, want in zip(found, networks.unpack(seed, (64, 64, 64, 64, 3)), strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(got, want, strict=True))


# -- case 11: hash grids -------------------------------------------------------------------------------------
GRIDS = {2: encodings.hash_grid2d, 3: encodings.hash_grid3d}


@pytest.mark.parametrize("D", GRIDS)
def test_tables_get_what_all_samples_give(D: int) -> None:
    """Of each level the derivatives have the sum of the seeds: the weights of a place add up to one."""
    rng = np.random.default_rng(11)
    points, tables = rng.uniform(size=(100_000, D)), rng.normal(size=(8, 2**14, 2))
    value, pullback = GRIDS[D].of().vjp(points, tables, SIDES)
    seed = rng.normal(size=value.shape)
    found = pullback(seed)
    np.testing.assert_allclose(found.tables.sum(axis=1).ravel(), seed.sum(axis=0), rtol=1e-10, atol=1e-8)
    entry = int(np.flatnonzero((SIDES + 1) ** D > 2**14)[0])  # the first level that is hashed
    n, corner = 123, np.floor(points[123] * SIDES[entry]).astype(int)
    part = points[n] * SIDES[entry] - corner
    expected = np.zeros(2)
    for ends in np.ndindex(*(2,) * D):
        mixed = 0
        for c, prime in zip(corner + ends, PRIMES, strict=False):
            mixed ^= int(c) * prime % 2**32
        weight = np.prod([p if e else 1.0 - p for p, e in zip(part, ends, strict=True)])
        expected += weight * tables[entry, mixed % 2**14]
    np.testing.assert_allclose(value[n].reshape(8, 2)[entry], expected, rtol=1e-12)
    inside = np.abs((points[:, :, None] * SIDES + 0.5) % 1 - 0.5).min(axis=(1, 2)) > 1e-4
    step, way = 1e-8, rng.normal(size=points.shape)
    ahead, behind = (GRIDS[D](points + s * step * way, tables, SIDES) for s in (1.0, -1.0))
    near((found.points * way).sum(axis=1)[inside], ((ahead - behind) * seed).sum(axis=1)[inside] / (2 * step), 1e-5)
    half = tables.astype(np.float16)
    plain = GRIDS[D](points.astype(np.float32), half.astype(np.float32), SIDES)
    narrow, pullback = GRIDS[D].of().vjp(points.astype(np.float32), half, SIDES)
    near(narrow, plain, 1e-2)
    assert pullback(np.ones_like(narrow)).tables.dtype == np.float16


# -- the reserves --------------------------------------------------------------------------------------------
def test_a_query_that_sees_nothing() -> None:
    rng = np.random.default_rng(9)
    q, k, v = (rng.standard_normal((1, 8, 1024, 64)).astype(np.float32) for _ in range(3))
    bias = np.zeros((8, 1024, 1024), np.float32)
    bias[:, 7] = -np.inf
    f = nn.attention_online.of(causal=True)
    y, pullback = f.vjp(q, k, v, None, bias)
    assert not y[:, :, 7].any()
    found = pullback(rng.standard_normal(y.shape).astype(np.float32))
    assert all(np.isfinite(g).all() for g in found if g is not None)
    assert not found.q[:, :, 7].any()
    assert max(w.size for w in f.compile(q, k, v, None, bias).workspace(q, k, v, bias)) <= q.size
    scores = np.einsum("hid,hjd->hij", q[0].astype(float), k[0]) / 8.0 + np.where(np.tri(1024), bias, -np.inf)
    parts = np.exp(scores - np.maximum(scores.max(axis=2, keepdims=True), -1e300))
    shares = parts / np.maximum(parts.sum(axis=2, keepdims=True), 1e-300)
    near(y[0], shares @ v[0], 1e-4)


def test_a_score_that_is_infinite() -> None:
    value, pullback = nn.softmax.of().vjp(np.array([np.inf, 1.0]))
    assert value.tolist() == [1.0, 0.0]
    for seed in np.eye(2):
        assert np.isfinite(pullback(seed).x).all()
