"""What may not grow unnoticed: functions, vocabulary, and what importing and calling drag in."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import loopdiff

ROOT = Path(loopdiff.__file__).parent
LINES_OF_A_FUNCTION = 60
# One word for each concept: adjoint, tangent, primal, recompute, reverse sweep, index.
REJECTED = frozenset(("orig", "original", "undiff", "dual", "grad", "backward", "remat", "iname", "itervar", "saved"))
WITH_VOCABULARY = ("ir", "analysis", "ad", "transform")


def trees(*folders: str) -> Iterator[tuple[str, ast.Module]]:
    for folder in folders or ("",):
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield str(path.relative_to(ROOT)), ast.parse(path.read_text(encoding="utf-8"))


def test_functions_fit_on_a_screen() -> None:
    long = {
        f"{file}: {node.name}": lines
        for file, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > LINES_OF_A_FUNCTION
    }
    assert long == {}


def words(tree: ast.Module) -> Iterator[str]:
    """The words that identifiers are made of."""
    for node in ast.walk(tree):
        for field in ("id", "attr", "arg", "name"):
            name = getattr(node, field, None)
            if isinstance(name, str):
                yield from re.split(r"_+", re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower())


def test_one_word_for_each_concept() -> None:
    found = {(file, w) for file, tree in trees(*WITH_VOCABULARY) for w in words(tree) if w in REJECTED}
    assert found == set()


def test_nothing_is_left_to_do() -> None:
    remarks = re.compile(r"#.*\b(TODO|FIXME|XXX|HACK)\b")
    left = [str(p) for p in ROOT.rglob("*.py") if remarks.search(p.read_text(encoding="utf-8"))]
    assert left == []


# -- start-up ----------------------------------------------------------------------------------------------
IMPORTED = """
import sys
import numba
before = set(sys.modules)
import loopdiff
print(*sorted(set(sys.modules) - before))
"""


@pytest.fixture(scope="module")
def imported() -> list[str]:
    """Modules that `import loopdiff` adds to those of Numba."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED], env={**os.environ, "PYTHONPATH": str(ROOT.parent)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.split()


def test_importing_loopdiff_imports_nothing_heavy(imported: list[str]) -> None:
    assert [m for m in imported if not m.startswith(("loopdiff", "__"))] == []


def test_importing_loopdiff_imports_no_stage_of_the_compiler(imported: list[str]) -> None:
    stages = (
        "loopdiff.frontend.parse",
        "loopdiff.analysis",
        "loopdiff.ad",
        "loopdiff.canonical",
        "loopdiff.model",
        "loopdiff.passes",
        "loopdiff.schedule",
        "loopdiff.backends.cpu",
    )
    assert [m for m in imported if m.startswith(stages)] == []
    files = [m for m in imported if m.startswith("loopdiff") and not (ROOT / Path(*m.split(".")[1:])).is_dir()]
    assert len(files) <= 78


PRODUCTS = """
import sys
import numpy as np
import numba
from loopdiff import vectorize_grad
def f(x):
    s = 0.0
    for v in x:
        s += v * v
    return s
found = vectorize_grad(f, cache=False).grad(np.ones(3))[0]
print("scipy.linalg" in sys.modules, found.tolist())
@numba.njit
def g(a, b):
    return np.dot(a, b).sum() + np.cov(a)[0, 0] + np.linalg.inv(a)[0, 0]
a, b = np.eye(2) * 2.0, np.ones((2, 2))
print(np.allclose(g(a, b), g.py_func(a, b)))
"""


def test_a_gradient_imports_no_linear_algebra_that_it_does_not_need(tmp_path: Path) -> None:
    """Numba imports that of SciPy to ask whether there is one; functions of others find it all the same."""
    program = tmp_path / "products.py"
    program.write_text(PRODUCTS, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(program)], env={**os.environ, "PYTHONPATH": str(ROOT.parent)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines() == ["False [2.0, 2.0, 2.0]", "True"]
