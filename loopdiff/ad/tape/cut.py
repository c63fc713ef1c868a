"""What to keep, as a minimum cut: values are kept one by one, or there are copies from which several are read.

Each value has a weight, and so has each copy; a value that finds all of the copies that it is read from need not be
kept. What is least, together, is a minimum cut of the graph from the source through values and copies to the sink,
found by augmenting paths (Picard, "Maximal closure of a graph and applications to combinatorial problems", 1976).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TypeVar

T = TypeVar("T")


def best_closure(worth: Mapping[T, float], wants: Mapping[T, frozenset[int]], cost: Sequence[float]) -> frozenset[int]:
    """The copies, by number, that weigh least together with the values that do not find all the copies they want.

    Values weigh `worth`, copies `cost`. Where both weigh the same, the values are kept.
    """
    supply, room = dict(worth), list(cost)
    flow: dict[int, dict[T, float]] = defaultdict(dict)
    for value in worth:
        while supply[value] > 0.0:
            way = augmenting(value, wants, room, flow)
            if not way:
                break
            send(way, supply, room, flow)
    reached, pending = set[int](), [v for v in worth if supply[v] > 0.0]
    while pending:
        new = wants[pending.pop()] - reached
        reached |= new
        pending += [v for copy in new for v, sent in flow[copy].items() if sent > 0.0]
    return frozenset(reached)


def augmenting(
    start: T, wants: Mapping[T, frozenset[int]], room: Sequence[float], flow: Mapping[int, Mapping[T, float]]
) -> list[tuple[T, int]]:  # fmt: skip
    """A way from the value `start` to a copy that has room: each value sends to a copy, from which the next one takes
    back what it sent."""
    came: dict[int, tuple[T, int | None]] = {}
    pending: list[tuple[T, int | None]] = [(start, None)]
    for value, before in pending:
        for copy in sorted(wants[value] - came.keys()):
            came[copy] = value, before
            if room[copy] > 0.0:
                return way_to(copy, came)
            pending += [(other, copy) for other, sent in flow.get(copy, {}).items() if sent > 0.0]
    return []


def way_to(copy: int, came: Mapping[int, tuple[T, int | None]]) -> list[tuple[T, int]]:
    way: list[tuple[T, int]] = []
    at: int | None = copy
    while at is not None:
        value, before = came[at]
        way.append((value, at))
        at = before
    return way[::-1]


def send(
    way: Sequence[tuple[T, int]], supply: dict[T, float], room: list[float], flow: Mapping[int, dict[T, float]]
) -> None:  # fmt: skip
    """Send as much as there is room for along `way`."""
    taken = [(copy, value) for (_, copy), (value, _) in pairwise(way)]
    (first, _), (_, last) = way[0], way[-1]
    amount = min(supply[first], room[last], *(flow[copy][value] for copy, value in taken))
    supply[first] -= amount
    room[last] -= amount
    for value, copy in way:
        flow[copy][value] = flow[copy].get(value, 0.0) + amount
    for copy, value in taken:
        flow[copy][value] -= amount
