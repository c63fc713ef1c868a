"""The worked examples for contributors: patches that apply, and programs that run with what they make."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROGRAM = "{.python .no-run}"
BLOCK = re.compile(rf"^```(diff|{re.escape(PROGRAM)})\n(.*?)^```$", re.M | re.S)
PAGES = [p for p in sorted((ROOT / "docs" / "contributing").glob("*.md")) if "```diff" in p.read_text(encoding="utf-8")]


def blocks(page: Path, kind: str) -> list[str]:
    return [body for found, body in BLOCK.findall(page.read_text(encoding="utf-8")) if found == kind]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_patches_apply_and_programs_run(page: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "loopdiff", tmp_path / "loopdiff", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)  # with the linter's settings
    for patch in blocks(page, "diff"):
        subprocess.run(["git", "apply", "-"], input=patch, cwd=tmp_path, text=True, check=True)
    assert blocks(page, PROGRAM), "the page tries nothing out"
    program = tmp_path / "program.py"
    program.write_text("\n".join(blocks(page, PROGRAM)), encoding="utf-8")
    own = {"PYTHONPATH": str(tmp_path), "LOOPDIFF_CACHE_DIR": str(tmp_path / "cache"), "LOOPDIFF_STRICT": "1"}
    done = subprocess.run(
        [sys.executable, str(program)], env={**os.environ, **own}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    changed = {n for patch in blocks(page, "diff") for n in re.findall(r"^\+\+\+ b/(.*)$", patch, re.M)}
    linted = subprocess.run(
        [sys.executable, "-m", "ruff", "check", *sorted(changed)], cwd=tmp_path, capture_output=True, text=True
    )
    assert linted.returncode == 0, linted.stdout


def test_there_are_worked_examples() -> None:
    assert {p.stem for p in PAGES} == {"derivative_rule", "pass", "language_construct"}


def test_the_glossary_names_files_that_are_there() -> None:
    text = (ROOT / "docs" / "contributing" / "glossary.md").read_text(encoding="utf-8")
    named = [n for row in re.findall(r"^\|.*\| (`[^|]*`) \|$", text, re.M) for n in re.findall(r"`([\w/]+)`", row)]
    places = (ROOT / "loopdiff" / n for n in named)
    missing = [p for p in places if not p.is_dir() and not p.with_suffix(".py").exists()]
    assert len(named) > 15
    assert missing == []
