"""Compare what loopdiff makes of a program with what the oracle says."""

from __future__ import annotations

import contextlib
import re
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np

from loopdiff import LoopdiffError, vectorize_grad
from loopdiff.fuzz.engines import eager_threads

from . import oracle
from .expected import Expected, Program, Unusable, cases_of, differ, expected, fresh, is_real, require_moderate
from .oracle import Args
from .structures import is_structure, leaves, mapped, outline

DEFECTS = {"LD342", "LD406", "LD601"}  # codes that no program of the language deserves
# Of an integer and a float Python gives the one or the other here, loopdiff a float.
CHOICE = re.compile(r"\b(max|min|sum)\(|\bif\b.*\belse\b")
PARTS = frozenset({"value", "grad", "jvp", "vjp"})
SETTINGS: dict[str, dict[str, Any]] = {
    "auto": {},
    "store": {"tape": "store"},
    "recompute": {"tape": "recompute"},
    "parallel": {"parallel": True},
    "emulated": {"target": "cuda-emulated"},
    "from_end": {"negative": "from_end"},
    "gpu": {"target": "cuda"},
}


def threads(setting: str) -> AbstractContextManager[None]:
    """Where loops run on threads, they do so however short they are: all arrays here are small."""
    return eager_threads(setting == "parallel")


class Wrong(AssertionError):
    """A difference between loopdiff and the oracle; `stage` says where."""

    def __init__(self, stage: str, message: str) -> None:
        super().__init__(f"{stage}: {message}")
        self.stage = stage


@dataclass(frozen=True)
class Outcome:
    """What became of one program under one setting: `ok`, `refused`, `wrong`, `silent`, `raised`, `undecided`.

    `silent`: it gave a result where Python raises. `undecided`: another one, which roundings decide about.
    """

    kind: str
    setting: str = ""
    stage: str = ""
    message: str = ""
    case: int = 0

    @property
    def failed(self) -> bool:
        return self.kind in ("wrong", "silent", "raised")


def same(stage: str, got: Any, wanted: Any, tolerance: float) -> None:
    """The leaves of both are the same, but for those of which nothing is wanted."""
    if outline(got) != outline(wanted):
        raise Wrong(stage, f"got {got!r}, expected {wanted!r}")
    for (path, one), (_, other) in zip(leaves(got), leaves(wanted), strict=True):
        one = np.zeros_like(other) if one is None and is_structure(wanted) and other is not None else one
        if other is not None and differ(one, other, tolerance):
            raise Wrong(stage + path, f"got {one!r}, expected {other!r}")


def by_name(record: Any) -> Args:
    return {name: getattr(record, name) for name in record._fields}


def compare_gradients(stage: str, record: Any, wanted: Args, tolerance: float) -> None:
    got = by_name(record)
    for name, gradient in wanted.items():
        if name in got:
            same(f"{stage} d/d{name}", got[name], gradient, tolerance)


def check_left_out(record: Any, want: Expected) -> None:
    """Arguments without a gradient are pure outputs: nothing but their own final values depends on them."""
    for name in want.tangents.keys() - by_name(record).keys():
        others = {other: weight for other, weight in want.weights.items() if other != name}
        for path, gradient in leaves(want.run.pull(want.seeds, others)[name]):
            same(f"d/d{name}{path} (left out)", np.zeros_like(gradient), gradient, want.tolerance)


def compare_outputs(stage: str, result: Any, arguments: Args, want: Expected) -> None:
    got = oracle.items(result)
    if outline(result) != outline(want.plain):
        raise Wrong(stage, f"got {result!r}, expected {want.values!r}")
    for value, wanted, plain in zip(got, want.values, oracle.items(want.plain), strict=True):
        same(stage, value, wanted, want.tolerance)
        if is_real(value) != is_real(plain) and not (is_real(value) and CHOICE.search(want.source)):
            raise Wrong(stage, f"got {value!r}, expected the type of {plain!r}")
    for name, final in want.finals.items():
        same(f"{stage}, final {name}", arguments[name], final, want.tolerance)


def check_value(f: Any, want: Expected) -> None:
    arguments = fresh(want.args)
    compare_outputs("value", f(**arguments), arguments, want)


def check_jvp(f: Any, want: Expected) -> set[str]:
    """Forward mode; returns the arrays that loopdiff says are written."""
    arguments = fresh(want.args)
    result, record = f.jvp(tuple(arguments.values()), want.tangents)
    compare_outputs("jvp value", result, arguments, want)
    got = by_name(record)
    tangents = oracle.items(got.pop("result", None))
    for tangent, wanted, value in zip(tangents, want.result_tangents, oracle.items(want.plain), strict=True):
        if is_real(value):
            same("jvp result", tangent, wanted, want.tolerance)
    for name, tangent in got.items():
        same(f"jvp final {name}", tangent, want.of_written(name, want.final_tangents[name]), want.tolerance)
    if want.written - set(got):
        raise Wrong("jvp", f"written arrays without tangents: {sorted(want.written - set(got))}")
    return set(got)


def check_vjp(f: Any, want: Expected, written: set[str]) -> None:
    arguments = fresh(want.args)
    result, pullback = f.vjp(**arguments)
    compare_outputs("vjp value", result, arguments, want)
    weights = want.cotangents(written)
    gradients = pullback(*want.seed(), **weights)
    wanted = want.run.pull(want.seeds, weights)
    compare_gradients("vjp", gradients, without_own(gradients, wanted, want), want.tolerance)
    check_left_out(gradients, want)


def without_own(record: Any, wanted: Args, want: Expected) -> Args:
    """The gradients `wanted`; those of arrays in structures that have none are what other final values give them, as
    these arrays are pure outputs."""
    found = dict(wanted)
    for name, got in by_name(record).items():
        if is_structure(want.weights.get(name)):
            others = mapped(lambda weight, gradient: None if gradient is None else weight, want.weights[name], got)
            without = want.run.pull(want.seeds, {**want.weights, name: others})[name]
            found[name] = mapped(lambda g, w, o: o if g is None else w, got, wanted[name], without)
    return found


def check_gradient(f: Any, want: Expected) -> None:
    arguments = fresh(want.args)
    result, gradients = f.value_and_grad(**arguments)
    compare_outputs("value_and_grad value", result, arguments, want)
    compare_gradients("grad", gradients, want.run.pull([1.0], {}), want.tolerance)


def check_parts(f: Any, want: Expected, parts: frozenset[str]) -> None:
    """What loopdiff says to a function and its arguments; a gradient needs one number, else it is the pullback."""
    if "value" in parts:
        check_value(f, want)
    if "grad" in parts and want.is_energy:
        check_gradient(f, want)
    written = check_jvp(f, want) if "jvp" in parts else want.written
    if "vjp" in parts or ("grad" in parts and not want.is_energy):
        check_vjp(f, want, written)


def check_second(want: Expected) -> None:
    """Hessian times vector against reverse mode over forward mode, where the oracle has something to say of it."""
    if not want.is_energy or want.written or want.tolerance != 1e-8:
        return
    f = vectorize_grad(oracle.plain_function(want.source))
    run = oracle.taped_dual(want.source, want.args, want.tangents)
    products = run.pull([1.0], {}, oracle.tangent)
    try:
        require_moderate(*oracle.items(products))
    except Unusable:
        return
    value, gradients, got = f.hvp(tuple(fresh(want.args).values()), want.tangents)
    same("hvp value", value, want.values[0], want.tolerance)
    compare_gradients("hvp gradient", gradients, want.run.pull([1.0], {}), want.tolerance)
    compare_gradients("hvp", got, products, want.tolerance)


def check_jax(want: Expected) -> None:
    import jax

    import loopdiff.jax

    if not want.is_energy or want.written or any(is_structure(value) for value in want.args.values()):
        return
    wrapped = loopdiff.jax.wrap(vectorize_grad(oracle.plain_function(want.source)))

    def energy(*args: Any) -> Any:
        """The result alone: arrays that another run could write come behind it."""
        result = wrapped(*args)
        return result[0] if isinstance(result, tuple) else result

    active = [i for i, value in enumerate(want.args.values()) if oracle.is_active(value)]
    value, gradients = jax.value_and_grad(energy, argnums=active)(*fresh(want.args).values())
    same("jax value", value, want.values[0], want.tolerance)
    wanted = want.run.pull([1.0], {})
    for name, gradient in zip(wanted, gradients, strict=True):
        same(f"jax d/d{name}", gradient, wanted[name], want.tolerance)


def try_setting(wants: list[Expected], setting: str, parts: frozenset[str] = PARTS) -> Outcome:
    """What is checked under one setting: `parts` under the plain ones, for all arguments with one compiled function."""
    case = 0
    try:
        with np.errstate(all="ignore"), threads(setting):
            match setting:
                case "jax":
                    check_jax(wants[0])
                case "second":
                    check_second(wants[0])
                case _:
                    f = vectorize_grad(**SETTINGS[setting])(oracle.plain_function(wants[0].source))
                    while case < len(wants):
                        check_parts(f, wants[case], parts)
                        case += 1
    except Exception as error:
        return failure(error, wants, setting, case)
    return Outcome("ok", setting)


def failure(error: Exception, wants: list[Expected], setting: str, case: int) -> Outcome:
    """What an error says of the case that it came at."""
    match error:
        case LoopdiffError(codes=codes):
            kind = "raised" if any(code.startswith("LD9") or code in DEFECTS for code in codes) else "refused"
            return Outcome(kind, setting, ",".join(codes), str(error), case)
        case Wrong(stage=stage):
            kind = "undecided" if is_left_to_rounding(wants[case]) else "wrong"
            return Outcome(kind, setting, stage, str(error), case)
        case _:
            return Outcome("raised", setting, type(error).__name__, repr(error), case)


def is_left_to_rounding(want: Expected) -> bool:
    """Whether the oracle says something else of arguments that are all larger by the same fraction of the tolerance,
    which keeps ties and exact zeros, but not what roundings leave of differences."""
    for factor in (1.0 + 0.3 * want.tolerance, 1.0 - want.tolerance):
        scaled = {name: mapped(lambda leaf, by=factor: larger(leaf, by), value) for name, value in want.args.items()}
        with contextlib.suppress(Unusable):
            pairs = zip(expected(want.source, scaled).gradients, want.gradients, strict=True)
            if any(differ(one, two, 100.0 * want.tolerance) for one, two in pairs):
                return True
    return False


def larger(leaf: Any, factor: float) -> Any:
    return (leaf * factor).astype(leaf.dtype) if oracle.is_active_leaf(leaf) and np.ndim(leaf) else leaf


def check(program: Program, settings: tuple[str, ...], parts: frozenset[str] = PARTS) -> list[Outcome]:
    """The outcomes under each setting, up to the first that is not `ok`."""
    wants = cases_of(program)
    outcomes = []
    for setting in settings:
        outcomes.append(try_setting(wants, setting, parts))
        if outcomes[-1].kind != "ok":
            break
    return outcomes
