"""A batch of `vmap` as a loop of the LoopSet: one call of compiled code for all elements.

As in JAX, loops are derived and scheduled for the batch. What elements share is not copied, and gradients by it are
summed inside, where autograd asks for the sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from loopdiff.canonical.batching import Batch, decides_sizes
from loopdiff.immutable import immutable
from loopdiff.ir.types import ArrayType, ScalarType
from loopdiff.specialize.programs import batch_of
from loopdiff.torch.program import DerivedProgram, PulledProgram, PushedProgram, TensorProgram, kind_of_parameter
from loopdiff.torch.sweeps import Shape


@immutable
class Level:
    """One `vmap`: the size of its batch, and which tensors have an axis for it.

    `is_summed`: a gradient by a tensor without an axis is summed over the batch.
    """

    size: int
    mask: tuple[bool, ...]
    is_summed: bool = False


def summed_levels(levels: Sequence[Level], mask: Sequence[bool]) -> list[int]:
    """The levels over which the gradient by a tensor with this mask is summed."""
    return [k for k, level in enumerate(levels) if level.is_summed and not mask[k]]


def for_batch(program: TensorProgram, mapped: frozenset[str]) -> TensorProgram | None:
    """`program` with a first axis for the arrays and numbers `mapped`, and for all that it gives; made once. None where
    its loops cannot run so: on a GPU, where sweeps are chosen by arguments, and where an element decides sizes."""
    spec = program.spec
    if mapped not in program.batches:
        is_one_choice = spec.options.is_for_cpu and program.find_run is None and not spec.count_names
        found = None
        if is_one_choice and not decides_sizes(program.ls, mapped):
            kinds = {n: kind_of_parameter(program.ls, n) for n in mapped}
            batch = Batch(
                frozenset(n for n, kind in kinds.items() if isinstance(kind, ArrayType)),
                {n: kind.value for n, kind in kinds.items() if isinstance(kind, ScalarType)},
                {k: r.value for k, r in enumerate(spec.result_types) if isinstance(r, ScalarType)},
            )
            found = TensorProgram(batch_of(spec, batch))
        program.batches[mapped] = found
    return program.batches[mapped]


@immutable
class Elements:
    """Arrays for the parameters of a program, with the axes of some levels each."""

    levels: tuple[Level, ...]
    masks: tuple[tuple[bool, ...], ...]  # by the parameter: which levels it has

    @property
    def sizes(self) -> Shape:
        return tuple(level.size for level in self.levels)

    def in_one_axis(self, position: int, array: Any) -> np.ndarray:
        """The value of a parameter for every element, one after the other."""
        value, mask = np.asarray(array), self.masks[position]
        own = value.shape[sum(mask) :]
        if not all(mask):
            kept = iter(value.shape)
            axes = [next(kept) if is_mapped else 1 for is_mapped in mask]
            value = np.broadcast_to(value.reshape(*axes, *own), (*self.sizes, *own))
        return value.reshape(prod(self.sizes), *own)

    def apart(self, array: np.ndarray) -> np.ndarray:
        """What compiled code gave for every element, with the axes of all levels."""
        return array.reshape(*self.sizes, *array.shape[1:])


def outputs_together(program: TensorProgram, elements: Elements, values: Sequence[Any]) -> list[np.ndarray] | None:
    """What `program` gives for every element, with the axes that its outputs have; None where that takes calls one by
    one. `values` are those of its parameters."""
    if isinstance(program, PulledProgram) and not any(map(any, elements.masks[: len(program.inner.params)])):
        return None  # at one point the forward sweep runs once
    owners, by = owners_of(program), [program.gradient_of(k) for k in range(len(program.shown))]
    place = {name: k for k, name in enumerate(program.params)}
    if not all(name is None or name in place for name in by):
        return None  # gradients by what nobody gives
    summed = [[] if n is None else summed_levels(elements.levels, elements.masks[place[n]]) for n in by]
    apart = {place[n] for n, found in zip(by, summed, strict=True) if n and len(found) < len(elements.levels)}
    asked = {o for k, o in enumerate(owners) if o is not None and (any(elements.masks[k]) or k in apart)}
    mapped = asked.union(written_at_first(program))
    whole = derived_for_batch(program, frozenset(mapped)) if mapped else None
    if whole is None:
        return None
    have_axis = [o is None or o in mapped for o in owners]
    given = [in_batch(program, k, elements, v) if have_axis[k] else v for k, v in enumerate(values)]
    found = map(np.asarray, whole.compute(whole.values_of(given)))
    return [
        array if name is not None and not have_axis[place[name]] else total(elements.apart(array), axes)
        for name, array, axes in zip(by, found, summed, strict=True)
    ]


def total(array: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    """The sum over `axes`, in the precision that the array has."""
    return array.sum(axis=tuple(axes), dtype=array.dtype) if axes else array


def owners_of(program: TensorProgram) -> tuple[str | None, ...]:
    """For each parameter the one of the function itself that it goes with: it has an axis for the batch where that has.

    A direction goes with what it is a direction of, the cotangent of a gradient with what the gradient is by. None for
    other cotangents: they have the axis in any case.
    """
    match program:
        case PulledProgram(inner=inner):
            by = [inner.gradient_of(inner.floating[place]) for place in program.places]
        case PushedProgram(inner=inner):
            by = list(program.directed)
        case _:
            return program.params
    known = owners_of(inner)
    return (*known, *(None if n is None else known[inner.params.index(n)] for n in by))


def written_at_first(program: TensorProgram) -> list[str]:
    """The arguments that the function itself writes."""
    while isinstance(program, DerivedProgram):
        program = program.inner
    return [program.params[k] for k in program.written]


def derived_for_batch(program: TensorProgram, mapped: frozenset[str]) -> TensorProgram | None:
    """`program`, derived from its function for a batch as it is from the function; None where there is none, or where
    other parameters or results are left."""
    match program:
        case PulledProgram(inner=inner):
            whole = derived_for_batch(inner, mapped)
            found = None if whole is None else whole.pulled
        case PushedProgram(inner=inner):
            whole = derived_for_batch(inner, mapped)
            found = None if whole is None else whole.pushed
        case _:
            return for_batch(program, mapped)
    return found if found is not None and arrangement(found) == arrangement(program) else None


def arrangement(program: PulledProgram | PushedProgram) -> object:
    """What callers give and get beyond the parameters of what is derived, by places: names may differ."""
    place = {name: k for k, name in enumerate(program.inner.params)}
    if isinstance(program, PulledProgram):
        return program.places, [place.get(n, n) for n in program.by]
    return [place[n] for n in program.directed], [(kind, place.get(k, k)) for kind, k in program.routes]


def in_batch(program: TensorProgram, position: int, elements: Elements, value: Any) -> np.ndarray:
    """The value of a parameter as a program for a batch takes it."""
    kind = kind_of_parameter(program.ls, program.params[position])
    found = elements.in_one_axis(position, value)
    return found.astype(kind.value, copy=False) if isinstance(kind, ScalarType) else found
