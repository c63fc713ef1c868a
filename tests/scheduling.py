"""Which tests share a worker: those of one corpus entry, so that one process compiles it once, and of a few files.

The groups of `--dist loadgroup` would say the same, but pytest 9.2 took away the attribute that xdist marks them with.
"""

from __future__ import annotations

import re

from xdist.scheduler import LoadScopeScheduling

from tests.corpus import BY_NAME


class ByEntry(LoadScopeScheduling):
    """Sends all tests with the name of one entry among their parameters to one worker, and others one by one."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


# Files whose tests share what takes long to make.
TOGETHER = (
    "tests/ad/test_mutation.py",
    "tests/api/test_buffers.py",
    "tests/api/test_decisions.py",
    "tests/backends/test_lane_products.py",
    "tests/backends/test_products.py",
    "tests/backends/test_threads.py",
    "tests/examples/test_board.py",
    "tests/examples/test_npbench.py",
    "tests/test_budgets.py",
    "tests/test_layers.py",
)


def group_of(nodeid: str) -> str:
    """The entry that a test is about, the file if its tests share much, else the test."""
    file = nodeid.partition("::")[0]
    return file if file in TOGETHER else entry_of(nodeid) or nodeid


def entry_of(nodeid: str) -> str | None:
    """The entry of the corpus that is among the parameters of a test."""
    found = re.search(r"\[(.*)\]", nodeid)
    return None if found is None else next((p for p in found[1].split("-") if p in BY_NAME), None)
