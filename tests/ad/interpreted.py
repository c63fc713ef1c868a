"""Derivatives through the interpreter: no code generation, so these tests judge the transforms alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from loopdiff.ad.forward import build_tangent
from loopdiff.ad.reverse import Sweeps, build_sweeps
from loopdiff.analysis.activity import differentiable_arguments
from loopdiff.canonical.single_assignment import normalize
from loopdiff.frontend.binding.bind import bind
from loopdiff.frontend.capture import argument_types
from loopdiff.frontend.parse import parse_function
from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import run
from loopdiff.ir.verify import verify
from loopdiff.source.functions import source_of
from tests.gradients.interpreted import allocated

Arguments = Mapping[str, Any]


def lower(fn: Callable[..., Any], args: Arguments) -> ir.LoopSet:
    """The normal LoopSet of `fn` for arguments like `args`."""
    types = argument_types(args)
    return normalize(bind(parse_function(source_of(fn), types), types))


def copied(args: Arguments) -> dict[str, Any]:
    return {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in args.items()}


@dataclass(frozen=True)
class Pullback:
    """Result of one forward and reverse run: final arguments, results, gradients by argument name."""

    results: tuple[Any, ...]
    final: dict[str, Any]
    gradients: dict[str, Any]
    sweeps: Sweeps


def vjp(
    fn: Callable[..., Any], args: Arguments, *, wrt: tuple[str, ...] | None = None, seeds: tuple[Any, ...] = (1.0,),
    cotangents: Arguments | None = None, policy: str = "auto",
) -> Pullback:  # fmt: skip
    """Run forward and reverse; `seeds` for the floating results, `cotangents` for final values of written arrays."""
    ls = lower(fn, args)
    wrt = wrt or differentiable_arguments(ls)
    return pull(ls, wrt, verified_sweeps(ls, wrt, policy), args, seeds=seeds, cotangents=cotangents)


def verified_sweeps(ls: ir.LoopSet, wrt: tuple[str, ...], policy: str) -> Sweeps:
    sweeps = build_sweeps(ls, wrt, policy)  # type: ignore[arg-type]
    verify(sweeps.forward, "forward")
    verify(sweeps.reverse, "reverse")
    return sweeps


def pull(
    ls: ir.LoopSet, wrt: tuple[str, ...], sweeps: Sweeps, args: Arguments, *, seeds: tuple[Any, ...] = (1.0,),
    cotangents: Arguments | None = None,
) -> Pullback:  # fmt: skip
    """What `vjp` gives, of sweeps that are there."""
    state = allocated(sweeps, copied(args))
    results = run(sweeps.forward, state)
    before = copied(state)
    pending = list(seeds)
    buffers: dict[str, Any] = {}
    inputs = dict(state)
    for name in sweeps.reverse.params[len(sweeps.forward.params) :]:
        primal = name.removesuffix("_adj")
        if primal in args:
            given = (cotangents or {}).get(primal, 0.0)
            buffers[primal] = inputs[name] = np.zeros(args[primal].shape, args[primal].dtype) + given
        else:
            inputs[name] = pending.pop(0)
    scalars = run(sweeps.reverse, inputs)
    for name in args:
        np.testing.assert_array_equal(state[name], before[name], err_msg=f"reverse changed {name}")
    names = [s.name for s in ls.scalars if s.name in wrt]
    gradients = buffers | dict(zip(names, scalars, strict=True))
    return Pullback(results, {k: state[k] for k in args}, gradients, sweeps)


def jvp(fn: Callable[..., Any], args: Arguments, directions: Arguments) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Tangents of the floating results and of the final arrays in the given directions."""
    ls = lower(fn, args)
    tangent = build_tangent(ls, tuple(directions))
    verify(tangent, "tangent")
    inputs = copied(args)
    for name in tangent.params[len(ls.params) :]:
        primal = name.removesuffix("_tan")
        direction = directions.get(primal, 0.0)
        is_array = isinstance(args[primal], np.ndarray)
        inputs[name] = np.zeros(args[primal].shape) + direction if is_array else float(direction)
    results = run(tangent, inputs)
    finals = {n.removesuffix("_tan"): inputs[n] for n in tangent.params[len(ls.params) :]}
    return results[len(ls.results) :], finals
