"""The page on silent errors and the tests it names agree: forty-eight traps, each held by a test that exists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "silent_errors.md"
USUAL = "tests/gradients/test_traps.py"
CORPUS = (ROOT / "tests" / "corpus" / "traps.py").read_text(encoding="utf-8")


class Trap(NamedTuple):
    """A row of the page's table."""

    number: int
    title: str
    outcome: str
    tests: tuple[str, ...]
    file: str


def traps() -> Iterator[Trap]:
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [c.strip() for c in line.strip("|").split("|")]
        if len(cells) == 4 and cells[0].isdigit():
            file = re.search(r"in `([^`]+)`", cells[3])
            names = tuple(re.findall(r"`(test_\w+)`", cells[3]))
            yield Trap(int(cells[0]), cells[1], cells[2], names, file[1] if file else USUAL)


TRAPS = tuple(traps())


def defined(file: str) -> set[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}


def test_all_are_there() -> None:
    assert [t.number for t in TRAPS] == list(range(1, 49))


@pytest.mark.parametrize("trap", TRAPS, ids=lambda t: str(t.number))
def test_each_has_its_tests(trap: Trap) -> None:
    assert trap.title
    assert trap.outcome
    assert trap.tests
    assert set(trap.tests) <= defined(trap.file)


def test_each_test_of_the_file_is_on_the_page() -> None:
    named = {name for t in TRAPS for name in t.tests}
    assert {n for n in defined(USUAL) if n.startswith("test_")} - named == set()


def test_programs_of_the_corpus_name_traps_that_exist() -> None:
    numbers = {int(n) for notes in re.findall(r'notes="traps? ([^":]+)', CORPUS) for n in re.findall(r"\d+", notes)}
    assert numbers <= {t.number for t in TRAPS}
