"""Draw expressions, the way people write them, from what is in scope."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

Extent = tuple[str, int]  # a named size, and how much is added to it
Shape = tuple[Extent, ...]
COUNTED = {"two": "2", "three": "3"}  # extents that are written out; "2n" is twice "n"


@dataclass(frozen=True)
class Kind:
    """What a name stands for: an array of a shape, a real number, or an integer that subscripts an extent."""

    sort: str  # array, real, int, index
    shape: Shape = ()
    low: int = 0  # of an index: how far below it other subscripts may go
    high: int = 0  # and how far above


REAL = Kind("real")
INT = Kind("int")


def vector(size: str, offset: int = 0) -> Kind:
    return Kind("array", ((size, offset),))


@dataclass
class Scope:
    """The names in scope and how sizes are spelt there."""

    kinds: dict[str, Kind] = field(default_factory=dict)
    spelt: dict[str, str] = field(default_factory=dict)
    fixed: frozenset[str] = frozenset()  # names that are not bound anew: loop indices, sizes

    def inner(self) -> Scope:
        return Scope(dict(self.kinds), dict(self.spelt), self.fixed)

    def arrays(self, rank: int | None = None) -> list[str]:
        return [name for name, kind in self.kinds.items() if kind.sort == "array" and rank in (None, len(kind.shape))]

    def of(self, kind: Kind) -> list[str]:
        return [name for name, other in self.kinds.items() if other == kind]

    def sort(self, sort: str) -> list[str]:
        return [name for name, kind in self.kinds.items() if kind.sort == sort]

    def extent(self, extent: Extent) -> str:
        base, offset = extent
        twice = base.startswith("2")
        text = COUNTED.get(base) or (f"2 * {self.spelt[base[1:]]}" if twice else self.spelt[base])
        return text if offset == 0 else f"{text} - {-offset}" if offset < 0 else f"{text} + {offset}"


@dataclass(frozen=True)
class Helper:
    """A function to call: its text, parameters and what it returns (no kinds: it changes its first argument)."""

    name: str
    text: str
    parameters: tuple[Kind, ...]
    returns: tuple[Kind, ...]


class Expressions:
    """Draws expressions; recent names are more likely, as in what people write."""

    def __init__(self, rng: random.Random, helpers: list[Helper]) -> None:
        self.rng = rng
        self.helpers = helpers

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def recent(self, names: list[str]) -> str:
        return names[max(self.rng.randrange(len(names)), self.rng.randrange(len(names)))]

    def number(self) -> str:
        return self.rng.choice(["0.5", "2.0", "0.1", "1.5", "0.25", "3.0", "-0.7", "1.0", "2"])

    # numbers

    def real(self, scope: Scope, depth: int = 2) -> str:
        if depth <= 0 or self.chance(0.3):
            return self.real_leaf(scope)
        a, b = (lambda: self.real(scope, depth - 1)), self.real_leaf
        forms: list[Any] = [
            (4, lambda: f"{a()} * {b(scope)}"),
            (3, lambda: f"{a()} + {b(scope)}"),
            (2, lambda: f"{a()} - {b(scope)}"),
            (1, lambda: f"({a()}) / (1.0 + {self.squared(scope)})"),
            (1, lambda: f"{self.function()}({a()})"),
            (1, lambda: f"max({a()}, {b(scope)})"),
            (1, lambda: f"min({b(scope)}, {a()})"),
            (1, lambda: f"({a()} if {self.condition(scope)} else {b(scope)})"),
            (1, lambda: f"abs({a()})"),
            (2, lambda: self.reduction(scope)),
        ]
        helpers = [h for h in self.helpers if h.returns == (REAL,)]
        if helpers:
            forms.append((2, lambda: self.call(scope, self.rng.choice(helpers)) or b(scope)))
        return self.weighted(forms)

    def squared(self, scope: Scope) -> str:
        leaf = self.real_leaf(scope)
        return f"{leaf} ** 2" if self.chance(0.4) else f"{leaf} * {leaf}"

    def function(self) -> str:
        return self.rng.choice(["np.sin", "np.cos", "np.tanh", "math.sin", "np.arctan", "math.tanh"])

    def weighted(self, forms: list[Any]) -> str:
        weights, makers = zip(*forms, strict=True)
        return self.rng.choices(makers, weights)[0]()

    def real_leaf(self, scope: Scope) -> str:
        names = scope.sort("real")
        vectors = [v for v in scope.arrays() if len(scope.kinds[v].shape) <= 2]
        if vectors and self.chance(0.5):
            return self.element(scope, self.recent(vectors))
        if names and self.chance(0.7):
            return self.recent(names)
        integers = [*scope.sort("int"), *scope.sort("index")]
        if integers and self.chance(0.4):
            return self.recent(integers)
        return self.number()

    def element(self, scope: Scope, name: str) -> str:
        kind = scope.kinds[name]
        return f"{name}[{', '.join(self.subscript(scope, extent) for extent in kind.shape)}]"

    def subscript(self, scope: Scope, extent: Extent) -> str:
        """A subscript that stays inside an extent."""
        base, offset = extent
        fits = []
        for name, kind in scope.kinds.items():
            if kind.sort == "index" and kind.shape[0][0] == base:
                top = kind.shape[0][1] - offset  # how far the extent of the index is above this one
                fits += [f"{name} - {down}" if down else name for down in range(kind.low + 1) if top - down <= 0]
                fits += [
                    f"{name} + {up}" for up in range(1, kind.high + 1) if top + up - kind.high <= 0 and up <= kind.high
                ]
        if fits and self.chance(0.85):
            return self.rng.choice(fits)
        return self.rng.choice(["0", "-1", "1", "0", "-2"])

    def reduction(self, scope: Scope) -> str:
        names = scope.arrays()
        if not names:
            return self.number()
        name = self.recent(names)
        kind = scope.kinds[name]
        same = scope.of(kind)
        forms: list[Any] = [
            (4, lambda: f"{name}.sum()"),
            (2, lambda: f"{name}.mean()"),
            (1, lambda: f"{name}.max()"),
            (1, lambda: f"np.sum({name} * {self.rng.choice(same)})"),
            (1, lambda: f"({name} * {self.rng.choice(same)}).sum()"),
        ]
        if len(kind.shape) == 1:
            forms.append((2, lambda: f"{name} @ {self.rng.choice(same)}"))
            forms.append((1, lambda: f"np.dot({name}, {self.rng.choice(same)})"))
        if len(kind.shape) == 2 and kind.shape[0] == kind.shape[1]:
            forms.append((1, lambda: f"np.trace({name})"))
        return self.weighted(forms)

    # conditions

    def condition(self, scope: Scope) -> str:
        forms: list[Any] = [(3, lambda: self.data_condition(scope))]
        integers = [*scope.sort("int"), *scope.sort("index")]
        if integers:
            forms.append((4, lambda: self.integer_condition(self.recent(integers))))
        if scope.sort("flag"):
            forms.append((2, lambda: self.rng.choice(["flag", "not flag"])))
        text = self.weighted(forms)
        if self.chance(0.12):
            return f"{text} {self.rng.choice(['and', 'or'])} {self.weighted(forms)}"
        return f"not {text}" if self.chance(0.04) else text

    def integer_condition(self, name: str) -> str:
        return self.rng.choice(
            [
                f"{name} > 1",
                f"{name} % 2 == 0",
                f"{name} == 2",
                f"{name} < 3",
                f"{name} >= 1",
                f"{name} != 0",
                f"{name} == 1",
            ]
        )

    def data_condition(self, scope: Scope) -> str:
        bound = self.rng.choice(["0.0", "0.31", "1.03", "-0.21", "0.57"])
        relation = self.rng.choice(["<", ">", "<=", ">="])
        names = scope.arrays()
        if names and self.chance(0.15):
            return f"({self.recent(names)} {relation} {bound}).{self.rng.choice(['any', 'all'])}()"
        if self.chance(0.25):
            return f"{self.reduction(scope)} {relation} {bound}"
        return f"{self.real_leaf(scope)} {relation} {bound}"

    # arrays

    def array(self, scope: Scope, kind: Kind, depth: int = 2) -> str:
        """An expression of an array of this shape."""
        if depth <= 0:
            return self.array_leaf(scope, kind)
        a, b = (lambda: self.array(scope, kind, depth - 1)), (lambda: self.array_leaf(scope, kind))
        forms: list[Any] = [
            (3, b),
            (4, lambda: f"{self.real_leaf(scope)} * {b()}"),
            (3, lambda: f"{a()} + {b()}"),
            (3, lambda: f"{a()} * {b()}"),
            (2, lambda: f"{a()} - {b()}"),
            (1, lambda: f"({a()}) * {self.real_leaf(scope)}"),
            (1, lambda: f"{b()} / (1.5 + {self.over(b())})"),
            (2, lambda: f"{self.array_function()}({a()})"),
            (1, lambda: f"np.maximum({a()}, {self.rng.choice([b, lambda: '0.0'])()})"),
            (1, lambda: f"np.where({b()} > {self.number()}, {a()}, {b()})"),
            (1, lambda: f"-{b()}"),
            (1, lambda: f"{b()} ** 2"),
            (1, lambda: f"{b()} + {self.real_leaf(scope)}"),
            (1, lambda: f"({a()} if {self.condition(scope)} else {b()})"),
        ]
        forms += self.special_forms(scope, kind, depth)
        return self.weighted(forms)

    def over(self, text: str) -> str:
        return f"{text} ** 2" if self.chance(0.5) else f"{text} * {text}"

    def array_function(self) -> str:
        return self.rng.choice(["np.sin", "np.tanh", "np.cos", "np.abs", "np.arctan", "np.exp"])

    def special_forms(self, scope: Scope, kind: Kind, depth: int) -> list[Any]:
        forms: list[Any] = []
        helpers = [h for h in self.helpers if h.returns == (kind,)]
        if helpers:
            forms.append((4, lambda: self.call(scope, self.rng.choice(helpers)) or self.array_leaf(scope, kind)))
        if len(kind.shape) == 1:
            for name in scope.arrays(2):
                rows, columns = scope.kinds[name].shape
                if rows == kind.shape[0]:
                    forms.append(
                        (1, lambda name=name, c=columns: f"{name} @ {self.factor(scope, Kind('array', (c,)))}")
                    )
                    forms.append((0.5, lambda name=name: f"{name}.sum(axis=1)"))
                if columns == kind.shape[0]:
                    forms.append((0.7, lambda name=name: f"{name}.mean(axis=0)"))
                    forms.append(
                        (0.7, lambda name=name, r=rows: f"{name}.T @ {self.factor(scope, Kind('array', (r,)))}")
                    )
        if len(kind.shape) == 2:
            rows, columns = (Kind("array", (extent,)) for extent in kind.shape)
            if scope.of(rows) and scope.of(columns):
                forms.append((1, lambda: f"np.outer({self.factor(scope, rows)}, {self.factor(scope, columns)})"))
                forms.append(
                    (0.5, lambda: f"{self.recent(scope.of(rows))}[:, None] * {self.recent(scope.of(columns))}[None, :]")
                )
                forms.append((0.7, lambda: f"{self.array_leaf(scope, kind)} + {self.recent(scope.of(columns))}"))
            axis = self.rng.choice([0, 1])
            for name in scope.of(kind)[-1:]:
                mean = f"{name}.{self.rng.choice(['mean', 'max'])}(axis={axis}, keepdims=True)"
                forms.append((0.7, lambda name=name, mean=mean: f"{name} - {mean}"))
            square = kind.shape[0] == kind.shape[1]
            if square and scope.of(kind):
                forms.append((2, lambda: f"{self.recent(scope.of(kind))} @ {self.factor(scope, kind)}"))
                forms.append((1, lambda: f"{self.recent(scope.of(kind))}.T"))
        return forms

    def factor(self, scope: Scope, kind: Kind) -> str:
        """An operand of a product: a name, or an expression in parentheses."""
        names = scope.of(kind)
        if names and self.chance(0.8):
            return self.recent(names)
        return f"({self.array(scope, kind, 1)})"

    def array_leaf(self, scope: Scope, kind: Kind) -> str:
        names = scope.of(kind)
        if names and self.chance(0.75):
            return self.recent(names)
        parts = self.parts(scope, kind)
        if parts and self.chance(0.8):
            return self.rng.choice(parts)
        if names:
            return self.recent(names)
        return self.allocation(scope, kind)

    def parts(self, scope: Scope, kind: Kind) -> list[str]:
        """Slices, rows, columns and permutations of arrays in scope that have this shape."""
        match kind.shape:
            case (extent,):
                return self.parts_of_rank_one(scope, kind, extent)
            case (_, _):
                found = [f"{n}.T" for n in scope.arrays(2) if scope.kinds[n].shape == kind.shape[::-1]]
                for name in scope.arrays(3):
                    if scope.kinds[name].shape[1:] == kind.shape:
                        found.append(f"{name}.sum(axis=0)")
                        found.append(f"{name}[{self.subscript(scope, scope.kinds[name].shape[0])}]")
                return found
            case _:
                return []

    def parts_of_rank_one(self, scope: Scope, kind: Kind, extent: Extent) -> list[str]:
        base, offset = extent
        found = []
        for name in scope.arrays(1):
            other, extra = scope.kinds[name].shape[0]
            if other == base:
                found += slices(name, extra - offset)
        for name in scope.arrays(2):
            rows, columns = scope.kinds[name].shape
            if columns == extent:
                found.append(f"{name}[{self.subscript(scope, rows)}]")
            if rows == extent:
                found.append(f"{name}[:, {self.subscript(scope, columns)}]")
        if scope.sort("indices") and extent == ("n", 0):
            found += [f"{name}[{self.recent(scope.sort('indices'))}]" for name in scope.of(kind)[:1]]
        return found + [f"{name}[0, -1]" for name in scope.arrays(3) if scope.kinds[name].shape[2] == extent]

    def allocation(self, scope: Scope, kind: Kind) -> str:
        same = scope.of(kind)
        if same and self.chance(0.4):
            return f"np.{self.rng.choice(['zeros_like', 'ones_like'])}({self.recent(same)})"
        extents = [scope.extent(extent) for extent in kind.shape]
        shape = extents[0] if len(extents) == 1 else f"({', '.join(extents)})"
        if self.chance(0.25):
            return f"np.full({shape}, {self.rng.choice(['0.5', '2.0', '-0.3'])})"
        return f"np.{self.rng.choice(['zeros', 'zeros', 'ones'])}({shape})"

    def call(self, scope: Scope, helper: Helper) -> str | None:
        """A call of a helper with operands in scope, if there are any."""
        arguments = []
        for kind in helper.parameters:
            if kind == REAL:
                arguments.append(self.real_leaf(scope))
            elif kind == INT:
                integers = scope.sort("int") + scope.sort("index")
                arguments.append(self.recent(integers) if integers else "2")
            elif not scope.of(kind):
                return None
            elif self.chance(0.8) or not helper.returns:
                arguments.append(self.recent(scope.of(kind)))
            else:
                arguments.append(self.array(scope, kind, 1))
        return f"{helper.name}({', '.join(arguments)})"


def slices(name: str, excess: int) -> list[str]:
    """Slices of a vector that has some elements more than wanted."""
    match excess:
        case 0:
            return [f"{name}[::-1]"]
        case 1:
            return [f"{name}[1:]", f"{name}[:-1]"]
        case 2:
            return [f"{name}[1:-1]", f"{name}[2:]", f"{name}[:-2]"]
        case _:
            return []
