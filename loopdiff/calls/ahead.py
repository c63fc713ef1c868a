"""Compilation ahead of the first call: all that calls with arguments of one combination of types run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from loopdiff.calls.runs import runs_of
from loopdiff.specialize.specialization import Specialization
from loopdiff.specialize.units import Unit

if TYPE_CHECKING:
    from loopdiff.ad.tape.sweeps import SweepForm


def compile_all(spec: Specialization) -> None:
    """Compile the function, both sweeps of its gradient and of its pullback, and its tangent, and run none of them."""
    with spec.lock, spec.stages.progress:
        for _ in units_of_calls(spec):
            pass


def units_of_calls(spec: Specialization) -> Iterator[Unit]:
    """What calls run, each compiled when it comes; under a memory limit, all sweeps that may have to keep to it."""
    yield spec.primal
    has_gradient = spec.interface.number is not None and spec.options.check != "first"
    one_pass = spec.one_pass
    if one_pass is not None:
        yield one_pass
    elif has_gradient:
        yield from sweeps(spec, "gradient")
    yield from sweeps(spec, "pullback")
    yield spec.tangent


def sweeps(spec: Specialization, form: SweepForm) -> Iterator[Unit]:
    for run in runs_of(spec, form):
        units = run.units
        yield from (units.forward, units.reverse)
        if units.counts is not None:
            yield units.counts
