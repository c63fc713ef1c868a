"""All kernels of the suite against JAX: loops against whole-array oracles, one pinned core, taking turns.

Gradients are compared with `jax.grad` of the oracle before anything is timed. The JAX column times
`jax.jit(jax.value_and_grad(...))` of the oracle, the loss being a weighted sum of the outputs; it is empty
where the oracle unrolls into a program too large for XLA. Loops start from copies of what they overwrite.

    python examples/bench/suite.py [--size tiny|S] [NAME ...]
"""

from __future__ import annotations

import timing

CORE = timing.pin_to_one_core()

import argparse  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy as np  # noqa: E402

sys.path.insert(0, str(Path(__file__).parents[2]))

from loopdiff import vectorize_grad  # noqa: E402
from tests.corpus import BY_NAME, SUITE, Arguments, Entry  # noqa: E402
from tests.gradients import harness  # noqa: E402

UNROLLED = {"seidel_2d", "nussinov_real", "lstm_diag", "durbin", "spmv_csr", "weighted_histogram"}


def jax_step(entry: Entry, args: Arguments, weight: harness.Values) -> timing.Call:
    """A compiled call of the value and gradient of the weighted oracle."""
    import jax
    import jax.numpy as jnp

    rest = {k: v for k, v in args.items() if k not in entry.wrt}

    def loss(active):
        found = harness.oracle_outputs(entry, {k: active.get(k, rest.get(k)) for k in args}, jnp)
        return sum(jnp.sum(w * found[name]) for name, w in weight.items() if name in found)

    step = jax.jit(jax.value_and_grad(loss))
    active = {k: jnp.asarray(args[k]) for k in entry.wrt}
    return lambda: jax.block_until_ready(step(active))


def sweeps_of(entry: Entry, args: Arguments) -> tuple[timing.Call, timing.Call, float, harness.Values]:
    """Primal and gradient as calls, the seconds of the first gradient, and the weights of the outputs."""
    f = vectorize_grad(wrt=entry.wrt)(entry.function)
    initial = {name: args[name].copy() for name in entry.outputs}
    start = time.perf_counter()
    result, pullback = f.vjp(*args.values())
    weight = harness.weights(harness.outputs_of(entry, result, args), 0)
    cotangents = {name: weight[name] for name in entry.outputs if name in weight}
    pullback(*harness.seeds_of(result, weight), **cotangents)
    first = time.perf_counter() - start

    def restore() -> None:
        for name, value in initial.items():
            np.copyto(args[name], value)

    def primal() -> object:
        restore()
        return f(*args.values())

    def gradient() -> object:
        restore()
        result, pullback = f.vjp(*args.values())
        return pullback(*harness.seeds_of(result, weight), **cotangents)

    return primal, gradient, first, weight


def row(entry: Entry, size: str | None) -> str:
    primal, gradient, first, weight = sweeps_of(entry, entry.args(0, size))
    known = harness.oracle_outputs(entry, entry.args(0))
    weight = {k: v for k, v in weight.items() if k in known}
    if size is None or entry.name not in UNROLLED:
        check(entry, size, weight)
        step = jax_step(entry, entry.args(0, size), weight)
        step()
        times = timing.medians({"primal": primal, "gradient": gradient, "jax": step}, rounds=11, batch=0.02)
    else:
        times = timing.medians({"primal": primal, "gradient": gradient}, rounds=11, batch=0.02)
    cells = f"{first:8.2f}{timing.microseconds(times['primal'])}{timing.microseconds(times['gradient'])}"
    cells += f"{times['gradient'] / times['primal']:8.1f}"
    if "jax" in times:
        ratio = times["gradient"] / times["jax"]
        return cells + f"{timing.microseconds(times['jax'])}{ratio:9.2f}{'' if ratio <= 1 else '  slower than jax'}"
    return cells + f"{'-':>11s}{'-':>9s}"


def check(entry: Entry, size: str | None, weight: harness.Values) -> None:
    """Raise unless the gradient equals that of the oracle."""
    args = entry.args(0, size)
    got = harness.pull_back(entry, args, weight)
    for name, expected in harness.jax_gradient(entry, 0, weight, size).items():
        scale = max(1.0, float(np.abs(expected).max()))
        np.testing.assert_allclose(got[name], expected, rtol=1e-6, atol=1e-6 * scale, err_msg=name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="kernels to run (default: all)")
    parser.add_argument("--size", default="S", choices=["tiny", "S"])
    options = parser.parse_args()
    size = None if options.size == "tiny" else options.size
    print(f"core {CORE}, size {options.size}, float64; times in us, first call in s")
    print(f"{'kernel':22s}{'first':>8s}{'primal':>11s}{'gradient':>11s}{'ratio':>8s}{'jax':>11s}{'to jax':>9s}")
    failed = 0
    for entry in [BY_NAME[name] for name in options.names] or SUITE:
        try:
            print(f"{entry.name:22s}{row(entry, size)}", flush=True)
        except Exception as error:  # a report of all kernels goes on after one fails
            failed += 1
            reason = " ".join(str(error).split())[:120]
            print(f"{entry.name:22s}  FAILED: {type(error).__name__}: {reason}", flush=True)
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
