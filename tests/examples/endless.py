"""A measurement that never ends: it says one figure first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping


def rows(task: Mapping[str, object], trying: Callable[[str], None]) -> Iterator[dict[str, object]]:
    yield {"base": 1.0}
    trying("value")
    while task:
        pass
