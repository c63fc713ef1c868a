"""How long each kernel of a sweep takes on a GPU, as PyTorch's profiler sees it.

    python gpu_trace.py [--size M] [KERNEL ...]

A line for each kernel of ours, fill or copy: how often it ran in one pass over both sweeps, the microseconds of one
run, and those of all.
"""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from collections.abc import Iterator

from gpu import checked, measured, sweeps, wait
from kernels import KERNELS

from loopdiff.backends.cuda.driver import the_driver

PASSES = 3


def lines(name: str, size: str) -> Iterator[str]:
    from torch.profiler import ProfilerActivity, profile  # pyright: ignore[reportMissingImports]

    at, f, _, error = checked(name, size)
    driver = the_driver()
    _, both, least = sweeps(at, f, driver, measured(driver))
    both()
    wait()
    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        for _ in range(PASSES):
            both()
        wait()
    spans: dict[str, list[float]] = defaultdict(list)
    for event in seen.events():
        spans[event.name].append(event.device_time)
    total = sum(map(sum, spans.values())) / PASSES
    yield f"{name}: {total:.1f} µs in kernels, at least {least / 1e3:.1f} µs; error {error:.1e}"
    for kernel, times in spans.items():
        short = re.sub(r"^cudapy.*?(\w+_kernel|finish_\w+).*$", r"\1", kernel)
        each, whole = sum(times) / len(times), sum(times) / PASSES
        yield f"  {len(times) / PASSES:6.1f} x {each:9.1f} = {whole:9.1f}  {short[:90]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="*")
    parser.add_argument("--size", default="M")
    options = parser.parse_args()
    for name in options.kernels or [k.name for k in KERNELS]:
        try:
            for line in lines(name, options.size):
                print(line, flush=True)
        except Exception as failure:
            print(f"{name}: {type(failure).__name__}: {failure}", flush=True)


if __name__ == "__main__":
    main()
