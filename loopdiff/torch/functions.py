"""Programs as functions of autograd, in the form that PyTorch's transforms can compose.

Batches of `vmap` are part of what is called: one node for all elements, whichever order the transforms come in. They
run as loops of the LoopSet (`together`), or one element after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from math import prod
from typing import Any, cast

import numpy as np
import torch

from loopdiff.errors import NOWHERE, DifferentiationError
from loopdiff.errors.codes import reject
from loopdiff.immutable import immutable
from loopdiff.specialize.results import is_floating
from loopdiff.specialize.specialization import Specialization
from loopdiff.torch.program import PulledProgram, TensorProgram, Undecided, kind_of_parameter
from loopdiff.torch.sweeps import Shape
from loopdiff.torch.tensors import PLAIN, numpy_of, stacked, tensor_of, widened_tensor
from loopdiff.torch.together import Elements, Level, outputs_together, summed_levels

Tensors = Sequence[torch.Tensor]
PROGRAMS: dict[str, TensorProgram] = {}  # by name: a graph may be run as long as the process is there


@immutable
class ProgramCall:
    """What is called: `program`, of tensors for its parameters but for the `constants`, by position.

    `batch`: tensors have an axis for each level that says so, the outermost level first; outputs have all axes, but for
    those over which a gradient is summed.
    """

    program: TensorProgram
    constants: tuple[tuple[int, float], ...]
    batch: tuple[Level, ...] = ()

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(level.size for level in self.batch)

    def in_order(self, given: Sequence[Any], constant: Any = None) -> list[Any]:
        """A value for each parameter, of those for tensors; for others the constants, or what is `constant`."""
        found = list(given)
        for position, value in self.constants:
            found.insert(position, value if constant is None else constant)
        return found

    # -- running ---------------------------------------------------------------------------------------------
    def run(self, tensors: Tensors) -> tuple[torch.Tensor, ...]:
        """Outputs, of tensors without derivatives; where somebody traces, as an operation of the graph."""
        if not all(type(t) in PLAIN for t in tensors) or is_watched():
            return tuple(torch.ops.loopdiff.evaluate(list(tensors), text_of(self)))  # see `operator`
        return self.compute([numpy_of(t) for t in tensors])

    def compute(self, arrays: Sequence[np.ndarray]) -> tuple[torch.Tensor, ...]:
        program = self.program
        if not self.batch:
            found = program.compute(program.values_of(self.in_order(arrays)))
            return tuple([make(value) for make, value in zip(program.makers, found, strict=True)])
        if not prod(self.sizes):
            shapes, dtypes = self.shapes([a.shape for a in arrays]), program.dtypes
            return tuple(torch.zeros(s, dtype=d) for s, d in zip(shapes, dtypes, strict=True))
        masks = self.in_order([self.mask(k) for k in range(len(arrays))], (False,) * len(self.batch))
        together = outputs_together(program, Elements(self.batch, tuple(masks)), self.in_order(arrays))
        if together is not None:
            pairs = zip(together, program.dtypes, strict=True)
            return tuple(tensor_of(np.asarray(value)).to(dtype) for value, dtype in pairs)
        each = list(self.each(arrays))
        parts = [
            stacked(part, kind, self.sizes) for part, kind in zip(zip(*each, strict=True), program.kinds, strict=True)
        ]
        return tuple(self.summed(k, part) for k, part in enumerate(parts))

    def mask(self, number: int) -> tuple[bool, ...]:
        """Which levels the tensor of that number has an axis for."""
        return tuple(level.mask[number] for level in self.batch)

    def missing_levels(self, place: int) -> list[int]:
        """The levels that an output has no axis for: a gradient is summed over them."""
        name = self.program.gradient_of(place)
        if name is None:
            return []
        mask = self.mask(self.names.index(name)) if name in self.names else (False,) * len(self.batch)
        return summed_levels(self.batch, mask)

    def summed(self, place: int, tensor: torch.Tensor) -> torch.Tensor:
        """An output with all axes, summed over those that it has not."""
        levels = self.missing_levels(place)
        return tensor.sum(levels, dtype=tensor.dtype) if levels else tensor

    def each(self, arrays: Sequence[np.ndarray]) -> Iterator[list[Any]]:
        """The outputs of each element of the batch. Where these differ in cotangents alone, the forward sweep runs
        once."""
        program, width = self.program, 0
        if isinstance(program, PulledProgram):
            width = len(program.inner.params)
        count = width - sum(k < width for k, _ in self.constants)
        is_one_point = bool(width) and not any(any(level.mask[:count]) for level in self.batch)
        kept: Any = None
        for place in np.ndindex(*self.sizes):
            values = program.values_of(self.in_order([self.element(a, k, place) for k, a in enumerate(arrays)]))
            if not is_one_point:
                yield program.compute(values)
                continue
            assert isinstance(program, PulledProgram)
            kept = program.inner.forward(values[:width])[1] if kept is None else kept
            yield program.compute_at(kept, values[width:])

    def element(self, array: np.ndarray, number: int, place: tuple[int, ...]) -> Any:
        """What the tensor of that number has for one element of the batch."""
        at = tuple(i for i, is_mapped in zip(place, self.mask(number), strict=True) if is_mapped)
        return array[at] if at else array

    def shapes(self, shapes: Sequence[Sequence[int]]) -> list[Shape]:
        """Shapes of the outputs for those of the tensors."""
        given = [self.bare(k, shape) for k, shape in enumerate(shapes)]
        known = [
            s if self.program.ls.has_array(n) else Undecided(n) for n, s in zip(self.names, given, strict=True)
        ]  # fmt: skip
        found = self.program.shapes(self.in_order(known))
        axes = [[n for j, n in enumerate(self.sizes) if j not in self.missing_levels(k)] for k in range(len(found))]
        return [(*own, *shape) for own, shape in zip(axes, found, strict=True)]

    def bare(self, position: int, shape: Sequence[int]) -> Shape:
        """The shape of one element of a tensor."""
        return tuple(shape)[sum(self.mask(position)) :]

    # -- derivatives -----------------------------------------------------------------------------------------
    def pulled(self) -> ProgramCall:
        program = self.program.pulled
        missing = [self.missing_levels(self.program.floating[k]) for k in program.places]
        batch = tuple(
            Level(level.size, (*level.mask, *(k not in levels for levels in missing)), is_summed=True)
            for k, level in enumerate(self.batch)
        )
        return ProgramCall(program, self.constants, batch)

    def gradients(self, tensors: Tensors, cotangents: Sequence[Any]) -> list[torch.Tensor | None]:
        """Gradients of the tensors, which autograd may differentiate."""
        call, program = self.pulled(), self.program.pulled
        floating = [cotangents[k] for k in self.program.floating]
        given = [widened_tensor(floating[k]) for k in program.places]
        found = compose(call, [*tensors, *given]) if program.shown else ()
        out: list[torch.Tensor | None] = []
        for number, name in enumerate(self.names):
            where, k = program.routes.get(name, ("", 0))
            if not where:
                out.append(None)
                continue
            gradient = found[k] if where == "shown" else self.by_shared(number, k, floating[k])
            dtype = tensors[number].dtype
            out.append(gradient if gradient.dtype == dtype else gradient.to(dtype))
        return out

    def by_shared(self, number: int, place: int, cotangent: torch.Tensor) -> torch.Tensor:
        """The gradient of a tensor that is the cotangent of an output: over levels of the output alone it is summed,
        over levels of the tensor alone it is the same."""
        missing, mask = self.missing_levels(self.program.floating[place]), self.mask(number)
        own = [k for k in range(len(self.batch)) if k not in missing]
        axes = [axis for axis, k in enumerate(own) if not mask[k]]
        found = cotangent.sum(axes) if axes else cotangent
        for axis, k in enumerate(k for k, is_mapped in enumerate(mask) if is_mapped):
            if k in missing:
                found = found.unsqueeze(axis).expand(*found.shape[:axis], self.sizes[k], *found.shape[axis:])
        return found

    def tangents(self, tensors: Tensors, directions: Sequence[torch.Tensor | None]) -> list[torch.Tensor | None]:
        """Tangents of the outputs, which autograd may differentiate; None of integers."""
        program = self.program.pushed
        where = {name: number for number, name in enumerate(self.names)}
        constants, given, masks = list(self.constants), list[torch.Tensor](), list[int]()
        for k, name in enumerate(program.directed, start=len(self.program.params)):
            if name not in where:
                constants.append((k, 0.0))
                continue
            along = directions[where[name]]
            given.append(torch.zeros_like(tensors[where[name]]) if along is None else along)
            masks.append(where[name])
        batch = tuple(
            Level(level.size, (*level.mask, *(level.mask[k] for k in masks)), level.is_summed) for level in self.batch
        )
        call, wide = ProgramCall(program, tuple(constants), batch), map(widened_tensor, given)
        found: list[torch.Tensor] = [*compose(call, [*tensors, *wide])] if program.shown else []
        along = dict(zip(masks, given, strict=True))
        out: list[torch.Tensor | None] = [None] * len(self.program.shown)
        for k, (place, source) in zip(self.program.floating, program.routes, strict=True):
            if place == "shown":
                out[k] = found[source].to(self.program.dtypes[k])
            elif place == "direction":
                out[k] = self.summed(k, self.spread(along[where[source]], where[source]))
        return out

    def spread(self, tensor: torch.Tensor, number: int) -> torch.Tensor:
        """A tensor like the one of that number, with the axes of the batch that it has not."""
        for k, is_mapped in enumerate(self.mask(number)):
            tensor = tensor if is_mapped else tensor.unsqueeze(k)
        return tensor.expand((*self.sizes, *tensor.shape[len(self.sizes) :]))

    def batched(
        self, size: int, dims: Sequence[int | None], tensors: Tensors
    ) -> tuple[ProgramCall, list[torch.Tensor]]:
        """The same with one more level outside, and the tensors with its axis in front."""
        level = Level(size, tuple(d is not None for d in dims))
        moved = [t if d is None else t.movedim(d, 0) for t, d in zip(tensors, dims, strict=True)]
        return ProgramCall(self.program, self.constants, (level, *self.batch)), moved

    @property
    def names(self) -> list[str]:
        """The parameters that are tensors."""
        fixed = dict(self.constants)
        return [n for k, n in enumerate(self.program.params) if k not in fixed]

    def refuse_outside(self, is_wanted: Sequence[bool]) -> None:
        """Raise DifferentiationError (LD405) for a derivative by an argument outside `wrt`: it is not zero."""
        refuse_names(self.program.spec, [n for n, wanted in zip(self.names, is_wanted, strict=True) if wanted])


def refuse_names(spec: Specialization, names: Sequence[str]) -> None:
    """Raise DifferentiationError (LD405) for a derivative by one of `names` that `wrt` leaves out: it is not zero."""
    for name in names:
        if name not in spec.wrt and name not in spec.written and is_floating(kind_of_parameter(spec.normal, name)):
            found = (*spec.interface.gathered((name,)), name)[0]
            message = f"`{found}` is differentiated by PyTorch, but `wrt` of `{spec.normal.name}` leaves it out"
            hint = f"add {found!r} to `wrt`, or pass `{found}.detach()`"
            raise DifferentiationError(reject("LD405", message, NOWHERE, hint))


def is_watched() -> bool:
    """Whether somebody looks at each operation of PyTorch's: a tracer, or a counter."""
    return torch._C._len_torch_dispatch_stack() > 0


class Composed(torch.autograd.Function):
    """A call that PyTorch's transforms take apart: `apply(call, *tensors)` gives a tuple of tensors."""

    @staticmethod
    def forward(call: ProgramCall, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return call.run(tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        call, *tensors = inputs
        call.refuse_outside(ctx.needs_input_grad[1:])
        ctx.call = call
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)
        ctx.zeros = [partial(torch.zeros, t.shape, dtype=t.dtype, device=t.device) for t in output]
        ctx.mark_non_differentiable(*(t for t in output if not t.is_floating_point()))
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        given = [zeros() if c is None else c for c, zeros in zip(cotangents, ctx.zeros, strict=True)]
        return None, *ctx.call.gradients(ctx.saved_tensors, given)

    @staticmethod
    def jvp(ctx: Any, *directions: Any) -> Any:
        call, along = ctx.call, directions[1:]
        call.refuse_outside([d is not None for d in along])
        return tuple(call.tangents(ctx.saved_tensors, along))

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        call, *tensors = args
        batched, moved = call.batched(info.batch_size, in_dims[1:], tensors)
        found = compose(batched, moved)
        return found, (0,) * len(found)


def compose(call: ProgramCall, tensors: Sequence[Any]) -> tuple[torch.Tensor, ...]:
    """The outputs of a call, with derivatives of any order."""
    return cast(Any, Composed.apply(call, *tensors))


# -- in graphs -------------------------------------------------------------------------------------------------
def text_of(call: ProgramCall) -> str:
    """A call as text, which means the same in other processes: graphs are kept on disk."""
    program = call.program
    constants = ",".join(f"{k}:{text_of_number(value)}" for k, value in call.constants)
    levels = [f"{v.size}:{''.join('01'[m] for m in v.mask)}{'s' if v.is_summed else ''}" for v in call.batch]
    return "/".join((program.name, program.depth, constants, *levels))


def call_of(text: str) -> ProgramCall:
    """The call that a graph names. RuntimeError if this process does not know its program."""
    name, path, numbers, *levels = text.split("/")
    if name not in PROGRAMS:
        raise RuntimeError(f"a graph calls the program {name}, which nobody has wrapped in this process")
    program = PROGRAMS[name]
    for step in path:
        program = program.pulled if step == "r" else program.pushed
    pairs = [pair.split(":") for pair in numbers.split(",") if pair]
    batch = [level.split(":") for level in levels]
    return ProgramCall(
        program, tuple((int(k), number_of_text(value)) for k, value in pairs),
        tuple(Level(int(size), tuple(c == "1" for c in mask.rstrip("s")), mask.endswith("s")) for size, mask in batch),
    )  # fmt: skip


def text_of_number(value: float) -> str:
    return value.hex() if isinstance(value, float) else repr(value)


def number_of_text(text: str) -> float:
    if text in ("True", "False"):
        return text == "True"
    return int(text) if text.lstrip("-").isdigit() else float.fromhex(text)
