"""A random program about the tape: with its text, policies, a memory limit, and where tapes go are drawn."""

from __future__ import annotations

from loopdiff.fuzz.program import RandomProgram
from loopdiff.immutable import immutable
from loopdiff.settings.options import PlanPolicy


@immutable
class TapeProgram(RandomProgram):
    """A program that is differentiated under `policies`, and then in memory that is `share` of what the first of them
    keeps, if that is a number. `spills`: with its tapes in files, too. `at_once`: the gradient of its result, if that
    is one number, is asked for with it, too, for which sweeps may run together.
    """

    policies: tuple[PlanPolicy, ...] = ("auto",)
    share: float | None = None
    spills: bool = False
    at_once: bool = False
