"""Compiled kernels on disk, under a digest of all that they are made from, and on their way to the device."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loopdiff.backends.cuda.launching import launcher
from loopdiff.backends.load import import_module, in_cache, module_name
from loopdiff.disk import entries
from loopdiff.ir.codec import CodecError, decode, encode

if TYPE_CHECKING:
    from loopdiff.backends.cuda.compiler import CompiledKernel
    from loopdiff.backends.cuda.text.device import KernelText

KERNELS: dict[str, CompiledKernel] = {}


class MissingKernelError(LookupError):
    """A kernel that is not on disk any more: it is to be compiled again."""


def kernel_code(path: Path, kernel: KernelText) -> str:
    """The digest of a kernel of the generated module at `path`, which is compiled unless it was before."""
    from loopdiff.backends.cuda.compiler import VERSION, compile_kernel

    digest = module_name("kernel", "\n".join([path.name, kernel.name, repr(kernel.signature), VERSION]))
    try:
        stored_kernel(digest)
    except MissingKernelError:
        found = compile_kernel(getattr(import_module(path), kernel.name), kernel.signature)
        KERNELS[digest] = found
        if in_cache(path):
            entries.write(entry_of(digest), encode(found))
    return digest


def entry_of(digest: str) -> str:
    return f"kernels/{digest}.json"


def stored_kernel(digest: str) -> CompiledKernel:
    """The kernel with that digest. Raises MissingKernelError."""
    if digest not in KERNELS:
        KERNELS[digest] = read_kernel(digest)
    return KERNELS[digest]


def read_kernel(digest: str) -> CompiledKernel:
    from loopdiff.backends.cuda.compiler import CompiledKernel

    payload = entries.read(entry_of(digest))
    if payload is None:
        raise MissingKernelError(digest)
    try:
        found = decode(payload)
    except CodecError as error:
        entries.discard(entry_of(digest), "cannot be read")
        raise MissingKernelError(digest) from error
    assert isinstance(found, CompiledKernel)
    return found


def launcher_of(digest: str, block: tuple[int, int, int]) -> Callable[..., Any]:
    """What launches the kernel with that digest, which is loaded if there is a GPU. Raises MissingKernelError."""
    from loopdiff.backends.cuda.driver import is_there, the_driver

    if is_there():
        found = stored_kernel(digest)
        the_driver().load(digest, found.code, found.entry)
    return launcher(digest, block)
