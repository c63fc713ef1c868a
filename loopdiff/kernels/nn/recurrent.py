"""Layers that go through a sequence step by step: recurrent networks, and linear and selective scans.

Sequences are `(T, N, D)`: times, batch, features. Weights are those of PyTorch: `(gates * H, D)` and `(gates * H, H)`.
"""

from __future__ import annotations

import numpy as np

from loopdiff.kernels.checks import require_floats
from loopdiff.kernels.operator import operator
from loopdiff.numpy_functions.special import expit


def require_shapes(x, h, w, u, b, gates):
    """Refuse states and weights that are not those of `x` and of each other."""
    (_, N, D), (M, H) = x.shape, h.shape
    require_floats(x)
    if M != N or w.shape[0] != gates * H or w.shape[1] != D or u.shape[0] != gates * H or u.shape[1] != H:
        raise ValueError("`x` is (T, N, D), `h` (N, H), `w` (gates * H, D), `u` (gates * H, H), `b` (gates * H,)")
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


@operator
def rnn(x, h, w, u, b):
    """`h[t] = tanh(w x[t] + u h[t - 1] + b)` (Elman, 1990).

    Args:
        x: `(T, N, D)`.
        h: `(N, H)`, the state before the first step.
        w, u, b: `(H, D)`, `(H, H)`, `(H,)`.

    Returns:
        All states, `(T, N, H)`.

    Raises:
        ArgumentError: LD332 where shapes do not fit, or `x` holds integers.
    """
    require_shapes(x, h, w, u, b, 1)
    T, N, _ = x.shape
    H = h.shape[1]
    states = np.empty((T + 1, N, H), dtype=x.dtype)
    states[0] = h
    sums = from_inputs(x, w, b)
    for t in range(T):
        for n in range(N):
            for k in range(H):
                for j in range(H):
                    sums[t, n, k] += states[t, n, j] * u[k, j]
        for n in range(N):
            for k in range(H):
                states[t + 1, n, k] = np.tanh(sums[t, n, k])
    return states[1:].copy()


@operator
def lstm(x, h, c, w, u, b):
    """Long short-term memory (Hochreiter and Schmidhuber, 1997; with forget gates, Gers et al., 2000).

    `i, f, g, o = w x[t] + u h[t - 1] + b`, `c[t] = sigmoid(f) c[t - 1] + sigmoid(i) tanh(g)`,
    `h[t] = sigmoid(o) tanh(c[t])`.

    Args:
        x: `(T, N, D)`.
        h, c: `(N, H)`, output and memory before the first step.
        w, u, b: `(4 * H, D)`, `(4 * H, H)`, `(4 * H,)`, the gates in the order i, f, g, o.

    Returns:
        All outputs, `(T, N, H)`, and the last memory, `(N, H)`.

    Raises:
        ArgumentError: LD332 where shapes do not fit, or `x` holds integers.
    """
    require_shapes(x, h, w, u, b, 4)
    if c.shape[0] != h.shape[0] or c.shape[1] != h.shape[1]:
        raise ValueError("`c` is (N, H), as `h` is")
    T, N, _ = x.shape
    H = h.shape[1]
    outputs = np.empty((T + 1, N, H), dtype=x.dtype)
    memory = np.empty((T + 1, N, H), dtype=x.dtype)
    outputs[0], memory[0] = h, c
    gates = from_inputs(x, w, b)
    for t in range(T):
        for n in range(N):
            for k in range(4 * H):
                for j in range(H):
                    gates[t, n, k] += outputs[t, n, j] * u[k, j]
        for n in range(N):
            for k in range(H):
                kept = expit(gates[t, n, H + k]) * memory[t, n, k]
                memory[t + 1, n, k] = kept + expit(gates[t, n, k]) * np.tanh(gates[t, n, 2 * H + k])
                outputs[t + 1, n, k] = expit(gates[t, n, 3 * H + k]) * np.tanh(memory[t + 1, n, k])
    return outputs[1:].copy(), memory[T].copy()


@operator
def gru(x, h, w, u, b, hidden_bias):
    """Gated recurrent units (Cho et al., 2014), with the reset gate behind the product, as in cuDNN and PyTorch.

    `r, z = sigmoid(w x[t] + u h[t - 1] + b)`, `m = tanh(w x[t] + b + r (u h[t - 1] + hidden_bias))`,
    `h[t] = (1 - z) m + z h[t - 1]`.

    Args:
        x: `(T, N, D)`.
        h: `(N, H)`, the state before the first step.
        w, u, b: `(3 * H, D)`, `(3 * H, H)`, `(3 * H,)`, in the order r, z, m.
        hidden_bias: `(H,)`, of the last part.

    Returns:
        All states, `(T, N, H)`.

    Raises:
        ArgumentError: LD332 where shapes do not fit, or `x` holds integers.
    """
    require_shapes(x, h, w, u, b, 3)
    if hidden_bias.shape[0] != h.shape[1]:
        raise ValueError("`hidden_bias` is (H,)")
    T, N, _ = x.shape
    H = h.shape[1]
    states = np.empty((T + 1, N, H), dtype=x.dtype)
    states[0] = h
    given = from_inputs(x, w, b)
    for t in range(T):
        held = from_state(states[t], u)
        for n in range(N):
            for k in range(H):
                reset = expit(given[t, n, k] + held[n, k])
                update = expit(given[t, n, H + k] + held[n, H + k])
                new = np.tanh(given[t, n, 2 * H + k] + reset * (held[n, 2 * H + k] + hidden_bias[k]))
                states[t + 1, n, k] = (1.0 - update) * new + update * states[t, n, k]
    return states[1:].copy()


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
