"""Vary a program that works: bind what it binds in branches, loops and helpers, under other names, more than once.

What names hold is found by running the program; each variation is only a suggestion, which the oracle may turn down.
"""

from __future__ import annotations

import ast
import contextlib
import copy
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .expected import Program
from .oracle import Args, plain_function
from .structures import leaves, mapped

Held = dict[str, Any]  # what names hold: a shape, "real" or "int"
CONDITIONS = ("{i} % 2 == 0", "{i} > 1", "{i} < 2", "{i} == 1", "{i} != 2")
LONGEST = 20_000  # lines that a program runs
BOUNDS = ("0.31", "-0.22", "0.83", "1.57")


@contextlib.contextmanager
def lines_limited() -> Iterator[None]:
    """Programs that do not seem to end raise RecursionError."""
    lines = 0

    def trace(frame: Any, event: str, _: Any) -> Any:
        nonlocal lines
        lines += 1
        if lines > LONGEST:
            raise RecursionError("the program does not seem to end")
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


def held(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.ndim:
        return value.shape
    if isinstance(value, (float, np.floating)):
        return "real"
    return "int" if isinstance(value, (int, np.integer)) and not isinstance(value, bool) else None


def observed(program: Program) -> dict[int, Held]:
    """By line, what the local names held when it was reached for the first time."""
    seen: dict[int, Held] = {}
    function = plain_function(program.source)
    file = function.__code__.co_filename
    lines = 0

    def trace(frame: Any, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != file:
            return None
        nonlocal lines
        lines += 1
        if lines > LONGEST:
            raise RuntimeError("the program does not seem to end")
        if event == "line" and frame.f_lineno not in seen:
            kinds = {name: held(value) for name, value in frame.f_locals.items()}
            seen[frame.f_lineno] = {name: kind for name, kind in kinds.items() if kind is not None}
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with np.errstate(all="ignore"):
            function(**copy.deepcopy(program.args))
    finally:
        sys.settrace(before)
    return seen


@dataclass
class Place:
    """A statement, the list it stands in, and what names hold before it."""

    body: list[ast.stmt]
    at: int
    held: Held
    in_loop: bool
    function: ast.FunctionDef

    @property
    def statement(self) -> ast.stmt:
        return self.body[self.at]

    def replace(self, *lines: str) -> None:
        self.body[self.at : self.at + 1] = parsed(*lines)

    def follow(self, *lines: str) -> None:
        self.body[self.at + 1 : self.at + 1] = parsed(*lines)


def parsed(*lines: str) -> list[ast.stmt]:
    """Statements from text; `return` and `break` may stand anywhere."""
    text = "\n".join(lines)
    loop = ast.parse("def g():\n    while 1:\n" + "\n".join("        " + line for line in text.splitlines()))
    return loop.body[0].body[0].body


def places(tree: ast.Module, seen: dict[int, Held]) -> list[Place]:
    found: list[Place] = []

    def visit(body: list[ast.stmt], in_loop: bool, function: ast.FunctionDef) -> None:
        for at, statement in enumerate(body):
            if statement.lineno in seen:
                found.append(Place(body, at, seen[statement.lineno], in_loop, function))
            inside = in_loop or isinstance(statement, (ast.For, ast.While))
            for name in ("body", "orelse"):
                if not isinstance(statement, ast.FunctionDef) and getattr(statement, name, None):
                    visit(getattr(statement, name), inside, function)

    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            visit(node.body, False, node)
    return found


class Variation:
    """One round of changes to a program."""

    def __init__(self, rng: random.Random, program: Program) -> None:
        self.rng = rng
        self.tree = ast.parse(program.source)
        self.after = observed(program)
        self.places = places(self.tree, self.after)
        self.fresh = f"{rng.randrange(100)}"

    def vary(self) -> str:
        change = self.rng.choice(
            [
                *[self.guard, self.branch, self.branch, self.select, self.repeat, self.alias, self.respell],
                *[self.extract, self.extract, self.insert, self.insert, self.insert],
                *[self.leave, self.early, self.count],
            ]
        )
        change()
        return ast.unparse(ast.fix_missing_locations(self.tree)) + "\n"

    # what may be said at a place

    def condition(self, names: Held) -> str:
        integers = [n for n, kind in names.items() if kind == "int"]
        vectors = [n for n, kind in names.items() if isinstance(kind, tuple) and len(kind) == 1]
        reals = [n for n, kind in names.items() if kind == "real"]
        choices = [self.rng.choice(CONDITIONS).format(i=n) for n in integers]
        bound, relation = self.rng.choice(BOUNDS), self.rng.choice("<>")
        choices += [f"{n}[{self.rng.choice(['0', '-1', '1'])}] {relation} {bound}" for n in vectors]
        choices += [f"{n} {relation} {bound}" for n in reals]
        arrays = [n for n, kind in names.items() if isinstance(kind, tuple)]
        choices += [f"{n}.sum() {relation} {bound}" for n in arrays[:1]]
        return self.rng.choice(choices) if choices else "True"

    def bindings(self) -> list[tuple[Place, str, str]]:
        """Places that bind one name to an array or a number, with the name and the expression."""
        found = []
        for place in self.places:
            match place.statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    found.append((place, name, ast.unparse(value)))
        return found

    def arrays(self, place: Place) -> list[str]:
        return [n for n, kind in place.held.items() if isinstance(kind, tuple)]

    def other(self, place: Place, name: str, text: str) -> str:
        """Another value for a name than `text`."""
        choices = [f"0.5 * ({text})", f"({text}) + 0.1", f"-({text})"]
        kind = place.held.get(name)
        if isinstance(kind, tuple):
            same = [n for n in self.arrays(place) if place.held[n] == kind]
            choices += [name, f"{name}.copy()", f"np.zeros_like({name})", *same, *[f"{n} * {name}" for n in same]]
        return self.rng.choice(choices)

    # changes

    def guard(self) -> None:
        """A statement only under a condition."""
        if not self.places:
            return
        place = self.rng.choice(self.places)
        if isinstance(place.statement, ast.Return):
            return
        inner = "\n".join("    " + line for line in ast.unparse(place.statement).splitlines())
        lines = [f"if {self.condition(place.held)}:", inner]
        if self.rng.random() < 0.3:
            lines += ["else:", inner]
        place.replace(*lines)

    def branch(self) -> None:
        """A name bound in both branches."""
        if not (found := self.bindings()):
            return
        place, name, text = self.rng.choice(found)
        one, other = f"    {name} = {text}", f"    {name} = {self.other(place, name, text)}"
        if self.rng.random() < 0.5:
            one, other = other, one
        lines = [f"if {self.condition(place.held)}:", one]
        if self.rng.random() < 0.25:
            lines += [f"elif {self.condition(place.held)}:", f"    {name} = {self.other(place, name, text)}"]
        place.replace(*lines, "else:", other)

    def select(self) -> None:
        if not (found := self.bindings()):
            return
        place, name, text = self.rng.choice(found)
        parts = [f"({text})", f"({self.other(place, name, text)})"]
        self.rng.shuffle(parts)
        place.replace(f"{name} = {parts[0]} if {self.condition(place.held)} else {parts[1]}")

    def repeat(self) -> None:
        if not self.places:
            return
        place = self.rng.choice(self.places)
        if isinstance(place.statement, ast.Return):
            return
        inner = ["    " + line for line in ast.unparse(place.statement).splitlines()]
        place.replace(f"for rep{self.fresh} in range(2):", *inner)

    def alias(self) -> None:
        """Another name for an array, that some of the rest of the body uses."""
        found = [place for place in self.places if self.arrays(place)]
        if not found:
            return
        place = self.rng.choice(found)
        name, new = self.rng.choice(self.arrays(place)), f"other{self.fresh}"
        for statement in place.body[place.at :]:
            if self.rng.random() < 0.5:
                for node in ast.walk(statement):
                    if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
                        node.id = new
        value = self.rng.choice([name, name, f"{name}.copy()", f"{name}[:]"])
        place.body[place.at : place.at] = parsed(f"{new} = {value}")

    def respell(self) -> None:
        """`X += e` for `X = X + e`, and the other way round."""
        for place in self.rng.sample(self.places, len(self.places)):
            match place.statement:
                case ast.AugAssign(target=ast.Name(id=name), op=operator, value=value):
                    sum_ = ast.BinOp(ast.Name(name, ast.Load()), operator, value)
                    place.replace(f"{name} = {ast.unparse(sum_)}")
                    return
                case ast.Assign(
                    targets=[ast.Name(id=name)], value=ast.BinOp(left=ast.Name(id=left), op=operator, right=right)
                ) if name == left:
                    text = ast.unparse(ast.AugAssign(ast.Name(name, ast.Store()), operator, right))
                    place.replace(text)
                    return

    def extract(self) -> None:
        """An expression computed by a helper, which may return early."""
        if not (found := self.bindings()):
            return
        place, name, text = self.rng.choice(found)
        used = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
        functions = {node.name for node in self.tree.body if isinstance(node, ast.FunctionDef)}
        parameters = [n for n in place.held if n in used]
        if not parameters or used & functions:
            return
        known = {n: place.held[n] for n in parameters}
        lines = [f"def part{self.fresh}({', '.join(parameters)}):"]
        draw = self.rng.random()
        if draw < 0.3:
            lines += [f"    if {self.condition(known)}:", f"        return {self.other(place, '', text)}"]
        if draw < 0.6:
            lines += [
                f"    result = {text}",
                *[f"    if {self.condition(known)}:", "        result = 0.5 * result"],
                "    return result",
            ]
        else:
            lines += [f"    return {text}"]
        self.tree.body[0:0] = ast.parse("\n".join(lines)).body
        place.replace(f"{name} = part{self.fresh}({', '.join(parameters)})")

    def insert(self) -> None:
        """A statement more, about an array that is there."""
        found = [place for place in self.places if self.arrays(place)]
        if not found:
            return
        place = self.rng.choice(found)
        name = self.rng.choice(self.arrays(place))
        kind = place.held[name]
        other = self.rng.choice([n for n in self.arrays(place) if place.held[n] == kind])
        first = "0, " * (len(kind) - 1) + "0"
        choices = [f"{name} = -{name}", f"{name} = 1.5 * {name}", f"{name}[{first}] = 0.5 * {other}[{first}] ** 2"]
        choices += [
            f"{name} = {name}.copy()",
            f"{name} = {name} * {other}",
            f"{name} += 0.1 * {other}",
            f"{name} = {other}",
        ]
        choices += [
            f"{name}, {other} = {other}, {name}",
            f"{name} = np.tanh({name})",
            f"{name} = np.zeros_like({other})",
        ]
        choices += [
            f"{name} = {name}[::-1]",
            f"{name}[0] *= 0.7",
            f"{name}[:] = {other}",
            f"{name} = {name} + {name}[{first}]",
        ]
        line = self.rng.choice(choices)
        if self.rng.random() < 0.7:
            place.body[place.at : place.at] = parsed(f"if {self.condition(place.held)}:", "    " + line)
        else:
            place.body[place.at : place.at] = parsed(line)

    def leave(self) -> None:
        """`break` or `continue` under a condition."""
        found = [place for place in self.places if place.in_loop]
        if found:
            place = self.rng.choice(found)
            word = self.rng.choice(["break", "continue", "break"])
            place.body[place.at : place.at] = parsed(f"if {self.condition(place.held)}:", f"    {word}")

    def early(self) -> None:
        """A return before the last."""
        found = []
        for place in self.places:
            last = place.function.body[-1]
            if isinstance(last, ast.Return) and last.value is not None and last is not place.statement:
                used = {node.id for node in ast.walk(last.value) if isinstance(node, ast.Name)}
                local = used - {"np", "math", "len", "abs", "max", "min"}
                if local <= set(place.held):
                    found.append((place, ast.unparse(last.value)))
        if found:
            place, text = self.rng.choice(found)
            value = text if "," in text else self.rng.choice([text, f"0.5 * ({text})"])
            place.body[place.at : place.at] = parsed(f"if {self.condition(place.held)}:", f"    return {value}")

    def count(self) -> None:
        """A `while` for a `for`."""
        for place in self.rng.sample(self.places, len(self.places)):
            match place.statement:
                case ast.For(
                    target=ast.Name(id=name),
                    iter=ast.Call(func=ast.Name(id="range"), args=[stop]),
                    body=body,
                    orelse=[],
                ) if not any(isinstance(node, ast.Continue) for node in ast.walk(place.statement)):
                    inner = ["    " + line for one in body for line in ast.unparse(one).splitlines()]
                    place.replace(f"{name} = 0", f"while {name} < {ast.unparse(stop)}:", *inner, f"    {name} += 1")
                    return


def changed_data(rng: random.Random, args: Args, lengths: dict[int, int] | None = None) -> Args:
    """Other data for the same function; integers and extents that are in `lengths` change together."""
    lengths = lengths or {}
    draw = np.random.default_rng(rng.randrange(2**32))

    def changed(value: Any) -> Any:
        match value:
            case np.ndarray() if value.dtype.kind == "f":
                shape = tuple(lengths.get(extent, extent) for extent in value.shape)
                return (draw.uniform(-1.5, 1.5, shape).round(2) + 0.007).round(3).astype(value.dtype)
            case np.ndarray():
                shape = tuple(lengths.get(extent, extent) for extent in value.shape)
                return draw.integers(0, max(shape), shape).astype(value.dtype)
            case bool():
                return not value
            case int() | np.integer():
                return lengths.get(int(value), max(1, value + rng.choice([-1, 0, 0, 1])))
            case _:
                return value

    return {name: mapped(changed, value) for name, value in args.items()}


def narrowed(leaf: Any) -> Any:
    return np.float32(leaf) if getattr(leaf, "dtype", None) == np.float64 else leaf


def with_other_arguments(rng: random.Random, program: Program) -> Program:
    """The program with more arguments to be called with, of the same types: others data, integers and sizes."""
    args = program.args
    if rng.random() < 0.08:
        args = {name: mapped(narrowed, value) for name, value in args.items()}
    if rng.random() < 0.15:
        kinds = {float: rng.choice([float, np.float64]), int: rng.choice([int, np.int64])}
        args = {name: mapped(lambda v: kinds.get(type(v), lambda v: v)(v), value) for name, value in args.items()}
    extents = {extent for value in args.values() for _, leaf in leaves(value) for extent in np.shape(leaf)}
    longer = {extent: extent + rng.choice([1, 2, 4]) for extent in extents}
    return replace(program, args=args, others=(changed_data(rng, args), changed_data(rng, args, longer)))


def variants(rng: random.Random, program: Program) -> Iterator[Program]:
    """Programs further and further from the first."""
    while True:
        try:
            text = Variation(rng, program).vary()
            ast.parse(text)
            other = Program(text, program.args, program.name)
            observed(other)
        except Exception:
            yield program
            continue
        program = other
        yield program


def varied(program: Program, seed: int) -> Program:
    """The program after some variations."""
    rng = random.Random(seed)
    if rng.random() < 0.5:
        program = Program(program.source, changed_data(rng, program.args), program.name)
    steps = variants(rng, program)
    for _ in range(rng.choice([2, 3, 4, 5])):
        program = next(steps)
    return program
