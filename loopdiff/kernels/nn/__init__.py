"""Operators of neural networks. What each computes, takes and refuses is said in its docstring."""

from loopdiff.kernels.nn.activations import (
    celu,
    elu,
    gelu,
    gelu_tanh,
    glu,
    hard_sigmoid,
    hard_silu,
    hard_tanh,
    hardshrink,
    leaky_relu,
    lisht,
    log_cosh,
    log_sigmoid,
    mish,
    rational_tanh,
    relu,
    relu6,
    selu,
    sigmoid,
    silu,
    softplus,
    softshrink,
    softsign,
    tanh,
    tanhshrink,
    threshold_relu,
)
from loopdiff.kernels.nn.convolution import conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, fold, unfold
from loopdiff.kernels.nn.exponentials import log_softmax, logsumexp, softmax, sparsemax
from loopdiff.kernels.nn.heads import attention
from loopdiff.kernels.nn.indexing import (
    csr_matmul,
    embedding_bag,
    gather,
    message_passing,
    scatter_add,
    scatter_max,
    scatter_mean,
    scatter_prod,
    segment_sum,
)
from loopdiff.kernels.nn.losses import (
    binary_cross_entropy,
    cross_entropy,
    cross_entropy_of_probabilities,
    ctc,
    focal_loss,
    hinge,
    huber,
    kl_divergence,
    triplet,
)
from loopdiff.kernels.nn.normalization import batch_norm, batch_norm_inference, group_norm, layer_norm, rms_norm
from loopdiff.kernels.nn.padding import pad2d
from loopdiff.kernels.nn.pooling import (
    adaptive_max_pool2d,
    adaptive_mean_pool2d,
    lp_pool2d,
    max_pool1d,
    max_pool2d,
    mean_pool1d,
    mean_pool2d,
)
from loopdiff.kernels.nn.random_masks import dropout
from loopdiff.kernels.nn.recurrent import gru, linear_scan, lstm, rnn, selective_scan
from loopdiff.kernels.nn.resampling import grid_sample, pixel_shuffle, resize_linear, rotate, upsample_nearest

__all__ = [
    "relu", "relu6", "leaky_relu", "elu", "celu", "selu", "threshold_relu", "gelu", "gelu_tanh", "sigmoid",
    "hard_sigmoid", "log_sigmoid", "tanh", "hard_tanh", "rational_tanh", "softplus", "softsign", "softshrink",
    "hardshrink", "tanhshrink", "silu", "hard_silu", "mish", "lisht", "log_cosh", "glu",
    "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "unfold", "fold",
    "max_pool1d", "max_pool2d", "mean_pool1d", "mean_pool2d", "lp_pool2d", "adaptive_mean_pool2d",
    "adaptive_max_pool2d",
    "softmax", "log_softmax", "logsumexp", "sparsemax",
    "layer_norm", "rms_norm", "group_norm", "batch_norm", "batch_norm_inference",
    "attention",
    "cross_entropy", "cross_entropy_of_probabilities", "binary_cross_entropy", "focal_loss", "huber", "kl_divergence",
    "hinge", "triplet", "ctc",
    "pad2d", "upsample_nearest", "resize_linear", "pixel_shuffle", "grid_sample", "rotate",
    "gather", "scatter_add", "scatter_mean", "scatter_max", "scatter_prod", "segment_sum", "csr_matmul",
    "message_passing", "embedding_bag",
    "rnn", "lstm", "gru", "linear_scan", "selective_scan", "dropout",
]  # fmt: skip
