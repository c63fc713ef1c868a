"""Checks one random program after another, in a process of its own, and reports."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any, Literal, Protocol

import numpy as np
from numba import config

from loopdiff.fuzz.check import Outcome, check
from loopdiff.fuzz.engines import deep_copied
from loopdiff.fuzz.entry import entry_text
from loopdiff.fuzz.generate import generate
from loopdiff.fuzz.interfaces.judge import check_interface
from loopdiff.fuzz.interfaces.program import InterfaceProgram
from loopdiff.fuzz.interfaces.writer import generate_interface
from loopdiff.fuzz.program import RandomProgram
from loopdiff.fuzz.rows import generate_from_table
from loopdiff.fuzz.settings import PROCESSORS
from loopdiff.fuzz.shrink import shrink
from loopdiff.fuzz.tapes.judge import check_tapes
from loopdiff.fuzz.tapes.program import TapeProgram
from loopdiff.fuzz.tapes.writer import generate_about_tapes
from loopdiff.immutable import immutable, replace

PROGRAMS_PER_PROCESS = 500
FROM_TABLE = 6  # every so many programs are of the language table
ABOUT_INTERFACES = 7  # and every so many of the others about what functions take and give
ABOUT_TAPES = 11  # and of the rest about what is kept between the sweeps
Subject = Literal["everything", "language", "interfaces", "tapes"]
LONGEST = 600.0  # seconds for a program, which may share a core with others
MOST_MEMORY = 12 << 30  # bytes of address space for it


@immutable
class Campaign:
    """What to run: programs of the seeds from `seed` on, until `count` of them or `seconds` are over.

    Programs whose seed is a multiple of `compiled` run compiled too (0: none). `isolate` puts programs into a
    process of their own, so that one that crashes ends neither the campaign nor its report. All are `about` one
    subject, or about each by turns.
    """

    seed: int = 0
    count: int | None = None
    seconds: float | None = 60.0
    compiled: int = 20
    save: Path | None = None
    isolate: bool = True
    about: Subject = "everything"


@dataclass(slots=True)
class Summary:
    """Numbers of programs by verdict, of refusals by code, and the failures, shrunk."""

    verdicts: Counter[str] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[RandomProgram, Outcome]] = field(default_factory=list)
    compiled: int = 0
    seconds: float = 0.0

    @property
    def programs(self) -> int:
        return self.verdicts.total()

    def __str__(self) -> str:
        rate = self.programs / max(self.seconds, 1e-9)
        counts = ", ".join(f"{self.verdicts[v]} {v}" for v in ("passed", "refused", "invalid", "failed"))
        return f"{self.programs} programs ({self.compiled} compiled): {counts}; {rate:.1f} per second"


def run_campaign(campaign: Campaign) -> Summary:
    """Run, print failures as they come and a line of progress on a terminal; the totals."""
    pool = Pool() if campaign.isolate else None
    try:
        return summary_of(campaign, pool.check if pool else checked)
    finally:
        if pool:
            pool.close()


def summary_of(campaign: Campaign, judge: Judge) -> Summary:
    summary, line = Summary(), ProgressLine()
    with suppress(KeyboardInterrupt):  # who ends a long campaign wants to know how far it came
        go_through(campaign, judge, summary, line)
    line.clear()
    return summary


def go_through(campaign: Campaign, judge: Judge, summary: Summary, line: ProgressLine) -> None:
    start = time.monotonic()
    for program, is_compiled, outcome in judged(campaign, judge, start):
        summary.verdicts[outcome.verdict] += 1
        summary.compiled += is_compiled
        summary.seconds = time.monotonic() - start
        if outcome.verdict in ("refused", "invalid"):
            summary.codes[outcome.stage] += 1
        if outcome.verdict == "failed":
            line.clear()
            small = shrunk(program, outcome, is_compiled, judge)
            summary.failures.append((small, outcome))
            report(small, outcome, campaign.save)
        line.show(f"{summary}, seed {program.seed}")
    summary.seconds = time.monotonic() - start


def judged(campaign: Campaign, judge: Judge, start: float) -> Iterator[tuple[RandomProgram, bool, Outcome]]:
    """Every program of the campaign with its outcome."""
    number = 0
    while campaign.count is None or number < campaign.count:
        if campaign.seconds is not None and time.monotonic() - start >= campaign.seconds:
            return
        program = program_of(campaign.seed + number, campaign.about)
        number += 1
        is_compiled = campaign.compiled > 0 and program.seed % campaign.compiled == 0
        yield program, is_compiled, judge(program, compiled=is_compiled)


def program_of(seed: int, about: Subject = "everything") -> RandomProgram:
    """The program of a seed: of some it is put together from the examples of the language table, of others it is about
    structures, methods and what else there is around a function, or about states that loops over time overwrite."""
    match about:
        case "interfaces":
            return generate_interface(seed)
        case "tapes":
            return generate_about_tapes(seed)
        case "everything" if seed % ABOUT_INTERFACES == ABOUT_INTERFACES - 1 and seed % FROM_TABLE != FROM_TABLE - 1:
            return generate_interface(seed)
        case "everything" if seed % ABOUT_TAPES == ABOUT_TAPES - 1 and seed % FROM_TABLE != FROM_TABLE - 1:
            return generate_about_tapes(seed)
        case _:
            return generate_from_table(seed) if seed % FROM_TABLE == FROM_TABLE - 1 else generate(seed)


def checked(program: RandomProgram, *, compiled: bool) -> Outcome:
    """What becomes of a program of any kind."""
    match program:
        case InterfaceProgram():
            return check_interface(program, compiled=compiled)
        case TapeProgram():
            return check_tapes(program, compiled=compiled)
        case _:
            return check(program, compiled=compiled)


class Judge(Protocol):
    """Checks a program."""

    def __call__(self, program: RandomProgram, *, compiled: bool) -> Outcome: ...


class Pool:
    """Processes that check programs, one for each processor that code is compiled for.

    A process is replaced after a while, as compiled code is never freed, after a crash, and where it does not answer.
    """

    def __init__(self) -> None:
        self.executors: dict[str, ProcessPoolExecutor] = {}
        self.pids: dict[str, int] = {}
        self.used: Counter[str] = Counter()

    def check(self, program: RandomProgram, *, compiled: bool) -> Outcome:
        processor = program.setting.processor if compiled else ""
        if self.used[processor] >= PROGRAMS_PER_PROCESS:
            self.close(processor)
        if processor not in self.executors:
            context = multiprocessing.get_context("spawn")
            self.executors[processor] = ProcessPoolExecutor(1, context, prepare, (processor, MOST_MEMORY))
            self.pids[processor] = self.executors[processor].submit(os.getpid).result()
        self.used[processor] += 1
        future: Future[Outcome] = self.executors[processor].submit(checked, program, compiled=compiled)
        try:
            return future.result(LONGEST)
        except BrokenProcessPool:
            self.close(processor)
            return Outcome("failed", "crash", "the process ended", program.sizes[0])
        except TimeoutError:
            os.kill(self.pids[processor], signal.SIGKILL)
            self.close(processor)
            return Outcome("failed", "time", f"no answer in {LONGEST} seconds", program.sizes[0])

    def close(self, *processors: str) -> None:
        """End the processes for `processors`, or all."""
        for processor in processors or tuple(self.executors):
            self.executors.pop(processor).shutdown()
            self.used[processor] = 0


def prepare(processor: str, memory: int) -> None:
    """Let this process compile for `processor`, if it has a name, in so many bytes, and end with the one that started
    it, however that ends."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        Thread(target=lambda: (parent.join(), os._exit(1)), daemon=True).start()
    with suppress(ImportError):  # where there is no such limit
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, resource.getrlimit(resource.RLIMIT_AS)[1]))
    gc.set_threshold(100_000, 20, 100)  # this process comes to its end before what it leaves matters
    if processor:
        numba: Any = config
        numba.CPU_NAME, numba.CPU_FEATURES = processor, PROCESSORS[processor]


def shrunk(program: RandomProgram, outcome: Outcome, compiled: bool, judge: Judge) -> RandomProgram:
    """A smaller program that fails in the same stage."""
    if outcome.sizes is None or outcome.stage == "time":
        return program
    compiled = compiled and outcome.stage.startswith(("compiled", "crash"))

    def fails(candidate: RandomProgram) -> bool:
        found = judge(candidate, compiled=compiled)
        return found.verdict == "failed" and found.stage == outcome.stage

    alone = replace(program, sizes=(outcome.sizes,))
    return shrink(alone, fails, attempts=150 if compiled else 1500) if fails(alone) else program


def report(program: RandomProgram, outcome: Outcome, folder: Path | None) -> None:
    print(f"seed {program.seed}, sizes {program.sizes}, wrt {program.wrt}, {program.setting}: {outcome.stage}")
    print(*program.arguments, sep="\n")
    print(f"{program.text}{outcome.detail}\n", flush=True)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"seed_{program.seed}.py"
        path.write_text(text_of(program, outcome.stage), encoding="utf-8")


def text_of(program: RandomProgram, stage: str) -> str:
    """A failing program as a file: a corpus entry, or what tests of `loopdiff.fuzz.interfaces` take."""
    if isinstance(program, InterfaceProgram):
        return f"# seed {program.seed}, sizes {program.sizes}, {program.setting}: {stage}\n{program.text}"
    return entry_text(program, stage, written_by(program))


def written_by(program: RandomProgram) -> tuple[str, ...]:
    """The arrays that the program changes, as Python shows: to compile it again may be what failed."""
    args = program.values(program.sizes[0])
    before = deep_copied(args)
    with suppress(Exception):
        program.function()(*args.values())
    arrays = ((n, v) for n, v in args.items() if isinstance(v, np.ndarray))
    return tuple(n for n, v in arrays if v.tobytes() != before[n].tobytes())


class ProgressLine:
    """One line on a terminal, rewritten; elsewhere a line every minute."""

    def __init__(self) -> None:
        self.shown = time.monotonic()
        self.is_terminal = sys.stderr.isatty()

    def show(self, text: str) -> None:
        if self.is_terminal:
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
        elif time.monotonic() - self.shown > 60:
            self.shown = time.monotonic()
            print(text, file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self.is_terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
