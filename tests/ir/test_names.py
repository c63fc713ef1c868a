"""Fresh names: the first that is free, whatever was handed out before."""

from __future__ import annotations

from loopdiff.ir.names import NameSupply


def test_names_are_the_first_free_ones() -> None:
    names = NameSupply({"x", "x_0", "x_2", "y_0"})
    assert [names.fresh("x") for _ in range(3)] == ["x_1", "x_3", "x_4"]
    assert [names.fresh("y") for _ in range(2)] == ["y", "y_1"]
    assert [names.fresh("for") for _ in range(2)] == ["for_1", "for_2"]
    names.taken.add("x_5")
    assert names.fresh("x") == "x_6"


def test_names_that_were_given_back_are_handed_out_again() -> None:
    names = NameSupply({"x"})
    before = set(names.taken)
    assert [names.fresh("x") for _ in range(3)] == ["x_1", "x_2", "x_3"]
    names.taken = before
    assert names.fresh("x") == "x_1"
