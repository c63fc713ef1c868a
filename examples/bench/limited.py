"""Measurements in processes of their own, each with an end in time and in memory.

`run` starts `worker.py` with a task and puts together what that says of it, so that what was measured before a limit
was reached is there.
"""

from __future__ import annotations

import compileall
import functools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import timing

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PATIENCE = 4  # a process that gets a fraction of a core ends after this many times its seconds
ENDS = {-signal.SIGXCPU: "seconds", -signal.SIGKILL: "seconds"}


def environment(cache: str, **more: str) -> dict[str, str]:
    """That of the process: one thread in every pool, and an empty cache of loopdiff's own."""
    return {
        **os.environ, **timing.thread_settings(1), "PYTHONPATH": str(ROOT), "LOOPDIFF_CACHE_DIR": cache, **more
    }  # fmt: skip


@functools.cache
def byte_compile() -> None:
    """Byte-compile loopdiff as its installation does: in a fresh clone every process that may write no bytecode would
    spend a second on it, again and again.
    """
    compileall.compile_dir(ROOT / "loopdiff", quiet=2)


def run(task: Mapping[str, Any], seconds: float, megabytes: int) -> dict[str, Any]:
    """All that one process says of `task`; under `error` why it ended, and at what, if it did not get to its end.

    It may take `seconds` of CPU time and `megabytes` of memory.
    """
    byte_compile()
    limits = {"cores": 1, "seconds": seconds, "megabytes": megabytes}
    command = [sys.executable, str(HERE / "worker.py"), json.dumps({**task, **limits})]
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryFile("w+") as errors:
        try:
            done = subprocess.run(
                command, env=environment(cache), stdout=subprocess.PIPE, stderr=errors, text=True,
                timeout=PATIENCE * seconds + 60, check=False,
            )  # fmt: skip
            said, code = done.stdout, done.returncode
        except subprocess.TimeoutExpired as late:
            said, code = (late.stdout or b"").decode(), -signal.SIGKILL
        errors.seek(0)
        last = errors.read().strip().splitlines()[-1:]
    trying = "starting"
    for line in said.splitlines():
        if line.startswith('{"trying"'):
            trying = json.loads(line)["trying"]
        elif line.startswith('{"row"'):
            found |= json.loads(line)["row"]
    if code:
        found["error"] = f"{trying}: {reason(code, last, seconds, megabytes)}"
    return found


def reason(code: int, last: list[str], seconds: float, megabytes: int) -> str:
    """Why a process ended: a limit, or its last words."""
    text = " ".join(last)
    if code in ENDS:
        return f"more than {seconds:.0f} s"
    if "MemoryError" in text or "out of memory" in text or "bad_alloc" in text:
        return f"more than {megabytes} MB"
    return text or f"ended with {code}"


def confine(task: Mapping[str, Any]) -> None:
    """Keep this process to what `task` allows it: seconds of CPU time from now, and memory."""
    if os.name != "posix" or "seconds" not in task:
        return
    import resource

    spent = int(time.process_time() + task["seconds"]) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (spent, spent + 5))
    resource.setrlimit(resource.RLIMIT_DATA, (task["megabytes"] << 20,) * 2)


def forget_peak() -> None:
    """Let `peak_megabytes` say what is taken from here on, where the system can: on Linux."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_megabytes() -> float:
    """The most memory that this process had at once, since `forget_peak` where that was called."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / (1 << 10)
    import resource

    units = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / units
