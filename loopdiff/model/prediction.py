"""Predicted times of a function under a schedule, for given arguments."""

from __future__ import annotations

from loopdiff.analysis.contractions import contraction
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import integer
from loopdiff.ir.typing import type_env
from loopdiff.ir.walk import Path, children, statements
from loopdiff.mapping.loops import ScalarLoop, Schedule, TiledNest, VectorLoop
from loopdiff.model.cost import OFTEN, CostModel
from loopdiff.model.machine import Machine
from loopdiff.model.traffic import Traffic
from loopdiff.model.trip_counts import Extents, Ranges, TripCounter

ZERO_TO_ONE = (integer(0), integer(1), integer(1))
FILLED = 16.0  # bytes in a nanosecond of fresh memory
ENTRY, ARGUMENT = 300.0, 15.0  # nanoseconds of a call from Python, and of each argument


@immutable
class Prediction:
    """Nanoseconds of a function, `nests` those of the outermost loops by path."""

    total: float
    nests: tuple[tuple[Path, float], ...]


def predict(ls: ir.LoopSet, schedule: Schedule, extents: Extents, machine: Machine) -> Prediction:
    """How long `ls`, whose loops are arranged, takes under `schedule` for arguments of `extents`."""
    counter = TripCounter.of(ls, extents)
    predictor = Predictor(CostModel(ls, type_env(ls), machine, counter), schedule)
    traffic = Traffic(counter, schedule, machine)
    bare = ir.Loop("", *ZERO_TO_ONE, ls.body)
    touched = traffic.footprint(bare, {})
    nests: list[tuple[Path, float]] = []
    for number, stmt in enumerate(ls.body):
        busy = predictor.below((stmt,), (), {}, number)
        if busy:
            nests.append(((number,), max(busy, traffic.nanoseconds(stmt, (number,), touched))))
    filled = sum(
        traffic.whole(s.stmt.array) / FILLED
        for s in statements(ls.body)
        if isinstance(s.stmt, ir.Allocate) and s.stmt.fill is not None and not s.loops
    )
    straight = machine.nanoseconds(predictor.costs.straight(ls.body).cycles)
    entry = ENTRY + ARGUMENT * len(ls.params)
    return Prediction(sum(ns for _, ns in nests) + filled + straight + entry, tuple(nests))


@immutable
class Predictor:
    costs: CostModel
    schedule: Schedule

    def below(self, body: tuple[ir.Stmt, ...], path: Path, ranges: Ranges, first: int = 0) -> float:
        """Nanoseconds of the loops in `body`, whose statements are numbered from `first`."""
        total = 0.0
        for number, stmt in enumerate(body, first):
            match stmt:
                case ir.Loop():
                    total += self.loop(stmt, (*path, number), ranges)
                case ir.If():
                    total += OFTEN * self.below(children(stmt), (*path, number), ranges)
                case _:
                    pass
        return total

    def loop(self, stmt: ir.Loop, path: Path, ranges: Ranges) -> float:
        match self.schedule.of(path):
            case TiledNest() as tile:
                found = contraction(stmt)
                assert found is not None
                return self.costs.tile(found, tile, ranges)
            case VectorLoop():
                return self.costs.vector(stmt, ranges)
            case ScalarLoop(through=through):
                _, span = self.costs.counter.trips(stmt, ranges)
                below = self.below(stmt.body, path, {**ranges, stmt.index: span})
                return self.costs.scalar(stmt, below, through, ranges)
            case None:
                raise AssertionError(path)
