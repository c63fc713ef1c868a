"""Tensors of the GPU, on PyTorch's stream and over the same memory, through `f.vjp` and `f.jvp` of a function for it.

Derivatives of first order in both modes, outside of `torch.func` and `torch.compile`: all else is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, cast

import torch

from loopdiff.differentiable import Differentiable
from loopdiff.errors import NOWHERE, ArgumentError
from loopdiff.errors.codes import reject
from loopdiff.immutable import immutable
from loopdiff.ir.types import ArrayType, ScalarType
from loopdiff.specialize.results import is_floating
from loopdiff.specialize.specialization import Specialization
from loopdiff.torch.direct import are_transforms_active
from loopdiff.torch.functions import refuse_names
from loopdiff.torch.tensors import NUMBER_DTYPES


@immutable
class DeviceCall:
    """A call of `f`, of which `spec` is the one for the types: `given` by name, arrays `made` for it among them."""

    f: Differentiable
    spec: Specialization
    given: Mapping[str, Any]
    made: frozenset[str]

    @property
    def names(self) -> tuple[str, ...]:
        """The arguments that are tensors of the caller."""
        return tuple(n for n, v in self.given.items() if isinstance(v, torch.Tensor) and n not in self.made)

    @property
    def written(self) -> tuple[str, ...]:
        return tuple(n for n in self.given if n in self.spec.written)

    @property
    def device(self) -> torch.device:
        return next(v.device for v in self.given.values() if isinstance(v, torch.Tensor))

    def arguments(self) -> dict[str, Any]:
        """What `f` takes, with copies of what it writes."""
        own: dict[str, Any] = {}
        for name, value in self.given.items():
            if isinstance(value, torch.Tensor):
                bare = value.detach()
                is_copied = name in self.spec.written
                own[name] = bare.clone(memory_format=torch.contiguous_format) if is_copied else bare
            else:
                own[name] = value
        return {n: v.item() if isinstance(v, torch.Tensor) and not v.ndim else v for n, v in own.items()}

    def outputs(self, value: Any, own: Mapping[str, Any]) -> tuple[torch.Tensor, ...]:
        kinds = self.spec.result_types
        values = () if not kinds else value if self.spec.interface.returns_tuple else (value,)
        results = (self.as_tensor(v, k) for v, k in zip(values, kinds, strict=True))
        return (*results, *(own[n] for n in self.written))

    def as_tensor(self, value: Any, kind: ScalarType | ArrayType) -> torch.Tensor:
        if isinstance(value, torch.Tensor):
            return value
        assert isinstance(kind, ScalarType)
        return torch.tensor(value, dtype=NUMBER_DTYPES[kind], device=self.device)

    def seeds(self, cotangents: Sequence[torch.Tensor | None]) -> tuple[Any, ...]:
        """What a pullback takes by position."""
        kinds = self.spec.result_types
        if not kinds:
            return ()
        found = [as_seed(k, c) for k, c in zip(kinds, cotangents, strict=False)]
        return (tuple(found),) if self.spec.interface.returns_tuple else (found[0],)

    def gradients(self, record: Any, own: Sequence[torch.Tensor]) -> list[torch.Tensor | None]:
        found = dict(zip(record._fields, record, strict=True))
        pairs = ((found.get(n), like.dtype) for n, like in zip(self.names, own, strict=True))
        return [
            v if v is None or isinstance(v, torch.Tensor) else torch.tensor(v, dtype=d, device=self.device)
            for v, d in pairs
        ]  # fmt: skip


def as_seed(kind: ScalarType | ArrayType, cotangent: torch.Tensor | None) -> Any:
    if not is_floating(kind):
        return None
    if cotangent is None:
        return None if isinstance(kind, ArrayType) else 0.0
    return cotangent.contiguous() if isinstance(kind, ArrayType) else cotangent.item()


class OnDevice(torch.autograd.Function):
    """Both sweeps on the GPU: `apply(call, *tensors)`, which are those of `call`."""

    @staticmethod
    def forward(ctx: Any, call: DeviceCall, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        refuse_names(call.spec, [n for n, w in zip(call.names, ctx.needs_input_grad[1:], strict=True) if w])
        own = call.arguments()
        value, ctx.pullback = call.f.vjp(*own.values())
        found = call.outputs(value, own)
        kinds = [*call.spec.result_types, *(call.spec.interface.types[n] for n in call.written)]
        ctx.call, ctx.floating = call, [is_floating(k) for k in kinds]
        ctx.save_for_backward(*tensors)
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(*(t for t, k in zip(found, ctx.floating, strict=True) if not k))
        return found

    @staticmethod
    def backward(ctx: Any, *cotangents: torch.Tensor | None) -> Any:
        call, count = ctx.call, len(ctx.call.spec.result_types)
        if torch.is_grad_enabled() or are_transforms_active():
            refuse_more(call.f)
        pairs = zip(call.written, cotangents[count:], ctx.floating[count:], strict=True)
        given = {n: c.contiguous() for n, c, k in pairs if c is not None and k}
        record = ctx.pullback(*call.seeds(cotangents[:count]), **given)
        return None, *call.gradients(record, ctx.saved_tensors)

    @staticmethod
    def jvp(ctx: Any, *directions: Any) -> Any:
        call = ctx.call
        along = {n: d for n, d in zip(call.names, directions[1:], strict=True) if d is not None}
        refuse_names(call.spec, list(along))
        _, tangents = call.f.jvp(tuple(call.arguments().values()), {n: number_of(d) for n, d in along.items()})
        found = dict(zip(tangents._fields, tangents, strict=True))
        kinds = call.spec.result_types
        value = found.pop("result", ())
        values = value if call.spec.interface.returns_tuple else (value,) * len(kinds)
        results = [None if v is None else call.as_tensor(v, k) for v, k in zip(values, kinds, strict=True)]
        return (*results, *(found.get(n) for n in call.written))


def number_of(direction: torch.Tensor) -> Any:
    return direction.contiguous() if direction.ndim else direction.item()


def call_on_device(call: DeviceCall) -> Any:
    """Outputs of a call: one as it is, several as a tuple."""
    found = cast(Any, OnDevice.apply(call, *(call.given[n] for n in call.names)))
    return found[0] if len(found) == 1 else found


def refuse_mixed(f: Differentiable, given: Mapping[str, Any], is_quiet: bool) -> None:
    """Raise ArgumentError (LD350) for tensors that a function for the GPU does not take."""
    name = f.plain.__name__
    for argument, value in given.items():
        if isinstance(value, torch.Tensor) and value.device.type != "cuda" and value.ndim:
            message = f"`{argument}` is on {value.device}, and `{name}` is compiled for the GPU"
            raise ArgumentError(reject("LD350", message, NOWHERE, f"pass `{argument}.cuda()`, or wrap `f.on('cpu')`"))
    if not is_quiet:
        refuse_more(f)


def refuse_more(f: Differentiable) -> NoReturn:
    """Raise ArgumentError (LD350) for what only the CPU has."""
    name = f.plain.__name__
    message = f"`{name}` is for the GPU, where tensors have derivatives of first order, outside of `torch.func`"
    raise ArgumentError(reject("LD350", message, NOWHERE, "use `backward`, or wrap `f.on('cpu')`"))
