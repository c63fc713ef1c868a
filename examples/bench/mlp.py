"""Three dense layers, 32 and 64 wide, over 65,536 rows in float32: the loss and the gradients of the weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from kernels import BY_KERNEL, Kernel, Problem, mlp_flops, problem_of
from peers import jax_arrays, loops
from report import duration, ratio
from suite import checked, peer_calls
from timing import paired

ROWS = 65_536
WIDTHS = (32, 64)
RIVALS = ("jax", "torch", "torch-compile", "drjit")
LEAD = 2.0


def network(width: int) -> Problem:
    kernel = Kernel("mlp_rows", ("result",), mlp_flops, dtype="float32", wrt=("W1", "W2", "W3"))
    make = BY_KERNEL["mlp_rows"].entry.make
    args = make(np.random.default_rng(0), P=ROWS, I=width, H=width, O=width)
    return problem_of(kernel, f"{width} wide", args)


def rows(task: Mapping[str, Any], trying: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    for width in WIDTHS:
        at = network(width)
        f = loops.decorated(at)
        gradient = loops.gradient(at, f)
        row: dict[str, Any] = {"width": width, "peer_first": {}, "failed": {}}
        expected = jax_arrays.reference(at)
        checked("loopdiff", gradient, at, expected)
        names = [name for name in task["peers"] if name in RIVALS]
        candidates: dict[str, Any] = {"gradient": gradient, "primal": loops.primal(at, f)}
        candidates |= peer_calls(at, row, expected, names, trying)
        trying("timing")
        times = {name: t.median for name, t in paired(candidates, budget=2 * task["budget"]).items()}
        rivals = {name: times[name] for name in names if name in times}
        lead = min(rivals.values()) / times["gradient"] if rivals else None
        row["times"] = times
        row["cells"] = {
            "width": str(width),
            "primal": duration(times["primal"]),
            "gradient": duration(times["gradient"]),
            "GFLOP/s": f"{(at.flops[0] * 3 - 2.0 * ROWS * width**2) / times['gradient'] / 1e9:.0f}",
            **{name: duration(seconds) for name, seconds in rivals.items()},
            "to the best": ratio(None if lead is None else 1.0 / lead),
        }
        said = f"three layers {width} wide against the best peer: at least {LEAD:.0f} times as fast"
        row["targets"] = [] if lead is None else [(said, f"{lead:.2f}", lead >= LEAD)]
        yield row
