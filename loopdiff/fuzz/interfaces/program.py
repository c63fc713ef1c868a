"""A random program about what functions take and give: the text of a module, and what of it is called."""

from __future__ import annotations

import linecache
import math
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from loopdiff.fuzz.program import FILE_NUMBERS, ProgramSizes, RandomProgram, draw_floats
from loopdiff.immutable import immutable


@immutable
class InterfaceProgram(RandomProgram):
    """`text` has decorated functions or methods, of which `entry` is called, and a function `given`.

    That returns the object whose method is called, or None, arguments by position, and those by name. It draws their
    numbers by `vector("x")`, `matrix("A")`, `number("s")`, `whole("n")`, `text("k")`, `perhaps("y")`, a vector
    or None, `either("q")`, an integer or a float, and `many("vs")`, a list of vectors, as what stands around functions
    does.
    """

    entry: str = "f"


class Drawn:
    """The numbers of a program: equal for equal names, others after `redraw`, which changes arrays in place.

    After `resize` all arrays are new, and longer; not where some stand around functions, which have these.
    """

    def __init__(self, seed: int, sizes: ProgramSizes, is_plain: bool) -> None:
        self.seed, self.sizes, self.kind = seed, sizes, object if is_plain else float
        self.turn = 0
        self.arrays: dict[str, np.ndarray] = {}

    def numbers(self, name: str, shape: tuple[int, ...]) -> np.ndarray:
        rng = np.random.default_rng([self.seed, self.turn, *map(ord, name)])
        return draw_floats(rng, shape).round(3)

    def array(self, name: str, *shape: int) -> np.ndarray:
        if name not in self.arrays:
            self.arrays[name] = self.numbers(name, shape).astype(self.kind)
        return self.arrays[name]

    def vector(self, name: str) -> np.ndarray:
        return self.array(name, self.sizes[1])

    def matrix(self, name: str) -> np.ndarray:
        return self.array(name, self.sizes[1], self.sizes[1])

    def number(self, name: str) -> float:
        return float(self.numbers(name, ()))

    def whole(self, name: str) -> int:
        return 1 + int(10.0 * abs(self.number(name))) % 3

    def either(self, name: str) -> int | float:
        return self.whole(name) if self.number(f"of {name}") > 0.0 else self.number(name)

    def many(self, name: str) -> list[np.ndarray]:
        return [self.vector(f"{name}{k}") for k in range(self.whole(name))]

    def text(self, name: str) -> str:
        return "sum" if self.number(name) > 0.0 else "mean"

    def perhaps(self, name: str) -> np.ndarray | None:
        return self.vector(name) if self.number(f"of {name}") > 0.0 else None

    def resize(self) -> None:
        self.turn, self.sizes = self.turn + 1, (self.sizes[0] + 1, self.sizes[1] + 2)
        self.arrays.clear()

    def redraw(self) -> None:
        self.turn += 1
        for name, array in self.arrays.items():
            array[...] = self.numbers(name, array.shape)


class Loaded:
    """A program whose functions `decorator` has decorated, and what it is called with."""

    def __init__(
        self, program: InterfaceProgram, sizes: ProgramSizes, decorator: Callable[..., Any], plain: dict[str, Any]
    ) -> None:
        """`plain` has other modules for numbers with slopes."""
        self.entry, self.owner, self.drawn = program.entry, None, Drawn(program.seed, sizes, bool(plain))
        file = f"<random program {next(FILE_NUMBERS)}>"
        linecache.cache[file] = (len(program.text), None, program.text.splitlines(keepends=True), file)
        self.names: dict[str, Any] = {
            "__name__": "__main__", "np": np, "math": math, "namedtuple": namedtuple, "dataclass": dataclass,
            "vectorize_grad": decorator, "vector": self.drawn.vector, "matrix": self.drawn.matrix,
            "number": self.drawn.number, "whole": self.drawn.whole, "text": self.drawn.text,
            "perhaps": self.drawn.perhaps, "either": self.drawn.either,
            "many": self.drawn.many, **plain,
        }  # fmt: skip
        exec(compile(program.text, file, "exec"), self.names)
        self.may_resize = not self.drawn.arrays

    def call(self) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
        """What is called, and with what. An object stays the same and has other attributes after `redraw`."""
        owner, args, named = self.names["given"]()
        if owner is None:
            return self.names[self.entry], args, named
        if self.owner is None:
            self.owner = owner
        else:
            vars(self.owner).update(vars(owner))
        return getattr(self.owner, self.entry), args, named

    def go_on(self) -> None:
        """Let the next call have other data: first in the same arrays, then in longer ones."""
        if self.drawn.turn == 0 or not self.may_resize:
            self.drawn.redraw()
        else:
            self.drawn.resize()
