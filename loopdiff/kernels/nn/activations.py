"""Activations, element by element, of numbers and of arrays of any shape.

At a kink each has the derivative of the branch that its definition takes there: `relu` has 0 at 0, as in JAX and
PyTorch. Formulas do not overflow: large numbers have finite values and derivatives.
"""

from __future__ import annotations

import math

import numpy as np

from loopdiff.kernels.operator import operator
from loopdiff.numpy_functions.special import expit, log_expit

SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772


@operator
def relu(x):
    """`max(x, 0)`, with derivative 0 at 0."""
    return np.where(x <= 0.0, 0.0, x)


@operator
def relu6(x):
    """`min(max(x, 0), 6)`, with derivative 0 at 0 and at 6."""
    return np.where(x <= 0.0, 0.0, np.where(x >= 6.0, 6.0, x))


@operator
def leaky_relu(x, slope=0.01):
    """`x` above zero, else `slope * x`; at 0 the derivative is `slope`."""
    return np.where(x > 0.0, x, slope * x)


@operator
def prelu(x, slopes):
    """`x` of `(N, C, ...)` above zero, else by the slope of its channel, `(C,)` (He et al., 2015); at 0 the derivative
    is that slope. Raises ArgumentError (LD332) where there is not one slope for each channel."""
    if slopes.shape[0] != x.shape[1]:
        raise ValueError("there is one slope for each channel")
    channels = x.reshape(x.shape[0], x.shape[1], -1)
    y = np.empty_like(channels)
    for n in range(channels.shape[0]):
        for c in range(channels.shape[1]):
            for j in range(channels.shape[2]):
                value = channels[n, c, j]
                y[n, c, j] = value if value > 0.0 else slopes[c] * value
    return y.reshape(x.shape)


@operator
def elu(x, alpha=1.0):
    """`x` above zero, else `alpha * (exp(x) - 1)` (Clevert et al., 2016)."""
    return np.where(x > 0.0, x, alpha * np.expm1(np.where(x > 0.0, 0.0, x)))


@operator
def celu(x, alpha=1.0):
    """`x` above zero, else `alpha * (exp(x / alpha) - 1)` (Barron, 2017)."""
    return np.where(x > 0.0, x, alpha * np.expm1(np.where(x > 0.0, 0.0, x) / alpha))


@operator
def selu(x):
    """`elu` scaled so that networks keep mean zero and variance one (Klambauer et al., 2017)."""
    return SELU_SCALE * np.where(x > 0.0, x, SELU_ALPHA * np.expm1(np.where(x > 0.0, 0.0, x)))


@operator
def threshold_relu(x, theta=1.0, *, value=0.0):
    """`x` above `theta`, else `value` (Konda et al., 2015). The derivative is 1 above `theta`, whatever the sign of
    `x`."""
    return np.where(x <= theta, value, x)


@operator
def gelu(x):
    """`x` by the normal distribution function of it (Hendrycks and Gimpel, 2016), exactly."""
    if np.ndim(x) == 0:
        return 0.5 * x * math.erfc(-x / math.sqrt(2.0))
    flat = x.reshape(-1)
    y = np.empty_like(flat)
    for i in range(flat.shape[0]):
        y[i] = 0.5 * flat[i] * math.erfc(-flat[i] / math.sqrt(2.0))
    return y.reshape(x.shape)


@operator
def gelu_tanh(x):
    """`gelu` by the hyperbolic tangent, as GPT-2 has it."""
    return 0.5 * x * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))


@operator
def gelu_sigmoid(x):
    """`gelu` by the logistic function, `x * sigmoid(1.702 * x)`, as its authors have it for speed."""
    return x * expit(1.702 * x)


@operator
def sigmoid(x):
    """`1 / (1 + exp(-x))`."""
    return expit(x)


@operator
def hard_sigmoid(x):
    """`x / 6 + 1 / 2` between -3 and 3, and 0 and 1 outside, with derivative 0 at both ends."""
    return np.where(x <= -3.0, 0.0, np.where(x >= 3.0, 1.0, x / 6.0 + 0.5))


@operator
def log_sigmoid(x):
    """`log(sigmoid(x))`."""
    return log_expit(x)


@operator
def tanh(x):
    """The hyperbolic tangent."""
    return np.tanh(x)


@operator
def hard_tanh(x, low=-1.0, high=1.0):
    """`x` between `low` and `high`, which it is outside, with derivative 0 at both."""
    return np.where(x <= low, low, np.where(x >= high, high, x))


@operator
def rational_tanh(x):
    """A rational approximation of `1.7159 * tanh(2 * x / 3)` (Anguita et al., 1993)."""
    y = np.where(abs(x) < 1e6, 2.0 * abs(x) / 3.0, 1e6)
    slope = (1.0 + y + 1.41645 * y**3) / (1.0 + y + y**2 + 1.41645 * y**4)
    return 1.7159 * np.where(abs(x) < 1e6, 2.0 * x / 3.0 * slope, np.sign(x))


@operator
def softplus(x):
    """`log(1 + exp(x))`."""
    return -log_expit(-x)


@operator
def softsign(x):
    """`x / (1 + abs(x))`."""
    return x / (1.0 + abs(x))


@operator
def softshrink(x, width=0.5):
    """`x` nearer to zero by `width`, and 0 within that distance, with derivative 0 at its ends."""
    return np.where(abs(x) <= width, 0.0, np.where(x > 0.0, x - width, x + width))


@operator
def hardshrink(x, width=0.5):
    """`x`, and 0 within `width` of zero, ends among it."""
    return np.where(abs(x) <= width, 0.0, x)


@operator
def tanhshrink(x):
    """`x - tanh(x)`."""
    return x - np.tanh(x)


@operator
def silu(x):
    """`x * sigmoid(x)`, also called swish (Ramachandran et al., 2017)."""
    return x * expit(x)


@operator
def hard_silu(x):
    """`x * hard_sigmoid(x)` (Howard et al., 2019)."""
    return np.where(x <= -3.0, 0.0, np.where(x >= 3.0, x, x * (x / 6.0 + 0.5)))


@operator
def mish(x):
    """`x * tanh(softplus(x))` (Misra, 2019)."""
    return x * np.tanh(-log_expit(-x))


@operator
def lisht(x):
    """`x * tanh(x)` (Roy et al., 2019)."""
    return x * np.tanh(x)


@operator
def log_cosh(x):
    """`log(cosh(x))`."""
    near = np.where(abs(x) < 1.0, x, 1.0)
    far = abs(x) + np.log1p(np.exp(-2.0 * abs(x))) - math.log(2.0)
    return np.where(abs(x) < 1.0, 0.5 * np.log1p(np.sinh(near) ** 2), far)


@operator
def glu(x, *, axis=-1):
    """One half of an array along an axis by the sigmoid of the other (Dauphin et al., 2017).

    Args:
        x: An array whose extent along the axis is even.
        axis: The axis that is halved.

    Returns:
        An array of half that extent.

    Raises:
        ArgumentError: LD320 where the extent is odd.
    """
    n = x.shape[axis]
    moved = np.moveaxis(x, axis, 0)
    return np.moveaxis(moved[: n // 2] * expit(moved[n // 2 :]), 0, axis)
