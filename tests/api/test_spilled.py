"""Arrays between the sweeps in files: the same gradients, nothing left, and a refusal where there is no room."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from loopdiff import ArgumentError, OutOfMemoryError, vectorize_grad
from loopdiff.memory import spilled
from loopdiff.memory.spilled import Spill
from tests.api.test_memory_limit import growth, populations, relaxed, rods
from tests.gradients.interpreted import interpreting

KILLED = """
import os, sys, time
import numpy as np
from loopdiff.memory.spilled import Spill
(array,) = Spill(sys.argv[1], frozenset([0])).allocate(((1 << 18,),), [np.dtype(float)], ["C"])
array.fill(1.0)
print("filled", flush=True)
time.sleep(60)
"""


def files_open(folder: Path) -> int:
    """How many files of the folder this process has open, or mapped."""
    return Path("/proc/self/maps").read_text(encoding="utf-8").count(f"{folder}/")


@pytest.mark.parametrize(
    ("function", "args", "options"),
    [(growth, populations(), {"memory_limit": 30_000}), (relaxed, rods(8, 1e-9), {"tape": "store"})],
    ids=["segments", "growing"],
)
def test_gradients_are_the_same(
    function: Any, args: tuple[Any, ...], options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spilled, "LEAST_SPILLED", 256)
    is_linux = sys.platform == "linux"
    found = []
    with interpreting():
        for spill in (None, tmp_path):
            f = vectorize_grad(spill=spill, cache=False, **options)(function)
            _, pullback = f.vjp(*(a.copy() if isinstance(a, np.ndarray) else a for a in args))
            assert not is_linux or (files_open(tmp_path) > 0) == (spill is not None)
            found.append(pullback(u=np.linspace(1.0, 2.0, args[0].size)))
            del pullback
            assert not is_linux or files_open(tmp_path) == 0
    for wanted, gradient in zip(*found, strict=True):
        np.testing.assert_array_equal(gradient, wanted)
    assert list(tmp_path.iterdir()) == []


def test_small_arrays_and_those_of_one_sweep_stay_in_memory(tmp_path: Path) -> None:
    with interpreting():
        f = vectorize_grad(spill=tmp_path, tape="recompute", cache=False)(growth)
        k = f.compiled(populations(), "pullback")
        is_in_file = k.run.arena.is_in_file
        assert is_in_file is not None
        large = {d.name for n, d in enumerate(k.run.arena.decls) if is_in_file(n, 1 << 20)}
        assert large == {"u_start"}
        assert not any(is_in_file(n, (1 << 20) - 1) for n, _ in enumerate(k.run.arena.decls))
        assert {a.title for a in k.memory.arrays} >= {"u_start"}


@pytest.mark.skipif(sys.platform == "win32", reason="files are deleted when they are closed")
def test_nothing_is_left_of_a_process_that_is_killed(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "filled\n"
        process.send_signal(signal.SIGKILL)
        process.wait()
    time.sleep(0.01)
    assert list(tmp_path.iterdir()) == []


def test_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(number: int, start: int, size: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    with pytest.raises(OutOfMemoryError) as caught:
        Spill(str(tmp_path), frozenset([0])).allocate(((1 << 20,),), [np.dtype(float)], ["C"])
    assert str(caught.value) == (
        f"LD612: the folder {str(tmp_path)!r} of `spill` has no room for 8388608 bytes: No space left on device\n"
        "  hint: give a folder with more room; `tape='recompute'` and `memory_limit=` keep less"
    )
    monkeypatch.delattr(os, "posix_fallocate")
    (array,) = Spill(str(tmp_path), frozenset([0])).allocate(((1 << 17, 2),), [np.dtype(float)], ["F"])
    array[:] = 2.0
    assert (array.shape, array.sum(), array.flags.f_contiguous) == ((1 << 17, 2), float(1 << 19), True)


def test_settings(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match=r"LD309: `spill` is '.*/nowhere', and there is no such folder"):
        vectorize_grad(spill=tmp_path / "nowhere")(growth)
    with pytest.raises(ArgumentError, match="LD309: `spill` is for the CPU"):
        vectorize_grad(spill=tmp_path, target="cuda")(growth)
