"""Notes of copies that stand for arrays, of which the parser keeps as many as there are places and arrays."""

from __future__ import annotations

import numpy as np
import pytest

from loopdiff.errors import UnsupportedLoopError
from loopdiff.frontend import parse, written
from loopdiff.frontend.arrays import element_types
from loopdiff.frontend.binding.types import Typed, Typing
from loopdiff.frontend.capture import argument_types
from loopdiff.frontend.parsing.state import Whole
from loopdiff.frontend.parsing.ways.joins import broken
from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import run
from loopdiff.source.functions import source_of
from tests.gradients.interpreted import normal_form


def exchanged(A, c, n):
    B = A
    for i in range(n):
        for j in range(3):
            if c > 0.5:
                A = B
            elif j < 2:
                A = 0.5 * np.tanh(A)
            if i > 2:
                B = A
    return A.sum() + B.sum()


def test_a_copy_is_noted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists that repeat what they hold double with each place where ways meet."""
    met: list[Whole] = []

    def seen(whole: Whole) -> object:
        met.append(whole)
        return broken(whole)

    monkeypatch.setattr(written, "broken", seen)
    parse.parse_function(source_of(exchanged), argument_types({"A": np.ones((2, 3)), "c": 0.3, "n": 3}))
    assert any(whole.copies for whole in met)
    for whole in met:
        assert len(whole.copies) == len(set(whole.copies))


def handed_on_by_both(x, n):
    v = x * 1.0
    a = 0.5 * x
    for _ in range(n):
        v[:] = x
        v = v + a
        if v[0] > 1.57:
            a = np.sin(v)
        else:
            a = v
    return (v * a).sum()


def test_one_array_that_two_names_hand_on_is_no_copy() -> None:
    """Both names get memory of their own, and an iteration alters that of one, for which the other stood as well."""
    args = {"x": np.array([0.5, 1.7, -0.3, 2.2]), "n": 3}
    with pytest.raises(UnsupportedLoopError) as refused:
        parse.parse_function(source_of(handed_on_by_both), argument_types(args))
    assert set(refused.value.codes) == {"LD116"}


def rows_of_a_width_that_varies(c, m):
    if c[0, 0] > 0.0:
        m = m - 1
    previous = c[0] + 1.0
    for i in range(1, c.shape[0]):
        row = np.zeros(m)
        row[0] = previous[0] + c[i, 0]
        for j in range(1, m):
            row[j] = c[i, j] + previous[j] - row[j - 1]
        previous = row
    return previous[0]


def rows_of_one_width(c, m):
    previous = c[0] + 1.0
    for i in range(1, c.shape[0]):
        row = np.zeros(m)
        row[0] = previous[0] + c[i, 0]
        for j in range(1, m):
            row[j] = c[i, j] + previous[j] - row[j - 1]
        previous = row
    return previous[0]


def test_what_is_handed_on_is_not_made_anew() -> None:
    """Buffers of arrays that iterations hand on are made before the loop, where their extents are known there."""
    args = {"c": np.arange(12.0).reshape(3, 4), "m": 4}
    with pytest.raises(UnsupportedLoopError) as refused:
        normal_form(rows_of_a_width_that_varies, args)
    assert set(refused.value.codes) == {"LD116"}
    (found,) = run(normal_form(rows_of_one_width, args), args)
    assert found == rows_of_one_width(**args)


def made_anew_in_turn(x, n, q):
    if n > 2:
        q = x.shape[0]
    y, z = 2.0 * x, 3.0 * x
    for _ in range(n):
        y, z = z, y
        z += y
        z = np.zeros(q)
    return (y * z).sum()


def test_arrays_made_anew_are_refused_in_every_round() -> None:
    """While the combinations that iterations start with are still being found, too."""
    args = {"x": np.ones(3), "n": 3, "q": 3}
    with pytest.raises(UnsupportedLoopError) as refused:
        normal_form(made_anew_in_turn, args)
    assert set(refused.value.codes) == {"LD116"}


def as_large_as_what_is_made_anew(x, c, n):
    q = 3
    if c:
        q = 3
    x = 1.0 * x
    z = x
    for t in range(n):
        x *= 0.5
        x = z
        y = np.zeros(q)
        if y[0] > x[0]:
            if t % 2 == 0:
                x = 2.0 * y
            z = 3.0 * x
    return (x * z).sum()


def test_what_is_as_large_as_an_array_made_anew_is_made_anew() -> None:
    """Its buffer would be made before the loop, where nobody knows how large it is."""
    args = {"x": np.ones(3), "c": True, "n": 3}
    with pytest.raises(UnsupportedLoopError) as refused:
        normal_form(as_large_as_what_is_made_anew, args)
    assert set(refused.value.codes) == {"LD116"}


def kept_in_rows(x, n):
    q = np.kron(np.outer(x, x), np.eye(2))
    w = np.eye(2 * len(x))
    for k in range(n):
        w = q @ w + 0.1 * w.T
        if w[0, 1] < k:
            w = 0.5 * np.sin(w @ q)
    return w.sum()


def test_what_is_reshaped_in_memory_of_its_own_has_a_type() -> None:
    """A name that stands for what is computed of it has memory, and the loop is written once: where the type was not
    known, there was a version of each statement for every array that the name might stand for."""
    args = {"x": np.array([0.7, -0.4]), "n": 3}
    surface = parse.parse_function(source_of(kept_in_rows), argument_types(args))
    assert not [a.name for a in surface.arrays if a.name.startswith("which")]
    (found,) = run(normal_form(kept_in_rows, args), args)
    assert found == pytest.approx(kept_in_rows(**args), rel=1e-14)


def four_times(a):
    a = np.concatenate((a, a))
    b = np.concatenate((a, a))
    c = np.concatenate((b, b))
    return np.concatenate((c, c))


def of_eight(a, c):
    a = four_times(four_times(a))
    if c > 0.0:
        a = np.sin(a)
    return a.sum()


def of_sixteen(a, c):
    a = four_times(four_times(four_times(four_times(a))))
    if c > 0.0:
        a = np.sin(a)
    return a.sum()


def test_types_of_arrays_take_a_look_at_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where each is computed of the one before: twice the arrays, twice the formulas that are looked at. Their square
    where the last ones come first."""
    seen: list[ir.Expr] = []

    class Counted(Typing):
        def typed(self, expr: ir.Expr) -> Typed:
            seen.append(expr)
            return super().typed(expr)

    monkeypatch.setattr(element_types, "Typing", Counted)
    args, found = {"a": np.ones(3), "c": 0.5}, []
    for function in (of_eight, of_sixteen):
        seen.clear()
        parse.parse_function(source_of(function), argument_types(args))
        found.append(len(seen))
    assert found[1] < 2.3 * found[0]
