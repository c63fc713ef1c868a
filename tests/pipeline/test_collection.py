"""Cycles are searched for rarely while something compiles, and as before when nothing does."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from threading import Barrier, Thread
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.pipeline import stages
from loopdiff.pipeline.collection import RARE, RareCollection

USUAL = (700, 10, 10)


@pytest.fixture(autouse=True)
def usual() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(*USUAL)
    yield
    gc.set_threshold(*before)


def cubes(x: Any) -> float:
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] * x[i] * x[i]
    return s


def test_compiling_searches_rarely_and_leaves_thresholds_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = set()
    monkeypatch.setattr(stages, "WATCHERS", [lambda change: seen.add(gc.get_threshold())])
    f = vectorize_grad(cache=False)(cubes)
    assert f.value_and_grad(np.ones(3))[0] == 3.0
    assert seen == {RARE}
    assert gc.get_threshold() == USUAL


def test_an_error_ends_it() -> None:
    with pytest.raises(ZeroDivisionError), RareCollection():
        raise ZeroDivisionError
    assert gc.get_threshold() == USUAL


@pytest.mark.parametrize("own", [(0, 10, 10), (100_000, 5, 5)], ids=["never", "rarer"])
def test_who_searches_as_rarely_is_left_alone(own: tuple[int, int, int]) -> None:
    gc.set_threshold(*own)
    with RareCollection():
        assert gc.get_threshold() == own
    assert gc.get_threshold() == own


def test_thresholds_set_meanwhile_stay() -> None:
    with RareCollection():
        gc.set_threshold(123, 4, 5)
    assert gc.get_threshold() == (123, 4, 5)


def test_it_lasts_until_the_last_of_several_threads_leaves() -> None:
    rare, entered, left = RareCollection(), Barrier(3), Barrier(2)

    def one(waits: bool) -> None:
        with rare, rare:
            entered.wait()
            if waits:
                left.wait()

    threads = [Thread(target=one, args=(waits,)) for waits in (True, False)]
    for thread in threads:
        thread.start()
    entered.wait()
    threads[1].join()
    assert gc.get_threshold() == RARE
    left.wait()
    threads[0].join()
    assert gc.get_threshold() == USUAL
