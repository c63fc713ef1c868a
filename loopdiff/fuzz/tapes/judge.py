"""Judges a program about the tape: its value against plain Python, its gradients against dual numbers, under every
policy that it asks for and in less memory than it would take."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, cast
from unittest.mock import patch

import numpy as np

from loopdiff.analysis.polyhedral.model import models_kept
from loopdiff.api import vectorize_grad
from loopdiff.calls.runs import ReverseRun, fitting_run, runs_of, sweeps_of
from loopdiff.calls.sweep_entry_points import vjp
from loopdiff.differentiable import Differentiable
from loopdiff.errors import ArgumentError
from loopdiff.fuzz.check import (
    MISUSES,
    Expected,
    Mismatch,
    Outcome,
    array_arguments,
    compare_modes,
    compare_values,
    expect,
    judge_error,
    products_paired,
    require_intact,
    weights_of,
)
from loopdiff.fuzz.duals import TooLongError
from loopdiff.fuzz.engines import Values, deep_copied, named
from loopdiff.fuzz.interfaces.judge import interpreting_units
from loopdiff.fuzz.memory import Watched
from loopdiff.fuzz.program import ProgramSizes
from loopdiff.fuzz.tapes.program import TapeProgram
from loopdiff.immutable import immutable, replace
from loopdiff.settings.options import PlanPolicy
from loopdiff.specialize import programs
from loopdiff.specialize.specialization import GENERATED, Specialization

Function = Differentiable[..., Any]
NO_EVIDENCE = (*MISUSES, ArithmeticError, ValueError, TypeError, AttributeError, MemoryError, TooLongError)
TOO_LITTLE = "LD345"


@immutable
class Case:
    """Arguments that a program runs on, by their sizes, what comes of them, and weights of the outputs."""

    sizes: ProgramSizes
    expected: Expected
    weights: Values


def check_tapes(program: TapeProgram, *, compiled: bool = False) -> Outcome:
    """Check the program in the interpreter, and with `compiled` as generated code too."""
    cases, reason = list[Case](), ""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for sizes in program.sizes:
            case = case_of(program, sizes)
            if isinstance(case, Case):
                cases.append(case)
            else:
                reason = reason or case
        if not cases:
            return Outcome("invalid", reason)
        for is_compiled in (False, True)[: 1 + compiled]:
            found = judge_cases(program, cases, is_compiled)
            if found.verdict != "passed":
                return found
    return Outcome("passed")


def case_of(program: TapeProgram, sizes: ProgramSizes) -> Case | str:
    """What comes of a run; in a word, why that is not known."""
    try:
        expected = expect(program, sizes)
    except NO_EVIDENCE as error:
        return type(error).__name__
    if expected is None:
        return "fragile"
    if expected.slopes is None:
        return "kink"
    numbers = (*expected.outputs.values(), *expected.slopes.values())
    if not all(np.all(np.isfinite(v)) for v in numbers):
        return "infinite"
    return Case(sizes, expected, weights_of(floating(expected.slopes), program.seed))


def floating(slopes: Mapping[str, Any]) -> Values:
    return {n: np.asarray(v)[()] for n, v in slopes.items() if np.asarray(v).dtype.kind == "f"}


def judge_cases(program: TapeProgram, cases: list[Case], is_compiled: bool) -> Outcome:
    """What comes of a program all of whose `cases` are evidence."""
    stage, case = "build", cases[0]
    with Watched().used() as watched, models_kept(), ExitStack() as stack:
        if not is_compiled:
            stack.enter_context(interpreting_units())
            stack.enter_context(patch.object(programs, "looked_through", lambda *_: (None, False)))  # types are known
        folder = stack.enter_context(tempfile.TemporaryDirectory()) if program.spills else None
        try:
            engine = Engine(program, watched, folder, "compiled" if is_compiled else "interpreted")
            for case in cases:
                stage = "primal"
                engine.check_primal(case)
            for policy in program.policies:
                for case in cases:
                    stage = policy
                    engine.check_policy(case, policy)
            for case in cases if program.at_once else ():
                stage = "at once"
                engine.check_at_once(case)
            for case in cases if program.share is not None else ():
                stage = "limited"
                engine.check_limited(case)
        except Exception as error:
            return judge_error(stage, error, case.sizes)
    return Outcome("passed")


class Engine:
    """A program behind its public interface, one reading of it and one normal form for all that is tried with it."""

    def __init__(self, program: TapeProgram, watched: Watched, folder: str | None, name: str) -> None:
        self.program, self.watched, self.folder, self.name = program, watched, folder, name
        fastmath = program.setting.fastmath
        self.f = cast("Function", vectorize_grad(wrt=program.wrt, fastmath=fastmath, cache=False)(program.function()))

    def specialization(self, args: Values) -> Specialization:
        return self.f.checked(tuple(args.values())).specialization  # type: ignore[union-attr]

    def check_primal(self, case: Case) -> None:
        """Raise Mismatch unless the function computes what Python does."""
        args = self.program.values(case.sizes)
        wanted = case.expected.outputs | case.expected.finals
        written = self.specialization(args).written
        found = named(self.f(*args.values()), args, written) | array_arguments(args)
        compare_values(f"{self.name} primal", found, wanted, case.expected)
        require_intact(f"{self.name} primal", args, self.watched)

    def check_policy(self, case: Case, policy: PlanPolicy) -> None:
        """Raise Mismatch unless gradients are right under a policy; not where they are planned as under another."""
        args = self.program.values(case.sizes)
        spec = self.specialization(args)
        others = self.program.policies[: self.program.policies.index(policy)]
        if not any(spec.built(policy) == spec.built(other) for other in others):
            self.check_run(case, sweeps_of(spec, "pullback", policy), args, f"{self.name} {policy}")

    def check_at_once(self, case: Case) -> None:
        """The same where value and gradient of one number are asked for together."""
        args, stage = self.program.values(case.sizes), f"{self.name} at once"
        spec, slopes = self.specialization(args), case.expected.slopes or {}
        if spec.interface.number is None or "result_0" not in slopes:
            return
        value, gradients = self.f.value_and_grad(*args.values())
        wanted = case.expected.outputs | case.expected.finals
        compare_values(stage, named(value, args, spec.written) | array_arguments(args), wanted, case.expected)
        require_intact(stage, args, self.watched)
        pushed = [np.asarray(slopes["result_0"])]
        compare_modes(stage, pushed, gradients._asdict(), self.program.directions(case.sizes), case.expected)

    def check_limited(self, case: Case) -> None:
        """The same in less memory: somewhere between what is kept at least and what is kept without a limit. Where
        there is nothing between, less is refused."""
        args = self.program.values(case.sizes)
        spec, prepared = self.under_limit(self.specialization(args)), self.prepared(args)
        kept = {run.label: run.arena.bytes(run.sizes(prepared)) for run in runs_of(spec, "pullback")}
        least, most = min(kept.values()), kept["pullback auto"]
        limit = least + int((self.program.share or 0.0) * (most - least)) if least < most else least - 1
        try:
            run = fitting_run(spec, "pullback", lambda r: r.sizes(prepared), limit, lambda r: r.least_sizes(prepared))
        except ArgumentError as error:
            if TOO_LITTLE not in error.codes or limit >= least:
                raise
            return
        if kept[run.label] > limit:
            raise Mismatch(f"{self.name} limited", f"{kept[run.label]} bytes under a limit of {limit}")
        self.check_run(case, run, args, f"{self.name} limited")

    def under_limit(self, spec: Specialization) -> Specialization:
        """`spec` with a limit, whatever that is, and with tapes in files if they go there."""

        def make() -> Specialization:
            options = replace(spec.options, memory_limit=0, spill=self.folder)
            made = Specialization(spec.program, spec.types, spec.requested, options)
            made.made |= {name: part for name, part in spec.made.items() if not name.startswith(GENERATED)}
            return made

        return spec.once("variant with a limit", make)

    def prepared(self, args: Values) -> tuple[Any, ...]:
        given = tuple(args.values())
        return self.f.checked(given).prepare(*given)  # type: ignore[union-attr]

    def check_run(self, case: Case, run: ReverseRun, args: Values, stage: str) -> None:
        """Raise Mismatch unless these sweeps compute the value, and gradients twice."""
        expected, wanted = case.expected, case.expected.outputs | case.expected.finals
        value, pullback = vjp(run, self.prepared(args))
        given = {n: w for n, w in case.weights.items() if n.startswith("result_") or n in run.takers}
        outputs = deep_copied(named(value, args, run.spec.written))
        compare_values(f"{stage} forward", outputs | array_arguments(args), wanted, expected)
        weights = deep_copied(given)
        first = deep_copied(self.pulled(pullback, value, outputs, weights))
        again = self.pulled(pullback, value, outputs, weights)
        require_intact(f"{stage} reverse", args | {f"cotangent of {n}": v for n, v in weights.items()}, self.watched)
        slopes = expected.slopes or {}
        directions = self.program.directions(case.sizes)
        pushed = [products_paired(w, slopes[n]) for n, w in given.items()]
        compare_modes(f"{stage} reverse", pushed, first, directions, expected)
        for name, gradient in again.items():
            if not np.array_equal(gradient, first[name]):
                raise Mismatch(f"{stage} again", f"`{name}`: {gradient}, before {first[name]}")

    def pulled(self, pullback: Any, value: Any, outputs: Values, weights: Values) -> Values:
        results = [n for n in outputs if n.startswith("result_")]
        seeds = tuple(weights.get(n) for n in results)
        seed = (seeds,) if isinstance(value, tuple) else seeds
        cotangents = {n: w for n, w in weights.items() if n in pullback.run.takers}
        return pullback(*seed, **cotangents)._asdict()
