"""Batches of `vmap` that run as one call of compiled code: values and gradients are those of PyTorch's own batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap  # noqa: E402

from loopdiff import vectorize_grad  # noqa: E402
from loopdiff.torch import functions, wrap  # noqa: E402
from tests.corpus import BY_NAME  # noqa: E402
from tests.lengths import IS_LONG  # noqa: E402

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
    "tangents": (lambda k: lambda H, W: jvp(lambda a, b: inner(k)(a, b, X), (H, W), (H3[0], W3[0])), (H, W)),
    "tangents of examples": (
        lambda k: vmap(lambda h, x: jvp(lambda a, b: k(a, b, x), (h, W), (h, W3[0])), in_dims=(0, 0)),
        (H, X),
    ),
    "tangents along several directions": (
        lambda k: vmap(lambda d: jvp(lambda a: k(H[0], a, X[0]), (W,), (d,)), in_dims=0),
        (W3,),
    ),
    "tangents over levels": (
        lambda k: lambda H, W: jvp(lambda a, b: outer(inner(k))(a, b, X), (H, W), (H.flip(0), W.flip(1))),
        (H3, W3),
    ),
    "along several cotangents": (
        lambda k: vmap(lambda c: jvp(lambda v: vjp(lambda h: k(h, W, X[0])[1], H[0])[1](v)[0], (X[1],), (c,))),
        (X,),
    ),
    "Hessian of an example": (lambda k: hessian(lambda h: loss(k)(h, W, X[0])), (H[0],)),
    "Hessians of examples": (lambda k: vmap(hessian(lambda h, x: loss(k)(h, W, x)), in_dims=(0, 0)), (H, X)),
    "Hessian by what is shared": (lambda k: jacrev(jacrev(lambda w: loss(inner(k))(H, w, X))), (W,)),
    "gradients of gradients of examples": (
        lambda k: vmap(grad(squared(k, 1), (0, 1)), in_dims=(0, None, 0)),
        (H, W, X),
    ),
    "gradients of all gradients of examples": (
        lambda k: grad(lambda *a: sum((g**3).sum() for g in inner(grad(loss(k), (0, 1)))(*a)), (0, 1)),
        (H, W, X),
    ),
    "third derivatives": (
        lambda k: vmap(lambda h, x: jacfwd(jacrev(jacrev(lambda a: loss(k)(a, W, x))))(h), in_dims=(0, 0)),
        (H, X),
    ),
}
AT_ONE_POINT = {"Hessian of an example", "along several cotangents"}


def close(found: Any, wanted: Any) -> None:
    torch.testing.assert_close(found, wanted, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_batches_are_those_of_pytorch(name: str) -> None:
    transform, args = CASES[name]
    close(transform(f)(*args), transform(twin)(*args))


@pytest.mark.parametrize("name", [n for n in CASES if n not in AT_ONE_POINT])
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


def test_derivatives_of_numbers_and_of_arrays_that_are_added_to() -> None:
    k, c = torch.tensor([1, 2, 3], dtype=torch.int32), torch.tensor([0.5, 1.5, -1.0], dtype=F64)
    is_on, x, y = torch.tensor([True, False, True]), torch.tensor([0.3, 0.8], dtype=F64), torch.rand(3, 2, dtype=F64)
    axes = (0, 0, 0, None, 0)

    def found(h: Any) -> list[Any]:
        def all_of(c: Any, x: Any, y: Any) -> Any:
            return vmap(h, axes)(k, is_on, c, x, y)

        def energy(*args: Any) -> Any:
            return sum((v**2).sum() for v in all_of(*args))

        return [jvp(all_of, (c, x, y), (2 * c, 3 * x, y / 2)), hessian(energy, (0, 1, 2))(c, x, y)]

    close(found(wrap(scaled)), found(scaled_twin))


def test_derivatives_of_complex_elements() -> None:
    @vectorize_grad
    def turned(z, a):
        out = np.zeros(z.shape[0], dtype=np.complex128)
        for i in range(z.shape[0]):
            out[i] = z[i] * z[i] * a + np.conj(z[i])
        return out

    z = torch.randn(3, 4, dtype=torch.complex128, generator=RNG)
    a = torch.tensor(1.5, dtype=F64)

    def found(h: Any) -> list[Any]:
        def energy(z: Any, a: Any) -> Any:
            return (h(z, a).abs() ** 2).sum()

        def steepness(a: Any) -> Any:
            return sum((g.abs() ** 2).sum() for g in vmap(grad(energy, (0, 1)), (0, None))(z, a))

        return [vmap(lambda z: jvp(lambda a: h(z, a), (a,), (2 * a,)))(z), grad(steepness)(a)]

    close(found(wrap(turned)), found(lambda z, a: z * z * a + z.conj()))


ENTRIES = (
    "seidel_2d", "matmul_loss", "two_returned_arrays", "spmv_csr", "cholesky", "gathered_products", "softmax",
)  # fmt: skip


@pytest.mark.parametrize("name", ENTRIES if IS_LONG else ENTRIES[::3])
def test_derivatives_of_a_batch_are_those_of_its_elements(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tangents, gradients of gradients and tangents of gradients, where some arguments are shared."""
    entry = BY_NAME[name]
    f = wrap(vectorize_grad(wrt=entry.wrt)(entry.function))
    args = {n: torch.from_numpy(v) if isinstance(v, np.ndarray) else v for n, v in entry.args().items()}
    by = [n for n in entry.wrt if isinstance(args[n], torch.Tensor)]
    axes = tuple(None if k == 1 else 0 for k in range(len(by)))
    leaves = tuple(
        args[n] if axis is None else torch.stack([args[n], 1.1 * args[n]]) for n, axis in zip(by, axes, strict=True)
    )
    count = tuple(range(len(by)))

    def each(*leaves: Any) -> Any:
        found = f(**{**args, **dict(zip(by, leaves, strict=True))})
        return sum((t**2).sum() for t in (found if isinstance(found, tuple) else (found,)) if t.is_floating_point())

    def steep(*leaves: Any) -> Any:
        inside = vmap(grad(each, count), axes)(*leaves)
        outside = grad(lambda *a: vmap(each, axes)(*a).sum(), count)(*leaves)
        return sum((t**2).sum() for t in (*inside, *outside))

    def results() -> list[Any]:
        along = tuple(map(torch.cos, leaves))
        of_each = vmap(lambda *a: jvp(grad(each, count), a, tuple(map(torch.cos, a))), axes)(*leaves)
        return [jvp(vmap(each, axes), leaves, along), of_each, grad(steep, count)(*leaves), jvp(steep, leaves, along)]

    together = results()
    monkeypatch.setattr(functions, "outputs_together", lambda *_: None)
    close(together, results())


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
