"""Recursions that go deeper than Python lets calls be, as generators that a list of waiting ones runs.

Where a function would call itself once for each link of a chain as long as the program, it is a generator instead:
`yield f(...)` waits for the result of another one, `return` gives its own. The order of calls stays the same.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar

T = TypeVar("T")
Steps = Generator[Any, Any, T]


def completed(steps: Steps[T]) -> T:
    """What `steps` returns, every generator that it yields, and those that these yield, run to its end."""
    waiting: list[Steps[Any]] = [steps]
    found: Any = None
    while waiting:
        try:
            asked = waiting[-1].send(found)
        except StopIteration as end:
            waiting.pop()
            found = end.value
        else:
            waiting.append(asked)
            found = None
    return found
