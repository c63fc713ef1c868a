"""Tensors of float16 and bfloat16: what twins in float32 give for the widened tensors, rounded to the type."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("ml_dtypes")

from loopdiff import ArgumentError, vectorize_grad  # noqa: E402
from loopdiff.torch import wrap  # noqa: E402
from tests.jax.test_halves import copies, loss, product, smoothed  # noqa: E402

pytestmark = pytest.mark.part(3)
each = pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
wrapped_loss = wrap(loss)
wrapped_product = wrap(product, outputs={"C": lambda A, B: (A.shape[0], B.shape[1])})


@vectorize_grad
def narrowed(x):
    y = np.empty(x.shape[0], dtype=np.float16)
    for i in range(x.shape[0]):
        y[i] = x[i] * x[i]
    return y


def loss_twin(w: Any, X: Any, t: Any) -> Any:
    return (torch.sin(X @ w - t) ** 2).sum()


def product_twin(A: Any, B: Any) -> Any:
    return torch.tanh(A @ B)


def drawn(dtype: Any, *shape: int) -> Any:
    return torch.from_numpy(np.random.default_rng(sum(shape)).normal(size=shape)).to(dtype)


def asked(*tensors: Any) -> list[Any]:
    return [t.clone().requires_grad_() for t in tensors]


def wide(*tensors: Any) -> list[Any]:
    return [t.detach().float() for t in tensors]


def near(found: Any, expected: Any, dtype: Any, units: float = 0.51) -> None:
    """Of type `dtype`, and no further from `expected` than a rounding takes it, with what float32 loses before."""
    assert found.dtype == dtype
    got, want = (t.detach().double().numpy() for t in (found, expected))
    unit = torch.finfo(dtype).eps * np.maximum(2.0 ** np.floor(np.log2(np.abs(want) + 1e-30)), 2.0**-14)
    np.testing.assert_array_less(np.abs(got - want), units * unit + 4e-6 * np.abs(want).max())


@each
def test_gradients_are_of_the_type_and_rounded_once(dtype: Any) -> None:
    args = asked(drawn(dtype, 5), drawn(dtype, 7, 5), drawn(dtype, 7))
    value = wrapped_loss(*args)
    assert value.dtype == torch.float32
    twins = asked(*wide(*args))
    for got, want in zip(torch.autograd.grad(value, args), torch.autograd.grad(loss_twin(*twins), twins), strict=True):
        near(got, want, dtype)
    w = args[0].detach()
    near(torch.func.grad(wrapped_loss)(w, *args[1:]), torch.func.grad(loss_twin)(*wide(*args)), dtype)


@each
def test_strides_and_pure_outputs(dtype: Any) -> None:
    args, seed = asked(drawn(dtype, 3, 4).T, drawn(dtype, 6, 5)[::2]), drawn(dtype, 4, 5)
    C = wrapped_product(*args)
    twins = asked(*wide(*args))
    expected = product_twin(*twins)
    near(C, expected, dtype)
    wanted = torch.autograd.grad(expected, twins, seed.float())
    for got, want in zip(torch.autograd.grad(C, args, seed), wanted, strict=True):
        near(got, want, dtype)


@each
def test_written_tensors_and_their_cotangents(dtype: Any) -> None:
    x, seed = drawn(dtype, 9), drawn(dtype, 9)
    (given,) = asked(x)
    y = wrap(smoothed)(given, 0.7)
    assert torch.equal(given.detach(), x)
    expected = [x[0].float()]
    for v in x[1:]:
        expected.append((np.float32(0.7) * v.float() * expected[-1] + 0.5).to(dtype).float())
    near(y, torch.stack(expected), dtype, units=1.01)
    adjoint, of_x = seed.float().clone(), torch.zeros(9)
    for i in range(8, 0, -1):
        of_x[i] = adjoint[i] * 0.7 * y[i - 1].float()
        adjoint[i - 1] += adjoint[i] * 0.7 * x[i].float()
    of_x[0] = adjoint[0]
    near(torch.autograd.grad(y, given, seed)[0], of_x, dtype)


@each
def test_tangents_and_second_derivatives(dtype: Any) -> None:
    args, ways = (drawn(dtype, 4, 3), drawn(dtype, 3, 5)), (drawn(dtype, 4, 3), drawn(dtype, 3, 5))
    _, tangent = torch.func.jvp(wrapped_product, args, ways)
    near(tangent, torch.func.jvp(product_twin, tuple(wide(*args)), tuple(wide(*ways)))[1], dtype)
    w, X, t, way = drawn(dtype, 5), drawn(dtype, 7, 5), drawn(dtype, 7), drawn(dtype, 5)

    def slope(f: Any) -> Any:
        return lambda w, X, t, way: torch.dot(torch.func.grad(f)(w, X, t).float(), way.float())

    found = torch.func.grad(slope(wrapped_loss))(w, X, t, way)
    near(found, torch.func.grad(slope(loss_twin))(*wide(w, X, t, way)), dtype)


@each
def test_batches(dtype: Any) -> None:
    """Gradients of what all examples share are summed in float32."""
    w, X, t = drawn(dtype, 5), drawn(dtype, 6, 7, 5), drawn(dtype, 6, 7)

    def total(f: Any) -> Any:
        return lambda w: torch.func.vmap(f, (None, 0, 0))(w, X.to(w.dtype), t.to(w.dtype)).sum()

    near(torch.func.grad(total(wrapped_loss))(w), torch.func.grad(total(loss_twin))(w.float()), dtype)
    each_w = torch.func.vmap(torch.func.grad(wrapped_loss), (None, 0, 0))(w, X, t)
    near(each_w, torch.func.vmap(torch.func.grad(loss_twin), (None, 0, 0))(*wide(w, X, t)), dtype)


@each
def test_tensors_that_are_returned_and_numbers(dtype: Any) -> None:
    (x,) = asked(drawn(dtype, 6))
    y, total = wrap(copies)(x)
    near(y, x.float() ** 2, dtype)
    assert total.dtype == torch.float32
    near(torch.autograd.grad(total, x)[0], 2.0 * x.float(), dtype)
    number = torch.tensor(0.75, dtype=dtype, requires_grad=True)
    plain = torch.tensor(0.75, requires_grad=True)
    rows = drawn(torch.float32, 6)
    (found,) = torch.autograd.grad(wrap(smoothed)(rows, number).sum(), number)
    near(found, torch.autograd.grad(wrap(smoothed)(rows, plain).sum(), plain)[0], dtype)


def test_what_a_function_rounds_itself() -> None:
    (x,) = asked(drawn(torch.float32, 6))
    y, seed = wrap(narrowed)(x), drawn(torch.float16, 6)
    near(y, x**2, torch.float16)
    (found,) = torch.autograd.grad(y, x, seed)
    torch.testing.assert_close(found, 2.0 * x.detach() * seed.float())


def test_a_package_brings_numpy_the_other_half(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(ArgumentError, match=r"LD350: `x` has dtype bfloat16, which NumPy does not know"):
        wrap(copies)(torch.ones(3, dtype=torch.bfloat16))
