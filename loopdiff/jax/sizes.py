"""Shapes of what foreign calls give, known when JAX traces: from shapes of arguments and static integers alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import jax
import numpy as np

from loopdiff.calls.runs import ReverseRun, fitting_run
from loopdiff.errors import NOWHERE, ArgumentError
from loopdiff.errors.codes import reject
from loopdiff.ir import nodes as ir
from loopdiff.ir.types import BOOL, INT
from loopdiff.ir.walk import expressions, returned_arrays, subexprs
from loopdiff.jax.calls import scalar_kind
from loopdiff.jax.extents import Shape, by_name, is_refuted
from loopdiff.memory.arena import EXTENT_NAMES, Sizes, UnknownNumber, aligned_block, sizes_function
from loopdiff.specialize.specialization import Specialization


class StaticShapes:
    """What is known of the arguments of `ls`: the shapes `dims` of arrays, and the numbers `statics`."""

    def __init__(self, ls: ir.LoopSet, statics: Mapping[str, int], dims: Mapping[str, Shape]) -> None:
        self.ls, self.statics, self.dims = ls, statics, dims

    def check(self) -> None:
        """Evaluate the conditions on shapes and static integers now: ArgumentError with the argument's name."""
        known = {**EXTENT_NAMES, **by_name(self.statics, self.dims)}
        for stmt in self.ls.body:
            if not isinstance(stmt, ir.Require):
                continue
            nodes = list(subexprs(stmt.cond))
            if any(isinstance(e, ir.Load | ir.Var | ir.Index) for e in nodes):
                continue
            names = {getattr(e, "name", None) or getattr(e, "array", None) for e in nodes} - {None}
            if names <= set(known) and is_refuted(stmt.cond, known):
                raise ArgumentError(reject(stmt.code, stmt.said, stmt.loc))

    @property
    def values(self) -> list[Any]:
        """The arguments, as far as shapes may depend on them."""
        return [
            Elements(self.ls.name, p, self.dims[p]) if p in self.dims else self.statics.get(p, Traced(p))
            for p in self.ls.params
        ]

    def of_results(self) -> dict[str, Shape]:
        """Shapes of the arrays that are returned. Raises ArgumentError: LD351, LD352."""
        decls = [a for a in self.ls.arrays if a.name in returned_arrays(self.ls) and a.name not in self.ls.params]
        sizes = sizes_function(self.ls.params, decls)(*self.values) if decls else ()
        return dict(zip((d.name for d in decls), sizes, strict=True))

    def of_workspace(self, run: ReverseRun) -> dict[str, Shape]:
        """Shapes of what is kept between the sweeps. Raises ArgumentError: LD351 where a traced number decides them,
        LD352 where elements of arrays do; and OutOfMemoryError (LD610)."""
        sizes = self.sizes_for(run)
        refuse_shortage(run, sizes, self.values)
        return dict(zip(run.units.plan.forward.params[len(self.ls.params) :], sizes, strict=False))

    def sizes_for(self, run: ReverseRun) -> Sizes:
        """Shapes of all that sweeps keep, whatever there is room for."""
        names = run.units.plan.forward.params[len(self.ls.params) :]
        return run.arena.sizes((*self.values, *self.counts(run))) if names else ()

    def fitting_run(self, spec: Specialization, limit: int) -> ReverseRun:
        """The first sweeps that keep no more than `limit` bytes, as far as JAX knows. ArgumentError (LD345) if all keep
        more."""

        def known(run: ReverseRun) -> Sizes:
            sizes = self.sizes_for(run)
            return sizes if are_numbers(sizes) else ()

        return fitting_run(spec, "sums", known, limit)

    def counts(self, run: ReverseRun) -> tuple[int, ...]:
        """Totals that size the tape, counted now from shapes and static integers. LD352 if elements decide them."""
        if not run.units.plan.count_names:
            return ()
        unit = run.units.counts
        nodes = [] if unit is None else [e for x in expressions(unit.ls) for e in subexprs(x)]
        is_loaded = any(isinstance(e, ir.Load) and e.access.subscripts for e in nodes)
        is_traced = any(isinstance(e, ir.Param) and e.name not in self.statics for e in nodes)
        if unit is None or is_loaded or is_traced:
            message = f"`{self.ls.name}` keeps values in loops whose length depends on data; JAX needs static sizes"
            bounds = "give such loops bounds from shapes and Python ints"
            is_thrifty = run.label.endswith("recompute")
            hint = bounds if is_thrifty else f"decorate with `tape='recompute'`, or {bounds}"
            raise ArgumentError(reject("LD352", message, NOWHERE, hint))
        return unit.run(*(self.placeholder(p) for p in unit.ls.params))

    def placeholder(self, name: str) -> Any:
        """An argument of which only the type and the shape matter, or a static integer."""
        kind = self.ls.array(name).type if self.ls.has_array(name) else None
        if kind is not None:
            return np.empty(self.dims[name], kind.dtype)
        return self.statics.get(name, 0 if scalar_kind(self.ls.scalar(name)) in (BOOL, INT) else 0.0)


class Elements:
    """Stands for an array whose elements are not known when tracing; using one as a size is an error."""

    def __init__(self, function: str, name: str, shape: Shape) -> None:
        self.function, self.name, self.shape = function, name, shape

    def __getitem__(self, _: Any) -> Any:
        message = f"an element of `{self.name}` decides how large an array of `{self.function}` is, and is traced"
        hint = "pass the size as a Python int, or fill an array that is given in `outputs`"
        raise ArgumentError(reject("LD352", message, NOWHERE, hint))


class Traced(UnknownNumber):
    """Stands for a number that is not known when tracing; using it as a size is an error that names it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def refuse(self) -> NoReturn:
        message = f"`{self.name}` decides how large an array is, and is traced"
        raise ArgumentError(reject("LD351", message, NOWHERE, "pass it as a Python int"))


def are_numbers(sizes: Sizes) -> bool:
    """Whether JAX leaves no extent open."""
    return all(isinstance(extent, int) for shape in sizes for extent in shape)


def refuse_shortage(run: ReverseRun, sizes: Sizes, values: Sequence[Any]) -> None:
    """Ask the system for the memory that XLA is going to ask it for: XLA's own refusal says nothing of arrays."""
    if not sizes or not are_numbers(sizes) or jax.default_backend() != "cpu":
        return
    try:
        aligned_block(run.arena.bytes(sizes))
    except MemoryError as error:
        raise run.needs.refusal(values, error) from None
