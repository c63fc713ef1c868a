"""Interpolation and splines against sums over all nodes in JAX, and SciPy; edges, nodes and places that are NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import interpolate

pytest.importorskip("jax")

import jax
import jax.numpy as jnp

from loopdiff.errors import ArgumentError
from loopdiff.kernels import science
from tests.kernels.against_jax import Case, check

pytestmark = pytest.mark.part(3)

rng = np.random.default_rng(4)
draw = rng.standard_normal


def ascending(length: int) -> np.ndarray:
    return np.cumsum(rng.uniform(0.3, 1.0, length))


u, v, w = ascending(4), ascending(5), ascending(3)
x = rng.uniform(u[0] - 0.5, u[-1] + 0.5, 12)
points = np.stack([rng.uniform(n[0] - 0.5, n[-1] + 0.5, 12) for n in (u, v, w)], axis=1)
cells = rng.uniform(-0.7, (3.7, 4.7, 2.7), (12, 3))


def hats(nodes: Any, places: Any, beyond: bool = False) -> Any:
    """What each node counts at each place: interpolated unit vectors."""
    outside = {"left": "extrapolate", "right": "extrapolate"} if beyond else {}
    return jax.vmap(lambda e: jnp.interp(places, nodes, e, **outside), out_axes=1)(jnp.eye(len(nodes)))


def in_plane(u: Any, v: Any, f: Any, p: Any) -> Any:
    return jnp.einsum("mi,mj,ij->m", hats(u, p[:, 0]), hats(v, p[:, 1]), f)


def in_space(u: Any, v: Any, w: Any, f: Any, p: Any) -> Any:
    parts = [hats(n, p[:, k]) for k, n in enumerate((u, v, w))]
    return jnp.einsum("mi,mj,mk,ijk->m", *parts, f)


def keys(length: int, places: Any) -> Any:
    """Keys's kernel of the distance to each node; nodes beyond the edge count for those there."""
    nodes = np.arange(-1, length + 1)
    d = jnp.abs(jnp.clip(places, 0, length - 1)[:, None] - nodes)
    near, far = 1.5 * d**3 - 2.5 * d**2 + 1, -0.5 * d**3 + 2.5 * d**2 - 4 * d + 2
    kernel = jnp.where(d < 1, near, jnp.where(d < 2, far, 0.0))
    return jnp.zeros((len(places), length)).at[:, np.clip(nodes, 0, length - 1)].add(kernel)


def cubic(formula: str) -> Any:
    def f(values: Any, p: Any) -> Any:
        p = p.reshape(len(p), -1)
        return jnp.einsum(formula, *[keys(n, p[:, k]) for k, n in enumerate(values.shape)], values)

    return f


def by_bases(degree: int, knots: np.ndarray, x: np.ndarray) -> Any:
    """Cox and de Boor's recursion over all knots; the pieces at the ends go on."""

    def f(t: Any, c: Any, p: Any) -> Any:
        count = len(knots) - degree - 1
        piece = np.clip(np.searchsorted(knots, x, "right") - 1, degree, count - 1)
        B = jnp.asarray(piece[:, None] == np.arange(len(knots) - 1), dtype=float)
        for k in range(1, degree + 1):
            rise, fall = t[k:-1] - t[: -k - 1], t[k + 1 :] - t[1:-k]
            up = jnp.where(rise > 0, (p[:, None] - t[: -k - 1]) / jnp.where(rise > 0, rise, 1), 0)
            down = jnp.where(fall > 0, (t[k + 1 :] - p[:, None]) / jnp.where(fall > 0, fall, 1), 0)
            B = up * B[:, :-1] + down * B[:, 1:]
        return B @ c

    return f


def by_moments(ends: str, x: np.ndarray, nodes: np.ndarray) -> Any:
    """A cubic spline by its second derivatives at the nodes, from a dense matrix."""
    i = np.clip(np.searchsorted(nodes, x, "right") - 1, 0, len(nodes) - 2)

    def f(t: Any, c: Any, p: Any, first: Any, last: Any) -> Any:
        h, n = jnp.diff(t), len(t)
        inner = np.arange(1, n - 1)
        A = jnp.zeros((n, n)).at[inner, inner - 1].set(h[:-1]).at[inner, inner + 1].set(h[1:])
        A = A.at[inner, inner].set(2 * (h[:-1] + h[1:]))
        slopes = jnp.diff(c, axis=0) / h[:, None]
        right = jnp.zeros_like(c).at[inner].set(6 * jnp.diff(slopes, axis=0))
        if ends == "natural":
            A = A.at[0, 0].set(1.0).at[-1, -1].set(1.0)
        else:
            A = A.at[0, 0].set(2 * h[0]).at[0, 1].set(h[0]).at[-1, -1].set(2 * h[-1]).at[-1, -2].set(h[-1])
            right = right.at[0].set(6 * (slopes[0] - first)).at[-1].set(6 * (last - slopes[-1]))
        M = jnp.linalg.solve(A, right)
        a, b, width = (t[i + 1] - p)[:, None], (p - t[i])[:, None], h[i][:, None]
        straight = (c[i] / width - M[i] * width / 6) * a + (c[i + 1] / width - M[i + 1] * width / 6) * b
        return (M[i] * a**3 + M[i + 1] * b**3) / (6 * width) + straight

    return f


knots = np.sort(np.concatenate([[0.0] * 4, [1.0, 2.5, 2.5, 3.0], [4.5] * 4]))  # one twice, ends four times
places = rng.uniform(-0.3, 4.8, 12)
loose = ascending(9)
NODES = ascending(6)
AT = rng.uniform(NODES[0] - 0.3, NODES[-1] + 0.3, 12)
CASES = [
    Case(science.linear_interpolation1d, (u, draw(4), x), lambda u, f, x: jnp.interp(x, u, f)),
    Case(science.linear_interpolation1d, (u, draw(4), x), lambda u, f, x: hats(u, x, True) @ f, {"beyond": True}),
    Case(science.linear_interpolation2d, (u, v, draw((4, 5)), points[:, :2]), in_plane),
    Case(science.linear_interpolation3d, (u, v, w, draw((4, 5, 3)), points), in_space),
    Case(science.cubic_interpolation1d, (draw(4), cells[:, 0]), cubic("mi,i->m")),
    Case(science.cubic_interpolation2d, (draw((4, 5)), cells[:, :2]), cubic("mi,mj,ij->m")),
    Case(science.cubic_interpolation3d, (draw((4, 5, 3)), cells), cubic("mi,mj,mk,ijk->m")),
    Case(science.b_spline, (loose, draw((6, 2)), AT), by_bases(2, loose, AT), {"degree": 2}),
    Case(science.b_spline, (knots, draw(8), places), by_bases(3, knots, places)),
    Case(science.cubic_spline, (NODES, draw((6, 2)), AT, 0.3, -0.4), by_moments("natural", AT, NODES)),
    Case(science.cubic_spline, (NODES, draw((6, 2)), AT, 0.3, -0.4), by_moments("clamped", AT, NODES),
         {"ends": "clamped"}),
]  # fmt: skip


@pytest.mark.part(5)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_values_between_are_those_of_jax(case: Case) -> None:
    check(case, 1e-10)


def test_splines_are_those_of_scipy() -> None:
    c, at = draw(8), np.concatenate([places, knots])
    got = science.b_spline.of().vjp(knots, c, at)[0]
    np.testing.assert_allclose(got, interpolate.BSpline(knots, c, 3)(at), rtol=1e-10)
    at, f = np.concatenate([AT, NODES]), draw((6, 2))
    natural, clamped = science.cubic_spline.of(), science.cubic_spline.of(ends="clamped")
    expected = interpolate.CubicSpline(NODES, f, bc_type="natural")(at)
    np.testing.assert_allclose(natural.vjp(NODES, f, at, 0.3, -0.4)[0], expected, rtol=1e-10)
    expected = interpolate.CubicSpline(NODES, f, bc_type=((1, np.full(2, 0.3)), (1, np.full(2, -0.4))))(at)
    np.testing.assert_allclose(clamped.vjp(NODES, f, at, 0.3, -0.4)[0], expected, rtol=1e-10)
    line = f[:1] + np.outer((at - NODES[0]) / (NODES[1] - NODES[0]), f[1] - f[0])
    np.testing.assert_allclose(natural.vjp(NODES[:2], f[:2], at, 0.3, -0.4)[0], line, rtol=1e-12)


def test_slopes_at_nodes_are_those_to_the_right_and_none_outside() -> None:
    f = np.array([1.0, 3.0, 2.0, 7.0])
    at = np.array([0.0, 1.0, 2.0, 3.0, -1.0, 4.0])
    value, pullback = science.linear_interpolation1d.of().vjp(np.arange(4.0), f, at)
    np.testing.assert_array_equal(value, [1.0, 3.0, 2.0, 7.0, 1.0, 7.0])
    np.testing.assert_array_equal(pullback(np.ones(6)).x, [2.0, -1.0, 5.0, 5.0, 0.0, 0.0])
    value, pullback = science.cubic_interpolation1d.of().vjp(f, at)
    np.testing.assert_array_equal(value, [1.0, 3.0, 2.0, 7.0, 1.0, 7.0])
    np.testing.assert_allclose(pullback(np.ones(6)).x, [1.0, 0.5, 2.0, 2.5, 0.0, 0.0], rtol=1e-14)


def test_places_that_are_nan_have_values_that_are() -> None:
    nan = np.full(1, np.nan)
    assert np.isnan(science.linear_interpolation1d.of().vjp(u, draw(4), nan)[0]).all()
    assert np.isnan(science.cubic_interpolation1d.of().vjp(draw(4), nan)[0]).all()
    assert np.isnan(science.b_spline.of().vjp(knots, draw(8), nan)[0]).all()
    assert np.isnan(science.cubic_spline.of().vjp(NODES, draw((6, 2)), nan, 0.3, -0.4)[0]).all()


@pytest.mark.part(3)
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: science.linear_interpolation1d.of().vjp(u[::-1].copy(), draw(4), x), "ascend"),
        (lambda: science.linear_interpolation1d.of().vjp(u, draw(5), x), "as many as values"),
        (lambda: science.linear_interpolation1d.of().vjp(u, np.arange(4), x), "integers"),
        (lambda: science.linear_interpolation1d.of().vjp(np.array([0.0, np.nan, 1.0, 2.0]), draw(4), x), "ascend"),
        (lambda: science.cubic_interpolation1d.of().vjp(draw(1), x), "two values"),
        (lambda: science.b_spline.of().vjp(knots[::-1].copy(), draw(8), x), "piece|ascend"),
        (lambda: science.b_spline.of().vjp(np.zeros(12), draw(8), x), "piece"),
        (lambda: science.b_spline.of().vjp(knots, draw(7), x), "as many as coefficients"),
        (lambda: science.cubic_spline.of(ends="periodic").vjp(NODES, draw((6, 2)), AT), "natural"),
    ],
)
def test_what_has_no_values_between_is_refused(call: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        call()
