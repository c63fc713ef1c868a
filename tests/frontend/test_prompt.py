"""Functions typed at Python's interactive prompt, which is driven through a pseudo-terminal."""

from __future__ import annotations

import importlib.util
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import loopdiff

pytestmark = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("pty", "readline")), reason="no terminal to type at"
)
SESSION = """\
import numpy as np
from loopdiff import vectorize_grad
@vectorize_grad
def f(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] * x[i]
    return s

h = f
def f(x):
    return x[0] ** 3

g = vectorize_grad(f)
@vectorize_grad
def f(x):
    with x:
        x[0] *= 0.5

print("SLOPES", g.grad(np.ones(2)).x + 2.0, h.grad(np.array([4.0])).x)
exit()
"""


def typed(text: str, home: Path) -> str:
    """What the terminal shows when `text` is typed at the prompt."""
    import pty

    cache, path = str(home / "cache"), str(Path(loopdiff.__file__).parents[1])
    keep = {"PYTHONPATH": path, "LOOPDIFF_CACHE_DIR": cache, "TERM": "dumb", "HOME": str(home)}
    environment = {**os.environ, "PYTHON_HISTORY": str(home / "history"), **keep}
    terminal, screen = pty.openpty()
    streams: dict[str, Any] = {"stdin": screen, "stdout": screen, "stderr": screen}
    child = subprocess.Popen([sys.executable, "-q"], env=environment, start_new_session=True, **streams)
    os.close(screen)
    for line in text.splitlines(keepends=True):
        os.write(terminal, line.encode())
        time.sleep(0.05)
    shown, stop = b"", time.monotonic() + 60
    while time.monotonic() < stop:
        ready, _, _ = select.select([terminal], [], [], 1.0)
        try:
            part = os.read(terminal, 4096) if ready else b""
        except OSError:  # the other end is closed
            break
        shown += part
        if ready and not part:
            break
    os.close(terminal)
    child.wait(timeout=30)
    return shown.decode(errors="replace").replace("\r\n", "\n")


def test_functions_typed_at_the_prompt(tmp_path: Path) -> None:
    """Each of three functions of one name is read as it was typed, and refused with its own text."""
    shown = typed(SESSION, tmp_path)
    assert "SLOPES [5. 2.] [8.]" in shown
    report = shown[shown.index("LD103") :]
    assert "   |     with x:\n   |     ^^^^^^" in report
