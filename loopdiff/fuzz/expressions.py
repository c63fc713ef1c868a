"""Random expressions over what is in scope: subscripts inside their arrays, functions inside their domains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Literal, TypeVar

from loopdiff.fuzz.program import RandomArgument
from loopdiff.immutable import immutable, replace

T = TypeVar("T")
IndexedAxis = Literal["M", "N"]
EVERY_OTHER = -1

UNARY = (
    "math.sin({})", "math.cos({})", "math.tanh({})", "(-{})", "math.exp(0.3 * math.sin({}))", "np.arctan({})",
    "math.sqrt(0.3 + {} * {})", "math.log(1.5 + {} * {})", "np.log1p(abs({}))", "math.expm1(0.4 * math.tanh({}))",
    "abs({})", "({}) ** 2", "(0.4 + abs({})) ** 1.5", "(0.5 + abs({})) ** -1", "math.erf({})", "2.0 ** math.tanh({})",
    "math.lgamma(1.5 + abs({}))", "np.cbrt(1.2 + abs({}))", "np.cosh(math.sin({}))", "math.asinh({})",
    "math.asin(0.7 * math.tanh({}))",
    "np.floor(1.7 * {})", "np.sign({})", "float({})", "np.square({})", "({}) // 0.7", "({}) ** 3",
    "math.acosh(1.6 + abs({}))",
)  # fmt: skip
BINARY = (
    "({} + {})", "({} - {})", "({} * {})", "({} + {})", "({} - {})", "({} * {})", "max({}, {})", "min({}, {})",
    "({} / (1.3 + abs({})))", "np.maximum({}, {})", "np.minimum({}, {})", "math.hypot(1.1 + abs({}), {})",
    "math.atan2({}, 1.3 + abs({}))", "(0.6 + abs({})) ** math.tanh({})", "math.copysign({}, {})",
    "(3.1 * {}) % (1.3 + abs({}))", "max({}, {}, -0.83)", "np.clip({}, -0.9, 0.4 + abs({}))",
)  # fmt: skip
# Points at even distances.
GRID = ("0.1 * {}", "2.0 * {} / (N + 1.0) - 1.0", "-1.0 + 0.25 * {}")
CONSTANTS = ("0.37", "-0.21", "1.63", "2.09", "0.5", "1.0", "-1.5")


@immutable
class Margin:
    """An integer expression in [low, axis - high): `text + c` with -low <= c <= high is inside the axis."""

    text: str
    axis: IndexedAxis
    low: int = 0
    high: int = 0
    is_plain: bool = True


@immutable
class IndexSpan:
    """The extent of an axis without `trim` elements, or of every other one."""

    axis: IndexedAxis
    trim: int = 0


Shape = tuple[IndexSpan, ...]

HelperKind = Literal["scalar", "element", "sweep", "array"]


@immutable
class Helper:
    """A function inside the program.

    `scalar`: of two numbers; `element`: of a vector, a subscript in it and a number; `sweep`: of two vectors and a
    number; `array`: of a vector and a number, gives a new vector. All but `array` give a number.
    """

    name: str
    kind: HelperKind


@dataclass(slots=True)
class NamesInScope:
    """What a statement may mention; copied for nested blocks.

    `views` are names of parts of arrays, `pairs` names of arrays that may be swapped; `arrays` and `floats` are real,
    `complexes` and `complex_locals` are not.
    """

    arrays: dict[str, tuple[IndexedAxis, ...]]
    floats: list[str]
    views: dict[str, Shape] = field(default_factory=dict)
    pairs: list[tuple[str, str]] = field(default_factory=list)
    complexes: dict[str, tuple[IndexedAxis, ...]] = field(default_factory=dict)
    complex_locals: tuple[str, ...] = ()
    points: list[Margin] = field(default_factory=list)
    integers: list[str] = field(default_factory=list)
    counters: list[str] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    arguments: dict[str, RandomArgument] = field(default_factory=dict)
    helpers: tuple[Helper, ...] = ()
    is_loop: bool = False

    def inner(self, *, points: Sequence[Margin] = (), integers: Sequence[str] = ()) -> NamesInScope:
        return replace(
            self,
            arrays=dict(self.arrays),
            views=dict(self.views),
            floats=list(self.floats),
            points=[*self.points, *points],
            integers=[*self.integers, *integers],
        )

    def reaches(self, axis: IndexedAxis) -> bool:
        """Whether the enclosing loops run only if the axis is not empty."""
        return any(p.axis == axis for p in self.points)

    def has(self, kind: str) -> bool:
        return any(a.kind == kind for a in self.arguments.values())


class Chooser:
    """Draws expressions with one source of randomness; `is_tidy` keeps to what vector loops are made of."""

    def __init__(self, rng: Random, is_tidy: bool) -> None:
        self.rng = rng
        self.is_tidy = is_tidy

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def pick(self, choices: Sequence[T]) -> T:
        return self.rng.choice(choices)

    def weighted(self, **weights: float) -> str:
        return self.rng.choices(list(weights), list(weights.values()))[0]

    # -- subscripts ------------------------------------------------------------------------------------------
    def subscript(self, scope: NamesInScope, axis: IndexedAxis) -> str:
        """An integer expression inside `axis`, which the enclosing loops reach."""
        point = self.pick([p for p in scope.points if p.axis == axis])
        shift = self.rng.randint(-point.low, point.high) if self.chance(0.6) else 0
        inside = point.text if shift == 0 else f"{point.text} {'+' if shift > 0 else '-'} {abs(shift)}"
        extent = axis
        if self.is_tidy and self.chance(0.85):
            return inside
        match self.weighted(
            plain=12,
            mirrored=1.5,
            negative=0.7,
            indirect=1.5,
            modulo=0.8,
            halved=0.6,
            counter=1.2,
            bits=0.2,
            data=0.2,
            end=0.4,
        ):
            case "mirrored":
                return f"{extent} - 1 - ({inside})" if inside != point.text else f"{extent} - 1 - {inside}"
            case "negative":
                return f"-1 - ({inside})"
            case "indirect" if axis == "N" and scope.has("index"):
                name = self.pick([a.name for a in scope.arguments.values() if a.kind == "index"])
                return f"{name}[{inside}]"
            case "modulo":
                return f"({self.pick([2, 3, 5])} * ({inside}) + {self.rng.randint(0, 4)}) % {extent}"
            case "halved":
                return f"({inside}) // {self.pick([2, 3])}"
            case "counter" if axis == "N" and scope.counters:
                return self.pick(scope.counters)
            case "bits":
                return f"(({inside}) ^ 1) % {extent}"
            case "data":
                return f"int(1.7 * abs({self.pick(scope.floats)})) % {extent}"
            case "end":
                return self.pick(["0", "-1"])
            case _:
                return inside

    def reachable(self, scope: NamesInScope) -> list[str]:
        return [name for name, axes in scope.arrays.items() if all(scope.reaches(a) for a in axes)]

    def element(self, scope: NamesInScope) -> str | None:
        """An element of a floating array, or None if the loops around reach none."""
        known = self.reachable(scope)
        if not known:
            return None
        name = self.pick(known)
        return (
            f"{name}[{('][' if self.chance(0.1) else ', ').join(self.subscript(scope, a) for a in scope.arrays[name])}]"
        )

    # -- numbers ---------------------------------------------------------------------------------------------
    def number(self, scope: NamesInScope, depth: int = 2) -> str:
        """A floating expression."""
        if depth == 0 or self.chance(0.35):
            return self.leaf(scope)
        kind = self.weighted(unary=2, binary=4, select=0.7, call=2.0 if scope.helpers else 0)
        if kind == "call":
            return self.call(scope, self.pick(scope.helpers), depth - 1) or self.leaf(scope)
        if kind == "select":
            then, orelse = self.number(scope, depth - 1), self.number(scope, depth - 1)
            cond = self.condition(scope)
            return f"np.where({cond}, {then}, {orelse})" if self.chance(0.2) else f"({then} if {cond} else {orelse})"
        spelling = self.pick(UNARY if kind == "unary" else BINARY)
        if kind == "unary":
            inner = self.number(scope, depth - 1)
            return spelling.format(inner, inner)
        return spelling.format(self.number(scope, depth - 1), self.number(scope, depth - 1))

    def vectors(self, scope: NamesInScope) -> list[str]:
        """Arrays of N elements."""
        return [name for name, axes in scope.arrays.items() if axes == ("N",)]

    def call(self, scope: NamesInScope, helper: Helper, depth: int) -> str | None:
        """A call of `helper` that gives a number; None where there is none, or none with what is in scope."""
        vectors = self.vectors(scope)
        value = self.number(scope, depth)
        match helper.kind:
            case "scalar":
                second = self.leaf(scope)
                return f"{helper.name}({self.pick((f'{value}, {second}', value, f'c0={second}, a={value}'))})"
            case "element" if vectors and scope.reaches("N"):
                at = self.subscript(scope, "N")
                given = (f"{at}, {value}", at, f"a={value}, g={at}")
                return f"{helper.name}({self.pick(vectors)}, {self.pick(given)})"
            case "sweep" if vectors:
                return f"{helper.name}({self.pick(vectors)}, {self.pick(vectors)}, {value})"
            case _:
                return None

    def leaf(self, scope: NamesInScope) -> str:
        match self.weighted(element=8, local=3, constant=0.7, index=0.4):
            case "element":
                return self.element(scope) or self.pick(scope.floats)
            case "local":
                return self.pick(scope.floats)
            case "index" if scope.integers:
                return self.pick(("0.1 * {}", "{}", "float({})")).format(self.pick(scope.integers))
            case _:
                return self.pick(CONSTANTS)

    # -- conditions ------------------------------------------------------------------------------------------
    def condition(self, scope: NamesInScope, depth: int = 1) -> str:
        kind = self.weighted(
            number=3,
            integer=3,
            joined=1.2 if depth else 0,
            mask=0.6,
            flag=0.8,
            chained=0.6,
            negated=0.4 if depth else 0,
        )
        match kind:
            case "joined":
                return f"({self.condition(scope, 0)} {self.pick(['and', 'or'])} {self.condition(scope, 0)})"
            case "negated":
                return f"(not {self.condition(scope, 0)})"
            case "mask" if scope.has("mask") and scope.reaches("N"):
                name = self.pick([a.name for a in scope.arguments.values() if a.kind == "mask"])
                return f"{name}[{self.subscript(scope, 'N')}]"
            case "flag" if scope.flags:
                return self.pick(scope.flags)
            case "integer" if scope.integers:
                index = self.pick(scope.integers)
                others = [i for i in scope.integers if i != index]
                tests = [f"{index} % 2 == 0", f"{index} > 2", f"{index} + 1 < N", f"{index} == 1"]
                tests += [f"{index} {test} {i}" for i in others for test in ("<", "!=", ">=")]
                return self.pick(tests)
            case "chained":
                return f"-0.4 < {self.leaf(scope)} <= {self.pick(['0.7', '1.1'])}"
            case _:
                return f"{self.leaf(scope)} {self.pick(['<', '>', '>=', '<=', '=='])} {self.bound(scope)}"

    def bound(self, scope: NamesInScope) -> str:
        """What a number is compared with: a constant, or a point of a grid, which data may meet exactly."""
        steps = [form.format(i) for i in scope.integers[-1:] for form in GRID]
        return self.pick(["0.05", "0.3", "-0.6", "0.5", "-0.25", self.leaf(scope), *steps])
