"""Ctrl-C ends long calls, and leaves compilations whole."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import loopdiff
from loopdiff.settings.deferred import deferred_interrupts
from tests.lengths import IS_LONG

HERE = Path(__file__).parent
pytestmark = [pytest.mark.part(4), pytest.mark.skipif(os.name != "posix", reason="signals are sent to this process")]


# A callback of Python's own import system takes no exception: it prints it, and the signal is lost.
LOST_BY_PYTHON = re.compile(r"Exception ignored in:.*\nTraceback.*\n(?: .*\n)*KeyboardInterrupt: *\n")


@pytest.fixture(autouse=True)
def heeded() -> Iterator[None]:
    """A shell's jobs in the background ignore SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def run(*args: str, **environment: str) -> str:
    settings = {"PYTHONPATH": str(Path(loopdiff.__file__).parents[1]), "NUMBA_NRT_STATS": "1", **environment}
    command = [sys.executable, str(HERE / "interrupted.py"), *args]
    done = subprocess.run(command, env={**os.environ, **settings}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("done\n")
    return LOST_BY_PYTHON.sub("", done.stderr)


def test_long_calls_are_interrupted() -> None:
    """Forward, gradient, tangent, products, threads: each ends soon, gives back its memory, and can be called again."""
    run()


def test_long_calls_through_jax_are_interrupted() -> None:
    run("jax")


@pytest.mark.parametrize("seed", ["1", "2"] if IS_LONG else ["1"])
def test_first_calls_are_interrupted(seed: str) -> None:
    """At random moments: nothing is left half made, and nothing but KeyboardInterrupt is raised."""
    assert "Traceback" not in run("compiling", seed, "10")


def test_interrupted_imports(tmp_path: Path) -> None:
    """The first of all calls imports the back end: the next one works, in this process and from what is on disk."""
    for seed in range(3 if IS_LONG else 2):
        assert "Traceback" not in run("compiling", str(seed), "1", LOOPDIFF_CACHE_DIR=str(tmp_path))


@pytest.mark.parametrize("module", ["astor.tree_walk", "islpy._isl"])
def test_interrupted_in_the_midst_of_a_package(module: str, tmp_path: Path) -> None:
    """Packages that keep names of their parts are not found half there by the next call."""
    assert "Traceback" not in run("importing", module, LOOPDIFF_CACHE_DIR=str(tmp_path))


@pytest.mark.parametrize("where", ["alone", "threads"])
def test_daemon_threads_end_with_the_process(where: str) -> None:
    """They are in their loops when what modules hold is freed, and when libraries are closed; nobody waits for them."""
    assert "freed" not in run("daemon", where)


def test_deferred() -> None:
    """The signal comes when all is done, once, and to the handler that was there."""
    done: list[str] = []

    def interrupted() -> None:
        with deferred_interrupts():
            with deferred_interrupts():
                signal.raise_signal(signal.SIGINT)
                signal.raise_signal(signal.SIGINT)
                done.append("inner")
            done.append("outer")

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert done == ["inner", "outer"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_deferred_with_an_error() -> None:
    @deferred_interrupts()
    def interrupted() -> None:
        signal.raise_signal(signal.SIGINT)
        raise ValueError

    with pytest.raises(KeyboardInterrupt) as found:
        interrupted()
    assert isinstance(found.value.__context__, ValueError)


def test_other_handlers_stay() -> None:
    """Of signals that are ignored, of other threads, and one that is put in place meanwhile."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with deferred_interrupts():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        signal.signal(signal.SIGINT, before)
        with deferred_interrupts():
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    seen: list[object] = []

    def elsewhere() -> None:
        with deferred_interrupts():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert seen == [before]
