"""Calls next to the exact report of their refusal: every LD3xx and LD4xx code, and every message of these.

The texts in `calls/` were read and judged by eye. `python tests/errors/test_call_reports.py` rewrites them.
"""

from __future__ import annotations

import importlib.util
import linecache
from pathlib import Path

import numpy as np
import pytest

import loopdiff
from loopdiff import LoopdiffError, vectorize_grad
from loopdiff.ad.partials import partials
from loopdiff.errors import NOWHERE, DifferentiationError
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.types import F64
from tests.errors.test_reports import FILE, Case, read_cases, write_cases

FOLDER = Path(__file__).parent / "calls"
CASES = list(read_cases(FOLDER / "calls.txt"))
JAX_CASES = list(read_cases(FOLDER / "jax.txt"))
TORCH_CASES = list(read_cases(FOLDER / "torch.txt"))


def report_of(case: Case) -> str:
    """What loopdiff says when the program is decorated or called."""
    linecache.cache[FILE] = (len(case.program), None, case.program.splitlines(True), FILE)
    names: dict[str, object] = {"np": np, "loopdiff": loopdiff, "vectorize_grad": vectorize_grad}
    if case in JAX_CASES:
        import jax

        from loopdiff.jax import wrap

        names |= {"jax": jax, "jnp": jax.numpy, "wrap": wrap}
    if case in TORCH_CASES:
        import torch

        from loopdiff.torch import wrap

        names |= {"torch": torch, "wrap": wrap}
    try:
        exec(compile(case.program, FILE, "exec", dont_inherit=True), names)
        exec(case.call, names)
    except LoopdiffError as error:
        return f"{type(error).__name__}\n{error}"
    raise AssertionError("not refused")


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.title)
def test_report(case: Case) -> None:
    assert report_of(case) == case.report


@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="jax is not installed")
@pytest.mark.parametrize("case", JAX_CASES, ids=lambda c: c.title)
def test_report_through_jax(case: Case) -> None:
    assert report_of(case) == case.report


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
@pytest.mark.parametrize("case", TORCH_CASES, ids=lambda c: c.title)
def test_report_through_torch(case: Case) -> None:
    assert report_of(case) == case.report


def test_operation_without_a_rule() -> None:
    """No program can spell it: trigamma arises only where digamma has been differentiated."""
    with pytest.raises(DifferentiationError) as caught:
        partials(ir.Apply(Op.TRIGAMMA, (ir.Param("x"),), loc=NOWHERE), F64, ir.Param("r"))
    assert str(caught.value) == (
        "LD410: `trigamma` cannot be differentiated: polygamma functions beyond trigamma are not available\n"
        "  hint: leave its argument out of `wrt`"
    )


def test_pass_that_cannot_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x):
        x[0] = 1.0

    monkeypatch.setenv("LOOPDIFF_SKIP", "fuse,normalize,no-such-pass")
    with pytest.raises(loopdiff.ArgumentError) as caught:
        vectorize_grad(f)(np.zeros(2))
    assert str(caught.value) == (
        "LD309: `LOOPDIFF_SKIP` names no-such-pass, normalize, which cannot be left out\n"
        "  hint: `python -m loopdiff passes` lists the passes"
    )


def test_modes_that_disagree() -> None:
    """No program does that: the reverse sweep is made to lie."""

    @vectorize_grad(check="first")
    def f(x):
        return 2.0 * x[0]

    _, pullback = f.vjp(np.ones(1))
    pullback.pull.__globals__["run_slopes"] = lambda *args: args[-1].fill(0.0)
    del next(iter(f.specializations.values())).made["identity pullback"]
    with pytest.raises(DifferentiationError) as caught:
        f.grad(np.ones(1))
    first, *_, hint = str(caught.value).splitlines()
    assert first == (
        "LD406: forward and reverse mode of `f` disagree: -0.3003963365420973 and 0.0, of terms that add up to 0"
    )
    assert hint == "  hint: report this, with the program; `check_grads` says which pair of arrays is off"


def rewrite() -> None:
    for path in sorted(FOLDER.glob("*.txt")):
        write_cases(path, report_of)


if __name__ == "__main__":
    rewrite()
