"""Sums over windows that slide over images, with filters whose extents are arguments."""

from __future__ import annotations

import numpy as np

from tests.corpus.entry import Entry


def depthwise_convolution(x, w, bias, y):
    C, R, S = w.shape
    for c in range(C):
        for p in range(x.shape[1] - R + 1):
            for q in range(x.shape[2] - S + 1):
                y[c, p, q] = bias[c]
                for r in range(R):
                    for s in range(S):
                        y[c, p, q] += x[c, p + r, q + s] * w[c, r, s]


def shifted_sums(xp, x, w, take=lambda part: part):
    """The sum over the elements of a filter of its product with what `take` makes of the part of the image there."""
    R, S = w.shape[-2:]
    P, Q = x.shape[-2] - R + 1, x.shape[-1] - S + 1
    parts = [w[..., r, s, None, None] * take(x[..., r : r + P, s : s + Q]) for r in range(R) for s in range(S)]
    return sum(parts[1:], parts[0])


def sharpness(image, filter, target):
    """How far a filtered image is from another one."""
    R, S = filter.shape
    H, W = image.shape
    filtered = np.zeros((H - R + 1, W - S + 1), dtype=image.dtype)
    for r in range(R):
        for s in range(S):
            for p in range(H - R + 1):
                for q in range(W - S + 1):
                    filtered[p, q] += image[p + r, q + s] * filter[r, s]
    total = 0.0
    for p in range(H - R + 1):
        for q in range(W - S + 1):
            total += (filtered[p, q] - target[p, q]) ** 2
    return total


def local_energy(x, w, y):
    """The energy of a signal around each place, weighted by a window; one filter for all channels."""
    R, S = w.shape
    for c in range(x.shape[0]):
        for p in range(x.shape[1] - R + 1):
            for q in range(x.shape[2] - S + 1):
                y[c, p, q] = 0.0
                for r in range(R):
                    for s in range(S):
                        y[c, p, q] += w[r, s] * x[c, p + r, q + s] ** 2


def spread_by_filter(x, w, y):
    """A convolution transposed: every pixel adds a filter to those around it."""
    R, S = w.shape
    for p in range(y.shape[0] - R + 1):
        for q in range(y.shape[1] - S + 1):
            for r in range(R):
                for s in range(S):
                    y[p + r, q + s] += x[p, q] * w[r, s]


def spread_oracle(xp, x, w, y):
    R, S = w.shape
    for r in range(R):
        for s in range(S):
            y = y + xp.pad(x * w[r, s], ((r, R - 1 - r), (s, S - 1 - s)))
    return {"y": y}


LARGE = dict(S=dict(C=64, P=56, Q=56), M=dict(C=256, P=112, Q=112))
IMAGE = dict(S=dict(P=512, Q=512), M=dict(P=2048, Q=2048))

ENTRIES = (
    Entry(
        name="depthwise_convolution",
        function=depthwise_convolution,
        make=lambda r, C=2, P=5, Q=7, R=3, S=2: dict(
            x=r.standard_normal((C, P + R - 1, Q + S - 1)), w=r.standard_normal((C, R, S)),
            bias=r.standard_normal(C), y=np.zeros((C, P, Q)),
        ),
        wrt=("x", "w", "bias"),
        outputs=("y",),
        oracle=lambda xp, x, w, bias, y: {"y": shifted_sums(xp, x, w) + bias[:, None, None]},
        is_twin=True,
        is_analytic=True,
        sizes=LARGE,
        notes="the second layer of a block of MobileNet",
    ),
    Entry(
        name="sharpness",
        function=sharpness,
        make=lambda r, P=6, Q=9, R=2, S=3: dict(
            image=r.standard_normal((P + R - 1, Q + S - 1)), filter=r.standard_normal((R, S)),
            target=r.standard_normal((P, Q)),
        ),
        wrt=("image", "filter"),
        oracle=lambda xp, image, filter, target: {"result": xp.sum((shifted_sums(xp, image, filter) - target) ** 2)},
        is_twin=True,
        is_analytic=True,
        sizes=IMAGE,
        notes="a filter that is fitted to pairs of images",
    ),
    Entry(
        name="local_energy",
        function=local_energy,
        make=lambda r, C=2, P=4, Q=6, R=2, S=3: dict(
            x=r.standard_normal((C, P + R - 1, Q + S - 1)), w=r.random((R, S)), y=np.zeros((C, P, Q))
        ),
        wrt=("x", "w"),
        outputs=("y",),
        oracle=lambda xp, x, w, y: {"y": shifted_sums(xp, x, w, xp.square)},
        is_twin=True,
        is_analytic=True,
        sizes=LARGE,
        notes="local contrast, as in structural similarity (SSIM)",
    ),
    Entry(
        name="spread_by_filter",
        function=spread_by_filter,
        make=lambda r, P=5, Q=8, R=3, S=2: dict(
            x=r.standard_normal((P, Q)), w=r.standard_normal((R, S)), y=r.standard_normal((P + R - 1, Q + S - 1))
        ),
        wrt=("x", "w", "y"),
        outputs=("y",),
        oracle=spread_oracle,
        is_twin=True,
        is_analytic=True,
        sizes=IMAGE,
        notes="splatting, and transposed convolutions of one channel",
    ),
)  # fmt: skip
