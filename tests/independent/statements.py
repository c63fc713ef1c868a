"""Draw statements that follow one another: names bound and bound anew, changes in place, swaps, calls of helpers."""

from __future__ import annotations

import random
from typing import Any

from .calls import Calls
from .counted import chosen
from .draw import REAL, Kind, Scope, vector

NAMES = {
    1: ["u", "v", "w", "z", "p", "q", "r", "b", "g", "h"],
    2: ["B", "C", "D", "P", "Q", "W"],
    3: ["T", "U"],
    0: ["s", "t", "c", "e", "acc", "total"],
}
N, M = ("n", 0), ("m", 0)
Lines = list[str]


class Statements(Calls):
    """Draws statements; every method returns lines and keeps the scope up to date."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__(rng, [])
        self.budget = 0
        self.square = rng.random() < 0.6  # whether matrices are square
        self.fresh = 0
        self.calls = rng.choice([0.0, 0.15, 0.3, 0.45])
        self.early = ""  # what a return from inside gives, where there may be one

    # names

    def target(self, scope: Scope, kind: Kind, rebind: float = 0.55) -> str:
        """A name to bind: often one that has a value already."""
        old = [name for name in scope.of(kind) if name not in scope.fixed]
        if old and self.chance(rebind):
            return self.recent(old)
        pool = [n for n in NAMES[len(kind.shape) if kind.sort == "array" else 0] if n not in scope.kinds]
        if pool:
            return self.rng.choice(pool)
        self.fresh += 1
        return f"v{self.fresh}"

    def some_kind(self, scope: Scope) -> Kind:
        """The kind of an array, mostly of one in scope."""
        names = scope.arrays()
        if names and self.chance(0.85):
            return scope.kinds[self.recent(names)]
        if names and self.chance(0.4):
            base, offset = scope.kinds[self.rng.choice(names)].shape[0]
            if base == "n" and offset == 0:
                return vector("n", -self.rng.choice([1, 2]))
        return vector("n")

    # statements

    def block(self, scope: Scope, length: int, depth: int) -> Lines:
        lines: Lines = []
        for _ in range(length):
            lines += self.statement(scope, depth)
        return lines or ["pass"]

    def statement(self, scope: Scope, depth: int) -> Lines:
        self.budget -= 1
        forms: list[Any] = [
            (8, self.bind_array),
            (4, self.bind_real),
            (3, self.add_to_real),
            (4, self.in_place),
            (2, self.alias),
            (2, self.store_element),
            (1.5, self.swap),
            (1, self.select),
            (0.6, self.mask),
            (0.6, self.several),
            (0.5, self.counted),
            (0.4, self.gather_add),
        ]
        if self.calls:
            forms.append((2.5, self.bind_shaped))
        if any(not h.returns for h in self.helpers):
            forms.append((1.5, self.call_in_place))
        if any(len(h.returns) > 1 for h in self.helpers):
            forms.append((2, self.call_several))
        if depth > 0 and self.budget > 0:
            forms += self.nested(depth)
        weights, makers = zip(*forms, strict=True)
        return self.rng.choices(makers, weights)[0](scope)

    def bind_array(self, scope: Scope) -> Lines:
        kind = self.some_kind(scope)
        text = self.array(scope, kind, self.rng.choice([1, 1, 2]))
        name = self.target(scope, kind)
        scope.kinds[name] = kind
        return [f"{name} = {text}"]

    def bind_shaped(self, scope: Scope) -> Lines:
        """An array of another shape, under a new name or one that had another shape."""
        made = self.shaped(scope)
        if made is None:
            return self.bind_array(scope)
        text, kind = made
        others = [name for name in scope.arrays() if name not in scope.fixed]
        name = self.recent(others) if others and self.chance(0.12) else self.target(scope, kind)
        scope.kinds[name] = kind
        return [f"{name} = {text}"]

    def bind_real(self, scope: Scope) -> Lines:
        text = self.real(scope) if self.chance(0.85) else self.rng.choice(["0.0", "1.0"])
        if text.lstrip("-").isdigit() or text in [*scope.sort("int"), *scope.sort("index")]:
            text = f"1.0 * {text}"
        name = self.target(scope, REAL, 0.4)
        scope.kinds[name] = REAL
        return [f"{name} = {text}"]

    def add_to_real(self, scope: Scope) -> Lines:
        names = [name for name in scope.sort("real") if name not in scope.fixed]
        if not names:
            return self.bind_real(scope)
        name = self.recent(names)
        return [f"{name} {self.rng.choice(['+=', '+=', '-=', '*='])} {self.real(scope)}"]

    def in_place(self, scope: Scope) -> Lines:
        names = scope.arrays()
        if not names:
            return self.bind_array(scope)
        name = self.recent(names)
        kind = scope.kinds[name]
        operator = self.rng.choice(["+=", "+=", "-=", "*="])
        if len(kind.shape) == 1 and self.chance(0.35):
            part, offset = self.rng.choice([("[1:-1]", -2), ("[1:]", -1), ("[:-1]", -1), ("[:]", 0)])
            base, extra = kind.shape[0]
            text = self.array(scope, vector(base, extra + offset), 1) if self.chance(0.8) else self.real_leaf(scope)
            return [f"{name}{part} {self.rng.choice(['=', '=', operator])} {text}"]
        if len(kind.shape) == 2 and self.chance(0.35):
            rows, columns = kind.shape
            if self.chance(0.5):
                row = self.array(scope, Kind("array", (columns,)), 1)
                return [f"{name}[{self.subscript(scope, rows)}] {operator} {row}"]
            return [f"{name}[:, {self.subscript(scope, columns)}] = {self.array(scope, Kind('array', (rows,)), 1)}"]
        return [f"{name} {operator} {self.array(scope, kind, 1) if self.chance(0.8) else self.real_leaf(scope)}"]

    def alias(self, scope: Scope) -> Lines:
        names = scope.arrays()
        if not names:
            return self.bind_array(scope)
        other = self.recent(names)
        kind = scope.kinds[other]
        choices = [(other, kind), (other, kind), (f"{other}.copy()", kind)]
        if len(kind.shape) == 2:
            choices += [
                (f"{other}.T", Kind("array", kind.shape[::-1])),
                (f"{other}[{self.subscript(scope, kind.shape[0])}]", Kind("array", kind.shape[1:])),
                (f"{other}[:, 0]", Kind("array", kind.shape[:1])),
            ]
        if len(kind.shape) == 1 and kind.shape[0][1] == 0:
            base = kind.shape[0][0]
            choices += [
                (f"{other}[1:]", vector(base, -1)),
                (f"{other}[1:-1]", vector(base, -2)),
                (f"{other}[::-1]", kind),
            ]
        if self.calls and self.chance(0.4):
            choices = self.views(other, kind)
        text, kind = self.rng.choice(choices)
        name = self.target(scope, kind, 0.3)
        scope.kinds[name] = kind
        return [f"{name} = {text}"]

    def store_element(self, scope: Scope) -> Lines:
        names = [name for name in scope.arrays() if len(scope.kinds[name].shape) <= 2]
        if not names:
            return self.bind_array(scope)
        name = self.recent(names)
        place = self.element(scope, name)
        if self.chance(0.12):
            other = self.element(scope, name)
            return [f"{place}, {other} = {other}, {place}"]
        return [f"{place} {self.rng.choice(['=', '=', '+=', '*='])} {self.real(scope, 1)}"]

    def swap(self, scope: Scope) -> Lines:
        names = scope.arrays()
        if not names:
            return self.bind_array(scope)
        one = self.recent(names)
        kind = scope.kinds[one]
        other = self.rng.choice(scope.of(kind))
        third = self.rng.choice(scope.of(kind))
        if len({one, other, third}) == 3 and self.chance(0.5):
            return [f"{one}, {other}, {third} = {other}, {third}, {one}"]
        if one == other or self.chance(0.4):
            name, text = self.target(scope, kind, 0.5), self.array(scope, kind, 1)
            if name == one:
                return self.bind_array(scope)
            scope.kinds[name] = kind
            return [f"{one}, {name} = {other}, {text}"]
        return [f"{one}, {other} = {other}, {one}"]

    def select(self, scope: Scope) -> Lines:
        kind = self.some_kind(scope)
        text = f"{self.array(scope, kind, 1)} if {self.condition(scope)} else {self.array(scope, kind, 1)}"
        name = self.target(scope, kind)
        scope.kinds[name] = kind
        return [f"{name} = {text}"]

    def several(self, scope: Scope) -> Lines:
        kind = self.some_kind(scope)
        one, other = self.array(scope, kind, 1), self.array(scope, kind, 1)
        names = [self.target(scope, kind), self.target(scope, kind)]
        if names[0] == names[1]:
            return [f"{names[0]} = {one}"] if not scope.kinds.update({names[0]: kind}) else []
        scope.kinds.update(dict.fromkeys(names, kind))
        return [f"{names[0]}, {names[1]} = {one}, {other}"]

    def mask(self, scope: Scope) -> Lines:
        names = scope.arrays(1)
        if not names:
            return self.bind_array(scope)
        name = self.recent(names)
        other = self.recent(scope.of(scope.kinds[name]))
        condition = f"{other} > {self.rng.choice(['0.05', '-0.4', '0.6'])}"
        match self.rng.randrange(3):
            case 0:
                return [f"mask = {condition}", f"{name}[mask] = {self.rng.choice([f'2.0 * {other}[mask]', '0.3'])}"]
            case 1:
                return [f"{name}[{condition}] *= {self.real_leaf(scope)}"]
            case _:
                total = self.target(scope, REAL, 0.3)
                scope.kinds[total] = REAL
                return [f"mask = {condition}", f"{total} = ({name}[mask] * {other}[mask]).sum()"]

    def counted(self, scope: Scope) -> Lines:
        names = [name for name in scope.of(vector("n")) if name not in scope.fixed]
        if not names:
            return self.bind_array(scope)
        self.fresh += 1
        total = self.target(scope, REAL, 0.3)
        scope.kinds[total] = REAL
        return [f"{total} = 0.0", *chosen(self.rng, names, f"c{self.fresh}", total)]

    def gather_add(self, scope: Scope) -> Lines:
        names, indices = scope.of(vector("n")), scope.sort("indices")
        if not names:
            return self.bind_array(scope)
        if not indices:
            return self.indices(scope)
        name, idx, other = self.recent(names), self.recent(indices), self.array(scope, vector("n"), 1)
        return [
            self.rng.choice(
                [f"np.add.at({name}, {idx}, {other})", f"{name}[{idx}] = {other}", f"{name}[{idx}] += {other}"]
            )
        ]

    def indices(self, scope: Scope) -> Lines:
        """An array of subscripts."""
        extent = scope.extent(N)
        scope.kinds["pos"] = Kind("indices")
        step = self.rng.choice(["2 * i + 1", "i + 1", "i * i"])
        made = f"pos = np.zeros({extent}, dtype=np.int64)"
        return [made, f"for i in range({extent}):", f"    pos[i] = ({step}) % {extent}"]

    def call_in_place(self, scope: Scope) -> Lines:
        text = self.call(scope, self.rng.choice([h for h in self.helpers if not h.returns]))
        return [text] if text else self.bind_array(scope)

    def call_several(self, scope: Scope) -> Lines:
        helper = self.rng.choice([h for h in self.helpers if len(h.returns) > 1])
        text = self.call(scope, helper)
        if not text:
            return self.bind_array(scope)
        names: Lines = []
        for kind in helper.returns:
            name = self.target(scope, kind, 0.4)
            while name in names:
                name = self.target(scope, kind, 0.0) + "2"
            names.append(name)
        scope.kinds.update(zip(names, helper.returns, strict=True))
        return [f"{', '.join(names)} = {text}"]

    def nested(self, depth: int) -> list[Any]:
        """Statements that hold others, with how likely they are."""
        raise NotImplementedError
