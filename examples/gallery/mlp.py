"""A multi-layer perceptron that tells two spirals apart: its parameters are a list of matrices and vectors."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from loopdiff import vectorize_grad


def logits(params, x):
    for W, b in params[:-1]:
        x = np.tanh(x @ W + b)
    W, b = params[-1]
    return x @ W + b


@vectorize_grad(wrt="params")
def cross_entropy(params, x, labels):
    z = logits(params, x)
    z = z - z.max(axis=1, keepdims=True)
    log_p = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
    return -log_p[np.arange(len(labels)), labels].mean()


def spirals(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    labels = rng.integers(0, 2, n)
    turn = 3.0 * np.sqrt(rng.random(n))
    angle = 2.0 * turn + np.pi * labels
    x = np.column_stack((turn * np.cos(angle), turn * np.sin(angle)))
    return x + 0.05 * rng.standard_normal(x.shape), labels


def main() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    x, labels = spirals(rng, 400)
    sizes = (2, 32, 32, 2)
    params = [(rng.normal(size=(m, n)) / np.sqrt(m), np.zeros(n)) for m, n in pairwise(sizes)]
    speed = [(np.zeros_like(W), np.zeros_like(b)) for W, b in params]
    for k in range(401):
        loss, g = cross_entropy.value_and_grad(params, x, labels)
        pairs = zip(speed, g.params, strict=True)
        speed = [(0.9 * vW - 0.2 * gW, 0.9 * vb - 0.2 * gb) for (vW, vb), (gW, gb) in pairs]
        params = [(W + vW, b + vb) for (W, b), (vW, vb) in zip(params, speed, strict=True)]
        if k % 100 == 0:
            print(f"step {k:3d}  cross entropy {loss:.4f}")
    x, labels = spirals(rng, 1000)
    right = (logits(params, x).argmax(axis=1) == labels).mean()
    print(f"of new points {100 * right:.0f} % are told right")
    side = np.linspace(-3.5, 3.5, 80)
    z = logits(params, np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2))
    probability = 1.0 / (1.0 + np.exp(z[:, 0] - z[:, 1]))
    return {"probability of the second spiral": probability.reshape(80, 80)}


if __name__ == "__main__":
    main()
