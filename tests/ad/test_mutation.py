"""A derivative table with a row taken away, or made wrong, does not get past the corpus: neither mode, no row.

Each rule is broken in turn, and the programs of the corpus that use the operation are differentiated again in the
interpreter, against differences of the plain Python functions. (`test_totality` misses the other rows: operations
without derivative never reach the table in a program, as their results are not active.)

To read the whole corpus takes more than a minute, and a few short programs for each operation find all that it does:
`tests/golden/users_of_operations.json` has their names (`--update-golden` writes it). A long run takes all there are.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from loopdiff.ad.forward import build_tangent
from loopdiff.ad.partials import TABLE, Partials, Rule, Terms
from loopdiff.ad.reverse import build_sweeps
from loopdiff.errors import DifferentiationError
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import add
from loopdiff.ir.ops import HALVES, INFO, STRICT, Op
from loopdiff.ir.walk import statements, stmt_exprs, subexprs
from tests.corpus import BY_NAME, ENTRIES, Entry
from tests.gradients import harness
from tests.gradients.interpreted import lowered
from tests.gradients.test_tape_plans import forward_and_reverse, tangents
from tests.lengths import IS_LONG, each_in_turns

# Strong products occur in derived programs only: `tests/gradients/test_second_order.py` spoils their rule. Slopes that
# are stated occur in complex ones, for which `tests/frontend/test_inverse_complex.py` is. Strict operations, and
# roundings to halves, of which differences know nothing, have values in `tests/ad/test_partials.py`.
APART = (Op.STRONG_MUL, Op.SLOPED, *STRICT, *HALVES.values())
RULES = [op for op, row in TABLE.items() if isinstance(row, Rule) and op not in APART]
TOLERANCE = 5e-8
LISTED = Path(__file__).parents[1] / "golden" / "users_of_operations.json"
SHORTEST = 3  # entries with an operation, which are right as long as the table is


@cache
def users(op: Op) -> tuple[Entry, ...]:
    """Entries of the corpus that apply `op`: all in a long run, else those that are listed."""
    return all_users(op) if IS_LONG else tuple(BY_NAME[name] for name in listed()[op.name])


@cache
def listed() -> dict[str, list[str]]:
    return json.loads(LISTED.read_text(encoding="utf-8"))


def enough(op: Op) -> list[str]:
    """The names of some entries that find what all of them do."""
    rule, entries = TABLE[op], all_users(op)
    assert isinstance(rule, Rule)
    spoilt_rules = [spoilt(rule, position) for position in range(INFO[op].arity or 2)]
    found = {e.name for e in entries[:SHORTEST]}
    for mode in MODES:
        with pytest.MonkeyPatch.context() as broken:
            broken.delitem(TABLE, op)
            found.add(next(e.name for e in entries if is_refused(mode, e)))
        for other in spoilt_rules:
            with pytest.MonkeyPatch.context() as broken:
                broken.setitem(TABLE, op, other)
                found.add(next(e.name for e in entries if not MODES[mode](e)))
    return [e.name for e in entries if e.name in found]


@cache
def all_users(op: Op) -> tuple[Entry, ...]:
    """Entries of the corpus that apply `op`, in double precision, real and shortest first."""
    found = []
    for entry in ENTRIES:
        ls = lowered(entry)
        roots = [e for site in statements(ls.body) for e in stmt_exprs(site.stmt)]
        roots += [r.value for r in ls.results if isinstance(r, ir.ScalarResult)]
        is_used = any(isinstance(e, ir.Apply) and e.op is op for root in roots for e in subexprs(root))
        if is_used and not harness.is_narrow(entry) and not any(map(np.iscomplexobj, entry.args(0).values())):
            found.append((sum(1 for _ in statements(ls.body)), entry.name))
    return tuple(BY_NAME[name] for _, name in sorted(found))


@cache
def slopes(name: str) -> tuple[harness.Values, harness.Values]:
    """A direction for the entry, and the tangents along it by differences."""
    entry = BY_NAME[name]
    along = harness.direction(entry, entry.args(0), 0)
    return along, harness.difference(entry, 0, along)


def is_forward_right(entry: Entry) -> bool:
    along, expected = slopes(entry.name)
    found = tangents(entry, lowered(entry), along)
    return all(
        np.allclose(found[k], v, rtol=TOLERANCE, atol=TOLERANCE * max(1.0, np.max(np.abs(v), initial=0.0)))
        for k, v in expected.items()
    )


def is_reverse_right(entry: Entry) -> bool:
    along, expected = slopes(entry.name)
    weight = harness.weights(expected, 0)
    ls = lowered(entry)
    gradients = forward_and_reverse(entry, ls, build_sweeps(ls, entry.wrt, "auto"), weight)
    scale = max(1.0, harness.magnitude(expected, weight), harness.magnitude(gradients, along))
    return abs(harness.inner(expected, weight) - harness.inner(gradients, along)) <= TOLERANCE * scale


MODES: dict[str, Callable[[Entry], bool]] = {"forward": is_forward_right, "reverse": is_reverse_right}
BUILD: dict[str, Callable[[Entry], object]] = {
    "forward": lambda entry: build_tangent(lowered(entry), entry.wrt),
    "reverse": lambda entry: build_sweeps(lowered(entry), entry.wrt, "auto"),
}


def is_refused(mode: str, entry: Entry) -> bool:
    try:
        BUILD[mode](entry)
    except DifferentiationError as error:
        return error.codes == ("LD410",)
    return False


def spoilt(rule: Rule, position: int) -> Rule:
    """`rule` with a tenth added to one of its partials."""

    def derive(terms: Terms, args: Partials, result: ir.Expr) -> Partials:
        right = list(rule.derive(terms, args, result))
        if position < len(right):
            right[position] = add(terms.const(0.1), right[position])
        return tuple(right)

    return replace(rule, derive=derive)


def test_each_operation_has_programs(update_golden: bool) -> None:
    if update_golden:
        found = {op.name: enough(op) for op in RULES}
        LISTED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        listed.cache_clear()
    assert set(listed()) == {op.name for op in RULES}


@pytest.mark.part(3)
@pytest.mark.parametrize(("op", "mode"), each_in_turns(RULES, (*MODES,)), ids=lambda p: getattr(p, "name", None))
def test_a_row_that_is_gone_is_refused(op: Op, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = users(op)  # some have derivatives in them: of these the table is needed as it is
    monkeypatch.delitem(TABLE, op)
    assert any(is_refused(mode, entry) for entry in entries)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("op", RULES, ids=lambda op: op.name)
def test_a_wrong_partial_is_noticed(op: Op, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rule, entries = TABLE[op], users(op)
    assert isinstance(rule, Rule)
    for position in range(INFO[op].arity or 2):
        with monkeypatch.context() as broken:
            broken.setitem(TABLE, op, spoilt(rule, position))
            assert any(not MODES[mode](entry) for entry in entries), position


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("op", RULES, ids=lambda op: op.name)
def test_the_table_as_it_is_passes(op: Op, mode: str) -> None:
    """Otherwise the tests above would prove nothing."""
    assert all(MODES[mode](entry) for entry in users(op)[:SHORTEST])
