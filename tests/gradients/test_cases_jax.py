"""The hard cases of `test_cases` as JAX functions, and that they repeat to the last bit.

Values and gradients are those of the decorated functions, which `test_cases` checks against closed forms.
"""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

from tests.corpus import BY_NAME, Arguments
from tests.gradients import harness

needs_jax = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="jax is not installed")
# Cases and their pure outputs, which are no arguments of the JAX function.
CASES: dict[str, tuple[str, ...]] = {
    "matmul_loss": ("C",),
    "laplacian_energy": (),
    "forward_substitution": (),
    "cholesky": (),
    "gathered_products": (),
    "scatter_squares": (),
    "gather_sines": (),
    "largest": (),
    "elementwise_extremes": ("y",),
    "max_pool": ("y",),
    "linear_recurrence": (),
    "iterated_square": (),
}
each = pytest.mark.parametrize("name", CASES)


def reference(name: str, args: Arguments, weight: harness.Values) -> harness.Values:
    return harness.pull_back(BY_NAME[name], args, weight)


@pytest.mark.part(3)
@needs_jax
@each
def test_under_jit_grad_and_vmap(name: str) -> None:
    import jax
    import jax.numpy as jnp

    import loopdiff.jax

    entry, pure = BY_NAME[name], CASES[name]
    points = [entry.args(seed) for seed in (0, 1)]
    done = entry.args(0)
    weight = harness.weights(harness.outputs_of(entry, entry.function(*done.values()), done), 0)
    shapes = {k: jax.ShapeDtypeStruct(done[k].shape, done[k].dtype) for k in pure}
    wrapped = loopdiff.jax.wrap(harness.decorated(name), outputs=shapes or None)
    names = [*(["result"] if "result" in weight else []), *(k for k in done if k in entry.outputs)]

    def loss(active: Any, rest: Any) -> Any:
        found = wrapped(*({**active, **rest}[k] for k in done if k not in pure))
        values = found if len(names) > 1 else (found,)
        return sum(jnp.sum(weight[k] * v) for k, v in zip(names, values, strict=True))

    def split(args: Arguments) -> tuple[dict[str, Any], dict[str, Any]]:
        arrays = {k: jnp.asarray(v) for k, v in args.items() if k not in pure}
        return {k: arrays.pop(k) for k in entry.wrt}, arrays

    expected = [reference(name, entry.args(seed), weight) for seed in (0, 1)]
    gradient = jax.grad(loss)
    for run in (gradient, jax.jit(gradient)):
        found = run(*split(points[0]))
        for k in entry.wrt:
            np.testing.assert_allclose(found[k], expected[0][k], rtol=1e-12, atol=1e-14, err_msg=k)
    both = jax.tree.map(lambda *v: jnp.stack(v), *(split(p) for p in points))
    found = jax.jit(jax.vmap(gradient))(*both)
    for k in entry.wrt:
        stacked = np.stack([e[k] for e in expected])
        np.testing.assert_allclose(found[k], stacked, rtol=1e-12, atol=1e-14, err_msg=k)


@each
def test_runs_repeat_to_the_last_bit(name: str) -> None:
    entry = BY_NAME[name]
    size = "S" if "S" in entry.sizes else None
    runs = []
    for _ in range(3):
        args = entry.args(0, size)
        result, pullback = harness.decorated(name).vjp(*args.values())
        outputs = harness.outputs_of(entry, result, args)
        weight = harness.weights(outputs, 0)
        cotangents = {k: weight[k] for k in entry.outputs}
        runs.append((outputs, pullback(*harness.seeds_of(result, weight), **cotangents)))
    for outputs, gradients in runs[1:]:
        for k, value in runs[0][0].items():
            np.testing.assert_array_equal(outputs[k], value, err_msg=k)
        for found, expected in zip(gradients, runs[0][1], strict=True):
            np.testing.assert_array_equal(found, expected)
