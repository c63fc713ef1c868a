"""How much memory is free, for who keeps as much as fits."""

from __future__ import annotations

from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

MEMINFO = Path("/proc/meminfo")
GROUP = Path("/sys/fs/cgroup")  # of this process, in a container or a job
SHARE = 0.5  # of what is free: callers and others go on needing some


def automatic_limit() -> int | None:
    """Bytes that the arrays between the sweeps of one call may take; None where nobody says what is free."""
    found = [size for size in (of_machine(), of_group()) if size is not None]
    return int(SHARE * min(found)) if found else None


def available() -> int | None:
    """Bytes that can be taken at all, with those that would be swapped; None where nobody says."""
    machine, group = of_machine(), of_group()
    found = [] if machine is None else [machine + (line_of_meminfo("SwapFree:") or 0)]
    found += [] if group is None or may_swap() else [group]
    return min(found, default=None)


def line_of_meminfo(name: str) -> int | None:
    """Bytes of what the system calls `name`."""
    with suppress(OSError):
        for line in MEMINFO.read_text(encoding="ascii").splitlines():
            if line.startswith(name):
                return int(line.split()[1]) * 1024
    return None


def of_machine() -> int | None:
    """What can be taken without swapping."""
    if (known := line_of_meminfo("MemAvailable:")) is not None:
        return known
    if find_spec("psutil") is not None:
        import psutil  # pyright: ignore

        return int(psutil.virtual_memory().available)
    return None


def may_swap() -> bool:
    """Whether the control group of this process may have memory on disk beside its own."""
    with suppress(OSError):
        return (GROUP / "memory.swap.max").read_text(encoding="ascii").strip() != "0"
    return False


def of_group() -> int | None:
    """What the control group of this process has left; files that it has read can be given up."""
    try:
        most = (GROUP / "memory.max").read_text(encoding="ascii").strip()
        taken = int((GROUP / "memory.current").read_text(encoding="ascii"))
        lines = (GROUP / "memory.stat").read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return None
    files = next((int(line.split()[1]) for line in lines if line.startswith("inactive_file ")), 0)
    return None if most == "max" else max(int(most) - taken + files, 0)
