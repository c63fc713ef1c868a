"""Generated modules on disk: found again, loaded without compiling, quoted by tracebacks."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from loopdiff import vectorize_grad
from loopdiff.backends import machine_code
from loopdiff.backends.load import cache_directory, import_module, load_function, write_module
from loopdiff.backends.writer import Writer, render
from loopdiff.errors import BackendError
from loopdiff.ir import nodes as ir
from loopdiff.pipeline.code import instantiate
from loopdiff.pipeline.cpu import compile_loopset
from loopdiff.pipeline.stages import Stages
from loopdiff.settings.options import Options
from tests.ad.interpreted import lower
from tests.backends.programs import PROGRAMS

ROOT = Path(__file__).parents[2]
FRESH = """
    import sys, numpy as np
    from pathlib import Path
    from loopdiff.backends.load import load_function
    path = Path(sys.argv[1])
    function = load_function("discounted", path, path.read_text(), "")
    x = np.arange(6.0)
    function.dispatcher(x)
    stats = function.dispatcher.stats
    print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()), x[-1])
"""


def discounted(x):
    for i in range(1, x.shape[0]):
        x[i] += 0.5 * x[i - 1]


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LOOPDIFF_CACHE_DIR", str(tmp_path))
    return tmp_path


def test_the_directory_follows_the_environment(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cache_directory() == directory
    monkeypatch.delenv("LOOPDIFF_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_directory() == Path("/somewhere/loopdiff")


def test_one_text_is_one_file(directory: Path) -> None:
    first = write_module("f", "x = 1\n")
    stamp = first.stat().st_mtime_ns
    assert write_module("f", "x = 1\n") == first
    assert first.stat().st_mtime_ns == stamp
    assert write_module("f", "x = 2\n") != first
    assert sorted(directory.glob("*.py")) == sorted({first, write_module("f", "x = 2\n")})


def test_a_module_is_imported_once(directory: Path) -> None:
    path = write_module("g", "values = []\n")
    import_module(path).values.append(1)
    assert import_module(path).values == [1]


def test_another_process_loads_machine_code(directory: Path) -> None:
    args = {"x": np.arange(6.0)}
    compiled = compile_loopset(lower(discounted, args))
    compiled.dispatcher(*args.values())
    env = {**os.environ, "LOOPDIFF_CACHE_DIR": str(directory), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", textwrap.dedent(FRESH), str(compiled.path)]
    out = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    hits, misses, last = out.stdout.split()
    assert (hits, misses) == ("1", "0")
    assert float(last) == 0.5 * (0.5 * (0.5 * (0.5 * 1.0 + 2.0) + 3.0) + 4.0) + 5.0


def test_without_cache_nothing_is_kept(directory: Path) -> None:
    function, make = PROGRAMS["recurrence"]
    args = make(np.random.default_rng(0), 6, np.float64)
    compiled = compile_loopset(lower(function, args), cache=False)
    compiled.dispatcher(*args.values())
    assert not any(directory.iterdir())
    assert compiled.path.read_text() == compiled.source


def test_remarks_become_comments() -> None:
    writer = Writer()
    with writer.block("def f(x):"):
        writer.remark("it's `here`")
        writer.line("return (x   +1)")
    assert render(writer.text) == "def f(x):\n    # it's `here`\n    return x + 1\n"


def test_an_empty_block_passes() -> None:
    writer = Writer()
    with writer.block("if x:"):
        writer.remark("nothing to do")
    assert render(writer.text) == "if x:\n    # nothing to do\n    pass\n"


def test_source_that_numba_refuses_is_reported_with_its_file(directory: Path) -> None:
    text = "from numba import njit\n\n\n@njit\ndef broken():\n    return missing\n"
    path = write_module("broken", text)
    function = load_function("broken", path, text)
    with pytest.raises(BackendError, match="missing") as caught:
        instantiate(ir.LoopSet("broken", (), (), (), ()), function, Options(), Stages("broken"))
    assert caught.value.codes == ("LD601",)
    assert f"LD601: Numba cannot compile {path}, generated from `broken`: " in str(caught.value)


@pytest.mark.parametrize("is_known", [True, False])
def test_machine_code_is_loaded_without_the_compiler_unless_it_calls_some_of_it(
    is_known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def halved(x):
        return 0.5 * x[0]

    x = np.ones(3)
    dispatcher: Any = vectorize_grad(halved).compile(x).unit("primal").dispatcher
    (signature,) = dispatcher.overloads
    if not is_known:
        monkeypatch.setattr(machine_code.llvm, "address_of_symbol", lambda _: None)
    context, refreshed = dispatcher.targetctx, []
    monkeypatch.setattr(context, "refresh", lambda: refreshed.append(True), raising=False)
    found = machine_code.MachineCode(dispatcher.py_func).load_overload(signature, context)
    assert found.entry_point(x) == 0.5
    assert bool(refreshed) is not is_known
