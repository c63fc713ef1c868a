"""Compare what loopdiff makes of a program with what the oracle says."""

from __future__ import annotations

import copy
import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from loopdiff import LoopdiffError, vectorize_grad

from . import oracle
from .numbers import Undecided
from .oracle import Args

TOLERANCE = 1e-8
DEFECTS = {"LD342", "LD601", "LD406"}  # codes that no program of the language deserves
LARGEST = 1e6  # programs with larger values or derivatives tell little about either


@dataclass(frozen=True)
class Program:
    """The text of a function `f` and its helpers, and arguments by name."""

    source: str
    args: Args
    name: str = ""
    tags: tuple[str, ...] = field(default=())

    def runnable(self) -> str:
        """The program as a script that prints what loopdiff makes of it."""
        lines = [
            "import math",
            "",
            "import numpy as np",
            "from loopdiff import vectorize_grad",
            "",
            self.source.rstrip(),
        ]
        given = ", ".join(f"{name}={written(value)}" for name, value in self.args.items())
        return "\n".join([*lines, "", f"args = dict({given})", ""])


def written(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"np.array({value.tolist()})" if value.dtype != np.int64 else f"np.array({value.tolist()}, np.int64)"
    return repr(value)


class Wrong(AssertionError):
    """A difference between loopdiff and the oracle; `stage` says where."""

    def __init__(self, stage: str, message: str) -> None:
        super().__init__(f"{stage}: {message}")
        self.stage = stage


class Unusable(Exception):
    """The program fails in Python itself, or is ill-conditioned: nothing to compare."""


def fresh(args: Args) -> Args:
    return copy.deepcopy(args)


def differ(got: Any, expected: Any, tolerance: float = TOLERANCE) -> bool:
    got, expected = np.asarray(got), np.asarray(expected)
    if got.shape != expected.shape:
        return True
    if got.dtype.kind not in "fiub":
        return True
    scale = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
    return not np.allclose(got.astype(float), expected.astype(float), rtol=tolerance, atol=tolerance * scale)


def same(stage: str, got: Any, expected: Any, tolerance: float = TOLERANCE) -> None:
    if differ(got, expected, tolerance):
        raise Wrong(stage, f"got {got!r}, expected {expected!r}")


def moderate(*values: Any) -> None:
    for value in values:
        array = np.asarray(value, dtype=float)
        if not np.all(np.isfinite(array)) or np.max(np.abs(array), initial=0.0) > LARGEST:
            raise Unusable("values or derivatives that are not finite, or large")


@dataclass(frozen=True)
class Expected:
    """What the oracle says of a program, with the directions and weights it was asked for."""

    values: list[Any]
    finals: Args
    written: set[str]
    run: oracle.Run
    seeds: list[Any]
    weights: Args
    tangents: Args
    result_tangents: list[Any]
    final_tangents: Args


def random_like(rng: np.random.Generator, value: Any) -> Any:
    return rng.uniform(-1.5, 1.5, np.shape(value)).round(2) if np.ndim(value) else float(rng.uniform(0.5, 1.5))


def expected(program: Program) -> Expected:
    """Ask the oracle; `Unusable` where it has nothing to say."""
    rng = np.random.default_rng(zlib.crc32(program.source.encode()))
    try:
        with np.errstate(all="raise"):
            run = oracle.taped(program.source, program.args)
            tangents = {n: random_like(rng, v) for n, v in program.args.items() if oracle.is_active(v)}
            along = oracle.dual(program.source, program.args, tangents)
        arguments = fresh(program.args)
        plain = oracle.plain_function(program.source)(**arguments)
    except Undecided as error:
        raise Unusable(f"undecided: {error}") from error
    except Exception as error:
        raise Unusable(f"{type(error).__name__}: {error}") from error
    values = run.values()
    agree_with_python(values, oracle.items(plain))
    finals = {name: oracle.floats(v) for name, v in run.finals.items() if isinstance(v, np.ndarray)}
    agree_with_python(list(finals.values()), [arguments[name] for name in finals])
    seeds = [
        random_like(rng, v) if oracle.is_floating(i) else v
        for i, v in zip(oracle.items(run.result), values, strict=True)
    ]
    weights = {name: random_like(rng, v) for name, v in program.args.items() if oracle.is_active(v) and np.ndim(v)}
    ones = run.pull([1.0 if oracle.is_floating(i) else 0 for i in seeds] if all_scalars(values) else seeds, weights)
    moderate(*values, *finals.values(), *ones.values())
    return Expected(
        values,
        finals,
        run.written(),
        run,
        seeds,
        weights,
        tangents,
        [oracle.floats(i, oracle.tangent) for i in oracle.items(along.result)],
        {
            name: oracle.floats(along.finals[name], oracle.tangent)
            for name in finals
            if oracle.is_floating(along.finals[name])
        },
    )


def all_scalars(values: list[Any]) -> bool:
    return all(np.ndim(v) == 0 for v in values)


def agree_with_python(ours: list[Any], plain: list[Any]) -> None:
    """The oracle's values are those of plain NumPy, else it has misread the program."""
    if len(ours) != len(plain) or any(differ(a, b) for a, b in zip(ours, plain, strict=True)):
        raise Unusable("the oracle disagrees with plain Python")


def gradients_of(record: Any) -> Args:
    return {name: getattr(record, name) for name in record._fields}


def compare_gradients(stage: str, record: Any, run_gradients: Args) -> None:
    got = gradients_of(record)
    for name, gradient in run_gradients.items():
        if name in got:
            same(f"{stage} d/d{name}", got[name], gradient)
        else:
            same(f"{stage} d/d{name} (not computed)", np.zeros_like(gradient), gradient)


def check_values(f: Any, program: Program, want: Expected) -> None:
    arguments = fresh(program.args)
    compare_outputs("value", f(**arguments), arguments, want)


def compare_outputs(stage: str, result: Any, arguments: Args, want: Expected) -> None:
    got = oracle.items(result)
    if len(got) != len(want.values):
        raise Wrong(stage, f"got {result!r}, expected {want.values!r}")
    for g, w in zip(got, want.values, strict=True):
        same(stage, g, w)
    for name, final in want.finals.items():
        same(f"{stage}, final {name}", arguments[name], final)


def check_jvp(f: Any, program: Program, want: Expected) -> set[str]:
    """Forward mode; returns the arrays that loopdiff says are written."""
    arguments = fresh(program.args)
    result, record = f.jvp(tuple(arguments.values()), want.tangents)
    compare_outputs("jvp value", result, arguments, want)
    got = gradients_of(record)
    tangents = oracle.items(got.pop("result", None))
    for tangent, wanted, item in zip(tangents, want.result_tangents, oracle.items(want.run.result), strict=True):
        if oracle.is_floating(item):
            same("jvp result", tangent, wanted)
    for name, tangent in got.items():
        same(f"jvp final {name}", tangent, want.final_tangents[name])
    if want.written - set(got):
        raise Wrong("jvp", f"written arrays without tangents: {sorted(want.written - set(got))}")
    return set(got)


def check_vjp(f: Any, program: Program, want: Expected, written: set[str]) -> None:
    arguments = fresh(program.args)
    result, pullback = f.vjp(**arguments)
    compare_outputs("vjp value", result, arguments, want)
    weights = {name: weight for name, weight in want.weights.items() if name in written}
    seeds = () if not want.seeds else (tuple(want.seeds) if isinstance(result, tuple) else want.seeds[0],)
    compare_gradients("vjp", pullback(*seeds, **weights), want.run.pull(want.seeds, weights))


def check_gradient(f: Any, program: Program, want: Expected) -> None:
    if not is_energy(want):
        return
    arguments = fresh(program.args)
    result, gradients = f.value_and_grad(**arguments)
    compare_outputs("value_and_grad value", result, arguments, want)
    compare_gradients("grad", gradients, want.run.pull([1.0], {}))


@dataclass(frozen=True)
class Outcome:
    """What became of one program under one setting: `ok`, `refused`, `wrong` or `raised`, and how."""

    kind: str
    setting: str = ""
    stage: str = ""
    message: str = ""

    @property
    def failed(self) -> bool:
        return self.kind in ("wrong", "raised")


SETTINGS: dict[str, dict[str, Any]] = {
    "auto": {},
    "store": {"tape": "store"},
    "recompute": {"tape": "recompute"},
    "parallel": {"parallel": True},
    "emulated": {"target": "cuda-emulated"},
}


PARTS = frozenset({"value", "grad", "jvp", "vjp"})


def try_setting(program: Program, want: Expected, setting: str, parts: frozenset[str] = PARTS) -> Outcome:
    """What is checked under one setting; `parts` are those of the plain ones."""
    try:
        with np.errstate(all="ignore"):
            match setting:
                case "jax":
                    check_jax(program, want)
                case "second":
                    check_second(program, want)
                case _:
                    check_parts(program, want, SETTINGS[setting], parts)
    except LoopdiffError as error:
        codes = ",".join(error.codes)
        kind = "raised" if any(code.startswith("LD9") or code in DEFECTS for code in error.codes) else "refused"
        return Outcome(kind, setting, codes, str(error))
    except Wrong as error:
        return Outcome("wrong", setting, error.stage, str(error))
    except Exception as error:
        return Outcome("raised", setting, type(error).__name__, repr(error))
    return Outcome("ok", setting)


def check_parts(program: Program, want: Expected, settings: dict[str, Any], parts: frozenset[str]) -> None:
    f = vectorize_grad(**settings)(oracle.plain_function(program.source))
    written = {name for name in want.written if np.ndim(program.args[name])}
    if "value" in parts:
        check_values(f, program, want)
    if "grad" in parts:
        check_gradient(f, program, want)
    if "jvp" in parts:
        written = check_jvp(f, program, want)
    if "vjp" in parts or not is_energy(want):
        check_vjp(f, program, want, written)


def check_second(program: Program, want: Expected) -> None:
    """Hessian times vector against reverse mode over forward mode."""
    if not is_energy(want):
        return
    f = vectorize_grad(oracle.plain_function(program.source))
    run = oracle.taped_dual(program.source, program.args, want.tangents)
    hessian_vector = run.pull([1.0], {}, oracle.tangent)
    moderate(*hessian_vector.values())
    written = want.written
    vectors = {name: v for name, v in want.tangents.items() if name not in written}
    if len(vectors) < len(want.tangents):
        return
    arguments = fresh(program.args)
    value, gradients, products = f.hvp(tuple(arguments.values()), vectors)
    same("hvp value", value, want.values[0])
    compare_gradients("hvp gradient", gradients, want.run.pull([1.0], {}))
    compare_gradients("hvp", products, hessian_vector)


def is_energy(want: Expected) -> bool:
    return len(want.seeds) == 1 and not isinstance(want.run.result, tuple) and isinstance(want.values[0], float)


def check_jax(program: Program, want: Expected) -> None:
    import jax

    import loopdiff.jax

    if not is_energy(want) or want.written:
        return
    wrapped = loopdiff.jax.wrap(vectorize_grad(oracle.plain_function(program.source)))

    def energy(*args: Any) -> Any:
        """The result alone: arrays that another run could write come behind it."""
        result = wrapped(*args)
        return result[0] if isinstance(result, tuple) else result

    active = [i for i, value in enumerate(program.args.values()) if oracle.is_active(value)]
    value, gradients = jax.value_and_grad(energy, argnums=active)(*fresh(program.args).values())
    same("jax value", value, want.values[0])
    wanted = want.run.pull([1.0], {})
    for name, gradient in zip(wanted, gradients, strict=True):
        same(f"jax d/d{name}", gradient, wanted[name])


def check(program: Program, settings: tuple[str, ...], parts: frozenset[str] = PARTS) -> list[Outcome]:
    """The outcomes under each setting, up to the first that is not `ok`."""
    want = expected(program)
    outcomes = []
    for setting in settings:
        outcomes.append(try_setting(program, want, setting, parts))
        if outcomes[-1].kind != "ok":
            break
    return outcomes
