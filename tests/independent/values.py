"""Compare functions of the language table with NumPy over ranks, axes and options, and what they give after
their operand is changed: `python -m tests.independent.values`, some minutes."""

from __future__ import annotations

import copy
import itertools
import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.special

from loopdiff import LoopdiffError, vectorize_grad
from tests.gradients.interpreted import interpreting

from .calls import CALLS
from .oracle import function_of

RNG = np.random.default_rng(3)
GIVEN: dict[str, Any] = {
    "v": RNG.uniform(-1.5, 1.5, 5),
    "w": RNG.uniform(-1.5, 1.5, 5),
    "A": RNG.uniform(-1.5, 1.5, (3, 4)),
    "P": RNG.uniform(-1.5, 1.5, (5, 5)),
    "Q": RNG.uniform(-1.5, 1.5, (5, 5)) + 3.0 * np.eye(5),
    "T": RNG.uniform(-1.5, 1.5, (2, 3, 4)),
    "D": RNG.uniform(-1.5, 1.5, (2, 3, 4, 2)),
    "s": 0.7,
}
GIVEN["Z"] = np.where(GIVEN["A"] > 0.8, np.nan, GIVEN["A"])
KNOWN = {"np": np, "sp": scipy.special}
AXES = ("-3", "-2", "-1", "0", "1", "2", "(0, 1)", "(-1, 0)", "None")
ALONG = """
sum prod max min mean std var argmax argmin median ptp average nansum nanmean nanmax nanmin nanprod nanvar nanstd any
all count_nonzero cumsum cumprod diff sort argsort flip gradient trapezoid linalg.norm squeeze
"""
KEPT = "sum max mean std median ptp average nansum nanmean nanmax nanvar linalg.norm argmin"  # take `keepdims`
ALONG_CALLS = [f"np.{name}(X, axis=K)" for name in ALONG.split()]
ALONG_CALLS += [f"np.{name}(X, axis=K, keepdims=True)" for name in KEPT.split()] + [
    "np.quantile(X, 0.3, axis=K)",
    "np.quantile(X, [0.25, 0.9], axis=K)",
    "np.percentile(X, 30, K)",
    "np.percentile(X, 70.0, axis=K, keepdims=True)",
    "np.nanvar(Z, axis=K, ddof=1)",
    "np.nanmax(Z, axis=K)",
    "np.nanmean(Z, axis=K, keepdims=True)",
    "np.take(X, [0, 1, 0], axis=K)",
    "np.diff(X, axis=K, prepend=0.5)",
    "np.diff(X, 1, K, append=X)",
    "np.append(X, X, axis=K)",
    "np.gradient(X, axis=K)[0]",
    "np.add.reduce(X, axis=K)",
    "np.maximum.reduce(X, K, keepdims=True)",
    "np.minimum.accumulate(X, axis=K)",
    "np.add.accumulate(X, K)",
    "np.logaddexp.reduce(X, axis=K)",
    "sp.logsumexp(X, axis=K)",
    "sp.logsumexp(X, axis=K, b=X * X, keepdims=True)",
    "sp.softmax(X, axis=K)",
    "sp.log_softmax(X, axis=K)",
    "np.linalg.norm(X, -1, axis=K)",
    "np.linalg.norm(X, np.inf, axis=K, keepdims=True)",
    "X.squeeze(K)",
    "np.roll(X, 1, axis=K)",
    "np.roll(X, -2, axis=K)",
    "np.repeat(X, 2, axis=K)",
    "np.concatenate((X, X), axis=K)",
    "np.stack((X, X), axis=K)",
    "np.linalg.norm(X, 1, axis=K)",
    "np.linalg.norm(X, 0, axis=K)",
    "np.linalg.norm(X, -np.inf, axis=K)",
    "X.sum(axis=K, keepdims=True)",
    "np.diff(X, n=2, axis=K)",
    "np.expand_dims(X, K)",
]
WHOLE = """
flipud fliplr rot90 diagonal diag trace triu tril ravel transpose cumsum ediff1d median sort argsort gradient trapezoid
linalg.norm linalg.det linalg.inv cov corrcoef asarray array copy real conj nan_to_num squeeze atleast_1d atleast_2d
atleast_3d nanmax nanmin nanprod nanvar nanstd
"""
SHAPES = """
np.vecdot(X, X) | np.vecdot(X, v) | np.vecdot(X, X, axis=0) | np.linalg.vecdot(X, X) | np.matvec(X, v)
np.vecmat(v, X) | np.matvec(X, X) | np.vecmat(X, X) | np.cumulative_sum(X) | np.cumulative_sum(X, axis=-1)
np.cumulative_prod(X, axis=0) | np.matrix_transpose(X) | np.linalg.matrix_transpose(X) | np.linalg.trace(X)
np.linalg.trace(X, offset=1) | np.linalg.diagonal(X) | np.linalg.vector_norm(X) | np.linalg.vector_norm(X, axis=0)
np.linalg.vector_norm(X, ord=1) | np.linalg.vector_norm(X, axis=-1, keepdims=True, ord=np.inf)
np.linalg.matrix_norm(X) | np.linalg.matrix_norm(X, ord=1) | np.linalg.multi_dot([X, X.T, X])
np.linalg.multi_dot((X, X)) | np.linalg.multi_dot([X, v]) | np.linalg.cross(X, X) | np.linalg.outer(X, X)
np.linalg.matmul(X, X) | np.linalg.matmul(X, v) | np.logspace(0, s, 4) | np.logspace(s, 2.0)
np.logspace(0.0, s, num=3, base=2.0) | np.logspace(0, 1, 3, endpoint=False) | np.logspace(0, 1, 1)
np.geomspace(1, 8, 4) | np.geomspace(s, 2.0) | np.geomspace(-s, -3.0, 5) | np.geomspace(s, -1.0, 3)
np.geomspace(1.0, s, 4, endpoint=False) | np.cumulative_sum(v, include_initial=True)
np.cumulative_prod(v, include_initial=True) | np.geomspace(1.0, s, num=1)
np.polyder(X) | np.polyder(X, 0) | np.polyder(X, 2) | np.polyint(X)
np.array_equal(X, X) | np.array_equal(X, v) | np.array_equal(X, X[:1]) | np.array_equal(X, X + 1e-9)
np.array(list(map(abs, v))) + X.sum() | X.sum().item() | X.max().item() * 2 | sum(map(np.sum, X))
sum(map(np.max, X)) | max(map(np.min, X)) | X.item()
np.pad(X, 2) | np.pad(X, (1, 2)) | np.pad(X, ((1, 0), (2, 3))) | np.pad(X, 1, "edge") | np.pad(X, 7, mode="wrap")
np.pad(X, (3, 9), "reflect") | np.pad(X, ((6, 5),), "symmetric") | np.pad(X, 1, constant_values=s) | np.pad(X, (1,))
np.broadcast_to(X, (3, 4)) | np.broadcast_to(X, (2, 3, 4)) | np.broadcast_to(X, X.shape) | np.broadcast_to(X, (5, 5))
np.broadcast_to(X, 5) | np.broadcast_to(X[:, None], (5, 2)) | np.broadcast_to(X[..., :1], (2, 5, 5))
np.squeeze(X[None]) | np.squeeze(X[:, :1]) | X[:1].squeeze(0) | X[None, :, None].squeeze((0, 2))
np.squeeze(X[:1, :1]) | np.expand_dims(X, (0, 1)) | np.expand_dims(X, (0, -1)) | np.expand_dims(X, [1])
np.expand_dims(X, axis=-2) | np.clip(X, None, 0.3) | np.clip(X, -0.3, None) | np.clip(X, a_min=-0.3, a_max=0.3)
X.clip(max=0.3) | np.clip(X, max=s) | np.clip(X, min=-0.3, max=0.3) | X.clip(-0.3) | np.clip(X, 0.3, -0.3)
np.clip(X, X - 0.1, X * 2.0) | np.clip(X, 0.1) | np.append(X, s) | np.append(X, [s, 1.0]) | np.append(X, X)
np.ediff1d(X, 1.0) | np.ediff1d(X, to_begin=[s, 2.0]) | np.diff(X, prepend=X[..., :1]) | np.diff(X, 2, -1, 0.0, s)
np.diff(X, 0) | np.diff(X, n=3, append=s) | np.select([X > 0.5, X > 0.0], [X, 2.0 * X], s) | np.select([X > 0.0], [X])
np.select([X < 0, X > 1], [-X, 1], default=X) | np.meshgrid(X, w)[0] | np.meshgrid(X, w)[1]
np.meshgrid(X, w, indexing="ij")[1] | np.meshgrid(X, v, w)[1] | np.meshgrid(v, X, w, indexing="ij")[2]
np.mgrid[0:3, 1:2:0.25][1] | np.quantile(X, s) | np.quantile(X, np.array([0.0, s]))
np.percentile(X, (25, 50), axis=0, keepdims=True) | np.quantile(X, [0.5, 1.0], axis=-1) | np.median(X, keepdims=True)
np.linalg.norm(X, 1) | np.linalg.norm(X, -1) | np.linalg.norm(X, np.inf) | np.linalg.norm(X, -np.inf, keepdims=True)
np.linalg.norm(X, 1, (0, 1)) | np.linalg.norm(X, 1, axis=(1, 0)) | np.linalg.norm(X, np.inf, axis=(-1, 0))
np.cov(X, rowvar=False) | np.cov(X, ddof=0) | np.cov(X, bias=True) | np.cov(X, X) | np.corrcoef(X, rowvar=False)
np.corrcoef(X, w) | np.nan_to_num(Z, True, 2.0) | np.nan_to_num(X / 0.0, posinf=9.0, neginf=-9.0) | np.isclose(Z, Z)
np.isclose(Z, Z, equal_nan=True) | np.allclose(X, X + 1e-9) | np.histogram(X, 3, (-1, 1))[0]
np.histogram(X, 4, None)[1] | np.histogram(X, 3, range=(-1.0, 1.0), density=True)[0]
np.histogram(X, bins=3, weights=X)[0] | np.histogram(X, 3, (0, 0))[1] | np.interp(X, np.sort(w), v)
np.interp(X, np.sort(w), v, left=s) | np.interp(X, np.sort(w), v, -1.0, right=2.0) | np.correlate(X, w)
np.correlate(X, w[:3]) | np.correlate(w[:2], X) | np.correlate(X, w[:4], "same") | np.correlate(w[:3], X, "same")
np.correlate(X, w[:2], mode="full") | np.correlate(w[:2], X, "full") | np.convolve(w[:2], X, "same")
np.convolve(w[:3], X, "valid") | np.gradient(X, axis=(1, 0))[0] | np.gradient(X, 0.5, axis=(0, 1))[1]
np.gradient(X, 0.5, 2.0, axis=(1, 0))[0] | np.take(X, 2) | np.take(X, [3, 0]) | X.take(1) | X.take([1, 1], 0)
np.dstack((X, X)) | np.mean([X, X], axis=0) | np.maximum.reduce([X, 2.0 * X]) | np.add.reduce(X, axis=None)
np.multiply.reduce(X) | np.logical_and.reduce(X < 1.0) | np.arange(0.0, 1.0, 0.1) | np.arange(1, 1.3, 0.1)
np.arange(s) | np.arange(5, 0, -2) | np.arange(2, 9, 3, float) | X @ [1.0, s, 2.0, 0.5, 1.0] | X * [1, 2, 3, 4, 5]
[s, 1.0, 2.0] @ X | X[[0, 2]] | np.cumsum([s, 1.0, 2.0]) | sp.expit(30.0 * X) | sp.log_expit(X * 900.0)
sp.logit(X * X / 3.0) | sp.xlogy(X - X, X) | sp.xlogy(X * X, X * X) | sp.xlog1py(X - X, X - 1.0) | sp.entr(X)
np.linalg.qr(X)[0] | np.linalg.qr(X)[1] | np.linalg.qr(X, "r") | np.linalg.pinv(X) | np.linalg.svd(X)[0]
np.linalg.svd(X)[1] | np.linalg.svd(X, False)[0] | np.linalg.svd(X, full_matrices=False)[2]
np.linalg.svd(X, compute_uv=False) | np.linalg.svd(X, False, False) | np.linalg.eigh(X)[0] | np.linalg.eigh(X)[1]
np.linalg.eigh(X @ X.T)[1]
np.linalg.cond(X) | np.linalg.eigvalsh(X, UPLO="U") | np.linalg.eigvalsh(X)
np.linalg.norm(X, 2) | np.linalg.norm(X, -2, axis=(1, 0)) | np.linalg.norm(X, "nuc")
np.linalg.norm(X, "nuc", keepdims=True) | np.linalg.norm(X, 2, (0, 1), True)
np.linalg.cond(X, 1) | np.linalg.cond(X, -2) | np.linalg.matrix_rank(X) | np.linalg.matrix_rank(X, s)
np.linalg.matrix_rank(X[:2], rtol=0.9) | np.linalg.lstsq(X, X[:, 0], None)[0] | np.linalg.lstsq(X, X)[1]
sp.rel_entr(X, X * X) | sp.kl_div(X * X, X + 1.0) | sp.logsumexp(X * 900.0)
"""
VIEWS = [f"np.{name}(X)" for name in WHOLE.split()] + [
    "np.asarray(X, dtype=np.float64)",
    'np.einsum("ij->ji", X)',
    'np.einsum("ii->i", X)',
    "X.diagonal()",
    "X.real",
    "X.conj()",
    "X.reshape(-1)",
    "X.T",
    "X.squeeze()",
    "X[None].squeeze(0)",
    "np.broadcast_to(X, X.shape)",
    "np.atleast_1d(X)",
    "np.atleast_3d(X)",
    "np.expand_dims(X, (0, 1))",
    "np.take(X, 0)",
    "np.pad(X, 0)",
    "np.meshgrid(X, X)[0]",
    "np.diff(X, 0)",
    "np.clip(X, -9.0, 9.0)",
    "np.append(X, [])",
    "np.nan_to_num(X)",
    "np.linalg.matrix_power(X, 1)",
]


def programs() -> Iterator[str]:
    """Functions of names in `GIVEN` that return an array or a number."""
    for array, call, axis in itertools.product("vATD", ALONG_CALLS, AXES):
        yield f"return ({call.replace('X', array).replace('K', axis)}) * 1"
    for array, name in itertools.product("vATD", WHOLE.split()):
        yield f"return np.{name}({array}) * 1"
    for array, call in itertools.product("vATs", re.split(r" \| |\n", SHAPES.strip())):
        yield f"return ({call.replace('X', array)}) * 1"
    for call in itertools.chain(*itertools.chain(*CALLS.values())):
        yield f"L, c = 5, 0.4\n    return ({call}) * 1"
    for array, call in itertools.product("vP", VIEWS):
        made = f"z = {array} * 1.0\n    r = {call.replace('X', 'z')}"
        yield f"{made}\n    z[0] = 3.0\n    return r * 1.0"


def differs(body: str) -> str:
    """How the result of a function differs from that of NumPy, if it does and neither refuses it."""
    names = [name for name in GIVEN if re.search(rf"(?<![\w.]){name}(?!\w)", body)]
    source = f"def f({', '.join(names)}):\n    {body}\n"
    args = {name: GIVEN[name] for name in names}
    try:
        wanted = np.asarray(function_of(source, {**KNOWN, "__name__": "program"})(**copy.deepcopy(args)))
    except Exception:
        return ""
    try:
        with interpreting():
            got = np.asarray(vectorize_grad(function_of(source, dict(KNOWN)))(**copy.deepcopy(args)))
    except LoopdiffError:
        return ""
    except Exception as error:
        return repr(error)
    is_same = got.shape == wanted.shape and np.allclose(got.astype(float), wanted.astype(float), equal_nan=True)
    return "" if is_same else f"{got.tolist()}, NumPy {wanted.tolist()}"


def main() -> None:
    warnings.simplefilter("ignore")
    for body in dict.fromkeys(programs()):
        difference = differs(body)
        if difference:
            print(f"{body}\n    gives {difference[:200]}", flush=True)


if __name__ == "__main__":
    main()
