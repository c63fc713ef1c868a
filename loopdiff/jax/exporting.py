"""Foreign calls of programs that JAX exports: their names, which a process has to know that runs such a program."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import jax

from loopdiff.jax.partitioning import EXPORTING, during


def targets(function: Callable[..., Any], *args: Any, **named: Any) -> tuple[str, ...]:
    """The names of loopdiff's foreign calls in a JAX function, all of which are registered then.

    They follow from the loops, the types, the version of loopdiff and the processor, so a process that wraps the same
    functions on the same kind of machine has the same. `jax.export` wants them in `disabled_checks`. A process that
    runs an exported program calls this first, with the function and shapes that it was exported with, or XLA refuses to
    run it.

    Args:
        function: A function of JAX's that calls functions made by `wrap`, such as `jax.grad(loss)`.
        args: Its arguments, or `jax.ShapeDtypeStruct`s like them.
        named: Likewise, by name.
    """
    with during(EXPORTING):
        text = jax.jit(function).lower(*args, **named).as_text()
    return tuple(sorted(set(re.findall(r"custom_call @(loopdiff_\w+)", text))))
