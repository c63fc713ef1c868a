"""Memory limits: the sweeps that repeat least among those that fit, and a refusal that says how little is enough."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from loopdiff import ArgumentError, vectorize_grad
from loopdiff.calls.ahead import units_of_calls
from loopdiff.calls.runs import ReverseRun, fitting_run, runs_of
from loopdiff.differentiable import Differentiable
from loopdiff.settings.options import SEGMENT_LEVELS
from loopdiff.specialize.specialization import Specialization
from tests.ad.test_segments import three_buffers_in_turn
from tests.api.programs import plain_sum
from tests.gradients.interpreted import interpreting

pytestmark = pytest.mark.part(3)
STEPS = 500


def growth(u, r, steps):
    for _ in range(steps):
        for i in range(u.shape[0]):
            u[i] += r * u[i] * (1.0 - u[i])


def populations() -> tuple[np.ndarray, float, int]:
    return np.linspace(0.1, 0.9, 64), 0.01, STEPS


def limited(function: Any, limit: int | None, **options: Any) -> Differentiable:
    return vectorize_grad(memory_limit=limit, cache=False, **options)(function)


def runs(f: Differentiable, args: tuple[Any, ...]) -> list[tuple[ReverseRun, int]]:
    """All sweeps that the pullback may have, and how much they keep."""
    return [(run, run.arena.bytes(run.sizes(args))) for run in runs_of(f.checked(args).specialization, "pullback")]


def test_the_first_sweeps_are_taken_that_fit() -> None:
    f, args = limited(growth, 0), populations()
    found = runs(f, args)

    def sizes_for(run: ReverseRun) -> Any:
        return run.sizes(args)

    assert [run.label.split()[1] for run, _ in found] == ["auto", *SEGMENT_LEVELS]
    kept = [size for _, size in found]
    assert kept == sorted(set(kept), reverse=True)
    for place, (run, size) in enumerate(found):
        assert fitting_run(run.spec, "pullback", sizes_for, size) is run
        if place:
            assert fitting_run(run.spec, "pullback", sizes_for, found[place - 1][1] - 1) is run


def test_nothing_is_compiled_to_know_how_much_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Specialization, "unit", lambda *_: pytest.fail("compiled"))
    f, args = limited(growth, 100), populations()
    with pytest.raises(ArgumentError, match="LD345") as refused:
        f.vjp(*args)
    least = min(size for _, size in runs(f, args))
    assert f"`growth` needs {least} bytes between the sweeps, the limit is 100" in str(refused.value)
    assert_allclose(args[0], populations()[0], rtol=0)


def test_gradients_under_a_limit_are_those_of_a_full_tape() -> None:
    rng = np.random.default_rng(1)
    args = (rng.uniform(0.1, 0.4, 9), rng.uniform(0.1, 0.2, 9), rng.random(9), 60)
    with interpreting():
        value, pullback = limited(three_buffers_in_turn, None, tape="store").vjp(args[0].copy(), *args[1:])
        expected = pullback(0.7)
        f = limited(three_buffers_in_turn, 0)
        least: list[int] = []  # more levels keep more of so few steps
        for run, size in runs(f, args):
            f.options = replace(f.options, memory_limit=size)
            if size < min(least, default=size + 1):
                assert f.reverse_run(run.spec, "pullback", args) is run
            least.append(size)
            again, pullback = f.vjp(args[0].copy(), *args[1:])
            assert again == value
            for gradient, wanted in zip(pullback(0.7), expected, strict=True):
                assert_allclose(gradient, wanted, rtol=1e-12)


def test_three_levels_compiled() -> None:
    args = populations()
    limit = next(size for run, size in runs(limited(growth, 0), args) if run.label.endswith("recompute-3"))
    assert limit < 22 * args[0].nbytes
    f, seed = limited(growth, limit), np.linspace(1.0, 2.0, 64)
    assert f.reverse_run(f.checked(args).specialization, "pullback", args).label == "pullback recompute-3"
    u, expected_u = args[0].copy(), args[0].copy()
    found = f.vjp(u, *args[1:])[1](u=seed)
    with interpreting():
        expected = limited(growth, None, tape="store").vjp(expected_u, *args[1:])[1](u=seed)
    assert_allclose(u, expected_u, rtol=1e-13)
    assert_allclose(found.u, expected.u, rtol=1e-12)
    assert_allclose(found.r, expected.r, rtol=1e-12)


def test_levels_are_not_tried_where_nothing_runs_in_segments() -> None:
    x = np.ones(3)
    assert len(runs(limited(plain_sum, 0), (x,))) == 2
    assert len(runs(limited(plain_sum, 0, tape="recompute"), (x,))) == 1
    assert len(runs(limited(plain_sum, None), (x,))) == 1


def test_all_that_may_fit_is_compiled_ahead_of_calls() -> None:
    args = populations()
    with interpreting():
        f = limited(growth, 0)
        ahead = {id(unit) for unit in units_of_calls(f.checked(args).specialization)}
        assert {id(u) for run, _ in runs(f, args) for u in (run.units.forward, run.units.reverse)} <= ahead


def relaxed(u, f, tol):
    """A `while` loop that floating numbers end."""
    error = 1.0
    while error > tol:
        error = 0.0
        for i in range(1, u.shape[0] - 1):
            d = f[i] + 0.5 * (u[i - 1] + u[i + 1]) - u[i] - 0.1 * u[i] ** 3
            u[i] += 0.15 * d
            error += d * d


def rods(elements: int, tol: float) -> tuple[np.ndarray, np.ndarray, float]:
    return np.zeros(elements), np.linspace(0.0, 1.0, elements), tol


def test_loops_of_unknown_length_run_in_segments() -> None:
    args, seed = rods(8, 1e-12), np.linspace(1.0, 2.0, 8)
    with interpreting():
        f = limited(relaxed, 0)
        kept = [size for _, size in runs(f, args)]
        steps = kept[0] // (8 * 6)
        assert steps > 100
        assert kept[1] < 4 * 8 * 8 * (steps**0.5 + 2.0)
        assert kept[1] > kept[2]
        expected = limited(relaxed, None, tape="store").vjp(*rods(8, 1e-12))[1](u=seed)
        for size in kept:
            f.options = replace(f.options, memory_limit=size)
            found = f.vjp(*rods(8, 1e-12))[1](u=seed)
            assert_allclose(found.u, expected.u, rtol=1e-12, atol=1e-300)
            assert_allclose(found.f, expected.f, rtol=1e-12)


def test_iterations_are_counted_once_for_all_sweeps_that_may_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    count, counted = ReverseRun.counts, list[str]()

    def noted(run: ReverseRun, args: Any) -> tuple[int, ...]:
        counted.append(run.label)
        return count(run, args)

    monkeypatch.setattr(ReverseRun, "counts", noted)
    with interpreting():
        f = limited(relaxed, 3000)
        run = f.reverse_run(f.checked(rods(8, 1e-12)).specialization, "pullback", rods(8, 1e-12))
        assert run.label == "pullback recompute"
        assert counted == ["pullback auto"]
        counted.clear()
        f = limited(
            cooled, 16 * 8 * 400
        )  # what sweeps keep that are as long as all steps is too large for counting, too
        run = f.reverse_run(f.checked(bars(1.0, 400)).specialization, "pullback", bars(1.0, 400))
    assert counted == [run.label]
    assert run.label != "pullback auto"


def test_segments_of_unknown_length_compiled() -> None:
    seed = np.linspace(1.0, 2.0, 8)
    f = vectorize_grad(tape="recompute", cache=False)(relaxed)
    with interpreting():
        expected = limited(relaxed, None, tape="store").vjp(*rods(8, 1e-9))[1](u=seed)
    for tol in (0.9, 1e-3, 1e-9, 1e-3):  # with room for more iterations, and for fewer, than there are
        found = f.vjp(*rods(8, tol))[1](u=seed)
        if tol == 1e-9:
            assert_allclose(found.u, expected.u, rtol=1e-11, atol=1e-300)
            assert_allclose(found.f, expected.f, rtol=1e-11)
    k = f.compile(*rods(8, 1e-9))
    few, args = f.compile(*rods(8, 1e-3)).workspace(*rods(8, 1e-3)), rods(8, 1e-9)
    k.forward(*args, *few)
    with pytest.raises(ArgumentError, match="LD347: the workspace has too little room in `u_start`"):
        k.reverse(*args, *few, seed.copy(), np.zeros(8))


def cooled(u, r, steps):
    """A step of an implicit method ends when a sum is small."""
    n = u.shape[0]
    w = np.zeros(n)
    for _ in range(steps):
        for i in range(n):
            w[i] = u[i]
        rest = 1.0
        while rest > 1e-9:
            rest = 0.0
            for i in range(n):
                g = w[i] - u[i] + 0.1 * r[i] * w[i] ** 3
                w[i] -= g / (1.0 + 0.3 * r[i] * w[i] * w[i])
                rest += g * g
        for i in range(1, n):
            u[i] = w[i] + 0.1 * np.sin(u[i - 1])


def bars(scale: float, steps: int) -> tuple[np.ndarray, np.ndarray, int]:
    return scale * np.linspace(0.5, 0.9, 16), scale * np.linspace(1.0, 2.0, 16), steps


def test_loops_of_unknown_length_inside_of_segments() -> None:
    seed = np.linspace(1.0, 2.0, 16)
    with interpreting():
        f = limited(cooled, 0)
        kept = [size for _, size in runs(f, bars(1.0, 400))]
        expected = limited(cooled, None, tape="store").vjp(*bars(1.0, 400))[1](u=seed)
    assert kept[1] < kept[0] / 6
    assert kept == sorted(kept, reverse=True)
    f = limited(cooled, kept[1])
    found = f.vjp(*bars(1.0, 400))[1](u=seed)
    assert_allclose(found.u, expected.u, rtol=1e-10, atol=1e-300)
    assert_allclose(found.r, expected.r, rtol=1e-10)
    k = f.compile(*bars(1.0, 400))
    few = k.workspace(*bars(1e-4, 400))  # where solvers run twice at most, not three times
    args = bars(1.0, 400)
    k.forward(*args, *few)
    with pytest.raises(ArgumentError, match="LD347: the workspace has too little room in"):
        k.reverse(*args, *few, seed.copy(), np.zeros(16))


def test_explain_says_what_is_the_least_where_nothing_fits() -> None:
    args = populations()
    with interpreting():
        f = limited(growth, 100)
        run, least = min(runs(f, args), key=lambda found: found[1])
        text = f.explain(*args)
        assert f"no call runs (LD345): `growth` needs {least} bytes between the sweeps, the limit is 100." in text
        assert f"{least} bytes in all" in text
        assert all(t.name in text for t in run.units.plan.temporaries)
        assert "measured" not in text
        assert "LD345" not in limited(growth, least).explain(*args)
