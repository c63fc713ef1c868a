"""Complex arguments and results at the edge of compiled code: memory, types, conventions, all modes."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

from loopdiff import GradientCheckError, check_grads, vectorize_grad

pytestmark = pytest.mark.part(2)

needs_jax = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="jax is not installed")


@vectorize_grad
def quadratic(z, c):
    e = 0.0
    for i in range(z.shape[0]):
        for j in range(z.shape[1]):
            w = z[i, j] * z[i, j] * c + np.conj(z[i, j])
            z[i, j] = w
            e += w.real * w.imag + abs(w) ** 2
    return e


class Tagged(np.ndarray):
    pass


def random(*shape: int) -> np.ndarray:
    rng = np.random.default_rng(len(shape))
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


def energy(z: np.ndarray, c: complex) -> float:
    w = z * z * c + np.conj(z)
    return float(np.sum(w.real * w.imag + np.abs(w) ** 2))


VIEWS: dict[str, Any] = {
    "C": lambda: random(3, 4),
    "F": lambda: np.asfortranarray(random(3, 4)),
    "strided": lambda: random(6, 8)[::2, ::-2],
    "transposed": lambda: random(4, 3).T,
    "offset": lambda: random(40)[3:15].reshape(3, 4),
    "empty": lambda: random(0, 4),
    "subclass": lambda: random(3, 4).view(Tagged),
}


@pytest.mark.parametrize("view", VIEWS)
def test_arrays_of_any_layout_are_used_in_place(view: str) -> None:
    z, c = VIEWS[view](), 0.5 - 0.25j
    start = np.array(z)
    value, gradients = quadratic.value_and_grad(z, c)
    assert value == pytest.approx(energy(start, c), rel=1e-12)
    np.testing.assert_allclose(np.asarray(z), start * start * c + np.conj(start), rtol=1e-13)
    assert gradients.z.shape == z.shape
    assert gradients.z.dtype == np.complex128
    assert type(gradients.c) is complex
    w = np.asarray(z)
    by_w = (w.imag - 1j * w.real) + 2 * np.conj(w)
    np.testing.assert_allclose(gradients.z, by_w * 2 * start * c + np.conj(by_w), rtol=1e-12, atol=1e-13)
    assert gradients.c == pytest.approx(np.sum(by_w * start * start), rel=1e-12)


def test_read_only_and_single_numbers() -> None:
    @vectorize_grad
    def product(z, w, c):
        return (z[0] * w * c).real, z[0] / c

    z, w = random(3), np.array(2.0 + 1.0j)
    z.flags.writeable = w.flags.writeable = False
    (first, second), pullback = product.vjp(z, w, np.complex128(1 - 1j))
    assert (first, second) == pytest.approx(((z[0] * w * (1 - 1j)).real, z[0] / (1 - 1j)))
    assert type(second) is complex
    gradients = pullback((0.5, 2.0))
    assert gradients.z[0] == pytest.approx(0.5 * w * (1 - 1j) + 2.0 / (1 - 1j))
    assert gradients.w.shape == ()
    assert gradients.w == pytest.approx(0.5 * z[0] * (1 - 1j))


def test_half_width_stays_half_width() -> None:
    z, c = random(2, 2).astype(np.complex64), np.complex64(0.5j)
    value, gradients = quadratic.value_and_grad(z.copy(), c)
    assert isinstance(value, np.float32)
    assert gradients.z.dtype == np.complex64
    assert isinstance(gradients.c, np.complex64)
    weak = quadratic.grad(z.copy(), 0.5j)
    assert weak.z.dtype == np.complex64
    assert type(weak.c) is complex
    _, tangents = quadratic.jvp((z.copy(), c), dict(z=z, c=1j))
    assert isinstance(tangents.result, np.float32)
    assert tangents.z.dtype == np.complex64


def test_holomorphic_functions_have_their_derivative() -> None:
    @vectorize_grad
    def power(z, p):
        return z**p

    for z, p in ((2.0 - 1.0j, 2.5), (-4.0 + 0.0j, 0.5), (0.0j, 1.0), (0.0j, 2.0), (3j, -1.0), (-2.0 + 0.0j, 1.0)):
        value, pullback = power.vjp(z, p)
        assert value == pytest.approx(np.complex128(z) ** p)
        assert pullback().z == pytest.approx(p * np.complex128(z) ** (p - 1.0) if p != 1.0 else 1.0)
        assert power.jvp((z, p), dict(z=1j))[1].result == pytest.approx(1j * pullback().z)


def test_compiled_functions_take_the_parts() -> None:
    z, c = random(3, 4), 0.5 - 0.25j
    k = quadratic.compile(z, c)
    assert k.signature("primal") == ("z", "c_re", "c_im")
    assert k.wrt == ("z", "c")
    parts = z.copy()[..., None].view(np.float64)
    assert k.primal(parts, c.real, c.imag) == pytest.approx(energy(z, c))
    assert "argument z: complex128[:, :]" in k.ir("bound")
    assert "argument z: float64[:, :, 2]" in k.ir("normal")
    assert quadratic.explain(z, c).startswith("quadratic(z: complex128[:, :], c: complex128), differentiated")
    numba = pytest.importorskip("numba")
    declared = quadratic.compile(numba.types.complex128[:, ::1], complex)
    assert declared.signature("tangent") == ("z", "c_re", "c_im", "z_tan", "c_re_tan", "c_im_tan")


def test_first_calls_are_proved() -> None:
    @vectorize_grad(check="first")
    def proved(z, c):
        for i in range(z.shape[0]):
            z[i] = z[i] * np.conj(z[i]) * c + 1j
        return z[0] * c

    _, pullback = proved.vjp(random(8)[::2], 0.5j)
    assert pullback(1.0)._fields == ("z", "c")


def test_check_grads_looks_at_both_parts() -> None:
    report = check_grads(quadratic, (random(2, 2), 0.5 - 0.25j))
    assert [f"{p.output} by {p.input}" for p in report.pairs] == ["result by z", "result by c", "z by z", "z by c"]

    @vectorize_grad
    def conjugated(z):
        return z[0] * z[0]

    conjugated.plain = lambda z: np.conj(z[0]) ** 2
    with pytest.raises(GradientCheckError, match="result by z"):
        check_grads(conjugated, (random(3),))


@needs_jax
def test_second_derivatives_are_those_of_jax() -> None:
    import jax
    import jax.numpy as jnp

    @vectorize_grad
    def loss(z, c):
        e = 0.0
        for i in range(z.shape[0]):
            e += abs(z[i] * z[i] * c + np.exp(z[i])) ** 2
        return e

    def twin(z, c):
        return jnp.sum(jnp.abs(z * z * c + jnp.exp(z)) ** 2)

    args, along = (random(3), 0.5 - 0.25j), (random(4)[:3], 0.2 + 1.0j)
    value, gradients, products = loss.hvp(args, dict(z=along[0], c=along[1]))
    expected, slopes = jax.jvp(jax.grad(twin, (0, 1)), args, along)
    assert value == pytest.approx(float(twin(*args)))
    for found, want in zip((*gradients, *products), (*expected, *slopes), strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-11)
    by_gradient, pullback = vectorize_grad(loss.grad).vjp(*args)
    np.testing.assert_allclose(by_gradient.z, expected[0], rtol=1e-11)
    for found, want in zip(pullback(along), jax.vjp(jax.grad(twin, (0, 1)), *args)[1](along), strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-11)
