"""Indices kept in place of flags: where they are, and that gradients stay the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.ad.tape.sweeps import Sweeps
from loopdiff.ir import nodes as ir
from loopdiff.ir.verify import verify
from loopdiff.ir.walk import statements
from loopdiff.passes.sweeps.last_value import keep_last
from loopdiff.pipeline.derive import derive_sweeps
from loopdiff.pipeline.stages import Stages
from tests.corpus import Entry
from tests.gradients.interpreted import normal_form
from tests.gradients.test_tape_plans import forward_and_reverse


def nearest(x, w):
    total = 0.0
    for i in range(x.shape[0]):
        best = 1e300
        for k in range(w.shape[0]):
            s = 0.0
            for a in range(x.shape[1]):
                s += (x[i, a] - w[k, a]) ** 2
            if s < best:
                best = s
        total += best
    return total


def last_one_that_fits(x, w):
    total = 0.0
    for i in range(x.shape[0]):
        best = 0.5
        for k in range(w.shape[0] - 1, 0, -1):
            s = 0.0
            for a in range(x.shape[1]):
                s += x[i, a] * w[k, a]
            if s < 0.9:
                best = s
        total += best * best
    return total


def in_a_triangle(x, w):
    total = 0.0
    for i in range(w.shape[0]):
        best = 1e300
        for k in range(i + 1, w.shape[0]):
            s = 0.0
            for a in range(x.shape[1]):
                s += (w[i, a] - w[k, a]) ** 2 * x[0, a]
            if s < best:
                best = s
        if best < 1e300:
            total += best
    return total


def of_all_pairs(x, w):
    """The tape has one axis per loop, of which the last is that of the flags."""
    total = 0.0
    best = 1e300
    for k in range(w.shape[0]):
        s = 0.0
        for a in range(x.shape[1]):
            s += (x[0, a] - w[k, a]) ** 2
        if s < best:
            best = s
    total += best
    return total


def also_added(x, w):
    """The others have a part in it, too."""
    total = 0.0
    for i in range(x.shape[0]):
        best = 0.0
        for k in range(w.shape[0]):
            s = 0.0
            for a in range(x.shape[1]):
                s += (x[i, a] - w[k, a]) ** 2
            if s > 1.0:
                best = best * 0.5 + s
        total += best
    return total


def otherwise(x, w):
    """Every iteration takes it, for one thing or for another."""
    total = 0.0
    for i in range(x.shape[0]):
        best = 0.0
        for k in range(w.shape[0]):
            s = 0.0
            for a in range(x.shape[1]):
                s += (x[i, a] - w[k, a]) ** 2
            if s > 1.0:
                best = s
            else:
                total += s
        total += best
    return total


def to_the_first(x, w):
    """What ends the loop is a count of its own."""
    total = 0.0
    for i in range(x.shape[0]):
        best = 0.0
        for k in range(w.shape[0]):
            s = 0.0
            for a in range(x.shape[1]):
                s += (x[i, a] - w[k, a]) ** 2
            if s > 0.1:
                best = s
            if s > 1.0:
                break
        total += best
    return total


def over_ragged_rows(x, w):
    """Flags of rows of unknown length lie one behind the other."""
    total = 0.0
    for i in range(x.shape[0]):
        best = 1e300
        for k in range(int(3.0 * x[i, 0])):
            s = 0.0
            for a in range(x.shape[1]):
                s += (x[i, a] - w[k % w.shape[0], a]) ** 2
            if s < best:
                best = s
        if best < 1e300:
            total += best
    return total


KEPT = (nearest, last_one_that_fits, in_a_triangle, of_all_pairs)
LEFT = (also_added, otherwise, to_the_first, over_ragged_rows)


def entry_of(function: Callable[..., Any], rows: int, columns: int) -> Entry:
    return Entry(
        name=function.__name__,
        function=function,
        make=lambda r: dict(x=r.random((rows, 3)), w=r.random((columns, 3))),
        wrt=("x", "w"),
    )


def both_ways(entry: Entry) -> tuple[Sweeps, Sweeps]:
    sweeps = derive_sweeps(normal_form(entry.function, entry.args(0)), entry.wrt, "auto", Stages(entry.name))
    forward, reverse = keep_last(sweeps.forward, sweeps.reverse)
    verify(forward, "forward")
    verify(reverse, "reverse")
    return sweeps, replace(sweeps, forward=forward, reverse=reverse)


@pytest.mark.parametrize("function", KEPT)
@pytest.mark.parametrize(("rows", "columns"), [(4, 5), (3, 1), (1, 0)])
def test_gradients_stay_the_same(function: Callable[..., Any], rows: int, columns: int) -> None:
    entry = entry_of(function, rows, columns)
    plain, fewer = both_ways(entry)
    ls, weight = normal_form(entry.function, entry.args(0)), {"result": 1.5}
    assert sum(a.role == "tape" and a.type is not None and a.type.dtype == "int64" for a in fewer.forward.arrays) == 1
    expected = forward_and_reverse(entry, ls, plain, weight)
    for name, found in forward_and_reverse(entry, ls, fewer, weight).items():
        np.testing.assert_array_equal(found, expected[name])
    loops = [sum(isinstance(s.stmt, ir.Loop) for s in statements(s.reverse.body)) for s in (plain, fewer)]
    assert loops[1] < loops[0]


@pytest.mark.parametrize("function", LEFT)
def test_flags_stay_where_an_index_does_not_say_it_all(function: Callable[..., Any]) -> None:
    plain, fewer = both_ways(entry_of(function, 4, 5))
    assert fewer.forward == plain.forward
    assert fewer.reverse == plain.reverse


@pytest.mark.part(2)
@pytest.mark.parametrize("function", [*KEPT, *LEFT])
def test_compiled_gradients_agree_with_differences(function: Callable[..., Any]) -> None:
    args = entry_of(function, 6, 7).args(3)
    f = vectorize_grad(function)
    _, pullback = f.vjp(**args)
    _, gradients = f.value_and_grad(**args)
    rng = np.random.default_rng(0)
    along = {n: rng.standard_normal(v.shape) for n, v in args.items()}
    ahead, behind = ({n: v + h * along[n] for n, v in args.items()} for h in (1e-6, -1e-6))
    slope = (function(**ahead) - function(**behind)) / 2e-6
    for found in (gradients, pullback()):
        np.testing.assert_allclose(sum(np.sum(along[n] * getattr(found, n)) for n in args), slope, rtol=1e-6)


def test_the_report_shows_what_is_kept() -> None:
    args = entry_of(nearest, 6, 7).args(0)
    (kept,) = (t for t in vectorize_grad(nearest).compile(*args.values()).temporaries if t.bytes)
    assert (kept.dtype, kept.shape, kept.bytes) == ("int64", ("x.shape[0]",), 48)
