"""What a statement of a random program about the tape may mention, and where its lines go."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class OpenBlocks:
    """Names by what they are. All vectors have `n` elements, all matrices `m` rows and `n` columns; `indices` are
    arrays of `n` subscripts below `n`. `counters` are integers from zero up, of the loops that are open, `places`
    integers below `n` that data move.
    """

    vectors: list[str]
    matrices: list[str]
    indices: list[str]
    floats: list[str]
    is_square: bool
    places: list[str] = field(default_factory=list)
    counters: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    depth: int = 1
    used: int = 0

    def emit(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def fresh(self, stem: str) -> str:
        """A name that is not taken."""
        self.used += 1
        return f"{stem}{self.used}"

    @contextmanager
    def block(self, header: str, counter: str | None = None) -> Iterator[None]:
        """Lines meanwhile are the body of `header`, in which `counter` counts; a body without any does nothing."""
        self.emit(header)
        self.depth += 1
        start = len(self.lines)
        self.counters += [counter] if counter else []
        kept = (list(self.vectors), list(self.matrices), list(self.floats))
        yield
        self.vectors, self.matrices, self.floats = kept  # names that only some runs give something are not known later
        if counter:
            self.counters.remove(counter)
        if len(self.lines) == start:
            self.emit("pass")
        self.depth -= 1
