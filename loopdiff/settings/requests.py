"""What an expert asks of the schedule: `schedule={"reverse": {"m": "scalar", "n@12": "vector", "r": "rows=32"}}`, or of
kernels for GPUs: `schedule={"reverse": {"t": "sequential", "n@12": "threads", "k": "warp"}}`.

A loop goes by the name of its index in the program, which stands for all the loops that the compiler made of it, and
where that is not enough by its line as well. Whether a wish can be granted is for the planner to say.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, Literal, TypeVar, cast

from loopdiff.errors import NOWHERE, ArgumentError
from loopdiff.errors.codes import reject
from loopdiff.immutable import immutable
from loopdiff.source.words import in_user_words

Wish = Literal["vector", "scalar", "tile", "rows", "threads", "sequential", "warp", "plain"]
Size = TypeVar("Size")
ON_CPU: tuple[Wish, ...] = ("vector", "scalar", "tile")
ON_GPU: tuple[Wish, ...] = ("threads", "sequential", "warp", "plain")
SWEEPS = ("primal", "forward", "reverse", "tangent")
LOOP = re.compile(r"([A-Za-z_]\w*)(?:@(\d+))?")
WISH = re.compile(rf"({'|'.join((*ON_CPU, *ON_GPU))})|rows=(\d+)|(no rows)")


@immutable
class Request:
    """A wish for the loops over `index`, those at `line` only unless it is 0, of one sweep; `size` is that of a block
    of rows, 0 for none. `is_exact`: `index` is the name of one loop of the sweep, not that in the program.
    """

    sweep: str
    index: str
    line: int
    wish: Wish
    size: int = 0
    is_exact: bool = False

    @property
    def loop(self) -> str:
        return f"{self.index}@{self.line}" if self.line else self.index


@immutable
class Requests:
    """What is asked of one sweep, of a program that uses the names `words`."""

    items: tuple[Request, ...] = ()
    words: frozenset[str] = frozenset()

    def matching(self, index: str, line: int) -> tuple[Request, ...]:
        """Requests for the loop over `index` at `line`, those that name it most exactly first."""
        own = in_user_words(index, self.words)
        found = [r for r in self.items if r.line in (0, line) and r.index in ((index,) if r.is_exact else (index, own))]
        return tuple(sorted(found, key=lambda r: (not r.is_exact, r.index != index, not r.line)))

    def wish(self, index: str, line: int) -> Wish | None:
        """What the loop is to become."""
        return next((r.wish for r in self.matching(index, line) if r.wish != "rows"), None)

    def rows(self, index: str, line: int, default: Size) -> int | Size:
        """The size of blocks of rows; 0 for none."""
        return next((r.size for r in self.matching(index, line) if r.wish == "rows"), default)


NOTHING = Requests()


def requests_of(schedule: Mapping[str, Mapping[str, str]] | None) -> tuple[Request, ...]:
    """The requests of the argument `schedule`. Raises ArgumentError (LD309) for one that cannot be read."""
    return tuple(
        request_of(sweep, loop, wish)
        for sweep, loops in entries(schedule or {})
        for loop, wish in entries(loops_of(sweep, loops))
    )


def loops_of(sweep: Any, loops: Any) -> Any:
    """`loops`, of a sweep that there is."""
    if sweep not in SWEEPS:
        message = f"`schedule` names the sweep {sweep!r}; there are {', '.join(map(repr, SWEEPS))}"
        raise ArgumentError(reject("LD309", message, NOWHERE))
    return loops


def entries(mapping: Any) -> Collection[tuple[Any, Any]]:
    if not isinstance(mapping, Mapping):
        message = f"`schedule` has {mapping!r} where a mapping belongs: from sweeps to mappings from loops to wishes"
        raise ArgumentError(reject("LD309", message, NOWHERE))
    return mapping.items()


def request_of(sweep: str, loop: Any, wish: Any) -> Request:
    place, wanted = LOOP.fullmatch(str(loop)), WISH.fullmatch(str(wish))
    if place is None:
        message = f"`schedule` names the loop {loop!r}, not an index such as 'i', or 'i@12' for the one at line 12"
    elif wanted is None:
        known = ", ".join(map(repr, (*ON_CPU, *ON_GPU)))
        message = f"`schedule` wishes {wish!r} for `{loop}`, not {known}, 'rows=64' or 'no rows'"
    else:
        kind, size, _ = wanted.groups()
        form: Wish = "rows" if kind is None else cast(Wish, kind)
        return Request(sweep, place[1], int(place[2] or 0), form, int(size or 0))
    raise ArgumentError(reject("LD309", message, NOWHERE))
