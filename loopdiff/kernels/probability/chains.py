"""Log likelihoods of sequences, by one pass along the sequence: hidden Markov models, linear chains, Kalman's filter.

Sums over all ways through the states are found in logarithms, so they neither overflow nor vanish; -inf stands for
what is impossible, and has a derivative of zero. The reverse sweep through these passes is known as the backward
algorithm, and as smoothing: derivatives by emissions or scores are the probabilities of states given everything.
"""

from __future__ import annotations

import numpy as np

from loopdiff.kernels.checks import require_floats
from loopdiff.kernels.operator import operator
from loopdiff.kernels.probability.functions import HALF_LOG_TAU, log_sum_exp


def advanced(before, transitions, emitted):
    """emitted[j] + log(sum over i of exp(before[i] + transitions[i, j])): a step of the forward algorithm."""
    S = before.shape[0]
    after = np.empty_like(before)
    for j in range(S):
        greatest = -np.inf
        for i in range(S):
            greatest = max(greatest, before[i] + transitions[i, j])
        shift = greatest if greatest > -np.inf else 0.0
        total = 0.0
        for i in range(S):
            total += np.exp(before[i] + transitions[i, j] - shift)
        after[j] = -np.inf if total == 0.0 else shift + np.log(total) + emitted[j]
    return after


@operator
def hidden_markov(log_initial, log_transitions, log_emissions):
    """The log likelihood of a hidden Markov model: the forward algorithm (Rabiner, Proc. IEEE 77, 1989, III A).

    a[0, j] = log_initial[j] + log_emissions[0, j]
    a[t, j] = log_emissions[t, j] + log(sum over i of exp(a[t - 1, i] + log_transitions[i, j]))

    and the result is log(sum over j of exp(a[T - 1, j])).

    Args:
        log_initial: `(S,)`, log probabilities of the first state.
        log_transitions: `(S, S)`, from the row's state to the column's.
        log_emissions: `(T, S)`, the log density of each observation in each state.

    Returns:
        A number; -inf where no way through the states is possible.

    Raises:
        ArgumentError: LD310, LD320 or LD332 where the numbers of states differ.
    """
    T, S = log_emissions.shape
    if log_initial.shape[0] != S or log_transitions.shape[0] != S or log_transitions.shape[1] != S:
        raise ValueError("`log_initial` is (S,) and `log_transitions` (S, S) for S states")
    a = log_initial + log_emissions[0]
    for t in range(1, T):
        a = advanced(a, log_transitions, log_emissions[t])
    return log_sum_exp(a)


@operator
def chain_log_partition(scores, transitions):
    """The log partition function of a linear chain: log of the sum of exp(score) over all paths through S states.

    A path's score is the sum over t of scores[t, path[t]] and of transitions[path[t - 1], path[t]]. The derivatives are
    the probabilities of states, and the expected numbers of transitions.

    Args:
        scores: `(T, S)`.
        transitions: `(S, S)`, from the row's state to the column's.

    Raises:
        ArgumentError: LD310, LD320 or LD332 where the numbers of states differ.
    """
    T, S = scores.shape
    if transitions.shape[0] != S or transitions.shape[1] != S:
        raise ValueError("`transitions` is (S, S) for S states")
    a = scores[0].copy()
    for t in range(1, T):
        a = advanced(a, transitions, scores[t])
    return log_sum_exp(a)


@operator
def linear_chain_crf(scores, transitions, path):
    """The log likelihood of a path in a linear-chain conditional random field: its score less the log partition.

    Lafferty, McCallum and Pereira, ICML 2001, section 3; scores of the first and the last state go into `scores`.

    Args:
        scores: `(T, S)`.
        transitions: `(S, S)`, from the row's state to the column's.
        path: `(T,)`, integers from 0 to S - 1.

    Returns:
        A number of zero or less.

    Raises:
        ArgumentError: LD310 or LD332 where lengths or numbers of states differ, LD310 where `path` leaves the states.
    """
    T = scores.shape[0]
    if path.shape[0] != T:
        raise ValueError("`path` has a state for each row of `scores`")
    total = scores[0, path[0]]
    for t in range(1, T):
        total += scores[t, path[t]] + transitions[path[t - 1], path[t]]
    return total - chain_log_partition(scores, transitions)


@operator
def kalman(observations, A, C, Q, R, mean, covariance):
    """The log likelihood of a linear Gaussian state space model: Kalman's filter (J. Basic Eng. 82, 1960).

    state[0] ~ normal(mean, covariance), state[t] ~ normal(A state[t - 1], Q), observations[t] ~ normal(C state[t], R)

    For each observation: what is expected of it is C m with covariance C P C^T + R = L L^T. With W = L^-1 C P and
    z = L^-1 (C m - observation), what is known after it is P - W^T W and m - W^T z. So m is a further column of P, as z
    of W: both are found at once.

    Args:
        observations: `(T, M)`.
        A: `(N, N)`, of a state makes the next.
        C: `(M, N)`, of a state makes what is observed.
        Q: `(N, N)`, the covariance of the noise of states.
        R: `(M, M)`, the covariance of the noise of observations.
        mean: `(N,)`, of the first state, before anything is observed.
        covariance: `(N, N)`, of the first state.

    Returns:
        The sum of the log densities of the observations, each given those before it. Of covariances of observations the
        lower triangle is read: derivatives by an entry of `R` and by its mirror image are to be added.

    Raises:
        ArgumentError: LD332 where a covariance of observations is not positive definite, LD203, LD320 or LD332 where
            shapes do not fit.
    """
    require_floats(observations)
    T, M = observations.shape
    N = A.shape[0]
    if A.shape != (N, N) or C.shape != (M, N) or Q.shape != (N, N) or R.shape != (M, M):
        raise ValueError("`A` and `Q` are (N, N), `C` is (M, N), `R` (M, M)")
    if mean.shape != (N,) or covariance.shape != (N, N):
        raise ValueError("`mean` is (N,), `covariance` (N, N)")
    S = np.empty((N, N + 1), dtype=observations.dtype)
    S[:, :N], S[:, N] = covariance, mean
    total = 0.0
    for t in range(T):
        W = C @ S
        for i in range(M):
            W[i, N] -= observations[t, i]
        L = np.linalg.cholesky(W[:, :N] @ C.T + R)
        for i in range(M):
            for k in range(i):
                for j in range(N + 1):
                    W[i, j] -= L[i, k] * W[k, j]
            for j in range(N + 1):
                W[i, j] /= L[i, i]
            total -= np.log(L[i, i]) + 0.5 * W[i, N] ** 2 + HALF_LOG_TAU
        S = A @ (S - W[:, :N].T @ W)
        S[:, :N] = S[:, :N] @ A.T + Q
    return total
