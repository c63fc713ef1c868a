"""What a seed decides beside the program: sizes, data, settings, processors; and what becomes of a hopeless one."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.fuzz import campaign
from loopdiff.fuzz.campaign import Pool
from loopdiff.fuzz.check import check
from loopdiff.fuzz.duals import Dual, TooLongError, Trace
from loopdiff.fuzz.extents import LONGEST, depth
from loopdiff.fuzz.generate import generate
from loopdiff.fuzz.memory import MemoryLayout
from loopdiff.fuzz.program import RandomArgument, RandomProgram
from loopdiff.fuzz.settings import OTHERS, Setting
from loopdiff.fuzz.shrink import shrink

pytestmark = pytest.mark.part(2)
X = RandomArgument("x", "vector")
PLAIN = Setting()


def program(body: str, setting: Setting = PLAIN, n: int = 9) -> RandomProgram:
    text = "def f(x):\n" + "".join(f"    {line}\n" for line in body.splitlines())
    return RandomProgram(text, (X,), ("x",), ((1, n),), setting=setting)


def test_everything_is_drawn() -> None:
    """And settings are arguments of the decorator."""
    programs = [generate(seed) for seed in range(600)]
    settings = [p.setting for p in programs]
    assert {s.target for s in settings} == {"cpu", "cuda-emulated"}
    assert {s.processor for s in settings} == {"", *OTHERS}
    assert {s.callers for s in settings} == {1, 4}
    for name in ("parallel", "fastmath"):
        assert {getattr(s, name) for s in settings} == {True, False}
    wishes = {w for s in settings for _, _, w in s.wishes}
    assert {"vector", "scalar", "tile", "no rows", "rows=3", "warp", "plain"} <= wishes
    arguments = [a for p in programs for a in p.arguments]
    assert {a.layout for a in arguments} == set(get_args(MemoryLayout))
    assert {a.data for a in arguments} == {"uniform", "grid"}
    mixed = Counter(len({a.dtype for a in p.arguments if a.is_real_array}) for p in programs)
    assert mixed[2] > 10
    extents = {n for p in programs for sizes in p.sizes for n in sizes}
    assert {0, 1, 7, 8, 9, 31, 32, 33, 63, 64, 65, 127, 128, 129} <= extents
    assert max(extents) > 1000
    for setting in set(settings):
        vectorize_grad(cache=False, **setting.options)(lambda x: x)


@pytest.mark.parametrize(
    ("body", "nested"),
    [
        ("x[0] = 1.0", 0),
        ("x[1:] = 1.0", 1),
        ("for i in range(3):\n    x[i] = x.sum()", 2),
        ("while x[0] > 1.0:\n    for i in range(3):\n        x[:] = x @ x", 3),
        ("def h(a):\n    for i in range(3):\n        a += 1.0\n    return a\nfor i in range(3):\n    x[i] = h(1.0)", 2),
    ],
)
def test_deep_nests_get_small_sizes(body: str, nested: int) -> None:
    assert depth(program(body).text) == nested
    assert nested == 0 or LONGEST[nested] <= LONGEST[nested - 1]


def test_long_programs_are_given_up() -> None:
    trace = Trace(1e-9, most=10)
    one = Dual(1.0, 0.0, trace)
    with pytest.raises(TooLongError):
        sum([one] * 20, one)


def test_what_is_rounded_alike_everywhere_may_meet_a_threshold() -> None:
    trace = Trace(1e-9, is_strict=True)
    a, b = Dual(0.75, 1.0, trace, True), Dual(0.25, 0.0, trace, True)
    assert a - b >= 0.5
    assert not trace.is_fragile
    assert (a - b) ** 2 >= 0.25
    assert trace.is_fragile, "powers need not be rounded correctly"


def test_plainer_settings_end() -> None:
    setting = Setting(False, True, "cpu", "high", 4096, (("primal", "i", "scalar"),), OTHERS[0] if OTHERS else "", 4)
    weights = [setting.weight]
    while (setting := next(setting.plainer(), setting)).weight < weights[-1]:
        weights.append(setting.weight)
    assert setting == Setting()
    assert weights == sorted(weights, reverse=True)


def test_failing_programs_get_plain_settings() -> None:
    start = program("x[0] = x[1] * x[2]", Setting(parallel=True, callers=4))
    small = shrink(start, lambda p: p.setting.parallel)
    assert small.setting == Setting(parallel=True)


@pytest.mark.slow
def test_wishes_that_cannot_be_granted_are_given_up() -> None:
    asked = (("primal", "i", "scalar"), ("forward", "i", "tile"))
    found = check(program("for i in range(1, len(x)):\n    x[i] += x[i - 1]", Setting(wishes=asked)), compiled=True)
    assert found.verdict == "passed", found


@pytest.mark.slow
def test_a_program_that_does_not_answer_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "LONGEST", 0.5)
    pool = Pool()
    try:
        assert pool.check(program("while x[0] == x[0]:\n    x[0] *= 0.5"), compiled=False).stage == "time"
        monkeypatch.setattr(campaign, "LONGEST", 60.0)
        assert pool.check(program("x[0] *= 0.5"), compiled=False).verdict == "passed"
    finally:
        pool.close()


@pytest.mark.slow
def test_a_program_that_takes_all_memory_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("resource")
    monkeypatch.setattr(campaign, "MOST_MEMORY", 4 << 30)
    pool = Pool()
    try:
        found = pool.check(program("x[0] += np.ones((len(x), 1 << 30)).sum()"), compiled=False)
        assert found.verdict == "invalid"
        assert "MemoryError" in found.stage
    finally:
        pool.close()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are listed there")
def test_a_campaign_that_is_killed_leaves_no_process() -> None:
    command = [sys.executable, "-m", "loopdiff", "fuzz", "--compiled", "0", "--seconds", "60"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as parent:
        end = time.monotonic() + 60
        while len(children := children_of(parent.pid)) < 2 and time.monotonic() < end:
            time.sleep(0.05)
        parent.kill()
    assert len(children) == 2, "the one that programs run in, and the one that keeps track of what they share"
    while any(map(is_running, children)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(map(is_running, children))


def children_of(pid: int) -> list[int]:
    return [int(p.parent.name) for p in Path("/proc").glob("[0-9]*/stat") if state_of(p)[1:2] == [str(pid)]]


def is_running(pid: int) -> bool:
    return state_of(Path(f"/proc/{pid}/stat"))[:1] not in ([], ["Z"])


def state_of(path: Path) -> list[str]:
    """Letter of the state, parent and so on of a process; nothing if it has gone."""
    with suppress(OSError):
        return path.read_text().rsplit(")", 1)[1].split()
    return []


@pytest.mark.slow
def test_callers_who_disturb_each_other_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    from loopdiff.fuzz.engines import Compiled

    calls = iter(range(1000))
    outputs = Compiled.outputs

    def disturbed(self: Compiled, args: dict) -> dict:
        found = outputs(self, args)
        return found | {"result_0": found["result_0"] + 1e-15 * (next(calls) > 5)}

    monkeypatch.setattr(Compiled, "outputs", disturbed)
    found = check(program("return x.sum()", Setting(callers=4)), compiled=True)
    assert (found.verdict, found.stage) == ("failed", "compiled callers")
    assert np.isfinite(next(calls))
