"""Functions for the GPU, arrays on it, and stand-ins for other libraries, with arrays and streams of their own."""

from __future__ import annotations

import sys
from itertools import count
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import loopdiff.cuda
from loopdiff import vectorize_grad

NUMBERS = count(0xABC0, 16)


class Theirs:
    """An array of another library, strided; `stream` is what it says of it."""

    def __init__(self, held: np.ndarray, *, is_read_only: bool = False, stream: int | None = None) -> None:
        self.held, self.is_read_only, self.stream = held, is_read_only, stream

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        held = self.held
        return {
            "shape": held.shape, "typestr": held.dtype.str, "strides": held.strides, "version": 3,
            "data": (held.ctypes.data, self.is_read_only), "stream": self.stream,
        }  # fmt: skip


def kept_view(value: Any) -> np.ndarray:
    """What a library makes of an array of ours: it asks for the interface, and keeps the owner."""
    found = value.__cuda_array_interface__
    assert found["stream"] is None or found["stream"] > 0
    return value.held


def stand_in_cupy(monkeypatch: pytest.MonkeyPatch, destroyed: set[int]) -> Any:
    """CuPy: its arrays, what it makes of others', and streams, destroyed with their objects."""
    module: Any = ModuleType("cupy")
    current: list[Any] = []

    class ExternalStream:
        def __init__(self, ptr: int) -> None:
            self.ptr = ptr

        def __enter__(self) -> Any:
            current.append(self)
            return self

        def __exit__(self, *args: object) -> None:
            current.pop()

    class Stream(ExternalStream):
        def __init__(self, ptr: int | None = None) -> None:
            super().__init__(next(NUMBERS) if ptr is None else ptr)

        def __del__(self) -> None:
            if self.ptr > 2:
                destroyed.add(self.ptr)

    current.append(Stream(0))
    module.cuda = SimpleNamespace(
        Stream=Stream, ExternalStream=ExternalStream, get_current_stream=lambda: current[-1]
    )  # fmt: skip
    module.ndarray = type("ndarray", (Theirs,), {"__module__": "cupy"})
    module.asarray = lambda value: module.ndarray(kept_view(value))
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


def stand_in_torch(monkeypatch: pytest.MonkeyPatch) -> Any:
    """PyTorch: tensors that are differentiated say nothing of themselves; its streams are of a pool."""
    module: Any = ModuleType("torch")

    class Tensor(Theirs):
        __module__, device, requires_grad = "torch", "cuda:0", True

        def detach(self) -> Any:
            found = Tensor(self.held)
            found.requires_grad = False
            return found

        @property
        def __cuda_array_interface__(self) -> dict[str, Any]:
            if self.requires_grad:
                raise RuntimeError("it requires a gradient")
            return Theirs.__cuda_array_interface__.fget(self)  # type: ignore[attr-defined]

    module.Tensor = Tensor
    module.stream = SimpleNamespace(cuda_stream=0xDEF0, stream_id=3)
    module.cuda = SimpleNamespace(current_stream=lambda device: module.stream)
    module.as_tensor = lambda value, device: Tensor(kept_view(value))
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


def stand_in_jax(monkeypatch: pytest.MonkeyPatch) -> Any:
    """JAX: arrays that may not be there yet, and that keep nobody whose memory they are made of."""

    class ArrayImpl(Theirs):
        __module__ = "jaxlib._jax"
        is_ready = False

        def block_until_ready(self) -> Any:
            self.is_ready = True
            return self

        @property
        def __cuda_array_interface__(self) -> dict[str, Any]:
            return {**Theirs.__cuda_array_interface__.fget(self), "version": 2}  # type: ignore[attr-defined]

    def array(value: Any, *, copy: bool) -> Any:
        assert copy
        return ArrayImpl(kept_view(value).copy())

    module: Any = ModuleType("jax")
    module.Array, module.numpy = ArrayImpl, SimpleNamespace(array=array)
    monkeypatch.setitem(sys.modules, "jax", module)
    return module


def sent(value: Any) -> Any:
    return loopdiff.cuda.to_device(value) if isinstance(value, np.ndarray) else value


def fetched(value: Any) -> Any:
    return value.copy_to_host() if isinstance(value, loopdiff.cuda.DeviceArray) else value


def gpu(function: Any, **options: Any) -> Any:
    return vectorize_grad(target="cuda", cache=False, **options)(function)
