"""Generated modules on disk: written once under a name that hashes their content and this
installation, imported, and found again by key.

The files stay where tracebacks, Numba's disk cache and curious users can find them: `LOOPDIFF_CACHE_DIR`, or
`loopdiff` in the user's cache directory.
"""

from __future__ import annotations

import atexit
import hashlib
import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from loopdiff.deferred import deferred_interrupts
from loopdiff.installation import installation

if TYPE_CHECKING:
    from loopdiff.transform.schedule import Arranged


@dataclass(frozen=True, slots=True)
class CompiledFunction:
    """A generated function: Numba `dispatcher`, its `source`, the file it lives in, and what it was generated from, if
    that was in this process."""

    name: str
    dispatcher: Callable[..., Any]
    source: str
    path: Path
    arranged: Arranged | None = None


def cache_directory() -> Path:
    """Where generated modules live: `LOOPDIFF_CACHE_DIR`, else below `XDG_CACHE_HOME` or `~/.cache`."""
    chosen = os.environ.get("LOOPDIFF_CACHE_DIR")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or str(Path.home() / ".cache")
    return Path(base) / "loopdiff"


def module_name(stem: str, text: str) -> str:
    """A name for the text, and for the loopdiff that it calls: Numba's cache only looks at the text."""
    return f"loopdiff_{stem}_{hashlib.sha256(f'{installation()} {text}'.encode()).hexdigest()[:16]}"


def write_module(stem: str, text: str, *, is_cached: bool = True) -> Path:
    """Write `text` as a module file and return its path.

    Where the cache directory cannot be written, as without `is_cached`, the file lasts as long as the process.
    """
    name = f"{module_name(stem, text)}.py"
    if is_cached:
        try:
            return write_once(cache_directory() / name, text)
        except OSError:
            pass
    return write_once(scratch_directory() / name, text)


@cache
def scratch_directory() -> Path:
    """A directory that goes away with the process."""
    path = tempfile.mkdtemp(prefix="loopdiff_")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return Path(path)


def write_once(path: Path, content: str | bytes) -> Path:
    """Write the file in one step, unless it is there: its name is a hash of its content, or of what that comes from."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        with os.fdopen(handle, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode("utf-8"))
        Path(temporary).replace(path)
    return path


def import_module(path: Path) -> ModuleType:
    """Import a generated module, once per process."""
    name = path.stem
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with deferred_interrupts():  # it may bring the back end with it
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]  # half of a module is none
            raise
    return module


def load_function(name: str, path: Path, text: str, arranged: Arranged | None = None) -> CompiledFunction:
    """The generated function `name` in the module at `path`."""
    return CompiledFunction(name, getattr(import_module(path), name), text, path, arranged)
