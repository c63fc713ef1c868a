"""Dask: gradients of batches on worker processes, added up there. Workers load what this process compiled."""

from __future__ import annotations

from time import perf_counter

import numpy as np
from dask.delayed import delayed
from dask.distributed import Client, LocalCluster
from loops import START, share, surprise


def of_batch(p: np.ndarray, number: int) -> tuple[np.ndarray, float]:
    """Value and gradient as one vector, and the seconds that they took."""
    p = p.copy()  # arrays arrive as bytes of messages, which are not aligned as loops need it
    rows, begin = share(number, days=2000), perf_counter()
    value, g = surprise.value_and_grad(p, rows)
    return np.array([value, *g.p]), perf_counter() - begin


def added(parts: list[tuple[np.ndarray, float]]) -> tuple[np.ndarray, float, float]:
    """The sum of the vectors, and the longest and the shortest time."""
    vectors, seconds = zip(*parts, strict=True)
    return np.sum(vectors, axis=0), max(seconds), min(seconds)


def main() -> None:
    batches = range(8)
    value, g = surprise.value_and_grad(START, np.concatenate([share(k, days=2000) for k in batches]))
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        found, longest, shortest = delayed(added)([delayed(of_batch)(START, k) for k in batches]).compute()
    assert np.allclose(found, [value, *g.p], rtol=1e-12, atol=0.0)
    print(f"gradient of {len(batches)} batches {found[1:].round(2)}, as of one")
    print(f"a worker's first takes {longest:.2f} s, the quickest {1e3 * shortest:.2f} ms")


if __name__ == "__main__":
    main()
