"""`schedule=`: what is asked of loops is done, or refused (reports: `tests/errors/calls`), and means the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from loopdiff import ScheduleError, vectorize_grad
from loopdiff.settings.requests import Request, Requests, requests_of
from tests.gradients.interpreted import interpreting


def weighted(A, x, y):
    t = 0.0
    for i in range(A.shape[0]):
        s = 0.0
        for j in range(A.shape[1]):
            s += A[i, j] * x[j]
        y[i] = np.tanh(s)
        t += y[i] * y[i]
    return t


def layers(W, x):
    h = np.empty(W.shape[0])
    t = 0.0
    for r in range(x.shape[0]):
        for a in range(W.shape[0]):
            s = 0.0
            for i in range(W.shape[1]):
                s += W[a, i] * x[r, i]
            h[a] = np.tanh(s)
        for a in range(W.shape[0]):
            t += h[a] * h[a]
    return t


def arguments() -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    return rng.random((11, 13)), rng.random(13), np.zeros(11)


def explained(function: Any, args: tuple[Any, ...], **schedule: dict[str, str]) -> str:
    f = vectorize_grad(schedule=schedule)(function)
    return f.compile(*args).explain(measure=False)


def test_requests_are_followed_and_change_no_result() -> None:
    args = arguments()
    asked = {"forward": {"i": "vector"}, "reverse": {"j": "vector"}, "primal": {"j": "scalar", "i": "scalar"}}
    f, plain = vectorize_grad(schedule=asked)(weighted), vectorize_grad(weighted)
    value, gradient = f.value_and_grad(*args)
    expected, known = plain.value_and_grad(*args)
    assert value == pytest.approx(expected, rel=1e-14)
    assert f(*args) == pytest.approx(expected, rel=1e-14)
    for got, wanted in zip(gradient, known, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-12)
    forward, reverse = f.compile(*args).explain(measure=False).split("reverse sweep")
    assert "for i (line 17): vectorised" in forward
    assert "for j" not in forward
    assert "scalar: what is inside it was requested" in reverse
    assert "register tile" not in reverse
    assert "register tile" in plain.compile(*args).explain(measure=False)


def test_rows_in_blocks_of_another_size_or_in_none() -> None:
    """The sweeps' own arrays of a block say how large it is."""
    args = (np.ones((5, 6)), np.ones((9, 6)))
    with interpreting():
        kernels = {
            size: vectorize_grad(schedule={s: {"r": size} for s in ("forward", "reverse")})(layers)
            for size in ("rows=16", "no rows")
        }
        sizes = {size: str(f.compile(*args).ir("forward")) for size, f in kernels.items()}
        gradients = [f.grad(*args) for f in (*kernels.values(), vectorize_grad(layers))]
    assert "extents (16, W.shape[0])" in sizes["rows=16"]
    assert "_rows" not in sizes["no rows"]
    for found in gradients[1:]:
        np.testing.assert_allclose(found.W, gradients[0].W, rtol=1e-12)


def test_a_line_tells_loops_with_one_name_apart() -> None:
    asked = Requests(requests_of({"forward": {"i": "scalar", "i@7": "vector"}}), frozenset("i"))
    assert asked.wish("i_2", 7) == "vector"
    assert asked.wish("i_2", 8) == "scalar"
    assert asked.wish("j", 7) is None
    own = Requests(requests_of({"forward": {"i_1": "scalar"}}), frozenset(("i", "i_1")))
    assert own.wish("i_1", 3) == "scalar"
    assert own.wish("i_2", 3) is None


def test_requests_are_read_once_and_kept_in_the_key() -> None:
    asked = vectorize_grad(schedule={"forward": {"i@3": "rows=32", "j": "no rows"}})(weighted)
    assert asked.options.schedule == (Request("forward", "i", 3, "rows", 32), Request("forward", "j", 0, "rows", 0))
    assert asked.options.key != vectorize_grad(weighted).options.key


def test_other_sweeps_are_not_concerned() -> None:
    """What is refused is so when its sweep is generated, and not before."""
    f = vectorize_grad(schedule={"tangent": {"nobody": "vector"}})(weighted)
    args = arguments()
    assert f(*args) == pytest.approx(vectorize_grad(weighted)(*args))
    with pytest.raises(ScheduleError, match="LD502"):
        f.jvp(args, {"x": np.ones(13)})
