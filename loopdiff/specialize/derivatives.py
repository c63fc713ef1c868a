"""Derivatives that programs call (`frontend.derivatives`): the loops of each, for arguments of some types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from loopdiff.cache.keys import identity_of
from loopdiff.frontend.capture import ArgumentType
from loopdiff.frontend.derivatives import DerivedLoops, Fields, Method
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.names import tail_names
from loopdiff.pipeline.derive import derive_tangent, start_unseen
from loopdiff.settings.options import Options
from loopdiff.source.functions import plain_function
from loopdiff.specialize.gradients import record_type
from loopdiff.specialize.programs import GradientProgram, Program
from loopdiff.specialize.specialization import AnyProgram, Specialization, require_scalar_result


class InPrograms:
    """What programs ask of a function that `vectorize_grad` made when they call its derivatives: the `Derivable` that
    the front end sees."""

    plain: Callable[..., Any]
    program: AnyProgram
    requested: tuple[str, ...] | None
    options: Options

    def specialize(self, types: Mapping[str, ArgumentType]) -> Specialization:
        raise NotImplementedError

    def record_of(self, names: tuple[str, ...]) -> type[Any]:
        """The class of gradients by these arguments."""
        return record_type("Gradients", names)

    def derivative(
        self, method: Method, types: Mapping[str, ArgumentType], directions: tuple[str, ...]
    ) -> DerivedLoops | str:
        """What `method` computes for arguments of `types`; in words why no program can call it.

        Raises what the method does: LD402 to LD404 where there is no such derivative, LD1xx and LD2xx where the
        function takes no such arguments.
        """
        spec = self.specialize(types)
        label = f"derivative {method} {directions!r}"
        return spec.once(label, lambda: derived_loops(self, spec, method, directions))

    @property
    def identity(self) -> str | None:
        """A text that says what this function is and what it is differentiated by; None if there is none."""
        owner, program = getattr(self.plain, "__self__", None), self.program
        if isinstance(owner, InPrograms):
            key = owner.identity
        elif program.key is None and isinstance(program, Program):  # it is not kept itself
            key = identity_of(program.source, program.sources).key
        else:
            key = program.key
        return None if key is None else f"{key} {self.plain.__name__} {self.requested!r} {self.options.key}"

    @property
    def innermost(self) -> FunctionType:
        """The function as it was written, of a gradient that of which it is the gradient."""
        owner = getattr(self.plain, "__self__", None)
        return owner.innermost if isinstance(owner, InPrograms) else plain_function(self.plain)


def derived_loops(
    f: InPrograms, spec: Specialization, method: Method, directions: tuple[str, ...]
) -> DerivedLoops | str:  # fmt: skip
    """What `InPrograms.derivative` says of the specialization `spec` of `f`."""
    if not spec.interface.is_real:
        return "it takes complex numbers"
    if not spec.interface.is_direct:
        return "it takes arrays of float16 or bfloat16"
    if method == "call":
        return with_results(spec, spec.normal, own_results(spec), {})
    if method == "jvp":
        return tangent(spec, directions)
    require_scalar_result(spec)
    if spec.record is not None:
        return "its value is a named tuple: call it in a function that returns the number in it"
    has_value = method != "grad"
    options = replace(f.options, schedule=(), autotune=False)
    program = GradientProgram(f.program, f.specialize, f.requested, options, has_value)
    gradient = Specialization(program, spec.types, f.requested)
    if method == "hvp":
        return second(spec, gradient, directions)
    gradients = Fields(spec.wrt_of_caller, tuple(range(has_value, len(spec.wrt) + has_value)))
    return with_results(gradient, gradient.normal, (0, gradients) if has_value else gradients, {})


def with_results(
    spec: Specialization, loops: ir.LoopSet, given: Fields | tuple[int | Fields, ...], directions: Mapping[str, str]
) -> DerivedLoops | str:
    if spec.count_names:
        return "how much it has to keep is counted by running it: its loops end where its values say so"
    return DerivedLoops(start_unseen(loops, spec.stages), given, directions, spec.asked)


def own_results(spec: Specialization) -> Fields | tuple[int | Fields, ...]:
    """What `spec` returns."""
    places = tuple(range(len(spec.result_types)))
    return places if spec.record is None else Fields(spec.record._fields, places)  # type: ignore[attr-defined]


def tangent(spec: Specialization, directions: tuple[str, ...]) -> DerivedLoops | str:
    """The value, and its tangent along `directions`."""
    refusal = not_along(spec, directions)
    if refusal is not None:
        return refusal
    if spec.written or len(spec.result_types) != 1 or spec.interface.returns_tuple:
        return "it is for functions that return one number or array, and write none"
    loops = derive_tangent(spec.normal, directions, spec.stages)
    if len(loops.results) != 2:
        return "its value is an integer"
    return with_results(spec, loops, (0, Fields(("result",), (1,))), directions_of(loops, spec.normal))


def second(spec: Specialization, gradient: Specialization, directions: tuple[str, ...]) -> DerivedLoops | str:
    """The value, its gradients, and what these change by along `directions`."""
    refusal = not_along(spec, directions)
    if refusal is not None:
        return refusal
    if spec.written:
        return "it writes its arguments"
    loops, count, names = derive_tangent(gradient.normal, directions, gradient.stages), len(spec.wrt), spec.wrt
    gradients = Fields(names, tuple(range(1, count + 1)))
    products = Fields(names, tuple(range(count + 2, 2 * count + 2)))
    return with_results(gradient, loops, (0, gradients, products), directions_of(loops, gradient.normal))


def not_along(spec: Specialization, directions: tuple[str, ...]) -> str | None:
    """Why there is no derivative along `directions`, if there is none."""
    others = [n for n in directions if n not in spec.wrt]
    if others:
        return f"`{others[0]}` has no direction; these have: {', '.join(f'`{n}`' for n in spec.wrt)}"
    return None if directions else "it has no direction"


def directions_of(loops: ir.LoopSet, normal: ir.LoopSet) -> dict[str, str]:
    return tail_names(loops.params[len(normal.params) :], normal.params, "_tan")
