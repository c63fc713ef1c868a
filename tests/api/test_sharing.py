"""Decorated functions among threads and processes, and made in places other than files."""

from __future__ import annotations

import dataclasses
import os
import pickle
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopdiff
from loopdiff import vectorize_grad
from loopdiff.settings.options import Options
from tests.api.programs import grouped, grow, plain_sum, running
from tests.texts import registered

ROOT = Path(loopdiff.__file__).parents[1]
THREADS = 8


def together(work: Callable[[int], Any]) -> list[Any]:
    """What `work` returns in each of several threads that start at once."""
    barrier = threading.Barrier(THREADS)

    def start(number: int) -> Any:
        barrier.wait()
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(start, range(THREADS)))


# -- threads -----------------------------------------------------------------------------------------------
def points(number: int) -> list[np.ndarray]:
    """Arguments of several sizes, different in each thread."""
    rng = np.random.default_rng(number)
    return [rng.uniform(0.5, 1.5, n) for n in (3, 17, 4, 60, 1, 17)]


def test_threads_get_what_one_thread_gets() -> None:
    """Sweeps with tapes of several sizes at once; references are computed alone, before."""
    expected = [[running.value_and_grad(x, len(x)) for x in points(k)] for k in range(THREADS)]

    def work(number: int) -> list[Any]:
        return [[running.value_and_grad(x, len(x)) for x in points(number)] for _ in range(20)]

    for rounds, alone in zip(together(work), expected, strict=True):
        for found in rounds:
            for (value, g), (right_value, right_g) in zip(found, alone, strict=True):
                assert value == right_value
                np.testing.assert_array_equal(g.x, right_g.x)


def test_threads_share_a_pullback() -> None:
    y = np.linspace(0.5, 1.1, 50)
    _, pullback = grow.vjp(y.copy(), 4)
    seeds = [np.random.default_rng(k).random(50) for k in range(THREADS)]
    expected = [pullback(y=s).y for s in seeds]
    found = together(lambda k: [pullback(y=seeds[k]).y for _ in range(50)])
    for many, right in zip(found, expected, strict=True):
        for one in many:
            np.testing.assert_array_equal(one, right)


def test_pullbacks_cross_threads() -> None:
    starts, x = np.array([0, 2, 2, 5]), np.linspace(0.1, 0.9, 5)
    pullbacks = together(lambda k: grouped.vjp(starts, (k + 1) * x)[1])
    expected = [grouped.grad(starts, (k + 1) * x).x for k in range(THREADS)]
    found = together(lambda k: pullbacks[-1 - k]().x)
    for one, right in zip(found, reversed(expected), strict=True):
        np.testing.assert_array_equal(one, right)


def test_threads_meet_at_the_first_call() -> None:
    fresh = vectorize_grad(cache=False)(plain_sum)
    kinds = (np.float64, np.float32)

    def work(number: int) -> Any:
        x = np.full(4, number, kinds[number % 2])
        return fresh(x), fresh.grad(x).x

    for number, (value, gradient) in enumerate(together(work)):
        assert value == 4 * number**2
        assert gradient.dtype == kinds[number % 2]
        assert gradient.tolist() == [2.0 * number] * 4
    assert len(fresh.specializations) == 2


# -- pickling ----------------------------------------------------------------------------------------------
SQUARES = vectorize_grad(wrt=("x",), tape="store", fastmath=False, memory_limit=1 << 20)(plain_sum)


def test_a_pickled_function_keeps_its_settings() -> None:
    again = pickle.loads(pickle.dumps(vectorize_grad(wrt=("x",), tape="store", fastmath=False)(plain_sum)))
    assert again.options == Options(tape="store", fastmath=False)
    assert again.grad(np.ones(2))._fields == ("x",)


def run_python(text: str, tmp_path: Path, *flags: str, given: str | None = None) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "LOOPDIFF_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, *flags, *(["-c", text] if given is None else [])]
    done = subprocess.run(command, env=environment, input=given, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_pickled_function_works_in_another_process(tmp_path: Path) -> None:
    path = tmp_path / "function.pickle"
    path.write_bytes(pickle.dumps((grow, SQUARES)))
    text = f"""
import pickle
import numpy as np
grow, squares = pickle.load(open({str(path)!r}, "rb"))
print(squares.value_and_grad(np.array([1.0, 2.0])), squares.options.tape)
"""
    printed = run_python(text, tmp_path)
    assert "store" in printed
    assert re.search(r"5\.0, .*\[2\., 4\.\]", printed)


# -- where functions come from -----------------------------------------------------------------------------
TEXT = """
@vectorize_grad
def f(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] ** 3
    return s
"""


@pytest.mark.parametrize("file", ["<registered>", "<ipython-input-3-0123456789ab>", "<python-input-4>"])
def test_functions_made_by_exec_with_registered_text(file: str) -> None:
    """As notebooks and interactive sessions do."""
    f = registered(TEXT, file, vectorize_grad=vectorize_grad)
    value, g = f.value_and_grad(np.array([1.0, 2.0]))
    assert (value, g.x.tolist()) == (9.0, [3.0, 12.0])
    assert "line 5" in f.explain(np.ones(2))


def test_a_cell_run_again_is_a_new_function() -> None:
    """Two cells of one name and one place in the file: the second is not taken for the first."""
    values = []
    for number, power in enumerate((3, 2)):
        file, text = f"<ipython-input-{number}>", TEXT.replace("** 3", f"** {power}")
        f = registered(text, file, vectorize_grad=vectorize_grad)
        values.append(f.grad(np.array([3.0])).x[0])
    assert values == [27.0, 6.0]


class Shapes:
    """Static methods, decorated above and below `staticmethod`."""

    @staticmethod
    @vectorize_grad
    def above(x):
        return x[0] * x[0]

    @vectorize_grad
    @staticmethod
    def below(x):
        return x[0] * x[0] * x[0]


class Derived(Shapes):
    """Inherits them."""


@pytest.mark.parametrize("owner", [Shapes, Shapes(), Derived, Derived()], ids=["class", "object", "derived", "both"])
def test_static_methods(owner: Any) -> None:
    x = np.array([2.0])
    assert (owner.above(x), owner.above.grad(x).x[0]) == (4.0, 4.0)
    assert (owner.below(x), owner.below.grad(x).x[0]) == (8.0, 12.0)
    assert owner.above.vjp(x)[1](2.0).x[0] == 8.0


# -- documentation -----------------------------------------------------------------------------------------
def test_every_setting_is_documented_with_its_default() -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+?) \|", page, flags=re.M))
    for field in (f for f in dataclasses.fields(Options) if f.name not in ("arrays", "of_loss")):  # of calls
        shown = "none" if field.default in (None, ()) else repr(field.default).replace("'", '"')
        assert rows[field.name].strip("`") == shown, field.name
    assert "wrt" in rows
