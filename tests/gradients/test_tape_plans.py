"""Tape plans agree: auto and, by turns, store or recompute give the same gradients, the adjoint of the tangent.

Sweeps run in the interpreter on poisoned workspaces, so a plan that reads a value it never kept is noticed
even where the compiled code would find the right number by chance.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.ad.forward import build_tangent
from loopdiff.ad.reverse import Sweeps
from loopdiff.ir import nodes as ir
from loopdiff.ir.interpret import run
from loopdiff.settings.options import TapePolicy
from tests.corpus import ENTRIES, Arguments, Entry
from tests.gradients import harness
from tests.gradients.interpreted import allocated, in_real_parts, lowered, sweeps_of
from tests.lengths import IS_LONG, in_turns

OTHERS: tuple[TapePolicy, ...] = ("store", "recompute")


def forward_and_reverse(entry: Entry, ls: ir.LoopSet, sweeps: Sweeps, weight: harness.Values) -> harness.Values:
    """Gradients by both sweeps; buffers that the reverse sweep starts itself hold NaN before it."""
    args = allocated(sweeps, entry.args(0))
    results = run(sweeps.forward, args)
    named = harness.named_results(results if ls.returns_tuple else next(iter(results), None))
    for seed, (key, value) in zip(seed_names(ls), named.items(), strict=True):
        if harness.is_floating(value):
            args[seed] = np.array(weight[key], np.asarray(value).dtype)[()]
    fresh = entry.args(0)
    for name in sweeps.reverse.params:
        if name not in args:
            source = fresh[name.removesuffix("_adj")]
            is_started = sweeps.reverse.array(name).extents is not None
            empty = np.full(np.shape(source), np.nan if is_started else 0.0)
            start = empty if is_started else weight.get(name.removesuffix("_adj"), empty)
            args[name] = np.array(start, np.asarray(source).dtype)
    scalars = iter(run(sweeps.reverse, args))
    arrays = {k for k in entry.wrt if isinstance(fresh[k], np.ndarray)}
    return {k: args[f"{k}_adj"] if k in arrays else next(scalars) for k in entry.wrt}


def seed_names(ls: ir.LoopSet) -> list[str]:
    """The seed parameter of each result; an array that is returned again has one more."""
    out: list[str] = []
    for k, result in enumerate(ls.results):
        match result:
            case ir.ArrayResult(array=array):
                again = out.count(f"{array}_adj")
                out.append(f"{array}_adj_{again}" if again else f"{array}_adj")
            case _:
                out.append(f"result_adj_{k}" if ls.returns_tuple else "result_adj")
    return out


def tangents(entry: Entry, ls: ir.LoopSet, along: harness.Values) -> harness.Values:
    """Tangents of the floating outputs, by forward mode in the interpreter."""
    args: Arguments = entry.args(0)
    tangent = build_tangent(ls, entry.wrt)
    for name in tangent.params:
        if name not in args:
            base = name.removesuffix("_tan")
            value = args[base]
            start = along.get(base, np.zeros(np.shape(value)))
            args[name] = np.array(start, value.dtype) if isinstance(value, np.ndarray) else float(start)
    slopes = iter(run(tangent, args)[len(ls.results) :])
    primal = run(ls, entry.args(0))
    named = harness.named_results(primal if ls.returns_tuple else next(iter(primal), None))
    found = {k: next(slopes) for k, v in named.items() if harness.is_floating(v)}
    return found | {k: args[f"{k}_tan"] for k in entry.outputs if harness.is_floating(args[k])}


# The battery has all entries under `auto`. What two plans give is compared in a long run; here, each with the tangents.
@pytest.mark.part(17)
@pytest.mark.parametrize(("number", "entry"), list(enumerate(ENTRIES)), ids=lambda p: getattr(p, "name", None))
def test_tape_plans_agree(number: int, entry: Entry) -> None:
    entry = in_real_parts(entry)
    ls = lowered(entry)
    along = harness.direction(entry, entry.args(0), 0)
    pushed = tangents(entry, ls, along)
    weight = harness.weights({k: np.asarray(v) for k, v in pushed.items()}, 0)
    has_float32 = harness.is_narrow(entry)
    first: harness.Values | None = None
    for policy in in_turns(("auto", *OTHERS) if IS_LONG else OTHERS, number):
        gradients = forward_and_reverse(entry, ls, sweeps_of(entry.name, policy), weight)
        scale = max(1.0, harness.magnitude(pushed, weight), harness.magnitude(gradients, along))
        gap = harness.inner(pushed, weight) - harness.inner(gradients, along)
        assert abs(gap) <= (1e-5 if has_float32 else 1e-12) * scale, policy
        if first is None:
            first = gradients
        for name, value in gradients.items():
            size = float(np.max(np.abs(first[name]), initial=1.0))
            bound = (1e-5 if has_float32 else 1e-12) * size
            np.testing.assert_allclose(value, first[name], rtol=0, atol=bound, err_msg=f"{policy} {name}")


def bytes_kept(sweeps: Sweeps, args: Arguments) -> int:
    """Bytes of the temporaries between the sweeps."""
    held = allocated(sweeps, args)
    return sum(held[t.name].nbytes for t in sweeps.temporaries if t.name in held)


LINEAR = ("jacobi_2d", "seidel_2d", "fdtd_2d", "return_array")


@pytest.mark.parametrize("entry", [e for e in ENTRIES if e.name in LINEAR], ids=lambda e: e.name)
def test_linear_loops_keep_nothing(entry: Entry) -> None:
    assert sweeps_of(entry.name).temporaries == ()


def test_headline_recomputes_nothing_it_still_has() -> None:
    entry = next(e for e in ENTRIES if e.name == "matmul_loss")
    auto, stored = (sweeps_of(entry.name, p) for p in ("auto", "store"))
    assert bytes_kept(auto, entry.args(0)) == 0
    assert bytes_kept(stored, entry.args(0)) > 0


def shares(x):
    e, y = np.empty_like(x), np.empty_like(x)
    for i in range(x.shape[0]):
        total = 0.0
        for j in range(x.shape[1]):
            e[i, j] = np.exp(x[i, j])
            total += e[i, j]
        for j in range(x.shape[1]):
            y[i, j] = e[i, j] / total
    return y


def test_functions_are_not_evaluated_again_for_elements_that_are_still_there() -> None:
    """Of rows that replace each other they are: that is what keeping all of them would cost."""
    assert [t.decision for t in vectorize_grad(shares).compile(np.ones((3, 4))).temporaries] == ["store"]
    text = inspect.getsource(shares).replace("e, y = np.empty_like(x)", "e, y = np.empty(x.shape[1])")
    namespace: dict[str, Any] = {"np": np}
    exec(text.replace("e[i, j]", "e[j]"), namespace)
    f = vectorize_grad(source=text.replace("e[i, j]", "e[j]"))(namespace["shares"])
    assert f.compile(np.ones((3, 4))).temporaries == ()
