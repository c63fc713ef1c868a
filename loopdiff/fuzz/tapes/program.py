"""A random program about the tape: with its text, policies, a memory limit, and where tapes go are drawn."""

from __future__ import annotations

from loopdiff.fuzz.program import RandomProgram
from loopdiff.immutable import immutable
from loopdiff.settings.options import PlanPolicy


@immutable
class TapeProgram(RandomProgram):
    """A program that is differentiated under `policies`, and then, if `share` is a number, in less memory: in as much
    as is kept at least, and this share of what else is kept without a limit. `spills`: with its tapes in files, too.
    `at_once`: the gradient of its result, if that is one number, is asked for with it, for which sweeps may run
    together.
    """

    policies: tuple[PlanPolicy, ...] = ("auto",)
    share: float | None = None
    spills: bool = False
    at_once: bool = False
