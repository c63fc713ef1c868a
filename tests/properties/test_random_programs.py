"""Random loop programs: what is parsed means what Python means, and both modes differentiate the same map."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, note, settings

from loopdiff import vectorize_grad
from loopdiff.ad.forward import build_tangent
from loopdiff.ad.reverse import build_sweeps
from loopdiff.frontend.bind import bind
from loopdiff.frontend.capture import argument_types
from loopdiff.frontend.parse import parse_function
from loopdiff.ir.interpret import run
from loopdiff.ir.nodes import LoopSet
from loopdiff.ir.walk import written_arrays
from loopdiff.source import source_of
from loopdiff.transform.normalize import normalize
from loopdiff.transform.simplify import simplify
from tests.gradients.interpreted import allocated
from tests.properties.programs import Program, programs

IS_LONG = bool(os.environ.get("LOOPDIFF_LONG_TESTS"))
WRT = ("x", "y", "A")


def examples(count: int) -> Any:
    return settings() if IS_LONG else settings(max_examples=count)


def front_end(program: Program) -> LoopSet:
    """The bound LoopSet of a program whose values stay moderate: no infinities, no huge cancelling terms."""
    note(program.text)
    args = program.args()
    with np.errstate(all="ignore"):
        value = program.function()(**args)
    assume(all(np.all(np.abs(v) < 1e6) for v in (value, *args.values())))
    return bind(parse_function(source_of(program.function())), argument_types(program.args()))


def same(got: Any, expected: Any) -> None:
    np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-11)


@examples(60)
@given(programs())
def test_every_level_of_the_ir_means_what_python_means(program: Program) -> None:
    expected = program.args()
    with np.errstate(all="ignore"):
        value = program.function()(**expected)
    bound = front_end(program)
    normal = normalize(bound)
    for ls in (bound, normal, simplify(normal)):
        args = program.args()
        (result,) = run(ls, args)
        same(result, value)
        for name in WRT:
            same(args[name], expected[name])


def tangents(program: Program, ls: LoopSet, along: dict[str, np.ndarray]) -> tuple[float, dict[str, np.ndarray]]:
    """Tangents of the result and of every array, by forward mode in the interpreter."""
    directions = {f"{k}_tan": v.copy() for k, v in along.items()}
    env: dict[str, Any] = {**program.args(), **directions}
    results = run(build_tangent(ls, WRT), env)
    return float(results[1]), {k: env[f"{k}_tan"] for k in WRT}


@examples(60)
@given(programs())
def test_reverse_mode_is_the_transpose_of_forward_mode(program: Program) -> None:
    ls = simplify(normalize(front_end(program)))
    rng = np.random.default_rng(1)
    along = {k: rng.standard_normal(v.shape) for k, v in program.args().items()}
    weight = {k: rng.standard_normal(v.shape) for k, v in program.args().items()}
    slope, pushed = tangents(program, ls, along)
    expected = 1.5 * slope + sum(float(np.sum(weight[k] * pushed[k])) for k in WRT)
    scale = abs(1.5 * slope) + sum(float(np.sum(np.abs(weight[k] * pushed[k]))) for k in WRT)
    for policy in ("auto", "store", "recompute"):
        sweeps = build_sweeps(ls, WRT, policy)
        env = allocated(sweeps, program.args())
        run(sweeps.forward, env)
        adjoints = {f"{k}_adj": weight[k].copy() for k in WRT}
        run(sweeps.reverse, {**env, "result_adj": 1.5, **adjoints})
        got = math.fsum(float(np.sum(adjoints[f"{k}_adj"] * along[k])) for k in WRT)
        bound = scale + sum(float(np.sum(np.abs(adjoints[f"{k}_adj"] * along[k]))) for k in WRT)
        assert abs(got - expected) <= 1e-11 * max(1.0, bound), policy


@examples(40)
@given(programs(depth=2))
def test_forward_mode_agrees_with_a_complex_step(program: Program) -> None:
    bound = front_end(program)
    rng = np.random.default_rng(2)
    along = {k: rng.standard_normal(v.shape) for k, v in program.args().items()}
    slope, pushed = tangents(program, simplify(normalize(bound)), along)
    stepped = {k: v + 1e-30j * along[k] for k, v in program.args().items()}
    (result,) = run(bound, stepped, complex_step=True)
    same(slope, np.imag(result) * 1e30)
    for name in WRT:
        same(pushed[name], np.imag(stepped[name]) * 1e30)


@pytest.mark.slow
@examples(6)
@given(programs(depth=2))
def test_compiled_functions_agree_with_the_interpreter(program: Program) -> None:
    note(program.text)
    f = vectorize_grad(wrt=WRT)(program.function())
    ls = simplify(normalize(front_end(program)))
    expected, args = program.args(), program.args()
    (value,) = run(ls, expected)
    result, pullback = f.vjp(**args)
    same(result, value)
    for name in WRT:
        same(args[name], expected[name])
    rng = np.random.default_rng(1)
    along = {k: rng.standard_normal(v.shape) for k, v in args.items()}
    written = sorted(written_arrays(ls.body) & set(WRT))
    weight = {k: rng.standard_normal(args[k].shape) for k in written}
    slope, pushed = tangents(program, ls, along)
    gradients = pullback(1.5, **weight)
    got = sum(float(np.sum(gradients._asdict()[k] * along[k])) for k in WRT)
    expected_product = 1.5 * slope + sum(float(np.sum(weight[k] * pushed[k])) for k in written)
    assert got == pytest.approx(expected_product, rel=1e-10, abs=1e-10)
