"""Commands: `python -m loopdiff fuzz`, `cache`, `passes`, `bisect` and `run-dump`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from loopdiff.disk.report import clear_cache, describe_cache


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit status is 1 if the fuzzer found a failure, files were left, or a dump cannot be run."""
    parser = argparse.ArgumentParser(prog="python -m loopdiff", description="Automatic differentiation of loop nests.")
    commands = parser.add_subparsers(dest="command", required=True)
    add_fuzz(commands.add_parser("fuzz", help="check random programs against independent oracles"))
    add_cache(commands.add_parser("cache", help="what is kept on disk for later processes"))
    add_passes(commands.add_parser("passes", help="which passes there are, and what they do to a program"))
    add_bisect(commands.add_parser("bisect", help="find the pass that makes a command fail"))
    add_run_dump(commands.add_parser("run-dump", help="interpret the loops of a dump"))
    given = parser.parse_args(arguments)
    return given.run(given)


def add_fuzz(fuzz: argparse.ArgumentParser) -> None:
    fuzz.add_argument("--seconds", type=float, help="stop after so long (default: 60, or when --count is reached)")
    fuzz.add_argument("--count", type=int, help="stop after so many programs")
    fuzz.add_argument("--seed", type=int, default=0, help="seed of the first program; the next ones count up")
    fuzz.add_argument(
        "--compiled", type=int, default=20, metavar="N", help="compile the programs of every N-th seed (0: none)"
    )
    subjects = ("everything", "language", "interfaces", "tapes")
    fuzz.add_argument("--about", choices=subjects, default="everything", help="what the programs are about")
    fuzz.add_argument("--save", type=Path, metavar="DIR", help="write each failure there as a corpus entry")
    fuzz.set_defaults(run=run_fuzz)


def run_fuzz(given: argparse.Namespace) -> int:
    from loopdiff.fuzz.campaign import Campaign, run_campaign

    seconds = 60.0 if given.seconds is None and given.count is None else given.seconds
    summary = run_campaign(Campaign(given.seed, given.count, seconds, given.compiled, given.save, about=given.about))
    print(summary)
    for code, number in summary.codes.most_common(12):
        print(f"  {number:6d} {code}")
    return 1 if summary.failures else 0


def add_cache(cache: argparse.ArgumentParser) -> None:
    asked = cache.add_mutually_exclusive_group()
    asked.add_argument("--info", action="store_true", help="say where files are and how large (the default)")
    asked.add_argument("--clear", action="store_true", help="remove them")
    cache.set_defaults(run=run_cache)


def run_cache(given: argparse.Namespace) -> int:
    if not given.clear:
        print(describe_cache())
        return 0
    removed, left = clear_cache()
    print(f"{removed} files removed" + (f", {left} could not be" if left else ""))
    return 1 if left else 0


def add_passes(passes: argparse.ArgumentParser) -> None:
    passes.add_argument(
        "script", nargs="?", metavar="FILE[:FUNCTION]", help="a program, which is run, and of which function of it"
    )
    passes.set_defaults(run=run_passes)


def run_passes(given: argparse.Namespace) -> int:
    from loopdiff.pipeline.table import changes_of, table

    if given.script is None:
        print(table())
        return 0
    path, _, function = given.script.partition(":")
    print(changes_of(Path(path), function or None))
    return 0


def add_bisect(bisect: argparse.ArgumentParser) -> None:
    bisect.add_argument("arguments", nargs=argparse.REMAINDER, metavar="COMMAND", help="fails if the result is wrong")
    bisect.set_defaults(run=run_bisect)


def run_bisect(given: argparse.Namespace) -> int:
    from loopdiff.pipeline.bisect import main as bisect

    return bisect(given.arguments)


def add_run_dump(run_dump: argparse.ArgumentParser) -> None:
    run_dump.add_argument("dump", type=Path, metavar="FILE", help="the text of a LoopSet")
    run_dump.add_argument(
        "arguments", type=Path, nargs="?", metavar="ARGS.npz", help="its arguments by name (default: random numbers)"
    )
    run_dump.add_argument("--seed", type=int, default=0, help="seed of random arguments")
    run_dump.add_argument("--size", type=int, default=5, help="elements of each axis of random arguments")
    run_dump.set_defaults(run=run_run_dump)


def run_run_dump(given: argparse.Namespace) -> int:
    from loopdiff.pipeline.dump_runs import DumpError, outcome_of_dump

    try:
        print(outcome_of_dump(given.dump, given.arguments, given.seed, given.size))
    except DumpError as error:
        print(f"loopdiff: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
