"""The corpus itself: every row of the language table is covered, and oracles agree with the Python loops."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import numpy as np
import pytest

from loopdiff.frontend.functions import SCALAR_FUNCTIONS
from loopdiff.frontend.language import ACCEPTED
from loopdiff.source.functions import SourceFunction, source_of
from tests.corpus import ENTRIES, SUITE, Entry
from tests.gradients.harness import is_floating, oracle_outputs, outputs_of, run_python


def test_names_are_unique() -> None:
    names = [e.name for e in ENTRIES]
    assert sorted(set(names)) == sorted(names)


def test_the_suite_has_its_kernels() -> None:
    assert len(SUITE) == 24
    assert all(e.oracle is not None and e.is_twin for e in SUITE)


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.oracle], ids=lambda e: e.name)
def test_oracle_states_every_floating_output(entry: Entry) -> None:
    args = entry.args(0)
    outputs = outputs_of(entry, entry.function(*args.values()), args)
    stated = {k for k, v in oracle_outputs(entry, entry.args(0)).items() if is_floating(v)}
    assert stated == set(outputs)


def test_every_row_of_the_language_table_has_an_entry() -> None:
    """But for arrays from outside, which are no arguments: `tests/frontend/test_structures.py` has them."""
    rows = {c.name for c in ACCEPTED} - {"global and closure arrays"}
    covered = {name for e in ENTRIES for name in e.constructs}
    assert rows - covered == set()
    assert covered - rows == set()


def definitions() -> Iterator[tuple[SourceFunction, ast.AST]]:
    """Every node of every entry's program."""
    for entry in ENTRIES:
        source = source_of(entry.function)
        for node in ast.walk(source.node):
            yield source, node


def called(source: SourceFunction, call: ast.Call) -> object:
    """What a call calls, if its name says so outside the program."""
    try:
        return eval(compile(ast.Expression(call.func), "call", "eval"), dict(source.outer))
    except NameError:
        return None


def test_every_function_of_the_language_is_called_in_some_entry() -> None:
    calls = {called(source, node) for source, node in definitions() if isinstance(node, ast.Call)}
    # NumPy 2.5 deprecates `fix`: plain Python may not call it here (tests/frontend/test_structure.py does not run it).
    assert [f.name for value, f in SCALAR_FUNCTIONS.items() if value not in calls] == ["np.fix"]
    assert {np.empty, np.zeros, np.ones, np.full, np.empty_like, np.zeros_like, np.ones_like, np.full_like} <= calls
    assert {range, len, enumerate, zip, reversed} <= calls


def test_every_operator_of_the_language_is_used_in_some_entry() -> None:
    found: dict[type, set[type]] = {ast.AugAssign: set(), ast.BinOp: set(), ast.UnaryOp: set(), ast.BoolOp: set()}
    compared: set[type] = set()
    for _, node in definitions():
        if isinstance(node, ast.AugAssign | ast.BinOp | ast.UnaryOp | ast.BoolOp):
            found[type(node)].add(type(node.op))
        elif isinstance(node, ast.Compare):
            compared |= {type(op) for op in node.ops}
    arithmetic = set(ast.operator.__subclasses__())
    assert found[ast.BinOp] == found[ast.AugAssign] == arithmetic
    assert found[ast.UnaryOp] == set(ast.unaryop.__subclasses__())
    assert found[ast.BoolOp] == {ast.And, ast.Or}
    assert compared == {ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq, ast.NotIn, ast.IsNot}


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.oracle], ids=lambda e: e.name)
def test_oracle_equals_plain_python(entry: Entry) -> None:
    for seed in (0, 1):
        found = run_python(entry, entry.args(seed))
        for name, expected in oracle_outputs(entry, entry.args(seed)).items():
            np.testing.assert_allclose(found[name], expected, rtol=1e-9, atol=1e-12, err_msg=name)
