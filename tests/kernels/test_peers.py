"""What other libraries have beside operators of ours: pools of volumes, places of winners, dropout inside of attention,
lengths, decibels and bags, against JAX and NumPy."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp
from jax import lax

from loopdiff import ArgumentError
from loopdiff.kernels import Operator, nn
from tests.kernels.against_jax import Case, check
from tests.kernels.test_recurrent import split_mix

pytestmark = pytest.mark.part(3)
rng = np.random.default_rng(41)
draw = rng.standard_normal
indices, starts = np.array([4, 0, 4, 1, 1, 4, 3, 0, 4]), np.array([0, 2, 2, 5, 9])
signal, image, volume = draw((2, 2, 9)), draw((2, 2, 6, 7)), draw((2, 2, 5, 4, 6))
wide = {"window": (3, 2, 3), "stride": (2, 1, 2), "padding": (1, (0, 1), (2, 1))}


def windows(x: Any, empty: float, dilation: int = 1) -> Any:
    """The cells of each window of `wide`, on the last axis."""
    x = jnp.pad(x, ((0, 0), (0, 0), (1, 1), (0, 1), (2, 1)), constant_values=empty)
    reach = tuple(dilation * (n - 1) for n in wide["window"])
    counts = [(n - r - 1) // s + 1 for n, r, s in zip(x.shape[2:], reach, wide["stride"], strict=True)]
    parts = []
    for offset in np.ndindex(*wide["window"]):
        start = [dilation * o for o in offset]
        stop = [a + (k - 1) * s + 1 for a, k, s in zip(start, counts, wide["stride"], strict=True)]
        parts.append(lax.slice(x, (0, 0, *start), (*x.shape[:2], *stop), (1, 1, *wide["stride"])))
    return jnp.stack(parts, axis=-1)


def norms(difference: Any, p: float) -> Any:
    return (abs(difference) ** p).sum(axis=-1) ** (1 / p)


def within(x: Any, p: float = 2.0) -> Any:
    i, j = np.triu_indices(len(x), 1)
    return norms(x[i] - x[j], p)


def decibels(power: Any) -> Any:
    y = 10.0 * jnp.log10(jnp.maximum(power, 1e-3) / 2.0)
    return jnp.maximum(y, y.max() - 20.0)


def bags(reduce: Any) -> Any:
    def f(table: Any, indices: Any, starts: Any, weights: Any = None) -> Any:
        rows = table[indices] if weights is None else weights[:, None] * table[indices]
        lists = [rows[a:b] for a, b in pairwise(starts)]
        return jnp.stack([reduce(own, axis=0) if len(own) else jnp.zeros(table.shape[1]) for own in lists])

    return f


def dropped(q: Any, k: Any, v: Any, mask: Any, bias: Any, seed: int, rate: float = 0.3, causal: bool = False) -> Any:
    k, v = (jnp.repeat(a, q.shape[1] // k.shape[1], axis=1) for a in (k, v))
    scores = jnp.einsum("bhid,bhjd->bhij", q, k) / jnp.sqrt(q.shape[-1])
    scores = scores if bias is None else scores + bias
    seen = jnp.tri(*scores.shape[2:], k=scores.shape[3] - scores.shape[2], dtype=bool) if causal else True
    seen = seen if mask is None else seen & (mask[:, None, None, :] != 0)
    parts = jax.nn.softmax(jnp.where(seen, scores, -jnp.inf), axis=-1)
    held = np.array([split_mix(seed, n) >= rate for n in range(parts.size)]).reshape(parts.shape)
    return jnp.einsum("bhij,bhje->bhie", parts * held / (1.0 - rate), v)


q, k, v = draw((2, 4, 5, 3)), draw((2, 2, 7, 3)), draw((2, 2, 7, 6))
mask, bias = np.arange(14).reshape(2, 7) % 3 > 0, draw((4, 5, 7))
BAGS = [(mode, bags(reduce)) for mode, reduce in (("sum", jnp.sum), ("mean", jnp.mean), ("max", jnp.max))]
CASES = [
    Case(nn.max_pool3d, (volume,), lambda x: windows(x, -jnp.inf).max(axis=-1), wide),
    Case(nn.max_pool3d, (draw((1, 2, 7, 5, 8)),), lambda x: windows(x, -jnp.inf, 2).max(axis=-1),
         {**wide, "dilation": 2}),
    Case(nn.mean_pool3d, (volume,), lambda x: windows(x, 0.0).mean(axis=-1), wide),
    Case(nn.mean_pool3d, (volume,), lambda x: jnp.nan_to_num(jnp.nanmean(windows(x, jnp.nan), axis=-1)),
         {**wide, "count_padding": False}),
    Case(nn.lp_pool3d, (volume,), lambda x: norms(jnp.stack([x[:, :, i::2, j::2, k::2][:, :, :2] for i, j, k in
         np.ndindex(2, 2, 2)], axis=-1), 3.0), {"p": 3.0, "window": 2}),
    Case(nn.softmin, (draw((3, 4)),), lambda x: jax.nn.softmax(-x, axis=0), {"axis": 0}),
    Case(nn.distances, (draw((4, 3)), draw((5, 3))), lambda x, y: norms(x[:, None] - y, 3.0), {"p": 3.0}),
    Case(nn.distances_within, (draw((5, 3)),), within),
    Case(nn.distances_within, (draw((5, 3)),), lambda x: within(x, 1.0), {"p": 1.0}),
    Case(nn.distances_by_row, (draw((5, 3)), draw((5, 3))), lambda x, y: norms(x - y, 2.0)),
    Case(nn.power_to_db, (rng.uniform(0.0, 0.1, (4, 6)) ** 2,), decibels,
         {"reference": 2.0, "least": 1e-3, "span": 20.0}),
    Case(nn.db_to_power, (draw((4, 6)),), lambda y: 3.0 * 10.0 ** (y / 10.0), {"reference": 3.0}),
    *(Case(nn.embedding_bag, (draw((5, 3)), indices, starts), f, {"mode": mode}) for mode, f in BAGS),
    *(Case(nn.embedding_bag, (draw((5, 3)), indices, starts, draw(9)), f, {"mode": mode}) for mode, f in BAGS),
    *(case for operator in (nn.attention, nn.attention_online) for case in (
        Case(operator, (q, k, v, mask, bias, 11), dropped, {"shared": 2, "rate": 0.3}),
        Case(operator, (q, draw((2, 4, 7, 3)), draw((2, 4, 7, 6)), None, None, 5),
             lambda *a: dropped(*a, rate=0.5, causal=True), {"rate": 0.5, "causal": True}))),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_peers_have_is_that_of_jax(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("operator", [nn.attention, nn.attention_online], ids=lambda f: f.__name__)
def test_no_mask_of_what_is_left_out_is_kept(operator: Operator) -> None:
    arguments = q, k, v, None, None
    plain = operator.of(shared=2).compile(*arguments).temporaries
    f = operator.of(shared=2, rate=0.5)
    drawn = f.compile(*arguments, 3).temporaries
    assert sorted(t.shape for t in drawn) == sorted(t.shape for t in plain)
    assert all(np.dtype(t.dtype).kind == "f" for t in drawn)
    with pytest.raises(ArgumentError, match="needs a `seed`"):
        f(*arguments)


POOLS: list[tuple[Operator, Operator, Any, dict[str, Any]]] = [
    (nn.max_pool1d, nn.max_places1d, signal, {"window": 3, "stride": 2, "padding": (0, 1)}),
    (nn.max_pool3d, nn.max_places3d, volume, {**wide, "dilation": (1, 2, 1)}),
    (nn.adaptive_max_pool1d, nn.adaptive_max_places1d, signal, {"size": 4}),
    (nn.adaptive_max_pool2d, nn.adaptive_max_places2d, image, {"size": (4, 3)}),
    (nn.adaptive_max_pool3d, nn.adaptive_max_places3d, volume, {"size": (2, 3, 4)}),
    (nn.fractional_max_pool2d, nn.fractional_max_places2d, image, {"window": (2, 3), "size": 3}),
    (nn.fractional_max_pool3d, nn.fractional_max_places3d, volume, {"window": 2, "size": (3, 2, 4)}),
]


@pytest.mark.parametrize(("pool", "places", "x", "options"), POOLS, ids=[p[1].__name__ for p in POOLS])
def test_winners_are_where_they_are_said_to_be(pool: Operator, places: Operator, x: Any, options: Any) -> None:
    arguments = (x, 3) if "fractional" in pool.__name__ else (x,)
    found, (largest, pullback) = places(*arguments, **options), pool.of(**options).vjp(*arguments)
    rows, at = x.reshape(4, -1), found.reshape(4, -1)
    np.testing.assert_array_equal(np.take_along_axis(rows, at, axis=1), largest.reshape(4, -1))
    gradient, seed = np.zeros_like(rows), draw(largest.shape)
    np.add.at(gradient, (np.arange(4)[:, None], at), seed.reshape(4, -1))
    np.testing.assert_allclose(pullback(seed).x.reshape(4, -1), gradient, rtol=1e-13)
    back = nn.max_unpool(largest, found, size=x.shape[2:]).reshape(4, -1)
    np.testing.assert_array_equal(back, np.where(gradient != 0.0, rows, 0.0))


def test_ties_and_nothing_in_volumes() -> None:
    ties = np.ones((1, 1, 2, 2, 2))
    assert nn.max_places3d(ties, window=2).item() == nn.adaptive_max_places3d(ties, size=1).item() == 0
    ties[0, 0, 1, 0, 1] = np.nan
    assert nn.max_places3d(ties, window=2).item() == nn.adaptive_max_places3d(ties, size=1).item() == 5
    nothing = np.full((1, 1, 2, 2, 2), -np.inf)
    assert nn.max_places3d(nothing, window=2).item() == nn.adaptive_max_places3d(nothing, size=1).item() == -1


def test_windows_of_volumes_of_two_lengths() -> None:
    x, extents, window, size = draw((2, 2, 7, 9, 8)), (7, 9, 8), (2, 3, 2), (4, 3, 5)
    drawn = np.array([split_mix(6, n) for n in range(12)]).reshape(2, 2, 3)
    f = nn.fractional_max_pool3d.of(window=window, size=size)
    for samples in (drawn, rng.uniform(size=(2, 2, 3))):
        value, pullback = f.vjp(x, 6, None if samples is drawn else samples)
        for n, c in np.ndindex(2, 2):
            starts = []
            for u, length, own, parts in zip(samples[n, c], extents, window, size, strict=True):
                step = (length - own) / (parts - 1)
                starts.append([int((k + u) * step) - int(u * step) for k in range(parts - 1)] + [length - own])
            expected = [[[x[n, c, h : h + 2, i : i + 3, j : j + 2].max() for j in starts[2]] for i in starts[1]]
                        for h in starts[0]]  # fmt: skip
            np.testing.assert_array_equal(value[n, c], expected)
        assert pullback(np.ones_like(value)).x.sum() == value.size


def test_channels_that_are_kept_or_left_at_the_least() -> None:
    x, least = draw((3, 4, 2, 5)), -1.0507009873554805 * 1.6732632423543772
    kept = np.array([split_mix(9, c) >= 0.4 for c in range(12)]).reshape(3, 4, 1, 1)
    value, pullback = nn.alpha_dropout_channels.of(rate=0.4).vjp(x, 9)
    scale = (0.6 + least**2 * 0.4 * 0.6) ** -0.5
    np.testing.assert_allclose(value, scale * (np.where(kept, x, least) - 0.4 * least), rtol=1e-13)
    np.testing.assert_allclose(pullback(np.ones_like(x)).x, np.broadcast_to(scale * kept, x.shape), rtol=1e-13)


def test_equal_rows_have_no_slope() -> None:
    x = np.repeat(draw((1, 3)), 3, axis=0)
    for p in (1.0, 2.0, 3.0):
        for f, arguments in ((nn.distances_within, (x,)), (nn.distances_by_row, (x, x)), (nn.distances, (x, x))):
            value, pullback = f.of(p=p).vjp(*arguments)
            assert not value.any()
            assert not pullback(np.ones_like(value)).x.any()


WRONG: list[tuple[str, Any]] = [
    ("no room", lambda: nn.fractional_max_pool3d(volume, 0, window=3, size=3)),
    ("for each channel and axis", lambda: nn.fractional_max_pool3d(volume, 0, draw((2, 2, 2)), window=2, size=2)),
    ("channel and axis", lambda: nn.fractional_max_places2d(image, 0, draw((2, 3, 2)), window=2, size=2)),
    ("below 1", lambda: nn.fractional_max_pool2d(image, 0, np.ones((2, 2, 2)), window=2, size=3)),
    ("larger than what", lambda: nn.max_places3d(volume, window=7)),
    ("larger than what", lambda: nn.lp_pool3d(volume, p=2.0, window=5)),
    ("probability below 1", lambda: nn.attention(q, k, v, None, None, 3, shared=2, rate=1.0)),
    ("one shape", lambda: nn.distances_by_row(draw((3, 2)), draw((2, 2)))),
    ("sum, mean or max", lambda: nn.embedding_bag(draw((5, 3)), indices, starts, mode="least")),
    ("LD310", lambda: nn.embedding_bag(draw((5, 3)), indices, starts, draw(4))),
]  # fmt: skip


@pytest.mark.parametrize(("message", "call"), WRONG, ids=[m for m, _ in WRONG])
def test_what_does_not_fit_is_refused(message: str, call: Any) -> None:
    with pytest.raises(ArgumentError, match=message):
        call()
