"""Functions for SciPy's optimisers and solvers: one flat `float64` vector in; numbers, vectors and matrices out.

`scipy.optimize` knows no arrays of several axes, no trees and no named tuples. `value_and_grad` and `residuals` pack
what is optimised into a vector, and gradients and Jacobians with it; `vector_field` is for `scipy.integrate`. SciPy
itself is not imported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loopdiff.calls.bound_method import BoundMethod
from loopdiff.differentiable import Differentiable
from loopdiff.errors import NOWHERE, ArgumentError, DifferentiationError
from loopdiff.errors.codes import reject
from loopdiff.frontend.structures.given import flattened, of_leaves
from loopdiff.immutable import immutable

__all__ = ["Objective", "Residuals", "VectorField", "residuals", "value_and_grad", "vector_field"]

Vector = NDArray[np.float64]
Wrt = str | Sequence[str] | None


def value_and_grad(f: Callable[..., Any], *fixed: Any, wrt: Wrt = None, like: Any = None) -> Objective:
    """The value and the gradient of `f` as functions of one vector, for `scipy.optimize.minimize(..., jac=True)`.

    Args:
        f: A function made by `vectorize_grad` that returns a number, or with `has_aux` one before what else it returns.
        fixed: Its other arguments, in order. They are read at each call: arrays may be changed in between.
        wrt: The name of the parameter that the vector stands for, or several names. By default those that `f` was told
            to differentiate, or else its first.
        like: What these are like: an array, a number, or lists, dictionaries and records of them; of several parameters
            a tuple. Integers and what is no number in it are not optimised. By default an array of one axis.

    Raises:
        ArgumentError: LD360 if `f` was not made by `vectorize_grad`, or `like` is needed; LD301 for too many or too few
            arguments.
        DifferentiationError: LD401 for a name that is no parameter.
    """
    return Objective(function_of(f, fixed, wrt, like))


def residuals(f: Callable[..., Any], *fixed: Any, wrt: Wrt = None, like: Any = None) -> Residuals:
    """The array that `f` returns and its Jacobian as functions of one vector, for `scipy.optimize.least_squares` and
    `root`. Arguments and errors are those of `value_and_grad`."""
    return Residuals(function_of(f, fixed, wrt, like))


def vector_field(f: Callable[..., Any], *fixed: Any) -> VectorField:
    """The right side of `y' = f(t, y, *fixed)` and its Jacobian by `y`, for `scipy.integrate.solve_ivp`. Raises
    ArgumentError (LD360, LD301)."""
    names = names_of(f)
    if len(names) < 2:
        message = f"`{name_of(f)}` takes no time and state"
        raise ArgumentError(reject("LD301", message, NOWHERE, "write it as `def f(t, y, ...)`"))
    return VectorField(f, fixed)


# -- arguments -----------------------------------------------------------------------------------------------
@immutable
class Packing:
    """How values stand in a vector: `leaves` are those of the templates, None where a vector has `shapes` of them, each
    with its dtype."""

    leaves: tuple[Any, ...]
    spec: Any
    shapes: tuple[tuple[tuple[int, ...], np.dtype[Any]] | None, ...]

    @classmethod
    def like(cls, values: tuple[Any, ...]) -> Packing:
        leaves, spec = flattened(values)
        return cls(tuple(leaves), spec, tuple(map(shape_of, leaves)))

    @property
    def size(self) -> int:
        return sum(int(np.prod(s[0])) for s in self.shapes if s is not None)

    def packed(self, values: tuple[Any, ...]) -> Vector:
        """What is in `values`, or zeros where they have nothing, as one vector."""
        leaves, _ = flattened(values)
        if len(leaves) != len(self.shapes):
            message = (
                f"parameters of {len(leaves)} parts are not like those of {len(self.shapes)} that were given first"
            )
            raise ArgumentError(reject("LD360", message, NOWHERE))
        parts = [self.part(leaf, s) for leaf, s in zip(leaves, self.shapes, strict=True) if s is not None]
        return np.concatenate(parts) if parts else np.zeros(0)

    @staticmethod
    def part(leaf: Any, kind: tuple[tuple[int, ...], np.dtype[Any]]) -> Vector:
        if leaf is None:
            return np.zeros(int(np.prod(kind[0])))
        found = np.asarray(leaf, np.float64)
        if found.shape != kind[0]:
            message = f"a parameter of shape {found.shape} should have {kind[0]}"
            raise ArgumentError(reject("LD360", message, NOWHERE))
        return found.ravel()

    def unpacked(self, vector: Vector, *, is_direction: bool = False) -> tuple[Any, ...]:
        """The values that stand in a vector, as new arrays; a direction has None for what is not in it."""
        vector = np.asarray(vector, np.float64)
        if vector.shape != (self.size,):
            message = f"the parameters are a vector of {self.size} numbers, not of shape {vector.shape}"
            raise ArgumentError(reject("LD360", message, NOWHERE))
        sizes = [0 if s is None else int(np.prod(s[0])) for s in self.shapes]
        ends = pairwise(accumulate(sizes, initial=0))
        return of_leaves(
            self.spec,
            [
                (None if is_direction else leaf) if s is None else value_of(vector[begin:end], *s)
                for leaf, s, (begin, end) in zip(self.leaves, self.shapes, ends, strict=True)
            ],
        )


def shape_of(leaf: Any) -> tuple[tuple[int, ...], np.dtype[Any]] | None:
    """Of a floating number or an array of them; None of anything else."""
    if isinstance(leaf, float):
        return (), np.dtype(np.float64)
    if isinstance(leaf, np.ndarray | np.generic) and np.issubdtype(leaf.dtype, np.floating):
        return leaf.shape, leaf.dtype
    return None


def value_of(part: Vector, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    return dtype.type(part[0]) if shape == () else part.astype(dtype).reshape(shape)


@immutable
class OfVector:
    """A function with the parameters `names` in a vector, and the others `fixed`, which stand at those `places` among
    its arguments. Without a `packing` the one parameter is the vector."""

    f: Differentiable[Any, Any]
    names: tuple[str, ...]
    fixed: tuple[Any, ...]
    places: tuple[int, ...]
    packing: Packing | None

    def packing_for(self, vector: Vector) -> Packing:
        return self.packing or Packing.like((np.asarray(vector, np.float64),))

    def unpacked(self, vector: Vector) -> tuple[Any, ...]:
        return (np.array(vector, np.float64),) if self.packing is None else self.packing.unpacked(vector)

    def arguments(self, vector: Vector) -> tuple[Any, ...]:
        """Those of the function, in order."""
        known = (*self.unpacked(vector), *self.fixed)
        return tuple([known[k] for k in self.places])

    def direction(self, vector: Vector) -> dict[str, Any]:
        """A vector as directions of the parameters."""
        return dict(zip(self.names, self.packing_for(vector).unpacked(vector, is_direction=True), strict=True))

    def flat(self, vector: Vector, record: Any) -> Vector:
        """What a record has for the parameters, as a vector."""
        if self.packing is None:
            return np.asarray(getattr(record, self.names[0]), np.float64)
        return self.packing_for(vector).packed(tuple(getattr(record, n) for n in self.names))


def names_of(f: Callable[..., Any]) -> tuple[str, ...]:
    if not isinstance(f, Differentiable | BoundMethod):
        message = f"`loopdiff.scipy` takes functions made by `vectorize_grad`, not {f!r}"
        raise ArgumentError(reject("LD360", message, NOWHERE, "decorate it with `@vectorize_grad`"))
    return tuple(f.signature.parameters)


def name_of(f: Callable[..., Any]) -> str:
    return getattr(f, "__name__", repr(f))


def function_of(f: Any, fixed: tuple[Any, ...], wrt: Wrt, like: Any) -> OfVector:
    known = names_of(f)
    chosen = (wrt,) if isinstance(wrt, str) else tuple(wrt or f.requested or known[:1])
    for name in chosen:
        if name not in known:
            message = f"`wrt` names {name!r}, which is no argument of `{f.__name__}`"
            raise DifferentiationError(reject("LD401", message, NOWHERE))
    others = [n for n in known if n not in chosen]
    needed = [n for n in others if f.signature.parameters[n].default is f.signature.empty]
    if not len(needed) <= len(fixed) <= len(others):
        wanted = ", ".join(f"`{n}`" for n in others) or "none"
        message = f"`{f.__name__}` has other arguments than these {len(fixed)}: {wanted}"
        raise ArgumentError(reject("LD301", message, NOWHERE))
    if like is None and len(chosen) > 1:
        message = "several parameters in one vector need `like`"
        raise ArgumentError(reject("LD360", message, NOWHERE, f"like=({', '.join(chosen)}), with their first values"))
    values = None if like is None else (like,) if len(chosen) == 1 else tuple(like)
    packing = None if values is None else Packing.like(values)
    given = [*chosen, *others[: len(fixed)]]
    return OfVector(f, chosen, fixed, tuple(given.index(n) for n in known if n in given), packing)


# -- what SciPy calls ----------------------------------------------------------------------------------------
class Packed:
    """What objectives and residuals have in common: parameters as a vector, and back."""

    def __init__(self, function: OfVector) -> None:
        self.function = function

    def pack(self, *values: Any) -> Vector:
        """Parameters as one vector: where an optimiser begins. Raises ArgumentError (LD360)."""
        packing = self.function.packing
        return (Packing.like(values) if packing is None else packing).packed(values)

    def unpack(self, vector: Vector) -> Any:
        """The parameters that stand in a vector, as they were given: a tuple if there are several. Raises ArgumentError
        (LD360)."""
        found = self.function.unpacked(vector)
        return found[0] if len(found) == 1 else tuple(found)


class Objective(Packed):
    """A function of a vector: calling it gives the value and the gradient, as `minimize(..., jac=True)` wants them.

    `fun` and `jac` are one of the two, `hvp(vector, direction)` is for `hessp=`, `hess` for `hess=`.
    """

    def __call__(self, vector: Vector) -> tuple[float, Vector]:
        value, found = self.function.f.value_and_grad(*self.function.arguments(vector))
        return self.loss(value), self.function.flat(vector, found)

    def fun(self, vector: Vector) -> float:
        return self.loss(self.function.f(*self.function.arguments(vector)))

    def loss(self, value: Any) -> float:
        """What is minimised, of what the function returns."""
        return float(value[0] if self.function.f.options.has_aux else value)

    def jac(self, vector: Vector) -> Vector:
        return self(vector)[1]

    def hvp(self, vector: Vector, direction: Vector) -> Vector:
        """The Hessian times a direction."""
        function = self.function
        *_, products = function.f.hvp(function.arguments(vector), function.direction(direction))
        return function.flat(vector, products)

    def hess(self, vector: Vector) -> NDArray[np.float64]:
        """The Hessian, a column for each run of `hvp`."""
        size = np.size(vector)
        columns = [self.hvp(vector, unit) for unit in np.eye(size)]
        found = np.stack(columns, axis=1) if columns else np.zeros((0, 0))
        return 0.5 * (found + found.T)


class Residuals(Packed):
    """An array as a function of a vector, itself as one; `jac` is its Jacobian, with a row for each residual."""

    def __call__(self, vector: Vector) -> Vector:
        return np.asarray(self.function.f(*self.function.arguments(vector)), np.float64).ravel()

    def jac(self, vector: Vector) -> NDArray[np.float64]:
        """In forward or reverse mode, whichever takes fewer runs."""
        function, size = self.function, np.size(vector)
        arguments = function.arguments(vector)
        value, pullback = function.f.vjp(*arguments)
        value = np.asarray(value)
        found = np.zeros((value.size, size))
        if value.size <= size:
            for row, unit in enumerate(np.eye(value.size, dtype=value.dtype)):
                seed = unit.reshape(value.shape) if value.shape else unit[0]
                found[row] = function.flat(vector, pullback(seed))
        else:
            for column, unit in enumerate(np.eye(size)):
                _, tangents = function.f.jvp(function.arguments(vector), function.direction(unit))
                found[:, column] = np.ravel(tangents.result)
        return found


class VectorField:
    """The right side of an ordinary differential equation, `field(t, y)`, and `field.jac(t, y)`."""

    def __init__(self, f: Any, fixed: tuple[Any, ...]) -> None:
        self.f, self.fixed = f, fixed
        self.state = names_of(f)[1]
        function_of(f, (0.0, *fixed), self.state, None)  # which refuses other arguments

    def __call__(self, t: float, y: Vector) -> Vector:
        return np.asarray(self.f(float(t), np.array(y, np.float64), *self.fixed), np.float64)

    def jac(self, t: float, y: Vector) -> NDArray[np.float64]:
        """The derivative of the right side by the state, with a row for each of its numbers."""
        return Residuals(function_of(self.f, (float(t), *self.fixed), self.state, None)).jac(y)
