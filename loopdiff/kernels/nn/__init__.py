from loopdiff.kernels.nn.convolution import conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, fold, unfold
from loopdiff.kernels.nn.pooling import (
    adaptive_max_pool2d,
    adaptive_mean_pool2d,
    lp_pool2d,
    max_pool1d,
    max_pool2d,
    mean_pool1d,
    mean_pool2d,
)
from loopdiff.kernels.nn.attention import attention
from loopdiff.kernels.nn.softmax import log_softmax, logsumexp, softmax, sparsemax
from loopdiff.kernels.nn.normalization import batch_norm, batch_norm_inference, group_norm, layer_norm, rms_norm
