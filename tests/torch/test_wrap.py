"""`loopdiff.torch.wrap` in eager PyTorch: values and gradients against twins, memory, versions, refusals by name."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from loopdiff import ArgumentError, DifferentiationError, OutOfMemoryError, vectorize_grad  # noqa: E402
from loopdiff.torch import wrap  # noqa: E402

F64 = torch.float64


@vectorize_grad
def march(x, a):
    for i in range(1, x.shape[0]):
        x[i] = a * x[i] * x[i - 1] + 0.1


def march_twin(x: Any, a: Any) -> Any:
    found = [x[0]]
    for value in x[1:]:
        found.append(a * value * found[-1] + 0.1)
    return torch.stack(found)


@vectorize_grad
def product(A, B, C):
    t = 0.0
    for m in range(A.shape[0]):
        for n in range(B.shape[1]):
            C[m, n] = 0.0
            for k in range(A.shape[1]):
                C[m, n] += A[m, k] * B[k, n]
            t += C[m, n] * C[m, n]
    return t


@vectorize_grad
def gathered(x, idx, n):
    t = 0.0
    for i in range(n):
        t += x[idx[i]] ** 2
    return t


@vectorize_grad(wrt="x")
def scaled(x, a):
    return a * x[0]


@vectorize_grad
def squares(x):
    y = np.empty(x.shape[0])
    for i in range(x.shape[0]):
        y[i] = x[i] * x[i]
    return y


@vectorize_grad
def total(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i]
    return s


wrapped_march, wrapped_squares = wrap(march), wrap(squares)
wrapped_product = wrap(product, outputs={"C": lambda A, B: (A.shape[0], B.shape[1])})


def drawn(*shape: int, seed: int = 0, dtype: Any = F64) -> Any:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def gradients(f: Any, *args: Any) -> tuple[Any, ...]:
    """Of the sum of sines of the outputs, by all arguments."""
    leaves = [a.clone().requires_grad_() for a in args]
    found = f(*leaves)
    outputs = found if isinstance(found, tuple) else (found,)
    return torch.autograd.grad(sum(o.sin().sum() for o in outputs), leaves)


def close(found: Any, expected: Any, rtol: float = 1e-12) -> None:
    torch.testing.assert_close(found, expected, rtol=rtol, atol=rtol)


def test_gradients_of_what_is_written_in_place() -> None:
    x, a = drawn(6), torch.tensor(0.7, dtype=F64)
    close(wrapped_march(x, a), march_twin(x, a))
    close(gradients(wrapped_march, x, a), gradients(march_twin, x, a))


def test_inputs_that_are_written_are_not_changed() -> None:
    x = drawn(6)
    before, version = x.clone(), x._version
    wrapped_march(x, 0.5)
    wrapped_march(x.requires_grad_(), 0.5)
    close(x.detach(), before, 0.0)
    assert x._version == version


@pytest.mark.parametrize("dtype", [torch.float32, F64])
def test_pure_outputs_and_results_together(dtype: Any) -> None:
    A, B = drawn(5, 4, dtype=dtype), drawn(4, 3, seed=1, dtype=dtype)
    rtol = 1e-5 if dtype is torch.float32 else 1e-12

    def twin(A: Any, B: Any) -> Any:
        return ((A @ B) ** 2).sum(), A @ B

    found = wrapped_product(A, B)
    assert [t.dtype for t in found] == [dtype, dtype]
    close(found, twin(A, B), rtol)
    close(gradients(wrapped_product, A, B), gradients(twin, A, B), rtol)


def test_one_output_alone_has_a_cotangent() -> None:
    A, B = drawn(3, 4).requires_grad_(), drawn(4, 2, seed=1).requires_grad_()
    t, C = wrapped_product(A, B)
    close(torch.autograd.grad(t, A, retain_graph=True)[0], torch.autograd.grad(((A @ B) ** 2).sum(), A)[0])
    close(torch.autograd.grad(C.sum(), B)[0], torch.autograd.grad((A @ B).sum(), B)[0])


@pytest.mark.parametrize(
    "view",
    [lambda t: t.T, lambda t: t[::2], lambda t: t[:, 1:4], lambda t: t[1].expand(6, 6), lambda t: t.flip(0)],
    ids=["transposed", "strided", "columns", "expanded", "reversed"],
)
def test_tensors_of_any_strides(view: Any) -> None:
    whole = drawn(6, 6)
    B = drawn(view(whole).shape[1], 3, seed=1)
    close(
        gradients(lambda t, B: wrapped_product(view(t), B)[1], whole, B), gradients(lambda t, B: view(t) @ B, whole, B)
    )


def test_a_written_tensor_of_any_strides() -> None:
    def column(f: Any) -> Any:
        return lambda t, a: f(t[:, 2], a)

    whole, a = drawn(6, 6), torch.tensor(0.7, dtype=F64)
    close(gradients(column(wrapped_march), whole, a), gradients(column(march_twin), whole, a))


def test_memory_is_taken_as_it_is() -> None:
    x = drawn(3).requires_grad_()
    (array,) = wrapped_squares(x).grad_fn.kept.args
    assert array.ctypes.data == x.data_ptr()
    strided = drawn(4, 4)[:, 1].requires_grad_()
    (array,) = wrapped_squares(strided).grad_fn.kept.args
    assert (array.ctypes.data, array.strides) == (strided.data_ptr(), (32,))
    written = wrapped_march(x, 0.5)
    assert written.grad_fn.kept.args[0].ctypes.data == written.data_ptr() != x.data_ptr()


def test_tensors_that_need_no_gradient() -> None:
    x = drawn(4)
    assert not wrapped_squares(x).requires_grad
    with torch.no_grad():
        assert not wrapped_squares(x.clone().requires_grad_()).requires_grad
    with torch.inference_mode():
        close(wrapped_squares(x), x * x)
    leaf = x.clone().requires_grad_()
    wrapped_squares(leaf.detach() * leaf).sum().backward()
    close(leaf.grad, 2 * x**3)


def test_integers_and_python_numbers() -> None:
    f, x = wrap(gathered), drawn(5)
    idx = torch.tensor([1, 1, 4])
    leaf = x.clone().requires_grad_()
    f(leaf, idx, 2).backward()
    expected = torch.zeros(5, dtype=F64)
    expected[1] = 4 * x[1]
    close(leaf.grad, expected)
    close(f(x, idx.to(torch.int32), 3), 2 * x[1] ** 2 + x[4] ** 2)
    close(f(x, idx.numpy(), n=torch.tensor(3)), 2 * x[1] ** 2 + x[4] ** 2)


# -- versions ------------------------------------------------------------------------------------------------
def test_a_needed_tensor_that_changes_is_refused() -> None:
    x = drawn(4).requires_grad_()
    y = x * 1.0
    found = wrapped_squares(y)
    with torch.no_grad():
        y.add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        found.sum().backward()


def test_an_output_that_is_needed_and_changes_is_refused() -> None:
    x, a = drawn(4).requires_grad_(), torch.tensor(0.7, dtype=F64, requires_grad=True)
    found = wrapped_march(x, a)
    loss = found.sum()
    with torch.no_grad():
        found.mul_(2.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_a_tensor_that_no_sweep_reads_again_may_change() -> None:
    x = drawn(4).requires_grad_()
    y = x * 1.0
    found = wrap(total)(y)
    with torch.no_grad():
        y.add_(1.0)
    found.backward()
    close(x.grad, torch.ones(4, dtype=F64))
    y = x * 1.0
    found = wrap(total)(y)
    with torch.no_grad():
        y.add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.grad(found, x, create_graph=True)


def test_graphs_are_gone_back_through_as_often_as_they_are_kept() -> None:
    x = drawn(4).requires_grad_()
    found = wrapped_squares(x).sum()
    for _ in range(3):
        close(torch.autograd.grad(found, x, retain_graph=True)[0], 2 * x.detach())
    found.backward()
    with pytest.raises(RuntimeError, match="second time"):
        found.backward()
    nothing_saved = wrap(total)(x)
    nothing_saved.backward()
    with pytest.raises(RuntimeError, match="second time"):
        nothing_saved.backward()


def test_what_is_kept_is_let_go_of() -> None:
    found = wrapped_squares(drawn(4).requires_grad_())
    node = found.grad_fn
    found.sum().backward(retain_graph=True)
    assert node.kept is not None
    found.sum().backward()
    assert node.kept is None


def test_importing_is_quick_and_needs_no_compiler() -> None:
    program = (
        "import time, sys, torch, loopdiff; start = time.perf_counter(); import loopdiff.torch;"
        "print(time.perf_counter() - start, 'torch._dynamo' in sys.modules)"
    )
    least = 1.0
    for _ in range(3):
        found = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
        seconds, has_compiler = found.stdout.split()
        assert has_compiler == "False"
        least = min(least, float(seconds))
    assert least < 0.2


def test_negated_and_conjugated_views() -> None:
    z = torch.complex(drawn(4), drawn(4, seed=1))
    assert z.conj().imag.is_neg()
    close(wrapped_squares(z.conj().imag), z.imag**2)

    @vectorize_grad
    def turned(z, w):
        s = 0.0
        for i in range(z.shape[0]):
            z[i] = z[i] * z[i] * w + np.conj(z[i])
            s += z[i].real * z[i].imag
        return s

    def twin(z: Any, w: Any) -> Any:
        y = z * z * w + z.conj()
        return (y.real * y.imag).sum(), y

    f, w = wrap(turned), torch.tensor(0.3 + 0.2j, dtype=torch.complex128)
    close(f(z.conj(), w), twin(z.conj(), w))
    close(f(z, 0.3 + 0.2j), twin(z, w))
    leaves = (z.clone().requires_grad_(), w.clone().requires_grad_())
    assert torch.autograd.gradcheck(f, leaves, check_forward_ad=True)
    close(
        gradients(lambda *a: torch.view_as_real(f(*a)[1]), z, w),
        gradients(lambda *a: torch.view_as_real(twin(*a)[1]), z, w),
    )


# -- in company ----------------------------------------------------------------------------------------------
def test_in_a_module_with_an_optimiser() -> None:
    class Filter(torch.nn.Module):
        def __init__(self, layer: Any) -> None:
            super().__init__()
            self.scale = torch.nn.Parameter(torch.tensor([0.5, -0.2], dtype=F64))
            self.layer = layer

        def forward(self, x: Any) -> Any:
            return self.layer(x[: self.scale.shape[0]] * self.scale)

    def trained(layer: Any) -> Any:
        module, x = Filter(layer), drawn(2)
        optimiser = torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.5)
        for _ in range(5):
            optimiser.zero_grad()
            module(x).sum().backward()
            optimiser.step()
        assert list(module.state_dict()) == ["scale"]
        return module.scale.detach()

    close(trained(wrapped_squares), trained(lambda x: x * x))


def test_with_checkpoints_and_hooks() -> None:
    x = drawn(5)

    def checkpointed(t: Any) -> Any:
        return torch.utils.checkpoint.checkpoint(wrapped_squares, t, use_reentrant=False)

    close(gradients(checkpointed, x), gradients(wrapped_squares, x))
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        close(gradients(wrapped_squares, x), gradients(lambda t: t * t, x))


def test_threads_do_not_disturb_each_other() -> None:
    inputs, found = [drawn(50, seed=k) for k in range(4)], dict[int, Any]()

    def work(k: int) -> None:
        for _ in range(50):
            found[k] = gradients(wrapped_squares, inputs[k])[0]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k, x in enumerate(inputs):
        close(found[k], (x * x).cos() * 2 * x)


def test_gradients_as_functions() -> None:
    slope = wrap(vectorize_grad(total_of_sines.grad))
    x = drawn(4)
    close(slope(x), x.cos())
    close(gradients(slope, x), gradients(torch.cos, x))


@vectorize_grad
def total_of_sines(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += np.sin(x[i])
    return s


def test_under_a_memory_limit() -> None:
    @vectorize_grad(memory_limit=100)
    def chain(x):
        v = x[0]
        for i in range(x.shape[0]):
            v = np.sin(v * x[i])
        return v

    def twin(x: Any) -> Any:
        v = x[0]
        for value in x:
            v = torch.sin(v * value)
        return v

    close(gradients(wrap(chain), drawn(20)), gradients(twin, drawn(20)))


# -- refusals ------------------------------------------------------------------------------------------------
def test_narrow_dtypes_are_refused_by_name() -> None:
    narrow = drawn(3).to(torch.float8_e5m2)
    with pytest.raises(ArgumentError, match="LD350: `x` has dtype float8_e5m2, which loopdiff does not compile"):
        wrapped_squares(narrow)
    with pytest.raises(ArgumentError, match="LD350: `x` has dtype float8_e5m2"):
        torch.func.vmap(wrapped_squares)(narrow)


def test_other_refusals_by_name() -> None:
    with pytest.raises(ArgumentError, match="LD350: `x` is sparse_coo, not a dense tensor"):
        wrapped_squares(drawn(3).to_sparse())
    with pytest.raises(ArgumentError, match="LD301"):
        wrapped_march(drawn(3))
    with pytest.raises(ArgumentError, match=r"LD310.*`B"):
        wrapped_product(drawn(3, 4), drawn(2, 5))
    with pytest.raises(ArgumentError, match=r"LD310.*idx"):
        wrap(gathered)(drawn(3), torch.tensor([1, 99]), 2)
    with pytest.raises(ArgumentError, match="LD350: `wrap` takes a function made by `vectorize_grad`"):
        wrap(lambda x: x)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="LD350: `outputs` names `a`"):
        wrap(march, outputs={"a": (3,)})
    with pytest.raises(ArgumentError, match=r"LD351.*`C`"):
        wrap(product, outputs={"C": lambda A, B: None})(drawn(2, 2), drawn(2, 2))


def test_derivative_outside_wrt_is_refused() -> None:
    f, x, a = wrap(scaled), drawn(2), torch.tensor(0.3, dtype=F64)
    close(f(x, a), 0.3 * x[0])
    with pytest.raises(DifferentiationError, match="LD405: `a`"):
        f(x, a.clone().requires_grad_())
    with pytest.raises(DifferentiationError, match="LD405: `a`"):
        torch.func.grad(f, 1)(x, a)
    with pytest.raises(DifferentiationError, match="LD405: `a`"):
        torch.func.jvp(f, (x, a), (x, a))
    close(torch.func.jvp(lambda x: f(x, a), (x,), (x,))[1], 0.3 * x[0])


def test_a_tape_larger_than_the_memory() -> None:
    @vectorize_grad(tape="store")
    def steps(x, n):
        h = x[0]
        for _ in range(n):
            h = np.tanh(h * x[0])
        return h

    f, x = wrap(steps), torch.tensor([0.5], dtype=F64)
    with pytest.raises(OutOfMemoryError, match="LD610"):
        f(x.clone().requires_grad_(), 10**16)
    close(gradients(lambda x: f(x, 3), x), gradients(lambda x: f(x, 3), x))


def test_another_device_is_refused_by_name() -> None:
    with pytest.raises(ArgumentError, match="LD350: `x` is on fake"):
        wrap(squares, None)(Elsewhere(drawn(3)))


class Elsewhere(torch.Tensor):  # type: ignore[misc, name-defined]
    """A tensor that says it is somewhere else."""

    @staticmethod
    def __new__(cls: Any, value: Any) -> Any:
        return torch.Tensor._make_subclass(cls, value)

    @property
    def device(self) -> Any:  # type: ignore[override]
        class Device:
            type = "fake"

            def __str__(self) -> str:
                return "fake:0"

        return Device()
