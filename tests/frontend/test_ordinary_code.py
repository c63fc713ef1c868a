"""Spellings of ordinary programs: the values that Python gives for each, and its error where it gives none."""

from __future__ import annotations

import functools
import itertools
import math
import textwrap
from typing import Any

import numpy as np
import pytest

from loopdiff import ArgumentError, UnsupportedLoopError, vectorize_grad
from tests.gradients.interpreted import interpreting
from tests.texts import registered

from .test_accepted import check_against_python

RNG = np.random.default_rng(5)
X, Y, P = RNG.normal(size=6), RNG.normal(size=6), RNG.normal(size=(5, 3))
WHOLE = RNG.integers(-4, 5, (4, 3))


def damped(x, rate=0.5, power=2.0):
    return rate * x**power


CASES: list[tuple[str, tuple[Any, ...]]] = [
    (
        "s = [1]\nfor i in range(4):\n    if b[i] > 0:\n        s.append(i)\nreturn a[np.ix_(s, [0, 2])].sum() * b[0]",
        (P, X),
    ),
    (
        "w = [a[:2], a[1:, :2]]\nfor k in reversed(range(len(w))):\n    w[k] = w[k] * b[k]\nreturn w[0] @ w[1][:3]",
        (P, X),
    ),
    ("t = 0.0\nfor i in range(5):\n    t = t + a[i] * b[i]\nreturn t.sum()", (P, X)),
    ("t = 0\nfor r in a:\n    t = t + r\nreturn (t**2).max() * len(t) + t[-1] + b[0]", (WHOLE, X)),
    ("t = 0.0\nfor r in a:\n    t += r * b[0]\nreturn t", (P, X)), ("return sum(r * b[0] for r in a)", (P, X)),
    ("return sum([a[i] for i in range(len(a))])[1:] * b[0]", (P, X)),
    ("return np.stack([r * b[0] for r in a])", (P, X)), ("return np.stack([r for r in a]) * b[0]", (WHOLE, X)),
    ("return np.array([r[::-1] * 2 for r in a])", (P.astype(np.float32), X)),
    ("return np.vstack([r[1:] for r in a])[-1] * b[0]", (P, X)),
    ("return np.vstack([np.outer(r, r) for r in a])", (P, X)),
    ("return np.column_stack([r * b[k] for k, r in enumerate(a)])", (P, X)),
    ("return np.concatenate([r[:-1] for r in a])", (P, X)),
    ("return np.concatenate([np.outer(r, r) for r in a])", (P, X)),
    ("return np.hstack([a[i] - a[i - 1] for i in range(1, 4)])", (P, X)),
    ("return np.hstack([b, b[0] * 2.0, 1.0, 3])", (P, X)), ("return np.hstack((b[1], a[0])) * b[2]", (P, X)),
    ("return np.vstack([b[0], 2.0, b[1]]) * np.column_stack((b[0], 1.0))", (P, X)),
    ("m = b > 0.0\nfor r in a:\n    m &= ~(b < r[0])\nm |= ~(b < 0.5)\nreturn b * m", (P, X)),
    ("return np.array([[r @ q for q in a] for r in a])", (P, X)), ("return np.array([[v, 1.0] for v in b])", (P, X)),
    ("return np.array([r[:0] for r in a])", (P, X)),
    ("return min(b, key=lambda v: abs(v - 0.3)) * b", (P, X)), ("return max(a, key=abs) + b[0]", (WHOLE[0], X)),
    ("k = max(range(len(b)), key=lambda i: b[i] * b[i % 3])\nreturn b[k] * a[0]", (P, X)),
    ("return min(a, key=lambda r: r[1]) * b[0]", (P, X)), ("return max(v * v for v in b if v > 0.0) * a[0]", (P, X)),
    ("return max((v for v in b if v < 0.0), key=lambda v: -v) * a[0]", (P, X)),
    ("return np.stack([r * b[0] for r in a], axis=1) * np.stack([r + b[1] for r in a], -1)", (P, X)),
    ("return np.stack([np.outer(r, r) for r in a], axis=2)[0] * b[0]", (P, X)),
    ("s = []\nfor r in a:\n    s.append(r * b[0])\nreturn np.stack(s, axis=-1) * np.stack(s, axis=0).T", (P, X)),
    ("s = [np.outer(r, r) for r in a]\nreturn np.hstack(s) * np.concatenate(s, axis=1) * b[0]", (P, X)),
    ("s = [np.outer(r, r) for r in a]\nreturn np.concatenate(s, axis=0) * np.concatenate(s, -1).T", (P, X)),
    ("n = len(a) - 2\nreturn np.array([b[i * 2 : i * 2 + n] for i in range(2)]) * b[0]", (P, X)),
    ("n = len(a) - 2\nreturn np.stack([b[i * n : (i + 1) * n] for i in range(2)]) * a[0]", (P, X)),
    ("return a.T.reshape(-1) * b[0] + (a * 2.0)[:, ::2].reshape(10)[0]", (P, X)),
    ("return a[:4, :2].reshape(2, 2, 2).transpose(1, 0, 2).reshape(2, 4) * b[0]", (P, X)),
    ("y = a * 2.0\nz = np.zeros(y.shape + (2,))\nz[..., 1] = y * b[0]\nreturn z", (P, X)),
    ("y = a * 2.0\nz = np.ones((2,) + y.shape[:-1] + (b.shape[0],))\nz[0, 1] = b\nreturn z", (P, X)),
    ("return np.array([0.5] * 3 + [b[0]] * 2 + [1.0]) * b", (P, X)),
    ("s = [v * 2.0 for v in b]\ns = s + [b[0], 1.0]\nreturn np.array(s + s[:2])", (P, X)),
    ("s = [0.0] * len(a) + list(b) + [b[0], 1.0] * len(a)\nreturn np.array(s) * b[1]", (P, X)),
    ("s = 0.0\nfor i in range(len(b))[::-1]:\n    s = 0.5 * s + b[i] * a[0, 0]\nreturn s", (P, X)),
    ("for k in range(3):\n    v = b * k\ns = 0.0\nfor i in range(len(b)):\n    s += v[i]\nreturn s", (P, X)),
    ("for k in range(3):\n    v = b * k\nk = 0\nwhile k < 2:\n    v = v + b\n    k += 1\nreturn v", (P, X)),
    ("t = 0.0\nfor k in range(2):\n    if k == 0:\n        y = np.ones(len(a))\n    else:\n        y = np.ones(6)\n"
     "    t += y.sum()\nreturn t * b[0]", (P, X)),
    ("for k in range(2):\n    y = b if k == 0 else np.zeros(len(a)) + b[1]\nreturn y.sum()", (P, X)),
    ("v = [u * u for u in b]\nreturn np.sum(v + b) * np.dot(v + b, b) + np.exp(v + b)", (P, X)),
    ("v = [[b[0], 1.0]] + [[b[k], 2.0] for k in range(len(b))]\nreturn v[1][0] * v[0][0] + v[2][1]", (P, X)),
    ("c = b * 1.0\ndef bump():\n    c[0] += 1.0\n    return c[0]\nv = [[c[0], 1.0]] + [[bump(), 1.0] for r in a]\n"
     "return v[0][0] * v[1][0]", (P, X)),
    ("return np.concatenate([b[i : i + 2] for i in range(6)]) * np.hstack([b[i * 2 : i * 2 + 3] for i in range(4)])[0]",
     (P, X)),
    ("return np.gradient(np.sin(b))", (P, X)), ("u, v = np.gradient(a * b[0])\nreturn u * v", (P, X)),
    ("return np.gradient(a @ a.T)[1]", (P, X)), ("return np.squeeze(b[:1] * 2.0) * a[0]", (P, X)),
    ("v = np.squeeze(b[:1] * 2.0)\nw = v + 0.0\nw += 1.0\nreturn v * w * a[0]", (P, X)),
    ("return np.roll(a, [1, -1], axis=[0, 1]) * b[0]", (P, X)),
    ("return np.pad(a, [[1, 0], (2, 1)]) * b[0]", (P, X)), ("return np.tile(b, [2, 1]) * a[0, 0]", (P, X)),
    ("v = a * b[0]\nnp.clip(v, -0.5, b[1], out=v)\nreturn np.clip(v, b[2], None, v) + v", (P, X)),
    ("return np.delete(a, -2, axis=1) * b[0]", (P, X)), ("return np.delete(a, 3) * b[0]", (WHOLE, X)),
    ("return np.insert(a, 1, b[:3], axis=0)", (P, X)), ("return np.insert(a, 3, b[:5], axis=-1)", (P, X)),
    ("return np.insert(a[0], -1, 2.7) * b[0]", (WHOLE, X)), ("return np.insert(a[0], 3, b[0])", (P, X)),
    ("u, v = np.split(a, [2])\nreturn u[:, 0].sum() * v", (P, X)), ("return np.split(b, 3)[1] * a[0, 0]", (P, X)),
    ("u, v, w = np.array_split(a, 3, axis=-2)\nreturn u[1] * v[0] * w[0]", (P, X)),
    ("b = b * 2.0\nu, v = np.split(b, 2)\nv += u\nreturn b * a[0, 0]", (P, X)),
    ("return np.block([[a, a[:, :1] * 2], [b[:3], 1.0]])", (P, X)), ("return np.block([b, 2.0, a[0]])", (P, X)),
    ("i, j = np.triu_indices(3, -1)\nreturn a[i, j] * b[0]", (P, X)), ("return a[np.tril_indices(3, 1)]", (WHOLE, X)),
    ("return a[np.triu_indices(3, 2)] * len(np.tril_indices(3, -3)[0])", (P, X)),
    ("return np.hanning(6) * b + np.bartlett(6)[2] * np.hamming(1)[0] * np.blackman(6)", (P, X)),
    ("i, j = np.diag_indices(3)\nreturn a[i, j] * b[0]", (P, X)),
    ("return np.hanning(0) * a[0, 0]", (P, X)), ("return np.interp(a, b[:1], b[1:2])", (P, X)),
    ("return np.interp(b[0], a[0, :1], b[1:2])", (P, X)),
    ("return b[0] / math.factorial(20) + math.comb(5, 2) * b[1] / math.comb(61, 30) + math.comb(3, 5)", (P, X)),
    ("return math.gcd(-12, 18) * math.gcd(0, 7) * math.prod(b)", (P, X)),
    ("return math.prod(a[0], start=3)", (WHOLE, X)),
    ("f = functools.partial(damped, power=3.0)\nreturn f(b) + f(b[0], rate=0.1)", (P, X)),
    ("f = functools.partial(damped, b[0])\nreturn f(0.25) * f(power=2.5, rate=b[1])", (P, abs(X))),
    ("def made(k, kind=None):\n    return np.zeros(k, dtype=kind)\nw, kind = made(3, b.dtype), a.dtype\nw[1] = b[0]\n"
     "return w + np.ones(3, kind) * 2", (P.astype(np.float32), X)),
    ("w = np.zeros((2, 6))\nat = np.s_[1:]\nnp.add.at(w, (slice(None), np.array([0, 2, 2])), b[:3])\n"
     "np.subtract.at(w, (1, slice(1, None, 2)), b[3:])\nnp.add.at(w, at, b)\nreturn w * b[0]", (P, X)),
    ("w = np.zeros((2, 3))\nfor ij in np.ndindex(2, 3):\n    i, j = ij\n    w[ij] = b[ij[0]] * a[j, i]\n"
     "for p in itertools.product(range(2), range(1, 3)):\n    w[p] += p[0] * b[p[1]]\nreturn w", (P, X)),
    ("a.shape\nb\nb[1], [a, 2]\na.T\nb[0] > 1\na * 2.0\nreturn b", (P, X)),
    ("def h(v):\n    if isinstance(v, np.ndarray):\n        return v.sum(), v[0]\n"
     "    if isinstance(v, (list, tuple)):\n        return v[0], v[1]\n    return v, v * 2\n"
     "c, d = h(b)\ne, f = h(b[1])\ng, k = h((b[2], b[3]))\nreturn c + 2 * d + 3 * e + 4 * f + 5 * g + 6 * k", (P, X)),
    ("def twice(v):\n    return v * 2\nf = twice if callable(twice) else a\ng = a if callable(b) else twice\n"
     "assert isinstance(b, np.ndarray) and not np.isscalar(b)\nreturn f(b) + g(b) * np.isscalar(b[0])", (P, X)),
]  # fmt: skip


@pytest.mark.parametrize("p", [2, True, 1.5, np.float32(1.5), np.int64(2), np.uint8(2), X[:2], (1, 2), [3.0, 1.0]])
def test_branches_for_classes_are_those_of_the_call(p: Any) -> None:
    body = (
        "if isinstance(p, bool):\n    p = (3.0, 1.0)\nelif isinstance(p, int):\n    p = (p, p)\n"
        "elif isinstance(p, float | np.integer):\n    p = [p, 2 * p]\n"
        "elif isinstance(p, np.generic):\n    p = (p, 4.0)\n"
        "return x * p[0] + p[1]"
    )
    plain = registered("def f(x, p):\n" + textwrap.indent(body, "    "), "<classes>", np=np)
    with interpreting():
        f = vectorize_grad(wrt=("x",))(plain)
        for given in (p, 2.5, p):
            np.testing.assert_allclose(f(X.copy(), given), plain(X, given), rtol=1e-6)


@pytest.mark.parametrize(
    "body",
    [
        "p = p * 1.5\nif isinstance(p, int):\n    return x.sum()\nreturn x[0]",
        "for i in range(2):\n    if isinstance(p, int):\n        p = p + 0.5\nreturn x * p",
        "return x if isinstance(x.sum(), np.float64) else x[:2]", "return x if isinstance(p, np.int32) else x[:2]",
        "def g(u):\n    u = u / 2\n    return u if isinstance(u, int) else u * 3\nreturn x * g(p)",
    ],
)  # fmt: skip
def test_classes_that_nobody_knows_are_refused(body: str) -> None:
    plain = registered("def f(x, p):\n" + textwrap.indent(body, "    "), f"<class of {body}>", np=np)
    with interpreting(), pytest.raises(UnsupportedLoopError, match="does not follow from the types of arguments"):
        vectorize_grad(wrt=("x",))(plain)(X.copy(), np.int64(2))


def plain_of(body: str) -> Any:
    text = "def f(a, b):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    return registered(
        text, f"<ordinary {body}>", np=np, math=math, damped=damped, functools=functools, itertools=itertools
    )


@pytest.mark.part(3)
@pytest.mark.parametrize(("body", "args"), CASES)
def test_values(body: str, args: tuple[Any, ...]) -> None:
    check_against_python(plain_of(body), args)


@pytest.mark.part(3)
@pytest.mark.parametrize(("body", "args"), CASES[::2])
def test_gradients(body: str, args: tuple[Any, ...]) -> None:
    """Along a direction, against central differences of the plain function."""
    inner = plain_of(body)
    text = "def f(a, b):\n    return np.sum(np.sin(inner(a, b)))\n"
    whole = registered(text, f"<whole of {body}>", np=np, inner=inner)
    moves = [RNG.normal(size=v.shape) if v.dtype == np.float64 else 0 * v for v in args]
    with interpreting():
        found = vectorize_grad(whole).grad(*args)
    high, low = (whole(*(v + h * m if m.any() else v for v, m in zip(args, moves, strict=True))) for h in (1e-6, -1e-6))
    along = sum(np.sum(getattr(found, n) * m) for n, m in zip("ab", moves, strict=True) if hasattr(found, n))
    np.testing.assert_allclose(along, (high - low) / 2e-6, rtol=2e-5, atol=1e-7)


@pytest.mark.parametrize(
    "body",
    [
        "t = 0.0\nfor r in a:\n    t = t + r\nreturn t.sum()",
        "t = 0.0\nfor r in a:\n    t = t + r\nreturn t",
        "return np.stack([r * 2.0 for r in a])",
        "return max(a, key=lambda r: r[0])",
        "return np.delete(a, 0)",
        "return math.factorial(21 + len(a)) + math.comb(67, 33)",
        "return np.split(b, 3 + 1)[0]",
        "return b[0] * math.lcm(2**33 + 1, 2**33 + len(a))",
    ],
)
def test_what_does_not_hold_is_checked(body: str) -> None:
    with interpreting(), pytest.raises(ArgumentError):
        vectorize_grad(plain_of(body))(np.zeros((0, 3)), X)


@pytest.mark.parametrize(
    "body",
    [
        "return np.concatenate([a[0, :k] for k in range(len(b))])",
        "t = 0.0\nfor r in a:\n    t = t + r\nreturn t.unknown()",
        "v = np.squeeze(b[:1])\nb[0] = 2.0\nreturn v",
    ],
)
def test_what_is_not_followed_is_refused_once(body: str) -> None:
    with pytest.raises(UnsupportedLoopError) as caught:
        vectorize_grad(plain_of(body))(P, X)
    assert len(caught.value.codes) == 1


def test_both_branches_are_read_after_a_condition_that_is_rejected() -> None:
    body = "if unknown(a):\n    return other(a)\nreturn b[0]"
    with pytest.raises(UnsupportedLoopError, match=r"(?s)`unknown` is not defined.*`other` is not defined"):
        vectorize_grad(plain_of(body))


def test_messages_show_functions_by_their_names() -> None:
    with pytest.raises(UnsupportedLoopError, match="`sum` is called with `initial=`"):
        vectorize_grad(plain_of("return np.add.reduce(b, initial=2.0)"))(P, X)
