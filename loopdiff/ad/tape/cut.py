"""Minimum cuts: of all ways to part what is asked for from what is there, the one that weighs least.

Found by augmenting paths, from one source after the other (Ford and Fulkerson, "Maximal flow through a network", 1956).
A source from which nothing more can be sent stays so, since what is sent later never comes where it could have gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from loopdiff.immutable import immutable

Graph = Mapping[int, Mapping[int, float]]


@immutable
class Cut:
    """What the edges that were cut weigh, and the nodes that still have a way to the sink; all others are on the side
    of the sources. Where several cuts weigh the same, it is the one nearest to the sink."""

    weight: float
    beyond: frozenset[int]


def minimum_cut(capacity: Graph, sources: Iterable[int], sink: int) -> Cut:
    """The cut of a graph with these edges that parts all `sources` from the `sink`: some edge on each way is finite."""
    room: dict[int, dict[int, float]] = {node: dict(edges) for node, edges in capacity.items()}
    for node, edges in capacity.items():
        for other in edges:
            room[other].setdefault(node, 0.0)
    sent = 0.0
    dead = set[int]()
    for source in sources:
        while way := way_between(source, sink, room, dead):
            amount = min(room[a][b] for a, b in pairwise(way))
            sent += amount
            for a, b in pairwise(way):
                room[a][b] -= amount
                room[b][a] += amount
    return Cut(sent, frozenset(with_way_to(sink, room)))


def way_between(start: int, end: int, room: Graph, dead: set[int]) -> Sequence[int]:
    """A shortest way on which there is room; empty if there is none: what was reached is `dead` then, as nothing is
    ever sent there again."""
    came: dict[int, int | None] = {start: None}
    pending = [start]
    for node in pending:
        for other, left in room[node].items():
            if left > 0.0 and other not in came and other not in dead:
                came[other] = node
                if other == end:
                    return back_from(end, came)
                pending.append(other)
    dead.update(came)
    return ()


def back_from(end: int, came: Mapping[int, int | None]) -> list[int]:
    way: list[int] = []
    node: int | None = end
    while node is not None:
        way.append(node)
        node = came[node]
    return way[::-1]


def with_way_to(end: int, room: Graph) -> set[int]:
    """The nodes from which there is a way to `end` with room on it, itself included."""
    found, pending = {end}, [end]
    while pending:
        node = pending.pop()
        new = [other for other in room[node] if other not in found and room[other][node] > 0.0]
        found.update(new)
        pending += new
    return found
