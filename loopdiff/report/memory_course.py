"""Memory in the course of both sweeps: which arrays hold how many bytes when, as predicted for the arguments of a call.

An array takes memory from when it is first touched: nobody clears what the sweeps are given. A tape grows while the
loops run that fill it. What goes from sweep to sweep is given back only after the reverse sweep.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import touched_arrays, written_arrays
from loopdiff.model.prediction import Prediction

Phase = Literal["forward", "reverse", "both"]


@immutable
class Claim:
    """An array that sweeps are going to hold: the parameter `name` of theirs, which reports call `title`.

    `phase`: in which sweep; those of `both` from when they are first touched, others all the time. `is_filled`: the
    loops of the forward sweep fill it as they go, so that it grows.
    """

    name: str
    title: str
    reason: str
    bytes: int
    phase: Phase = "both"
    is_filled: bool = False


@immutable
class HeldArray:
    """An array in memory: none of its `bytes` before `begin`, all of them from `full` on, and none from `end` on."""

    title: str
    reason: str
    bytes: int
    begin: float
    full: float
    end: float

    def at(self, time: float, is_before: bool = False) -> float:
        """The bytes that it holds at a time; `is_before`: just before it."""
        if not (self.begin < time <= self.end if is_before else self.begin <= time < self.end):
            return 0.0
        if time >= self.full:
            return float(self.bytes)
        return self.bytes * (time - self.begin) / (self.full - self.begin)


@immutable
class MemoryCourse:
    """The arrays that both sweeps of `function` hold, from the start of the forward sweep to the `end` of the reverse
    sweep, which begins at the `turn`.

    Times are nanoseconds, as the cost model predicts them; without a cost model, as for a GPU, the statements of the
    sweeps are counted that are inside of no other one (`is_timed` is false).
    """

    function: str
    arrays: tuple[HeldArray, ...]
    turn: float
    end: float
    is_timed: bool

    @property
    def times(self) -> tuple[float, ...]:
        """When an array appears, is full or goes; between these everything is linear."""
        marks = {t for a in self.arrays for t in (a.begin, a.full, a.end)}
        return tuple(sorted({0.0, self.turn, self.end} | marks))

    def curve(self) -> Iterator[tuple[float, tuple[float, ...]]]:
        """Times, and the bytes of each array: before what happens at each of `times`, and after that."""
        for time in self.times:
            for is_before in (True, False):
                if (time, is_before) not in ((0.0, True), (self.end, False)):
                    yield time, tuple(a.at(time, is_before) for a in self.arrays)

    @property
    def peak(self) -> int:
        """Most bytes at any time."""
        return round(max((sum(held) for _, held in self.curve()), default=0.0))


@immutable
class SweepCourse:
    """The statements of a sweep, as they are arranged, and how long each is predicted to take, if that is known."""

    ls: ir.LoopSet
    prediction: Prediction | None

    def spans(self, start: float) -> list[tuple[ir.Stmt, float, float]]:
        """The outermost statements of a sweep that begins at `start`, from when to when each runs."""
        body = self.ls.body
        took = dict.fromkeys(range(len(body)), 1.0) if self.prediction is None else nanoseconds(self.prediction)
        now = start + (0.0 if self.prediction is None else self.prediction.total - sum(took.values()))
        found: list[tuple[ir.Stmt, float, float]] = []
        for number, stmt in enumerate(body):
            found.append((stmt, now, now + took.get(number, 0.0)))
            now = found[-1][2]
        return found

    def length(self) -> float:
        return float(len(self.ls.body)) if self.prediction is None else self.prediction.total


def nanoseconds(prediction: Prediction) -> dict[int, float]:
    """How long outermost statements take, by their numbers; others take next to nothing."""
    return {path[0]: took for path, took in prediction.nests}


def memory_course(
    function: str, claims: Iterable[Claim], forward: SweepCourse, reverse: SweepCourse
) -> MemoryCourse:  # fmt: skip
    """What both sweeps of `function` hold when, of the arrays that they claim; the greatest ones come first."""
    turn = forward.length()
    end = turn + reverse.length()
    there, back = forward.spans(0.0), reverse.spans(turn)
    first = first_touched([*there, *back])
    filled = last_written(there)
    held: list[HeldArray] = []
    for claim in sorted(claims, key=lambda c: -c.bytes):
        match claim.phase:
            case "forward":
                begin, stop = 0.0, turn
            case "reverse":
                begin, stop = turn, end
            case "both":
                begin, stop = first.get(claim.name, 0.0), end
        full = filled.get(claim.name, begin) if claim.is_filled else begin
        held.append(HeldArray(claim.title, claim.reason, claim.bytes, begin, full, stop))
    return MemoryCourse(function, tuple(held), turn, end, forward.prediction is not None)


def first_touched(spans: Sequence[tuple[ir.Stmt, float, float]]) -> Mapping[str, float]:
    """When the first statement begins that has to do with each array."""
    found: dict[str, float] = {}
    for stmt, begin, _ in spans:
        for name in touched_arrays((stmt,)):
            found.setdefault(name, begin)
    return found


def last_written(spans: Sequence[tuple[ir.Stmt, float, float]]) -> Mapping[str, float]:
    """When the last statement ends that writes each array."""
    return {name: end for stmt, _, end in spans for name in written_arrays((stmt,))}
