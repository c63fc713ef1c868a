"""How long each kernel of the sweeps takes on a GPU, as PyTorch's profiler sees it.

    python gpu_trace.py [--size M] [KERNEL ...]

A line for each kernel of ours, fill or copy: how often it ran in one pass over both sweeps, the microseconds of one
run, and those of all.
"""

from __future__ import annotations

import argparse
import re
import time
from collections import defaultdict
from collections.abc import Iterator

from gpu import measured, sweeps, wait
from kernels import KERNELS, problem
from peers import loops

from loopdiff.backends.cuda.driver import the_driver
from loopdiff.model.gpu_cost import Gpu

PASSES, LONG = 3, 0.05


def lines(name: str, size: str, gpu: Gpu) -> Iterator[str]:
    from torch.profiler import ProfilerActivity, profile  # pyright: ignore[reportMissingImports]

    at = problem(name, size, None)
    _, both, least = sweeps(at, loops.decorated(at, target="cuda"), the_driver(), gpu)
    both()
    wait()
    start = time.perf_counter()
    both()
    wait()
    taken = time.perf_counter() - start
    passes = PASSES if taken < LONG else 1
    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        for _ in range(passes):
            both()
        wait()
    spans: dict[str, list[float]] = defaultdict(list)
    for event in seen.events() or ():
        if event.device_time:
            spans[event.name].append(event.device_time)
    total = sum(map(sum, spans.values())) / passes
    yield f"{name}: {1e6 * taken:.1f} µs, {total:.1f} µs of it in kernels, at least {least / 1e3:.1f} µs"
    for kernel, times in spans.items():
        found = re.search(r"::(\w+)", kernel)
        each, whole = sum(times) / len(times), sum(times) / passes
        yield f"  {len(times) / passes:7.1f} x {each:9.1f} = {whole:9.1f}  {found[1] if found else kernel}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="*")
    parser.add_argument("--size", default="M")
    options = parser.parse_args()
    gpu = measured(the_driver())
    for name in options.kernels or [k.name for k in KERNELS]:
        try:
            for line in lines(name, options.size, gpu):
                print(line, flush=True)
        except Exception as failure:
            print(f"{name}: {type(failure).__name__}: {failure}", flush=True)


if __name__ == "__main__":
    main()
