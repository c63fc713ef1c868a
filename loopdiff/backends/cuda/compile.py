"""From a LoopSet to a function that launches kernels: plan, write the modules, import them."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import Path

from loopdiff.analysis.polyhedra import build_model
from loopdiff.backends.cpu.compile import Style, avoid_reserved_names, decorator_of
from loopdiff.backends.cuda.device import Device, KernelText, kernel_modules
from loopdiff.backends.cuda.emulate import Emulated, grid_function
from loopdiff.backends.cuda.emulated_functions import COMBINE, FUNCTIONS
from loopdiff.backends.cuda.host import HostEmitter
from loopdiff.backends.cuda.kernel_store import kernel_code
from loopdiff.backends.load import CompiledFunction, load_function, write_module
from loopdiff.backends.writer import render
from loopdiff.codes import reject
from loopdiff.errors import BackendError
from loopdiff.ir.nodes import Call, LoopSet
from loopdiff.ir.walk import statements
from loopdiff.requests import NOTHING, Requests
from loopdiff.transform.choices import merge_choices
from loopdiff.transform.copies import without_copies
from loopdiff.transform.gather import gather_sums
from loopdiff.transform.grid_fusion import fuse_grids
from loopdiff.transform.grid_wishes import refuse_ungranted
from loopdiff.transform.held_sums import hold_sums
from loopdiff.transform.isolate_updates import isolate_updates
from loopdiff.transform.launch_plan import LaunchPlan, plan_launches
from loopdiff.transform.normalize import supply
from loopdiff.transform.restructure import ascend, restructure
from loopdiff.transform.rows import Fitting, block_rows
from loopdiff.transform.screening import screen
from loopdiff.transform.split_sums import split_sums
from loopdiff.transform.started_lists import start_lists
from loopdiff.transform.starts import start_sums
from loopdiff.transform.strong import choose_strong_products
from loopdiff.transform.sums import tidy_sums
from loopdiff.transform.thread_tiles import tile_threads
from loopdiff.transform.warps import spread_over_warps

# Rows whose buffers are for kernels: as many as keep a GPU busy, and its memory holds.
ROWS = Fitting(elements=1 << 22, least=1 << 10, most=1 << 16)
NUMBERS = ("float64", "float32", "int64")
PRELUDE = (
    "import math",
    "import numpy as np",
    "from numba import njit",
    "from loopdiff.backends.cpu.direct import Direct",
    "from loopdiff.backends.machine_code import kept",
    "from loopdiff.errors import ArgumentError",
)
# Names of what generated modules call, besides those of the CPU's.
CALLED = (
    "cuda", "FUNCTIONS", "device_empty", "release", "borrow", "keep", "clear", "clear_rows", "peek", "launcher_of",
    "adding", "scanning", "sorting",
)  # fmt: skip
RESERVED = frozenset((*CALLED, *FUNCTIONS)) | {
    f"{stem}_{op}_{kind}" for stem in ("block", "warp", "finish") for op in COMBINE for kind in NUMBERS
}


def plan_of(ls: LoopSet, style: Style, requests: Requests = NOTHING) -> LaunchPlan:
    """The launch plan of a normal LoopSet. Raises ScheduleError for `requests` that cannot be granted (LD5xx)."""
    dead, may_reassociate = style.dead or frozenset(), style.fastmath
    blocked = block_rows(ls, dead, supply(ls), ROWS, requests) if may_reassociate else ls
    dead |= {a.name for a in blocked.arrays} - {a.name for a in ls.arrays}
    arranged = arrange_for_grid(blocked, may_reassociate=may_reassociate)
    fused = fuse_grids(arranged, dead, requests, may_reassociate=may_reassociate)
    model = build_model(fused)
    apart = isolate_updates(model, dead, requests) if may_reassociate else model
    plan = plan_launches(apart, dead, requests, may_reassociate=may_reassociate)
    split = split_sums(plan, requests) if may_reassociate else plan
    spread = spread_over_warps(hold_sums(split), requests, may_reassociate=may_reassociate)
    found = start_lists(replace(spread, steps=tile_threads(spread.steps, requests)))
    refuse_ungranted(apart, found, dead, requests)
    return found


def arrange_for_grid(ls: LoopSet, *, may_reassociate: bool) -> LoopSet:
    """`ls` with checks screened, sums in gather form and contractions isolated, so that loops are independent.

    Raises BackendError (LD603) for what has no kernel.
    """
    for site in statements(ls.body):
        if isinstance(site.stmt, Call):
            message = f"`{site.stmt.rule.name}` has a rule, and runs on the CPU only"
            raise BackendError(reject("LD603", message, site.stmt.loc))
    ls = avoid_reserved_names(screen(merge_choices(choose_strong_products(without_copies(ls)))), RESERVED)
    if not may_reassociate:
        return ascend(ls, is_strict=True)
    return start_sums(restructure(gather_sums(tidy_sums(ls), None)), in_tiles_only=False)


def write_emulated(plan: LaunchPlan, style: Style, *, cache: bool, is_backwards: bool = False) -> CompiledFunction:
    """The function of a plan on the CPU; backwards, blocks and threads run from the last to the first."""
    text = emulated_text(plan, style, cache=cache, is_backwards=is_backwards)
    return load_function(plan.ls.name, write_module(plan.ls.name, text, is_cached=cache), text)


def emulated_text(plan: LaunchPlan, style: Style, *, cache: bool, is_backwards: bool = False) -> str:
    """The module with the host's function, and for each kernel the functions of a thread and of all of them."""
    host = HostEmitter(plan.ls, plan=plan, target=Emulated(is_backwards))
    flags = "{'contract'}" if style.fastmath else "False"
    decorator = decorator_of(flags, cache=cache)
    sums = {f"block_{op}" for k in host.kernels for _, op, _ in k.sums}
    used = host.emitter.imports | host.target.imports | sums
    lines = [
        f'"""Generated by loopdiff from `{plan.ls.name}`: CUDA kernels on the CPU."""',
        *PRELUDE,
        *imports("loopdiff.backends.cpu.scalar_math", host.imports - used),
        "from loopdiff.backends.cuda.emulated_functions import FUNCTIONS",
        *(f"{n} = FUNCTIONS[{n!r}]" for n in sorted(used)),
    ]
    for kernel in host.kernels:
        lines += [decorator, kernel.text, decorator, grid_function(kernel, host.names, is_backwards=is_backwards)]
    return render("\n".join([*lines, decorator, host.text]))


def write_device(plan: LaunchPlan, *, cache: bool) -> CompiledFunction:
    """The function of a plan for GPUs, with its kernels compiled, or found on disk.

    Where there is no GPU it can be read, not run.
    """
    host, kernels, path = device_kernels(plan, cache=cache)
    lines = [
        f'"""Generated by loopdiff from `{plan.ls.name}`: launches of its CUDA kernels, which are in {path.name}."""',
        *PRELUDE,
        *imports("loopdiff.backends.cpu.scalar_math", host.imports),
        *imports("loopdiff.backends.cuda.launching", host.target.imports),
        "from loopdiff.backends.cuda.kernel_store import launcher_of",
        *(f"{k.name} = launcher_of({k.digest!r}, {k.block!r})" for k in kernels),
        *host.target.lists.host_lines(),
        decorator_of("False", cache=cache),
    ]
    whole = render("\n".join([*lines, host.text]))
    return load_function(plan.ls.name, write_module(plan.ls.name, whole, is_cached=cache), whole)


def device_kernels(plan: LaunchPlan, *, cache: bool) -> tuple[HostEmitter[Device], tuple[KernelText, ...], Path]:
    """What the host does, and the kernels of a plan, compiled, with the module where the text of its own is."""
    host = HostEmitter(plan.ls, plan=plan, target=Device())
    modules = kernel_modules(host)
    paths = [write_module(m.stem, m.text, is_cached=cache) for m in modules]
    kernels = [replace(k, digest=kernel_code(p, k)) for m, p in zip(modules, paths, strict=True) for k in m.kernels]
    return host, tuple(kernels), paths[0]


def imports(module: str, names: AbstractSet[str]) -> list[str]:
    return [f"from {module} import {', '.join(sorted(names))}"] if names else []
