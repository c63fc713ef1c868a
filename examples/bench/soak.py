"""How much was tried and how much of it failed: large shapes, many types, a million calls, many callers, forks.

    python examples/bench/soak.py [--quick] [--write] [--seed S] [--programs N] [NAME ...]

Each part runs in a process of its own, so that a crash is a failure of its part. `--write` puts the rows into
`docs/reliability.md`. Exit status 1 if anything failed.
"""

from __future__ import annotations

import argparse
import datetime
import gc
import multiprocessing
import os
import platform
import re
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from threading import Event, Thread
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import numba  # noqa: E402
import numpy as np  # noqa: E402
from soak_shapes import LEAST, MOST, NESTS, check_shapes  # noqa: E402

from loopdiff import __version__, set_num_threads, vectorize_grad  # noqa: E402
from loopdiff.fuzz.campaign import Campaign, run_campaign  # noqa: E402

PAGE = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- soak -->", "<!-- end of soak -->"
CALLERS = 16
STUCK = 120  # seconds after which a forked process counts as hung


@dataclass(frozen=True, slots=True)
class Counts:
    """How much of everything: shapes of each nest, the longest axis, and the rest."""

    shapes: int = 12
    longest: int = MOST
    types: int = 1000
    calls: int = 1_000_000
    concurrent: int = 10_000
    forks: int = 200
    programs: int = 300
    seed: int = 0


QUICK = Counts(shapes=1, longest=LEAST + 20, types=6, calls=4000, concurrent=200, forks=2, programs=3)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table; `wrong` says what failed."""

    what: str
    tried: int
    wrong: tuple[str, ...] = ()
    note: str = ""

    def __str__(self) -> str:
        return f"| {self.what} | {self.tried:,} | {len(self.wrong):,} | {self.note} |"


def resident() -> float:
    """MB of memory that this process holds."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1]) if Path("/proc/self/statm").exists() else 0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


# -- large shapes --------------------------------------------------------------------------------------------
def large_shapes(counts: Counts) -> Row:
    tried, wrong = check_shapes(counts.shapes, counts.longest, counts.seed)
    note = (
        f"{len(NESTS)} nests, `float32` and `float64`, with and without threads, up to {counts.longest:,} in every axis"
    )
    return Row("values and gradients of large arrays, against NumPy", tried, tuple(wrong), note)


# -- specialisations -----------------------------------------------------------------------------------------
def mixed(x, y, c):
    z = x * y + c
    return np.sum(z * z)


def arguments(rng: np.random.Generator) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Settings and arguments of all kinds, each with a text that says which; none comes twice."""
    seen: set[str] = set()
    while True:
        rank = int(rng.integers(1, 5))
        shape = tuple(int(n) for n in rng.integers(2, 5, rank))
        kinds = [str(rng.choice(["float64", "float32", "int64", "int32"])) for _ in range(2)]
        orders = [str(rng.choice(["C", "F", "strided"] if rank > 1 else ["C", "strided"])) for _ in range(2)]
        x, y = (array(rng, shape, kind, order) for kind, order in zip(kinds, orders, strict=True))
        c = [1.5, 2, np.float32(0.5), True][int(rng.integers(4))]
        settings: dict[str, Any] = {
            "fastmath": bool(rng.integers(2)),
            "tape": str(rng.choice(["auto", "store", "recompute"])),
            "wrt": tuple(n for n, kind in zip("xy", kinds, strict=True) if kind.startswith("float")),
        }
        text = f"{rank} {kinds} {orders} {type(c).__name__} {settings}"
        if settings["wrt"] and text not in seen:
            seen.add(text)
            yield text, settings, {"x": x, "y": y, "c": c}


def array(rng: np.random.Generator, shape: tuple[int, ...], kind: str, order: str) -> np.ndarray:
    """Halves, which all types hold and sum exactly."""
    values = rng.integers(-3, 4, shape) * (0.5 if kind.startswith("float") else 1)
    if order == "strided":
        found = np.zeros((*shape[:-1], 2 * shape[-1]), kind)[..., ::2]
        found[...] = values
        return found
    return np.array(values, kind, order=order)  # type: ignore[call-overload]


def many_types(counts: Counts) -> Row:
    wrong: list[str] = []
    known: dict[tuple[Any, ...], Any] = {}
    before, start = resident(), time.perf_counter()
    for text, settings, args in islice(arguments(np.random.default_rng(counts.seed)), counts.types):
        key = tuple(settings.values())
        if key not in known:
            known[key] = vectorize_grad(cache=False, **settings)(mixed)
        try:
            value, gradients = known[key].value_and_grad(**args)
            z = args["x"].astype(float) * args["y"] + args["c"]
            right = {"x": 2 * z * args["y"], "y": 2 * z * args["x"]}
            is_right = value == np.sum(z * z) and all(
                np.array_equal(g, right[n]) for n, g in gradients._asdict().items()
            )
        except Exception as error:
            text, is_right = f"{text}: {error!r}", False
        if not is_right:
            wrong.append(text)
    took, grown = time.perf_counter() - start, resident() - before
    note = f"{1e3 * took / counts.types:.0f} ms and {1e3 * grown / counts.types:.0f} kB each, compiled anew"
    return Row("specialisations of one function: types, ranks, layouts, settings", counts.types, tuple(wrong), note)


# -- calls ---------------------------------------------------------------------------------------------------
def energy(x, y):
    e = 0.0
    for i in range(1, x.shape[0]):
        y[i] = np.sin(x[i]) * x[i - 1] + 0.5 * y[i - 1]
        e += y[i] * y[i]
    return e


def energies(x):
    total = 0.0
    for i in range(x.shape[0]):
        row = 0.0
        for j in range(x.shape[1]):
            row += np.sin(x[i, j]) * x[i, j]
        total += row * row
    return total


def many_calls(counts: Counts) -> Row:
    f, rng = vectorize_grad(wrt=("x",))(energy), np.random.default_rng(counts.seed)
    x = rng.uniform(-1.0, 1.0, 50)

    def results() -> list[tuple[float, bytes]]:
        value, gradient = f.value_and_grad(x, np.zeros(50))
        result, pullback = f.vjp(x, np.zeros(50))
        third = f(x, np.zeros(50))
        return [(value, gradient.x.tobytes()), (result, pullback(1.0).x.tobytes()), (third, b"")]

    wanted, differing = results(), 0
    for _ in range(counts.calls // 100):
        results()
    before = resident()
    rounds = counts.calls // 3 + 1
    for _ in range(rounds):
        differing += results() != wanted
    grown = resident() - before
    wrong = [f"other bits in {differing} rounds"] * bool(differing) + [f"{grown:.1f} MB more"] * (grown > 4.0)
    note = f"value, gradient and pullback in turn, the same bits each time; memory {grown:+.1f} MB from {before:.0f} MB"
    return Row("calls of one function", 3 * rounds, tuple(wrong), note)


def many_callers(counts: Counts) -> Row:
    """Two functions, one with threads of its own, called from many threads with arrays of many sizes."""
    rng = np.random.default_rng(counts.seed)
    functions = vectorize_grad(energies), vectorize_grad(parallel=True)(energies)
    inputs = [rng.uniform(-1.0, 1.0, (n, n + 3)) for n in (1, 2, 7, 30, 65, 128, 300)]
    alone = [[result_of(f, x) for x in inputs] for f in functions]

    def call(number: int) -> str | None:
        which, k = number % 2, number // 2 % len(inputs)
        return None if result_of(functions[which], inputs[k]) == alone[which][k] else f"call {number}"

    with ThreadPoolExecutor(CALLERS) as executor:
        wrong = tuple(text for text in executor.map(call, range(counts.concurrent)) if text)
    return Row(f"calls from {CALLERS} threads at once", counts.concurrent, wrong, "the bits of a caller alone")


def result_of(f: Any, x: np.ndarray) -> tuple[float, bytes]:
    value, gradient = f.value_and_grad(x)
    return value, gradient.x.tobytes()


# -- forks ---------------------------------------------------------------------------------------------------
def many_forks(counts: Counts) -> Row:
    """Processes forked while another thread keeps the pool busy; each child computes on threads of its own."""
    set_num_threads(3)
    f = vectorize_grad(parallel=True)(energies)
    x = np.random.default_rng(counts.seed).uniform(-1.0, 1.0, (400, 500))
    wanted, done = result_of(f, x), Event()
    odd: list[int] = []

    def keep_busy() -> None:
        while not done.is_set():
            odd.extend([1] * (result_of(f, x) != wanted))

    busy = Thread(target=keep_busy)
    busy.start()
    try:
        ends = [fork_once(lambda: result_of(f, x) == wanted) for _ in range(counts.forks)]
    finally:
        done.set()
        busy.join()
    wrong = [f"child ended with {status}" for status in ends if status] + ["the parent's result"] * len(odd)
    return Row(
        "forks while the threads are busy", counts.forks, tuple(wrong), "parent and child go on, with the same bits"
    )


def fork_once(check: Callable[[], bool]) -> int:
    """0 if the child found what `check` wants; its status, or the signal that ended it, otherwise."""
    child = os.fork()
    if child == 0:
        status = 3
        try:
            signal.alarm(STUCK)
            status = 0 if check() else 2
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


# -- random programs -----------------------------------------------------------------------------------------
def random_programs(counts: Counts) -> Row:
    found = run_campaign(Campaign(10_000_000 + counts.seed, counts.programs, None, compiled=1))
    wrong = tuple(f"seed {p.seed}: {outcome.stage}" for p, outcome in found.failures)
    verdicts = f"{found.verdicts['refused']} refused, {found.verdicts['invalid']} without a certain result"
    note = f"`python -m loopdiff fuzz --compiled 1`; {verdicts}"
    return Row("random programs, compiled", counts.programs, wrong, note)


PARTS: dict[str, Callable[[Counts], Row]] = {
    "shapes": large_shapes, "types": many_types, "calls": many_calls, "callers": many_callers, "forks": many_forks,
    "programs": random_programs,
}  # fmt: skip


def run_apart(name: str, counts: Counts) -> Row:
    """The row of a part, made in a process of its own."""
    if name == "programs":  # these have processes of their own
        return PARTS[name](counts)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as executor:
        try:
            return executor.submit(PARTS[name], counts).result()
        except BrokenProcessPool:
            return Row(name, 1, ("the process ended",))


# -- the page ------------------------------------------------------------------------------------------------
def environment() -> str:
    info = Path("/proc/cpuinfo")
    named = re.findall(r"^model name\s*: (.*)$", info.read_text(), re.M) if info.exists() else []
    versions = f"loopdiff {__version__}, Python {platform.python_version()}, NumPy {np.__version__}"
    cores = f"{os.cpu_count()} cores of {named[0] if named else platform.machine()}"
    return f"{datetime.date.today()}; {cores}; {platform.system()}; {versions}, Numba {numba.__version__}."


HEAD = "| what | tried | failed | |\n| --- | ---: | ---: | --- |\n"


def table(rows: Iterable[Row | str]) -> str:
    return HEAD + "\n".join(map(str, rows))


def written(page: str, about: str, rows: list[Row]) -> str:
    """`page` with `rows` in its table, in place of those that were there, and `about` above it."""
    head, rest = page.split(BEGIN)
    old, tail = rest.split(END)
    lines = {line.split(" | ")[0]: line for line in old.partition(HEAD)[2].splitlines() if line}
    lines |= {str(row).split(" | ")[0]: str(row) for row in rows}
    return f"{head}{BEGIN}\n{about}\n\n{table(lines.values())}\n{END}{tail}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"parts (default: all): {', '.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="a little of everything, in half a minute")
    parser.add_argument("--seed", type=int, default=0, help="of all that is drawn")
    parser.add_argument("--programs", type=int, metavar="N", help="how many random programs (default: 300)")
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.name}")
    options = parser.parse_args()
    unknown = set(options.names) - set(PARTS)
    if unknown:
        parser.error(f"no part {', '.join(sorted(unknown))}")
    counts = replace(QUICK if options.quick else Counts(), seed=options.seed)
    if options.programs is not None:
        counts = replace(counts, programs=options.programs)
    rows = []
    for name in options.names or PARTS:
        start = time.perf_counter()
        rows.append(run_apart(name, counts))
        print(f"{rows[-1]}  [{time.perf_counter() - start:.0f} s]", *rows[-1].wrong[:20], sep="\n  ", flush=True)
    print(f"\n{environment()}\n\n{table(rows)}")
    if options.write:
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), environment(), rows), encoding="utf-8")
    return 1 if any(row.wrong for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
