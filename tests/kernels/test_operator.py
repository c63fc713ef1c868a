"""The forms of an operator: NumPy arrays, decorated functions, JAX; options are part of the program."""

from __future__ import annotations

import ast
import importlib
import inspect
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

import loopdiff.kernels
from loopdiff import vectorize_grad
from loopdiff.errors import ArgumentError
from loopdiff.kernels import Operator, nn, operator


@operator
def power_of(x, scale=2.0, *, exponent=1, then=None):
    """A function with an array, a number, and two options."""
    y = np.empty_like(x)
    for i in range(x.shape[0]):
        y[i] = scale * x[i] ** exponent
    return y if then is None else then(y)


def doubled(y):
    return 2.0 * y


@vectorize_grad
def whole(x, w):
    return power_of(nn.softmax(x), w, exponent=3).sum()


X = np.array([0.5, -1.0, 2.0])


def test_options_are_part_of_the_program() -> None:
    np.testing.assert_allclose(power_of(X), 2.0 * X)
    np.testing.assert_allclose(power_of(X, 3.0, exponent=2), 3.0 * X**2)
    np.testing.assert_allclose(power_of(X, exponent=2, then=doubled), 4.0 * X**2)
    np.testing.assert_allclose(power_of(x=X, scale=1.0), X)
    assert power_of.options == ("exponent", "then")
    assert power_of.of(exponent=3).compile(X, 2.0).signature("primal") == ("x", "scale")


def test_the_same_options_are_the_same_function() -> None:
    assert power_of.of(exponent=2) is power_of.of(exponent=2)
    assert power_of.of(then=doubled) is power_of.of(then=doubled)
    assert power_of.of(exponent=2) is not power_of.of(exponent=2.0)
    assert power_of.of() is not power_of.of(exponent=1)


def test_operators_are_called_in_decorated_functions() -> None:
    p = np.exp(X) / np.exp(X).sum()
    value, gradients = whole.value_and_grad(X, 2.0)
    assert value == pytest.approx(2.0 * (p**3).sum())
    np.testing.assert_allclose(gradients.x, 6.0 * (p**3 - p * (p**3).sum()), rtol=1e-12)
    assert gradients.w == pytest.approx((p**3).sum())


def test_options_that_are_none_are_refused() -> None:
    with pytest.raises(ArgumentError, match=r"`power_of` has no option `stride`[\s\S]*`exponent`, `then`"):
        power_of.of(stride=2)
    with pytest.raises(ArgumentError, match="LD302: `power_of` has no parameter `stride`"):
        power_of(X, stride=2)


def test_options_may_be_numbers_of_numpy_lists_and_infinities() -> None:
    assert power_of.of(exponent=np.int64(2)) is power_of.of(exponent=2)
    assert nn.conv2d.of(padding=[1, 2]) is nn.conv2d.of(padding=(1, 2))
    padded = nn.pad2d(np.zeros((1, 1, 1, 1)), padding=1, value=-np.inf)
    assert (padded == -np.inf).sum() == 8


def test_operators_are_pickled_by_name() -> None:
    assert pickle.loads(pickle.dumps(nn.softmax)) is nn.softmax
    assert repr(nn.softmax) == "<operator loopdiff.kernels.nn.exponentials.softmax(x, *, axis=-1)>"
    assert inspect.signature(nn.softmax) == inspect.signature(nn.softmax.py_func)


def test_jax_takes_operators() -> None:
    jax = pytest.importorskip("jax")
    f = jax.jit(jax.value_and_grad(lambda x: power_of.jax(exponent=3)(x, 2.0).sum()))
    with jax.enable_x64(True):
        value, gradient = f(X)
    assert value == pytest.approx((2.0 * X**3).sum())
    np.testing.assert_allclose(gradient, 6.0 * X**2)


def test_every_operator_has_a_name_a_room_and_a_docstring() -> None:
    for room in loopdiff.kernels.ROOMS:
        package = importlib.import_module(f"loopdiff.kernels.{room}")
        assert sorted(package.__all__) == sorted(
            {o.__name__ for o in vars(package).values() if isinstance(o, Operator)}
        )
        for name in package.__all__:
            found = getattr(package, name)
            assert inspect.getdoc(found), name
            assert found.__module__.startswith(f"loopdiff.kernels.{room}.")


def test_every_operator_is_named_in_a_test() -> None:
    trees = [ast.parse(p.read_text(encoding="utf-8")) for p in Path(__file__).parent.glob("test_*.py")]
    nodes = [n for tree in trees for n in ast.walk(tree)]
    texts = {n.value for n in nodes if isinstance(n, ast.Constant)}  # keys of tables of cases
    attributes = [n for n in nodes if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)]
    for room in loopdiff.kernels.ROOMS:
        named = texts | {n.attr for n in attributes if n.value.id == room}  # type: ignore[attr-defined]
        assert set(importlib.import_module(f"loopdiff.kernels.{room}").__all__) - named == set()


def test_the_page_of_other_libraries_has_all_operators_that_these_could_have() -> None:
    page = (Path(__file__).parents[2] / "docs" / "operators_peers.md").read_text(encoding="utf-8")
    cells = [row.split("|")[2] for row in page.splitlines() if row.startswith("|") and row.count("|") == 6]
    named = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    for room in ("nn", "networks", "encodings"):
        package = importlib.import_module(f"loopdiff.kernels.{room}")
        own = {n for n in package.__all__ if not getattr(package, n).__module__.endswith(".activations")}
        assert own - named == set()
