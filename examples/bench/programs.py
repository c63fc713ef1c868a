"""Programs of any size, written by rule: what grows in them is one thing at a time.

Every family says what its number `n` counts, writes the text of a function `program` with `n` of them, and gives its
arguments, which are small: running the program costs next to nothing beside compiling it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

Arguments = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Family:
    """Programs with `n` of what `counts` says, for each `n` of `sizes`."""

    name: str
    counts: str
    sizes: tuple[int, ...]
    text: Callable[[int], str]
    arguments: Callable[[int], Arguments]


def numbers(n: int) -> str:
    """Assignments to numbers in one loop, each of the last ones and of an element."""
    lines = ["def program(x, y):", "    total = 0.0", "    for i in range(1, x.shape[0] - 1):", "        v0 = x[i]"]
    for k in range(1, n):
        older = f"v{max(0, k - 1 - k % 3)}"
        value = (
            f"0.5 * v{k - 1} + 0.25 * {older} * x[i + 1]",
            f"np.sin(v{k - 1}) - 0.5 * y[i]",
            f"0.5 * {older} - v{k - 1} * x[i - 1]",
            f"0.3 * v{k - 1} * {older} + y[i - 1]",
        )[k % 4]
        lines.append(f"        v{k} = {value}")
    return "\n".join([*lines, f"        total += v{n - 1}", "    return total"])


def stores(n: int) -> str:
    """Stores to elements of four arrays in one loop, each of what the last ones stored."""
    lines = ["def program(a, b, c, d):", "    total = 0.0", "    for i in range(1, a.shape[0] - 1):"]
    for k in range(n):
        to, of, other = "abcd"[k % 4], "abcd"[(k + 1) % 4], "abcd"[(k + 2) % 4]
        lines.append(f"        {to}[i] = 0.5 * {of}[i] + 0.{k % 8 + 1} * {other}[i] * {to}[i]")
    return "\n".join([*lines, "        total += a[i] * b[i]", "    return total"])


def loops(n: int) -> str:
    """Loops of one statement, one after the other, over four arrays."""
    lines = ["def program(a, b, c, d):"]
    for k in range(n):
        to, of, other = "abcd"[k % 4], "abcd"[(k + 1) % 4], "abcd"[(k + 2) % 4]
        lines.append("    for i in range(1, a.shape[0] - 1):")
        lines.append(f"        {to}[i] = 0.5 * {of}[i - 1] + 0.{k % 8 + 1} * {other}[i + 1] * {to}[i]")
    return "\n".join([*lines, *total_of("a")])


def nested(n: int) -> str:
    """Loops in each other, a statement at every level, over arrays with an axis for each of them."""
    indices = [f"i{k}" for k in range(n)]
    lines, pad = ["def program(x, y, w):", "    total = 0.0"], "    "
    for k, i in enumerate(indices):
        lines.append(f"{pad}for {i} in range(1, x.shape[{k}]):")
        pad += "    "
        lines.append(f"{pad}s{k} = w[{i}]" + (f" * s{k - 1}" if k else ""))
    here, before = ", ".join(indices), ", ".join([*indices[:-1], f"i{n - 1} - 1"])
    lines.append(f"{pad}y[{here}] = s{n - 1} * x[{here}] + 0.5 * x[{before}]")
    lines.append(f"{pad}total += y[{here}] * y[{here}]")
    return "\n".join([*lines, "    return total"])


def arrays(n: int) -> str:
    """Arrays that one loop goes over, one statement for each."""
    names = [f"a{k}" for k in range(n)]
    lines = [f"def program({', '.join(names)}):", "    total = 0.0", "    for i in range(1, a0.shape[0]):"]
    for of, to in pairwise(names):
        lines.append(f"        {to}[i] = 0.5 * {of}[i] + {of}[i - 1] * {to}[i]")
    return "\n".join([*lines, f"        total += {names[-1]}[i]", "    return total"])


def shapes(n: int) -> str:
    """Arrays in statements of whole arrays, one for each: extents that nobody says are equal."""
    names = [f"a{k}" for k in range(n)]
    lines = [f"def program({', '.join(names)}):"]
    for of, to in pairwise(names):
        lines.append(f"    {to}[1:] = 0.5 * {of}[1:] + {of}[:-1] * {to}[1:]")
    return "\n".join([*lines, f"    return np.sum({names[-1]})"])


def whole_statement(k: int) -> str:
    u, v, w = "uvw"[k % 3], "uvw"[(k + 1) % 3], "uvw"[(k + 2) % 3]
    return (
        f"t{k} = {v}[1:-1, 1:-1] + 0.25 * ({w}[2:, 1:-1] - {w}[:-2, 1:-1])",
        f"{u}[1:-1, 1:-1] = 0.5 * t{k - 1} * {v}[1:-1, 2:]",
        f"{u}[0, :] = {v}[1, :]",
        f"{u}[1:-1, 1:-1] += 0.1 * ({v}[1:-1, 2:] - {w}[1:-1, :-2]) * t{k - 3}",
    )[k % 4]


def whole(n: int) -> str:
    """Statements of whole arrays, one after the other: slices of three arrays, and new arrays."""
    body = (f"    {whole_statement(k)}" for k in range(n))
    return "\n".join(["def program(u, v, w):", *body, "    return np.sum(u)"])


def steps(n: int) -> str:
    """The same in a loop over time."""
    body = (f"        {whole_statement(k)}" for k in range(n))
    return "\n".join(["def program(u, v, w, count):", "    for t in range(count):", *body, "    return np.sum(u)"])


def helpers(n: int) -> str:
    """Functions of numbers, each of which calls the next one."""
    lines = ["def h0(a, b):", "    return a * b"]
    for k in range(1, n):
        lines += [f"def h{k}(a, b):", f"    c = h{k - 1}(0.5 * a, b + 0.1)", "    return c * a + b"]
    lines += ["def program(x, y):", "    total = 0.0", "    for i in range(x.shape[0]):"]
    return "\n".join([*lines, f"        total += h{n - 1}(x[i], y[i])", "    return total"])


def array_helpers(n: int) -> str:
    """Functions that change arrays, each of which calls the next one."""
    lines = ["def h0(a, b):", "    a[1:] = a[1:] * b[:-1]"]
    for k in range(1, n):
        lines += [f"def h{k}(a, b):", "    for i in range(1, a.shape[0]):"]
        lines += [f"        a[i] = 0.5 * a[i] + b[i - 1] * 0.{k % 8 + 1}", f"    h{k - 1}(b, a)"]
    return "\n".join([*lines, "def program(a, b):", f"    h{n - 1}(a, b)", *total_of("a")])


def total_of(name: str) -> list[str]:
    return [
        "    total = 0.0",
        f"    for i in range({name}.shape[0]):",
        f"        total += {name}[i]",
        "    return total",
    ]


def vectors(count: int) -> Arguments:
    return tuple(np.linspace(0.1 + 0.01 * k, 0.9, 12) for k in range(count))


def of_rank(n: int) -> Arguments:
    shape = (12,) if n == 1 else (3,) * n
    x = np.linspace(0.1, 0.9, int(np.prod(shape))).reshape(shape)
    return x, np.zeros(shape), np.linspace(0.5, 1.0, max(shape))


def planes(n: int) -> Arguments:
    return tuple(np.linspace(0.1, 0.5 + 0.1 * k, 80).reshape(8, 10) for k in range(3))


MANY, CHAIN = (10, 30, 100, 300, 1000), (5, 10, 20, 40, 60)
FAMILIES = {
    f.name: f
    for f in (
        Family("numbers", "assignments to numbers in one loop", MANY, numbers, lambda n: vectors(2)),
        Family("stores", "stores to elements in one loop", MANY, stores, lambda n: vectors(4)),
        Family("loops", "loops one after the other", (5, 15, 50, 150, 500), loops, lambda n: vectors(4)),
        Family("nested", "loops in each other", (1, 2, 3, 4, 6, 8), nested, of_rank),
        Family("arrays", "arrays in one loop", (5, 10, 20, 50, 100), arrays, vectors),
        Family("shapes", "arrays in whole-array statements", (5, 10, 20, 50, 100), shapes, vectors),
        Family("whole", "whole-array statements", CHAIN, whole, planes),
        Family("steps", "whole-array statements in a loop", CHAIN, steps, lambda n: (*planes(n), 3)),
        Family("helpers", "functions of numbers that call each other", CHAIN, helpers, lambda n: vectors(2)),
        Family("array-helpers", "functions that change arrays and call each other", CHAIN, array_helpers,
               lambda n: vectors(2)),
    )
}  # fmt: skip
