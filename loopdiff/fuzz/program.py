"""A random program as a value: Python text, what its arguments are, and the sizes to run it with."""

from __future__ import annotations

import cmath
import linecache
import math
from collections.abc import Callable
from importlib import import_module
from itertools import count
from typing import Any, Literal

import numpy as np

from loopdiff.fuzz.memory import MemoryLayout, again, laid_out
from loopdiff.fuzz.settings import Setting
from loopdiff.immutable import immutable

FILE_NUMBERS = count()
Kind = Literal["vector", "matrix", "index", "offsets", "counts", "mask", "float", "integer", "complex", "steps"]
Data = Literal["uniform", "grid"]
ProgramSizes = tuple[int, int]


@immutable
class RandomArgument:
    """One parameter of a program.

    With sizes (M, N): a `vector` has N floats, a `matrix` M by N; `index` holds N subscripts below N,
    `offsets` N + 1 ascending ones, `counts` N small trip counts, `mask` N booleans; `steps` is a trip count
    that is worth segments. Floats on a `grid` are those that programs compare with.
    """

    name: str
    kind: Kind
    dtype: str = "float64"
    layout: MemoryLayout = "C"
    data: Data = "uniform"

    @property
    def is_floating(self) -> bool:
        return self.kind in ("vector", "matrix", "float", "complex")

    @property
    def is_real_array(self) -> bool:
        return self.kind in ("vector", "matrix") and self.dtype.startswith("float")

    def value(self, sizes: ProgramSizes, rng: np.random.Generator) -> Any:
        M, N = sizes
        match self.kind:
            case "float":
                return float(draw_grid(rng, ()) if self.data == "grid" else draw_floats(rng, ()))
            case "complex":
                return complex(draw_floats(rng, ()) + 0.7j * draw_floats(rng, ()))
            case "integer":
                return int(rng.integers(0, 4))
            case "steps":
                return int(rng.integers(16, 40))
            case "vector":
                found = self.numbers((N,), rng)
            case "matrix":
                found = self.numbers((M, N), rng)
            case "index":
                found = rng.integers(0, max(N, 1), N)
            case "offsets":
                found = np.sort(rng.integers(0, N + 1, N + 1))
            case "counts":
                found = rng.integers(0, 4, N)
            case "mask":
                found = rng.random(N) < 0.5
        return laid_out(found, self.layout)

    def numbers(self, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        found = draw_grid(rng, shape) if self.data == "grid" else draw_floats(rng, shape)
        return (found if self.is_real_array else found + 0.7j * draw_floats(rng, shape)).astype(self.dtype)


def draw_like(value: Any, rng: np.random.Generator) -> Any:
    """A number or an array of the type of `value`."""
    drawn: Any = rng.standard_normal(np.shape(value))
    if np.iscomplexobj(value):
        drawn = drawn + 1j * rng.standard_normal(np.shape(value))
    return drawn.astype(value.dtype) if isinstance(value, np.ndarray) else type(value)(drawn)


def guarded(drawn: Any, like: Any) -> Any:
    """An array in guarded memory, half of them in the layout of `like`."""
    if not isinstance(drawn, np.ndarray):
        return drawn
    found = again(like) if drawn.size % 2 else laid_out(drawn, "C")
    found[...] = drawn
    return found


def draw_floats(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers of moderate size, of both signs and not close to zero."""
    return rng.uniform(0.2, 1.4, shape) * np.where(rng.random(shape) < 0.5, -1.0, 1.0)


def draw_grid(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Multiples of a tenth or a quarter, or points at even distances: what thresholds are met by exactly."""
    match int(rng.integers(4)):
        case 0:
            return np.round(0.1 * rng.integers(-12, 13, shape), 1)
        case 1:
            return 0.1 * rng.integers(-12, 13, shape)
        case 2:
            return 0.25 * rng.integers(-5, 6, shape)
        case _:
            return np.linspace(-1.0, 1.0, math.prod(shape)).reshape(shape)


@immutable
class RandomProgram:
    """The text of one function, its parameters, the ones to differentiate, the sizes (M, N) to try, and how it is
    compiled and called.
    """

    text: str
    arguments: tuple[RandomArgument, ...]
    wrt: tuple[str, ...]
    sizes: tuple[ProgramSizes, ...]
    seed: int = 0
    setting: Setting = Setting()

    def function(self) -> Callable[..., Any]:
        """The function, with its text registered as if it came from a file."""
        file = f"<random program {next(FILE_NUMBERS)}>"
        linecache.cache[file] = (len(self.text), None, self.text.splitlines(keepends=True), file)
        names: dict[str, Any] = {"math": math, "cmath": cmath, "np": np}
        if "special." in self.text:
            names["special"] = import_module("scipy.special")
        exec(compile(self.text, file, "exec"), names)
        return names["f"]

    def values(self, sizes: ProgramSizes) -> dict[str, Any]:
        """Fresh arguments, the same for the same sizes."""
        return {a.name: a.value(sizes, np.random.default_rng([self.seed, *map(ord, a.name)])) for a in self.arguments}

    def directions(self, sizes: ProgramSizes) -> dict[str, Any]:
        """A tangent for every argument in `wrt`."""
        rng = np.random.default_rng([self.seed, 1])
        found = {}
        for name, value in self.values(sizes).items():
            if name in self.wrt:
                found[name] = guarded(draw_like(value, rng), value)
        return found
