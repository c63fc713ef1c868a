"""Activations against JAX's, their derivatives at kinks, and what becomes of infinities and NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp

from loopdiff.errors import ArgumentError
from loopdiff.kernels import Operator, nn
from loopdiff.kernels.nn import activations
from tests.kernels.against_jax import Case, check

pytestmark = pytest.mark.part(3)

x = np.random.default_rng(6).uniform(-5.0, 5.0, (3, 5, 4))
slope = np.float64(0.3)
CASES = [
    Case(nn.relu, (x,), jax.nn.relu),
    Case(nn.relu6, (4.0 * x,), jax.nn.relu6),
    Case(nn.leaky_relu, (x, slope), jax.nn.leaky_relu),
    Case(nn.elu, (x, slope), jax.nn.elu),
    Case(nn.celu, (x, slope), jax.nn.celu),
    Case(nn.selu, (x,), jax.nn.selu),
    Case(nn.threshold_relu, (x, slope), lambda x, t: jnp.where(x > t, x, 0.0)),
    Case(nn.gelu, (x,), lambda x: jax.nn.gelu(x, approximate=False)),
    Case(nn.gelu_tanh, (x,), jax.nn.gelu),
    Case(nn.gelu_sigmoid, (x,), lambda x: x * jax.nn.sigmoid(1.702 * x)),
    Case(nn.sigmoid, (x,), jax.nn.sigmoid),
    Case(nn.hard_sigmoid, (x,), jax.nn.hard_sigmoid),
    Case(nn.log_sigmoid, (x,), jax.nn.log_sigmoid),
    Case(nn.tanh, (x,), jnp.tanh),
    Case(nn.hard_tanh, (x, np.float64(-2.0), np.float64(1.5)), lambda x, a, b: jnp.clip(x, a, b)),
    Case(nn.rational_tanh, (x,), lambda x: 1.7159 * jnp.sign(x) * (1.0 - 1.0 / sum_of_powers(2.0 * abs(x) / 3.0))),
    Case(nn.softplus, (x,), jax.nn.softplus),
    Case(nn.softsign, (x,), jax.nn.soft_sign),
    Case(nn.softshrink, (x, slope), lambda x, w: jnp.where(x > w, x - w, jnp.where(x < -w, x + w, 0.0))),
    Case(nn.hardshrink, (x, slope), lambda x, w: jnp.where(abs(x) > w, x, 0.0)),
    Case(nn.tanhshrink, (x,), lambda x: x - jnp.tanh(x)),
    Case(nn.silu, (x,), jax.nn.silu),
    Case(nn.hard_silu, (x,), jax.nn.hard_silu),
    Case(nn.mish, (x,), jax.nn.mish),
    Case(nn.lisht, (x,), lambda x: x * jnp.tanh(x)),
    Case(nn.log_cosh, (x,), lambda x: jnp.log(jnp.cosh(x))),
    Case(nn.glu, (x,), jax.nn.glu),
    Case(nn.glu, (np.moveaxis(x, 1, 0)[:4],), lambda x: jax.nn.glu(x, axis=0), {"axis": 0}),
]
ELEMENTWISE = [f for f in vars(activations).values() if isinstance(f, Operator) and f not in (nn.glu, nn.prelu)]


def sum_of_powers(y: Any) -> Any:
    return 1.0 + y + y**2 + 1.41645 * y**4


@pytest.mark.part(5)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_activations_are_those_of_jax(case: Case) -> None:
    check(case)


def test_all_activations_are_compared() -> None:
    assert {id(case.operator) for case in CASES} == {id(f) for f in (*ELEMENTWISE, nn.glu)}


@pytest.mark.part(5)
@pytest.mark.parametrize("operator", ELEMENTWISE, ids=lambda f: f.__name__)
def test_numbers_large_and_none_at_all(operator: Operator) -> None:
    """Numbers that overflow exponentials are finite, with finite derivatives; NaN comes out where it goes in."""
    f = operator.of()
    value, pullback = f.vjp(np.array([-1e4, 1e4, np.nan]))
    gradient = pullback(np.array([1.0, 1.0, 0.0])).x
    assert np.isfinite(value[:2]).all()
    assert np.isnan(value[2])
    assert np.isfinite(gradient[:2]).all()
    assert operator(np.float32([0.5, -0.5])).dtype == np.float32


@pytest.mark.parametrize(
    ("operator", "point", "derivative"),
    [
        (nn.relu, 0.0, 0.0),
        (nn.relu6, 0.0, 0.0),
        (nn.relu6, 6.0, 0.0),
        (nn.leaky_relu, 0.0, 0.01),
        (nn.elu, 0.0, 1.0),
        (nn.threshold_relu, 1.0, 0.0),
        (nn.hard_sigmoid, 3.0, 0.0),
        (nn.hard_sigmoid, -3.0, 0.0),
        (nn.hard_tanh, 1.0, 0.0),
        (nn.softshrink, 0.5, 0.0),
        (nn.hardshrink, -0.5, 0.0),
        (nn.hard_silu, 3.0, 1.0),
        (nn.hard_silu, -3.0, 0.0),
    ],
)
def test_kinks_have_the_derivative_of_their_own_branch(operator: Operator, point: float, derivative: float) -> None:
    assert operator.of().grad(point)[0] == derivative


def test_parameters_at_points_where_they_do_not_count() -> None:
    """Derivatives by second arguments are numbers: NNlib's are NaN."""
    for operator in (nn.leaky_relu, nn.elu, nn.celu, nn.softshrink):
        gradient = operator.of().grad(2.0, 0.5)[1]
        assert gradient == (-1.0 if operator is nn.softshrink else 0.0)
    assert nn.threshold_relu.of().grad(-0.5, -1.0)[0] == 1.0


def test_odd_axes_are_not_halved() -> None:
    with pytest.raises(ArgumentError, match="do not fit together"):
        nn.glu(x, axis=0)
