from loopdiff.kernels.nn.convolution import conv2d
