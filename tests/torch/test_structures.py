"""Lists, dictionaries and records of tensors through `wrap`, against PyTorch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from loopdiff import vectorize_grad  # noqa: E402
from loopdiff.torch import wrap  # noqa: E402

F64 = torch.float64


def loss(params, x, act):
    for layer in params:
        x = x @ layer["w"] + layer["b"]
        if act == "relu":
            x = np.maximum(x, 0.0)
    return {"loss": (x**2).sum(), "last": x}


def twin(params: Any, x: Any, act: str) -> Any:
    for layer in params:
        x = x @ layer["w"] + layer["b"]
        x = torch.relu(x) if act == "relu" else x
    return {"loss": (x**2).sum(), "last": x}


@dataclass
class Pair:
    a: Any
    b: Any


@vectorize_grad
def paired(p, x):
    s = 0.0
    for i in range(x.shape[0]):
        s += p.a[i] * np.sin(p.b * x[i])
    return Pair(s, x * p.b)


def drawn(*shape: int, seed: int = 0) -> Any:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def total(function: Any) -> Any:
    def value(params: Any, x: Any) -> Any:
        found = function(params, x, "relu")
        return found["loss"] + found["last"][0, 0]

    return value


PARAMS = [{"w": drawn(3, 4), "b": drawn(4, seed=1)}, {"b": drawn(2, seed=2), "w": drawn(4, 2, seed=3)}]
X = drawn(5, 3, seed=4)
wrapped = wrap(vectorize_grad(loss))


def test_values_and_transforms() -> None:
    torch.testing.assert_close(wrapped(PARAMS, X, "relu"), twin(PARAMS, X, "relu"))
    assert list(wrapped(PARAMS, X, "none")) == ["loss", "last"]
    for transform in (lambda f: torch.func.grad(f, (0, 1)), lambda f: torch.func.jacrev(torch.func.grad(f), 1)):
        torch.testing.assert_close(transform(total(wrapped))(PARAMS, X), transform(total(twin))(PARAMS, X))


def test_backward() -> None:
    def gradients(function: Any) -> Any:
        params = [{n: t.clone().requires_grad_() for n, t in layer.items()} for layer in PARAMS]
        total(function)(params, X).backward()
        return [{n: t.grad for n, t in layer.items()} for layer in params]

    torch.testing.assert_close(gradients(wrapped), gradients(twin))
    torch.testing.assert_close(gradients(wrapped), gradients(twin))


def test_records() -> None:
    f, x = wrap(paired), drawn(4)
    p = Pair(drawn(4, seed=1).requires_grad_(), torch.tensor(0.5, dtype=F64, requires_grad=True))
    found = f(p, x)
    assert type(found) is Pair
    slopes = torch.autograd.grad(found.a + found.b.sum(), (p.a, p.b))
    value = (p.a * torch.sin(p.b * x)).sum() + (x * p.b).sum()
    torch.testing.assert_close(slopes, torch.autograd.grad(value, (p.a, p.b)))
