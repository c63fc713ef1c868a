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
