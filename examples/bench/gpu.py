"""Kernels of the suite on a GPU: checked against the CPU, then timed beside others and what the hardware could do.

    python gpu.py [--size M] [--page FILE] [--seconds S] [KERNEL ...]
    python gpu.py --check [--alone] [KERNEL ...]

Both sweeps run on arrays that stay on the device, so that kernels and launches are measured and nothing else; the time
is that of many runs in a row between two moments when the device is idle, the median of several such times. *Least* is
the roofline of `loopdiff.model.gpu_cost` with the bandwidth of copies that is measured first. JAX, PyTorch, Warp and
CuPy take part where they are installed and have a form of the kernel; in brackets, how many times longer they take.
Kernels in float32 compute in float32: JAX is asked for products of the precision `highest`, and PyTorch for
convolutions without TF32, which both would round to ten bits otherwise. Our own times come first; after `--seconds`,
peers that have not had their turn are left out. `--check` times nothing: it fills the caches of all who compile, in as
many processes as one likes.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

os.environ.setdefault("LOOPDIFF_BENCH_DEVICE", "cuda")

import numpy as np
import peers
from kernels import KERNELS, Problem, problem
from peers import loops
from suite import TOLERANCE, difference

from loopdiff.backends.cuda.driver import Driver, the_driver
from loopdiff.calls.stopwatch import shapes_of
from loopdiff.model.gpu_cost import H200, Gpu, costs_of
from loopdiff.model.trip_counts import Extents
from loopdiff.pipeline import code

ROUNDS, AT_LEAST, LONG = 7, 0.05, 0.5
OWN = ("forward", "both sweeps", "least", "of the roofline")
COPIED = 1 << 29  # bytes


def seconds(call: Callable[[], object], wait: Callable[[], object]) -> float:
    """The median time of a call, many in a row before each wait."""
    call()
    wait()
    start = time.perf_counter()
    call()
    wait()
    once = time.perf_counter() - start
    count = max(1, round(AT_LEAST / once))
    found: list[float] = []
    for _ in range(ROUNDS if once < LONG else 1):
        start = time.perf_counter()
        for _ in range(count):
            call()
        wait()
        found.append((time.perf_counter() - start) / count)
    return statistics.median(found)


def measured(driver: Driver) -> Gpu:
    """The GPU, with the bandwidth of copies in its memory."""
    source, target = (driver.empty((COPIED // 8,), np.float64) for _ in range(2))
    time_of_copy = seconds(lambda: driver.copy_within(source, target), driver.synchronize)
    return replace(H200, name="this GPU", bandwidth=2e-9 * COPIED / time_of_copy)


def sweeps(at: Problem, f: Any, driver: Driver, gpu: Gpu) -> tuple[Callable[[], object], Callable[[], object], float]:
    """The forward sweep, and both, on arrays of the device; and the least nanoseconds of both."""
    args = tuple(at.args.values())
    k = f.compiled(args, "pullback")
    forward, reverse = k.unit("forward"), k.unit("reverse")
    sent = {n: driver.copied_in(a) for n, a in at.args.items() if isinstance(a, np.ndarray)}
    space = [driver.copied_in(w) for w in k.workspace(*args)]
    rest: list[Any] = []
    for parameter in reverse.ls.params[len(args) + len(space) :]:
        name = parameter.removesuffix("_adj")
        is_array = name in at.args
        like = np.zeros_like(at.args[name]) + at.weight.get(name, 0.0) if is_array else None
        rest.append(
            np.dtype(at.dtype).type(1.0) if like is None else driver.copied_in(like.astype(at.args[name].dtype))
        )
    given = [sent.get(n, v) for n, v in at.args.items()]
    shapes, values = shapes_of(k.run, args), dict(at.args)
    least = 0.0
    for unit in (forward, reverse):
        plan = code.plan_for_cuda(unit.ls, k.spec.options, unit.requests, k.spec.stages, unit.reader)
        least += sum(c.nanoseconds for c in costs_of(plan, Extents(shapes, values), gpu))

    def one() -> object:
        return forward.call(*given, *space)

    def both() -> object:
        forward.call(*given, *space)
        return reverse.call(*given, *space, *rest)

    return one, both, least


def wait() -> None:
    """Until the device is idle."""
    the_driver().wait_for_all()


@dataclass(frozen=True)
class Row:
    """A kernel with its known gradient; `cells` are those of its row but for the peers'."""

    name: str
    at: Problem
    expected: Mapping[str, np.ndarray]
    cells: tuple[str, ...]
    seconds: float


def checked(name: str, size: str) -> tuple[Problem, Any, Mapping[str, np.ndarray], float]:
    """The function for the GPU, the gradient of the CPU, and how far that of the GPU is from it."""
    at = problem(name, size, None)
    f = loops.decorated(at, target="cuda")
    _, known = loops.gradient(at, loops.decorated(at))()
    expected = {n: np.asarray(v) for n, v in known.items()}
    _, found = loops.gradient(at, f)()
    return at, f, expected, difference(found, expected)


def own_row(name: str, size: str, driver: Driver, gpu: Gpu) -> Row | str:
    """Our own times, or what is wrong."""
    try:
        at, f, expected, error = checked(name, size)
        if not error <= TOLERANCE[at.dtype]:
            return f"wrong by {error:.1e}"
        one, both, least = sweeps(at, f, driver, gpu)
        forward, total = seconds(one, wait), seconds(both, wait)
    except Exception as failure:
        return type(failure).__name__
    share = f"{100e-9 * least / total:.0f} %"
    return Row(name, at, expected, (micro(forward), micro(total), micro(1e-9 * least), share), total)


def micro(seconds: float) -> str:
    return f"{1e6 * seconds:.1f} µs"


def gradient_of_peer(name: str, row: Problem, expected: Mapping[str, np.ndarray]) -> Callable[[], object] | str:
    """The call of a peer, which was right once, or why there is none."""
    if peers.missing(name):
        return "not installed"
    try:
        call = peers.load(name).gradient(row)
        if call is None:
            return ""
        _, found = call()
        error = difference({n: on_host(v) for n, v in found.items()}, expected)
        return call if error <= TOLERANCE[row.dtype] else f"wrong by {error:.1e}"
    except Exception as failure:
        return type(failure).__name__


def peer_cell(name: str, row: Row) -> str:
    """The time of a peer's value and gradient, and how many times that of ours it is, or why there is none."""
    call = gradient_of_peer(name, row.at, row.expected)
    if isinstance(call, str):
        return call
    try:
        taken = seconds(call, wait)
    except Exception as failure:
        return type(failure).__name__
    return f"{micro(taken)} ({taken / row.seconds:.2f})"


def on_host(value: Any) -> np.ndarray:
    """An array of any library as one of NumPy."""
    for name in ("detach", "cpu", "get", "numpy"):
        value = getattr(value, name)() if hasattr(value, name) else value
    return np.asarray(value)


Table = dict[str, dict[str, str]]


def measure(names: list[str], size: str, until: float) -> Iterator[tuple[str, dict[str, str]]]:
    """Cells of the table, by kernel and column: our own times first, then those of each peer for all kernels."""
    driver = the_driver()
    gpu = measured(driver)
    rows: dict[str, Row] = {}
    for name in names:
        row = own_row(name, size, driver, gpu)
        if isinstance(row, Row):
            rows[name] = row
        yield name, dict(zip(OWN, row.cells if isinstance(row, Row) else (row,), strict=False))
    for other in peers.ON_GPU:
        for name, row in rows.items():
            yield name, {other: peer_cell(other, row) if time.monotonic() < until else "not timed"}


def page(table: Table) -> str:
    columns = (*OWN, *peers.ON_GPU)
    lines = ["# The suite on a GPU", "", (__doc__ or "").strip(), "", f"| kernel | {' | '.join(columns)} |"]
    lines.append("|" + " --- |" * (1 + len(columns)))
    lines += [f"| {name} | {' | '.join(row.get(c, '') for c in columns)} |" for name, row in table.items()]
    return "\n".join(lines) + "\n"


def check(name: str, size: str, others: Iterable[str]) -> Iterator[str]:
    """What is wrong with a kernel's gradient, ours and those of peers."""
    at, _, expected, error = checked(name, size)
    yield f"{name}: {error:.1e}" + ("" if error <= TOLERANCE[at.dtype] else " is wrong")
    for other in others:
        call = gradient_of_peer(other, at, expected)
        if isinstance(call, str) and call:
            yield f"{name}, {other}: {call}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="*")
    parser.add_argument("--size", default="M")
    parser.add_argument("--page", type=Path)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--alone", action="store_true", help="without peers")
    options = parser.parse_args()
    names = options.kernels or [k.name for k in KERNELS]
    if options.check:
        others = () if options.alone else tuple(peers.ON_GPU)
        for line in (line for name in names for line in check(name, options.size, others)):
            print(line, flush=True)
        return

    table: Table = {}
    for name, cells in measure(names, options.size, time.monotonic() + options.seconds):
        print(name, " ".join(f"{column}: {cell}" for column, cell in cells.items()), flush=True)
        table.setdefault(name, {}).update(cells)
        if options.page is not None:  # at once: whoever runs out of time has what was measured
            options.page.write_text(page(table), encoding="utf-8")


if __name__ == "__main__":
    main()
