"""Small networks over many samples, and encodings of the numbers that they see."""

from loopdiff.kernels.networks.dense import mlp
from loopdiff.kernels.networks.positional import frequency_encoding, spherical_harmonics, triangle_encoding

__all__ = ["mlp", "frequency_encoding", "triangle_encoding", "spherical_harmonics"]
