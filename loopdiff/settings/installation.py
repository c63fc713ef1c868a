"""What compiled code depends on besides its source."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from functools import cache
from hashlib import blake2b
from importlib import import_module
from pathlib import Path

import llvmlite
import numba
import numpy as np
from numba.core import config

# What Numba's environment variables say about the code that it makes.
SETTINGS = (
    "CPU_NAME", "CPU_FEATURES", "ENABLE_AVX", "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "BOUNDSCHECK",
    "DEBUGINFO_DEFAULT", "DISABLE_INTEL_SVML",
)  # fmt: skip
LIBMVEC = "libmvec.so.1"
# The last was added long after the first (glibc 2.22, 2.35): they tell versions of the library apart.
PROBES = ("_ZGVbN2v_exp", "_ZGVnN2v_exp", "_ZGVbN2v_log1p", "_ZGVnN2v_log1p")


PACKAGE = Path(import_module(__name__.partition(".")[0]).__path__[0])


def installation() -> str:
    """Digest of loopdiff's own source, the versions below it, the processor, and Numba's settings as they are now."""
    settings = [repr(getattr(config, name, None)) for name in SETTINGS]
    return blake2b(" ".join([installed(), *settings]).encode(), digest_size=16).hexdigest()


@cache
def installed() -> str:
    """Digest of what does not change while Python runs."""
    from llvmlite import binding

    digest = blake2b(digest_size=16)
    for path in own_files():
        digest.update(str(path.relative_to(PACKAGE)).encode())
        digest.update(path.read_bytes())
    features = binding.get_host_cpu_features().flatten()
    parts = (
        sys.version, np.__version__, numba.__version__, llvmlite.__version__,
        platform.machine(), binding.get_host_cpu_name(), features, library_of_c(),
        object.__basicsize__, tuple.__basicsize__,  # where compiled code finds the words of objects
    )  # fmt: skip
    digest.update(repr(parts).encode())
    return digest.hexdigest()


def own_files() -> list[Path]:
    """Every file of Python of the package, wherever this module stands in it."""
    return sorted(PACKAGE.rglob("*.py"))


def library_of_c() -> str:
    """The version of the C library, whose vector functions compiled code may call; empty where it is not told."""
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (AttributeError, ValueError, OSError):
        return ""


@cache
def vector_library() -> str:
    """glibc's vector mathematics library as far as this machine has it, loaded; empty where there is none.

    Compiled code that calls it ends the process where it is missing. LLVM closes what it has loaded when the process
    ends, which takes the library away from daemon threads in the midst of their loops: ctypes closes nothing.
    """
    from llvmlite import binding

    try:
        ctypes.CDLL(LIBMVEC)
        binding.load_library_permanently(LIBMVEC)
    except (OSError, RuntimeError):
        return ""
    return ",".join(f for f in PROBES if binding.address_of_symbol(f))
