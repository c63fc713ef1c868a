"""The parameters of a small network in one buffer, and the views of it that its layers are."""

from __future__ import annotations

import numpy as np

from loopdiff.kernels.networks.dense import mlp
from loopdiff.kernels.nn.activations import relu
from loopdiff.kernels.operator import operator


@operator
def pack(layers):
    """The numbers of dense layers one behind the other: of each the rows of `w`, then `b`.

    Args:
        layers: A tuple of pairs `(w, b)`, floats, each of `(K, D)` and `(K,)`, one pair or more.

    Returns:
        `(P,)`, all of them; `unpack` has the views of it, and `layers` have its derivatives.

    Raises:
        ArgumentError: LD332 where the shapes of a pair do not fit.
    """
    count = 0
    for w, b in layers:
        if b.shape[0] != w.shape[0]:
            raise ValueError("a layer is (K, D) and (K,)")
        count += w.shape[0] * w.shape[1] + b.shape[0]
    buffer = np.empty(count, dtype=layers[0][0].dtype)
    start = 0
    for w, b in layers:
        for i in range(w.shape[0]):
            for j in range(w.shape[1]):
                buffer[start + i * w.shape[1] + j] = w[i, j]
        start += w.shape[0] * w.shape[1]
        for i in range(b.shape[0]):
            buffer[start + i] = b[i]
        start += b.shape[0]
    return buffer


def unpack(buffer, widths):
    """The layers of a network with so many numbers between its layers, `widths`, as views of the `buffer` that `pack`
    makes: a tuple of pairs `(w, b)`. A block of rows and columns of a layer is a view as well, `w[2:4, :8]`.

    NumPy arrays have views of the same memory; decorated functions may call it, too, and derivatives go to the buffer.
    """
    layers = ()
    start = 0
    for k, rows in enumerate(widths[1:]):
        columns = widths[k]
        w = buffer[start : start + rows * columns].reshape(rows, columns)
        start += rows * columns
        layers = (*layers, (w, buffer[start : start + rows]))
        start += rows
    return layers


@operator
def packed_mlp(x, buffer, *, widths, activation=relu, last=None):
    """`mlp` with its layers in one buffer, whose gradient is one array of the same layout.

    Args:
        x: `(N, widths[0])`, floats.
        buffer: `(P,)`, what `pack` makes of layers that take and give as many numbers as `widths` says.
        widths: How many numbers `x` has, each layer gives, and the last one.
        activation, last: As of `mlp`.

    Returns:
        `(N, widths[-1])`.

    Raises:
        ArgumentError: LD332 where shapes do not fit, or `x` holds integers.
    """
    if buffer.shape[0] != sum(rows * (widths[k] + 1) for k, rows in enumerate(widths[1:])):
        raise ValueError("the buffer holds `w` and `b` of each layer")
    return mlp(x, unpack(buffer, widths), activation=activation, last=last)
