"""Calls written out as straight Python, for one kind of arguments: tensors in, compiled code, tensors out.

Small loop nests take less time than a loop over their arguments does. See `specialize.entry_points`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np
import torch
from torch.autograd import forward_ad

from loopdiff.calls.arguments import totals_of
from loopdiff.ir.types import ArrayType, ScalarType
from loopdiff.specialize.entry_points import Script
from loopdiff.specialize.shortage import Needs
from loopdiff.torch.program import ProgramOutput, TensorProgram
from loopdiff.torch.sweeps import BareSweeps, KeptPoint, as_seed
from loopdiff.torch.tensors import NUMBER_DTYPES, numpy_of

Numbers = Sequence[tuple[int, Callable[[Any], Any]]]
MISS = object()  # in place of a value: a call of another kind
QUIET = "if transforms() or forward_ad._current_level >= 0 or modes(): return MISS"


class CallKind(Protocol):
    """What is asked of `direct.DirectCalls`."""

    program: TensorProgram
    kinds: tuple[type[Any], ...]
    guard: Callable[..., bool]
    made: tuple[int, ...]
    tensors: tuple[int, ...]
    floats: tuple[int, ...]
    numbers: Numbers
    arrays: Callable[[Sequence[Any]], list[np.ndarray]]

    def recorded(self, values: list[Any], *tensors: torch.Tensor) -> Any: ...


def entry_point(calls: CallKind) -> Callable[..., Any]:
    """What a call with arguments like those of `calls` does, for all that callers give; MISS for others."""
    given = [k for k, _ in enumerate(calls.kinds) if k not in calls.made]
    script = Script(len(given))
    script.names |= {
        "transforms": torch._C._are_functorch_transforms_active, "modes": torch._C._len_torch_dispatch_stack,
        "forward_ad": forward_ad, "MISS": MISS, "guard": calls.guard, "arrays": calls.arrays,
        "enabled": torch.is_grad_enabled, "recorded": calls.recorded, "plain": plain_entry(calls.program),
    }  # fmt: skip
    script.add(QUIET)
    place = {k: number for number, k in enumerate(given)}
    for k in given:
        kind = script.put(f"kind{k}", calls.kinds[k])
        script.add(f"if type(a{place[k]}) is not {kind}: return MISS")
    tensors = [k for k in given if k in calls.tensors]
    if tensors:
        script.add("try:")
        for k in tensors:
            tensor = f"a{place[k]}"
            if k in calls.floats:
                script.add(f"    r{k} = {tensor}.requires_grad")
                script.add(f"    v{k} = {tensor}.detach().numpy() if r{k} else {tensor}.numpy()")
            else:
                script.add(f"    v{k} = {tensor}.numpy()")
        script.add("except (RuntimeError, TypeError): return MISS")
    script.add(*(f"v{k} = a{place[k]}" for k in given if k not in tensors))
    script.add(f"if not guard({', '.join(f'v{k}' for k in given)}): return MISS")
    if calls.made:
        arguments = ", ".join(f"a{place[k]}" for k in given)
        script.unpack([f"v{k}" for k in calls.made], f"arrays(({arguments}{',' * bool(arguments)}))")
    script.add(*(f"v{k} = {script.put(f'read{k}', read)}(v{k})" for k, read in calls.numbers))
    values = ", ".join(f"v{k}" for k, _ in enumerate(calls.kinds))
    if calls.floats:
        wanted = " or ".join(f"r{k}" for k in calls.floats)
        passed = "".join(f", a{place[k]}" for k in calls.tensors)
        script.add(f"if ({wanted}) and enabled(): return recorded([{values}]{passed})")
    script.add(f"return plain({values})")
    return script.define("call")


def start(program: TensorProgram) -> Script:
    """The start of a function of values for all parameters: copies of what is written, and what is counted."""
    script = Script.of_prepared(len(program.params))
    for k, copy in program.copiers:
        script.put(f"copy{k}", copy)
        script.add(f"a{k} = copy{k}(a{k})")
    if program.hidden_counts:
        found = [f"t{k}" for k, _ in enumerate(program.hidden_counts)]
        script.put("totals", partial(totals_of, program.spec))
        script.unpack(found, f"totals({script.args_tuple})")
        script.passed += found
    return script


def plain_entry(program: TensorProgram) -> Callable[..., Any]:
    """The function alone: tensors of what it gives, one as it is."""
    script, unit = start(program), program.spec.primal
    script.needs = Needs(program.ls.name, program.ls.params, (unit.ls,))
    script.call("value", unit.call, script.args, unit.refuse)
    made = made_outputs(script, program, is_copied=False)
    script.add(f"return {made[0] if len(made) == 1 else in_tuple(made)}")
    return script.define("plain")


def forward_entry(program: TensorProgram, sweeps: BareSweeps) -> Callable[..., tuple[Any, KeptPoint]]:
    """The forward sweep: tensors of what the function gives, in a tuple, and what is kept."""
    script = start(program)
    script.names |= {"forward": sweeps.forward, "sweeps": sweeps, "KeptPoint": KeptPoint}
    script.add(f"value, workspace = forward({script.args})")
    made = made_outputs(script, program, is_copied=True)
    names = [f"o{k}" for k, _ in enumerate(made)]
    script.add(*(f"{name} = {text}" for name, text in zip(names, made, strict=True)))
    results = [(n, o) for n, o in zip(names, program.outcomes, strict=True) if o.written is None and o.is_floating]
    shapes = in_tuple([f"{n}.shape" if isinstance(o.kind, ArrayType) else "()" for n, o in results])
    script.add(f"return {in_tuple(names)}, KeptPoint(sweeps, {script.args_tuple}, workspace, {shapes})")
    return script.define("forward_entry")


def in_tuple(texts: Sequence[str]) -> str:
    return f"({', '.join(texts)},)" if texts else "()"


def made_outputs(script: Script, program: TensorProgram, is_copied: bool) -> list[str]:
    """Texts of tensors of the outcomes. `is_copied`: arrays that are returned are in memory that serves again."""
    script.names |= {"from_numpy": torch.from_numpy, "array": np.array}
    is_tuple = program.ls.returns_tuple or len(program.spec.result_types) > 1
    out: list[str] = []
    for number, outcome in enumerate(program.outcomes):
        if outcome.written is not None:
            out.append(f"from_numpy(a{program.params.index(outcome.written)})")
            continue
        value = f"value[{number}]" if is_tuple else "value"
        if isinstance(outcome.kind, ArrayType):
            out.append(f"from_numpy({value}{'.copy()' * is_copied})")
        else:
            dtype = script.put(f"dtype{number}", np.dtype(str(NUMBER_DTYPES[outcome.kind]).removeprefix("torch.")))
            out.append(f"from_numpy(array({value}, {dtype}))")
    return out


def reverse_entry(program: TensorProgram, sweeps: BareSweeps) -> Callable[..., Any]:
    """The reverse sweep: gradients in `wrt` order, of what is kept and a cotangent, or None, for each outcome."""
    script = Script(len(program.outcomes))
    script.names |= {"bare": bare, "as_seed": as_seed}
    seeds, number = list[str](), 0
    script.add("given = {}")
    for k, outcome in enumerate(program.outcomes):
        if not outcome.is_floating:
            continue
        if outcome.written is None:
            seeds.append(seed_text(script, k, number, outcome, sweeps.copied[number]))
            number += 1
        elif outcome.written in sweeps.takers:
            script.add(f"if a{k} is not None: given[{sweeps.takers[outcome.written]}] = bare(a{k})")
    script.add(f"return kept.pull_ready({in_tuple(seeds)}, given)")
    return script.define("reverse_entry", ("kept",))


def seed_text(script: Script, position: int, number: int, outcome: ProgramOutput, is_copied: bool) -> str:
    cotangent, kind = f"a{position}", outcome.kind
    if isinstance(kind, ArrayType):
        declared = script.put(f"kind{position}", kind)
        value = f"None if {cotangent} is None else bare({cotangent})"
        return f"as_seed({declared}, {value}, kept.shapes[{number}], {is_copied})"
    item = f"(0.0 if {cotangent} is None else {cotangent}.item())"
    return f"{script.put('float32', np.float32)}({item})" if kind is ScalarType.F32 else item


def bare(cotangent: torch.Tensor) -> np.ndarray:
    try:
        return cotangent.numpy()
    except RuntimeError:  # it has a derivative of its own, or is not computed yet
        return numpy_of(cotangent)
