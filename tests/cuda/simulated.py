"""Runs one generated kernel in Numba's CUDA simulator: a thread of the operating system for each of the GPU's.

A process of its own, with NUMBA_ENABLE_CUDASIM=1: `python simulated.py MODULE KERNEL BLOCKS THREADS INPUT OUTPUT`,
arrays in `.npz` files. The simulator knows neither shuffles nor libdevice: sums over a block use shared memory here.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numba import cuda


def block_function(combine: Any) -> Any:
    def over_block(value: Any) -> Any:
        lanes: Any = cuda.shared.array(256, np.float64)
        lane = cuda.threadIdx.x + cuda.threadIdx.y * cuda.blockDim.x
        lanes[lane] = value
        cuda.syncthreads()
        width = 128
        while width > 0:
            if lane < width:
                lanes[lane] = combine(lanes[lane], lanes[lane + width])
            cuda.syncthreads()
            width //= 2
        return lanes[0]

    return cuda.jit(device=True)(over_block)


def main(module: str, kernel: str, blocks: str, threads: str, source: str, target: str) -> None:
    toolchain: Any = ModuleType("loopdiff.backends.cuda.toolchain")
    toolchain.cuda = cuda
    sys.modules[toolchain.__name__] = toolchain
    from loopdiff.backends.cuda.sorting_kernels import SORTING_FUNCTIONS

    functions: Any = ModuleType("loopdiff.backends.cuda.device_functions")
    functions.FUNCTIONS = {
        "block_add_float64": block_function(lambda a, b: a + b),
        "block_max_float64": block_function(max),
        "block_min_float64": block_function(min),
        "max2": cuda.jit(device=True)(lambda a, b: max(a, b)),
        "min2": cuda.jit(device=True)(lambda a, b: min(a, b)),
        **SORTING_FUNCTIONS,
    }
    sys.modules[functions.__name__] = functions
    names: dict[str, Any] = {}
    exec(compile(Path(module).read_text(encoding="utf-8"), module, "exec"), names)
    given = np.load(source)
    args = [given[k] if given[k].ndim else given[k][()] for k in given.files]
    grid, block = (tuple(map(int, text.split(","))) for text in (blocks, threads))
    cuda.jit(names[kernel])[grid, block](*args)
    np.savez(target, **{f"arg_{k:02d}": a for k, a in enumerate(args)})


if __name__ == "__main__":
    main(*sys.argv[1:])
