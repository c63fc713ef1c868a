"""Options and operators that other libraries have, against JAX and NumPy: places, sizes, groups, heads and lengths."""

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

pytestmark = pytest.mark.part(3)
rng = np.random.default_rng(61)
draw = rng.standard_normal
signal, image, volume = draw((2, 2, 9)), draw((2, 2, 6, 7)), draw((1, 2, 5, 4, 6))
places, deep_places = rng.uniform(-1.4, 1.4, (2, 3, 4, 2)), rng.uniform(-1.4, 1.4, (1, 2, 3, 2, 3))
labels, starts = np.array([2, 0, -1, 2]), np.array([1, 3, 3, 7])
q, k, v = draw((2, 5, 6)), draw((2, 4, 6)), draw((2, 4, 6))
dense = draw((18, 6)), draw(18), draw((6, 6)), draw(6)


def cubic(d: Any) -> Any:
    """Keys's weights of the slope -0.75."""
    d = abs(d)
    near, far = ((1.25 * d - 2.25) * d * d + 1.0), -0.75 * (((d - 5.0) * d + 8.0) * d - 4.0)
    return jnp.where(d <= 1, near, jnp.where(d < 2, far, 0.0))


def box(d: Any) -> Any:
    return jnp.where(abs(d) < 0.5, 1.0, 0.0)


def at_places(weight: Any, mirrored: bool = False) -> Any:
    """The sum over all cells of weights of their distances; outside are zeros, or four images in mirrors."""

    def f(x: Any, grid: Any) -> Any:
        edges = [4 * n if mirrored else 0 for n in x.shape[2:]]
        wide = jnp.pad(x, ((0, 0), (0, 0), *((e, e) for e in edges)), mode="symmetric")
        rows, columns = (
            weight((((grid[..., 1 - k] + 1.0) * n - 1.0) / 2 + e)[..., None] - np.arange(n + 2 * e))
            for k, (n, e) in enumerate(zip(x.shape[2:], edges, strict=True))
        )
        return jnp.einsum("ncij,npqi,npqj->ncpq", wide, rows, columns)

    return f


def nearest_in_space(x: Any, grid: Any) -> Any:
    weights = [box(((grid[..., 2 - k] + 1.0) * n - 1.0)[..., None] / 2 - np.arange(n)) for k, n in enumerate((5, 4, 6))]
    return jnp.einsum("ncdhw,nopqd,nopqh,nopqw->ncopq", x, *weights)


def resized(method: str, *size: int) -> Any:
    return lambda x: jax.image.resize(x, (*x.shape[:2], *size), method, antialias=True)


def chosen(*size: int, middle: bool = False) -> Any:
    def f(x: Any) -> Any:
        for axis, after in enumerate(size, start=2):
            before = x.shape[axis]
            at = [int((i + 0.5) * before / after) if middle else int(i * before / after) for i in range(after)]
            x = jnp.take(x, np.array(at), axis=axis)
        return x

    return f


def reduced(operation: Any, empty: float, axes: int, behind: tuple[int, ...]) -> Any:
    """Windows of three cells at each second one, with one cell before each axis."""
    ends = ((0, 0), (0, 0), *((1, b) for b in behind))
    ones = (1,) * (2 + axes)
    return lambda x: lax.reduce_window(x, empty, operation, (1, 1, *(3,) * axes), (1, 1, *(2,) * axes), ends, ones)


def mean_of_counted(x: Any) -> Any:
    """Cells behind the margin of one cell do not count, others of the margin do."""
    widths = [np.minimum(2 * np.arange(n) + 3, extent + 2) - 2 * np.arange(n) for n, extent in ((4, 6), (4, 7))]
    return reduced(lax.add, 0.0, 2, (2, 1))(x) / (widths[0][:, None] * widths[1])


def cut_norms(x: Any) -> Any:
    """Nine cells in windows of four: the last one has a single cell, which counts four times."""
    powers = abs(x) ** 3
    whole = powers[:, :, :8].reshape(2, 2, 2, 4).sum(axis=3)
    return jnp.concatenate([whole, 4 * powers[:, :, 8:]], axis=2) ** (1 / 3)


def by_group(x: Any, w: Any, starts: Any) -> Any:
    parts = [x[a:b] @ m for (a, b), m in zip(pairwise(starts), w, strict=True)]
    return jnp.concatenate([jnp.zeros((starts[0], w.shape[2])), *parts, jnp.zeros((len(x) - starts[-1], w.shape[2]))])


def entropy_of_rows(x: Any, w: Any, labels: Any, b: Any) -> Any:
    logits = x @ w.T + b
    own = jax.nn.logsumexp(logits, axis=1) - jnp.take_along_axis(logits, abs(labels)[:, None], axis=1)[:, 0]
    return jnp.where(labels >= 0, own, 0.0)


def weights_of_keys(q: Any, k: Any, causal: bool = True) -> Any:
    scores = jnp.einsum("bhid,bhjd->bhij", q, jnp.repeat(k, q.shape[1] // k.shape[1], axis=1)) / np.sqrt(q.shape[3])
    seen = jnp.tri(*scores.shape[2:], k=scores.shape[3] - scores.shape[2], dtype=bool)
    return jax.nn.softmax(jnp.where(seen, scores, -jnp.inf) if causal else scores, axis=-1)


def heads(q: Any, k: Any, v: Any, w: Any, b: Any, w_out: Any, b_out: Any) -> Any:
    split = [
        (a @ m.T + c).reshape(*a.shape[:2], 2, 3).swapaxes(1, 2)
        for a, m, c in zip((q, k, v), jnp.split(w, 3), jnp.split(b, 3), strict=True)
    ]
    y = weights_of_keys(split[0], split[1], causal=False) @ split[2]
    return y.swapaxes(1, 2).reshape(q.shape) @ w_out.T + b_out


CUT: dict[str, Any] = {"window": 3, "stride": 2, "padding": 1, "ceil_mode": True}
CASES = [
    Case(nn.max_pool2d, (image,), reduced(lax.max, -jnp.inf, 2, (2, 1)), CUT),
    Case(nn.max_pool3d, (volume,), reduced(lax.max, -jnp.inf, 3, (1, 2, 2)), CUT),
    Case(nn.mean_pool2d, (image,), mean_of_counted, CUT),
    Case(nn.mean_pool3d, (volume,), lambda x: reduced(lax.add, 0.0, 3, (1, 2, 2))(x) / 7, {**CUT, "divisor": 7}),
    Case(nn.lp_pool1d, (signal,), cut_norms, {"p": 3, "window": 4, "stride": 4, "ceil_mode": True}),
    Case(nn.grid_sample, (image, places), at_places(cubic), {"mode": "cubic"}),
    Case(nn.grid_sample, (image, places), at_places(cubic, mirrored=True), {"mode": "cubic", "padding": "reflection"}),
    Case(nn.grid_sample, (image, places), at_places(box), {"mode": "nearest"}),
    Case(nn.grid_sample3d, (volume, deep_places), nearest_in_space, {"mode": "nearest"}),
    Case(nn.resize_linear, (image,), resized("linear", 2, 5), {"size": (2, 5), "antialias": True}),
    Case(nn.resize_cubic, (image,), resized("cubic", 4, 3), {"size": (4, 3), "antialias": True}),
    Case(nn.resize_nearest1d, (signal,), chosen(5), {"size": 5}),
    Case(nn.resize_nearest, (image,), chosen(4, 16, middle=True), {"size": (4, 16), "middle": True}),
    Case(nn.resize_nearest3d, (volume,), chosen(7, 3, 6), {"size": (7, 3, 6)}),
    Case(nn.grouped_matmul, (draw((8, 3)), draw((3, 3, 2)), starts), by_group),
    Case(nn.linear_cross_entropy, (draw((4, 5)), draw((3, 5)), labels, draw(3)), entropy_of_rows),
    Case(nn.attention_weights, (draw((2, 4, 5, 3)), draw((2, 2, 7, 3))), weights_of_keys,
         {"shared": 2, "causal": True}),
    Case(nn.multi_head_attention, (q, k, v, *dense), heads, {"heads": 2}),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_options_are_those_of_jax(case: Case) -> None:
    check(case)


H, D = 3, 4
LAYERS: list[tuple[Operator, int, Any]] = [(nn.rnn, 1, ()), (nn.lstm, 4, ()), (nn.gru, 3, (draw(H),))]


@pytest.mark.part(2)
@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize(("operator", "gates", "more"), LAYERS, ids=[row[0].__name__ for row in LAYERS])
def test_sequences_of_several_lengths_are_each_by_itself(
    operator: Operator, gates: int, more: Any, backward: bool
) -> None:
    T, lengths = 5, np.array([3, 5, 0, 1])
    x, states = draw((T, 4, D)), [draw((4, H)) for _ in range(2 if operator is nn.lstm else 1)]
    weights = draw((gates * H, D)), draw((gates * H, H)), draw(gates * H), *more
    for n, length in enumerate(lengths):
        x[length:, n] = np.nan
    f = operator.of(backward=backward)
    none = (None,) if operator is nn.lstm else ()
    value, pullback = f.vjp(x, *states, *weights, *none, lengths)
    several = value if isinstance(value, tuple) else (value,)
    seeds = tuple(draw(part.shape) for part in several)
    slopes = pullback(seeds if isinstance(value, tuple) else seeds[0])
    total = np.zeros_like(weights[0])
    for n, length in enumerate(lengths):
        own, pull = f.vjp(x[:length, n : n + 1].copy(), *(s[n : n + 1].copy() for s in states), *weights)
        alone = own if isinstance(own, tuple) else (own,)
        np.testing.assert_allclose(several[0][:length, n], alone[0][:, 0], rtol=1e-12)
        assert not several[0][length:, n].any()
        np.testing.assert_allclose([a[n] for a in several[1:]], [a[0] for a in alone[1:]], rtol=1e-12)
        given = (seeds[0][:length, n : n + 1].copy(), *(s[n : n + 1].copy() for s in seeds[1:]))
        found = pull(given if isinstance(own, tuple) else given[0])
        np.testing.assert_allclose(slopes.x[:length, n], found.x[:, 0], rtol=1e-10, atol=1e-13)
        np.testing.assert_allclose(slopes.h[n], found.h[0], rtol=1e-10, atol=1e-13)
        assert not slopes.x[length:, n].any()
        total += found.w
    np.testing.assert_allclose(slopes.w, total, rtol=1e-10, atol=1e-13)


def test_logits_are_kept_nowhere() -> None:
    arguments = draw((50, 4)), draw((70, 4)), np.arange(50)
    assert not nn.linear_cross_entropy.of().compile(*arguments).temporaries


def test_places_that_are_infinite() -> None:
    far = np.array([[[[np.inf, 0.0], [-np.inf, 0.0], [1e300, 0.0], [np.nan, 0.0]]]])
    row = np.arange(1.0, 4.0).reshape(1, 1, 1, 3)
    for mode in ("nearest", "linear", "cubic"):
        value, pullback = nn.grid_sample.of(mode=mode).vjp(row, far)
        np.testing.assert_array_equal(value.ravel(), [0.0, 0.0, 0.0, np.nan])
        assert not pullback(np.array([[[[1.0, 1.0, 1.0, 0.0]]]])).x.any()
        edge = nn.grid_sample(row, far, mode=mode, padding="border").ravel()
        np.testing.assert_allclose(edge, [3.0, 1.0, 3.0, np.nan], rtol=1e-14)
        mirrored = nn.grid_sample(row, far, mode=mode, padding="reflection").ravel()
        np.testing.assert_array_equal(np.isnan(mirrored), [True, True, False, True])


def test_a_window_that_begins_behind_the_edge_is_none() -> None:
    assert nn.max_pool1d(draw((1, 1, 5)), window=2, stride=3, padding=1, ceil_mode=True).shape == (1, 1, 2)
    assert nn.mean_pool1d(np.ones((1, 1, 2)), window=3, stride=3, ceil_mode=True).ravel() == [1.0]


x = draw((5, 2, D))
WRONG: list[tuple[str, Any]] = [
    ("linear, nearest or, in planes, cubic", lambda: nn.grid_sample3d(volume, deep_places, mode="cubic")),
    ("zeros, border or reflection", lambda: nn.grid_sample(image, places, padding="wrap")),
    ("linear, nearest or, in planes, cubic", lambda: nn.grid_sample(image, places, mode="bilinear")),
    ("an image has cells", lambda: nn.grid_sample(image[:, :, :0], places)),
    ("a volume has cells", lambda: nn.grid_sample3d(volume[:, :, :0], deep_places)),
    ("larger than what", lambda: nn.mean_pool2d(image, window=9)),
    ("a length for each sequence", lambda: nn.rnn(x, draw((2, H)), draw((H, D)), draw((H, H)), draw(H), np.array([3]))),
    ("a length is from 0", lambda: nn.rnn(x, draw((2, H)), draw((H, D)), draw((H, H)), draw(H), np.array([3, 6]))),
    ("one number for each class", lambda: nn.cross_entropy(draw((4, 3)), labels, draw(4))),
    (r"`w` \(C, D\)", lambda: nn.linear_cross_entropy(draw((4, 5)), draw((3, 4)), labels)),
    ("`starts` must ascend", lambda: nn.grouped_matmul(draw((8, 3)), draw((1, 3, 2)), np.array([3, 1]))),
    ("LD310", lambda: nn.grouped_matmul(draw((8, 3)), draw((1, 3, 2)), np.array([3, 9]))),
    (r"`starts` \(G \+ 1,\)", lambda: nn.grouped_matmul(draw((8, 3)), draw((1, 3, 2)), starts)),
    ("`heads` divides E", lambda: nn.multi_head_attention(q, k, v, *dense, heads=4)),
    (r"`k` and `v` are \(B, M, E\)", lambda: nn.multi_head_attention(q, k, v[:, :2], *dense, heads=2)),
    (r"`v` \(B, G, M, E\)", lambda: nn.attention_weights(draw((2, 4, 5, 3)), draw((2, 3, 7, 3)))),
]  # fmt: skip


@pytest.mark.parametrize(("message", "call"), WRONG, ids=[m for m, _ in WRONG])
def test_what_does_not_fit_is_refused(message: str, call: Any) -> None:
    with pytest.raises(ArgumentError, match=message):
        call()
