"""Small networks against JAX; encodings against closed forms, SciPy and complex steps; kinks and poles."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import special

pytest.importorskip("jax")

import jax
import jax.numpy as jnp

from loopdiff.errors import ArgumentError
from loopdiff.kernels import networks, nn
from tests.kernels.against_jax import Case, check

pytestmark = pytest.mark.part(3)

rng = np.random.default_rng(8)
draw = rng.standard_normal
WIDTHS = (5, 8, 7, 2)
LAYERS = tuple((draw((k, d)) / np.sqrt(d), draw(k)) for d, k in pairwise(WIDTHS))
MLP = networks.mlp.of(activation=nn.softplus, last=np.tanh)


def by_products(x: Any, layers: Any) -> Any:
    for w, b in layers[:-1]:
        x = jax.nn.softplus(x @ w.T + b)
    return jnp.tanh(x @ layers[-1][0].T + layers[-1][1])


def test_networks_are_products_of_matrices() -> None:
    x, seed = draw((9, 5)), draw((9, 2))
    with jax.enable_x64(True):
        expected, pull = jax.vjp(jax.jit(by_products), x, LAYERS)
        wanted = jax.tree.map(np.asarray, pull(seed))
    value, pullback = MLP.vjp(x, LAYERS)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    for got, want in zip(jax.tree.leaves(tuple(pullback(seed))), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-13)


def test_nothing_of_samples_by_width_is_made() -> None:
    """Rows between the layers go by blocks of samples; the state that is kept for derivatives is in no primal."""
    x = draw((5000, 5))
    said = MLP.explain(x, LAYERS)
    assert "blocks of" in said.split("reverse sweep")[0]


def waves(x: Any, sine: Any, cosine: Any) -> Any:
    turns = x[:, :, None] * 2.0 ** np.arange(3) + 0.2 * np.arange(3)
    return jnp.stack([sine(turns), cosine(turns)], axis=-1).reshape(len(x), -1)


def lines(turns: Any) -> Any:
    """The angle whose cosine it is, folded, goes along a line."""
    return 1 - 2 / np.pi * jnp.arccos(jnp.cos(2 * np.pi * turns))


CASES = [
    Case(networks.frequency_encoding, (draw((4, 2)),), lambda x: waves(
        x, lambda t: jnp.sin(2 * np.pi * t), lambda t: jnp.cos(2 * np.pi * t)), {"octaves": 3, "shift": 0.2}),
    Case(networks.triangle_encoding, (draw((4, 2)),), lambda x: waves(
        x, lambda t: lines(t - 0.25), lines), {"octaves": 3, "shift": 0.2}),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_encodings_are_those_of_jax(case: Case) -> None:
    check(case, 1e-9)


def test_triangles_at_their_corners() -> None:
    x = np.array([[0.0, 0.25, 0.5, 0.75, 1.0]])
    value, pullback = networks.triangle_encoding.of(octaves=1).vjp(x)
    np.testing.assert_array_equal(value.reshape(5, 2), [[0, 1], [1, 0], [0, -1], [-1, 0], [0, 1]])
    ones = np.tile([0.0, 1.0], 5)[None]
    np.testing.assert_array_equal(pullback(ones).x, [[0.0, -4.0, 4.0, 4.0, 0.0]])


def test_harmonics_are_those_of_scipy() -> None:
    degree, d = 4, draw((6, 3))
    d[0], d[1] = (0.0, 0.0, 1.0), (0.0, 0.0, -2.0)  # poles
    d = d / np.linalg.norm(d, axis=1, keepdims=True)
    value, pullback = networks.spherical_harmonics.of(degree=degree).vjp(d)
    theta, phi = np.arccos(d[:, 2]), np.arctan2(d[:, 1], d[:, 0])
    expected = np.empty((6, degree**2))
    for l in range(degree):
        for m in range(-l, l + 1):
            found = special.sph_harm_y(l, abs(m), theta, phi)
            part = found.real if m >= 0 else found.imag
            expected[:, l * (l + 1) + m] = part if m == 0 else np.sqrt(2.0) * part
    np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-14)
    seed = draw((6, degree**2))
    gradient = pullback(seed).directions
    for axis in range(3):
        stepped = d.astype(np.complex128)
        stepped[:, axis] += 1e-30j
        slopes = networks.spherical_harmonics.py_func(stepped, degree=degree).imag / 1e-30
        np.testing.assert_allclose(gradient[:, axis], (seed * slopes).sum(axis=1), rtol=1e-12, atol=1e-13)


def test_layers_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ArgumentError, match="one before gives"):
        MLP.vjp(draw((9, 4)), LAYERS)
    with pytest.raises(ArgumentError, match="one before gives"):
        MLP.vjp(draw((9, 5)), (LAYERS[0], LAYERS[1], (LAYERS[2][0], LAYERS[1][1])))
    with pytest.raises(ArgumentError, match="is \\(N, 3\\)"):
        networks.spherical_harmonics.of(degree=4).vjp(draw((6, 2)))
