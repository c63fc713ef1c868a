"""Which mapping the planner chooses, and the reasons it gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from loopdiff.ad.reverse import build_sweeps
from loopdiff.analysis.polyhedral.model import build_model
from loopdiff.mapping.loops import ScalarLoop, Schedule, TiledNest, VectorLoop
from loopdiff.model.machine import Machine
from loopdiff.passes.loops.distribution import restructure
from loopdiff.report.schedules import explain_schedule
from loopdiff.schedule.cpu.planner import plan
from tests.ad.interpreted import lower
from tests.backends.programs import PROGRAMS
from tests.gradients.interpreted import normal_form


def schedule(name: str, **options: Any) -> tuple[Schedule, str]:
    function, make = PROGRAMS[name]
    model = build_model(restructure(lower(function, make(np.random.default_rng(0), 9, np.float64))))
    found = plan(model, **options)
    return found, explain_schedule(found, model.ls, Machine())


@pytest.mark.parametrize(
    "name", ["elementwise", "conditions", "strided_and_reversed", "descending", "counted_in_every_lane"]
)
def test_independent_iterations_become_lanes(name: str) -> None:
    found, text = schedule(name)
    assert found.of((0,)) == VectorLoop(())
    assert "vectorised" in text


def test_elements_at_computed_places_are_updated_one_by_one() -> None:
    found, text = schedule("indirect")
    assert isinstance(found.of((0,)), ScalarLoop)
    assert "far apart elements" in text
    assert "in scatter form: the places are computed" in text


def roots(z, y):
    for i in range(z.shape[0]):
        y[i] = np.sqrt(z[i]) / (z[i] - y[i])


def test_reverse_sweeps_with_branches_become_lanes() -> None:
    """Their adjoints are cells that each iteration clears for itself."""
    ls = normal_form(roots, {"z": np.ones(3, complex), "y": np.zeros(3, complex)})
    reverse = build_sweeps(ls, ("z", "y"), "auto").reverse
    assert any(a.role == "adjoint" and a.extents == () for a in reverse.arrays)
    model = build_model(restructure(reverse))
    assert plan(model).of((0,)) == VectorLoop(())


def test_reductions_are_named() -> None:
    found, text = schedule("reductions")
    (mapping,) = [m for _, m in found.mappings]
    assert mapping == VectorLoop(("k", "m", "s"))
    assert "`s`" in text


def test_without_reassociation_sums_stay_scalar() -> None:
    found, _ = schedule("reductions", may_reassociate=False)
    assert all(isinstance(m, ScalarLoop) for _, m in found.mappings)
    found, _ = schedule("product", may_reassociate=False)
    assert not any(isinstance(m, TiledNest) for _, m in found.mappings)


def test_a_carried_value_is_quoted() -> None:
    found, text = schedule("recurrence")
    assert isinstance(found.of((0,)), ScalarLoop)
    assert "reads x[i - 1]" in text
    assert "writes x[i] in another iteration" in text


def test_a_cell_that_keeps_one_value() -> None:
    _, text = schedule("kept_by_one_iteration")
    assert "`s` keeps the value of one iteration" in text


def test_a_triangle_is_vectorised_inside() -> None:
    found, text = schedule("triangular")
    assert isinstance(found.of((0,)), ScalarLoop)
    assert found.of((0, 0)) == VectorLoop((), may_be_short=True)
    assert "trip count of its inner loop `j`" in text


@pytest.mark.parametrize(
    ("name", "tile"),
    [
        ("product_tangent", TiledNest("n", "m", "n", ("k",))),
        ("distances_turned", TiledNest("n", "k", "m", ("n",))),
        ("matrix_vector", TiledNest("n", None, "m", ("n",))),
    ],
)
def test_contractions_become_tiles(name: str, tile: TiledNest) -> None:
    found, text = schedule(name)
    assert found.of((0,)) == tile
    assert "register tile" in text


@pytest.mark.parametrize(
    ("name", "rows", "columns", "sums", "is_packed"),
    [("product", ("m",), "n", ("k",), False), ("product_of_rows", ("m",), "k", ("n",), True)],
)
def test_products_of_matrices(
    name: str, rows: tuple[str, ...], columns: str, sums: tuple[str, ...], is_packed: bool
) -> None:
    found, text = schedule(name)
    nest = found.of((0,))
    assert isinstance(nest, TiledNest)
    product = nest.product
    assert product is not None
    assert (product.rows, product.columns, product.sums, product.is_packed) == (rows, columns, sums, is_packed)
    assert "register tile of 8 x 3 vectors" in text
    assert "352 at a time" in text


@pytest.mark.parametrize("name", ["weighted_by_index", "chosen_summand"])
def test_summands_a_tile_cannot_hold(name: str) -> None:
    found, _ = schedule(name)
    assert not any(isinstance(m, TiledNest) for _, m in found.mappings)


def added_once(x, y):
    for i in range(x.shape[0]):
        if i == 2:
            y[0] += x[i]
            x[i] = y[0]


def added_beside(x, y):
    for i in range(x.shape[0]):
        if i == 2:
            y[0] += x[i]
            x[i] = y[1]


def test_lanes_do_not_sum_apart_from_what_goes_on_with_the_sum() -> None:
    """No iteration depends on another: only one of them adds, and reads."""
    found = plan(build_model(lower(added_once, {"x": np.ones(9), "y": np.ones(9)})))
    assert isinstance(found.of((0,)), ScalarLoop)
    assert plan(build_model(lower(added_beside, {"x": np.ones(9), "y": np.ones(9)}))).of((0,)) == VectorLoop(("y",))


def turns_of_one(x, y):
    for _ in range(1):
        for i in range(x.shape[0]):
            y[0] += x[i]


def test_lanes_do_not_sum_in_another_order_where_that_is_strict() -> None:
    model = build_model(lower(turns_of_one, {"x": np.ones(9), "y": np.ones(9)}))
    assert isinstance(plan(model, may_reassociate=False).of((0,)), ScalarLoop)
