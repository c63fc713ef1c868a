"""A hidden Markov model: the forward algorithm on logarithms, and posteriors of the states as a gradient."""

from __future__ import annotations

import numpy as np

from loopdiff import vectorize_grad


def log_sum_exp(v):
    m = v.max()
    return m + np.log(np.exp(v - m).sum())


@vectorize_grad(wrt=("emitted",))
def log_likelihood(start, transition, emitted):
    """`emitted[t, s]` is the log probability of what was seen at time `t` in state `s`."""
    T, S = emitted.shape
    alpha = start + emitted[0]
    for t in range(1, T):
        new = np.zeros(S)
        for s in range(S):
            new[s] = log_sum_exp(alpha + transition[:, s]) + emitted[t, s]
        alpha = new
    return log_sum_exp(alpha)


def forward_backward(start: np.ndarray, transition: np.ndarray, emitted: np.ndarray) -> np.ndarray:
    """Posteriors of the states, by the textbook's two recursions."""
    A, B = np.exp(transition), np.exp(emitted)
    alphas, betas = np.zeros_like(B), np.ones_like(B)
    alphas[0] = np.exp(start) * B[0]
    for t in range(1, len(B)):
        alphas[t] = (alphas[t - 1] @ A) * B[t]
    for t in range(len(B) - 2, -1, -1):
        betas[t] = A @ (B[t + 1] * betas[t + 1])
    joint = alphas * betas
    return joint / joint.sum(axis=1, keepdims=True)


def main() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    states = 5
    start = np.log(rng.dirichlet(np.ones(states)))
    transition = np.log(rng.dirichlet(np.ones(states), states))
    emitted = np.log(rng.dirichlet(np.ones(states), 40))
    value, g = log_likelihood.value_and_grad(start, transition, emitted)
    print(f"log likelihood {value:.6f}")
    posterior = forward_backward(start, transition, emitted)
    print(f"the gradient is the posterior, to {np.abs(g.emitted - posterior).max():.0e}")
    return {"posterior of the states, over time": posterior.T}


if __name__ == "__main__":
    main()
