"""What Numba imports before it compiles anything, without SciPy.

It asks whether SciPy has a BLAS by importing it: a tenth of the time of a first gradient, for code without products of
its own. What multiplies by BLAS asks again, when it is compiled.
"""

from __future__ import annotations

import importlib
import sys
from contextlib import suppress
from importlib.util import find_spec
from typing import Any

ASKING, ASKED = "numba.np.arraymath", "numba.np.linalg"


def load_registries() -> None:
    """Import Numba's functions of arrays, if nobody has. That there is a SciPy is enough of an answer. Where another
    version of Numba has other modules, it imports what it wants itself. Called under the lock of Numba's compiler."""
    if ASKING in sys.modules or find_spec("scipy") is None:
        return
    with suppress(ImportError, AttributeError):
        linear_algebra: Any = importlib.import_module(ASKED)
        ensure = linear_algebra.ensure_blas
        linear_algebra.ensure_blas = lambda: None
        try:
            asking: Any = importlib.import_module(ASKING)
            asking.ensure_blas = ensure
        finally:
            linear_algebra.ensure_blas = ensure
