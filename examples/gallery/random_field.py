"""A conditional random field on chains: weights of features and of neighbours, found from labelled sequences."""

from __future__ import annotations

from itertools import product

import numpy as np

from loopdiff import vectorize_grad


def log_sum_exp(a):
    m = a.max(axis=0)
    return m + np.log(np.exp(a - m).sum(axis=0))


def log_partition(scores, T):
    """Logarithm of the sum over all sequences of labels, by the forward algorithm."""
    alpha = scores[0]
    for t in range(1, len(scores)):
        alpha = scores[t] + log_sum_exp(alpha[:, None] + T)
    return log_sum_exp(alpha)


@vectorize_grad(wrt=("W", "T"))
def surprise(W, T, X, labels):
    """Minus the mean log likelihood of `labels`, a row for each sequence; `X[s, t]` are features of its place `t`."""
    total = 0.0
    for x, y in zip(X, labels, strict=True):
        scores = x @ W
        own = scores[np.arange(len(y)), y].sum() + T[y[:-1], y[1:]].sum()
        total += log_partition(scores, T) - own
    return total / len(X)


def drawn(rng: np.random.Generator, W: np.ndarray, T: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Labels drawn from the field itself, out of the list of all sequences."""
    everything = np.array(list(product(range(len(T)), repeat=X.shape[1])))
    places = np.arange(X.shape[1])
    rows = []
    for x in X:
        score = (x @ W)[places, everything].sum(axis=1) + T[everything[:, :-1], everything[:, 1:]].sum(axis=1)
        p = np.exp(score - score.max())
        rows.append(everything[rng.choice(len(everything), p=p / p.sum())])
    return np.array(rows)


def main() -> None:
    rng = np.random.default_rng(0)
    W = rng.standard_normal((4, 3))
    T = np.array([[1.5, -1.0, 0.0], [0.0, 1.0, -0.5], [-1.0, 0.5, 1.0]])
    X = rng.standard_normal((1000, 6, 4))
    labels = drawn(rng, W, T, X)
    w, t = np.zeros_like(W), np.zeros_like(T)
    for k in range(101):
        loss, g = surprise.value_and_grad(w, t, X, labels)
        w, t = w - 0.3 * g.W, t - 0.3 * g.T
        if k % 50 == 0:
            print(f"step {k:3d}  surprise {loss:.4f}")
    print(f"surprise of the field that drew the labels {surprise.value_and_grad(W, T, X, labels)[0]:.4f}")
    centred = (a - a.mean() for a in (t, T))  # a number added to all of T changes no likelihood
    print(f"weights of neighbours are off by {np.abs(np.subtract(*centred)).max():.2f} at most")


if __name__ == "__main__":
    main()
