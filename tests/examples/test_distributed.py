"""The examples of several processes run, where Dask is installed, and no worker compiles what another has compiled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.part(3)
ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "distributed"
MOST_LINES = 65
EXPECTED = {
    "dask_batches": "gradient of 8 batches [ -25551.36     569.58 -149580.89], as of one",
    "dask_stencil": "gradient of 4 steps over 6 blocks, off by ",
    "jax_processes": "gradient of 2 processes [ -64202.84    1363.68 -375104.07], as of one",
}
COMPILED = {"dask_batches": 1, "dask_stencil": 4, "jax_processes": 2}  # functions, by all processes together


def test_every_example_is_listed_and_short() -> None:
    paths = sorted(FOLDER.glob("*.py"))
    assert [p.stem for p in paths] == [*EXPECTED, "loops"]
    assert all(len(p.read_text(encoding="utf-8").splitlines()) <= MOST_LINES for p in paths)


def run(name: str, cache: Path) -> str:
    """What an example prints in a process of its own, which finds this checkout of loopdiff."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "LOOPDIFF_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, str(FOLDER / f"{name}.py")],
        env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def machine_code(cache: Path) -> dict[str, int]:
    """The files of machine code in a cache, and the serial number of each, which is another once it is made again."""
    return {p.name: p.stat().st_ino for p in (cache / "machine").iterdir()}


@pytest.mark.parametrize("name", EXPECTED)
def test_example(name: str, tmp_path: Path) -> None:
    pytest.importorskip("jax" if name == "jax_processes" else "distributed")
    assert EXPECTED[name] in run(name, tmp_path)
    compiled = machine_code(tmp_path)
    assert len(compiled) == COMPILED[name]
    run(name, tmp_path)
    assert machine_code(tmp_path) == compiled
