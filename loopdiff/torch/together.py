"""A batch of `vmap` as a loop of the LoopSet: one call of compiled code for all elements.

As in JAX, loops are derived and scheduled for the batch. What elements share is not copied, and gradients by it are
summed inside, where autograd asks for the sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from loopdiff.canonical.batching import Batch, decides_sizes
from loopdiff.ir.types import ArrayType, ScalarType
from loopdiff.specialize.programs import batch_of
from loopdiff.torch.program import PulledProgram, TensorProgram, kind_of_parameter
from loopdiff.torch.sweeps import Shape


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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
    if isinstance(program, PulledProgram):
        return gradients_together(program, elements, values)
    if program.depth:
        return None
    mapped = frozenset(n for k, n in enumerate(program.params) if any(elements.masks[k]) or k in program.written)
    whole = for_batch(program, mapped)
    if whole is None:
        return None
    found = whole.compute(whole.values_of(in_batch(program, mapped, elements, values)))
    return [elements.apart(found[k]) for k in program.shown]


def in_batch(program: TensorProgram, mapped: frozenset[str], elements: Elements, values: Sequence[Any]) -> list[Any]:
    """Values of the parameters of `program` as its program for a batch takes them."""
    found = list(values[: len(program.params)])
    for k, name in enumerate(program.params):
        if name in mapped:
            kind = kind_of_parameter(program.ls, name)
            value = elements.in_one_axis(k, values[k])
            found[k] = value.astype(kind.value, copy=False) if isinstance(kind, ScalarType) else value
    return found


def gradients_together(program: PulledProgram, elements: Elements, values: Sequence[Any]) -> list[np.ndarray] | None:
    """The gradients of a program for a batch by its own sweeps."""
    inner, count = program.inner, len(program.inner.params)
    if inner.depth or not any(map(any, elements.masks[:count])):
        return None  # at one point the forward sweep runs once
    summed = {n: summed_levels(elements.levels, elements.masks[inner.params.index(n)]) for n in program.by}
    apart = {n for n, levels in summed.items() if len(levels) < len(elements.levels)}
    mapped = frozenset(
        n for k, n in enumerate(inner.params) if any(elements.masks[k]) or k in inner.written or n in apart
    )
    whole = for_batch(inner, mapped)
    if whole is None:
        return None
    _, kept = whole.forward(whole.values_of(in_batch(inner, mapped, elements, values)))
    cotangents = [elements.in_one_axis(k, v) for k, v in enumerate(values[count:], start=count)]
    out: list[np.ndarray] = []
    for name, found in zip(program.by, program.compute_at(kept, cotangents), strict=True):
        gradient, axes = np.asarray(found), tuple(summed[name])
        if name in mapped:
            gradient = elements.apart(gradient)
            gradient = gradient.sum(axis=axes, dtype=gradient.dtype) if axes else gradient
        out.append(gradient)
    return out
