"""Rows, groups of channels and batches brought to mean zero and variance one.

Variances are means of squared distances from the mean (not `E[x^2] - E[x]^2`, which cancels).
"""

from __future__ import annotations

import numpy as np

from loopdiff.kernels.checks import require_floats
from loopdiff.kernels.nn.rows import back_from_rows, rows_along
from loopdiff.kernels.operator import operator


def require_lengths(length, weight, bias):
    if weight is not None and weight.shape[0] != length:
        raise ValueError("`weight` has not as many numbers as there are places")
    if bias is not None and bias.shape[0] != length:
        raise ValueError("`bias` has not as many numbers as there are places")


@operator
def layer_norm(x, weight=None, bias=None, *, axis=-1, epsilon=1e-5):
    """Each row along an axis, `(x - mean) / sqrt(variance + epsilon) * weight + bias` (Ba, Kiros and Hinton, 2016).

    Args:
        x: An array with at least one axis.
        weight, bias: One number for each place of a row, or None.
        axis: The axis of the rows.
        epsilon: Added to variances.

    Returns:
        An array like `x`.

    Raises:
        ArgumentError: LD332 where lengths do not fit, or `x` holds integers.
    """
    require_floats(x)
    rows = rows_along(x, axis)
    L = rows.shape[1]
    require_lengths(L, weight, bias)
    y = np.empty_like(rows)
    for i in range(rows.shape[0]):
        total = 0.0
        for j in range(L):
            total += rows[i, j]
        mean = total / L
        squares = 0.0
        for j in range(L):
            squares += (rows[i, j] - mean) ** 2
        scale = 1.0 / np.sqrt(squares / L + epsilon)
        for j in range(L):
            value = (rows[i, j] - mean) * scale
            scaled = value if weight is None else value * weight[j]
            y[i, j] = scaled if bias is None else scaled + bias[j]
    return back_from_rows(y, x, axis)


@operator
def rms_norm(x, weight=None, *, axis=-1, epsilon=1e-6):
    """Each row along an axis by its root mean square, `x / sqrt(mean(x ** 2) + epsilon) * weight` (Zhang and Sennrich,
    2019). Arguments and result as of `layer_norm`."""
    require_floats(x)
    rows = rows_along(x, axis)
    L = rows.shape[1]
    require_lengths(L, weight, None)
    y = np.empty_like(rows)
    for i in range(rows.shape[0]):
        squares = 0.0
        for j in range(L):
            squares += rows[i, j] ** 2
        scale = 1.0 / np.sqrt(squares / L + epsilon)
        for j in range(L):
            y[i, j] = rows[i, j] * scale if weight is None else rows[i, j] * scale * weight[j]
    return back_from_rows(y, x, axis)


@operator
def group_norm(x, weight=None, bias=None, *, groups, epsilon=1e-5):
    """Groups of channels of each image, together (Wu and He, 2018). As many groups as channels: instance normalisation.

    Args:
        x: `(N, C, ...)`.
        weight, bias: One number for each channel, or None.
        groups: How many; they divide the channels.
        epsilon: Added to variances.

    Returns:
        An array like `x`.

    Raises:
        ArgumentError: LD332 where groups do not divide the channels, lengths do not fit, or `x` holds integers.
    """
    require_floats(x)
    N, C = x.shape[0], x.shape[1]
    require_lengths(C, weight, bias)
    if C % groups != 0:
        raise ValueError("`groups` must divide the channels")
    parts = x.reshape(N, groups, C // groups, -1)
    D, L = C // groups, parts.shape[3]
    y = np.empty_like(parts)
    for n in range(N):
        for g in range(groups):
            total = 0.0
            for d in range(D):
                for j in range(L):
                    total += parts[n, g, d, j]
            mean = total / (D * L)
            squares = 0.0
            for d in range(D):
                for j in range(L):
                    squares += (parts[n, g, d, j] - mean) ** 2
            scale = 1.0 / np.sqrt(squares / (D * L) + epsilon)
            for d in range(D):
                for j in range(L):
                    value = (parts[n, g, d, j] - mean) * scale
                    scaled = value if weight is None else value * weight[g * D + d]
                    y[n, g, d, j] = scaled if bias is None else scaled + bias[g * D + d]
    return y.reshape(x.shape)


@operator
def batch_norm(x, weight=None, bias=None, *, epsilon=1e-5):
    """Channels over the whole batch (Ioffe and Szegedy, 2015), as in training.

    Args:
        x: `(N, C, ...)`.
        weight, bias: One number for each channel, or None.
        epsilon: Added to variances.

    Returns:
        An array like `x`, and the means and the variances of the channels, `(C,)` each: running averages are the
        caller's.
    """
    require_floats(x)
    N, C = x.shape[0], x.shape[1]
    require_lengths(C, weight, bias)
    parts = x.reshape(N, C, -1)
    L = parts.shape[2]
    y = np.empty_like(parts)
    means, variances = np.empty(C, dtype=x.dtype), np.empty(C, dtype=x.dtype)
    for c in range(C):
        total = 0.0
        for n in range(N):
            for j in range(L):
                total += parts[n, c, j]
        mean = total / (N * L)
        squares = 0.0
        for n in range(N):
            for j in range(L):
                squares += (parts[n, c, j] - mean) ** 2
        means[c], variances[c] = mean, squares / (N * L)
        scale = 1.0 / np.sqrt(squares / (N * L) + epsilon)
        for n in range(N):
            for j in range(L):
                value = (parts[n, c, j] - mean) * scale
                scaled = value if weight is None else value * weight[c]
                y[n, c, j] = scaled if bias is None else scaled + bias[c]
    return y.reshape(x.shape), means, variances


@operator
def batch_norm_inference(x, mean, variance, weight=None, bias=None, *, epsilon=1e-5):
    """Channels by means and variances that are known: `(x - mean) / sqrt(variance + epsilon) * weight + bias`.

    Args:
        x: `(N, C, ...)`.
        mean, variance, weight, bias: One number for each channel; the last two may be None.
        epsilon: Added to variances.

    Returns:
        An array like `x`.
    """
    require_floats(x)
    N, C = x.shape[0], x.shape[1]
    require_lengths(C, weight, bias)
    require_lengths(C, mean, variance)
    parts = x.reshape(N, C, -1)
    y = np.empty_like(parts)
    for n in range(N):
        for c in range(C):
            scale = 1.0 / np.sqrt(variance[c] + epsilon)
            for j in range(parts.shape[2]):
                value = (parts[n, c, j] - mean[c]) * scale
                scaled = value if weight is None else value * weight[c]
                y[n, c, j] = scaled if bias is None else scaled + bias[c]
    return y.reshape(x.shape)


@operator
def local_response_norm(x, *, size, alpha=1e-4, beta=0.75, k=1.0):
    """Channels by a power of the sum of squares of those around them (Krizhevsky et al., 2012, section 3.3):
    `x / (k + alpha / size * squares) ** beta`.

    Args:
        x: `(N, C, ...)`, floats.
        size: How many channels are around one, itself among them: `size // 2` below it.
        alpha, beta, k: As above.

    Returns:
        An array like `x`.

    Raises:
        ArgumentError: LD332 where `size` is below 1, or `x` holds integers.
    """
    require_floats(x)
    if size < 1:
        raise ValueError("`size` is 1 or more")
    channels = x.reshape(x.shape[0], x.shape[1], -1)
    N, C, L = channels.shape
    y = np.empty_like(channels)
    for n in range(N):
        for c in range(C):
            for j in range(L):
                squares = 0.0
                for d in range(max(c - size // 2, 0), min(c - size // 2 + size, C)):
                    squares += channels[n, d, j] ** 2
                y[n, c, j] = channels[n, c, j] / (k + alpha / size * squares) ** beta
    return y.reshape(x.shape)
