"""Tuples, lists, dictionaries and records of arrays and numbers: their leaves, one by one and all alike."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple


class State(NamedTuple):
    """A named tuple that programs may use."""

    h: Any
    c: Any


@dataclass
class Model:
    """A dataclass that programs may use."""

    w: Any
    b: Any
    k: Any = 1.0


RECORDS: dict[str, Any] = {"State": State, "Model": Model}


def parts_of(value: Any) -> list[tuple[str, Any]] | None:
    """The parts of a structure, with how they are spelt behind it; None for a leaf."""
    match value:
        case Model():
            return [(f".{field.name}", getattr(value, field.name)) for field in dataclasses.fields(value)]
        case State():
            return [(f".{name}", getattr(value, name)) for name in value._fields]
        case dict():
            return [(f'["{key}"]' if isinstance(key, str) else f"[{key}]", part) for key, part in value.items()]
        case list() | tuple():
            return [(f"[{i}]", part) for i, part in enumerate(value)]
        case _:
            return None


def with_parts(value: Any, parts: list[Any]) -> Any:
    """A structure like `value` of other parts."""
    match value:
        case Model() | State():
            return type(value)(*parts)
        case dict():
            return dict(zip(value, parts, strict=True))
        case _:
            return type(value)(parts)


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of a structure, in order, each with its path."""
    parts = parts_of(value)
    if parts is None:
        yield path, value
    else:
        for name, part in parts:
            yield from leaves(part, path + name)


def mapped(function: Callable[..., Any], value: Any, *others: Any) -> Any:
    """`value` with its leaves replaced by what `function` makes of them and of what stands there in `others`."""
    parts = parts_of(value)
    if parts is None:
        return function(value, *others)
    along = [[part for _, part in parts_of(other) or ()] for other in others]
    return with_parts(value, [mapped(function, part, *rest) for (_, part), *rest in zip(parts, *along, strict=True)])


def outline(value: Any) -> Any:
    """What two structures share whose leaves may differ."""
    parts = parts_of(value)
    return None if parts is None else (type(value), [(name, outline(part)) for name, part in parts])


def is_structure(value: Any) -> bool:
    return parts_of(value) is not None
