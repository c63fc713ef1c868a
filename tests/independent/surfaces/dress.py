"""Put more around a program: it becomes a method, takes any number of arguments, gives values beside its loss, or is
asked for its gradient by another one.

The text keeps a function `f` of the old arguments, which the oracle runs; `entry` is what is decorated.
"""

from __future__ import annotations

import ast
import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..expected import Program, written
from ..oracle import is_active_leaf
from ..structures import is_structure, leaves, parts_of

Lines = list[str]


@dataclass(frozen=True)
class Dressed(Program):
    """A program with a decorated function or method `entry`.

    `held` are the arguments that its object has, `rest` those behind a star, `named` those by name, `direct` the rest.
    Gradients have these `fields`, in this order, if `wrt` says so; `chosen` are the leaves that they are by.
    """

    held: tuple[str, ...] = ()
    rest: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    direct: tuple[str, ...] = ()
    fields: tuple[str, ...] | None = None
    chosen: frozenset[tuple[str, str]] = frozenset()
    has_aux: bool = False

    def place(self, name: str) -> tuple[str, str]:
        """The field of gradients that an argument is in, and where there."""
        if name in self.held:
            return "self", f".{name}"
        if name in self.rest:
            return "rest", f"[{self.rest.index(name)}]"
        return ("options", f"[{name!r}]") if name in self.named else (name, "")


def indented(lines: Lines) -> Lines:
    return ["    " + line for line in lines]


@dataclass
class Dresser:
    """Draws what is put around a program whose result is a number."""

    rng: random.Random
    program: Program
    asks: bool = False  # whether its gradient is asked for by another function
    held: list[str] = field(default_factory=list)
    rest: list[str] = field(default_factory=list)
    named: list[str] = field(default_factory=list)
    is_fixed: bool = False  # whether some arguments are what they were

    def __post_init__(self) -> None:
        self.tree = ast.parse(self.program.source)
        self.main = next(n for n in self.tree.body if isinstance(n, ast.FunctionDef) and n.name == "f")
        self.before = [n for n in self.tree.body if n is not self.main]
        self.names = list(self.program.args)

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def active(self, name: str) -> bool:
        return any(is_active_leaf(leaf) for _, leaf in leaves(self.program.args[name]))

    # -- the program -----------------------------------------------------------------------------------------
    def dressed(self) -> Dressed:
        left = list(self.names)
        if self.chance(0.5) and len(left) > 1:
            self.held = [n for n in left if self.chance(0.5)] or left[-1:]
            if len(self.held) == len(left):
                self.held.pop(0)
            left = [n for n in left if n not in self.held]
        if self.chance(0.3) and len(left) > 1:
            self.named = left[-1:] if self.chance(0.6) else left[-2:] if len(left) > 2 else []
            left = [n for n in left if n not in self.named]
        if self.chance(0.35) and len(left) > 1:
            self.rest = left[self.rng.randrange(1, len(left)) :]
            left = [n for n in left if n not in self.rest]
        spelt, fields, chosen = self.asked(left)
        aux = self.aux() if self.chance(0.4) else None
        settings = [*([f"wrt={spelt}"] if spelt else []), *(["has_aux=True"] if aux is not None else [])]
        decorator = f"@vectorize_grad({', '.join(settings)})" if settings else "@vectorize_grad"
        inner = self.inner() if self.asks else None
        body = self.asking(inner) if inner is not None else self.body(self.main.body, aux)
        entry = [decorator, f"def entry({', '.join(self.parameters(left))}):", *indented([*self.taken(), *body])]
        lines = [ast.unparse(n) + "\n" for n in self.before]
        if inner is not None and not inner.is_method:
            lines += ["\n".join(inner.lines) + "\n"]
        if self.held:
            methods = self.holder() + (["", *inner.lines] if inner is not None and inner.is_method else [])
            lines += ["\n".join(["class Holder:", *indented([*methods, "", *entry])]) + "\n"]
        else:
            lines += ["\n".join(entry) + "\n"]
        lines.append("\n".join([f"def f({', '.join(self.names)}):", f"    return {self.call(left)}"]) + "\n")
        if inner is not None and aux is not None:
            lines[-2] = lines[-2].replace("return total", f"return total, {aux}")
        others = () if self.is_fixed else self.program.others
        return Dressed(
            "\n".join(lines), self.program.args, self.program.name, others, tuple(self.held),
            tuple(self.rest), tuple(self.named), tuple(left), fields, chosen, aux is not None,
        )  # fmt: skip

    def parameters(self, left: Lines) -> Lines:
        found = [*(["self"] if self.held else []), *left, *(["*rest"] if self.rest else [])]
        return [*found, *(["**options"] if self.named else [])]

    def call(self, left: Lines) -> str:
        """The call of the entry with what `f` gets."""
        owner = f"Holder({', '.join(self.held)}).entry" if self.held else "entry"
        return f"{owner}({', '.join([*left, *self.rest, *(f'{n}={n}' for n in self.named)])})"

    def holder(self) -> Lines:
        return [f"def __init__(self, {', '.join(self.held)}):", *(f"    self.{n} = {n}" for n in self.held)]

    def taken(self) -> Lines:
        """The old arguments under their names."""
        lines = [f"{n} = self.{n}" for n in self.held]
        if self.rest and self.chance(0.5):
            lines.append(f"{', '.join(self.rest)}{',' if len(self.rest) == 1 else ''} = rest")
        else:
            lines += [f"{n} = rest[{k}]" for k, n in enumerate(self.rest)]
        lines += [f'{n} = options["{n}"]' for n in self.named]
        self.rng.shuffle(lines)
        return lines

    def body(self, statements: list[ast.stmt], aux: str | None) -> Lines:
        text = "\n".join(map(ast.unparse, statements))
        if aux is not None:
            tree = ast.parse("def f():\n" + "\n".join(indented(text.splitlines())))
            for node in ast.walk(tree):
                if isinstance(node, ast.Return) and node.value is not None:
                    node.value = ast.parse(f"({ast.unparse(node.value)}, {aux})", mode="eval").body
            text = "\n".join(ast.unparse(n) for n in tree.body[0].body)  # type: ignore[attr-defined]
        return text.splitlines()

    # -- what goes with a loss -------------------------------------------------------------------------------
    def aux(self) -> str | None:
        """An expression of what is in scope wherever the program returns, in some structure."""
        names = [*self.names]
        returns = [n for n in ast.walk(self.main) if isinstance(n, ast.Return)]
        if len(returns) == 1 and not self.asks:
            for statement in self.main.body:
                if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                    names.append(statement.targets[0].id)
        one, other, third = (self.rng.choice(names) for _ in range(3))
        form = self.rng.choice(
            ("{a}", "{a}, {b}", "[{a}, {b}]", '{{"a": {a}, "b": ({b}, {c})}}', "State({a}, {b})", "{a}, {a}, {b}, 3")
        )
        return form.format(a=one, b=other, c=third)

    # -- what is differentiated ------------------------------------------------------------------------------
    def asked(self, left: Lines) -> tuple[str, tuple[str, ...] | None, frozenset[tuple[str, str]]]:
        """`wrt` as it is spelt, the fields of the gradients, and the leaves that have one."""
        given = [n for n in [*left, *self.rest, *self.named] if self.active(n)]
        held = [n for n in self.held if self.active(n)]
        if (self.chance(0.4) and given) or not (given or held):
            return "", None, frozenset(leaf for n in given for leaf in self.leaves_of(n))
        parts: list[tuple[str, str, list[tuple[str, str]]]] = []
        for name in self.rng.sample([*given, *held], self.rng.randint(1, len(given) + len(held))):
            parts += self.parts(name, left)
        fields = tuple(dict.fromkeys(root for _, root, _ in parts))
        spelt = [text for text, _, _ in parts]
        text = spelt[0] if len(spelt) == 1 and self.chance(0.6) else f"[{', '.join(spelt)}]"
        return text, fields, frozenset(leaf for _, _, found in parts for leaf in found)

    def leaves_of(self, name: str, path: str = "") -> list[tuple[str, str]]:
        found = leaves(self.program.args[name])
        return [(name, at) for at, leaf in found if is_active_leaf(leaf) and at.startswith(path)]

    def parts(self, name: str, left: Lines) -> list[tuple[str, str, list[tuple[str, str]]]]:
        """An argument, or one or two parts of it, as `wrt` names them."""
        root, where = Dressed("", {}, "", (), tuple(self.held), tuple(self.rest), tuple(self.named)).place(name)
        value = self.program.args[name]
        if is_structure(value) and self.chance(0.6):
            paths = [p for p in inner_paths(value) if self.leaves_of(name, p)]
            picked: Lines = []
            for path in self.rng.sample(paths, min(len(paths), self.rng.choice((1, 1, 2)))):
                if not any(path.startswith(p) or p.startswith(path) for p in picked):
                    picked.append(path)
            return [(repr(f"{root}{where}{p}"), root, self.leaves_of(name, p)) for p in picked]
        if root == name and self.chance(0.3):
            count = len(left) + bool(self.rest) + bool(self.named)
            place = left.index(name)
            return [(str(self.rng.choice((place, place - count))), root, self.leaves_of(name))]
        return [(repr(f"{root}{where}"), root, self.leaves_of(name))]

    # -- gradients inside ------------------------------------------------------------------------------------
    def inner(self) -> Inner:
        """The program as a decorated function of its own, as a method of what holds the arguments, or as one that reads
        some of them from outside, as they were when it was made."""
        is_method = bool(self.held) and self.chance(0.6)
        held = self.held if is_method else []
        names = [n for n in self.names if n not in held]
        plain = [n for n in names if not is_structure(self.program.args[n])]
        fixed = [n for n in plain if self.chance(0.5)] if not is_method and self.chance(0.4) else []
        names = [n for n in names if n not in fixed] or fixed
        fixed = [n for n in fixed if n not in names]
        self.rng.shuffle(names)
        asked = self.asked_inside(names, held)
        spelt = [text for text, _, _ in asked]
        text = spelt[0] if len(spelt) == 1 and self.chance(0.6) else f"({', '.join(spelt)},)"
        outside = [*(f"{n} = self.{n}" for n in held), *(f"{n} = {self.own_copy(n)}" for n in fixed)]
        parameters = ", ".join([*(["self"] if is_method else []), *names])
        lines = [f"@vectorize_grad(wrt={text})", f"def energy({parameters}):"]
        lines += indented([*outside, *self.body(self.main.body, None)])
        given = [written(self.program.args[n]) for n in fixed]
        if fixed and self.chance(0.5):
            lines = [*(f"outside_{n} = {value}" for n, value in zip(fixed, given, strict=True)), "", *lines]
        elif fixed:
            made = f"energy = make({', '.join(given)})"
            lines = [
                f"def make({', '.join(f'outside_{n}' for n in fixed)}):",
                *indented([*lines, "return energy"]),
                "",
                made,
            ]
        self.is_fixed = bool(fixed)
        return Inner(lines, names, tuple(asked), is_method)

    def own_copy(self, name: str) -> str:
        """What is outside, for a function that may change it: the next call is to find the same."""
        return f"outside_{name}.copy()" if hasattr(self.program.args[name], "shape") else f"outside_{name}"

    def asked_inside(self, names: Lines, held: Lines) -> list[Part]:
        """What an inner function is differentiated by: all of it floating, as programs ask for nothing else."""
        wanted = [n for n in (*names, *held) if self.active(n)]
        found: list[Part] = []
        for name in self.rng.sample(wanted, self.rng.randint(1, len(wanted))) if wanted else []:
            value = self.program.args[name]
            root, where = ("self", f".{name}") if name in held else (name, "")
            paths = [p for p in ("", *inner_paths(value)) if all_active(part_of(value, p))]
            whole = paths[:1] == [""] and self.chance(0.6)
            if paths:
                path = "" if whole else self.rng.choice(paths)
                read = [(where + path + at, leaf) for at, leaf in leaves(part_of(value, path))]
                found.append((repr(f"{root}{where}{path}"), root, read))
        return found

    def asking(self, inner: Inner) -> Lines:
        """A body that asks for the gradient, with statements around it."""
        if not inner.by:
            return ["total = 1.0", "return total"]
        called = "self.energy" if inner.is_method else "energy"
        lines, given = list[str](), list(inner.names)
        vectors = [n for n in inner.names if hasattr(self.program.args[n], "shape") and (n, "") in inner.leaves]
        if vectors and self.chance(0.25):
            name = self.rng.choice(vectors)
            lines += [f"for step in range({self.rng.choice(('2', '3'))}):"]
            lines += [f"    {name} = {name} - 0.05 * {called}.grad({', '.join(given)}).{name}"]
        for k, name in enumerate(inner.names):
            if not is_structure(self.program.args[name]) and self.active(name) and self.chance(0.4):
                given[k] = f"{self.rng.choice(('0.9', '1.1'))} * {name}"
        if self.chance(0.4):
            given = [f"{n}={text}" for n, text in zip(inner.names, given, strict=True)]
            self.rng.shuffle(given)
        call = ", ".join(given)
        roots = list(dict.fromkeys(root for _, root, _ in inner.by))
        match self.rng.choice(("grad", "both", "unpacked", "by place")):
            case "both":
                record = {root: f"g.{root}" for root in roots}
                lines += [f"value, g = {called}.value_and_grad({call})", "total = np.tanh(0.1 * value)"]
            case "unpacked":
                record = {root: f"g_{root}" for root in roots}
                lines += [f"{', '.join(record.values())}, = {called}.grad({call})", "total = 0.0"]
            case form:
                record = {root: f"g[{k}]" if form == "by place" else f"g.{root}" for k, root in enumerate(roots)}
                lines += [f"g = {called}.grad({call})", "total = 0.5"]
        for _, root, read in inner.by:
            for path, leaf in read:
                term = f"np.tanh(0.3 * {record[root]}{path})"
                lines.append(
                    f"total += {self.rng.choice(('0.7', '-1.2', '1.0'))} * {term}{'.sum()' if np.ndim(leaf) else ''}"
                )
        return [*lines, "return total"]


# What `wrt` names, the argument that it is in, and the leaves there, each as it is read behind the gradient by that.
Part = tuple[str, str, list[tuple[str, Any]]]


@dataclass(frozen=True)
class Inner:
    """A decorated function before the entry: its lines, its arguments, and what its gradient is by."""

    lines: Lines
    names: Lines
    by: tuple[Part, ...]
    is_method: bool

    @property
    def leaves(self) -> set[tuple[str, str]]:
        return {(root, path) for _, root, read in self.by for path, _ in read}


def part_of(value: Any, path: str) -> Any:
    """What stands at a path in a structure."""
    if not path:
        return value
    step, part = next((s, p) for s, p in parts_of(value) or () if path == s or path.startswith((f"{s}[", f"{s}.")))
    return part_of(part, path[len(step) :])


def all_active(value: Any) -> bool:
    return all(is_active_leaf(leaf) for _, leaf in leaves(value))


def inner_paths(value: Any, path: str = "") -> list[str]:
    """What stands in a structure, however deep, spelt as it is read."""
    found: list[str] = []
    for step, part in parts_of(value) or ():
        found += [path + step, *inner_paths(part, path + step)]
    return found


def dressed(program: Program, seed: int) -> Dressed:
    rng = random.Random(seed)
    return Dresser(rng, program, asks=rng.random() < 0.4).dressed()
