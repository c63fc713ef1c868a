"""Every message and every rewrite that loopdiff can give stands in some exact report.

Messages are read from the text of the package: literal arguments of `reject` (and of the refusals that call it)
and of what is raised through it; formatted parts match anything.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import loopdiff
from loopdiff.errors.codes import CODES
from loopdiff.frontend.refused import (
    REFUSED_ATTRIBUTES,
    REFUSED_EXPRESSIONS,
    REFUSED_METHODS,
    REFUSED_MODULES,
    REFUSED_STATEMENTS,
)
from tests.errors import test_call_reports, test_reports

PACKAGE = Path(loopdiff.__file__).parent
CASES = (
    *test_reports.CASES,
    *test_call_reports.CASES,
    *test_call_reports.JAX_CASES,
    *test_call_reports.TORCH_CASES,
)
REPORTS = "\n".join(c.report for c in CASES)
# What belongs to no program that a file could hold: functions without readable text, an operation without a rule,
# generated source that Numba refuses, machines without a GPU.
TESTS = Path(__file__).parents[1]
ELSEWHERE = (
    TESTS / "frontend" / "test_source.py", TESTS / "errors" / "test_call_reports.py",
    TESTS / "backends" / "test_load.py", TESTS / "cuda" / "test_refusals.py",
    TESTS / "cuda" / "test_device_arrays.py", TESTS / "api" / "test_sparse_jacobian.py",
    TESTS / "api" / "test_memory_course.py", TESTS / "api" / "test_spilled.py",
)  # fmt: skip


def patterns(node: ast.expr) -> Iterator[str]:
    """Regular expressions for the texts of a literal, both of a conditional one; nothing for other expressions."""
    match node:
        case ast.Constant(value=str(text)):
            yield re.escape(text)
        case ast.JoinedStr(values=values):
            yield "".join(re.escape(v.value) if isinstance(v, ast.Constant) else ".*?" for v in values)
        case ast.IfExp(body=body, orelse=orelse):
            yield from patterns(body)
            yield from patterns(orelse)


def messages(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and pattern of every message: arguments of refusals, and values of variables called `message`."""
    for node in ast.walk(tree):
        literals: list[ast.expr] = []
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args) if "rej" in name:
                literals = args[1:]
            case ast.Assign(targets=[ast.Name(id="message" | "hint")], value=value):
                literals = [value]
        for literal in literals:
            yield from ((literal.lineno, found) for found in patterns(literal) if " " in found)


def test_every_message_is_in_a_report() -> None:
    shown = "\n".join((REPORTS, *(path.read_text(encoding="utf-8") for path in ELSEWHERE)))
    missing = []
    for path in sorted(PACKAGE.rglob("*.py")):
        for line, expected in messages(ast.parse(path.read_text(encoding="utf-8"))):
            if not re.search(expected, shown):
                missing.append(f"{path.relative_to(PACKAGE)}:{line}: {expected}")
    assert missing == []


def test_every_row_of_the_refusal_tables_is_in_a_report() -> None:
    rows = [*REFUSED_EXPRESSIONS.values(), *(row[1:] for row in REFUSED_STATEMENTS.values())]
    texts = [text for row in rows for text in row if text]
    texts += [text for table in (REFUSED_METHODS, REFUSED_MODULES, REFUSED_ATTRIBUTES) for text in table.values()]
    assert [t for t in texts if t not in REPORTS] == []


def test_every_code_of_a_refusal_is_in_a_report() -> None:
    shown = set(re.findall(r"^(LD\d+):", REPORTS, flags=re.M))
    # These belong to no program: the files named above have their texts.
    of_machines = {"LD611", "LD612"}
    of_gpus = {"LD602", "LD603", "LD604", "LD605", "LD606", "LD607", "LD608", "LD609"}
    assert {c for c in CODES if c < "LD900"} - shown == {"LD406", "LD410", "LD601", *of_machines, *of_gpus}


def test_codes_in_the_package_are_those_of_the_index() -> None:
    used: set[str] = set()
    for path in PACKAGE.rglob("*.py"):
        if path.name not in ("codes.py", "machine_codes.py"):
            used |= set(re.findall(r"\bLD\d{3}\b", path.read_text(encoding="utf-8")))
    assert used == set(CODES)
