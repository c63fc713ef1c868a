"""Schedules that are worth a measurement (`autotune=True`) beside the one that the cost model finds fastest."""

from __future__ import annotations

from collections.abc import Iterator

from loopdiff.analysis.polyhedral.model import Model
from loopdiff.errors import ScheduleError
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import loops_in, statements
from loopdiff.mapping.lane_blocks import is_block_loop
from loopdiff.mapping.loops import Arranged, VectorLoop
from loopdiff.model import tuning
from loopdiff.model.machine import Machine
from loopdiff.model.prediction import predict
from loopdiff.model.trip_counts import Extents
from loopdiff.schedule.cpu.planner import plan
from loopdiff.settings.requests import Request, Requests
from loopdiff.source.words import stem_of


def other_vectors(
    model: Model, arranged: Arranged, extents: Extents, machine: Machine, sweep: str, may_reassociate: bool, most: int
) -> list[Request]:  # fmt: skip
    """Requests for vectors along other loops of the nests that take the time, the most promising first, `most` at
    most; each is for a schedule of its own."""
    base = predict(arranged.ls, arranged.schedule, extents, machine)
    known, found = {arranged.schedule.mappings}, list[tuple[float, Request]]()
    for request in list(vectors(arranged, dict(base.nests), base.total, sweep))[: tuning.PREDICTED_SCHEDULES]:
        try:
            schedule = plan(model, may_reassociate=may_reassociate, machine=machine, requests=Requests((request,)))
        except ScheduleError:
            continue
        total = predict(arranged.ls, schedule, extents, machine).total
        if total < tuning.PREDICTION_DOUBT * base.total and schedule.mappings not in known:
            known.add(schedule.mappings)
            found.append((total, request))
    return [r for _, r in sorted(found, key=lambda f: f[0])[:most]]


def vectors(arranged: Arranged, times: dict[tuple[int, ...], float], total: float, sweep: str) -> Iterator[Request]:
    """Requests for a vector along each loop that is none, the dearest nests first."""
    for path, took in sorted(times.items(), key=lambda t: -t[1]):
        if took < tuning.NEST_SHARE * total:
            return
        top = arranged.ls.body[path[0]]
        for site in statements((top,)):
            place = (path[0], *site.path[1:])
            if isinstance(site.stmt, ir.Loop) and not isinstance(arranged.schedule.of(place), VectorLoop):
                yield Request(sweep, site.stmt.index, 0, "vector", is_exact=True)


def without_blocks(arranged: Arranged, sweep: str) -> list[Request]:
    """Requests for none of the blocks of rows or lanes that there are."""
    loops = list(loops_in(arranged.ls.body))
    names = {(stem_of(p.index).removesuffix("_block"), p.loc.line) for p in loops if is_block_loop(p)}
    return [Request(sweep, index, line, "rows", 0) for index, line in sorted(names)]
