"""Integration, stencils, sequences and particles against JAX, SciPy, and sums over everything there is."""

from __future__ import annotations

from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
import pytest
from scipy import integrate, spatial

pytest.importorskip("jax")

import jax.numpy as jnp
import jax.scipy as jsp

from loopdiff.errors import ArgumentError
from loopdiff.kernels import science
from tests.kernels.against_jax import Case, check

pytestmark = pytest.mark.part(3)

rng = np.random.default_rng(5)
draw = rng.standard_normal


# -- integration -------------------------------------------------------------------------------------------
def spinning(t: Any, y: Any, p: Any) -> Any:
    return np.cos(t) * (p @ y) - 0.1 * y * y


def spinning_in_jax(t: Any, y: Any, p: Any) -> Any:
    return jnp.cos(t) * (p @ y) - 0.1 * y * y


def linear(t: Any, y: Any, p: Any) -> Any:
    return p @ y


def stepped(A: Any, B: Any, C: Any) -> Any:
    """Runge-Kutta steps by Butcher's tableau, stage by stage."""

    def f(y: Any, times: Any, p: Any) -> Any:
        states = [y]
        for n in range(len(times) - 1):
            h, slopes = times[n + 1] - times[n], []
            for a, c in zip(A, C, strict=True):
                inner = y + h * sum(a[k] * slopes[k] for k in range(len(slopes)))
                slopes.append(spinning_in_jax(times[n] + c * h, inner, p))
            y = y + h * sum(b * s for b, s in zip(B, slopes, strict=True))
            states.append(y)
        return jnp.stack(states)

    return f


KUTTA = stepped(
    [[0, 0, 0], [1 / 3, 0, 0], [-1 / 3, 1, 0], [1, -1, 1]], [1 / 8, 3 / 8, 3 / 8, 1 / 8], [0, 1 / 3, 2 / 3, 1]
)
TIMES, SPIN = np.array([0.2, 0.5, 0.3]), 0.5 * draw((3, 3))


def test_errors_fall_with_the_order() -> None:
    y, orders = draw(3), {"euler": 1, "midpoint": 2, "heun": 2, "classic": 4, "three_eighths": 4, "dormand_prince": 5}
    exact = integrate.solve_ivp(lambda t, y: SPIN @ y, (0.0, 1.0), y, rtol=1e-13, atol=1e-14).y[:, -1]
    for method, order in orders.items():
        plain = science.runge_kutta.py_func
        states = [plain(y, np.linspace(0.0, 1.0, n), SPIN, function=linear, method=method) for n in (9, 17)]
        errors = [np.abs(found[-1] - exact).max() for found in states]
        assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.35), method


def test_adaptive_steps_reach_the_solution() -> None:
    y, seed = draw(3), draw(3)
    f = science.adaptive_dormand_prince.of(function=linear, rtol=1e-10, atol=1e-12)
    value, pullback = f.vjp(y, 0.5, -0.7, SPIN)
    gradients = pullback(seed)

    def solved(p: np.ndarray, y: np.ndarray) -> np.ndarray:
        return integrate.solve_ivp(lambda t, y: p @ y, (0.5, -0.7), y, rtol=1e-12, atol=1e-13).y[:, -1]

    np.testing.assert_allclose(value, solved(SPIN, y), rtol=1e-8)
    assert gradients.end == pytest.approx(seed @ SPIN @ value, rel=1e-8)
    assert gradients.begin == pytest.approx(-seed @ SPIN @ value, rel=1e-8)
    for way in (draw((3, 3)), draw((3, 3))):
        expected = seed @ (solved(SPIN + 1e-5 * way, y) - solved(SPIN - 1e-5 * way, y)) / 2e-5
        assert (gradients.parameters * way).sum() == pytest.approx(expected, rel=1e-6)
        np.testing.assert_allclose(gradients.state @ way[0], seed @ solved(SPIN, way[0]), rtol=1e-7)
    with pytest.raises(ArgumentError, match="more steps than"):
        f.vjp(y, 0.0, 1e6, SPIN)
    with pytest.raises(ArgumentError, match="NaN"):
        f.vjp(y, 0.0, np.nan, SPIN)


# -- stencils ----------------------------------------------------------------------------------------------
MODES = {"zero": "constant", "edge": "edge", "reflect": "reflect", "wrap": "wrap"}


def by_shifts(boundary: str) -> Any:
    def f(x: Any, w: Any) -> Any:
        x, w = (x[None], w[None]) if x.ndim == 1 else (x, w)
        (H, W), (R, S) = x.shape, w.shape
        wide = jnp.pad(x, ((R // 2, R // 2), (S // 2, S // 2)), mode=MODES[boundary])
        y = sum(w[r, s] * wide[r : r + H, s : s + W] for r, s in product(range(R), range(S)))
        return y[0] if H == 1 else y

    return f


def heat(cell: Any, above: Any, below: Any, left: Any, right: Any, p: Any) -> Any:
    return cell + p[0] * (above + below + left + right - 4.0 * cell) - p[1] * cell * left


def heated(x: Any, p: Any) -> Any:
    for _ in range(3):
        a, b, c, d = jnp.roll(x, 1, 0), jnp.roll(x, -1, 0), jnp.roll(x, 1, 1), jnp.roll(x, -1, 1)
        x = x + p[0] * (a + b + c + d - 4 * x) - p[1] * x * c
    return x


# -- sequences ---------------------------------------------------------------------------------------------
def ways(n: int, m: int) -> list[list[tuple[int, int]]]:
    """All ways through the cells of a matrix, from the first to the last."""
    if (n, m) == (1, 1):
        return [[(0, 0)]]
    befores = [(i, j) for i, j in ((n - 1, m), (n, m - 1), (n - 1, m - 1)) if i > 0 and j > 0]
    return [[*way, (n - 1, m - 1)] for i, j in befores for way in ways(i, j)]


def softly(costs: Any, gamma: Any) -> Any:
    sums = jnp.stack([sum(costs[i, j] for i, j in way) for way in ways(*costs.shape)])
    return -gamma * jsp.special.logsumexp(-sums / gamma)


def alignments(n: int, m: int) -> list[list[tuple[int, int]]]:
    """All alignments that have a pair: pairs of places that ascend in both sequences."""
    return [
        list(zip(rows, columns, strict=True))
        for k in range(1, min(n, m) + 1)
        for rows in combinations(range(n), k)
        for columns in combinations(range(m), k)
    ]


def aligned(scores: Any, opening: Any, extension: Any) -> Any:
    totals = [jnp.zeros(())]
    for pairs in alignments(*scores.shape):
        gaps = [q[s] - p[s] - 1 for p, q in pairwise(pairs) for s in (0, 1)]
        lost = sum(opening + (g - 1) * extension for g in gaps if g > 0)
        totals.append(sum(scores[i, j] for i, j in pairs) - lost)
    return jnp.max(jnp.stack(totals))


# -- particles ---------------------------------------------------------------------------------------------
BOX = np.array([3.0, 4.0, 3.5])
POSITIONS = rng.permutation(np.stack(np.meshgrid(*[np.arange(2.0)] * 3), axis=-1).reshape(8, 3)) * BOX / 2
POSITIONS = POSITIONS + 0.3 * draw((8, 3))
NEAR, STARTS = science.neighbour_list(POSITIONS, BOX, cutoff=1.45, capacity=40)
FIRST, SECOND = np.repeat(np.arange(8), np.diff(STARTS)), NEAR[: STARTS[-1]]


def distances(x: Any, box: Any) -> Any:
    step = x[FIRST] - x[SECOND]
    step = step if box is None else step - box * jnp.round(step / box)
    return jnp.sqrt((step**2).sum(axis=1))


def dispersion(x: Any, neighbours: Any, starts: Any, epsilon: Any, sigma: Any, box: Any) -> Any:
    def pair(r: Any) -> Any:
        return 4 * epsilon * ((sigma / r) ** 12 - (sigma / r) ** 6)

    r = distances(x, box)
    return jnp.where(r < 1.3, pair(r) - pair(1.3), 0.0).sum()


def charged(x: Any, q: Any, neighbours: Any, starts: Any, box: Any) -> Any:
    r = distances(x, box)
    return (q[FIRST] * q[SECOND] * jnp.exp(-0.7 * r) / r).sum()


CASES = [
    Case(science.runge_kutta, (draw(3), TIMES, SPIN), KUTTA, {"function": spinning, "method": "three_eighths"}),
    Case(science.stencil1d, (draw(6), draw(5)), by_shifts("zero")),
    *(Case(science.stencil2d, (draw((5, 6)), draw((3, 5))), by_shifts(b), {"boundary": b}) for b in MODES),
    Case(science.stencil_steps2d, (draw((4, 5)), np.array([0.2, 0.1])), heated,
         {"function": heat, "steps": 3, "boundary": "wrap"}),
    Case(science.soft_dtw, (draw((3, 4)), np.float64(0.4)), softly),
    Case(science.smith_waterman, (draw((3, 4)) + 0.3, 0.4, 0.15), aligned),
    Case(science.lennard_jones, (POSITIONS, NEAR, STARTS, 0.8, 1.1, BOX), dispersion, {"cutoff": 1.3}),
    Case(science.coulomb, (POSITIONS, draw(8), NEAR, STARTS, BOX), charged, {"screening": 0.7}),
]  # fmt: skip


@pytest.mark.part(5)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_values_are_those_of_jax(case: Case) -> None:
    check(case)


def test_pairs_are_those_of_a_tree() -> None:
    inside = POSITIONS % BOX
    pairs = spatial.cKDTree(inside, boxsize=BOX).query_pairs(1.45)
    assert set(zip(FIRST.tolist(), SECOND.tolist(), strict=True)) == pairs
    assert (NEAR[STARTS[-1] :] == -1).all()
    with pytest.raises(ArgumentError, match="more pairs than"):
        science.neighbour_list(POSITIONS, BOX, cutoff=1.45, capacity=len(SECOND) - 1)
    with pytest.raises(ArgumentError, match="twice the cutoff"):
        science.neighbour_list(POSITIONS, BOX, cutoff=1.6, capacity=40)


def test_forces_have_the_sum_zero_and_far_pairs_have_none() -> None:
    f = science.lennard_jones.of(cutoff=1.3)
    force = f.vjp(POSITIONS, NEAR, STARTS, 0.8, 1.1, BOX)[1](1.0).positions
    np.testing.assert_allclose(force.sum(axis=0), 0.0, atol=1e-9 * np.abs(force).max())
    value, pullback = f.vjp(np.array([[0.0, 0, 0], [1.3, 0, 0]]), np.array([1]), np.array([0, 1, 1]), 0.8, 1.1, BOX)
    assert value == 0.0
    assert (pullback(1.0).positions == 0.0).all()
    assert f.vjp(np.zeros((2, 3)), np.array([1]), np.array([0, 1, 1]), 0.8, 1.1, BOX)[0] == np.inf
    with pytest.raises(ArgumentError, match="LD310"):
        f.vjp(POSITIONS, NEAR + 8, STARTS, 0.8, 1.1, BOX)
    with pytest.raises(ArgumentError, match="LD310"):
        f.vjp(POSITIONS, NEAR, STARTS[1:], 0.8, 1.1, BOX)
    with pytest.raises(ArgumentError, match="each dimension"):
        f.vjp(POSITIONS, NEAR, STARTS, 0.8, 1.1, np.ones(4))


def test_alignments_that_are_equally_good_share() -> None:
    f = science.smith_waterman.of()
    value, pullback = f.vjp(np.array([[2.0, -9.0], [-9.0, 2.0]]), 9.0, 9.0)
    assert value == 4.0
    np.testing.assert_array_equal(pullback(1.0).scores, np.eye(2))
    value, pullback = f.vjp(np.array([[2.0, -9.0, 2.0]]), 9.0, 9.0)
    assert value == 2.0
    np.testing.assert_array_equal(pullback(1.0).scores, [[0.5, 0.0, 0.5]])
    value, pullback = f.vjp(np.full((2, 3), -1.0), 9.0, 9.0)
    assert value == 0.0
    assert (pullback(1.0).scores == 0.0).all()
    assert f.vjp(np.ones((0, 3)), 9.0, 9.0)[0] == 0.0


def test_pairs_that_are_not_allowed() -> None:
    f = science.soft_dtw.of()
    costs = np.array([[1.0, np.inf, 3.0], [2.0, 1.0, 1.0]])
    value, pullback = f.vjp(costs, 0.5)
    assert value == pytest.approx(-0.5 * np.log(np.exp(-(1 + 2 + 1 + 1) / 0.5) + np.exp(-(1 + 1 + 1) / 0.5)), rel=1e-13)
    gradient = pullback(1.0).costs
    assert gradient[0, 1] == 0.0
    assert gradient[0, 0] == pytest.approx(1.0)
    value, pullback = f.vjp(np.full((2, 2), np.inf), 0.5)
    assert value == np.inf
    assert (pullback(1.0).costs == 0.0).all()
    assert np.isnan(f.vjp(np.full((2, 2), np.nan), 0.5)[0])
    with pytest.raises(ArgumentError, match="above zero"):
        f.vjp(costs, 0.0)
    with pytest.raises(ArgumentError, match="have elements"):
        f.vjp(costs[:, :0], 0.5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: science.stencil1d.of().vjp(draw(2), draw(5)), "larger than"),
        (lambda: science.stencil1d.of().vjp(draw(6), draw(4)), "odd"),
        (lambda: science.stencil2d.of(boundary="zero").vjp(draw((5, 6)), draw((3, 4))), "odd"),
        (lambda: science.stencil2d(draw((5, 6)), draw((3, 5)), boundary="mirror"), "boundary"),
        (lambda: science.runge_kutta(draw(3), TIMES, SPIN, function=linear, method="rk4"), "euler"),
        (
            lambda: science.runge_kutta.of(function=spinning, method="three_eighths").vjp(draw(3), TIMES[:0], SPIN),
            "LD310|a time",
        ),
    ],
)
def test_what_has_no_meaning_is_refused(call: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        call()
