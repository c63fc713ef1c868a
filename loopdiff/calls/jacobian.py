"""Jacobians; dense ones by one run of forward or reverse mode for each entry of the smaller side."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np

from loopdiff.calls.pullback import Pullback
from loopdiff.calls.runs import Arguments, ReverseRun, caller_results, with_copies_of_written
from loopdiff.calls.sweep_entry_points import vjp
from loopdiff.calls.tangents import tangent_run
from loopdiff.errors import NOWHERE, DifferentiationError
from loopdiff.errors.codes import reject
from loopdiff.immutable import immutable
from loopdiff.ir.types import HALVES, ArrayType
from loopdiff.memory.arena import size_in_bytes
from loopdiff.specialize.gradients import record_type
from loopdiff.specialize.results import is_floating
from loopdiff.specialize.shortage import WITHOUT_TAPE, Needs, report
from loopdiff.specialize.specialization import Specialization

Structure = Literal["dense", "sparse"]
Way = Callable[[Specialization, Callable[[Arguments], ReverseRun], Arguments], Any]


@immutable
class Side:
    """A floating result, by its position, or a floating array or argument, by its name."""

    key: int | str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def unit(self, entry: int) -> Any:
        """A value of this shape that is one at `entry` and zero elsewhere."""
        flat = np.zeros(self.size, self.dtype)
        flat[entry] = 1.0
        return flat.reshape(self.shape) if self.shape else flat[0]


def side_of(key: int | str, value: Any) -> Side:
    array = np.asarray(value)
    return Side(key, array.shape, array.dtype)


def require_structure(structure: Structure) -> None:
    """Raise DifferentiationError (LD408) for a structure that no Jacobian has."""
    if structure not in get_args(Structure):
        message = f"the structure {structure!r} of a Jacobian is not known: it is 'dense' or 'sparse'"
        raise DifferentiationError(reject("LD408", message, NOWHERE))


def jacobian(
    spec: Specialization, reverse_run: Callable[[Arguments], ReverseRun], args: Arguments, find: Way
) -> Any:  # fmt: skip
    """The record of `Differentiable.jacobian` for prepared arguments, which end as the function leaves them, as `find`
    makes it."""
    try:
        return find(spec, reverse_run, args)
    except MemoryError as error:
        needs = Needs(spec.normal.name, spec.normal.params, (tangent_run(spec).unit.ls,))
        raise needs.refusal(args, error) from None


def dense_jacobian(spec: Specialization, reverse_run: Callable[[Arguments], ReverseRun], args: Arguments) -> Any:
    inputs, outputs = sides_of(spec, args)
    blocks = [[block(spec, o, i) for i in inputs] for o in outputs]
    if sum(i.size for i in inputs) <= sum(o.size for o in outputs):
        fill_columns(spec, args, inputs, outputs, blocks)
        spec.primal.run(*args)
    else:
        _, pullback = vjp(reverse_run(args), args)
        fill_rows(pullback, inputs, outputs, blocks)
    return arranged(spec, outputs, blocks)


def sides_of(spec: Specialization, args: Arguments) -> tuple[list[Side], list[Side]]:
    """Inputs and outputs. Raises DifferentiationError (LD407) where there are complex ones."""
    if not spec.interface.is_real:
        message = f"`{spec.normal.name}` has complex numbers: their derivative is not one matrix"
        raise DifferentiationError(reject("LD407", message, spec.normal.loc))
    return [side_of(n, args[spec.normal.params.index(n)]) for n in spec.wrt], outputs_of(spec, args)


def block(spec: Specialization, output: Side, given: Side) -> np.ndarray:
    """Zeros for the derivative of one by the other. Raises OutOfMemoryError (LD610)."""
    shape, dtype = output.shape + given.shape, entry_type(output, given)
    try:
        return np.zeros(shape, dtype)
    except MemoryError:
        what = output.key if isinstance(output.key, str) else "result"
        sizes = {f"{what} by {given.key}": size_in_bytes(shape, dtype)}
        raise report(spec.normal.name, sizes, WITHOUT_TAPE) from None


def entry_type(output: Side, given: Side) -> np.dtype[Any]:
    """The type of derivatives of one by the other: float32 of halves, of which two sorts have none in common."""
    return np.result_type(*(np.float32 if s.dtype.name in HALVES else s.dtype for s in (output, given)))


def outputs_of(spec: Specialization, args: Arguments) -> list[Side]:
    """Floating results, then written arrays; a result array's shape is known only after a run."""
    kinds = spec.result_types
    values: Sequence[Any] = [0.0] * len(kinds)
    if any(isinstance(k, ArrayType) for k in kinds):
        found = caller_results(spec, spec.primal.run(*with_copies_of_written(spec, args)))
        values = found if spec.normal.returns_tuple else (found,)
    results = [side_of(k, v) for k, v in enumerate(values) if is_floating(kinds[k])]
    written = [(n, a) for n, a in zip(spec.normal.params, args, strict=True) if n in spec.written]
    types = {d.name: d.type for d in spec.normal.arrays if d.type is not None}
    return [*results, *(side_of(n, a) for n, a in written if is_floating(types[n]))]


def fill_columns(
    spec: Specialization, args: Arguments, inputs: list[Side], outputs: list[Side], blocks: list[list[np.ndarray]]
) -> None:
    """One run of forward mode for each entry of each input."""
    for i, side in enumerate(inputs):
        for entry in range(side.size):
            found = pushed(spec, args, outputs, {str(side.key): side.unit(entry)})
            for o, output in enumerate(outputs):
                blocks[o][i].reshape(output.size, side.size)[:, entry] = found[o]


def fill_rows(pullback: Pullback, inputs: list[Side], outputs: list[Side], blocks: list[list[np.ndarray]]) -> None:
    """One run of the reverse sweep for each entry of each output."""
    zeros = {o.key: np.zeros(o.shape, o.dtype)[()] for o in outputs}
    for o, side in enumerate(outputs):
        for entry in range(side.size):
            for i, gradient in enumerate(pulled(pullback, {**zeros, side.key: side.unit(entry)})):
                blocks[o][i].reshape(side.size, inputs[i].size)[entry] = gradient


def pushed(
    spec: Specialization, args: Arguments, outputs: list[Side], directions: Mapping[str, Any]
) -> list[np.ndarray]:  # fmt: skip
    """How each output changes along `directions` of inputs, flat; on copies of what is written."""
    run = tangent_run(spec)
    _, tangents = run.jvp(with_copies_of_written(spec, args), directions)
    results = tangents[: len(tangents) - len(run.outputs)]
    slopes: dict[Any, Any] = dict(enumerate(results[0] if spec.normal.returns_tuple else results))
    slopes |= zip(run.outputs, tangents[len(results) :], strict=True)
    return [np.ravel(slopes[output.key]) for output in outputs]


def pulled(pullback: Pullback, weights: Mapping[int | str, Any]) -> list[np.ndarray]:
    """The gradient by each input, flat, of the sum of all outputs times `weights`."""
    seeds = tuple(weights.get(k) for k in range(len(pullback.run.kinds)))
    seed = (seeds,) if pullback.run.ls.returns_tuple else seeds
    cotangents = {str(k): w for k, w in weights.items() if not isinstance(k, int)}
    return [np.ravel(gradient) for gradient in pullback(*seed, **cotangents)]


def arranged(spec: Specialization, outputs: Sequence[Side], blocks: Sequence[Iterable[Any]]) -> Any:
    """The `blocks` of each output by name: `result`, of a tuple one for each, then the written arrays."""
    gradients = record_type("Gradients", spec.wrt)
    rows = {o.key: tuple.__new__(gradients, row) for o, row in zip(outputs, blocks, strict=True)}
    names = [k for k in rows if isinstance(k, str)]
    values: list[Any] = [rows[n] for n in names]
    if any(isinstance(k, int) for k in rows):
        each: list[Any] = [rows.get(k) for k in range(len(spec.result_types))]
        values.insert(0, tuple.__new__(spec.record or tuple, each) if spec.normal.returns_tuple else each[0])
        names.insert(0, "result")
    return tuple.__new__(record_type("Jacobian", tuple(names)), values)
