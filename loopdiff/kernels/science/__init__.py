"""Operators of computational science: systems of equations, interpolation, integration, sequences, particles, grids."""

from loopdiff.kernels.science.conjugate_gradients import conjugate_gradients
from loopdiff.kernels.science.integration import adaptive_dormand_prince, runge_kutta
from loopdiff.kernels.science.interpolation import (
    cubic_interpolation1d,
    cubic_interpolation2d,
    cubic_interpolation3d,
    linear_interpolation1d,
    linear_interpolation2d,
    linear_interpolation3d,
)
from loopdiff.kernels.science.particles import coulomb, lennard_jones, neighbour_list
from loopdiff.kernels.science.sequences import smith_waterman, soft_dtw
from loopdiff.kernels.science.splines import b_spline, cubic_spline
from loopdiff.kernels.science.stencils import stencil1d, stencil2d, stencil_steps2d
from loopdiff.kernels.science.systems import banded_solve, csr_triangular_solve, tridiagonal_solve

__all__ = [
    "tridiagonal_solve", "banded_solve", "csr_triangular_solve", "conjugate_gradients",
    "linear_interpolation1d", "linear_interpolation2d", "linear_interpolation3d",
    "cubic_interpolation1d", "cubic_interpolation2d", "cubic_interpolation3d",
    "b_spline", "cubic_spline",
    "runge_kutta", "adaptive_dormand_prince",
    "soft_dtw", "smith_waterman",
    "neighbour_list", "lennard_jones", "coulomb",
    "stencil1d", "stencil2d", "stencil_steps2d",
]  # fmt: skip
