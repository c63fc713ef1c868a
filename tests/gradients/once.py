"""Small loop nests of which single iterations do much: loops of one turn, and conditions that hold once.

No iteration depends on another there, whatever one of them does with an element, so that every transformation that
only asks for dependences between iterations is allowed. `python -m tests.gradients.once --seed 0 --seconds 600`.
"""

from __future__ import annotations

import argparse
import collections
import random
import re
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from loopdiff import vectorize_grad
from loopdiff.errors import LoopdiffError
from loopdiff.fuzz.engines import eager_threads
from tests.texts import registered

Arguments = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, int]
SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {}, "strict": {"fastmath": False}, "stored": {"tape": "store"}, "threads": {"parallel": True},
    "kernels": {"target": "cuda-emulated"},
}  # fmt: skip
ONE_TURN = ("range(1)", "range(n - 1, n)", "range(3, 2, -1)")
TURNS = (*ONE_TURN, "range(n)", "range(n)", "range(2)", "range(n - 1, -1, -1)")
OF_OUTER = ("range({0}, {0} + 1)", "range({0}, 1, -1)", "range({0})", "range({0}, n)")
LARGEST = 1e4
STEP = 1e-30


@dataclass(slots=True)
class Drawn:
    """A program as it is drawn: `indices` of the loops around, `is_once` whether one iteration of them gets here."""

    rng: random.Random
    indices: list[str] = field(default_factory=list)
    is_once: bool = False

    def place(self) -> str:
        """A subscript: where many iterations get to, mostly the iteration's own."""
        if self.indices and not self.is_once:
            return self.indices[-1] if self.rng.random() < 0.8 else self.rng.choice(self.indices)
        places = ["0", "2", "n - 1", *self.indices, *self.indices, *(f"p[{i}]" for i in self.indices[:1])]
        return self.rng.choice(places)

    def value(self, depth: int = 0) -> str:
        kind = self.rng.random()
        if kind < 0.35:
            return f"x[{self.place()}]"
        if kind < 0.6:
            return f"y[{self.place()}]"
        if kind < 0.7:
            return self.rng.choice(("0.5", "-0.75", "1.25", *(["s"] if self.is_once else [])))
        if depth == 2:
            return f"x[{self.place()}]"
        return f"({self.value(depth + 1)} {self.rng.choice('+-*')} {self.value(depth + 1)})"

    def simple(self) -> str:
        target = f"{self.rng.choice('yyyx')}[{self.place()}]"
        if self.rng.random() < 0.15:
            return f"s {'=' if self.is_once and self.rng.random() < 0.4 else '+='} {self.value()}"
        forms = ("{0} += {1}", "{0} += {1}", "{0} -= {1}", "{0} = {1}", "{0} *= 0.75", "{0} += {0} * 0.5")
        return self.rng.choice(forms).format(target, self.value())

    def block(self, depth: int) -> list[str]:
        lines: list[str] = []
        for _ in range(self.rng.choice((1, 2, 2, 3))):
            kind = self.rng.random()
            if kind < 0.45 and len(self.indices) < 3:
                lines += self.loop(depth)
            elif kind < 0.65 and self.indices and depth < 5:
                lines += self.condition(depth)
            else:
                lines.append(self.simple())
        return lines

    def loop(self, depth: int) -> list[str]:
        index, was_once = "ijk"[len(self.indices)], self.is_once
        of_outer = [t.format(self.rng.choice(self.indices)) for t in OF_OUTER] if self.indices else []
        turns = self.rng.choice((*TURNS, *of_outer))
        self.is_once = turns in ONE_TURN and (was_once or not self.indices)
        self.indices.append(index)
        body = self.block(depth + 1)
        self.indices.pop()
        self.is_once = was_once
        return [f"for {index} in {turns}:", *(f"    {line}" for line in body)]

    def condition(self, depth: int) -> list[str]:
        index, was_once = self.rng.choice(self.indices), self.is_once
        test = self.rng.choice((f"{index} == 2", f"{index} == n - 1", f"{index} == 0", f"{index} > 1", f"q[{index}]"))
        self.is_once = was_once or ("==" in test and (len(self.indices) == 1 or self.rng.random() < 0.5))
        body = self.block(depth + 1)
        self.is_once = was_once
        return [f"if {test}:", *(f"    {line}" for line in body)]


def program(seed: int) -> str:
    """The text of a function `f(x, y, p, q, n)`."""
    rng = random.Random(seed)
    while True:
        body = Drawn(rng).block(0)
        if 4 <= len(body) <= 14 and "for " in body[0]:
            lines = ("s = 0.0", *body, "return s")
            return "\n".join(["def f(x, y, p, q, n):", *(f"    {line}" for line in lines), ""])


def arguments(seed: int, n: int) -> Arguments:
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(0.25, 1.25, (2, n)) * rng.choice([-1, 1], (2, n))
    return x, y, rng.integers(0, n, n), rng.integers(0, 2, n), n


def copied(args: Arguments) -> Arguments:
    return args[0].copy(), args[1].copy(), *args[2:]


def mismatch(seed: int, setting: str, n: int) -> str | None:
    """How the value or the gradient differs from plain Python and its complex step; None if they do not, or if Python
    refuses the program or makes large numbers of it. Raises LoopdiffError where loopdiff refuses it."""
    text = program(seed)
    function, args = registered(text, f"<once {seed}>"), arguments(seed, n)
    rng = np.random.default_rng(seed + 1)
    along, weights, seed_of_value = rng.normal(size=(2, n)), rng.normal(size=(2, n)), rng.normal()
    x, y, *rest = copied(args)
    moved = (x + 1j * STEP * along[0], y + 1j * STEP * along[1], *rest)
    try:
        with np.errstate(all="ignore"):
            slope = function(*moved)
    except IndexError:
        return None
    value = np.real(slope)
    expected = np.concatenate([np.real(moved[0]), np.real(moved[1]), [value]])
    slopes = np.concatenate([np.imag(moved[0]), np.imag(moved[1]), [np.imag(slope)]]) / STEP
    if not max(np.abs(expected).max(), np.abs(slopes).max()) < LARGEST:
        return None
    decorated = vectorize_grad(wrt=("x", "y"), cache=False, **SETTINGS[setting])(function)
    mine, again = copied(args), copied(args)
    found, pullback = decorated.vjp(*mine)
    theirs = np.concatenate([mine[0], mine[1], [found]])
    alone = np.concatenate([[decorated(*again)], again[0], again[1]])
    written = set(re.findall(r"^ *([xy])\[\S*(?: - 1\])? [-+*]?= ", text, re.M))
    written &= pullback.run.takers.keys()  # without what only a condition that never holds would write
    cotangents = {name: w for name, w in zip("xy", weights, strict=True) if name in written}
    gradients = pullback(seed_of_value, **cotangents)
    product = sum(float(w @ np.imag(moved["xy".index(name)])) / STEP for name, w in cotangents.items())
    product += seed_of_value * np.imag(slope) / STEP
    for values in (theirs, np.roll(alone, -1)):
        if not np.allclose(values, expected, rtol=1e-9, atol=1e-9):
            return f"values: {values}, not {expected}"
    error = abs(gradients.x @ along[0] + gradients.y @ along[1] - product)
    return f"gradient: off by {error}" if error > 1e-9 * max(1.0, np.abs(slopes).max()) * n else None


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    end, seed = time.monotonic() + options.seconds, options.seed
    counts: collections.Counter[str] = collections.Counter()
    while time.monotonic() < end:
        setting = list(SETTINGS)[seed % len(SETTINGS)]
        try:
            with eager_threads(setting == "threads"):
                found = mismatch(seed, setting, 4) or mismatch(seed, setting, (1, 3, 9, 19)[seed % 4])
        except LoopdiffError as error:
            counts["refused " + " ".join(sorted(set(error.codes)))] += 1
        except Exception as error:
            counts[f"raised {type(error).__name__}"] += 1
            print(f"seed {seed}, {setting}: {error!r}\n{program(seed)}", flush=True)
        else:
            counts["wrong" if found else "right"] += 1
            if found:
                print(f"seed {seed}, {setting}: {found}\n{program(seed)}", flush=True)
        seed += 1
    print(f"{seed - options.seed} programs: {dict(counts.most_common())}")
    return int(any(kind.startswith(("wrong", "raised")) for kind in counts))


if __name__ == "__main__":
    raise SystemExit(main())
