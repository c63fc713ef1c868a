"""Small networks over many samples: one loop, in which what is between two layers is a row."""

from __future__ import annotations

import numpy as np

from loopdiff.kernels.checks import require_floats
from loopdiff.kernels.nn.activations import relu
from loopdiff.kernels.operator import operator


@operator
def mlp(x, layers, *, activation=relu, last=None):
    """Dense layers one behind the other, sample by sample: `h = activation(w @ h + b)`.

    Nothing of the size of samples by width is made but the result; for derivatives the states between layers are kept,
    or computed again.

    Args:
        x: `(N, D)`, floats.
        layers: A tuple of pairs `(w, b)`, each of `(K, D)` and `(K,)`; `D` of a layer is `K` of the one before. It has
            one pair or more.
        activation: A function of a number, between layers.
        last: A function of a number behind the last layer, or None.

    Returns:
        `(N, K)`, `K` of the last layer.

    Raises:
        ArgumentError: LD332 where shapes do not fit, or `x` holds integers.
    """
    require_floats(x)
    width = x.shape[1]
    for w, b in layers:
        if w.shape[1] != width or b.shape[0] != w.shape[0]:
            raise ValueError("a layer is (K, D) and (K,), and D is how many numbers the one before gives")
        width = w.shape[0]
    y = np.empty((x.shape[0], layers[-1][0].shape[0]), dtype=x.dtype)
    for n in range(x.shape[0]):
        h = x[n]
        for k, (w, b) in enumerate(layers):
            new = np.empty(w.shape[0], dtype=x.dtype)
            for i in range(w.shape[0]):
                total = b[i]
                for j in range(w.shape[1]):
                    total += w[i, j] * h[j]
                if k < len(layers) - 1:
                    new[i] = activation(total)
                else:
                    new[i] = total if last is None else last(total)
            h = new
        y[n] = h
    return y
