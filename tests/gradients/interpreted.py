"""Stages of the compiler up to the sweeps, workspaces for running them in the interpreter, and the public interface
without code generation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from loopdiff.ad.reverse import Sweeps, build_sweeps
from loopdiff.backends.load import CompiledFunction
from loopdiff.frontend.callees import Sources
from loopdiff.frontend.capture import argument_types
from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import compile_loopset, run
from loopdiff.ir.types import INT
from loopdiff.pipeline import derive
from loopdiff.pipeline.stages import Stages
from loopdiff.settings.options import TapePolicy
from loopdiff.source.functions import source_of
from loopdiff.specialize.interface import as_pairs
from loopdiff.specialize.specialization import Specialization
from loopdiff.specialize.units import Unit
from tests.corpus import BY_NAME, Arguments, Entry


def in_real_parts(entry: Entry) -> Entry:
    """`entry` over the arguments of its real program: complex arrays as pairs, complex scalars as two."""
    is_split = {n: isinstance(v, complex | np.complexfloating) for n, v in entry.args(0).items()}

    def make(rng: np.random.Generator) -> Arguments:
        parts: Arguments = {}
        for name, value in entry.make(rng).items():
            if is_split[name]:
                parts |= {f"{name}_re": value.real, f"{name}_im": value.imag}
            else:
                parts[name] = as_pairs(value) if np.iscomplexobj(value) else value
        return parts

    wrt = tuple(part for n in entry.wrt for part in ((f"{n}_re", f"{n}_im") if is_split[n] else (n,)))
    return replace(entry, make=make, wrt=wrt)


def lowered(entry: Entry) -> ir.LoopSet:
    """The normal LoopSet of an entry for its own arguments."""
    return lowered_by_name(entry.name)


@cache
def lowered_by_name(name: str) -> ir.LoopSet:
    entry = BY_NAME[name]
    return normal_form(entry.function, entry.args(0))


@cache
def sweeps_of(name: str, policy: TapePolicy = "auto") -> Sweeps:
    """The sweeps of an entry, in real numbers."""
    return build_sweeps(lowered_by_name(name), in_real_parts(BY_NAME[name]).wrt, policy)


def normal_form(function: Any, args: Arguments) -> ir.LoopSet:
    stages = Stages(function.__name__)
    types = argument_types(args)
    return derive.lower(derive.read(source_of(function), Sources(), types, stages).ls, types, stages)


def allocated(sweeps: Sweeps, args: Arguments) -> dict[str, Any]:
    """`args` and an array for every workspace parameter of the forward sweep, poisoned with NaN."""
    return with_workspace(sweeps, args, count(sweeps, args))


def count(sweeps: Sweeps, args: Arguments) -> dict[str, int]:
    """The totals that size tapes of data-dependent extent."""
    copies = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in args.items()}
    totals: Sequence[Any] = ()
    if sweeps.counts is not None:
        totals = run(sweeps.counts, copies)
    elif sweeps.count_tapes:
        held = with_workspace(sweeps, copies, dict.fromkeys(sweeps.count_names, 0))
        run(sweeps.forward, held)
        totals = [held[name][0] for name in sweeps.count_tapes]
    return dict(zip(sweeps.count_names, map(int, totals), strict=True))


def with_workspace(sweeps: Sweeps, args: Arguments, counted: dict[str, int]) -> dict[str, Any]:
    held: dict[str, Any] = dict(args)
    for name in sweeps.forward.params:
        if name not in held:
            decl = sweeps.forward.array(name)
            assert decl.extents is not None
            assert decl.type is not None
            shape = tuple(evaluate(e, sweeps.forward, held, counted) for e in decl.extents)
            poison = np.nan if decl.type.element.is_float else 99
            held[name] = np.full(shape, poison, decl.type.dtype)
    return held


def evaluate(extent: ir.Expr, ls: ir.LoopSet, env: dict[str, Any], counted: dict[str, int]) -> int:
    """The number an extent stands for in a call with the arguments `env`."""
    arrays = tuple(a for a in ls.arrays if a.role == "argument")
    scalars = (*ls.scalars, *(ir.ScalarDecl(name, INT) for name in counted))
    names = [*(a.name for a in arrays), *(s.name for s in scalars)]
    probe = ir.LoopSet("extent", tuple(names), arrays, scalars, (), (ir.ScalarResult(extent),))
    return int(run(probe, {n: counted.get(n, env.get(n)) for n in names})[0])


@contextmanager
def interpreting() -> Iterator[None]:
    """What a decorated function would compile in this context is interpreted instead, then and later."""
    with patch.object(Specialization, "unit", interpreted_unit):
        yield


def interpreted_unit(spec: Specialization, label: str, ls: ir.LoopSet, *_: object) -> Unit:
    return Unit(ls, CompiledFunction(ls.name, interpreted_function(ls), "", Path()))


def interpreted_function(ls: ir.LoopSet) -> Callable[..., Any]:
    """What Numba would make of `ls`: positional arguments, and results as Python returns them."""
    program = compile_loopset(ls)

    def call(*args: Any) -> Any:
        found = program(dict(zip(ls.params, args, strict=True)))
        return found if ls.returns_tuple else found[0] if found else None

    return call
