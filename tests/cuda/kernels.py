"""Launch plans, kernels and cubins of programs of the corpus."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from loopdiff.ad.tape.sweeps import Sweeps
from loopdiff.backends.cpu.compile import Style
from loopdiff.backends.cuda.compiler import CompiledKernel, compile_kernel
from loopdiff.backends.cuda.text.device import Device, KernelModule, kernel_modules
from loopdiff.backends.cuda.text.host import HostEmitter
from loopdiff.backends.load import import_module, write_module
from loopdiff.mapping.launches import Launch, LaunchPlan, all_steps
from loopdiff.passes.storage.workspace import own_arrays
from loopdiff.pipeline import derive
from loopdiff.pipeline.stages import Stages
from loopdiff.specialize.units import kept_plan
from tests.corpus import BY_NAME, ENTRIES, Entry
from tests.cuda import plain
from tests.gradients.interpreted import in_real_parts, lowered


@cache
def sweeps_of(name: str) -> Sweeps:
    """The sweeps of an entry as `vjp` runs them."""
    entry = BY_NAME[name]
    ls = lowered(entry)
    return derive.derive_sweeps(ls, in_real_parts(entry).wrt, "auto", Stages(name), "pullback")


def plans_of(name: str) -> tuple[LaunchPlan, LaunchPlan]:
    """The launch plans of the forward and the reverse sweep, those that `plain` emulates."""
    sweeps = kept_plan(sweeps_of(name))
    found = ((sweeps.forward, sweeps.reverse), (sweeps.reverse, None))
    forward, reverse = (plain.plan(ls, Style(dead=own_arrays(ls, reader))) for ls, reader in found)
    return forward, reverse


def launches(plan: LaunchPlan) -> list[Launch]:
    return [s for s in all_steps(plan.steps) if isinstance(s, Launch)]


@dataclass(frozen=True, slots=True)
class Made:
    """A kernel, and its launch; those that are common to many programs have none."""

    name: str
    launch: Launch | None
    compiled: CompiledKernel


def compiled_kernels(plan: LaunchPlan) -> Iterator[Made]:
    """All kernels of a plan, for the GPU."""
    host = HostEmitter(plan.ls, plan=plan, target=Device())
    own, *common = kernel_modules(host)
    for kernel, written in zip(own.kernels, host.kernels, strict=True):
        function = getattr(import_module(write_module(own.stem, own.text)), kernel.name)
        yield Made(kernel.name, written.launch, compile_kernel(function, kernel.signature))
    for module in common:
        (kernel,) = module.kernels
        yield Made(kernel.name, None, common_kernel(module))


@cache
def common_kernel(module: KernelModule) -> CompiledKernel:
    """The machine code of a kernel that is the same for many programs."""
    (kernel,) = module.kernels
    return compile_kernel(getattr(import_module(write_module(module.stem, module.text)), kernel.name), kernel.signature)


WITHOUT_RULES: tuple[Entry, ...] = tuple(e for e in ENTRIES if not e.name.startswith("ruled_"))
