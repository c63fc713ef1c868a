"""Distances and scores of two sequences by dynamic programming: soft-DTW, and local alignment."""

from __future__ import annotations

import numpy as np

from loopdiff.kernels.checks import require_floats
from loopdiff.kernels.operator import operator
from loopdiff.rules.marks import stop_gradient


@operator
def soft_dtw(costs, gamma=1.0):
    """`-gamma * log(sum over ways of exp(-cost of the way / gamma))`, over all ways from the first pair of elements to
    the last one that go on in one sequence, in the other, or in both (Cuturi and Blondel, 2017, algorithm 1).

    The derivative by the costs is how much of the ways goes through each pair.

    Args:
        costs: `(N, M)`, of pairs of elements, floats; inf where a pair is not allowed.
        gamma: Above zero. Near zero it is the cost of the best way.

    Returns:
        A number; inf where no way is allowed, with a derivative of zero.

    Raises:
        ArgumentError: LD332 where there are no pairs, `gamma` is not above zero, or costs are integers.
    """
    require_floats(costs)
    N, M = costs.shape
    if N == 0 or M == 0 or not gamma > 0.0:
        raise ValueError("both sequences have elements, and `gamma` is above zero")
    best = np.full((N + 1, M + 1), np.inf, dtype=costs.dtype)
    best[0, 0] = 0.0
    for i in range(1, N + 1):
        for j in range(1, M + 1):
            both, above, beside = best[i - 1, j - 1], best[i - 1, j], best[i, j - 1]
            least = stop_gradient(min(both, above, beside))
            if least < np.inf:
                total = (
                    np.exp((least - both) / gamma) + np.exp((least - above) / gamma) + np.exp((least - beside) / gamma)
                )
                best[i, j] = costs[i - 1, j - 1] + least - gamma * np.log(total)
            elif least != least:
                best[i, j] = least
    return best[N, M]


@operator
def smith_waterman(scores, opening, extension):
    """The score of the best local alignment of two sequences, with gaps of any length (Smith and Waterman, 1981; in
    three tables: Gotoh, 1982).

    Each pair that is aligned counts its score, and a gap of `k` elements `-opening - (k - 1) * extension`; no alignment
    counts zero. Between two pairs both sequences may have a gap. The derivative by the scores is one for each pair of
    the best alignment; alignments that are equally good share it.

    Args:
        scores: `(N, M)`, of pairs of elements, floats.
        opening, extension: Numbers, what the first and each further element of a gap costs.

    Returns:
        A number.

    Raises:
        ArgumentError: LD332 where scores are integers.
    """
    require_floats(scores)
    N, M = scores.shape
    paired = np.full((N + 1, M + 1), -np.inf, dtype=scores.dtype)
    down, across = np.full_like(paired, -np.inf), np.full_like(paired, -np.inf)
    best = 0.0
    for i in range(1, N + 1):
        for j in range(1, M + 1):
            before = max(paired[i - 1, j - 1], down[i - 1, j - 1], across[i - 1, j - 1], 0.0)
            paired[i, j] = scores[i - 1, j - 1] + before
            down[i, j] = max(paired[i - 1, j] - opening, down[i - 1, j] - extension)
            across[i, j] = max(paired[i, j - 1] - opening, down[i, j - 1] - opening, across[i, j - 1] - extension)
            best = max(best, paired[i, j])
    return best
