"""Draw programs about memory that names share: aliases, rows, swaps, iterated arrays, functions that hold arrays."""

from __future__ import annotations

import random

import numpy as np

from .expected import Program

HELPERS = """
def reader(w):
    return lambda i: 1.5 * w[i]


def one_of(p, q, k):
    if k > 1:
        return p
    if k > 0:
        return q[::-1]
    return 0.5 * p * q


def both(p, q):
    p[0] += 0.1 * q[1]
    return q, 0.5 * p


def shrunk(p):
    p *= 0.8
    return p[1]


def place(p):
    p[0] += 0.3
    return 1


def weighed(p, q, k):
    return (p * q).sum() * k


def latest(p, counts):
    r = p
    for i in range(len(counts)):
        q = p * (i + 0.5)
        for j in range(counts[i]):
            r = q
    return r
"""
STATEMENTS = (
    "{p} = {q}",
    "{p} = {q}",
    "{p} = {q}[::-1]",
    "{p} = 0.5 * {q} * {r}",
    "{p} = {q} + 0.3 * {r}",
    "{p}, {q} = {q}, {p}",
    "{p}, {q}, {r} = {q}, {r}, {p}",
    "{p}[{i}] = 0.5 * {q}[{j}] + 0.2",
    "{p}[{i}] += 0.3 * {q}[{j}] * {r}[{i}]",
    "{p} *= 0.9",
    "{p}[1:] += 0.2 * {q}[:-1]",
    "{p} = B[{k}]",
    "B[{k}] += 0.1 * {p}",
    "{p}, {q} = {r} if {c} else {q}, {p}",
    "{p} = {q} if {c} else 0.5 * {r}",
    "{p} = one_of({q}, {r}, n)",
    "t += (one_of({q}, {r}, n) * x).sum()",
    "{p}, {q} = both({q}, {r})",
    "B[{k}], {p} = both({q}, {r})",
    "{p} = latest({q}, counts)",
    "t += {p}[{i}] * {q}[{j}]",
    "B = 0.5 * B * A",
    "t += (({q} if {c} else {r}) * shrunk({q})).sum()",
    "{p} = ({q} if {c} else 0.6 * {r}) * shrunk({r}) + {p}",
    "{p} = {p} + np.dot(0.5 * {q}, {r} * shrunk({q})) * {r}",
    "t += weighed({p}, {q} if {c} else {r}, shrunk({q})) * {p}[{i}]",
    "t += (0.4 * {q})[place({q})] * ({q} if {c} else {r})[place({r}) :].sum()",
    "{p} = np.maximum({q} if {c} else {r}, shrunk({r}) * {q})",
)
CONDITIONS = ("n > 1", "n == 2", "x[1] > 0.8137", "{p}[{i}] > 0.7713", "t > 0.6137")


def sharing(seed: int) -> Program:
    """The program number `seed`."""
    return Drawing(random.Random(seed)).program(f"sharing {seed}")


class Drawing:
    def __init__(self, rng: random.Random) -> None:
        self.rng, self.loops = rng, 0

    def filled(self, text: str, rows: list[str]) -> str:
        p, q, r = self.rng.sample("abc", 3)
        i, j = self.rng.sample(range(4), 2)
        text = text.replace("{c}", self.rng.choice(CONDITIONS))
        return text.format(p=p, q=q, r=r, i=i, j=j, k=self.rng.choice(rows))

    def block(self, count: int, depth: int, rows: list[str]) -> list[str]:
        return [line for _ in range(count) for line in self.statement(depth, rows)]

    def statement(self, depth: int, rows: list[str]) -> list[str]:
        if depth == 0 or self.rng.random() < 0.6:
            return [self.filled(self.rng.choice(STATEMENTS), rows)]
        count = self.rng.choice([1, 2, 2, 3])
        self.loops += 1
        k = f"k{self.loops}"
        match self.rng.randrange(7):
            case 0 | 1:
                body = self.block(count, depth - 1, rows)
                other = ["else:", *indented(self.block(1, depth - 1, rows))] if self.rng.random() < 0.5 else []
                return [self.filled("if {c}:", rows), *indented(body), *other]
            case 2 | 3:
                body = self.block(count, depth - 1, [*rows, f"{k} % 2"])
                leave = [self.filled("if {c}:", rows), "    break"] if self.rng.random() < 0.2 else []
                return [f"for {k} in range(n):", *indented([*body, *leave])]
            case 4:
                body = [f"t += 0.1 * v{k}", *self.block(count, depth - 1, rows)]
                return [self.filled(f"for v{k} in {{p}}:", rows), *indented(body)]
            case 5:
                body = [f"row{k}[1] *= 0.9", *self.block(count, depth - 1, rows)]
                return [f"for row{k} in B:", *indented([*body, self.filled(f"{{p}} = row{k}", rows)])]
            case _:
                held = self.filled("{p}", rows)
                body = self.block(count, depth - 1, rows)
                return [f"get{k} = reader({held})", *body, f"t += get{k}(1)"]

    def program(self, name: str) -> Program:
        body = ["t = 0.5", "a = x * y", "b = 0.7 * x", self.rng.choice(["c = y * 1.0", "c = a"]), "B = A * A"]
        body += self.block(self.rng.choice([2, 3, 4]), 2, ["0", "1"])
        body.append("return (a * x).sum() + 2.0 * (b * y).sum() + 3.0 * (c * x).sum() + (B * A).sum() + t")
        text = "\n".join([HELPERS.strip("\n"), "", "", "def f(x, y, A, counts, n):", *indented(body), ""])
        args = {
            "x": np.array([0.733, 0.903, 0.457, 1.137]),
            "y": np.array([0.877, 0.573, 1.197, 0.643]),
            "A": np.array([[0.841, 0.622, 1.113, 0.454], [0.585, 1.236, 0.767, 0.938]]),
            "counts": np.array([1, 0, 2, 0]),
            "n": self.rng.choice([1, 2, 3]),
        }
        return Program(text, args, name)


def indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]
