"""Every example runs, in a process of its own, and says what it should."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = [*sorted((ROOT / "examples").glob("[0-9]*.py")), *sorted((ROOT / "examples" / "gallery").glob("*.py"))]
MOST_LINES = 80
EXPECTED = {
    "01_matmul_loss": ["-6373.7695822", "relative to the closed form"],
    "02_stencil_in_place": ["kept between the sweeps: nothing"],
    "03_sparse_rows": ["step 100", "error of g.x"],
    "04_inside_numba": ["loss after"],
    "05_inside_jax": ["error of the gradient for diag", "64 right-hand sides"],
    "epidemic": ["found beta 0.400 and gamma 0.100"],
    "hidden_markov": ["the gradient is the posterior, to"],
    "kalman": ["process 0.013", "measurement 3.8"],
    "molecules": ["step 400", "differences agree to"],
    "options": ["price 11.43", "delta -0.514"],
    "soft_dtw": ["ordinary mean 0.50", "warped mean 0.9"],
    "wave_inversion": ["step 800", "speed in the middle 0.5"],
}


def test_every_example_is_listed() -> None:
    assert [p.stem for p in EXAMPLES] == sorted(EXPECTED)
    assert all(len(p.read_text().splitlines()) <= MOST_LINES for p in EXAMPLES if p.parent.name == "gallery")


def run(*command: str) -> str:
    """Standard output of a Python program that finds this checkout of loopdiff."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, *command], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example(path: Path) -> None:
    if "jax" in path.stem and importlib.util.find_spec("jax") is None:
        pytest.skip("jax is not installed")
    printed = run(str(path))
    for text in EXPECTED[path.stem]:
        assert text in printed
