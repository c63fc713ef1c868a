"""What is reached along edges, each of which is followed once."""

from __future__ import annotations

from loopdiff.ir.reachability import reached


def test_cycles_and_what_nothing_leads_to() -> None:
    onward = {"a": ["b"], "b": ["c", "a"], "d": ["a"]}
    assert reached(["a"], onward) == {"a", "b", "c"}
    assert reached(["e"], onward) == {"e"}
    assert reached([], onward) == set()


def test_chains_are_as_long_as_they_like() -> None:
    assert len(reached([0], {k: [k + 1] for k in range(100_000)})) == 100_001
