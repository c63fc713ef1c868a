"""Small networks over many samples, and encodings of the numbers that they see."""

from loopdiff.kernels.networks.dense import mlp
from loopdiff.kernels.networks.packing import pack, packed_mlp
from loopdiff.kernels.networks.packing import unpack as unpack
from loopdiff.kernels.networks.positional import (
    fourier_features,
    frequency_encoding,
    spherical_harmonics,
    triangle_encoding,
)

__all__ = [
    "mlp", "pack", "packed_mlp",
    "frequency_encoding", "triangle_encoding", "fourier_features", "spherical_harmonics",
]  # fmt: skip
