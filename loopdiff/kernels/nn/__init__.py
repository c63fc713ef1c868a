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
    prelu,
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
    scatter_min,
    scatter_prod,
    segment_sum,
)
from loopdiff.kernels.nn.losses import (
    binary_cross_entropy,
    cross_entropy,
    cross_entropy_of_probabilities,
    ctc,
    focal_loss,
    gaussian_nll,
    hinge,
    huber,
    kl_divergence,
    margin_ranking,
    poisson_nll,
    triplet,
)
from loopdiff.kernels.nn.normalization import (
    batch_norm,
    batch_norm_inference,
    group_norm,
    layer_norm,
    local_response_norm,
    rms_norm,
)
from loopdiff.kernels.nn.padding import pad2d
from loopdiff.kernels.nn.pooling import (
    adaptive_max_pool2d,
    adaptive_mean_pool2d,
    lp_pool2d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
    mean_pool1d,
    mean_pool2d,
    mean_pool3d,
)
from loopdiff.kernels.nn.products import batched_matmul, bilinear, cosine_similarity, distances, unit_vectors
from loopdiff.kernels.nn.random_masks import dropout
from loopdiff.kernels.nn.recurrent import gru, linear_scan, lstm, rnn, selective_scan
from loopdiff.kernels.nn.resampling import (
    grid_sample,
    pixel_shuffle,
    pixel_unshuffle,
    resize_linear,
    rotate,
    upsample_nearest,
)
from loopdiff.kernels.nn.spectra import istft, mel_filters, stft

__all__ = [
    "relu", "relu6", "leaky_relu", "prelu", "elu", "celu", "selu", "threshold_relu", "gelu", "gelu_tanh", "sigmoid",
    "hard_sigmoid", "log_sigmoid", "tanh", "hard_tanh", "rational_tanh", "softplus", "softsign", "softshrink",
    "hardshrink", "tanhshrink", "silu", "hard_silu", "mish", "lisht", "log_cosh", "glu",
    "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "unfold", "fold",
    "max_pool1d", "max_pool2d", "mean_pool1d", "mean_pool2d", "lp_pool2d", "adaptive_mean_pool2d",
    "adaptive_max_pool2d", "max_pool3d", "mean_pool3d",
    "softmax", "log_softmax", "logsumexp", "sparsemax",
    "layer_norm", "rms_norm", "group_norm", "batch_norm", "batch_norm_inference", "local_response_norm",
    "batched_matmul", "bilinear", "unit_vectors", "cosine_similarity", "distances",
    "attention",
    "cross_entropy", "cross_entropy_of_probabilities", "binary_cross_entropy", "focal_loss", "huber", "kl_divergence",
    "hinge", "triplet", "ctc", "poisson_nll", "gaussian_nll", "margin_ranking",
    "pad2d", "upsample_nearest", "resize_linear", "pixel_shuffle", "pixel_unshuffle", "grid_sample", "rotate",
    "gather", "scatter_add", "scatter_mean", "scatter_max", "scatter_min", "scatter_prod", "segment_sum", "csr_matmul",
    "message_passing", "embedding_bag",
    "rnn", "lstm", "gru", "linear_scan", "selective_scan", "dropout",
    "stft", "istft", "mel_filters",
]  # fmt: skip
