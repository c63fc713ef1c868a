"""What is decided about plausible wrong calls and about numbers at edges, operator by operator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from loopdiff.errors import LoopdiffError
from loopdiff.kernels import nn, probability

pytestmark = pytest.mark.part(2)

ints = np.arange(16).reshape(1, 1, 4, 4)
draw = np.random.default_rng(3).standard_normal
x, w = draw((1, 2, 4, 4)), draw((3, 2, 2, 2))
lstm = (draw((2, 1, 3)), draw((1, 5)), draw((1, 5)), draw((20, 3)), draw((20, 5)), draw(20))
WRONG: list[tuple[str, Any]] = [
    ("integers", lambda: nn.softmax(np.array([1, 2, 3]))),
    ("integers", lambda: nn.logsumexp(np.array([[1, 2, 3]]))),
    ("integers", lambda: nn.mean_pool2d(ints.astype(np.uint8), window=2)),
    ("integers", lambda: nn.conv2d(ints, np.full((1, 1, 2, 2), 0.25))),
    ("integers", lambda: nn.dropout(np.arange(5), 1)),
    ("integers", lambda: nn.kl_divergence(np.zeros((1, 2)), np.array([[0, 1]]))),
    ("integers", lambda: nn.csr_matmul(np.ones(1), np.array([0]), np.array([0, 1]), np.array([[1]]))),
    ("integers", lambda: nn.scatter_max(np.array([[1]]), np.array([0]), size=2)),
    ("integers", lambda: nn.resize_linear(ints, size=3)),
    ("integers", lambda: nn.rotate(ints, 0.1)),
    ("integers", lambda: nn.layer_norm(np.array([[1, 2]]))),
    ("integers", lambda: probability.simplex(np.array([0, 0]))),
    ("integers", lambda: probability.ordered_vector(np.array([0, 1]))),
    ("integers", lambda: probability.correlation_cholesky(np.array([1]), size=2)),
    (r"`w` \(gates", lambda: nn.lstm(*lstm[:1], np.zeros((1, 4)), np.zeros((1, 4)), *lstm[3:])),
    (r"`w` \(gates", lambda: nn.rnn(lstm[0], lstm[1], *lstm[3:])),
    ("`c` is", lambda: nn.lstm(*lstm[:2], np.zeros((2, 9)), *lstm[3:])),
    ("`b` is", lambda: nn.rnn(lstm[0], lstm[1], draw((5, 3)), draw((5, 5)), draw(99))),
    ("places", lambda: nn.layer_norm(draw((2, 4)), draw(9))),
    ("places", lambda: nn.group_norm(x, draw(9), groups=2)),
    ("places", lambda: nn.batch_norm_inference(x, draw(5), draw(5))),
    (r"`q` is \(B", lambda: nn.attention(draw((1, 2, 3, 4)), draw((2, 2, 3, 4)), draw((2, 2, 3, 4)))),
    ("`mask` is", lambda: nn.attention(*[draw((1, 2, 3, 4))] * 3, np.ones((3, 5)))),
    ("`bias` is", lambda: nn.attention(*[draw((1, 2, 3, 4))] * 3, None, draw((4, 4, 4)))),
    ("`grid` is", lambda: nn.grid_sample(x, draw((2, 2, 2, 3)))),
    ("as many labels", lambda: nn.cross_entropy(draw((2, 3)), np.array([0, 1, 2]))),
    ("one shape", lambda: nn.triplet(draw((2, 3)), draw((2, 4)), draw((2, 4)))),
    (r"`A` \(D, S\)", lambda: nn.selective_scan(*[draw((1, 2, 3))] * 2, draw((4, 2)), *[draw((1, 2, 2))] * 2, draw(3))),
    ("as many indices", lambda: nn.scatter_mean(draw((2, 3)), np.array([0, 0, 1]), size=2)),
    ("ascend", lambda: nn.segment_sum(draw((3, 1)), np.array([3, 1, 2]))),
    ("one number for each", lambda: nn.conv2d(x, w, draw(1))),
    ("larger than", lambda: nn.lp_pool2d(x, p=2, window=5)),
    ("larger than", lambda: nn.unfold(x, window=5)),
    ("not negative", lambda: nn.conv_transpose2d(draw((1, 3, 3, 3)), w, padding=-1)),
    ("at least 1", lambda: nn.conv2d(x, w, stride=-100)),
    ("at least 1", lambda: nn.conv2d(x, w, dilation=0)),
    ("probability below 1", lambda: nn.dropout(draw(3), 1, rate=-0.5)),
    ("probability below 1", lambda: nn.dropout(draw(3), 1, rate=1.0)),
    ("blank is no label", lambda: nn.ctc(draw((1, 3, 3)), np.array([[0]]), np.array([3]), np.array([1]))),
    ("`mode` is", lambda: nn.pad2d(x, padding=0, mode="edge")),
    ("one number for each share", lambda: probability.dirichlet(np.array([0.2, 0.3, 0.5]), np.array([0.5]))),
    (r"LD203|`R` \(M, M\)", lambda: probability.kalman(
        draw((3, 2)), np.eye(2), np.eye(2), np.eye(2), np.array([0.2, 0.3]), np.zeros(2), np.eye(2))),
]  # fmt: skip


@pytest.mark.part(7)
@pytest.mark.parametrize(("message", "call"), WRONG, ids=[f"{k}-{m}" for k, (m, _) in enumerate(WRONG)])
def test_plausible_wrong_calls_are_refused(message: str, call: Any) -> None:
    with pytest.raises(LoopdiffError, match=message):
        call()


def test_nan_comes_out() -> None:
    row = np.full((1, 3), np.nan)
    assert np.isnan(nn.hinge(row, np.array([0]))).all()
    assert np.isnan(nn.triplet(row, row, row)).all()
    assert np.isnan(nn.lp_pool2d(np.array([[np.nan, 1.0], [0.0, 2.0]]).reshape(1, 1, 2, 2), p=2, window=2)).all()
    assert np.isnan(nn.kl_divergence(np.zeros((1, 2)), np.array([[np.nan, 0.5]]))).all()
    assert np.isnan(nn.attention(np.full((1, 1, 1, 2), np.nan), draw((1, 1, 3, 2)), draw((1, 1, 3, 2)))).all()


def test_ties_share_evenly_however_many() -> None:
    rows = np.array([[2.0], [2.0], [2.0], [2.0], [1.0]])
    _, pullback = nn.scatter_max.of(size=2).vjp(rows, np.array([0, 0, 0, 0, 1]))
    np.testing.assert_array_equal(pullback(np.ones((2, 1))).rows, [[0.25], [0.25], [0.25], [0.25], [1.0]])


def test_smooth_functions_are_smooth_at_zero() -> None:
    assert nn.rational_tanh.of().grad(0.0)[0] == pytest.approx(1.7159 * 2.0 / 3.0)
    assert nn.log_cosh.of().hvp((0.0,), {"x": 1.0})[2].x == pytest.approx(1.0)
    assert nn.log_cosh(1e-9) == pytest.approx(0.5e-18)
    np.testing.assert_allclose(nn.rational_tanh(np.array([-1e300, 1e7])), [-1.7159, 1.7159], rtol=1e-6)


def test_points_on_each_other_have_finite_derivatives() -> None:
    _, pullback = nn.triplet.of().vjp(np.ones((1, 3)), np.ones((1, 3)), np.full((1, 3), 1.1))
    assert all(np.isfinite(g).all() for g in pullback(np.ones(1)))


def test_large_numbers_keep_their_share() -> None:
    np.testing.assert_array_equal(nn.sparsemax(np.array([2.0**54, 0.0])), [1.0, 0.0])
    np.testing.assert_array_equal(nn.sparsemax(np.array([2.0**25, 0.0], dtype=np.float32)), [1.0, 0.0])


def test_tails_do_not_overflow() -> None:
    value, gradients = probability.cauchy.of().value_and_grad(1e200, 0.0, 1.0)
    assert value == pytest.approx(-np.log(np.pi) - 400.0 * np.log(10.0))
    assert gradients.scale == pytest.approx(1.0)
    small = probability.half_cauchy(np.float32([1e20]), np.float32([1.0]))
    assert small == pytest.approx(np.log(2 / np.pi) - 2 * np.log(1e20))
    heavy = probability.student_t(1e200, 3.0, 0.0, 1.0)
    assert heavy == pytest.approx(-4.0 * np.log(1e200) + np.log(6 * np.sqrt(3) / np.pi))


def test_windows_without_a_cell_have_mean_zero_and_no_winner() -> None:
    ones = np.ones((1, 1, 2, 2))
    means = nn.mean_pool2d(ones, window=1, stride=1, padding=2, count_padding=False)
    assert set(means.ravel()) == {0.0, 1.0}
    assert nn.max_pool2d(ones, window=1, stride=1, padding=2)[0, 0, 0, 0] == -np.inf
