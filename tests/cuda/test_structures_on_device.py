"""Lists, dictionaries and records of arrays that go to a GPU, or are there."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from loopdiff.cuda import DeviceArray
from loopdiff.errors import ArgumentError
from tests.cuda.libraries import Theirs, fetched, gpu, sent, stand_in_torch

pytestmark = pytest.mark.skipif(importlib.util.find_spec("numba_cuda") is None, reason="numba-cuda is not installed")


class Layer(NamedTuple):
    w: Any
    b: Any


def layered(layer, ws, x):
    out = np.zeros_like(x)
    for i in range(x.shape[0]):
        out[i] = layer.w[i] * x[i] + layer.b
    ws["new"][:] = out * ws["old"]
    return {"out": out, "energy": (out * out).sum()}


@pytest.mark.parametrize("send", [lambda value: value, sent, Theirs])
def test_structures_of_arrays_of_the_host_and_of_the_device(send: Callable[[Any], Any], stub: Any) -> None:
    """Closed form: out = w x + b, energy = out.out, new = out old."""
    rng = np.random.default_rng(1)
    x, w, old, weight, other = rng.standard_normal((5, 4))
    f = gpu(layered)

    def arguments() -> tuple[Layer, dict[str, Any], Any]:
        return Layer(send(w), 2.0), {"old": send(old), "new": send(np.zeros(4))}, send(x.copy())

    out = w * x + 2.0
    args = arguments()
    value = f(*args)
    np.testing.assert_allclose(there(value["out"]), out, rtol=1e-14)
    assert value["energy"] == pytest.approx(out @ out, rel=1e-13)
    np.testing.assert_allclose(there(args[1]["new"]), out * old, rtol=1e-14)
    value, pullback = f.vjp(*arguments())
    slopes = pullback({"out": send(weight), "energy": 3.0}, ws={"old": None, "new": send(other)})
    by_out = weight + 6.0 * out + other * old
    np.testing.assert_allclose(there(slopes.layer.w), by_out * x, rtol=1e-13)
    assert slopes.layer.b == pytest.approx(by_out.sum(), rel=1e-13)
    np.testing.assert_allclose(there(slopes.ws["old"]), other * out, rtol=1e-13)
    np.testing.assert_allclose(there(slopes.x), by_out * w, rtol=1e-13)
    value, along = f.jvp(arguments(), {"x": send(weight)})
    np.testing.assert_allclose(there(along.result["out"]), w * weight, rtol=1e-14)
    assert along.result["energy"] == pytest.approx(2.0 * out @ (w * weight), rel=1e-12)


def test_differentiated_tensors_in_structures(monkeypatch: pytest.MonkeyPatch, stub: Any) -> None:
    """Their types of elements are none of NumPy's."""
    torch = stand_in_torch(monkeypatch)
    monkeypatch.setattr(torch.Tensor, "dtype", object(), raising=False)
    x = np.arange(1.0, 4.0)
    slopes = gpu(lambda p, k: k * (p["x"] * p["x"]).sum(), wrt=("p",)).grad({"x": torch.Tensor(x)}, 3.0)
    np.testing.assert_allclose(there(slopes.p["x"]), 6.0 * x, rtol=1e-14)


def there(array: Any) -> np.ndarray:
    """An array of the device, of whatever library, as one of NumPy."""
    return fetched(array) if isinstance(array, np.ndarray | DeviceArray) else array.held


def test_structures_do_not_mix_arrays_of_the_host_and_of_the_device(x: np.ndarray, stub: Any) -> None:
    with pytest.raises(ArgumentError, match=r"LD608: .* got arrays of the device and of the host"):
        gpu(layered)(Layer(sent(x[0]), 1.0), {"old": x[1], "new": x[2].copy()}, x[3])


def test_names_mean_what_they_did_when_the_function_was_decorated(x: np.ndarray, stub: Any) -> None:
    """Also for arrays of the device, whose function is made at their first call."""
    factor = 2.0

    def scaled_sum(v):
        return (factor * v).sum()

    f = gpu(scaled_sum)
    factor = 3.0
    assert f(sent(x[0])) == pytest.approx(2.0 * x[0].sum(), rel=1e-13)
    assert f.on("cpu")(x[0]) == pytest.approx(2.0 * x[0].sum(), rel=1e-13)


@pytest.mark.parametrize("send", [lambda value: value, sent, Theirs])
def test_numbers_of_axes_are_those_of_each_call(send: Callable[[Any], Any], stub: Any) -> None:
    @gpu
    def by_rank(p):
        if p["x"].ndim == 1:
            return 2.0 * p["x"].sum()
        return 3.0 * p["x"].sum()

    x = np.arange(6.0)
    assert by_rank({"x": send(x)}) == 30.0
    assert by_rank({"x": send(x.reshape(2, 3))}) == 45.0
    assert by_rank({"x": send(x)}) == 30.0
