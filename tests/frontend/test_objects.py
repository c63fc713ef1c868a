"""Objects of plain classes: what is refused, since somebody could tell, or since the class does more than it seems."""

from __future__ import annotations

import dataclasses
import functools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.errors import LoopdiffError, UnsupportedLoopError
from loopdiff.frontend.structures.signs import is_plain_class
from tests.frontend.families import Fit
from tests.frontend.objects import Body, Counter, Sphere


class Guarded:
    def __init__(self, v):
        self.v = v

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, 2.0 * value)


class Numeric:
    def __init__(self, v):
        self.v = v

    def __float__(self) -> float:
        return float(self.v)


class Slotted:
    __slots__ = ("v",)

    def __init__(self, v):
        self.v = v


class Meta(type):
    def __call__(cls, v):
        return super().__call__(2.0 * v)


class Doubled(metaclass=Meta):
    def __init__(self, v):
        self.v = v


class Renamed:
    def __init__(self, v):
        self.v = v
        self = None


class Leaking:
    """An object that others have from the start."""

    def __init__(self, v, friends):
        self.v = v
        friends.append(self)


def test_classes_that_do_more_are_none() -> None:
    assert all(map(is_plain_class, (Sphere, Counter, Body)))
    assert not any(map(is_plain_class, (Guarded, Numeric, Slotted, Doubled, int, np.ndarray, type(vectorize_grad))))


@pytest.mark.parametrize("kind", [Guarded, Numeric, Slotted, Doubled, Renamed])
def test_objects_of_these_are_not_followed(kind: Any) -> None:
    def made(s):
        return kind(s).v * 3.0

    with pytest.raises(LoopdiffError):
        vectorize_grad(made)(2.0)


def shared(s):
    a = Counter(s)
    b = a
    b.add(1.0)
    return a.total


def in_a_list(s):
    a = Counter(s)
    rows = [a, Counter(2.0 * s)]
    a.add(1.0)
    return rows[0].total


def leaked(s):
    friends = []
    a = Leaking(s, friends)
    a.v = 3.0 * s
    return friends[0].v


def twice_in_a_list(s):
    rows = [Counter(s)] * 2
    for c in rows:
        c.add(1.0)
    return rows[0].total


def kept_by_another(s):
    a, b = Body(s, 1.0), Body(s, 2.0)
    b.m = a
    a.kick(1.0, s)
    return b.m.v


def in_order(s):
    a = Counter(s)
    return a.total + a.add(1.0)


def replaced_meanwhile(s):
    rows = [Counter(s), Counter(s)]
    for c in rows:
        rows[0] = Counter(3.0 * s)
        c.add(1.0)
    return rows[0].total


def read_later(s):
    rows = [Counter(s), Counter(2.0 * s)]
    for c in rows:
        c.add(1.0)
    return c.total


def given_another(c, s):
    c.total = 2.0 * s
    c = Counter(s)
    c.total = 5.0
    return c.total


def of_a_function_that_gets_another(s):
    c = Counter(s)
    return given_another(c, s) + c.total


class Disc:
    def __init__(self, r):
        self.r = r

    @functools.cached_property
    def area(self):
        return np.pi * self.r**2


def computed_once(s):
    disc = Disc(s)
    before = disc.area
    disc.r = 2.0 * s
    return before + disc.area


@dataclasses.dataclass
class Row:
    x: np.ndarray

    @functools.cached_property
    def total(self):
        return np.sum(self.x)


def computed_before(s):
    row = Row(np.array([s, 2.0 * s]))
    before = row.total
    row.x[0] = 0.0
    return before + row.total


def many_of_one(s):
    c = Counter(s)
    return [c for _ in range(2)]


def returned_many_times(s):
    first, second = many_of_one(s)
    first.add(1.0)
    return second.total


def appended_and_kept(s):
    rows = []
    for _ in range(2):
        c = Counter(s)
        rows.append(c)
    c.add(1.0)
    return rows[1].total


def appended_many_times(s):
    rows, c = [], Counter(s)
    for _ in range(2):
        rows.append(c)
    rows[0].add(1.0)
    return rows[1].total


class Pair:
    def __init__(self, part):
        self.one = part
        self.other = [part]


def given_to_two_places(s):
    pair = Pair(Counter(s))
    pair.one.add(1.0)
    return pair.other[0].total


def read_by_a_function_inside(s):
    rows, c = [], Counter(s)

    def total():
        return c.total

    rows.append(c)
    rows[0].add(1.0)
    return total()


def kept_by_a_comprehension(s):
    rows = [Body([s], 1.0), Body([2.0 * s], 1.0)]
    parts = [b.x for b in rows]
    rows[0].x.append(1.0)
    return sum(parts[0])


def chosen_and_changed(s):
    a, b = Counter(s), Counter(2.0 * s)
    one = a if s > 0.0 else b
    one.add(1.0)
    return a.total


def changed_after_it_was_chosen(s):
    a, b = Counter(s), Counter(2.0 * s)
    one = a if s > 0.0 else b
    a.add(1.0)
    return one.total


class Sum:
    def __init__(self, parts):
        self.parts = parts

    def __iadd__(self, other):
        self.parts[0] += other
        return self

    def again(self):
        return Sum(self.parts)


def added_in_place(s):
    a = Sum([s])
    b = a
    a += 2.0
    return b.parts[0]


def made_of_the_same_list(s):
    a = Sum([s])
    b = a.again()
    a += 2.0
    return b.parts[0]


class Replaced(Sum):
    def __iadd__(self, other):
        return Replaced([self.parts[0] + other])


def replaced_by_an_operator(s):
    a = Replaced([s])
    b = a
    a += 2.0
    return b.parts[0]


class Keeping:
    def __init__(self, x):
        self.x, self.other = x, None

    def take(self, other):
        self.other = other

    def add(self, other):
        self.x += other.x
        self.x += other.x


def taken_by_a_method(s):
    a, b = Keeping(s), Keeping(2.0 * s)
    a.take(b)
    b.x += 1.0
    return a.other.x  # pyright: ignore[reportOptionalMemberAccess]


def added_to_itself(s):
    a = Keeping(s)
    a.add(a)
    return a.x


def added_to_itself_in_a_list(s):
    rows = [Keeping(s), Keeping(2.0 * s)]
    rows[0].add(rows[1])
    rows[0].add(rows[0])
    return rows[0].x


def of_an_argument(c):
    c.add(1.0)
    return c.total


@pytest.mark.parametrize(
    "function",
    [
        shared, in_a_list, leaked, twice_in_a_list, kept_by_another, replaced_meanwhile, read_later,
        of_a_function_that_gets_another, computed_once, computed_before, returned_many_times, appended_and_kept,
        appended_many_times, given_to_two_places, read_by_a_function_inside,
        chosen_and_changed, changed_after_it_was_chosen, added_in_place, made_of_the_same_list, replaced_by_an_operator,
        taken_by_a_method, added_to_itself, added_to_itself_in_a_list,
    ],
)  # fmt: skip
def test_changes_that_somebody_could_tell_are_refused(function: Any) -> None:
    with pytest.raises(UnsupportedLoopError, match="LD134"):
        vectorize_grad(function)(0.7)


def test_lists_of_objects_that_have_another_name_grow_under_both() -> None:
    value, slopes = vectorize_grad(kept_by_a_comprehension).value_and_grad(0.7)
    assert value == kept_by_a_comprehension(0.7) == 1.7
    assert slopes.s == 1.0


def test_what_is_read_ahead_of_a_change_is_what_it_was() -> None:
    value, (slope,) = vectorize_grad(in_order)(0.7), vectorize_grad(in_order).grad(0.7)
    assert value == in_order(0.7) == pytest.approx(0.7 + (0.7 + 0.5))
    assert slope == 2.0


def test_arguments_are_not_changed() -> None:
    with pytest.raises(UnsupportedLoopError, match="LD134: `self`, a `Counter`, is changed where others may have it"):
        vectorize_grad(of_an_argument)(Counter(1.0))


def test_fields_that_a_class_computes_are_not_replaced() -> None:
    """`dataclasses.replace` would compute them again."""

    def replaced(x):
        return dataclasses.replace(Fit(x), w=2.0 * x).size

    with pytest.raises(UnsupportedLoopError, match="LD134: `Fit` does more than hold its fields"):
        vectorize_grad(replaced)(np.ones(2))


def test_stars_give_as_many_values_as_there_are_parameters() -> None:
    def distance(a, b):
        return a - b

    def of_two(x):
        return distance(*x)

    assert vectorize_grad(of_two)(np.array([3.0, 1.0])) == 2.0
    with pytest.raises(LoopdiffError, match=r"LD332: assertion failed: .* takes 2 values behind the star"):
        vectorize_grad(of_two)(np.ones(3))


def columns(x):
    rows = [(u, 2.0 * u) for u in x]
    first, second = zip(*rows, strict=True)
    return sum(first) * second[0]


def largest(x):
    squares = [u * u for u in x]
    return max(*squares) + min(*x)


def three_of(x):
    return sum(c.total for c in [Counter(u) for u in x[:3]])


def test_numbers_of_elements_that_python_needs_are_checked() -> None:
    for function, least in ((columns, 1), (largest, 2), (three_of, 3)):
        x = np.arange(1.0, least + 1.0)
        assert vectorize_grad(function)(x) == function(x)
        with pytest.raises(LoopdiffError, match="LD332"):
            vectorize_grad(function)(x[1:])


def test_gradients_are_objects_of_the_class() -> None:
    def distance(sphere, p):
        return sphere.distance(p)

    p = np.array([1.0, 2.0, 2.0])
    gradients = vectorize_grad(distance).grad(Sphere(np.zeros(3), 0.5), p)
    assert type(gradients.sphere) is Sphere
    np.testing.assert_allclose(gradients.sphere.center, -p / 3.0)
    assert gradients.sphere.radius == -2.0


def test_loops_over_arrays_beside_lists_ask_how_long_they_are() -> None:
    def named(x):
        total = 0.0
        for u, name in zip(x, ["a", "b"]):  # noqa: B905
            total += u if name == "a" else 2.0 * u
        return total

    assert vectorize_grad(named)(np.array([1.0, 2.0, 4.0])) == 5.0
    with pytest.raises(LoopdiffError, match="LD332"):
        vectorize_grad(named)(np.array([1.0]))


def beside_spheres(x, a):
    spheres = [Sphere(a[0], 2.0), Sphere(a[1], x[0])]
    texts = [("a", 1.0), ("b", x[1])]
    radii = [v * s.radius * i for v, s, i in zip(x, spheres, range(1, 5))]  # noqa: B905
    named = {name: v * w for v, (name, w) in zip(2.0 * x[::-1], texts)}  # noqa: B905
    return radii[0] * sum(s.distance(r) for r, s in zip(a, spheres)) + radii[1] + named["b"] * named["a"]  # noqa: B905


def test_comprehensions_over_arrays_beside_lists_of_objects() -> None:
    x, a = np.array([1.5, 0.7, 2.0]), np.array([[1.0, 2.0, 0.5], [0.3, 1.0, 2.0]])
    f, h = vectorize_grad(wrt=("x",))(beside_spheres), 1e-6
    value, gradients = f.value_and_grad(x, a[:, ::-1].copy())
    other = a[:, ::-1].copy()
    assert value == pytest.approx(beside_spheres(x, other), rel=1e-13)
    expected = [(beside_spheres(x + h * e, other) - beside_spheres(x - h * e, other)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(gradients.x, expected, rtol=1e-6, atol=1e-9)
    with pytest.raises(LoopdiffError, match="LD332"):
        f(x, a[:1])


def test_namespaces_are_objects() -> None:
    def f(p, x):
        return p.inner.a * x[0] + p.w @ x

    p = SimpleNamespace(w=np.array([2.0, 3.0]), inner=SimpleNamespace(a=0.5))
    value, gradients = vectorize_grad(f).value_and_grad(p, np.array([1.0, 4.0]))
    assert value == 14.5
    assert gradients.p.inner == SimpleNamespace(a=1.0)
    np.testing.assert_array_equal(gradients.p.w, [1.0, 4.0])
    np.testing.assert_array_equal(gradients.x, [2.5, 3.0])
