"""Compose programs of statements: names bound and bound anew anywhere, loops and branches around both kinds of code."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from .draw import INT, REAL, Helper, Kind, Scope, vector
from .expected import Program
from .statements import Lines, M, N, Statements


def indented(lines: Lines) -> Lines:
    return ["    " + line for line in lines]


class Composer(Statements):
    """Draws branches, loops, functions and whole programs."""

    def nested(self, depth: int) -> list[Any]:
        return [
            (7, lambda scope: self.branch(scope, depth)),
            (3, lambda scope: self.repeat(scope, depth)),
            (4, lambda scope: self.elements(scope, depth)),
            (1, lambda scope: self.while_loop(scope, depth)),
            (1.2, lambda scope: self.iterate(scope, depth)),
        ]

    # control flow

    def join(self, scope: Scope, ways: list[Scope]) -> None:
        """Keep the names that every way leaves with the same kind."""
        first = ways[0].kinds
        scope.kinds = {n: k for n, k in first.items() if all(way.kinds.get(n) == k for way in ways[1:])}

    def branch(self, scope: Scope, depth: int) -> Lines:
        if self.chance(0.3):
            return self.bound_in_branches(scope)
        lines: Lines = []
        ways = []
        keyword = "if"
        for _ in range(self.rng.choice([1, 1, 1, 2, 2, 3])):
            way = scope.inner()
            lines += [f"{keyword} {self.condition(scope)}:"]
            lines += indented(self.block(way, self.rng.choice([1, 1, 2, 2, 3]), depth - 1))
            ways.append(way)
            keyword = "elif"
        other = scope.inner()
        if self.chance(0.5):
            lines += ["else:", *indented(self.block(other, self.rng.choice([1, 1, 2]), depth - 1))]
        self.join(scope, [*ways, other])
        return lines

    def bound_in_branches(self, scope: Scope) -> Lines:
        """The same names bound on every way."""
        kind = self.some_kind(scope)
        name = self.target(scope, kind, 0.4)
        ways = self.rng.choice([2, 2, 3])
        lines: Lines = []
        for way in range(ways):
            lines.append(
                f"if {self.condition(scope)}:"
                if way == 0
                else f"elif {self.condition(scope)}:"
                if way < ways - 1
                else "else:"
            )
            lines.append(f"    {name} = {self.bound(scope, kind)}")
            if self.chance(0.3):
                inner = scope.inner()
                inner.kinds[name] = kind
                lines += indented(self.store_element(inner) if self.chance(0.5) else self.in_place(inner))
        scope.kinds[name] = kind
        if self.chance(0.4):
            lines += self.write(scope, name)
        return lines

    def bound(self, scope: Scope, kind: Kind) -> str:
        """What a branch binds: another name for an array, a copy, a new one or an expression."""
        same = scope.of(kind)
        draw = self.rng.random()
        if same and draw < 0.3:
            return self.recent(same)
        if same and draw < 0.4:
            return f"{self.recent(same)}.copy()"
        return self.allocation(scope, kind) if draw < 0.5 else self.array(scope, kind, 1)

    def write(self, scope: Scope, name: str) -> Lines:
        """A change of the array that a name stands for now."""
        kind = scope.kinds[name]
        if self.chance(0.5) and len(kind.shape) <= 2:
            return [f"{self.element(scope, name)} {self.rng.choice(['=', '+='])} {self.real_leaf(scope)}"]
        return [f"{name} {self.rng.choice(['+=', '*='])} {self.array_leaf(scope, kind)}"]

    def loop_body(self, scope: Scope, inner: Scope, depth: int, lengths: list[int]) -> Lines:
        body = self.block(inner, self.rng.choice(lengths), depth - 1)
        if self.chance(0.15):
            place = self.rng.randrange(len(body) + 1)
            while place < len(body) and body[place].startswith((" ", "else", "elif")):
                place += 1
            leave = self.rng.choice(["break", "continue"])
            known = scope.inner()
            known.kinds.update({n: k for n, k in inner.kinds.items() if n in inner.fixed})
            body[place:place] = [f"if {self.condition(known)}:", f"    {leave}"]
            bound_surely = False
        else:
            bound_surely = self.chance(0.5)
        if self.early and self.chance(0.06):
            body += [f"if {self.condition(inner)}:", f"    return {self.early}"]
        for name, kind in inner.kinds.items():
            if bound_surely and name not in scope.kinds and kind.sort in ("array", "real") and name not in inner.fixed:
                scope.kinds[name] = kind
        scope.kinds = {n: k for n, k in scope.kinds.items() if inner.kinds.get(n) == k}
        return indented(body)

    def repeat(self, scope: Scope, depth: int) -> Lines:
        """A loop over steps, whose index subscripts nothing."""
        index = next((i for i in ("k", "step", "it", "kk") if i not in scope.kinds), "kkk")
        inner = scope.inner()
        inner.kinds[index] = INT
        inner.fixed |= {index}
        counts = [name for name in scope.sort("int") if name in scope.fixed] or ["2"]
        count = self.rng.choice(["2", "3", *counts])
        lines = [f"for {index} in range({count}):", *self.loop_body(scope, inner, depth, [1, 2, 2, 3])]
        if self.chance(0.08):
            lines += ["else:", *indented(self.block(scope.inner(), 1, 0))]
        elif self.chance(0.1):
            scope.kinds[index] = INT
            scope.fixed |= {index}
        return lines

    def elements(self, scope: Scope, depth: int) -> Lines:
        """A loop whose index subscripts arrays, with element statements and others."""
        index = next((i for i in ("i", "j", "l") if i not in scope.kinds), "ll")
        base = self.rng.choice(["n", "n", "m"])
        offset, start, low, high = self.rng.choice(
            [(0, "", 0, 0), (0, "", 0, 0), (0, "1, ", 1, 0), (-1, "", 0, 1), (-1, "1, ", 1, 1)]
        )
        inner = scope.inner()
        inner.kinds[index] = Kind("index", ((base, offset + high),), low, high)
        inner.fixed |= {index}
        header = f"for {index} in range({start}{scope.extent((base, offset))}):"
        if not start and offset == 0 and self.chance(0.15):
            header = f"for {index} in reversed(range({scope.extent((base, 0))})):"
        before: Lines = []
        if self.chance(0.4):
            kind = Kind("array", (N,) if base == "n" else (M,))
            name = self.target(scope, kind, 0.3)
            before = [f"{name} = {self.allocation(scope, kind)}"]
            scope.kinds[name] = inner.kinds[name] = kind
            body = [f"{name}[{index}] = {self.real(inner)}"]
            if self.chance(0.5):
                body += self.loop_body(scope, inner, min(depth, 1), [1])[0:0]
            lines = indented(body)
            if self.chance(0.4):
                lines += self.loop_body(scope, inner, min(depth, 2), [1, 1, 2])
            return [*before, header, *lines]
        return [*before, header, *self.loop_body(scope, inner, depth, [1, 1, 2, 2])]

    def while_loop(self, scope: Scope, depth: int) -> Lines:
        counter = next((c for c in ("count", "its", "left") if c not in scope.kinds), None)
        if counter is None:
            return self.bind_array(scope)
        inner = scope.inner()
        inner.kinds[counter] = INT
        inner.fixed |= {counter}
        body = self.loop_body(scope, inner, depth, [1, 2])
        body = [line for line in body if "continue" not in line]
        if any(
            line.rstrip().endswith(":") and (i + 1 == len(body) or depth_of(body[i + 1]) <= depth_of(line))
            for i, line in enumerate(body)
        ):
            return self.bind_array(scope)
        extra = f" and ({self.condition(scope)})" if self.chance(0.3) else ""
        return [
            f"{counter} = 0",
            f"while {counter} < {self.rng.choice(['2', '3'])}{extra}:",
            *body,
            f"    {counter} += 1",
        ]

    def iterate(self, scope: Scope, depth: int) -> Lines:
        """A loop over the elements or rows of arrays."""
        names = [n for n in scope.arrays() if len(scope.kinds[n].shape) <= 2]
        if not names:
            return self.bind_array(scope)
        name = self.recent(names)
        kind = scope.kinds[name]
        inner = scope.inner()
        item = "row" if len(kind.shape) == 2 else "xi"
        if item in scope.kinds:
            return self.bind_array(scope)
        inner.kinds[item] = Kind("array", kind.shape[1:]) if len(kind.shape) == 2 else REAL
        if len(kind.shape) == 1:
            inner.fixed |= {item}
        header = f"for {item} in {name}:"
        if len(kind.shape) == 1 and self.chance(0.3) and "i" not in scope.kinds:
            inner.kinds["i"] = Kind("index", kind.shape)
            inner.fixed |= {"i", item}
            header = f"for i, {item} in enumerate({name}):"
        elif len(kind.shape) == 1 and len(scope.of(kind)) > 1 and self.chance(0.3) and "yi" not in scope.kinds:
            inner.kinds["yi"] = REAL
            inner.fixed |= {"yi", item}
            header = f"for {item}, yi in zip({name}, {self.rng.choice(scope.of(kind))}):"
        body = self.loop_body(scope, inner, depth, [1, 2])
        scope.kinds.pop(item, None)
        return [header, *body]

    # functions

    def closure(self, scope: Scope) -> Lines:
        """A function inside the function, that reads names from around it."""
        inner = scope.inner()
        inner.kinds["va"] = vector("n")
        inner.fixed |= {"va"}
        text = self.array(inner, vector("n"), 1)
        self.helpers = [*self.helpers, Helper("inside", "", (vector("n"),), (vector("n"),))]
        if self.chance(0.4):
            return [f"inside = lambda va: {text}"]
        return ["def inside(va):", f"    return {text}"]

    def helper(self, name: str) -> Helper:
        """A function of vectors of the first extent, with numbers."""
        parameters = self.rng.choice(
            [
                (vector("n"),),
                (vector("n"), REAL),
                (vector("n"), vector("n")),
                (vector("n"), INT),
                (vector("n"), vector("n"), REAL),
            ]
        )
        returns = self.rng.choice([(vector("n"),)] * 4 + [(REAL,), (vector("n"), vector("n")), (vector("n"), REAL), ()])
        pools = {"array": iter(["va", "wa", "za"]), "real": iter(["c", "d"]), "int": iter(["k"])}
        names = [next(pools[kind.sort]) for kind in parameters]
        spelt = f"len({names[0]})" if self.chance(0.6) else f"{names[0]}.shape[0]"
        scope = Scope(dict(zip(names, parameters, strict=True)), {"n": spelt, "m": spelt}, frozenset({"k"}))
        self.budget = self.rng.choice([1, 2, 3, 4])
        body = []
        if not returns:
            target = names[0]
            body += [
                self.rng.choice(
                    [
                        f"{target} += {self.array(scope, vector('n'), 1)}",
                        f"{target}[0] = {self.real(scope, 1)}",
                        f"{target}[1:] *= {self.real_leaf(scope)}",
                    ]
                )
            ]
        elif self.chance(0.35):
            body += [f"if {self.condition(scope)}:", f"    return {self.returned(scope, returns)}"]
        body += self.block(scope, self.rng.choice([0, 1, 1, 2]), 1) if returns else []
        body = [line for line in body if line != "pass"]
        if returns:
            body.append(f"return {self.returned(scope, returns)}")
        text = "\n".join([f"def {name}({', '.join(names)}):", *indented(body)])
        return Helper(name, text, tuple(parameters), returns)

    def returned(self, scope: Scope, kinds: tuple[Kind, ...]) -> str:
        parts = [self.array(scope, kind, 1) if kind.sort == "array" else self.real(scope) for kind in kinds]
        return ", ".join(parts)

    def result(self, scope: Scope, form: str) -> str:
        arrays = scope.arrays()
        recent = arrays[-4:]
        match form:
            case "energy":
                parts = [f"{self.reduction(scope)}" if self.chance(0.7) else f"({n} * {n}).sum()" for n in recent[-2:]]
                reals = [n for n in scope.sort("real") if n not in ("a",)]
                parts += self.rng.sample(reals, min(len(reals), 1))
                return " + ".join(parts) or "0.0"
            case "array":
                name = self.recent(arrays)
                return self.rng.choice([f"{self.number()} * {name}", f"{name} * {name}", f"{name}.copy()", name])
            case _:
                one, other = self.recent(arrays), self.recent(arrays)
                return f"{one} * 1.5, {other}.sum()"

    def program(self) -> Program:
        size = {"n": self.rng.choice([3, 4, 5, 7]), "m": self.rng.choice([2, 3, 5])}
        rng = np.random.default_rng(self.rng.randrange(2**32))
        if self.chance(0.5):
            self.helpers = [self.helper(name) for name in self.rng.choice([["step"], ["step"], ["left", "right"]])]
        scope = Scope({"x": vector("n")}, {"n": "len(x)", "m": "2"})
        args: dict[str, Any] = {"x": data(rng, size["n"])}
        if self.chance(0.5):
            scope.kinds["y"] = vector("n")
            args["y"] = data(rng, size["n"])
        self.draw_matrix(scope, args, size, rng)
        if self.chance(0.4):
            scope.kinds["a"] = REAL
            args["a"] = float(data(rng, 1)[0])
        if self.chance(0.15):
            scope.kinds["idx"] = Kind("indices")
            args["idx"] = rng.integers(0, size["n"], size["n"])
        if self.chance(0.12):
            scope.kinds["flag"] = Kind("flag")
            args["flag"] = self.chance(0.5)
        if self.chance(0.75):
            scope.kinds["n"] = INT
            scope.fixed |= {"n"}
            args["n"] = self.rng.choice([1, 2, 3, 4, size["n"]])
            if args["n"] == size["n"]:
                scope.spelt["n"] = "n"
        self.budget = self.rng.choice([2, 4, 6, 8])
        form = self.rng.choices(["energy", "array", "several", "nothing"], [12, 3, 2, 1])[0]
        top = scope.inner()
        self.early = "" if form == "nothing" else self.result(top, form)
        body = self.block(scope, 1, 2)
        if self.chance(0.1):
            body += self.closure(scope)
        body += self.block(scope, self.rng.choice([1, 2, 2, 3, 4]), 2)
        if form != "nothing":
            if self.chance(0.12):
                body[0:0] = [f"if {self.condition(top)}:", f"    return {self.result(top, form)}"]
            body.append(f"return {self.result(scope, form)}")
        text = [h.text + "\n\n" for h in self.helpers if any(h.name + "(" in line for line in body)]
        text.append("\n".join([f"def f({', '.join(args)}):", *indented(body)]))
        return Program("\n".join(text) + "\n", args)

    def draw_matrix(self, scope: Scope, args: dict[str, Any], size: dict[str, int], rng: np.random.Generator) -> None:
        if not self.chance(0.4):
            return
        extents = (N, N) if self.square else (M, N)
        scope.kinds["A"] = Kind("array", extents)
        args["A"] = data(rng, *(size[base] for base, _ in extents))
        scope.spelt["m"] = "A.shape[0]"
        if self.square:
            scope.spelt["m"] = "2"
        if self.chance(0.25):
            scope.kinds["T"] = Kind("array", (("m", 0), *extents))
            if self.square:
                scope.spelt["m"] = "T.shape[0]"
            args["T"] = data(rng, size["m"], *(size[base] for base, _ in extents))


def data(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Numbers with few digits, as people choose them, that are not equal by chance."""
    return (rng.uniform(-1.6, 1.6, shape).round(2) + 0.007).round(3)


def depth_of(line: str) -> int:
    return len(line) - len(line.lstrip())


def composed(seed: int) -> Program:
    return Composer(random.Random(seed)).program()
