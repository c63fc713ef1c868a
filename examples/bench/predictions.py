"""What the cost model predicts beside what is measured: both sweeps of every kernel of the suite, one pinned core.

The model means a core with nothing else to do. Rows that it misses by more than a factor of three are marked.

    python examples/bench/predictions.py [--size S|M] [NAME ...]
"""

from __future__ import annotations

import timing

CORE = timing.pin_to_one_core()

import argparse  # noqa: E402
import re  # noqa: E402
import sys  # noqa: E402
from pathlib import Path  # noqa: E402

sys.path.insert(0, str(Path(__file__).parents[2]))

from loopdiff import vectorize_grad  # noqa: E402
from tests.corpus import BY_NAME, SUITE, Entry  # noqa: E402

UNITS = {"ns": 1e-3, "µs": 1.0, "ms": 1e3, "s": 1e6}
TITLE = re.compile(r"^(\w+) sweep, predicted ([\d.]+) (\w+), measured ([\d.]+) (\w+):", re.M)
FACTOR = 3.0


def row(entry: Entry, size: str) -> str:
    f = vectorize_grad(wrt=entry.wrt)(entry.function)
    text = f.compile(*entry.args(0, size).values()).explain(measure=True)
    cells = ""
    for _, predicted, unit, measured, other in TITLE.findall(text):
        times = float(predicted) * UNITS[unit], float(measured) * UNITS[other]
        ratio = times[0] / times[1]
        cells += f"{times[0]:12.1f}{times[1]:12.1f}{ratio:7.2f}{' ' if 1 / FACTOR < ratio < FACTOR else '*'}"
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="kernels (default: all)")
    parser.add_argument("--size", default="S", choices=["S", "M"])
    options = parser.parse_args()
    print(f"core {CORE}, size {options.size}; times in us, ratio of the predicted to the measured time")
    print(f"{'kernel':22s}" + "".join(f"{s:>12s}{'measured':>12s}{'ratio':>7s} " for s in ("forward", "reverse")))
    for entry in [BY_NAME[name] for name in options.names] or SUITE:
        print(f"{entry.name:22s}{row(entry, options.size)}", flush=True)


if __name__ == "__main__":
    main()
