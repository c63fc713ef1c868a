"""Calls as an operation of PyTorch's: what `torch.compile` and other tracers put into their graphs.

The operation is opaque to all of them, and has the derivatives of `functions.Composed` in both modes.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.autograd import forward_ad

from loopdiff.torch.functions import PROGRAMS, call_of, compose
from loopdiff.torch.program import TensorProgram
from loopdiff.torch.tensors import numpy_of


def known_to_graphs(program: TensorProgram) -> None:
    """Let graphs call a program that has a name."""
    PROGRAMS[program.name] = program


def on_plain(tensors: Sequence[torch.Tensor], call: str) -> list[torch.Tensor]:
    """The kernel of the CPU."""
    return list(call_of(call).compute([numpy_of(t) for t in tensors]))


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
        return torch.ops.loopdiff.evaluate(tensors, call)


LIBRARY = torch.library.Library("loopdiff", "FRAGMENT")
LIBRARY.define("evaluate(Tensor[] tensors, str call) -> Tensor[]", tags=(torch.Tag.pt2_compliant_tag,))
LIBRARY.impl("evaluate", on_plain, "CPU")
LIBRARY.impl("evaluate", on_differentiated, "Autograd")
torch.library.register_fake("loopdiff::evaluate", on_shapes, lib=LIBRARY)
