"""What it costs to begin: import, decoration, first call with an empty cache, first call with a warm one.

Every measurement runs in a process of its own, several times. Medians are printed, then stage times
of the first call. Budgets: import 0.6 s beyond Numba, decoration 20 ms, first call 4 s cold and 0.5 s warm.

    python examples/bench/startup.py
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
IMPORT_NUMBA = "import time; t = time.perf_counter(); import numba, numpy; out = {'numba': time.perf_counter() - t}"
IMPORT_LOOPDIFF = "t = time.perf_counter(); import loopdiff; out['loopdiff'] = time.perf_counter() - t"
FIRST_CALL = """
import sys; sys.path.insert(0, ROOT)
import numpy as np
from tests.corpus.cases import matmul_loss
t = time.perf_counter(); f = loopdiff.vectorize_grad(wrt=("A", "B"))(matmul_loss)
out["decorate"] = time.perf_counter() - t
rng = np.random.default_rng(0)
A, B, C = rng.random((72, 72)), rng.random((72, 72)), np.zeros((72, 72))
t = time.perf_counter(); value, g = f.value_and_grad(A, B, C)
out["first value_and_grad"] = time.perf_counter() - t
assert abs(value + 6373.769582256972) < 1e-9
"""
BUDGETS = {"loopdiff": 0.6, "decorate": 0.02, "cold": 4.0, "warm": 0.5}


def measure(cache: Path, debug: bool = False) -> tuple[dict[str, float], str]:
    """Seconds of each phase in a new process that uses `cache`; and what it printed on standard error."""
    program = "\n".join(
        [
            IMPORT_NUMBA,
            IMPORT_LOOPDIFF,
            f"ROOT = {str(ROOT)!r}",
            FIRST_CALL,
            "import json; print(json.dumps(out))",
        ]
    )
    environment = {**os.environ, "LOOPDIFF_CACHE_DIR": str(cache)}
    environment |= {"LOOPDIFF_DEBUG": "1"} if debug else {}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True, cwd=ROOT
    )
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


def verdict(name: str, seconds: float) -> str:
    budget = BUDGETS[name]
    return f"{1e3 * seconds:9.1f} ms   budget {1e3 * budget:6.0f} ms   {'ok' if seconds <= budget else 'OVER'}"


def main(repeats: int = 3) -> None:
    runs: dict[str, list[dict[str, float]]] = {"cold": [], "warm": []}
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            runs["cold"].append(measure(Path(folder))[0])
            runs["warm"].append(measure(Path(folder))[0])

    def median(kind: str, key: str) -> float:
        return statistics.median(run[key] for run in runs[kind])

    print(f"import numba, numpy            {1e3 * median('warm', 'numba'):9.1f} ms")
    print(f"import loopdiff, after those   {verdict('loopdiff', median('warm', 'loopdiff'))}")
    print(f"decorate                       {verdict('decorate', median('warm', 'decorate'))}")
    print(f"first value_and_grad, cold     {verdict('cold', median('cold', 'first value_and_grad'))}")
    print(f"first value_and_grad, warm     {verdict('warm', median('warm', 'first value_and_grad'))}")
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("cold", "warm"):
            _, stages = measure(Path(folder), debug=True)
            print(f"\nstages, {kind} cache\n{stages.rstrip()}")


if __name__ == "__main__":
    main()
