"""`immutable` against what `dataclass(frozen=True, slots=True)` makes of the same fields."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace
from typing import Any, Generic, TypeVar

import pytest

from loopdiff.immutable import HashedOnce, immutable
from loopdiff.immutable import replace as quickly_replaced

T = TypeVar("T")


@immutable
class Plain:
    first: int
    second: tuple[Any, ...] = ()
    place: int = field(default=0, compare=False, repr=False, kw_only=True)
    made: list[int] = field(default_factory=list, compare=False)
    unset: int = field(init=False, compare=False, default=7)


@dataclass(frozen=True, slots=True)
class Usual:
    first: int
    second: tuple[Any, ...] = ()
    place: int = field(default=0, compare=False, repr=False, kw_only=True)
    made: list[int] = field(default_factory=list, compare=False)
    unset: int = field(init=False, compare=False, default=7)


@immutable
class Own:
    value: float

    def __post_init__(self) -> None:
        if self.value < 0:
            raise ValueError("negative")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Own)

    def __hash__(self) -> int:
        return 5

    def __repr__(self) -> str:
        return "own"


@immutable
class Held(Generic[T]):
    what: T


class Counted:
    """Counts how often its hash is asked for."""

    asked = 0

    def __hash__(self) -> int:
        Counted.asked += 1
        return 3


@immutable
class Tree(HashedOnce):
    parts: tuple[Any, ...]
    place: int = field(default=0, compare=False)


CALLS: list[Callable[[Any], Any]] = [
    lambda kind: kind(1),
    lambda kind: kind(1, (2, 3)),
    lambda kind: kind(second=(4,), first=1, place=3),
    lambda kind: kind(1, (), [5]),
]


@pytest.mark.parametrize("call", CALLS)
def test_values_are_those_of_a_dataclass(call: Callable[[Any], Any]) -> None:
    found, usual = call(Plain), call(Usual)
    assert [getattr(found, f.name) for f in fields(Plain)] == [getattr(usual, f.name) for f in fields(Usual)]
    assert repr(found) == repr(usual).replace("Usual", "Plain")
    assert hash(found) == hash(usual)
    assert found == call(Plain)
    assert found != usual
    assert found.__match_args__ == usual.__match_args__


@pytest.mark.parametrize("kind", [Plain, Usual])
@pytest.mark.parametrize(("given", "named"), [((), {}), ((1, 2, 3, 4), {}), ((1,), {"other": 2}), ((1,), {"unset": 2})])
def test_other_arguments_are_refused(kind: Any, given: tuple[int, ...], named: dict[str, int]) -> None:
    with pytest.raises(TypeError, match=r"__init__\(\)"):
        kind(*given, **named)


def test_fields_that_are_not_compared_do_not_count() -> None:
    assert Plain(1, place=1) == Plain(1, place=2)
    assert hash(Plain(1, place=1)) == hash(Plain(1, place=2))
    assert Plain(1).made is not Plain(1).made
    nan = float("nan")
    assert Plain(1, (nan,)) == Plain(1, (nan,))  # as tuples are: what is identical is equal


def test_fields_are_set_once() -> None:
    found = Plain(1)
    with pytest.raises(FrozenInstanceError, match="assign to field 'first'"):
        found.first = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError, match="delete field 'first'"):
        del found.first
    assert not hasattr(found, "__dict__")


def test_copies_and_replacements() -> None:
    found = Plain(1, (2,), place=3)
    assert replace(found, first=4) == Plain(4, (2,))
    assert replace(found, first=4).place == 3
    for twin in (copy.copy(found), copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        assert (twin, twin.place) == (found, 3)


@pytest.mark.parametrize("kind", [Plain, Usual])
def test_replacements_are_those_of_dataclasses(kind: Any) -> None:
    """Of any dataclass: fields that no argument sets are as in a new one; checks of the class are made again."""
    value = kind(1, (2,), place=3, made=[4])
    for changes in ({}, {"first": 5}, {"place": 0, "second": ()}, {"made": [1]}):
        found, usual = quickly_replaced(value, **changes), replace(value, **changes)
        assert type(found) is kind
        assert [getattr(found, f.name) for f in fields(kind)] == [getattr(usual, f.name) for f in fields(kind)]
    for wrong in ({"other": 1}, {"unset": 1}):
        with pytest.raises((TypeError, ValueError)):
            quickly_replaced(value, **wrong)
    with pytest.raises(ValueError, match="negative"):
        quickly_replaced(Own(1.0), value=-1.0)


def test_methods_of_its_own_are_kept() -> None:
    assert (repr(Own(1.0)), hash(Own(1.0)), Own(1.0) == Own(2.0)) == ("own", 5, True)
    with pytest.raises(ValueError, match="negative"):
        Own(-1.0)


def test_patterns_and_parameters_of_types() -> None:
    match Plain(1, (2,)):
        case Plain(first, second=(inner,)):
            assert (first, inner) == (1, 2)
        case _:
            pytest.fail("no match")
    assert Held[int](3) == Held(3)


def test_a_tree_finds_its_hash_once() -> None:
    tree = Tree((Counted(),))
    before = Counted.asked
    assert hash(tree) == hash(tree) == hash(((tree.parts[0],),))
    assert Counted.asked == before + 2  # one of them of the tuple that it is compared with
    assert hash(Tree((1,))) == hash(Tree((1,), 2))
    again = pickle.loads(pickle.dumps(Tree((1,))))
    assert not hasattr(again, "own_hash")
    assert again == Tree((1,))


@immutable
class Clashing:
    """Its fields are called as what an `__init__` could call its own helpers."""

    a: int
    set_a: int = 1
    default_set_a: int = 2
    make_b: int = 3
    b: list[int] = field(default_factory=list)
    MISSING: int = 4


def test_fields_may_have_any_names() -> None:
    made = Clashing(5, make_b=7)
    assert [getattr(made, f.name) for f in fields(Clashing)] == [5, 1, 2, 7, [], 4]  # type: ignore[arg-type]
    assert Clashing(5, 6, 7, 8, [9], 10).set_a == 6


def test_fields_are_hashed_where_they_are_compared() -> None:
    @immutable
    class Unhashed:
        a: int = field(hash=False)

    with pytest.raises(AssertionError, match="compared"):
        hash(Unhashed(1))
