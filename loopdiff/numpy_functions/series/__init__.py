"""Functions that are sums of powers and of waves: Fourier transforms, polynomials, Bessel functions."""
