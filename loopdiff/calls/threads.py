"""How many threads loops of functions with `parallel=True` run on."""

from __future__ import annotations

from loopdiff.errors import NOWHERE, ArgumentError
from loopdiff.errors.codes import reject


def set_num_threads(count: int) -> None:
    """Use `count` threads, the calling one included, in every loop that runs in parallel from now on.

    The default is `LOOPDIFF_NUM_THREADS`, or else the number of cores the process may use. Results do not depend on it.

    Raises ArgumentError (LD309) unless `count` is a positive integer.
    """
    from loopdiff.backends.cpu.threads import pool

    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise ArgumentError(reject("LD309", f"`count` is {count!r}, not a positive number of threads", NOWHERE))
    pool.set_wanted(count)
