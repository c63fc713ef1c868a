"""Heat that spreads over a graph, messages passed along edges: how well each kind of edge conducts, from late heat."""

from __future__ import annotations

import numpy as np

from loopdiff import vectorize_grad


def spread(log_k, u, source, target, kind, h, steps):
    k = np.exp(log_k)[kind]
    for _ in range(steps):
        flow = k * (u[source] - u[target])
        change = np.zeros_like(u)
        np.add.at(change, target, flow)
        np.subtract.at(change, source, flow)
        u = u + h * change
    return u


@vectorize_grad(wrt="log_k")
def misfit(log_k, start, late, source, target, kind, h, steps):
    end = spread(log_k, start, source, target, kind, h, steps)
    return ((end - late) ** 2).sum()


def main() -> None:
    rng = np.random.default_rng(0)
    nodes, edges = 500, 2000
    source = rng.integers(0, nodes, edges)
    target = (source + rng.integers(1, nodes, edges)) % nodes
    kind = rng.integers(0, 3, edges)
    truth = np.log([0.2, 1.0, 3.0])
    start = np.zeros(nodes)
    start[rng.choice(nodes, 50, replace=False)] = 1.0
    late = spread(truth, start, source, target, kind, 0.01, 20)
    log_k = np.zeros(3)
    for k in range(301):
        loss, g = misfit.value_and_grad(log_k, start, late, source, target, kind, 0.01, 20)
        log_k = log_k - 0.5 * g.log_k
        if k % 100 == 0:
            print(f"step {k:3d}  misfit {loss:.2e}")
    found = ", ".join(f"{v:.3f}" for v in np.exp(log_k))
    print(f"the kinds of edges conduct {found} (they do 0.200, 1.000, 3.000)")


if __name__ == "__main__":
    main()
