"""`shard_map` and automatic sharding, on four devices of a host of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("jax")
ROOT = Path(__file__).parents[2]
CASES = [f"{name}, {via}, check_vma={c}" for name in ("value", "grad", "grad inside")
         for via in ("primitives", "custom_vjp") for c in (True, False)]  # fmt: skip


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
EXPLICIT = ("explicit value", "explicit gradient", "explicit trajectories")
BEYOND = ("one of two axes, check_vma=True", "one of two axes, check_vma=False", "exported for devices")
MORE = (
    *INDEPENDENT,
    "jvp, check_vma=True",
    "jvp, check_vma=False",
    "grad, automatic",
    "each gradient, automatic",
    "jvp, automatic",
)


def test_on_four_devices() -> None:
    """One process for all: values are those of one device, as nothing is summed twice or left out, and nothing is sent
    that need not be."""
    from loopdiff.jax.partitioning import CAN_PARTITION

    command = [sys.executable, "-m", "tests.jax.sharded"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    explicit = [case for case in EXPLICIT if case in found]  # JAX has that mode since 0.7
    beyond = BEYOND if CAN_PARTITION else ()
    assert {c: found[c] for c in (*CASES, *MORE, *beyond, *explicit) if not found[c] < 1e-11} == {}
    # The gradient by what all share; the one by examples stays where they are.
    assert found["collectives of shard_map"] == {"all-reduce": 1}
    if not CAN_PARTITION:
        pytest.skip("this version of JAX gathers what is split")
    assert found["collectives, automatic"] == {"all-reduce": 1}
    assert found["is sharded, automatic"] == [3, 2]  # two examples of eight on each device
    assert found["collectives of each gradient, automatic"] == {}
    assert found["collectives of jvp, automatic"] == {}
    assert {case: found[f"collectives, {case}"] for case in INDEPENDENT} == INDEPENDENT
