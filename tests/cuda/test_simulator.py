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

pytestmark = pytest.mark.skipif(importlib.util.find_spec("numba_cuda") is None, reason="numba-cuda is not installed")
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
    from loopdiff.backends.cuda.compile import plan_of
    from loopdiff.backends.cuda.device import Device, kernel_name, module_text
    from loopdiff.backends.cuda.host import HostEmitter

    plan = plan_of(normal_form(function, args), Style())
    host = HostEmitter(plan.ls, plan=plan, target=Device())
    text, _ = module_text(host)
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
    module, source, target = tmp_path / "kernels.py", tmp_path / "in.npz", tmp_path / "out.npz"
    module.write_text(text, encoding="utf-8")
    np.savez(source, **given, **parts)
    shape = ",".join(map(str, (*blocks, 1, 1)[:3])), ",".join(map(str, kernel.block))
    command = [sys.executable, str(SCRIPT), str(module), kernel_name(kernel), *shape, str(source), str(target)]
    subprocess.run(command, check=True, env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}, timeout=300)
    found = np.load(target)
    return dict(zip((*given, *parts), (found[k] for k in found.files), strict=True))


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
