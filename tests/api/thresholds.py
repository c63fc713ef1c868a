"""Random programs whose decisions hang on the last bit: grids, steps and multiples of 0.1 that meet thresholds exactly.

Each comes as text, and as the function that this text defines, for plain Python to run.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.texts import registered

NUMBERS = ("0.1", "0.3", "0.5", "2.0", "3.0", "0.7", "10.0", "1.5", "0.2", "6.0")
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


@dataclass(slots=True)
class Writer:
    """Writes the body of one loop over `i`; `values` are names and expressions that decisions may be made from."""

    rng: np.random.Generator
    lines: list[str] = field(default_factory=list)
    values: list[str] = field(
        default_factory=lambda: ["a[i]", "b[i]", "i / (n - 1.0)", "(i + 0.5) / n", "0.1 * i", "h"]
    )
    number: int = 0

    def pick(self, choices: Any) -> str:
        return str(choices[int(self.rng.integers(len(choices)))])

    def fresh(self, stem: str) -> str:
        self.number += 1
        return f"{stem}{self.number}"

    def line(self, text: str, depth: int = 2) -> None:
        self.lines.append("    " * depth + text)

    # -- values ----------------------------------------------------------------------------------------------
    def value(self, depth: int = 2) -> str:
        if depth == 0 or self.rng.random() < 0.15:
            return self.pick(self.values) if self.rng.random() < 0.75 else self.pick(NUMBERS)
        kind = self.rng.random()
        left, right = self.value(depth - 1), self.value(depth - 1)
        if kind < 0.8:
            return f"({left} {self.pick('+-*')} {right})"
        if kind < 0.9:
            return f"({left} / {self.pick(('h', 'n', '(n - 1.0)', '(n * 0.1)', *NUMBERS))})"
        form = self.pick(
            ("np.sqrt(abs({}))", "math.exp(-abs({}))", "abs({}) ** 1.5", "min({}, 1.0)", "-{}", "math.sin({})")
        )
        return form.format(left)

    def names(self) -> None:
        """A few names of values, which later ones are made from."""
        for _ in range(int(self.rng.integers(1, 4))):
            name = self.fresh("t")
            self.line(f"{name} = {self.value()}")
            if self.rng.random() < 0.4:
                self.line(f"{name} = {name} {self.pick('+-')} {self.value(1)} {self.pick('+-')} {self.value(1)}")
            if self.rng.random() < 0.3:
                self.line(f"{name} {self.pick(('+=', '-=', '*='))} {self.value(1)}")
            self.values.append(name)

    def carried(self, before: list[str]) -> None:
        """A cell that iterations hand on."""
        name = self.fresh("c")
        before.append(f"    {name} = {self.pick(('0.0', '1.0', '-0.3'))}")
        update = self.pick(("{0} = {0} + {1}", "{0} += {1}", "{0} = 0.5 * {0} + {1}", "{0} = {0} - {1} * h + 0.1"))
        self.line(update.format(name, self.value(1)))
        self.values.append(name)

    def stored(self, array: str) -> None:
        """An element of a local array, perhaps in two steps."""
        self.line(f"{array}[i] = {self.value()}")
        if self.rng.random() < 0.5:
            self.line(f"{array}[i] += {self.value(1)} * {self.value(1)}")
        if self.rng.random() < 0.3:
            self.line(f"{array}[i] = {array}[i] + {self.value(1)} - {self.value(1)}")

    # -- decisions -------------------------------------------------------------------------------------------
    def reached(self, value: str) -> str:
        """A number that `value` may well meet."""
        return self.pick(
            (*NUMBERS, "0.0", "0.0", "1.0", "h", "a[0]", f"(0.5 * {value} + 0.5 * {value})", self.value(1))
        )

    def decide(self, place: int) -> None:
        value = self.pick(self.values) if self.rng.random() < 0.4 else self.value()
        target = f"d[i, {place}]"
        kind = int(self.rng.integers(8))
        if kind < 3:
            self.line(f"if {value} {self.pick(COMPARISONS)} {self.reached(value)}:")
            self.line(f"{target} = 1.0", 3)
            self.line("s += x[i] * x[i]", 3)
            self.line("else:")
            self.line(f"{target} = 2.0", 3)
            self.line(f"s -= x[i] * {self.pick(NUMBERS)}", 3)
            return
        if kind == 3:
            form = self.pick(
                ("np.floor({0} / h)", "np.ceil({0} * 10.0)", "({0}) // h", "np.sign({0} - {1})", "np.rint({0} / h)")
            )
        elif kind == 4:
            form = self.pick(
                ("1.0 * int(({0}) * 10.0)", "1.0 * int(({0}) / h)", "round(({0}) / h + 0.5) * 1.0", "({0}) // 0.1")
            )
        elif kind == 5:
            form = "1.0 if ({0}) % h < 0.5 * h else 2.0"
        elif kind == 6:
            place_name = self.fresh("k")
            self.line(f"{place_name} = min(max(int(({value}) / h), 0), n - 1)")
            self.line(f"s += x[{place_name}] * x[i]")
            form = f"1.0 * {place_name}"
        else:
            name = self.fresh("w")
            self.line(f"{name} = {self.pick(('0.0', '-0.5', 'a[0]'))}")
            self.line(f"r{name} = 0.0")
            self.line(f"while {name} < {value} and r{name} < 20.0:")
            self.line(f"{name} += {self.pick(('0.1', 'h', '0.3 * h + 0.1'))}", 3)
            self.line(f"r{name} += 1.0", 3)
            self.line(f"s += x[i] * r{name}")
            form = f"r{name}"
        self.line(f"{target} = " + form.format(value, self.reached(value)))
        self.line(f"s += x[i] * {target}")


def program(seed: int) -> str:
    """The text of a function of `x`, which nothing decides on, two grids `a` and `b`, the step `h`, and the decisions
    `d`, which it notes."""
    rng = np.random.default_rng(seed)
    first, second = Writer(rng), Writer(rng)
    before: list[str] = []
    if rng.random() < 0.5:
        first.carried(before)
    first.names()
    first.stored("w")
    first.decide(0)
    second.number = 100
    second.values += ["w[i]", "w[n - 1 - i]", "w[i] * w[0]"]
    second.names()
    if rng.random() < 0.5:
        second.carried(before)
    second.decide(1)
    second.decide(2)
    head = ["def f(x, a, b, h, d):", "    n = x.shape[0]", "    w = np.zeros(n)", "    s = 0.0", *before]
    loop = "    for i in range(n):"
    return "\n".join([*head, loop, *first.lines, loop, *second.lines, "    return s", ""])


def function_of(text: str, name: str) -> Callable[..., Any]:
    """The function that `text` defines; its source can be found again."""
    return registered(text, f"<{name}>", np=np, math=math)


def arguments(seed: int, n: int) -> tuple[Any, ...]:
    """Grids of steps that meet thresholds, and weights."""
    rng = np.random.default_rng(seed)
    grids = (
        np.linspace(-1.0, 1.0, n), np.arange(n) * 0.1, np.arange(n) / (n - 1.0), np.arange(n) - 0.5 * (n - 1),
        rng.integers(-8, 9, n) * 0.25, rng.integers(-9, 10, n) * 0.1,
    )  # fmt: skip
    a, b = (grids[k] for k in rng.integers(len(grids), size=2))
    h = (0.1, 1.0 / (n - 1.0), 2.0 / (n - 1.0), 0.25, 1.0 / n)[int(rng.integers(5))]
    return rng.normal(size=n), a.astype(float), b.astype(float), h, np.zeros((n, 3))
