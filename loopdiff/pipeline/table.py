"""The table of passes, and what each did to the functions of a program: `python -m loopdiff passes`."""

from __future__ import annotations

import runpy
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from loopdiff.pipeline import stages
from loopdiff.pipeline.passes import Pass
from loopdiff.pipeline.runner import PIPELINES
from loopdiff.pipeline.stages import Change

TITLES = {
    "LOWERING": "bound to normal, before differentiation",
    "REVERSE": "a reverse sweep",
    "PRIMAL": "the function itself",
    "BOTH_SWEEPS": "both sweeps together",
    "GRADIENT": "value and gradient, one sweep after the other",
    "ONE_PASS": "value and gradient, loops of both sweeps together",
    "CPU_LOOPS": "loops, for processors",
    "CPU_FUSION": "nests, for processors",
    "CPU_STORAGE": "arrays, for processors",
    "CUDA_BLOCKS": "rows, for GPUs",
    "CUDA_LOOPS": "loops, for GPUs",
    "CUDA_MODEL": "updates, for GPUs",
    "CUDA_LAUNCHES": "launches, for GPUs",
}


def table() -> str:
    """The passes as Markdown: pipelines in their order, and the passes of each in theirs."""
    rows = ["| of | pass | gives | order of sums | may be left out |", "| --- | --- | --- | --- | --- |"]
    for name, title in TITLES.items():
        rows += [row(title if k == 0 else "", found) for k, found in enumerate(PIPELINES[name])]
    return "\n".join(rows)


def row(title: str, found: Pass) -> str:
    order = "kept" if found.exact else "changed"
    return f"| {title} | `{found.name}` | {found.summary} | {order} | {'' if found.needed else 'yes'} |"


def changes_of(script: Path, function: str | None) -> str:
    """What passes changed while `script` runs as a program: of the functions made from `function`, or of all."""
    with noted() as changes:
        runpy.run_path(str(script), run_name="__main__")
    counts = Counter(c for c in changes if function is None or c.function.startswith(function))
    if not counts:
        return "no pass changed anything"
    width = max(len(c.function) for c in counts)
    return "\n".join(f"{c.function:{width}}  {c.by}{f'  {n} times' if n > 1 else ''}" for c, n in counts.items())


@contextmanager
def noted() -> Iterator[list[Change]]:
    """All changes in this process meanwhile."""
    found: list[Change] = []
    stages.WATCHERS.append(found.append)
    try:
        yield found
    finally:
        stages.WATCHERS.remove(found.append)
