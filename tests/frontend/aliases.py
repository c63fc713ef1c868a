"""Small programs in which names change hands: every order of a few bindings, alterations, branches and loops.

The front end alone is tried, its loops run by the interpreter, so that thousands are checked in minutes:
`python -m tests.frontend.aliases --seed 0 --seconds 600`.
"""

from __future__ import annotations

import argparse
import collections
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from loopdiff.errors import LoopdiffError
from loopdiff.ir.interpret import run
from tests.gradients.interpreted import normal_form
from tests.texts import registered

BINDINGS = (
    "y = x", "x = y", "z = y", "z = x", "y = z", "y = x[::-1]", "z = y[::-1]", "x, y = y, x", "x, z = z, 0.5 * x",
    "y = 2.0 * x", "z = np.zeros(3)", "x = first(y)", "y = same(x)", "z = either(x, y, c)", "y = x if c else z",
    "y = x if c else x[::-1]", "g = h", "g, h = h, g",
)  # fmt: skip
ALTERATIONS = (
    "x[0] += 1.5",
    "y[0] = 7.0",
    "z[1] -= x[2]",
    "y += x",
    "x *= 0.5",
    "z += y",
    "y[1:] = x[:-1]",
    "y[2] = g(x[2])",
)
# Fewer of both, so that all of their orders come up: names of local arrays, without views and functions.
FEW_BINDINGS = (
    "x = y", "y = x", "y = z", "z = y", "z = x", "x = z", "x = first(y)", "y = first(z)", "z = first(x)",
    "y = np.zeros(3)",
)  # fmt: skip
FEW_ALTERATIONS = ("x[0] += 1.5", "y[0] = 7.0", "z[1] -= x[2]", "x *= 0.5")
CONDITIONS = ("c", "t % 2 == 0", "t == 1", "y[0] > x[0]", "x.sum() > 0.0")
HELPERS = """
def first(v):
    return v + 1.0

def same(v):
    return v

def either(v, w, c):
    if c:
        return v
    return 0.5 * w

"""


@dataclass(frozen=True, slots=True)
class Choices:
    """What programs are made of."""

    bindings: tuple[str, ...] = BINDINGS
    alterations: tuple[str, ...] = ALTERATIONS

    def simple(self, rng: random.Random) -> str:
        return rng.choice(self.bindings if rng.random() < 0.55 else self.alterations)


def statements(rng: random.Random, choices: Choices, depth: int, count: int, in_loop: bool) -> list[str]:
    lines: list[str] = []
    for _ in range(count):
        kind = rng.random()
        if kind < 0.5 or not depth:
            lines.append(choices.simple(rng))
        elif kind < 0.65:
            lines += [
                f"if {rng.choice(CONDITIONS)}:",
                *indented(statements(rng, choices, depth - 1, rng.choice((1, 2)), in_loop)),
            ]
        elif kind < 0.85:
            lines += [f"if {rng.choice(CONDITIONS)}:", *indented(statements(rng, choices, depth - 1, 1, in_loop))]
            lines += ["else:", *indented(statements(rng, choices, depth - 1, 1, in_loop))]
        elif kind < 0.93 and in_loop:
            lines += [f"if {rng.choice(CONDITIONS)}:", f"    {rng.choice(('break', 'continue'))}"]
        else:
            head = rng.choice(("for k in range(2):", "for v in y:", "while m < n:"))
            lines += [
                head,
                *indented([*(["m += 1"] if "while" in head else []), *statements(rng, choices, depth - 1, 2, True)]),
            ]
    return lines


def indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def program(seed: int) -> str:
    """The text of a function `f(x, y, w, c, n)`."""
    rng = random.Random(seed)
    start = rng.choice(("z = x", "z = 2.0 * x", "z = x[::-1]", "z = y"))
    is_own = rng.random() < 0.5
    choices = Choices(FEW_BINDINGS, FEW_ALTERATIONS) if is_own and rng.random() < 0.7 else Choices()
    body = statements(rng, choices, 2, rng.choice((2, 3, 4)), True)
    lines = ["m = 0", "g, h = first, lambda v: 0.25 * v", start, "for t in range(n):", *indented(body)]
    if is_own:  # arrays that nobody outside knows
        lines = ["x, y = 1.0 * x, 1.0 * y", *lines]
    if rng.random() < 0.3:  # an extent that the text alone does not tell
        lines = ["q = 3", "if c:", "    q = 3", *(line.replace("zeros(3)", "zeros(q)") for line in lines)]
    lines += statements(rng, choices, 1, rng.choice((0, 1)), False)
    lines = [
        line.replace("t % 2 == 0", "c").replace("t == 1", "c") if not line.startswith(" ") else line for line in lines
    ]
    result = "return (x * w[0]).sum() + (y * w[1]).sum() + (z * w[2]).sum()"
    return "\n".join([f"{HELPERS}def f(x, y, w, c, n):", *indented([*lines, result]), ""])


WEIGHTS = np.array([[1.0, 2.0, 4.0], [8.0, 16.5, 33.0], [65.0, 131.0, 257.0]])


def arguments() -> Iterator[dict[str, Any]]:
    for c in (True, False):
        for n in (3, 1):
            x, y = np.array([1.25, -0.5, 0.375]), np.array([-0.75, 2.0, 0.625])
            yield {"x": x, "y": y, "w": WEIGHTS, "c": c, "n": n}


def mismatch(seed: int) -> str | None:
    """How the program differs from plain Python; None if it does not. Raises LoopdiffError where it is refused."""
    function = registered(program(seed), f"<alias {seed}>", np=np)
    loops = normal_form(function, next(arguments()))
    for args, mine in zip(arguments(), arguments(), strict=True):
        try:
            with np.errstate(all="ignore"):
                expected = function(**args)
        except (NameError, RecursionError):
            continue
        (found,) = run(loops, mine)
        for name, ours, theirs in (
            ("result", found, expected),
            ("x", mine["x"], args["x"]),
            ("y", mine["y"], args["y"]),
        ):
            if not np.allclose(ours, theirs, rtol=1e-9, atol=1e-9, equal_nan=True):
                return f"{name}: {ours}, not {theirs}, for c={args['c']}, n={args['n']}"
    return None


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    end, seed = time.monotonic() + options.seconds, options.seed
    counts: collections.Counter[str] = collections.Counter()
    while time.monotonic() < end:
        try:
            found = mismatch(seed)
        except LoopdiffError as error:
            counts["refused " + " ".join(sorted(set(error.codes)))] += 1
        except Exception as error:
            counts[f"raised {type(error).__name__}"] += 1
            print(f"seed {seed}: {error!r}\n{program(seed)}", flush=True)
        else:
            counts["wrong" if found else "right"] += 1
            if found:
                print(f"seed {seed}: {found}\n{program(seed)}", flush=True)
        seed += 1
    print(f"{seed - options.seed} programs: {dict(counts.most_common())}")
    return int(any(kind.startswith(("wrong", "raised")) for kind in counts))


if __name__ == "__main__":
    raise SystemExit(main())
