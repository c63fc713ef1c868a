"""Derivatives of the sweeps that JAX calls, so that it can differentiate a derivative again.

The forward sweep is pulled back by the reverse sweep; the reverse sweep by that of the *pullback*, both sweeps as one
program. What the forward sweep keeps for the reverse sweep follows from the arguments, so all derivatives by it are
derivatives by them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from loopdiff.ir import nodes as ir
from loopdiff.specialize.specialization import Specialization

Arrays = Mapping[str, Any]


class Program(Protocol):
    """What is asked of a `program.JaxProgram`."""

    traced: tuple[str, ...]
    spec: Specialization

    @property
    def ls(self) -> ir.LoopSet: ...
    @property
    def written(self) -> tuple[str, ...]: ...
    @property
    def function(self) -> Callable[..., Any]: ...
    @property
    def sweeps(self) -> Any: ...
    def forward(self, traced: Sequence[Any]) -> tuple[tuple[Any, ...], Arrays]: ...
    def reverse(self, traced: Sequence[Any], kept: Arrays, arriving: Arrays) -> tuple[Any, ...]: ...
    def unwrapped(self, primals: Sequence[Any]) -> Any: ...
    def pulled(self, traced: Sequence[Any], kept: Arrays, cotangents: Sequence[Any]) -> tuple[Any, ...]: ...
    def pullback(self) -> Program: ...


def differentiable_forward(program: Program) -> Callable[..., tuple[tuple[Any, ...], Arrays]]:
    """`program.forward` with a derivative."""

    @jax.custom_vjp
    def forward(*traced: Any) -> tuple[tuple[Any, ...], Arrays]:
        return program.forward(traced)

    def record(*primals: Any) -> Any:
        traced = program.unwrapped(primals)
        outputs, kept = forward(*traced)
        return (outputs, kept), (traced, kept)

    def pull(residuals: Any, cotangents: Any) -> tuple[Any, ...]:
        traced, kept = residuals
        return program.pulled(traced, kept, cotangents[0])

    forward.defvjp(record, pull, symbolic_zeros=True)
    return forward


def differentiable_reverse(program: Program) -> Callable[[Sequence[Any], Arrays, Arrays], tuple[Any, ...]]:
    """`program.reverse` with a derivative."""

    @jax.custom_vjp
    def reverse(traced: Sequence[Any], kept: Arrays, arriving: Arrays) -> tuple[Any, ...]:
        return program.reverse(traced, kept, arriving)

    def record(traced: Any, kept: Any, arriving: Any) -> Any:
        traced = program.unwrapped(traced)
        kept, arriving = ({n: p.value for n, p in given.items()} for given in (kept, arriving))
        return reverse(traced, kept, arriving), (traced, arriving)

    def pull(residuals: Any, cotangents: Any) -> tuple[Any, ...]:
        traced, arriving = residuals
        given = dict(zip(program.traced, traced, strict=True)) | arriving
        pullback = program.pullback()
        active = {n: v for n, v in given.items() if n in pullback.spec.wrt or n in pullback.written}
        rest = {n: v for n, v in given.items() if n not in active}
        _, pull_again = jax.vjp(lambda some: gradients(program, pullback, {**rest, **some}), active)
        (slopes,) = pull_again(jax.tree.map(materialised, cotangents, is_leaf=is_symbolic))
        return tuple(slopes.get(n) for n in program.traced), None, {n: slopes[n] for n in arriving}

    reverse.defvjp(record, pull, symbolic_zeros=True)
    return reverse


def gradients(program: Program, pullback: Program, given: Arrays) -> tuple[Any, ...]:
    """What `program.reverse` returns, by the program of both sweeps."""
    outputs = pullback.function(*(given[n] for n in pullback.traced))
    buffers = program.sweeps.buffers
    results = [n for n in program.spec.wrt if buffers.get(n) not in pullback.ls.params]
    found = dict(zip(results, outputs, strict=False))
    final = {**given, **dict(zip(pullback.written, outputs[len(results) :], strict=True))}
    found |= {n: final[b] for n, b in buffers.items() if b in pullback.ls.params}
    return tuple(found[n].astype(given[n].dtype) if n in found else None for n in program.traced)


def is_symbolic(value: Any) -> bool:
    return isinstance(value, jax.custom_derivatives.SymbolicZero)


def materialised(cotangent: Any) -> Any:
    """A cotangent as an array, zeros where JAX knows it to be zero."""
    if is_symbolic(cotangent):
        return jnp.zeros(cotangent.shape, np.dtype(str(cotangent.dtype)))
    return cotangent
