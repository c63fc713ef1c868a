"""What becomes of kernels of the suite on a GPU, found out without one: launch plans, registers, bytes, least times.

    python gpu_plans.py [--page FILE]

Prints, or writes, one section for each kernel: the plan of both sweeps for arguments of size M with the bytes that each
kernel moves and the time that an H200 takes for it at least, and what ptxas says of the machine code.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kernels import problem

from loopdiff import vectorize_grad
from loopdiff.backends.cuda.compile import device_kernels
from loopdiff.backends.cuda.kernel_store import stored_kernel
from loopdiff.calls.stopwatch import shapes_of
from loopdiff.model.gpu_cost import costs_of
from loopdiff.model.trip_counts import Extents
from loopdiff.pipeline import code

NAMES = ("rde_matmul_log1p", "jacobi_2d", "hdiff", "softmax", "mlp_rows", "spmv_csr", "hash_grid")
HEAD = """# Kernels for a GPU, on paper

Launch plans of seven kernels of the suite for arguments of size M, and what ptxas says of their machine code for an
H200 (sm_90). Nothing here was measured: [what was](benchmarks_gpu.md). *Moved* is what a kernel reads from memory and
writes there, each element once each way, but for arrays that the cache of 50 MB still has from the kernels before: it
is empty where a sweep begins, and what was used least recently leaves it first. *At least* is that by 4.3 TB/s, or the
operations by 34 TFLOP/s in float64 and 67 in float32, or those of one thread at 4 nanoseconds each, whichever is more,
and 2.5 microseconds for each launch. The forward sweep is the primal that leaves what the reverse sweep needs, of
mlp_rows two layers.

Written by `examples/bench/gpu_plans.py`.
"""


def sections(names: tuple[str, ...]) -> Iterator[str]:
    columns = ("primal moves", "forward sweep", "reverse sweep", "reverse / forward", "reverse / primal")
    summary = [f"| kernel | {' | '.join(columns)} | forward at least | reverse at least |", "|" + " --- |" * 8]
    details: list[str] = []
    for name in names:
        row, text = section(name)
        summary.append(row)
        details.append(text)
    yield "\n".join(summary)
    yield from details


def section(name: str) -> tuple[str, str]:
    """The row of the summary, and the section of one kernel."""
    at = problem(name, "M", None)
    f: Any = vectorize_grad(wrt=at.wrt, target="cuda")(at.kernel.entry.function)
    args = tuple(at.args.values())
    k = f.compiled(args, "pullback")
    shapes = shapes_of(k.run, args)
    values = dict(zip(k.spec.normal.params, args, strict=True))
    moved, least, table = [], [], ["| kernel | registers | stack | spilled | shared | bytes of code |"]
    table.append("| --- | --- | --- | --- | --- | --- |")
    for sweep in ("forward", "reverse"):
        unit = k.unit(sweep)
        plan = code.plan_for_cuda(unit.ls, k.spec.options, unit.requests, k.spec.stages, unit.reader)
        costs = costs_of(plan, Extents(shapes, values))
        moved.append(sum(c.bytes for c in costs))
        least.append(sum(c.nanoseconds for c in costs))
        for kernel in device_kernels(plan, cache=True)[1]:
            found = stored_kernel(kernel.digest)
            r = found.resources
            spilled = r.spill_stores + r.spill_loads
            table.append(
                f"| `{kernel.name}` | {r.registers} | {r.stack} | {spilled} | {r.shared} | {len(found.code)} |"
            )
    alone = code.plan_for_cuda(k.spec.normal, k.spec.options, k.spec.requests("primal"), k.spec.stages)
    primal = sum(c.bytes for c in costs_of(alone, Extents(shapes, values)))
    shown = ", ".join(f"{n} {tuple(v.shape)}" if hasattr(v, "shape") else f"{n} = {v}" for n, v in at.args.items())
    row = (
        f"| [{name}](#{name}) | {primal / 1e6:.1f} MB | {moved[0] / 1e6:.1f} MB | {moved[1] / 1e6:.1f} MB "
        f"| {moved[1] / moved[0]:.2f} | {moved[1] / primal:.2f} | {least[0] / 1e3:.1f} µs | {least[1] / 1e3:.1f} µs |"
    )
    plans = f.explain(*args)
    return row, f"## {name}\n\n{shown}\n\n```text\n{plans}\n```\n\n" + "\n".join(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernels", nargs="*", default=NAMES)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    text = "\n\n".join([HEAD.rstrip(), *sections(tuple(options.kernels))]) + "\n"
    if options.page is None:
        print(text)
    else:
        options.page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
