"""What a store changes: copies and views as NumPy makes them, and what cannot be told is refused."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest

from loopdiff import LoopdiffError, vectorize_grad

pytestmark = pytest.mark.part(2)
A = np.array([[0.5, 1.5, -2.0], [3.0, 0.25, 1.0], [2.0, -1.0, 0.75]])
X = np.array([0.5, -1.25, 2.0, 0.75])
PLACES = np.array([2, 0, 3, 1])


def function(text: str) -> Any:
    file = f"<order {abs(hash(text))}>"
    source = f"def f(A, x, k, s):\n    {text}\n"
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    names: dict[str, Any] = {"np": np, "__name__": "order_of_memory"}
    exec(compile(source, file, "exec"), names)
    return names["f"]


def given() -> tuple[Any, ...]:
    return A.copy(), X.copy(), PLACES.copy(), 0.1


SAME = (
    "out = []\n    for v in k: out.append(v)\n    for v in x: out.append(v)\n    return out[-1]",
    "v = list(k) + list(x); return v[-1] * v[0] + v[1]",
    "B = A * 1.0; B.T[0, 1], B[0, 1] = B[0, 1] * 3.0, B.T[0, 1]; return (B * A).sum()",
    "B = x.reshape(2, 2); r = B.ravel(); r[1] = 9.0; return x.sum()",
    "w = A[:, 1:]; w[:, [0, 1]] = w[:, [1, 0]]; return A[0] @ A[1] + w[2, 0]",
    "w = A[1, 1:]; np.add.at(w, k[:2] % 2, s); w[k[:1] % 2] *= 3.0; return A.sum() * w[0]",
    "z = A.reshape(9, 1)[2:, 0]; z[[0, 2]] += z[[1, 3]]; return A[0, 2] * A[1, 1] * z[0]",
    "w = A[::-1]; w[[0, 1], [2, 0]] = 0.0; return (A * A).sum() * A[2, 1]",
    "a, b = A[:, 0], A[:, 1:]; a[[0, 1]], b[0] = b[0], a[[0, 1]]; return A[0] @ A[1] * b[1, 0]",
    "for i in range(2): r = A[i, ::-1]; r[[0, 1]] = r[[1, 0]] * 2.0\n    return A[0] @ A[1]",
    "np.multiply.at(A[1, 1:], k % 2, x); return A.sum() * A[1, 2]",
    "z = A.reshape(9); t = z[1]; A[0, 1] = 7.0; return t + z[1] * z[2]",
    "z = A.ravel(); z[3] = s; return A.sum() * z[4]",
    "t = 0.0\n    for i in range(3): z = A.reshape(-1); t += z[i] * z[i + 4]; A[1, 1] += t\n    return t",
    "z = A.reshape(-1); t = 0.0\n    for i in range(3): t += z[i] * z[4]; A[1, 1] += t\n    return t + z[4]",
    "z = (A[:, :, None] * x).reshape(9, -1); q = z.reshape(3, -1); q[1, 2] = 9.0; return (z @ z.T).sum() + q[1].sum()",
    "z = A.reshape(9); q = z[2:]; A[1] = q[:3]; return z @ z + A.sum()",
    "B = A.reshape(9); r = B.reshape(3, 3).ravel(); r[1] = 9.0; return A[0, 1] * 2.0",
    "C = 2.0 * A.T; r = C.ravel(); q = C.reshape(-1); return r[1] * q[2] * C[0, 1]",
    "C = A.T.copy(); r = C.reshape(-1); r[1] = 5.0; return C[0, 1] * C[1, 0]",
    "r = A.T.ravel(); r[1] = 5.0; return A[0, 1] * A[1, 0] * r[1]",
    "r = A[::2].ravel(); A[0, 0] = 5.0; return r[0] * A.sum()",
    "C = 2.0 * A.T; m = np.median(C) * np.cumsum(C)[3]; C += 1.0; return m * C.sum()",
    "r = A.T.reshape(-1); q = A.T.reshape(3, 3); return r[1] * q[0, 2] * A[:, 1:].reshape(-1)[3]",
    "r = A.T.reshape(9); q = A.T.reshape(3, 3).ravel(); return r[1] * q[2] * (2.0 * A.T.reshape(3, 3)).ravel()[1]",
    "c = A[:, 0].reshape((3, 1)); c[1] = s; return A.sum() * (c - c.T).sum() + c[2, 0]",
    "c = A.T[1:, 0].reshape(1, -1, 1); c[0, 1] *= s; return A.sum() * c.sum()",
    "c = x[::2, None].reshape(2); c[0] = s; return x.sum() * (x[1:3].reshape(2, 1) * c[::-1].reshape(1, 2)).sum()",
    "t = 0.0\n    for i in range(1, 4): B = A[:i, :i] * s; r = B.reshape(-1); r[0] = 9.0; t += B.sum()\n    return t",
    "t = 0.0\n    for i in range(2, 4): B = A[:i, :i] * s; r = B[1:].ravel(); r[0] = 9.0; t += B.sum() * B[1].sum()\n"
    "    return t",
    "t = 0.0\n    for i in range(1, 4): B = np.zeros((i, 2)); r = B[i - 1].reshape(2, 1); r[1] = s; t += B.sum()\n"
    "    return t",
    "r = A[A > 0.8].reshape(-1, 1); r[1] = 9.0; return r.sum() * A.sum()",
    "for i in range(3): x[:] = np.reshape(x.reshape(2, 2).T, 4) * s + 1.0\n    return x[1] * x[2]",
    "for i in range(3): x[:] = np.reshape(x.reshape(2, 2).T, 4); x += s\n    return x[1] * x[2]",
    "t = -A[:, :2].ravel(); A[0, 0] = 7.0; return t @ t * np.exp(A.T.reshape(-1) * s)[1]",
    "t = A[:, :2].reshape(6) @ A[1:].ravel() + np.tanh(A.T.ravel())[3]; A[0, 1] = A[1, 0] = s; return t * A.sum()",
    "w = A[:2, :2]; x[:] = w.reshape(4); w[0, 1] = 9.0; return x @ x + A.sum()",
    "k[k] = np.array([3, 1, 0, 2]); return x[k] @ np.arange(4.0)",
    "np.multiply.at(x, k, x); return x.sum()",
    "np.maximum.at(k, k, 3); return x[k].sum()",
    "T = A[:, :, None] * x; return T[:, k[:2] % 3, ..., k[2:]].sum(axis=0) @ A[0]",
    "return A[np.triu(np.ones((3, 3), dtype=bool), 1)].sum() * A[np.tril(A > 0.0)].sum()",
    "r = np.take(A, 1, axis=0); r[0] = 9.0; return A.sum() * r.sum()",
    "m = np.roll(A > 1.0, (1, 1), axis=(0, 1)); return A[m].sum()",
    "a = np.array(x[0]); b = a * 2.0; b += 1.0; return a * b * np.asarray(s)",
    "x[..., 0] = s; a = x[..., 1]; return a * x.sum()",
    "return 1.0 / np.var(x, ddof=9) + 1.0 / np.cov(x, x, ddof=9)[0, 0]",
    "return np.correlate(x, np.array([1.0, 2.0, 3.0, 5.0, 8.0, 9.0]), 'same') @ A.ravel()[:6]",
    "return np.correlate(x[:3], x, 'same') @ x + np.correlate(x, x[:2], 'same') @ x",
    "return np.linalg.norm(4_000_000_000 + k) * np.linalg.norm(4_000_000 * (1 + k), 3) * x[0]",
    "return (k + 2**62).mean() * x[0] + np.average(3_000_000_000 * (1 + k), weights=2_000_000_000 * (1 + k))",
    "i = np.zeros(4, dtype=np.int32); i[:] = 1000 * (1 + k); return (np.vander(i, 4)[0] * 1.0) @ x",
)
REFUSED = (  # what cannot be known, and what Python raises for
    "C = 2.0 * A.T; r = C.ravel(); r[1] = 5.0; return C.sum()",
    "C = 2.0 * A.T; r = C.reshape(-1); r[1] = 5.0; return C.sum()",
    "C = np.zeros_like(A.T); r = C.ravel(); C[0, 1] = 5.0; return r.sum()",
    "C = np.concatenate([A.T, A.T]); r = C.ravel(); r[1] = 5.0; return C.sum()",
    "C = np.repeat(A, 2, axis=1); r = C.ravel(); r[1] = 5.0; return C.sum()",
    "C = A[:, k[:3] % 3]; r = C.ravel(); r[1] = 5.0; return C.sum()",
    "r = A[1:2, 1:3].ravel(); r[1] = 5.0; return A.sum()",
    "r = A.T.reshape(-1); r[1] = 5.0; return A.sum()",
    "r = A.T.reshape(3, 3); r[0, 1] = 5.0; return A.sum()",
    "r = A.T.reshape(-1); A[0, 1] = 5.0; return r.sum()",
    "r = A.T.reshape(3, 3); A[0, 1] = 5.0; return r[1, 0]",
    "r = A[:2, :1].reshape(1, 2).ravel(); r[1] = 5.0; return A.sum()",
    "for i in range(2, 4): B = s * A[:i, :i]; r = B[:, : k[2] - 1].ravel(); r[0] = 5.0; s += B.sum()\n    return s",
    "for i in range(1, 4): B = 2.0 * A[:i, :i]; r = B[:, 1:].reshape(-1); r[:1] = 5.0; s += B.sum()\n    return s",
    "r = A.T.reshape(-1); t = r * 2.0; A[0, 1] = 5.0; return r.sum() + t.sum()",
    "t = A.T.reshape(-1) * (x.fill(s) or 2.0); return t.sum()",
    "A[k[:2] % 3][0] = 5.0; return A.sum()",
    "A[k[:2] % 3][:, 0] += 5.0; return A.sum()",
    "A[0, k[:2] % 3][0] = 5.0; return A.sum()",
    "x.copy()[0] = 5.0; return x.sum()",
    "a = x[0, ...]; x[0] = 5.0; return a * s",
    "a = x[0, ...]; a += 5.0; return x.sum()",
    "a = np.array(s); b = np.asarray(a); b += 1.0; return a * x[0]",
    "return sum([a * b for a, b in reversed(zip(x, x))])",
    "return sum([a * b for a, b in reversed(enumerate([x[0], x[1]]))])",
    "return x.sum(keepdims=(s > 1.0))",
    "return np.linalg.solve(A[:2, :2], np.ones((2, 2, 2)) * s).sum()",
    "return np.convolve(x, x, 'sane').sum()",
    "return np.linalg.norm(A, 'fro', axis=0).sum()",
    # integers where floats come later, which would be cut off
    "for _ in range(2): k = k * s\n    return k",
    "if s > 9.0: v = k\n    else: v = k * s\n    return v",
)


@pytest.mark.part(5)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("text", SAME)
def test_stores_change_what_they_change_in_numpy(text: str) -> None:
    plain, ours = function(text), given()
    theirs = given()
    wanted = plain(*theirs)
    np.testing.assert_allclose(vectorize_grad(plain)(*ours), wanted, rtol=1e-12)
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-12)


@pytest.mark.part(2)
@pytest.mark.parametrize("text", REFUSED)
def test_what_cannot_be_told_is_refused(text: str) -> None:
    with pytest.raises(LoopdiffError):
        vectorize_grad(function(text))(*given())


def test_second_derivatives_where_two_numbers_are_equal() -> None:
    def f(x):
        return np.logaddexp(x[0], x[1]) + np.sinc(x[2])

    compiled, v = vectorize_grad(f), np.array([0.3, 0.3, 0.0])
    wanted = np.array([[0.25, -0.25, 0.0], [-0.25, 0.25, 0.0], [0.0, 0.0, -(np.pi**2) / 3.0]])
    for k in range(3):
        value, gradients, products = compiled.hvp((v,), {"x": np.eye(3)[k]})
        np.testing.assert_allclose(products.x, wanted[k], atol=1e-12)
        np.testing.assert_allclose(gradients.x, [0.5, 0.5, 0.0], atol=1e-12)
        assert value == f(v)
