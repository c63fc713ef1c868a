"""Functions of texts that no file holds."""

from __future__ import annotations

import linecache
from typing import Any


def registered(text: str, file: str, name: str = "f", /, **namespace: Any) -> Any:
    """The function `name` of `text`, whose lines are found under the name `file`."""
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(text, file, "exec", dont_inherit=True), namespace)
    return namespace[name]
