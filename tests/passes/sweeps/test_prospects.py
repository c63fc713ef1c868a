"""It is only left out to look whether both sweeps run together where they do not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from loopdiff.passes.sweeps.prospects import may_run_together
from loopdiff.pipeline.derive import derive_one_pass, derive_sweeps
from loopdiff.pipeline.stages import Stages
from tests.corpus import BY_NAME
from tests.gradients.interpreted import lowered, normal_form
from tests.passes.sweeps.test_sweep_fusion import NAMES

# By what they have in common: rows, elements that both sweeps read, copies, values of functions, winners.
OTHERS = (
    "rde_matmul_log1p", "laplacian_energy", "powers_of_gram", "over_array", "chosen_under_names", "every_other",
    "kmeans_cost", "support_function",
)  # fmt: skip


@pytest.mark.part(2)
@pytest.mark.parametrize("name", [*NAMES, *OTHERS])
def test_what_runs_together_is_looked_at(name: str) -> None:
    entry, stages = BY_NAME[name], Stages(name)
    ls = lowered(entry)
    sweeps = {policy: derive_sweeps(ls, entry.wrt, policy, stages, "gradient") for policy in ("auto", "rows")}
    found = [derive_one_pass(ls, s.forward, s.reverse, entry.wrt, stages) for s in sweeps.values()]
    assert any(f is not None for f in found)
    assert may_run_together(sweeps["auto"].forward, sweeps["auto"].reverse)


def decayed(x, n):
    u = x * 1.0
    for _ in range(n):
        for i in range(1, x.shape[0]):
            u[i] = 0.5 * u[i] * u[i - 1] + np.sin(u[i])
    return u[0] * u[1]


def filtered(A, x, n):
    P = np.zeros(A.shape)
    P[0, 0] = x[0]
    total = 0.0
    for _ in range(n):
        P = A @ P * 0.1 + np.exp(0.1 * P)
        total += P[0, 0]
    return total


@pytest.mark.parametrize("function", [decayed, filtered])
def test_recurrences_are_not_looked_at(function: Callable[..., float]) -> None:
    given = {"A": np.ones((3, 3)), "x": np.ones(4), "n": 2}
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    ls = normal_form(function, {name: given[name] for name in names})
    wrt = tuple(n for n in names if n != "n")
    sweeps = derive_sweeps(ls, wrt, "auto", Stages("test"), "gradient")
    assert not may_run_together(sweeps.forward, sweeps.reverse)
