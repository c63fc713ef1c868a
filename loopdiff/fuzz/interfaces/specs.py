"""What arguments are made of, as it is drawn: how a structure is written, and how its parts are read."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from random import Random
from typing import Literal

from loopdiff.immutable import immutable

SpecKind = Literal[
    "vector", "matrix", "number", "count", "text", "none", "either", "many", "dict", "list", "tuple", "record", "object"
]
LEAVES: tuple[SpecKind, ...] = ("vector", "matrix", "number", "count", "text", "none", "either", "many")
# By class: how it is defined, and whether it is a named tuple, which goes by place too.
CLASSES = {
    "Pair": 'Pair = namedtuple("Pair", "w b")',
    "Cell": "@dataclass\nclass Cell:\n    w: object\n    b: object\n",
    "Box": "class Box:\n    def __init__(self, w, b):\n        self.w, self.b = w, b\n",
}
KEYS = ("w", "b", "k", "m")


@immutable
class Spec:
    """A leaf, or a structure of `parts` by key, attribute or place; a record or an object is of the class `made`."""

    kind: SpecKind
    parts: tuple[tuple[str, Spec], ...] = ()
    made: str = ""

    @property
    def is_leaf(self) -> bool:
        return self.kind in LEAVES

    @property
    def is_uniform(self) -> bool:
        """Whether it can be iterated over, all that comes being alike."""
        return self.kind in ("list", "tuple") and len({part for _, part in self.parts}) == 1

    @property
    def has_only_floats(self) -> bool:
        """Whether a program can ask for the gradient by all of it."""
        return all(leaf.kind in ("vector", "matrix", "number") for _, leaf in self.leaves())

    @property
    def is_floating(self) -> bool:
        return any(leaf.kind in ("vector", "matrix", "number") for _, leaf in self.leaves())

    def leaves(self, text: str = "") -> Iterator[tuple[str, Spec]]:
        """The leaves, each as it is read from what is called `text`."""
        if self.is_leaf:
            yield text, self
        for key, part in self.parts:
            yield from part.leaves(text + self.read(key))

    def nodes(self, text: str = "") -> Iterator[tuple[str, Spec]]:
        """All that there is, itself and structures in it too."""
        yield text, self
        for key, part in self.parts:
            yield from part.nodes(text + self.read(key))

    def read(self, key: str) -> str:
        match self.kind:
            case "dict":
                return f'["{key}"]'
            case "list" | "tuple":
                return f"[{key}]"
            case _:
                return f".{key}"

    def written(self, parts: list[str]) -> str:
        """The expression that makes such a structure of its parts."""
        match self.kind:
            case "dict":
                pairs = zip(self.parts, parts, strict=True)
                return f"{{{', '.join(f'{key!r}: {text}' for (key, _), text in pairs)}}}".replace("'", '"')
            case "list":
                return f"[{', '.join(parts)}]"
            case "tuple":
                return f"({', '.join(parts)},)"
            case _:
                return f"{self.made}({', '.join(parts)})"


VECTOR, MATRIX, NUMBER, COUNT = Spec("vector"), Spec("matrix"), Spec("number"), Spec("count")
MANY = Spec("many")


def draw_leaf(rng: Random, others: float = 1.0) -> Spec:
    kinds: tuple[SpecKind, ...] = ("vector", "number", "matrix", "count", "text", "none", "either", "many")
    weights = (6, 3, 1, 0.8 * others, 0.3 * others, 0.2 * others, 0.5 * others, 0.5 * others)
    return Spec(rng.choices(kinds, weights)[0])


def draw_structure(rng: Random, depth: int, others: float = 1.0) -> Spec:
    """A structure of leaves and of smaller structures; `others`: how likely leaves are that are no floats."""

    def part() -> Spec:
        is_leaf = depth <= 1 or rng.random() < 0.6
        return draw_leaf(rng, others) if is_leaf else draw_structure(rng, depth - 1, others)

    kinds: tuple[SpecKind, ...] = ("dict", "list", "tuple", "record", "object")
    kind = rng.choices(kinds, (4, 3, 1.5, 2.5, 2))[0]
    match kind:
        case "dict":
            keys = rng.sample(KEYS, rng.choice((2, 2, 3)))
            return Spec(kind, tuple((key, part()) for key in keys))
        case "list" | "tuple":
            count = rng.choice((1, 2, 2, 3))
            one = part()
            parts = [one] * count if rng.random() < 0.7 else [part() for _ in range(count)]
            return Spec(kind, tuple((str(k), p) for k, p in enumerate(parts)))
        case _:
            made = rng.choice(("Pair", "Cell")) if kind == "record" else "Box"
            return Spec(kind, (("w", part()), ("b", part())), made)


class GivenText:
    """Writes arguments as they are handed over; each number and array has a name of its own."""

    def __init__(self, rng: Random) -> None:
        self.rng, self.numbers = rng, count()

    def text(self, spec: Spec) -> str:
        match spec.kind:
            case "vector" | "matrix" | "number":
                return f'{spec.kind}("v{next(self.numbers)}")'
            case "count":
                return f'whole("v{next(self.numbers)}")'
            case "text" | "none" | "either" | "many":
                made = "perhaps" if spec.kind == "none" else spec.kind
                return f'{made}("v{next(self.numbers)}")'
            case _:
                return spec.written([self.text(part) for _, part in spec.parts])


def used_classes(text: str) -> list[str]:
    """The definitions of the classes that a text names."""
    return [definition for name, definition in CLASSES.items() if f"{name}(" in text]
