"""Forward sweeps that find themselves how long their tapes have to be.

Where data decide how often a loop runs, the tape is given room for as many iterations as the calls before have made.
The sweep fills what there is room for and goes on counting. Where that was too little, it is run again, on the same
arguments, with as much room as it has asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from operator import le
from typing import Any

import numpy as np

from loopdiff.calls.runs import Arguments, ReverseRun, with_spare
from loopdiff.memory.arena import Workspace
from loopdiff.rules.printing import silent

SPARE = 16  # iterations, and one in as many, that a tape has room for beyond what was asked for
WORN = 4  # times as much room as needed is not kept
Counts = tuple[int, ...]


class GrowingTapes:
    """The forward sweep of `run`, whose plan counts on its tapes.

    `state` is the room for each of the counts, and the last counts for which that was right.
    """

    def __init__(self, run: ReverseRun) -> None:
        self.run, self.call = run, run.units.forward.call
        self.touched = tuple(k for k, is_touched in enumerate(run.touched) if is_touched)
        self.state: tuple[Counts, Counts] = (SPARE,) * len(run.counters), ()

    def forward(self, *args: Any) -> tuple[Any, Workspace]:
        """The result, and the workspace with all that the reverse sweep needs.

        Where the sweep fails the arguments are as they were before.
        """
        run, arena = self.run, self.run.arena
        room, usual = self.state
        saved = [(k, run.memory.copy(args[k])) for k in self.touched]
        readable = run.readable(args)
        is_again = False
        while True:
            workspace = arena.take(arena.sizes((*readable, *room)))
            arrays = workspace.arrays
            try:
                with silent() if is_again else nullcontext():
                    value = self.call(*args, *arrays[: run.workspace_size])
            except BaseException as error:
                arena.give(workspace)
                restore(args, saved)
                if isinstance(error, ValueError):
                    raise run.units.forward.refuse(error) from None
                raise
            asked = tuple([arrays[k].item(0) for k in run.counters])
            if asked == usual:
                return value, workspace
            if all(map(le, asked, room)):
                self.state = (with_spare(asked, SPARE) if any(map(is_too_much, room, asked)) else room), asked
                return value, workspace
            arena.give(workspace)
            restore(args, saved)
            room, usual = self.state = with_spare(asked, SPARE), asked
            is_again = True


def restore(args: Arguments, saved: Sequence[tuple[int, np.ndarray]]) -> None:
    for k, value in saved:
        np.copyto(args[k], value)


def is_too_much(room: int, asked: int) -> bool:
    return room > WORN * (asked + SPARE)
