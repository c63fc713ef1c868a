"""Derivatives of derivatives: both modes over the joined sweeps of the corpus, and points where they are delicate."""

from __future__ import annotations

import importlib.util
import math
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from loopdiff import DifferentiationError
from loopdiff.ad.forward import build_tangent
from loopdiff.ad.gradient import build_gradient, without_value
from loopdiff.ad.partials import TABLE, Rule
from loopdiff.ad.reverse import build_sweeps
from loopdiff.ad.tape.sweeps import Sweeps
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import integer, mul, zero
from loopdiff.ir.interpret import run
from loopdiff.ir.names import tail_names
from loopdiff.ir.ops import Op
from loopdiff.ir.types import F64
from loopdiff.ir.verify import verify
from loopdiff.settings.options import TapePolicy
from tests.corpus import BY_NAME, ENTRIES, Arguments, Entry, ruled
from tests.gradients import harness
from tests.gradients.interpreted import allocated, count, lowered, normal_form, sweeps_of
from tests.lengths import each_in_turns


def returns_one_number(entry: Entry) -> bool:
    args = entry.args(0)
    is_wide = not harness.is_narrow(entry) and not any(map(np.iscomplexobj, args.values()))
    return is_wide and isinstance(entry.function(*args.values()), float)


# Only rules of partials have derivatives of second order.
FIRST_ORDER = tuple(e for e in ruled.ENTRIES if e.name != "ruled_partials")
SCALAR = tuple(e for e in ENTRIES if returns_one_number(e) and e not in FIRST_ORDER)


# -- the joined sweeps, interpreted ------------------------------------------------------------------------
@cache
def joined(name: str, tape: TapePolicy = "auto") -> tuple[ir.LoopSet, Sweeps]:
    """The gradient of an entry as one program."""
    entry = BY_NAME[name]
    return join(lowered(entry), entry.wrt, sweeps_of(name, tape))


def join(ls: ir.LoopSet, wrt: tuple[str, ...], sweeps: Sweeps | None = None) -> tuple[ir.LoopSet, Sweeps]:
    sweeps = sweeps or build_sweeps(ls, wrt)
    gradient = build_gradient(ls, sweeps.forward, sweeps.reverse, sweeps.count_names, wrt)
    verify(gradient, "gradient")
    return gradient, sweeps


def with_counts(sweeps: Sweeps, args: Arguments) -> Arguments:
    """Arguments of the joined program: arrays of their own, and the integers that size tapes."""
    return {**copied(args), **count(sweeps, args)}


def copied(args: Arguments) -> Arguments:
    return {k: np.array(v) if isinstance(v, np.ndarray) else v for k, v in args.items()}


def tangent_of(ls: ir.LoopSet, names: tuple[str, ...]) -> ir.LoopSet:
    tangent = build_tangent(ls, names)
    verify(tangent, "tangent")
    return tangent


def pushed(ls: ir.LoopSet, given: Arguments, along: Arguments, tangent: ir.LoopSet | None = None) -> tuple[Any, ...]:
    """Tangents of the results of `ls` along `along`; `tangent`: what is derived for these names."""
    tangent = tangent or tangent_of(ls, tuple(along))
    inputs = dict(given)
    for primal, name in tail_names(tangent.params[len(ls.params) :], ls.params, "_tan").items():
        is_array = isinstance(given[primal], np.ndarray)
        inputs[name] = np.zeros(given[primal].shape) if is_array else 0.0
        if primal in along:
            inputs[name] = np.array(along[primal], float) if is_array else float(along[primal])
    return run(tangent, inputs)[len(ls.results) :]


def pulled(ls: ir.LoopSet, wrt: tuple[str, ...], given: Arguments, weights: tuple[Any, ...]) -> dict[str, Any]:
    """Gradients of the results of `ls`, weighted."""
    sweeps = build_sweeps(ls, wrt)
    state = allocated(sweeps, copied(given))
    run(sweeps.forward, state)
    inputs = dict(state)
    tail = sweeps.reverse.params[len(sweeps.forward.params) :]
    inputs |= dict(zip(tail, [np.array(w) if np.ndim(w) else w for w in weights], strict=False))
    buffers = tail_names(tail[len(weights) :], [p for p in ls.params if ls.has_array(p)], "_adj")
    inputs |= {buffer: np.zeros(given[n].shape) for n, buffer in buffers.items()}
    slopes = iter(run(sweeps.reverse, inputs))
    return {n: inputs[buffers[n]] if n in buffers else next(slopes) for n in wrt}


def by_name(entry: Entry, values: tuple[Any, ...]) -> harness.Values:
    return dict(zip(entry.wrt, map(np.asarray, values), strict=True))


def gradient_at(entry: Entry, args: Arguments, *, complex_step: bool = False) -> harness.Values:
    ls, sweeps = joined(entry.name)
    real = {k: np.real(v) if np.iscomplexobj(v) else v for k, v in args.items()}
    given = {**args, **count(sweeps, real)} if sweeps.count_names else args
    return by_name(entry, run(ls, given, complex_step=complex_step)[1:])


def differences(entry: Entry, along: harness.Values) -> harness.Values:
    """What the gradient changes by along `along`: a complex step, or fourth-order differences of it."""
    step = 1e-30 if entry.is_analytic else 1e-4

    def shifted(amount: complex) -> harness.Values:
        args = entry.args(0)
        if entry.is_analytic:
            floating = {k: v for k, v in args.items() if isinstance(v, np.ndarray) and v.dtype.kind == "f"}
            args |= {k: v.astype(complex) for k, v in floating.items()}
        for name, v in along.items():
            moved = args[name] + amount * v
            args[name] = np.asarray(moved) if isinstance(args[name], np.ndarray) else moved
        return gradient_at(entry, args, complex_step=entry.is_analytic)

    if entry.is_analytic:
        return {k: np.imag(v) / step for k, v in shifted(1j * step).items()}
    a, b, c, d = shifted(step), shifted(-step), shifted(2 * step), shifted(-2 * step)
    return {k: (8 * (a[k] - b[k]) - (c[k] - d[k])) / (12 * step) for k in a}


@pytest.mark.part(15)
@pytest.mark.parametrize("entry", SCALAR, ids=lambda e: e.name)
def test_forward_over_reverse(entry: Entry) -> None:
    """Hessian products equal differences of the gradient, and are symmetric: <u, H v> = <v, H u>."""
    ls, sweeps = joined(entry.name)
    v, u = (harness.direction(entry, entry.args(0), seed) for seed in (0, 1))
    tangent = tangent_of(ls, tuple(v))
    hv, hu = (by_name(entry, pushed(ls, with_counts(sweeps, entry.args(0)), d, tangent)[1:]) for d in (v, u))
    size = max(1.0, harness.magnitude(hv, u))
    assert abs(harness.inner(hv, u) - harness.inner(hu, v)) <= 1e-11 * size
    tolerance = 1e-10 if entry.is_analytic else 2e-8
    for name, expected in differences(entry, v).items():
        scale = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
        np.testing.assert_allclose(hv[name], expected, rtol=tolerance, atol=tolerance * scale, err_msg=name)


TAPES: tuple[TapePolicy, ...] = ("store", "recompute")


# The square root of a product with a factor that is zero: what the other factor gets of an adjoint that is zero and of
# the infinite slope that the gradient computes is NaN, as both are variables of the gradient.
NAN = ("truncated_variance",)


@pytest.mark.part(29)
@pytest.mark.parametrize(("entry", "tape"), each_in_turns(SCALAR, TAPES), ids=lambda p: getattr(p, "name", p))
def test_reverse_over_reverse(entry: Entry, tape: TapePolicy, request: pytest.FixtureRequest) -> None:
    """The same products by reverse mode over the gradient, from sweeps under each tape policy."""
    if entry.name in NAN:
        request.applymarker(pytest.mark.xfail(raises=AssertionError))
    ls, sweeps = joined(entry.name, tape)
    weight = harness.direction(entry, entry.args(0), 0)
    given = with_counts(sweeps, entry.args(0))
    forward = by_name(entry, pushed(ls, with_counts(sweeps, entry.args(0)), weight)[1:])
    found = pulled(without_value(ls), entry.wrt, given, tuple(weight.values()))
    for name, expected in forward.items():
        scale = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
        np.testing.assert_allclose(found[name], expected, rtol=1e-10, atol=1e-10 * scale, err_msg=name)


def test_arguments_that_the_reverse_sweep_works_in_stay() -> None:
    entry = BY_NAME["sine_recurrence"]
    ls, sweeps = lowered(entry), sweeps_of(entry.name)
    (name,) = entry.wrt
    wiping = ir.Loop(
        "w", integer(0), ir.Dim(name, 0), integer(1), (ir.Assign(ir.Access(name, (ir.Index("w"),)), zero(F64)),)
    )
    reverse = replace(sweeps.reverse, body=(*sweeps.reverse.body, wiping))
    disturbing = build_gradient(ls, sweeps.forward, reverse, (), entry.wrt)
    verify(disturbing, "gradient")
    given, expected = copied(entry.args(0)), copied(entry.args(0))
    found, right = run(disturbing, given)[1], run(joined(entry.name)[0], expected)[1]
    np.testing.assert_array_equal(given[name], expected[name])
    np.testing.assert_array_equal(found, right)


# -- compiled ----------------------------------------------------------------------------------------------
KERNELS = (
    "rde_matmul_log1p", "kmeans_cost", "over_zip", "largest_of_rows", "laplacian_energy", "product_in_loop",
    "read_then_overwrite", "rescaling_branch", "gather", "local_arrays",
)  # fmt: skip


@pytest.mark.part(5)
@pytest.mark.parametrize("entry", [BY_NAME[n] for n in KERNELS], ids=lambda e: e.name)
def test_compiled_products_agree_with_differences_and_jax(entry: Entry) -> None:
    along = harness.direction(entry, entry.args(0), 0)
    _, gradients, products = harness.decorated(entry.name).hvp(tuple(entry.args(0).values()), along)
    found = by_name(entry, products)
    at_point = gradient_at(entry, entry.args(0))
    expected = [(by_name(entry, gradients), at_point, 1e-11), (found, differences(entry, along), 2e-8)]
    if importlib.util.find_spec("jax") is not None:
        expected.append((found, jax_product(entry, along), 1e-9))
    for values, right, tolerance in expected:
        for name, value in right.items():
            scale = max(1.0, float(np.max(np.abs(value), initial=0.0)))
            np.testing.assert_allclose(values[name], value, rtol=tolerance, atol=tolerance * scale, err_msg=name)


def jax_product(entry: Entry, along: harness.Values) -> harness.Values:
    """Forward over reverse mode of the entry's twin in JAX."""
    import jax
    import jax.numpy as jnp

    args = entry.args(0)

    def loss(active: harness.Values) -> Any:
        return harness.oracle_outputs(entry, {k: active.get(k, v) for k, v in args.items()}, jnp)["result"]

    active = {k: jnp.asarray(args[k]) for k in entry.wrt}
    push = jax.jit(lambda v: jax.jvp(jax.grad(loss), (active,), (v,))[1])
    return {k: np.asarray(v) for k, v in push({k: jnp.asarray(v) for k, v in along.items()}).items()}


# -- where a derivative is zero by chance, or by convention --------------------------------------------------
def second(function: Any, *values: float) -> np.ndarray:
    """The Hessian of a function of numbers, interpreted."""
    names = function.__code__.co_varnames[: len(values)]
    given = dict(zip(names, values, strict=True))
    ls, sweeps = join(normal_form(function, given), names)
    rows = [pushed(ls, with_counts(sweeps, given), {**dict.fromkeys(names, 0.0), n: 1.0})[1:] for n in names]
    return np.array(rows, float)


def squared_error_of_logarithm(x):
    return (np.log(x) - 0.0) ** 2


def squared_quotient(x, y):
    return ((x - 1.0) / y) ** 2


def power_of_both(x, y):
    return x**y


def largest_of_three(x, y, z):
    m = x * x
    m = max(m, y * y)
    m = max(m, z * z)
    return (m - 4.0) ** 2


def clipped(x):
    return min(1.0, 1.0 / (x * x))


def branched_root(x):
    return np.sqrt(x) if x > 0.0 else 0.0


def absolute(x):
    return abs(x) * x


def linear(x, y):
    return x + 2.0 * y


def of_gamma(x):
    return math.lgamma(x)


@pytest.mark.parametrize(
    ("function", "point", "expected"),
    [
        # The adjoint of the logarithm is zero here, and its derivative is not.
        (squared_error_of_logarithm, (1.0,), [[2.0]]),
        (squared_quotient, (1.0, 2.0), [[0.5, 0.0], [0.0, 0.0]]),
        # The slope by the base is zero where the exponent is; its derivative by the exponent is 1 / x.
        (power_of_both, (2.0, 0.0), [[0.0, 0.5], [0.5, math.log(2.0) ** 2]]),
        # The adjoint of the maximum is zero; who attains it receives the second derivative.
        (largest_of_three, (1.0, 2.0, -1.0), [[0.0, 0.0, 0.0], [0.0, 32.0, 0.0], [0.0, 0.0, 0.0]]),
        # Values that are not taken contribute nothing, infinite slopes of slopes included.
        (clipped, (0.0,), [[0.0]]),
        (clipped, (1e-170,), [[0.0]]),
        (clipped, (2.0,), [[6.0 / 16.0]]),
        (branched_root, (0.0,), [[0.0]]),
        (absolute, (-3.0,), [[-2.0]]),
        # The seed itself is a gradient.
        (linear, (1.0, 2.0), [[0.0, 0.0], [0.0, 0.0]]),
        (of_gamma, (2.5,), [[0.49035775610023486]]),
    ],
    ids=lambda v: v.__name__ if callable(v) else None,
)
def test_second_derivatives_at_delicate_points(function: Any, point: tuple[float, ...], expected: Any) -> None:
    np.testing.assert_allclose(second(function, *point), expected, rtol=1e-13, atol=1e-13)


def test_a_wrong_rule_for_strong_products_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = TABLE[Op.STRONG_MUL]
    assert isinstance(rule, Rule)
    for position in range(2):

        def derive(terms, args, result, k=position):
            right = list(rule.derive(terms, args, result))
            right[k] = mul(terms.const(1.5), right[k])
            return tuple(right)

        monkeypatch.setitem(TABLE, Op.STRONG_MUL, replace(rule, derive=derive))
        assert not np.allclose(second(squared_quotient, 3.0, 2.0), [[0.5, -1.0], [-1.0, 1.5]])
    monkeypatch.delitem(TABLE, Op.STRONG_MUL)
    with pytest.raises(DifferentiationError, match="LD410"):
        second(squared_quotient, 3.0, 2.0)
