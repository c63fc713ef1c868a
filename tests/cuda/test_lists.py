"""Lists of updates: sums into elements that the data choose, sorted and added up on the stand-in for the driver."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.backends.cpu.compile import Style
from loopdiff.backends.cuda.text import grids as grid_text
from loopdiff.errors import ArgumentError
from loopdiff.mapping.launches import Launch, all_steps
from loopdiff.pipeline.cuda import launch_plan_of
from tests.cuda import plain
from tests.cuda.plain import emulating
from tests.gradients.interpreted import normal_form
from tests.lengths import every

pytestmark = [
    pytest.mark.part(5),
    pytest.mark.skipif(importlib.util.find_spec("numba_cuda") is None, reason="numba-cuda is not installed"),
]


def scattered(index, v, y):
    for p in range(v.shape[0]):
        y[index[p]] += v[p]


def scattered_in_four(index, v, y):
    for p in range(v.shape[0]):
        y[index[p] % y.shape[0], 1, index[p] % y.shape[2], 0] += v[p]


def by_rows(begins, index, v, y):
    for i in range(begins.shape[0] - 1):
        for p in range(begins[i], begins[i + 1]):
            if v[p] > -40.0:
                y[index[p], i % 2] += v[p]


def chosen(index, v, y):
    for p in range(v.shape[0]):
        y[index[p] if v[p] > 0.0 else 0, 1 if v[p] > 10.0 else index[p] % 2] += v[p]


def on_the_device(function: Any, args: dict[str, Any]) -> None:
    from tests.cuda.stub import on_stub, stub_driver

    plan = launch_plan_of(normal_form(function, args), Style())
    (lists,) = {s.grid.lists for s in plan.steps if isinstance(s, Launch) and s.grid is not None and s.grid.lists}
    assert lists == ("y",)
    with stub_driver() as stub:
        before = len(stub.memory)
        on_stub(plan).dispatcher(*args.values())
        assert len(stub.memory) == before


def numbers(rng: np.random.Generator, size: int, dtype: str = "float64") -> np.ndarray:
    """Values whose sums are exact in any order."""
    return rng.integers(-50, 50, size).astype(dtype)


@pytest.mark.part(5)
@pytest.mark.parametrize("size", [0, 1, 31, 33, 2048, 5000])
@pytest.mark.parametrize("room", [1, 255, 70000])
def test_any_number_of_updates_and_elements(size: int, room: int) -> None:
    rng = np.random.default_rng(size + room)
    index, v, y = rng.integers(0, room, size), numbers(rng, size), numbers(rng, room)
    expected = y.copy()
    np.add.at(expected, index, v)
    on_the_device(scattered, {"index": index, "v": v, "y": y})
    np.testing.assert_array_equal(y, expected)


def some(index, v, y):
    for p in range(v.shape[0]):
        if index[p] > 0:
            y[index[p]] += v[p]


def test_an_array_without_elements() -> None:
    on_the_device(some, {"index": np.zeros(3, int), "v": np.ones(3), "y": np.zeros(0)})


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_elements_of_other_types(dtype: str) -> None:
    rng = np.random.default_rng(7)
    index, v, y = rng.integers(0, 40, 300), numbers(rng, 300, dtype), numbers(rng, 40, dtype)
    expected = y.copy()
    np.add.at(expected, index, v)
    on_the_device(scattered, {"index": index, "v": v, "y": y})
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("order", ["C", "F"])
def test_several_axes(order: Any) -> None:
    rng = np.random.default_rng(8)
    index, v = rng.integers(0, 100, 400), numbers(rng, 400)
    y = np.asarray(numbers(rng, 5 * 2 * 7 * 3).reshape(5, 2, 7, 3), order=order)
    expected = y.copy()
    scattered_in_four(index, v, expected)
    on_the_device(scattered_in_four, {"index": index, "v": v, "y": y})
    np.testing.assert_array_equal(y, expected)


def test_subscripts_that_are_chosen() -> None:
    rng = np.random.default_rng(12)
    index, v, y = rng.integers(0, 6, 50), numbers(rng, 50), numbers(rng, 12).reshape(6, 2)
    expected = y.copy()
    chosen(index, v, expected)
    on_the_device(chosen, {"index": index, "v": v, "y": y})
    np.testing.assert_array_equal(y, expected)


def test_updates_that_have_to_be_counted() -> None:
    """Rows of any length, also of none, and updates under a condition."""
    rng = np.random.default_rng(9)
    begins = np.sort(np.concatenate(([0, 900, 900], rng.integers(0, 900, 60))))
    index, v, y = rng.integers(0, 50, 900), numbers(rng, 900), numbers(rng, 100).reshape(50, 2)
    expected = y.copy()
    by_rows(begins, index, v, expected)
    on_the_device(by_rows, {"begins": begins, "index": index, "v": v, "y": y})
    np.testing.assert_array_equal(y, expected)


def test_what_is_added_to_an_element_is_added_in_one_order() -> None:
    """Values that are rounded differently in another order: the same bits whichever threads run first."""
    rng = np.random.default_rng(10)
    index, v = rng.integers(0, 9, 4000), rng.standard_normal(4000) * 10.0 ** rng.integers(-8, 8, 4000)
    found = []
    with emulating() as order:
        function = vectorize_grad(scattered)
        for _ in order.both():
            y = np.zeros(9)
            function(index, v, y)
            found.append(y)
    np.testing.assert_array_equal(*found)


def test_an_index_out_of_bounds_is_found_before_anything_is_added() -> None:
    y = np.zeros(4)
    with emulating(), pytest.raises(ArgumentError, match="LD310"):
        vectorize_grad(scattered)(np.array([0, 4]), np.ones(2), y)
    np.testing.assert_array_equal(y, 0.0)


def test_an_array_with_too_many_elements_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid_text, "PLACES", 3)
    with emulating(), pytest.raises(ArgumentError, match="LD607: `y` has too many elements"):
        vectorize_grad(scattered)(np.array([0, 1]), np.ones(2), np.zeros(4))


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists of so few updates that there are several."""
    monkeypatch.setattr(grid_text, "CACHED", 7 * 12)
    monkeypatch.setattr(grid_text, "BUSY", 1)


@pytest.mark.usefixtures("small_pieces")
def test_long_lists_are_made_in_pieces() -> None:
    rng = np.random.default_rng(11)
    index, v, y = rng.integers(0, 9, 100), numbers(rng, 100), np.zeros(9)
    expected = y.copy()
    np.add.at(expected, index, v)
    with emulating():
        vectorize_grad(scattered)(index, v, y)
    np.testing.assert_array_equal(y, expected)


def test_pieces_are_of_so_many_threads_that_a_gpu_is_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid_text, "CACHED", 1)
    monkeypatch.setattr(grid_text, "BUSY", 30)
    lengths = pieces_of(monkeypatch, scattered, {"index": np.zeros(100, int), "v": np.ones(100), "y": np.zeros(9)})
    assert lengths == [30, 30, 30, 10]


def test_lists_have_a_greatest_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid_text, "LISTED", 40)
    lengths = pieces_of(monkeypatch, scattered, {"index": np.zeros(100, int), "v": np.ones(100), "y": np.zeros(9)})
    assert lengths == [40, 40, 20]


def pieces_of(monkeypatch: pytest.MonkeyPatch, function: Any, args: dict[str, Any]) -> list[int]:
    """How long the lists are that a function adds up, one after the other."""
    lengths: list[int] = []
    add = plain.add_listed

    def noted(places: np.ndarray, *rest: Any) -> None:
        lengths.append(places.size)
        add(places, *rest)

    monkeypatch.setitem(plain.NAMES, "add_listed", noted)
    expected = {n: a.copy() for n, a in args.items()}
    function(**expected)
    with emulating():
        vectorize_grad(function)(*args.values())
    for name, array in args.items():
        np.testing.assert_array_equal(array, expected[name])
    return lengths


def by_levels(index, v, y):
    for p in range(v.shape[0]):
        for l in range(v.shape[1]):
            y[l, index[p, l], 1] += v[p, l]


def by_levels_downwards(index, v, y):
    for p in range(v.shape[0]):
        for l in range(v.shape[1] - 1, 0, -3):
            y[l, index[p, l], 1] += v[p, l]


def levels(rng: np.random.Generator) -> dict[str, Any]:
    return {"index": rng.integers(0, 6, (10, 8)), "v": numbers(rng, 80).reshape(10, 8), "y": np.zeros((8, 6, 2))}


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("function", [by_levels, by_levels_downwards])
def test_pieces_that_go_to_elements_apart(function: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of one level each, and these of seven updates at most."""
    args = levels(np.random.default_rng(13))
    lengths = pieces_of(monkeypatch, function, args)
    assert lengths == [7, 3] * (8 if function is by_levels else 3)


def test_places_behind_the_first_elements_on_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is sorted are places among the elements of some levels."""
    monkeypatch.setattr(grid_text, "CACHED", 2 * 10 * 12)
    monkeypatch.setattr(grid_text, "BUSY", 1)
    args = levels(np.random.default_rng(14))
    expected = {n: a.copy() for n, a in args.items()}
    by_levels_downwards(**expected)
    on_the_device(by_levels_downwards, args)
    np.testing.assert_array_equal(args["y"], expected["y"])


def test_lists_of_more_than_one_block_adds_up() -> None:
    rng = np.random.default_rng(15)
    size = (1 << 14) + 70
    index, v, y = rng.integers(0, 3000, size), numbers(rng, size), np.zeros(3000)
    index[5000:9000] = 17
    expected = y.copy()
    np.add.at(expected, index, v)
    on_the_device(scattered, {"index": index, "v": v, "y": y})
    np.testing.assert_array_equal(y, expected)


def corners(index, v, y):
    for p in range(v.shape[0]):
        for l in range(y.shape[0]):
            w = 1.0
            for c in range(4):
                k = (index[p, l] + 3 * c) % y.shape[1]
                for f in range(y.shape[2]):
                    y[l, k, f] += w * v[p, f]
                w *= 2.0


def some_rows(index, v, y):
    for p in range(v.shape[0]):
        if index[p, 0] > 2:
            s = 1.0
            for f in range(y.shape[2]):
                t = s * v[p, f]
                y[0, index[p, 1], f] += t
            for c in range(index[p, 2]):
                for f in range(y.shape[2]):
                    y[c % y.shape[0], index[p, 0], f] += v[p, f]


def parts_of_rows(index, v, y):
    for p in range(v.shape[0]):
        w = 1.0
        for c in range(2):
            for f in range(1, y.shape[2]):
                y[0, index[p, c], f] += w * v[p, f]
            w *= 2.0


def turned_rows(index, v, y):
    for p in range(v.shape[0]):
        w = 1.0
        for c in range(2):
            for f in range(y.shape[2]):
                y[0, (index[p, c] + f) % y.shape[1], f] += w * v[p, f]
            w *= 2.0


def beside_a_row(index, n, v, y, z):
    for p in range(v.shape[0]):
        for c in range(n[p]):
            for f in range(y.shape[1]):
                y[index[p], f] += 1.0 + c
                z[index[f]] += 1.0


def along_every_axis(index, v, y, z, w):
    for l in range(v.shape[0]):
        for f in range(y.shape[1]):
            y[index[l], f] += v[l, f]
            z[f, index[l]] += 2.0 * v[l, f]
            w[l, index[f]] += 3.0 * v[l, f]


def test_updates_beside_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    args = {"index": rng.integers(0, 5, 3), "n": np.array([1, 2, 0]), "v": np.ones((3, 3)), "y": np.zeros((5, 3))}
    pieces_of(monkeypatch, beside_a_row, {**args, "z": np.zeros(6)})


def test_no_piece_of_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid_text, "CACHED", 40)
    monkeypatch.setattr(grid_text, "BUSY", 1)
    rng = np.random.default_rng(0)
    args = {"index": rng.integers(0, 5, 7), "v": numbers(rng, 28).reshape(7, 4), "y": np.zeros((5, 4))}
    pieces_of(monkeypatch, along_every_axis, {**args, "z": np.zeros((4, 5)), "w": np.zeros((7, 5))})


def side_by_side(index, v, y):
    for p in range(v.shape[0]):
        if index[p, 1] > 1:
            for f in range(y.shape[2]):
                y[1, index[p, 0], f] += v[p, f]


def twice_side_by_side(index, v, y):
    for p in range(v.shape[0]):
        for f in range(y.shape[2]):
            k = index[p, 0]
            y[k // 2, k, f] += v[p, f]
            y[0, index[p, 2], f] += 2.0


def some_side_by_side(index, v, y):
    for p in range(v.shape[0]):
        for f in range(y.shape[2]):
            if v[p, f] > 0.0:
                y[0, index[p, 0], f] += v[p, f]


def apart_side_by_side(index, v, y):
    for p in range(v.shape[0]):
        for f in range(y.shape[2]):
            for c in range(1 + (f > 1)):
                y[c, index[p, f % 3], f] += v[p, f]


@pytest.mark.parametrize(
    ("function", "is_row"),
    [(side_by_side, True), (twice_side_by_side, True), (some_side_by_side, False), (apart_side_by_side, False)],
)
def test_threads_side_by_side_list_a_row_if_they_do_the_same(
    function: Any, is_row: bool, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    rng = np.random.default_rng(22)
    args = {"index": rng.integers(0, 6, (70, 3)), "v": numbers(rng, 350).reshape(70, 5), "y": np.ones((3, 6, 5))}
    (length,) = pieces_of(monkeypatch, function, args)
    assert (length < 350) == is_row


IN_ROWS = (
    corners, some_rows, parts_of_rows, turned_rows,
    side_by_side, twice_side_by_side, some_side_by_side, apart_side_by_side,
)  # fmt: skip


@pytest.mark.parametrize("function", every(3, IN_ROWS))
def test_rows_of_updates(function: Any) -> None:
    """Whole rows are listed as one, others element by element."""
    from tests.cuda.stub import on_stub, stub_driver

    with stub_driver() as stub:
        run: Any = None
        for width in (5, 2, 1, 0):
            rng = np.random.default_rng(width)
            args = {"index": rng.integers(0, 6, (70, 3)), "v": numbers(rng, 70 * width).reshape(70, width)}
            args["y"] = np.ones((3, 6, width))
            expected = {n: a.copy() for n, a in args.items()}
            function(**expected)
            run = run or on_stub(launch_plan_of(normal_form(function, args), Style())).dispatcher
            before = len(stub.memory)
            run(*args.values())
            assert len(stub.memory) == before
            np.testing.assert_array_equal(args["y"], expected["y"])


@pytest.mark.usefixtures("small_pieces")
def test_pieces_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(21)
    args = {"index": rng.integers(0, 6, (10, 3)), "v": numbers(rng, 20).reshape(10, 2), "y": np.ones((3, 6, 2))}
    assert pieces_of(monkeypatch, corners, args) == [4] * 30


def from_zero(index, v, levels, elements):
    y = np.zeros((levels, elements, 2))
    for p in range(v.shape[0]):
        for l in range(levels):
            w = 1.0
            for c in range(2):
                for f in range(2):
                    y[l, (index[p, l] + c) % elements, f] += w * v[p, f]
                w *= 2.0
    return y


def from_zero_downwards(index, v, levels, elements):
    y = np.zeros((levels, elements))
    for p in range(v.shape[0]):
        for l in range(levels - 1, -1, -1):
            y[l, index[p, l]] += v[p, 0]
    return y


def from_the_second(index, v, levels, elements):
    y = np.zeros((levels, elements))
    for p in range(v.shape[0]):
        for l in range(1, levels):
            y[l, index[p, l]] += v[p, 0]
    return y


def touched_before(index, v, levels, elements):
    y = np.zeros((levels, elements))
    for l in range(levels):
        y[l, 0] = 5.0
    for p in range(v.shape[0]):
        for l in range(levels):
            y[l, index[p, l]] += v[p, 0]
    return y


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("function", every(2, (from_zero, from_zero_downwards, from_the_second, touched_before)))
def test_zeros_of_pieces(function: Any) -> None:
    """What lists are added to starts at zero piece by piece, if they go through all of it and nothing was there."""
    from tests.cuda.stub import on_stub, stub_driver

    run: Any = None
    with stub_driver():
        for size in (40, 1, 0):
            rng = np.random.default_rng(size)
            args = {"index": rng.integers(0, 6, (size, 4)), "v": numbers(rng, 2 * size).reshape(size, 2)}
            args |= {"levels": 4, "elements": 6}
            if run is None:
                plan = launch_plan_of(normal_form(function, args), Style())
                found = {
                    s.grid.starts for s in all_steps(plan.steps) if isinstance(s, Launch) and s.grid and s.grid.lists
                }
                assert found == {("y",) if function in (from_zero, from_zero_downwards) else ()}
                run = on_stub(plan).dispatcher
            np.testing.assert_array_equal(run(*args.values()), function(**args))


def around_the_array(index, v, y, n):
    for p in range(v.shape[0]):
        for l in range(-n, n):
            if l >= 0:
                y[l, index[p]] += v[p]


def test_an_axis_that_goes_beyond_the_array() -> None:
    rng = np.random.default_rng(17)
    args = {"index": rng.integers(0, 6, 10), "v": numbers(rng, 10), "y": np.zeros((4, 6)), "n": 4}
    expected = args["y"].copy()
    around_the_array(args["index"], args["v"], expected, 4)
    on_the_device(around_the_array, args)
    np.testing.assert_array_equal(args["y"], expected)


# -- updates in nests of their own ---------------------------------------------------------------------------
def summed_beside(index, v, w, y, x):
    for p in range(v.shape[0]):
        s = 0.0
        for l in range(v.shape[1]):
            g = v[p, l] * 2.0
            s += g * w[l, index[p, l]]
            y[l, index[p, l]] += g * w[l, 0]
        x[p] += s


def overwritten_after(index, v, w, y, x):
    for p in range(v.shape[0]):
        s = 0.0
        for l in range(v.shape[1]):
            y[l, index[p, l]] += v[p, l] * w[l, 0]
            s += v[p, l]
            v[p, l] = 0.0
        x[p] += s


def overwritten_before(index, v, w, y, x):
    for p in range(v.shape[0]):
        s = 0.0
        for l in range(1, v.shape[1]):
            y[l, index[p, l]] += v[p, l - 1] * w[l, 0]
            s += v[p, l]
            v[p, l] = 0.0
        x[p] += s


def summed_up_to_there(index, v, w, y, x):
    for p in range(v.shape[0]):
        s = 0.0
        for l in range(v.shape[1]):
            s += v[p, l]
            y[l, index[p, l]] += s
        x[p] += s


def costly(index, v, w, y, x):
    for p in range(v.shape[0]):
        s = 0.0
        for l in range(v.shape[1]):
            g = np.floor(np.sqrt(abs(v[p, l])))
            s += g
            y[l, index[p, l]] += g
        x[p] += s


@pytest.mark.parametrize(
    ("function", "axes"),
    [
        (summed_beside, ["l", "p"]),
        (overwritten_after, ["l", "p"]),
        (overwritten_before, ["p"]),
        (summed_up_to_there, ["p"]),
        (costly, ["p"]),
    ],
)
def test_updates_have_a_nest_of_their_own_where_that_makes_more_threads(function: Any, axes: list[str]) -> None:
    rng = np.random.default_rng(16)
    args = {
        "index": rng.integers(0, 6, (10, 4)), "v": numbers(rng, 40).reshape(10, 4),
        "w": numbers(rng, 24).reshape(4, 6), "y": np.zeros((4, 6)), "x": np.zeros(10),
    }  # fmt: skip
    plan = launch_plan_of(normal_form(function, args), Style())
    found = [[a.loop.index.split("_")[0] for a in s.grid.axes] for s in grids(plan) if s.grid and s.grid.lists]
    assert found == [axes]
    expected = {n: a.copy() for n, a in args.items()}
    function(**expected)
    with emulating() as order:
        compiled = vectorize_grad(function)
        for _ in order.both():
            given = {n: a.copy() for n, a in args.items()}
            compiled(*given.values())
            for name, array in given.items():
                np.testing.assert_array_equal(array, expected[name])


def grids(plan: Any) -> list[Launch]:
    return [s for s in all_steps(plan.steps) if isinstance(s, Launch)]
