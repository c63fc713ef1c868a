"""`wrap`: a decorated loop nest as a pure JAX function, with its own reverse sweep as the derivative."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Literal, cast

import jax
import jax.numpy as jnp
import numpy as np

from loopdiff.calls.bound_method import BoundMethod, wrapped_method
from loopdiff.differentiable import Differentiable
from loopdiff.errors import NOWHERE, ArgumentError
from loopdiff.errors.codes import reject
from loopdiff.frontend.capture import ArgumentType, ScalarArgument, argument_type
from loopdiff.frontend.extents import small_axes
from loopdiff.ir.types import ELEMENT_TYPES, ArrayType
from loopdiff.ir.walk import written_arrays
from loopdiff.jax import custom_vjp, primitives
from loopdiff.jax.calls import setting
from loopdiff.jax.extents import Shape
from loopdiff.jax.program import JaxProgram
from loopdiff.pipeline.stages import for_others

if TYPE_CHECKING:
    from loopdiff.calls.structured import StructuredCalls

Via = Literal["primitives", "custom_vjp"]
OutputShape = Callable[..., Any] | jax.ShapeDtypeStruct | Shape


def wrap(
    f: Differentiable | BoundMethod[..., Any], outputs: Mapping[str, OutputShape] | None = None, via: Via = "primitives"
) -> Callable[..., Any]:  # fmt: skip
    """A pure JAX function that runs `f` (made by `vectorize_grad`) and is differentiated by its own sweeps.

    Its arguments are those of `f` without the ones named in `outputs`; it returns the result of `f`, if any, and the
    final values of the arrays `f` writes, in argument order: one value as it is, several as a tuple. Written inputs
    are not changed, their new value is returned. Python integers are static; arrays and other scalars may be traced.
    Lists, tuples, dictionaries and records of these are taken apart as `f` takes them, and so is what it returns.

    Args:
        f: A function made by `vectorize_grad`, or a method of an instance, `model.energy`.
        outputs: For each pure output argument its shape: a tuple, a `jax.ShapeDtypeStruct`, or a function from the
            other arguments to one of these. The dtype, where not given, is that of the floating arguments.
        via: "primitives": forward and reverse mode to any order. "custom_vjp": reverse mode alone, by JAX's documented
            means for functions of other systems.

    Raises:
        ArgumentError: An argument or output that does not fit, by name (LD3xx); at tracing time where types and
            shapes decide, else when the call runs, as the error JAX makes of a failed foreign call.
        UnsupportedLoopError: The types leave the accepted language (LD2xx).
        DifferentiationError: A derivative with respect to an argument outside `wrt` (LD405).
    """
    if isinstance(f, BoundMethod):
        return wrapped_method(f, functools.partial(wrap, via=via), outputs)
    if not isinstance(f, Differentiable):
        raise ArgumentError(reject("LD350", f"`wrap` takes a function made by `vectorize_grad`, not {f!r}", NOWHERE))
    apply = way_into_jax(via)
    made = dict(outputs or {})
    parameters = list(f.signature.parameters.values())
    surface = f.program.surface
    refuse_outputs(f, set(made) - (set(f.signature.parameters) if surface is None else written_arrays(surface.body)))
    signature = inspect.Signature([p for p in parameters if p.name not in made])
    programs: dict[Any, JaxProgram] = {}
    leafwise: dict[StructuredCalls, Callable[..., Any]] = {}

    @functools.wraps(f.plain)
    @for_others()
    def wrapped(*args: Any, **named: Any) -> Any:
        try:
            bound = signature.bind(*args, **named)
        except TypeError as error:
            raise ArgumentError(reject("LD301", f"`{f.plain.__name__}`: {error}", NOWHERE)) from None
        whole = tuple(bound.arguments.get(p.name, default_of(p)) for p in parameters)
        structured = f.structured_calls(whole)
        if structured is not None:
            if structured not in leafwise:
                leafwise[structured] = wrap(cast(Differentiable, structured.flat), outputs, via)
            return in_structure(structured, leafwise[structured], made, whole)
        bound.apply_defaults()
        given = {n: as_operand(n, v) for n, v in bound.arguments.items()}
        shapes = {n: output_of(n, spec, given) for n, spec in made.items()}
        program = program_of(f, given, shapes, programs)
        operands = program.operands(given)
        values = program.in_one_piece(apply(program, operands)) if program.outputs else program.for_errors(operands)
        return values[0] if len(values) == 1 else values

    wrapped.__signature__ = signature  # type: ignore[attr-defined]
    return wrapped


def way_into_jax(via: Via) -> Callable[..., tuple[Any, ...]]:
    """What applies a program to traced values. Raises ArgumentError (LD350)."""
    match via:
        case "primitives":
            return primitives.apply
        case "custom_vjp":
            return custom_vjp.apply
        case _:
            raise ArgumentError(reject("LD350", f"`via` is {via!r}, not 'primitives' or 'custom_vjp'", NOWHERE))


def program_of(
    f: Differentiable, given: Mapping[str, Any], shapes: Mapping[str, Any], programs: dict[Any, JaxProgram]
) -> JaxProgram:  # fmt: skip
    """The program for arguments of these types and shapes, pure outputs of such `shapes`, and these Python integers."""
    names = f.signature.parameters
    types = {n: type_of(n, given.get(n, shapes.get(n))) for n in names}
    statics = {n: v for n, v in given.items() if isinstance(v, int | bool)}
    dims = {n: dims_of(v) for n, v in {**given, **shapes}.items() if isinstance(types[n], ArrayType)}
    settings = (setting("jax_enable_x64"), setting("jax_debug_nans"))  # which decide about types and zeros
    key = (tuple(types.items()), tuple(statics.items()), tuple(dims.items()), settings)
    if key not in programs:
        refuse_outputs(f, set(shapes) - f.specialize(types).written)
        programs[key] = JaxProgram(f.specialize(types), statics, dims, tuple(shapes))
    return programs[key]


def default_of(parameter: inspect.Parameter) -> Any:
    """What a call gives for a parameter that is left out: its default; a number for an output."""
    return 0.0 if parameter.default is parameter.empty else parameter.default


def in_structure(
    calls: StructuredCalls, leafwise: Callable[..., Any], outputs: Collection[str], args: tuple[Any, ...]
) -> Any:
    """What `leafwise` makes of the leaves of `args`: the result in its structure, before arrays that are written."""
    given = {n: leaf for n, leaf in zip(calls.names, calls.leaves(args), strict=True) if n not in outputs}
    return calls.with_written(leafwise(**given))


def refuse_outputs(f: Differentiable, names: Collection[str]) -> None:
    """Raise ArgumentError (LD350) if there are `names`, which `f` does not write."""
    for name in sorted(names):
        message = f"`outputs` names `{name}`, which is no array that `{f.plain.__name__}` writes"
        raise ArgumentError(reject("LD350", message, NOWHERE))


def as_operand(name: str, value: Any) -> Any:
    """A Python number, or an array that JAX knows."""
    if isinstance(value, bool | int | float | complex):
        return value
    if isinstance(value, jax.Array | np.ndarray | np.generic):
        return value if isinstance(value, jax.Array) else jnp.asarray(value)
    raise ArgumentError(reject("LD350", f"`{name}` is a {type(value).__name__}, not an array or a number", NOWHERE))


def type_of(name: str, value: Any) -> ArgumentType:
    """loopdiff's type of an operand. Raises ArgumentError (LD350) for a dtype it does not compile."""
    if isinstance(value, bool | int | float | complex):
        declared = argument_type(value)
        assert isinstance(declared, ScalarArgument)
        return declared
    dtype = str(value.dtype)
    if dtype not in ELEMENT_TYPES:
        raise ArgumentError(reject("LD350", f"`{name}` has dtype {dtype}, which loopdiff does not compile", NOWHERE))
    if value.ndim:
        return ArrayType(dtype, value.ndim, "C", small_axes(value.shape))
    return ScalarArgument(ELEMENT_TYPES[dtype], bool(getattr(value, "weak_type", False)))


def dims_of(value: Any) -> Shape:
    """The shape that compiled code sees, which has one more axis for the parts of complex elements."""
    return (*value.shape, 2) if jnp.issubdtype(value.dtype, jnp.complexfloating) else tuple(value.shape)


def output_of(name: str, spec: OutputShape, given: Mapping[str, Any]) -> jax.ShapeDtypeStruct:
    """Shape and dtype of a pure output."""
    found = spec(*given.values()) if callable(spec) and not isinstance(spec, jax.ShapeDtypeStruct) else spec
    if isinstance(found, jax.ShapeDtypeStruct):
        return found
    if not isinstance(found, tuple) or not all(isinstance(n, int) and n >= 0 for n in found):
        message = f"the shape of output `{name}` is {found!r}, not a tuple of integers known when tracing"
        raise ArgumentError(reject("LD351", message, NOWHERE))
    floats = [v.dtype for v in given.values() if hasattr(v, "dtype") and jnp.issubdtype(v.dtype, jnp.inexact)]
    return jax.ShapeDtypeStruct(found, jnp.result_type(*floats) if floats else jnp.result_type(float))
