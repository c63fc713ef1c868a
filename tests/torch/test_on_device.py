"""Tensors of the GPU: on the stand-in for the driver, whose memory is the host's. No test here needs a GPU."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("numba_cuda") is None, reason="numba-cuda is not installed"),
    pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning"),
]

from torch.autograd import forward_ad  # noqa: E402

from loopdiff import ArgumentError, DifferentiationError, vectorize_grad  # noqa: E402
from loopdiff.memory import foreign  # noqa: E402
from loopdiff.torch import on_device, wrap  # noqa: E402


def smoothed(x, a, y, z):
    """A number, an array that is written and one that is added to."""
    s = 0.0
    for i in range(x.shape[0]):
        y[i] = np.sin(x[i]) * a
        z[i] += y[i] * y[i]
        s += y[i] * x[i]
    return s


def twin(x: Any, a: Any, z: Any) -> Any:
    y = torch.sin(x) * a
    return (y * x).sum(), y, z + y * y


class There(torch.Tensor):
    """A tensor that says its memory is the GPU's."""

    __module__ = "torch.there"

    @property
    def device(self) -> Any:  # type: ignore[override]
        return torch.device("cuda", 0)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        array = self.detach().as_subclass(torch.Tensor).numpy()  # type: ignore[arg-type]
        return {
            "shape": array.shape, "typestr": array.dtype.str, "strides": array.strides, "version": 3,
            "data": (array.ctypes.data, False), "stream": None,
        }  # fmt: skip


def there(values: Any) -> Any:
    return torch.as_tensor(values, dtype=torch.float64).clone().as_subclass(There)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    from tests.cuda.stub import gpu_machine

    library = foreign.Library(
        lambda array, like: torch.from_numpy(np.array(array.held)).as_subclass(There),
        lambda value: foreign.DEFAULT, lambda value: value.detach(),
    )  # fmt: skip
    monkeypatch.setitem(foreign.LIBRARIES, "torch", library)
    monkeypatch.setattr(on_device.DeviceCall, "device", torch.device("cpu"))
    with gpu_machine() as found:
        yield found


X, Z = torch.tensor([0.3, 0.8, -0.5], dtype=torch.float64), torch.tensor([0.2, 0.1, 0.4], dtype=torch.float64)


def wrapped(**settings: Any) -> Any:
    function = vectorize_grad(target="cuda", cache=False, **settings)(smoothed)
    return wrap(function, outputs={"y": lambda x, a, z: torch.zeros(3, dtype=torch.float64).as_subclass(There)})


def test_both_modes_of_first_order(gpu: Any) -> None:
    f, x, z = wrapped(), there(X), there(Z)
    for found, expected in zip(f(x, 0.7, z), twin(X, 0.7, Z), strict=True):
        np.testing.assert_allclose(np.asarray(found.detach()), expected, rtol=1e-12)
    np.testing.assert_array_equal(np.asarray(z.detach()), Z)
    leaves = x.requires_grad_(), torch.tensor(0.7, dtype=torch.float64, requires_grad=True), z.requires_grad_()
    plain = X.clone().requires_grad_(), leaves[1].detach().clone().requires_grad_(), Z.clone().requires_grad_()
    seeds = torch.tensor(0.5, dtype=torch.float64), there([1.0, 2.0, 3.0]), there([0.1, 0.2, 0.3])
    slopes = torch.autograd.grad(f(*leaves), leaves, seeds)
    others = torch.autograd.grad(twin(*plain), plain, [s.as_subclass(torch.Tensor) for s in seeds])
    for found, expected in zip(slopes, others, strict=True):
        np.testing.assert_allclose(np.asarray(found.detach()), expected, rtol=1e-12)


def test_tangents(gpu: Any) -> None:
    f, x, z = wrapped(), there(X), there(Z)
    with forward_ad.dual_level():
        found = f(forward_ad.make_dual(x, there(X * X)), 0.7, z)
        slopes = [forward_ad.unpack_dual(t).tangent for t in found]
    expected = torch.func.jvp(lambda x: twin(x, 0.7, Z), (X,), (X * X,))[1]
    for slope, other in zip(slopes, expected, strict=True):
        assert slope is not None
        np.testing.assert_allclose(np.asarray(slope.detach()), other, rtol=1e-12)


def test_refusals(gpu: Any) -> None:
    f, x, z = wrapped(wrt="x"), there(X), there(Z)
    with pytest.raises(ArgumentError, match="LD350: `x` is on cpu, and `smoothed` is compiled for the GPU"):
        f(X, 0.7, z)
    with pytest.raises(ArgumentError, match="LD350: `smoothed` is for the GPU, where tensors have"):
        torch.func.vmap(lambda n: f(x, n, z))(torch.ones(2))
    with pytest.raises(DifferentiationError, match="LD405: `a`"):
        f(x, torch.tensor(0.7, requires_grad=True), z)
    with pytest.raises(ArgumentError, match="LD350: `smoothed` is for the GPU"):
        torch.autograd.grad(f(x.requires_grad_(), 0.7, z)[0], x, create_graph=True)
