"""Arrays that are on the device already: taken without copies, on their stream, and given back in kind."""

from __future__ import annotations

import gc
import importlib.util
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import loopdiff.cuda
from loopdiff import vectorize_grad
from loopdiff.errors import ArgumentError, BackendError
from tests.corpus import BY_NAME
from tests.gradients import harness
from tests.gradients.test_battery import assert_close

pytestmark = pytest.mark.skipif(importlib.util.find_spec("numba_cuda") is None, reason="numba-cuda is not installed")
DeviceArray = loopdiff.cuda.DeviceArray


@pytest.fixture
def stub() -> Iterator[Any]:
    from tests.cuda.stub import gpu_machine

    with gpu_machine() as found:
        before = len(found.memory)
        yield found
        gc.collect()
        assert len(found.memory) == before, "memory was not given back"


def sent(value: Any) -> Any:
    return loopdiff.cuda.to_device(value) if isinstance(value, np.ndarray) else value


def fetched(value: Any) -> Any:
    return value.copy_to_host() if isinstance(value, DeviceArray) else value


def scaled(x, y, k):
    t = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = k * np.sin(x[i, j])
            t += y[i, j] * x[i, j]
    return t


def made(x):
    y = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        y[i] = 2.0 * x[i]
    return y, x.shape[0]


def gpu(function: Any, **options: Any) -> Any:
    return vectorize_grad(target="cuda", cache=False, **options)(function)


@pytest.fixture
def x() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((5, 7))


def test_nothing_is_copied_and_arrays_are_changed_in_place(x: np.ndarray, stub: Any) -> None:
    f, y = gpu(scaled), np.zeros_like(x)
    there = sent(x), sent(y)
    stub.moved.clear()
    value = f(*there, 3.0)
    assert max(stub.moved, default=0) <= 8, "more than a number was copied"
    expected = scaled(x, y, 3.0)
    assert value == pytest.approx(expected, rel=1e-13)
    np.testing.assert_allclose(fetched(there[1]), y, rtol=1e-14)
    np.testing.assert_array_equal(fetched(there[0]), x)


@pytest.mark.parametrize("name", ["rde_matmul_log1p", "jacobi_2d", "durbin", "while_newton", "two_returned_arrays"])
def test_gradients_stay_on_the_device(name: str, stub: Any) -> None:
    entry = BY_NAME[name]
    f = harness.decorate(name, target="cuda", cache=False)
    args = {n: sent(a) for n, a in entry.args(0).items()}
    result, pullback = f.vjp(*args.values())
    outputs = {**harness.named_results(on_host(result)), **{n: fetched(args[n]) for n in entry.outputs}}
    host = {n: fetched(a) for n, a in args.items()}
    weight = harness.weights(harness.outputs_of(entry, on_host(result), host), 0)
    cotangents = {n: sent(weight[n]) for n in entry.outputs if n in weight}
    seeds = harness.seeds_of(on_host(result), weight)
    seeds = [tuple(map(sent, s)) if isinstance(s, tuple) else sent(s) for s in seeds]
    gradients = pullback(*seeds, **cotangents)
    assert all(isinstance(g, DeviceArray) for n, g in zip(entry.wrt, gradients, strict=True) if np.ndim(host[n]))
    assert_close(outputs, harness.run_python(entry, entry.args(0)), 1e-11)
    found = dict(zip(entry.wrt, map(fetched, gradients), strict=True))
    assert_close(found, harness.pull_back(entry, entry.args(0)), 1e-10)


def on_host(result: Any) -> Any:
    return tuple(map(fetched, result)) if isinstance(result, tuple) else fetched(result)


def test_value_gradient_and_tangents(x: np.ndarray, stub: Any) -> None:
    f, y, along = gpu(scaled), np.zeros_like(x), np.cos(x)
    expected, slopes = vectorize_grad(scaled)(x, y, 3.0), vectorize_grad(scaled).grad(x, y, 3.0)
    value, gradients = f.value_and_grad(sent(x), sent(y), 3.0)
    assert value == pytest.approx(expected, rel=1e-13)
    np.testing.assert_allclose(fetched(gradients.x), slopes.x, rtol=1e-12)
    assert gradients.k == pytest.approx(slopes.k, rel=1e-12)
    value, tangents = f.jvp((sent(x), sent(y), 3.0), {"x": sent(along)})
    assert tangents.result == pytest.approx((slopes.x * along).sum(), rel=1e-12)
    np.testing.assert_allclose(fetched(tangents.y), 3.0 * np.cos(x) * along, rtol=1e-12)


def test_arrays_that_are_returned_are_the_callers(stub: Any) -> None:
    y, size = gpu(made)(sent(np.arange(4.0)))
    assert (type(y), size) == (DeviceArray, 4)
    gc.collect()
    np.testing.assert_array_equal(fetched(y), [0.0, 2.0, 4.0, 6.0])


def test_a_change_after_the_forward_sweep_is_noticed(x: np.ndarray, stub: Any) -> None:
    f = gpu(scaled)
    there = sent(x)
    _, pullback = f.vjp(there, sent(np.zeros_like(x)), 3.0)
    first = fetched(pullback().x)
    there.held[...] += 1.0  # the stand-in's memory is the host's
    with pytest.raises(ArgumentError, match="LD348: `x` was changed after the forward sweep"):
        pullback()
    there.held[...] -= 1.0
    there.held[...] = x
    np.testing.assert_array_equal(fetched(pullback().x), first)


def test_hosts_and_devices_arrays_together_are_refused(x: np.ndarray, stub: Any) -> None:
    with pytest.raises(ArgumentError, match=r"LD608: `scaled` got arrays of the device and of the host"):
        gpu(scaled)(sent(x), np.zeros_like(x), 3.0)
    _, pullback = gpu(scaled).vjp(sent(x), sent(np.zeros_like(x)), 3.0)
    with pytest.raises(ArgumentError, match="LD608"):
        pullback(1.0, y=np.zeros_like(x))


def test_what_takes_numpy_arrays_alone_says_so(x: np.ndarray, stub: Any) -> None:
    there = sent(x), sent(np.zeros_like(x)), 3.0
    for call in (gpu(scaled).jacobian, gpu(scaled).compile, gpu(scaled, check="first").grad):
        with pytest.raises(ArgumentError, match="LD608: arrays of the device are for calls"):
            call(*there)
    with pytest.raises(ArgumentError, match="LD608: `made` got a complex array"):
        gpu(made)(sent(np.zeros(3, np.complex128)))


def test_cotangents_in_another_order_are_refused(x: np.ndarray, stub: Any) -> None:
    _, pullback = gpu(scaled).vjp(sent(x), sent(np.zeros_like(x)), 3.0)
    with pytest.raises(ArgumentError, match="LD609: an array of the device is not float64 in C order"):
        pullback(1.0, y=sent(np.asfortranarray(x)))


def test_no_memory_left_says_what_took_it(x: np.ndarray, stub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    f, y = gpu(scaled), np.zeros_like(x)
    f(x, y, 3.0)
    allocate = stub.cuMemAllocAsync
    monkeypatch.setattr(stub, "cuMemAllocAsync", lambda *args: 2)
    with pytest.raises(BackendError, match=r"LD606: .* `scaled`; bytes of its arrays: `y` 280, `x` 280"):
        f(x, y, 3.0)
    monkeypatch.setattr(stub, "cuMemAllocAsync", allocate)


def test_the_pool_can_be_looked_at(stub: Any) -> None:
    before, _ = loopdiff.cuda.memory_in_use()
    kept = sent(np.zeros(1000))
    assert loopdiff.cuda.memory_in_use() == (before + 8000, 2 * (before + 8000))
    del kept


# -- other libraries -----------------------------------------------------------------------------------------
class Theirs:
    """An array of another library, strided, on a stream of its own."""

    def __init__(self, held: np.ndarray, *, is_read_only: bool = False) -> None:
        self.held, self.is_read_only = held, is_read_only

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        held = self.held
        data = held.ctypes.data, self.is_read_only
        return {"shape": held.shape, "typestr": held.dtype.str, "strides": held.strides, "data": data, "version": 3}


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A stand-in for CuPy: its arrays, its current stream, and what it makes of others'."""
    module: Any = ModuleType("cupy")
    module.cuda = SimpleNamespace(get_current_stream=lambda: SimpleNamespace(ptr=0xABC0))
    module.ndarray = type("ndarray", (Theirs,), {"__module__": "cupy"})
    module.asarray = lambda value: module.ndarray(value.held)
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


def test_arrays_of_another_library_on_its_stream(x: np.ndarray, cupy: Any, stub: Any) -> None:
    """The stand-in's memory is the host's: a view of every second column, backwards."""
    base = np.random.default_rng(1).standard_normal((5, 14))
    theirs, y = cupy.ndarray(base[::-1, ::2]), np.zeros((5, 7))
    f = gpu(scaled)
    value, gradients = f.value_and_grad(theirs, cupy.ndarray(y), 3.0)
    expected, slopes = vectorize_grad(scaled).value_and_grad(base[::-1, ::2].copy(), np.zeros((5, 7)), 3.0)
    assert value == pytest.approx(expected, rel=1e-13)
    assert isinstance(gradients.x, cupy.ndarray)
    np.testing.assert_allclose(gradients.x.held, slopes.x, rtol=1e-12)
    assert stub.streams == {0xABC0}


def test_arrays_that_never_change_are_not_written(x: np.ndarray, stub: Any) -> None:
    with pytest.raises(ArgumentError, match="LD303: `y` is written, and the array is read-only"):
        gpu(scaled)(sent(x), Theirs(np.zeros_like(x), is_read_only=True), 3.0)


def test_an_array_without_elements(stub: Any) -> None:
    y, size = gpu(made)(Theirs(np.zeros(0)))
    assert (y.shape, size) == ((0,), 0)
    assert fetched(y).shape == (0,)


def test_other_targets_do_not_take_them(x: np.ndarray, stub: Any) -> None:
    with pytest.raises(ArgumentError, match="LD209"):
        vectorize_grad(made)(Theirs(np.zeros(3)))
