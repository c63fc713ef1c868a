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
    *((nn.grid_sample3d, (volume, rng.uniform(-1.3, 1.3, (2, 2, 3, 2, 3))), {"border": border, "align_corners": align},
       lambda x, g, border=border, align=align: F.grid_sample(
           x, g, padding_mode="border" if border else "zeros", align_corners=align))
      for border in (False, True) for align in (False, True)),
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


@pytest.mark.parametrize(("operator", "arguments", "options", "theirs"), ROWS, ids=[r[0].__name__ for r in ROWS])
def test_counterparts_are_those_of_torch(
    operator: Operator, arguments: tuple[Any, ...], options: dict[str, Any], theirs: Any
) -> None:
    given = [torch.from_numpy(a.copy()).requires_grad_(a.dtype.kind == "f") for a in arguments]
    wanted = theirs(*given)
    value, pullback = operator.of(**options).vjp(*arguments)
    np.testing.assert_allclose(value, wanted.detach(), rtol=1e-10, atol=1e-12)
    seed = draw(value.shape)
    active = [t for t in given if t.requires_grad]
    expected = torch.autograd.grad(wanted, active, torch.from_numpy(seed))
    for got, want in zip([g for g in pullback(seed) if g is not None], expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-11)


def test_winners_are_in_the_same_places() -> None:
    _, places = F.max_pool2d(torch.from_numpy(image), 3, 2, 1, return_indices=True)
    np.testing.assert_array_equal(nn.max_places2d(image, window=3, stride=2, padding=1), places)
