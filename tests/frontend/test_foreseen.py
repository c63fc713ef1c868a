"""What is said when a function is decorated: functions of NumPy that no call could use, and no others."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from loopdiff import UnsupportedLoopError, rule, vectorize_grad
from loopdiff.frontend.parsing.foreseen import is_unknown
from tests.texts import registered

USES = ("np.sum({}(x))", "{}(x, 2)[0]", "{}((x, x)).sum()", "np.array([{}(v) for v in x]).sum()")


def of(module: ModuleType) -> list[str]:
    return [n for n in dir(module) if not n.startswith("_") and is_unknown(getattr(module, n))]


UNKNOWN = [*(f"np.{n}" for n in of(np)), *(f"np.linalg.{n}" for n in of(np.linalg))]


@pytest.mark.parametrize("name", UNKNOWN)
def test_no_call_takes_what_is_said_to_be_unknown(name: str) -> None:
    for k, use in enumerate(USES):
        text = f"def f(x):\n    return {use.format(name)} if x.ndim == 1 else 0.0\n"
        f = vectorize_grad(cache=False)(registered(text, f"<unknown {name} {k}>", np=np))
        with pytest.raises(UnsupportedLoopError):
            f(np.ones(3))


def test_unknown_functions_are_said_when_decorated() -> None:
    text = "def f(x):\n    y = x + 1.0\n    return np.busday_count(y, y).sum()\n"
    with pytest.raises(UnsupportedLoopError, match=r"LD109: `np\.busday_count`"):
        vectorize_grad(registered(text, "<whole arrays>", np=np))


NOT_SURE = (
    "if x.ndim == 1: return x.sum()\n    return np.busday_count(x)",
    "y = x + 1.0\n    assert x.ndim == 1, np.array2string(x)\n    return y.sum()",
    "t = x.sum()\n    for w in (): t += np.busday_count(w)\n    return t",
    "t = [np.busday_count(w) for w in ()]\n    return x.sum() + len(t)",
    "return x.sum() if x.ndim == 1 else np.busday_count(x)",
)


@pytest.mark.parametrize("body", NOT_SURE)
def test_what_no_call_may_come_to_is_not_said(body: str) -> None:
    f = vectorize_grad(cache=False)(registered(f"def f(x):\n    {body}\n", f"<not sure {hash(body)}>", np=np))
    assert f(np.ones(2)) in (2.0, 4.0)


def test_polynomials_are_no_functions() -> None:
    text = "def f(x):\n    y = x + 1.0\n    return p(y[0])\n"
    with pytest.raises(UnsupportedLoopError, match="LD109"):
        vectorize_grad(registered(text, "<polynomial>", p=np.poly1d([1.0, 2.0])))(np.ones(2))


def doubled(x: float) -> float:
    return 2.0 * x


doubled.__module__ = "scipy.special"  # as what has no text that could be read


def test_a_rule_makes_a_function_known() -> None:
    text = "def f(x):\n    y = x + 1.0\n    return np.sum(y) + doubled(y[0])\n"
    with pytest.raises(UnsupportedLoopError, match="LD109: `doubled`"):
        vectorize_grad(registered(text, "<without a rule>", np=np, doubled=doubled))
    rule(doubled, partials={"x": lambda x: 2.0})
    f = vectorize_grad(cache=False)(registered(text, "<with a rule>", np=np, doubled=doubled))
    assert f(np.ones(2)) == 4.0 + 4.0
