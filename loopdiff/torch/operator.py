"""Calls as an operation of PyTorch's: what `torch.compile` and other tracers put into their graphs.

The operation is opaque to all of them, and has the derivatives of `functions.Composed` in both modes.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.autograd import forward_ad

from loopdiff.torch.functions import ProgramCall, compose
from loopdiff.torch.registry import PROGRAMS
from loopdiff.torch.tensors import array_of

def text_of(call: ProgramCall) -> str:
    """A call as text, which means the same in other processes: graphs are kept on disk."""
    program = call.program
    constants = ",".join(f"{k}:{text_of_number(value)}" for k, value in call.constants)
    levels = [f"{size}:{''.join('01'[m] for m in mask)}" for size, mask in call.batch]
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
        tuple((int(size), tuple(c == "1" for c in mask)) for size, mask in batch),
    )  # fmt: skip


def text_of_number(value: float) -> str:
    return value.hex() if isinstance(value, float) else repr(value)


def number_of_text(text: str) -> float:
    if text in ("True", "False"):
        return text == "True"
    return int(text) if text.lstrip("-").isdigit() else float.fromhex(text)


def evaluate(tensors: Sequence[torch.Tensor], call: str) -> list[torch.Tensor]:
    """The outputs of a call, of any tensors, as one operation."""
    return torch.ops.loopdiff.evaluate(list(tensors), call)


def on_plain(tensors: Sequence[torch.Tensor], call: str) -> list[torch.Tensor]:
    """The kernel of the CPU."""
    return list(call_of(call).compute([array_of(t) for t in tensors]))


def on_shapes(tensors: Sequence[torch.Tensor], call: str) -> list[torch.Tensor]:
    """The kernel of tensors that hold nothing."""
    found = call_of(call)
    shapes = found.shapes([tuple(map(int, t.shape)) for t in tensors])
    return [tensors[0].new_empty(s, dtype=d) for s, d in zip(shapes, found.program.dtypes, strict=True)]


def on_differentiated(tensors: Sequence[torch.Tensor], call: str) -> list[torch.Tensor]:
    """The kernel of autograd, for both modes: an operation without one gives tangents of zero, and says nothing."""
    has_tangents = forward_ad._current_level >= 0 and torch._C._is_fwd_grad_enabled()
    if has_tangents or (torch.is_grad_enabled() and any(t.requires_grad for t in tensors)):
        return list(compose(call_of(call), tensors))
    with torch._C._AutoDispatchBelowAutograd():
        return evaluate(tensors, call)


LIBRARY = torch.library.Library("loopdiff", "FRAGMENT")
LIBRARY.define("evaluate(Tensor[] tensors, str call) -> Tensor[]", tags=(torch.Tag.pt2_compliant_tag,))
LIBRARY.impl("evaluate", on_plain, "CPU")
LIBRARY.impl("evaluate", on_differentiated, "Autograd")
torch.library.register_fake("loopdiff::evaluate", on_shapes, lib=LIBRARY)
