"""Operators of the kernel library against those of `torch.nn.functional` that they stand beside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402

from loopdiff.kernels import Operator, nn  # noqa: E402

pytestmark = pytest.mark.part(3)
rng = np.random.default_rng(31)
draw = rng.standard_normal
Row = tuple[Operator, tuple[Any, ...], dict[str, Any], Any]

signal, image, volume = draw((2, 4, 9)), draw((2, 4, 6, 7)), draw((2, 4, 5, 4, 6))
signs = np.array([1.0, -1.0, -1.0, 1.0, -1.0])
samples, bagged = rng.uniform(size=(2, 4, 3)), np.array([4, 0, 4, 1, 1, 4, 3, 0, 4])
labels = np.array([[1, 3, -1, 0], [0, -1, 2, 2], [-1, 1, 1, 1]])
deep = {"stride": (2, 1, 2), "padding": (1, 0, 1), "output_padding": (1, 0, 1), "groups": 2, "dilation": (1, 2, 1)}


def resized(mode: str, size: Any, align: bool | None = False) -> Any:
    return lambda x: F.interpolate(x, size, mode=mode, align_corners=align)


def padded(*edges: int, mode: str) -> Any:
    return lambda x: F.pad(x, edges, mode=mode)


ROWS: list[Row] = [
    (nn.conv_transpose3d, (draw((2, 4, 3, 4, 2)), draw((4, 3, 2, 2, 3)), draw(6)), deep,
     lambda x, w, b: F.conv_transpose3d(x, w, b, **deep)),
    (nn.adaptive_mean_pool1d, (signal,), {"size": 4}, lambda x: F.adaptive_avg_pool1d(x, 4)),
    (nn.adaptive_max_pool1d, (signal,), {"size": 4}, lambda x: F.adaptive_max_pool1d(x, 4)),
    (nn.adaptive_mean_pool3d, (volume,), {"size": (2, 3, 4)}, lambda x: F.adaptive_avg_pool3d(x, (2, 3, 4))),
    (nn.adaptive_max_pool3d, (volume,), {"size": (2, 3, 4)}, lambda x: F.adaptive_max_pool3d(x, (2, 3, 4))),
    (nn.lp_pool1d, (signal,), {"p": 3.0, "window": 3, "stride": 2}, lambda x: F.lp_pool1d(abs(x), 3.0, 3, 2)),
    (nn.max_unpool, (draw((1, 2, 2, 2)), np.array([[[[3, 0], [8, 7]], [[1, 2], [4, 6]]]])), {"size": (3, 4)},
     lambda x, i: F.max_unpool2d(x, i, 2, 2, output_size=(3, 4))),
    (nn.pad1d, (signal,), {"padding": (2, 1), "mode": "reflect"}, padded(2, 1, mode="reflect")),
    (nn.pad3d, (volume,), {"padding": ((1, 2), (0, 3), (2, 2)), "mode": "replicate"},
     padded(2, 2, 0, 3, 1, 2, mode="replicate")),
    (nn.pad3d, (volume,), {"padding": 2, "mode": "circular"}, padded(2, 2, 2, 2, 2, 2, mode="circular")),
    (nn.upsample_nearest1d, (signal,), {"scale": 3}, resized("nearest", 27, None)),
    (nn.upsample_nearest3d, (volume,), {"scale": 2}, resized("nearest", (10, 8, 12), None)),
    (nn.resize_linear1d, (signal,), {"size": 14}, resized("linear", 14)),
    (nn.resize_linear3d, (volume,), {"size": (7, 3, 9)}, resized("trilinear", (7, 3, 9))),
    (nn.resize_linear3d, (volume,), {"size": (7, 3, 9), "align_corners": True}, resized("trilinear", (7, 3, 9), True)),
    (nn.resize_cubic, (image,), {"size": (9, 4)}, resized("bicubic", (9, 4))),
    (nn.resize_cubic, (image,), {"size": (4, 12), "align_corners": True}, resized("bicubic", (4, 12), True)),
    (nn.affine_grid, (draw((2, 2, 3)),), {"size": (4, 5)},
     lambda t: F.affine_grid(t, [2, 1, 4, 5], align_corners=False)),
    (nn.affine_grid3d, (draw((2, 3, 4)),), {"size": (4, 2, 5), "align_corners": True},
     lambda t: F.affine_grid(t, [2, 1, 4, 2, 5], align_corners=True)),
    *((nn.grid_sample3d, (volume, rng.uniform(-1.3, 1.3, (2, 2, 3, 2, 3))), {"padding": "border" if border else "zeros",
       "align_corners": align},
       lambda x, g, border=border, align=align: F.grid_sample(
           x, g, padding_mode="border" if border else "zeros", align_corners=align))
      for border in (False, True) for align in (False, True)),
    (nn.fractional_max_pool2d, (image, 0, samples[:, :, :2]), {"window": (2, 3), "size": (4, 3)},
     lambda x, s: F.fractional_max_pool2d(x, (2, 3), (4, 3), _random_samples=s.detach())),
    (nn.fractional_max_pool3d, (volume, 0, samples), {"window": (3, 2, 2), "size": (2, 2, 4)},
     lambda x, s: F.fractional_max_pool3d(x, (3, 2, 2), (2, 2, 4), _random_samples=s.detach())),
    (nn.max_pool3d, (volume,), {"window": (2, 2, 3), "stride": 2, "padding": 1, "dilation": (1, 2, 1)},
     lambda x: F.max_pool3d(x, (2, 2, 3), 2, 1, (1, 2, 1))),
    *((nn.mean_pool3d, (volume,), {"window": (2, 2, 3), "stride": 2, "padding": 1, "count_padding": own},
       lambda x, own=own: F.avg_pool3d(x, (2, 2, 3), 2, 1, count_include_pad=own)) for own in (True, False)),
    (nn.lp_pool3d, (volume,), {"p": 3.0, "window": 2}, lambda x: F.lp_pool3d(abs(x), 3.0, 2)),
    (nn.softmin, (image,), {"axis": 1}, lambda x: F.softmin(x, 1)),
    *((nn.distances, (draw((4, 3)), draw((5, 3))), {"p": p}, lambda x, y, p=p: torch.cdist(x, y, p))
      for p in (2.0, 3.0)),
    *((nn.distances_within, (draw((5, 3)),), {"p": p}, lambda x, p=p: F.pdist(x, p)) for p in (1.0, 2.0)),
    (nn.distances_by_row, (draw((5, 3)), draw((5, 3))), {}, lambda x, y: F.pairwise_distance(x, y, eps=0.0)),
    *((nn.embedding_bag, (draw((5, 3)), bagged, np.array([0, 2, 5, 9])), {"mode": mode},
       lambda x, i, s, mode=mode: F.embedding_bag(i, x, s[:-1], mode=mode)) for mode in ("sum", "mean", "max")),
    (nn.embedding_bag, (draw((5, 3)), bagged, np.array([0, 2, 5, 9]), draw(9)), {},
     lambda x, i, s, w: F.embedding_bag(i, x, s[:-1], mode="sum", per_sample_weights=w)),
    (nn.channel_shuffle, (image,), {"groups": 2}, lambda x: torch.channel_shuffle(x, 2)),
    (nn.absolute_error, (draw(5), draw(5)), {}, lambda x, y: F.l1_loss(x, y, reduction="none")),
    (nn.squared_error, (draw(5), draw(5)), {}, lambda x, y: F.mse_loss(x, y, reduction="none")),
    (nn.smooth_l1, (draw(5), draw(5)), {"beta": 0.4}, lambda x, y: F.smooth_l1_loss(x, y, reduction="none", beta=0.4)),
    (nn.soft_margin, (draw(5), signs.astype(np.int64)), {},
     lambda x, s: F.soft_margin_loss(x, s.double(), reduction="none")),
    (nn.hinge_embedding, (draw(5), signs), {"margin": 0.5},
     lambda x, s: F.hinge_embedding_loss(x, s.detach(), margin=0.5, reduction="none") + 0.0 * s),
    (nn.cosine_embedding, (draw((5, 3)), draw((5, 3)), signs), {"margin": 0.1},
     lambda x, y, s: F.cosine_embedding_loss(x, y, s.detach(), margin=0.1, reduction="none") + 0.0 * s),
    (nn.negative_log_likelihood, (draw((4, 3)), np.array([0, 2, -1, 2])), {},
     lambda x, y: F.nll_loss(x, y, ignore_index=-1, reduction="none")),
    (nn.binary_cross_entropy_of_probabilities, (rng.uniform(0.1, 0.9, 5), rng.uniform(0.1, 0.9, 5)), {},
     lambda p, t: F.binary_cross_entropy(p, t, reduction="none")),
    (nn.multi_margin, (draw((4, 3)), np.array([0, 2, 1, 2])), {"power": 2, "margin": 0.7},
     lambda x, y: F.multi_margin_loss(x, y, p=2, margin=0.7, reduction="none")),
    (nn.multilabel_margin, (draw((3, 4)), labels), {}, lambda x, y: F.multilabel_margin_loss(x, y, reduction="none")),
    (nn.multilabel_soft_margin, (draw((3, 4)), rng.uniform(size=(3, 4))), {},
     lambda x, t: F.multilabel_soft_margin_loss(x, t, reduction="none")),
]  # fmt: skip


def compare(operator: Operator, arguments: tuple[Any, ...], options: dict[str, Any], theirs: Any, active: int) -> None:
    """Values, and gradients by the first `active` arguments, those of floats; theirs gets the arrays among them."""
    arrays = [a for a in arguments if isinstance(a, np.ndarray)]
    given = [torch.from_numpy(a.copy()).requires_grad_(a.dtype.kind == "f") for a in arrays]
    wanted = theirs(*given)
    value, pullback = operator.of(**options).vjp(*arguments)
    np.testing.assert_allclose(value, wanted.detach(), rtol=1e-10, atol=1e-12)
    seed = draw(value.shape)
    some = [t for t in given if t.requires_grad][:active]
    expected = torch.autograd.grad(wanted, some, torch.from_numpy(seed), allow_unused=True, materialize_grads=True)
    for got, want in zip([g for g in pullback(seed) if g is not None][: len(some)], expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("row", ROWS, ids=[r[0].__name__ for r in ROWS])
def test_counterparts_are_those_of_torch(row: Row) -> None:
    compare(*row, active=len(row[1]))


def test_winners_are_in_the_same_places() -> None:
    _, places = F.max_pool2d(torch.from_numpy(image), 3, 2, 1, return_indices=True)
    np.testing.assert_array_equal(nn.max_places2d(image, window=3, stride=2, padding=1), places)
    x, s = torch.from_numpy(volume), torch.from_numpy(samples)
    _, places = F.max_pool3d(x, 3, 2, 1, return_indices=True)
    np.testing.assert_array_equal(nn.max_places3d(volume, window=3, stride=2, padding=1), places)
    _, places = F.adaptive_max_pool3d(x, (2, 3, 4), return_indices=True)
    np.testing.assert_array_equal(nn.adaptive_max_places3d(volume, size=(2, 3, 4)), places)
    _, places = F.fractional_max_pool3d(x, 2, (3, 2, 4), return_indices=True, _random_samples=s)
    np.testing.assert_array_equal(nn.fractional_max_places3d(volume, 0, samples, window=2, size=(3, 2, 4)), places)


@pytest.mark.part(5)
@pytest.mark.parametrize("both_ways", [False, True])
@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU", "projected"])
def test_layers_are_those_of_torch(kind: str, both_ways: bool) -> None:
    T, N, D, H, K, P = 5, 2, 4, 3, 2, 2
    ways = 2 if both_ways else 1
    size = P if kind == "projected" else H
    options = {"proj_size": P} if kind == "projected" else {}
    name = "LSTM" if kind == "projected" else kind
    torch.manual_seed(5)
    theirs = getattr(torch.nn, name)(D, H, K, bidirectional=both_ways, dtype=torch.float64, **options)
    x, h, c = draw((T, N, D)), draw((K * ways, N, size)), draw((K * ways, N, H))
    states = (h, c) if name == "LSTM" else (h,)
    given = [torch.from_numpy(a).requires_grad_() for a in (x, *states)]
    wanted, last = theirs(given[0], tuple(given[1:]) if name == "LSTM" else given[1])
    layers = tuple(layer_of([theirs.all_weights[k * ways + n] for n in range(ways)], kind, H) for k in range(K))
    operator = {"RNN": nn.rnn_layers, "LSTM": nn.lstm_layers, "GRU": nn.gru_layers}[name]
    value, pullback = operator.of(both_ways=both_ways).vjp(x, *states, layers)
    results = [wanted, *(last if name == "LSTM" else (last,))]
    for got, want in zip(value, results, strict=True):
        np.testing.assert_allclose(got, want.detach(), rtol=1e-10, atol=1e-12)
    seeds = tuple(draw(v.shape) for v in value)
    first = [theirs.all_weights[0][0], theirs.all_weights[-1][1]]
    expected = torch.autograd.grad(results, [*given, *first], [torch.from_numpy(s) for s in seeds])
    found = pullback(seeds)
    slopes = found.layers
    mine = [*list(found)[: len(given)], slopes[0][0][0] if both_ways else slopes[0][0],
            slopes[-1][1][1] if both_ways else slopes[-1][1]]  # fmt: skip
    for got, want in zip(mine, expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-11)


def layer_of(ways: Any, kind: str, H: int) -> Any:
    """Weights of one layer: of both ways stacked, with biases as one but for the last part of a GRU."""
    rows = []
    for w, u, b, held, *more in ways:
        w, u, b, held, *more = (a.detach().numpy().copy() for a in (w, u, b, held, *more))
        if kind == "GRU":
            more = [held[2 * H :].copy()]
            held[2 * H :] = 0.0
        rows.append((w, u, b + held, *more))
    return rows[0] if len(rows) == 1 else tuple(np.stack(both) for both in zip(*rows, strict=True))
