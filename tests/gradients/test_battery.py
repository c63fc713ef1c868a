"""The gradient battery: every entry of the corpus against independent statements of value and derivative."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from tests.corpus import BY_NAME, ENTRIES, SUITE, Entry, as_float32
from tests.gradients import harness
from tests.lengths import IS_LONG, each_in_turns

needs_jax = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="jax is not installed")


def each(entries: tuple[Entry, ...]) -> list:
    """Parameters that go by the name of the entry."""
    return [pytest.param(e, id=e.name) for e in entries]


def with_seeds(entries: tuple[Entry, ...]) -> list:
    """Parameters with data of one of two seeds each, by turns."""
    return [pytest.param(entry, seed, id=f"{entry.name}-{seed}") for entry, seed in each_in_turns(entries, (0, 1))]


def assert_close(got: dict, expected: dict, rtol: float, scale: float = 1.0) -> None:
    """Every array of `expected`, with `rtol` relative to the array's largest entry (at least `scale`)."""
    for name, value in expected.items():
        size = max(scale, float(np.max(np.abs(value), initial=0.0)))
        np.testing.assert_allclose(got[name], value, rtol=rtol, atol=rtol * size, err_msg=name)


RUNS = {"primal": harness.run_decorated, "forward": harness.run_forward_sweep}
WAYS = [(kind, seed) for seed in (0, 1) for kind in RUNS]
OF_SUITE = [(entry.name, (kind, 0)) for entry in SUITE for kind in RUNS]


@pytest.mark.part(23)
@pytest.mark.parametrize(("name", "way"), dict.fromkeys([*each_in_turns((*BY_NAME,), WAYS), *OF_SUITE]), ids=str)
def test_values_equal_plain_python(name: str, way: tuple[str, int]) -> None:
    entry, run, seed = BY_NAME[name], RUNS[way[0]], way[1]
    args, reference = entry.args(seed), entry.args(seed)
    expected = harness.run_python(entry, reference)
    found = run(entry, args)
    assert list(found) == list(expected)
    assert_close(found, expected, 1e-5 if harness.is_narrow(entry) else 1e-11)
    untouched = [k for k in args if k not in entry.outputs]
    for name in untouched:
        np.testing.assert_array_equal(args[name], entry.args(seed)[name], err_msg=f"{name} was changed")


@pytest.mark.part(29)
@pytest.mark.parametrize(("entry", "seed"), with_seeds(ENTRIES))
def test_reverse_is_the_transpose_of_the_tangent(entry: Entry, seed: int) -> None:
    along = harness.direction(entry, entry.args(seed), seed)
    tangents = harness.push_forward(entry, entry.args(seed), along)
    weight = harness.weights(tangents, seed)
    gradients = harness.pull_back(entry, entry.args(seed), weight)
    scale = max(1.0, harness.magnitude(tangents, weight), harness.magnitude(gradients, along))
    has_float32 = harness.is_narrow(entry)
    tolerance = 1e-5 if has_float32 else 1e-12
    assert abs(harness.inner(tangents, weight) - harness.inner(gradients, along)) <= tolerance * scale


@pytest.mark.part(21)
@pytest.mark.parametrize("entry", each(tuple(e for e in ENTRIES if IS_LONG or not (e.is_twin or e.is_analytic))))
def test_tangent_agrees_with_differences(entry: Entry) -> None:
    """Of entries for which nothing better is there: JAX, or a complex step."""
    along = harness.direction(entry, entry.args(0), 0)
    has_float32 = harness.is_narrow(entry)
    expected = harness.difference(entry, 0, along, step=1e-2 if has_float32 else 1e-4)
    assert_close(harness.push_forward(entry, entry.args(0), along), expected, 1e-3 if has_float32 else 2e-8)


@pytest.mark.part(21)
@pytest.mark.parametrize("entry", each(tuple(e for e in ENTRIES if e.is_analytic)))
def test_tangent_agrees_with_a_complex_step(entry: Entry) -> None:
    along = harness.direction(entry, entry.args(1), 1)
    expected = harness.complex_step(entry, 1, along)
    assert_close(harness.push_forward(entry, entry.args(1), along), expected, 1e-11)


@pytest.mark.part(17)
@needs_jax
@pytest.mark.parametrize(("entry", "seed"), with_seeds(tuple(e for e in ENTRIES if e.is_twin)))
def test_gradient_agrees_with_jax(entry: Entry, seed: int) -> None:
    args = entry.args(seed)
    outputs = harness.outputs_of(entry, entry.function(*args.values()), args)
    weight = harness.weights(outputs, seed)
    expected = harness.jax_gradient(entry, seed, weight)
    assert all(v.dtype in (np.float64, np.complex128) for v in expected.values())
    assert_close(harness.pull_back(entry, entry.args(seed), weight), expected, 1e-8, scale=1e-8)


@pytest.mark.part(7)
@pytest.mark.parametrize("entry", each(SUITE))
def test_suite_in_float32(entry: Entry) -> None:
    args, wide = as_float32(entry.args(0)), entry.args(0)
    expected = harness.run_python(entry, wide)
    found = harness.run_decorated(entry, args)
    assert_close(found, expected, 1e-4)
