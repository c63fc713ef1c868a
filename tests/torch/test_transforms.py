"""`torch.func`, forward mode, derivatives of derivatives and batches, against twins in PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.autograd import forward_ad, gradcheck, gradgradcheck  # noqa: E402
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap  # noqa: E402

from loopdiff import ArgumentError, vectorize_grad  # noqa: E402
from loopdiff.torch import wrap  # noqa: E402

# PyTorch loads its own decompositions for forward mode with what it has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
F64 = torch.float64


@vectorize_grad
def chain(x, c, total, y):
    """A number, an array that is only added to, a recurrence and a pure output."""
    v = 0.0
    for i in range(x.shape[0]):
        v = np.sin(v * c + x[i])
        y[i] = v * x[i]
        total[i] += y[i] * y[i]
    return v


def twin(x: Any, c: Any, total: Any) -> Any:
    v, ys = torch.zeros((), dtype=x.dtype), []
    for value in x.unbind(-1):
        v = torch.sin(v * c + value)
        ys.append(v * value)
    y = torch.stack(ys)
    return v, total + y * y, y


@vectorize_grad
def cumulative(x):
    y = np.empty(x.shape[0])
    s = 0.0
    for i in range(x.shape[0]):
        s = s + x[i] * x[i] * x[0]
        y[i] = s
    return y


f = wrap(chain, outputs={"y": lambda x, c, total: x.shape})
g = wrap(cumulative)
X = torch.tensor([0.3, 0.8, -0.5], dtype=F64)
POINT = (X, torch.tensor(0.6, dtype=F64), torch.tensor([0.2, 0.1, 0.4], dtype=F64))
EVERY = (0, 1, 2)


def cumulative_twin(x: Any) -> Any:
    return torch.cumsum(x * x * x[0], 0)


def loss(function: Any) -> Any:
    """A number that all outputs decide, nonlinearly."""

    def value(*args: Any) -> Any:
        v, total, y = function(*args)
        return v * (y * torch.arange(1.0, 4.0, dtype=F64)).sum() + (total**2).sum()

    return value


def close(found: Any, expected: Any) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-11)


TRANSFORMS = {
    "grad": lambda f: grad(loss(f), EVERY),
    "jacrev": lambda f: jacrev(f, EVERY),
    "jacfwd": lambda f: jacfwd(f, EVERY),
    "hessian": lambda f: hessian(loss(f), EVERY),
    "reverse over forward": lambda f: jacrev(jacfwd(loss(f), EVERY), EVERY),
    "reverse over reverse": lambda f: jacrev(jacrev(loss(f), EVERY), EVERY),
    "forward over forward": lambda f: jacfwd(jacfwd(loss(f), EVERY), EVERY),
    "of several outputs twice": lambda f: jacfwd(jacrev(f, EVERY)),
    "third order": lambda f: grad(lambda *a: grad(lambda *b: grad(loss(f))(*b).sum())(*a).sum()),
}


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_transforms(transform: Any) -> None:
    close(transform(f)(*POINT), transform(twin)(*POINT))


def test_vjp_and_jvp() -> None:
    mine: Any = vjp(f, *POINT)
    other: Any = vjp(twin, *POINT)
    (found, pull), (expected, pull_twin) = mine, other
    close(found, expected)
    seeds = (torch.tensor(0.5, dtype=F64), X, 2 * X)
    close(pull(seeds), pull_twin(seeds))
    directions = (X, torch.tensor(-0.3, dtype=F64), X * X)
    close(jvp(f, POINT, directions), jvp(twin, POINT, directions))
    close(jvp(lambda x: f(x, *POINT[1:]), (X,), (X,)), jvp(lambda x: twin(x, *POINT[1:]), (X,), (X,)))
    close(jvp(lambda x: f(x, 0.6, POINT[2]), (X,), (X,)), jvp(lambda x: twin(x, 0.6, POINT[2]), (X,), (X,)))


BATCH = torch.stack([X, 2 * X, X - 0.3])
TOTALS = torch.stack([X, X], 1)


@pytest.mark.parametrize(
    ("transform", "args"),
    [
        (lambda f: vmap(f, (0, None, None)), (BATCH, *POINT[1:])),
        (lambda f: vmap(f, (1, None, None), (0, 1, 0)), (BATCH.T, *POINT[1:])),
        (lambda f: vmap(vmap(f, (None, None, 1)), (0, None, None)), (BATCH, POINT[1], TOTALS)),
        (lambda f: vmap(grad(loss(f), EVERY), (0, None, None)), (BATCH, *POINT[1:])),
        (lambda f: vmap(grad(loss(f), EVERY), (None, None, 1)), (X, POINT[1], TOTALS)),
        (lambda f: grad(lambda *a: vmap(loss(f), (0, None, None))(*a).sum(), EVERY), (BATCH, *POINT[1:])),
        (lambda f: vmap(hessian(loss(f)), (0, None, None)), (BATCH, *POINT[1:])),
        (lambda f: vmap(jacfwd(f, EVERY), (None, None, 1)), (X, POINT[1], TOTALS)),
        (lambda f: jacfwd(vmap(f, (None, None, 1)), EVERY), (X, POINT[1], TOTALS)),
    ],
    ids=["one", "axes", "nested", "of gradient", "of gradient by one", "under gradient", "of Hessian", "of forward",
         "under forward"],
)  # fmt: skip
def test_batches(transform: Any, args: Any) -> None:
    close(transform(f)(*args), transform(twin)(*args))


def test_an_empty_batch() -> None:
    found = vmap(f, (0, None, None))(torch.zeros(0, 3, dtype=F64), *POINT[1:])
    assert [tuple(t.shape) for t in found] == [(0,), (0, 3), (0, 3)]


def test_duals_without_functions() -> None:
    with forward_ad.dual_level():
        found = forward_ad.unpack_dual(g(forward_ad.make_dual(X, X * X)))
    close(tuple(found), jvp(cumulative_twin, (X,), (X * X,)))


def test_the_forward_sweep_of_a_jacobian_runs_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from loopdiff.torch.program import TensorProgram

    close(jacrev(g)(X), jacrev(cumulative_twin)(X))
    runs, forward = [], TensorProgram.forward
    monkeypatch.setattr(TensorProgram, "forward", lambda self, values: runs.append(1) or forward(self, values))
    jacrev(g)(X)
    assert len(runs) == 1


def test_double_backward() -> None:
    def twice(function: Any) -> Any:
        leaves = [p.clone().requires_grad_() for p in POINT]
        slopes = torch.autograd.grad(loss(function)(*leaves), leaves, create_graph=True)
        return torch.autograd.grad(sum((s**3).sum() for s in slopes), leaves)

    close(twice(f), twice(twin))


def test_gradcheck_and_gradgradcheck() -> None:
    leaves = tuple(p.clone().requires_grad_() for p in POINT)
    assert gradcheck(f, leaves, check_forward_ad=True)
    assert gradgradcheck(f, leaves, check_fwd_over_rev=True, check_rev_over_rev=True)


def test_what_is_not_tensors_is_refused_inside_too() -> None:
    with pytest.raises(ArgumentError, match="LD210: `x` is a str"):
        grad(lambda c: f("x", c, POINT[2])[0])(POINT[1])
