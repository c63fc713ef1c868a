"""Convolutions, their transposes and pooling, against XLA's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")

import jax.numpy as jnp
from jax import lax

from loopdiff.errors import ArgumentError
from loopdiff.kernels import nn
from loopdiff.kernels.nn.extents import pair, sides, triple
from tests.kernels.against_jax import Case, check

pytestmark = pytest.mark.part(3)

rng = np.random.default_rng(2)
draw = rng.standard_normal


def conv(axes: int, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1, flip: bool = False) -> Any:
    def each(value: Any) -> tuple[Any, ...]:
        return value if isinstance(value, tuple) else (value,) * axes

    def convolve(x: Any, w: Any, b: Any = None) -> Any:
        w = w[(..., *(slice(None, None, -1),) * axes)] if flip else w
        edges = [pair(p) for p in each(padding)]
        y = lax.conv_general_dilated(x, w, each(stride), edges, None, each(dilation), feature_group_count=groups)
        return y if b is None else y + b[(slice(None), *(None,) * axes)]

    return convolve


def transposed(shape: tuple[int, ...], **options: Any) -> Any:
    """By definition: the linear map that `conv` is, transposed."""

    def spread(x: Any, w: Any, b: Any = None) -> Any:
        image = jnp.zeros(shape)
        (y,) = lax_transpose(lambda i: conv(len(shape) - 2, **options)(i, w), image)(x)
        return y if b is None else y + b[(slice(None), *(None,) * (len(shape) - 2))]

    return spread


def lax_transpose(f: Any, image: Any) -> Any:
    import jax

    return jax.linear_transpose(f, image)


def case(operator: Any, arguments: Any, axes: int, **options: Any) -> Case:
    return Case(operator, arguments, conv(axes, **options), options)


def windows(reduce: Any, start: Any, window: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1) -> Any:
    size = (1, 1, *pair(window))
    steps = size if stride is None else (1, 1, *pair(stride))
    edges = ((0, 0), (0, 0), *sides(padding))
    return lambda x: lax.reduce_window(x, start, reduce, size, steps, edges, None, (1, 1, *pair(dilation)))


def pooled(operator: Any, x: Any, reduce: Any, start: Any, scale: Any = None, **options: Any) -> Case:
    used = {k: v for k, v in options.items() if k != "count_padding"}
    whole = windows(reduce, start, **used)
    return Case(operator, (x,), whole if scale is None else lambda x: whole(x) / scale(x), options)


x1, x2, x3 = draw((2, 4, 17)), draw((3, 4, 13, 11)), draw((2, 2, 6, 7, 5))
strided = {"stride": (2, 1), "padding": ((1, 2), (0, 1)), "dilation": (2, 1), "groups": 2}
CASES = [
    case(nn.conv2d, (x2, draw((6, 4, 3, 3)), draw(6)), 2),
    case(nn.conv2d, (x2, draw((6, 2, 3, 3)), draw(6)), 2, **strided),
    case(nn.conv2d, (x2, draw((6, 4, 2, 3)), None), 2, flip=True, padding=1),
    case(nn.conv2d, (x2, draw((8, 1, 3, 3)), draw(8)), 2, groups=4, padding=(2, 1)),
    case(nn.conv2d, (x2, draw((1, 4, 13, 11))), 2, stride=3),
    case(nn.conv1d, (x1, draw((6, 2, 5)), draw(6)), 1, stride=2, padding=3, groups=2),
    case(nn.conv1d, (x1, draw((3, 4, 4))), 1, dilation=3, flip=True),
    case(nn.conv3d, (x3, draw((4, 1, 3, 2, 3)), draw(4)), 3, groups=2, stride=(1, 2, 1),
         padding=((1, 0), (0, 2), (1, 1))),
    case(nn.conv3d, (x3, draw((3, 2, 2, 2, 2))), 3, dilation=(2, 1, 2), flip=True),
    Case(nn.conv_transpose2d, (draw((2, 6, 5, 4)), draw((6, 2, 3, 3)), draw(4)),
         transposed((2, 4, 12, 5), stride=(2, 1), padding=((1, 1), (0, 1)), dilation=(2, 1), groups=2),
         {"stride": (2, 1), "padding": ((1, 1), (0, 1)), "dilation": (2, 1), "groups": 2, "output_padding": (1, 0)}),
    Case(nn.conv_transpose1d, (draw((2, 3, 6)), draw((3, 4, 3))), transposed((2, 4, 12), stride=2, padding=1),
         {"stride": 2, "padding": 1, "output_padding": 1}),
    pooled(nn.max_pool2d, x2, lax.max, -math.inf, window=3),
    pooled(nn.max_pool2d, x2, lax.max, -math.inf, window=(3, 2), stride=(2, 1), padding=1),
    Case(nn.max_pool2d, (x2,),
         lambda x: jnp.max(jnp.stack([x[:, :, i : i + 10, j : j + 9] for i in (0, 3) for j in (0, 2)]), axis=0),
         {"window": 2, "dilation": (3, 2), "stride": 1}),
    pooled(nn.mean_pool2d, x2, lax.add, 0.0, lambda x: 6.0, window=(3, 2)),
    pooled(nn.mean_pool2d, x2, lax.add, 0.0, lambda x: 9.0, window=3, stride=2, padding=1),
    pooled(nn.mean_pool2d, x2, lax.add, 0.0,
           lambda x: windows(lax.add, 0.0, window=3, stride=2, padding=1)(jnp.ones_like(x)),
           window=3, stride=2, padding=1, count_padding=False),
    Case(nn.max_pool1d, (x1,), lambda x: windows(lax.max, -math.inf, (1, 3), (1, 2), (0, 1))(x[:, :, None])[:, :, 0],
         {"window": 3, "stride": 2, "padding": 1}),
    Case(nn.mean_pool1d, (x1,), lambda x: windows(lax.add, 0.0, (1, 4))(x[:, :, None])[:, :, 0] / 4,
         {"window": 4}),
    Case(nn.lp_pool2d, (x2,), lambda x: windows(lax.add, 0.0, 2)(abs(x) ** 3) ** (1 / 3), {"window": 2, "p": 3}),
]  # fmt: skip


@pytest.mark.part(5)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_windows_are_those_of_xla(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("reduce", [np.mean, np.max])
def test_adaptive_windows_share_the_image(reduce: Any) -> None:
    operator = nn.adaptive_mean_pool2d if reduce is np.mean else nn.adaptive_max_pool2d
    jreduce = jnp.mean if reduce is np.mean else jnp.max

    def expected(x: Any) -> Any:
        def cut(k: int, n: int, m: int) -> slice:
            return slice(k * n // m, math.ceil((k + 1) * n / m))

        rows = [[jreduce(x[:, :, cut(p, 13, 5), cut(q, 11, 4)], axis=(2, 3)) for q in range(4)] for p in range(5)]
        return jnp.stack([jnp.stack(row, axis=-1) for row in rows], axis=-2)

    check(Case(operator, (x2,), expected, {"size": (5, 4)}))


def test_the_first_of_equals_wins_and_near_ties_are_no_ties() -> None:
    f = nn.max_pool2d.of(window=3, stride=2)
    value, pullback = f.vjp(np.ones((1, 1, 9, 9)))
    (gradient,) = pullback(np.ones_like(value))
    expected = np.zeros((9, 9))
    expected[:-2:2, :-2:2] = 1.0
    np.testing.assert_array_equal(gradient[0, 0], expected)
    for order in (slice(None), slice(None, None, -1)):
        x = np.array([1.0, 1.0001], dtype=np.float32)[order].reshape(1, 1, 1, 2)
        near, pullback = nn.max_pool2d.of(window=(1, 2)).vjp(x)
        np.testing.assert_array_equal(pullback(np.ones_like(near)).x.ravel(), (x > 1).ravel().astype(np.float32))


def test_nan_wins() -> None:
    x = np.array([[1.0, np.nan], [3.0, 2.0]]).reshape(1, 1, 2, 2)
    assert np.isnan(nn.max_pool2d(x, window=2)).all()


def test_a_norm_of_nothing_has_no_derivative_that_is_not_finite() -> None:
    value, pullback = nn.lp_pool2d.of(window=2, p=2).vjp(np.zeros((1, 1, 2, 2)))
    assert (value == 0.0).all()
    assert (pullback(np.ones_like(value)).x == 0.0).all()


def test_folding_transposes_unfolding() -> None:
    x = draw((2, 3, 8, 7))
    options: dict[str, Any] = {"window": (3, 2), "stride": (2, 1), "padding": ((1, 1), (0, 1)), "dilation": (1, 2)}
    parts = nn.unfold(x, **options)
    edges = np.pad(x, ((0, 0), (0, 0), *options["padding"]))
    columns = [edges[:, :, r : r + 7 : 2, 2 * s : 2 * s + 6] for r in range(3) for s in range(2)]
    expected = np.stack(columns, axis=2).reshape(2, 18, -1)
    np.testing.assert_array_equal(parts, expected)
    y = draw(parts.shape)
    back = nn.fold(y, size=(8, 7), **options)
    assert np.vdot(parts, y) == pytest.approx(np.vdot(x, back), rel=1e-12)
    _, pullback = nn.unfold.of(**options).vjp(x)
    np.testing.assert_allclose(pullback(y).x, back, rtol=1e-12)
    _, pullback = nn.fold.of(size=(8, 7), **options).vjp(y)
    np.testing.assert_array_equal(pullback(x).x, parts)


def test_the_published_case_of_groups_and_strides() -> None:
    """NNlib's convolution of seed 7: value and both adjoints by one inner product."""
    generator = np.random.default_rng(7)
    X, W = generator.standard_normal((3, 4, 13, 11)), generator.standard_normal((6, 2, 3, 3))
    dY = generator.standard_normal((3, 6, 6, 10))
    value, pullback = nn.conv2d.of(**strided).vjp(X, W)
    dX, dW = pullback(dY)
    assert value.shape == (3, 6, 6, 10)
    for product in (np.vdot(value, dY), np.vdot(dX, X), np.vdot(dW, W)):
        assert product == pytest.approx(82.1704697160, abs=1e-8)
    assert np.linalg.norm(dX) == pytest.approx(135.5760616134, abs=1e-8)


def test_complex_images() -> None:
    x, w = draw((1, 2, 5, 5)) + 1j * draw((1, 2, 5, 5)), draw((3, 2, 2, 2)) + 1j * draw((3, 2, 2, 2))
    expected = np.asarray(conv(2)(x.astype(np.complex64), w.astype(np.complex64)))
    np.testing.assert_allclose(nn.conv2d(x, w), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.part(2)
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nn.conv2d(x2, draw((6, 3, 3, 3))), "channels do not fit"),
        (lambda: nn.conv2d(x2, draw((6, 4, 14, 3))), "window is larger"),
        (lambda: nn.conv3d(x3, draw((4, 2, 7, 1, 1))), "window is larger"),
        (lambda: nn.max_pool2d(x2, window=14), "window is larger"),
        (lambda: nn.fold(draw((1, 5, 4)), size=(4, 4), window=2), r"`x` is \(N, C \* R \* S, P \* Q\)"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(call: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        call()


def test_triples_are_triples() -> None:
    assert triple(2) == (2, 2, 2)
