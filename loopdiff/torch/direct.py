"""Calls outside of PyTorch's transforms: the sweeps on the memory of the tensors, and little around them.

What the forward sweep keeps stays with the node of autograd. Derivatives of derivatives go through `functions`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np
import torch

from loopdiff.calls.arguments import converter_of
from loopdiff.specialize.entry_points import guard
from loopdiff.torch.functions import ProgramCall, is_watched, refuse_outside
from loopdiff.torch.program import TensorProgram, kind_of_parameter
from loopdiff.torch.tensors import NUMBERS, PLAIN, array_of, maker_of

are_transforms_active: Callable[[], bool] = torch._C._are_functorch_transforms_active
CHANGED = (
    "a tensor that a derivative needs was changed in place after `{}` ran: one of the variables needed for gradient "
    "computation has been modified by an inplace operation"
)


class DirectCalls:
    """Calls with arguments of one kind: `program` on tensors at `tensors` and numbers elsewhere, by position.

    `whole` is the same program for tensors in rows, whose derivatives have derivatives. Positions of `made` are of
    arrays that the call makes, and the caller does not give.
    """

    def __init__(
        self, program: TensorProgram, whole: TensorProgram, args: Sequence[Any], values: Sequence[Any],
        made: Sequence[int],
    ) -> None:  # fmt: skip
        self.program, self.whole, self.made = program, whole, tuple(made)
        spec, names = program.spec, program.params
        self.kinds = tuple(map(type, args))
        asked = [(names.index(n), axis) for n, axis in spec.asked]
        self.guard = guard([v for k, v in enumerate(values) if k not in made], shifted(asked, made))
        self.tensors = tuple(k for k, a in enumerate(args) if isinstance(a, torch.Tensor))
        self.floats = tuple(k for k in self.tensors if args[k].is_floating_point())
        self.outside = [k for k in self.floats if names[k] not in spec.wrt and k not in program.written]
        numbers = [(k, number_reader(program, k, v)) for k, v in enumerate(values)]
        self.numbers = tuple((k, read) for k, read in numbers if read is not None)
        self.makers, self.count = program.makers, len(program.outcomes)
        self.integers = [k for k, o in enumerate(program.outcomes) if not o.is_floating]
        where = {name: k for k, name in enumerate(spec.wrt)}
        self.gradients = [
            (where.get(names[k]), maker_of(kind_of_parameter(program.ls, names[k]))) for k in self.tensors
        ]  # fmt: skip
        self.needed: tuple[int, ...] | None = None
        self.needed_outputs: tuple[int, ...] = ()

    def values(self, args: Sequence[Any]) -> list[Any] | None:
        """Arrays over the memory of tensors, and numbers; None if somebody else has to look at the call."""
        try:
            return [a.detach().numpy() if type(a) in PLAIN else a for a in args]
        except (RuntimeError, TypeError):  # on another device, or not computed yet
            return None

    def call(self, args: Sequence[Any], values: list[Any], made: Sequence[np.ndarray] = ()) -> Any:
        """Outputs for arguments that were recognised: one as it is, several as a tuple."""
        for k, array in zip(self.made, made, strict=True):
            values.insert(k, array)
        for k, read in self.numbers:
            values[k] = read(values[k])
        if torch.is_grad_enabled():
            for k in self.floats:
                if args[k].requires_grad:
                    return self.recorded(args, values)
        found = self.program.compute(values)
        if self.count == 1:
            return self.makers[0](found[0])
        return tuple([make(value) for make, value in zip(self.makers, found, strict=True)])

    def recorded(self, args: Sequence[Any], values: list[Any]) -> Any:
        if self.outside:
            names = self.program.params
            refuse_outside(self.program, [names[k] for k in self.outside if args[k].requires_grad])
        found = Direct.apply(self, values, *[args[k] for k in self.tensors])
        return found[0] if self.count == 1 else found  # type: ignore[index]

    def find_needed(self) -> tuple[int, ...]:
        """Which tensors the reverse sweep reads, by number; of outputs in `needed_outputs`."""
        kept = self.program.run.kept
        written = {o.written: k for k, o in enumerate(self.program.outcomes) if o.written is not None}
        names = self.program.params
        self.needed_outputs = tuple(written[names[k]] for k in kept if k < len(names) and names[k] in written)
        self.needed = tuple(n for n, k in enumerate(self.tensors) if k in kept and names[k] not in written)
        return self.needed

    # -- derivatives -----------------------------------------------------------------------------------------
    def pull(self, ctx: Any, cotangents: Sequence[Any]) -> list[torch.Tensor | None]:
        given = [None if cotangents[k] is None else array_of(cotangents[k]) for k in self.program.floating]
        record = self.program.pull(ctx.kept, given)
        return [None if k is None else make(record[k]) for k, make in self.gradients]

    def pull_again(self, ctx: Any, cotangents: Sequence[Any]) -> list[torch.Tensor | None]:
        """The same as something that autograd differentiates."""
        if any(t._version != version for t, version in zip(ctx.tensors, ctx.versions, strict=True)):
            raise RuntimeError(CHANGED.format(self.program.ls.name))
        given = dict(zip(self.tensors, ctx.tensors, strict=True))
        given |= {k: maker_of(kind_of_parameter(self.whole.ls, self.whole.params[k]))(zeroed(ctx.values[k])) for k in self.made}
        constants = tuple((k, v) for k, v in enumerate(ctx.values) if k not in given)
        whole = [
            torch.zeros(shape, dtype=dtype) if c is None else c
            for c, shape, dtype in zip(cotangents, self.shapes(ctx), self.whole.dtypes, strict=True)
        ]
        places = sorted(given)
        found = ProgramCall(self.whole, constants).gradients([given[k] for k in places], whole)
        return [dict(zip(places, found, strict=True))[k] for k in self.tensors]

    def shapes(self, ctx: Any) -> Iterator[tuple[int, ...]]:
        """Those of the outputs, as far as they have derivatives."""
        results = iter(ctx.kept.shapes)
        for outcome in self.program.outcomes:
            if outcome.written is not None:
                yield ctx.kept.args[self.program.params.index(outcome.written)].shape
            else:
                yield next(results) if outcome.is_floating else ()


def zeroed(array: np.ndarray) -> np.ndarray:
    return np.zeros(array.shape, array.dtype)


def shifted(asked: Sequence[tuple[int, int]], made: Collection[int]) -> list[tuple[int, int]]:
    """Positions and axes where arguments at `made` are not counted."""
    return [(k - sum(m < k for m in made), axis) for k, axis in asked if k not in made]


def number_reader(program: TensorProgram, position: int, value: Any) -> Callable[[Any], Any] | None:
    """How a number like `value` is prepared for compiled code; None for arrays, and if it is passed on as it is."""
    name = program.params[position]
    if program.ls.has_array(name):
        return None
    kind = program.ls.scalar(name).type
    assert kind is not None
    return NUMBERS[kind] if isinstance(value, np.ndarray) else converter_of(value)


class Direct(torch.autograd.Function):
    """Both sweeps as a node of autograd: `apply(calls, values, *tensors)` gives a tuple of tensors."""

    @staticmethod
    def forward(ctx: Any, calls: DirectCalls, values: list[Any], *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        found, ctx.kept = calls.program.forward(values)
        outputs = tuple([make(value) for make, value in zip(calls.makers, found, strict=True)])
        needed = calls.find_needed() if calls.needed is None else calls.needed
        ctx.calls, ctx.values, ctx.tensors, ctx.versions = calls, values, tensors, [t._version for t in tensors]
        ctx.save_for_backward(*[tensors[k] for k in needed], *[outputs[k] for k in calls.needed_outputs])
        ctx.set_materialize_grads(False)
        if calls.integers:
            ctx.mark_non_differentiable(*[outputs[k] for k in calls.integers])
        return outputs

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        calls = ctx.calls
        _ = ctx.saved_tensors  # which nobody has changed since
        if torch.is_grad_enabled() or are_transforms_active() or is_watched():
            return None, None, *calls.pull_again(ctx, cotangents)
        return None, None, *calls.pull(ctx, cotangents)
