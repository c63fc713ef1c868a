"""The soak counts what it tries, says what fails, and has its place in the documentation."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.part(3)
ROOT = Path(__file__).parents[2]
BENCH = ROOT / "examples" / "bench"


@pytest.fixture(autouse=True)
def found_as_scripts_find_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCH))


@pytest.mark.slow
def test_a_little_of_everything() -> None:
    """One part by the command and in a process of its own, two here."""
    import soak

    command = [sys.executable, str(BENCH / "soak.py"), "--quick", "forks"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    table = done.stdout.split("| --- | ---: | ---: | --- |\n")[1]
    assert [line.split(" | ")[2] for line in table.splitlines()] == ["0"]
    for part in ("types", "callers"):
        assert soak.PARTS[part](soak.QUICK).wrong == ()


def test_every_nest_is_what_numpy_computes() -> None:
    """In plain Python, so that a wrong formula is not taken for a wrong gradient."""
    import soak_shapes

    rng = np.random.default_rng(0)
    for nest in soak_shapes.NESTS:
        shapes = nest.shapes(*(4, 5, 6)[: nest.axes])
        args = {n: rng.uniform(-1.0, 1.0, s) for n, s in shapes.items()}
        w, along = rng.uniform(-1.0, 1.0, shapes["out"]), {n: rng.uniform(-1.0, 1.0, s) for n, s in shapes.items()}

        def at(step: float, nest: Any = nest, args: Any = args, along: Any = along) -> np.ndarray:
            moved = {n: a + step * along[n] for n, a in args.items()} | {"out": np.zeros_like(args["out"])}
            nest.function(**moved)
            return moved["out"]

        np.testing.assert_allclose(at(0.0), nest.value(args), rtol=1e-13, atol=1e-13)
        pulled = sum(float(np.sum(g * along[n])) for n, g in nest.gradients(args, w).items())
        pushed = float(np.sum(w * (at(1e-6) - at(-1e-6)))) / 2e-6
        assert pulled == pytest.approx(pushed, rel=1e-6, abs=1e-8), nest.function.__name__


def test_what_is_wrong_is_told() -> None:
    import soak_shapes

    from loopdiff import vectorize_grad

    nest = next(n for n in soak_shapes.NESTS if n.function is soak_shapes.squares_of_rows)
    other = vectorize_grad(wrt=("x",))(soak_shapes.largest_of_rows)
    found = list(soak_shapes.check_nest(nest, other, (5, 6), "float64", np.random.default_rng(0)))
    assert [text.split(": ")[1].split(" is")[0] for text in found] == ["value", "d/dx"]


def test_extents_reach_the_longest_in_every_axis() -> None:
    import soak_shapes

    rng = np.random.default_rng(0)
    drawn = [soak_shapes.extents(rng, 3, number, 3000) for number in range(50)]
    assert drawn[:3] == [(3000, 129, 129), (129, 3000, 129), (129, 129, 3000)]
    assert all(129 <= n <= 3000 and n % 2 for sizes in drawn[3:] for n in sizes)


def test_the_table_has_its_place() -> None:
    import soak

    page = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    page = soak.written(page, "then", [soak.Row("one", 1000, ("this",), "a note"), soak.Row("other", 2)])
    assert "| one | 1,000 | 1 | a note |" in page
    page = soak.written(page, "now", [soak.Row("one", 5)])
    assert "now\n\n| what | tried | failed | |\n" in page
    assert "| one | 5 | 0 |  |\n" in page
    assert "| other | 2 | 0 |  |\n" in page
    assert "then" not in page.split(soak.BEGIN)[1].split(soak.END)[0]


@pytest.mark.filterwarnings("ignore:.*fork")  # of JAX and newer Pythons, where other tests left threads
def test_the_result_of_a_child_is_seen() -> None:
    import soak

    assert soak.fork_once(lambda: True) == 0
    assert soak.fork_once(lambda: False) == 2
