"""`wrap`: a decorated loop nest as a pure function of tensors, with its own sweeps as the derivatives."""

from __future__ import annotations

import functools
import inspect
import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from torch.autograd import forward_ad

from loopdiff.cache.keys import digest_of
from loopdiff.calls.arguments import call_key
from loopdiff.calls.bound_method import BoundMethod, wrapped_method
from loopdiff.differentiable import Differentiable
from loopdiff.errors import NOWHERE, ArgumentError
from loopdiff.errors.codes import reject
from loopdiff.frontend.capture import ArgumentType
from loopdiff.frontend.extents import small_axes
from loopdiff.frontend.structures.given import flattened, of_leaves
from loopdiff.immutable import replace
from loopdiff.ir.types import ArrayType
from loopdiff.ir.walk import written_arrays
from loopdiff.specialize.specialization import Specialization
from loopdiff.torch.direct import DirectCalls, are_transforms_active
from loopdiff.torch.entries import MISS
from loopdiff.torch.functions import ProgramCall, compose, is_watched
from loopdiff.torch.on_device import DeviceCall, call_on_device, refuse_mixed
from loopdiff.torch.operands import (
    OutputShape,
    as_operand,
    assembled,
    is_plain,
    output_of,
    refuse_devices,
    refuse_outputs,
    stand_in,
    tensor_parts,
    type_of_array,
)
from loopdiff.torch.operator import known_to_graphs
from loopdiff.torch.program import TensorProgram
from loopdiff.torch.registry import WRAPPED
from loopdiff.torch.tensors import numpy_of, type_of_operand

if TYPE_CHECKING:
    from loopdiff.calls.structured import StructuredCalls

COUNT = itertools.count()


def wrap(
    f: Differentiable | BoundMethod[..., Any], outputs: Mapping[str, OutputShape] | None = None
) -> Callable[..., Any]:  # fmt: skip
    """A pure function of tensors that runs `f` (made by `vectorize_grad`) and is differentiated by its sweeps.

    Its arguments are those of `f` without the ones named in `outputs`; it returns the result of `f`, if any, and the
    final values of the arrays `f` writes, in argument order: one value as it is, several as a tuple. Tensors of the CPU
    of any strides are taken over the same memory. Written inputs are not changed: the loops write a copy, which is
    returned. Numbers are Python's, without derivatives, or tensors without axes. Lists, tuples, dictionaries and
    records of these are taken apart as `f` takes them, and so is what it returns. Functions for `target="cuda"` take
    tensors of the GPU, and have derivatives of first order.

    Args:
        f: A function made by `vectorize_grad`, or a method of an instance, `model.energy`.
        outputs: For each pure output argument its shape: a tuple, a tensor like it (on the device `meta`, say), or a
            function from the other arguments to one of these. The dtype, where not given, is that of the floating
            arguments.

    Raises:
        ArgumentError: An argument or output that does not fit, by name (LD3xx).
        UnsupportedLoopError: The types leave the accepted language (LD2xx).
        DifferentiationError: A derivative with respect to an argument outside `wrt` (LD405).
    """
    if isinstance(f, BoundMethod):
        return wrapped_method(f, wrap, outputs)
    if not isinstance(f, Differentiable):
        raise ArgumentError(reject("LD350", f"`wrap` takes a function made by `vectorize_grad`, not {f!r}", NOWHERE))
    function = TensorFunction(f, dict(outputs or {}))
    handle, arity, is_compiling = function.handle, function.arity, torch.compiler.is_compiling

    @functools.wraps(f.plain)
    def wrapped(*args: Any, **named: Any) -> Any:
        if is_compiling():
            from loopdiff.torch.traced import traced_call

            return traced_call(handle, args, named)
        latest = function.latest
        if latest is not None and not named and len(args) == arity:
            found = latest.entry(*args)
            if found is not MISS:
                return found
        return function.recognised(args, named)

    wrapped.__signature__ = function.signature  # type: ignore[attr-defined]
    return wrapped


class TensorFunction:
    """What `wrap` made of `f`: calls that it met, and programs, by what decides them."""

    def __init__(self, f: Differentiable, outputs: Mapping[str, OutputShape]) -> None:
        self.f, self.parameters = f, list(f.signature.parameters.values())
        self.outputs = {p.name: outputs[p.name] for p in self.parameters if p.name in outputs}
        surface = f.program.surface
        known = set(f.signature.parameters) if surface is None else written_arrays(surface.body)
        refuse_outputs(f, set(outputs) - known)
        self.signature = inspect.Signature([p for p in self.parameters if p.name not in outputs])
        names = [p.name for p in self.parameters]
        self.made = [k for k, n in enumerate(names) if n in outputs]
        by_name = any(p.kind is p.KEYWORD_ONLY for p in self.parameters)
        self.arity = -1 if by_name else len(names) - len(self.made)
        self.latest: DirectCalls | None = None
        self.known: dict[Any, DirectCalls | None] = {}  # None: by `composed`
        self.programs: dict[Any, TensorProgram] = {}
        self.structured: StructuredCalls | None = None  # of the latest call with structures
        self.leafwise: dict[StructuredCalls, TensorFunction] = {}
        self.handle = f"{f.plain.__qualname__} {next(COUNT)}"
        WRAPPED[self.handle] = self

    def of_leaves(self, args: list[Any]) -> Any:
        """A call with the leaves of a structure."""
        if self.latest is not None:
            found = self.latest.entry(*args)
            if found is not MISS:
                return found
        return self.recognised(tuple(args), {})

    # -- finding what a call needs ---------------------------------------------------------------------------
    def bound(self, args: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments by name, defaults included. Raises ArgumentError (LD301)."""
        try:
            found = self.signature.bind(*args, **named)
        except TypeError as error:
            raise ArgumentError(reject("LD301", f"`{self.f.plain.__name__}`: {error}", NOWHERE)) from None
        found.apply_defaults()
        return dict(found.arguments)

    def recognised(self, args: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        """A call that is not like the one before, or one with structures."""
        before = self.structured
        if before is not None and not named and len(args) == len(self.parameters) and before.guard(*args):
            return self.in_structure(before, args, TensorFunction.of_leaves)
        given = self.bound(args, named)
        structured = self.structured_calls(given)
        if structured is not None:
            self.structured = structured
            return self.in_structure(structured, self.whole(given), TensorFunction.of_leaves)
        args = tuple(as_operand(n, v) for n, v in given.items())
        if self.f.options.target == "cuda" or not is_quiet() or not all(is_plain(a) for a in args):
            return self.composed(args, {})
        values = [numpy_of(a) if isinstance(a, torch.Tensor) else a for a in args]
        shapes = tuple(small_axes(np.shape(v)) for v in values)
        key = (tuple(map(type, args)), call_key(values), shapes)
        if key not in self.known:
            self.known[key] = self.direct_calls(args, values)
        calls = self.known[key]
        if calls is None:
            return self.composed(args, {})
        self.latest = calls
        found = calls.entry(*args)
        return self.composed(args, {}) if found is MISS else found

    def direct_calls(self, args: Sequence[Any], values: Sequence[Any]) -> DirectCalls | None:
        """Calls with arguments like these; None where derivatives have another type than what they are of."""
        f, made = self.f, self.arrays(args)
        whole, every = list(values), list(args)
        for k, array in zip(self.made, made, strict=True):
            whole.insert(k, array)
            every.insert(k, array)
        names = [p.name for p in self.parameters]
        types = {n: type_of_array(v) for n, v in zip(names, whole, strict=True)}
        in_rows = {n: replace(t, layout="C") if isinstance(t, ArrayType) else t for n, t in types.items()}
        written = f.specialize(in_rows).written
        types = {n: in_rows[n] if n in written else t for n, t in types.items()}
        spec = self.specialized(types)
        program = TensorProgram(spec, self.run_finder(spec), tuple(self.outputs))
        if program.gives_halves:
            return None
        return DirectCalls(program, self.program(in_rows), every, whole, self.made, self.arrays)

    def specialized(self, types: Mapping[str, ArgumentType]) -> Specialization:
        spec = self.f.specialize(types)
        refuse_outputs(self.f, set(self.outputs) - spec.written)
        return spec

    def program(self, types: Mapping[str, ArgumentType]) -> TensorProgram:
        """The program for tensors in rows."""
        key = tuple(types.items())
        if key not in self.programs:
            spec = self.specialized(types)
            made = self.programs[key] = TensorProgram(spec, self.run_finder(spec))
            made.name = self.name_of(types)
            known_to_graphs(made)
        return self.programs[key]

    def name_of(self, types: Mapping[str, ArgumentType]) -> str:
        """The name of a program in graphs: of what it computes, if that has one, as graphs are kept on disk."""
        own = self.f.identity or f"{os.getpid()} {id(self)} {self.handle}"
        made = digest_of([own, repr(sorted(types.items())), repr(sorted(self.outputs))])
        return f"{self.f.plain.__name__}-{made[:32]}"

    def run_finder(self, spec: Specialization) -> Callable[[tuple[Any, ...]], Any] | None:
        """What chooses sweeps by arguments; None where the choice is always the same."""
        return functools.partial(self.f.reverse_run, spec, "pullback") if self.f.depends_on_values else None

    # -- structures ------------------------------------------------------------------------------------------
    def whole(self, given: Mapping[str, Any]) -> tuple[Any, ...]:
        """All arguments, a number for each pure output."""
        return tuple(given.get(p.name, 0.0) for p in self.parameters)

    def structured_calls(self, given: Mapping[str, Any]) -> StructuredCalls | None:
        """How arguments are taken apart; None for numbers and tensors."""
        found, spec = flattened(self.whole(given))
        return self.f.structured_calls(of_leaves(spec, [stand_in(v) for v in found]))

    def in_structure(
        self, calls: StructuredCalls, whole: tuple[Any, ...], run: Callable[[TensorFunction, list[Any]], Any]
    ) -> Any:
        """What `run` makes of the leaves: the result in its structure, before arrays that are written."""
        if calls not in self.leafwise:
            self.leafwise[calls] = TensorFunction(cast(Differentiable, calls.flat), self.outputs)
        named = zip(calls.names, calls.leaves(whole), strict=True)
        return calls.with_written(run(self.leafwise[calls], [leaf for n, leaf in named if n not in self.outputs]))

    # -- under transforms ------------------------------------------------------------------------------------
    def composed(self, args: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        """A call under transforms of PyTorch's, or traced."""
        given = self.bound(args, named)
        structured = self.structured_calls(given)
        if structured is not None:
            return self.in_structure(structured, self.whole(given), lambda f, values: f.composed(tuple(values), {}))
        given = {n: as_operand(n, v) for n, v in given.items()}
        made = {n: output_of(n, spec, given) for n, spec in self.outputs.items()}
        every = {p.name: made[p.name] if p.name in made else given[p.name] for p in self.parameters}
        types = {n: type_of_operand(n, v) for n, v in every.items()}
        if self.f.options.target == "cuda":
            refuse_mixed(self.f, every, is_quiet=not are_transforms_active() and not is_watched())
            return call_on_device(DeviceCall(self.f, self.specialized(types), every, frozenset(made)))
        refuse_devices(self.f, every)
        program = self.program(types)
        parts = [part for n, v in every.items() for part in tensor_parts(program.spec, n, v)]
        constants = tuple((k, v) for k, v in enumerate(parts) if not isinstance(v, torch.Tensor))
        tensors = [v for v in parts if isinstance(v, torch.Tensor)]
        return assembled(program, compose(ProgramCall(program, constants), tensors))

    # -- pure outputs ----------------------------------------------------------------------------------------
    def arrays(self, args: Sequence[Any]) -> list[np.ndarray]:
        """An array of zeros for each pure output."""
        given = dict(zip(self.signature.parameters, args, strict=True))
        return [output_of(n, spec, given).numpy() for n, spec in self.outputs.items()] if self.outputs else []


def is_quiet() -> bool:
    """Whether no transform of PyTorch's is about, and nobody looks at its operations."""
    return not are_transforms_active() and forward_ad._current_level < 0 and not is_watched()
