"""python -m tests.independent --seconds 600 --seed 0 --save DIR --processes 2"""

from __future__ import annotations

import argparse
import collections
import itertools
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from .check import SETTINGS
from .session import Recorder, session

EACH = 60  # programs that one process compiles before a fresh one takes over: some 10 MB stay with each


def work(options: argparse.Namespace) -> None:
    recorder = Recorder(options.save)
    seeds = itertools.islice(itertools.count(options.work, options.processes), EACH * 2)
    counts = session(seeds, options.seconds, recorder, options.setting)
    recorder(
        {
            "kind": "counts",
            "outcomes": counts.outcomes,
            "refusals": counts.refusals,
            "unusable": counts.unusable,
            "slowest": counts.slowest,
        }
    )


def last_seed(path: Path) -> int | None:
    seeds = [entry["seed"] for entry in entries(path) if entry["kind"] == "begin"]
    return seeds[-1] if seeds else None


def entries(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def one_process(number: int, options: argparse.Namespace) -> subprocess.Popen | None:
    """The next process of a line of them: it goes on behind the last program of the one before."""
    path = options.save / f"records-{number}.jsonl"
    last = last_seed(path)
    first = options.seed + number if last is None else last + options.processes
    left = options.end - time.monotonic()
    if left < 5:
        return None
    command = [sys.executable, "-m", "tests.independent", "--work", str(first), "--seconds", str(left)]
    command += ["--processes", str(options.processes), "--save", str(path)]
    return subprocess.Popen([*command, *(["--setting", options.setting] if options.setting else [])])


def supervise(options: argparse.Namespace) -> None:
    """Keep the processes running; one that dies is recorded with the program it died of."""
    options.save.mkdir(parents=True, exist_ok=True)
    options.end = time.monotonic() + options.seconds
    running = {number: one_process(number, options) for number in range(options.processes)}
    while any(running.values()):
        time.sleep(1.0)
        for number, process in running.items():
            if process is None or process.poll() is None:
                continue
            path = options.save / f"records-{number}.jsonl"
            if process.returncode:
                Recorder(path)({"kind": "died", "seed": last_seed(path), "code": process.returncode})
            running[number] = one_process(number, options)
    report(options.save)


def report(folder: Path) -> None:
    total: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    small: dict[str, dict] = {}
    for path in sorted(folder.glob("records-*.jsonl")):
        for entry in entries(path):
            match entry["kind"]:
                case "counts":
                    for name in ("outcomes", "refusals", "unusable"):
                        total[name].update(entry[name])
                    print("slowest:", entry["slowest"])
                case "small":
                    small.setdefault(entry["form"], entry)
                case "died":
                    total["died"][str(entry)] += 1
    for name, counts in total.items():
        print(name, dict(counts.most_common(20)))
    for entry in small.values():
        print(f"\n# seed {entry['seed']}, {entry['setting']}: {entry['message']}\n{entry['program']}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.independent")
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", type=Path, default=Path("independent"))
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--setting", choices=tuple(SETTINGS), help="only this one, as `gpu` on a machine that has one")
    parser.add_argument("--report", action="store_true", help="only print what the records in the folder say")
    parser.add_argument("--work", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.environ.setdefault("LOOPDIFF_STRICT", "1")
    os.environ.setdefault("JAX_ENABLE_X64", "1")
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    if options.report:
        report(options.save)
    elif options.work is not None:
        work(options)
    else:
        supervise(options)


if __name__ == "__main__":
    main()
