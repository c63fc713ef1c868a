"""Sums into shifted elements in gather form: the same values for all extents, and only where nothing forbids it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from loopdiff.ad.reverse import build_sweeps
from loopdiff.analysis.polyhedral.model import build_model
from loopdiff.canonical.strong_products import choose_strong_products
from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import run
from loopdiff.ir.reader import read_loopset
from loopdiff.ir.verify import verify
from loopdiff.ir.walk import statements
from loopdiff.mapping.loops import VectorLoop
from loopdiff.model.machine import Machine
from loopdiff.passes.loops import owner_computes as gather
from loopdiff.passes.loops.distribution import restructure
from loopdiff.passes.loops.fusion import fuse
from loopdiff.passes.loops.owner_computes import gather_sums
from loopdiff.passes.loops.sum_shapes import tidy_sums
from loopdiff.passes.storage.first_writes import drop_unread_zeros, drop_zeros
from loopdiff.schedule.blocks.array_contraction import roll_rows
from loopdiff.schedule.cpu.planner import plan
from tests.ad.interpreted import copied, lower
from tests.corpus import BY_NAME, Entry
from tests.gradients import harness
from tests.gradients.interpreted import lowered
from tests.gradients.test_tape_plans import forward_and_reverse

pytestmark = pytest.mark.part(2)

Arrays = dict[str, Any]
NAMES = (
    "jacobi_2d", "fdtd_2d", "hdiff", "laplacian_energy", "swapped_in_time", "slices_in_time", "rows_changed_by_helper",
    "imperfect_nest", "index_after_the_loop", "swapped_buffers",
    "heat_slices", "overlapping", "uneven_stencils",
)  # fmt: skip


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gather form wherever it is possible."""
    monkeypatch.setattr(gather, "takes_scattered", lambda *_: float("inf"))


def in_gather_form(function: Callable[..., Any], args: Arrays) -> tuple[ir.LoopSet, ir.LoopSet]:
    before = tidy_sums(lower(function, args))
    after = gather_sums(before, Machine())
    verify(after, "gathered")
    return before, after


def check(function: Callable[..., Any], args: Arrays, is_gathered: bool = True) -> ir.LoopSet:
    before, after = in_gather_form(function, args)
    assert (after != before) == is_gathered
    compare(after, function, args)
    return after


def compare(ls: ir.LoopSet, function: Callable[..., Any], args: Arrays) -> None:
    """What `ls` and `function` make of `args` is the same."""
    mine = copied(args)
    run(ls, mine)
    function(**args)
    for name, value in args.items():
        np.testing.assert_allclose(mine[name], value, rtol=1e-13, atol=1e-14, err_msg=name)


def places(ls: ir.LoopSet, array: str) -> int:
    """At how many places the innermost loops of `ls` add to, or store in, one array."""
    inner = [s.stmt for s in statements(ls.body) if isinstance(s.stmt, ir.Loop)]
    own = ([c for c in p.body if isinstance(c, ir.Accumulate) and c.target.array == array] for p in inner)
    return max((len(found) for found in own), default=0)


# -- values --------------------------------------------------------------------------------------------------
def in_one_axis(x, y, low, high):
    for i in range(low, x.shape[0] - high):
        y[i - 1] += 2.0 * x[i]
        y[i] -= x[i] * x[i]
        y[i + 2] += 0.5 * x[i]


def far_apart(x, y, low, high):
    for i in range(low, x.shape[0] - high):
        y[i - 3] += 2.0 * x[i]
        y[i + 3] += 0.5 * x[i]


def five_points(x, y, low, high):
    for i in range(low, x.shape[0] - high):
        for j in range(low, x.shape[1] - high):
            bar = 0.2 * x[i, j]
            y[i, j] += bar
            y[i - 1, j] += bar
            y[i + 1, j] += 3.0 * bar
            y[i, j - 1] += bar
            y[i, j + 2] += bar
            x[i, j] = 0.0


def downwards(x, y, low, high):
    for i in range(x.shape[0] - high - 1, low - 1, -1):
        for j in range(x.shape[1] - high - 1, low - 1, -1):
            y[i + 1, j] += x[i, j]
            y[i, j] = -x[i, j]
            y[i, j] += x[i, j] * x[i, j]
            x[i, j] = 0.0


def transposed(x, y, low, high):
    for i in range(low, x.shape[0] - high):
        for j in range(low, x.shape[0] - high):
            y[j - 1, i + 1] += x[i, j]
            y[j, i] += 2.0 * x[i, j]


def two_targets(x, y, z, low, high):
    for i in range(low, x.shape[0] - high):
        for j in range(low, x.shape[1] - high):
            y[i, j + 1] += x[i, j]
            y[i, j - 1] -= x[i, j]
            z[i + 2, j] += 2.0 * x[i, j]
            z[i + 1, j] += 3.0 * x[i, j]


def beside_a_map(x, y, z, low, high):
    for i in range(low, x.shape[0] - high):
        z[i + 1] = 2.0 * x[i]
        y[i - 1] += x[i]
        y[i + 1] += x[i]


def cleared_before(x, y, low, high):
    for i in range(low, x.shape[0] - high):
        for j in range(low, x.shape[1] - high):
            y[i, j] = 0.0
    for i in range(low, x.shape[0] - high):
        for j in range(low, x.shape[1] - high):
            y[i - 1, j] += x[i, j]
            y[i, j + 1] += x[i, j]


def in_three_axes(x, y, low, high):
    for i in range(low, x.shape[0] - high):
        for j in range(low, x.shape[1] - high):
            for k in range(low, x.shape[2] - high):
                y[i - 1, j, k] += x[i, j, k]
                y[i, j + 1, k] += 2.0 * x[i, j, k]
                y[i, j, k - 1] += 3.0 * x[i, j, k]
                y[i, j, k + 1] += 4.0 * x[i, j, k]


def under_a_condition(x, y, low, high):
    for i in range(low, x.shape[0] - high):
        r = 0.0
        if x[i] > 0.5:
            r = 2.0 * x[i]
            y[i] += x[i]
        y[i - 1] += r
        y[i + 1] -= r


def triangular(x, y, low, high):
    for i in range(low, x.shape[0] - high):
        for j in range(i, x.shape[0] - high):
            y[i, j - 1] += x[i, j]
            y[i, j + 1] += x[i, j]


def stored_first(x, y, low, high):
    for i in range(low, x.shape[0] - high):
        y[i - 1] += x[i]
        y[i] = 2.0 * x[i]
        y[i - 3] += x[i]


def steps(x, y, low, high):
    for _ in range(2):
        for i in range(low, x.shape[0] - high):
            y[i - 1] += x[i]
            y[i + 1] += x[i]
            x[i] = 0.0
        for i in range(low, x.shape[0] - high):
            x[i - 1] += y[i]
            x[i + 1] += y[i]
            y[i] = 0.0


PROGRAMS: list[tuple[Callable[..., Any], int, str]] = [
    (in_one_axis, 1, "xy"), (far_apart, 1, "xy"), (five_points, 2, "xy"), (downwards, 2, "xy"), (transposed, 2, "xy"),
    (two_targets, 2, "xyz"), (beside_a_map, 1, "xyz"), (cleared_before, 2, "xy"), (in_three_axes, 3, "xy"),
    (under_a_condition, 1, "xy"), (stored_first, 1, "xy"), (triangular, 2, "xy"), (steps, 1, "xy"),
]  # fmt: skip


@pytest.mark.parametrize("low", [3, 4])
@pytest.mark.parametrize(("function", "rank", "names"), PROGRAMS)
@pytest.mark.usefixtures("always")
def test_values_for_all_extents(function: Callable[..., Any], rank: int, names: str, low: int) -> None:
    """Extents that leave nothing to do, less than the widths of stencils, and more."""
    rng = np.random.default_rng(0)
    extents = [*range(6), 8] if rank > 2 else range(12)
    after = None
    for inside in extents:
        shape = [inside + low + 3 + k * (function is not transposed) for k in range(rank)]
        args: Arrays = {n: rng.random(shape) for n in names} | {"low": low, "high": 3}
        before, after = (None, after) if after else in_gather_form(function, args)
        assert before != after
        compare(after, function, args)


def nowhere(x, y, low, high):
    for i in range(low, high):
        y[i] += x[i]
        y[i + 2] += x[i]


@pytest.mark.usefixtures("always")
def test_ranges_without_iterations_touch_nothing() -> None:
    for low, high, extent in product((0, 1, 2), (-2, 0, 1, 2), (0, 1, 4)):
        if high <= low or high + 2 <= extent:
            check(nowhere, {"x": np.ones(extent), "y": np.ones(extent), "low": low, "high": high})


@pytest.mark.parametrize("function", [in_one_axis, far_apart, under_a_condition])
@pytest.mark.usefixtures("always")
def test_all_loops_are_vectors(function: Callable[..., Any]) -> None:
    """Each has cells of its own, which no other loop keeps it from owning."""
    _, after = in_gather_form(function, {"x": np.ones(30), "y": np.ones(30), "low": 3, "high": 3})
    mappings = plan(build_model(restructure(after))).mappings
    assert len(mappings) > 1
    assert all(isinstance(m, VectorLoop) for _, m in mappings)


# -- what is refused -----------------------------------------------------------------------------------------
def fed_back(x, y):
    for i in range(1, x.shape[0] - 1):
        y[i - 1] += x[i] * y[i + 2]
        y[i + 1] += x[i]


def of_computed_places(x, y, at):
    for i in range(1, x.shape[0] - 1):
        y[at[i]] += x[i]
        y[at[i] + 1] += x[i]


def overwritten(x, y):
    for i in range(1, x.shape[0] - 1):
        y[i + 1] += x[i]
        y[i] = x[i]


def read_after_its_write(x, y, z):
    for i in range(1, x.shape[0] - 1):
        z[i] = 2.0 * x[i]
        y[i - 1] += z[i]
        y[i + 1] += z[i]
        x[i + 1] = z[i]


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize(
    ("function", "names"),
    [(fed_back, "xy"), (of_computed_places, "xy"), (overwritten, "xy"), (read_after_its_write, "xyz")],
)
def test_dependences_and_places_that_forbid_it(function: Callable[..., Any], names: str) -> None:
    args: Arrays = {n: np.linspace(0.0, 1.0, 8) for n in names}
    if function is fed_back:
        args["y"] = np.append(args["y"], 1.0)
    if function is of_computed_places:
        args["at"] = np.array([0, 3, 2, 1, 5, 5, 6, 2])
    check(function, args, is_gathered=False)


def test_dear_terms_are_not_computed_again() -> None:
    def dear(x, y):
        for i in range(1, x.shape[0] - 1):
            bar = np.exp(x[i])
            y[i - 1] += bar
            y[i + 1] += bar

    def cheap(x, y):
        for i in range(1, x.shape[0] - 1):
            y[i - 1] += x[i]
            y[i] += x[i]
            y[i + 1] += x[i]

    args = {"x": np.ones(9), "y": np.ones(9)}
    check(dear, dict(args), is_gathered=False)
    found = check(cheap, dict(args))
    assert places(found, "y") == 1


# -- reverse sweeps ------------------------------------------------------------------------------------------
@pytest.mark.part(2)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("always")
def test_gradients_are_the_same(name: str) -> None:
    compare_gradients(BY_NAME[name])


@pytest.mark.parametrize("extents", [(0, 0), (0, 2), (2, 0), (1, 1), (1, 3), (2, 2)])
@pytest.mark.usefixtures("always")
def test_arrays_that_begin_with_sums_instead_of_zeros(extents: tuple[int, int]) -> None:
    entry, (I, J) = BY_NAME["hdiff"], extents
    reverse = compare_gradients(replace(entry, make=lambda r: entry.make(r, I=I, J=J)))
    filled = [
        s.stmt.array for s in statements(reverse.body) if isinstance(s.stmt, ir.Allocate) and s.stmt.fill is not None
    ]
    assert not filled


def compare_gradients(entry: Entry) -> ir.LoopSet:
    """The reverse sweep in gather form, fused and in few rows, which gives the same gradients."""
    ls = lowered(entry)
    plain = build_sweeps(ls, entry.wrt, "auto")
    scratch = frozenset(a.name for a in plain.reverse.arrays if a.extents is not None and a.role == "adjoint")
    before = tidy_sums(choose_strong_products(drop_zeros(plain.reverse, scratch)))
    gathered = gather_sums(before, Machine())
    assert gathered != before
    reverse = roll_rows(fuse(drop_unread_zeros(gathered, scratch, scratch)))
    verify(reverse, "gathered")
    weight = harness.weights(harness.run_python(entry, entry.args(0)), 0)
    expected = forward_and_reverse(entry, ls, plain, weight)
    for key, found in forward_and_reverse(entry, ls, replace(plain, reverse=reverse), weight).items():
        np.testing.assert_allclose(found, expected[key], rtol=1e-12, atol=1e-14, err_msg=key)
    return reverse


def guarded(x, y):
    """Adds to `y[i - 1]` and to `y[i + 2]` only where these are."""
    for i in range(x.shape[0]):
        y[i] += x[i]
        if i >= 1:
            y[i - 1] += 2.0 * x[i]
        if i + 2 < y.shape[0]:
            y[i + 2] += x[i] * x[i]


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("n", range(6))
@pytest.mark.parametrize("machine", [None, Machine()], ids=["threads", "vectors"])
def test_elements_that_only_conditions_lead_to(n: int, machine: Machine | None) -> None:
    """The interpreter refuses elements outside of an array: rows must not go where conditions never do."""
    rng = np.random.default_rng(n)
    args = {"x": rng.standard_normal(n), "y": rng.standard_normal(n)}
    before = tidy_sums(lower(guarded, args))
    after = gather_sums(before, machine)
    assert (after != before) == (machine is None)
    mine = copied(args)
    run(after, mine)
    guarded(**args)
    np.testing.assert_allclose(mine["y"], args["y"], rtol=1e-13)


def test_long_chains_and_long_sums_are_no_deep_expressions() -> None:
    count = 1500
    chain = [f"let v{k} = v{k - 1} * 0.5 + x[i]" for k in range(1, count)]
    sums = [f"y[i + {k % 3 - 1}] += v{k // 2} * {1.0 + k}" for k in range(0, 2 * count, 4)]
    lines = ["let v0 = x[i]", *chain, f"y[i - 1] += v{count - 1}", *sums]
    head = "loopset f(x, y)\n    argument x: float64[:]\n    argument y: float64[:]\n"
    loop = "for i in range(1, x.shape[0] - 1, 1):\n" + "".join(f"    {line}\n" for line in lines)
    ls = read_loopset(head + loop)
    found = gather_sums(ls, None)
    assert found is not ls
    x = np.linspace(0.1, 0.9, 7)
    expected, mine = np.zeros(7), np.zeros(7)
    run(ls, {"x": x, "y": expected})
    run(found, {"x": x, "y": mine})
    np.testing.assert_allclose(mine, expected, rtol=1e-12)
