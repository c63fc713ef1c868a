"""Layers that go through a sequence step by step: recurrent networks, and linear and selective scans.

Sequences are `(T, N, D)`: times, batch, features. Weights are those of PyTorch: `(gates * H, D)` and `(gates * H, H)`.
"""

from __future__ import annotations

import numpy as np

from loopdiff.kernels.checks import require_floats
from loopdiff.kernels.nn.random_masks import dropout
from loopdiff.kernels.operator import operator
from loopdiff.numpy_functions.special import expit


def require_shapes(x, h, w, u, b, H, gates):
    """Refuse states and weights that are not those of `x` and of each other."""
    _, N, D = x.shape
    require_floats(x)
    if h.shape[0] != N or w.shape[0] != gates * H or w.shape[1] != D or u.shape[0] != gates * H:
        raise ValueError("`x` is (T, N, D), `h` (N, H), `w` (gates * H, D), `u` (gates * H, H), `b` (gates * H,)")
    if u.shape[1] != h.shape[1]:
        raise ValueError("`u` has as many columns as `h`")
    if b.shape[0] != gates * H:
        raise ValueError("`b` is (gates * H,)")


def from_inputs(x, w, b):
    """`x @ w.T + b`, what comes from all steps of a sequence: one product with as many rows as there are steps."""
    T, N, D = x.shape
    gates = np.empty((T, N, w.shape[0]), dtype=x.dtype)
    for t in range(T):
        for n in range(N):
            for k in range(w.shape[0]):
                gates[t, n, k] = b[k]
    for t in range(T):
        for n in range(N):
            for k in range(w.shape[0]):
                for d in range(D):
                    gates[t, n, k] += x[t, n, d] * w[k, d]
    return gates


def from_state(h, u):
    """`h @ u.T`, what comes from the step before."""
    gates = np.zeros((h.shape[0], u.shape[0]), dtype=h.dtype)
    for n in range(h.shape[0]):
        for k in range(u.shape[0]):
            for j in range(h.shape[1]):
                gates[n, k] += h[n, j] * u[k, j]
    return gates


def turn(t, T, backward):
    """The step that comes as number `t`."""
    return T - 1 - t if backward else t


def rnn_into(states, state, x, w, u, b, activation, backward):
    """All states, at the places of their steps; `state` goes from that before the first to the last."""
    require_shapes(x, state, w, u, b, state.shape[1], 1)
    T, N, _ = x.shape
    H = state.shape[1]
    past = np.empty((T + 1, N, H), dtype=x.dtype)
    past[0] = state
    sums = from_inputs(x, w, b)
    for s in range(T):
        t = turn(s, T, backward)
        for n in range(N):
            for k in range(H):
                for j in range(H):
                    sums[t, n, k] += past[s, n, j] * u[k, j]
        for n in range(N):
            for k in range(H):
                past[s + 1, n, k] = activation(sums[t, n, k])
    state[:] = past[T]
    in_order(states, past, backward)


def in_order(states, past, backward):
    """The states behind the steps, at the places of these."""
    T, N, H = states.shape
    for s in range(T):
        t = turn(s, T, backward)
        for n in range(N):
            for k in range(H):
                states[t, n, k] = past[s + 1, n, k]


def lstm_into(outputs, output, memory, x, w, u, b, projection, backward):
    """All outputs, at the places of their steps; `output` and `memory` go from those before the first to the last."""
    T, N, _ = x.shape
    H, P = memory.shape[1], output.shape[1]
    if memory.shape[0] != output.shape[0] or (projection is None and H != P):
        raise ValueError("`c` is (N, H), as `h` is")
    require_shapes(x, output, w, u, b, H, 4)
    if projection is not None and projection.shape != (P, H):
        raise ValueError("`projection` is (P, H)")
    past, memories = np.empty((T + 1, N, P), dtype=x.dtype), np.empty((T + 1, N, H), dtype=x.dtype)
    past[0], memories[0] = output, memory
    gates = from_inputs(x, w, b)
    for s in range(T):
        t = turn(s, T, backward)
        for n in range(N):
            for k in range(4 * H):
                for j in range(P):
                    gates[t, n, k] += past[s, n, j] * u[k, j]
        shown = past[s + 1] if projection is None else np.empty((N, H), dtype=x.dtype)
        for n in range(N):
            for k in range(H):
                kept = expit(gates[t, n, H + k]) * memories[s, n, k]
                memories[s + 1, n, k] = kept + expit(gates[t, n, k]) * np.tanh(gates[t, n, 2 * H + k])
                shown[n, k] = expit(gates[t, n, 3 * H + k]) * np.tanh(memories[s + 1, n, k])
        if projection is not None:
            past[s + 1] = from_state(shown, projection)
    output[:], memory[:] = past[T], memories[T]
    in_order(outputs, past, backward)


def gru_into(states, state, x, w, u, b, hidden_bias, backward):
    """All states, at the places of their steps; `state` goes from that before the first to the last."""
    require_shapes(x, state, w, u, b, state.shape[1], 3)
    T, N, _ = x.shape
    H = state.shape[1]
    if hidden_bias.shape[0] != H:
        raise ValueError("`hidden_bias` is (H,)")
    past = np.empty((T + 1, N, H), dtype=x.dtype)
    past[0] = state
    given = from_inputs(x, w, b)
    for s in range(T):
        t = turn(s, T, backward)
        held = from_state(past[s], u)
        for n in range(N):
            for k in range(H):
                reset = expit(given[t, n, k] + held[n, k])
                update = expit(given[t, n, H + k] + held[n, H + k])
                new = np.tanh(given[t, n, 2 * H + k] + reset * (held[n, 2 * H + k] + hidden_bias[k]))
                past[s + 1, n, k] = (1.0 - update) * new + update * past[s, n, k]
    state[:] = past[T]
    in_order(states, past, backward)


@operator
def rnn(x, h, w, u, b, *, activation=np.tanh, backward=False):
    """`h[t] = tanh(w x[t] + u h[t - 1] + b)` (Elman, 1990).

    Args:
        x: `(T, N, D)`.
        h: `(N, H)`, the state before the first step.
        w, u, b: `(H, D)`, `(H, H)`, `(H,)`.
        activation: A function of a number.
        backward: Whether steps are taken from the last to the first.

    Returns:
        All states, `(T, N, H)`, at the places of their steps.

    Raises:
        ArgumentError: LD332 where shapes do not fit, or `x` holds integers.
    """
    states, state = np.empty((x.shape[0], *h.shape), dtype=x.dtype), h.copy()
    rnn_into(states, state, x, w, u, b, activation, backward)
    return states


@operator
def lstm(x, h, c, w, u, b, projection=None, *, backward=False):
    """Long short-term memory (Hochreiter and Schmidhuber, 1997; with forget gates, Gers et al., 2000).

    `i, f, g, o = w x[t] + u h[t - 1] + b`, `c[t] = sigmoid(f) c[t - 1] + sigmoid(i) tanh(g)`,
    `h[t] = sigmoid(o) tanh(c[t])`.

    Args:
        x: `(T, N, D)`.
        h, c: `(N, H)`, output and memory before the first step.
        w, u, b: `(4 * H, D)`, `(4 * H, H)`, `(4 * H,)`, the gates in the order i, f, g, o.
        projection: `(P, H)`, what outputs are multiplied with before they go on (Sak et al., 2014), or None: `h` is
            then `(N, P)`, and `u` `(4 * H, P)`.
        backward: Whether steps are taken from the last to the first.

    Returns:
        All outputs, `(T, N, H)`, at the places of their steps, and the last memory, `(N, H)`.

    Raises:
        ArgumentError: LD332 where shapes do not fit, or `x` holds integers.
    """
    outputs, output, memory = np.empty((x.shape[0], *h.shape), dtype=x.dtype), h.copy(), c.copy()
    lstm_into(outputs, output, memory, x, w, u, b, projection, backward)
    return outputs, memory


@operator
def gru(x, h, w, u, b, hidden_bias, *, backward=False):
    """Gated recurrent units (Cho et al., 2014), with the reset gate behind the product, as in cuDNN and PyTorch.

    `r, z = sigmoid(w x[t] + u h[t - 1] + b)`, `m = tanh(w x[t] + b + r (u h[t - 1] + hidden_bias))`,
    `h[t] = (1 - z) m + z h[t - 1]`.

    Args:
        x: `(T, N, D)`.
        h: `(N, H)`, the state before the first step.
        w, u, b: `(3 * H, D)`, `(3 * H, H)`, `(3 * H,)`, in the order r, z, m.
        hidden_bias: `(H,)`, of the last part.
        backward: Whether steps are taken from the last to the first.

    Returns:
        All states, `(T, N, H)`, at the places of their steps.

    Raises:
        ArgumentError: LD332 where shapes do not fit, or `x` holds integers.
    """
    states, state = np.empty((x.shape[0], *h.shape), dtype=x.dtype), h.copy()
    gru_into(states, state, x, w, u, b, hidden_bias, backward)
    return states


def require_layers(layers, h, both_ways):
    """Refuse other numbers of layers than of states."""
    if (2 if both_ways else 1) * len(layers) != h.shape[0]:
        raise ValueError("there is a state for each layer, and two where `both_ways`")


def between(given, seed, k, rate):
    """What goes on to the layer `k`."""
    return given if seed is None or k == 0 else dropout(given, seed + k, rate=rate)


def to_both_sides(x):
    """A sequence, and it from its end."""
    T, N, D = x.shape
    y = np.empty((2, T, N, D), dtype=x.dtype)
    y[0] = x
    y[1] = x[::-1]
    return y


def side_by_side(states):
    """`to_both_sides` undone, the features of both beside each other."""
    _, T, N, H = states.shape
    y = np.empty((T, N, 2 * H), dtype=states.dtype)
    y[:, :, :H] = states[0]
    y[:, :, H:] = states[1, ::-1]
    return y


@operator
def rnn_layers(x, h, layers, seed=None, *, activation=np.tanh, both_ways=False, rate=0.0):
    """`rnn` layer upon layer: each has the states of the one below it as its sequence.

    Args:
        x: `(T, N, D)`.
        h: `(K, N, H)`, for each of `K` layers the state before the first step; where `both_ways` `(2 * K, N, H)`, for
            each layer that of the way forward, and that of the way back.
        layers: A tuple of `K` tuples `(w, u, b)`, weights as of `rnn`. Where `both_ways` each of them has a first axis
            of two, for both ways.
        seed: An integer, or None: numbers are left out between layers, by `dropout` with `seed + 1`, `seed + 2`, ...
        activation: A function of a number.
        both_ways: Whether each layer goes through its sequence forward and, with other weights, backward (Schuster and
            Paliwal, 1997). What both give at a step lies side by side.
        rate: The probability that a number is left out.

    Returns:
        The states of the topmost layer, `(T, N, H)`, or `(T, N, 2 * H)` where `both_ways`; and the last states of all
        layers, as `h` has the first.

    Raises:
        ArgumentError: LD332 where shapes do not fit, or `x` holds integers.
    """
    require_layers(layers, h, both_ways)
    T, N, _ = x.shape
    last, given = h.copy(), x
    for k, (w, u, b) in enumerate(layers):
        given = between(given, seed, k, rate)
        if both_ways:
            sequences, states = to_both_sides(given), np.empty((2, T, N, h.shape[2]), dtype=x.dtype)
            for way in range(2):
                rnn_into(states[way], last[2 * k + way], sequences[way], w[way], u[way], b[way], activation, False)
            given = side_by_side(states)
        else:
            sequence, given = given, np.empty((T, N, h.shape[2]), dtype=x.dtype)
            rnn_into(given, last[k], sequence, w, u, b, activation, False)
    return given, last


@operator
def lstm_layers(x, h, c, layers, seed=None, *, both_ways=False, rate=0.0):
    """`lstm` layer upon layer, as `rnn_layers`: `c` are memories before the first step, as many as `h`, and `layers`
    are tuples `(w, u, b)`, or `(w, u, b, projection)`. The result is the outputs of the topmost layer, the last outputs
    of all layers, and the last memories. Other arguments and errors as there."""
    require_layers(layers, h, both_ways)
    T, N, _ = x.shape
    last, memories, given = h.copy(), c.copy(), x
    for k, layer in enumerate(layers):
        given = between(given, seed, k, rate)
        w, u, b = layer[0], layer[1], layer[2]
        projection = layer[3] if len(layer) == 4 else None
        if both_ways:
            sequences, states = to_both_sides(given), np.empty((2, T, N, h.shape[2]), dtype=x.dtype)
            for way in range(2):
                n, onto = 2 * k + way, None if projection is None else projection[way]
                lstm_into(states[way], last[n], memories[n], sequences[way], w[way], u[way], b[way], onto, False)
            given = side_by_side(states)
        else:
            sequence, given = given, np.empty((T, N, h.shape[2]), dtype=x.dtype)
            lstm_into(given, last[k], memories[k], sequence, w, u, b, projection, False)
    return given, last, memories


@operator
def gru_layers(x, h, layers, seed=None, *, both_ways=False, rate=0.0):
    """`gru` layer upon layer, as `rnn_layers`: `layers` are tuples `(w, u, b, hidden_bias)`. Other arguments, result
    and errors as there."""
    require_layers(layers, h, both_ways)
    T, N, _ = x.shape
    last, given = h.copy(), x
    for k, (w, u, b, hidden_bias) in enumerate(layers):
        given = between(given, seed, k, rate)
        if both_ways:
            sequences, states = to_both_sides(given), np.empty((2, T, N, h.shape[2]), dtype=x.dtype)
            for way in range(2):
                gru_into(
                    states[way], last[2 * k + way], sequences[way], w[way], u[way], b[way], hidden_bias[way], False
                )
            given = side_by_side(states)
        else:
            sequence, given = given, np.empty((T, N, h.shape[2]), dtype=x.dtype)
            gru_into(given, last[k], sequence, w, u, b, hidden_bias, False)
    return given, last


@operator
def linear_scan(a, b, h):
    """`h[t] = a[t] * h[t - 1] + b[t]`, element by element.

    Args:
        a, b: `(T, ...)`.
        h: An array like `a[0]`: the state before the first step.

    Returns:
        All states, `(T, ...)`.

    Raises:
        ArgumentError: LD322 or LD332 where shapes do not fit, or `a` holds integers.
    """
    require_floats(a)
    T = a.shape[0]
    if b.shape != a.shape or h.shape != a.shape[1:]:
        raise ValueError("`a` and `b` are (T, ...), and `h` is (...)")
    factors, terms = a.reshape(T, h.size), b.reshape(T, h.size)
    states = np.empty_like(factors)
    state = h.reshape(-1).copy()
    for t in range(T):
        for j in range(state.shape[0]):
            state[j] = factors[t, j] * state[j] + terms[t, j]
            states[t, j] = state[j]
    return states.reshape(a.shape)


@operator
def selective_scan(x, delta, A, B, C, D):
    """State-space layers whose steps depend on the input (Gu and Dao, 2023, algorithm 2, and section 3.2).

    `h[d, n] = exp(delta[t, d] * A[d, n]) * h[d, n] + delta[t, d] * B[t, n] * x[t, d]`, and
    `y[t, d] = sum over n of C[t, n] * h[d, n] + D[d] * x[t, d]`, for each sequence of a batch.

    Args:
        x, delta: `(N, T, D)`; steps are above zero.
        A: `(D, S)`, mostly below zero.
        B, C: `(N, T, S)`.
        D: `(D,)`.

    Returns:
        `(N, T, D)`.

    Raises:
        ArgumentError: LD332 where shapes do not fit, or `x` holds integers.
    """
    require_floats(x)
    N, T, M = x.shape
    S = A.shape[1]
    if delta.shape != x.shape or A.shape[0] != M or D.shape[0] != M:
        raise ValueError("`x` and `delta` are (N, T, D), `A` (D, S), `D` (D,)")
    if B.shape != (N, T, S) or C.shape != (N, T, S):
        raise ValueError("`B` and `C` are (N, T, S)")
    y = np.empty_like(x)
    for i in range(N):
        h = np.zeros((M, S), dtype=x.dtype)
        for t in range(T):
            for d in range(M):
                total = D[d] * x[i, t, d]
                for n in range(S):
                    kept = np.exp(delta[i, t, d] * A[d, n]) * h[d, n]
                    h[d, n] = kept + delta[i, t, d] * B[i, t, n] * x[i, t, d]
                    total += C[i, t, n] * h[d, n]
                y[i, t, d] = total
    return y
