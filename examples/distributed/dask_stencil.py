"""Dask arrays: steps of a stencil over blocks that overlap, and the gradient of a loss at their end, block by block."""

from __future__ import annotations

from functools import partial

import dask.array as da
import numpy as np
from dask.distributed import Client, LocalCluster
from loops import spread

STEPS = 4


def step(u: np.ndarray, rate: np.ndarray) -> np.ndarray:
    return spread(u.copy(), rate.copy())  # blocks arrive as bytes of messages, which loops may not read in place


def step_back(seed: np.ndarray, u: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """The gradient by what a step began with, from that by what it ended with."""
    _, pullback = spread.vjp(u.copy(), rate.copy())
    return pullback(seed.copy()).u


def gradient(step, step_back, start, rate):
    """Of half the sum of squares after some steps."""
    states = [start]
    for _ in range(STEPS):
        states.append(step(states[-1], rate))
    seed = states.pop()
    for u in reversed(states):
        seed = step_back(seed, u, rate)
    return seed


def main() -> None:
    rng = np.random.default_rng(0)
    start, rate = rng.uniform(size=(300, 400)), rng.uniform(0.0, 0.2, (300, 400))
    whole = gradient(step, step_back, start, rate)
    # A result reads its neighbours. A gradient is read from neighbours' results, each of which read their own.
    blockwise = partial(da.map_overlap, boundary="none", meta=np.zeros((0, 0)))
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        blocks = (da.from_array(a, chunks=(100, 200)) for a in (start, rate))
        found = gradient(partial(blockwise, step, depth=1), partial(blockwise, step_back, depth=2), *blocks).compute()
    assert np.allclose(found, whole, rtol=1e-12, atol=1e-14)
    print(f"gradient of {STEPS} steps over 6 blocks, off by {abs(found - whole).max():.0e} from that of one")


if __name__ == "__main__":
    main()
