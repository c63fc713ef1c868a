"""The result of reverse mode, as a value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from loopdiff.ad.tape.plan import KeptValue, Tape
from loopdiff.ad.tape.recordings import Recorded
from loopdiff.errors import Span
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir

SweepForm = Literal["sums", "pullback", "gradient"]


@immutable
class Sweeps:
    """The pair of LoopSets, the plan between them, and the run that sizes tapes of data-dependent extent.

    `counts` takes the arguments and returns the integers that `count_names`, which occur as `Param`s in tape extents,
    stand for; it may write the arrays it is given. None when every extent follows from the shapes, and where only the
    forward sweep itself can count: run on empty tapes, it leaves the integers in `count_tapes`. `seeds` are the
    parameters of `reverse` for the floating results, `buffers` those for the adjoints of argument arrays.
    `counted` tells the `count_names` apart from those of other plans for the same program, which count other loops.
    `hindered`: where loops are that do not run again, and why, if the policy would have them do so.
    `has_segments`: it runs a loop again in segments.
    """

    forward: ir.LoopSet
    reverse: ir.LoopSet
    temporaries: tuple[KeptValue, ...]
    seeds: tuple[str, ...]
    buffers: Mapping[str, str]
    counts: ir.LoopSet | None = None
    count_names: tuple[str, ...] = ()
    count_tapes: tuple[str, ...] = ()
    counted: tuple[str, ...] = ()
    hindered: tuple[tuple[Span, str], ...] = ()
    has_segments: bool = False


@dataclass(frozen=True, eq=False)
class Built:
    """A tape that sweeps are planned on, what it weighs with what else goes from one to the other, what is `made` again
    beside it, and these sweeps, which are put together when somebody asks for them: of most plans only the weights are
    compared."""

    tape: Tape
    weight: float
    made: Iterable[Recorded]
    assemble: Callable[[], Sweeps]

    @cached_property
    def sweeps(self) -> Sweeps:
        return self.assemble()
