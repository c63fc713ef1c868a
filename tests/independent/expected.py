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
            "",
            self.source.rstrip(),
            "",
        ]
        given = [
            f"args = dict({', '.join(f'{name}={written(v)}' for name, v in args.items())})" for args in self.cases()
        ]
        return "\n".join([*lines, *given, ""])


def assigned(args: Args) -> str:
    return f"args = dict({', '.join(f'{name}={written(value)}' for name, value in args.items())})"


def written(value: Any) -> str:
    if isinstance(value, np.ndarray):
        kind = "" if value.dtype == np.float64 else f", np.{value.dtype}"
        return f"np.array({value.tolist()}{kind})"
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
        return {name for name in self.run.written() if np.ndim(self.args[name])}

    @property
    def is_energy(self) -> bool:
        """Whether the result is one floating number, as gradients need it."""
        return (
            len(self.values) == 1 and not isinstance(self.plain, tuple) and isinstance(self.plain, (float, np.floating))
        )

    def seed(self) -> tuple[Any, ...]:
        """The argument of a pullback: the seeds, structured as the result is."""
        if not self.seeds:
            return ()
        return (tuple(self.seeds),) if isinstance(self.plain, tuple) else (self.seeds[0],)


def random_like(rng: np.random.Generator, value: Any) -> Any:
    if np.ndim(value):
        return rng.uniform(-1.5, 1.5, np.shape(value)).round(2).astype(value.dtype)
    return type(value)(rng.uniform(0.5, 1.5))


def tolerance_of(args: Args) -> float:
    return SINGLE if any(getattr(v, "dtype", None) == np.float32 for v in args.values()) else DOUBLE


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
    plain = oracle.plain_function(source)(**arguments)
    values = run.values()
    finals = {name: oracle.floats(v) for name, v in run.finals.items() if isinstance(v, np.ndarray)}
    require_agreement(values, oracle.items(plain), tolerance)
    require_agreement(list(finals.values()), [arguments[name] for name in finals], tolerance)
    of_python = oracle.items(plain)
    seeds = [random_like(rng, v) if is_real(v) else v for v in of_python]
    weights = {name: random_like(rng, v) for name, v in args.items() if oracle.is_active(v) and np.ndim(v)}
    gradients = run.pull(seeds, weights)
    require_moderate(*values, *finals.values(), *gradients.values())
    result_tangents = [oracle.floats(item, oracle.tangent) for item in oracle.items(along.result)]
    final_tangents = {name: oracle.floats(along.finals[name], oracle.tangent) for name in weights}
    return Expected(
        source, args, tolerance, plain, values, finals, run, seeds, weights, tangents, result_tangents, final_tangents
    )


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
