"""An entry of the corpus: a loop nest, its arguments, and independent statements of what it computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Arguments = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A named loop nest.

    `make(rng)` builds fresh arguments, in the order of the function's parameters; keyword arguments of `make`
    scale it, and `sizes` names larger scales for benchmarks. `wrt` are the arguments to differentiate and
    `outputs` every array argument the function writes.

    `oracle(xp, **arguments)` computes the same by whole-array operations: a mapping from written arrays (and
    `result`, a tuple if the function returns one) to values. Written arrays that are only scratch may be left
    out. `is_twin` says it also runs with `jax.numpy`, so that `jax.grad` can differentiate it.

    `is_analytic` says that the function is analytic in `wrt` and runs on complex arrays, so its tangent can
    be had from a complex step. `constructs` names the rows of the language table it is there for.
    """

    name: str
    function: Callable[..., Any]
    make: Callable[..., Arguments]
    wrt: tuple[str, ...]
    outputs: tuple[str, ...] = ()
    oracle: Callable[..., Mapping[str, Any]] | None = None
    is_twin: bool = False
    is_analytic: bool = False
    constructs: tuple[str, ...] = ()
    sizes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    notes: str = ""

    def args(self, seed: int = 0, size: str | None = None) -> Arguments:
        """Fresh arguments, the same for the same seed."""
        return self.make(np.random.default_rng(seed), **({} if size is None else self.sizes[size]))


def as_float32(args: Arguments) -> Arguments:
    """The arguments with every float64 array in float32; Python numbers stay, as they are weakly typed."""
    return {
        name: value.astype(np.float32) if isinstance(value, np.ndarray) and value.dtype == np.float64 else value
        for name, value in args.items()
    }
