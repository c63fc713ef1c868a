"""Calls outside of PyTorch's transforms: the sweeps on the memory of the tensors, and little around them.

What the forward sweep keeps stays with the node of autograd. Derivatives of derivatives go through `functions`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
import torch._C._autograd as engine

from loopdiff.calls.arguments import converter_of
from loopdiff.frontend.extents import questions_about
from loopdiff.specialize.entry_points import guard
from loopdiff.torch.entries import Numbers, entry_point, forward_entry, reverse_entry
from loopdiff.torch.functions import ProgramCall, is_watched, refuse_names
from loopdiff.torch.program import TensorProgram, kind_of_parameter
from loopdiff.torch.sweeps import BareSweeps
from loopdiff.torch.tensors import NUMBERS, maker_of

keeps_graph: Callable[[], bool] = getattr(engine, "_get_current_graph_task_keep_graph", lambda: True)
are_transforms_active: Callable[[], bool] = torch._C._are_functorch_transforms_active
CHANGED = (
    "a tensor that a derivative needs was changed in place after `{}` ran: one of the variables needed for gradient "
    "computation has been modified by an inplace operation"
)


class DirectCalls:
    """Calls with arguments of one kind: `program` on tensors at `tensors` and numbers elsewhere, by position.

    `whole` is the same program for tensors in rows, whose derivatives have derivatives. Positions of `made` are of
    arrays that `arrays` makes of the other arguments. `entry` takes what the caller gives.
    """

    def __init__(
        self, program: TensorProgram, whole: TensorProgram, args: Sequence[Any], values: Sequence[Any],
        made: Sequence[int], arrays: Callable[[Sequence[Any]], list[np.ndarray]],
    ) -> None:  # fmt: skip
        self.program, self.whole, self.made, self.arrays = program, whole, tuple(made), arrays
        spec, names = program.spec, program.params
        self.kinds = tuple(map(type, args))
        given = [n for k, n in enumerate(names) if k not in made]
        self.guard = guard([v for k, v in enumerate(values) if k not in made], questions_about(spec.asked, given))
        self.tensors = tuple(k for k, a in enumerate(args) if isinstance(a, torch.Tensor))
        self.floats = tuple(k for k in self.tensors if args[k].is_floating_point())
        self.outside = [
            (number, names[k])
            for number, k in enumerate(self.tensors)
            if k in self.floats and names[k] not in spec.wrt and k not in program.written
        ]
        numbers = [(k, number_reader(program, k, v)) for k, v in enumerate(values)]
        self.numbers: Numbers = [(k, read) for k, read in numbers if read is not None]
        self.is_single = len(program.outcomes) == 1
        self.integers = [k for k, o in enumerate(program.outcomes) if not o.is_floating]
        where = {name: k for k, name in enumerate(spec.wrt)}
        self.gradients = [
            (where.get(names[k]), maker_of(kind_of_parameter(program.ls, names[k]))) for k in self.tensors
        ]  # fmt: skip
        self.recordings: dict[int, Recording] = {}
        self.entry = entry_point(self)

    def recorded(self, values: list[Any], *tensors: torch.Tensor) -> Any:
        """The same with a node in the graph of autograd."""
        if self.outside:
            refuse_names(self.program.spec, [name for number, name in self.outside if tensors[number].requires_grad])
        found: Any = Direct.apply(self, values, *tensors)
        return found[0] if self.is_single else found

    def recording(self, values: list[Any]) -> Recording:
        """What runs the sweeps for these arguments."""
        program = self.program
        run = program.run if program.find_run is None else program.find_run(program.complete(values))
        found = self.recordings.get(id(run))
        if found is None:
            found = self.recordings[id(run)] = Recording(self, BareSweeps(run))
        return found

    def pull_again(self, ctx: Any, cotangents: Sequence[Any]) -> list[torch.Tensor | None]:
        """Gradients of the tensors as something that autograd differentiates."""
        if any(t._version != version for t, version in zip(ctx.tensors, ctx.versions, strict=True)):
            raise RuntimeError(CHANGED.format(self.program.ls.name))
        given = dict(zip(self.tensors, ctx.tensors, strict=True))
        given |= {k: torch.from_numpy(np.zeros_like(ctx.values[k])) for k in self.made}
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


class Recording:
    """The sweeps of one run, from tensors to tensors.

    The reverse sweep reads tensors with the numbers `inputs`, and outputs with the numbers `outputs`.
    """

    def __init__(self, calls: DirectCalls, sweeps: BareSweeps) -> None:
        program = calls.program
        self.forward, self.reverse = forward_entry(program, sweeps), reverse_entry(program, sweeps)
        names, kept = program.params, [k for k in sweeps.run.kept if k < len(program.params)]
        written = {o.written: k for k, o in enumerate(program.outcomes) if o.written is not None}
        self.outputs = [written[names[k]] for k in kept if names[k] in written]
        self.inputs = [n for n, k in enumerate(calls.tensors) if k in kept and names[k] not in written]


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
        recording = calls.recording(values)
        outputs, ctx.kept = recording.forward(*values)
        ctx.calls, ctx.recording, ctx.values, ctx.tensors = calls, recording, values, tensors
        ctx.versions = [t._version for t in tensors]
        ctx.save_for_backward(*[tensors[k] for k in recording.inputs], *[outputs[k] for k in recording.outputs])
        ctx.set_materialize_grads(False)
        if calls.integers:
            ctx.mark_non_differentiable(*[outputs[k] for k in calls.integers])
        return outputs

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        calls = ctx.calls
        _ = ctx.saved_tensors  # which nobody has changed since
        if ctx.kept is None:
            raise RuntimeError("Trying to backward through the graph a second time: pass `retain_graph=True` before")
        if torch.is_grad_enabled() or are_transforms_active() or is_watched():
            return None, None, *calls.pull_again(ctx, cotangents)
        record = ctx.recording.reverse(ctx.kept, *cotangents)
        if not keeps_graph():  # as PyTorch lets go of what it saved
            ctx.kept = ctx.values = ctx.tensors = None
        return None, None, *[None if k is None else make(record[k]) for k, make in calls.gradients]
