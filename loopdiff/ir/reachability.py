"""What is reached from somewhere along edges: names from names, mostly, through the statements that make them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

K = TypeVar("K", bound=Hashable)


def reached(seed: Iterable[K], onward: Mapping[K, Iterable[K]]) -> set[K]:
    """`seed`, and all that is reached from it along the edges `onward`, each of which is followed once."""
    found = set(seed)
    todo = list(found)
    while todo:
        for node in onward.get(todo.pop(), ()):
            if node not in found:
                found.add(node)
                todo.append(node)
    return found
