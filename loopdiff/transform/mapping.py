"""What a loop can become: a vector, a register tile, or plain scalar code."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class VectorLoop:
    """Iterations of the loop run in the lanes of vectors; `reductions` are summed over the lanes."""

    reductions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TiledNest:
    """A contraction whose results stay in registers: a tile of `rows` and `columns`, vectors along `lanes`.

    The columns may be vectors themselves (`lanes` is `columns`); the lanes may be summed (dot products).
    """

    lanes: str
    rows: str | None
    columns: str
    sums: tuple[str, ...]

    @property
    def is_dot(self) -> bool:
        return self.lanes in self.sums


@dataclass(frozen=True, slots=True)
class ScalarLoop:
    """Iterations run one after the other; `reason` says what forbids more."""

    reason: str


Mapping = VectorLoop | TiledNest | ScalarLoop
