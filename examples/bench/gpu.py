"""Kernels of the suite on a GPU: checked against the CPU, then timed beside JAX and what the hardware could do.

    python gpu.py [--size M] [--page FILE] [KERNEL ...]

Both sweeps run on arrays that stay on the device, so that kernels and launches are measured and nothing else; the time
is that of many runs in a row between two moments when the device is idle, the median of several such times. JAX takes
part where it has the GPU. *Least* is the roofline of `loopdiff.transform.launch_costs`.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from kernels import KERNELS, Problem, problem
from peers import loops
from suite import TOLERANCE, difference

from loopdiff import pipeline
from loopdiff.backends.cuda.driver import Driver, the_driver
from loopdiff.stopwatch import shapes_of
from loopdiff.transform.extents import Extents
from loopdiff.transform.launch_costs import costs_of

ROUNDS, AT_LEAST = 7, 0.05


def seconds(call: Callable[[], object], wait: Callable[[], object]) -> float:
    """The median time of a call, many in a row before each wait."""
    call()
    wait()
    start = time.perf_counter()
    call()
    wait()
    count = max(1, round(AT_LEAST / (time.perf_counter() - start)))
    found: list[float] = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(count):
            call()
        wait()
        found.append((time.perf_counter() - start) / count)
    return statistics.median(found)


def sweeps(at: Problem, f: Any, driver: Driver) -> tuple[Callable[[], object], Callable[[], object], float]:
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
        plan = pipeline.plan_for_cuda(unit.ls, k.spec.options, unit.requests, k.spec.stages, unit.reader)
        least += sum(c.nanoseconds for c in costs_of(plan, Extents(shapes, values)))

    def one() -> object:
        return forward.call(*given, *space)

    def both() -> object:
        forward.call(*given, *space)
        return reverse.call(*given, *space, *rest)

    return one, both, least


def jax_time(at: Problem) -> float | None:
    """Seconds of JAX's value and gradient on the GPU; None where it has none, or no form of the kernel."""
    try:
        import jax
        from peers import jax_arrays
    except ImportError:
        return None
    if jax.default_backend() != "gpu":
        return None
    call = jax_arrays.gradient(at)
    return None if call is None else seconds(call, lambda: None)


def rows(names: list[str], size: str) -> Iterator[str]:
    driver = the_driver()
    yield "| kernel | forward | both sweeps | least | of the roofline | JAX | JAX / loopdiff |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for name in names:
        at = problem(name, size, None)
        f = loops.decorated(at, target="cuda")
        _, expected = loops.gradient(at, loops.decorated(at))()
        _, found = loops.gradient(at, f)()
        error = difference(found, {n: np.asarray(v) for n, v in expected.items()})
        if error > TOLERANCE[at.dtype]:
            yield f"| {name} | wrong by {error:.1e} | | | | | |"
            continue
        one, both, least = sweeps(at, f, driver)
        forward, total, other = seconds(one, driver.synchronize), seconds(both, driver.synchronize), jax_time(at)
        beside = "| |" if other is None else f"{1e6 * other:.1f} µs | {other / total:.2f} |"
        share = f"{100e-9 * least / total:.0f} %"
        yield f"| {name} | {1e6 * forward:.1f} µs | {1e6 * total:.1f} µs | {least / 1e3:.1f} µs | {share} | {beside}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="*")
    parser.add_argument("--size", default="M")
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    lines = ["# The suite on a GPU", "", (__doc__ or "").strip(), ""]
    for row in rows(options.kernels or [k.name for k in KERNELS], options.size):
        print(row, flush=True)
        lines.append(row)
    if options.page is not None:
        options.page.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
