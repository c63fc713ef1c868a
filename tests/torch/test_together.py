"""Batches of `vmap` that run as one call of compiled code: values and gradients are those of PyTorch's own batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.func import grad, jvp, vmap  # noqa: E402

from loopdiff import vectorize_grad  # noqa: E402
from loopdiff.torch import functions, wrap  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
F64 = torch.float64


@vectorize_grad
def step(h, W, x):
    """A recurrent step, and a number."""
    out = np.zeros(h.shape[0])
    s = 0.0
    for i in range(h.shape[0]):
        t = x[i]
        for j in range(h.shape[0]):
            t += W[i, j] * h[j]
        out[i] = np.tanh(t)
        s += out[i]
    return s, out


def twin(h: Any, W: Any, x: Any) -> Any:
    out = torch.tanh(W @ h + x)
    return out.sum(), out


@vectorize_grad
def scaled(k, is_on, c, x, y):
    """Numbers of every type, and an array that is added to."""
    for i in range(x.shape[0]):
        if is_on:
            y[i] += c * x[i] ** k
    return c * k


def scaled_twin(k: Any, is_on: Any, c: Any, x: Any, y: Any) -> Any:
    return c * k, y + is_on * c * x**k


RNG = torch.Generator().manual_seed(0)
W, W3 = torch.randn(4, 4, dtype=F64, generator=RNG), torch.randn(3, 4, 4, dtype=F64, generator=RNG)
H, X = torch.randn(6, 4, dtype=F64, generator=RNG), torch.randn(6, 4, dtype=F64, generator=RNG)
H3 = torch.randn(3, 6, 4, dtype=F64, generator=RNG)
f = wrap(step)


def inner(k: Any) -> Any:
    return vmap(k, in_dims=(0, None, 0))


def outer(k: Any) -> Any:
    return vmap(k, in_dims=(0, 0, None))


def loss(k: Any) -> Any:
    def weighed(*args: Any) -> Any:
        s, out = k(*args)
        return (out**2).sum() + (s**3).sum()

    return weighed


def squared(k: Any, argnum: int) -> Any:
    return lambda *args: (grad(loss(k), argnum)(*args) ** 2).sum()


CASES: dict[str, tuple[Callable[[Any], Any], tuple[Any, ...]]] = {
    "values": (inner, (H, W, X)),
    "gradients of examples": (lambda k: inner(grad(loss(k), (0, 1, 2))), (H, W, X)),
    "gradients by what is shared": (lambda k: grad(loss(inner(k)), 1), (H, W, X)),
    "all gradients": (lambda k: grad(loss(inner(k)), (0, 1, 2)), (H, W, X)),
    "two levels": (lambda k: outer(inner(k)), (H3, W3, X)),
    "gradients between levels": (lambda k: outer(grad(loss(inner(k)), (0, 1, 2))), (H3, W3, X)),
    "gradients over levels": (lambda k: grad(loss(outer(inner(k))), (0, 1, 2)), (H3, W3, X)),
    "gradients of gradients": (lambda k: grad(squared(inner(k), 1), (0, 1)), (H, W, X)),
    "tangents of gradients": (
        lambda k: lambda H, W: jvp(lambda a, b: grad(loss(inner(k)), (0, 1))(a, b, X), (H, W), (H3[0], W3[0])),
        (H, W),
    ),
}


def close(found: Any, wanted: Any) -> None:
    torch.testing.assert_close(found, wanted, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_batches_are_those_of_pytorch(name: str) -> None:
    transform, args = CASES[name]
    close(transform(f)(*args), transform(twin)(*args))


@pytest.mark.parametrize("name", ["values", "gradients of examples", "all gradients", "gradients between levels"])
def test_elements_do_not_run_one_by_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(functions.ProgramCall, "each", None)
    transform, args = CASES[name]
    transform(f)(*args)


def test_numbers_of_every_type_and_arrays_that_all_share() -> None:
    k, c = torch.tensor([1, 2, 3], dtype=torch.int32), torch.tensor([0.5, 1.5, -1.0], dtype=torch.float32)
    is_on, x, y = torch.tensor([True, False, True]), torch.tensor([0.3, -0.8], dtype=F64), torch.ones(2, dtype=F64)
    g = wrap(scaled)
    close(
        vmap(g, (0, 0, 0, None, None))(k, is_on, c, x, y), vmap(scaled_twin, (0, 0, 0, None, None))(k, is_on, c, x, y)
    )

    def of_c(h: Any) -> Any:
        return lambda c, x: sum(v.sum() for v in vmap(h, (0, 0, 0, None, None))(k, is_on, c, x, y))

    close(grad(of_c(g), (0, 1))(c, x), grad(of_c(scaled_twin), (0, 1))(c, x))


def test_what_decides_sizes_runs_one_by_one() -> None:
    @vectorize_grad
    def spread(n, x):
        y = np.zeros(5)
        z = np.zeros(n)
        for i in range(n):
            z[i] = x[i] * x[i]
            y[i] += z[i]
        return y

    n, x = torch.tensor([2, 5, 0]), torch.arange(5.0, dtype=F64)
    rows = [torch.where(torch.arange(5) < k, x * x, 0.0) for k in (2, 5, 0)]
    close(vmap(wrap(spread), (0, None))(n, x), torch.stack(rows))


def test_no_elements() -> None:
    none = torch.zeros(0, 4, dtype=F64)
    s, out = inner(f)(none, W, none)
    assert (s.shape, out.shape) == ((0,), (0, 4))
    found = grad(loss(inner(f)), (0, 1))(none, W, none)
    assert found[0].shape == (0, 4)
    close(found[1], torch.zeros(4, 4, dtype=F64))
