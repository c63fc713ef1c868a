"""Names whose arrays loops make shorter or longer, against what Python computes and central differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff import ArgumentError, UnsupportedLoopError, vectorize_grad
from tests.gradients.interpreted import interpreting
from tests.texts import registered

pytestmark = pytest.mark.part(2)
PROGRAMS = {
    "shorter at both ends": "for i in range(3):; {}x = 0.5 * x[1:] + x[:-1] ** 2; t += x[0] * len(x)",
    "one in each iteration": "for v in y:; {}x = np.append(x, v * x[-1]); t += x.sum() * x[2]",
    "several in loops of loops": (
        "for i in range(2):; {}for v in y:; {}{}x = np.append(x, v * x[i]); {}x = x[1:]; t += x.sum() * len(x)"
    ),
    "rows": "M = np.zeros((1, 2)); for v in y:; {}M = np.vstack((M, [v, v * M[-1, 0]])); t += np.sum(M**2)",
    "minors": (
        "A = np.outer(x, y) + 2.0 * np.eye(5); while A.shape[0] > 1:; {}t += np.log(A[0, 0]); "
        "{}A = A[1:, 1:] - np.outer(A[1:, 0], A[0, 1:]) / A[0, 0]"
    ),
    "halves": "x = np.append(x, [1.0, 2.0, 3.0]); while len(x) > 1:; {}t += np.sum((x[::2] - x[1::2]) ** 2); "
    "{}x = 0.5 * (x[::2] + x[1::2])",
    "what a mask chooses": "for v in y:; {}x = x[x > 0.4 * v]; {}x = x * 1.05; t += np.sum(x**3)",
    "in one branch": "for v in y:; {}if v > 0.9:; {}{}x = np.append(x, v * x[-1]); t += x.sum() * len(x)",
    "in both branches": "for v in y:; {}if v > 0.9:; {}{}x = x[1:] * 1.1; {}else:; {}{}x = np.append(x[2:], v); "
    "t += x @ x",
    "a window": "w = np.zeros(0); for v in x:; {}w = np.append(w, v); "
    "{}if len(w) > 3:; {}{}w = w[1:]; {}t += w.mean() ** 2",
    "continue": "for v in y:; {}if x[0] > v:; {}{}x = x[1:]; {}{}continue; {}x = x[:-1] * v; t += np.sum(x**2)",
    "break and else": "for v in y[:3]:; {}x = x[:-1] * v; {}if x[0] > 9.0:; {}{}break; else:; {}x = x * 2.0; t += x[0]",
    "elements written": "x = x.copy(); for i in range(3):; {}x[0] *= x[1]; {}x = x[1:] + x[:-1]; "
    "{}x[-1] *= 2.0; t += x.sum()",
    "one behind": "w = x; for i in range(3):; {}w = x; {}x = 0.5 * (x[1:] + x[:-1]) ** 2; t += w.sum() * x.sum()",
    "merged": "w = np.zeros(0); while len(x) > 0 and len(y) > 0:; {}if x[0] < y[0]:; {}{}w = np.append(w, x[0]); "
    "{}{}x = x[1:]; {}else:; {}{}v, y = y[0], y[1:]; {}{}w = np.concatenate((w, [2.0 * v])); "
    "w = np.concatenate((w, x, y)); t += w @ w * len(w) + w[-1]",
    "taken away on all ways": "w = np.zeros(0); out = []; while len(x) > 1:; {}if x[0] > 1.2:; {}{}break; "
    "{}if x[1] > x[0]:; {}{}x = x[:-1]; {}{}continue; {}w = np.append(w, x[:2] * y[0]); "
    "{}out.append(x[1]); {}x = x[2:]; t += w.sum() * len(w) + sum(out) * len(out) + x.sum()",
    "three terms": "a = np.ones(1); b = np.array([0.0, 1.0]); for v in y:; {}c = np.append([0.0], 2.0 * v * b); "
    "{}c[: len(a)] -= a; {}a, b = b, c; {}t += a.sum() * b[-1] ** 2 + len(b); t += b @ b * a[0]",
    "handed on and made longer": "a = np.ones(1); b = np.array([0.5, 1.0]); for v in x:; "
    "{}a, b = b, np.append(a, v); {}t += a.sum() * len(b) * b[0]; t += b @ b * len(a)",
    "in turns and shorter": "a = x; b = y[:4] * 1.0; while len(a) > 1 and len(b) > 1:; {}a, b = b, a[1:] * 0.5; "
    "{}t += b.sum() * len(a); t += a.sum() * len(b)",
    "two names": "z = x * y; for i in range(2):; {}z = x[1:]; {}x = x[:-1] * z; t += z.sum() * x[0]",
    "sizes from lengths": (
        "p = np.ones(1); for i in range(3):; {}q = np.zeros(len(p) + len(y) - 1); {}for j in range(len(p)):; "
        "{}{}q[j:j + len(y)] += p[j] * y; {}p = q; t += np.sum(p**2)"
    ),
    "another length": "for i in range(3):; {}x = np.ones(4 - i) * x[0]; t += x.sum()",
    "twice as long": (
        "for i in range(2):; {}w = x * (i + 1.0); {}for k in range(2):; {}{}z = np.zeros(2 * len(w)); {}{}z[::2] = w; "
        "{}{}z[1:-1:2] = 0.5 * (w[1:] + w[:-1]) ** 2; {}{}w = z * (k + 1.0); {}t += w @ w * len(w); "
        "for k in range(2):; {}x = np.concatenate([x, x * y[k]]); t += x @ x + x[-1]"
    ),
    "none left": "while len(x):; {}t += x[0] ** 2 * len(x); {}x = x[1:]",
    "a helper": "for i in range(2):; {}x = halved(x); t += x.sum() * len(x)",
    "from nothing": "w = np.array([]); for v in y:; {}w = np.append(w, [v * x[0], t]); {}t += w.sum() * len(w)",
    "names of lengths": "for i in range(2):; {}n = len(x); {}x = x[:n - 1] * n; t += x.sum()",
}
TEXT = """
def halved(v):
    return v[: (len(v) + 1) // 2] * v[len(v) // 2 :]

def f(x, y):
    t = 0.0
    {body}
    return t
"""


def program(body: str) -> Any:
    lines = "\n    ".join(body.replace("; ", "\n    ").replace("{}", "    ").split("\n    "))
    return registered(TEXT.format(body=lines), f"{__name__} {body}", np=np)


def arguments() -> dict[str, Any]:
    rng = np.random.default_rng(6)
    return {"x": rng.uniform(0.5, 1.5, 5), "y": rng.uniform(0.5, 1.5, 5)}


def slope_of(plain: Callable[..., Any], direction: dict[str, Any]) -> float:
    ahead, behind = ({n: v + h * direction[n] for n, v in arguments().items()} for h in (1e-6, -1e-6))
    return (plain(**ahead) - plain(**behind)) / 2e-6


@pytest.mark.part(5)
@pytest.mark.parametrize("title", PROGRAMS)
def test_arrays_that_loops_resize_are_as_in_python(title: str) -> None:
    plain = program(PROGRAMS[title])
    direction = {n: np.random.default_rng(len(n)).standard_normal(5) for n in ("x", "y")}
    with interpreting():
        value, gradients = vectorize_grad(plain).value_and_grad(**arguments())
    assert value == pytest.approx(plain(**arguments()), rel=1e-12)
    found = sum(float(getattr(gradients, n) @ d) for n, d in direction.items())
    assert found == pytest.approx(slope_of(plain, direction), rel=2e-5)


def binomial(x, n):
    for _ in range(n):
        x = 0.5 * (x[1:] + x[:-1])
    return x


def powers(x, n):
    found = np.ones(1)
    for _ in range(n):
        found = np.append(found, found[-1] * x)
    return found


def binomial_in_some_order(x, n):
    for i in range(n):
        x = x[1:] + x[:-1] if i % 2 else x[1:] - x[:-1]
    return x


def test_lengths_that_are_known_at_entry_are_those_of_results() -> None:
    x = np.random.default_rng(3).random(9)
    with interpreting():
        np.testing.assert_allclose(vectorize_grad(binomial)(x, 3), binomial(x, 3), rtol=1e-13)
        np.testing.assert_allclose(
            vectorize_grad(binomial_in_some_order)(x, 3), binomial_in_some_order(x, 3), rtol=1e-13
        )
        assert vectorize_grad(binomial)(x, 12).shape == (0,)
        np.testing.assert_allclose(vectorize_grad(powers)(0.7, 4), 0.7 ** np.arange(5), rtol=1e-13)
        np.testing.assert_allclose(vectorize_grad(binomial)(x, 0), x)


def test_an_array_that_is_too_short_is_python_s_error() -> None:
    plain = program("for i in range(4):; {}x = x[1:]; {}t += x[1] + y[i]")
    with pytest.raises(IndexError):
        plain(**arguments())
    with interpreting(), pytest.raises(ArgumentError, match="LD31"):
        vectorize_grad(plain)(**arguments())


@pytest.mark.parametrize(
    "body",
    [
        "z = x; for i in range(len(y) - 3):; {}z = z[1:]; {}z[0] = 2.0 * z[0]; t += z[0] + x[1]",  # Python changes `x`
        "while t < 9.0:; {}x = np.append(x, t); {}t += x.sum()",  # nothing says how long it becomes
        "for k in range(len(y)):; {}x = np.repeat(x, 2)",  # nor how often it becomes longer
    ],
)
def test_what_no_memory_can_stand_for_is_refused(body: str) -> None:
    with interpreting(), pytest.raises(UnsupportedLoopError, match="LD116"):
        vectorize_grad(program(body))(**arguments())


def test_kept_and_rest_of_partitions() -> None:
    start, loop = (
        "kept = np.zeros(0); for k in range(2):; ",
        "{}kept = np.append(kept, x[x > 0.5]); {}x = x[x <= 0.5]; ",
    )
    body = f"{start}{loop}t = kept.sum()"
    plain, given = program(body), np.array([0.2, 0.7, 0.9, 0.4])
    assert vectorize_grad(plain)(given, given) == pytest.approx(plain(given, given))


UNENDING = (
    "for k in range(len(y) - 3):; {}a = x[x > 0.5]; {}b = x[x <= 0.5]; {}x = np.concatenate((a * 1.1, b)); t += x[0]",
    "while len(x) > 0:; {}k = np.argmax(x); {}t = t * 0.5 + x[k]; {}x = np.concatenate((x[:k], x[k + 1:]))",
    "for j in range(2):; {}k = int(x[0] * 0) + 1; {}x = np.concatenate((x[:k], x[k:])); t = x.sum()",
)


@pytest.mark.parametrize("body", UNENDING)
def test_lengths_of_parts_of_parts_are_refused_in_time(body: str) -> None:
    """Each part is a minimum of minima, of which there are twice as many formulas each time."""
    with pytest.raises(UnsupportedLoopError, match="LD116"):
        vectorize_grad(program(body))(**arguments())
