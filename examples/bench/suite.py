"""The suite section: one kernel at one size, loopdiff and its peers in one process, checked, then taking turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import peers
from kernels import Problem, problem
from peers import Gradient, loops
from timing import Call, paired

Row = dict[str, Any]
GRADIENTS = ("value_and_grad", "vjp")  # ways to a gradient; the faster one counts
# Largest difference from the reference, relative to the largest element of the gradient (or to 1).
TOLERANCE = {"float64": 1e-8, "float32": 2e-3}


def difference(found: Mapping[str, Any], expected: Mapping[str, np.ndarray]) -> float:
    """The largest error, each gradient in units of its largest element."""
    worst = 0.0
    for name, want in expected.items():
        got = np.asarray(found[name], float)
        scale = max(float(np.abs(want).max(initial=0.0)), 1e-300)
        if got.shape != want.shape or not np.isfinite(got).all():
            return np.inf
        worst = max(worst, float(np.abs(got - want).max(initial=0.0)) / scale)
    return worst


def checked(name: str, call: Gradient, at: Problem, expected: Mapping[str, np.ndarray]) -> float:
    """Seconds of the first call of `call`. Raises ValueError where its gradients are wrong.

    Where the kernel itself carries rounding errors further than the tolerance (close encounters of bodies do), a
    hundred times what one unit in the last place of the arguments does is allowed.
    """
    start = time.perf_counter()
    _, found = call()
    seconds = time.perf_counter() - start
    error = difference(found, expected)
    if not error <= TOLERANCE[at.dtype] and not error <= min(0.1, 100 * sensitivity(at, expected)):
        raise ValueError(f"the gradients of {name} are off by {error:.1e}")
    return seconds


def sensitivity(at: Problem, expected: Mapping[str, np.ndarray]) -> float:
    from peers import jax_arrays

    return difference(jax_arrays.disturbed(at), expected)


def check_reference(name: str) -> None:
    """JAX's form of the kernel against the oracle of the corpus, on tiny arguments in float64."""
    from peers import jax_arrays

    if name not in jax_arrays.FORMS:
        return
    tiny = problem(name, "tiny", "float64")
    error = difference(jax_arrays.reference(tiny), jax_arrays.oracle_gradient(tiny))
    if not error <= TOLERANCE["float64"]:
        raise ValueError(f"the reference for {name} is off by {error:.1e}")


def own_calls(at: Problem, row: Row, expected: Mapping[str, np.ndarray], settings: Mapping[str, Any]) -> dict[str, Any]:
    """loopdiff's candidates, checked; of those in `GRADIENTS` at least one."""
    f = loops.decorated(at, **settings)
    loss = loops.loss_gradient(at, **settings)
    ways = {"value_and_grad": loops.gradient(at, f)} if at.kernel.is_scalar else {"vjp": loops.gradient(at, f)}
    ways |= {} if loss is None else {"value_and_grad": loss}
    for way, call in ways.items():
        row["first"] = checked(f"loopdiff's {way}", call, at, expected)
    sweeps = loops.sweeps(at, f)
    return ways | {"primal": loops.primal(at, f)} | ({} if sweeps is None else {"sweeps": sweeps})


def peer_calls(
    at: Problem, row: Row, expected: Mapping[str, np.ndarray], names: list[str], trying: Callable[[str], None]
) -> dict[str, Call]:
    """The peers that say this kernel, checked; `row` is told about the others."""
    found: dict[str, Call] = {}
    for name in names:
        trying(name)
        try:
            call = peers.load(name).gradient(at)
            if call is None:
                continue
            row["peer_first"][name] = checked(name, call, at, expected)
            found[name] = call
        except Exception as error:  # one peer that fails must not end the row
            row["failed"][name] = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    return found


def rows(task: Mapping[str, Any], trying: Callable[[str], None]) -> Iterator[Row]:
    """The one row of kernel `task["kernel"]` at `task["size"]`; `trying` is told what may crash."""
    from peers import jax_arrays

    trying("loopdiff")
    at = problem(task["kernel"], task["size"], task.get("dtype"))
    row: Row = {"kernel": at.name, "size": at.size, "dtype": at.dtype, "peer_first": {}, "failed": {}}
    check_reference(at.name)
    expected = jax_arrays.reference(at)
    candidates = own_calls(at, row, expected, task.get("settings", {}))
    candidates |= peer_calls(at, row, expected, task["peers"], trying)
    trying("timing")
    times = paired(candidates, budget=task.get("budget", 5.0))
    own = {*GRADIENTS, "primal", "sweeps"}
    row |= {name: times[name].median for name in times if name in own}
    row["gradient"] = min(row[name] for name in GRADIENTS if name in row)
    row["peers"] = {name: t.median for name, t in times.items() if name not in own}
    row["least"] = {name: t.least for name, t in times.items()}
    row["flops"], row["traffic"] = at.flops, at.traffic
    yield row
