"""One point of `growth.py`, in a process of its own: what compiling one generated program takes, and where."""

from __future__ import annotations

import cProfile
import importlib.util
import pstats
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import limited
import numpy as np
from programs import FAMILIES

from loopdiff import vectorize_grad

MOST_SHOWN = 40  # functions of a profile


def rows(task: Mapping[str, Any], trying: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """CPU seconds until the value of the program is there, then its gradient, and the most memory until then."""
    trying("starting")
    family, n = FAMILIES[task["family"]], task["n"]
    with tempfile.TemporaryDirectory() as folder:
        f = vectorize_grad(cache=False)(module_of(family.text(n), Path(folder)).program)
        warm_up()
        yield {"base": limited.peak_megabytes()}
        trying("value")
        profile = cProfile.Profile() if task.get("profile") else None
        value, _ = timed(lambda: f(*family.arguments(n)), profile)
        yield {"value": value, "value_memory": limited.peak_megabytes()}
        trying("gradient")
        gradient, found = timed(lambda: f.value_and_grad(*family.arguments(n)), profile)
        if not all(np.isfinite(g).all() for g in found[1]):
            raise ValueError("a gradient is not finite")
        yield {"gradient": value + gradient, "gradient_memory": limited.peak_megabytes()}
        yield {"stages": stages(f.checked(family.arguments(n)).specialization.stages.seconds)}
        if profile is not None:
            yield {"functions": functions(profile)}


def module_of(text: str, folder: Path) -> ModuleType:
    path = folder / "generated.py"
    path.write_text(f"import numpy as np\n\n\n{text}\n")
    spec = importlib.util.spec_from_file_location("generated", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def squares(x):
    total = 0.0
    for i in range(1, x.shape[0]):
        total += x[i] * x[i - 1]
    return total


def warm_up() -> None:
    """Load what every compilation needs, whatever it compiles."""
    vectorize_grad(cache=False)(squares).value_and_grad(np.ones(5))


def timed(call: Callable[[], Any], profile: cProfile.Profile | None) -> tuple[float, Any]:
    start = time.process_time()
    found = call() if profile is None else profile.runcall(call)
    return time.process_time() - start, found


def stages(timings: Mapping[str, float]) -> dict[str, float]:
    """Seconds by the kind of stage, whatever function it worked on; those that took most."""
    kinds: defaultdict[str, float] = defaultdict(float)
    for stage, seconds in timings.items():
        kinds[stage.partition(" program")[0]] += seconds
    return dict(sorted(kinds.items(), key=lambda kind: -kind[1])[:8])


def functions(profile: cProfile.Profile) -> list[tuple[str, float, float, int]]:
    """Functions with their own seconds, those with what they call, and how often they ran; the longest first."""
    stats: Any = pstats.Stats(profile)
    found = [
        (f"{place(file)}:{line} {name}", own, whole, calls)
        for (file, line, name), (_, calls, own, whole, _) in stats.stats.items()
    ]
    by_own = sorted(found, key=lambda f: -f[1])[:MOST_SHOWN]
    by_whole = sorted(found, key=lambda f: -f[2])[: 2 * MOST_SHOWN]
    return [*by_own, *(f for f in by_whole if f not in by_own and "loopdiff" in f[0])]


def place(file: str) -> str:
    """The last parts of a path."""
    for package in ("loopdiff", "numba", "llvmlite"):
        if f"/{package}/" in file:
            return f"{package}/{file.rpartition(f'/{package}/')[2]}"
    return Path(file).name
