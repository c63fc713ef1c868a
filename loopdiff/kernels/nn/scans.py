"""Linear and selective scans: states that each step makes of the one before by a product and a sum."""

from __future__ import annotations

import numpy as np

from loopdiff.kernels.checks import require_floats
from loopdiff.kernels.operator import operator


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
