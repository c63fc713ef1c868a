"""What the cost model counts: iterations, instructions, waiting, bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from loopdiff.analysis.polyhedral.model import build_model
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import statements
from loopdiff.model.machine import Cache, Machine
from loopdiff.model.prediction import predict
from loopdiff.model.trip_counts import NOMINAL, Extents, TripCounter
from loopdiff.passes.loops.distribution import restructure
from loopdiff.schedule.cpu.planner import plan
from tests.gradients.interpreted import normal_form

X, A = np.ones(4000), np.ones((72, 72))


def loops_of(function: Any, **args: Any) -> ir.LoopSet:
    return restructure(normal_form(function, args))


def nanoseconds(function: Any, machine: Machine = Machine(), **args: Any) -> float:  # noqa: B008
    """What is predicted for one call."""
    ls = loops_of(function, **args)
    return predict(
        ls, plan(build_model(ls), machine=machine), Extents.of(list(args), list(args.values())), machine
    ).total


def trips(function: Any, known: Extents, **args: Any) -> list[float]:
    """How often each loop runs, the loops around it given."""
    ls = loops_of(function, **args)
    counter = TripCounter.of(ls, known)
    found, ranges = [], {}
    for site in statements(ls.body):
        if isinstance(site.stmt, ir.Loop):
            count, ranges[site.stmt.index] = counter.trips(site.stmt, ranges)
            found.append(count)
    return found


def triangle(a):
    for i in range(a.shape[0]):
        for j in range(i):
            a[i, j] = 3.0 * a[i, j]
        for k in range(1, 7, 2):
            a[i, k] = 0.0


def rows(starts, y):
    for i in range(starts.shape[0] - 1):
        for k in range(starts[i], starts[i + 1]):
            y[k] = 2.0 * y[k]


def test_iterations_are_counted_from_shapes_literals_and_contents() -> None:
    known = Extents({"a": (101, 101)})
    assert trips(triangle, known, a=A) == [101.0, 50.0, 3.0]
    assert trips(triangle, Extents(), a=A)[0] == NOMINAL
    starts = np.arange(0, 700, 7)
    assert trips(rows, Extents.of(["starts"], [starts]), starts=starts, y=X)[1] == 7.0


def product(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]


def convolution(y, x, w):
    for i in range(x.shape[0] - w.shape[0] + 1):
        for k in range(w.shape[0]):
            y[i] += x[i + k] * w[k]


def test_extents_that_are_taken_from_others_are_those_of_windows() -> None:
    args = {"y": np.zeros(8), "x": np.zeros(8), "w": np.zeros(3)}
    outer, inner = trips(convolution, Extents(), **args)
    assert inner < outer < NOMINAL
    assert trips(convolution, Extents({"x": (8,), "w": (3,)}), **args) == [6.0, 3.0]


@pytest.mark.parametrize(("bits", "per_cycle"), [(512, 32.0), (256, 16.0)])
def test_a_product_of_matrices_comes_close_to_the_peak_and_not_above(bits: int, per_cycle: float) -> None:
    machine = Machine(bits)
    least = machine.nanoseconds(2 * 72**3 / per_cycle)
    assert least < nanoseconds(product, machine, a=A, b=A.copy(), c=A.copy()) < 2.0 * least


def along(a):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            a[i, j] = 0.5 * a[i, j]


def across(a):
    for j in range(a.shape[1]):
        for i in range(a.shape[0]):
            a[i, j] = 0.5 * a[i, j]


def exponentials(x):
    for i in range(x.shape[0]):
        x[i] = np.exp(x[i])


def halves(x):
    for i in range(x.shape[0]):
        x[i] = 0.5 * x[i]


def running(x):
    for i in range(1, x.shape[0]):
        x[i] = 0.5 * x[i - 1]


def test_functions_and_waiting_cost_more_than_arithmetic() -> None:
    simple = nanoseconds(halves, x=X)
    assert nanoseconds(exponentials, x=X) > 2.0 * simple
    assert nanoseconds(running, x=X) > 10.0 * simple


def test_the_vector_is_the_loop_along_which_elements_lie_side_by_side() -> None:
    assert nanoseconds(across, a=A) == pytest.approx(nanoseconds(along, a=A), rel=0.2)


def forwards(x, y):
    for i in range(x.shape[0]):
        y[i] += 2.0 * x[i]


def backwards(x, y):
    for i in range(x.shape[0]):
        y[x.shape[0] - 1 - i] += 2.0 * x[x.shape[0] - 1 - i]


def test_a_walk_backwards_costs_little_more_than_one_forwards() -> None:
    """A vector of neighbours is loaded in one piece and turned round."""
    times = [nanoseconds(f, x=X, y=X.copy()) for f in (forwards, backwards)]
    assert times[1] < 1.2 * times[0]


def looked_up(x, p, y):
    for i in range(p.shape[0]):
        y[i % 8] += x[p[i]]


def test_places_that_jump_through_a_large_array_bring_in_a_line_each() -> None:
    machine = Machine(caches=(Cache(1 << 10, 1.0),))
    places, small = np.zeros(40000, int), np.zeros(8)
    assert nanoseconds(looked_up, machine, x=X, p=places, y=small) > 64 * 40000
    assert nanoseconds(looked_up, Machine(caches=(Cache(1 << 20, 1.0),)), x=X, p=places, y=small) < 64 * 40000


def test_what_does_not_fit_into_a_cache_takes_its_bandwidth() -> None:
    machine = Machine(caches=(Cache(1 << 10, 1.0),))
    assert nanoseconds(halves, machine, x=X) > 2 * X.nbytes
    assert nanoseconds(halves, Machine(caches=(Cache(1 << 20, 1.0),)), x=X) < X.nbytes
