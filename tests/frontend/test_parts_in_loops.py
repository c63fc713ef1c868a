"""Parts of arrays whose lengths change from iteration to iteration, bound to names, given to helpers, computed with:
they have the room that the ranges of the loops allow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from loopdiff import UnsupportedLoopError, vectorize_grad
from tests.texts import registered

TEXT = """
def helper(v):
    return np.sin(v) * 0.5

def f(x, y, a, p):
    n = len(x)
    t = 0.0
    for i in range(n):
        {body}
    return t
"""
BODIES = {
    "suffix": "u = x[i:]; u += 0.1 * y[:n - i]; t += u[0]",
    "copy of a column": "v = a[i:, i]; u = v.copy(); t += u.sum()",
    "column": "v = a[i:, i]; u = v / 2.0; t += u @ v",
    "softmax of a suffix": "v = x[i:] - x[i]; e = np.exp(v); t += e[-1] / e.sum()",
    "helper in a sum": "t += helper(y[i:]).sum()",
    "helper that is added": "x[i:] += helper(y[i:]); t += x[-1]",
    "helper with a name": "v = helper(y[:i + 1]); t += v @ v",
    "window": "u = x[max(0, i - 2):i + 3] / 2.0; t += u @ u",
    "corner": "b = a[i:, i:] * 2.0; t += (b @ b).sum()",
    "written part of a matrix": "b = a[i:, :n - i] * 2.0; b[0] += 1.0; t += b.sum()",
    "backwards": "a[i + 1:, i + 1:] = 0.5 * a[:i:-1, i:-1]; t += a[i, i]",
    "choice backwards": "y[:n - 1 - i] = np.where(a[n - 1:i:-1, 0] > p, y[i:n - 1], 0.0); t += y[0]",
    "zeros": "w = np.zeros(i + 1); w[0] = 1.0; w[-1] += x[i]; t += w @ x[:i + 1]",
    "empty": "w = np.empty(n - i); w[:] = x[i:]; w *= y[i:]; t += w @ w",
    "in an expression": "t += (np.ones(i + 1) * x[:i + 1] + np.full(i + 1, p)).sum()",
    "of both loops": "for j in range(i + 1):; {}v = x[j:i + 1]; {}u = v * v; {}t += u @ y[j:i + 1]".replace(
        "{}", "    "
    ),
    "part of a part": "v = x[i:]; w = v[:(n - i) // 2] * p; t += w.sum()",
}


def program(body: str) -> Any:
    lines = "\n        ".join(body.split("; "))
    return registered(TEXT.format(body=lines), f"{__name__} {body}", np=np)


def arguments(n: int) -> dict[str, Any]:
    rng = np.random.default_rng(n)
    return {"x": rng.uniform(0.5, 1.5, n), "y": rng.uniform(0.5, 1.5, n), "a": rng.random((n, n)), "p": 0.4}


def fresh(args: dict[str, Any]) -> dict[str, Any]:
    return {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in args.items()}


@pytest.mark.parametrize("title", BODIES)
def test_parts_in_loops_have_room(title: str) -> None:
    plain = program(BODIES[title])
    f = vectorize_grad(wrt=("x", "y", "a"))(plain)
    for n in (5, 1, 9):
        args = arguments(n)
        one, other = fresh(args), fresh(args)
        value, gradients = f.value_and_grad(**other)
        assert value == pytest.approx(plain(**one), rel=1e-12)
        for name in ("x", "y", "a"):
            np.testing.assert_allclose(other[name], one[name], rtol=1e-12)
            direction = np.random.default_rng(7).standard_normal(args[name].shape)
            ahead, behind = fresh(args), fresh(args)
            ahead[name] += 1e-6 * direction
            behind[name] -= 1e-6 * direction
            slope = (plain(**ahead) - plain(**behind)) / 2e-6
            assert np.sum(getattr(gradients, name) * direction) == pytest.approx(slope, rel=2e-5, abs=2e-6)


def test_arrays_that_could_have_negative_lengths_are_refused() -> None:
    f = vectorize_grad(program("w = np.zeros(i - 1); t += w.sum()"))
    with pytest.raises(UnsupportedLoopError, match="the extent `i - 1` of `w`"):
        f(**arguments(4))
