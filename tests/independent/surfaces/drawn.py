"""A dressed program for each seed, of what the other modules draw: those that give a number."""

from __future__ import annotations

import random

from ..compose import composed
from ..containers import structured
from ..expected import Program, Unusable, expected
from ..idioms import idioms
from ..lists import listed
from ..models import models
from ..vary import varied, with_other_arguments
from .dress import Dressed, dressed


def base(seed: int) -> Program:
    """A program to be dressed."""
    match seed % 4:
        case 0 | 1:
            program = structured(seed)
        case 2:
            program = composed(seed)
        case _:
            bases = [*idioms(), *listed(), *models()]
            program = varied(bases[seed // 4 % len(bases)], seed)
    return with_other_arguments(random.Random(seed + 2), program)


def drawn_dressed(seed: int) -> Dressed | None:
    """The program of a seed; None where what is drawn gives no number, or the oracle has nothing to say of it."""
    program = base(seed)
    try:
        is_energy = expected(program.source, program.args).is_energy
    except Unusable:
        return None
    return dressed(program, seed) if is_energy else None
