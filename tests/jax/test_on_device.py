"""Foreign calls that launch kernels: on the stand-in for the driver, whose memory is XLA's, and lowered for CUDA."""

from __future__ import annotations

import ctypes
import importlib.util
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from tests.corpus import BY_NAME

jax = pytest.importorskip("jax")
pytestmark = [
    pytest.mark.part(3),
    pytest.mark.skipif(importlib.util.find_spec("numba_cuda") is None, reason="numba-cuda is not installed"),
]


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Handlers for the GPU, registered for the CPU, where XLA has no stream."""
    from loopdiff.jax import on_device
    from tests.cuda.stub import gpu_machine

    monkeypatch.setattr(on_device, "PLATFORM", "cpu")
    monkeypatch.setattr(on_device, "ASKS_STREAM", False)
    with gpu_machine() as found:
        before = len(found.memory)
        yield found
        assert len(found.memory) == before, "memory was not given back"


def wrapped(function: Any, **settings: Any) -> Any:
    from loopdiff.jax import wrap

    outputs = settings.pop("outputs", None)
    return wrap(vectorize_grad(target="cuda", cache=False, **settings)(function), outputs)


def scaled(x, w, k, y):
    t = 0.0
    for i in range(x.shape[0]):
        for j in range(k):
            y[i, j] = w * np.sin(x[i, j])
            t += y[i, j] * x[i, j]
    return t


@pytest.fixture
def x() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((5, 7))


def by_jax(x, w, k):
    y = jax.numpy.zeros_like(x).at[:, :k].set(w * jax.numpy.sin(x[:, :k]))
    return (y * x).sum(), y


@pytest.mark.parametrize("is_traced", [False, True])
def test_values_and_gradients(x: np.ndarray, stub: Any, is_traced: bool) -> None:
    """With an integer that is part of the handler, and with one that only the device has."""
    f = wrapped(scaled, outputs={"y": lambda x, w, k: x.shape})

    def loss(x, w, k):
        t, y = f(x, w, k)
        return t + (y * y).sum()

    def expected(x, w):
        t, y = by_jax(x, w, 6)
        return t + (y * y).sum()

    given = jax.value_and_grad(loss, argnums=(0, 1))
    if is_traced:
        found = jax.jit(given)(x, 1.5, jax.numpy.asarray(6))
    else:
        found = jax.jit(lambda x, w: given(x, w, 6))(x, 1.5)
    wanted = jax.value_and_grad(expected, argnums=(0, 1))(x, 1.5)
    assert stub.calls
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("name", ["rde_matmul_log1p", "jacobi_2d", "spmv_csr"])
def test_the_suite(name: str, stub: Any) -> None:
    entry = BY_NAME[name]
    args = entry.args(0)
    f = wrapped(entry.function, wrt=entry.wrt)
    result, pullback = vectorize_grad(entry.function, wrt=entry.wrt).vjp(*entry.args(0).values())
    after = entry.args(0)
    plain = entry.function(*after.values())
    outputs = f(*args.values())
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    wanted = ([] if plain is None else [plain]) + [after[n] for n in entry.outputs]
    for found, value in zip(outputs, wanted, strict=True):
        np.testing.assert_allclose(found, value, rtol=1e-10, atol=1e-12)
    del result, pullback


def stencil(x):
    y = np.zeros(x.shape[0])
    for i in range(1, x.shape[0] - 1):
        y[i] = x[i - 1] + x[i + 1] - 2.0 * x[i]
    return y


def test_lowered_for_cuda_without_a_gpu() -> None:
    text = jax.jit(wrapped(stencil)).trace(np.zeros(8)).lower(lowering_platforms=("cuda",)).as_text()
    assert "custom_call @loopdiff_stencil" in text


def looked_up(index, table):
    t = 0.0
    for i in range(index.shape[0]):
        t += table[index[i]]
    return t


def test_what_threads_find_wrong_is_an_error_of_xla(stub: Any) -> None:
    f = wrapped(looked_up)
    assert f(np.array([0, 2]), np.arange(3.0)) == 2.0
    with pytest.raises(Exception, match=r"loopdiff: `looked_up` stopped: LD310"):
        jax.block_until_ready(f(np.array([0, 3]), np.arange(3.0)))


def test_only_calls_that_nobody_waits_for_may_be_captured() -> None:
    """XLA puts those into graphs of its own."""
    made = traits_of(lambda: jax.jit(wrapped(stencil)).lower(np.zeros(8)))
    checked = traits_of(lambda: jax.jit(wrapped(looked_up)).lower(np.zeros(8, np.int64), np.zeros(8)))
    assert (made, checked) == (1, 0)


def traits_of(lower: Any) -> int:
    """The traits of the last handler that `lower` has registered."""
    from unittest.mock import patch

    from loopdiff.jax import calls

    seen: list[Any] = []
    with patch.object(calls, "register", lambda handler, target, platform: seen.append(handler)):
        lower()
    return seen[-1].traits


# -- the stream ----------------------------------------------------------------------------------------------
class Buffer(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t), ("extension", ctypes.c_void_p), ("dtype", ctypes.c_int),
        ("data", ctypes.c_void_p), ("rank", ctypes.c_int64), ("dims", ctypes.c_void_p),
    ]  # fmt: skip


class Listed(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t), ("extension", ctypes.c_void_p), ("count", ctypes.c_int64),
        ("types", ctypes.c_void_p), ("items", ctypes.c_void_p),
    ]  # fmt: skip


class Frame(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t), ("extension", ctypes.c_void_p), ("api", ctypes.c_void_p),
        ("context", ctypes.c_void_p), ("stage", ctypes.c_int), ("args", Listed), ("rets", Listed),
    ]  # fmt: skip


class Question(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t), ("extension", ctypes.c_void_p), ("context", ctypes.c_void_p),
        ("stream", ctypes.c_void_p),
    ]  # fmt: skip


def doubled(x):
    """Of its own for this test: what was compiled without a GPU has no kernels loaded."""
    y = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        y[i] = 2.0 * x[i]
    return y


@pytest.mark.parametrize("error", [0, 0x55])
def test_kernels_run_on_the_stream_that_xla_says(error: int) -> None:
    """A frame as XLA makes it for a GPU."""
    from loopdiff.jax import handlers
    from tests.cuda.stub import gpu_machine

    keep: list[Any] = []

    def answered(question: Any) -> int:
        asked = question.contents
        assert (asked.size, asked.context) == (32, 0x77)
        asked.stream = 0xABCD
        return error

    def described(array: np.ndarray) -> int:
        dims = np.array(array.shape, np.int64)
        keep.extend((dims, Buffer(48, None, 12, array.ctypes.data, array.ndim, dims.ctypes.data)))
        return ctypes.addressof(keep[-1])

    answer = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.POINTER(Question))(answered)
    api = (ctypes.c_int64 * 24)()
    api[10] = ctypes.cast(answer, ctypes.c_void_p).value or 0
    with gpu_machine() as stub:
        before = set(handlers.REGISTERED)
        jax.jit(wrapped(doubled)).trace(np.zeros(6)).lower(lowering_platforms=("cuda",))
        (target,) = set(handlers.REGISTERED) - before
        assert target.endswith(" CUDA")
        x, y = np.arange(6.0) ** 2, np.full(6, np.nan)
        args, rets = ((ctypes.c_int64 * 1)(described(a)) for a in (x, y))
        listed = (Listed(0, None, 1, None, ctypes.addressof(items)) for items in (args, rets))
        frame = Frame(0, None, ctypes.addressof(api), 0x77, 3, *listed)
        call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(handlers.REGISTERED[target].address)
        assert call(ctypes.addressof(frame)) == error
        if error:
            assert not stub.calls
        else:
            assert stub.streams == {0xABCD}
            np.testing.assert_array_equal(y, 2.0 * x)


def test_what_waits_is_never_captured(stub: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """XLA makes graphs of what only launches; numbers that the device has are waited for, which a graph cannot."""
    from loopdiff.jax import on_device
    from loopdiff.jax.abi import COMMAND_BUFFER_COMPATIBLE

    found: list[int] = []
    before = on_device.device_handler

    def noted(*args: Any) -> Any:
        handler = before(*args)
        found.append(handler.traits)
        return handler

    def waited(x: Any, k: Any) -> Any:
        return wrapped(shifted)(x, k).sum()

    monkeypatch.setattr(on_device, "device_handler", noted)
    jax.jit(jax.grad(waited))(np.ones(8), 3.0)
    is_waiting, found[:] = list(found), []
    jax.jit(jax.grad(waited))(np.ones(8), np.full((), 3.0))
    assert is_waiting
    assert not any(is_waiting)
    assert COMMAND_BUFFER_COMPATIBLE in found


def shifted(x, k):
    y = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        y[i] = k * x[i] * x[i]
    return y
