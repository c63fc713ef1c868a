"""Judges one program against plain Python, dual numbers, and the identity of the two modes.

An engine must compute what Python computes, its forward mode what dual numbers say, and reverse mode under
every tape policy must be the transpose of that. A refusal is no failure; any other exception is.
"""

from __future__ import annotations

import math
import re
import traceback
import warnings
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Literal, get_args

import numpy as np

from loopdiff.errors import BackendError, InternalError, LoopdiffError
from loopdiff.fuzz.differences import floats, has_ties, slopes_by_differences
from loopdiff.fuzz.duals import TooLongError, Trace, run_on_duals, slopes_of
from loopdiff.fuzz.engines import Compiled, Engine, Interpreted, Values, deep_copied, eager_threads, named
from loopdiff.fuzz.memory import Watched, damaged, laid_out
from loopdiff.fuzz.nudged import is_chaotic
from loopdiff.fuzz.program import ProgramSizes, RandomProgram
from loopdiff.fuzz.rows import TableProgram
from loopdiff.immutable import immutable, replace
from loopdiff.settings.options import TapePolicy

Verdict = Literal["passed", "refused", "invalid", "failed"]
LARGEST = 1e4
LONG = 100  # iterations after which rounding may have become everything
# Relative tolerance of values and derivatives, and how close compared numbers may come.
TOLERANCES = {"float64": (1e-8, 1e-9), "float32": (2e-3, 1e-4)}
ROUGHLY = 1e-4  # of differences, relative to the largest number
# Every so many programs run under every tape policy.
ALL_POLICIES = 5
REDUCTIONS = re.compile(r"@|\b(sum|mean|dot|einsum|prod|outer|cumsum)\b|complex|\bz[abcs]\b")
# What Python raises where loopdiff must raise too: touching memory that is not there, names without values, extents
MISUSES = (LookupError, UnboundLocalError, NameError)
SHAPE_ERRORS = (
    "broadcast",
    "zero-size array",
    "of an empty sequence",
    "mismatch",
    "not aligned",
    "cannot assign",
    "cannot reshape",
)


@immutable
class Outcome:
    """What became of a program. `stage` names the check that failed, or the code of the refusal."""

    verdict: Verdict
    stage: str = ""
    detail: str = ""
    sizes: ProgramSizes | None = None


@immutable
class Expected:
    """What the oracles say for one choice of sizes; `slopes`, right to `closeness`, None where the derivative is not
    defined."""

    outputs: Values
    finals: Values
    slopes: Values | None
    scale: float
    tolerance: float
    closeness: float

    @property
    def exact(self) -> Values | None:
        """The slopes where they are as good as values."""
        return self.slopes if self.closeness <= self.tolerance else None


class Mismatch(AssertionError):
    """A wrong number: `stage` is the check."""

    def __init__(self, stage: str, detail: str) -> None:
        super().__init__(f"{stage}: {detail}")
        self.stage, self.detail = stage, detail


def check(program: RandomProgram, *, compiled: bool = False) -> Outcome:
    """Check the program in the interpreter, and with `compiled` through the public interface too.

    Wishes for the schedule that cannot be granted are given up, the last one first.
    """
    outcome = check_once(program, compiled)
    wishes = program.setting.wishes
    while wishes and outcome.verdict == "refused" and outcome.stage.startswith("LD50"):
        wishes = wishes[:-1]
        outcome = check_once(replace(program, setting=replace(program.setting, wishes=wishes)), compiled)
    return outcome


def check_once(program: RandomProgram, compiled: bool) -> Outcome:
    with Watched().used() as watched, eager_threads(program.setting.parallel):
        return judge(program, compiled, watched)


def judge(program: RandomProgram, compiled: bool, watched: Watched) -> Outcome:
    try:
        engines: list[Engine] = [Interpreted(program)]
        if compiled:
            engines.append(Compiled(program, watched))
    except Exception as error:
        return judge_error("build", error, None)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        verdicts = [check_sizes(program, engines, sizes) for sizes in program.sizes]
    for verdict in ("failed", "refused", "passed"):
        for found in verdicts:
            if found.verdict == verdict:
                return found
    return verdicts[0]


def judge_error(stage: str, error: Exception, sizes: ProgramSizes | None) -> Outcome:
    match error:
        case Mismatch():
            return Outcome("failed", error.stage, error.detail, sizes)
        case InternalError() | BackendError():
            pass
        case LoopdiffError():
            return Outcome("refused", " ".join(error.codes), str(error), sizes)
    text = "".join(traceback.format_exception(error))
    return Outcome("failed", f"{stage}: {type(error).__name__}", text, sizes)


def check_sizes(program: RandomProgram, engines: list[Engine], sizes: ProgramSizes) -> Outcome:
    try:
        expected = expect(program, sizes)
    except MISUSES as error:
        return check_misuse(program, engines, sizes, error)
    except ValueError as error:
        if any(text in str(error) for text in SHAPE_ERRORS):
            return check_misuse(program, engines, sizes, error)
        return Outcome("invalid", "ValueError", str(error), sizes)
    except (ArithmeticError, TypeError, AttributeError, MemoryError, TooLongError) as error:
        return Outcome("invalid", type(error).__name__, str(error), sizes)
    if expected is None:
        return Outcome("invalid", "fragile", "", sizes)
    for engine in engines:
        if not engine.is_ready(program.values(sizes)):
            continue
        stage = engine.name
        try:
            for stage in checks(program, engine, sizes, expected):  # noqa: B007
                pass
        except Exception as error:
            return judge_error(f"{stage}, then", error, sizes)
    return Outcome("passed", sizes=sizes)


def check_misuse(program: RandomProgram, engines: list[Engine], sizes: ProgramSizes, error: Exception) -> Outcome:
    """Python raised where compiled code would read memory that is not there: every engine must raise too."""
    for engine in engines:
        if not engine.is_ready(program.values(sizes)):
            continue
        try:
            engine.outputs(program.values(sizes))
        except Exception as found:
            outcome = judge_error(f"{engine.name} misuse", found, sizes)
            if outcome.verdict == "failed":
                return outcome
        else:
            return Outcome("failed", f"{engine.name} accepts {type(error).__name__}", str(error), sizes)
    return Outcome("passed", "misuse", sizes=sizes)


def expect(program: RandomProgram, sizes: ProgramSizes) -> Expected | None:
    """What the oracles say; None for a run that rounding could turn into another."""
    return expect_roughly(program, sizes) if isinstance(program, TableProgram) else expect_exactly(program, sizes)


def expect_roughly(program: RandomProgram, sizes: ProgramSizes) -> Expected | None:
    """What plain Python and differences say."""
    args = program.values(sizes)
    results = program.function()(*args.values())
    arrays = frozenset(n for n, v in args.items() if isinstance(v, np.ndarray))
    everything = named(results, args, arrays)
    if is_chaotic(program, sizes, everything, TOLERANCES["float32"][0], partial(named, written=arrays)):
        return None
    if has_ties(program, sizes, everything):
        return None
    scale = max((float(np.max(np.abs(v), initial=1.0)) for v in floats(everything).values()), default=1.0)
    if not scale < LARGEST:
        return None
    outputs = {n: v for n, v in everything.items() if n.startswith("result_")}
    finals = {n: args[n] for n in args if n in everything}
    tolerance = TOLERANCES["float32" if "float32" in program.text else "float64"][0]
    slopes = None if "float32" in program.text else slopes_by_differences(program, sizes)
    return Expected(outputs, finals, slopes, scale, tolerance, ROUGHLY)


def expect_exactly(program: RandomProgram, sizes: ProgramSizes) -> Expected | None:
    """What plain Python and dual numbers say."""
    function, args = program.function(), program.values(sizes)
    before = deep_copied(args)
    results = function(*args.values())
    is_single = "float32" in program.text or any(a.dtype in ("float32", "complex64") for a in program.arguments)
    tolerance, closeness = TOLERANCES["float32" if is_single else "float64"]
    trace = Trace(closeness, is_single, is_strict=is_ordered(program))
    doubled, ends = run_on_duals(function, before, program.directions(sizes), trace)
    arrays = frozenset(n for n, v in args.items() if isinstance(v, np.ndarray))
    everything = named(results, args, arrays)
    if max(sizes) >= LONG and is_chaotic(program, sizes, everything, tolerance, partial(named, written=arrays)):
        return None
    is_tame = all(np.all(np.abs(v) < LARGEST) for v in everything.values())
    if trace.is_fragile or not is_tame or not trace.largest < LARGEST:
        return None
    slopes = named(doubled, ends, frozenset(everything))
    outputs = {n: v for n, v in everything.items() if n.startswith("result_")}
    derivatives = None if trace.has_kink else {n: slopes_of(v) for n, v in slopes.items()}
    return Expected(
        outputs, {n: args[n] for n in args if n in everything}, derivatives, trace.largest, tolerance, tolerance
    )


def is_ordered(program: RandomProgram) -> bool:
    """Whether every sum is a loop that keeps its order."""
    return not program.setting.fastmath and not REDUCTIONS.search(program.text)


def checks(program: RandomProgram, engine: Engine, sizes: ProgramSizes, expected: Expected) -> Iterator[str]:
    """Yields the name of each check passed; raises Mismatch."""
    name, wanted = engine.name, expected.outputs | expected.finals
    args = program.values(sizes)
    found = engine.outputs(args) | array_arguments(args)
    compare_values(f"{name} primal", found, wanted, expected)
    require_intact(f"{name} primal", args, engine.watched)
    yield f"{name} primal"
    args = program.values(sizes)
    directions = program.directions(sizes)
    along = deep_copied(directions)
    found, slopes = engine.tangents(args, along)
    require_intact(f"{name} tangent", args | {f"tangent of {n}": v for n, v in along.items()}, engine.watched)
    compare_values(f"{name} tangent's values", found | array_arguments(args), wanted, expected)
    if expected.slopes is not None:
        compare_values(f"{name} tangent", slopes, expected.slopes, replace(expected, tolerance=expected.closeness))
    yield f"{name} tangent"
    weights = weights_of(slopes, program.seed)
    exact = slopes if expected.exact is None else expected.exact
    pushed = [products_paired(w, exact[n]) for n, w in weights.items()]
    for policy in policies_of(program, engine):
        args = program.values(sizes)
        given = deep_copied(weights)
        found, gradients = engine.gradients(args, given, policy)
        handed = args | {f"cotangent of {n}": v for n, v in given.items()}
        require_intact(f"{name} reverse {policy}", handed, engine.watched)
        compare_values(f"{name} forward {policy}", found, {n: wanted[n] for n in found}, expected)
        compare_modes(f"{name} reverse {policy}", pushed, gradients, directions, expected)
        yield f"{name} reverse {policy}"
    if isinstance(engine, Compiled) and program.setting.callers > 1:
        compare_callers(engine, program, sizes, weights)
        yield f"{name} callers"
    args = program.values(sizes)
    both = engine.value_and_gradients(args) if isinstance(engine, Interpreted) else None
    if both is not None:
        compare_values(f"{name} one pass", both[0] | array_arguments(args), wanted, expected)
        compare_modes(f"{name} one pass", [np.asarray(exact["result_0"])], both[1], directions, expected)
        yield f"{name} one pass"


def compare_callers(engine: Compiled, program: RandomProgram, sizes: ProgramSizes, weights: Values) -> None:
    """Raise Mismatch unless several threads at once find the very bits that one finds alone."""

    def call(_: int) -> Values:
        args = program.values(sizes)
        outputs = engine.outputs(args) | {f"{n} afterwards": v for n, v in array_arguments(args).items()}
        values, gradients = engine.gradients(program.values(sizes), deep_copied(weights), "auto")
        return outputs | {f"{n} of vjp": v for n, v in values.items()} | {f"{n}_adj": v for n, v in gradients.items()}

    alone = call(0)
    with ThreadPoolExecutor(program.setting.callers) as executor:
        for found in executor.map(call, range(3 * program.setting.callers)):
            for key, value in found.items():
                if not np.array_equal(value, alone[key], equal_nan=np.asarray(value).dtype.kind in "fc"):
                    raise Mismatch("compiled callers", f"`{key}` is {value}, of one caller alone {alone[key]}")


def compare_modes(
    stage: str, pushed: list[np.ndarray], gradients: Values, directions: Values, expected: Expected
) -> None:  # fmt: skip
    """Raise Mismatch unless the `gradients` along the `directions` are what was `pushed` forward along them."""
    pulled = [products_paired(gradients[n], v) for n, v in directions.items()]
    gap = total(pushed) - total(pulled)
    scale = expected.scale + sum(float(np.sum(np.abs(p))) for p in (*pushed, *pulled))
    if not abs(gap) <= expected.tolerance * scale:
        raise Mismatch(stage, f"<w, J v> = {total(pushed)!r}, <J' w, v> = {total(pulled)!r}")


def policies_of(program: RandomProgram, engine: Engine) -> tuple[TapePolicy, ...]:
    """Every tape policy for some programs in the interpreter, one of them for the others: each costs a derivation."""
    policies: tuple[TapePolicy, ...] = get_args(TapePolicy)
    if program.seed % ALL_POLICIES == 0 and isinstance(engine, Interpreted):
        return policies
    return (policies[program.seed // 2 % len(policies)],)


def array_arguments(args: Values) -> Values:
    return {n: v for n, v in args.items() if isinstance(v, np.ndarray)}


def products_paired(cotangent: Any, tangent: Any) -> np.ndarray:
    """Real parts of the products: complex ones pair without conjugation."""
    return np.real(np.asarray(cotangent, complex) * tangent)


def total(terms: list[Any]) -> float:
    return math.fsum(float(np.sum(t)) for t in terms)


def weights_of(slopes: Mapping[str, Any], seed: int) -> Values:
    """A cotangent for every floating output."""
    rng = np.random.default_rng([seed, 2])
    found = {}
    for name, slope in sorted(slopes.items()):
        drawn = rng.uniform(0.5, 1.5, np.shape(slope))
        turned = drawn * np.exp(1j * rng.uniform(-1.0, 1.0, np.shape(slope))) if np.iscomplexobj(slope) else drawn
        turned = turned.astype(np.asarray(slope).dtype)
        found[name] = laid_out(turned, "C") if turned.ndim else turned[()]
    return found


def require_intact(stage: str, values: Values, watched: Watched | None) -> None:
    """Raise Mismatch if something was written beside the arrays that were handed over."""
    for name in (*damaged(values), *(watched.damaged() if watched else ())):
        raise Mismatch(f"{stage}, memory", f"something was written beside `{name}`")


def compare_values(stage: str, found: Values, wanted: Values, expected: Expected) -> None:
    """Raise Mismatch unless every found value is the wanted one: floats to rounding, the rest exactly."""
    for name, value in found.items():
        a, b = np.asarray(value), np.asarray(wanted[name])
        if a.shape != b.shape:
            raise Mismatch(stage, f"`{name}` has shape {a.shape}, not {b.shape}")
        bound = expected.tolerance * expected.scale if b.dtype.kind in "fc" else 0
        if not np.all(np.abs(a - b.astype(a.dtype)) <= bound if a.dtype.kind in "fc" else a == b):
            raise Mismatch(stage, f"`{name}` is {a.tolist()}, not {b.tolist()}")
