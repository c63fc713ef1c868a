"""Sweeps are the same in every process: nothing is in the order of a set, or what is on disk would not be found."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
from loopdiff.pipeline import derive
from loopdiff.pipeline.stages import Stages
from tests.corpus import BY_NAME
from tests.gradients.interpreted import in_real_parts, lowered

for name in ("complex_powers", "escapes", "parts_and_branches"):
    entry = BY_NAME[name]
    sweeps = derive.derive_sweeps(lowered(entry), in_real_parts(entry).wrt, "auto", Stages(name), "pullback")
    print(sweeps.forward, sweeps.reverse)
"""


def printed(seed: int) -> str:
    root = Path(__file__).parents[2]
    env = {**os.environ, "PYTHONHASHSEED": str(seed)}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=root, env=env, capture_output=True, text=True, check=True
    ).stdout


def test_sweeps_do_not_depend_on_the_hashes_of_strings() -> None:
    assert printed(1) == printed(3) != ""
