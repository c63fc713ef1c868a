"""What the decorator makes of a function: the object that has its derivatives."""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from threading import RLock
from typing import TYPE_CHECKING, Any, Concatenate, Generic, NoReturn, ParamSpec, TypeVar, cast, overload

import numpy as np

from loopdiff.calls.arguments import (
    Arguments,
    Checked,
    Key,
    arguments_in_order,
    call_key,
    given_by_name,
    names_and_defaults,
    positional_count,
)
from loopdiff.calls.bound_method import BoundMethod
from loopdiff.calls.compiled import CompiledGradient
from loopdiff.calls.pullback import Pullback
from loopdiff.calls.runs import Counted, ReverseRun, best_run, fitting_run, limit_of, sweeps_of
from loopdiff.calls.sweep_entry_points import vjp
from loopdiff.checking.identity import prove
from loopdiff.errors import (
    NOWHERE,
    ArgumentError,
    LoopdiffWarning,
    UnsupportedLoopError,
    callers_level,
)
from loopdiff.errors.codes import reject
from loopdiff.frontend.callees import Sources
from loopdiff.frontend.capture import ArgumentType
from loopdiff.frontend.extents import agree, without_axes
from loopdiff.immutable import replace
from loopdiff.settings.options import Options, Target
from loopdiff.source.functions import SourceFunction, plain_function, source_of
from loopdiff.source.parameters import is_method
from loopdiff.source.words import Text
from loopdiff.specialize.declared import declared_type, is_declaration, types_of
from loopdiff.specialize.derivatives import InPrograms
from loopdiff.specialize.gradients import record_type
from loopdiff.specialize.programs import GradientProgram, Program
from loopdiff.specialize.results import check_wrt, wrt_by_name
from loopdiff.specialize.specialization import AnyProgram, Specialization, require_scalar_result

if TYPE_CHECKING:
    from loopdiff.ad.tape.sweeps import SweepForm
    from loopdiff.calls.jacobian import Structure
    from loopdiff.calls.on_device import DeviceCalls, SentCalls
    from loopdiff.calls.structured import StructuredCalls

    EntryPoints = Checked | DeviceCalls | SentCalls | StructuredCalls

PLAIN_ARGUMENTS = (np.ndarray, np.generic, int, float, complex)
P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")


class Differentiable(InPrograms, Generic[P, R]):
    """A compiled loop nest with its derivatives: what `vectorize_grad` makes of a function.

    Calling it runs the function on the caller's own arrays, in place, as Python would. `__wrapped__` is the
    function as it was written. `P` are its parameters and `R` its result, for type checkers.
    """

    def __init__(
        self, plain: Callable[P, R], program: AnyProgram, wrt: tuple[str, ...] | None, options: Options
    ) -> None:
        self.plain, self.program, self.requested, self.options = plain, program, wrt, options
        functools.update_wrapper(self, plain)
        self.__name__: str = plain.__name__
        self.__qualname__: str = plain.__qualname__
        self.signature = program.source.signature
        self.arity, self.named_parameters = positional_count(self.signature), names_and_defaults(self.signature)
        check_wrt(program.source, wrt)
        self.depends_on_values = (
            options.memory_limit is not None or options.check == "first" or options.autotune or options.has_aux
        )
        self.lock = RLock()
        self.with_gradient: Differentiable | None = None
        self.has_said_copied = False
        self.latest: EntryPoints | None = None
        self.known: dict[Key, list[EntryPoints]] = {}
        self.specializations: dict[tuple[Any, ...], Specialization] = {}
        self.alike: dict[tuple[Any, ...], list[Specialization]] = {}  # by types without extents
        self.structured: list[StructuredCalls] = []

    # -- finding what a call needs ---------------------------------------------------------------------------
    def arranged(self, args: Arguments, named: Mapping[str, Any]) -> Arguments:
        if named or len(args) != self.arity:
            given = None if self.named_parameters is None else given_by_name(self.named_parameters, args, named)
            return given if given is not None else arguments_in_order(self.signature, self.plain.__name__, args, named)
        return args

    def recognise(self, args: Arguments) -> EntryPoints:
        """What is known about calls like this one, which is not like the one before."""
        structured = self.structured_calls(args)
        if structured is not None:
            self.latest = structured
            return structured
        if self.options.target == "cuda":
            from loopdiff.memory.foreign import is_foreign

            if any(map(is_foreign, args)):
                return self.device_calls
        key = call_key(args)
        known = self.known.setdefault(key, [])
        checked = next((found for found in known if found.guard(*args)), None)
        if checked is None:
            types = types_of(dict(zip(self.signature.parameters, args, strict=True)))
            checked = self.entry_points(Checked(self.specialize(types), args))
            known.append(checked)
        self.latest = checked
        return checked

    def structured_calls(self, args: Arguments) -> StructuredCalls | None:
        """The entry points for arguments among which are lists, dictionaries, records, or values that are no numbers;
        None where there are none."""
        program = self.program
        if not isinstance(program, Program):
            return None
        if not program.has_structures and all(isinstance(a, PLAIN_ARGUMENTS) for a in args):
            return None
        from loopdiff.calls.structured import find_calls

        with self.lock:
            return find_calls(self.structured, program, self.requested, self.flat, args)

    def flat(self, source: SourceFunction, sources: Sources, wrt: tuple[str, ...] | None) -> Differentiable:
        """The function of the leaves of structures, which `source` is; what it calls is known from `sources`."""
        return Differentiable(self.plain, Program(source, self.options, sources), wrt, self.options)

    def entry_points(self, checked: Checked) -> EntryPoints:
        """Those of a function for GPUs send arrays once for both sweeps."""
        if (
            self.options.target != "cuda"
            or self.options.arrays == "device"
            or not checked.specialization.interface.is_real
        ):
            return checked
        from loopdiff.calls.on_device import SentCalls

        return SentCalls(self.device_calls.twin, checked, self.say_copied)

    def say_copied(self) -> None:
        """Warn, once, that arrays go to the GPU and back."""
        if self.has_said_copied:
            return
        self.has_said_copied = True
        message = "NumPy arrays are copied to the GPU and back in each call"
        hint = "`loopdiff.cuda.to_device(x)` sends one once"
        warnings.warn(f"LW601: {message} of `{self.__name__}`; {hint}", LoopdiffWarning, stacklevel=callers_level())

    @functools.cached_property
    def device_calls(self) -> DeviceCalls:
        """The entry points for arrays that are on the device, and stay there."""
        from loopdiff.calls.on_device import DeviceCalls

        return DeviceCalls(self.under(replace(self.options, arrays="device")))

    def checked(self, args: Arguments) -> EntryPoints:
        latest = self.latest
        return latest if latest is not None and latest.guard(*args) else self.recognise(args)

    def specialize(self, types: Mapping[str, ArgumentType]) -> Specialization:
        key = tuple(types.items())
        with self.lock:
            found = self.specializations.get(key)
            if found is None:
                alike = self.alike.setdefault(tuple(without_axes(types).items()), [])
                found = next((s for s in alike if agree(types, s.types, s.asked)), None)
                if found is None:
                    found = Specialization(self.program, types, self.requested).for_all_alike()
                    alike.append(found)
                self.specializations[key] = found
            return found

    def recognised_tuple(self, args: Any, call: str) -> tuple[EntryPoints, Arguments]:
        """What is known about a call with `args`, a tuple of the arguments, and these; `call` is how to call it."""
        if not isinstance(args, tuple | list):
            message = f"the arguments are a {type(args).__name__}, not a tuple"
            raise ArgumentError(reject("LD302", message, NOWHERE, f"call it as `{call}`"))
        arranged = self.arranged(tuple(args), {})
        return self.checked(arranged), arranged

    def reverse_run(self, spec: Specialization, form: SweepForm, args: Arguments) -> ReverseRun:
        """The sweeps for these arguments: under a memory limit, the first that fit. LD345 if none do.

        With `autotune`, the fastest of a few, which are measured where that was not done before. Those that are to be
        compared with forward mode are in the form that any output can be weighted in.
        """
        if form == "gradient" and self.options.check == "first":
            form = "pullback"
        if self.options.autotune and self.options.memory_limit is None:
            from loopdiff.calls.autotune import tuned

            spec = tuned(spec, args)
        limit, known = limit_of(self.options), Counted()
        if limit is None:
            run = sweeps_of(spec, form)
        else:
            run = fitting_run(spec, form, lambda r: r.sizes(args, known), limit, lambda r: r.least_sizes(args))
        if self.options.check == "first":
            spec.once(f"identity {form}", lambda: prove(spec, run, args))
        return run

    @functools.cached_property
    def of_loss(self) -> Differentiable[..., Any]:
        """The same function, with no derivative of what is returned after the first. Its pullback is used at once."""
        return self.under(replace(self.options, has_aux=False, of_loss=True, check="never"))

    # -- running ---------------------------------------------------------------------------------------------
    def __call__(self, /, *args: P.args, **named: P.kwargs) -> R:
        """Run the compiled function on the caller's arrays, in place."""
        given = self.arranged(args, named) if named or len(args) != self.arity else args
        checked = self.latest
        if checked is None or not checked.guard(*given):
            checked = self.recognise(given)
        return checked.primal(*given)

    def value_and_grad(self, /, *args: P.args, **named: P.kwargs) -> tuple[R, Any]:
        """The result and its gradients, a named tuple in `wrt` order; with `has_aux` those of what is returned first.

        Raises DifferentiationError (LD404) unless that is a floating-point number.
        """
        given = self.arranged(args, named) if named or len(args) != self.arity else args
        checked = self.latest
        if checked is None or not checked.guard(*given):
            checked = self.recognise(given)
        if not self.depends_on_values or checked.looks_at_values:
            return checked.value_and_grad(*given)
        if self.options.has_aux:
            value, pullback = self.of_loss.vjp(*given)
            return value, pullback((1.0, *(None for _ in value[1:])))  # type: ignore[index]
        require_scalar_result(checked.specialization)
        return checked.launcher(self.reverse_run(checked.specialization, "gradient", checked.prepare(*given)))(*given)

    def grad(self, /, *args: P.args, **named: P.kwargs) -> Any:
        """The gradients alone, a named tuple in `wrt` order; with `has_aux` a pair of these and what is returned beside
        the first: a tuple if that is several values."""
        value, gradients = self.value_and_grad(*args, **named)
        if not self.options.has_aux:
            return gradients
        _, *beside = value  # type: ignore[misc]
        return gradients, beside[0] if len(beside) == 1 else tuple(beside)

    def vjp(self, /, *args: P.args, **named: P.kwargs) -> tuple[R, Pullback]:
        """The result, and the pullback `pullback(seed=1.0, **cotangents) -> gradients` of this point."""
        given = self.arranged(args, named) if named or len(args) != self.arity else args
        checked = self.latest
        if checked is None or not checked.guard(*given):
            checked = self.recognise(given)
        if not self.depends_on_values or checked.looks_at_values:
            return checked.vjp(*given)
        prepared = checked.prepare(*given)
        return vjp(self.reverse_run(checked.specialization, "pullback", prepared), prepared)

    def jvp(self, args: tuple[Any, ...], tangents: Mapping[str, Any]) -> tuple[Any, Any]:
        """The result, and tangents of the result and of each written array along `tangents` of arguments."""
        checked, args = self.recognised_tuple(args, "f.jvp((x, y), dict(x=x_tangent))")
        return checked.jvp(args, tangents)

    def hvp(self, args: tuple[Any, ...], vectors: Mapping[str, Any]) -> tuple[Any, Any, Any]:
        """The result, its gradients, and the Hessian times `vectors`: what the gradients change by along them.

        Forward mode over the program of both sweeps; the function runs once, on the caller's arrays.
        """
        checked, arranged = self.recognised_tuple(args, "f.hvp((x, y), dict(x=x_vector))")
        if (structured := in_structures(checked)) is not None:
            return structured.hvp(arranged, vectors)
        spec = checked.specialization
        with self.lock:
            if self.with_gradient is None:
                plain = replace(self.options, schedule=(), autotune=False)
                self.with_gradient = differentiate_gradient(self, self.requested, plain, has_value=True)
        (value, *gradients), tangents = self.with_gradient.jvp(args, vectors)
        record = record_type("Gradients", spec.wrt_of_caller)
        result = value if spec.record is None else tuple.__new__(spec.record, (value,))
        return result, tuple.__new__(record, gradients), tuple.__new__(record, tangents[0][1:])

    def jacobian(self, /, *args: Any, structure: Structure = "dense", **named: Any) -> Any:
        """The derivative of every output by every differentiated argument: `jacobian.y.x` has the axes of both.

        Outputs are `result` (a tuple if the function returns one) and the written arrays. In forward or reverse mode,
        whichever takes fewer runs. With the structure "sparse" each is a SciPy `csr_array` with a row for each element
        of the output and a column for each of the argument; several columns or rows are found in one run, so that
        there are as many runs as a row, or a column, has entries, for bands and blocks, and few more otherwise. Which
        entries there are is found from the program at these arguments; some may be zero. An argument called
        `structure` is passed by position. Raises DifferentiationError: LD407 for complex numbers, LD408 for a structure
        that is not known, and OutOfMemoryError (LD610).
        """
        from loopdiff.calls.jacobian import dense_jacobian, jacobian, require_structure

        require_structure(structure)
        args = self.arranged(args, named)
        checked = self.checked(args)
        if (structured := in_structures(checked)) is not None:
            return structured.flat.jacobian(*structured.leaves(args), structure=structure)
        prepared = checked.prepare(*args)
        spec = checked.specialization
        reverse_run = partial(self.reverse_run, spec, "pullback")
        if structure == "dense":
            return jacobian(spec, reverse_run, prepared, dense_jacobian)
        from loopdiff.calls.sparse_jacobian import sparse_jacobian

        return jacobian(spec, reverse_run, prepared, sparse_jacobian)

    # -- looking inside --------------------------------------------------------------------------------------
    def compile(self, /, *args: Any, **named: Any) -> CompiledGradient:
        """The generated functions for these arguments, or for their types.

        A type is a Numba type (`float64[:, ::1]`), a Python or NumPy scalar type, or an `ArrayType`.
        """
        return self.compiled(self.arranged(args, named), "sums")

    def compiled(self, args: Arguments, form: SweepForm, is_shown: bool = False) -> CompiledGradient:
        """The generated functions for arguments or their types, with the reverse sweep in one of its forms; where they
        are only shown, those that keep least if a memory limit is too small for all."""
        if any(is_declaration(a) for a in args):
            spec, *_ = self.specializations_of(args)
            return CompiledGradient(spec, sweeps_of(spec, form), "", None)
        checked = self.checked(args)
        if (structured := in_structures(checked)) is not None:
            return structured.flat.compiled(structured.leaves(args), form, is_shown)
        spec, prepared = checked.specialization, checked.prepare(*args)
        if is_shown and (limit := limit_of(self.options)) is not None:
            known = Counted()
            found = best_run(spec, form, lambda r: r.sizes(prepared, known), limit, lambda r: r.least_sizes(prepared))
            return CompiledGradient(spec, *found, prepared)
        return CompiledGradient(spec, self.reverse_run(spec, form, prepared), "", prepared)

    def precompile(self, /, *args: Any, **named: Any) -> None:
        """Compile all that calls with these arguments, or with arguments of these types, run; run nothing.

        That is the function, the sweeps of `value_and_grad` and `vjp`, and the tangent of `jvp`. A type is what
        `compile` takes for one.
        """
        from loopdiff.calls.ahead import compile_all

        for spec in self.specializations_of(self.arranged(args, named)):
            compile_all(spec)

    def specializations_of(self, args: Arguments) -> tuple[Specialization, ...]:
        """What calls with these arguments run, or with arguments of these types: that of the leaves of structures, and
        that of the gradient of what is returned first, where that is asked for."""
        if any(is_declaration(a) for a in args):
            spec = self.specialize(
                {n: declared_type(n, a) for n, a in zip(self.signature.parameters, args, strict=True)}
            )
        else:
            checked = self.checked(args)
            if (structured := in_structures(checked)) is not None:
                return structured.flat.specializations_of(structured.leaves(args))
            spec = checked.specialization
        return (spec, *self.of_loss.specializations_of(args)) if self.options.has_aux else (spec,)

    def explain(self, /, *args: Any, **named: Any) -> Text:
        """What was decided for these arguments (or types) and why, loop by loop and array by array: of the sweeps
        that `vjp` runs, or, where a memory limit is too small for all, of those that keep least."""
        return self.compiled(self.arranged(args, named), "pullback", is_shown=True).explain()

    def plot_memory(self, /, *args: Any, **named: Any) -> Any:
        """Which arrays hold how much memory in the course of both sweeps of `vjp`, as predicted for these arguments: a
        `matplotlib.figure.Figure`, in no window. Nothing is run.

        Raises ArgumentError (LD346) for types in place of arguments, and BackendError (LD611) without matplotlib.
        """
        from loopdiff.report.memory_figure import draw_memory

        return draw_memory(self.compiled(self.arranged(args, named), "pullback", is_shown=True).memory)

    def on(self, target: Target) -> Differentiable[P, R]:
        """The same function for another target: `cpu`, `cuda` or `cuda-emulated`.

        Raises ArgumentError (LD309) for anything else, and where a setting is for the CPU alone.
        """
        options = replace(self.options, target=target)
        return self if options == self.options else self.under(options)

    def under(self, options: Options) -> Differentiable[P, R]:
        """The same function under other options, as it was read when it was decorated."""
        if isinstance(self.program, Program):
            program = Program(self.program.source, options, self.program.sources.copied())
            return Differentiable(self.plain, program, self.requested, options)
        owner = getattr(self.plain, "__self__", None)
        if isinstance(owner, Differentiable) and self.plain == owner.value_and_grad:
            return differentiate_gradient(owner, self.requested, options, has_value=True)
        return cast("Differentiable[P, R]", decorate(self.plain, self.requested, options))

    # -- being a function ------------------------------------------------------------------------------------
    @property
    def py_func(self) -> Callable[..., Any]:
        """The function as it was written; other decorated functions that call this one write it out."""
        return self.plain

    @overload
    def __get__(self, instance: None, owner: type, /) -> Differentiable[P, R]: ...
    @overload
    def __get__(
        self: Differentiable[Concatenate[Any, Q], R], instance: object, owner: type | None = None, /
    ) -> BoundMethod[Q, R]: ...
    def __get__(self, instance: Any, owner: type | None = None, /) -> Any:
        """Class bodies may hold decorated functions; those whose first parameter is `self` take the instance."""
        return self if instance is None or not is_method(self.signature) else BoundMethod(self, instance)

    def __repr__(self) -> str:
        return f"<loopdiff function {self.__qualname__}>"

    def __reduce__(self) -> Any:
        """Pickled by name where the name leads here, else as the function and its settings."""
        found: Any = sys.modules.get(self.plain.__module__)
        for part in self.plain.__qualname__.split("."):
            found = getattr(found, part, None)
        if found is self:
            return self.plain.__qualname__
        return decorate, (self.plain, self.requested, self.options)


def in_structures(checked: EntryPoints) -> StructuredCalls | None:
    """The entry points for structures, where these are such."""
    return cast("StructuredCalls", checked) if checked.looks_at_values else None


def decorate(
    function: Callable[..., Any], wrt: tuple[str | int, ...] | None, options: Options
) -> Differentiable[..., Any] | BoundMethod[..., Any]:
    """The differentiable function of a plain one, of a method, or of the method `grad` of a differentiable one."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, Differentiable) and function == owner.grad:
        wrt = wrt_by_name(owner.program.source, wrt)
        return differentiate_gradient(owner, owner.requested if wrt is None else wrt, options)
    if isinstance(owner, BoundMethod):
        refuse_bound_gradient(owner)
    source = source_of(function)
    refuse_class_method(function, source)
    made = Differentiable(plain_function(function), Program(source, options), wrt_by_name(source, wrt), options)
    return made if owner is None else made.__get__(owner, type(owner))


def differentiate_gradient(
    f: Differentiable, wrt: tuple[str, ...] | None, options: Options, has_value: bool = False
) -> Differentiable:
    """The gradient of `f`, which may itself be differentiated, by `wrt`; with the value of `f` if `has_value`."""
    program = GradientProgram(f.program, f.specialize, f.requested, options, has_value)
    made = Differentiable(f.value_and_grad if has_value else f.grad, program, wrt, options)
    made.__name__ = made.__qualname__ = f"{f.__qualname__}.{made.plain.__name__}"
    return made


def refuse_bound_gradient(method: BoundMethod[..., Any]) -> NoReturn:
    """Raise UnsupportedLoopError (LD117) for the gradient of a method."""
    message = f"a derivative of `{method.__qualname__}` on an instance"
    raise UnsupportedLoopError(reject("LD117", message, NOWHERE, "decorate a method that calls it"))


def refuse_class_method(function: Callable[..., Any], source: SourceFunction) -> None:
    """Raise UnsupportedLoopError (LD117) for a function that takes the class it is called on."""
    first = next(iter(source.signature.parameters), "")
    if (first == "cls" and not isinstance(function, staticmethod)) or isinstance(function, classmethod):
        hint = "decorate a function, a method of instances, or a static method"
        raise UnsupportedLoopError(
            reject("LD117", f"`{source.name}` is a class method", source.span(source.node), hint)
        )
