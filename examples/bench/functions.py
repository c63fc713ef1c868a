"""Nanoseconds per element of the vector functions, on arrays within the first cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numba
import numpy as np
from timing import Call, paired

from loopdiff.backends.cpu import simd
from loopdiff.backends.cpu.compile import FASTMATH
from loopdiff.backends.cpu.vector_math.functions import BINARY, OWN, vector_function

# Intrinsics: compiled code calls them without the typing context that their definitions take first.
load: Any = simd.load
store: Any = simd.store

NAMES = (
    "exp", "exp2", "expm1", "log", "log2", "log1p", "sin", "cos", "tan", "tanh", "atan", "atan2", "erf", "cbrt",
    "pow", "hypot",
)  # fmt: skip
COUNT = 1024
PASSES = 16
MOST = {"float64": 1.5, "float32": 0.8}


def kernel(name: str, method: Any, width: int) -> Any:
    """A loop over whole vectors, as generated code has it."""
    function = vector_function(name, method)
    if name in BINARY:

        @numba.njit(fastmath=set(FASTMATH))
        def binary(x, y, out):
            for _ in range(PASSES):
                for i in range(0, x.size, width):
                    store(out, (i,), function(load(x, (i,), width), load(y, (i,), width)))

        return binary

    @numba.njit(fastmath=set(FASTMATH))
    def unary(x, y, out):
        for _ in range(PASSES):
            for i in range(0, x.size, width):
                store(out, (i,), function(load(x, (i,), width)))

    return unary


def call_of(name: str, method: Any, dtype: str) -> Call:
    run = kernel(name, method, simd.host_width(dtype))
    rng = np.random.default_rng(0)
    x, y = (rng.uniform(0.1, 4.0, COUNT).astype(dtype) for _ in range(2))
    out = np.empty_like(x)
    return lambda: run(x, y, out)


def rows(task: Mapping[str, Any], trying: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    for name in NAMES:
        trying(name)
        methods = ("auto", "high", *(("own",) if name in OWN else ()))
        calls = {f"{method} {dtype}": call_of(name, method, dtype) for dtype in MOST for method in methods}
        times = paired(calls, budget=0.4, batch=0.002, most=21)
        # The least: what makes such loops slower are other programs.
        nanoseconds = {what: 1e9 * t.least / (COUNT * PASSES) for what, t in times.items()}
        yield {
            "name": name,
            "nanoseconds": nanoseconds,
            "cells": {"function": name, **{f"{what}, ns": f"{value:.2f}" for what, value in nanoseconds.items()}},
            "targets": [
                (f"{name}: at most {most} ns per {dtype}", f"{nanoseconds[f'auto {dtype}']:.2f}",
                 nanoseconds[f"auto {dtype}"] <= most)
                for dtype, most in MOST.items()
            ],
        }  # fmt: skip
