"""Padding, resampling, and rows by index, against JAX; ties, zeros and places outside by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp
from jax.scipy.ndimage import map_coordinates

from loopdiff.errors import ArgumentError
from loopdiff.kernels import nn
from tests.kernels.against_jax import Case, check

pytestmark = pytest.mark.part(3)

rng = np.random.default_rng(12)
draw = rng.standard_normal
images, rows = draw((2, 4, 5, 6)), draw((9, 3))
indices = np.array([4, 0, 4, 1, 1, 4, 3, 0, 4])
starts = np.array([0, 2, 2, 5, 9])


def padded(mode: str) -> Any:
    jax_mode = {"replicate": "edge", "circular": "wrap"}.get(mode, mode)
    return lambda x: jnp.pad(x, ((0, 0), (0, 0), (2, 1), (3, 7)), mode=jax_mode)


def at(x: Any, u: Any, v: Any, mode: str = "constant") -> Any:
    """Images at places that are arrays `(N, P, Q)`."""
    each = jax.vmap(lambda image, u, v: map_coordinates(image, [u, v], order=1, mode=mode), in_axes=(0, None, None))
    return jax.vmap(each)(x, u, v)


def grid(x: Any, g: Any, border: bool = False, align: bool = False) -> Any:
    H, W = x.shape[2:]
    u, v = (((g[..., k] + 1) * n - 1) / 2 if not align else (g[..., k] + 1) / 2 * (n - 1) for k, n in ((1, H), (0, W)))
    return at(x, u, v, "nearest" if border else "constant")


def resized(x: Any) -> Any:
    return jax.image.resize(x, (2, 4, 7, 4), "linear", antialias=False)


def with_corners(x: Any) -> Any:
    u, v = jnp.meshgrid(jnp.linspace(0, 4, 8), jnp.linspace(0, 5, 3), indexing="ij")
    return at(x, jnp.stack([u] * 2), jnp.stack([v] * 2))


def turned(x: Any, angle: Any) -> Any:
    i, j = jnp.meshgrid(jnp.arange(5) - 2.0, jnp.arange(6) - 2.5, indexing="ij")
    u, v = jnp.cos(angle) * i + jnp.sin(angle) * j + 2.0, jnp.cos(angle) * j - jnp.sin(angle) * i + 2.5
    return at(x, jnp.stack([u] * 2), jnp.stack([v] * 2))


def summed(rows: Any, indices: Any) -> Any:
    return jnp.zeros((6, 3)).at[indices].add(rows)


def sparse(values: Any, columns: Any, starts: Any, x: Any) -> Any:
    return jnp.zeros((4, 3)).at[np.repeat(np.arange(4), np.diff(starts))].add(values[:, None] * x[columns])


places = rng.uniform(-1.3, 1.3, (2, 3, 4, 2))
PADS = {"padding": ((2, 1), (3, 7))}
CASES = [
    *(Case(nn.pad2d, (images,), padded(mode), {**PADS, "mode": mode})
      for mode in ("constant", "replicate", "reflect", "symmetric", "circular")),
    Case(nn.upsample_nearest, (images,), lambda x: x.repeat(2, axis=2).repeat(3, axis=3), {"scale": (2, 3)}),
    Case(nn.resize_linear, (images,), resized, {"size": (7, 4)}),
    Case(nn.resize_linear, (images,), with_corners, {"size": (8, 3), "align_corners": True}),
    Case(nn.pixel_shuffle, (images,), lambda x: x.reshape(2, 1, 2, 2, 5, 6).transpose(0, 1, 4, 2, 5, 3).reshape(
        2, 1, 10, 12), {"scale": 2}),
    Case(nn.grid_sample, (images, places), grid),
    Case(nn.grid_sample, (images, 0.7 * places), lambda x, g: grid(x, g, True, True),
         {"padding": "border", "align_corners": True}),
    Case(nn.rotate, (images, np.float64(0.4)), turned),
    Case(nn.gather, (rows, indices), lambda x, i: x[i]),
    Case(nn.scatter_add, (rows, indices), summed, {"size": 6}),
    Case(nn.scatter_mean, (rows, indices), lambda r, i: summed(r, i) / np.maximum(
        np.bincount(i, minlength=6), 1)[:, None], {"size": 6}),
    Case(nn.segment_sum, (rows, starts), lambda r, s: sparse(jnp.ones(9), np.arange(9), s, r)),
    Case(nn.csr_matmul, (draw(9), indices, starts, draw((5, 3))), sparse),
    Case(nn.embedding_bag, (draw((5, 3)), indices, starts), lambda t, i, s: sparse(jnp.ones(9), i, s, t)),
    Case(nn.message_passing, (draw((5, 3)), draw(9), indices, indices[::-1].copy()),
         lambda x, w, s, r: jnp.zeros((5, 3)).at[r].add(w[:, None] * x[s])),
]  # fmt: skip


@pytest.mark.part(5)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_places_are_those_of_jax(case: Case) -> None:
    check(case)


def test_equal_numbers_share_and_zeros_are_exact() -> None:
    """NNlib gives every tied source the whole gradient, and divides by zero in products."""
    x = np.array([[2.0], [2.0], [1.0], [0.0], [3.0]])
    value, pullback = nn.scatter_max.of(size=3).vjp(x, np.array([0, 0, 0, 1, 1]))
    np.testing.assert_array_equal(value, [[2.0], [3.0], [-np.inf]])
    np.testing.assert_array_equal(pullback(np.ones_like(value)).rows, [[0.5], [0.5], [0.0], [0.0], [1.0]])
    value, pullback = nn.scatter_prod.of(size=3).vjp(x, np.array([0, 0, 0, 1, 1]))
    np.testing.assert_array_equal(value, [[4.0], [0.0], [1.0]])
    np.testing.assert_array_equal(pullback(np.ones_like(value)).rows, [[2.0], [2.0], [4.0], [3.0], [0.0]])


def test_places_far_outside_are_nothing() -> None:
    places = np.array([[[[1e300, 0.0], [-1e300, 1e300], [2.0, 2.0]]]])
    value, pullback = nn.grid_sample.of().vjp(images[:1], places)
    assert (value == 0.0).all()
    assert all((g == 0.0).all() for g in pullback(np.ones_like(value)))
    assert np.isnan(nn.grid_sample(images[:1], np.full((1, 1, 1, 2), np.nan))).all()


def test_a_turn_by_nothing_is_none() -> None:
    np.testing.assert_allclose(nn.rotate(images, 0.0), images, rtol=1e-14)
    np.testing.assert_allclose(
        nn.rotate(images[:, :, :, :5], np.pi / 2), np.rot90(images[:, :, :, :5], 1, (2, 3)), atol=1e-14
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nn.gather(rows, np.array([0, 9])), "LD310"),
        (lambda: nn.scatter_add(rows, indices, size=4), "LD310"),
        (lambda: nn.csr_matmul(draw(9), indices, starts, draw((4, 3))), "LD310"),
        (lambda: nn.pixel_shuffle(images, scale=3), "multiple of"),
    ],
)
def test_indices_outside_are_refused(call: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        call()
