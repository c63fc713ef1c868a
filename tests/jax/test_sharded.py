"""`shard_map` and automatic sharding, on four devices of a host of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("jax")
ROOT = Path(__file__).parents[2]
CASES = [f"{name}, {via}, check_vma={c}" for name in ("value", "grad", "grad inside")
         for via in ("primitives", "custom_vjp") for c in (True, False)]  # fmt: skip


@cache
def ran() -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.jax.sharded"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)


def found() -> dict[str, Any]:
    assert ran().returncode == 0, ran().stderr
    return json.loads(ran().stdout)


# The communication of each: one sum where parts have shares in something, and what is not independent is gathered.
INDEPENDENT = {
    "squares": {"all-reduce": 1},
    "gradient of squares": {"all-reduce": 2},  # the value first, which the cotangent follows from
    "tangent of squares": {"all-reduce": 1},
    "hessian of squares": {"all-reduce": 1},
    "trajectories": {},
    "gradient of trajectories": {},
    "rows and columns": {},
    "gradient by rows and columns": {"all-reduce": 2},
    "summed index": {"all-reduce": 1},
    "neighbours": {"all-gather": 1},
}
EXPLICIT = {
    "explicit value": {"all-reduce": 1},
    "explicit gradient": {"all-reduce": 2},
    "explicit trajectories": {"all-gather": 1},  # by its type, a result of ours is whole
}
BEYOND = ("one of two axes, check_vma=True", "one of two axes, check_vma=False", "exported for devices")
MORE = (
    *INDEPENDENT,
    *BEYOND,
    "jvp, check_vma=True",
    "jvp, check_vma=False",
    "grad, automatic",
    "each gradient, automatic",
    "jvp, automatic",
)


@pytest.mark.parametrize("case", [*CASES, *MORE])
def test_as_on_one_device(case: str) -> None:
    """What a device has no part of is not summed twice, and nothing is left out."""
    assert found()[case] < 1e-11


def test_one_sum_over_devices() -> None:
    """Of the gradient by what all share; the one by examples stays where they are."""
    assert found()["collectives of shard_map"] == {"all-reduce": 1}


def test_nothing_is_gathered_automatically() -> None:
    """Where only the arguments are placed: two examples of eight on each device, and their gradients stay there."""
    from loopdiff.jax.partitioning import CAN_PARTITION

    if not CAN_PARTITION:
        pytest.skip("this version of JAX gathers what is split")
    assert found()["collectives, automatic"] == {"all-reduce": 1}
    assert found()["is sharded, automatic"] == [3, 2]
    assert found()["collectives of each gradient, automatic"] == {}
    assert found()["collectives of jvp, automatic"] == {}
    assert {name: found()[f"collectives, {name}"] for name in INDEPENDENT} == INDEPENDENT


@pytest.mark.parametrize("case", EXPLICIT)
def test_explicit_mode(case: str) -> None:
    """Where shardings are parts of types, as JAX has it since 0.7."""
    if case not in found():
        pytest.skip("this version of JAX has no such mode")
    assert found()[case] < 1e-11
    assert found()[f"collectives, {case}"] == EXPLICIT[case]
