"""Python's search for reference cycles, which is rarer while anything compiles.

A compiler makes objects by the million and keeps most of them until it is done. A search after every 700 looks through
all that the process holds again and again: a tenth of the time of a compilation, and more in a process with large
libraries.
"""

from __future__ import annotations

import gc
import threading

RARE = (50_000, 10, 10)  # new objects until they are searched, and searches until older ones are: 15 MB more


class RareCollection:
    """A context in which cycles are searched for rarely. Threads may be in it side by side, and in it again.

    A program that sets thresholds of its own meanwhile keeps them.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.inside, self.before = 0, gc.get_threshold()

    def __enter__(self) -> None:
        with self.lock:
            self.inside += 1
            if self.inside == 1:
                self.before = gc.get_threshold()
                if 0 < self.before[0] < RARE[0]:
                    gc.set_threshold(*RARE)

    def __exit__(self, *error: object) -> None:
        with self.lock:
            self.inside -= 1
            if self.inside == 0 and gc.get_threshold() == RARE:
                gc.set_threshold(*self.before)


rare_collection = RareCollection()
