"""Which change of a pass breaks a program: `python -m loopdiff bisect COMMAND`, which fails where it is broken.

As LLVM's `-opt-bisect-limit`: the command runs with fewer and fewer changes, until one more makes the difference.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence

from loopdiff.immutable import immutable

CHANGE = re.compile(r"^loopdiff: .*: change (\d+): (.*)$", re.M)
ALL = 10**9


@immutable
class Run:
    """What became of the command with so many changes: whether it succeeded, and which changes it came to."""

    is_good: bool
    changes: dict[int, str]


def run_command(command: Sequence[str], limit: int) -> Run:
    """Run `command`, with the first `limit` changes only."""
    environment = {**os.environ, "LOOPDIFF_BISECT": str(limit)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return Run(done.returncode == 0, {int(n): text for n, text in CHANGE.findall(done.stderr)})


def bisect(command: Sequence[str], say: Callable[[str], None]) -> int:
    """Find the first change that makes `command` fail, and say which; 0 if there is one."""
    last = run_command(command, ALL)
    if last.is_good:
        say("the command succeeds with all changes")
        return 1
    if not run_command(command, 0).is_good:
        say("the command fails without any change: no pass that can be left out is the reason")
        return 1
    good, bad = 0, len(last.changes)
    while bad - good > 1:
        middle = (good + bad) // 2
        is_good = run_command(command, middle).is_good
        say(f"{middle} of {len(last.changes)} changes: {'good' if is_good else 'bad'}")
        good, bad = (middle, bad) if is_good else (good, middle)
    before = run_command(command, bad).changes
    say(f"change {bad} breaks it: {before.get(bad, last.changes.get(bad, 'unknown'))}")
    say(f"LOOPDIFF_BISECT={bad} LOOPDIFF_DUMP=folder shows the loops after it, LOOPDIFF_BISECT={good} those without it")
    return 0


def main(command: Sequence[str]) -> int:
    return bisect(command, lambda text: print(text, file=sys.stderr))
