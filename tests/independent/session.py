"""Check drawn programs for a while: draw, compare, shrink what fails, and count."""

from __future__ import annotations

import collections
import contextlib
import json
import random
import signal
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .bindings import programs
from .check import SETTINGS, Outcome, try_setting
from .compose import composed
from .containers import structured
from .edges import edge, spoilt
from .expected import Expected, Program, Unusable, cases_of, expected
from .idioms import idioms
from .lists import listed
from .models import models
from .raising import Raising, raised_at_all, raising_cases, try_raising
from .renaming import renamed
from .shrink import form, shrunk
from .surfaces.check import try_dressed
from .surfaces.drawn import drawn_dressed
from .surfaces.dress import Dressed
from .vary import varied, with_other_arguments

TAPES = (("auto", 4), ("store", 2), ("recompute", 2))
OTHERS = (("parallel", 0.06), ("from_end", 0.08), ("emulated", 0.05), ("jax", 0.08), ("second", 0.1))
DRESSED = 8  # every so many programs are methods, have values beside a loss, and so on
SECONDS = 60  # a program and its shrinking may take


class TooLong(BaseException):
    """A program took longer than it may; no program and no library catches this."""


@dataclass
class Counts:
    """What became of the programs so far."""

    outcomes: collections.Counter[str] = field(default_factory=collections.Counter)
    refusals: collections.Counter[str] = field(default_factory=collections.Counter)
    unusable: collections.Counter[str] = field(default_factory=collections.Counter)
    slowest: list[tuple[float, int]] = field(default_factory=list)


class limited:
    """Bounds the time that the processor spends on what is inside. `is_over`: it took longer, whatever came of it, as a
    callback of a compiler swallows what is raised in it, and leaves half of its work behind."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.is_over = seconds, False

    def __enter__(self) -> limited:
        signal.signal(signal.SIGPROF, self.alarm)
        signal.setitimer(signal.ITIMER_PROF, self.seconds, 1.0)  # again, where a callback swallowed the first
        return self

    def alarm(self, signum: int, frame: Any) -> None:
        self.is_over = True
        raise TooLong

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0.0)


def drawn(seed: int) -> Program:
    """A program composed of statements, a variation of one that somebody wrote, one at the edges, or one with methods,
    gradients and the like around it."""
    if seed % DRESSED == DRESSED - 1 and (found := drawn_dressed(seed)) is not None:
        return found
    rng = random.Random(seed + 3)
    if rng.random() < 0.15:
        return edge(seed)
    program = drawn_to_work(seed)
    if rng.random() < 0.3:
        program = renamed(rng, program)
    return spoilt(rng, program) if rng.random() < 0.15 else program


def drawn_to_work(seed: int) -> Program:
    if seed % 4 == 1:
        program = composed(seed)
    elif seed % 4 == 3:
        program = structured(seed)
    else:
        bases = [*idioms(), *listed(), *listed(), *programs(), *models(), *models()]
        program = varied(bases[seed // 2 % len(bases)], seed)
    return with_other_arguments(random.Random(seed + 2), program)


def plan(seed: int) -> tuple[list[str], frozenset[str]]:
    """The settings of a program, and which parts are checked under them."""
    rng = random.Random(seed + 1)
    names, weights = zip(*TAPES, strict=True)
    settings = [str(name) for name in rng.choices(names, weights)]
    settings += [name for name, probability in OTHERS if rng.random() < probability]
    parts = frozenset(
        part
        for part, probability in (("value", 0.25), ("jvp", 0.25), ("grad", 0.7), ("vjp", 0.4))
        if rng.random() < probability
    )
    return settings, parts or frozenset({"vjp"})


def outcomes(program: Program, seed: int, only: str | None = None) -> Iterator[Outcome]:
    """What became of the program under each setting, or under one, up to the first that is not `ok`: of the arguments
    that the oracle has something to say of, and of those for which Python raises."""
    settings, parts = plan(seed)
    if only is not None:
        settings = [only]
    raising, wants = raising_of(program), usable(program)
    if not raising and not wants:
        cases_of(program)  # which says why
    for setting in settings:
        for outcome in tried(program, wants, raising, setting, parts):
            yield outcome
            if outcome.kind != "ok":
                return


def raising_of(program: Program) -> Raising:
    """The arguments for which Python raises; of what is put around a program nobody asks that."""
    return [] if isinstance(program, Dressed) else raising_cases(program)


def usable(program: Program) -> list[Expected]:
    """What the oracle says of the arguments that it has something to say of."""
    found: list[Expected] = []
    for args in program.cases():
        if raised_at_all(program.source, args) is not None:
            continue
        with contextlib.suppress(Unusable):
            found.append(expected(program.source, args))
    return found


def tried(
    program: Program, wants: list[Expected], raising: Raising, setting: str, parts: frozenset[str]
) -> Iterator[Outcome]:
    if isinstance(program, Dressed):
        if wants and setting in SETTINGS:
            yield try_dressed(program, wants, setting, parts)
        return
    if wants:
        yield try_setting(wants, setting, parts)
    if raising and setting != "second":
        yield try_raising(program.source, raising, setting, parts, wants[0].args if wants else None)


def fails_alike(program: Program, outcome: Outcome, parts: frozenset[str]) -> bool:
    found = tried(program, usable(program), raising_of(program), outcome.setting, parts)
    return any(o.kind == outcome.kind and (o.kind in ("wrong", "silent") or o.stage == outcome.stage) for o in found)


def small(program: Program, outcome: Outcome, seed: int) -> Program:
    if isinstance(program, Dressed):
        return program
    _, parts = plan(seed)
    alone = (replace(program, others=(), args=args) for args in program.cases())
    program = next((p for p in alone if fails_alike(p, outcome, parts)), program)
    return shrunk(program, lambda other: fails_alike(other, outcome, parts), SECONDS)


def session(seeds: Iterator[int], seconds: float, record: Any, only: str | None = None) -> Counts:
    """Check programs of these seeds, under one setting if it is named; `record` gets a dictionary for each failure and
    refusal."""
    counts = Counts()
    end = time.monotonic() + seconds
    warnings.simplefilter("ignore")
    for seed in seeds:
        if time.monotonic() > end:
            break
        program = drawn(seed)
        start = time.process_time()
        record({"kind": "begin", "seed": seed})
        limit, done = limited(SECONDS), []
        try:
            with limit:
                done = list(outcomes(program, seed, only))
        except Unusable as error:
            counts.unusable[str(error)[:60]] += 1
            continue
        except TooLong:
            pass
        if limit.is_over:
            done = [Outcome("slow", message="took too long")]
        taken = time.process_time() - start
        counts.slowest = sorted([*counts.slowest, (round(taken, 1), seed)], reverse=True)[:5]
        counts.outcomes["programs"] += 1
        for outcome in done:
            note(counts, outcome, program, seed, record)
        if limit.is_over:
            break  # a library that was interrupted may be half done with something: a fresh process goes on
    return counts


def note(counts: Counts, outcome: Outcome, program: Program, seed: int, record: Any) -> None:
    counts.outcomes[f"{outcome.kind} {outcome.setting}".strip()] += 1
    if outcome.kind == "ok":
        return
    entry = {"kind": outcome.kind, "seed": seed, "setting": outcome.setting, "stage": outcome.stage}
    if outcome.kind == "refused":
        counts.refusals[outcome.stage] += 1
    record({**entry, "message": outcome.message, "program": program.runnable()})
    if not outcome.failed:
        return
    less = program
    try:
        with limited(3 * SECONDS):
            less = small(program, outcome, seed)
    except TooLong:
        pass
    again = next((o for o in again_of(less, outcome, seed) if o.kind == outcome.kind), outcome)
    record({**entry, "kind": "small", "form": form(less), "message": again.message, "program": less.runnable()})


def again_of(program: Program, outcome: Outcome, seed: int) -> Iterator[Outcome]:
    return tried(program, usable(program), raising_of(program), outcome.setting, plan(seed)[1])


class Recorder:
    """Appends records to a file, as lines of JSON."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("a")

    def __call__(self, entry: dict[str, Any]) -> None:
        self.file.write(json.dumps(entry) + "\n")
        self.file.flush()
