"""One measurement of `tapes.py` in a process of its own, by loopdiff as it is here or in a folder `task["tree"]`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any


def rows(task: Mapping[str, Any], trying: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """The folder has a loopdiff and nothing else, so that programs come from here."""
    trying(task["what"])
    if task.get("tree"):
        sys.path.insert(0, task["tree"])
    yield importlib.import_module("tape_measures").MEASURED[task["what"]](task, trying)
