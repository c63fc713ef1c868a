"""The plain way into JAX, `jax.custom_vjp` around the sweeps: reverse mode alone, to any order.

The forward sweep is pulled back by the reverse sweep; the reverse sweep by that of the *pullback*, both sweeps as one
program. What the forward sweep keeps for the reverse sweep follows from the arguments, so all derivatives by it are
derivatives by them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from loopdiff.jax.batches import unmarked
from loopdiff.jax.derived import gradient_inputs, gradients_among
from loopdiff.jax.manual import varying_together
from loopdiff.jax.program import JaxProgram
from loopdiff.jax.reverse import rounded_slope

Values = Sequence[Any]


def apply(program: JaxProgram, traced: Values) -> tuple[Any, ...]:
    """The outputs of `program`."""
    return program.once("by custom_vjp", lambda: differentiable(program))(*varying_together(traced))


def differentiable(program: JaxProgram) -> Callable[..., tuple[Any, ...]]:
    """The function of the traced inputs, with the reverse sweep as its derivative."""

    def evaluate(*traced: Any) -> tuple[Any, ...]:
        return program.evaluate(traced, unmarked(traced))

    def record(*primals: Any) -> Any:
        traced = unwrapped(program, primals)
        outputs, kept = forward_of(program)(*traced)
        return outputs, (traced, kept)

    def pull(residuals: Any, cotangents: Any) -> tuple[Any, ...]:
        traced, kept = residuals
        return gradients(program, traced, kept, cotangents)

    return with_derivative(evaluate, record, pull)


def forward_of(program: JaxProgram) -> Callable[..., tuple[Values, Values]]:
    """The outputs and what is kept, with a derivative."""

    def forward(*traced: Any) -> tuple[Values, Values]:
        outputs, rest = program.forward(traced, unmarked(traced))
        return outputs, program.kept_of(outputs, rest)

    def record(*primals: Any) -> Any:
        traced = unwrapped(program, primals)
        outputs, kept = again(*traced)
        return (outputs, kept), (traced, kept)

    def pull(residuals: Any, cotangents: Any) -> tuple[Any, ...]:
        traced, kept = residuals
        return gradients(program, traced, kept, cotangents[0])

    again = with_derivative(forward, record, pull)
    return again


def gradients(program: JaxProgram, traced: Values, kept: Values, cotangents: Values) -> tuple[Any, ...]:
    """Gradients of the traced inputs, None for those without a derivative, from cotangents of all outputs."""
    slopes = reverse_of(program)(traced, kept, tuple(materialised(cotangents[k]) for k in program.with_slopes))
    found = dict(zip(program.slopes, slopes, strict=True))
    return tuple(found.get(n) for n in program.traced)


def reverse_of(program: JaxProgram) -> Callable[[Values, Values, Values], tuple[Any, ...]]:
    """The reverse sweep with a derivative."""

    def reverse(traced: Values, kept: Values, cotangents: Values) -> tuple[Any, ...]:
        given = (*traced, *kept, *cotangents)
        return program.reverse(traced, kept, cotangents, unmarked(given), unmarked(program.slopes))

    def record(traced: Any, kept: Any, cotangents: Any) -> Any:
        traced = unwrapped(program, traced)
        kept, cotangents = (tuple(p.value for p in given) for given in (kept, cotangents))
        return again(traced, kept, cotangents), (traced, cotangents)

    def pull(residuals: Any, of_slopes: Any) -> tuple[Any, ...]:
        traced, cotangents = residuals
        is_active = [n in program.slopes for n in program.traced]

        def anew(active: Values, cotangents: Values) -> list[Any]:
            some = iter(active)
            values = [next(some) if a else v for a, v in zip(is_active, traced, strict=True)]
            given = gradient_inputs(program, values, cotangents)
            found = gradients_among(program, apply(program.pullback(), given), given)
            return [rounded_slope(v, k.dtype) for v, k in zip(found, program.slope_kinds, strict=True)]

        active = [v for a, v in zip(is_active, traced, strict=True) if a]
        _, pull_again = jax.vjp(anew, active, cotangents)
        slopes, of_cotangents = pull_again([*map(materialised, of_slopes)])
        some = iter(slopes)
        return tuple(next(some) if a else None for a in is_active), None, of_cotangents

    again = with_derivative(reverse, record, pull)
    return again


def with_derivative(function: Callable[..., Any], record: Callable[..., Any], pull: Callable[..., Any]) -> Any:
    """`function` for JAX, differentiated by `record`, which sees what is perturbed, and `pull`."""
    made = jax.custom_vjp(function)
    made.defvjp(record, pull, symbolic_zeros=True)
    return made


def unwrapped(program: JaxProgram, primals: Values) -> tuple[Any, ...]:
    """The traced inputs, none of which JAX differentiates in vain."""
    for name, primal in zip(program.traced, primals, strict=True):
        if primal.perturbed:
            program.refuse_derivative(name)
    return tuple(p.value for p in primals)


def materialised(cotangent: Any) -> Any:
    """A cotangent as an array, zeros where JAX knows it to be zero."""
    if isinstance(cotangent, jax.custom_derivatives.SymbolicZero):
        return jnp.zeros(cotangent.shape, np.dtype(str(cotangent.dtype)))
    return cotangent
