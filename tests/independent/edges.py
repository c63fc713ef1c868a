"""Draw short programs at the edges: subscripts near the ends, arrays without elements, loops that do not run.

Each comes with several sets of arguments, so that for some of them Python raises and for others it does not.
"""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np

from .expected import Program
from .oracle import Args

CASES = 6
# Names: vectors {v}, {w} of `x`, `y` and `z`, the matrix `A`, indices `idx`, integers {i}, {j}, a number {r}.
STATEMENTS = (
    "{v}[{i}:] = {w}[{j}]",
    "{v}[{i}:{j}] = {r}",
    "{v}[{i}:] += {w}[:{j}]",
    "{v}[{i}] = {r}",
    "{v}[{i}] += {w}[{j}] * {r}",
    "{v}[::{s}] = {w}[::{s}] * {r}",
    "{v}[{i}], {w}[{j}] = {w}[{j}], {v}[{i}]",
    "z = {v} + {w}",
    "z = {v}[{i}:] * {w}[{j}]",
    "z = {v}[{i}:{j}] - {w}",
    "z = {v} * {r} + {w}[{i}]",
    "z = np.where({v} > 0.5, {w}[{i}], {r})",
    "z = np.zeros({i})",
    "z = np.zeros(({i}, {j})).sum(axis=0)",
    "z = np.full({i}, {r})",
    "z = {v}[::-1][{i}:]",
    "z = {v}.copy()",
    "z = A[{i}]",
    "z = A[:, {i}]",
    "z = A[{i}, {j}:]",
    "z = A @ {v}",
    "z = A.T @ {v}",
    "z = A.max(axis={a})",
    "z = A.sum(axis={a})",
    "z = {v}[idx]",
    "z = A[idx, {i}]",
    "z = A[idx].sum(axis={a})",
    "z = A.reshape({i}, -1)[{j}]",
    "z = A.reshape({i}, {j}).sum(axis=0)",
    "z = np.outer({v}, {w})[{i}]",
    "z = A[{i}] if {c} else {v}",
    "A[{i}] = {v}",
    "A[:, {i}] = {r}",
    "A[{i}] += {v}[{j}]",
    "A[idx] = {r}",
    "A += {v}",
    "A[:] = {v}[:, None]",
    "{v}[idx] = {w}",
    "{v}[idx] += {w}[{i}]",
    "np.add.at({v}, idx, {r})",
    "{v}[{v} > 0.3] = {w}[{i}]",
    "{v}[{v} > 9.0] *= {w}[{i}]",
    "{v}[{v} > 0.5] = {w}",
    "t = {v}[{i}]",
    "t = {v}[{i}] if {c} else {r}",
    "t += np.where({c}, {v}[{i}], {w}[{j}])",
    "t = t if {c} else {v}[{i}:].sum() * {w}[{j}]",
    "t += {v}.max()",
    "t += {v}[{i}:].min()",
    "t += {v}[{i}:{j}].sum()",
    "t += {v}[{v}.argmax()]",
    "t += {v}[{v} > 0.4].max()",
    "t += {v} @ {w}",
    "t += np.dot({v}[{i}:], {w}[{j}:])",
    "t += (A[{i}] * {r}).sum()",
    "t += np.einsum('ij,j->', A, {v})",
    "t += np.trace(A[:{i}, :{j}])",
    "t += {v}[idx[{i}]]",
    "t += {v}[{i} // {j}]",
    "m = {i} // {j}",
    "m = {i} % {j}",
    "t += {i} % {j}",
    "{v}[{i}:] = {i} // {j}",
    "m = len(A[{i}])",
    "m = idx[{i}]",
    "m = k",
    "u = t",
    "w1 = {v}[{i}:]",
    "t += {v}[{i}:][{j}]",
    "{v}[{i}:][{j}] = {r}",
    "A[{i}][{j}] = {r}",
    "t += A[{i}][{j}:].sum()",
    "t += last({v})",
    "scale({v}, {i})",
    "z = rest({v}, {i})",
    "assert {c}",
    "{v} = {w}[{i}:]",
    "{v}[{i}:][::-1] = {w}",
)
HEADS = (
    "for {p} in range({i}):",
    "for {p} in range({i}, {j}):",
    "for {p} in range({i}, {j}, -1):",
    "for {p} in range(len({v})):",
    "for {p} in range(len({v}) - 1, -1, -1):",
    "for {p} in range(0, {i}, {j}):",
    "for {p} in reversed(range({i})):",
    "for {p}, t in enumerate({v}):",
    "for t in {v}[{i}:]:",
    "for t in A[{i}]:",
    "for z in A:",
    "for t, u in zip({v}, {w}):",
    "if {c}:",
    "if {c}:",
)
CONDITIONS = ("n > 1", "k < n", "x[{i}] > 0.5", "len({v}) > {i}", "t > 0.5", "k >= 0 and {v}[k] > 0.2", "A.size > 0")
INTEGERS = ("0", "1", "-1", "2", "-2", "3", "k", "n", "k + 1", "n - 1", "k - n", "m", "len({v})", "len({v}) - 1")
NUMBERS = ("0.5", "t", "s", "{v}[0]", "{v}[-1]", "{v}[{i}]", "u", "2.0 * t")
RESULTS = ("t", "t + x.sum()", "z.sum() + t", "t + m", "u + t", "z[{i}] + t", "x[{i}]", "z", "t + A[{i}, {j}]", "1.0")
HELPERS = """
def last(p):
    return p[len(p) - 1]


def scale(p, e):
    p[e:] *= p[e]


def rest(p, e):
    for q in range(e, len(p)):
        out = p[q:]
    return out
"""


def edge(seed: int) -> Program:
    """The program number `seed`, with its arguments."""
    return Drawing(random.Random(seed)).program(f"edge {seed}")


def spoilt(rng: random.Random, program: Program) -> Program:
    """The program with arguments that it was not written for: arrays of other lengths, and other integers."""
    return replace(program, others=(*program.others, *(spoilt_arguments(rng, program.args) for _ in range(3))))


def spoilt_arguments(rng: random.Random, args: Args) -> Args:
    """`args` with one or two of them as they should not be."""
    found = dict(args)
    names = [n for n, v in args.items() if isinstance(v, (np.ndarray, int)) and not isinstance(v, bool)]
    for name in rng.sample(names, min(len(names), rng.choice([1, 1, 2]))):
        value = args[name]
        if isinstance(value, np.ndarray):
            axis = rng.randrange(value.ndim)
            extent = rng.choice([0, 1, max(value.shape[axis] - 1, 0), max(value.shape[axis] - 2, 0)])
            found[name] = value.take(range(extent), axis=axis) if rng.random() < 0.8 else value.repeat(2, axis=axis)
        else:
            found[name] = rng.choice([0, -1, value + 1, value - 1, 7])
    return found


class Drawing:
    def __init__(self, rng: random.Random) -> None:
        self.rng, self.loops = rng, 0
        self.indices: list[str] = []

    def filled(self, text: str) -> str:
        """`text` with something for each of its places."""
        while "{" in text:
            place = text.index("{")
            text = text[:place] + self.chosen(text[place + 1]) + text[place + 3 :]
        return text

    def chosen(self, kind: str) -> str:
        rng = self.rng
        match kind:
            case "v" | "w":
                return rng.choice("xxyyz")
            case "i" | "j":
                return rng.choice([*INTEGERS, *self.indices * 4])
            case "s":
                return rng.choice(["2", "-1", "-2", "3"])
            case "a":
                return rng.choice("01")
            case "r":
                return rng.choice(NUMBERS)
            case "c":
                return rng.choice(CONDITIONS)
            case _:
                self.loops += 1
                return f"i{self.loops}"

    def block(self, count: int, depth: int) -> list[str]:
        return [line for _ in range(count) for line in self.statement(depth)]

    def statement(self, depth: int) -> list[str]:
        if depth == 0 or self.rng.random() < 0.65:
            return [self.filled(self.rng.choice(STATEMENTS))]
        before = list(self.indices)
        head = self.filled(self.rng.choice(HEADS))
        if "i" in (name := head.split()[1].rstrip(",")) and name[1:].isdigit():
            self.indices.append(name)
        body = self.block(self.rng.choice([1, 1, 2]), depth - 1)
        if head.startswith("for") and self.rng.random() < 0.1:
            body.append(self.filled("if {c}: break"))
        if self.rng.random() < 0.7:
            self.indices = before
        return [head, *("    " + line for line in body)]

    def program(self, name: str) -> Program:
        body = ["t = 0.25", "z = 1.5 * y", "m = k"]
        body = [line for line in body if self.rng.random() < 0.95]
        body += self.block(self.rng.choice([1, 2, 2, 3]), 2)
        body.append(f"return {self.filled(self.rng.choice(RESULTS))}")
        text = HELPERS + "\n\ndef f(x, y, A, idx, n, k, s):\n" + "".join(f"    {line}\n" for line in body)
        first, *others = [self.arguments() for _ in range(CASES)]
        return Program(used_only(text.lstrip("\n")), first, name, tuple(others))

    def arguments(self) -> Args:
        """Arrays of few elements, whose lengths mostly agree, and integers that are mostly inside of them."""
        rng = self.rng
        n = rng.choice([0, 1, 2, 3, 3, 4, 4])

        def extent() -> int:
            return n if rng.random() < 0.75 else rng.choice([0, 1, 2, 3, 5])

        def real(*shape: int) -> np.ndarray:
            return np.array([round(rng.uniform(-1.5, 1.5), 2) for _ in range(int(np.prod(shape)))]).reshape(shape)

        count = rng.choice([0, 1, n])
        return {
            "x": real(extent()),
            "y": real(extent()),
            "A": real(extent(), extent()),
            "idx": np.array([rng.randrange(max(n, 1) + (rng.random() < 0.2)) for _ in range(count)], dtype=np.int64),
            "n": n,
            "k": rng.choice([0, 0, 1, 1, 2, n - 1, n, n + 1, -1]),
            "s": 0.75,
        }


def used_only(text: str) -> str:
    """`text` without the helpers that it does not call."""
    helpers, main = text[: text.index("def f(")], text[text.index("def f(") :]
    parts = [part for part in helpers.split("\n\n\n") if part.strip()]
    kept = [part for part in parts if f"{part.strip()[4:].split('(')[0]}(" in main]
    return "\n\n\n".join([*(part.strip("\n") for part in kept), main])
