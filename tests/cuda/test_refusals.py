"""What is refused where loops are to run on a GPU, in the words that callers read."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.errors import ArgumentError, BackendError
from tests.corpus import ENTRIES
from tests.cuda.kernels import WITHOUT_RULES
from tests.cuda.plain import emulating
from tests.gradients import harness

needs_numba_cuda = pytest.mark.skipif(
    importlib.util.find_spec("numba_cuda") is None, reason="numba-cuda is not installed"
)


def doubled(x):
    for i in range(x.shape[0]):
        x[i] *= 2.0


@pytest.mark.part(2)
@pytest.mark.parametrize("name", [e.name for e in ENTRIES if e not in WITHOUT_RULES])
def test_functions_with_rules(name: str) -> None:
    entry = next(e for e in ENTRIES if e.name == name)
    with emulating(), pytest.raises(BackendError) as caught:
        harness.decorate(name).vjp(*entry.args(0).values())
    assert caught.value.codes == ("LD603",)
    if name == "ruled_numbers":
        assert "LD603: `root` has a rule, and runs on the CPU only" in str(caught.value)
    if name == "ruled_printing":
        assert "LD603: `print` runs on the CPU only" in str(caught.value)
    assert "hint: write the body of the function in place of the call, or keep `target='cpu'`" in str(caught.value)


def test_halves() -> None:
    with emulating(), pytest.raises(BackendError) as caught:
        vectorize_grad(doubled)(np.ones(3, np.float16))
    assert "LD603: `x` holds float16, which has no kernel yet" in str(caught.value)
    assert "hint: use float32 there, or keep `target='cpu'`" in str(caught.value)


@pytest.mark.parametrize("setting", [{"parallel": True}, {"autotune": True}])
def test_settings_for_the_cpu(setting: dict[str, Any]) -> None:
    (name,) = setting
    with pytest.raises(ArgumentError) as caught:
        vectorize_grad(target="cuda", **setting)(doubled)
    assert caught.value.codes == ("LD309",)
    assert f"`{name}` is for the CPU, and `target` is 'cuda'" in str(caught.value)


def test_targets_that_do_not_exist() -> None:
    with pytest.raises(ArgumentError, match="`target` is 'tpu', not one of 'cpu', 'cuda', 'cuda-emulated'"):
        vectorize_grad(doubled).on("tpu")  # type: ignore[arg-type]


def test_numba_cuda_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    from loopdiff.backends.cuda import needs

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(BackendError, match="LD602: CUDA kernels need numba-cuda, which is not installed"):
        needs.require_numba_cuda()


@needs_numba_cuda
def test_a_gpu_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    from loopdiff.backends.cuda import driver

    monkeypatch.setattr(driver, "is_there", lambda: False)
    with pytest.raises(BackendError, match="LD604: `target='cuda'` needs a GPU, and a driver for it"):
        vectorize_grad(doubled).on("cuda")(np.ones(3))


@needs_numba_cuda
def test_a_driver_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    from loopdiff.backends.cuda.driver import Driver
    from tests.cuda.stub import STUB

    monkeypatch.setattr(STUB, "cuInit", lambda flags: 100, raising=False)
    with pytest.raises(BackendError, match="LD605: `cuInit` of the CUDA driver failed with error 100"):
        Driver(STUB)


@needs_numba_cuda
def test_memory_that_is_used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    from loopdiff.backends.cuda.driver import Driver
    from tests.cuda.stub import STUB

    driver = Driver(STUB)
    monkeypatch.setattr(STUB, "cuMemAllocAsync", lambda *args: 2)
    with pytest.raises(BackendError, match="LD606: the device has no memory left"):
        driver.empty((3,), np.float64)


@needs_numba_cuda
def test_a_gpu_of_another_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    from loopdiff.backends.cuda.driver import Driver
    from tests.cuda.stub import STUB

    def attribute(place: Any, number: int, device: Any) -> int:
        place._obj.value = {75: 8, 76: 6}[number]
        return 0

    monkeypatch.setattr(STUB, "cuDeviceGetAttribute", attribute)
    message = "LD604: kernels are compiled for compute capability 9.0, and this GPU has 8.6"
    with pytest.raises(BackendError, match=message):
        Driver(STUB)
