"""Random programs about names: scopes in scopes that share a few names, and values that these have outside."""

from __future__ import annotations

import random
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.texts import registered

NAMES = ("K", "L", "M")
VALUES = ("K", "L", "M", "C.K", "cfg.K", "around.K", "around.M", "default", "np")
HEADER = """
if VALUES["np"] > 0.0:
    import numpy as np

class C:
    K = VALUES["C.K"]

cfg.K = VALUES["cfg.K"]
K, L, M = VALUES["K"], VALUES["L"], VALUES["M"]
"""


@dataclass
class Nesting:
    """Draws one program. `is_wild`: with what loopdiff refuses, and the rules of scopes know too."""

    random: random.Random
    is_wild: bool
    count: int = 0
    lines: list[str] = field(default_factory=list)

    def number(self) -> str:
        return f"{self.random.choice((0.5, 1.25, -0.75, 2.0))}"

    def atom(self, depth: int) -> str:
        r = self.random
        kinds = ["name"] * 5 + ["owner", "number", "number", "t", "lambda", "call"]
        kinds += ["comprehension", "walrus", "generator"] if self.is_wild else []
        match r.choice(kinds):
            case "name":
                return r.choice(NAMES)
            case "owner":
                return r.choice(("C.K", "cfg.K", "given(C)" if self.is_wild else "given(cfg)"))
            case "number":
                return self.number()
            case "lambda" if depth:
                v, w = r.choice(("v", *NAMES)), r.choice(NAMES)
                default = "" if v == w else f", {w}={self.expression(depth - 1)}"
                return f"(lambda {v}{default}: {self.expression(depth - 1)})({self.number()})"
            case "call":
                return r.choice((f"outside({self.number()})", f"with_default({self.number()})"))
            case "comprehension" if depth:
                body = f"{self.expression(depth - 1)} for {r.choice(NAMES)} in ({self.expression(depth - 1)}, 1.0)"
                return r.choice((f"sum([{body}])", f"sum({{{body}}})", f"sum({{1: {body}}}.values())"))
            case "generator" if depth:
                source = f"for {r.choice(NAMES)} in (1.0, {self.number()}) if {self.atom(0)}"
                return f"sum({self.expression(depth - 1)} {source})"
            case "walrus":
                return f"({r.choice(NAMES)} := {self.number()})"
            case _:
                return "t"

    def expression(self, depth: int) -> str:
        a, b = self.atom(depth), self.atom(depth)
        return self.random.choice((a, f"({a} * {b})", f"({a} + {b})"))

    def put(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def body(self, indent: int, depth: int) -> None:
        """Statements of a function, which add to `t`."""
        r, first = self.random, True
        if self.is_wild and r.random() < 0.15:
            self.put(indent, f"global {r.choice(NAMES)}")
        for _ in range(r.randint(1, 4)):
            kinds = ["add"] * 4 + ["assign", "for", "if", "short"] + ["def"] * (2 if depth else 0)
            kinds += ["class", "try"] if self.is_wild else []
            match r.choice(kinds):
                case "add":
                    self.put(indent, f"t += {self.expression(1)}")
                case "assign":
                    self.put(indent, f"{r.choice(NAMES)} = {self.expression(1)}")
                case "for":
                    self.put(indent, f"for {r.choice((*NAMES, 'i'))} in range({r.randint(1, 2)}):")
                    self.put(indent + 1, f"t += {self.expression(1)}")
                case "if":
                    self.put(indent, f"if t > {self.number()}:")
                    self.put(indent + 1, f"{r.choice(('t', *NAMES))} = {self.expression(0)}")
                case "short":  # the compiled program has other statements, without these names
                    self.put(indent, r.choice(('with np.errstate(all="ignore"):', "for K in map(abs, (1.0, -0.5)):")))
                    self.put(indent + 1, f"t += {self.expression(1)}")
                case "class":
                    self.put(indent, "class D:")
                    self.put(indent + 1, f"{r.choice(NAMES)} = {self.expression(1)}")
                    self.put(indent + 1, f"L = {self.expression(1)}")
                    self.put(indent, "t += D.L")
                case "try":
                    self.put(indent, f"try: t += {self.expression(1)}")
                    self.put(indent, "except NameError: t += 1.0")
                case "def":
                    self.function(indent, depth - 1)
            first = False
        assert not first

    def function(self, indent: int, depth: int) -> None:
        """A function in a function, and a call of it."""
        r = self.random
        self.count += 1
        name, v = f"inner{self.count}", r.choice(("v", *NAMES))
        default = r.choice(("", f", w={self.expression(0)}"))
        self.put(indent, f"def {name}({v}{default}):")
        if self.is_wild and r.random() < 0.15 and v != "t":
            self.put(indent + 1, "nonlocal t")
        else:
            self.put(indent + 1, "t = 0.25")
        self.body(indent + 1, depth)
        self.put(indent + 1, "return t")
        self.put(indent, f"t += {name}({self.number()})")

    def text(self) -> str:
        """The program: `f`, made by `make`, and what it calls."""
        self.put(0, "def given(c):")
        self.put(1, "return c.K")
        for header in ("def outside(v):", 'def with_default(v, d=VALUES["default"]):'):
            self.put(0, header)
            self.put(1, "t = v" + (" * d" if "d=" in header else ""))
            mark = len(self.lines)
            while len(self.lines) == mark or any("outside(" in x or "default(" in x for x in self.lines[mark:]):
                del self.lines[mark:]
                self.body(1, 1)
            self.put(1, "return t")
        self.put(0, "def make(K, M):")
        self.put(1, "def f(x):")
        self.put(2, "t = x")
        self.body(2, 2)
        self.put(2, "return t")
        self.put(1, "return f")
        self.put(0, 'f = make(VALUES["around.K"], VALUES["around.M"])')
        return HEADER + "\n".join(self.lines) + "\n"


def drawn(seed: int, is_wild: bool) -> str:
    """A program that Python accepts."""
    rng = random.Random(seed)
    while True:
        text = Nesting(rng, is_wild).text()
        try:
            compile(text, "drawn", "exec")
        except SyntaxError:
            continue
        return text


def defined(text: str, values: dict[str, float], file: str) -> Callable[[float], float]:
    """The function of the program where names outside have these values."""
    return registered(text, file, VALUES=values, cfg=types.ModuleType("cfg"))


def variants() -> dict[str, dict[str, float]]:
    """Values of the names outside: some, and the same but for one each. Without a positive one `np` has none."""
    base = {name: 1.0 + 0.125 * k for k, name in enumerate(VALUES)}
    return {"": base} | {name: base | {name: -1.0 if name == "np" else 3.5 + k} for k, name in enumerate(VALUES)}


def outcome(function: Callable[[float], float]) -> Any:
    """What Python makes of it: a number, or the name of an exception."""
    try:
        return [function(x) for x in (0.5, 1.5)]
    except (NameError, UnboundLocalError) as error:
        return type(error).__name__
