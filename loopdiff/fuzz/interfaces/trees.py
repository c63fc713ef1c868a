"""Tuples, lists, dictionaries, records and objects, taken apart without anything of loopdiff's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from loopdiff.fuzz.interfaces.jets import Jet

Path = tuple[Any, ...]


def held_items(value: Any) -> list[tuple[Any, Any]] | None:
    """What a structure holds, by key, place or attribute; None for anything else."""
    match value:
        case dict():
            return list(value.items())
        case list() | tuple():
            return list(enumerate(value))
        case np.ndarray() | type():
            return None
        case _ if hasattr(value, "__dict__") and not callable(value) and type(value).__module__ == "__main__":
            return list(vars(value).items())
        case _:
            return None


def with_items(value: Any, items: list[Any]) -> Any:
    """A structure like `value` that holds others."""
    match value:
        case dict():
            return dict(zip(value, items, strict=True))
        case tuple() if hasattr(value, "_fields"):
            return type(value)(*items)
        case list() | tuple():
            return type(value)(items)
        case _:
            made = object.__new__(type(value))
            vars(made).update(zip(vars(value), items, strict=True))
            return made


def each_leaf(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """What is no structure, with where it stands."""
    items = held_items(value)
    if items is None:
        yield path, value
    for key, item in items or ():
        yield from each_leaf(item, (*path, key))


def remade(function: Callable[[Path, Any], Any], value: Any, path: Path = ()) -> Any:
    """`value` with what `function` makes of each leaf."""
    items = held_items(value)
    if items is None:
        return function(path, value)
    return with_items(value, [remade(function, item, (*path, key)) for key, item in items])


def is_real(value: Any) -> bool:
    """Whether there are derivatives by a leaf; arrays of objects hold numbers of plain Python here."""
    return value.dtype.kind in "fO" if isinstance(value, np.ndarray) else isinstance(value, float | np.floating | Jet)


def outline_of(value: Any) -> Any:
    """What structures have in common that differ in their leaves alone; classes of two programs go by their names."""
    items = held_items(value)
    return None if items is None else (type(value).__name__, [(key, outline_of(item)) for key, item in items])
