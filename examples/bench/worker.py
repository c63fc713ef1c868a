"""One measurement in a process of its own, so that a crash of a peer ends that row and not the board.

    python examples/bench/worker.py '{"section": "suite", "cores": 1, "kernel": "hdiff", ...}'

Prints lines of JSON: {"trying": what may crash} and {"row": what was measured}.
"""

from __future__ import annotations

import importlib
import json
import sys

import limited
import timing


def say(**what: object) -> None:
    print(json.dumps(what), flush=True)


def main() -> None:
    task = json.loads(sys.argv[1])
    timing.pin(task["cores"])
    limited.confine(task)
    module = importlib.import_module(task["section"])
    for row in module.rows(task, lambda what: say(trying=what)):
        say(row=row)


if __name__ == "__main__":
    main()
