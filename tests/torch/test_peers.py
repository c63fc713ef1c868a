"""Options and operators that stand beside those of `torch.nn.functional`, and sequences of several lengths."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence  # noqa: E402

from loopdiff.kernels import nn  # noqa: E402
from tests.torch.test_counterparts import Row, compare, layer_of  # noqa: E402

pytestmark = pytest.mark.part(17)
rng = np.random.default_rng(53)
draw = rng.standard_normal
signal, image, volume = draw((2, 2, 9)), draw((2, 2, 8, 10)), draw((1, 2, 6, 7, 8))
places, deep_places = rng.uniform(-2.3, 2.3, (2, 3, 4, 2)), rng.uniform(-2.3, 2.3, (1, 2, 2, 3, 3))
labels, far_labels, classes = np.array([2, 0, 1, 2]), np.array([2, -1, 1, 2]), rng.uniform(0.2, 2.0, 3)
q, k, v = draw((2, 5, 6)), draw((2, 4, 6)), draw((2, 4, 6))
dense = draw((18, 6)), draw(18), draw((6, 6)), draw(6)
mask = np.array([[True, True, False, True], [True, False, True, True]])
NAMES = {"linear": "bilinear", "nearest": "nearest", "cubic": "bicubic"}
CUT: dict[str, Any] = {"window": 3, "stride": 2, "padding": 1, "ceil_mode": True}


def resized(size: Any, mode: str, align: bool | None = None, smooth: bool = False) -> Any:
    return lambda x: F.interpolate(x, size, mode=mode, align_corners=align, antialias=smooth)


def cut_off(d: int, x: Any) -> list[Row]:
    """Pools with a last window that ends outside, in `d` dimensions."""
    greatest, mean, norm = (getattr(F, f"{kind}_pool{d}d") for kind in ("max", "avg", "lp"))
    mine = {kind: getattr(nn, f"{kind}_pool{d}d") for kind in ("max", "mean", "lp")}
    rows: list[Row] = [
        (mine["max"], (x,), CUT, lambda x: greatest(x, 3, 2, 1, ceil_mode=True)),
        (mine["max"], (x,), {"window": 2, "stride": 2, "dilation": 2, "ceil_mode": True},
         lambda x: greatest(x, 2, 2, 0, 2, ceil_mode=True)),
        (mine["mean"], (x,), CUT, lambda x: mean(x, 3, 2, 1, ceil_mode=True)),
        (mine["mean"], (x,), {"window": 4, "stride": 3, "padding": 2, "ceil_mode": True, "count_padding": False},
         lambda x: mean(x, 4, 3, 2, ceil_mode=True, count_include_pad=False)),
        (mine["lp"], (x,), {"p": 3.0, "window": 3, "stride": 2, "ceil_mode": True},
         lambda x: norm(abs(x), 3.0, 3, 2, ceil_mode=True)),
    ]  # fmt: skip
    if d > 1:
        rows.append((mine["mean"], (x,), {**CUT, "divisor": 5},
                     lambda x: mean(x, 3, 2, 1, ceil_mode=True, divisor_override=5)))  # fmt: skip
    return rows


def heads(q: Any, k: Any, v: Any, w: Any, b: Any, w_out: Any, b_out: Any, seen: Any) -> Any:
    turned = (a.transpose(0, 1) for a in (q, k, v))
    y, _ = F.multi_head_attention_forward(
        *turned, 6, 2, w, b, None, None, False, 0.0, w_out, b_out, key_padding_mask=~seen, need_weights=False
    )
    return y.transpose(0, 1)


def shares(q: Any, k: Any) -> Any:
    return torch.softmax(q @ k.transpose(2, 3) / q.shape[-1] ** 0.5, dim=-1)


ROWS: list[Row] = [
    *cut_off(1, signal), *cut_off(2, image), *cut_off(3, volume),
    *((nn.grid_sample, (x, places[: len(x)]), {"mode": mode, "padding": padding, "align_corners": align},
       lambda x, g, mode=mode, padding=padding, align=align: F.grid_sample(x, g, NAMES[mode], padding, align))
      for mode, padding, align, x in product(NAMES, ("zeros", "border", "reflection"), (False, True),
                                             (image[:, :, :5, :6], image[:1, :1, :1, :2]))),
    *((nn.grid_sample3d, (volume[:, :, :4, :3, :5], deep_places),
       {"mode": mode, "padding": padding, "align_corners": align},
       lambda x, g, mode=mode, padding=padding, align=align: F.grid_sample(x, g, NAMES[mode], padding, align))
      for mode, padding, align in product(("linear", "nearest"), ("zeros", "border", "reflection"), (False, True))),
    *((operator, (image,), {"size": size, "align_corners": align, "antialias": True},
       resized(size, mode, align, smooth=True))
      for (operator, mode), size, align in product(((nn.resize_linear, "bilinear"), (nn.resize_cubic, "bicubic")),
                                                   ((3, 4), (20, 7), (1, 13)), (False, True))),
    *((operator, (x,), {"size": size, "middle": middle}, resized(size, "nearest-exact" if middle else "nearest"))
      for (operator, x, size), middle in product(((nn.resize_nearest1d, signal, 5), (nn.resize_nearest, image, (3, 17)),
                                                  (nn.resize_nearest3d, volume, (9, 3, 8))), (False, True))),
    (nn.grouped_matmul, (draw((7, 3)), draw((3, 3, 2)), np.array([0, 2, 2, 7])), {},
     lambda x, w, s: torch.cat([x[a:b] @ m for a, b, m in zip(s[:-1], s[1:], w, strict=True)])),
    (nn.linear_cross_entropy, (draw((4, 5)), draw((3, 5)), far_labels, draw(3)), {},
     lambda x, w, y, b: F.cross_entropy(F.linear(x, w, b), y, ignore_index=-1, reduction="none")),
    *((nn.cross_entropy, (draw((4, 3)), far_labels, classes), {"smoothing": smoothing},
       lambda x, y, w, smoothing=smoothing: F.cross_entropy(
           x, y, w.detach(), ignore_index=-1, label_smoothing=smoothing, reduction="none"))
      for smoothing in (0.0, 0.2)),
    (nn.negative_log_likelihood, (draw((4, 3)), far_labels, classes), {},
     lambda x, y, w: F.nll_loss(x, y, w.detach(), ignore_index=-1, reduction="none")),
    (nn.binary_cross_entropy, (draw((4, 3)), rng.uniform(size=(4, 3)), rng.uniform(0.5, 2.0, (4, 3))), {},
     lambda x, t, p: F.binary_cross_entropy_with_logits(x, t, pos_weight=p.detach(), reduction="none")),
    (nn.multi_margin, (draw((4, 3)), labels, classes), {},
     lambda x, y, w: F.multi_margin_loss(x, y, weight=w.detach(), reduction="none")),
    *((nn.triplet, tuple(draw((5, 3)) for _ in range(3)), {"p": p, "swap": swap},
       lambda a, n, f, p=p, swap=swap: F.triplet_margin_loss(a, n, f, p=p, eps=0.0, swap=swap, reduction="none"))
      for p, swap in ((2.0, False), (3.0, True))),
    (nn.triplet, tuple(draw((5, 3)) for _ in range(3)), {"distance": nn.cosine_similarity, "swap": True},
     lambda a, n, f: F.triplet_margin_with_distance_loss(
         a, n, f, distance_function=F.cosine_similarity, swap=True, reduction="none")),
    (nn.poisson_nll, (rng.uniform(0.5, 2.0, 5), np.arange(5.0)), {"log_input": False},
     lambda x, t: F.poisson_nll_loss(x, t, log_input=False, reduction="none")),
    (nn.kl_divergence, (np.log(rng.uniform(0.1, 1.0, (4, 3))), np.log(rng.uniform(0.1, 1.0, (4, 3)))),
     {"log_target": True}, lambda x, t: F.kl_div(x, t, reduction="none", log_target=True).sum(dim=1)),
    (nn.threshold_relu, (draw(9), 0.3), {"value": -2.0}, lambda x: F.threshold(x, 0.3, -2.0)),
    (nn.multi_head_attention, (q, k, v, *dense, mask), {"heads": 2}, heads),
    (nn.attention_weights, (draw((2, 3, 4, 5)), draw((2, 3, 6, 5))), {}, shares),
]  # fmt: skip
# PyTorch has no derivatives by the arguments behind these.
ACTIVE = {nn.cross_entropy: 1, nn.negative_log_likelihood: 1, nn.multi_margin: 1, nn.binary_cross_entropy: 2}


@pytest.mark.parametrize("row", ROWS, ids=[r[0].__name__ for r in ROWS])
def test_options_are_those_of_torch(row: Row) -> None:
    compare(*row, active=ACTIVE.get(row[0], len(row[1])))


@pytest.mark.parametrize("both_ways", [False, True])
@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU", "projected"])
def test_packed_sequences_are_those_of_torch(kind: str, both_ways: bool) -> None:
    """What is behind the end of a sequence is NaN, and counts nothing in value and gradients."""
    T, N, D, H, K, P = 6, 4, 4, 3, 2, 2
    lengths, ways, size = np.array([4, 6, 1, 5]), 2 if both_ways else 1, P if kind == "projected" else H
    name = "LSTM" if kind == "projected" else kind
    torch.manual_seed(5)
    options = {"proj_size": P} if kind == "projected" else {}
    theirs = getattr(torch.nn, name)(D, H, K, bidirectional=both_ways, dtype=torch.float64, **options)
    x, h, c = draw((T, N, D)), draw((K * ways, N, size)), draw((K * ways, N, H))
    states = (h, c) if name == "LSTM" else (h,)
    given = [torch.from_numpy(a.copy()).requires_grad_() for a in (x, *states)]
    packed = pack_padded_sequence(given[0], torch.from_numpy(lengths), enforce_sorted=False)
    out, last = theirs(packed, tuple(given[1:]) if name == "LSTM" else given[1])
    wanted = [pad_packed_sequence(out, total_length=T)[0], *(last if name == "LSTM" else (last,))]
    layers = tuple(layer_of([theirs.all_weights[k * ways + n] for n in range(ways)], kind, H) for k in range(K))
    for n, length in enumerate(lengths):
        x[length:, n] = np.nan
    operator = {"RNN": nn.rnn_layers, "LSTM": nn.lstm_layers, "GRU": nn.gru_layers}[name]
    value, pullback = operator.of(both_ways=both_ways).vjp(x, *states, layers, None, lengths)
    for got, want in zip(value, wanted, strict=True):
        np.testing.assert_allclose(got, want.detach(), rtol=1e-10, atol=1e-12)
    seeds = tuple(draw(v.shape) for v in value)
    first = [theirs.all_weights[0][0], theirs.all_weights[-1][1]]
    expected = torch.autograd.grad(wanted, [*given, *first], [torch.from_numpy(s) for s in seeds])
    found = pullback(seeds)
    low, top = found.layers[0][0], found.layers[-1][1]
    mine = [*list(found)[: len(given)], low[0] if both_ways else low, top[1] if both_ways else top]
    for got, want in zip(mine, expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-11)


def test_winners_of_windows_that_end_outside_are_in_the_same_places() -> None:
    for d, x in ((1, signal), (2, image), (3, volume)):
        _, found = getattr(F, f"max_pool{d}d")(torch.from_numpy(x), 3, 2, 1, ceil_mode=True, return_indices=True)
        np.testing.assert_array_equal(getattr(nn, f"max_places{d}d")(x, **CUT), found)


def test_losses_that_are_infinite_count_nothing() -> None:
    logs, labels = np.log(rng.dirichlet(np.ones(3), (2, 3))), np.array([[1, 1, 2], [1, 2, 1]])
    lengths, counts = np.array([3, 3]), np.array([3, 2])
    x = torch.from_numpy(logs).requires_grad_()
    wanted = F.ctc_loss(
        x.transpose(0, 1), *map(torch.from_numpy, (labels, lengths, counts)), reduction="none", zero_infinity=True
    )
    value, pullback = nn.ctc.of(zero_infinity=True).vjp(logs, labels, lengths, counts)
    np.testing.assert_allclose(value, wanted.detach(), rtol=1e-12)
    assert value[0] == 0.0
    (slope,) = torch.autograd.grad(wanted, x, torch.ones(2, dtype=torch.float64))
    assert not pullback(np.ones(2)).log_probabilities[0].any()
    assert not slope[0].any()
