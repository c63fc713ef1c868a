"""Row blocks: the same gradients as without them, in blocks of two rows; which loops get them and which must not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.ad.reverse import Sweeps
from loopdiff.analysis.polyhedral.events import Event
from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import run
from loopdiff.ir.verify import verify
from loopdiff.ir.walk import Path
from loopdiff.schedule.blocks.row_blocks import Blocker
from loopdiff.schedule.blocks.sweeps import block_primal, block_sweeps
from tests.corpus import BY_NAME, ENTRIES
from tests.gradients import harness
from tests.gradients.interpreted import interpreting, lowered, normal_form, sweeps_of
from tests.gradients.test_tape_plans import forward_and_reverse

BLOCKED = ("attention", "mlp_rows")


def in_rows(sweeps: Sweeps) -> Sweeps:
    forward, reverse, _ = block_sweeps(sweeps.forward, sweeps.reverse, 2)
    return replace(sweeps, forward=forward, reverse=reverse)


@pytest.mark.parametrize("policy", ["auto", "store", "recompute"])
@pytest.mark.parametrize("name", BLOCKED)
def test_gradients_are_the_same(name: str, policy: Any) -> None:
    entry = BY_NAME[name]
    ls = lowered(entry)
    plain = sweeps_of(name, policy)
    blocked = in_rows(plain)
    assert "_block" in str(blocked.forward.body)
    assert policy == "recompute" or "_block" in str(blocked.reverse.body)
    results = run(ls, entry.args(0))
    values = harness.named_results(results if ls.returns_tuple else next(iter(results), None))
    written = {k: v for k, v in entry.args(0).items() if k in entry.outputs}
    weight = harness.weights({k: np.asarray(v) for k, v in (values | written).items()}, 0)
    expected = forward_and_reverse(entry, ls, plain, weight)
    for key, found in forward_and_reverse(entry, ls, blocked, weight).items():
        np.testing.assert_allclose(found, expected[key], rtol=1e-10, atol=1e-13, err_msg=key)


@pytest.mark.part(9)
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.name)
def test_primals_are_the_same(entry: Any) -> None:
    ls = lowered(entry)
    found = block_primal(ls, 2)
    if found is ls:
        return
    verify(found, "rows")
    first, second = entry.args(0), entry.args(0)
    for a, b in zip(run(ls, first), run(found, second), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-12)
    for name, value in first.items():
        np.testing.assert_allclose(second[name], value, rtol=1e-12, err_msg=name)


def rows_of(function: Callable[..., Any], **args: Any) -> tuple[ir.LoopSet, ir.LoopSet]:
    ls = normal_form(function, args)
    return ls, block_primal(ls, 2)


def carried_buffer(W, x, y):
    h = np.zeros(W.shape[0])
    for r in range(x.shape[0]):
        for a in range(W.shape[0]):
            s = 0.0
            for i in range(W.shape[1]):
                s += W[a, i] * x[r, i]
            h[a] = 0.5 * h[a] + s
        for a in range(W.shape[0]):
            y[r, a] = h[a]


def own_buffer(W, x, y):
    h = np.zeros(W.shape[0])
    for r in range(x.shape[0]):
        for a in range(W.shape[0]):
            s = 0.0
            for i in range(W.shape[1]):
                s += W[a, i] * x[r, i]
            h[a] = 0.5 * s
        for a in range(W.shape[0]):
            y[r, a] = h[a]


def weights_written(W, x, y):
    h = np.zeros(W.shape[0])
    for r in range(x.shape[0]):
        for a in range(W.shape[0]):
            s = 0.0
            for i in range(W.shape[1]):
                s += W[a, i] * x[r, i]
            h[a] = s
        for a in range(W.shape[0]):
            W[a, 0] = h[a]


def made(seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return dict(W=rng.random((3, 4)), x=rng.random((5, 4)), y=np.zeros((5, 3)))


def test_a_buffer_of_each_row_is_expanded() -> None:
    ls, found = rows_of(own_buffer, **made())
    assert found is not ls
    assert {a.name for a in found.arrays} - {a.name for a in ls.arrays} == {"h_rows", "s_rows"}


@pytest.mark.parametrize("function", [carried_buffer, weights_written])
def test_rows_that_depend_on_each_other_stay(function: Callable[..., Any]) -> None:
    ls, found = rows_of(function, **made())
    assert found is ls


def weighted_sum(z, h, t):
    for n in range(h.shape[0]):
        for i in range(t.shape[0]):
            for j in range(t.shape[1]):
                t[i, j] += np.exp(z[n]) * h[n, i, j]


def test_rows_with_an_element_for_each_product_stay() -> None:
    """A block of them would read as much, and be no product of matrices."""
    args = {"z": np.ones(3), "h": np.ones((3, 4, 5)), "t": np.ones((4, 5))}
    k = vectorize_grad(weighted_sum).compile(*args.values())
    assert "_block" not in k.source("reverse")
    _, pullback = vectorize_grad(weighted_sum).vjp(*(a.copy() for a in args.values()))
    found = pullback(t=args["t"])
    np.testing.assert_allclose(found.z, np.full(3, 20.0 * np.e), rtol=1e-14)
    np.testing.assert_allclose(found.h, np.full((3, 4, 5), np.e), rtol=1e-14)


def narrower(x, w):
    t = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[0] - 2):
            s = 0.0
            for k in range(x.shape[1]):
                s += x[i, k] * w[k, j]
            t += s * s
    return t


@pytest.mark.parametrize("rows", [0, 1])
def test_buffers_of_loops_that_do_not_run_are_empty(rows: int) -> None:
    x, w = np.ones((rows, 3)), np.ones((4, 2))
    with interpreting():
        value, gradients = vectorize_grad(cache=False)(narrower).value_and_grad(x, w)
    assert value == 0.0
    assert [g.shape for g in gradients] == [x.shape, w.shape]
    assert not any(g.any() for g in gradients)


def covariance(data, m, count):
    out = np.zeros((m, m))
    for i in range(m):
        out[i:m, i] = out[i, i:m] = data[:, i] @ data[:, i:m] / count
    return out


def covariance_of_numbers(data, m, count):
    out = np.zeros((m, m))
    for i in range(m):
        for j in range(i, m):
            s = 0.0
            for k in range(data.shape[0]):
                s += data[k, i] * data[k, j]
            out[i, j] = s / count
            out[j, i] = s / count
    return out


TRIANGLES = (covariance, covariance_of_numbers)


@pytest.mark.parametrize("m", [0, 1, 2, 5])
@pytest.mark.parametrize("function", TRIANGLES)
def test_loops_over_triangles_have_rows(function: Callable[..., Any], m: int) -> None:
    data = np.random.default_rng(m).standard_normal((3, m + 1))
    ls, found = rows_of(function, data=data, m=m, count=4.0)
    assert found is not ls
    verify(found, "rows")
    (out,) = run(found, dict(data=data, m=m, count=4.0))
    np.testing.assert_allclose(out, data[:, :m].T @ data[:, :m] / 4.0, rtol=1e-13, atol=1e-15)


def test_triangles_are_products_of_matrices() -> None:
    """With the gradients that the product of matrices has: of W x D'D, D (W + W')."""
    rng = np.random.default_rng(3)
    data, weights = rng.standard_normal((9, 75)), rng.standard_normal((75, 75))
    f = vectorize_grad(wrt=("data",), cache=False)(covariance)
    value, pullback = f.vjp(data, 75, 8.0)
    np.testing.assert_allclose(value, data.T @ data / 8.0, rtol=1e-12, atol=1e-14)
    (slope,) = pullback(weights)
    np.testing.assert_allclose(slope, data @ (weights + weights.T) / 8.0, rtol=1e-12, atol=1e-12)
    for way in ("forward", "reverse"):
        assert "multiply(" in f.compile(data, 75, 8.0).source(way)


def made_anew(W, x, y):
    for t in range(2):
        if x[t, 0] < 0.0:
            break
        for r in range(x.shape[0]):
            h = np.full(W.shape[0], 0.5)
            for a in range(W.shape[0]):
                for i in range(W.shape[1]):
                    h[a] += W[a, i] * x[r, i]
            for a in range(W.shape[0]):
                y[r, a] += h[a] * h[a]


def test_arrays_that_rows_make_begin_as_they_did() -> None:
    """Also where the loop around them has to stay."""
    args, expected = made(), made()
    _, found = rows_of(made_anew, **args)
    assert any(a.name == "h_rows" for a in found.arrays)
    verify(found, "rows")
    made_anew(**expected)
    run(found, args)
    np.testing.assert_allclose(args["y"], expected["y"], rtol=1e-13)


def many_rows(W, x, y):
    h = np.zeros(W.shape[0])
    for r in range(x.shape[0]):
        for a in range(W.shape[0]):
            s = 0.0
            for i in range(W.shape[1]):
                s += W[a, i] * x[r, i]
            h[a] = s
        for a in range(W.shape[0]):
            s = 0.0
            for i in range(W.shape[1]):
                s += W[a, i] * h[i]
            y[r, a] = s
        for a in range(W.shape[0]):
            s = 0.0
            for i in range(W.shape[1]):
                s += W[a, i] * y[r, i]
            h[a] = s
        for a in range(W.shape[0]):
            y[r, a] += h[a]


def test_accesses_of_a_piece_are_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not again for every other piece that it may stand after."""
    asked: list[frozenset[Path]] = []

    def counted(self: Blocker, paths: frozenset[Path]) -> list[Event]:
        asked.append(paths)
        return events_at(self, paths)

    events_at = Blocker.events_at
    monkeypatch.setattr(Blocker, "events_at", counted)
    _, found = rows_of(many_rows, W=np.ones((3, 3)), x=np.ones((4, 3)), y=np.ones((4, 3)))
    assert "_block" in str(found.body)
    assert len(asked) == len(set(asked)) > 3
