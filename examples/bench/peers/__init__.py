"""The others: one module for each, found by name.

A module has `TITLE`, `NEEDS` (the packages it imports) and `gradient(problem)`, which compiles nothing more than
it must and gives a call of the value with the gradients, or None where the peer cannot say the kernel or nobody
has written it down for that peer. The call returns the value (or the outputs) and a mapping from differentiated
arguments to arrays, all of them computed by the time it returns.

With `LOOPDIFF_BENCH_DEVICE=cuda` in the environment, as `gpu.py` has it, arrays of peers that can are those of the GPU,
and whoever times the call waits for them.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, cast

from kernels import Problem

Gradient = Callable[[], tuple[Any, Mapping[str, Any]]]


class Peer(Protocol):
    TITLE: str
    NEEDS: tuple[str, ...]

    @staticmethod
    def gradient(problem: Problem) -> Gradient | None: ...


MODULES = {
    "jax": "jax_arrays",
    "jax-literal": "jax_literal",
    "torch": "torch_eager",
    "torch-compile": "torch_compile",
    "numba": "numba_adjoint",
    "enzyme": "enzyme",
    "drjit": "drjit",
    "warp": "warp_kernels",
    "dace": "dace_programs",
}
ON_GPU = {
    "jax": "jax_arrays", "torch": "torch_eager", "torch-compile": "torch_compile", "warp": "warp_kernels",
    "cupy": "cupy_arrays",
}  # fmt: skip


def device() -> str:
    """Where peers compute: `cpu` or `cuda`."""
    return os.environ.get("LOOPDIFF_BENCH_DEVICE", "cpu")


def missing(name: str) -> tuple[str, ...]:
    """The packages that the peer needs and this Python does not have."""
    return tuple(p for p in needs(name) if importlib.util.find_spec(p) is None)


def needs(name: str) -> tuple[str, ...]:
    """The packages that the peer needs, without importing any of them."""
    source = Path(__file__).with_name(f"{(MODULES | ON_GPU)[name]}.py").read_text(encoding="utf-8")
    return tuple(re.findall(r'"(\w+)"', next(line for line in source.splitlines() if line.startswith("NEEDS"))))


def load(name: str) -> Peer:
    return cast(Peer, importlib.import_module(f"peers.{(MODULES | ON_GPU)[name]}"))


def available() -> tuple[str, ...]:
    return tuple(name for name in MODULES if not missing(name))
