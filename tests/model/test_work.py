"""Estimates of work."""

from __future__ import annotations

import numpy as np
import pytest

from loopdiff import vectorize_grad

X = np.linspace(0.1, 1.0, 9)


@pytest.mark.parametrize("is_parallel", [False, True])
def test_estimates_divide_by_nothing_that_the_program_does_not(is_parallel: bool) -> None:
    """How long loops take is estimated ahead of them, and ahead of the condition around them."""

    def guarded(x, n, m):
        t = 0.0
        for i in range(n):
            if m != 0:
                for j in range(n // m):
                    for k in range(n % m + 2):
                        t += x[i] * j * k
        return t

    f = vectorize_grad(parallel=is_parallel)(guarded)
    assert f(X, 9, 0) == 0.0
    assert f.value_and_grad(X, 9, 0)[0] == 0.0
    assert f(X, 9, 4) == pytest.approx(guarded(X, 9, 4), rel=1e-14)
