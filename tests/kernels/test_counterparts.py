"""Operators that stand beside others of their kind, for signals and volumes, and at random: against JAX and NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp
from jax import lax

from loopdiff import ArgumentError
from loopdiff.kernels import nn
from tests.kernels.against_jax import Case, check
from tests.kernels.test_recurrent import split_mix
from tests.kernels.test_windows import transposed

pytestmark = pytest.mark.part(3)
rng = np.random.default_rng(21)
draw = rng.standard_normal
SIGNS = np.array([1.0, -1.0, -1.0, 1.0, -1.0])
PLACES = np.array([0, 2, 2, 0, 3, 2])
LABELS = np.array([[1, 3, -1, 0], [0, -1, 2, 2], [-1, 1, 1, 1]])
NORMED = {"align_corners": True}


def shared(reduce: Any, *sizes: int) -> Any:
    """An axis is shared as PyTorch's manual has it, one after the other: the parts of all axes are a grid."""

    def f(x: Any) -> Any:
        for axis, size in enumerate(sizes, start=2):
            length = x.shape[axis]
            ends = [(k * length // size, -(-(k + 1) * length // size)) for k in range(size)]
            parts = [reduce(lax.slice_in_dim(x, a, b, axis=axis), axis=axis, keepdims=True) for a, b in ends]
            x = jnp.concatenate(parts, axis=axis)
        return x

    return f


def by_matrices(*matrices: Any) -> Any:
    """One matrix for each of the last axes."""

    def f(x: Any) -> Any:
        for k, matrix in enumerate(matrices, start=2):
            x = jnp.moveaxis(jnp.moveaxis(x, k, -1) @ matrix.T, -1, k)
        return x

    return f


def weights(before: int, after: int, kernel: Any, reach: int, align: bool = False) -> np.ndarray:
    """The matrix of an axis: what is beyond an edge counts as the edge."""
    found = np.zeros((after, before))
    for i in range(after):
        at = i * (before - 1) / max(after - 1, 1) if align else (i + 0.5) * before / after - 0.5
        for k in range(int(np.floor(at)) - reach + 1, int(np.floor(at)) + reach + 1):
            found[i, min(max(k, 0), before - 1)] += kernel(abs(at - k))
    return found


def hat(d: float) -> float:
    return max(0.0, 1.0 - d)


def keys(a: float) -> Any:
    """The cubic of Keys, as it stands in his equation 4."""
    near = np.polynomial.Polynomial([1.0, 0.0, -(a + 3.0), a + 2.0])
    far = np.polynomial.Polynomial([-4.0 * a, 8.0 * a, -5.0 * a, a])
    return lambda d: near(d) if d <= 1 else far(d) if d < 2 else 0.0


def line(before: int, after: int, align: bool = False) -> np.ndarray:
    return weights(before, after, hat, 1, align)


def curve(before: int, after: int, a: float = -0.75, align: bool = False) -> np.ndarray:
    return weights(before, after, keys(a), 2, align)


def padded(mode: str, *edges: tuple[int, int]) -> Any:
    return lambda x: jnp.pad(x, ((0, 0), (0, 0), *edges), mode=mode)


def affine(theta: Any, *extents: int, align: bool = False) -> Any:
    axes = [np.linspace(-1, 1, n) if align else (2.0 * np.arange(n) + 1.0) / n - 1.0 for n in extents]
    places = np.stack([*np.meshgrid(*axes, indexing="ij")[::-1], np.ones(extents)], axis=-1)
    return jnp.einsum("...k,nak->n...a", places, theta)


def sampled(x: Any, grid: Any) -> Any:
    """The sum over all cells of hats around a place: nothing is between them outside."""
    hats = [
        jnp.maximum(0.0, 1.0 - abs(((grid[..., 2 - k] + 1.0) * n - 1.0)[..., None] / 2 - np.arange(n)))
        for k, n in enumerate(x.shape[2:])
    ]
    return jnp.einsum("ncdhw,nopqd,nopqh,nopqw->ncopq", x, *hats)


def several(scores: Any, labels: Any = LABELS) -> Any:
    out = []
    for row, own in zip(scores, labels, strict=True):
        named = list(own[: list(own).index(-1)])
        others = [c for c in range(scores.shape[1]) if c not in named]
        out.append(sum((jnp.maximum(0.0, 1.0 - row[u] + row[c]) for u in named for c in others), 0.0) / scores.shape[1])
    return jnp.stack(out)


def multi(scores: Any, labels: Any) -> Any:
    excess = jnp.maximum(0.0, 0.7 + scores - jnp.take_along_axis(scores, labels[:, None], axis=1))
    return (excess**2 * (np.arange(scores.shape[1]) != labels[:, None])).sum(axis=1) / scores.shape[1]


def cosines(x: Any, y: Any, s: Any) -> Any:
    c = (x * y).sum(axis=1) / jnp.sqrt((x * x).sum(axis=1) * (y * y).sum(axis=1))
    return jnp.where(s == 1, 1.0 - c, jnp.maximum(0.0, c - 0.1))


def divided(rows: Any, indices: Any) -> Any:
    is_there = (indices[:, None] == np.arange(4))[:, :, None]
    return 1.0 / jnp.where(is_there, rows[:, None, :], 1.0).prod(axis=0)


def entropy(p: Any, t: Any) -> Any:
    return -(jax.scipy.special.xlogy(t, p) + jax.scipy.special.xlog1py(1.0 - t, -p))


def shuffled(x: Any) -> Any:
    return x.reshape(2, 3, 2, 4, 3).swapaxes(1, 2).reshape(2, 6, 4, 3)


def amplitudes(x: Any, window: Any) -> Any:
    frames = jnp.stack([x[:, k : k + 6] for k in range(0, 14, 3)], axis=-1)
    return abs(jnp.fft.rfft(frames * window[:, None], axis=1)) ** 1.5


volume, signal, image = draw((2, 2, 5, 4, 6)), draw((2, 3, 9)), draw((2, 2, 5, 7))
odd = {"stride": (2, 1, 2), "padding": ((1, 0), (0, 1), (1, 1)), "dilation": (1, 2, 1), "groups": 2}
edges = ((1, 2), (3, 0), (2, 2))
CASES = [
    Case(nn.conv_transpose3d, (draw((2, 4, 3, 3, 2)), draw((4, 1, 2, 2, 3)), draw(2)),
         transposed((2, 2, 5, 4, 3), **odd), odd),
    Case(nn.conv_transpose3d, (draw((1, 2, 2, 3, 2)), draw((2, 3, 2, 1, 2)), None),
         transposed((1, 3, 5, 6, 4), stride=2), {"stride": 2, "output_padding": (1, 1, 0)}),
    Case(nn.adaptive_mean_pool1d, (signal,), shared(jnp.mean, 4), {"size": 4}),
    Case(nn.adaptive_max_pool1d, (signal,), shared(jnp.max, 4), {"size": 4}),
    Case(nn.adaptive_mean_pool3d, (volume,), shared(jnp.mean, 2, 3, 4), {"size": (2, 3, 4)}),
    Case(nn.adaptive_max_pool3d, (volume,), shared(jnp.max, 2, 3, 4), {"size": (2, 3, 4)}),
    Case(nn.lp_pool1d, (signal,), lambda x: (abs(x).reshape(2, 3, 3, 3) ** 3).sum(axis=3) ** (1 / 3),
         {"p": 3.0, "window": 3}),
    Case(nn.pad1d, (signal,), padded("reflect", (2, 3)), {"padding": (2, 3), "mode": "reflect"}),
    *(Case(nn.pad3d, (volume,), padded(numpys, *edges), {"padding": edges, "mode": mode}) for mode, numpys in
      (("constant", "constant"), ("replicate", "edge"), ("reflect", "reflect"), ("symmetric", "symmetric"),
       ("circular", "wrap"))),
    Case(nn.scatter_sub, (draw((6, 2)), PLACES), lambda r, i: jnp.zeros((4, 2)).at[i].add(-r), {"size": 4}),
    Case(nn.scatter_div, (draw((6, 2)), PLACES), divided, {"size": 4}),
    Case(nn.upsample_nearest1d, (signal,), lambda x: jnp.repeat(x, 3, axis=2), {"scale": 3}),
    Case(nn.upsample_nearest3d, (volume,),
         lambda x: jnp.repeat(jnp.repeat(jnp.repeat(x, 2, axis=2), 3, axis=3), 2, axis=4), {"scale": (2, 3, 2)}),
    Case(nn.resize_linear1d, (signal,), by_matrices(line(9, 5)), {"size": 5}),
    Case(nn.resize_linear3d, (volume,), by_matrices(line(5, 8), line(4, 3), line(6, 6)), {"size": (8, 3, 6)}),
    Case(nn.resize_linear3d, (volume,), by_matrices(line(5, 7, True), line(4, 3, True), line(6, 1, True)),
         {"size": (7, 3, 1), **NORMED}),
    Case(nn.resize_cubic, (image,), by_matrices(curve(5, 9), curve(7, 4)), {"size": (9, 4)}),
    Case(nn.resize_cubic, (image,), by_matrices(curve(5, 3, -0.5, True), curve(7, 13, -0.5, True)),
         {"size": (3, 13), "slope": -0.5, **NORMED}),
    Case(nn.affine_grid, (draw((2, 2, 3)),), lambda t: affine(t, 4, 5), {"size": (4, 5)}),
    Case(nn.affine_grid, (draw((2, 2, 3)),), lambda t: affine(t, 4, 5, align=True), {"size": (4, 5), **NORMED}),
    Case(nn.affine_grid3d, (draw((2, 3, 4)),), lambda t: affine(t, 4, 2, 5), {"size": (4, 2, 5)}),
    Case(nn.grid_sample3d, (volume, rng.uniform(-1.3, 1.3, (2, 2, 3, 2, 3))), sampled),
    Case(nn.channel_shuffle, (draw((2, 6, 4, 3)),), shuffled, {"groups": 3}),
    Case(nn.spectrogram, (draw((2, 18)), np.hamming(6)), amplitudes, {"hop": 3, "power": 1.5}),
    Case(nn.absolute_error, (draw(5), draw(5)), lambda x, y: abs(x - y)),
    Case(nn.squared_error, (draw(5), draw(5)), lambda x, y: (x - y) ** 2),
    Case(nn.smooth_l1, (draw(5), draw(5)),
         lambda x, y: jnp.where(abs(x - y) < 0.4, (x - y) ** 2 / 0.8, abs(x - y) - 0.2), {"beta": 0.4}),
    Case(nn.soft_margin, (draw(5), SIGNS), lambda x, s: jnp.log1p(jnp.exp(-s * x))),
    Case(nn.hinge_embedding, (draw(5), SIGNS), lambda x, s: jnp.where(s == 1, x, jnp.maximum(0.0, 0.5 - x)) + 0.0 * s,
         {"margin": 0.5}),
    Case(nn.cosine_embedding, (draw((5, 3)), draw((5, 3)), SIGNS), cosines, {"margin": 0.1}),
    Case(nn.negative_log_likelihood, (draw((4, 3)), np.array([0, 2, -1, 2])),
         lambda x, y: -jnp.where(y < 0, 0.0, x[jnp.arange(4), y])),
    Case(nn.binary_cross_entropy_of_probabilities, (rng.uniform(0.1, 0.9, 5), rng.uniform(0.1, 0.9, 5)), entropy),
    Case(nn.multi_margin, (draw((4, 3)), np.array([0, 2, 1, 2])), multi, {"power": 2, "margin": 0.7}),
    Case(nn.multilabel_margin, (draw((3, 4)), LABELS), lambda x, _: several(x)),
    Case(nn.multilabel_soft_margin, (draw((3, 4)), rng.uniform(size=(3, 4))),
         lambda x, t: entropy(jax.nn.sigmoid(x), t).mean(axis=1)),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_counterparts_are_those_of_jax(case: Case) -> None:
    check(case)


def test_unpooling_puts_winners_back() -> None:
    x = draw((2, 3, 7, 8))
    options = {"window": 3, "stride": 2, "padding": 1}
    places, largest = nn.max_places2d(x, **options), nn.max_pool2d(x, **options)
    np.testing.assert_array_equal(np.take_along_axis(x.reshape(2, 3, -1), places.reshape(2, 3, -1), axis=2).ravel(),
                                  largest.ravel())  # fmt: skip
    once, pullback = nn.max_unpool.of(size=(7, 8)).vjp(largest, places)
    expected = np.zeros((2, 3, 56))
    np.put_along_axis(expected, places.reshape(2, 3, -1), largest.reshape(2, 3, -1), axis=2)
    np.testing.assert_array_equal(once, expected.reshape(x.shape))
    seed = draw(x.shape)
    rows = places.reshape(2, 3, -1)
    last = np.array([[[k == max(np.flatnonzero(own == p)) for k, p in enumerate(own)] for own in of] for of in rows])
    wanted = np.take_along_axis(seed.reshape(2, 3, -1), rows, axis=2) * last
    np.testing.assert_array_equal(pullback(seed).x.reshape(rows.shape), wanted)
    nowhere = nn.max_places2d(np.full((1, 1, 2, 2), -np.inf), window=2)
    assert nowhere.ravel().tolist() == [-1]
    assert nn.max_places2d(np.array([[[[1.0, np.nan], [2.0, 1.0]]]]), window=2).item() == 1
    np.testing.assert_array_equal(nn.max_unpool(np.ones((1, 1, 1, 1)), nowhere, size=(2, 2)), 0.0)
    signal = nn.max_unpool(np.array([[[5.0, 6.0]]]), np.array([[[3, 0]]]), size=(4,))
    assert signal.ravel().tolist() == [6.0, 0.0, 0.0, 5.0]
    with pytest.raises(ArgumentError, match="LD310"):
        nn.max_unpool(np.ones((1, 1, 1)), np.array([[[4]]]), size=(4,))
    with pytest.raises(ArgumentError, match="a place for each number"):
        nn.max_unpool(np.ones((1, 1, 2)), np.array([[[1]]]), size=(4,))


def test_windows_of_two_lengths() -> None:
    x, seed = draw((2, 2, 13, 9)), 5
    value, pullback = nn.fractional_max_pool2d.of(window=(2, 3), size=(6, 4)).vjp(x, seed)
    for n in range(2):
        for c in range(2):
            starts = []
            for axis, (length, window, parts) in enumerate(((13, 2, 6), (9, 3, 4))):
                u, step = split_mix(seed, 2 * (2 * n + c) + axis), (length - window) / (parts - 1)
                own = [int((k + u) * step) - int(u * step) for k in range(parts - 1)] + [length - window]
                assert set(np.diff(own)) <= {int(step), int(step) + 1}
                starts.append(own)
            expected = [[x[n, c, i : i + 2, j : j + 3].max() for j in starts[1]] for i in starts[0]]
            np.testing.assert_array_equal(value[n, c], expected)
    assert pullback(np.ones_like(value)).x.sum() == value.size
    with pytest.raises(ArgumentError, match="no room"):
        nn.fractional_max_pool2d(x, seed, window=5, size=10)


def test_channels_stay_or_go() -> None:
    x = draw((4, 5, 3, 2))
    kept = np.array([split_mix(9, c) >= 0.4 for c in range(20)]).reshape(4, 5, 1, 1)
    value, pullback = nn.dropout_channels.of(rate=0.4).vjp(x, 9)
    np.testing.assert_allclose(value, np.where(kept, x / 0.6, 0.0), rtol=1e-15)
    np.testing.assert_allclose(pullback(np.ones_like(x)).x, np.broadcast_to(kept / 0.6, x.shape), rtol=1e-15)


def test_alpha_dropout_keeps_mean_and_variance() -> None:
    x = draw(60_000)
    value, pullback = nn.alpha_dropout.of(rate=0.3).vjp(x, 4)
    least = -1.0507009873554805 * 1.6732632423543772
    assert value.mean() == pytest.approx(0.0, abs=0.02)
    assert value.var() == pytest.approx(1.0, abs=0.02)
    assert 0.69 < (pullback(np.ones_like(x)).x != 0.0).mean() < 0.71
    scale = (0.7 + least**2 * 0.3 * 0.7) ** -0.5
    kept = np.array([split_mix(4, k) >= 0.3 for k in range(50)])
    np.testing.assert_allclose(value[:50], scale * (np.where(kept, x[:50], least) - 0.3 * least), rtol=1e-13)


def test_slopes_that_are_drawn() -> None:
    x = draw((4, 6))
    slopes = np.array([split_mix(2, k) for k in range(24)]).reshape(4, 6) * 0.3 + 0.2
    value, pullback = nn.rrelu.of(lower=0.2, upper=0.5).vjp(x, 2)
    np.testing.assert_allclose(value, np.where(x > 0.0, x, slopes * x), rtol=1e-14)
    np.testing.assert_allclose(pullback(np.ones_like(x)).x, np.where(x > 0.0, 1.0, slopes), rtol=1e-14)


def test_categories_that_are_drawn() -> None:
    x, seed = draw((5, 4)), draw((5, 4))
    noise = -np.log(-np.log(np.array([split_mix(3, k) for k in range(20)]).reshape(5, 4)))
    with jax.enable_x64(True):
        soft, pull = jax.vjp(lambda x: jax.nn.softmax((x + noise) / 0.7, axis=1), x)
        (wanted,) = pull(seed)
    for hard in (False, True):
        value, pullback = nn.gumbel_softmax.of(temperature=0.7, hard=hard).vjp(x, 3)
        expected = np.eye(4)[np.asarray(soft).argmax(axis=1)] if hard else soft
        np.testing.assert_allclose(value, expected, rtol=1e-11, atol=1e-14)
        np.testing.assert_allclose(pullback(seed).logits, wanted, rtol=1e-10, atol=1e-13)
    many = nn.gumbel_softmax(np.tile(np.log([0.2, 0.5, 0.3]), (20_000, 1)), 8, hard=True)
    np.testing.assert_allclose(many.mean(axis=0), [0.2, 0.5, 0.3], atol=0.01)


def test_edges_of_losses() -> None:
    sure, so = np.array([0.0, 1.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0, 0.0])
    value, pullback = nn.binary_cross_entropy_of_probabilities.of().vjp(sure, so)
    np.testing.assert_array_equal(value, [0.0, 0.0, np.inf, np.inf])
    assert np.isfinite(pullback(np.array([1.0, 1.0, 0.0, 0.0])).p).all()
    assert nn.absolute_error.of().vjp(np.ones(1), np.ones(1))[1](np.ones(1)).x.item() == 0.0
    silent = nn.spectrogram.of(hop=2, power=1.0).vjp(np.zeros((1, 6)), np.ones(4))[1](np.ones((1, 3, 2)))
    assert not silent.x.any()


WRONG: list[tuple[str, Any]] = [
    ("channels do not fit", lambda: nn.conv_transpose3d(draw((1, 2, 2, 2, 2)), draw((3, 1, 1, 1, 1)))),
    ("leaves something", lambda: nn.conv_transpose3d(draw((1, 1, 1, 1, 1)), draw((1, 1, 1, 1, 1)), padding=1)),
    ("`mode` is", lambda: nn.pad3d(volume, padding=1, mode="mirror")),
    ("multiple of `groups`", lambda: nn.channel_shuffle(draw((1, 5, 2)), groups=2)),
    (r"`theta` is \(N, 2, 3\)", lambda: nn.affine_grid(draw((1, 3, 3)), size=2)),
    (r"`theta` is \(N, 3, 4\)", lambda: nn.affine_grid3d(draw((1, 3, 3)), size=2)),
    (r"`grid` is \(N, O, P, Q, 3\)", lambda: nn.grid_sample3d(volume, draw((1, 1, 1, 1, 3)))),
    ("above zero", lambda: nn.gumbel_softmax(draw((1, 2)), 0, temperature=0.0)),
    ("probability below 1", lambda: nn.alpha_dropout(draw(2), 0, rate=1.0)),
    ("LD310", lambda: nn.multilabel_margin(draw((1, 2)), np.array([[2]]))),
]


@pytest.mark.parametrize(("message", "call"), WRONG, ids=[m for m, _ in WRONG])
def test_what_does_not_fit_is_refused(message: str, call: Any) -> None:
    with pytest.raises(ArgumentError, match=message):
        call()
