"""Operators against functions of JAX: values and the gradients of every argument, at 64 bits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from loopdiff.kernels import Operator


@dataclass(frozen=True)
class Case:
    """An operator with options, arguments for it, and what it should be. Arguments that are not floating have no
    gradient."""

    operator: Operator
    arguments: tuple[Any, ...]
    expected: Callable[..., Any]
    options: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        options = ",".join(f"{k}={getattr(v, '__name__', v)}" for k, v in self.options.items()).replace(" ", "")
        shapes = "x".join(str(np.shape(a)).replace(" ", "") for a in self.arguments if a is not None)
        return f"{self.operator.__name__}[{options}]{shapes}"


def check(case: Case, rtol: float = 1e-11) -> None:
    """Raise AssertionError where the value or a gradient differs; every element of the result has a seed of its own."""
    f = case.operator.of(**case.options)
    with jax.enable_x64(True):
        active = [n for n, a in enumerate(case.arguments) if is_active(a)]

        def expected(*given: Any) -> Any:
            arguments = list(case.arguments)
            for n, value in zip(active, given, strict=True):
                arguments[n] = value
            return case.expected(*arguments)

        @partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})
        def all_at_once(seeds: Any, *given: Any) -> Any:
            wanted, pull = jax.vjp(expected, *given)
            seeds = jax.tree.map(lambda w, s: jnp.where(jnp.isfinite(w), s, 0.0), wanted, seeds)
            return wanted, seeds, pull(seeds)

        given = [case.arguments[n] for n in active]
        rng = np.random.default_rng(7)
        seeds = jax.tree.map(lambda w: rng.normal(size=w.shape), jax.eval_shape(expected, *given))
        wanted, seeds, wanted_gradients = jax.tree.map(np.asarray, all_at_once(seeds, *given))
    value, pullback = f.vjp(*case.arguments)
    several = isinstance(wanted, tuple)
    for got, want in zip(value if several else (value,), wanted if several else (wanted,), strict=True):
        assert np.shape(got) == want.shape
        np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol)
    gradients = [g for g in pullback(seeds) if g is not None]
    for got, want in zip(gradients, wanted_gradients, strict=True):
        np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol * max(1.0, np.max(np.abs(want), initial=0.0)))


def is_active(argument: Any) -> bool:
    return argument is not None and np.asarray(argument).dtype.kind in "fc"
