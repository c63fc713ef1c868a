"""Kernels whose iterations are those of warps, tiles of iterations, sums in parts: on small arrays as the host would
run them on large ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from loopdiff.backends.cuda import host, kernels
from loopdiff.transform import split_sums, warps
from loopdiff.transform.launch_plan import HostIf, all_steps
from tests.corpus import BY_NAME
from tests.cuda import plain
from tests.cuda.kernels import launches, plans_of
from tests.cuda.test_emulated import run_in_order
from tests.gradients import harness
from tests.gradients.test_battery import assert_close

SPREAD = (
    "rde_matmul_log1p", "conv2d_bias", "softmax", "gmm", "kmeans_cost", "syrk", "spmv_csr", "hash_grid", "nbody",
    "diagonal_access", "over_len", "triangular_bounds", "grouped_products", "local_arrays_like", "return_array",
    "rank_four", "any_strides", "normalized_rows", "reductions", "products", "contractions",
)  # fmt: skip


TILED = (
    "rde_matmul_log1p", "tullio_bmm_rev", "matmul_loss", "grouped_products", "products", "contractions",
)  # fmt: skip


IN_PARTS = (
    "rde_matmul_log1p", "conv2d_bias", "matmul_loss", "diagonal_access", "rows_changed_by_helper", "over_len",
    "sibling_nests", "augmented_elements", "affine_subscripts", "message_passing", "grouped_products", "return_array",
    "any_strides", "normalized_rows", "products", "contractions",
)  # fmt: skip


@pytest.fixture
def fresh_plans() -> Iterator[None]:
    plain.plan.cache_clear()
    yield
    plain.plan.cache_clear()


def check_in_both_orders(name: str) -> None:
    entry = BY_NAME[name]
    outputs, gradients, _ = run_in_order(entry, 0, is_backwards=False)
    is_narrow = harness.is_narrow(entry)
    assert_close(outputs, harness.run_python(entry, entry.args(0)), 1e-5 if is_narrow else 1e-11)
    assert_close(gradients, harness.pull_back(entry, entry.args(0)), 1e-4 if is_narrow else 1e-10)
    again = run_in_order(entry, 0, is_backwards=True)
    for found, other in ((outputs, again[0]), (gradients, again[1])):
        for key, value in found.items():
            np.testing.assert_array_equal(value, other[key], err_msg=f"{key} depends on the order of threads")


@pytest.mark.parametrize("name", SPREAD)
def test_warps_on_rows_of_any_length(name: str, fresh_plans: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warps, "LONG", 0)
    assert any(launch.warp_loops for plan in plans_of(name) for launch in launches(plan))
    check_in_both_orders(name)


@pytest.mark.parametrize("are_long", [False, True])
@pytest.mark.parametrize("name", TILED)
def test_tiles_of_threads_and_warps(
    name: str, are_long: bool, fresh_plans: None, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """In blocks of two by two threads, or of two warps, so that threads have several iterations, not always whole
    tiles."""
    monkeypatch.setattr(host, "BUSY", 0)
    monkeypatch.setattr(warps, "LONG", 0 if are_long else 1 << 60)
    monkeypatch.setattr(kernels, "BLOCKS", {**kernels.BLOCKS, 2: (2, 2, 1), 3: (2, 2, 1)})
    monkeypatch.setattr(kernels, "WARPS", 2)
    assert any(launch.tile for plan in plans_of(name) for launch in launches(plan))
    check_in_both_orders(name)


@pytest.mark.parametrize("are_long", [False, True])
@pytest.mark.parametrize("name", IN_PARTS)
def test_sums_in_parts(name: str, are_long: bool, fresh_plans: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """In parts of two terms, the last of one where they are odd, by threads and by warps."""
    monkeypatch.setattr(split_sums, "TERMS", 2)
    monkeypatch.setattr(warps, "LONG", 0 if are_long else 1 << 60)
    assert any(isinstance(s, HostIf) and "parts" in s.reason for p in plans_of(name) for s in all_steps(p.steps))
    check_in_both_orders(name)
