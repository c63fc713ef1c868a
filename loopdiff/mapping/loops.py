"""What a loop can become: a vector, a register tile, or plain scalar code."""

from __future__ import annotations

from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import Path


@immutable
class VectorLoop:
    """Iterations of the loop run in the lanes of vectors; `reductions` are summed over the lanes.

    `may_be_short`: often it has not enough for a vector, so that what is left over runs as scalar code. `few`: if there
    are no more than so many, all run as scalar code.
    """

    reductions: tuple[str, ...]
    may_be_short: bool = False
    few: int = 0


@immutable
class Product:
    """A contraction as a product of matrices: `left` has the rows of the target, `right` its columns.

    Rows and sums are named from the inside out. `lanes`: one product for each of these indices. `scale` is the same for
    all elements; `is_packed` says that `right` is always copied.
    """

    rows: tuple[str, ...]
    columns: str
    lanes: tuple[str, ...]
    sums: tuple[str, ...]
    left: ir.Access
    right: ir.Access
    scale: ir.Expr
    is_packed: bool

    @property
    def kinds(self) -> tuple[tuple[str, ...], ...]:
        """Indices of the loops that it is made of, by kind."""
        return (self.rows, (self.columns,), *((self.lanes,) if self.lanes else ()), self.sums)


@immutable
class TiledNest:
    """A contraction whose results stay in registers: a tile of `rows` and `columns`, vectors along `lanes`.

    The columns may be vectors themselves (`lanes` is `columns`); the lanes may be summed (dot products). A `product` of
    matrices is also blocked for the caches. `over_windows`: the rows slide along a loop that is summed, or both sides
    of dot products go over windows of a few elements.
    """

    lanes: str
    rows: str | None
    columns: str
    sums: tuple[str, ...]
    product: Product | None = None
    over_windows: bool = False

    @property
    def is_dot(self) -> bool:
        return self.lanes in self.sums


@immutable
class ScalarLoop:
    """Iterations run one after the other; `reason` says what forbids more.

    `through`: the access that makes each iteration wait for an earlier one, if one does. `together`: so many
    iterations go through each of the vector loops in them at once.
    """

    reason: str
    through: ir.Access | None = None
    together: int = 1


Mapping = VectorLoop | TiledNest | ScalarLoop


@immutable
class NestedCut:
    """Pieces along the loop over `index`, which begin at multiples of `granule` and have `least` iterations or more.
    `is_dear`: each costs something, so that there are only some, where one thread would be left with more than another.
    """

    index: str
    granule: int
    least: int
    is_dear: bool = False


@immutable
class Parallel:
    """Chunks of the loop over `index` run on several threads; they begin at multiples of `granule` iterations.

    Every chunk has arrays of its own for `arrays`, those in `zero` all zero at first, and cells of its own for `cells`.
    For `sums` as well, and what it has accumulated there is brought together in the order of the chunks. Into arrays of
    `near` only chunks side by side accumulate in the same place, if they are `reach` iterations long: every second one
    runs first, then the others. `late`: for each statement of the loop, in how many first iterations of chunks but the
    first one it waits until all chunks have ended. `early`: so many iterations before its first one a chunk begins, to
    fill `arrays` and nothing else. `beside`: indices of further loops inside this one that go through the same
    iterations, of which a chunk has the same part. `is_repeated`: the loop runs again and again, so that threads are
    still awake. `further`: loops inside along which chunks are cut as well where those around have too few iterations.
    `instead`: loops inside that are shared where this one has no two chunks.
    """

    index: str
    granule: int = 1
    reach: int = 1
    sums: tuple[tuple[str, ir.AccumulateOp], ...] = ()
    near: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()
    arrays: tuple[str, ...] = ()
    zero: tuple[str, ...] = ()
    late: tuple[int, ...] = ()
    early: int = 0
    beside: tuple[str, ...] = ()
    is_repeated: bool = False
    further: tuple[NestedCut, ...] = ()
    instead: tuple[tuple[Path, Parallel], ...] = ()

    @property
    def cut(self) -> tuple[str, ...]:
        """Indices of the loops of which a chunk has a part."""
        return (self.index, *self.beside)


@immutable
class Serial:
    """The loop runs on one thread, for this `reason`."""

    reason: str


Sharing = Parallel | Serial


@immutable
class Schedule:
    """A mapping for every loop that is reached; loops inside a VectorLoop or TiledNest have none of their own.

    `sharing`: for the outermost of these loops whether they run on several threads, where that was asked.
    """

    mappings: tuple[tuple[Path, Mapping], ...]
    sharing: tuple[tuple[Path, Sharing], ...] = ()

    def of(self, path: Path) -> Mapping | None:
        return next((m for p, m in self.mappings if p == path), None)

    @property
    def shared(self) -> dict[Path, Parallel]:
        """How loops run on several threads, of those that do."""
        return {path: s for path, s in self.sharing if isinstance(s, Parallel)}


@immutable
class Arranged:
    """A LoopSet whose loops are arranged, and their schedule; `threads`: another arrangement for several threads, where
    one is needed for them.
    """

    ls: ir.LoopSet
    schedule: Schedule
    threads: Arranged | None = None
