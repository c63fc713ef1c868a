"""Every example runs, and says what it should."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = [*sorted((ROOT / "examples").glob("[0-9]*.py")), *sorted((ROOT / "examples" / "gallery").glob("*.py"))]
MOST_LINES = 80
PRINTED = json.loads((ROOT / "docs" / "gallery" / "printed.json").read_text())  # what their pages say that they print
NUMBER = re.compile(r"[-+]?\d[\d.]*(e[-+]\d+)?")
APART = {"02_stencil_in_place"}  # in a process of its own; that of the tests has imported already what the others do
EXPECTED = {
    "01_matmul_loss": ["-6373.7695822", "relative to the closed form"],
    "02_stencil_in_place": ["kept between the sweeps: nothing"],
    "03_sparse_rows": ["step 100", "error of g.x"],
    "04_inside_numba": ["loss after"],
    "05_inside_jax": ["error of the gradient for diag", "64 right-hand sides"],
    "deconvolution": ["step 150", "of the blurred image 0.122, of the restored one 0.04"],
    "epidemic": ["found beta 0.400 and gamma 0.100"],
    "fft": ["the transform is NumPy's, to", "what passes is off by 0.01"],
    "graph_diffusion": ["conduct 0.200, 1.000, 3.000"],
    "heat_3d": ["step 5  mean error 0.0100", "off by 0.4 % at most"],
    "hidden_markov": ["the gradient is the posterior, to"],
    "hierarchical_hmc": ["accepted 9", "mean effect 4.", "(by quadrature 4.40), spread of schools 3.", "(3.59)"],
    "icp": ["step  80", "turn found to 1e-04"],
    "kalman": ["process 0.013", "measurement 3.8"],
    "mlp": ["step 400  cross entropy 0.00", "100 % are told right"],
    "molecules": ["step 400", "differences agree to"],
    "options": ["price 11.43", "delta -0.514"],
    "random_field": ["step 100  surprise 3.5101", "surprise of the field that drew the labels 3.5140", "off by 0.08"],
    "soft_dtw": ["ordinary mean 0.50", "warped mean 0.9"],
    "sparse_logistic": ["step 150  loss 0.5258  weights that are not zero 12", "found: True", "off by 0.4"],
    "wave_inversion": ["step 800", "speed in the middle 0.5"],
}


def test_every_example_is_listed() -> None:
    assert [p.stem for p in EXAMPLES] == sorted(EXPECTED)
    assert all(len(p.read_text().splitlines()) <= MOST_LINES for p in EXAMPLES if p.parent.name == "gallery")


def run_apart(path: Path) -> str:
    """Standard output of a program in a process of its own, which finds this checkout of loopdiff."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, str(path)], env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.part(4)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if "jax" in path.stem and importlib.util.find_spec("jax") is None:
        pytest.skip("jax is not installed")
    if path.stem in APART:
        printed = run_apart(path)
    else:
        runpy.run_path(str(path), run_name="__main__")
        printed = capsys.readouterr().out
    for text in EXPECTED[path.stem]:
        assert text in printed
    if path.parent.name == "gallery":
        assert words(printed) == words(PRINTED[path.stem]), "run `python docs/generate.py --gallery`"


def words(printed: str) -> list[str]:
    """What is not numbers, whose last digits another processor may round differently."""
    return NUMBER.sub("", printed).split()
