"""`memory_limit="auto"`: half of what the machine, or the container, has left when a function is called; and what is
never begun without a limit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from loopdiff import OutOfMemoryError, vectorize_grad
from loopdiff.calls.runs import limit_of
from loopdiff.memory import arena, free
from loopdiff.settings.options import Options
from tests.api.test_memory_limit import growth, populations
from tests.gradients.interpreted import interpreting

AVAILABLE = "MemTotal:       24105000 kB\nMemFree:         1000000 kB\nMemAvailable:    {} kB\n"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with files of its own, and no library that knows better."""
    monkeypatch.setattr(free, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(free, "GROUP", tmp_path)
    monkeypatch.setattr(free, "find_spec", lambda _: None)
    return tmp_path


def test_half_of_what_is_available(machine: Path) -> None:
    assert free.automatic_limit() is None
    (machine / "meminfo").write_text(AVAILABLE.format(4000))
    assert free.automatic_limit() == 2000 * 1024


@pytest.mark.parametrize(
    ("most", "expected"), [("max", 2_048_000), ("1000000", (1_000_000 - 700_000 + 200_000) // 2), ("500000", 0)]
)
def test_a_container_has_less(machine: Path, most: str, expected: int) -> None:
    (machine / "meminfo").write_text(AVAILABLE.format(4000))
    (machine / "memory.max").write_text(f"{most}\n")
    (machine / "memory.current").write_text("700000\n")
    (machine / "memory.stat").write_text("anon 500000\ninactive_file 200000\n")
    assert free.automatic_limit() == expected


def test_nothing_is_begun_that_is_larger_than_what_is_free(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arena, "LARGE", 1000)
    args = populations()
    with interpreting():
        f = vectorize_grad(cache=False)(growth)
        needed = sum(t.bytes or 0 for t in f.compile(*args).temporaries)
        for kilobytes, swapped in ((needed // 1024 - 1, 0), (needed // 2048, 8)):
            (machine / "meminfo").write_text(AVAILABLE.format(kilobytes) + f"SwapFree: {swapped} kB\n")
            with pytest.raises(OutOfMemoryError, match=f"LD610: .*`u_tape` {needed}") as caught:
                f.vjp(*args)
            assert "`memory_limit=`" in str(caught.value)
        (machine / "meminfo").write_text(AVAILABLE.format(needed // 2048) + f"SwapFree: {needed // 1024} kB\n")
        f.vjp(*args)
        (machine / "memory.max").write_text(f"{needed // 2}\n")
        (machine / "memory.current").write_text("0\n")
        (machine / "memory.stat").write_text("inactive_file 0\n")
        with pytest.raises(OutOfMemoryError):
            vectorize_grad(cache=False)(growth).vjp(*args)
        (machine / "memory.swap.max").write_text("max\n")
        vectorize_grad(cache=False)(growth).vjp(*args)


def test_this_machine_says_how_much_is_free() -> None:
    found = free.automatic_limit()
    if found is None:
        pytest.skip("nobody says here")
    assert 1 << 20 < found < 1 << 50


def test_the_limit_is_asked_for_at_each_call(machine: Path) -> None:
    args = populations()
    with interpreting():
        f = vectorize_grad(memory_limit="auto", cache=False)(growth)
        labels: list[str] = []
        for kilobytes in (10**6, 200):
            (machine / "meminfo").write_text(AVAILABLE.format(kilobytes))
            labels.append(f.reverse_run(f.checked(args).specialization, "pullback", args).label)
    assert labels == ["pullback auto", "pullback recompute"]


def test_limits_of_options(machine: Path) -> None:
    assert limit_of(Options()) is None
    assert limit_of(Options(memory_limit=np.iinfo(np.int64).max)) == 2**63 - 1
    assert limit_of(Options(memory_limit="auto")) is None
