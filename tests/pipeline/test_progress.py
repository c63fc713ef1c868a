"""How far compiling is, is shown to who waits for it, and to nobody else."""

from __future__ import annotations

import io
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from loopdiff import ArgumentError, vectorize_grad
from loopdiff.pipeline import display, stages
from loopdiff.pipeline.stages import Progress, Stages, for_others
from loopdiff.settings.options import Options

X = np.linspace(0.0, 1.0, 7)


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return super().isatty() or True

    @property
    def last(self) -> str:
        """What the terminal shows in the end."""
        return self.getvalue().split("\r\x1b[K")[-1]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display, "PATIENCE", 0.02)
    monkeypatch.setattr(display, "BETWEEN", 0.005)
    monkeypatch.delenv("LOOPDIFF_PROGRESS", raising=False)
    monkeypatch.setitem(sys.modules, "rich.console", None)


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    found = Screen()
    monkeypatch.setattr(stages, "sys", SimpleNamespace(stderr=found, modules=sys.modules))
    return found


@pytest.fixture
def file(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    found = io.StringIO()
    monkeypatch.setattr(stages, "sys", SimpleNamespace(stderr=found, modules=sys.modules))
    return found


def compile_something(asked: Any = "auto", seconds: float = 0.15) -> None:
    record = Stages("loss", Progress("loss", asked))
    with record.progress:
        record.run("numba loss_reverse", time.sleep, seconds)


def squares(x):
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * x[i]
    return total


def seen_once(x):
    """No other test compiles it, so that its machine code is made here."""
    total = 0.0
    for i in range(x.shape[0]):
        total += 0.1875 * x[i] ** 3 - np.sin(x[i])
    return total


def seen_beside_jax(x):
    """As `seen_once`."""
    total = 0.0
    for i in range(x.shape[0]):
        total += 0.8125 * x[i] ** 3 - np.cos(x[i])
    return total


# -- what is shown -------------------------------------------------------------------------------------------
def test_a_terminal_shows_what_is_compiled_and_how_far(screen: Screen) -> None:
    compile_something()
    first = screen.getvalue().split("\r\x1b[K")[1]
    assert first == "loopdiff compiles `loss`: numba loss_reverse, 0.0 s"
    assert screen.last == ""


def test_nothing_is_shown_of_what_takes_no_time(screen: Screen) -> None:
    compile_something(seconds=0.0)
    assert screen.getvalue() == ""


def test_times_of_one_compilation_add_up_and_a_pause_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Progress("loss", "never")
    for _ in range(2):
        with one:
            time.sleep(0.02)
    assert one.spent >= 0.04
    monkeypatch.setattr(stages, "PAUSE", 0.0)
    with one:
        pass
    assert one.spent < 0.02


def test_the_innermost_stage_is_named_and_none_between_stages() -> None:
    record = Stages("loss", Progress("loss", "never"))
    seen: list[str | None] = []

    def look() -> None:
        seen.append(record.progress.text)

    record.run("outer", lambda: record.run("inner", look))
    look()
    assert seen[0] is not None
    assert "inner" in seen[0]
    assert seen[1] is None


def test_a_file_gets_lines_further_and_further_apart(file: io.StringIO) -> None:
    log = display.Log(file)
    for tenths in range(20, 200):
        log.show(f"{tenths / 10}", tenths / 10)
    assert file.getvalue().split() == ["2.0", "4.0", "8.0", "16.0"]


def test_rich_is_used_where_it_is_installed(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []

    class Status:
        def update(self, text: str) -> None:
            said.append(text)

        def start(self) -> None:
            said.append("start")

        def stop(self) -> None:
            said.append("stop")

    class Console:
        def __init__(self, file: Any) -> None:
            assert file is screen

        def status(self, text: str) -> Status:
            return Status()

    for name, made in (("rich.console", {"Console": Console}), ("rich.text", {"Text": str})):
        module = ModuleType(name)
        vars(module).update(made)
        monkeypatch.setitem(sys.modules, name, module)
    compile_something()
    assert said[0].startswith("loopdiff compiles `loss`: numba loss_reverse")
    assert said[1] == "start"
    assert said[-1] == "stop"
    assert screen.getvalue() == ""


def test_an_error_ends_the_line(screen: Screen) -> None:
    record = Stages("loss", Progress("loss", "auto"))

    def fail() -> None:
        time.sleep(0.1)
        raise ValueError("no sweeps")

    with pytest.raises(ValueError, match="no sweeps"), record.progress:
        record.run("sweeps", fail)
    assert "sweeps" in screen.getvalue()
    assert screen.last == ""
    assert record.progress.text is None


# -- who is told ---------------------------------------------------------------------------------------------
def test_silence_where_stderr_is_no_terminal(file: io.StringIO) -> None:
    compile_something()
    assert file.getvalue() == ""


def test_standard_error_that_cannot_say_what_it_is_is_no_terminal() -> None:
    closed = Screen()
    closed.close()
    for stream in (closed, object()):
        assert not Progress("loss", "auto").is_shown_on(stream)  # type: ignore[arg-type]


def test_lines_in_a_file_for_who_asks(file: io.StringIO) -> None:
    compile_something("always")
    assert file.getvalue().startswith("loopdiff compiles `loss`: numba loss_reverse, ")


def test_the_environment_asks_as_well(file: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPDIFF_PROGRESS", "always")
    compile_something()
    assert "numba loss_reverse" in file.getvalue()


@pytest.mark.parametrize(
    ("asked", "said"), [("never", ""), ("never", "always"), ("auto", "never"), ("always", "never")]
)
def test_who_says_never_has_the_last_word(
    asked: str, said: str, screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    monkeypatch.setenv("LOOPDIFF_PROGRESS", said)
    compile_something(asked)
    assert screen.getvalue() == ""


def test_where_stages_are_printed_there_is_no_line(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOPDIFF_DEBUG", "1")
    compile_something()
    assert "compiles" not in screen.getvalue()


def in_a_thread(call: Callable[[], None]) -> None:
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()


def test_other_threads_are_told_only_if_they_ask(screen: Screen) -> None:
    in_a_thread(compile_something)
    assert screen.getvalue() == ""
    in_a_thread(lambda: compile_something("always"))
    assert "numba loss_reverse" in screen.getvalue()


def is_shown_in_a_worker(asked: Any) -> bool:
    return Progress("loss", asked).is_shown_on(Screen())


def test_worker_processes_are_told_only_if_they_ask() -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert list(pool.map(is_shown_in_a_worker, ["auto", "always"])) == [False, True]


def test_what_jax_calls_is_told_only_if_it_asks(screen: Screen) -> None:
    with for_others():
        compile_something()
        assert screen.getvalue() == ""
        compile_something("always")
    assert "numba loss_reverse" in screen.getvalue()
    compile_something()


def test_jax_compiles_in_silence(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    jax = pytest.importorskip("jax")
    from loopdiff.jax import wrap

    monkeypatch.setattr(display, "PATIENCE", 0.0)
    f = vectorize_grad(cache=False)(squares)
    assert jax.grad(wrap(f))(X).shape == X.shape
    jax.jacrev(jax.grad(wrap(f)))(X)
    assert screen.getvalue() == ""
    vectorize_grad(cache=False)(seen_beside_jax).vjp(X)
    assert "compiles `seen_beside_jax`" in screen.getvalue()


# -- functions -----------------------------------------------------------------------------------------------
def test_a_function_shows_its_stages(screen: Screen) -> None:
    vectorize_grad(cache=False)(seen_once).value_and_grad(X)
    assert "loopdiff compiles `seen_once`: " in screen.getvalue()
    assert screen.last == ""


def test_a_function_is_silent_where_it_is_told_to_be(screen: Screen) -> None:
    vectorize_grad(cache=False, progress="never")(squares).value_and_grad(X)
    assert screen.getvalue() == ""


def test_the_setting_is_one_of_three() -> None:
    with pytest.raises(ArgumentError, match="`progress` is True, not one of 'auto', 'always', 'never'"):
        vectorize_grad(progress=True)(squares)  # type: ignore[arg-type]


def test_what_is_generated_does_not_depend_on_it() -> None:
    assert Options(progress="never").key == Options().key
