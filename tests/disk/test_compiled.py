"""Compiled functions from a cache that is damaged, shared, full, gone, or of another installation: right, and quietly
made again."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import loopdiff
from loopdiff import LoopdiffWarning, vectorize_grad
from loopdiff.backends import load
from loopdiff.backends.machine_code import MachineCode
from loopdiff.disk import notices, secret
from loopdiff.settings.installation import installation, installed
from tests.disk.damage import DAMAGE
from tests.lengths import IS_LONG

pytestmark = pytest.mark.part(4)
ROOT = Path(loopdiff.__file__).parents[1]
PROGRAM = """
import numpy as np
from loopdiff import vectorize_grad

@vectorize_grad
def weighted(x):
    total = 0.0
    for i in range(x.shape[0]):
        total += 3.0 * x[i]
    return total

print(weighted(np.ones(4)))
"""
# What there is on disk of a function.
KINDS = {
    "derived": "derived/*-normal.json",
    "generated": "derived/*-emitted.json",
    "machine code": "machine/weighted-*.bin",
    "bytecode": "modules/loopdiff_weighted_*.bin",
    "source": "loopdiff_weighted_*.py",
}


def weighted(x):
    total = 0.0
    for i in range(x.shape[0]):
        total += 3.0 * x[i]
    return total


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("LOOPDIFF_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("LOOPDIFF_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setattr(notices, "SAID", set())
    monkeypatch.setattr(secret, "KNOWN", {})
    yield tmp_path / "cache"
    forget()


def forget() -> None:
    """What a new process does not know."""
    for name in [n for n in sys.modules if n.startswith("loopdiff_weighted_")]:
        del sys.modules[name]
    load.TEXTS.clear()


def value() -> float:
    """The function of a new process."""
    forget()
    return vectorize_grad(weighted)(np.ones(4))


def environment(folder: Path, **others: str) -> dict[str, str]:
    own = {"LOOPDIFF_CACHE_DIR": str(folder), "LOOPDIFF_CONFIG_DIR": str(folder.parent / "config")}
    return {**os.environ, "PYTHONPATH": str(ROOT), **own, **others}


def run(folder: Path, *options: str, program: str = PROGRAM, **others: str) -> tuple[float, str]:
    """What another process prints, and what it complains of."""
    path = folder.parent / "program.py"
    path.write_text(program)
    command = [sys.executable, *options, str(path)]
    done = subprocess.run(command, env=environment(folder, **others), capture_output=True, text=True, cwd=path.parent)
    assert done.returncode == 0, done.stderr
    return float(done.stdout), done.stderr


@pytest.mark.part(3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_each_kind_of_file_survives_each_kind_of_damage(
    kind: str, damage: Callable[[Path], None], folder: Path
) -> None:  # fmt: skip
    assert value() == 12.0
    (path,) = folder.glob(KINDS[kind])
    content = path.read_bytes()
    if damage is DAMAGE["other_length"] and b" 1 " not in content[:20]:
        pytest.skip("it has no length")
    damage(path)
    with pytest.warns(LoopdiffWarning, match="LW603: .*made again"):
        assert value() == 12.0
    assert path.exists()
    assert not path.is_symlink()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert value() == 12.0
    if kind != "machine code":  # that has an order of its own in each process
        assert path.read_bytes() == content


def test_nothing_that_is_damaged_is_executed(folder: Path) -> None:
    """Neither sources nor pickles, in the places where they were looked for once, and are now."""
    value()
    marker = folder.parent / "executed"
    code = f"open({str(marker)!r}, 'w').close()\n"
    pickled = f"cbuiltins\nexec\n(S{code!r}\ntR.".encode()
    for path in [p for p in folder.rglob("*") if p.is_file()]:
        path.write_bytes(code.encode() if path.suffix == ".py" else pickled)
    old = folder / "__pycache__"
    old.mkdir()
    for path in folder.glob("loopdiff_*.py"):
        for name in (f"{path.stem}.weighted-9.py311.nbi", f"{path.stem}.cpython-311.pyc"):
            (old / name).write_bytes(pickled)
    with pytest.warns(LoopdiffWarning, match="LW603"):
        assert value() == 12.0
    assert not marker.exists()


def test_damage_is_no_exception_where_warnings_are(folder: Path) -> None:
    assert run(folder) == (12.0, "")
    for path in [p for p in folder.rglob("*") if p.is_file()]:
        path.write_bytes(b"")
    found, said = run(folder, "-W", "error")
    assert found == 12.0
    assert said.count("LW603") == 1
    assert run(folder, "-W", "error") == (12.0, "")


def test_a_folder_that_disappears_while_it_is_used(folder: Path) -> None:
    f = vectorize_grad(weighted)
    assert f(np.ones(4)) == 12.0
    shutil.rmtree(folder)
    assert f.grad(np.ones(4)).x.tolist() == [3.0] * 4
    assert f(np.ones(4, np.float32)) == 12.0


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Callable[[str], None]]:
    """Mounts a small disk as the folder `small`, with the options given."""
    place = tmp_path / "small"
    place.mkdir()

    def mount(options: str) -> None:
        command = ["mount", "-t", "tmpfs", "-o", f"mode=700,{options}", "none", str(place)]
        try:
            done = subprocess.run(command, capture_output=True, check=False)
        except FileNotFoundError:
            pytest.skip("no mount")
        if done.returncode:
            pytest.skip("mounting is not allowed")

    yield mount
    if os.path.ismount(place):
        subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.parametrize("size", ["4k", "24k"])
def test_a_disk_that_is_full(size: str, disk: Callable[[str], None], tmp_path: Path) -> None:
    """With room for none of the files, or for some."""
    disk(f"size={size}")
    small = tmp_path / "small"
    assert run(small, "-W", "error") == (12.0, "")
    assert not list(small.rglob("*.tmp"))
    assert not list(small.glob("machine/*"))


def test_a_disk_that_cannot_be_written(disk: Callable[[str], None], tmp_path: Path) -> None:
    disk("size=8m")
    small = tmp_path / "small"
    disk("remount,ro")
    assert run(small, "-W", "error") == (12.0, "")
    assert not list(small.iterdir())
    disk("remount,rw")
    assert run(small, "-W", "error") == (12.0, "")
    kept = {p: p.stat().st_mtime_ns for p in small.rglob("*")}
    disk("remount,ro")
    assert run(small, "-W", "error") == (12.0, "")
    assert kept == {p: p.stat().st_mtime_ns for p in small.rglob("*")}


def test_another_processor_has_files_of_its_own(folder: Path) -> None:
    assert run(folder) == (12.0, "")
    first = {p.name for p in folder.glob("machine/weighted-*")}
    assert run(folder, NUMBA_CPU_NAME="generic") == (12.0, "")
    second = {p.name for p in folder.glob("machine/weighted-*")}
    assert first < second
    assert run(folder, NUMBA_CPU_NAME="generic") == (12.0, "")
    assert second == {p.name for p in folder.glob("machine/weighted-*")}


@pytest.mark.parametrize(
    ("owner", "name"),
    [(sys, "version"), (np, "__version__"), (numba, "__version__"), (numba.config, "CPU_NAME")],
    ids=["python", "numpy", "numba", "processor"],
)
def test_another_version_has_names_of_its_own(owner: object, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("loopdiff.settings.installation.installed", installed.__wrapped__)
    before = installation()
    monkeypatch.setattr(owner, name, "another")
    assert installation() != before


@pytest.mark.parametrize("room", ["ad", "backends/cpu", "canonical", "passes/loops", "settings"])
def test_another_compiler_has_names_of_its_own(room: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(Path(loopdiff.__file__).parent, tmp_path / "loopdiff", ignore=shutil.ignore_patterns("*.pyc"))
    monkeypatch.setattr("loopdiff.settings.installation.installed", installed.__wrapped__)
    before = installation()
    monkeypatch.setattr("loopdiff.settings.installation.PACKAGE", tmp_path / "loopdiff")
    assert installation() == before
    changed = sorted((tmp_path / "loopdiff" / room).glob("*.py"))[-1]
    changed.write_text(changed.read_text() + "# another\n")
    assert installation() != before


def test_names_of_machine_code_say_what_it_depends_on() -> None:
    @numba.njit
    def f(x):
        return x

    @numba.njit
    def other(x):
        return x

    code, codegen = MachineCode(f.py_func), f.targetctx.codegen()
    types = [numba.types.float64, numba.types.int64, numba.types.float64[:], numba.types.float64[::1]]
    types.append(numba.types.Array(numba.types.float64, 1, "C", readonly=True))
    names = [code.name((ty,), codegen) for ty in types]
    assert None not in names
    assert len({*names, MachineCode(other.py_func).name((types[0],), codegen)}) == len(types) + 1
    assert code.name((numba.typeof(other),), codegen) is None  # the name of its type has an address in it


def test_the_same_function_elsewhere_is_compiled_once(folder: Path) -> None:
    """Machine code is found by what it is made of, not by where the cache or the program is."""
    assert run(folder) == (12.0, "")
    moved = folder.parent / "moved"
    folder.rename(moved)
    before = set(moved.glob("machine/*"))
    assert run(moved) == (12.0, "")
    assert set(moved.glob("machine/*")) == before


def test_four_processes_at_once(folder: Path) -> None:
    path = folder.parent / "program.py"
    path.write_text(PROGRAM)
    command = [sys.executable, "-W", "error", str(path)]
    options: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    started = [subprocess.Popen(command, env=environment(folder), **options) for _ in range(4)]
    assert [p.communicate()[0] for p in started] == ["12.0\n"] * 4
    assert run(folder, "-W", "error") == (12.0, "")
    assert len(list(folder.glob("machine/weighted-*"))) == 1


# `count` processes that write are ended, each at a moment of its own; none leaves anything that another stumbles over.
KILLED = """
import os, random, signal, sys, time
import numpy as np
from loopdiff import vectorize_grad
from loopdiff.disk import entries

def weighted(x):
    total = 0.0
    for i in range(x.shape[0]):
        total += 3.0 * x[i]
    return total

contents = [bytes([k]) * size for k, size in enumerate((10, 1 << 12, 1 << 16, 1 << 20))]

def write_entries():
    while True:
        for k, content in enumerate(contents):
            entries.write(f"derived/{k % 2}.json", content)

def compile_function():
    vectorize_grad(weighted).grad(np.ones(4))

def killed(work, longest):
    child = os.fork()
    if child == 0:
        work()
        os._exit(0)
    time.sleep(random.uniform(0.0, longest))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)

random.seed(1)
for k in range(int(sys.argv[1])):
    killed(write_entries, 0.02)
    assert all(entries.read(f"derived/{name}.json") in (None, *contents) for name in (0, 1))
    if k % 3 == 0:
        killed(compile_function, 0.5)
print(vectorize_grad(weighted)(np.ones(4)))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_processes_that_are_killed_while_they_write(folder: Path) -> None:
    count = 200 if IS_LONG else 12
    path = folder.parent / "killed.py"
    path.write_text(KILLED)
    command = [sys.executable, "-W", "ignore::DeprecationWarning", str(path), str(count)]
    done = subprocess.run(command, env=environment(folder), capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("12.0\n", "")
    assert run(folder, "-W", "error") == (12.0, "")
