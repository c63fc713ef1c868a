"""Arrays of CuPy, PyTorch and JAX on a GPU, and sweeps inside XLA there: `pytest -m gpu` on a machine with one.

JAX takes the GPU only if it is told so: `JAX_PLATFORMS=cuda,cpu XLA_PYTHON_CLIENT_PREALLOCATE=false`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from tests.corpus import BY_NAME
from tests.cuda.test_gpu import has_gpu
from tests.gradients import harness
from tests.gradients.test_battery import assert_close

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not has_gpu(), reason="no GPU, or no driver for it")]
NAMES = ("rde_matmul_log1p", "jacobi_2d", "spmv_csr", "softmax", "weighted_histogram")


def scaled(x, w, y):
    t = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = w * np.sin(x[i, j])
            t += y[i, j] * x[i, j]
    return t


@pytest.fixture
def x() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((513, 257))


def slope(x: np.ndarray) -> np.ndarray:
    return 3.0 * (np.sin(x) + x * np.cos(x))


def test_cupy_on_a_stream_of_its_own(x: np.ndarray) -> None:
    """What is made on the stream is read in order, without waiting; gaps are kept."""
    cupy = pytest.importorskip("cupy")
    f = vectorize_grad(target="cuda")(scaled)
    with cupy.cuda.Stream(non_blocking=True):
        for _ in range(20):
            theirs = cupy.asarray(x) + 1.0
            y = cupy.zeros_like(theirs)
            value, gradients = f.value_and_grad(theirs[::-1, ::2], 3.0, y[::-1, ::2])
            doubled = 2.0 * gradients.x
        assert isinstance(gradients.x, cupy.ndarray)
        there = (x + 1.0)[::-1, ::2]
        assert float(value) == pytest.approx((3.0 * np.sin(there) * there).sum(), rel=1e-11)
        np.testing.assert_allclose(cupy.asnumpy(doubled), 2.0 * slope(there), rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(cupy.asnumpy(y)[::-1, ::2], 3.0 * np.sin(there), rtol=1e-12)


def test_cupy_pullbacks_on_other_streams(x: np.ndarray) -> None:
    """The stream of the forward sweep, which nobody but the tape refers to any more, is waited for."""
    cupy = pytest.importorskip("cupy")
    f = vectorize_grad(target="cuda")(scaled)
    with cupy.cuda.Stream(non_blocking=True):
        theirs = cupy.asarray(x)
        _, pullback = f.vjp(theirs, 3.0, cupy.zeros_like(theirs))
    for stream in (cupy.cuda.Stream.null, cupy.cuda.Stream.ptds, cupy.cuda.Stream(non_blocking=True)):
        with stream:
            found = 2.0 * pullback().x
            np.testing.assert_allclose(cupy.asnumpy(found), 2.0 * slope(x), rtol=1e-11, atol=1e-12)


@pytest.mark.filterwarnings("ignore:ExternalStream")
def test_streams_of_somebody_else_may_go(x: np.ndarray) -> None:
    cupy = pytest.importorskip("cupy")
    f = vectorize_grad(target="cuda")(scaled)
    owner = cupy.cuda.Stream(non_blocking=True)
    with cupy.cuda.ExternalStream(owner.ptr):
        theirs = cupy.asarray(x)
        _, gradients = f.value_and_grad(theirs, 3.0, cupy.zeros_like(theirs))
        found = cupy.asnumpy(gradients.x)
        cupy.cuda.get_current_stream().synchronize()
    del owner
    np.testing.assert_allclose(found, slope(x), rtol=1e-11, atol=1e-12)


def test_pytorch_on_a_stream_of_its_own(x: np.ndarray) -> None:
    torch = pytest.importorskip("torch")
    f = vectorize_grad(target="cuda")(scaled)
    with torch.cuda.stream(torch.cuda.Stream()):
        for _ in range(20):
            theirs = torch.from_numpy(x).cuda() + 1.0
            y = torch.zeros_like(theirs)
            value, gradients = f.value_and_grad(theirs, 3.0, y)
            doubled = 2.0 * gradients.x
        assert isinstance(gradients.x, torch.Tensor)
        assert float(value) == pytest.approx((3.0 * np.sin(x + 1.0) * (x + 1.0)).sum(), rel=1e-11)
        np.testing.assert_allclose(doubled.cpu().numpy(), 2.0 * slope(x + 1.0), rtol=1e-11, atol=1e-12)


def gpu_of_jax() -> Any:
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("JAX was not told to take the GPU")
    return jax


@pytest.mark.parametrize("name", NAMES)
def test_sweeps_inside_xla(name: str) -> None:
    """Outputs and gradients under `jit` are those of the CPU, again and again on XLA's stream."""
    jax = gpu_of_jax()
    from loopdiff.jax import wrap

    entry = BY_NAME[name]
    args = entry.args(0)
    result, pullback = vectorize_grad(entry.function, wrt=entry.wrt).vjp(*entry.args(0).values())
    after = entry.args(0)
    harness.run_python(entry, after)
    outputs = tuple(after[n] for n in entry.outputs)
    weights = tuple(np.random.default_rng(1).standard_normal(o.shape).astype(o.dtype) for o in outputs)
    seed = () if result is None else (1.0,)
    wanted = pullback(*seed, **dict(zip(entry.outputs, weights, strict=True)))
    f = wrap(vectorize_grad(entry.function, wrt=entry.wrt, target="cuda"))
    places = tuple(tuple(args).index(n) for n in entry.wrt)
    arrays = {n: v for n, v in args.items() if isinstance(v, np.ndarray)}

    def loss(*changed: Any) -> Any:
        given = {**args, **arrays, **dict(zip(entry.wrt, changed, strict=True))}
        found = jax.tree.leaves(f(*given.values()))
        numbers, rest = found[: len(seed)], found[len(seed) :]
        return sum(numbers) + sum((w * o).sum() for w, o in zip(weights, rest, strict=True))

    differentiated = jax.jit(jax.grad(loss, argnums=tuple(range(len(places)))))
    given = tuple(args[n] for n in entry.wrt)
    for _ in range(3):
        found = differentiated(*given)
        narrow = harness.is_narrow(entry)
        assert_close(
            {n: np.asarray(g) for n, g in zip(entry.wrt, found, strict=True)},
            dict(zip(entry.wrt, wanted, strict=True)),
            1e-3 if narrow else 1e-9,
        )


def only_summed(x, w):
    t = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            t += w * np.sin(x[i, j]) * x[i, j]
    return t


def test_arrays_of_jax(x: np.ndarray) -> None:
    """They may be on their way still, and what comes back is JAX's own: calls after do not write there."""
    jax = gpu_of_jax()
    f = vectorize_grad(target="cuda")(only_summed)
    found = [(k, f.grad(jax.numpy.asarray(x) + float(k), 3.0).x) for k in range(20)]
    for k, gradient in found:
        assert isinstance(gradient, jax.Array)
        np.testing.assert_allclose(gradient, slope(x + k), rtol=1e-10, atol=1e-11)


def test_jax_transformations(x: np.ndarray) -> None:
    jax = gpu_of_jax()
    from loopdiff.jax import wrap

    f = wrap(vectorize_grad(target="cuda")(scaled), outputs={"y": lambda x, w: x.shape})

    def loss(x: Any, w: Any) -> Any:
        t, y = f(x, w)
        return t + (y * y).sum()

    def same(x: Any, w: Any) -> Any:
        y = w * jax.numpy.sin(x)
        return (y * x).sum() + (y * y).sum()

    for function in (jax.grad, lambda g: jax.jit(jax.grad(g)), lambda g: jax.jit(jax.value_and_grad(g))):
        found, wanted = function(loss)(x, 3.0), function(same)(x, 3.0)
        for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-10)
    many = np.stack([x, 2.0 * x, -x])
    found = jax.jit(jax.vmap(jax.grad(loss), in_axes=(0, None)))(many, 3.0)
    wanted = jax.vmap(jax.grad(same), in_axes=(0, None))(many, 3.0)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-10)


def looked_up(index, table):
    t = 0.0
    for i in range(index.shape[0]):
        t += table[index[i]]
    return t


def test_what_threads_find_wrong_is_raised() -> None:
    from loopdiff.errors import LoopdiffError

    f = vectorize_grad(target="cuda")(looked_up)
    index = np.arange(100_000) % 1000
    assert f(index, np.ones(1000)) == 100_000.0
    index[77_777] = 1000
    with pytest.raises(LoopdiffError, match="LD310"):
        f.value_and_grad(index, np.ones(1000))
    assert f(index % 1000, np.ones(1000)) == 100_000.0


def test_several_threads_call_at_once(x: np.ndarray) -> None:
    from concurrent.futures import ThreadPoolExecutor

    f = vectorize_grad(target="cuda")(scaled)

    def one(k: int) -> bool:
        found = f.value_and_grad(x * k, 3.0, np.zeros_like(x))[1].x
        return bool(np.allclose(found, slope(x * k), rtol=1e-10, atol=1e-10))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(one, range(1, 65)))
