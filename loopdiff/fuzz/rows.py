"""Programs put together from the examples of the language table, and from calls of functions that it names: whatever
is accepted, beside, inside and after whatever else is.

Examples share the names of their arguments, and use the same short names for what they make, so that one goes on with
what another one left.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from random import Random
from typing import Any

import numpy as np

from loopdiff.frontend.language import ACCEPTED
from loopdiff.fuzz.memory import laid_out
from loopdiff.fuzz.program import RandomArgument, RandomProgram, draw_floats
from loopdiff.fuzz.settings import Setting
from loopdiff.source.scopes import own_nodes, words_in

ARGUMENTS = (
    RandomArgument("A", "matrix"),
    RandomArgument("x", "vector"),
    RandomArgument("y", "vector"),
    RandomArgument("idx", "index"),
    RandomArgument("n", "integer"),
    RandomArgument("s", "float"),
)
NAMES = ", ".join(a.name for a in ARGUMENTS)
# What examples mention that their text does not define, or that would fill the screen.
# Nor does a difference know of `stop_gradient`.
OUTSIDE = frozenset(("heapq", "power", "chain", "copy", "Walker", "WEIGHTS", "CONFIG", "print", "loopdiff"))
SIZES = ((5, 8),)
LOSS = "np.tanh(x).sum() + np.tanh(y).sum() + np.tanh(A).sum()"
WRAPPINGS = (
    "{}", "{}", "{}", "for trip in range(2):\n{}", "if s > 0.5:\n{}", "if n > 3:\n{}\nelse:\n    x[0] = s",
    "def part({names}):\n{}\npart({names})", "for trip in range(n):\n    if trip == 1:\n        continue\n{}",
    "while s < 2.0:\n    s += 0.9\n{}",
)  # fmt: skip
# Functions that rows name and do not show.
OF_NUMPY = (
    "y[:] = np.flip(x) + np.cumprod(1.0 + 0.2 * np.sin(x))",
    "A[:] = np.flipud(A) + 0.3 * np.fliplr(A) + np.flip(A, 1)",
    "s += np.trace(A) + A.trace(1) + np.vdot(x, y) + np.std(x) + y.std(ddof=1) + np.var(A) + x.var()",
    "A += 0.1 * np.tensordot(A, A, axes=([1], [0])) + 0.1 * np.kron(A[:1], A[:, :1])",
    "y[:5] = np.searchsorted(np.array([-0.7, 0.1, 0.6]), x[:5]) + np.tensordot(A, x[:5], 1)",
    "x[:] = np.sinc(x) + np.heaviside(y, 0.5) + np.nan_to_num(x) * np.isclose(x, y)",
    "A[:] = np.corrcoef(A) + 0.1 * np.linalg.inv(A)",
    "s += 0.01 * np.linalg.det(A) + np.linalg.matrix_power(A, 3).mean() * 0.01",
    "y[:] = np.convolve(x, [0.2, 0.5, 0.3], 'same') + np.correlate(y, x[:3], 'same')",
    "A[:] = np.full((5, 5), s) + np.identity(5) * A + A.ravel().reshape(5, 5)",
    "rows, columns = np.mgrid[0:5, 0:5]\nA += 0.1 * rows * columns",
    "rows, columns = np.ogrid[0:5, 0:5]\nA *= rows + 0.5 * columns",
    "z = np.empty(8)\nz.fill(s)\ny += z * x",
    "y[:] = np.arctan2(x, y) + np.copysign(x, y) + np.cbrt(x) + np.expm1(0.3 * x) + np.exp2(y) + np.cosh(0.3 * x)",
    "y[:] = np.arcsin(0.5 * np.tanh(x)) + np.arccos(0.5 * np.tanh(y)) + np.arctanh(0.4 * np.sin(x)) + np.arcsinh(y)",
    ("y[:] = np.arccosh(1.2 + x * x) + np.log2(0.3 + y * y) + np.log10(0.3 + x * x) + np.tan(0.4 * x)\n"
     "y += np.sinh(0.3 * y)"),
    "x[:] = np.deg2rad(30.0 * x) + np.degrees(0.01 * y) + np.radians(20.0 * y) + np.rad2deg(0.01 * x)",
    "x[:] = np.fmax(x, y) + np.fmin(x, 0.2) + np.fmod(x, 0.7) + np.remainder(y, 0.9) + np.mod(x, 0.8) + np.trunc(y)",
    "x[:] = np.floor_divide(x, 0.3) * y + np.divmod(y, 0.4)[1] + np.rint(2.0 * x) + np.fix(1.5 * y) + np.reciprocal(y)",
    ("y[:] = np.power(0.3 + x * x, 1.5) + np.float_power(0.3 + y * y, 0.5) + np.negative(x)\n"
     "y += np.absolute(y) + np.fabs(x)"),
    "y[:] = np.logaddexp2(x, y) + np.average(A) + np.average(x, weights=0.2 + y * y) + np.ptp(A)",
    ("k = np.bitwise_and(idx, 3) + np.bitwise_or(idx, 1) + np.bitwise_xor(idx, 2) + np.left_shift(idx, 1)\n"
     "y[:6] += k * x[:6]"),
    "y[:6] += np.right_shift(idx, 1) * np.invert(idx) * x[:6] + np.greater(x[:6], 0.1) + np.less_equal(y[:6], s)",
    "y[:] = np.less(x, y) * x + np.greater_equal(y, 0.3) * s + np.arctan(x) + np.conj(x + 0.5j * y).imag",
    "x[:] = np.where(np.logical_and(x > 0.1, np.logical_not(y > 0.2)), y, x) + np.logical_or(x > 0.5, y > 0.5)",
    ("if np.allclose(x, x) and np.isfinite(y).all():\n"
     "    x += 0.1 * np.equal(idx, 2).sum() + np.not_equal(idx, n).sum()"),
    ("y[:] = np.nansum(A) + np.nanmean(x) + np.nanmax(x) + np.nanmin(A) + 0.1 * np.nanstd(x)\n"
     "x += np.nanvar(y) + np.nanprod(x)"),
    "y[:] = np.percentile(x, 30.0) + np.quantile(y, 0.6) + np.gradient(x, 0.5) + np.take(x, [3, 0, 1, 2, 7, 6, 5, 4])",
    "x[:7] = np.ediff1d(y) + np.polyint(np.array([0.2, s, 1.0]))[0] + np.polyfit(np.arange(7), x[:7], 1)[0]",
    "x[:] = np.unwrap(4.0 * x) * 0.1 + np.ascontiguousarray(x) * np.asfortranarray(A)[0].sum() * 0.1 + np.size(y)",
    "A += 0.1 * np.vander(x[:5]) + 0.1 * np.expand_dims(x[:5], 1) + np.diagflat(y[:4], 1)",
    ("A[:] = np.moveaxis(A, 0, 1) + np.swapaxes(A, 0, 1) * 0.3 + np.transpose(A) + np.squeeze(A[None])\n"
     "A += np.matmul(A, A) * 0.1"),
    "A += np.atleast_2d(x[:5]) + np.atleast_1d(s) + 0.1 * np.atleast_3d(A)[:, :, 0]",
    "A += np.take_along_axis(A, np.argsort(A, axis=1), axis=1) + np.apply_along_axis(np.cumsum, 0, A)",
    "np.put_along_axis(A, np.argmax(A, axis=1)[:, None], s, axis=1)\nnp.put(x, [3, 1], [s, 0.5])",
    "np.copyto(y, 2.0 * x, where=x > 0.1)",
    "rows, columns = np.tril_indices(5)\nA[rows, columns] *= 0.5",
    "y[: np.count_nonzero(idx > 1)] += s\ny[np.flatnonzero(x > 0.3)] *= 0.5\nx[np.nonzero(y > 0.4)] -= 0.2",
    "x += len(np.intersect1d(idx, np.arange(3))) + 0.1 * len(np.union1d(idx, np.array([9, 11])))",
    "x *= np.hamming(8) + np.bartlett(8) + np.blackman(8)",
    "s += 0.1 * np.linalg.eigvalsh(A + A.T)[0] + np.linalg.matrix_rank(A) + np.linalg.norm(A, 'fro')",
    "y[:] = np.fft.fft(x).imag + np.fft.fftshift(np.fft.fftfreq(8)) * s",
    "y += abs(np.fft.ifft(y + 1j * x, 6)).sum()",
    "x[:6] = np.fft.irfft(x[:4]) + np.fft.rfftfreq(11)[:6]",
    "x[:5] += np.fft.rfft(x).real",
    "x[:6] += np.fft.hfft(x[:4])",
    "x[:6] += abs(np.fft.ihfft(x, 11))",
    "A += 0.1 * np.fft.fft2(A).imag",
    "A += np.fft.ifft2(np.fft.ifftshift(A)).real",
    "A += 0.1 * np.fft.fftn(A).real",
    "A += np.fft.ifftn(A, axes=(0,)).real",
    "A[:, :3] += 0.1 * np.fft.rfft2(A).real",
    "A[:, :3] += 0.1 * np.fft.rfftn(A).imag",
    "A += np.fft.irfft2(A, s=(5, 5))",
    "A += np.fft.irfftn(A, s=(5,), axes=(1,))",
    "y[:6] = np.gcd(idx, 12) * np.lcm(idx, n) * 0.1 + np.signbit(x[:6]) * np.positive(y[:6]) + math.lcm(n, 6)",
    "x[:] = np.modf(3.0 * x)[0] + np.isposinf(x) + np.isneginf(y) + np.logical_xor(x > 0.1, y > 0.1) * math.modf(s)[0]",
    "y[:] = np.iscomplexobj(x) + np.isrealobj(x) * x + np.iscomplex(x + 0j) + np.isreal(y) * np.array_equiv(x, x) * y",
    "x[0] = np.compress(x > 0.1, x).sum() + np.extract(y > 0.1, x).sum()\nx[:6] += np.choose(idx % 2, [x[:6], y[:6]])",
    "y[:6] += np.unravel_index(idx, (4, 4))[1] * x[:6] + np.ravel_multi_index((idx, idx), (5, 5)) * 0.1",
    ("y[:] = np.nanmedian(A) + np.nanquantile(x, 0.3) + np.nanpercentile(y, 70.0)\n"
     "y += x[np.nanargmax(x)] * y[np.nanargmin(y)]"),
    "x[:] = np.nancumsum(x) + np.nancumprod(np.cos(y)) + np.partition(x, 3)[3] + x[np.argpartition(y, 2)[2]]",
    "y[:6] = y[np.lexsort((x[:6], idx))] + len(np.setxor1d(idx, [1, 7])) + np.histogram_bin_edges(x, 5)",
    "A[:2, :2] += np.histogram2d(x, y, 2, weights=y)[0]\nA[np.triu_indices_from(A, 1)] *= 0.5",
    "A[np.tril_indices_from(A)] += 0.1\nA[np.diag_indices_from(A)] *= s\nA[:] = np.linalg.tensordot(A, A, axes=1)",
    "y[:] = np.polyadd(x, y[:3]) + np.polysub(y, x[:5])\nx[:5] = np.polymul(1.5 + x[:3] ** 2, y[:3]) + np.poly(x[:4])",
    "np.putmask(x, y > 0.1, 0.5 * y)\nnp.place(A, A > 0.4, [s, 0.1])\ny[:] = np.asanyarray(x)",
    "x[:] = np.around(x, 1) * y + np.asarray(y) + np.amax(A) - np.amin(A) + np.array(x, dtype=np.float32)",
)  # fmt: skip
# Since its version 2.
OF_NEWER_NUMPY = (
    "x[:5] = 0.3 * np.matvec(A, x[:5]) + 0.3 * np.vecmat(y[:5], A) + np.matrix_transpose(A)[0]",
    "y[:] = np.cumulative_prod(1.0 + 0.1 * np.sin(x)) + np.linalg.vector_norm(x) + 0.1 * np.linalg.matrix_norm(A)",
    "s += 0.1 * np.linalg.svdvals(A)[0]",
)  # fmt: skip
OF_SCIPY = (
    "y[:] = special.expit(x) + special.logit(0.2 + 0.5 * special.expit(y)) + special.log_expit(x) + special.erfc(y)",
    "y[:] = special.softmax(x) + special.log_softmax(y) + special.logsumexp(A) + special.logsumexp(x)",
    "y[:] = special.xlogy(x * x, 0.3 + y * y) + special.xlog1py(x, y * y) + special.entr(0.2 + x * x)",
    "y[:] = special.rel_entr(0.2 + x * x, 0.3 + y * y) + special.kl_div(0.4 + x * x, 0.3 + y * y)",
    ("y[:] = special.gammaln(1.3 + x * x) + special.gamma(1.2 + y * y) + special.digamma(1.5 + x * x)\n"
     "x += special.psi(2.0 + s)"),
    "y[:] = special.i0(x) + special.i1(y) + special.j0(3.0 * x) * special.j1(y) + special.exprel(x) * np.i0(s)",
    "x[:] = special.ndtr(x) + special.log_ndtr(y) + special.erfinv(0.5 * np.tanh(x)) + np.kaiser(8, 3.0 * s)",
    "y[:] = special.binom(n + 2, 2) * x + 0.1 * special.erf(y)",
)  # fmt: skip


class TableProgram(RandomProgram):
    """A program of the table's examples, on arguments as these need them: whatever the sizes, `A` is 5 x 5, vectors
    have 8 elements, and `idx` ascends."""

    def values(self, sizes: tuple[int, int]) -> dict[str, Any]:
        rng = np.random.default_rng([self.seed, 3])
        vectors = {name: draw_floats(rng, (8,)) for name in ("x", "y")}
        matrix = draw_floats(rng, (5, 5)) + 2.0 * np.eye(5)
        ascending = np.sort(rng.integers(0, 5, 6))
        found = {"A": matrix, **vectors, "idx": ascending, "n": int(rng.integers(3, 5)), "s": float(rng.random()) + 0.2}
        given = [a.name for a in self.arguments]
        return {n: laid_out(v, "C") if isinstance(v, np.ndarray) else v for n, v in found.items() if n in given}


def generate_from_table(seed: int) -> TableProgram:
    """The program of a seed: a few examples, some together in loops, branches or functions, one after the other."""
    rng = Random(f"rows {seed}")
    examples = rng.sample(drawable(), rng.randint(2, 4))
    lines = [*put_together(examples, rng), f"return {LOSS}"]
    text = f"def f({NAMES}):\n{textwrap.indent(chr(10).join(lines), '    ')}\n"
    return TableProgram(text, ARGUMENTS, ("A", "x", "y", "s"), SIZES, seed, Setting(fastmath=rng.random() < 0.7))


@cache
def drawable() -> tuple[str, ...]:
    """The examples that say all that they need, and come to their ends, and the calls."""
    bodies = (*(c.example for c in ACCEPTED), *calls())
    return tuple(body for body in bodies if OUTSIDE.isdisjoint(words_in(ast.parse(body))) and not returns(body))


def calls() -> tuple[str, ...]:
    """The calls of what is installed."""
    return (
        *OF_NUMPY,
        *(OF_NEWER_NUMPY if hasattr(np, "matvec") else ()),
        *(OF_SCIPY if find_spec("scipy") else ()),
    )


def put_together(examples: Sequence[str], rng: Random) -> list[str]:
    """Statements that run the `examples` in this order."""
    if len(examples) == 1:
        return [wrapped(rng.choice(WRAPPINGS), examples[0])]
    place = rng.randint(1, len(examples) - 1)
    parts = [*put_together(examples[:place], rng), *put_together(examples[place:], rng)]
    return [wrapped(rng.choice(WRAPPINGS), "\n".join(parts))] if rng.random() < 0.3 else parts


def returns(body: str) -> bool:
    """Whether a statement of the example, outside of functions that it defines, returns."""
    (function,) = ast.parse(f"def f():\n{textwrap.indent(body, '    ')}").body
    return isinstance(function, ast.FunctionDef) and any(isinstance(n, ast.Return) for n in own_nodes(function))


def wrapped(wrapping: str, body: str) -> str:
    inner = body if wrapping == "{}" else textwrap.indent(body, "    ")
    return wrapping.format(inner, names=NAMES)
