"""Launch plans, kernels and cubins of programs of the corpus."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from loopdiff import pipeline
from loopdiff.ad.sweeps import Sweeps
from loopdiff.backends.cpu.compile import Style
from loopdiff.backends.cuda.compile import plan_of
from loopdiff.backends.cuda.compiler import CompiledKernel, compile_kernel
from loopdiff.backends.cuda.device import Device, module_text
from loopdiff.backends.cuda.host import HostEmitter
from loopdiff.backends.load import import_module, write_module
from loopdiff.stages import Stages
from loopdiff.transform.blocked import own_arrays
from loopdiff.transform.launch_plan import Launch, LaunchPlan, all_steps
from tests.corpus import BY_NAME, ENTRIES, Entry
from tests.gradients.interpreted import in_real_parts, lowered


@cache
def sweeps_of(name: str) -> Sweeps:
    """The sweeps of an entry as `vjp` runs them."""
    entry = BY_NAME[name]
    ls = lowered(entry)
    return pipeline.derive_sweeps(ls, in_real_parts(entry).wrt, "auto", Stages(name), "pullback")


def plans_of(name: str) -> tuple[LaunchPlan, LaunchPlan]:
    """The launch plans of the forward and the reverse sweep."""
    sweeps = sweeps_of(name)
    found = ((sweeps.forward, sweeps.reverse), (sweeps.reverse, None))
    forward, reverse = (plan_of(ls, Style(dead=own_arrays(ls, reader))) for ls, reader in found)
    return forward, reverse


def launches(plan: LaunchPlan) -> list[Launch]:
    return [s for s in all_steps(plan.steps) if isinstance(s, Launch)]


@dataclass(frozen=True, slots=True)
class Made:
    """A kernel, and its launch; those that end sums have none."""

    name: str
    launch: Launch | None
    compiled: CompiledKernel


def compiled_kernels(plan: LaunchPlan) -> Iterator[Made]:
    """All kernels of a plan, for the GPU."""
    host = HostEmitter(plan.ls, plan=plan, target=Device())
    text, kernels = module_text(host)
    module = import_module(write_module(plan.ls.name, text))
    launches = [k.launch for k in host.kernels]
    for number, kernel in enumerate(kernels):
        launch = launches[number] if number < len(launches) else None
        yield Made(kernel.name, launch, compiled(getattr(module, kernel.name), kernel.signature, launch is None))


ENDS: dict[Any, CompiledKernel] = {}


def compiled(function: Any, signature: tuple[Any, ...], is_end: bool) -> CompiledKernel:
    """The machine code of a kernel; those that end sums are the same for all programs."""
    if not is_end:
        return compile_kernel(function, signature)
    key = (function.__name__, signature)
    if key not in ENDS:
        ENDS[key] = compile_kernel(function, signature)
    return ENDS[key]


WITHOUT_RULES: tuple[Entry, ...] = tuple(e for e in ENTRIES if not e.name.startswith("ruled_"))
