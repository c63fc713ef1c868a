"""Rejected programs next to the exact report: each refusal of the language, and every code has at least one.

The texts in `reports/` were read and judged by eye. `python tests/errors/test_reports.py` rewrites them after
a change of wording; the difference is then for review.
"""

from __future__ import annotations

import copy
import functools
import math
import random
import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.linalg

import loopdiff
from loopdiff.errors import LoopdiffError
from loopdiff.errors.codes import CODES
from loopdiff.frontend.binding.bind import bind
from loopdiff.frontend.callees import Sources
from loopdiff.frontend.capture import argument_types
from loopdiff.frontend.written import parse_as_written
from loopdiff.ir.interpret import run
from loopdiff.source.functions import source_of
from tests.texts import registered

FOLDER = Path(__file__).parent / "reports"
FILE = "example.py"


@dataclass(frozen=True)
class Point:
    """A record."""

    x: float
    y: float


@dataclass(frozen=True)
class Checked:
    """A record that looks at what it is given."""

    x: float

    def __post_init__(self) -> None:
        assert self.x > 0.0


class Row:
    """An object that keeps what it computed."""

    x: np.ndarray

    @functools.cached_property
    def total(self):
        return self.x.sum()


class Own:
    """An object that says how it is copied."""

    def __copy__(self):
        return self


class Made:
    """An object that is made of a number."""

    def __init__(self, v: float) -> None:
        self.v = v


ROW = Row()
ROW.x = np.ones(2)
OUTSIDE = {"np": np, "math": math, "random": random, "linalg": scipy.linalg, "transforms": scipy.fft}
OUTSIDE |= {"loopdiff": loopdiff, "RNG": np.random.default_rng(0), "TABLE": np.zeros(3), "NAME": "name"}
OUTSIDE |= {"PAIR": (1.0, 2.0), "LIST": [1.0], "Point": Point, "Checked": Checked, "replace": replace, "deque": deque}
OUTSIDE |= {"Row": Row, "ROW": ROW, "Own": Own, "Made": Made, "copy": copy, "defaultdict": defaultdict}


@dataclass(frozen=True, slots=True)
class Case:
    """A program, the call (if it is not refused before), and the report."""

    title: str
    program: str
    call: str
    report: str


def read_cases(path: Path) -> Iterator[Case]:
    for block in re.split(r"^=== ", path.read_text(), flags=re.M)[1:]:
        title, rest = block.split("\n", 1)
        program, _, report = rest.partition("\n---\n")
        program, _, call = program.partition("\n>>> ")
        yield Case(title, program.rstrip() + "\n", call.strip(), report.rstrip())


def define(program: str) -> Callable[..., Any]:
    """The function `program` defines, with its text where tracebacks and loopdiff look for it."""
    return registered(program, FILE, **OUTSIDE)


def report_of(case: Case) -> str:
    """What loopdiff's parser says about the program, or the types of the call."""
    try:
        source = source_of(define(case.program))
        if case.call:
            arguments = eval(f"dict({case.call})", dict(OUTSIDE))
            types = argument_types(arguments)
            run(bind(parse_as_written(source, Sources(), types).ls, types), arguments)
        else:
            parse_as_written(source, Sources(), None)
    except LoopdiffError as error:
        return f"{type(error).__name__}\n{error}"
    raise AssertionError("not refused")


def report_of_decorated(case: Case) -> str:
    """What it says where the function is decorated, or called: structures are taken apart before it is parsed."""
    try:
        f = loopdiff.vectorize_grad(cache=False)(define(case.program))
        f(**eval(f"dict({case.call})", dict(OUTSIDE)))
    except LoopdiffError as error:
        return f"{type(error).__name__}\n{error}"
    raise AssertionError("not refused")


REPORTERS = dict.fromkeys(("structures", "numpy", "lists"), report_of_decorated)
PAIRS = [
    (case, REPORTERS.get(path.stem, report_of)) for path in sorted(FOLDER.glob("*.txt")) for case in read_cases(path)
]
CASES = [case for case, _ in PAIRS]


@pytest.mark.parametrize(("case", "report"), PAIRS, ids=[c.title for c in CASES])
def test_report(case: Case, report: Callable[[Case], str]) -> None:
    assert report(case) == case.report


def test_every_front_end_code_has_a_case() -> None:
    shown = set(re.findall(r"^(LD\d+):", "\n".join(c.report for c in CASES), flags=re.M))
    expected = {code for code in CODES if code < "LD300" or "LD330" <= code < "LD333"}
    assert expected == {code for code in shown if code in expected}


def test_every_code_is_explained() -> None:
    for code, entry in CODES.items():
        assert re.fullmatch(r"LD\d{3}", code)
        assert entry.title
        assert entry.explanation.endswith((".", "?"))
        assert not entry.title.endswith(".")


def write_cases(path: Path, report: Callable[[Case], str]) -> None:
    """The cases of `path` with fresh reports."""
    blocks = []
    for case in read_cases(path):
        call = f"\n>>> {case.call}\n" if case.call else ""
        blocks.append(f"=== {case.title}\n{case.program}{call}\n---\n{report(case)}\n")
    path.write_text("\n".join(blocks))


def rewrite() -> None:
    for path in sorted(FOLDER.glob("*.txt")):
        write_cases(path, REPORTERS.get(path.stem, report_of))


if __name__ == "__main__":
    rewrite()
