"""Programs that make much of little: what they compute is another thing once their numbers change in the last bits.

Then it says nothing that a compiled program, which rounds elsewhere, differs from Python.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from loopdiff.fuzz.program import ProgramSizes, RandomProgram

NUDGE = 1.0 + 2.0**-46
MOST = 0.1  # of the tolerance may come of a nudge


class Nudge(ast.NodeTransformer):
    """Floating constants times `NUDGE`."""

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        return ast.copy_location(ast.Constant(node.value * NUDGE), node) if isinstance(node.value, float) else node


def nudged_function(program: RandomProgram) -> Callable[..., Any]:
    """The function of `program` with other constants."""
    tree = ast.fix_missing_locations(Nudge().visit(ast.parse(program.text)))
    names = dict(program.function().__globals__)  # type: ignore[attr-defined]
    exec(compile(tree, "<nudged program>", "exec"), names)
    return names["f"]


def nudged_values(program: RandomProgram, sizes: ProgramSizes) -> dict[str, Any]:
    """The arguments of `program` with floating elements a little greater or smaller, each for itself."""
    rng, args = np.random.default_rng([program.seed, 4]), program.values(sizes)
    for name, value in args.items():
        factors = np.where(rng.random(np.shape(value)) < 0.5, NUDGE, 1.0 / NUDGE)
        if isinstance(value, np.ndarray) and value.dtype.kind in "fc":
            value *= factors.astype(value.real.dtype)
        elif isinstance(value, float | complex):
            args[name] = value * float(factors)
    return args


def is_chaotic(
    program: RandomProgram,
    sizes: ProgramSizes,
    found: Mapping[str, Any],
    tolerance: float,
    named: Callable[..., dict[str, Any]],
) -> bool:
    """Whether the numbers `found` with these sizes are others, by more than `tolerance`, after a nudge. `named` gives
    those of a result and of the arguments."""
    args = nudged_values(program, sizes)
    results = nudged_function(program)(*args.values())
    other = named(results, args)
    return any(
        not np.allclose(v, other[n], rtol=MOST * tolerance, atol=MOST * tolerance, equal_nan=True)
        for n, v in found.items()
    )
