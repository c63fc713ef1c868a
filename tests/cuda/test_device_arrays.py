"""Arrays that are on the device already: taken without copies, on their stream, and given back in kind."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib.util
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import loopdiff.cuda
from loopdiff import vectorize_grad
from loopdiff.backends.cuda.driver import the_driver
from loopdiff.backends.cuda.launching import HELD, SLOTS
from loopdiff.backends.cuda.streams import PER_THREAD
from loopdiff.calls.on_device import borrowing
from loopdiff.errors import ArgumentError, BackendError, LoopdiffWarning
from tests.corpus import BY_NAME
from tests.cuda.libraries import Theirs, fetched, gpu, sent, stand_in_cupy, stand_in_jax, stand_in_torch
from tests.gradients import harness
from tests.gradients.test_battery import assert_close

pytestmark = [
    pytest.mark.part(3),
    pytest.mark.skipif(importlib.util.find_spec("numba_cuda") is None, reason="numba-cuda is not installed"),
]
DeviceArray = loopdiff.cuda.DeviceArray


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


@pytest.mark.parametrize("name", ["jacobi_2d", "while_newton", "two_returned_arrays"])
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


FOR_CALLS = "arrays of the device are for calls, `grad`, `value_and_grad`, `vjp` and `jvp`"
HOST_HERE = "hint: pass NumPy arrays here, and with `memory_limit` or `check='first'`"
TO_DEVICE = "hint: send those of the host once: `loopdiff.cuda.to_device(x)`"


@contextmanager
def refused(*texts: str) -> Iterator[None]:
    """An ArgumentError whose report has all the texts."""
    with pytest.raises(ArgumentError) as found:
        yield
    assert [t for t in texts if t not in str(found.value)] == []


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


def powers(begin, x):
    w = np.empty(begin[begin.shape[0] - 1])
    t = 0.0
    for i in range(begin.shape[0] - 1):
        for p in range(begin[i], begin[i + 1]):
            w[p] = x[p] * x[p]
            t += w[p] * w[p]
    return t


def test_arrays_whose_sizes_are_elements_of_others(stub: Any) -> None:
    begin, x = np.array([0, 2, 2, 5]), np.arange(1.0, 6.0)
    value, pullback = gpu(powers).vjp(sent(begin), sent(x))
    assert value == pytest.approx((x**4).sum(), rel=1e-13)
    np.testing.assert_allclose(fetched(pullback().x), 4.0 * x**3, rtol=1e-12)


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
    with refused("LD608: `scaled` got arrays of the device and of the host", TO_DEVICE):
        gpu(scaled)(sent(x), np.zeros_like(x), 3.0)
    _, pullback = gpu(scaled).vjp(sent(x), sent(np.zeros_like(x)), 3.0)
    with pytest.raises(ArgumentError, match="LD608"):
        pullback(1.0, y=np.zeros_like(x))


def test_what_takes_numpy_arrays_alone_says_so(x: np.ndarray, stub: Any) -> None:
    there = sent(x), sent(np.zeros_like(x)), 3.0
    for call in (gpu(scaled).jacobian, gpu(scaled).compile, gpu(scaled, check="first").grad):
        with refused(f"LD608: {FOR_CALLS}", HOST_HERE):
            call(*there)
    with refused("LD608: `made` got a complex array of the device", "hint: pass NumPy arrays"):
        gpu(made)(sent(np.zeros(3, np.complex128)))


def test_cotangents_in_another_order_are_refused(x: np.ndarray, stub: Any) -> None:
    _, pullback = gpu(scaled).vjp(sent(x), sent(np.zeros_like(x)), 3.0)
    with refused("LD609: an array of the device is not float64 in C order, as it is needed here"):
        pullback(1.0, y=sent(np.asfortranarray(x)))


def test_no_memory_left_says_what_took_it(x: np.ndarray, stub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    f, y = gpu(scaled), np.zeros_like(x)
    there = sent(x), sent(y)
    f(x, y, 3.0), f(*there, 3.0)
    with monkeypatch.context() as patch:
        patch.setattr(stub, "cuMemAllocAsync", lambda *args: 2)
        with pytest.raises(BackendError, match="LD606: the device has no memory left for 280 bytes"):
            f(x, y, 3.0)
    slot, allocate = SLOTS["cuMemAllocAsync"], ctypes.cast(stub.no_memory, ctypes.c_void_p).value
    monkeypatch.setattr(slot, "value", allocate)
    message = "LD606: the device has no memory left for `scaled`; bytes of its arrays: `y` 280, `x` 280"
    with pytest.raises(BackendError, match=message):
        f(*there, 3.0)


def with_much_between(x, index, y, n):
    t = np.zeros(x.shape[0] + 1)
    for k in range(3):
        for i in range(x.shape[0]):
            t[index[i]] += x[i] * k
        for i in range(x.shape[0]):
            y[i] += t[i] * x[i] / (k + 1)
    m = y[0]
    for i in range(x.shape[0]):
        m = max(m, y[i])
    return m + 7 // n


def test_what_a_function_asked_for_is_given_back_where_it_raises(stub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A division by zero of the host, and memory that runs out at the first allocation of compiled code, at the second,
    and so on."""
    args = sent(np.arange(1.0, 7.0)), sent(np.array([0, 2, 1, 1, 0, 5])), sent(np.zeros(6))
    f = vectorize_grad(wrt=("x",), target="cuda", cache=False)(with_much_between)
    f.value_and_grad(*args, 1)
    gc.collect()
    before, left = len(stub.memory), 0
    with pytest.raises(ZeroDivisionError):
        f.value_and_grad(*args, 0)
    gc.collect()
    assert HELD[0] == 0
    assert len(stub.memory) <= before

    def allocate(place: Any, size: int, stream: Any) -> int:
        nonlocal left
        left -= 1
        return 2 if left < 0 else stub.allocate(place, size, stream)

    failing = type(stub.cuMemAllocAsync)(allocate)
    monkeypatch.setattr(SLOTS["cuMemAllocAsync"], "value", ctypes.cast(failing, ctypes.c_void_p).value)
    gc.freeze()  # what is there by now is not looked at again and again
    for number in range(100):
        left = number
        with contextlib.suppress(BackendError):
            f.value_and_grad(*args, 1)
        gc.collect()
        assert HELD[0] == 0
        assert len(stub.memory) <= before, number
        if left >= 0:
            break
    gc.unfreeze()
    assert number > 10


def test_the_pool_can_be_looked_at(stub: Any) -> None:
    before, _ = loopdiff.cuda.memory_in_use()
    kept = sent(np.zeros(1000))
    assert loopdiff.cuda.memory_in_use() == (before + 8000, 2 * (before + 8000))
    del kept


# -- arrays of the host --------------------------------------------------------------------------------------
def test_seeds_and_cotangents_of_the_host_may_have_another_dtype_and_order(x: np.ndarray, stub: Any) -> None:
    np.testing.assert_array_equal(gpu(made).vjp(np.arange(4.0))[1]((np.ones(4, int), None)).x, 2.0)
    _, pullback = gpu(scaled).vjp(x, np.zeros_like(x), 3.0)
    _, expected = vectorize_grad(scaled).vjp(x, np.zeros_like(x), 3.0)
    cotangent = np.asfortranarray(x.astype(np.float32))
    found, wanted = pullback(np.array(2.0), y=cotangent), expected(2.0, y=cotangent)
    np.testing.assert_allclose(found.x, wanted.x, rtol=1e-12)
    assert found.k == pytest.approx(wanted.k, rel=1e-12)


def test_numbers_on_the_device_are_fetched(x: np.ndarray, stub: Any) -> None:
    f, there = gpu(scaled), (sent(x), sent(np.zeros_like(x)), 3.0)
    _, pullback = f.vjp(*there)
    twice, once = pullback(loopdiff.cuda.to_device(np.array(2.0))), pullback()
    np.testing.assert_allclose(fetched(twice.x), 2.0 * fetched(once.x), rtol=1e-14)
    _, tangents = f.jvp(there, {"k": loopdiff.cuda.to_device(np.array(2.0))})
    assert tangents.result == pytest.approx(2.0 * once.k, rel=1e-12)


def powered(x, *, k=2.0):
    t = 0.0
    for i in range(x.shape[0]):
        t += x[i] ** 2 * k
    return t


def test_parameters_that_go_by_name_only(stub: Any) -> None:
    f, x = gpu(powered), np.arange(4.0)
    for given in (x, sent(x)):
        assert f(given) == 28.0
        assert f(given, k=3.0) == 42.0
        np.testing.assert_array_equal(fetched(f.vjp(given)[1]().x), 4.0 * x)
        np.testing.assert_array_equal(fetched(f.grad(given, k=1.0).x), 2.0 * x)
    assert f.jvp((sent(x),), {"x": sent(np.ones(4))})[1].result == 24.0


def test_hessians_times_vectors(stub: Any) -> None:
    f, x = gpu(powered), np.arange(4.0)
    _, gradients, found = f.hvp((x,), {"x": np.ones(4)})
    assert (gradients.x.tolist(), found.x.tolist()) == ([0.0, 4.0, 8.0, 12.0], [4.0] * 4)


def until_small(x):
    t = 0.0
    for i in range(x.shape[0]):
        v = x[i]
        while v > 1.0:
            v = v * 0.5
            t += v * v
    return t


def test_gradients_of_gradients(stub: Any) -> None:
    x = np.array([3.0, 9.0, 0.5])
    found, wanted = gpu(gpu(until_small).grad), vectorize_grad(vectorize_grad(until_small).grad)
    np.testing.assert_allclose(found(x).x, wanted(x).x, rtol=1e-13)
    (one,), (other,) = (f.vjp(x)[1]((np.ones(3),)) for f in (found, wanted))
    np.testing.assert_allclose(one, other, rtol=1e-12)


def test_what_is_there_already_is_not_sent_again(x: np.ndarray, stub: Any) -> None:
    there = sent(x)
    assert loopdiff.cuda.to_device(there) is there


# -- other libraries -----------------------------------------------------------------------------------------
@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch, stub: Any) -> Iterator[Any]:
    with monkeypatch.context() as patch:
        yield stand_in_cupy(patch, stub.destroyed)


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Any:
    return stand_in_torch(monkeypatch)


def test_arrays_of_another_library_on_its_stream(x: np.ndarray, cupy: Any, stub: Any) -> None:
    """The stand-in's memory is the host's: a view of every second column, backwards."""
    base = np.random.default_rng(1).standard_normal((5, 14))
    theirs, y = cupy.ndarray(base[::-1, ::2]), np.zeros((5, 7))
    f = gpu(scaled)
    with cupy.cuda.Stream() as stream:
        value, gradients = f.value_and_grad(theirs, cupy.ndarray(y), 3.0)
    expected, slopes = vectorize_grad(scaled).value_and_grad(base[::-1, ::2].copy(), np.zeros((5, 7)), 3.0)
    assert value == pytest.approx(expected, rel=1e-13)
    assert isinstance(gradients.x, cupy.ndarray)
    np.testing.assert_allclose(gradients.x.held, slopes.x, rtol=1e-12)
    assert stub.streams == {stream.ptr}
    with stream:
        gpu(made)(cupy.ndarray(x[0]))
    assert stub.busy == {stream.ptr}, "nobody waits"


def test_arrays_of_the_host_are_sent_once_and_that_is_said_once(x: np.ndarray, stub: Any) -> None:
    f, y = gpu(scaled), np.zeros_like(x)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        f.value_and_grad(x, y, 3.0)
        stub.moved.clear()
        value, gradients = f.value_and_grad(x, y, 3.0)
    (warning,) = caught
    message = "LW601: NumPy arrays are copied to the GPU and back in each call of `scaled`; "
    assert str(warning.message) == message + "`loopdiff.cuda.to_device(x)` sends one once"
    assert (warning.category, warning.filename) == (LoopdiffWarning, __file__)
    assert sorted(n for n in stub.moved if n > 8) == [x.nbytes] * 4, "x and y there, y and the gradient back"
    assert value == pytest.approx(scaled(x, np.zeros_like(x), 3.0), rel=1e-13)
    np.testing.assert_allclose(y, 3.0 * np.sin(x), rtol=1e-14)
    assert gradients.x.shape == x.shape


def test_tensors_of_pytorch(x: np.ndarray, torch: Any, stub: Any) -> None:
    y, size = gpu(made)(torch.Tensor(x[0]))
    assert (type(y), size) == (torch.Tensor, 7)
    np.testing.assert_array_equal(y.held, 2.0 * x[0])
    assert stub.streams == {0xDEF0}


def test_arrays_of_jax_are_not_written_and_are_waited_for(
    x: np.ndarray, stub: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    jax = stand_in_jax(monkeypatch)
    theirs = jax.Array(x[0])
    y, _ = gpu(made)(theirs)
    gc.collect()
    assert type(y) is jax.Array
    assert theirs.is_ready
    assert y.is_ready
    np.testing.assert_array_equal(y.held, 2.0 * x[0])
    with refused("LD303: `y` is written, and the array is read-only"):
        gpu(scaled)(jax.Array(x), jax.Array(np.zeros_like(x)), 3.0)


def test_arrays_that_never_change_are_not_written(x: np.ndarray, stub: Any) -> None:
    with pytest.raises(ArgumentError, match="LD303: `y` is written, and the array is read-only"):
        gpu(scaled)(sent(x), Theirs(np.zeros_like(x), is_read_only=True), 3.0)


def test_an_array_without_elements(stub: Any) -> None:
    y, size = gpu(made)(Theirs(np.zeros(0)))
    assert (y.shape, size) == ((0,), 0)
    assert fetched(y).shape == (0,)


def test_other_targets_do_not_take_them(x: np.ndarray, stub: Any) -> None:
    with pytest.raises(ArgumentError, match="LD210"):
        vectorize_grad(made)(Theirs(np.zeros(3)))


# -- streams -------------------------------------------------------------------------------------------------
def test_memory_keeps_the_stream_it_is_given_back_on(x: np.ndarray, cupy: Any, stub: Any) -> None:
    f = gpu(until_small)
    with cupy.cuda.Stream() as stream:
        _, gradients = f.value_and_grad(cupy.ndarray(9.0 * np.abs(x[0])))
        _, pullback = f.vjp(cupy.ndarray(x[0]))
    number = stream.ptr
    del stream, f, pullback
    gc.collect()
    assert number not in stub.destroyed, "a gradient is left"
    del gradients
    gc.collect()
    assert number in stub.destroyed


def test_pullbacks_on_another_stream_than_the_forward_sweep(cupy: Any, stub: Any) -> None:
    """Streams that do not wait for each other; tapes are given back where they were made."""
    x = np.array([3.0, 9.0, 0.5])
    f, expected = gpu(until_small), vectorize_grad(until_small).grad(x).x
    with cupy.cuda.Stream():
        _, pullback = f.vjp(cupy.ndarray(x))
    np.testing.assert_allclose(pullback().x.held, expected, rtol=1e-13)
    with cupy.cuda.Stream():
        found = pullback(2.0).x
    np.testing.assert_allclose(found.held, 2.0 * expected, rtol=1e-13)
    del pullback
    np.testing.assert_allclose(f.grad(cupy.ndarray(x)).x.held, expected, rtol=1e-13)


def test_calls_on_stream_after_stream_share_no_memory(cupy: Any, stub: Any) -> None:
    x = np.array([3.0, 9.0, 0.5])
    f = gpu(until_small)
    expected = vectorize_grad(until_small).grad(x).x
    for _ in range(4):
        with cupy.cuda.Stream():
            np.testing.assert_allclose(f.grad(cupy.ndarray(x)).x.held, expected, rtol=1e-13)
    assert len(stub.destroyed) == 3, "the arena keeps what the last one has used, and no more"


@pytest.mark.parametrize("number", [0xBAD0, PER_THREAD])
def test_nothing_runs_on_a_stream_that_nobody_keeps(
    x: np.ndarray, cupy: Any, torch: Any, stub: Any, number: int
) -> None:
    """One of CuPy's or PyTorch's that only names another's, and one that an array names: they are waited for."""
    torch.stream.cuda_stream = torch.stream.stream_id = number
    for made_array in (cupy.ndarray, torch.Tensor, lambda held: Theirs(held, stream=number)):
        stub.busy.add(number)
        with cupy.cuda.ExternalStream(number):
            y, _ = gpu(made)(made_array(x[0]))
        assert number not in stub.busy
        assert stub.streams == {0}
        assert 0 not in stub.busy, "results are there"
        np.testing.assert_array_equal(fetched(y) if isinstance(y, DeviceArray) else y.held, 2.0 * x[0])
        stub.streams.clear()


def test_arrays_of_two_libraries_are_finished(x: np.ndarray, cupy: Any, torch: Any, stub: Any) -> None:
    """What is written is read on the other one's stream next, and ours is given back on another one."""
    f, y = gpu(scaled), sent(np.zeros_like(x))
    with cupy.cuda.Stream() as stream:
        f(cupy.ndarray(x), y, 3.0)
        assert not stub.busy
        f(cupy.ndarray(x), torch.Tensor(np.zeros_like(x)), 3.0)
    assert stub.streams == {stream.ptr}
    assert not stub.busy


def test_calls_that_raise_are_waited_for(x: np.ndarray, cupy: Any, stub: Any) -> None:
    given, twin = (cupy.ndarray(x), sent(x)), SimpleNamespace(__name__="f")
    with contextlib.suppress(KeyError), cupy.cuda.Stream() as stream, borrowing(twin, given) as (own, _):
        the_driver().clear(own[1])
        assert stub.busy == {stream.ptr}
        raise KeyError
    assert not stub.busy


def test_what_others_use_is_given_back_when_the_device_is_idle(x: np.ndarray, cupy: Any, stub: Any) -> None:
    there = sent(x)
    theirs = cupy.asarray(there)
    stub.busy.add(0xABC)  # theirs
    del theirs, there
    gc.collect()
    assert 0xABC not in stub.busy
