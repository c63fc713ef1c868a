"""Kernels on disk: read as they were compiled, and compiled again where they are gone or damaged."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from numba.core import types

from loopdiff import LoopdiffWarning
from loopdiff.disk import notices, secret
from loopdiff.pipeline.code import reload_function
from tests.disk.damage import DAMAGE

pytestmark = pytest.mark.skipif(importlib.util.find_spec("numba_cuda") is None, reason="numba-cuda is not installed")
TEXT = "def fill_kernel(a):\n    a[0] = 1.0\n"
LAUNCHING = """
from loopdiff.backends.cuda.kernel_store import stored_kernel
fill = stored_kernel({!r}).entry
"""


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], tuple[str, int]]]:
    """Asks, as a new process does, for a kernel: its digest, and how many were compiled so far."""
    from loopdiff.backends.cuda import compiler, kernel_store
    from loopdiff.backends.cuda.compiler import CompiledKernel, Parameter, Resources
    from loopdiff.backends.cuda.text.device import KernelText
    from loopdiff.backends.load import write_module

    monkeypatch.setenv("LOOPDIFF_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("LOOPDIFF_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setattr(notices, "SAID", set())
    monkeypatch.setattr(secret, "KNOWN", {})
    made = []
    expected = CompiledKernel(b"\0cubin\xff", "fill", (Parameter(0, "data", 8),), "ptx", Resources(1, 2, 3, 4, 5, 6))

    def compile_kernel(*args: object) -> CompiledKernel:
        made.append(args)
        return expected

    monkeypatch.setattr(compiler, "compile_kernel", compile_kernel)
    kernel = KernelText("fill_kernel", (types.float64[::1],), 1, (256, 1, 1))

    def ask() -> tuple[str, int]:
        kernel_store.KERNELS.clear()
        digest = kernel_store.kernel_code(write_module("fill", TEXT), kernel)
        assert kernel_store.stored_kernel(digest) == expected
        return digest, len(made)

    yield ask
    kernel_store.KERNELS.clear()


def test_kernels_are_compiled_once(compiled: Callable[[], tuple[str, int]]) -> None:
    assert [compiled()[1] for _ in range(3)] == [1, 1, 1]


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damaged_kernels_are_compiled_again(
    damage: Callable[[Path], None], compiled: Callable[[], tuple[str, int]], tmp_path: Path
) -> None:  # fmt: skip
    compiled()
    (path,) = tmp_path.glob("cache/kernels/*.json")
    damage(path)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        with pytest.warns(LoopdiffWarning, match="LW603"):
            assert compiled()[1] == 2
    assert compiled()[1] == 2


def test_functions_whose_kernels_are_gone_are_written_again(
    compiled: Callable[[], tuple[str, int]], tmp_path: Path
) -> None:  # fmt: skip
    from loopdiff.backends.cuda import kernel_store

    digest, _ = compiled()
    found = reload_function("fill", LAUNCHING.format(digest))
    assert found is not None
    (path,) = tmp_path.glob("cache/kernels/*.json")
    path.unlink()
    kernel_store.KERNELS.clear()
    assert reload_function("fill", f"{LAUNCHING.format(digest)}# elsewhere") is None
