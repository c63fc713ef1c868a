"""A few kernels in Numba's simulator, where threads of a block really wait for each other at barriers."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.gradients.interpreted import normal_form

pytestmark = [
    pytest.mark.part(3),
    pytest.mark.skipif(importlib.util.find_spec("numba_cuda") is None, reason="numba-cuda is not installed"),
]
SCRIPT = Path(__file__).with_name("simulated.py")


def total(x):
    t = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            t += x[i, j] * x[i, j]
    return t


def extremes(x):
    low, high = x[0, 0], x[0, 0]
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            low = min(low, x[i, j])
            high = max(high, x[i, j])
    return high - low


def smoothed(x, y):
    for i in range(1, x.shape[0] - 1):
        for j in range(1, x.shape[1] - 1):
            y[i, j] = 0.25 * (x[i - 1, j] + x[i + 1, j] + x[i, j - 1] + x[i, j + 1])


def simulated(function: Any, args: dict[str, Any], tmp_path: Path, blocks: tuple[int, ...]) -> dict[str, Any]:
    """What the one grid of a function leaves in what its kernel is given, by name; sums of blocks as `parts`."""
    from loopdiff.backends.cpu.compile import Style
    from loopdiff.backends.cuda.text.device import Device, kernel_modules, kernel_name
    from loopdiff.backends.cuda.text.host import HostEmitter
    from loopdiff.pipeline.cuda import launch_plan_of

    plan = launch_plan_of(normal_form(function, args), Style())
    host = HostEmitter(plan.ls, plan=plan, target=Device())
    text = kernel_modules(host)[0].text
    (kernel,) = [k for k in host.kernels if k.axes]
    given: dict[str, Any] = {}
    for name in kernel.params:
        found = [a for a in kernel.axes if name in (a.lower, a.count)]
        if found:
            (axis,) = found
            first = 0 if function is not smoothed else 1
            extent = args["x"].shape[kernel.axes.index(axis)]
            given[name] = np.int64(first if name == axis.lower else extent - 2 * first)
        else:
            given[name] = args[name]
    parts = {f"parts_{k}": np.zeros(int(np.prod(blocks))) for k, _ in enumerate(kernel.sums)}
    return run(text, kernel_name(kernel), {**given, **parts}, tmp_path, blocks, kernel.block)


def run(
    text: str, kernel: str, given: dict[str, Any], tmp_path: Path, blocks: tuple[int, ...], block: tuple[int, int, int]
) -> dict[str, Any]:  # fmt: skip
    """What a kernel of the module `text` leaves in what it is given."""
    module, source, target = tmp_path / "kernels.py", tmp_path / "in.npz", tmp_path / "out.npz"
    module.write_text(text, encoding="utf-8")
    np.savez(source, **given)
    shape = ",".join(map(str, (*blocks, 1, 1)[:3])), ",".join(map(str, block))
    command = [sys.executable, str(SCRIPT), str(module), kernel, *shape, str(source), str(target)]
    subprocess.run(command, check=True, env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}, timeout=300)
    found = np.load(target)
    return dict(zip(given, (found[k] for k in found.files), strict=True))


@pytest.fixture
def x() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((7, 9))


def test_sums_over_blocks(x: np.ndarray, tmp_path: Path) -> None:
    found = simulated(total, {"x": x}, tmp_path, (2, 1))
    assert found["parts_0"].shape == (2,)
    np.testing.assert_allclose(found["parts_0"].sum(), (x * x).sum(), rtol=1e-14)


def test_extremes_over_blocks(x: np.ndarray, tmp_path: Path) -> None:
    found = simulated(extremes, {"x": x}, tmp_path, (1, 2))
    assert {found["parts_0"].max(), found["parts_1"].max(), found["parts_0"].min(), found["parts_1"].min()} >= {
        x.max(),
        x.min(),
    }


def test_a_stencil_on_more_threads_than_elements(x: np.ndarray, tmp_path: Path) -> None:
    y = np.zeros_like(x)
    found = simulated(smoothed, {"x": x, "y": y}, tmp_path, (1, 1))
    smoothed(x, y)
    np.testing.assert_allclose(found["y"], y, rtol=1e-15)


SIZE, BLOCKS, WIDTH = 2048 + 700, 2, 2  # updates, in so many tiles, each of so many values


def updates(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Places, some of them none, and values that are added without an error of rounding."""
    rng = np.random.default_rng(3)
    places = {"few": rng.integers(0, 3, SIZE), "many": rng.integers(0, 1 << 17, SIZE)}[kind]
    return places.astype(np.int32), rng.integers(-50, 50, SIZE).astype(np.float64)


def in_rows(values: np.ndarray) -> np.ndarray:
    """Rows of so many values each."""
    return np.stack([values, values - 7.0], axis=1).ravel()


def sorting(function: str, given: dict[str, Any], tmp_path: Path, blocks: int) -> dict[str, Any]:
    from loopdiff.backends.cuda.text.device import KernelText, common_module
    from loopdiff.backends.cuda.text.sorting_text import PARAMETERS

    assert tuple(given) == PARAMETERS[function]
    module = common_module(KernelText("kernel", (), 1, (256, 1, 1)), function, PARAMETERS[function])
    return run(module.text, "kernel", given, tmp_path, (blocks,), (256, 1, 1))


@pytest.mark.part(7)
@pytest.mark.parametrize(("shift", "bits"), [(4, 9)])
def test_a_pass_of_the_sort(shift: int, bits: int, tmp_path: Path) -> None:
    """One pass is a stable sort by its digit, with counts and their sums on the way."""
    places, values = updates("many")
    digit = {"shift": np.int64(shift), "bits": np.int64(bits)}
    counts, sums = np.full(BLOCKS << bits, -1, np.int32), np.zeros(-(-(BLOCKS << bits) // 2048), np.int64)
    counts = sorting("count_digits", {"places": places, "counts": counts, **digit}, tmp_path, BLOCKS)["counts"]
    digits = (places >> shift) & ((1 << bits) - 1)
    np.testing.assert_array_equal(counts.reshape(-1, BLOCKS).sum(1), np.bincount(digits, minlength=1 << bits))
    sums = sorting("sum_tiles", {"numbers": counts, "sums": sums}, tmp_path, sums.size)["sums"]
    assert sums.sum() == SIZE
    starts = sorting("scan_tiles", {"numbers": counts, "sums": sums}, tmp_path, sums.size)["numbers"]
    np.testing.assert_array_equal(starts, np.cumsum(counts) - counts)
    given = {"places": places, "values": in_rows(values), "starts": starts, "new_places": np.zeros_like(places)}
    new = {"new_values": np.zeros(WIDTH * SIZE), **digit, "width": np.int64(WIDTH)}
    found = sorting("move_updates", {**given, **new}, tmp_path, BLOCKS)
    order = np.argsort(digits, kind="stable")
    np.testing.assert_array_equal(found["new_places"], places[order])
    np.testing.assert_array_equal(found["new_values"], in_rows(values[order]))


def test_sums_of_numbers_in_several_tiles(tmp_path: Path) -> None:
    numbers = np.random.default_rng(4).integers(0, 1 << 40, SIZE)
    sums = sorting("sum_tiles", {"numbers": numbers, "sums": np.zeros(2, np.int64)}, tmp_path, BLOCKS)["sums"]
    assert sums.tolist() == [numbers[:2048].sum(), numbers[2048:].sum()]
    found = sorting("scan_tiles", {"numbers": numbers, "sums": sums}, tmp_path, BLOCKS)["numbers"]
    np.testing.assert_array_equal(found, np.cumsum(numbers) - numbers)


SHAPES: list[tuple[str, tuple[int, ...]]] = [
    ("few", (1 << 17,)),
    ("many", (400, 400)),
    ("many", (60, 50, 50)),
    ("many", (20, 20, 20, 2)),
]


def folded(
    function: str, kind: str, shape: tuple[int, ...], tmp_path: Path
) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:  # fmt: skip
    """What should be in an array, and what is there after a list was added to it, behind a first few elements."""
    places, values = updates(kind)
    places.sort()
    target, parts, before_first = np.zeros(shape), -(-SIZE // 32), 11
    width = WIDTH if shape[-1] == WIDTH else 1
    values = in_rows(values) if width > 1 else values
    places[places > target.size // width - before_first] = 0
    given = {"places": places, "values": values, "target": target, "before_first": np.int64(before_first)}
    left = {"left_places": np.full(2 * parts, -1, np.int32), "left_values": np.zeros(2 * parts * width)}
    found = sorting(function, {**given, "width": np.int64(width), **left}, tmp_path, 1)
    expected = np.zeros((target.size // width, width))
    np.add.at(expected, before_first + places[places > 0] - 1, values.reshape(-1, width)[places > 0])
    return expected, found["target"].reshape(-1, width), found


@pytest.mark.parametrize(("kind", "shape"), SHAPES)
def test_runs_are_added_up_or_left(kind: str, shape: tuple[int, ...], tmp_path: Path) -> None:
    expected, whole, found = folded("fold_updates", kind, shape, tmp_path)
    is_left, left = found["left_places"] > 0, found["left_values"].reshape(-1, whole.shape[1])
    np.add.at(whole, 11 + found["left_places"][is_left] - 1, left[is_left])
    np.testing.assert_array_equal(whole, expected)
    kept = found["left_places"][is_left]
    assert (np.diff(kept) >= 0).all(), "equal places stay side by side"
    assert kind == "few" or kept.size < -(-SIZE // 32)


def test_one_block_leaves_nothing(tmp_path: Path) -> None:
    expected, whole, _ = folded("fold_rest", "few", (1 << 16, WIDTH), tmp_path)
    np.testing.assert_array_equal(whole, expected)
