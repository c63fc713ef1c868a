"""Random loop programs over `x[N]`, `y[N]` and `A[M, N]` whose subscripts stay inside by construction."""

from __future__ import annotations

import linecache
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
from hypothesis import strategies as st

NUMBER = count()
UNARY = ("math.sin({})", "math.cos({})", "math.tanh({})", "math.exp(0.1 * math.sin({}))", "(-{})")
BINARY = ("({} + {})", "({} - {})", "({} * {})", "max({}, {})", "min({}, {})")


@dataclass(frozen=True)
class Program:
    """Source text of `f(x, y, A)`, and the shape (M, N) of its matrix."""

    text: str
    shape: tuple[int, int]

    def function(self) -> Callable[..., Any]:
        file = f"<random program {next(NUMBER)}>"
        linecache.cache[file] = (len(self.text), None, self.text.splitlines(keepends=True), file)
        names: dict[str, Any] = {"math": math, "np": np}
        exec(compile(self.text, file, "exec"), names)
        return names["f"]

    def args(self, seed: int = 0) -> dict[str, np.ndarray]:
        rng = np.random.default_rng(seed)
        M, N = self.shape
        return {"x": rng.uniform(-1, 1, N), "y": rng.uniform(-1, 1, N), "A": rng.uniform(-1, 1, (M, N))}


@dataclass(frozen=True)
class Margin:
    """An index over [low, extent - high): subscripts `index + c` with -low <= c <= high stay inside."""

    index: str
    axis: str
    low: int
    high: int

    def subscript(self, offset: int) -> str:
        return self.index if offset == 0 else f"{self.index} {'+' if offset > 0 else '-'} {abs(offset)}"


@dataclass
class Writer:
    """Draws a program statement by statement; `loops` are the enclosing loops."""

    draw: Callable[[st.SearchStrategy], Any]
    lines: list[str] = field(default_factory=list)
    loops: list[Margin] = field(default_factory=list)
    locals: list[str] = field(default_factory=lambda: ["s"])
    indices: int = 0

    def emit(self, text: str) -> None:
        self.lines.append("    " * (1 + len(self.loops)) + text)

    def element(self) -> str | None:
        """An element of an array that the enclosing loops can reach."""
        rows = [m for m in self.loops if m.axis == "M"]
        columns = [m for m in self.loops if m.axis == "N"]
        if not columns:
            return None
        column = self.draw(st.sampled_from(columns))
        inside = column.subscript(self.draw(st.integers(-column.low, column.high)))
        if rows and self.draw(st.booleans()):
            row = self.draw(st.sampled_from(rows))
            return f"A[{row.subscript(self.draw(st.integers(-row.low, row.high)))}, {inside}]"
        array = self.draw(st.sampled_from(["x", "y"]))
        if self.draw(st.integers(0, 5)) == 0:
            inside = f"N - 1 - ({inside})"
        return f"{array}[{inside}]"

    def expression(self, depth: int = 2) -> str:
        choices = ["constant", "local", "element", "element"]
        choices += ["unary", "binary", "binary", "select"] if depth else []
        match self.draw(st.sampled_from(choices)):
            case "constant":
                return repr(self.draw(st.sampled_from([0.37, -0.21, 1.63, 2.09])))
            case "local":
                return self.draw(st.sampled_from(self.locals))
            case "element":
                return self.element() or "s"
            case "unary":
                return self.draw(st.sampled_from(UNARY)).format(self.expression(depth - 1))
            case "select":
                a, b = self.expression(depth - 1), self.expression(depth - 1)
                return f"({a} if {self.condition()} else {b})"
            case _:
                spelling = self.draw(st.sampled_from(BINARY))
                return spelling.format(self.expression(depth - 1), self.expression(depth - 1))

    def condition(self) -> str:
        if self.loops and self.draw(st.booleans()):
            index = self.draw(st.sampled_from(self.loops)).index
            return self.draw(st.sampled_from([f"{index} % 2 == 0", f"{index} > 2", f"{index} + 1 < N"]))
        return f"{self.element() or 's'} > {self.draw(st.sampled_from(['0.0', '0.3', 's']))}"

    def assignment(self) -> None:
        target = self.element() if self.draw(st.integers(0, 3)) else None
        value = self.expression()
        if target is None:
            target = self.draw(st.sampled_from(self.locals))
        operator = self.draw(st.sampled_from(["=", "+=", "+=", "-=", "*="]))
        damped = f"0.5 * {value}" if operator in ("=", "*=") else value
        self.emit(f"{target} {operator} {damped}")

    def block(self, depth: int) -> None:
        for _ in range(self.draw(st.integers(1, 3))):
            kind = self.draw(st.sampled_from(["assign", "assign", "loop", "if"]))
            if kind == "loop" and depth > 0:
                self.loop(depth)
            elif kind == "if" and depth > 0:
                self.branch(depth)
            else:
                self.assignment()

    def branch(self, depth: int) -> None:
        self.emit(f"if {self.condition()}:")
        self.nested(depth)
        if self.draw(st.booleans()):
            self.emit("else:")
            self.nested(depth)

    def nested(self, depth: int) -> None:
        inner = Writer(self.draw, [], list(self.loops), list(self.locals), self.indices)
        inner.block(depth - 1)
        self.lines += ["    " + line for line in inner.lines]
        self.indices = inner.indices

    def loop(self, depth: int) -> None:
        index = f"i{self.indices}"
        self.indices += 1
        axis = self.draw(st.sampled_from(["M", "N", "N"]))
        low, high = self.draw(st.integers(0, 2)), self.draw(st.integers(0, 2))
        stop = axis if high == 0 else f"{axis} - {high}"
        outer = [m for m in self.loops if m.axis == axis and m.low >= low]
        form = self.draw(st.sampled_from(["up", "up", "down", "strided", "triangular", "time"]))
        if form == "triangular" and not outer:
            form = "up"
        match form:
            case "up":
                header = f"range({low}, {stop})"
            case "strided":
                header = f"range({low}, {stop}, 2)"
            case "down":
                header = f"range({stop} - 1, {low - 1}, -1)"
            case "triangular":
                header = f"range({self.draw(st.sampled_from(outer)).index}, {stop})"
            case _:
                self.emit(f"for {index} in range(2):")
                self.nested(depth)
                return
        self.emit(f"for {index} in {header}:")
        inner = Writer(self.draw, [], [*self.loops, Margin(index, axis, low, high)], self.locals, self.indices)
        inner.block(depth - 1)
        self.lines += inner.lines
        self.indices = inner.indices


@st.composite
def programs(draw: Callable[[st.SearchStrategy], Any], depth: int = 3) -> Program:
    """A program of up to `depth` nested statements, and a shape that may be as small as (0, 0)."""
    writer = Writer(draw)
    for _ in range(draw(st.integers(1, 3))):
        writer.loop(depth)
        if draw(st.booleans()):
            writer.assignment()
    body = "\n".join(writer.lines)
    text = f"def f(x, y, A):\n    M, N = A.shape\n    s = 0.53\n{body}\n    return s\n"
    return Program(text, (draw(st.integers(0, 4)), draw(st.integers(0, 5))))
