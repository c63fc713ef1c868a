"""Names that the first iteration of a loop binds: it stands apart only where the loop goes over the same without it."""

from __future__ import annotations

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.errors import UnsupportedLoopError


def bound_first(x):
    s = 0.0
    for i in range(len(x)):
        if i == 0:
            first = 2.0 * x[1]
        s += np.sin(x[i]) * first
    return s


def grows_in_the_first(x):
    lst = [x[0]]
    for i in range(len(x)):
        lst.append(x[i])
    s = 0.0
    for i in range(len(lst)):
        if i == 0:
            first = x[2]
            lst.append(7.0)
        s += lst[i] * first
    return s


def grows_in_a_helper(x):
    lst = [x[0], x[1]]

    def grow():
        lst.append(x[2])

    s = 0.0
    for i in range(len(lst)):
        if i == 0:
            first = x[2]
            grow()
        s += lst[i] * first
    return s


def grows_in_a_helper_called_like_pythons(x):
    lst = [x[0], x[1]]

    def filter(y):
        lst.append(y)

    s = 0.0
    for i in range(len(lst)):
        if i == 0:
            first = x[2]
            filter(x[2])
        s += lst[i] * first
    return s


def shrinks_in_the_first(x):
    lst = [x[0], x[1], x[2]]
    s = 0.0
    for i in range(len(lst)):
        if i == 0:
            first = x[2]
            del lst[2]
        if i < len(lst):
            s += lst[i] * first
    return s


def test_the_first_iteration_binds_a_name() -> None:
    x = np.array([0.3, 0.5, 0.8])
    f = vectorize_grad(cache=False)(bound_first)
    value, (slope,) = f.value_and_grad(x)
    assert value == pytest.approx(bound_first(x))
    expected = np.cos(x) * 2.0 * x[1] + np.array([0.0, 2.0 * np.sin(x).sum(), 0.0])
    np.testing.assert_allclose(slope, expected, rtol=1e-14)


@pytest.mark.parametrize(
    "function",
    [grows_in_the_first, grows_in_a_helper, grows_in_a_helper_called_like_pythons, shrinks_in_the_first],
)
def test_a_list_that_changes_is_as_long_as_it_was(function) -> None:
    """Refused, or what Python makes of it: never counted again behind the first iteration."""
    x = np.array([1.0, 2.0, 3.0, 4.0])
    f = vectorize_grad(cache=False)(function)
    codes: tuple[str, ...] = ()
    try:
        found = f(x)
    except UnsupportedLoopError as refused:
        found, codes = function(x), refused.codes
    assert found == function(x)
    assert {"LD114", "LD134"}.issuperset(codes)


def halved(v):
    return 0.5 * v


def mended(x, n):
    s = 0.0
    for i in range(n):
        if i == 0:
            z = x[0]
        elif i == 1:
            z = z * 2.0 + x[1]
        else:
            z = z * x[i] + 1.0
        s += z
    return s


def in_helpers(x):
    def twice(y):
        return 2.0 * bound_first(y)

    return twice(x) + mended(x, len(x)) * mended(2.0 * x, 1)


def test_the_first_iteration_of_a_helper_binds_a_name() -> None:
    x = np.array([0.3, 0.5, 0.8])
    f = vectorize_grad(cache=False)(in_helpers)
    value, (slope,) = f.value_and_grad(x)
    assert value == pytest.approx(in_helpers(x), rel=1e-14)
    steps = 1e-6 * np.eye(3)
    expected = [(in_helpers(x + d) - in_helpers(x - d)) / 2e-6 for d in steps]
    np.testing.assert_allclose(slope, expected, rtol=1e-7)


def array_of_the_first(x, A):
    s = 0.0
    for k, r in enumerate(x):
        a = r * A[0] if k == 0 else np.tanh(a @ A) + r  # noqa: F821 - the first iteration binds it
        s += a.sum() * (k + 1)
        if s > 100.0:
            return s
    return s + halved(s)


def goes_on_early(x, A):
    seen, s = [], 0.0
    for i in range(len(x)):
        if i == 0:
            level = halved(x[0])
            seen.append(level)
            continue
        level = 0.5 * level + x[i] * A[0, 0]
        seen.append(level)
        s += level * seen[i - 1]
    return s


def in_a_loop_around(x, A):
    s = 0.0
    for row in A:
        for i in range(1, len(x)):
            last = row * x[i] if i == 1 else last * 0.5 + row  # noqa: F821 - the first iteration binds it
            s += np.sum(last * row) * x[i - 1]
    return s


@pytest.mark.part(2)
@pytest.mark.parametrize("function", [array_of_the_first, goes_on_early, in_a_loop_around])
@pytest.mark.parametrize("n", [2, 4])
def test_the_others_have_what_the_first_binds(function, n: int) -> None:
    rng = np.random.default_rng(1)
    x, A = rng.random(n), rng.random((3, 3))
    value, (slope, _) = vectorize_grad(cache=False)(function).value_and_grad(x, A)
    assert value == pytest.approx(function(x, A), rel=1e-13)
    steps = 1e-6 * np.eye(n)
    expected = [(function(x + d, A) - function(x - d, A)) / 2e-6 for d in steps]
    np.testing.assert_allclose(slope, expected, rtol=1e-6)


def chosen_beside_a_library(x, p, n):
    for i in range(len(x)):  # noqa: B007 - Python leaves it for what comes after
        g = x if n else p["w"]
    net = np.convolve(p["b"], 0.25, "same")
    return g + net[0] * i


def test_structures_beside_functions_of_libraries_are_refused_in_words() -> None:
    """What structures leave in a tree may be a module, which nothing copies."""
    x, p = np.array([0.5, 1.0]), {"w": np.array([1.5, 2.0]), "b": np.array([0.5, 2.0])}
    with pytest.raises(UnsupportedLoopError, match="LD1"):
        vectorize_grad(cache=False)(chosen_beside_a_library)(x, p, 1)
