"""Generated modules: made of texts that are at hand, under names that hash these and this installation.

What is executed is the text that was generated here, or that came out of an authenticated entry. The files beside the
entries are for tracebacks, profilers and curious users, and nothing reads them back.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import importlib.util
import linecache
import marshal
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from importlib.abc import ExecutionLoader
from pathlib import Path
from threading import RLock
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

from loopdiff.disk import entries
from loopdiff.disk.files import write_file
from loopdiff.disk.places import cache_directory
from loopdiff.immutable import immutable
from loopdiff.settings.installation import installation

if TYPE_CHECKING:
    from loopdiff.mapping.loops import Arranged

LOCK = RLock()
TEXTS: dict[str, str] = {}  # of generated modules, by the names of their files


@immutable
class CompiledFunction:
    """A generated function: Numba `dispatcher`, its `source`, the file it lives in, and what it was generated from, if
    that was in this process."""

    name: str
    dispatcher: Callable[..., Any]
    source: str
    path: Path
    arranged: Arranged | None = None


def digest_of_text(text: str) -> str:
    """A name of the text, and of the loopdiff that it calls."""
    return hashlib.sha256(f"{installation()} {text}".encode()).hexdigest()


def module_name(stem: str, text: str) -> str:
    return f"loopdiff_{stem}_{digest_of_text(text)[:16]}"


def write_module(stem: str, text: str, *, is_cached: bool = True) -> Path:
    """Write `text` where people find it, and return the path of the module.

    Where the cache directory cannot be written, as without `is_cached`, the file lasts as long as the process.
    """
    path = shown(f"{module_name(stem, text)}.py", text, is_cached)
    TEXTS[str(path)] = text
    return path


def shown(name: str, text: str, is_cached: bool) -> Path:
    """Where people find `text`."""
    if is_cached:
        with contextlib.suppress(OSError):
            return entries.publish(name, text)
    path = scratch_directory() / name
    with contextlib.suppress(OSError):  # then there is nothing to look at
        write_file(path, text.encode())
    return path


def in_cache(path: Path) -> bool:
    """Whether what is made of the module at `path` may be kept."""
    return path.parent == cache_directory()


@cache
def scratch_directory() -> Path:
    """A directory that goes away with the process."""
    try:
        path = tempfile.mkdtemp(prefix="loopdiff_")
    except OSError:
        return Path(os.devnull)  # in which there are no files
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return Path(path)


class TextLoader(ExecutionLoader):
    """Makes a module of `text`, which the file at `path` shows."""

    def __init__(self, path: Path, text: str) -> None:
        self.path, self.text = path, text

    def get_filename(self, fullname: str) -> str:
        return str(self.path)

    def get_source(self, fullname: str) -> str:
        return self.text

    def get_code(self, fullname: str) -> CodeType:
        """Bytecode, which takes less time to read than to make."""
        if not in_cache(self.path):
            return self.compiled()
        place = hashlib.sha256(str(self.path).encode()).hexdigest()[:16]
        name = f"modules/{fullname}-{place}.bin"
        kept = entries.read(name)
        if kept is not None:
            try:
                return marshal.loads(kept)
            except (EOFError, ValueError, TypeError):
                entries.discard(name, "cannot be read")
        code = self.compiled()
        entries.write(name, marshal.dumps(code))
        return code

    def compiled(self) -> CodeType:
        return compile(self.text, str(self.path), "exec", dont_inherit=True)


def import_module(path: Path) -> ModuleType:
    """The generated module that was written to `path` in this process, made once."""
    from loopdiff.settings.deferred import deferred_interrupts

    name = path.stem
    with LOCK:
        if name in sys.modules:
            return sys.modules[name]
        text = TEXTS[str(path)]
        linecache.cache[str(path)] = (len(text), None, text.splitlines(keepends=True), str(path))
        spec = importlib.util.spec_from_loader(name, TextLoader(path, text))
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        with deferred_interrupts():  # it may bring the back end with it
            sys.modules[name] = module
            try:
                spec.loader.exec_module(module)
            except BaseException:
                del sys.modules[name]
                raise
        return module


def load_function(name: str, path: Path, text: str, arranged: Arranged | None = None) -> CompiledFunction:
    """The generated function `name` in the module at `path`, which is made of `text`."""
    TEXTS[str(path)] = text
    return CompiledFunction(name, getattr(import_module(path), name), text, path, arranged)


def text_of(file: str) -> str:
    """The text of a generated module, or of one of Python's files. Raises OSError."""
    return TEXTS[file] if file in TEXTS else Path(file).read_text(encoding="utf-8")
