"""Compiled kernels on disk, under a digest of all that they are made from, and on their way to the device."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loopdiff.backends.cuda.launching import launcher
from loopdiff.backends.load import import_module, module_name, write_once

if TYPE_CHECKING:
    from loopdiff.backends.cuda.compiler import CompiledKernel
    from loopdiff.backends.cuda.device import KernelText

FOLDERS: dict[str, Path] = {}


def kernel_code(path: Path, kernel: KernelText) -> str:
    """The digest of a kernel of the generated module at `path`, which is compiled unless it was before."""
    from loopdiff.backends.cuda.compiler import VERSION, compile_kernel

    digest = module_name("kernel", "\n".join([path.name, kernel.name, repr(kernel.signature), VERSION]))
    place = path.parent / f"{digest}.pickle"
    FOLDERS[digest] = path.parent
    if not place.exists():
        compiled = compile_kernel(getattr(import_module(path), kernel.name), kernel.signature)
        write_once(place, pickle.dumps(compiled))
    return digest


@cache
def stored_kernel(digest: str) -> CompiledKernel:
    """The kernel with that digest."""
    from loopdiff.backends.load import cache_directory

    folder = FOLDERS.get(digest, cache_directory())
    return pickle.loads((folder / f"{digest}.pickle").read_bytes())


def launcher_of(digest: str, block: tuple[int, int, int]) -> Callable[..., Any]:
    """What launches the kernel with that digest, which is loaded if there is a GPU."""
    from loopdiff.backends.cuda.driver import is_there, the_driver

    if is_there():
        found = stored_kernel(digest)
        the_driver().load(digest, found.code, found.entry)
    return launcher(digest, block)
