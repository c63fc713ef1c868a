"""Programs put together from the examples of the language table: whatever is accepted, beside, inside and after
whatever else is.

Examples share the names of their arguments, and use the same short names for what they make, so that one goes on with
what another one left.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Sequence
from functools import cache
from random import Random
from typing import Any

import numpy as np

from loopdiff.frontend.language import ACCEPTED
from loopdiff.fuzz.memory import laid_out
from loopdiff.fuzz.program import RandomArgument, RandomProgram, draw_floats
from loopdiff.fuzz.settings import Setting
from loopdiff.source.scopes import own_nodes, words_in

ARGUMENTS = (
    RandomArgument("A", "matrix"),
    RandomArgument("x", "vector"),
    RandomArgument("y", "vector"),
    RandomArgument("idx", "index"),
    RandomArgument("n", "integer"),
    RandomArgument("s", "float"),
)
NAMES = ", ".join(a.name for a in ARGUMENTS)
# What examples mention that their text does not define, or that would fill the screen.
# Nor does a difference know of `stop_gradient`.
OUTSIDE = frozenset(("heapq", "power", "chain", "copy", "special", "Walker", "WEIGHTS", "CONFIG", "print", "loopdiff"))
SIZES = ((5, 8),)
LOSS = "np.tanh(x).sum() + np.tanh(y).sum() + np.tanh(A).sum()"
WRAPPINGS = (
    "{}", "{}", "{}", "for trip in range(2):\n{}", "if s > 0.5:\n{}", "if n > 3:\n{}\nelse:\n    x[0] = s",
    "def part({names}):\n{}\npart({names})", "for trip in range(n):\n    if trip == 1:\n        continue\n{}",
    "while s < 2.0:\n    s += 0.9\n{}",
)  # fmt: skip


class TableProgram(RandomProgram):
    """A program of the table's examples, on arguments as these need them: whatever the sizes, `A` is 5 x 5, vectors
    have 8 elements, and `idx` ascends."""

    def values(self, sizes: tuple[int, int]) -> dict[str, Any]:
        rng = np.random.default_rng([self.seed, 3])
        vectors = {name: draw_floats(rng, (8,)) for name in ("x", "y")}
        matrix = draw_floats(rng, (5, 5)) + 2.0 * np.eye(5)
        ascending = np.sort(rng.integers(0, 5, 6))
        found = {"A": matrix, **vectors, "idx": ascending, "n": int(rng.integers(3, 5)), "s": float(rng.random()) + 0.2}
        given = [a.name for a in self.arguments]
        return {n: laid_out(v, "C") if isinstance(v, np.ndarray) else v for n, v in found.items() if n in given}


def generate_from_table(seed: int) -> TableProgram:
    """The program of a seed: a few examples, some together in loops, branches or functions, one after the other."""
    rng = Random(f"rows {seed}")
    examples = rng.sample(drawable(), rng.randint(2, 4))
    lines = [*put_together(examples, rng), f"return {LOSS}"]
    text = f"def f({NAMES}):\n{textwrap.indent(chr(10).join(lines), '    ')}\n"
    return TableProgram(text, ARGUMENTS, ("A", "x", "y", "s"), SIZES, seed, Setting(fastmath=rng.random() < 0.7))


@cache
def drawable() -> tuple[str, ...]:
    """The examples that say all that they need, and come to their ends."""
    bodies = (c.example for c in ACCEPTED)
    return tuple(body for body in bodies if OUTSIDE.isdisjoint(words_in(ast.parse(body))) and not returns(body))


def put_together(examples: Sequence[str], rng: Random) -> list[str]:
    """Statements that run the `examples` in this order."""
    if len(examples) == 1:
        return [wrapped(rng.choice(WRAPPINGS), examples[0])]
    place = rng.randint(1, len(examples) - 1)
    parts = [*put_together(examples[:place], rng), *put_together(examples[place:], rng)]
    return [wrapped(rng.choice(WRAPPINGS), "\n".join(parts))] if rng.random() < 0.3 else parts


def returns(body: str) -> bool:
    """Whether a statement of the example, outside of functions that it defines, returns."""
    (function,) = ast.parse(f"def f():\n{textwrap.indent(body, '    ')}").body
    return isinstance(function, ast.FunctionDef) and any(isinstance(n, ast.Return) for n in own_nodes(function))


def wrapped(wrapping: str, body: str) -> str:
    inner = body if wrapping == "{}" else textwrap.indent(body, "    ")
    return wrapping.format(inner, names=NAMES)
