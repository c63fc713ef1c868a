"""Features of places against JAX with integers of 32 bits; hashes bit by bit; edges and second derivatives."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp

from loopdiff import vectorize_grad
from loopdiff.errors import ArgumentError
from loopdiff.kernels import Operator, encodings
from tests.kernels.against_jax import Case, check

pytestmark = pytest.mark.part(3)

rng = np.random.default_rng(6)
draw = rng.standard_normal
PRIMES = (1, 2654435761, 805459861, 3674653429)
HASHED = {2: encodings.hash_grid2d, 3: encodings.hash_grid3d, 4: encodings.hash_grid4d}
CELLS = {2: np.array([3, 7, 50]), 3: np.array([2, 4, 50]), 4: np.array([1, 3])}


def spread(t: Any, smooth: bool) -> Any:
    return t**2 * (3 - 2 * t) if smooth else t


def blended(points: Any, shape: tuple[int, ...], smooth: bool, entry: Any) -> Any:
    """The sum over corners of a cell of what they count by their features, which `entry` gives for their integers."""
    x = jnp.clip(points, 0, 1) * np.array(shape)
    i = jnp.clip(jnp.floor(jax.lax.stop_gradient(x)).astype(int), 0, np.array(shape) - 1)
    t = spread(x - i, smooth)
    corners = jnp.array(list(product((0, 1), repeat=len(shape))))
    weights = jax.vmap(lambda bits: jnp.where(bits == 1, t, 1 - t).prod(axis=1))(corners)
    return jnp.einsum("cn,cnf->nf", weights, jax.vmap(lambda bits: entry(i + bits))(corners))


def in_tables(smooth: bool) -> Any:
    def f(points: Any, tables: Any, cells: Any) -> Any:
        D, T = points.shape[1], tables.shape[1]

        def level(k: int) -> Any:
            side, table = int(cells[k]), jnp.asarray(tables)[k]

            def entry(corner: Any) -> Any:
                if (side + 1) ** D <= T:
                    return table[(corner * (side + 1) ** np.arange(D)).sum(axis=1)]
                mixed = jnp.zeros(len(corner), dtype=jnp.uint32)
                for d in range(D):
                    mixed = mixed ^ (corner[:, d].astype(jnp.uint32) * np.uint32(PRIMES[d]))
                return table[(mixed % np.uint32(T)).astype(int)]

            return blended(points, (side,) * D, smooth, entry)

        return jnp.concatenate([level(k) for k in range(len(cells))], axis=1)

    return f


def in_grid(smooth: bool) -> Any:
    return lambda p, g: blended(p, tuple(n - 1 for n in g.shape[:-1]), smooth, lambda c: g[tuple(c.T)])


def in_planes(p: Any, planes: Any) -> Any:
    parts = [in_grid(False)(p[:, list(axes)], planes[k]) for k, axes in enumerate(((0, 1), (0, 2), (1, 2)))]
    return parts[0] * parts[1] * parts[2]


def places(D: int) -> np.ndarray:
    return rng.uniform(-0.1, 1.1, (9, D))


CASES = [
    *(Case(HASHED[D], (places(D), draw((len(CELLS[D]), 32, 2)), CELLS[D]), in_tables(D == 2), {"smooth": D == 2})
      for D in HASHED),
    Case(encodings.dense_grid2d, (places(2), draw((4, 3, 2))), in_grid(True), {"smooth": True}),
    Case(encodings.dense_grid3d, (places(3), draw((2, 4, 3, 2))), in_grid(False)),
    Case(encodings.triplane, (places(3), draw((3, 4, 4, 2))), in_planes, {"product": True}),
]  # fmt: skip


@pytest.mark.part(3)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_features_are_those_of_jax(case: Case) -> None:
    check(case)


@pytest.mark.part(2)
@pytest.mark.parametrize("D", HASHED)
def test_hashes_are_those_of_instant_ngp_bit_by_bit(D: int) -> None:
    """At corners the features are those of one entry, here its number; Python's integers say which."""
    cells = np.array([2**12, 2**17, 2**20][: len(CELLS[D])])
    tables = np.repeat(np.arange(32.0)[None, :, None], len(cells), axis=0) * np.ones(2)
    corners = [rng.integers(0, side + 1, (60, D)) for side in cells]
    f = HASHED[D].of(smooth=D == 2)
    for k, (side, places) in enumerate(zip(cells, corners, strict=True)):
        found = f.vjp(places / side, tables, cells)[0][:, 2 * k]
        expected = []
        for corner in places.tolist():
            mixed = 0
            for i, prime in zip(corner, PRIMES, strict=False):
                mixed ^= (i * prime) % 2**32
            expected.append(mixed % 32)
        np.testing.assert_array_equal(found, expected)


def test_derivatives_of_a_table_have_the_sum_of_the_seeds() -> None:
    cells, seed = np.array([2, 4, 50]), draw((9, 6))
    value, pullback = encodings.hash_grid3d.of(smooth=False).vjp(places(3), draw((3, 32, 2)), cells)
    assert value.shape == seed.shape
    np.testing.assert_allclose(pullback(seed).tables.sum(axis=1).ravel(), seed.sum(axis=0), rtol=1e-12)


@vectorize_grad(wrt="points")
def curvature(points, tables, cells, seed):
    return (seed * encodings.hash_grid2d(points, tables, cells, smooth=True)).sum()


def test_second_derivatives_by_the_places() -> None:
    points, tables, seed, way = places(2), draw((3, 32, 2)), draw((9, 6)), draw((9, 2))
    with jax.enable_x64(True):
        slope = jax.grad(lambda p: (seed * in_tables(True)(p, tables, CELLS[2])).sum())
        expected = np.asarray(jax.jit(lambda p: jax.jvp(slope, (p,), (way,))[1])(points))
    _, _, got = curvature.hvp((points, tables, CELLS[2], seed), {"points": way})
    np.testing.assert_allclose(got.points, expected, rtol=1e-10, atol=1e-8)


def test_borders_belong_to_the_cell_behind_and_outside_is_flat() -> None:
    grid = np.array([0.0, 1.0, 4.0])[:, None, None] * np.ones((1, 2, 1))
    x = np.array([0.0, 0.5, 1.0, -0.1, 1.1, np.nan])
    points = np.stack([x, 0.25 * np.ones(6)], axis=1)
    value, pullback = encodings.dense_grid2d.of(smooth=True).vjp(points, np.array(grid))
    np.testing.assert_array_equal(value[:5, 0], [0.0, 1.0, 4.0, 0.0, 4.0])
    assert np.isnan(value[5, 0])
    np.testing.assert_array_equal(pullback(np.ones((6, 1))).points[:5, 0], 0.0)  # smoothstep is flat at corners
    grid = np.repeat(np.array([0.0, 1.0, 4.0])[:, None, None, None], 2, axis=1) * np.ones((1, 1, 2, 1))
    points = np.concatenate([points, points[:, 1:]], axis=1)
    value, pullback = encodings.dense_grid3d.of().vjp(points, grid)
    np.testing.assert_array_equal(value[:5, 0], [0.0, 1.0, 4.0, 0.0, 4.0])
    np.testing.assert_array_equal(pullback(np.ones((6, 1))).points[:5, 0], [2.0, 6.0, 6.0, 0.0, 0.0])


@pytest.mark.part(3)
@pytest.mark.parametrize(
    ("operator", "options", "arguments", "message"),
    [
        (HASHED[3], {"smooth": False}, (places(3), draw((3, 33, 2)), CELLS[3]), "power of two"),
        (HASHED[3], {"smooth": False}, (places(2), draw((3, 32, 2)), CELLS[3]), "column for each axis"),
        (HASHED[3], {"smooth": False}, (places(3), draw((2, 32, 2)), CELLS[3]), "number for each table"),
        (HASHED[3], {"smooth": False}, (places(3), draw((3, 32, 2)), 0 * CELLS[3]), "one cell or more"),
        (encodings.dense_grid3d, {}, (places(3), draw((1, 4, 3, 2))), "two corners"),
        (encodings.triplane, {"product": True}, (places(3), draw((2, 4, 4, 2))), "planes"),
    ],
)
def test_what_does_not_fit_is_refused(operator: Operator, options: Any, arguments: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        operator.of(**options).vjp(*arguments)
