"""What functions ask the compiler about an argument before they branch."""

from __future__ import annotations

from typing import Any

import numpy as np


class Question:
    """Whether the argument is an integer or a truth value, or an array of such; or, if it `takes_literals`, a number
    written out. The compiler answers; as Python, integers are what NumPy says are integers."""

    def __init__(self, *, takes_literals: bool) -> None:
        self.takes_literals = takes_literals

    def __call__(self, value: Any) -> bool:
        return np.asarray(value).dtype.kind in "iub"


holds_integers = Question(takes_literals=False)
# Whether nothing is differentiated by a number: else a branch that asks for it would give the branch's derivative.
is_discrete = Question(takes_literals=True)
