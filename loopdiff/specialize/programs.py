"""What a Specialization is of: the decorated function, its gradient, its pullback."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import RLock
from typing import TYPE_CHECKING

from loopdiff.cache.keys import Identity, digest_of, identity_of
from loopdiff.cache.store import Store
from loopdiff.frontend.callees import Sources
from loopdiff.frontend.capture import ArgumentType
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.pipeline.derive import (
    derive_batch,
    derive_gradient,
    derive_pullback,
    derive_pushforward,
    looked_through,
    lower,
    plain_buffers,
    read,
)
from loopdiff.pipeline.stages import Progress, Stages
from loopdiff.settings.options import Options, is_whole_compiler
from loopdiff.source.functions import SourceFunction
from loopdiff.specialize.interface import Interface, interface_of
from loopdiff.specialize.specialization import AnyProgram, Specialization, require_scalar_result

if TYPE_CHECKING:
    from loopdiff.canonical.batching import Batch
    from loopdiff.frontend.written import Surface


class Program:
    """The decorated function, read when it is decorated: of the names that it uses arrays, structures and what objects
    have are looked at again in calls, numbers and functions are as they were.

    `surface` is its surface LoopSet if that is the same for all types. `has_structures`: it is called by its leaves.
    """

    has_value = True

    def __init__(self, source: SourceFunction, options: Options, sources: Sources | None = None) -> None:
        self.source, self.options = source, options
        self.stages = Stages(source.name, Progress(source.name, options.progress))
        self.lock, self.sources = RLock(), sources or Sources()
        self.sources.read(source)
        is_kept = options.cache and is_whole_compiler()
        self.identity = identity_of(source, self.sources) if is_kept else Identity()
        self.key = self.identity.key
        store = Store(self.key, self.identity.homes)
        found = store.load("surface")
        if found is None:
            found = looked_through(source, self.sources, self.stages)
            store.save("surface", found)
        self.surface, self.has_structures = found

    def read(self, types: Mapping[str, ArgumentType], stages: Stages) -> Surface:
        """The function as it was written, for arguments of `types`."""
        return read(self.source, self.sources, types, stages)

    def lower(self, spec: Specialization) -> ir.LoopSet:
        """The normal LoopSet for the types of `spec`."""
        from_end = spec.options.negative == "from_end"
        return lower(spec.surface.ls, spec.types, spec.stages, spec.options.fastmath, from_end, spec.bound)

    def interface(self, spec: Specialization) -> Interface:
        return interface_of(spec.bound, spec.normal)

    def inner(self, types: Mapping[str, ArgumentType], /) -> None:
        """It is no gradient."""


class GradientProgram:
    """The gradient of a program, as a program: its own output, which the transforms take like any other.

    `specialize` gives the program's sweeps for argument types, `wrt` is what they were asked to differentiate.
    `has_value`: the program's result comes before the gradients.
    """

    def __init__(
        self,
        inner: AnyProgram,
        specialize: Callable[[Mapping[str, ArgumentType]], Specialization],
        wrt: tuple[str, ...] | None,
        options: Options,
        has_value: bool,
    ) -> None:
        self.inner, self.has_value = specialize, has_value
        self.source, self.surface, self.stages, self.lock = inner.source, inner.surface, inner.stages, inner.lock
        self.read, self.identity, self.options = inner.read, inner.identity, options
        parts = ["gradient", repr(wrt), inner.options.key, repr(has_value)]
        self.key = digest_of([inner.key, *parts]) if inner.key is not None and options.cache else None

    def lower(self, spec: Specialization) -> ir.LoopSet:
        """The gradient's LoopSet for the types of `spec`. DifferentiationError (LD404) if there is no gradient."""
        inner = self.inner(spec.types)
        require_scalar_result(inner)
        plan = inner.plan()
        return derive_gradient(
            inner.normal, plan.forward, plan.reverse, plan.count_names, inner.wrt, self.has_value, spec.stages
        )

    def interface(self, spec: Specialization) -> Interface:
        inner = self.inner(spec.types)
        return inner.interface.of_gradient(inner.wrt_of_caller, self.has_value)


class DerivedProgram:
    """A program that is derived from `inner` for the types of that: `derive` makes its normal LoopSet, `name` says what
    it is."""

    has_value = False

    def __init__(self, inner: Specialization, name: str, derive: Callable[[Stages], ir.LoopSet]) -> None:
        program = inner.program
        self.derive, self.source, self.surface, self.read = derive, program.source, program.surface, program.read
        self.stages, self.lock, self.identity = program.stages, program.lock, program.identity
        self.options = replace(program.options, schedule=())
        self.key = None if program.key is None else digest_of([program.key, name, repr(inner.wrt)])

    def lower(self, spec: Specialization) -> ir.LoopSet:
        return self.derive(spec.stages)

    def interface(self, spec: Specialization) -> Interface:
        """Real throughout: complex values are taken apart before, and put together after."""
        return interface_of(spec.normal, spec.normal)

    def inner(self, types: Mapping[str, ArgumentType], /) -> None:
        """It is no gradient."""


def pullback_of(inner: Specialization, wrt: tuple[str, ...]) -> Specialization:
    """The gradients of `inner` for any seeds and cotangents, differentiable by `wrt` and by these."""

    def derive(stages: Stages) -> ir.LoopSet:
        plan = inner.plan()
        return derive_pullback(inner.normal, plan.forward, plan.reverse, plan.count_names, inner.wrt, stages)

    def make() -> Specialization:
        made = Specialization(DerivedProgram(inner, "pullback", derive), inner.types, None)
        given = made.normal.params[len(inner.normal.params) :]
        made.requested = (*wrt, *(n for n in given if n not in inner.plan().count_names))
        return made

    return inner.once(f"pullback {wrt!r}", make)


def pushforward_of(inner: Specialization, wrt: tuple[str, ...]) -> Specialization:
    """The tangents of the results of `inner` for any tangents of its arguments, differentiable by `wrt` and these."""

    def derive(stages: Stages) -> ir.LoopSet:
        return derive_pushforward(inner.normal, plain_buffers(inner.tangent_loops), stages)

    def make() -> Specialization:
        made = Specialization(DerivedProgram(inner, "pushforward", derive), inner.types, None)
        made.requested = (*wrt, *made.normal.params[len(inner.normal.params) :])
        return made

    return inner.once(f"pushforward {wrt!r}", make)


def batch_of(inner: Specialization, batch: Batch) -> Specialization:
    """`inner` for each of a batch, differentiable by what `inner` is."""
    name = f"batch {digest_of([batch.key])}"

    def derive(stages: Stages) -> ir.LoopSet:
        return derive_batch(inner.normal, batch, stages)

    def make() -> Specialization:
        return Specialization(DerivedProgram(inner, name, derive), inner.types, inner.wrt)

    return inner.once(name, make)
