"""The structures that programs are composed with: what they are made of, and functions of all that is in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .compose import data
from .draw import REAL, Helper, Kind, vector
from .statements import N
from .structures import RECORDS

VECTOR, SQUARE = vector("n"), Kind("array", (N, N))


@dataclass(frozen=True)
class Form(Kind):
    """The kind of a structure: how it is made, and its parts, by how they are spelt behind it."""

    sort: str = "structure"
    maker: str = ""
    parts: tuple[tuple[str, Kind], ...] = ()

    @property
    def is_frozen(self) -> bool:
        return self.maker in ("tuple", "State")

    @property
    def kinds(self) -> list[Kind]:
        return [kind for _, kind in self.parts]

    @property
    def is_uniform(self) -> bool:
        return len(set(self.kinds)) == 1


def sequence(maker: str, *kinds: Kind) -> Form:
    return Form(maker=maker, parts=tuple((f"[{i}]", kind) for i, kind in enumerate(kinds)))


def dictionary(**kinds: Kind) -> Form:
    return Form(maker="dict", parts=tuple((f'["{key}"]', kind) for key, kind in kinds.items()))


def record(maker: str, *kinds: Kind) -> Form:
    names = RECORDS[maker].__annotations__
    return Form(maker=maker, parts=tuple((f".{name}", kind) for name, kind in zip(names, kinds, strict=True)))


LAYER = sequence("tuple", SQUARE, VECTOR)
FORMS: dict[str, list[Form]] = {
    "p": [
        dictionary(w=VECTOR, b=VECTOR),
        dictionary(w=VECTOR, b=VECTOR, k=REAL),
        dictionary(W=SQUARE, b=VECTOR),
        dictionary(a=REAL, b=REAL),
        dictionary(ws=sequence("list", VECTOR, VECTOR), k=REAL),
    ],
    "ws": [sequence("list", VECTOR, VECTOR), sequence("list", VECTOR, VECTOR, VECTOR), sequence("list", REAL, REAL)],
    "layers": [
        sequence("list", LAYER, LAYER),
        sequence("list", *[dictionary(w=VECTOR, b=REAL)] * 2),
        sequence("list", *[sequence("tuple", VECTOR, REAL)] * 3),
    ],
    "st": [
        record("State", VECTOR, VECTOR),
        record("State", VECTOR, REAL),
        record("State", VECTOR, SQUARE),
        sequence("tuple", VECTOR, VECTOR),
        sequence("tuple", VECTOR, SQUARE),
        sequence("tuple", REAL, REAL),
    ],
    "md": [record("Model", VECTOR, VECTOR, REAL), record("Model", SQUARE, VECTOR, REAL)],
}
POOLS = {"p": ["p2", "q2"], "ws": ["vs", "us"], "layers": ["net"], "st": ["s2", "old"], "md": ["m2"]}
NONE = (Kind("none"),)
TOTAL = """
def total(*vs, weight=1.0):
    result = weight * vs[0]
    for v1 in vs[1:]:
        result = result * 0.5 + v1
    return result
"""
MIX = """
def mix(w, b, k=0.5, **rest):
    return k * w + (1.0 - k) * np.roll(b, 1)
"""
WITH_ALL = [Helper(name, text.strip(), NONE, NONE) for name, text in (("total", TOTAL), ("mix", MIX))]
MAPS = ["0.5 * {0}", "{0} + {1}", "np.tanh({0})", "{0} * {0}", "{0} - 0.1 * {1}", "{0} / (1.0 + {0} * {0})"]


def prefix(form: Form) -> str:
    """The name that structures of this form have as arguments."""
    return next((name for name, forms in FORMS.items() if form in forms), "ws")


def given(kind: Kind, size: int, rng: np.random.Generator) -> Any:
    """An argument of this kind."""
    if not isinstance(kind, Form):
        return data(rng, *(size for _ in kind.shape)) if kind.sort == "array" else float(data(rng, 1)[0])
    parts = [given(part, size, rng) for part in kind.kinds]
    match kind.maker:
        case "dict":
            return dict(zip((path[2:-2] for path, _ in kind.parts), parts, strict=True))
        case "list":
            return parts
        case "tuple":
            return tuple(parts)
        case maker:
            return RECORDS[maker](*parts)
