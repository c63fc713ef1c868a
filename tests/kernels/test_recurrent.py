"""Recurrent layers and scans against `jax.lax.scan`, and dropout against its generator in plain integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp

from loopdiff.kernels import nn
from tests.kernels.against_jax import Case, check

pytestmark = pytest.mark.part(3)

draw = np.random.default_rng(9).standard_normal
T, N, D, H = 6, 3, 4, 5


def rnn(x: Any, h: Any, w: Any, u: Any, b: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        h = jnp.tanh(x @ w.T + h @ u.T + b)
        return h, h

    return jax.lax.scan(step, h, x)[1]


def lstm(x: Any, h: Any, c: Any, w: Any, u: Any, b: Any) -> Any:
    def step(carry: Any, x: Any) -> Any:
        h, c = carry
        i, f, g, o = jnp.split(x @ w.T + h @ u.T + b, 4, axis=1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    (_, c), hs = jax.lax.scan(step, (h, c), x)
    return hs, c


def gru(x: Any, h: Any, w: Any, u: Any, b: Any, hidden: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        (r, z, m), (s, y, k) = jnp.split(x @ w.T + b, 3, axis=1), jnp.split(h @ u.T, 3, axis=1)
        m = jnp.tanh(m + jax.nn.sigmoid(r + s) * (k + hidden))
        z = jax.nn.sigmoid(z + y)
        h = (1 - z) * m + z * h
        return h, h

    return jax.lax.scan(step, h, x)[1]


def scan(a: Any, b: Any, h: Any) -> Any:
    def step(h: Any, given: Any) -> Any:
        h = given[0] * h + given[1]
        return h, h

    return jax.lax.scan(step, h, (a, b))[1]


def selective(x: Any, delta: Any, A: Any, B: Any, C: Any, D: Any) -> Any:
    def step(h: Any, given: Any) -> Any:
        x, delta, B, C = given
        h = jnp.exp(delta[..., None] * A) * h + delta[..., None] * B[:, None, :] * x[..., None]
        return h, (C[:, None, :] * h).sum(axis=-1) + D * x

    given = tuple(jnp.moveaxis(a, 1, 0) for a in (x, delta, B, C))
    return jnp.moveaxis(jax.lax.scan(step, jnp.zeros((*x.shape[::2], A.shape[1])), given)[1], 0, 1)


x, h = draw((T, N, D)), draw((N, H))
CASES = [
    Case(nn.rnn, (x, h, draw((H, D)), draw((H, H)), draw(H)), rnn),
    Case(nn.lstm, (x, h, draw((N, H)), draw((4 * H, D)), draw((4 * H, H)), draw(4 * H)), lstm),
    Case(nn.gru, (x, h, draw((3 * H, D)), draw((3 * H, H)), draw(3 * H), draw(H)), gru),
    Case(nn.linear_scan, (x, draw((T, N, D)), draw((N, D))), scan),
    Case(nn.selective_scan, (draw((2, T, D)), abs(draw((2, T, D))), -abs(draw((D, 3))), draw((2, T, 3)),
                             draw((2, T, 3)), draw(D)), selective),
]  # fmt: skip


@pytest.mark.part(2)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_sequences_are_those_of_jax(case: Case) -> None:
    check(case, rtol=1e-10)


def test_the_published_scan() -> None:
    """`s = a s + b` of 4,097 steps with loss `sum(s ** 2)`: values from the experiment that this was written for."""
    generator = np.random.default_rng(5)
    a, b = generator.uniform(-0.9, 0.9, (4097, 1)), generator.standard_normal((4097, 1))
    states, pullback = nn.linear_scan.of().vjp(a, b, np.zeros(1))
    assert (states**2).sum() == pytest.approx(5890.056691526, abs=1e-8)
    gradients = pullback(2.0 * states)
    assert gradients.a.sum() == pytest.approx(42.8690455877, abs=1e-8)
    assert gradients.b.sum() == pytest.approx(276.7645075389, abs=1e-8)
    assert nn.linear_scan(np.zeros((0, 2)), np.zeros((0, 2)), np.zeros(2)).shape == (0, 2)


def split_mix(seed: int, place: int) -> float:
    mask = (1 << 64) - 1
    z = (seed + (place + 1) * 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return ((z ^ (z >> 31)) >> 11) * 2.0**-53


def test_dropout_draws_the_same_numbers_in_both_sweeps() -> None:
    x = draw((40, 50))
    for seed in (0, 12345, -7):
        kept = np.array([split_mix(seed, k) >= 0.3 for k in range(x.size)]).reshape(x.shape)
        value, pullback = nn.dropout.of(rate=0.3).vjp(x, seed)
        np.testing.assert_allclose(value, np.where(kept, x / 0.7, 0.0), rtol=1e-15)
        np.testing.assert_allclose(pullback(np.ones_like(x)).x, kept / 0.7, rtol=1e-15)
        assert 0.65 < kept.mean() < 0.75
    compiled = nn.dropout.of(rate=0.3).compile(x, 0)
    assert not compiled.temporaries
    np.testing.assert_array_equal(nn.dropout(x, 3, rate=0.0), x)
