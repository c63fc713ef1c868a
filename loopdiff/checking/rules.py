"""Checks of rules: every combination of what has a derivative, in both modes, against the function itself."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any

import numpy as np

from loopdiff.backends.ruled import called
from loopdiff.errors import NOWHERE, ArgumentError, LoopdiffError
from loopdiff.errors.codes import reject
from loopdiff.immutable import immutable
from loopdiff.rules.definitions import TAPE, Rule, RuleForm, parameters_of, plain, rule_for, rule_key

Values = dict[str, Any]
EXACT = {np.dtype("float64"): 1e-10, np.dtype("float32"): 1e-4}
DIFFERENCES = {np.dtype("float64"): (1e-6, 1e-4), np.dtype("float32"): (2e-2, 1e-2)}


class RuleCheckError(LoopdiffError, AssertionError):
    """A rule is wrong; `report` is the RuleReport."""

    def __init__(self, report: RuleReport) -> None:
        self.report = report
        super().__init__(f"the rule of `{report.name}` is wrong\n{report}")


@immutable
class Finding:
    """One check with derivatives by `active`: how far off it is, or `problem`, what went wrong altogether."""

    active: tuple[str, ...]
    check: str
    error: float
    is_good: bool
    problem: str = ""

    def __str__(self) -> str:
        names = ", ".join(self.active) or "nothing"
        verdict = "ok" if self.is_good else "WRONG"
        what = f"error {self.error:.1e}" if not self.problem else self.problem
        return f"{names:>16s} active: {self.check}: {what}  {verdict}"


@immutable
class RuleReport:
    """All findings about the rule of the function `name`."""

    name: str
    findings: tuple[Finding, ...]

    @property
    def is_good(self) -> bool:
        return all(f.is_good for f in self.findings)

    def __str__(self) -> str:
        return "\n".join(map(str, self.findings))


def check_rule(
    function: Callable[..., Any], args: tuple[Any, ...], *, seed: int = 0, compiled: bool = True
) -> RuleReport:
    """Compare the rule of `function` with differences of the function at `args`, and its two modes with each other.

    With every combination of the array arguments that may have a derivative: values are those of the function,
    tangents those of differences, adjoints the transpose of tangents; adjoints of arrays that are read are added to,
    those of arrays that are overwritten are used up; what is not declared as written stays as it was.

    Args:
        function: A function with a rule.
        args: Arguments by position. They are copied, not changed.
        seed: Seed of the random directions.
        compiled: Whether the functions run as Numba compiles them, or as plain Python.

    Returns:
        A report with a line for each check.

    Raises:
        RuleCheckError: A check fails; the message is the report.
        ArgumentError: The function has no rule (LD353).
    """
    rule = rule_for(function)
    if rule is None:
        name = getattr(function, "__name__", "the function")
        message = f"`{name}` has no rule"
        raise ArgumentError(reject("LD353", message, NOWHERE, "give it one with `loopdiff.rule`"))
    bound = inspect.signature(plain(function)).bind(*args)
    bound.apply_defaults()
    check = RuleCheck(rule, dict(bound.arguments), np.random.default_rng(seed), compiled)
    report = RuleReport(rule.name, tuple(check.findings()))
    if not report.is_good:
        raise RuleCheckError(report)
    return report


def same(a: Any, b: Any) -> bool:
    return bool(np.array_equal(a, b, equal_nan=np.asarray(a).dtype.kind == "f"))


def distance(a: Any, b: Any) -> float:
    """The largest difference, relative to the largest entry of either or to one; infinite if one is no number."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        return float("inf")
    size = max(1.0, float(np.max(np.abs(b), initial=0.0)))
    return float(np.max(np.abs(a - b), initial=0.0)) / size


def inner(a: Any, b: Any) -> float:
    return float(np.sum(np.asarray(a, dtype=float) * np.asarray(b, dtype=float)))


@dataclass(slots=True)
class RuleCheck:
    """Runs the functions of `rule` on copies of `values`; arrays that it fills hold NaN before."""

    rule: Rule
    values: Values
    rng: np.random.Generator
    compiled: bool

    # -- running ---------------------------------------------------------------------------------------------
    def fresh(self) -> Values:
        copies = {n: v.copy("K") if isinstance(v, np.ndarray) else v for n, v in self.values.items()}
        for name in self.rule.outputs:
            copies[name].fill(np.nan if copies[name].dtype.kind == "f" else 113)
        return copies

    def run(self, form: RuleForm, given: Values) -> Any:
        """What the function for `form` returns on `given`, which it may change."""
        rule = self.rule
        function = called(rule_key(rule), form) if self.compiled else plain(rule.function_of(form))
        return function(*(given[n] for n in rule.names(form)))

    def width(self) -> np.dtype[Any]:
        narrow = any(getattr(v, "dtype", None) == np.float32 for v in self.values.values())
        return np.dtype("float32" if narrow else "float64")

    def is_array(self, name: str) -> bool:
        return isinstance(self.values[name], np.ndarray)

    def is_floating(self, name: str) -> bool:
        return np.asarray(self.values[name]).dtype.kind == "f"

    def outcome(self, values: Values, result: Any) -> Values:
        """What the function leaves: arrays that it writes, and its result."""
        found = {n: values[n] for n in self.rule.params if n in self.rule.changed}
        return found | ({} if self.rule.result is None else {"result": result})

    def slopes(self, active: tuple[str, ...], found: Values) -> Values:
        """Those of the outcomes `found` that have a derivative."""
        has = {n for n in active if n in self.rule.changed} | ({"result"} if self.rule.has_slope else set())
        return {n: v for n, v in found.items() if n in has}

    # -- checks ----------------------------------------------------------------------------------------------
    def findings(self) -> Iterator[Finding]:
        yield from self.attempt((), "the function", self.function)
        arrays = [n for n in self.rule.active if self.is_array(n) and self.is_floating(n)]
        numbers = tuple(n for n in self.rule.active if not self.is_array(n) and self.is_floating(n))
        for chosen in chain.from_iterable(combinations(arrays, k) for k in range(len(arrays), -1, -1)):
            active = (*chosen, *numbers)
            if not self.slopes(active, self.outcome(self.values, 0.0)):
                continue  # nothing that anyone asks for
            direction = self.direction(active)
            if self.rule.partials:
                yield from self.attempt(active, "partials", self.partials)
            if "tangent" in self.rule.derived:
                yield from self.attempt(active, "tangent", lambda a=active, d=direction: self.tangent(a, d))
            if "reverse" in self.rule.derived:
                yield from self.attempt(active, "reverse", lambda a=active, d=direction: self.reverse(a, d))

    def attempt(
        self, active: tuple[str, ...], what: str, check: Callable[[], Iterator[tuple[str, float, float]]]
    ) -> Iterator[Finding]:
        """The outcomes of `check`: what is compared, the error and how much of it is allowed."""
        try:
            for text, error, allowed in check():
                yield Finding(active, text, error, error <= allowed)
        except Exception as error:  # whatever the user's functions, or their compilation, raise
            text = str(error).strip().splitlines() or [""]
            yield Finding(active, what, float("inf"), False, f"{type(error).__name__}: {text[-1]}")

    def unchanged(self, what: str, before: Values, after: Values) -> Iterator[tuple[str, float, float]]:
        for name, value in before.items():
            if not same(value, after[name]):
                yield f"{what} leaves `{name}` as it is", float("inf"), 0.0

    def function(self) -> Iterator[tuple[str, float, float]]:
        """It writes what it is declared to write, and fills what it is declared to fill."""
        values, again = self.fresh(), self.fresh()
        result = self.run("primal", values)
        read = {n: v for n, v in self.fresh().items() if n not in self.rule.changed}
        yield from self.unchanged("the function", read, values)
        for name in self.rule.outputs:
            again[name].fill(1)
        found = self.outcome(again, self.run("primal", again))
        for name, value in self.outcome(values, result).items():
            yield f"`{name}` is the same whatever was in outputs", distance(found[name], value), 0.0
        kind = None if self.rule.result is None else np.dtype(self.rule.result).kind
        if kind is not None and np.asarray(result).dtype.kind != kind:
            raise TypeError(f"it returns {type(result).__name__}, declared {self.rule.result}")

    def direction(self, active: tuple[str, ...]) -> Values:
        kind = self.width()
        drawn = {n: self.rng.uniform(0.5, 1.5, np.shape(self.values[n])) for n in active}
        return {n: d.astype(kind) if self.is_array(n) else kind.type(d) for n, d in drawn.items()}

    def difference(self, direction: Values) -> Values:
        """Derivatives of all outcomes along `direction`, to fourth order."""
        _, step = DIFFERENCES[self.width()]

        def at(shift: float) -> Values:
            values = self.fresh()
            for name, along in direction.items():
                if name not in self.rule.outputs:
                    values[name] = values[name] + (shift * along).astype(along.dtype)
            return self.outcome(values, self.run("primal", values))

        points = [at(k * step) for k in (-2, -1, 1, 2)]
        out: Values = {}
        for name in points[0]:
            a, b, c, d = (np.asarray(p[name], dtype=float) for p in points)
            out[name] = (8.0 * (c - b) - (d - a)) / (12.0 * step)
        return out

    def pushed(self, direction: Values) -> tuple[Values, Values, Values, Values]:
        """Run `tangent`: the arguments and their tangents after it, outcomes and their tangents."""
        values = self.fresh()
        tangents: Values = {}
        for name in self.rule.active:
            along = direction.get(name)
            if along is None:
                tangents[f"{name}_tan"] = None if self.is_array(name) else 0.0
            else:
                tangents[f"{name}_tan"] = along.copy() if self.is_array(name) else along
            if name in self.rule.outputs and along is not None:
                tangents[f"{name}_tan"].fill(np.nan)
        returned = self.run("tangent", {**values, **tangents})
        result, slope = returned if self.rule.has_slope else (returned, None)
        found = {n: tangents.get(f"{n}_tan") for n in self.rule.params if n in self.rule.changed}
        return values, tangents, self.outcome(values, result), {**found, "result": slope}

    def tangent(self, active: tuple[str, ...], direction: Values) -> Iterator[tuple[str, float, float]]:
        exact = EXACT[self.width()]
        reference = self.fresh()
        expected = self.outcome(reference, self.run("primal", reference))
        values, tangents, found, slopes = self.pushed(direction)
        for name, value in expected.items():
            yield f"`{name}` of `tangent` is that of the function", distance(found[name], value), exact
        read = {n: v for n, v in self.fresh().items() if n not in self.rule.changed}
        yield from self.unchanged("`tangent`", read, values)
        given = {f"{n}_tan": d for n, d in direction.items() if n not in self.rule.changed and self.is_array(n)}
        yield from self.unchanged("`tangent`", given, tangents)
        for name, value in self.slopes(active, self.difference(direction)).items():
            error = distance(slopes[name], value)
            yield f"tangent of `{name}` is that of differences", error, DIFFERENCES[self.width()][0]

    def partials(self) -> Iterator[tuple[str, float, float]]:
        for name in self.rule.partials:
            one = {name: self.width().type(1.0)}
            expected = self.difference(one)["result"]
            rule = self.rule.partial(name)
            function = called(rule_key(rule), "primal") if self.compiled else plain(rule.function)
            found = function(*(self.fresh()[p] for p in self.rule.params))
            yield (
                f"the partial by `{name}` is that of differences",
                distance(found, expected),
                DIFFERENCES[self.width()][0],
            )

    def kept(self, values: Values) -> tuple[Any, Any]:
        """Run the function, or `forward`: its result, and what it keeps."""
        shape = self.rule.shape
        if shape is None:
            return self.run("primal", values), None
        extents = plain(shape)(*(self.values[n] for n in parameters_of(shape)))
        tape = np.full(extents, np.nan)
        return self.run("forward", {**values, TAPE: tape}), tape

    def reverse(self, active: tuple[str, ...], direction: Values) -> Iterator[tuple[str, float, float]]:
        rule, exact = self.rule, EXACT[self.width()]
        before, after, reference = self.fresh(), self.fresh(), self.fresh()
        result, tape = self.kept(after)
        for name, value in self.outcome(reference, self.run("primal", reference)).items():
            if tape is not None:
                error = distance(self.outcome(after, result)[name], value)
                yield f"`{name}` of `forward` is that of the function", error, exact
        pushed = self.pushed(direction)[3] if "tangent" in rule.derived else self.difference(direction)
        pushed = self.slopes(active, pushed)
        kind = self.width()
        weights = {n: self.rng.uniform(0.5, 1.5, np.shape(v)).astype(kind) for n, v in pushed.items()}
        started = {n: weights[n] if n in weights else self.rng.uniform(0.5, 1.5, np.shape(before[n])) for n in active}
        adjoints = {n: np.array(started[n], kind) if n in active else None for n in rule.active}
        outs = {f"{n}_out": after[n] for n in rule.changed}
        given = {**before, **outs, "result": result, TAPE: tape, "result_adj": kind.type(weights.get("result", 0.0))}
        held = {n: v.copy() for n, v in given.items() if isinstance(v, np.ndarray)}
        returned = self.run("reverse", {**given, **{f"{n}_adj": a for n, a in adjoints.items()}})
        yield from self.unchanged("`reverse`", held, given)
        names = [n for n in rule.active if f"{n}_adj" not in rule.names("reverse")]
        numbers = returned if isinstance(returned, tuple) else () if returned is None else (returned,)
        if len(numbers) != len(names):
            raise ValueError(f"it returns {len(numbers)} adjoints for {len(names)} numbers")
        pulled: Values = dict(zip(names, numbers, strict=True))
        for name, adjoint in adjoints.items():
            if adjoint is not None and name not in pulled:
                pulled[name] = adjoint if name in rule.changed else adjoint - np.asarray(started[name], kind)
        for name in rule.outputs & set(active):
            yield f"adjoint of `{name}` is used up", distance(pulled[name], np.zeros_like(pulled[name])), 0.0
        inward = sum(inner(weights[n], v) for n, v in pushed.items())
        outward = sum(inner(pulled[n], d) for n, d in direction.items() if n not in rule.outputs)
        yield (
            "`reverse` is the transpose of `tangent`",
            distance(outward, inward),
            exact if "tangent" in rule.derived else DIFFERENCES[kind][0],
        )
