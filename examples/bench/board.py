"""The board: every figure that loopdiff is measured by, from one command.

    python examples/bench/board.py                          every section, kernels at size S
    python examples/bench/board.py --suite --size S M       the 24 kernels, two sizes
    python examples/bench/board.py --suite --kernels hdiff gmm --peers jax numba
    python examples/bench/board.py --json out.json --markdown out.md --plots plots/
    python examples/bench/board.py --docs                   everything, written into docs/benchmarks.md
    python examples/bench/board.py --from-json a.json b.json --docs     what two earlier runs have found

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
from queue import Empty, Queue
from threading import Thread
from typing import Any

import timing

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT)]

import peers  # noqa: E402
import report  # noqa: E402
from kernels import BY_KERNEL  # noqa: E402

SECTIONS = ("suite", "headline", "matmul", "mlp", "stencils", "functions", "threads", "compile")
# Seconds that one step of a process may take: compiling one peer, or timing all of them. Beyond them it is ended.
LIMIT = 90.0

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
    own = ("cold",) if task["section"] == "cold" else ()
    settings = {
        **timing.thread_settings(task["cores"]),
        "PYTHONPATH": str(ROOT),
        "LOOPDIFF_CACHE_DIR": str(cache.joinpath(*own, task.get("kernel", ""), task.get("size", "S"))),
        "NUMBA_CACHE_DIR": os.environ.get("NUMBA_CACHE_DIR", str(kept / "numba")),
        "TORCHINDUCTOR_CACHE_DIR": os.environ.get("TORCHINDUCTOR_CACHE_DIR", str(kept / "torch")),
    }
    return {**os.environ, **settings}


def attempt(task: Task, cache: Path) -> tuple[list[dict[str, Any]], str, str]:
    """Rows of one process, what it was trying when it ended, and why it failed if it did."""
    command = [sys.executable, str(HERE / "worker.py"), json.dumps(task)]
    found: list[dict[str, Any]] = []
    trying, reason = "starting", ""
    with tempfile.TemporaryFile("w+") as errors, subprocess.Popen(
        command, env=environment(task, cache), stdout=subprocess.PIPE, stderr=errors, text=True
    ) as process:  # fmt: skip
        for line in lines_of(process):
            if line.startswith('{"trying"'):
                trying = json.loads(line)["trying"]
            elif line.startswith('{"row"'):
                found.append(json.loads(line)["row"])
        if process.wait():
            errors.seek(0)
            last = errors.read().strip().splitlines()[-1:]
            reason = ": ".join([f"ended with {process.returncode} (-9: after {LIMIT:.0f} s)", *last])
    return found, trying, reason


def lines_of(process: subprocess.Popen[str]) -> Iterator[str]:
    """What it prints, line by line. Ends the process once it has said nothing for `LIMIT` seconds."""
    said: Queue[str | None] = Queue()

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            said.put(line)
        said.put(None)

    Thread(target=read, daemon=True).start()
    while True:
        try:
            line = said.get(timeout=LIMIT)
        except Empty:
            process.kill()
            return
        if line is None:
            return
        yield line


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
    parser.add_argument("--budget", type=float, default=3.0, help="seconds of timing per row")
    parser.add_argument("--json", type=Path, help="write everything measured")
    parser.add_argument(
        "--from-json", type=Path, nargs="+", help="measure nothing: report what --json once wrote, later files first"
    )
    parser.add_argument("--markdown", type=Path, help="write the report there and not to standard output")
    parser.add_argument("--plots", type=Path, help="write roofline.svg and ratios.svg into this folder")
    parser.add_argument("--docs", action="store_true", help="write tables and plots into docs/")
    parser.add_argument("--page", type=Path, help="write tables between the markers of this page")
    options = parser.parse_args(arguments)
    if options.peers is None:
        options.peers = list(peers.available())
    return options


def merged(files: list[Path]) -> dict[str, Any]:
    """What several runs have found; of a section that two of them have, the later one's."""
    found: dict[str, Any] = {"sections": {}}
    for file in files:
        read = json.loads(file.read_text())
        found = {**found, **read, "sections": found["sections"] | read["sections"]}
    return found


def write(options: argparse.Namespace, results: Mapping[str, Any]) -> None:
    """Everything that was asked for."""
    if options.json:
        options.json.write_text(json.dumps(results, indent=1, default=str) + "\n")
    text = report.markdown(results)
    if options.markdown:
        options.markdown.write_text(text)
    elif not options.docs and not options.page:
        print(text)
    folder = ROOT / "docs" / "plots" if options.docs else options.plots
    if folder:
        importlib.import_module("plots").write(results, folder)
    for page in (ROOT / "docs" / "benchmarks.md" if options.docs else None, options.page):
        if page is not None:
            report.write_docs(results, page)


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    chosen = tuple(s for s in SECTIONS if getattr(options, s)) or SECTIONS
    results = merged(options.from_json) if options.from_json else measure(options, chosen)
    write(options, results)
    errors = [row for rows in results["sections"].values() for row in rows if "error" in row]
    for row in errors:
        print(f"{row['kernel']} {row['size'] or ''}: {row['error']}", file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    raise SystemExit(main())
