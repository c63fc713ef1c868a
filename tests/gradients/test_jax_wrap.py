"""Kernels of the suite as JAX functions: value and gradient under `jit`, against `jax.grad` of oracles."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

from tests.corpus import BY_NAME
from tests.gradients import harness

pytestmark = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="jax is not installed")

# Kernels and their pure outputs, which are no arguments of the JAX function.
KERNELS: dict[str, tuple[str, ...]] = {
    "rde_matmul_log1p": ("C",),
    "tullio_bmm_rev": ("C",),
    "conv2d_bias": ("out",),
    "softmax": ("out",),
    "attention": ("out",),
    "mlp_rows": (),
    "gmm": (),
    "jacobi_2d": (),
    "seidel_2d": (),
    "hdiff": ("out",),
    "cholesky": (),
    "syrk": (),
    "spmv_csr": ("y",),
    "lstm_diag": (),
    "bundle_adjustment": ("reproj", "werr"),
    "fourier": ("y",),
    "analytic_signal": (),
}


@pytest.mark.part(3)
@pytest.mark.parametrize("name", KERNELS)
def test_value_and_gradient_under_jit(name: str) -> None:
    import jax
    import jax.numpy as jnp

    import loopdiff.jax

    entry, pure = BY_NAME[name], KERNELS[name]
    args = entry.args(0)
    shapes = {k: jax.ShapeDtypeStruct(args[k].shape, args[k].dtype) for k in pure}
    wrapped = loopdiff.jax.wrap(harness.decorated(name), outputs=shapes or None)
    given = {k: v for k, v in args.items() if k not in pure}

    done = entry.args(0)
    expected = harness.outputs_of(entry, entry.function(*done.values()), done)
    weight = harness.weights(expected, 0)
    names = [*(k for k in expected if k.startswith("result")), *(k for k in args if k in entry.outputs)]

    def named(values: Any) -> dict[str, Any]:
        return dict(zip(names, values if len(names) > 1 else (values,), strict=True))

    def loss(active: dict[str, Any]) -> Any:
        found = named(wrapped(*(active.get(k, v) for k, v in given.items())))
        return sum(jnp.sum(w * found[k]).real for k, w in weight.items())

    active = {k: jnp.asarray(given[k]) for k in entry.wrt}
    value, gradients = jax.jit(jax.value_and_grad(loss))(active)
    total = sum(float(np.sum(w * expected[k]).real) for k, w in weight.items())
    assert float(value) == pytest.approx(total, rel=1e-11)
    for k, want in harness.jax_gradient(entry, 0, weight).items():
        scale = float(np.max(np.abs(want)))
        np.testing.assert_allclose(gradients[k], want, rtol=1e-8, atol=1e-8 * scale, err_msg=k)
    fresh = entry.args(0)
    for k, v in given.items():
        np.testing.assert_array_equal(v, fresh[k], err_msg=f"{k} was changed")
