"""Functions of NumPy that are written out as Python: NumPy's own values, and differences of these."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest
from scipy import special

from loopdiff import UnsupportedLoopError, vectorize_grad
from loopdiff.errors import LoopdiffError
from loopdiff.frontend.binding.bind import bind
from loopdiff.frontend.capture import argument_types
from loopdiff.frontend.parse import parse_function
from loopdiff.numpy_functions import WRITTEN
from loopdiff.source.functions import source_of
from tests.frontend.test_accepted import check_against_python, run_bound
from tests.frontend.test_ordinary_code import CASES as ORDINARY
from tests.gradients.interpreted import interpreting
from tests.lengths import IS_LONG, in_turns
from tests.texts import registered

pytestmark = pytest.mark.part(3)
RNG = np.random.default_rng(7)
VECTOR, OTHER, SHORT = RNG.uniform(0.5, 2.0, 6), RNG.uniform(0.5, 2.0, 6), RNG.uniform(-1.0, 1.0, 3)
MATRIX, CUBE = RNG.uniform(0.5, 2.0, (4, 6)), RNG.uniform(0.5, 2.0, (2, 3, 4))
GRID = np.array([0.0, 0.5, 1.5, 2.0, 3.5, 4.0])
SYMMETRIC = np.array([[2.0, 0.5, 0.25], [0.5, 1.5, -0.5], [0.25, -0.5, 1.75]])
SQUARE, STACK = SYMMETRIC[[1, 0, 2]] - 0.25, np.stack((SYMMETRIC, SYMMETRIC + np.eye(3)))
RANDOM = {s: RNG.uniform(0.5, 2.0, s) for s in ((6,), (3,), (4, 6), (3, 3), (2, 3, 4), (1, 6), (6, 1))}
V, M = (VECTOR,), (MATRIX,)

CASES: list[tuple[str, tuple[Any, ...]]] = [
    ("np.take_along_axis(a, np.argsort(a, axis=0), axis=0)", M), ("np.apply_along_axis(np.cumsum, 0, a)", M),
    ("np.delete(a, 1)", V), ("np.delete(a, 1, axis=0)", M), ("np.insert(a, 2, b[0])", (VECTOR, SHORT)),
    ("np.insert(a, 1, 2.5, axis=0)", M), ("np.array([a[0], 2.0, a[1] * a[2]])", V),
    ("np.array([[a[0], 1.0], [0.0, b[1]]])", (VECTOR, SHORT)),
    ("np.array([a, b])", (VECTOR, OTHER)), ("np.array((a[1:], b[:-1] * 2.0))", (VECTOR, OTHER)), ("np.array(a)", M),
    ("np.array([1, 2, 3]) * a", (SHORT,)), ("np.asarray(a)", V), ("np.array(a, dtype=np.float64)", V),
    ("np.array([[[a[0]], [a[1]]], [[2.0], [3.0]]])", V), ("np.array([a[0]]) @ b[:1]", (VECTOR, SHORT)),
    ("np.r_[0.5, a, 1:3, b[-1]]", (VECTOR, SHORT)), ("np.r_[a, a[:1]]", M), ("np.r_[0:1:5j, a]", V),
    ("np.c_[a, b, 2.0 * a]", (VECTOR, OTHER)), ("np.c_[a, a[:, 0]]", M),
    ("np.linspace(a[0], 3.0, 5, retstep=True)[0]", V),
    ("np.linspace(a[0], 3.0, num=5, endpoint=False, retstep=True)[1]", V),
    ("a[np.where(a > 1.0)[0]].sum()", V), ("a[np.nonzero(a > 1.0)[0]].prod()", V),
    ("a[np.where(a > 1.0)].sum() * a[np.nonzero(a - a[0])].mean()", M),
    ("a[np.flatnonzero(b > 1.0)].sum() * b[(a > 1.0).nonzero()[0]].sum()", (VECTOR, OTHER)),
    ("(a[np.argwhere(a > 1.0)[:, 0], np.argwhere(a > 1.0)[:, 1]]).sum()", M),
    ("(np.unique(np.concatenate((a, a[:3]))) * np.arange(6)).sum()", V),
    ("(a * np.unique(np.round(a), return_inverse=True)[1]).sum()", V),
    ("a * np.unique(np.round(a), return_counts=True)[1].max()", V),
    ("(a[np.unique(np.round(a), return_index=True)[1]]).sum()", V), ("a * np.isin(np.round(a), [1.0, 3.0])", M),
    ("a[np.setdiff1d([4, 1, 0, 1], [0, 2])].sum() + a[np.intersect1d([4, 1, 1], [1, 4])].prod()", V),
    ("a[np.union1d([4, 1], [1, 0])].prod() + a[np.setdiff1d([4, 1, 1], [4], assume_unique=True)].sum()", V),
    ("np.int32(a[0]) * a + np.uint8(3) * a[np.int16(1)]", V), ("np.uint8(a * 3.0) * a", V),
    ("np.shape(a)[0] * a + np.size(a)", V),
    # Numbers are arrays without axes, for functions and for methods.
    ("np.tile(a[0], 3) + np.repeat(a[1], 3) + np.stack([a[0], a[1] * a[2], 2.0])", V), ("np.tile(a[0], (2, 3))", V),
    ("np.kron(a[0], a) + np.kron(a, a[1])", V), ("np.transpose(a[0]) * a[1].T + a[2].sum() * a[3].ravel()[0]", V),
    ("np.median(a[0]) + np.linalg.norm(a[1]) + np.cumsum(a[2])[0] + np.nansum(a[3]) + np.average(a[4])", V),
    ("a[0].ndim + a[1].size * a[4].mean() + len(a[2].shape) + a[3].reshape(-1, 1)[0, 0]", V),
    ("np.concatenate((a, b))", (VECTOR, SHORT)), ("np.concatenate([a, 2.0 * b, a[1:]])", (VECTOR, SHORT)),
    ("np.concatenate((a, b), axis=1)", (MATRIX, MATRIX[:, :2])), ("np.concatenate((a, b), -2)", (MATRIX, MATRIX[:2])),
    ("np.stack((a, b))", (VECTOR, OTHER)), ("np.stack((a, b, a), axis=1)", (VECTOR, OTHER)),
    ("np.stack([a, a * a], -1)", M), ("np.hstack((a, b))", (VECTOR, SHORT)), ("np.hstack((a, a[:, :1]))", M),
    ("np.vstack((a, b))", (VECTOR, OTHER)), ("np.vstack((a, b))", (MATRIX, VECTOR)),
    ("np.column_stack((a, b))", (VECTOR, OTHER)),
    ("np.arange(6) * a", V), ("np.arange(2, 8) * a", V), ("np.arange(10, -2, -2) * a", V),
    ("np.linspace(0.0, 1.0, 6) * a", V), ("np.linspace(a[0], a[1], 4)", V),
    ("np.linspace(a[0], 2.0, 5, endpoint=False)", V),
    ("np.linspace(-3.0, 4.0, 6, dtype=int) * a", V), ("np.linspace(-1.3, 4, num=6, dtype=np.int32) * a", V),
    ("np.indices(a.shape)[1] * a", M), ("np.indices((6,))[0] * a", V), ("np.indices((2, 3, 6), dtype=float)[2] * a", V),
    ("np.indices(a.shape, int)[0].sum() * a", V),
    ("np.divide(a, a - a[0], out=np.zeros_like(a), where=a != a[0])", V),
    ("np.sqrt(a + 1.0, out=np.ones(a.shape), where=a > 1.0)", M),
    ("np.add(a, b, out=np.zeros_like(a), where=np.array([True, False, False, True, True, False]))", (VECTOR, OTHER)),
    ("np.eye(4) @ a", M), ("np.eye(3, 4, k=1) @ a", M), ("np.eye(5, 4, k=-1) @ a", M), ("np.identity(4) @ a", M),
    ("np.tri(4) @ a", M), ("np.tri(3, 4, -1) @ a", M), ("np.tril(a)", M), ("np.triu(a)", M), ("np.tril(a, -1)", M),
    ("np.triu(a, 2)", M), ("np.triu(a, k=-2)", M), ("np.diag(a)", V), ("np.diag(a, 1)", V),
    ("np.diag(a, -2)", (SHORT,)), ("np.diagflat(a)", M), ("np.diagflat(a[:2], -1)", M),
    ("np.divmod(a, 0.3)[1]", M), ("divmod(a, 0.3)[1]", V),
    ("np.round(a, 2) * a", M), ("a.round(1) + a", V),
    ("np.diag(a)", M), ("np.diag(a, 2)", M), ("np.diagonal(a, -1)", M), ("a.diagonal()", M),
    ("np.flip(a)", V), ("np.flip(a)", M), ("np.flip(a, axis=1)", M), ("np.flip(a, 0)", (CUBE,)), ("np.flipud(a)", M),
    ("np.fliplr(a)", M), ("np.rot90(a)", M), ("np.rot90(a, 2)", M), ("np.rot90(a, 3)", M), ("np.rot90(a, -1)", M),
    ("np.roll(a, 2)", V), ("np.roll(a, -1)", V), ("np.roll(a, 1, axis=0)", M), ("np.roll(a, -2, axis=1)", M),
    ("np.roll(a, 7)", M), ("np.repeat(a, 3)", V), ("np.repeat(a, 2, axis=0)", M), ("np.repeat(a, 2, axis=1)", M),
    ("np.repeat(a, 2, axis=1)", (CUBE,)), ("np.repeat(a, 3, -1)", (CUBE,)), ("np.repeat(a[None], 2, 2)", (CUBE,)),
    ("np.tile(a, 2)", (CUBE,)), ("np.tile(a, (2, 1, 3))", (CUBE,)), ("np.tile(a, (2, 3, 1))", V),
    ("np.tile(a, (2, 1, 2))", M),
    ("np.tile(a, (3, 2))", (CUBE,)), ("np.tile(a, 3)", V), ("np.deg2rad(a)", V), ("np.rad2deg(a)", M),
    ("np.diff(a)", V), ("np.diff(a, 2)", V), ("np.diff(a, n=3)", V), ("np.diff(a)", M), ("np.diff(a, axis=0)", M),
    ("np.diff(a, axis=1)", (CUBE,)), ("np.diff(a, 2, -2)", (CUBE,)), ("np.ediff1d(a)", M),
    ("np.unwrap(4.0 * a, axis=0)", M),
    ("np.cumsum(a)", V), ("np.cumsum(a)", M), ("np.cumsum(a, axis=0)", M), ("np.cumsum(a, axis=-1)", M),
    ("np.cumsum(a, 1)", (CUBE,)), ("a.cumsum()", V), ("np.cumsum(a * a)", V), ("np.cumsum(a[1:])[::2]", V),
    ("np.cumprod(a)", V), ("np.cumprod(a, axis=0)", M), ("a.cumprod()", V),
    ("np.convolve(a, b)", (VECTOR, SHORT)), ("np.convolve(a, b, 'same')", (VECTOR, SHORT)),
    ("np.convolve(a, b, mode='valid')", (SHORT, VECTOR)), ("np.gradient(a)", V), ("np.gradient(a, 0.5)", V),
    ("np.gradient(a)[1]", M), ("np.gradient(a, 2.0, 0.5)[0]", M), ("np.gradient(a, b, axis=1)", (MATRIX, GRID)),
    ("np.gradient(a, axis=0)", (CUBE,)), ("np.roll(a, (1, 2), axis=(0, 1))", M), ("np.tile(a, (2, 3))", M),
    ("np.moveaxis(a, 0, -1)", (CUBE,)), ("np.rot90(a)", (CUBE,)), ("np.trapezoid(a)", (CUBE,)),
    ("np.trapezoid(a)", V), ("np.trapezoid(a, b)", (VECTOR, GRID)), ("np.trapezoid(a, dx=0.1)", M),
    ("np.trapezoid(a, axis=0)", M), ("np.trapezoid(a, b)", (MATRIX, GRID)),
    ("np.std(a)", V), ("np.std(a, axis=0)", M), ("np.std(a, ddof=1)", M), ("a.std()", M), ("a.std(axis=1)", M),
    ("np.var(a)", V), ("np.var(a, axis=1, ddof=1)", M), ("np.var(a, axis=0, keepdims=True)", M), ("a.var()", V),
    ("np.ptp(a)", V), ("np.ptp(a, axis=0)", M), ("np.average(a)", M), ("np.average(a, axis=0)", M),
    ("np.average(a, weights=b)", (VECTOR, OTHER)), ("np.average(a, 1, b)", (MATRIX, OTHER)),
    ("np.average(a, axis=0, weights=b)", (MATRIX, MATRIX + 1.0)), ("np.nansum(a)", M), ("np.nanmean(a, axis=0)", M),
    ("np.linalg.norm(a)", V), ("np.linalg.norm(a)", M), ("np.linalg.norm(a, axis=1)", M),
    ("np.linalg.norm(a, axis=0, keepdims=True)", M), ("np.linalg.norm(a, 1)", V), ("np.linalg.norm(a, np.inf)", V),
    ("np.linalg.norm(a, 3)", V),
    ("np.linalg.norm(a, 'fro')", M),
    ("np.linalg.norm(a, 0)", (np.array([0.0, 2.0, 0.0]),)), ("np.linalg.norm(a, -np.inf)", V),
    ("np.linalg.norm(a[1:] - a[:-1])", V), ("np.linalg.norm(a, ord=2, axis=1)", M),
    ("np.vdot(a, b)", (VECTOR, OTHER)), ("np.cross(a, b)", (SHORT, OTHER[:3])),
    ("np.cross(a, b)", (MATRIX[:, :3], MATRIX[:, 3:])), ("np.kron(a, b)", (VECTOR, SHORT)),
    ("np.kron(a, b)", (MATRIX, MATRIX[:2, :3])), ("np.polyval(a, 0.3)", V), ("np.polyval(a, b)", (SHORT, MATRIX)),
    ("np.vander(a)", (SHORT,)), ("np.vander(a, 4, increasing=True)", (SHORT,)),
    ("np.interp(1.7, b, a)", (VECTOR, GRID)), ("np.interp(-1.0, b, a)", (VECTOR, GRID)),
    ("np.interp(a[0], b, a)", (VECTOR, GRID)), ("np.interp(9.0, b, a)", (VECTOR, GRID)),
    ("a[np.searchsorted(b, 1.7)]", (VECTOR, GRID)), ("a[np.searchsorted(b, 1.5, side='right')]", (VECTOR, GRID)),
    ("np.logaddexp(a, b)", (VECTOR, OTHER)), ("np.logaddexp(a, a)", V), ("np.logaddexp(a[0], 800.0)", V),
    ("np.logaddexp2(a, b)", (MATRIX, VECTOR)), ("np.sinc(a)", V), ("np.sinc(a - a[1])", V),
    ("np.heaviside(a - 1.0, 0.5) * a", V), ("np.nan_to_num(a)", V),
    ("np.where(np.isclose(a, 1.0, 0.5), a, 0.0)", V),
    ("np.sort(a)", V), ("np.sort(a, axis=0)", M), ("np.sort(a, axis=None)[3:]", M),
    ("a[np.argsort(b, kind='stable')]", (VECTOR, OTHER)), ("np.argsort(a, axis=0, kind='stable') * a", M),
    ("np.median(a)", V), ("np.median(a, axis=1)", M), ("np.median(a[1:])", V),
    ("np.histogram(a, b)[0] * a[1:]", (VECTOR, GRID)), ("np.histogram(b, 3, weights=a)[0]", (VECTOR, OTHER)),
    ("np.histogram(a, 4)[1]", M), ("np.digitize(a, b) * a", (VECTOR, GRID)),
    ("np.bincount(np.arange(6) // 2, a, 4)", V), ("np.bincount(np.arange(6) % 4, minlength=6) * a", V),
    ("np.searchsorted(b, a, 'right') * a", (VECTOR, GRID)), ("np.trace(a, offset=1)", M), ("np.trace(a, -2)", M),
    ("np.trace(a, 7)", M), ("np.tensordot(a, b, 1)", (MATRIX.T, MATRIX)), ("np.tensordot(a, b)", (CUBE, CUBE[0])),
    ("np.tensordot(a, b, axes=([1, 2], [0, 1]))", (CUBE, CUBE[0])), ("np.tensordot(a, b, 0)", (SHORT, VECTOR)),
    ("np.einsum('...j,...j->...', a, b)", (CUBE, CUBE[0])), ("np.einsum('...ij,jk', a, b)", (CUBE, CUBE[0].T)),
    ("np.linalg.solve(a, b)", (SQUARE, SHORT)), ("np.linalg.solve(a, b)", (STACK, STACK[:, :, :2])),
    ("np.linalg.inv(a)[1]", (SQUARE,)), ("np.linalg.inv(a)", (STACK,)), ("np.linalg.det(a)", (SQUARE,)),
    ("np.linalg.det(a)", (STACK,)), ("np.linalg.slogdet(a)[1]", (STACK,)), ("np.linalg.slogdet(a)[0]", (SQUARE,)),
    ("np.linalg.qr(a)[1]", M), ("np.linalg.pinv(a)", (SYMMETRIC,)), ("np.linalg.lstsq(a, b)[0]", (SYMMETRIC, SHORT)),
    ("np.linalg.cholesky(a)", (SYMMETRIC,)), ("np.linalg.cholesky(a)", (STACK,)), ("np.linalg.cond(a)", M),
    ("np.linalg.eigh(a)[1]", (SYMMETRIC,)), ("np.linalg.eigvalsh(a)", (SYMMETRIC,)), ("np.linalg.svd(a, False)[0]", M),
    ("np.where(np.arange(9) < np.linalg.matrix_rank(a), a[0, 0], a[1, 1])", M),
    *((f"np.linalg.{n}(a)", M) for n in ("svdvals",) if hasattr(np.linalg, n)),
    ("np.linalg.matrix_power(a, 5)", (SQUARE,)), ("np.linalg.matrix_power(a, -2)", (SYMMETRIC,)),
    ("np.atleast_1d(a) * 2", V), ("np.atleast_2d(a)", V), ("np.atleast_2d(a[0])", V), ("np.atleast_3d(a)", M),
    ("np.squeeze(a[None])", M), ("np.squeeze(a[:, :1], axis=1)", M), ("a[None, :, None].squeeze((0, -1))", V),
    ("np.expand_dims(a, (0, -1))", M), ("np.broadcast_to(a, (3, 4, 6))", M),
    ("np.broadcast_to(a[:, None], (6, 2))", V), ("np.broadcast_to(a[0], (2, 3))", V),
    ("np.meshgrid(a, b)[1]", (VECTOR, SHORT)), ("np.meshgrid(a, b, indexing='ij')[0]", (VECTOR, SHORT)),
    ("np.meshgrid(a, b, b)[2]", (VECTOR, SHORT)), ("np.mgrid[0:3, 0:6][1] * a", (MATRIX[:3],)),
    ("np.append(a, b)", (MATRIX, SHORT)), ("np.append(0.5, a)", V), ("np.append(a, a[0])", V),
    ("np.append(a, b, axis=1)", (MATRIX, MATRIX[:, :1])), ("np.take(a, [2, 0, 2])", V), ("a.take([1, 0], 1)", M),
    ("np.select([a > 5.0, a > 3.0], [a, 2 * a], a * a)", V), ("np.select([a > 5.0], [a])", V), ("np.pad(a, 2)", V),
    ("np.pad(a, ((1, 2), (0, 3)))", M), ("np.pad(a, (1, 2), 'edge')", M), ("np.pad(a, (4, 5), mode='wrap')", (SHORT,)),
    ("np.pad(a, 5, 'reflect')", (SHORT,)), ("np.pad(a, (7, 1), 'symmetric')", (SHORT,)),
    ("np.pad(a, 1, constant_values=a[0])", V), ("np.dstack((a, b))", (M[0],) * 2), ("np.diff(a, prepend=a[:1])", V),
    ("np.diff(a, axis=0, append=a)", M), ("np.diff(a, 2, append=a[0])", V), ("np.ediff1d(a, to_begin=a[0])", V),
    ("np.ediff1d(a, a[:2], 0)", V), ("np.gradient(a, axis=(1, 0))[0]", M), ("np.correlate(a, b)", (VECTOR, SHORT)),
    ("np.correlate(a, b, 'full')", (SHORT, VECTOR)), ("np.correlate(a, b, mode='same')", (VECTOR, SHORT)),
    ("np.interp(b, np.cumsum(a), a * a)", (OTHER, GRID)),
    ("np.interp(b, np.cumsum(a), a * a, left=b[0], right=1.0)", (OTHER, GRID)),
    ("np.ptp(a, axis=0, keepdims=True)", M), ("np.average(a, axis=1, weights=b, keepdims=True)", (MATRIX, OTHER)),
    ("np.nanprod(a, axis=1)", M), ("np.nanmax(a, axis=1)", M), ("np.nanmin(a)", V),
    ("np.nanvar(a, axis=0, ddof=1)", M), ("np.nanstd(a)", V), ("np.nanmean(a, axis=1, keepdims=True)", M),
    ("np.cov(a, b)", (VECTOR, OTHER)), ("np.cov(a, rowvar=False)", M), ("np.cov(a, ddof=0)", M), ("np.corrcoef(a)", M),
    ("np.corrcoef(a, b)", (VECTOR, OTHER)), ("np.quantile(a, 0.3)", V), ("np.quantile(a, [0.25, 0.9], axis=1)", M),
    ("np.percentile(a, 35, axis=0)", M), ("np.quantile(a, 0.6, axis=1, keepdims=True)", (CUBE,)),
    ("np.median(a, axis=2)", (CUBE,)), ("np.linalg.norm(a, 1)", M), ("np.linalg.norm(a, -np.inf, axis=(1, 0))", M),
    ("np.linalg.norm(a, np.inf, keepdims=True)", M), ("np.where(np.allclose(a, a), a, 0.0)", V),
    ("np.histogram(a, 3, (0, 9))[0] * a[:3]", V), ("np.histogram(a, 3, density=True)[0]", V),
    ("np.histogram(a, 3, (0, 9), weights=b)[0]", (VECTOR, OTHER)), ("np.nan_to_num(a, nan=1.0, posinf=2.0)", V),
    ("np.clip(a, None, 5)", V), ("np.clip(a, min=2)", M), ("a.clip(max=b)", (MATRIX, VECTOR)),
    ("np.arange(0.0, 3.0, 0.5) * a", V), ("np.add.reduce(a)", M), ("np.maximum.reduce(a, axis=1)", M),
    ("np.multiply.accumulate(a)", V), ("np.minimum.accumulate(a, axis=1)", M), ("np.logaddexp.reduce(a, axis=1)", M),
    ("a @ [1.0, 2.0, 0.5]", (SQUARE,)), ("np.mean([a, b], axis=0)", (VECTOR, OTHER)),
    ("np.linalg.solve([[a[0], 1.0], [0.5, a[1]]], [1.0, a[2]])", V), ("a[[0, 2]]", M),
    ("np.vecdot(a, b)", (MATRIX, VECTOR)), ("np.vecdot(a, a, axis=0)", M), ("np.matvec(a, b)", (MATRIX, VECTOR)),
    ("np.matvec(a, b)", (STACK, SHORT)), ("np.vecmat(a, b)", (SHORT, STACK)), ("np.vecmat(a, b)", (SHORT, SQUARE)),
    ("np.cumulative_sum(a, axis=1)", M), ("np.cumulative_prod(a)", V), ("np.matrix_transpose(a)", (CUBE,)),
    ("np.linalg.trace(a, offset=1)", (SQUARE,)), ("np.linalg.diagonal(a)", (SQUARE,)),
    ("np.linalg.vector_norm(a)", M), ("np.linalg.vector_norm(a, axis=0, ord=1)", M),
    ("np.linalg.matrix_norm(a, ord=1)", M), ("np.linalg.multi_dot([a, a.T, b])", (SQUARE, SHORT)),
    ("np.linalg.cross(a, b)", (SHORT, VECTOR[:3])), ("np.linalg.outer(a, b)", (SHORT, VECTOR)),
    ("np.logspace(0.0, a[0], 5)", V), ("np.logspace(a[0], 1, 3, endpoint=False, base=2.0)", V),
    ("np.geomspace(a[0], 8.0, 4)", V), ("np.geomspace(-a[0], -3.0, num=3)", V), ("np.polyder(a)", V),
    ("np.geomspace(a[0], 8.0, 4, endpoint=False)", V), ("np.cumulative_sum(a, include_initial=True)", V),
    ("np.cumulative_prod(a, include_initial=True)", V),
    ("np.polyfit(a, b, 2)", (VECTOR, OTHER)), ("np.polyfit(a, b, deg=1, w=b)", (VECTOR, OTHER)),
    ("np.polyfit(a, np.stack((b, b * b), axis=1), 1)", (VECTOR, OTHER)), ("np.polyfit([0, 1, 2, 3, 4, 5], a, 2)", V),
    ("np.fft.fft(a).imag", V), ("np.fft.ifft(a, axis=0).imag", M), ("np.fft.rfft(a)[1:].real", V),
    ("np.fft.irfft(a)", V),
    ("np.fft.hfft(a)", V), ("np.fft.ihfft(a).real", V), ("np.fft.fft2(a).real", M), ("np.fft.ifft2(a).real", M),
    ("np.fft.fftn(a).real", M), ("np.fft.ifftn(a).real", M), ("np.fft.rfft2(a).real", M), ("np.fft.irfft2(a)", M),
    ("np.fft.rfftn(a).real", M), ("np.fft.irfftn(a)", M), ("np.fft.fftfreq(6) * a", V), ("np.fft.rfftfreq(10) * a", V),
    ("np.fft.fftshift(a)", M), ("np.fft.ifftshift(a)", V),
    ("np.i0(a)", M), ("np.kaiser(6, a[0])", V), ("np.gcd(np.arange(6), 4) * a", V),
    ("np.lcm(np.arange(6), [3, 4, 0, 5, 6, -7]) * a", V), ("np.gcd(np.arange(4)[:, None], 6) * a", M),
    ("np.positive(a)", V), ("np.logical_xor(a > 1.0, b < 1.5) * a", (VECTOR, OTHER)), ("np.signbit(a - 4.0) * a", V),
    ("np.isposinf(a) * a", V), ("np.isneginf(a) * a", M), ("np.modf(a)[0] + np.modf(a * 3.0)[1]", M),
    ("np.iscomplexobj(a) * a + np.isrealobj(a)", V), ("np.iscomplex(a) * a + np.isreal(a + 1j)", V),
    ("np.array_equiv(a[0], a) * a", M), ("np.compress(a > 1.0, a).sum()", V), ("np.extract(a > 1.0, a * a).prod()", M),
    ("np.compress([True, False, True, True], a, axis=0).sum()", M),
    ("np.choose([0, 1, 1, 0, 1, 0], [a, b])", (VECTOR, OTHER)),
    ("np.choose(np.arange(6) % 4, (a, 2 * a, a[0], 3))", V), ("np.choose(np.arange(6) % 3, (a, 2 * a, a[0]))", V),
    ("np.unravel_index(np.arange(6), (2, 3))[1] * a", V), ("np.unravel_index(np.argmax(a), a.shape)[0] * a", M),
    ("np.unravel_index(np.arange(6), (3, 2, 2))[1] * a", V),
    ("np.ravel_multi_index((np.arange(6) % 2, 1), (2, 3)) * a", V),
    ("np.ravel_multi_index((np.arange(6) % 2, 1, 2), (2, 3, 4)) * a", V), ("np.nanmedian(a, axis=0)", M),
    ("np.nanquantile(a, 0.3)", M), ("np.nanpercentile(a, 30, axis=1)", M), ("np.partition(a, 2)[2]", V),
    ("a[np.argpartition(a, 2)[2]]", V), ("a[np.lexsort((a, np.round(b)))]", (VECTOR, OTHER)), ("np.lexsort(a) * a", M),
    ("np.setxor1d([3, 1], [1, 2]).sum() * a", V), ("np.nanargmax(a, axis=1)", M), ("np.nanargmin(a)", V),
    ("np.nanmedian(np.array([np.inf, 1.0, -np.inf, np.nan])) * a", V),
    ("np.setxor1d([1.0, np.nan], [2.0, 1.0]).shape[0] * a", V),
    ("np.nancumsum(a, axis=0)", M), ("np.nancumprod(a)", V), ("np.histogram_bin_edges(a, 4)", M),
    ("np.histogram2d(a, b, 3, weights=a)[0]", (VECTOR, OTHER)),
    ("np.histogram2d(a, b, [0, 1, 9], density=True)[0]", (VECTOR, OTHER)),
    ("a[np.triu_indices_from(a)]", M), ("a[np.tril_indices_from(a, -2)]", M), ("a[np.triu_indices(4, -7, 6)]", M),
    ("a[np.tril_indices(4, 1, 6)]", M), ("a[np.diag_indices_from(a)]", (SQUARE,)),
    ("np.polyadd(a, b)", (VECTOR, SHORT)),
    ("np.polysub(a, b)", (SHORT, VECTOR)), ("np.polyadd(a, 2.0)", V), ("np.polymul(a, b)", (VECTOR, SHORT)),
    ("np.poly(a)", V),
    ("np.asanyarray(a) * 2", V), ("np.linalg.tensordot(a, b, axes=1)", (MATRIX.T, MATRIX)),
    ("np.polyint(a)", V), ("np.array_equal(a, a) * a", V), ("np.array_equal(a, b) * a", (VECTOR, SHORT)),
]  # fmt: skip
# Integers and single precision give single precision here (see the conventions), where NumPy makes it double.
OTHER_TYPES = {
    "np.arange(6) * a", "np.arange(2, 8) * a", "np.arange(10, -2, -2) * a", "np.array([1, 2, 3]) * a", "np.vander(a)",
    "np.vander(a, 4, increasing=True)", "np.polyval(a, 0.3)", "np.nan_to_num(a)", "np.digitize(a, b) * a",
    "np.argsort(a, axis=0, kind='stable') * a", "np.histogram(a, b)[0] * a[1:]", "np.searchsorted(b, a, 'right') * a",
    "np.bincount(np.arange(6) % 4, minlength=6) * a", "np.histogram(a, 3, (0, 9))[0] * a[:3]",
    "np.nan_to_num(a, nan=1.0, posinf=2.0)", "np.mgrid[0:3, 0:6][1] * a", "np.geomspace(a[0], 8.0, 4)",
    "np.r_[0.5, a, 1:3, b[-1]]", "(np.unique(np.concatenate((a, a[:3]))) * np.arange(6)).sum()",
    "a * np.unique(np.round(a), return_counts=True)[1].max()", "np.geomspace(-a[0], -3.0, num=3)",
    "np.geomspace(a[0], 8.0, 4, endpoint=False)", "np.polyder(a)",
    "np.linspace(-3.0, 4.0, 6, dtype=int) * a", "np.linspace(-1.3, 4, num=6, dtype=np.int32) * a",
    "np.indices(a.shape)[1] * a", "np.indices((6,))[0] * a", "np.indices(a.shape, int)[0].sum() * a",
    "np.gcd(np.arange(6), 4) * a", "np.gcd(np.arange(4)[:, None], 6) * a",
    "np.lcm(np.arange(6), [3, 4, 0, 5, 6, -7]) * a", "np.unravel_index(np.arange(6), (2, 3))[1] * a",
    "np.unravel_index(np.arange(6), (3, 2, 2))[1] * a", "np.unravel_index(np.argmax(a), a.shape)[0] * a",
    "np.ravel_multi_index((np.arange(6) % 2, 1, 2), (2, 3, 4)) * a", "np.lexsort(a) * a",
    "np.ravel_multi_index((np.arange(6) % 2, 1), (2, 3)) * a", "np.setxor1d([3, 1], [1, 2]).sum() * a",
    "(a * np.unique(np.round(a), return_inverse=True)[1]).sum()", "np.int32(a[0]) * a + np.uint8(3) * a[np.int16(1)]",
}  # fmt: skip
IDS = [f"{e} {np.shape(a[0])}" for e, a in CASES]


def weighted(expression: str, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """The sum of what the expression gives, with weights as the last argument."""
    names = "ab"[: len(args)]
    shape = np.shape(eval(expression, {"np": np, **dict(zip(names, args, strict=True))}))
    text = f"def f({', '.join(names)}, w):\n    return np.sum(({expression}) * w)\n"
    weights = np.random.default_rng(1).uniform(0.5, 1.0, shape) if shape else 0.7
    return registered(text, f"<numpy {expression} {[np.shape(v) for v in args]}>", np=np), (*args, weights)


def difference(f: Any, args: tuple[Any, ...], k: int, way: np.ndarray) -> float:
    """How `f` changes along `way` of its argument `k`."""
    moved = [tuple(v + h * way if j == k else v for j, v in enumerate(args)) for h in (1e-6, -1e-6)]
    return (f(*moved[0]) - f(*moved[1])) / 2e-6


@pytest.mark.part(9)
@pytest.mark.parametrize(("number", "case"), list(enumerate(CASES)), ids=IDS)
def test_values_and_types(number: int, case: tuple[str, tuple[Any, ...]]) -> None:
    """Of double precision, and of single precision or of integers."""
    expression, args = case
    names = "ab"[: len(args)]
    text = f"def f({', '.join(names)}):\n    return 1 * ({expression})\n"
    plain = registered(text, f"<values of {expression} {[np.shape(v) for v in args]}>", np=np)
    for kind, tolerance in ((np.float64, 1e-13), *in_turns(((np.float32, 1e-5), (np.int64, 1e-13)), number)):
        given = [(4 * v).astype(kind) for v in args]
        named = dict(zip(names, given, strict=True))
        types = argument_types(named)
        try:
            expected = plain(*given)
        except (TypeError, ValueError):  # of integers: fewer of them differ, and quotients are none
            with pytest.raises(LoopdiffError):
                run_bound(bind(parse_function(source_of(plain), types), types), named)
            continue
        (found,) = run_bound(bind(parse_function(source_of(plain), types), types), named)
        if expression not in OTHER_TYPES:
            assert np.asarray(found).dtype == np.asarray(expected).dtype
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.part(31)
@pytest.mark.parametrize(("expression", "args"), CASES, ids=IDS)
def test_gradients(expression: str, args: tuple[Any, ...]) -> None:
    plain, given = weighted(expression, args)
    with interpreting():
        value, gradients = vectorize_grad(plain).value_and_grad(*given)
    assert value == pytest.approx(plain(*given), rel=1e-13)
    rng = np.random.default_rng(2)
    for k, name in enumerate("ab"[: len(args)]):
        way = rng.uniform(-1.0, 1.0, np.shape(args[k]))
        if args[k] is not GRID:  # the points of an interpolation are not moved past each other
            expected = difference(plain, given, k, way)
            assert np.sum(getattr(gradients, name) * way) == pytest.approx(expected, rel=1e-6, abs=1e-7)


ONCE_EACH = sorted({e for e, _ in CASES} | {
    "np.gradient(a, axis=-1)", "np.gradient(a, b, axis=0)", "np.gradient(a, 0.5, b[0])[0]", "np.median(a, axis=0)",
    "np.roll(a, (1, 2), axis=(0, 1))", "np.roll(a, 1, axis=(0, 1))", "np.tile(a, (2, 3))", "np.moveaxis(a, 0, -1)",
    "np.moveaxis(a, (0, 1), (1, 2))", "np.swapaxes(a, 0, 1)", "np.trapezoid(a, b, axis=0)", "np.repeat(a, 2)",
    "np.tile(a, 2)", "np.tile(a, (2, 1, 2))", "np.repeat(a, 2, axis=-1)",
})  # fmt: skip


@pytest.mark.part(15)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, for lines of one number
@pytest.mark.parametrize(("number", "expression"), list(enumerate(ONCE_EACH)), ids=str)
def test_arrays_of_any_rank_give_what_numpy_gives_or_an_error(number: int, expression: str) -> None:
    """Where NumPy refuses, we do; else it is the same, or refused with a place."""
    names = "ab" if re.search(r"\bb\b", expression) else "a"
    ranks = list(itertools.product(RANDOM, repeat=len(names)))[:: len(RANDOM) ** (len(names) - 1)]
    for shapes in ranks if IS_LONG else ranks[number % 3 :: 3]:
        text = f"def f({', '.join(names)}):\n    return 1 * ({expression})\n"
        plain = registered(text, f"<ranks of {expression} {shapes}>", np=np)
        given = {name: RANDOM[shape] for name, shape in zip(names, shapes, strict=True)}
        try:
            expected = np.asarray(plain(*given.values()))
        except (ValueError, TypeError, IndexError, np.linalg.LinAlgError) as error:
            expected = error
        try:
            types = argument_types(given)
            (found,) = run_bound(bind(parse_function(source_of(plain), types), types), given)
        except (LoopdiffError, AssertionError, ValueError):
            continue
        assert isinstance(expected, np.ndarray), (shapes, expected)
        assert np.shape(found) == expected.shape
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.part(2)
@pytest.mark.parametrize(
    "view",
    [
        "np.diag(z)",
        "z.diagonal(1)",
        "np.einsum('ij->ji', z)",
        "np.einsum('ii->i', z)",
        "z.real",
        "np.real(z)",
        "z.conj()",
        "np.asarray(z, dtype=np.float64)",
        "np.swapaxes(z, 0, 1)",
        "np.moveaxis(z, 0, 1)",
        "np.rot90(z)",
        "z.squeeze()",
        "z[None].squeeze(0)",
        "np.broadcast_to(z, (2, 3, 3))",
        "np.broadcast_to(z[0], (3, 3))",
        "np.atleast_3d(z)",
        "np.expand_dims(z, (0, -1))",
        "np.take(z, [1, 0], 0)",
        "np.meshgrid(z[0], z[1])[0]",
        "np.clip(z, -9.0, 9.0)",
        "np.pad(z, 0)",
    ],
)
def test_views_see_what_is_written_later(view: str) -> None:
    text = f"def f(A):\n    z = 1.0 * A\n    r = {view}\n    z[:] = 2.0 * z\n    return (r * r).sum()\n"
    plain = registered(text, f"<view {view}>", np=np)
    with interpreting():
        value, (gradient,) = vectorize_grad(plain).value_and_grad(SQUARE)
    assert value == pytest.approx(plain(SQUARE), rel=1e-14)
    way = np.random.default_rng(3).normal(size=SQUARE.shape)
    assert np.sum(gradient * way) == pytest.approx(difference(plain, (SQUARE,), 0, way), rel=1e-6)


@pytest.mark.parametrize("part", ["z.real", "np.imag(z)", "z[1:].imag"])
@pytest.mark.parametrize("write", ["z[1] = 2.0", "r[0] = 2.0", "r *= 2.0"])
def test_parts_of_complex_arrays_are_no_copies(part: str, write: str) -> None:
    text = f"def f(x):\n    z = (1.0 + 2.0j) * x\n    r = {part}\n    {write}\n    return r.sum() + abs(z).sum()\n"
    with pytest.raises(UnsupportedLoopError, match=r"LD116: .* is a part of an array"):
        vectorize_grad(registered(text, f"<part {part} {write}>", np=np))(VECTOR)
    copied = registered(text.replace(part, f"{part}.copy()"), f"<copied part {part} {write}>", np=np)
    with interpreting():
        assert vectorize_grad(copied)(VECTOR) == pytest.approx(copied(VECTOR), rel=1e-14)


def test_every_function_is_tried() -> None:
    texts = " ".join(e for e, _ in (*CASES, *ORDINARY))
    names = {getattr(f, "__name__", "") for f in WRITTEN} - {
        "trapz",
        "fill_diagonal",
        "put",
        "put_along_axis",
        "putmask",
        "place",
    }
    assert sorted(n for n in names if f"{n}(" not in texts) == []


@pytest.mark.parametrize("value", [-np.inf, np.inf, 800.0, -800.0])
def test_logarithms_of_sums_at_the_ends(value: float) -> None:
    f = vectorize_grad(registered("def f(x, y):\n    return np.logaddexp(x, y)\n", "<logaddexp>", np=np))
    for other in (-np.inf, 1.0, np.inf):
        assert f(value, other) == np.logaddexp(value, other)


def test_the_derivative_of_sinc_at_zero() -> None:
    f = vectorize_grad(registered("def f(x):\n    return np.sinc(x)\n", "<sinc>", np=np))
    assert f.value_and_grad(0.0) == (1.0, (0.0,))


ENDS = [-800.0, -40.0, -1.0, 0.0, 0.25, 1.0, 40.0, 800.0]


@pytest.mark.parametrize("name", ["expit", "log_expit", "softplus", "logit", "entr"])
def test_functions_of_scipy_and_their_derivatives_at_the_ends(name: str) -> None:
    """The derivative in terms of the function, from its definition."""
    plain = registered(f"def f(x):\n    return sp.{name}(x)\n", f"<special {name}>", sp=special)
    slopes = {
        "expit": lambda x: special.expit(x) * special.expit(-x), "log_expit": lambda x: special.expit(-x),
        "softplus": special.expit, "logit": lambda x: 1.0 / (x * (1.0 - x)), "entr": lambda x: -np.log(x) - 1.0,
    }  # fmt: skip
    with interpreting():
        for x in ENDS if name not in ("logit", "entr") else [1e-300, 0.25, 0.5, 0.9]:
            value, (slope,) = vectorize_grad(plain).value_and_grad(x)
            assert value == pytest.approx(float(plain(x)), rel=1e-13)
            assert slope == pytest.approx(float(slopes[name](x)), rel=1e-13)


EVERYWHERE = np.array([-900.0, -60.0, -25.0, -14.0, -3.0, -1.0, -0.4, 0.0, 1e-9, 0.3, 0.5, 1.5, 7.0, 24.9, 25.0, 300.0])
SLOPES = {
    "i0": special.i1, "i1": lambda x: special.ivp(1, x), "j0": lambda x: -special.j1(x),
    "j1": lambda x: special.jvp(1, x), "ndtr": lambda x: np.exp(-0.5 * x * x) / np.sqrt(2.0 * np.pi),
    "log_ndtr": lambda x: np.exp(-0.5 * x * x - special.log_ndtr(x)) / np.sqrt(2.0 * np.pi),
    "erfinv": lambda x: 0.5 * np.sqrt(np.pi) * np.exp(special.erfinv(x) ** 2),
    "exprel": lambda x: np.where(np.abs(x) < 1e-8, 0.5, (np.exp(x) - special.exprel(x)) / x),
}  # fmt: skip


@pytest.mark.part(3)
@pytest.mark.parametrize("name", SLOPES)
def test_series_and_their_slopes(name: str) -> None:
    text = f"def f(x):\n    y = sp.{name}(x)\n    return y, y.sum()\n"
    x = EVERYWHERE
    if name == "erfinv":
        x = np.array([-1.0 + 1e-15, -0.9, -0.5, -1e-9, 0.0, 1e-300, 0.2, 0.6, 0.99, 1.0 - 1e-9, 1.0 - 1e-14])
    if name == "exprel":
        x = np.array([-900.0, -3.0, -0.51, -0.3, 0.0, 1e-9, 0.499, 0.51, 2.0, 300.0])
    f = vectorize_grad(registered(text, f"<series {name}>", sp=special))
    with interpreting(), np.errstate(all="ignore"):
        found, pullback = f.vjp(x)
        expected, slopes = getattr(special, name)(x), SLOPES[name](x)
        np.testing.assert_allclose(found[0], expected, rtol=1e-12, atol=1e-300 if name[0] != "j" else 2e-14)
        is_known = np.isfinite(slopes)
        np.testing.assert_allclose(pullback((None, 1.0)).x[is_known], slopes[is_known], rtol=1e-9, atol=1e-13)


def test_ends_of_series() -> None:
    text = (
        "def f(x):\n    return sp.i0(x), sp.i1(x), sp.ndtr(x), sp.log_ndtr(x), sp.erfinv(x), sp.exprel(x), sp.j0(x)\n"
    )
    f = vectorize_grad(registered(text, "<ends>", sp=special))
    x = np.array([np.inf, -np.inf, np.nan, 0.0, 1.0, -1.0, 2.0])
    with interpreting(), np.errstate(all="ignore"):
        for found, name in zip(f(x), ("i0", "i1", "ndtr", "log_ndtr", "erfinv", "exprel", "j0"), strict=True):
            np.testing.assert_allclose(found, getattr(special, name)(x), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", ["xlogy", "xlog1py", "rel_entr", "kl_div"])
def test_functions_of_two_numbers_where_logarithms_have_no_value(name: str) -> None:
    f = vectorize_grad(registered(f"def f(x, y):\n    return sp.{name}(x, y)\n", f"<special {name}>", sp=special))
    x, y = np.array([0.0, 0.0, 0.0, 0.5, 0.5, -1.0, np.nan]), np.array([0.0, -2.0, 2.0, 2.0, 0.0, 2.0, 0.0])
    with interpreting():
        for one, other in ((x, y), (x, y - 1.0), (y, x)):
            np.testing.assert_allclose(f(one, other), getattr(special, name)(one, other), rtol=1e-15)


def test_numbers_of_choices_and_their_slopes() -> None:
    """Those of the polynomial in `n`, by differences."""
    text = "def f(n, k):\n    return sp.{}(n, k)\n"
    with interpreting():
        for name in ("comb", "binom"):
            f = vectorize_grad(registered(text.format(name), f"<special {name}>", sp=special))
            for n in (-2, 0, 1, 5, 30, 2.5):
                for k in (-1, 0, 1, 4, 5):
                    assert f(n, k) == pytest.approx(float(getattr(special, name)(n, k)), rel=1e-13, nan_ok=True)
        slope = (special.binom(6.5 + 1e-6, 3) - special.binom(6.5 - 1e-6, 3)) / 2e-6
        assert vectorize_grad(registered(text.format("binom"), "<slope>", sp=special)).grad(6.5, 3)[0] == pytest.approx(
            slope, rel=1e-8
        )


PLACED = [
    "np.fill_diagonal(z, s)", "np.fill_diagonal(z, z[0] * s)", "np.fill_diagonal(z.T, [s, 1.0])",
    "np.multiply.at(z[0], [0, 2, 0], s)", "np.maximum.at(z[1], np.array([1, 1, 2]), z[2] * s)",
    "np.divide.at(z[:, 1], [0, 0, 1], [s, 2.0, s])", "np.add(z, s, out=z)", "np.multiply(z, z, z)",
    "np.add(z[1:], z[:-1], out=z[1:])", "np.exp(s * z, z)", "np.sum(z * s, axis=1, out=z[0])",
    "np.maximum.at(z, [0, 2, 0], z[::-1] * s)", "np.minimum.at(z, np.array([1, 1]), s)",
    "np.multiply.at(z, ([0, 2, 0], [1, 1, 1]), [s, 2.0, s])", "np.copyto(z[1:], z[:-1] * s)",
    "np.copyto(z, z.T, where=z > s)", "np.put(z, [1, 5, 8, 1], [s, 2.0, s])", "np.put(z[0], [2, 0], z[0, :2])",
    "np.put_along_axis(z, np.argmax(z, axis=1)[:, None], s, axis=1)",
    "np.put_along_axis(z, np.argsort(z, axis=0), z * s, axis=0)",
    "z += np.take_along_axis(z, np.argsort(z, axis=1), axis=1) * np.take_along_axis(z, np.array([[1, 0, 2]]), 0)",
    "z += np.apply_along_axis(lambda v: np.outer(v, v * v) * s, 0, z)[:, 1]",
    "z += np.apply_along_axis(lambda v: np.outer(v, v * v) * s, 1, z)[0]",
    "np.put(z, [0, 1], [])", "np.putmask(z, z > 0.6, z * s)", "np.putmask(z[0], z[1] > s, [s, 2.0])",
    "np.place(z, z > 0.6, [s, 2.0, z[0, 1]])", "np.place(z[1], z[0] > s, z[2] * s)",
    "z[:2] += np.add.reduceat(z * s, [0, 1]) * np.maximum.reduceat(z[0], [1, 0])[:, None]",
    "z += np.apply_along_axis(lambda r: np.cumsum(r) * s, 0, z) + np.apply_along_axis(np.sum, 1, z)",
]  # fmt: skip


@pytest.mark.part(5)
@pytest.mark.parametrize("statement", PLACED)
def test_functions_that_change_their_arrays(statement: str) -> None:
    text = f"def f(A, s):\n    z = 1.0 * A\n    for t in range(2):\n        {statement}\n        z = 0.5 * z\n"
    plain = registered(text + "    return (z * z).sum()\n", f"<changes {statement}>", np=np)
    with interpreting():
        value, gradients = vectorize_grad(plain).value_and_grad(SQUARE, 0.7)
    assert value == pytest.approx(plain(SQUARE, 0.7), rel=1e-13)
    way = np.random.default_rng(3).normal(size=SQUARE.shape)
    assert np.sum(gradients.A * way) == pytest.approx(difference(plain, (SQUARE, 0.7), 0, way), rel=1e-6)
    assert gradients.s == pytest.approx(difference(plain, (SQUARE, 0.7), 1, np.ones(())), rel=1e-6)


def test_sums_from_place_to_place_are_as_wide_as_in_numpy() -> None:
    text = (
        "def f(x):\n    k, m = (x * 90.0).astype(np.int8), x > 0.5\n"
        "    a, b = np.add.reduceat(k, [0, 3]), np.add.reduceat(m, [0, 2, 1])\n"
        "    return a.max(), b.max(), np.minimum.reduceat(k, [1])[0]\n"
    )
    plain, x = registered(text, "<reduceat>", np=np), np.array([1.0, 0.9, 0.8, 0.7, 0.2])
    with interpreting():
        assert vectorize_grad(plain)(x) == tuple(plain(x)) == (243, 3, 18)


@pytest.mark.parametrize(
    "write",
    ["r[0] = 1.0", "r[0, 1] += 1.0", "r += 1.0", "r[r > 1.0] = 0.0", "r.T[0] = 1.0", "r.fill(0.0)",
     "np.add(r, 1.0, out=r)", "np.fill_diagonal(r, 0.0)", "np.add.at(r, 0, 1.0)", "r[:, [0, 1]] = 2.0"],
)  # fmt: skip
def test_nobody_writes_to_repeated_elements(write: str) -> None:
    text = f"def f(x):\n    r = np.broadcast_to(x, (6, 6))\n    {write}\n    return r.sum()\n"
    plain = registered(text, f"<repeated {write}>", np=np)
    with pytest.raises(ValueError, match="read-only"):
        plain(VECTOR)
    with pytest.raises(UnsupportedLoopError, match="LD121"):
        vectorize_grad(plain)(VECTOR)


def test_a_raise_in_a_branch_is_a_check() -> None:
    text = (
        "def f(x, kind):\n    if kind == 0:\n        y = x * x\n    elif kind == 1:\n        y = x[:2]\n"
        "    else:\n        raise ValueError(f'no kind {kind}')\n    for v in y:\n        if v < 0.0:\n"
        "            raise OverflowError\n    return y.sum()\n"
    )
    f = vectorize_grad(registered(text, "<raise>", np=np))
    with interpreting():
        assert f.grad(VECTOR, 1).x.tolist() == [1.0, 1.0, 0.0, 0.0, 0.0, 0.0]
        for call in (f, f.grad):
            with pytest.raises(ValueError, match=r"LD332: ValueError: no kind \{kind\}"):
                call(VECTOR, 2)
            with pytest.raises(ValueError, match="LD332: OverflowError"):
                call(VECTOR - 1.9, 1)


def test_numbers_that_are_known_decide_a_choice() -> None:
    text = "def f(x, A):\n    c = 0.4\n    y = x**2 if c < 0.31 else A.mean(axis=0)\n    return y.sum()\n"
    with interpreting():
        f = vectorize_grad(registered(text, "<choice>", np=np))
        assert f(SHORT, MATRIX) == pytest.approx(MATRIX.mean(axis=0).sum(), rel=1e-14)


def test_inside_loops_and_empty() -> None:
    text = "def f(A):\n    s = 0.0\n    for row in A:\n        s += np.cumsum(np.diff(row))[-1]\n    return s\n"
    f = vectorize_grad(registered(text, "<numpy in loops>", np=np))
    value, (gradient,) = f.value_and_grad(MATRIX)
    assert value == pytest.approx((MATRIX[:, -1] - MATRIX[:, 0]).sum(), rel=1e-14)
    expected = np.zeros_like(MATRIX)
    expected[:, 0], expected[:, -1] = -1.0, 1.0
    np.testing.assert_allclose(gradient, expected, atol=1e-15)
    empty = vectorize_grad(registered("def f(x):\n    return np.cumsum(x).sum() + np.diff(x).sum()\n", "<none>", np=np))
    assert empty(np.zeros(0)) == empty(np.zeros(1)) == 0.0


def test_what_a_function_does_not_take_is_said() -> None:
    plain = registered("def f(x):\n    return np.nansum(x, initial=0.0)\n", "<initial>", np=np)
    with pytest.raises(UnsupportedLoopError, match=r"LD110: `nansum` cannot be called like this"):
        vectorize_grad(plain)(VECTOR)


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("np.add(x, x, out=x, where=np.array([1, 0, 1, 0, 1, 0]))", "is no array of booleans"),
        ("np.add(x, x, where=x > 1.0)", "`np.add` is called with `where=`"),
        ("np.indices((2, 2, 2, 2)) * x[0]", "np.indices of more than three axes"),
        ("np.indices((2, 3), sparse=True)[0] * x[0]", "np.indices makes whole arrays here"),
        ("np.nan_to_num(x, copy=False)", "np.nan_to_num makes a copy here, but as a statement of its own"),
        ("np.linspace(0.0, 1.0, 6, dtype=complex) * x", "`np.linspace` takes start, stop, num, endpoint and dtype"),
    ],
)
def test_what_some_functions_do_not_take(expression: str, said: str) -> None:
    plain = registered(f"def f(x):\n    return {expression}\n", "<not taken>", np=np)
    with pytest.raises(LoopdiffError, match=re.escape(said)):
        vectorize_grad(plain)(VECTOR.copy())


def test_where_says_which_elements_are_stored() -> None:
    text = (
        "def f(x):\n    np.add(x[1:], 1.0, out=x[:-1], where=x[1:] > 1.0)\n"
        "    return np.multiply(x, 2.0, x, where=x > 1.5)\n"
    )
    x, y = VECTOR.copy(), VECTOR.copy()
    plain = registered(text, "<where>", np=np)
    np.testing.assert_array_equal(vectorize_grad(plain)(x), plain(y))
    np.testing.assert_array_equal(x, y)
    check_against_python(plain, [VECTOR.astype(np.float32)])


def test_what_is_no_number_is_replaced_in_place() -> None:
    text = (
        "def f(x):\n    y = x * np.nan\n    z = y + 0.0j\n    np.nan_to_num(y, copy=False, nan=3.0)\n"
        "    np.nan_to_num(z, nan=2.0, posinf=5.0, copy=False)\n    return y * x, z\n"
    )
    check_against_python(registered(text, "<in place>", np=np), [VECTOR])
    check_against_python(registered(text, "<in place>", np=np), [VECTOR.astype(np.float32)])


def test_nan_is_the_greatest_number() -> None:
    text = (
        "def f(x):\n    s = np.sort(x)\n    return (s, np.argsort(x), np.median(x), np.searchsorted(s, x),\n"
        "            np.searchsorted(s, np.nan, 'right'), np.histogram(x, np.arange(3))[0])\n"
    )
    check_against_python(registered(text, "<nan>", np=np), [np.array([1.0, np.nan, 0.5, np.nan, 2.0])])


def test_histograms_put_numbers_at_edges_where_numpy_does() -> None:
    plain = registered("def f(x, n):\n    return np.histogram(x, n)[0]\n", "<edges>", np=np)
    f, rng = vectorize_grad(plain), np.random.default_rng(4)
    for _ in range(500):
        n, x = int(rng.integers(1, 60)), rng.integers(0, 30, int(rng.integers(1, 50))) * rng.choice([0.1, 1 / 3, 1.0])
        np.testing.assert_array_equal(f(x, n), plain(x, n))


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("np.bincount(np.arange(6))", "`minlength` of np.bincount"), ("np.digitize(x, -x)", "must ascend"),
        ("np.histogram(x, -x)[0]", "must increase"), ("np.median(x[:0])", "without elements"),
        ("np.histogram(x / 0.0, 3)[0]", "not finite"),
    ],
)  # fmt: skip
def test_what_is_not_counted_raises(expression: str, said: str) -> None:
    plain = registered(f"def f(x):\n    return {expression}\n", f"<raises {expression}>", np=np)
    given = {"x": np.arange(1.0, 7.0)}
    types = argument_types(given)
    with pytest.raises(Exception, match=f"LD(110|332): .*{said}"):
        run_bound(bind(parse_function(source_of(plain), types), types), given)
