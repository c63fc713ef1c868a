"""What the derivative transforms know about one primal: the LoopSet and the answers of the analyses, as one value."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache

from loopdiff.ad.exits import Passes, mark_exits
from loopdiff.ad.regions import Region, mark_regions
from loopdiff.analysis.activity import Activity, analyse_activity
from loopdiff.analysis.cell_flow import live_at_entry
from loopdiff.analysis.exposure import exposed_reads, overwritten_after, rewritten_after, written_within
from loopdiff.analysis.ownership import Owned, homes_of_cells, inner_arrays, owned_arrays
from loopdiff.analysis.polyhedral.model import Model, build_model, index_hull, trip_hull
from loopdiff.analysis.repeatable import Repeatable, repeatable
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.typing import TypeEnv, type_env
from loopdiff.ir.walk import (
    Path,
    Site,
    accesses,
    exits,
    read_arrays,
    returned_arrays,
    statements,
    without_children,
    written_arrays,
)
from loopdiff.model import tuning
from loopdiff.model.edges import is_long


@immutable
class Facts:
    """`ls` is normal with marked regions and counted exits. `sites` by path, `lets` by name, `passes` by loop index;
    `births`: how many statements allocate an array. `homes`: for an active cell, the innermost loop whose iteration
    owns it (absent: the function). Of `inner` arrays nothing is seen outside of the block that makes them.

    `is_overwritten(path, access, scope)` answers `exposure.overwritten_after` and `is_rewritten` the like of what the
    statement itself writes, `is_written_within` answers `exposure.written_within`, remembered; `exposed(path)` are the
    arrays and cells of which an iteration of the loop at `path` may read what was there before it. `is_short(array,
    axis)`: whether all that is read and written there has one of a few constant subscripts. `written(path)` are the
    arrays that the statement at `path` writes, or one inside it; `writers` are the statements that write an array
    themselves, in the order of the text. `handed_on` are local arrays with rows that some outermost loops fill and
    others use; of a long program nobody asks.
    """

    ls: ir.LoopSet
    regions: tuple[Region, ...]
    passes: Mapping[str, Passes]
    activity: Activity
    types: TypeEnv
    repeatable: Repeatable
    sites: dict[Path, Site]
    lets: dict[str, Site]
    births: Mapping[str, int]
    homes: Mapping[str, Path]
    inner: frozenset[str]
    is_overwritten: Callable[[Path, ir.Access, Path | None], bool]
    is_rewritten: Callable[[Path, ir.Access, Path | None], bool]
    is_written_within: Callable[[Path, Path, ir.Access, bool], bool]
    trip_hull: Callable[[Path], ir.Expr | None]
    index_hull: Callable[[Path], tuple[ir.Expr, ir.Expr] | None]
    owners: Owned
    exposed: Callable[[Path], frozenset[str]]
    is_short: Callable[[str, int], bool]
    written: Callable[[Path], frozenset[str]]
    writers: Mapping[str, list[Path]]
    handed_on: frozenset[str]

    def state_of(self, array: str, path: Path) -> int:
        """How many statements that write `array` come before the one at `path` in the text."""
        return bisect_left(self.writers.get(array, ()), path)

    def loops_around(self, path: Path) -> tuple[tuple[Path, ir.Loop], ...]:
        """The loops that enclose the statement at `path`, outermost first, with their paths."""
        out: list[tuple[Path, ir.Loop]] = []
        for depth in range(1, len(path)):
            stmt = self.sites[path[:depth]].stmt
            if isinstance(stmt, ir.Loop):
                out.append((path[:depth], stmt))
        return tuple(out)


def is_open(stmt: ir.Stmt) -> bool:
    """Whether `stmt` is a loop that may end before its range is over."""
    return isinstance(stmt, ir.Loop) and bool(exits(stmt))


def gather_facts(ls: ir.LoopSet, wrt: tuple[str, ...]) -> Facts:
    """Analyse the normal LoopSet `ls` for differentiation with respect to `wrt`."""
    counted, passes = mark_exits(ls)
    marked, regions = mark_regions(counted)
    model = build_model(marked)
    sites = {s.path: s for s in statements(marked.body)}
    activity = analyse_activity(marked, wrt)
    return Facts(
        ls=marked,
        regions=regions,
        passes=passes,
        activity=activity,
        types=type_env(marked),
        repeatable=repeatable(marked),
        sites=sites,
        lets={s.stmt.name: s for s in sites.values() if isinstance(s.stmt, ir.Let)},
        births=Counter(s.stmt.array for s in sites.values() if isinstance(s.stmt, ir.Allocate)),
        homes={c: p for c, p in homes_of_cells(model, ()).items() if c in activity.active},
        inner=inner_arrays(marked),
        is_overwritten=cache(lambda path, access, scope: overwritten_after(model, path, access, scope)),
        is_rewritten=cache(lambda path, access, scope: rewritten_after(model, path, access, scope)),
        is_written_within=cache(lambda *read: written_within(model, *read)),
        trip_hull=cache(lambda path: None if is_open(sites[path].stmt) else trip_hull(model, path)),
        index_hull=cache(lambda path: index_hull(model, path)),
        owners=cache(lambda path: owned_arrays(marked, model, path)),
        exposed=cache(lambda path: exposed_arrays(marked, model, path)),
        is_short=cache(lambda array, axis: is_short_axis(model, sites, array, axis)),
        written=cache(lambda path: written_arrays((sites[path].stmt,))),
        writers=writers_in(sites),
        handed_on=frozenset() if is_long(marked) else between_nests(marked),
    )


def between_nests(ls: ir.LoopSet) -> frozenset[str]:
    local = {a.name for a in ls.arrays if a.role == "local" and a.type is not None and a.type.rank > 1}
    return frozenset(
        local.difference(returned_arrays(ls), *(read_arrays((s,)) & written_arrays((s,)) for s in ls.body))
    )


def is_short_axis(model: Model, sites: Mapping[Path, Site], array: str, axis: int) -> bool:
    """Whether all subscripts of `array` along `axis` are small constants, or those of loops of a few iterations."""
    found = [(site, a.subscripts) for site in sites.values() for a in accesses(site.stmt) if a.array == array]
    return bool(found) and all(
        len(subscripts) > axis and is_small(model, site, subscripts[axis]) for site, subscripts in found
    )


def is_small(model: Model, site: Site, subscript: ir.Expr) -> bool:
    match subscript:
        case ir.Const(value=value):
            return value < tuning.SEGMENTED_TRIPS
        case ir.Index(name=name):
            around = enumerate(site.enclosing, start=1)
            depth = next(k for k, s in around if isinstance(s, ir.Loop) and s.index == name)
            hull = index_hull(model, site.path[:depth])
            return (
                hull is not None and all(isinstance(end, ir.Const) for end in hull) and is_small(model, site, hull[1])
            )
        case _:
            return False


def writers_in(sites: Mapping[Path, Site]) -> Mapping[str, list[Path]]:
    """The statements that write each array themselves, in the order of the text."""
    found: dict[str, list[Path]] = {}
    for path, site in sites.items():
        for array in written_arrays((without_children(site.stmt),)):
            found.setdefault(array, []).append(path)
    return found


def exposed_arrays(ls: ir.LoopSet, model: Model, path: Path) -> frozenset[str]:
    loop = next(s.stmt for s in statements(ls.body) if s.path == path)
    assert isinstance(loop, ir.Loop)
    cells = frozenset(a.name for a in ls.arrays if a.role == "local" and a.type is not None and a.type.rank == 0)
    found = frozenset(access.array for _, access in exposed_reads(model, path)) - cells
    # What a cell is at the start may decide nothing but what it becomes: that counts as well.
    return found | live_at_entry(loop.body, cells, cells)
