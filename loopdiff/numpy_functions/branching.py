"""What functions ask the compiler about an argument before they branch."""

from __future__ import annotations

from typing import Any

import numpy as np


class Question:
    """Whether the argument is a number of these `kinds`, or an array of such; or, if it `takes_literals`, a number
    written out. The compiler answers; as Python, the kinds are what NumPy says they are."""

    def __init__(self, kinds: str, *, takes_literals: bool = False) -> None:
        self.kinds = kinds
        self.takes_literals = takes_literals

    def __call__(self, value: Any) -> bool:
        return np.asarray(value).dtype.kind in self.kinds


class Owner(Question):
    """Whether the argument is certainly a floating number of NumPy's, or else one of Python's."""

    def __init__(self, is_numpys: bool) -> None:
        super().__init__("f")
        self.is_numpys = is_numpys

    def __call__(self, value: Any) -> bool:
        return isinstance(value, np.floating) is self.is_numpys


INTEGERS, COMPLEX = "iub", "c"
is_of_numpys_own, is_of_pythons_own = Owner(True), Owner(False)
holds_integers = Question(INTEGERS)
holds_complex = Question(COMPLEX)
# Whether nothing is differentiated by a number: else a branch that asks for it would give the branch's derivative.
is_discrete = Question(INTEGERS, takes_literals=True)
