"""The board: every figure that loopdiff is measured by, from one command.

    python examples/bench/board.py                          every section, kernels at size S
    python examples/bench/board.py --suite --size S M       the 24 kernels, two sizes
    python examples/bench/board.py --suite --kernels hdiff gmm --peers jax numba
    python examples/bench/board.py --json out.json --markdown out.md --plots plots/
    python examples/bench/board.py --docs                   everything, written into docs/benchmarks.md

Each measurement runs in a process of its own on one pinned core. The gradients of every peer are compared with those
of the JAX oracle before anything is timed; candidates then take turns, and medians are shown. A peer that is not
installed, cannot say a kernel, fails or crashes has no number there, and the report says which of these it was.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import timing

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT)]

import peers  # noqa: E402
import report  # noqa: E402
from kernels import BY_KERNEL  # noqa: E402

SECTIONS = ("suite", "headline", "matmul", "mlp", "stencils", "functions", "threads", "compile")
# Seconds after which a process is ended: compiling all peers and timing them is far below.
LIMIT = 240.0

Task = dict[str, Any]


def tasks(options: argparse.Namespace, chosen: tuple[str, ...]) -> Iterator[Task]:
    """Every process to run, in order."""
    yield {"section": "machine", "cores": 1}
    common = {"cores": options.cores, "peers": options.peers, "budget": options.budget, "dtype": options.dtype}
    for section in chosen:
        match section:
            case "suite":
                for size in options.size:
                    for kernel in options.kernels:
                        settings = {"parallel": True} if options.cores > 1 else {}
                        yield {"section": section, "kernel": kernel, "size": size, "settings": settings, **common}
            case "compile":
                for kernel in options.kernels:
                    yield {"section": "cold", "kernel": kernel, "size": options.size[0], **common}
                    yield {"section": "cold", "kernel": kernel, "size": options.size[0], **common}
            case "threads":
                for kernel in options.kernels:
                    yield {"section": section, "kernel": kernel, **common, "cores": max(2, options.cores)}
            case _:
                yield {"section": section, **common}


def environment(task: Task, cache: Path) -> dict[str, str]:
    """That of the process: threads, a cache of loopdiff's own that no other run has filled, and the peers' caches."""
    kept = Path.home() / ".cache" / "loopdiff-bench"
    settings = {
        **timing.thread_settings(task["cores"]),
        "PYTHONPATH": str(ROOT),
        "LOOPDIFF_CACHE_DIR": str(cache / task["section"] / task.get("kernel", "")),
        "NUMBA_CACHE_DIR": os.environ.get("NUMBA_CACHE_DIR", str(kept / "numba")),
        "TORCHINDUCTOR_CACHE_DIR": os.environ.get("TORCHINDUCTOR_CACHE_DIR", str(kept / "torch")),
    }
    return {**os.environ, **settings}


def attempt(task: Task, cache: Path) -> tuple[list[dict[str, Any]], str, str]:
    """Rows of one process, what it was trying when it ended, and why it failed if it did."""
    command = [sys.executable, str(HERE / "worker.py"), json.dumps(task)]
    try:
        done = subprocess.run(
            command, env=environment(task, cache), capture_output=True, text=True, timeout=LIMIT, check=False
        )
        printed, errors, reason = done.stdout, done.stderr, f"ended with {done.returncode}" if done.returncode else ""
    except subprocess.TimeoutExpired as late:
        printed, errors, reason = text_of(late.stdout), "", f"took more than {LIMIT:.0f} s"
    lines = [json.loads(line) for line in printed.splitlines() if line.startswith('{"')]
    trying = next((line["trying"] for line in reversed(lines) if "trying" in line), "starting")
    last = errors.strip().splitlines()[-1:] if reason else []
    return [line["row"] for line in lines if "row" in line], trying, ": ".join([reason, *last])


def text_of(output: str | bytes | None) -> str:
    return output.decode() if isinstance(output, bytes) else output or ""


def run(task: Task, cache: Path) -> list[dict[str, Any]]:
    """The rows of a task. A peer that ends the process is left out and the rest is run again."""
    crashed: dict[str, str] = {}
    while True:
        left = {**task, "peers": [p for p in task.get("peers", []) if p not in crashed]}
        found, trying, reason = attempt(left, cache)
        if not reason:
            for row in found:
                row.setdefault("failed", {}).update(crashed)
            return found
        if trying not in left["peers"]:
            name = task.get("kernel", task["section"])
            return [*found, {"kernel": name, "size": task.get("size"), "error": f"{trying}: {reason}"}]
        crashed[trying] = reason


def measure(options: argparse.Namespace, chosen: tuple[str, ...]) -> dict[str, Any]:
    """Run all tasks and collect their rows by section."""
    todo = list(tasks(options, chosen))
    begin = time.perf_counter()
    results: dict[str, Any] = {"options": vars(options) | {"sections": chosen}, "sections": {}}
    with tempfile.TemporaryDirectory() as cache:
        for number, task in enumerate(todo, 1):
            title = " ".join(str(task[k]) for k in ("section", "kernel", "size") if k in task)
            show(f"[{number:3d}/{len(todo)}] {time.perf_counter() - begin:6.0f} s  {title}")
            results["sections"].setdefault(task["section"], []).extend(run(task, Path(cache)))
    results["seconds"] = time.perf_counter() - begin
    show(f"{len(todo)} measurements in {results['seconds']:.0f} s\n")
    results["versions"] = report.versions()
    return results


def show(text: str) -> None:
    """One line of progress, on standard error, over the one before."""
    end = "" if sys.stderr.isatty() else "\n"
    print(f"\r\033[K{text}" if not end else text, end=end, file=sys.stderr, flush=True)


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for section in SECTIONS:
        parser.add_argument(f"--{section}", action="store_true", help=f"run the section {section} (default: all)")
    parser.add_argument("--size", nargs="+", default=["S"], choices=["tiny", "S", "M"])
    parser.add_argument("--kernels", nargs="+", default=list(BY_KERNEL), choices=list(BY_KERNEL), metavar="KERNEL")
    parser.add_argument("--peers", nargs="*", default=None, choices=list(peers.MODULES), help="default: all installed")
    parser.add_argument("--dtype", choices=["float64", "float32"], help="default: what the suite says of each kernel")
    parser.add_argument("--cores", type=int, default=1, help="cores, and threads of every pool")
    parser.add_argument("--budget", type=float, default=5.0, help="seconds of timing per row")
    parser.add_argument("--json", type=Path, help="write everything measured")
    parser.add_argument("--from-json", type=Path, help="measure nothing: report what --json once wrote")
    parser.add_argument("--markdown", type=Path, help="write the report there and not to standard output")
    parser.add_argument("--plots", type=Path, help="write roofline.svg and ratios.svg into this folder")
    parser.add_argument("--docs", action="store_true", help="write tables and plots into docs/")
    options = parser.parse_args(arguments)
    if options.peers is None:
        options.peers = list(peers.available())
    return options


def write(options: argparse.Namespace, results: Mapping[str, Any]) -> None:
    """Everything that was asked for."""
    if options.json:
        options.json.write_text(json.dumps(results, indent=1, default=str) + "\n")
    text = report.markdown(results)
    if options.markdown:
        options.markdown.write_text(text)
    elif not options.docs:
        print(text)
    folder = ROOT / "docs" / "plots" if options.docs else options.plots
    if folder:
        importlib.import_module("plots").write(results, folder)
    if options.docs:
        report.write_docs(results, ROOT / "docs" / "benchmarks.md")


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    chosen = tuple(s for s in SECTIONS if getattr(options, s)) or SECTIONS
    results = json.loads(options.from_json.read_text()) if options.from_json else measure(options, chosen)
    write(options, results)
    errors = [row for rows in results["sections"].values() for row in rows if "error" in row]
    for row in errors:
        print(f"{row['kernel']} {row['size'] or ''}: {row['error']}", file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    raise SystemExit(main())
