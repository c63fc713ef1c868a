"""Products of stacks, distances, volumes, spectra and what else other libraries have, against JAX, SciPy and NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

pytest.importorskip("jax")

import jax
import jax.numpy as jnp

from loopdiff.errors import ArgumentError
from loopdiff.kernels import encodings, networks, nn, science
from tests.kernels.against_jax import Case, check

pytestmark = pytest.mark.part(3)

rng = np.random.default_rng(12)
draw = rng.standard_normal


def pooled(what: Any, least: float) -> Any:
    def f(x: Any) -> Any:
        return jax.lax.reduce_window(x, least, what, (1, 1, 2, 3, 2), (1, 1, 2, 1, 2), "VALID")

    return f


def by_lengths(x: Any) -> Any:
    return x / jnp.linalg.norm(x, axis=1, keepdims=True)


def responses(x: Any) -> Any:
    around = jnp.pad(x**2, ((0, 0), (1, 1), (0, 0)))
    squares = around[:, :-2] + around[:, 1:-1] + around[:, 2:]
    return x / (2.0 + 0.3 / 3 * squares) ** 0.75


def least(rows: Any, indices: Any) -> Any:
    return jnp.full((4, 2), jnp.inf).at[indices].min(rows)


A, B, TURNED = draw((3, 4, 5)), draw((1, 5, 2)), draw((3, 2, 5))
WAYS = np.array([1.0, -1.0, -1.0, 1.0])
CASES = [
    Case(nn.batched_matmul, (A, B), lambda a, b: a @ b),
    Case(nn.batched_matmul, (A[:1].transpose(0, 2, 1).copy(), TURNED), lambda a, b: a.mT @ b.mT,
         {"turn_a": True, "turn_b": True}),
    Case(nn.bilinear, (draw((4, 3)), draw((4, 2)), draw((5, 3, 2)), draw(5)),
         lambda x, y, w, b: jnp.einsum("nd,kde,ne->nk", x, w, y) + b),
    Case(nn.unit_vectors, (draw((3, 4, 2)),), by_lengths, {"axis": 1}),
    Case(nn.cosine_similarity, (draw((4, 5)), draw((4, 5))),
         lambda x, y: (x * y).sum(1) / jnp.linalg.norm(x, axis=1) / jnp.linalg.norm(y, axis=1)),
    Case(nn.distances, (draw((4, 3)), draw((5, 3))),
         lambda x, y: jnp.linalg.norm(x[:, None] - y[None], axis=-1)),
    Case(nn.max_pool3d, (draw((1, 2, 5, 5, 6)),), pooled(jax.lax.max, -np.inf),
         {"window": (2, 3, 2), "stride": (2, 1, 2)}),
    Case(nn.mean_pool3d, (draw((1, 2, 5, 5, 6)),), lambda x: pooled(jax.lax.add, 0.0)(x) / 12,
         {"window": (2, 3, 2), "stride": (2, 1, 2)}),
    Case(nn.local_response_norm, (draw((2, 4, 3)),), responses, {"size": 3, "alpha": 0.3, "k": 2.0}),
    Case(nn.pixel_unshuffle, (draw((1, 2, 4, 6)),),
         lambda x: x.reshape(1, 2, 2, 2, 3, 2).transpose(0, 1, 3, 5, 2, 4).reshape(1, 8, 2, 3), {"scale": 2}),
    Case(nn.prelu, (draw((2, 3, 4)), draw(3)), lambda x, s: jnp.where(x > 0, x, s[:, None] * x)),
    Case(nn.scatter_min, (draw((6, 2)), np.array([0, 2, 2, 0, 3, 2])), least, {"size": 4}),
    Case(nn.poisson_nll, (draw(5), rng.poisson(2.0, 5).astype(float)), lambda r, c: jnp.exp(r) - c * r),
    Case(nn.gaussian_nll, (draw(5), rng.uniform(0.1, 2.0, 5), draw(5)),
         lambda m, v, x: -jax.scipy.stats.norm.logpdf(x, m, jnp.sqrt(v)) - 0.5 * jnp.log(2 * jnp.pi)),
    Case(nn.margin_ranking, (draw(4), draw(4), WAYS),
         lambda x, y, s: jnp.maximum(0.0, 0.3 - s * (x - y)), {"margin": 0.3}),
    Case(networks.fourier_features, (draw((4, 3)), draw((5, 3)), draw(5)),
         lambda x, f, p: jnp.sin(2 * jnp.pi * (x @ f.T + p))),
]  # fmt: skip


@pytest.mark.part(5)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_values_and_gradients(case: Case) -> None:
    check(case)


def test_equal_and_zero_vectors_have_finite_derivatives() -> None:
    x = np.array([[1.0, 2.0], [0.0, 0.0]])
    _, pullback = nn.distances.of().vjp(x, x.copy())
    for gradient in pullback(np.ones((2, 2))):
        assert np.isfinite(gradient).all()
    _, pullback = nn.cosine_similarity.of().vjp(x, np.array([[2.0, 4.0], [1.0, 1.0]]))
    assert all(np.isfinite(g).all() for g in pullback(np.ones(2)))


# -- spectra -------------------------------------------------------------------------------------------------
WINDOW = np.hamming(13)[:12]


def transformed(x: Any, window: Any) -> Any:
    frames = jnp.stack([x[:, k : k + 12] for k in range(0, 29, 4)], axis=-1)
    found = jnp.fft.rfft(frames * window[:, None], axis=1)
    return found.real, found.imag


def test_short_fourier_transforms() -> None:
    check(Case(nn.stft, (draw((2, 41)), WINDOW), transformed, {"hop": 4}))


def test_they_are_undone() -> None:
    x, window = draw((2, 49)), 0.1 + rng.uniform(size=9)
    back = nn.istft(*nn.stft(x, window, hop=4), window, hop=4)
    np.testing.assert_allclose(back, x[:, : back.shape[1]], rtol=1e-10, atol=1e-12)


def test_signals_of_changed_transforms_are_those_of_inverse_transforms() -> None:
    parts = draw((2, 2, 7, 5))
    expected, weight = np.zeros((2, 28)), np.zeros(28)
    for t in range(5):
        frames = np.fft.irfft(parts[0, :, :, t] + 1j * parts[1, :, :, t], n=12)
        expected[:, 4 * t : 4 * t + 12] += WINDOW * frames
        weight[4 * t : 4 * t + 12] += WINDOW**2
    np.testing.assert_allclose(nn.istft(*parts, WINDOW, hop=4), expected / weight, rtol=1e-10, atol=1e-13)


def test_bands_are_triangles_in_mels() -> None:
    frequencies = np.linspace(0.0, 4000.0, 129)
    mels = 2595.0 * np.log10(1.0 + frequencies / 700.0)
    corners = np.linspace(2595.0 * np.log10(1.0 + 100.0 / 700.0), mels[-1], 7)
    hertz = 700.0 * (10.0 ** (corners / 2595.0) - 1.0)
    expected = [np.interp(frequencies, hertz[m : m + 3], [0.0, 1.0, 0.0], 0.0, 0.0) for m in range(5)]
    power = draw((2, 129, 3))
    found = nn.mel_filters(power, bands=5, rate=8000.0, low=100.0)
    np.testing.assert_allclose(found, np.array(expected) @ power, rtol=1e-10, atol=1e-12)


# -- parameters in one buffer --------------------------------------------------------------------------------
def test_packed_networks_are_those_of_layers() -> None:
    widths = (3, 4, 2)
    layers = ((draw((4, 3)), draw(4)), (draw((2, 4)), draw(2)))
    buffer, x, seed = networks.pack(layers), draw((5, 3)), draw((5, 2))
    views = networks.unpack(buffer, widths)
    assert all(np.shares_memory(v, buffer) for pair in views for v in pair)
    jax.tree.map(np.testing.assert_array_equal, views, layers)
    plain, pull = networks.mlp.of(activation=nn.tanh).vjp(x, layers)
    value, pullback = networks.packed_mlp.of(widths=widths, activation=nn.tanh).vjp(x, buffer)
    np.testing.assert_allclose(value, plain, rtol=1e-13)
    mine, wanted = pullback(seed), pull(seed)
    np.testing.assert_allclose(mine.buffer, np.concatenate([g.ravel() for pair in wanted.layers for g in pair]), 1e-12)
    np.testing.assert_allclose(mine.x, wanted.x, rtol=1e-12)
    with pytest.raises(ArgumentError, match="LD332"):
        networks.packed_mlp(x, buffer[1:], widths=widths)


# -- lattices ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dimensions", [1, 2, 4])
def test_features_that_are_linear_are_found_again(dimensions: int) -> None:
    """In the stretched coordinates corners are integers: the weights of those around are barycentric if they add up to
    one and meet the place. Tables that tell corners apart show both."""
    places = rng.uniform(0.0, 3.0, (40, dimensions))
    stretch = (np.sqrt(dimensions + 1.0) - 1.0) / dimensions
    stretched = 2.0 * (places + stretch * places.sum(axis=1, keepdims=True))
    below = np.floor(stretched)
    order = np.argsort(-(stretched - below), axis=1)
    sorted_parts = np.take_along_axis(stretched - below, order, axis=1)
    ends = np.concatenate([np.ones((40, 1)), sorted_parts, np.zeros((40, 1))], axis=1)
    weights = ends[:, :-1] - ends[:, 1:]
    tables = draw((1, 2**16, 2))
    expected = np.zeros((40, 2))
    corner = below.astype(np.int64)
    for k in range(dimensions + 1):
        np.testing.assert_array_less(-1e-12, weights[:, k])
        mixed = np.bitwise_xor.reduce(corner.astype(np.uint32) * np.uint32(PRIMES[:dimensions]), axis=1)
        expected += weights[:, k, None] * tables[0, mixed % 2**16]
        if k < dimensions:
            corner[np.arange(40), order[:, k]] += 1
    found = encodings.permutohedral_grid(places, tables, np.array([2.0]))
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


PRIMES = np.array([1, 2654435761, 805459861, 3674653429])


def test_places_in_lattices_have_the_derivatives_of_differences() -> None:
    places, tables, way = rng.uniform(-1.0, 1.0, (20, 3)), draw((2, 64, 3)), draw((20, 3))
    scales, step = np.array([1.3, 4.1]), 1e-6
    f = encodings.permutohedral_grid.of()
    value, pullback = f.vjp(places, tables, scales)
    seed = draw(value.shape)
    difference = (f(places + step * way, tables, scales) - f(places - step * way, tables, scales)) / (2.0 * step)
    found = pullback(seed)
    assert (found.points * way).sum() == pytest.approx((difference * seed).sum(), rel=1e-6)
    assert (found.tables * tables).sum() == pytest.approx((value * seed).sum())  # linear in tables
    assert np.isnan(f(np.full((1, 3), np.nan), tables, scales)).all()


# -- conjugate gradients -------------------------------------------------------------------------------------
def positive(size: int) -> Any:
    half = sparse.random(size, size, 0.2, random_state=3)
    return (half @ half.T + sparse.eye(size)).tocsr()


def test_solutions_and_their_implicit_derivatives() -> None:
    matrix, right, seed = positive(20), draw(20), draw(20)
    args = (matrix.data, matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64), right)
    f = science.conjugate_gradients.of(tolerance=1e-13)
    dense, rows = matrix.toarray(), np.repeat(np.arange(20), np.diff(matrix.indptr))
    x, z = np.linalg.solve(dense, right), np.linalg.solve(dense.T, seed)
    value, pullback = f.vjp(*args)
    found = pullback(seed)
    np.testing.assert_allclose(value, x, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(found.right, z, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(found.values, -z[rows] * x[matrix.indices], rtol=1e-9, atol=1e-10)
    ways = {"values": draw(matrix.nnz), "right": draw(20)}
    changed = sparse.csr_matrix((ways["values"], matrix.indices, matrix.indptr)) @ x
    _, tangent = f.jvp(args, ways)
    np.testing.assert_allclose(tangent[0], np.linalg.solve(dense, ways["right"] - changed), rtol=1e-8, atol=1e-9)
    assert np.isnan(f(*args[:3], right * np.inf)).all()
    with pytest.raises(ArgumentError, match="no solution"):
        f(matrix.data * np.where(rows % 2, -1.0, 1.0), *args[1:])
    np.testing.assert_array_equal(f(*args[:3], 0.0 * right), 0.0)
