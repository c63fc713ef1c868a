"""`schedule=` for kernels: what is asked of loops is done, or refused, and means the same."""

from __future__ import annotations

import importlib.util
import inspect
import re
from typing import Any

import numpy as np
import pytest

from loopdiff import ArgumentError, ScheduleError, vectorize_grad
from tests.api.test_requests import layers
from tests.cuda.plain import emulating

pytestmark = [
    pytest.mark.part(3),
    pytest.mark.skipif(importlib.util.find_spec("numba_cuda") is None, reason="numba-cuda is not installed"),
]


def product(A, B, C):
    for m in range(A.shape[0]):
        for n in range(B.shape[1]):
            for k in range(A.shape[1]):
                C[m, n] += A[m, k] * B[k, n]


def rows(x, y):
    for i in range(x.shape[0]):
        s = 0.0
        for j in range(x.shape[1]):
            s += x[i, j]
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] / s


SECOND = f"j@{rows.__code__.co_firstlineno + 5}"


def heat(u, v, steps):
    for t in range(steps):  # noqa: B007 - the test names it
        for i in range(1, u.shape[0] - 1):
            v[i] = u[i - 1] * u[i + 1]
        for i in range(1, u.shape[0] - 1):
            u[i] = v[i]


def few(x):
    for t in range(50):  # noqa: B007 - the test names it
        for i in range(4):
            x[i] *= 1.01


def chosen(index, v, y):
    for p in range(v.shape[0]):
        for q in range(v.shape[1]):
            y[index[p]] += v[p, q]


WRITTEN = {product: ("C",), rows: ("y",), heat: ("u", "v"), few: ("x",), chosen: ("y",)}


def arguments(function: Any) -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    if function is product:
        return rng.random((5, 6)), rng.random((6, 7)), rng.random((5, 7))
    if function is rows:
        return rng.random((5, 40)), np.zeros((5, 40))
    if function is heat:
        return rng.random(9), np.zeros(9), 3
    if function is layers:
        return rng.random((5, 6)), rng.random((9, 6))
    if function is chosen:
        return rng.integers(0, 4, 6), rng.random((6, 3)), np.zeros(4)
    return (rng.random(4),)


def plan(function: Any, schedule: dict[str, str]) -> list[str]:
    """Lines about the forward sweep, under that schedule."""
    f = vectorize_grad(target="cuda-emulated", schedule={"forward": schedule})(function)
    text = f.compile(*arguments(function)).explain(measure=False)
    lines = text.split("reverse sweep")[0].splitlines()[2:]
    return [re.sub(r" \(line \d+\)", "", line.strip()) for line in lines]


GRANTED: list[tuple[Any, dict[str, str], tuple[str, ...], tuple[str, ...]]] = [
    (product, {"m": "plain"}, ("for m, n: a thread each; `k` inside each",), ("part", "together")),
    (product, {"k": "sequential"}, ("for m, n: a thread each; `k` inside each; 4 x 2",), ("part",)),
    (product, {"n": "sequential"}, ("for m: a thread each; `n`, `k` inside each",), ("warp",)),
    (product, {"m": "sequential"}, ("for m: on the host: that was requested",), ("m, n",)),
    (product, {"k": "warp"}, ("m, n: a warp each; its lanes go through `k` side by side",), ("16 iterations",)),
    (rows, {"j": "warp"}, ("for i: a warp each; its lanes go through `j`, `j` side by side",), ("if",)),
    (rows, {SECOND: "warp"}, ("for i: a warp each; its lanes go through `j` side by side",), ("if",)),
    (rows, {"i": "plain"}, ("for i: a thread each; `j`, `j` inside each",), ("warp",)),
    (rows, {"j": "sequential"}, ("for i: a thread each; `j`, `j` inside each",), ("warp",)),
    (rows, {"i": "sequential", "j": "threads"}, ("for j: a thread each", "`s` summed over blocks"), ()),
    (few, {"i": "threads"}, ("for i: a thread each",), ("for t: on one thread",)),
    (layers, {"r": "no rows"}, ("for r: a thread each",), ("r_block",)),
    (layers, {"r": "rows=4"}, ("for r_block: on the host: it goes by blocks of rows",), ()),
]


@pytest.mark.part(2)
@pytest.mark.parametrize(("function", "schedule", "there", "missing"), GRANTED)
def test_requests_that_are_followed(
    function: Any, schedule: dict[str, str], there: tuple[str, ...], missing: tuple[str, ...]
) -> None:  # fmt: skip
    text = "\n".join(plan(function, schedule))
    assert all(part in text for part in there), text
    assert not any(part in text for part in missing), text


@pytest.mark.parametrize(("function", "schedule"), [(f, s) for f, s, _, _ in GRANTED])
def test_requests_change_no_result(function: Any, schedule: dict[str, str]) -> None:
    asked = {sweep: schedule for sweep in ("primal", "forward")}
    with emulating():
        f, plain = vectorize_grad(schedule=asked, target="cuda-emulated")(function), vectorize_grad(function)
        found, expected = (g.vjp(*arguments(function)) for g in (f, plain))
        given = arguments(function)
        values = [g(*given) for g in (f, plain)]
    if values[0] is not None:
        assert values[0] == pytest.approx(values[1], rel=1e-13)
    pullbacks = found[1], expected[1]
    names = inspect.signature(function).parameters
    weights = {
        n: np.cos(np.arange(a.size)).reshape(a.shape)
        for n, a in zip(names, given, strict=True)
        if n in WRITTEN.get(function, ())
    }
    one, other = (p(**weights) if weights else p(1.0) for p in pullbacks)
    for got, wanted in zip(one, other, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-14)


REFUSED: list[tuple[Any, dict[str, str], str, str]] = [
    (heat, {"t": "threads"}, "LD501", "`t` cannot be threads: its iterations depend on each other through `u`"),
    (product, {"k": "threads"}, "LD503", "`k` cannot be threads: its iterations add to the same elements of `C`"),
    (
        rows,
        {SECOND: "threads"},
        "LD503",
        "`j` cannot be threads: it is inside of `i`, whose threads do something else, too, unless that is 'sequential'",
    ),
    (rows, {"i": "warp"}, "LD503", "`i` cannot be shared by the lanes of a warp: it is not inside of threads"),
    (
        chosen,
        {"q": "warp"},
        "LD503",
        "`q` cannot be shared by the lanes of a warp: threads of `p` list updates, check something, or have arrays of "
        "their own",
    ),
    (product, {"q": "threads"}, "LD502", "the forward sweep has no loop `q`"),
    (rows, {"i": "rows=8"}, "LD503", "`i` cannot run in blocks of rows"),
]


@pytest.mark.parametrize(("function", "schedule", "code", "message"), REFUSED)
def test_requests_that_cannot_be_granted(function: Any, schedule: dict[str, str], code: str, message: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        plan(function, schedule)
    assert caught.value.codes == (code,)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("target", "wish"), [("cuda", "vector"), ("cuda", "tile"), ("cpu", "threads"), ("cpu", "warp")]
)
def test_wishes_for_another_target(target: Any, wish: str) -> None:
    with pytest.raises(ArgumentError, match=f"LD309: `schedule` wishes '{wish}' for `i`, and `target` is '{target}'"):
        vectorize_grad(schedule={"forward": {"i": wish}}, target=target)(few)
