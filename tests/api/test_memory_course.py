"""Memory in the course of both sweeps: what is predicted, what NumPy allocates then, and the picture of it."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from typing import Any

import numpy as np
import pytest
from numba.core.runtime import _nrt_python, rtsys
from numpy.testing import assert_allclose

from loopdiff import BackendError, vectorize_grad
from loopdiff.differentiable import Differentiable
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import integer
from loopdiff.memory.recycled import GRADIENTS
from loopdiff.model.prediction import Prediction
from loopdiff.report.memory_course import Claim, HeldArray, SweepCourse, memory_course
from loopdiff.report.memory_figure import draw_memory, in_bytes
from tests.gradients.interpreted import interpreting

ELEMENTS, STEPS = 512, 900


def growth(u, r, steps):
    for _ in range(steps):
        for i in range(u.shape[0]):
            u[i] += r[i] * u[i] * (1.0 - u[i])
    return u[0]


def populations(elements: int = ELEMENTS, steps: int = STEPS) -> tuple[Any, ...]:
    return np.linspace(0.1, 0.9, elements), np.full(elements, 0.01), steps


def measured_peak(f: Differentiable, args: tuple[Any, ...], few: tuple[Any, ...]) -> tuple[int, int]:
    """Most bytes that Python's allocators have given during `vjp` and the pullback, beyond what there was before, and
    how many blocks Numba allocated."""
    f.vjp(*few)[1](1.0)
    _nrt_python.memsys_enable_stats()
    GRADIENTS.blocks, GRADIENTS.held = {}, 0
    gc.collect()
    blocks = rtsys.get_allocation_stats().alloc
    tracemalloc.start()
    try:
        f.vjp(*args)[1](1.0)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return peak, rtsys.get_allocation_stats().alloc - blocks


@pytest.mark.parametrize(
    "options", [{}, {"check": "always"}, {"tape": "recompute"}], ids=["auto", "copies", "segments"]
)
def test_the_peak_is_what_is_allocated(options: dict[str, Any]) -> None:
    f, args = vectorize_grad(**options)(growth), populations()
    course = f.compiled(args, "pullback").memory
    peak, blocks = measured_peak(f, args, populations(3, 40))
    assert blocks == 0
    assert course.peak == pytest.approx(peak, rel=0.05)
    kept = sum(t.bytes or 0 for t in f.compile(*args).temporaries)
    assert kept < course.peak < kept + 12 * args[0].nbytes


def test_nothing_is_copied_for_the_next_call_that_the_forward_sweep_does_not_leave() -> None:
    with interpreting():
        f = vectorize_grad(tape="recompute", cache=False)(growth)
        run = f.compiled(populations(9, 60), "pullback").run
        assert run.worn == ()
        assert any(d.name == "u_tape" for d in run.arena.decls)
        _, pullback = f.vjp(*populations(9, 60))
        expected = vectorize_grad(cache=False)(growth).vjp(*populations(9, 60))[1](0.7)
        for _ in range(2):
            for gradient, wanted in zip(pullback(0.7), expected, strict=True):
                assert_allclose(gradient, wanted, rtol=1e-12)


# -- the course of a few arrays that are made up ---------------------------------------------------------------
def filled(array: str) -> ir.Loop:
    body = ir.Assign(ir.Access(array, (ir.Index("i"),)), ir.Const(1.0))
    return ir.Loop("i", integer(0), integer(3), integer(1), (body,))


def sweep(*statements: tuple[ir.Stmt, float]) -> SweepCourse:
    times = tuple(((k,), took) for k, (_, took) in enumerate(statements))
    ls = ir.LoopSet("f", params=(), arrays=(), scalars=(), body=tuple(s for s, _ in statements))
    return SweepCourse(ls, Prediction(10.0 + sum(took for _, took in statements), times))


def made_up() -> list[Claim]:
    return [
        Claim("x_tape", "x_tape", "stored", 1000, is_filled=True),
        Claim("w", "w", "an array of the program", 300),
        Claim("x_adj", "gradient by x", "what the caller gets", 50, "reverse"),
        Claim("x", "copy of x", "in case", 200, "forward"),
    ]


def test_tapes_grow_and_others_are_there_at_once() -> None:
    course = memory_course(
        "f", made_up(), sweep((filled("w"), 100.0), (filled("x_tape"), 400.0)), sweep((filled("x"), 90.0))
    )
    assert (course.turn, course.end) == (510.0, 610.0)
    tape, w, copy, gradient = course.arrays
    assert tape == HeldArray("x_tape", "stored", 1000, 110.0, 510.0, 610.0)
    assert (w.begin, w.full) == (10.0, 10.0)
    assert [tape.at(t) for t in (0.0, 110.0, 210.0, 510.0)] == [0.0, 0.0, 250.0, 1000.0]
    assert (copy.at(509.0), copy.at(510.0), copy.at(510.0, is_before=True)) == (200.0, 0.0, 200.0)
    assert (gradient.at(509.0), gradient.at(510.0)) == (0.0, 50.0)
    assert course.peak == 1000 + 300 + 200
    totals = {(time, sum(held)) for time, held in course.curve()}
    assert totals >= {(0.0, 200.0), (510.0, 1500.0), (510.0, 1350.0), (610.0, 1350.0)}


def test_statements_are_counted_where_no_time_is_predicted() -> None:
    timed = sweep((filled("w"), 100.0), (filled("x_tape"), 400.0))
    untimed = SweepCourse(timed.ls, None)
    course = memory_course("f", made_up(), untimed, untimed)
    assert (course.turn, course.end, course.is_timed) == (2.0, 4.0, False)
    assert (course.arrays[0].begin, course.arrays[0].full) == (1.0, 2.0)


def test_sizes_in_words() -> None:
    assert [in_bytes(n) for n in (0, 999, 1000, 123456, 5 * 10**12)] == [
        "0 bytes",
        "999 bytes",
        "1 kB",
        "123 kB",
        "5e+03 GB",
    ]


# -- the picture ---------------------------------------------------------------------------------------------
def test_the_figure_shows_what_is_predicted() -> None:
    pytest.importorskip("matplotlib")
    args = populations(9, 60)
    with interpreting():
        f = vectorize_grad(tape="recompute", cache=False)(growth)
        figure, course = f.plot_memory(*args), f.compiled(args, "pullback").memory
    (axes,) = figure.axes
    top = axes.collections[-1].get_paths()[0].vertices
    assert max(top[:, 1]) * 1e3 == pytest.approx(course.peak)
    texts = [t.get_text() for t in axes.get_legend().get_texts()]
    assert texts == [f"{a.title}, {in_bytes(a.bytes)}" for a in course.arrays[::-1]]
    assert in_bytes(course.peak) in axes.get_title()
    assert axes.get_ylabel() == "kB"


def test_small_arrays_share_a_colour_and_a_figure_may_be_empty() -> None:
    pytest.importorskip("matplotlib")
    claims = [Claim(f"x{k}", f"x{k}", "stored", 100 + k) for k in range(14)]
    nothing = sweep()
    (axes,) = draw_memory(memory_course("f", claims, nothing, nothing)).axes
    texts = [t.get_text() for t in axes.get_legend().get_texts()]
    assert (len(texts), texts[0], texts[-1]) == (10, "5 more, 510 bytes", "x13, 113 bytes")
    untimed = SweepCourse(nothing.ls, None)
    assert draw_memory(memory_course("f", [], untimed, untimed)).axes


def test_matplotlib_is_asked_for_only_where_something_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    nothing = sweep()
    course = memory_course("f", made_up(), nothing, nothing)
    with pytest.raises(BackendError) as caught:
        draw_memory(course)
    assert str(caught.value) == (
        "LD611: figures are drawn by matplotlib, and that is not installed\n  hint: `pip install matplotlib`"
    )
