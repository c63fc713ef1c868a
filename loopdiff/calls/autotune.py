"""`autotune=True`: the cost model's best schedules measured on copies of the arguments, and the fastest remembered.

It is chosen once for a combination of types and a class of sizes, each extent counting by its number of binary digits,
and kept on disk: from then on, in this process and in later ones, calls alike run the same code.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from loopdiff.cache.keys import digest_of
from loopdiff.calls.runs import Arguments, sweeps_of
from loopdiff.calls.stopwatch import shapes_of, time_sweeps
from loopdiff.pipeline.code import other_schedules
from loopdiff.settings.requests import Request
from loopdiff.specialize.specialization import Specialization

GAIN = 0.97  # a schedule has to take less than this part of the time of the predicted one to be preferred
ROUNDS = 3  # turns that all candidates take
Asked = tuple[Request, ...]
Times = tuple[float, float]


def tuned(spec: Specialization, args: Arguments) -> Specialization:
    """`spec` with the schedule that was measured to be fastest for arguments like `args`."""
    size = "-".join("x".join(str(n.bit_length()) for n in a.shape) for a in args if isinstance(a, np.ndarray))
    label = f"tuned-{digest_of([*spec.wrt, repr(spec.program.identity.homes)])[:12]}-{size}"  # requests name lines
    return spec.variant(spec.kept(label, lambda: fastest(spec, args)))


def fastest(spec: Specialization, args: Arguments) -> Asked:
    """The fastest of a few schedules for `args`.

    Sweeps choose apart, but for blocks of rows, which give both of them their workspace.
    """
    given = spec.options.schedule
    vectors, blocks = candidates(spec, args)
    longest = max(len(v) for v in vectors)
    pairs = [tuple(r for found in vectors for r in found[k : k + 1]) for k in range(longest)]
    asked = [given, *((*given, *p) for p in pairs), *((*given, *b) for b in blocks)]
    times = measured([spec.variant(a) for a in asked], args)
    apart = times[: len(pairs) + 1]
    best = [preferred([t[sweep] for t in apart]) for sweep in (0, 1)]
    chosen = tuple(r for sweep, k in enumerate(best) for r in (vectors[sweep][k - 1 : k] if k else ()))
    together = sum(apart[k][sweep] for sweep, k in enumerate(best))
    for block, took in zip(blocks, times[len(apart) :], strict=True):
        if sum(took) < GAIN * together:
            return (*given, *block)
    return (*given, *chosen)


def candidates(spec: Specialization, args: Arguments) -> tuple[tuple[Asked, Asked], list[Asked]]:
    """Requests to try one by one for each sweep, and sets of requests to try for both."""
    run = sweeps_of(spec, "sums")
    shapes, values = shapes_of(run, args), dict(zip(spec.normal.params, args, strict=True))
    found = [
        other_schedules(spec.arranged(unit), shapes, values, sweep, spec.options.fastmath)
        for sweep, unit in (("forward", run.units.forward), ("reverse", run.units.reverse))
    ]
    blocks = (*found[0][1], *found[1][1])
    return (found[0][0], found[1][0]), [blocks] if blocks else []


def measured(variants: Sequence[Specialization], args: Arguments) -> list[Times]:
    """The least times of both sweeps of each variant, which take turns."""
    runs = [sweeps_of(v, "sums") for v in variants]
    turns = [[time_sweeps(run, args) for run in runs] for _ in range(ROUNDS)]
    return [(min(t[0] for t in found), min(t[1] for t in found)) for found in zip(*turns, strict=True)]


def preferred(times: Sequence[float]) -> int:
    """Which of several is fastest; the first, unless another one is so clearly."""
    best = min(range(len(times)), key=times.__getitem__)
    return best if times[best] < GAIN * times[0] else 0
