"""What a function prints: as Python does, in its order, once for each call, and not in the reverse sweep."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad

pytestmark = pytest.mark.part(3)
NAME = "run"


def formats(x, s):
    t = 0.0
    print("start", NAME, x.shape, end="!\n")
    for i in range(len(x)):
        if x[i] < 0.1:
            print("small", i, x[i])
            continue
        t = t * 0.5 + np.sin(x[i]) * s
        if i % 2 == 0:
            print(f"{i:3d} {t:.4f}", "x = %.2e (%d)" % (x[i], i), "{:>8.3f}|{}".format(t, i), sep=" ; ")  # noqa: UP031, UP032
    y = x * s
    print(y[::2], y, x > 0.5, x[:0], flush=True)
    print(complex(s, 2.0), y * 1j, str(t) + "end", "-" * 10, len(x) > 3)
    print()
    return t + y.sum()


def square(x):
    print("in square", x)
    return x * x


def helpers_and_returns(x):
    t, n = 0.0, 0
    while t < 3.0 and n < 10:
        t += square(x) * 0.4
        n += 1
        if n > 5:
            print("returning early")
            return t * x
    print("n", n)
    return t


def grows(x, k):
    n, t = 0, x
    while np.sin(t) * t < k and n < 500:
        t = t * 1.003 + 0.0001 * t * t
        if n % 20 == 0:
            print("at", n, t)
        n += 1
    print("end", n)
    return t * t


def steps(x):
    s = np.zeros(4)
    s[0] = x
    for i in range(600):
        s[1] = np.tanh(s[0] * s[1] + 0.1 * s[2])
        s[2] = np.sin(s[1] + 0.01) * s[0]
        s[3] += s[2] * s[1]
        if i % 100 == 0:
            print("step", i, s)
    return s[3]


def structures(p, x):
    for name, k in zip(("one", "two"), [x, 2.0 * x], strict=True):
        print(name, k[0], p["a"])
    print("done", p["b"].sum(), p["b"])
    return np.sum(x * p["a"]) + p["b"].sum()


def printed(call: Callable[..., Any], *args: Any) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as found:
        call(*args)
    return found.getvalue()


def lengths(x):
    w = 1.0 * x
    m = x[x > 0.25]
    while len(w) > 1:
        w = w[:-1] * 1.5
        print(w, len(w))
    B = np.outer(x, x)[x > 0.25]
    print(f"{w=} {m}", m * 2.0, B, B.shape, m * (1.0 + 2.0j), x[x > 9.0])
    return w.sum() + m.sum() * B.sum()


PROGRAMS = [
    (lengths, (np.array([0.5, 0.125, 0.75, 0.25]),)),
    (formats, (np.array([0.3, 0.01, 0.7, 0.9, 0.2, 1.5]), 1.25)),
    (helpers_and_returns, (0.9,)),
    (helpers_and_returns, (1.5,)),
    (grows, (0.3, 1.5)),
    (steps, (0.4,)),
]


@pytest.mark.part(3)
@pytest.mark.parametrize(("function", "args"), PROGRAMS)
def test_every_derivative_prints_once(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    f, expected = vectorize_grad(function), printed(function, *args)
    directions = dict(zip(f.compile(*args).signature("primal"), args, strict=False))
    calls = {
        "primal": f,
        "value_and_grad": f.value_and_grad,
        "grad": f.grad,
        "jvp": lambda *given: f.jvp(given, directions),
        "vjp": lambda *given: f.vjp(*given)[1](),
        "hvp": lambda *given: f.hvp(given, directions),
    }
    for name, call in calls.items():
        assert printed(call, *args) == expected, name
        assert printed(call, *args) == expected, f"{name}, again"


@pytest.mark.parametrize("options", [{"tape": "recompute"}, {"memory_limit": 20_000}])
def test_plans_print_once(options: dict[str, Any]) -> None:
    f, g = vectorize_grad(steps, **options), vectorize_grad(steps)
    assert printed(f.value_and_grad, 0.4) == printed(steps, 0.4)
    assert f.grad(0.4).x == pytest.approx(g.grad(0.4).x, rel=1e-12)


def test_structures() -> None:
    args = {"a": 1.5, "b": np.arange(3.0)}, np.ones(2)
    assert printed(vectorize_grad(structures).value_and_grad, *args) == printed(structures, *args)


def test_single_precision() -> None:
    def f(x):
        print(x[0], x[1] * x[0], x)
        return x.sum()

    x = np.array([0.1, 0.7], np.float32)
    assert printed(vectorize_grad(f), x) == printed(f, x)
