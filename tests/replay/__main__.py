"""Record what the compiler makes of the corpus, and tell two records apart.

    python -m tests.replay record FILE [--targets cpu,cuda] [--entries NAME,NAME] [--processes N]
    python -m tests.replay compare OLD NEW
    python -m tests.replay count FILE [--write]

`record` in two worktrees and `compare` show whether a change moved code only; `count` how many programs each pass
changed, which `--write` keeps for the documentation. Exit status 1 where records differ.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
from collections import Counter
from pathlib import Path

from loopdiff.pipeline.runner import PIPELINES
from tests.replay.record import TARGETS, Record, record_of_name

MOST_SHOWN = 40
COUNTS = Path(__file__).parent / "counts.json"


def record(path: Path, names: list[str], targets: list[str], processes: int) -> None:
    jobs = [(name, target) for target in targets for name in names]
    found: Record = {}
    context = multiprocessing.get_context("spawn")
    with context.Pool(processes, maxtasksperchild=200) as pool:
        for part in pool.imap_unordered(record_of_name, jobs):
            found |= part
    path.write_text(json.dumps(found, indent=0, sort_keys=True))
    print(f"{len(found)} digests of {len(names)} programs, {', '.join(targets)}")


def compare(old: Record, new: Record) -> int:
    """Print how many digests of each target differ, and which; 1 if any does."""
    known = {k for k in old.keys() | new.keys() if not k.endswith("/changes")}
    differing = sorted(k for k in known if old.get(k) != new.get(k))
    of_target, all_of_target = (Counter(k.split("/")[1] for k in keys) for keys in (differing, known))
    for target, count in sorted(all_of_target.items()):
        print(f"{target:10} {count:6} digests, {of_target[target]} differ")
    for key in differing[:MOST_SHOWN]:
        print(f"  {key}: {old.get(key, 'none')} -> {new.get(key, 'none')}")
    if len(differing) > MOST_SHOWN:
        print(f"  and {len(differing) - MOST_SHOWN} more")
    return int(bool(differing))


def count(record: Record) -> None:
    """Print how many programs each pass changed, by target."""
    of: dict[str, Counter[str]] = {target: Counter() for target in TARGETS}
    for key, text in record.items():
        if key.endswith("/changes"):
            of[key.split("/")[1]].update(text.split())
    names = {p.name: None for pipeline in PIPELINES.values() for p in pipeline}
    print(f"{'':16}" + "".join(f"{target:>10}" for target in of))
    for name in names:
        print(f"{name:16}" + "".join(f"{counts[name]:10}" for counts in of.values()))


def write_counts(record: Record) -> None:
    """Keep how many programs each pass changed, for any target; the empty name has the number of programs."""
    changed: dict[str, set[str]] = {"": {key.split("/")[0] for key in record}}
    for key, text in record.items():
        if key.endswith("/changes"):
            for name in text.split():
                changed.setdefault(name, set()).add(key.split("/")[0])
    counts = {name: len(found) for name, found in sorted(changed.items())}
    COUNTS.write_text(json.dumps(counts, indent=1) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.replay")
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("record")
    making.add_argument("file", type=Path)
    making.add_argument("--targets", default=",".join(TARGETS))
    making.add_argument("--entries", default="")
    making.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    comparing = commands.add_parser("compare")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    counting = commands.add_parser("count")
    counting.add_argument("file", type=Path)
    counting.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.command == "count":
        found = json.loads(options.file.read_text())
        count(found)
        if options.write:
            write_counts(found)
        return 0
    if options.command == "compare":
        return compare(*(json.loads(p.read_text()) for p in (options.old, options.new)))
    from tests.corpus import ENTRIES

    names = options.entries.split(",") if options.entries else [e.name for e in ENTRIES]
    record(options.file, names, options.targets.split(","), options.processes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
