"""Settings of a compilation. The only module that reads the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from math import inf
from pathlib import Path
from typing import Literal, get_args

from loopdiff.errors import NOWHERE, ArgumentError
from loopdiff.errors.codes import reject
from loopdiff.immutable import immutable, replace
from loopdiff.settings.requests import ON_CPU, ON_GPU, Request

TapePolicy = Literal["auto", "store", "recompute"]
# Those after the first are not for users: see `ad.reverse`.
PlanPolicy = TapePolicy | Literal["rows", "recompute-2", "recompute-3", "recompute-5"]
# The policies that recompute, those that repeat less first: in how many levels of segments a loop runs again.
SEGMENT_LEVELS: Mapping[PlanPolicy, int] = {"recompute": 1, "recompute-2": 2, "recompute-3": 3, "recompute-5": 5}
Accuracy = Literal["default", "high"]
Check = Literal["cheap", "always", "first", "never"]
Negative = Literal["error", "from_end"]
Target = Literal["cpu", "cuda", "cuda-emulated"]
Arrays = Literal["host", "device"]
Shown = Literal["auto", "always", "never"]
MemoryLimit = float | Literal["auto"] | None


@immutable
class Options:
    """What the arguments of `vectorize_grad` other than `wrt` say.

    `tape`: how values travel from the forward to the reverse sweep. `fastmath`: whether sums may be reordered
    and products fused (never that NaN or infinity do not occur). `parallel`: whether loops may run on
    several threads.
    `cache`: whether compiled code is kept on disk. `accuracy`: `high` asks elementary functions for 1 ulp.
    `check`: how it is noticed that arrays changed which a pullback still needs.
    `memory_limit`: most bytes the arrays between the sweeps may take; beyond it values are recomputed. `auto`: half of
    the memory that is free when a function is called.
    `schedule`: what is asked of loops. `autotune`: whether several schedules are measured, and the fastest remembered.
    `progress`: whether it is shown how far compiling is; `auto`: to who waits at a terminal.
    `target`: where loops run. `cuda-emulated` runs CUDA kernels on the CPU, thread after thread.
    `arrays`: where those of callers are, which calls find out themselves.
    `spill`: the folder for files with what goes from the forward to the reverse sweep, in place of memory.
    `has_aux`: whether gradients are those of the first of what is returned. `of_loss`: whether nothing else that is
    returned has a derivative, in the sweeps of these gradients.
    `negative`: what subscripts are that are negative for some arguments: errors, or counted `from_end`, as in Python.

    Raises ArgumentError (LD309) for a value that is not one of these.
    """

    tape: TapePolicy = "auto"
    fastmath: bool = True
    parallel: bool = False
    cache: bool = True
    accuracy: Accuracy = "default"
    memory_limit: MemoryLimit = None
    check: Check = "cheap"
    schedule: tuple[Request, ...] = ()
    autotune: bool = False
    target: Target = "cpu"
    arrays: Arrays = "host"
    progress: Shown = "auto"
    negative: Negative = "error"
    spill: str | None = None
    has_aux: bool = False
    of_loss: bool = False

    def __post_init__(self) -> None:
        choices = {
            "tape": get_args(TapePolicy), "accuracy": get_args(Accuracy), "check": get_args(Check),
            "target": get_args(Target), "progress": get_args(Shown), "negative": get_args(Negative),
        }  # fmt: skip
        for name in ("fastmath", "parallel", "cache", "autotune", "has_aux"):
            choices[name] = (True, False)
        wrong = [
            reject(
                "LD309",
                f"`{name}` is {getattr(self, name)!r}, not one of {', '.join(map(repr, allowed))}",
                NOWHERE,
            )
            for name, allowed in choices.items()
            if getattr(self, name) not in allowed
        ]
        limit = self.memory_limit
        if limit not in (None, "auto") and not (isinstance(limit, int | float) and 0 <= limit < inf):
            wrong.append(reject("LD309", f"`memory_limit` is {limit!r}, not a number of bytes or 'auto'", NOWHERE))
        if self.spill is not None and not os.path.isdir(self.spill):
            wrong.append(reject("LD309", f"`spill` is {self.spill!r}, and there is no such folder", NOWHERE))
        if self.target != "cpu":
            asked = {"parallel": self.parallel, "autotune": self.autotune, "spill": self.spill is not None}
            wrong += [
                reject("LD309", f"`{name}` is for the CPU, and `target` is {self.target!r}", NOWHERE)
                for name, given in asked.items()
                if given
            ]
        others = ON_GPU if self.is_for_cpu else ON_CPU
        wrong += [
            reject("LD309", f"`schedule` wishes {r.wish!r} for `{r.loop}`, and `target` is {self.target!r}", NOWHERE)
            for r in self.schedule
            if r.wish in others
        ]
        if wrong:
            raise ArgumentError(*wrong)

    @property
    def is_for_cpu(self) -> bool:
        return self.target == "cpu"

    @property
    def key(self) -> str:
        """Text of what generated code depends on."""
        limit = None if self.memory_limit is None else 0  # it chooses among sweeps and changes none of them
        return repr(
            replace(self, check="cheap", autotune=False, progress="auto", memory_limit=limit, spill=None, has_aux=False)
        )


def debug_level() -> int:
    """`LOOPDIFF_DEBUG`: 1 prints stage times, 2 the IR after each stage, 3 the generated source."""
    text = os.environ.get("LOOPDIFF_DEBUG", "0")
    return int(text) if text.isdigit() else 0


def shown() -> Shown:
    """`LOOPDIFF_PROGRESS`: whether it is shown how far compiling is."""
    match os.environ.get("LOOPDIFF_PROGRESS", ""):
        case "always" | "never" as said:
            return said
        case _:
            return "auto"


def skipped_passes() -> frozenset[str]:
    """`LOOPDIFF_SKIP`: passes to leave out, by name, with commas between them."""
    return frozenset(filter(None, os.environ.get("LOOPDIFF_SKIP", "").split(",")))


def most_changes() -> int | None:
    """`LOOPDIFF_BISECT`: how many changes of passes may happen in this process; None for all."""
    text = os.environ.get("LOOPDIFF_BISECT", "")
    return int(text) if text.isdigit() else None


def is_whole_compiler() -> bool:
    """Whether no pass is left out, so that what is generated may be kept."""
    return not skipped_passes() and most_changes() is None


def dump_directory() -> Path | None:
    """`LOOPDIFF_DUMP`: where the text of every stage is written, if anywhere."""
    text = os.environ.get("LOOPDIFF_DUMP", "")
    return Path(text) if text else None


def thread_count() -> int:
    """`LOOPDIFF_NUM_THREADS`: threads of loops that run in parallel; by default the cores this process may use."""
    text = os.environ.get("LOOPDIFF_NUM_THREADS", "")
    if text.isdigit() and int(text) > 0:
        return int(text)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
