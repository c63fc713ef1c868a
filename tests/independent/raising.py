"""Where Python raises, loopdiff raises: at decoration, or at the call; for the value and every derivative.

Exempt is what the documents promise otherwise (`EXEMPT`): arithmetic on floating numbers never raises.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from loopdiff import LoopdiffError, vectorize_grad

from . import oracle
from .check import DEFECTS, SETTINGS, Outcome, threads
from .expected import Program, fresh, random_like
from .oracle import Args
from .structures import mapped
from .vary import lines_limited

# docs/conventions.md, "Exceptions": where Python's own floats and `math` raise, the result is NumPy's: infinity or NaN.
# Integers have 64 bits and wrap, and one that is made of NaN is any.
EXEMPT: tuple[tuple[type[Exception], str], ...] = (
    (ZeroDivisionError, ""),  # of floating numbers, and quotients of integers, which are such: see `is_exempt`
    (ValueError, "math domain error"),
    (ValueError, "expected a"),  # the same, of newer Pythons
    (ValueError, "cannot convert float NaN"),
    (ValueError, "Integers to negative integer powers"),
    (OverflowError, ""),
    (RecursionError, ""),
    (MemoryError, ""),
)
Raising = list[tuple[Args, Exception]]  # arguments, and what Python raises for them
NO_ENERGY = {"LD402", "LD403", "LD404"}  # what a gradient says of a function that it is not made for


def raised_by_python(source: str, args: Args) -> Exception | None:
    """What the undecorated function raises, unless that is exempt; None if it raises nothing."""
    error = raised_at_all(source, args)
    return None if error is None or is_exempt(error) or is_of_counted_nothing(error, source) else error


def raised_at_all(source: str, args: Args) -> Exception | None:
    """What the undecorated function raises, which a program that does not seem to end does, too."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with lines_limited():
                oracle.plain_function(source)(**fresh(args))
    except Exception as error:
        return error
    return None


def is_exempt(error: Exception) -> bool:
    is_of_integers = isinstance(error, ZeroDivisionError) and str(error).startswith("integer ")
    return not is_of_integers and any(isinstance(error, k) and str(error).startswith(text) for k, text in EXEMPT)


def is_of_counted_nothing(error: Exception, source: str) -> bool:
    """Whether it may come from `np.bincount` of no elements, whose type is integers in NumPy whatever the weights are;
    here it is theirs (see the language)."""
    return isinstance(error, TypeError) and "Cannot cast ufunc" in str(error) and "bincount(" in source


def raising_cases(program: Program) -> Raising:
    """The arguments of the program for which Python raises, with what it raises."""
    found = [(args, raised_by_python(program.source, args)) for args in program.cases()]
    return [(a, error) for a, error in found if error is not None and not by_roundings(program.source, a, error)]


def by_roundings(source: str, args: Args, error: Exception) -> bool:
    """Whether a matrix is singular because of how sums were rounded: one with a little more is not."""
    if not isinstance(error, np.linalg.LinAlgError):
        return False
    return any(raised_at_all(source, scaled(args, 1.0 + k * 1e-13)) is None for k in (-3, -1, 1, 2, 5, 7, 11))


def scaled(args: Args, factor: float) -> Args:
    """Arguments with their floating numbers, in structures too, a little larger."""
    return {
        name: mapped(lambda v: factor * v if isinstance(v, float | np.floating) or is_floating(v) else v, value)
        for name, value in args.items()
    }


def is_floating(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def gradient(f: Any, args: Args) -> Any:
    try:
        return f.value_and_grad(**args)
    except LoopdiffError as error:
        if NO_ENERGY.isdisjoint(error.codes):
            raise
        return f.vjp(**args)


def directional(f: Any, args: Args) -> Any:
    rng = np.random.default_rng(0)
    tangents = {name: random_like(rng, v) for name, v in args.items() if oracle.is_active(v)}
    return f.jvp(tuple(args.values()), tangents)


def through_jax(f: Any, args: Args) -> Any:
    import jax

    import loopdiff.jax

    return jax.block_until_ready(loopdiff.jax.wrap(f)(*args.values()))


PARTS: dict[str, Callable[[Any, Args], Any]] = {
    "value": lambda f, args: f(**args),
    "grad": gradient,
    "jvp": directional,
    "vjp": lambda f, args: f.vjp(**args),
}


def try_raising(
    source: str, cases: Raising, setting: str, parts: frozenset[str], before: Args | None = None
) -> Outcome:
    """Whether every part raises for all of the cases; `before` are arguments that the function works with."""
    case = 0
    try:
        f = vectorize_grad(**SETTINGS.get(setting, {}))(oracle.plain_function(source))
    except LoopdiffError as error:
        return judged(error, setting, case)
    asked = {"jax": through_jax} if setting == "jax" else {name: PARTS[name] for name in PARTS if name in parts}
    for name, ask in asked.items():
        if before is not None:
            tried(f, ask, before, setting)
        for case, (args, wanted) in enumerate(cases):
            outcome = tried(f, ask, args, setting)
            if outcome is None:
                message = f"{name} gives a result, Python raises {type(wanted).__name__}: {wanted}"
                return Outcome("silent", setting, name, message, case)
            if outcome.failed:
                return outcome
    return Outcome("ok", setting)


def tried(f: Any, ask: Callable[[Any, Args], Any], args: Args, setting: str) -> Outcome | None:
    """How a call with `args` fails; None if it does not."""
    try:
        with np.errstate(all="ignore"), threads(setting):
            ask(f, fresh(args))
    except Exception as error:
        return judged(error, setting, 0)
    return None


def judged(error: Exception, setting: str, case: int) -> Outcome:
    """An exception is what was wanted, unless it speaks of a defect of the compiler."""
    codes = error.codes if isinstance(error, LoopdiffError) else ()
    is_defect = any(code.startswith("LD9") or code in DEFECTS for code in codes)
    kind = "raised" if is_defect or isinstance(error, (AssertionError, NameError, KeyError, AttributeError)) else "ok"
    return Outcome(kind, setting, ",".join(codes) or type(error).__name__, repr(error), case)
