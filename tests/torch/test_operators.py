"""Operators of the kernel library as functions of tensors, against PyTorch's own."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402

from loopdiff.kernels import nn  # noqa: E402


def test_operators_take_tensors() -> None:
    generator = torch.Generator().manual_seed(1)
    x, w, b = (
        torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True)
        for shape in ((2, 3, 7, 6), (4, 3, 3, 3), (4,))
    )
    mine = nn.softmax.torch(axis=1)(nn.conv2d.torch(padding=1, stride=2)(x, w, b))
    theirs = torch.softmax(F.conv2d(x, w, b, padding=1, stride=2), 1)
    torch.testing.assert_close(mine, theirs)
    seed = torch.randn(mine.shape, generator=generator, dtype=torch.float64)
    for got, want in zip(
        torch.autograd.grad(mine, (x, w, b), seed), torch.autograd.grad(theirs, (x, w, b), seed), strict=True
    ):
        torch.testing.assert_close(got, want)
