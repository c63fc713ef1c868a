"""Recurrent layers one upon the other, both ways, and with what is between them left out, against `jax.lax.scan`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp

from loopdiff import ArgumentError
from loopdiff.kernels import Operator, nn
from tests.kernels.against_jax import Case, check
from tests.kernels.test_recurrent import gru, split_mix

pytestmark = pytest.mark.part(3)
draw = np.random.default_rng(17).standard_normal
T, N, D, H = 5, 2, 4, 3
x = draw((T, N, D))


def rnn(x: Any, h: Any, w: Any, u: Any, b: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        h = jax.nn.softplus(x @ w.T + h @ u.T + b)
        return h, h

    return jax.lax.scan(step, h, x)[1]


def lstm(x: Any, h: Any, c: Any, w: Any, u: Any, b: Any, projection: Any = None) -> Any:
    def step(carry: Any, x: Any) -> Any:
        h, c = carry
        i, f, g, o = jnp.split(x @ w.T + h @ u.T + b, 4, axis=1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        h = h if projection is None else h @ projection.T
        return (h, c), h

    (_, c), hs = jax.lax.scan(step, (h, c), x)
    return hs, c


def backward(of: Any) -> Any:
    """The sequence turned, and what comes of it turned back."""

    def f(x: Any, *given: Any) -> Any:
        out = of(x[::-1], *given)
        return (out[0][::-1], *out[1:]) if isinstance(out, tuple) else out[::-1]

    return f


def stacked(of: Any, ways: int, seed: int | None = None, rate: float = 0.0) -> Any:
    """Layer upon layer of a function that gives all states of one, and, where it has one, the last memory."""

    def f(x: Any, *given: Any) -> Any:
        *states, layers = given
        last, memories = [], []
        for k, layer in enumerate(layers):
            if k and seed is not None:
                kept = np.array([split_mix(seed + k, n) >= rate for n in range(x.size)]).reshape(x.shape)
                x = x * kept / (1.0 - rate)
            outs = []
            for way in range(ways):
                own = [s[ways * k + way] for s in states]
                weights = layer if ways == 1 else [a[way] for a in layer]
                out = of(x[::-1] if way else x, *own, *weights)
                out, memory = out if isinstance(out, tuple) else (out, None)
                outs.append(out[::-1] if way else out)
                last.append(out[-1])
                memories.append(memory)
            x = jnp.concatenate(outs, axis=2)
        return (x, jnp.stack(last), *([jnp.stack(memories)] if memories[0] is not None else []))

    return f


def weights(gates: int, K: int, ways: int, *more: tuple[int, ...], out: int = H) -> Any:
    """Those of `K` layers."""
    first = () if ways == 1 else (ways,)
    shapes = [((gates * H, D if k == 0 else ways * out), (gates * H, out), (gates * H,), *more) for k in range(K)]
    return tuple(tuple(0.7 * draw((*first, *shape)) for shape in layer) for layer in shapes)


def states(K: int, size: int = H) -> Any:
    return draw((K, N, size))


ONE = [
    Case(nn.rnn, (x, draw((N, H)), draw((H, D)), draw((H, H)), draw(H)), backward(rnn),
         {"activation": nn.softplus, "backward": True}),
    Case(nn.lstm, (x, draw((N, 2)), draw((N, H)), draw((4 * H, D)), draw((4 * H, 2)), draw(4 * H), draw((2, H))),
         backward(lstm), {"backward": True}),
    Case(nn.gru, (x, draw((N, H)), draw((3 * H, D)), draw((3 * H, H)), draw(3 * H), draw(H)), backward(gru),
         {"backward": True}),
]  # fmt: skip
BOTH = {"both_ways": True}
STACKS: list[tuple[Operator, Any, tuple[Any, ...], dict[str, Any]]] = [
    (nn.rnn_layers, stacked(rnn, 1), (x, states(3), weights(1, 3, 1)), {"activation": nn.softplus}),
    (nn.rnn_layers, stacked(rnn, 2, 5, 0.4), (x, states(4), weights(1, 2, 2), 5),
     {"activation": nn.softplus, "rate": 0.4, **BOTH}),
    (nn.lstm_layers, stacked(lstm, 1), (x, states(2), states(2), weights(4, 2, 1)), {}),
    (nn.lstm_layers, stacked(lstm, 2), (x, states(4), states(4), weights(4, 2, 2)), BOTH),
    (nn.lstm_layers, stacked(lstm, 2), (x, states(2, 2), states(2), weights(4, 1, 2, (2, H), out=2)), BOTH),
    (nn.gru_layers, stacked(gru, 1, 7, 0.3), (x, states(2), weights(3, 2, 1, (H,)), 7), {"rate": 0.3}),
    (nn.gru_layers, stacked(gru, 2), (x, states(4), weights(3, 2, 2, (H,))), BOTH),
]  # fmt: skip


@pytest.mark.parametrize("case", ONE, ids=str)
def test_steps_from_the_last_to_the_first(case: Case) -> None:
    check(case, rtol=1e-10)


@pytest.mark.part(7)
@pytest.mark.parametrize(("operator", "expected", "arguments", "options"), STACKS, ids=[s[0].__name__ for s in STACKS])
def test_layers_are_those_of_jax(operator: Operator, expected: Any, arguments: Any, options: Any) -> None:
    given = arguments[: 4 if operator is nn.lstm_layers else 3]
    with jax.enable_x64(True):
        wanted, pull = jax.vjp(expected, *given)
        seeds = tuple(draw(w.shape) for w in wanted)
        wanted_gradients = jax.tree.leaves(pull(tuple(map(jnp.asarray, seeds))))
    value, pullback = operator.of(**options).vjp(*arguments)
    for got, want in zip(value, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12)
    gradients = jax.tree.leaves(tuple(g for g in pullback(seeds) if g is not None))
    for got, want in zip(gradients, wanted_gradients, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-11)


def test_layers_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ArgumentError, match="a state for each layer"):
        nn.rnn_layers(x, states(3), weights(1, 2, 1))
    with pytest.raises(ArgumentError, match=r"`projection` is \(P, H\)"):
        nn.lstm(x, draw((N, 2)), draw((N, H)), draw((4 * H, D)), draw((4 * H, 2)), draw(4 * H), draw((H, 2)))
