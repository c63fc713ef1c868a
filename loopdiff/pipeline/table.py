"""The table of passes, and what each did to the functions of a program: `python -m loopdiff passes`."""

from __future__ import annotations

import runpy
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from loopdiff.pipeline import stages
from loopdiff.pipeline.passes import Pass
from loopdiff.pipeline.runner import PIPELINES
from loopdiff.pipeline.stages import Change

TITLES = {
    "LOWERING": "bound to normal, before differentiation",
    "DIFFERENTIATED": "a function whose sweeps are derived",
    "REVERSE": "a reverse sweep",
    "PRIMAL": "the function itself",
    "BOTH_SWEEPS": "both sweeps together",
    "GRADIENT": "value and gradient, one sweep after the other",
    "ONE_PASS": "value and gradient, loops of both sweeps together",
    "CPU_LOOPS": "loops, for processors",
    "CPU_FUSION": "nests, for processors",
    "CPU_ELEMENTS": "elements, for processors",
    "CPU_STORAGE": "arrays, for processors",
    "CUDA_BLOCKS": "rows, for GPUs",
    "CUDA_LOOPS": "loops, for GPUs",
    "CUDA_MODEL": "updates, for GPUs",
    "CUDA_LAUNCHES": "launches, for GPUs",
}


def table(programs: Mapping[str, int] | None = None) -> str:
    """The passes as Markdown: pipelines in their order, and the passes of each in theirs; with how many `programs` of
    the corpus each changes, where that is given."""
    head = ["of", "pass", "file", "gives", "order of sums", "may be left out", *(["programs"] if programs else [])]
    rows = [line(head), line(["---"] * len(head))]
    for name, title in TITLES.items():
        for k, found in enumerate(PIPELINES[name]):
            count = [str(programs.get(found.name, 0))] if programs else []
            rows.append(line([title if k == 0 else "", *columns(found), *count]))
    return "\n".join(rows)


def columns(found: Pass) -> list[str]:
    order = "kept" if found.exact else "changed"
    file = found.run.__module__.removeprefix("loopdiff.").replace(".", "/")
    return [f"`{found.name}`", f"`{file}`", found.summary, order, "" if found.needed else "yes"]


def line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


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
