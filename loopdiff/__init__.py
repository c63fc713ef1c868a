"""Source-to-source automatic differentiation of loop nests over NumPy arrays, compiled by Numba."""

from loopdiff.api import vectorize_grad
from loopdiff.calls.compiled import CompiledGradient
from loopdiff.calls.threads import set_num_threads
from loopdiff.differentiable import Differentiable
from loopdiff.errors import (
    ArgumentError,
    BackendError,
    DifferentiationError,
    InternalError,
    LoopdiffError,
    LoopdiffWarning,
    OutOfMemoryError,
    ScheduleError,
    UnsupportedLoopError,
)
from loopdiff.rules.definitions import nondifferentiable, rule
from loopdiff.rules.marks import stop_gradient
from loopdiff.testing import GradientCheckError, check_grads

__version__ = "0.1.0"

__all__ = [
    "vectorize_grad",
    "check_grads",
    "stop_gradient",
    "rule",
    "nondifferentiable",
    "set_num_threads",
    "Differentiable",
    "CompiledGradient",
    "LoopdiffError",
    "UnsupportedLoopError",
    "ArgumentError",
    "DifferentiationError",
    "ScheduleError",
    "BackendError",
    "OutOfMemoryError",
    "InternalError",
    "GradientCheckError",
    "LoopdiffWarning",
]


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
