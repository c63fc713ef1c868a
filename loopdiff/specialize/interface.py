"""What a caller passes and gets, where the compiled code is real throughout: complex values in one piece, and
derivatives of halves, which are float32 there, in the type of these, rounded once.

Derivatives by complex values are JAX's. With z = x + iy the gradient of a real u is du/dx - i du/dy, so that
du = Re(gradient * dz); cotangents of complex outputs pair in the same way. Compiled code differentiates by the two
parts: conjugation on the way in and out is all the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.codec import known
from loopdiff.ir.types import C64, ArrayType, ScalarType
from loopdiff.ir.typing import type_env, type_of
from loopdiff.specialize.gradients import record_type

ValueType = ScalarType | ArrayType
MANY = 4096  # elements for which it pays to load a function
COMPLEX_DTYPES = {np.dtype(np.float32): np.dtype(np.complex64), np.dtype(np.float64): np.dtype(np.complex128)}


@known
@immutable
class Interface:
    """Parameters and results as the caller sees them.

    `types` by parameter, `results` the types of the results; `parts` are the parameters of the LoopSet that each of the
    caller's becomes, two for a complex scalar. `is_gradient`: complex results are gradients.
    """

    types: Mapping[str, ValueType]
    results: tuple[ValueType, ...]
    returns_tuple: bool
    parts: Mapping[str, tuple[str, ...]]
    is_gradient: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.types)

    @property
    def params(self) -> tuple[str, ...]:
        return self.expanded(self.names)

    @property
    def is_real(self) -> bool:
        return not any(is_complex(kind) for kind in (*self.types.values(), *self.results))

    @property
    def is_direct(self) -> bool:
        """Whether values, and derivatives, are the caller's as compiled code has them."""
        return self.is_real and not any(map(is_half, (*self.types.values(), *self.results)))

    @property
    def number(self) -> ScalarType | None:
        """The type of the one real number that the function returns; None if it returns anything else."""
        match self.results:
            case (ScalarType.F32 | ScalarType.F64 as kind,) if self.is_real and not self.returns_tuple:
                return kind
            case _:
                return None

    def expanded(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The parameters of the LoopSet for those of the caller."""
        return tuple(part for name in names for part in self.parts[name])

    def gathered(self, params: tuple[str, ...]) -> tuple[str, ...]:
        """The parameters of the caller for those of the LoopSet, in their order."""
        owners = {part: name for name, parts in self.parts.items() for part in parts}
        return tuple(dict.fromkeys(owners[p] for p in params))

    def of_gradient(self, wrt: tuple[str, ...], has_value: bool) -> Interface:
        """The interface of the gradient by `wrt`, after the value if that comes with it."""
        results = (*(self.results if has_value else ()), *(self.types[n] for n in wrt))
        return replace(self, results=results, returns_tuple=True, is_gradient=True)

    def arguments(self, args: Iterable[Any]) -> dict[str, Any]:
        """The caller's arguments by name, from those of the compiled code."""
        flat = iter(args)
        return {name: whole(kind, flat) for name, kind in self.types.items()}

    def own_results(self, found: Iterable[Any]) -> tuple[Any, ...]:
        """The function's own results, from those of the compiled code."""
        return self.maker_of_results(found)

    @property
    def maker_of_results(self) -> Callable[[Iterable[Any]], tuple[Any, ...]]:
        """Makes `own_results`: what it does is decided once."""
        return in_one_piece(tuple, self.results, self.is_gradient)

    def maker_of_result(self, record: type[tuple[Any, ...]] | None) -> Callable[[Iterable[Any]], Any]:
        """Makes what the function returns, a `record` if it names one, from the results of the compiled code."""
        if self.returns_tuple:
            return in_one_piece(record or tuple, self.results, self.is_gradient)
        make = self.maker_of_results
        return lambda flat: make(flat)[0]

    def finish(
        self, kinds: tuple[ValueType, ...], record: type[tuple[Any, ...]] | None
    ) -> Callable[[Any], Any] | None:  # fmt: skip
        """The same from what the compiled code returns, values of `kinds`: Numba returns float32 as float. None where
        nothing is to be done."""
        is_narrow = ScalarType.F32 in kinds
        if not kinds or (self.is_direct and not is_narrow and record is None):
            return None
        if self.is_direct and not self.returns_tuple:
            return np.float32
        make, is_tuple = self.maker_of_result(record), len(kinds) > 1 or self.returns_tuple
        if not is_narrow:
            return lambda value: make(value if is_tuple else (value,))
        casts = [np.float32 if kind is ScalarType.F32 else None for kind in kinds]
        return lambda value: make(
            [v if cast is None else cast(v) for cast, v in zip(casts, value if is_tuple else (value,), strict=True)]
        )

    def seed_parts(self, kind: ValueType, seed: Any) -> tuple[Any, ...]:
        """What the reverse sweep takes for the seed of a result of `kind`."""
        return in_parts(kind, seed if self.is_gradient else conjugated(seed))

    def maker_of_gradients(self, wrt: tuple[str, ...]) -> Callable[[Iterable[Any]], tuple[Any, ...]]:
        """Makes a record of gradients by the caller's parameters, of those by the parameters `wrt` of the LoopSet."""
        names = self.gathered(wrt)
        return in_one_piece(record_type("Gradients", names), [self.types[n] for n in names], True)


def in_one_piece(
    record: type[tuple[Any, ...]], kinds: Sequence[ValueType], is_gradient: bool
) -> Callable[[Iterable[Any]], tuple[Any, ...]]:
    """What makes a `record` of values of `kinds`, conjugated if it `is_gradient`, from those of the real code."""
    makers = [maker_of(kind, is_gradient) for kind in kinds]

    def make(found: Iterable[Any]) -> tuple[Any, ...]:
        flat = iter(found)
        return tuple.__new__(record, [make_one(flat) for make_one in makers])

    return make


def maker_of(kind: ValueType, is_gradient: bool) -> Callable[[Iterator[Any]], Any]:
    """What makes a value of `kind` of the next values of the real code."""
    if not is_complex(kind):
        return partial(whole, kind) if is_half(kind) else next
    if not is_gradient:
        return partial(whole, kind)
    if isinstance(kind, ArrayType):
        return conjugated_array
    return lambda flat: conjugated(whole(kind, flat))


def conjugated_array(flat: Iterator[Any]) -> Any:
    """The next array of pairs as one of complex numbers, conjugated in place. None, for no derivative, stays None."""
    parts = next(flat)
    if parts is None:
        return None
    numbers = complex_numbers(parts)
    return np.conjugate(numbers, out=numbers)


def interface_of(bound: ir.LoopSet, real: ir.LoopSet) -> Interface:
    """The interface of the LoopSet `bound`, which has complex types, over the `real` one made of it."""
    env = type_env(bound)
    types: dict[str, ValueType] = {n: env.arrays[n] if n in env.arrays else env.scalars[n] for n in bound.params}
    results = tuple(
        type_of(r.value, env) if isinstance(r, ir.ScalarResult) else env.arrays[r.array] for r in bound.results
    )
    rest = iter(real.params)
    parts = {n: tuple(next(rest) for _ in range(count_of_parts(kind))) for n, kind in types.items()}
    return Interface(types, results, bound.returns_tuple, parts)


def is_complex(kind: ValueType) -> bool:
    return (kind.element if isinstance(kind, ArrayType) else kind).is_complex


def is_half(kind: ValueType) -> bool:
    return isinstance(kind, ArrayType) and kind.is_half


def count_of_parts(kind: ValueType) -> int:
    """How many values of the real code stand for one of `kind`: two for a complex scalar."""
    return 2 if isinstance(kind, ScalarType) and kind.is_complex else 1


def as_pairs(z: np.ndarray) -> np.ndarray:
    """The memory of a complex array as a real one with one more axis, of the two parts."""
    return z[..., None].view(np.float32 if z.dtype.itemsize == 8 else np.float64)


def complex_numbers(parts: np.ndarray) -> np.ndarray:
    """The memory of an array of pairs as a complex one."""
    return parts.view(COMPLEX_DTYPES[parts.dtype])[..., 0]


def whole(kind: ValueType, flat: Iterator[Any]) -> Any:
    """The next value of `kind` from values of the real code. None, for no derivative, stays None."""
    value = next(flat)
    match kind:
        case ArrayType() if is_complex(kind) and value is not None:
            return complex_numbers(value)
        case ArrayType() if kind.is_half and value is not None:
            return in_half(kind, value)
        case ScalarType.C64 | ScalarType.C128:
            imag = next(flat)
            return None if value is None else complex_scalar(kind, complex(value, imag))
        case _:
            return value


def in_half(kind: ValueType, value: np.ndarray) -> np.ndarray:
    """What a derivative becomes: of a half `kind`, rounded to the nearest, and infinite beyond its range."""
    if not isinstance(kind, ArrayType) or not kind.is_half or value.dtype == kind.dtype:
        return value
    if value.size >= MANY and value.dtype == np.float32 and value.flags.forc:
        from loopdiff.backends.cpu.rounded_arrays import rounded_copy

        return rounded_copy(value, np.dtype(kind.dtype))
    with np.errstate(over="ignore", invalid="ignore"):
        return value.astype(kind.dtype)


def complex_scalar(kind: ScalarType, value: complex) -> Any:
    return np.complex64(value) if kind is C64 else value


def conjugated(value: Any) -> Any:
    """`value`, conjugated if it is complex: an array in place."""
    match value:
        case np.ndarray() if value.dtype.kind == "c":
            return np.conjugate(value, out=value)
        case complex() | np.complexfloating():
            return value.conjugate()
        case _:
            return value


def in_parts(kind: ValueType, value: Any) -> tuple[Any, ...]:
    """A value of `kind` as values of the real code; arrays keep their memory."""
    if not is_complex(kind):
        return (value,)
    if isinstance(kind, ArrayType):
        return (as_pairs(value),)
    part = np.float32 if kind is C64 else float
    return part(value.real), part(value.imag)
