"""The decorator and the object it makes of a function."""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from os import PathLike, fspath
from threading import RLock
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, TypeVar, cast, overload

import numpy as np

from loopdiff.calls.arguments import Arguments, Checked, Key, arguments_in_order, call_key, positional_count
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
from loopdiff.settings.options import Accuracy, Check, MemoryLimit, Negative, Options, Shown, TapePolicy, Target
from loopdiff.settings.requests import requests_of
from loopdiff.source.functions import SourceFunction, plain_function, source_of
from loopdiff.source.words import Text
from loopdiff.specialize.declared import declared_type, is_declaration, types_of
from loopdiff.specialize.derivatives import InPrograms
from loopdiff.specialize.gradients import record_type
from loopdiff.specialize.programs import GradientProgram, Program
from loopdiff.specialize.results import check_wrt
from loopdiff.specialize.specialization import AnyProgram, Specialization, require_scalar_result

if TYPE_CHECKING:
    from loopdiff.ad.tape.sweeps import SweepForm
    from loopdiff.calls.jacobian import Structure
    from loopdiff.calls.on_device import DeviceCalls, SentCalls
    from loopdiff.calls.structured import StructuredCalls

    EntryPoints = Checked | DeviceCalls | SentCalls | StructuredCalls

PLAIN_ARGUMENTS = (np.ndarray, np.generic, int, float, complex)
Folder = str | PathLike[str] | None
Names = str | tuple[str, ...] | list[str] | None
P = ParamSpec("P")
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
        self.arity = positional_count(self.signature)
        check_wrt(program.source, wrt)
        self.depends_on_values = options.memory_limit is not None or options.check == "first" or options.autotune
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
            return arguments_in_order(self.signature, self.plain.__name__, args, named)
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

    # -- running ---------------------------------------------------------------------------------------------
    def __call__(self, /, *args: P.args, **named: P.kwargs) -> R:
        """Run the compiled function on the caller's arrays, in place."""
        given = self.arranged(args, named) if named or len(args) != self.arity else args
        checked = self.latest
        if checked is None or not checked.guard(*given):
            checked = self.recognise(given)
        return checked.primal(*given)

    def value_and_grad(self, /, *args: P.args, **named: P.kwargs) -> tuple[R, Any]:
        """The result and its gradients, a named tuple in `wrt` order.

        Raises DifferentiationError (LD404) unless the result is a floating-point number.
        """
        given = self.arranged(args, named) if named or len(args) != self.arity else args
        checked = self.latest
        if checked is None or not checked.guard(*given):
            checked = self.recognise(given)
        if not self.depends_on_values or checked.looks_at_values:
            return checked.value_and_grad(*given)
        require_scalar_result(checked.specialization)
        return checked.launcher(self.reverse_run(checked.specialization, "gradient", checked.prepare(*given)))(*given)

    def grad(self, /, *args: P.args, **named: P.kwargs) -> Any:
        """The gradients alone, a named tuple in `wrt` order."""
        return self.value_and_grad(*args, **named)[1]

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
            spec = self.specialization_of(args)
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

        compile_all(self.specialization_of(self.arranged(args, named)))

    def specialization_of(self, args: Arguments) -> Specialization:
        """The specialization for arguments or their types."""
        if not any(is_declaration(a) for a in args):
            return self.checked(args).specialization
        return self.specialize({n: declared_type(n, a) for n, a in zip(self.signature.parameters, args, strict=True)})

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
        return decorate(self.plain, self.requested, options)

    # -- being a function ------------------------------------------------------------------------------------
    @property
    def py_func(self) -> Callable[..., Any]:
        """The function as it was written; other decorated functions that call this one write it out."""
        return self.plain

    def __get__(self, instance: Any, owner: type | None = None) -> Differentiable[P, R]:
        """Class bodies may hold decorated functions; an instance is not an argument of a loop nest."""
        return self

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


def decorate(function: Callable[..., Any], wrt: tuple[str, ...] | None, options: Options) -> Differentiable:
    """The differentiable function of a plain one, or of the method `grad` of a differentiable one."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, Differentiable) and function == owner.grad:
        return differentiate_gradient(owner, owner.requested if wrt is None else wrt, options)
    source = source_of(function)
    refuse_method(function, source)
    return Differentiable(plain_function(function), Program(source, options), wrt, options)


def differentiate_gradient(
    f: Differentiable, wrt: tuple[str, ...] | None, options: Options, has_value: bool = False
) -> Differentiable:
    """The gradient of `f`, which may itself be differentiated, by `wrt`; with the value of `f` if `has_value`."""
    program = GradientProgram(f.program, f.specialize, f.requested, options, has_value)
    made = Differentiable(f.value_and_grad if has_value else f.grad, program, wrt, options)
    made.__name__ = made.__qualname__ = f"{f.__qualname__}.{made.plain.__name__}"
    return made


def refuse_method(function: Callable[..., Any], source: SourceFunction) -> None:
    """Raise UnsupportedLoopError (LD117) for a function that takes the instance it is called on."""
    first = next(iter(source.signature.parameters), "")
    if first in ("self", "cls") and not isinstance(function, staticmethod):
        hint = "decorate a function, or a static method, that takes the arrays"
        raise UnsupportedLoopError(reject("LD117", f"`{source.name}` is a method", source.span(source.node), hint))


class Decorator(Protocol):
    """What `vectorize_grad` with settings is applied to a function as."""

    def __call__(self, function: Callable[P, R], /) -> Differentiable[P, R]: ...


@overload
def vectorize_grad(function: Callable[P, R], /) -> Differentiable[P, R]: ...
@overload
def vectorize_grad(
    *, wrt: Names = None, tape: TapePolicy = "auto", fastmath: bool = True, parallel: bool = False,
    cache: bool = True, accuracy: Accuracy = "default", memory_limit: MemoryLimit = None, check: Check = "cheap",
    schedule: Mapping[str, Mapping[str, str]] | None = None, autotune: bool = False, target: Target = "cpu",
    progress: Shown = "auto", negative: Negative = "error", source: str | None = None, spill: Folder = None,
) -> Decorator: ...  # fmt: skip
def vectorize_grad(
    function: Callable[..., Any] | None = None, /, *, wrt: Names = None, tape: TapePolicy = "auto",
    fastmath: bool = True, parallel: bool = False, cache: bool = True, accuracy: Accuracy = "default",
    memory_limit: MemoryLimit = None, check: Check = "cheap", schedule: Mapping[str, Mapping[str, str]] | None = None,
    autotune: bool = False, target: Target = "cpu", progress: Shown = "auto", negative: Negative = "error",
    source: str | None = None, spill: Folder = None,
) -> Any:  # fmt: skip
    """Compile a loop nest over NumPy arrays and its derivatives. Used with or without arguments.

    Args:
        function: A plain Python function, or the gradient `f.grad` of a differentiable one.
        wrt: Names of the arguments to differentiate. By default every floating argument, except arrays that
            are written and no element of which is read before; of a gradient, those that it is the gradient by.
        tape: `store` or `recompute` what the reverse sweep needs, or choose for each value (`auto`).
        fastmath: Whether sums may be reordered, products fused and common factors taken out of sums. NaN and infinity
            are not assumed away.
        parallel: Whether outer loops may run on several threads, where their work pays for it.
        cache: Whether generated code is kept on disk for later processes.
        accuracy: `high` asks elementary functions for 1 ulp.
        memory_limit: Most bytes between the sweeps; beyond it values are recomputed. `auto`: half of the memory that is
            free at a call, in the container too, where the system says how much that is.
        check: How a pullback notices that arrays it needs were changed: by checksums (`cheap`), by copies
            (`always`), not at all (`never`). `first`: by checksums, and the first call of each signature
            compares reverse with forward mode.
        schedule: What loops of the sweeps `primal`, `forward`, `reverse` and `tangent` are to become:
            `{"reverse": {"i": "scalar", "j@12": "vector"}}`, `j@12` being the loop over `j` at line 12. One of
            `vector`, `scalar`, `tile`, `rows=64` and `no rows`, or for the GPU `threads`, `sequential`, `warp`, `plain`
            and rows. Whatever is not asked for is chosen.
        autotune: Whether the first gradient for arguments of a new type or size measures a few schedules on copies of
            them. Which was fastest is remembered on disk.
        target: `cuda` runs loops as kernels on the GPU, `cuda-emulated` runs the same kernels on the CPU, thread after
            thread.
        progress: Whether a line on standard error says how far compiling is, once it takes two seconds. `auto`: where
            that is a terminal, for calls from the main thread and not for JAX; `always`; `never`.
        negative: What a subscript is that is negative for some arguments or in some iterations, `x[i - 1]` at `i = 0`:
            an error (LD311, LD310), or an element counted `from_end`, as in Python. Those that always are count from
            there in any case.
        source: The text that the function was made of by `exec`, where no file holds it; all of it, and what the
            function calls may stand there as well.
        spill: The folder for files that hold what goes from the forward to the reverse sweep, arrays of a megabyte and
            more, in place of memory. Nothing is left of them when they are not needed any more, or the process ends.

    Raises:
        UnsupportedLoopError: The function leaves the accepted language (LD1xx).
        DifferentiationError: `wrt` is not a set of its arguments (LD401, LD403).
        ArgumentError: A setting has a value it cannot have (LD309).
        ScheduleError: Later, when code is generated: `schedule` cannot be followed (LD5xx).
    """
    options = Options(
        tape, fastmath, parallel, cache, accuracy, memory_limit, check, requests_of(schedule), autotune, target,
        progress=progress, negative=negative, spill=None if spill is None else fspath(spill),
    )  # fmt: skip
    if source is not None:
        from loopdiff.source.texts import hand_over

        hand_over(source)
    names = None if wrt is None else tuple(wrt) if isinstance(wrt, Iterable) and not isinstance(wrt, str) else (wrt,)
    if function is None:
        return lambda f: decorate(f, names, options)
    return decorate(function, names, options)
