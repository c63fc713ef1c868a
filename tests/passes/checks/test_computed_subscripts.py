"""Places that floating arithmetic decides: worked out once where that may be, with the same results and refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from loopdiff.analysis.bounds import unchecked_accesses
from loopdiff.analysis.polyhedral.model import build_model
from loopdiff.errors import ArgumentError, InternalError
from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import run
from loopdiff.ir.verify import verify
from loopdiff.passes.checks.bounds_checks import add_checks
from loopdiff.passes.checks.computed_subscripts import keep_place
from loopdiff.passes.checks.screening import screen
from tests.ad.interpreted import copied, lower


def histogram(r, x, out):
    top = r[0]
    for i in range(1, r.shape[0]):
        top = max(top, r[i])
    for b in range(out.shape[0]):
        out[b] = 0.0
    for i in range(r.shape[0]):
        b = int(r[i] / top * out.shape[0])
        if b > out.shape[0] - 1:
            b = out.shape[0] - 1
        out[b] += x[i]


def interpolated(r, x, out):
    for i in range(1, r.shape[0]):
        k = int(4.0 * r[i] + 0.1)
        w = 4.0 * r[i] - k
        out[i] += (1.0 - w) * x[k] + w * x[k + 1]


def rounded_once(r, x, out):
    for i in range(1, r.shape[0]):
        k = int(4.0 * r[i])
        out[k] += x[i]


def of_pairs(r, x, out):
    for i in range(1, r.shape[0]):
        scale = 2.0 * r[i] + 1.0
        for j in range(2, x.shape[0]):
            k = int(scale * r[i - 1] + 0.1 * j)
            for m in range(2):
                if k > m:
                    out[k - m] += x[j]
        out[0] += scale


def of_rows(r, x, out):
    for i in range(1, r.shape[0]):
        scale = 2.0 * r[i, 0] + 1.0
        for j in range(2, r.shape[1]):
            k = int(scale * r[i, j] + 0.1 * j)
            for m in range(2):
                if k > m:
                    out[k - m] += x[j]
        out[0] += scale


def decided_once(r, x, out):
    for i in range(r.shape[0]):
        if r[i] * r[i] + 0.25 * r[i] > 0.3:
            k = 2 * i
            is_large = True
        else:
            k = i
            is_large = False
        if is_large:
            out[k] += x[i]


def of_triangles(r, x, out):
    for i in range(r.shape[0]):
        for j in range(i):
            k = int(r[i] * r[j] + r[i])
            out[k] += x[j]


def fading(r, x, out):
    s = 0.0
    for i in range(r.shape[0]):
        s = s + r[i]
        k = int(s * 0.7)
        out[k] += x[i]
        s = s * 0.5


def fading_in_rows(r, x, out):
    s = 0.0
    for i in range(r.shape[0]):
        for j in range(3):
            s = s + 0.5 * r[i]
            k = int(s * 0.7)
            out[k] += x[j]
        s = s * 0.5


def carried(r, x, out):
    k = 0
    for i in range(r.shape[0]):
        k = k + int(2.0 * r[i] + 0.2)
        out[k] += x[i]


def by_what_it_writes(r, x, out):
    for i in range(r.shape[0]):
        k = int(2.0 * r[i])
        r[k] = 0.5 * x[i]


def early(r, x, out):
    for i in range(r.shape[0]):
        k = int(3.0 * r[i])
        if k > 7:
            break
        out[k] += x[i]


def exact(r, x, out):
    for i in range(r.shape[0]):
        k = 2 * i // 3
        out[k * k % 5] += x[i]


CASES: list[tuple[Callable[..., Any], bool]] = [
    (histogram, True), (interpolated, True), (carried, True), (of_rows, True), (of_pairs, False), (decided_once, False),
    (rounded_once, False), (of_triangles, False), (fading, False), (fading_in_rows, False),
    (by_what_it_writes, False), (early, False), (exact, False),
]  # fmt: skip


def kept(ls: ir.LoopSet) -> bool:
    model = build_model(ls)
    return keep_place(model.ls, list(unchecked_accesses(model))) is not None


@pytest.mark.part(3)
@pytest.mark.parametrize(("function", "is_kept"), CASES)
@pytest.mark.parametrize("worst", [1.0, 50.0, -50.0])
def test_same_as_in_place(function: Callable[..., Any], is_kept: bool, worst: float):
    r = np.array([0.5, 0.1, 0.9, 0.3, 1.0, 0.7])
    r[4] = worst
    if function is of_rows:
        r = np.outer(r, np.linspace(0.5, 1.5, 9))
    args = {"r": r, "x": np.arange(1.0, 10.0), "out": np.ones(9)}
    ls = lower(function, args)
    assert kept(ls) == is_kept
    checked = add_checks(ls)
    verify(checked, "checked")
    plain, found = copied(args), copied(args)
    with np.errstate(all="ignore"):
        try:
            run(ls, plain)
        except (InternalError, ArgumentError):
            with pytest.raises(ArgumentError) as caught:
                run(screen(checked), found)
            assert "places[" not in str(caught.value)
            return
        run(screen(checked), found)
    for name, value in plain.items():
        np.testing.assert_array_equal(value, found[name])
