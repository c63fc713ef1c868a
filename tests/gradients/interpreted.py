"""Stages of the compiler up to the sweeps, and workspaces for running them in the interpreter."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from loopdiff import pipeline
from loopdiff.ad.reverse import Sweeps
from loopdiff.frontend.capture import argument_types
from loopdiff.ir.interpret import run
from loopdiff.ir.nodes import Expr, LoopSet, ScalarDecl, ScalarResult
from loopdiff.ir.types import INT
from loopdiff.source import source_of
from loopdiff.stages import Stages
from tests.corpus import BY_NAME, Arguments, Entry


def lowered(entry: Entry) -> LoopSet:
    """The normal LoopSet of an entry for its own arguments."""
    return lowered_by_name(entry.name)


@cache
def lowered_by_name(name: str) -> LoopSet:
    entry = BY_NAME[name]
    return normal_form(entry.function, entry.args(0))


def normal_form(function: Any, args: Arguments) -> LoopSet:
    stages = Stages(function.__name__)
    return pipeline.lower(pipeline.read(source_of(function), stages), argument_types(args), stages)


def allocated(sweeps: Sweeps, args: Arguments) -> dict[str, Any]:
    """`args` and an array for every workspace parameter of the forward sweep, poisoned with NaN."""
    counted: dict[str, int] = {}
    if sweeps.counts is not None:
        copies = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in args.items()}
        totals = run(sweeps.counts, copies)
        counted = dict(zip(sweeps.count_names, map(int, totals), strict=True))
    held: dict[str, Any] = dict(args)
    for name in sweeps.forward.params:
        if name not in held:
            decl = sweeps.forward.array(name)
            assert decl.extents is not None
            assert decl.type is not None
            shape = tuple(evaluate(e, sweeps.forward, held, counted) for e in decl.extents)
            poison = np.nan if decl.type.dtype.startswith("float") else 0
            held[name] = np.full(shape, poison, decl.type.dtype)
    return held


def evaluate(extent: Expr, ls: LoopSet, env: dict[str, Any], counted: dict[str, int]) -> int:
    """The number an extent stands for in a call with the arguments `env`."""
    arrays = tuple(a for a in ls.arrays if a.role == "argument")
    scalars = (*ls.scalars, *(ScalarDecl(name, INT) for name in counted))
    names = [*(a.name for a in arrays), *(s.name for s in scalars)]
    probe = LoopSet("extent", tuple(names), arrays, scalars, (), (ScalarResult(extent),))
    return int(run(probe, {n: counted.get(n, env.get(n)) for n in names})[0])
