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
WITH_COMMUNICATION: dict[str, dict[str, Any]] = {
    "automatic": {
        "collectives, automatic": {"all-reduce": 1},
        "is sharded, automatic": [3, 2],  # two examples of eight on each device
        "collectives of each gradient, automatic": {},
        "collectives of jvp, automatic": {},
    },
    "independent": {f"collectives, {case}": count for case, count in INDEPENDENT.items()},
}


def found_by(group: str) -> tuple[dict[str, float], dict[str, Any]]:
    """What a group of `sharded.py` finds in a process of its own: how far it is off in each case, and other things."""
    command = [sys.executable, "-m", "tests.jax.sharded", group]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    errors = {case: value for case, value in found.items() if isinstance(value, float)}
    assert {case: value for case, value in errors.items() if not value < 1e-11} == {}
    return errors, {case: value for case, value in found.items() if case not in errors}


@pytest.mark.part(5)
@pytest.mark.parametrize("group", ["checked", "unchecked", "automatic", "independent", "beyond", "explicit"])
def test_on_four_devices(group: str) -> None:
    """Values are those of one device, as nothing is summed twice or left out, and nothing is sent that need not be."""
    from loopdiff.jax.partitioning import CAN_PARTITION

    errors, others = found_by(group)
    match group:
        case "checked" | "unchecked":
            by = ("value, primitives", "value, custom_vjp", "grad, primitives", "grad, custom_vjp",
                  "grad inside, primitives", "grad inside, custom_vjp", "jvp")  # fmt: skip
            assert {*errors} == {f"{name}, check_vma={group == 'checked'}" for name in by}
            # The gradient by what all share; the one by examples stays where they are.
            assert others == ({"collectives of shard_map": {"all-reduce": 1}} if group == "checked" else {})
        case "explicit":
            assert others == {}
            assert [*errors] == ["explicit value", "explicit gradient", "explicit trajectories"] or not errors
        case "beyond":
            shards = [f"one of two axes, check_vma={c}" for c in (True, False)]
            assert [*errors] == ([*shards, "exported for devices"] if CAN_PARTITION else [])
        case "automatic":
            assert [*errors] == ["grad, automatic", "each gradient, automatic", "jvp, automatic"]
        case _:
            assert {*errors} == {*INDEPENDENT}
    if not CAN_PARTITION and group in WITH_COMMUNICATION:
        pytest.skip("this version of JAX gathers what is split")
    assert others == WITH_COMMUNICATION.get(group, others)
