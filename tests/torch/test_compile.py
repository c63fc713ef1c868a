"""`torch.compile` in one graph: both modes, batches, dynamic shapes; the operation by PyTorch's own check."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.autograd import forward_ad  # noqa: E402
from torch.func import grad, jvp, vmap  # noqa: E402

from loopdiff import vectorize_grad  # noqa: E402
from loopdiff.torch import wrap  # noqa: E402
from loopdiff.torch.functions import PROGRAMS, call_of, text_of  # noqa: E402

# PyTorch's compiler is full of what PyTorch has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
F64 = torch.float64


@vectorize_grad
def march(x, a, y):
    s = 0.0
    for i in range(1, x.shape[0]):
        x[i] = np.tanh(a * x[i] * x[i - 1]) + 0.1
        y[i] = x[i] * a
        s += y[i]
    return s


def twin(x: Any, a: Any) -> Any:
    found = [x[0]]
    for value in x.unbind()[1:]:
        found.append(torch.tanh(a * value * found[-1]) + 0.1)
    x = torch.stack(found)
    y = torch.cat([torch.zeros(1, dtype=F64), x[1:] * a])
    return y.sum(), x, y


@vectorize_grad
def filtered(x, n):
    y = np.empty(x.shape[0] - n + 1)
    for i in range(y.shape[0]):
        s = 0.0
        for k in range(n):
            s += x[i + k] * x[i + k]
        y[i] = s
    return y


f = wrap(march, outputs={"y": lambda x, a: x.shape})
X, A = torch.tensor([0.3, 0.8, -0.5, 1.2], dtype=F64), torch.tensor(0.6, dtype=F64)


def compiled(function: Any, backend: str = "aot_eager", **options: Any) -> Any:
    torch._dynamo.reset()
    return torch.compile(function, fullgraph=True, backend=backend, **options)


def close(found: Any, expected: Any) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


def around(function: Any) -> Any:
    """A function with other operations on both sides."""

    def whole(x: Any, a: Any) -> Any:
        s, x, y = function(x * 2, a.sin())
        return s * (x * y).sum()

    return whole


def backward(function: Any) -> Any:
    leaves = (X.clone().requires_grad_(), A.clone().requires_grad_())
    return torch.autograd.grad(function(*leaves), leaves)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_values_and_gradients(backend: str) -> None:
    close(compiled(f, backend)(X, A), twin(X, A))
    close(backward(compiled(around(f), backend)), backward(around(twin)))


def test_transforms_inside() -> None:
    along = (X * X, A)
    close(compiled(lambda x, a: jvp(around(f), (x, a), along))(X, A), jvp(around(twin), (X, A), along))
    close(compiled(grad(around(f), (0, 1)))(X, A), grad(around(twin), (0, 1))(X, A))
    batch = torch.stack([X, 2 * X])
    close(compiled(vmap(around(f), (0, None)))(batch, A), vmap(around(twin), (0, None))(batch, A))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_forward_mode_outside_is_right_or_refused(backend: str) -> None:
    """An operation without forward mode would give zeros."""
    c = compiled(around(f), backend)
    with forward_ad.dual_level():
        found = forward_ad.unpack_dual(c(forward_ad.make_dual(X, X * X), A)).tangent
    close(found, jvp(around(twin), (X, A), (X * X, torch.zeros_like(A)))[1])


def test_numbers_and_shapes() -> None:
    g = wrap(filtered)
    c = compiled(lambda x, n: g(x, n).sin().sum(), dynamic=True)
    for size, n in ((6, 2), (9, 2), (9, 3)):
        x = torch.linspace(0.0, 1.0, size, dtype=F64).requires_grad_()
        value = (x * x).unfold(0, n, 1).sum(1).sin().sum()
        close(c(x, n), value)
        close(torch.autograd.grad(c(x, n), x), torch.autograd.grad(value, x))


def test_in_a_module() -> None:
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = torch.nn.Parameter(A.clone())

        def forward(self, x: Any) -> Any:
            return around(f)(x, self.a)

    net = Net()
    compiled(net)(X).backward()
    close(net.a.grad, backward(around(twin))[1])


def test_structures() -> None:
    @vectorize_grad
    def loss(p, x):
        s = 0.0
        for i in range(x.shape[0]):
            s += np.sin(p["w"][i] * x[i]) * p["c"]
        return s

    g = wrap(loss)
    w, c = X.clone().requires_grad_(), A.clone().requires_grad_()
    found = torch.autograd.grad(compiled(lambda w, c: g({"w": w, "c": c}, X))(w, c), (w, c))
    close(found, torch.autograd.grad((torch.sin(w * X) * c).sum(), (w, c)))


def test_opcheck_and_texts() -> None:
    grad(around(f))(X, A)
    jvp(f, (X, A), (X, A))
    name = next(n for n in PROGRAMS if n.startswith("march"))
    X_, A_ = X.clone().requires_grad_(), A.clone().requires_grad_()
    y, s = torch.zeros(4, dtype=F64), torch.ones((), dtype=F64)
    for path, args in (("", (X_, A_, y)), ("r", (X_, A_, y, s, X, X)), ("t", (X_, A_, y, X, A, y)), ("", (X, A, y))):
        found = torch.library.opcheck(torch.ops.loopdiff.evaluate.default, (list(args), f"{name}/{path}/"))
        assert set(found.values()) == {"SUCCESS"}
    text = f"{name}/r/1:{(0.1).hex()},3:-7,4:True/3:01/2:11s"
    assert text_of(call_of(text)) == text
    with pytest.raises(RuntimeError, match="nobody has wrapped in this process"):
        call_of("march-0//")
