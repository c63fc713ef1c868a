"""What compiled code depends on besides its source."""

from __future__ import annotations

import platform
import sys
from functools import cache
from hashlib import blake2b
from pathlib import Path

import llvmlite
import numba
import numpy as np


@cache
def installation() -> str:
    """Digest of loopdiff's own source, the versions below it and the processor."""
    from llvmlite import binding

    digest = blake2b(digest_size=16)
    root = Path(__file__).parent
    for path in sorted(root.rglob("*.py")):
        digest.update(str(path.relative_to(root)).encode())
        digest.update(path.read_bytes())
    features = binding.get_host_cpu_features().flatten()
    parts = (
        sys.version, np.__version__, numba.__version__, llvmlite.__version__,
        platform.machine(), binding.get_host_cpu_name(), features,
    )  # fmt: skip
    digest.update(repr(parts).encode())
    return digest.hexdigest()
