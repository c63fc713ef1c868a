"""Programs, and what the oracle expects of them."""

from __future__ import annotations

import copy
import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import numbers, oracle
from .numbers import LARGEST, Undecided
from .oracle import Args
from .structures import RECORDS, is_structure, leaves, mapped, parts_of

DOUBLE, SINGLE = 1e-8, 3e-3  # how far numbers may differ, by the narrowest type of arguments


@dataclass(frozen=True)
class Program:
    """The text of a function `f` and its helpers, and arguments by name, with others of the same types."""

    source: str
    args: Args
    name: str = ""
    others: tuple[Args, ...] = field(default=())

    def cases(self) -> list[Args]:
        return [self.args, *self.others]

    def runnable(self) -> str:
        """The program as a script, to be continued by whatever one wants to see of it."""
        lines = [
            "import math",
            "",
            "import numpy as np",
            "from loopdiff import vectorize_grad",
            *(f"from tests.independent.structures import {name}" for name in RECORDS if name in self.text),
            "",
            self.source.rstrip(),
            "",
        ]
        return "\n".join([*lines, *map(assigned, self.cases()), ""])

    @property
    def text(self) -> str:
        return self.source + "".join(map(assigned, self.cases()))


def assigned(args: Args) -> str:
    return f"args = dict({', '.join(f'{name}={written(value)}' for name, value in args.items())})"


def written(value: Any) -> str:
    """A leaf or a structure as it is spelt."""
    parts = [written(part) for _, part in parts_of(value) or ()]
    match value:
        case dict():
            return f"{{{', '.join(f'{key!r}: {part}' for key, part in zip(value, parts, strict=True))}}}"
        case list():
            return f"[{', '.join(parts)}]"
        case _ if type(value) in RECORDS.values():
            return f"{type(value).__name__}({', '.join(parts)})"
        case tuple():
            return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
        case np.ndarray():
            kind = "" if value.dtype == np.float64 else f", np.{value.dtype}"
            return f"np.array({value.tolist()}{kind})"
        case _:
            return repr(value)


class Unusable(Exception):
    """The program fails in Python itself, or is ill-conditioned: nothing to compare."""


def fresh(args: Args) -> Args:
    return copy.deepcopy(args)


def differ(got: Any, expected: Any, tolerance: float) -> bool:
    got, expected = np.asarray(got), np.asarray(expected)
    if got.shape != expected.shape or got.dtype.kind not in "fiub":
        return True
    scale = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
    return not np.allclose(got.astype(float), expected.astype(float), rtol=tolerance, atol=tolerance * scale)


def require_moderate(*values: Any) -> None:
    for value in values:
        if value is None:
            continue
        array = np.asarray(value, dtype=float)
        if not np.all(np.isfinite(array)) or np.max(np.abs(array), initial=0.0) > LARGEST:
            raise Unusable("values or derivatives that are not finite, or large")


@dataclass(frozen=True)
class Expected:
    """What the oracle says of a program, with the directions and weights it was asked for."""

    source: str
    args: Args
    tolerance: float
    plain: Any  # the result of plain Python
    values: list[Any]
    finals: Args
    run: oracle.Run
    seeds: list[Any]
    weights: Args
    tangents: Args
    result_tangents: list[Any]
    final_tangents: Args

    @property
    def written(self) -> set[str]:
        return set(self.run.written())

    @property
    def gradients(self) -> list[Any]:
        """Numbers and arrays: the gradients under all seeds and weights."""
        found = (leaf for value in self.run.pull(self.seeds, self.weights).values() for _, leaf in leaves(value))
        return [leaf for leaf in found if leaf is not None]

    @property
    def is_energy(self) -> bool:
        """Whether the result is one floating number, as gradients need it."""
        return len(self.values) == 1 and isinstance(self.plain, (float, np.floating))

    def seed(self) -> tuple[Any, ...]:
        """The argument of a pullback: the seeds, structured as the result is."""
        if not self.seeds:
            return ()
        seeds = iter(self.seeds)
        return (mapped(lambda _: next(seeds), self.plain),)

    def cotangents(self, names: set[str]) -> Args:
        """Weights for the final values of these arguments; in structures, of the arrays that are written."""
        return {name: self.of_written(name, weight) for name, weight in self.weights.items() if name in names}

    def of_written(self, name: str, value: Any) -> Any:
        """What goes with an argument: in structures, only with the arrays that are written."""
        if not is_structure(value):
            return value
        flags = self.run.written().get(name, mapped(lambda _: False, value))
        return mapped(lambda part, flag: part if flag else None, value, flags)


def random_like(rng: np.random.Generator, argument: Any) -> Any:
    """Random numbers in the structure of an argument, None where nothing is differentiated."""
    return mapped(lambda leaf: random_leaf(rng, leaf) if oracle.is_active_leaf(leaf) else None, argument)


def random_leaf(rng: np.random.Generator, value: Any) -> Any:
    if np.ndim(value):
        return rng.uniform(-1.5, 1.5, np.shape(value)).round(2).astype(value.dtype)
    return type(value)(rng.uniform(0.5, 1.5))


def tolerance_of(args: Args) -> float:
    types = [getattr(leaf, "dtype", None) for value in args.values() for _, leaf in leaves(value)]
    return SINGLE if np.float32 in types else DOUBLE


def expected(source: str, args: Args) -> Expected:
    """Ask the oracle; `Unusable` where it has nothing to say."""
    tolerance = tolerance_of(args)
    try:
        with np.errstate(all="raise"), numbers.closeness(tolerance * 0.1):
            return asked(source, args, tolerance)
    except Undecided as error:
        raise Unusable(f"undecided: {error}") from error
    except Unusable:
        raise
    except Exception as error:
        raise Unusable(f"{type(error).__name__}: {error}") from error


def asked(source: str, args: Args, tolerance: float) -> Expected:
    rng = np.random.default_rng(zlib.crc32(source.encode()))
    run = oracle.taped(source, args)
    tangents = {name: random_like(rng, v) for name, v in args.items() if oracle.is_active(v)}
    along = oracle.dual(source, args, tangents)
    arguments = fresh(args)
    values = run.values()
    if ".grad(" in source or ".value_and_grad(" in source:  # which plain Python has not
        plain = mapped(oracle.floats, run.result)
        arguments = {name: mapped(oracle.floats, value) for name, value in run.finals.items()}
    else:
        plain = oracle.plain_function(source)(**arguments)
    held = {name: v for name, v in args.items() if any(isinstance(leaf, np.ndarray) for _, leaf in leaves(v))}
    finals = {name: mapped(oracle.floats, run.finals[name]) for name in held}
    require_agreement(values, oracle.items(plain), tolerance)
    for name, final in finals.items():
        require_agreement(oracle.items(final), oracle.items(arguments[name]), tolerance)
    seeds = [random_leaf(rng, v) if is_real(v) else v for v in oracle.items(plain)]
    weights = {name: random_like(rng, v) for name, v in held.items() if oracle.is_active(v)}
    gradients = run.pull(seeds, weights)
    require_moderate(*values, *oracle.items([finals, gradients]))
    result_tangents = [oracle.floats(item, oracle.tangent) for item in oracle.items(along.result)]
    final_tangents = {name: mapped(tangents_of, along.finals[name]) for name in weights}
    return Expected(
        source, args, tolerance, plain, values, finals, run, seeds, weights, tangents, result_tangents, final_tangents
    )


def tangents_of(leaf: Any) -> Any:
    return oracle.floats(leaf, oracle.tangent)


def is_real(value: Any) -> bool:
    return np.asarray(value).dtype.kind == "f"


def require_agreement(ours: list[Any], plain: list[Any], tolerance: float) -> None:
    """The oracle's values are those of plain NumPy, else it has misread the program."""
    if len(ours) != len(plain) or any(differ(a, b, tolerance) for a, b in zip(ours, plain, strict=True)):
        raise Unusable("the oracle disagrees with plain Python")


def cases_of(program: Program) -> list[Expected]:
    """What the oracle says of the arguments of a program, and of those others that it has something to say of."""
    found = [expected(program.source, program.args)]
    for args in program.others:
        try:
            found.append(expected(program.source, args))
        except Unusable:
            continue
    return found
