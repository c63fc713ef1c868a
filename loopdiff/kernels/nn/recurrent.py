"""Layers that go through a sequence step by step: recurrent networks, in layers, both ways, of several lengths.

Sequences are `(T, N, D)`: times, batch, features. Weights are those of PyTorch: `(gates * H, D)` and `(gates * H, H)`.
"""

from __future__ import annotations

import numpy as np

from loopdiff.kernels.checks import require_floats
from loopdiff.kernels.nn.random_masks import dropout
from loopdiff.kernels.operator import operator
from loopdiff.numpy_functions.special import expit


def require_shapes(x, h, D, w, u, b, H, gates):
    """Refuse states and weights that are not those of sequences of `D` features, and of each other."""
    require_floats(x)
    if h.shape[0] != x.shape[1] or w.shape[0] != gates * H or w.shape[1] != D or u.shape[0] != gates * H:
        raise ValueError("`x` is (T, N, D), `h` (N, H), `w` (gates * H, D), `u` (gates * H, H), `b` (gates * H,)")
    if u.shape[1] != h.shape[1]:
        raise ValueError("`u` has as many columns as `h`")
    if b.shape[0] != gates * H:
        raise ValueError("`b` is (gates * H,)")


def require_projection(projection, P, H):
    """Refuse another matrix than one that makes `P` outputs of `H` memories."""
    if projection is not None and projection.shape != (P, H):
        raise ValueError("`projection` is (P, H)")


def require_hidden_bias(hidden_bias, H):
    """Refuse another number of biases than one for each state."""
    if hidden_bias.shape[0] != H:
        raise ValueError("`hidden_bias` is (H,)")


def require_lengths(lengths, x):
    """Refuse lengths that the sequences of `x` have not."""
    if lengths is not None:
        if lengths.shape[0] != x.shape[1]:
            raise ValueError("there is a length for each sequence of the batch")
        for n in range(lengths.shape[0]):
            if not 0 <= lengths[n] <= x.shape[0]:
                raise ValueError("a length is from 0 to `x.shape[0]`")


def in_steps(x, lengths, backward):
    """Sequences in the order in which steps are taken, zero where none is."""
    if lengths is None:
        return x[::-1] if backward else x
    T, N, D = x.shape
    y = np.zeros((T, N, D), dtype=x.dtype)
    for s in range(T):
        for n in range(N):
            if s < lengths[n]:
                for d in range(D):
                    y[s, n, d] = x[lengths[n] - 1 - s if backward else s, n, d]
    return y


def in_times(past, lengths, backward):
    """`in_steps` undone of the states behind the steps; `past` begins with that before the first."""
    return in_steps(past[1:], lengths, backward)


def is_over(lengths, n, s):
    """Whether a sequence has no step `s`."""
    return lengths is not None and s >= lengths[n]


def from_inputs(x, w, b):
    """`x @ w.T + b`, what comes from all steps of a sequence: one product with as many rows as there are steps."""
    gates = np.empty((x.shape[0], x.shape[1], w.shape[0]), dtype=x.dtype)
    inputs_into(gates, x, w, b)
    return gates


def inputs_into(gates, x, w, b):
    """`from_inputs`, into an array that is there."""
    T, N, D = x.shape
    for t in range(T):
        for n in range(N):
            for k in range(w.shape[0]):
                gates[t, n, k] = b[k]
    for t in range(T):
        for n in range(N):
            for k in range(w.shape[0]):
                for d in range(D):
                    gates[t, n, k] += x[t, n, d] * w[k, d]


def from_state(h, u):
    """`h @ u.T`, what comes from the step before."""
    gates = np.zeros((h.shape[0], u.shape[0]), dtype=h.dtype)
    for n in range(h.shape[0]):
        for k in range(u.shape[0]):
            for j in range(h.shape[1]):
                gates[n, k] += h[n, j] * u[k, j]
    return gates


def rnn_steps(past, memories, sums, u, more, activation, lengths):
    """All states of `rnn`, from the first, `past[0]`: `sums` is what comes from the inputs."""
    T, N, H = sums.shape
    for s in range(T):
        for n in range(N):
            for k in range(H):
                for j in range(H):
                    sums[s, n, k] += past[s, n, j] * u[k, j]
        for n in range(N):
            for k in range(H):
                past[s + 1, n, k] = past[s, n, k] if is_over(lengths, n, s) else activation(sums[s, n, k])


def lstm_steps(past, memories, gates, u, projection, activation, lengths):
    """All outputs and memories of `lstm`, from the first ones: `gates` is what comes from the inputs."""
    T, N, _ = gates.shape
    P, H = past.shape[2], memories.shape[2]
    for s in range(T):
        for n in range(N):
            for k in range(4 * H):
                for j in range(P):
                    gates[s, n, k] += past[s, n, j] * u[k, j]
        shown = past[s + 1] if projection is None else np.empty((N, H), dtype=gates.dtype)
        for n in range(N):
            for k in range(H):
                kept = expit(gates[s, n, H + k]) * memories[s, n, k]
                new = kept + expit(gates[s, n, k]) * np.tanh(gates[s, n, 2 * H + k])
                memories[s + 1, n, k] = memories[s, n, k] if is_over(lengths, n, s) else new
                shown[n, k] = expit(gates[s, n, 3 * H + k]) * np.tanh(new)
        if projection is not None:
            past[s + 1] = from_state(shown, projection)
        if lengths is not None:
            for n in range(N):
                for k in range(P):
                    past[s + 1, n, k] = past[s, n, k] if is_over(lengths, n, s) else past[s + 1, n, k]


def gru_steps(past, memories, given, u, hidden_bias, activation, lengths):
    """All states of `gru`, from the first, `past[0]`: `given` is what comes from the inputs."""
    T, N, _ = given.shape
    H = past.shape[2]
    for s in range(T):
        held = from_state(past[s], u)
        for n in range(N):
            for k in range(H):
                reset = expit(given[s, n, k] + held[n, k])
                update = expit(given[s, n, H + k] + held[n, H + k])
                new = np.tanh(given[s, n, 2 * H + k] + reset * (held[n, 2 * H + k] + hidden_bias[k]))
                mixed = (1.0 - update) * new + update * past[s, n, k]
                past[s + 1, n, k] = past[s, n, k] if is_over(lengths, n, s) else mixed


@operator
def rnn(x, h, w, u, b, lengths=None, *, activation=np.tanh, backward=False):
    """`h[t] = tanh(w x[t] + u h[t - 1] + b)` (Elman, 1990).

    Args:
        x: `(T, N, D)`.
        h: `(N, H)`, the state before the first step.
        w, u, b: `(H, D)`, `(H, H)`, `(H,)`.
        lengths: `(N,)` integers, or None: how many steps of each sequence count. States behind them are zero, and what
            is there counts nothing; `backward` begins at the last one that counts.
        activation: A function of a number.
        backward: Whether steps are taken from the last to the first.

    Returns:
        All states, `(T, N, H)`, at the places of their steps.

    Raises:
        ArgumentError: LD332 where shapes do not fit, or `x` holds integers.
    """
    require_shapes(x, h, x.shape[2], w, u, b, h.shape[1], 1)
    require_lengths(lengths, x)
    past = np.empty((x.shape[0] + 1, *h.shape), dtype=x.dtype)
    past[0] = h
    rnn_steps(past, None, from_inputs(in_steps(x, lengths, backward), w, b), u, None, activation, lengths)
    return in_times(past, lengths, backward)


@operator
def lstm(x, h, c, w, u, b, projection=None, lengths=None, *, backward=False):
    """Long short-term memory (Hochreiter and Schmidhuber, 1997; with forget gates, Gers et al., 2000).

    `i, f, g, o = w x[t] + u h[t - 1] + b`, `c[t] = sigmoid(f) c[t - 1] + sigmoid(i) tanh(g)`,
    `h[t] = sigmoid(o) tanh(c[t])`.

    Args:
        x: `(T, N, D)`.
        h, c: `(N, H)`, output and memory before the first step.
        w, u, b: `(4 * H, D)`, `(4 * H, H)`, `(4 * H,)`, the gates in the order i, f, g, o.
        projection: `(P, H)`, what outputs are multiplied with before they go on (Sak et al., 2014), or None: `h` is
            then `(N, P)`, and `u` `(4 * H, P)`.
        lengths: As of `rnn`.
        backward: Whether steps are taken from the last to the first.

    Returns:
        All outputs, `(T, N, H)`, at the places of their steps, and the last memory, `(N, H)`: that
        behind the last step of each.

    Raises:
        ArgumentError: LD332 where shapes do not fit, or `x` holds integers.
    """
    T, N, _ = x.shape
    H, P = c.shape[1], h.shape[1]
    if c.shape[0] != h.shape[0] or (projection is None and H != P):
        raise ValueError("`c` is (N, H), as `h` is")
    require_shapes(x, h, x.shape[2], w, u, b, H, 4)
    require_projection(projection, P, H)
    require_lengths(lengths, x)
    past, memories = np.empty((T + 1, N, P), dtype=x.dtype), np.empty((T + 1, N, H), dtype=x.dtype)
    past[0], memories[0] = h, c
    gates = from_inputs(in_steps(x, lengths, backward), w, b)
    lstm_steps(past, memories, gates, u, projection, np.tanh, lengths)
    return in_times(past, lengths, backward), memories[T].copy()


@operator
def gru(x, h, w, u, b, hidden_bias, lengths=None, *, backward=False):
    """Gated recurrent units (Cho et al., 2014), with the reset gate behind the product, as in cuDNN and PyTorch.

    `r, z = sigmoid(w x[t] + u h[t - 1] + b)`, `m = tanh(w x[t] + b + r (u h[t - 1] + hidden_bias))`,
    `h[t] = (1 - z) m + z h[t - 1]`.

    Args:
        x: `(T, N, D)`.
        h: `(N, H)`, the state before the first step.
        w, u, b: `(3 * H, D)`, `(3 * H, H)`, `(3 * H,)`, in the order r, z, m.
        hidden_bias: `(H,)`, of the last part.
        lengths: As of `rnn`.
        backward: Whether steps are taken from the last to the first.

    Returns:
        All states, `(T, N, H)`, at the places of their steps.

    Raises:
        ArgumentError: LD332 where shapes do not fit, or `x` holds integers.
    """
    require_shapes(x, h, x.shape[2], w, u, b, h.shape[1], 3)
    require_hidden_bias(hidden_bias, h.shape[1])
    require_lengths(lengths, x)
    past = np.empty((x.shape[0] + 1, *h.shape), dtype=x.dtype)
    past[0] = h
    gru_steps(past, None, from_inputs(in_steps(x, lengths, backward), w, b), u, hidden_bias, np.tanh, lengths)
    return in_times(past, lengths, backward)


def require_layers(x, h, c, layers, gates, both_ways):
    """Refuse other numbers of layers than of states, and weights that do not fit."""
    ways, H = 2 if both_ways else 1, h.shape[2] if c is None else c.shape[2]
    if ways * len(layers) != h.shape[0] or (c is not None and c.shape[0] != h.shape[0]):
        raise ValueError("there is a state for each layer, and two where `both_ways`")
    for k, (w, u, b, *_) in enumerate(layers):
        D = x.shape[2] if k == 0 else ways * h.shape[2]
        if both_ways:
            require_shapes(x, h[0], D, w[0], u[0], b[0], H, gates)
            require_shapes(x, h[0], D, w[1], u[1], b[1], H, gates)
        else:
            require_shapes(x, h[0], D, w, u, b, H, gates)


def each_way(array, both_ways):
    """Weights of a layer with a first axis for its ways."""
    return array if both_ways else array[None]


def of_layers(layers, item, both_ways):
    """One of the weights of layers, of each for all of its ways, in one array: one loop goes over all layers then."""
    shape = layers[0][item].shape
    y = np.empty((len(layers), *(shape if both_ways else (1, *shape))), dtype=layers[0][item].dtype)
    for k, layer in enumerate(layers):
        if both_ways:
            y[k] = layer[item]
        else:
            y[k, 0] = layer[item]
    return y


def inputs_each_way(sums, x, w, b, lengths, both_ways):
    """`from_inputs` of sequences in the order of the steps, for each way, into `sums`."""
    if not both_ways:
        inputs_into(sums[0], in_steps(x, lengths, False), w[0], b[0])
        return
    T, N, D = x.shape
    sequences = np.empty((2, T, N, D), dtype=x.dtype)
    sequences[0], sequences[1] = in_steps(x, lengths, False), in_steps(x, lengths, True)
    for way in range(2):
        inputs_into(sums[way], sequences[way], w[way], b[way])


def side_by_side(pasts, lengths, both_ways):
    """The states of all ways at the places of their steps, their features beside each other."""
    if not both_ways:
        return in_times(pasts[0], lengths, False)
    _, T, N, P = pasts.shape
    y = np.empty((T - 1, N, 2 * P), dtype=pasts.dtype)
    y[:, :, :P] = in_times(pasts[0], lengths, False)
    y[:, :, P:] = in_times(pasts[1], lengths, True)
    return y


def through_layers(x, h, c, layers, seed, lengths, steps, activation, both_ways, rate):
    """The states of the topmost layer, the last ones of all layers, and the last memories, if there are any."""
    (T, N, _), K, ways, P = x.shape, len(layers), 2 if both_ways else 1, h.shape[2]
    us = of_layers(layers, 1, both_ways)
    more = of_layers(layers, 3, both_ways) if len(layers[0]) == 4 else None
    ws = None if K == 1 else of_layers(layers[1:], 0, both_ways)
    bs = None if K == 1 else of_layers(layers[1:], 2, both_ways)
    last, memories = np.empty_like(h), None if c is None else np.empty_like(c)
    sums = np.empty((ways, T, N, us.shape[2]), dtype=x.dtype)
    w, b = each_way(layers[0][0], both_ways), each_way(layers[0][2], both_ways)
    inputs_each_way(sums, x, w, b, lengths, both_ways)
    given = np.empty((T, N, ways * P), dtype=x.dtype)
    for k in range(K):
        pasts = np.empty((ways, T + 1, N, P), dtype=x.dtype)
        kept = None if c is None else np.empty((ways, T + 1, N, c.shape[2]), dtype=x.dtype)
        for way in range(ways):
            pasts[way, 0] = h[ways * k + way]
            if c is not None and kept is not None:
                kept[way, 0] = c[ways * k + way]
            memory, own = None if kept is None else kept[way], None if more is None else more[k, way]
            steps(pasts[way], memory, sums[way], us[k, way], own, activation, lengths)
            last[ways * k + way] = pasts[way, T]
            if memories is not None and kept is not None:
                memories[ways * k + way] = kept[way, T]
        given[:] = side_by_side(pasts, lengths, both_ways)
        if ws is not None and bs is not None and k + 1 < K:
            held = given if seed is None else dropout(given, seed + k + 1, rate=rate)
            inputs_each_way(sums, held, ws[k], bs[k], lengths, both_ways)
    return given, last, memories


@operator
def rnn_layers(x, h, layers, seed=None, lengths=None, *, activation=np.tanh, both_ways=False, rate=0.0):
    """`rnn` layer upon layer: each has the states of the one below it as its sequence.

    Args:
        x: `(T, N, D)`.
        h: `(K, N, H)`, for each of `K` layers the state before the first step; where `both_ways` `(2 * K, N, H)`, for
            each layer that of the way forward, and that of the way back.
        layers: A tuple of `K` tuples `(w, u, b)`, weights as of `rnn`. Where `both_ways` each of them has a first axis
            of two, for both ways.
        seed: An integer, or None: numbers are left out between layers, by `dropout` with `seed + 1`, `seed + 2`, ...
        lengths: As of `rnn`. The last states are those behind the last step of each sequence.
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
    require_layers(x, h, None, layers, 1, both_ways)
    require_lengths(lengths, x)
    given, last, _ = through_layers(x, h, None, layers, seed, lengths, rnn_steps, activation, both_ways, rate)
    return given, last


@operator
def lstm_layers(x, h, c, layers, seed=None, lengths=None, *, both_ways=False, rate=0.0):
    """`lstm` layer upon layer, as `rnn_layers`: `c` are memories before the first step, as many as `h`, and `layers`
    are tuples `(w, u, b)`, or `(w, u, b, projection)`. The result is the outputs of the topmost layer, the last outputs
    of all layers, and the last memories. Other arguments and errors as there."""
    require_layers(x, h, c, layers, 4, both_ways)
    require_lengths(lengths, x)
    for _, _, _, *more in layers:
        if len(more) == 1:
            require_projection(more[0][0] if both_ways else more[0], h.shape[2], c.shape[2])
    return through_layers(x, h, c, layers, seed, lengths, lstm_steps, np.tanh, both_ways, rate)


@operator
def gru_layers(x, h, layers, seed=None, lengths=None, *, both_ways=False, rate=0.0):
    """`gru` layer upon layer, as `rnn_layers`: `layers` are tuples `(w, u, b, hidden_bias)`. Other arguments, result
    and errors as there."""
    require_layers(x, h, None, layers, 3, both_ways)
    require_lengths(lengths, x)
    given, last, _ = through_layers(x, h, None, layers, seed, lengths, gru_steps, np.tanh, both_ways, rate)
    return given, last
