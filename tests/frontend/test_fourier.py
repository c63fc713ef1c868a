"""Fourier transforms: NumPy's values and types, JAX's gradients, and second derivatives."""

from __future__ import annotations

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from loopdiff import UnsupportedLoopError, vectorize_grad
from loopdiff.errors import LoopdiffError
from loopdiff.frontend.binding.bind import bind
from loopdiff.frontend.capture import argument_types
from loopdiff.frontend.parse import parse_function
from loopdiff.source.functions import source_of
from tests.frontend.test_accepted import run_bound
from tests.gradients.interpreted import interpreting
from tests.texts import registered

RNG = np.random.default_rng(5)
SHAPES = [(1,), (2,), (5,), (6,), (8,), (16,), (5, 3), (4, 6), (4, 3, 2), (2, 3, 2, 3), (0, 4), (4, 0)]
REAL = {shape: RNG.standard_normal(shape) for shape in SHAPES}
COMPLEX = {shape: v + 1j * RNG.standard_normal(shape) for shape, v in REAL.items()}

CASES: list[tuple[str, np.ndarray]] = [
    ("np.fft.fft(a)", REAL[6,]), ("np.fft.fft(a)", COMPLEX[8,]), ("np.fft.ifft(a)", COMPLEX[5,]),
    ("np.fft.fft(a)", COMPLEX[16,]), ("np.fft.fft(a)", COMPLEX[1,]), ("np.fft.ifft(a)", COMPLEX[2,]),
    ("np.fft.fft(a, 3)", COMPLEX[5,]), ("np.fft.fft(a, n=9, norm='ortho')", COMPLEX[5,]),
    ("np.fft.fft(a, axis=0)", COMPLEX[5, 3]), ("np.fft.ifft(a, norm='forward')", COMPLEX[4, 6]),
    ("np.fft.fft(a, 4, 1)", COMPLEX[4, 3, 2]), ("np.fft.fft(a)", COMPLEX[2, 3, 2, 3]),
    ("np.fft.fft(a, axis=1)", COMPLEX[2, 3, 2, 3]), ("np.fft.fft(a)", REAL[0, 4]),
    ("np.fft.fft(a, axis=0)", REAL[4, 0]),
    ("np.fft.rfft(a)", REAL[6,]), ("np.fft.rfft(a)", REAL[5,]), ("np.fft.rfft(a, axis=0)", REAL[4, 6]),
    ("np.fft.rfft(a, 9)", REAL[5,]), ("np.fft.rfft(a)", np.arange(5)), ("np.fft.rfft(a)", REAL[1,]),
    ("np.fft.irfft(a)", COMPLEX[5,]), ("np.fft.irfft(a, 7)", COMPLEX[5,]), ("np.fft.irfft(a, 9)", COMPLEX[5,]),
    ("np.fft.irfft(a, 12)", COMPLEX[5,]), ("np.fft.irfft(a, 4)", COMPLEX[5,]), ("np.fft.irfft(a, 1)", COMPLEX[5,]),
    ("np.fft.irfft(a, 2)", COMPLEX[5,]), ("np.fft.irfft(a, axis=0)", COMPLEX[5, 3]), ("np.fft.irfft(a)", REAL[5,]),
    ("np.fft.hfft(a)", COMPLEX[5,]), ("np.fft.ihfft(a)", REAL[5,]), ("np.fft.hfft(a, norm='ortho')", COMPLEX[5,]),
    ("np.fft.ihfft(a, norm='forward')", REAL[5,]), ("np.fft.fft2(a)", COMPLEX[4, 6]), ("np.fft.ifft2(a)", REAL[4, 6]),
    ("np.fft.fft2(a, s=(3, 8))", COMPLEX[4, 6]), ("np.fft.fft2(a, axes=(0, 1))", COMPLEX[4, 3, 2]),
    ("np.fft.fft2(a)", COMPLEX[4, 3, 2]), ("np.fft.fftn(a)", COMPLEX[4, 3, 2]), ("np.fft.ifftn(a)", COMPLEX[4, 3, 2]),
    ("np.fft.fftn(a)", COMPLEX[5,]), ("np.fft.fftn(a, axes=(0, 2))", COMPLEX[4, 3, 2]),
    ("np.fft.rfft2(a)", REAL[4, 6]), ("np.fft.irfft2(a)", COMPLEX[4, 6]), ("np.fft.rfftn(a)", REAL[4, 3, 2]),
    ("np.fft.irfftn(a, s=(4, 3, 5), axes=(0, 1, 2))", COMPLEX[4, 3, 2]), ("np.fft.irfft2(a, s=(4, 9))", COMPLEX[4, 6]),
    ("np.fft.irfft2(a, s=a.shape)", COMPLEX[4, 6]), ("np.fft.rfftn(a, axes=(1,))", REAL[4, 6]),
    ("np.fft.fftshift(a)", COMPLEX[5,]), ("np.fft.fftshift(a)", COMPLEX[4, 6]), ("np.fft.ifftshift(a)", REAL[5,]),
    ("np.fft.ifftshift(a, axes=1)", COMPLEX[5, 3]), ("np.fft.fftshift(a, (0, 1))", REAL[5, 3]),
    ("np.fft.ifftshift(a)", REAL[4, 3, 2]), ("np.fft.fftfreq(5) * a", REAL[5,]),
    ("np.fft.fftfreq(6, 0.1) * a", REAL[6,]),
    ("np.fft.rfftfreq(9, d=0.5) * a", REAL[5,]), ("np.fft.rfftfreq(8) * a", REAL[5,]),
    ("np.fft.fft(a)", REAL[6,].astype(np.float32)), ("np.fft.fft(a)", COMPLEX[6,].astype(np.complex64)),
    ("np.fft.irfft(a)", COMPLEX[6,].astype(np.complex64)), ("np.fft.fft(a)", np.arange(6, dtype=np.int8)),
    ("np.fft.fft(a)", np.arange(6) > 3), ("np.fft.fft([a[0], 2.0, a[1]])", REAL[5,]),
]  # fmt: skip
IDS = [f"{e} {a.shape} {a.dtype}" for e, a in CASES]


@pytest.mark.part(7)
@pytest.mark.parametrize(("expression", "a"), CASES, ids=IDS)
def test_values_and_types_are_those_of_numpy(expression: str, a: np.ndarray) -> None:
    plain = registered(f"def f(a):\n    return 1 * ({expression})\n", f"<values of {expression} {a.shape}>", np=np)
    expected, types = plain(a), argument_types({"a": a})
    (found,) = run_bound(bind(parse_function(source_of(plain), types), types), {"a": a})
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    tolerance = 1e-5 if expected.dtype in (np.float32, np.complex64) else 1e-13
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def loss(expression: str, xp: Any) -> Any:
    """A number that depends on both parts of what the expression gives, each element in its own way."""
    text = (
        f"def f(a):\n    z = {expression}\n    w = np.cos(np.arange(1.0 * z.size)).reshape(z.shape)\n"
        "    return np.sum(np.real(z) * w) + np.sum(np.abs(z) ** 2 * np.imag(z + 1j * np.real(z)))\n"
    )
    return registered(text, f"<loss of {expression} {xp.__name__}>", np=xp)


DIFFERENTIATED = [(e, a) for e, a in CASES if a.dtype in (np.float64, np.complex128) and a.size and "[" not in e][::3]


@pytest.mark.part(17)
@pytest.mark.parametrize(("expression", "a"), DIFFERENTIATED, ids=[f"{e} {a.shape}" for e, a in DIFFERENTIATED])
def test_gradients_are_those_of_jax(expression: str, a: np.ndarray) -> None:
    """Of which those of real numbers by complex ones are as ours."""
    with jax.enable_x64(True):
        expected = jax.grad(loss(expression, jnp))(a)
    with interpreting():
        value, (gradient,) = vectorize_grad(loss(expression, np)).value_and_grad(a)
    assert value == pytest.approx(loss(expression, np)(a), rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(gradient, expected, rtol=1e-10, atol=1e-10)


def test_lengths_of_all_kinds() -> None:
    """The gradient of the energy of a spectrum is 2 n x, and its second derivative as well."""
    plain = registered("def f(x):\n    return np.sum(np.abs(np.fft.fft(x)) ** 2)\n", "<energy>", np=np)
    f = vectorize_grad(plain)
    for n in (2, 3, 7, 16, 60, 97, 128):
        x, way = RNG.standard_normal(n), RNG.standard_normal(n)
        value, gradient, product = f.hvp((x,), dict(x=way))
        assert value == pytest.approx(n * (x @ x), rel=1e-13)
        np.testing.assert_allclose(gradient.x, 2 * n * x, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(product.x, 2 * n * way, rtol=1e-12, atol=1e-12)


def test_long_lines() -> None:
    f = vectorize_grad(registered("def f(z):\n    return np.fft.ifft(z)\n", "<long>", np=np))
    for n in (1000, 997, 1024, 4096, 6000):
        z = RNG.standard_normal(n) + 1j * RNG.standard_normal(n)
        expected = np.fft.ifft(z)
        assert np.linalg.norm(f(z) - expected) < 2e-15 * np.log2(n) * np.linalg.norm(expected)


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("np.fft.fft(x, norm='other')", "`norm` of functions of np.fft"), ("np.fft.fft(x, 0)", "one element or more"),
        ("np.fft.rfft(1j * x)", "takes real numbers"), ("np.fft.fftn(x, s=(3,))", "take `axes` with `s`"),
        ("np.fft.fftn(x, axes=(0, 0, 0, 0))", "up to three axes"), ("np.fft.irfft(x[:1])", "one element or more"),
        ("np.fft.fft(x, out=x)", "cannot be called like this"),
    ],
)  # fmt: skip
def test_what_transforms_do_not_take(expression: str, said: str) -> None:
    plain = registered(f"def f(x):\n    return np.real({expression}).sum()\n", f"<no {expression}>", np=np)
    with interpreting(), pytest.raises(LoopdiffError, match=re.escape(said)):
        vectorize_grad(plain)(REAL[5,])


def test_scipy_has_the_same_under_another_name() -> None:
    from scipy import fft as transforms

    plain = registered("def f(x):\n    return transforms.fft(x).real.sum()\n", "<scipy>", transforms=transforms)
    with pytest.raises(UnsupportedLoopError, match=r"call the function of that name in `np\.fft`"):
        vectorize_grad(plain)(REAL[5,])
