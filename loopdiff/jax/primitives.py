"""Four primitives of JAX's, which every transformation follows from: the function, its forward sweep, its tangent and
its reverse sweep.

The derivative of the function is its forward sweep with the tangent, a linear map, which is transposed to the reverse
sweep. What the forward sweep keeps follows from the inputs, so all derivatives by it are derivatives by them. The
derivatives of the tangent and of the reverse sweep are those of programs of their own, `pushforward` and `pullback`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import ShapedArray
from jax.extend.core import Literal, Primitive
from jax.interpreters import ad, batching, mlir
from jax.interpreters import partial_eval as pe

from loopdiff.jax.derived import gradient_inputs, gradients_among, tangent_inputs, tangents_among
from loopdiff.jax.program import JaxProgram

Values = Sequence[Any]


def apply(program: JaxProgram, traced: Values) -> tuple[Any, ...]:
    """The outputs of `program`."""
    return tuple(compiled(program)(*traced))


def compiled(program: JaxProgram) -> Callable[..., Any]:
    def call(*traced: Any) -> Any:
        return function_p.bind(*traced, program=program)

    call.__name__ = program.ls.name
    return program.once("compiled", lambda: jax.jit(call, inline=True))


# -- what the primitives compute -----------------------------------------------------------------------------
def function(*traced: Any, program: JaxProgram) -> list[Any]:
    return [*program.evaluate(traced)]


def forward(*traced: Any, program: JaxProgram) -> list[Any]:
    """The outputs, then the rest of what is kept."""
    outputs, rest = program.forward(traced)
    return [*outputs, *rest]


def tangent(*given: Any, program: JaxProgram, kept: int, is_held: bool) -> list[Any]:
    """The tangents of the floating outputs, from inputs, as many arrays `kept`, and the tangents by `slopes`.

    What is kept is for the transpose alone. `is_held`: there is going to be one.
    """
    traced, _, slopes = split(program, given, kept)
    inputs = tangent_inputs(program, traced, slopes)
    return tangents_among(program, program.pushforward().evaluate(inputs), inputs)


def reverse(*given: Any, program: JaxProgram) -> list[Any]:
    """The gradients by `slopes`, from inputs, what is kept, and the cotangents of the floating outputs."""
    traced, kept, cotangents = split(program, given, len(program.kept))
    return [*program.reverse(traced, kept, cotangents)]


def split(program: JaxProgram, given: Values, kept: int) -> tuple[Values, Values, Values]:
    """The inputs, what is kept, and what follows."""
    count = len(program.traced)
    return given[:count], given[count : count + kept], given[count + kept :]


# -- their shapes --------------------------------------------------------------------------------------------
def avals(kinds: Sequence[jax.ShapeDtypeStruct]) -> list[Any]:
    return [ShapedArray(k.shape, k.dtype) for k in kinds]


def shapes_of_function(*_: Any, program: JaxProgram) -> list[Any]:
    return avals(program.output_kinds)


def shapes_of_forward(*_: Any, program: JaxProgram) -> list[Any]:
    return avals([*program.output_kinds, *program.rest_kinds])


def shapes_of_tangent(*_: Any, program: JaxProgram, kept: int, is_held: bool) -> list[Any]:
    kinds = program.output_kinds
    return avals([kinds[k] for k in program.with_slopes])


def shapes_of_reverse(*_: Any, program: JaxProgram) -> list[Any]:
    return avals(program.slope_kinds)


# -- derivatives ---------------------------------------------------------------------------------------------
def is_zero(value: Any) -> bool:
    return isinstance(value, ad.Zero)


def zero_like(value: Any) -> Any:
    return ad.Zero(jax.typeof(value).to_tangent_aval())


def perturbed(program: JaxProgram, tangents: Values) -> list[str]:
    return [n for n, t in zip(program.traced, tangents, strict=True) if not is_zero(t)]


def along(program: JaxProgram, primals: Values, kept: Values, tangents: Values, is_held: bool = False) -> list[Any]:
    """The tangents of the floating outputs along those of the inputs."""
    given = dict(zip(program.traced, tangents, strict=True))
    slopes = [ad.instantiate_zeros(given[n]) for n in program.slopes]
    return tangent_p.bind(*primals, *kept, *slopes, program=program, kept=len(kept), is_held=is_held)


def at_outputs(program: JaxProgram, outputs: Values, slopes: Values) -> list[Any]:
    """A tangent for each output, zero for integers."""
    found = dict(zip(program.with_slopes, slopes, strict=True))
    return [found[k] if k in found else zero_like(v) for k, v in enumerate(outputs)]


def derivative_of_function(primals: Values, tangents: Values, *, program: JaxProgram) -> tuple[Values, Values]:
    if not program.with_slopes:
        outputs = function_p.bind(*primals, program=program)
        return outputs, [zero_like(v) for v in outputs]
    swept = program.by(perturbed(program, tangents))
    found = forward_p.bind(*primals, program=swept)
    outputs, rest = found[: len(swept.outputs)], found[len(swept.outputs) :]
    slopes = along(swept, primals, swept.kept_of(outputs, rest), tangents)
    return outputs, at_outputs(program, outputs, slopes)


def derivative_of_forward(primals: Values, tangents: Values, *, program: JaxProgram) -> tuple[Values, Values]:
    found = forward_p.bind(*primals, program=program)
    outputs, rest = found[: len(program.outputs)], found[len(program.outputs) :]
    swept = program.by(perturbed(program, tangents))
    kept = program.kept_of(outputs, rest) if swept is program else ()
    slopes = along(swept, primals, kept, tangents)
    return found, [*at_outputs(program, outputs, slopes), *map(zero_like, rest)]


def derivative_of_tangent(
    primals: Values, tangents: Values, *, program: JaxProgram, kept: int, is_held: bool
) -> tuple[Values, Values]:  # fmt: skip
    bind = partial(tangent_p.bind, program=program, kept=kept, is_held=is_held)
    (traced, held, slopes), (of_traced, _, of_slopes) = (split(program, v, kept) for v in (primals, tangents))
    if all(map(is_zero, of_traced)):
        return bind(*primals), bind(*traced, *held, *map(ad.instantiate_zeros, of_slopes))
    inputs = tangent_inputs(program, traced, slopes)
    directions = tangent_inputs(program, of_traced, of_slopes)
    outputs, found = derivative_of_function(inputs, directions, program=program.pushforward())
    return tangents_among(program, outputs, inputs), tangents_among(program, found, directions)


def derivative_of_reverse(primals: Values, tangents: Values, *, program: JaxProgram) -> tuple[Values, Values]:
    bind = partial(reverse_p.bind, program=program)
    (traced, kept, cotangents), (of_traced, _, of_cotangents) = (
        split(program, v, len(program.kept)) for v in (primals, tangents)
    )
    if all(map(is_zero, of_traced)):
        return bind(*primals), bind(*traced, *kept, *map(ad.instantiate_zeros, of_cotangents))
    inputs = gradient_inputs(program, traced, cotangents)
    directions = gradient_inputs(program, of_traced, of_cotangents)
    outputs, found = derivative_of_function(inputs, directions, program=program.pullback())
    return gradients_among(program, outputs, inputs), gradients_among(program, found, directions)


# -- transposes ----------------------------------------------------------------------------------------------
def transposed(given: Values, found: Values) -> list[Any]:
    """`found` for the linear ones among `given`."""
    return [f if ad.is_undefined_primal(g) else None for g, f in zip(given, found, strict=True)]


def transpose_of_tangent(
    cotangents: Values, *given: Any, program: JaxProgram, kept: int, is_held: bool
) -> list[Any]:  # fmt: skip
    traced, held, slopes = split(program, given, kept)
    before = [None] * (len(traced) + kept)
    if all(map(is_zero, cotangents)):
        return [*before, *transposed(slopes, [zero_of(s) for s in slopes])]
    if len(held) < len(program.kept):
        found = forward_p.bind(*traced, program=program)
        held = program.kept_of(found[: len(program.outputs)], found[len(program.outputs) :])
    gradients = reverse_p.bind(*traced, *held, *map(ad.instantiate_zeros, cotangents), program=program)
    return [*before, *transposed(slopes, gradients)]


def transpose_of_reverse(cotangents: Values, *given: Any, program: JaxProgram) -> list[Any]:
    traced, kept, seeds = split(program, given, len(program.kept))
    before = [None] * (len(traced) + len(kept))
    if all(map(is_zero, cotangents)):
        return [*before, *transposed(seeds, [zero_of(s) for s in seeds])]
    slopes = map(ad.instantiate_zeros, cotangents)
    found = tangent_p.bind(*traced, *kept, *slopes, program=program, kept=len(kept), is_held=True)
    return [*before, *transposed(seeds, found)]


def zero_of(linear: Any) -> Any:
    return ad.Zero(linear.aval.to_tangent_aval()) if ad.is_undefined_primal(linear) else None


# -- what is left out ----------------------------------------------------------------------------------------
def without_rest(used: list[bool], eqn: Any) -> tuple[list[bool], Any]:
    """The forward sweep whose rest nobody uses is the function."""
    if not any(used):
        return [False] * len(eqn.invars), None
    program = eqn.params["program"]
    count = len(program.outputs)
    if any(used[count:]):
        return [True] * len(eqn.invars), eqn
    params = {"program": program.base}
    return [True] * len(eqn.invars), eqn.replace(primitive=function_p, outvars=eqn.outvars[:count], params=params)


def without_kept(used: list[bool], eqn: Any) -> tuple[list[bool], Any]:
    """A tangent that nobody transposes needs nothing that is kept."""
    if not any(used):
        return [False] * len(eqn.invars), None
    program, kept, is_held = (eqn.params[n] for n in ("program", "kept", "is_held"))
    if is_held or not kept:
        return [True] * len(eqn.invars), eqn
    traced, held, slopes = split(program, eqn.invars, kept)
    wanted = [*([True] * len(traced)), *([False] * len(held)), *([True] * len(slopes))]
    return wanted, eqn.replace(invars=[*traced, *slopes], params={**eqn.params, "kept": 0})


def held(trace: Any, *tracers: Any, **params: Any) -> Any:
    """The tangent by what is unknown yet is going to be transposed."""
    is_held = params["is_held"] or not all(t.is_known() for t in tracers)
    return trace.default_process_primitive(tangent_p, tracers, {**params, "is_held": is_held})


def held_in_checkpoint(_: Any, unknown: Sequence[bool], instantiated: Sequence[bool], eqn: Any) -> tuple[Any, ...]:
    """Likewise what `jax.checkpoint` computes again; no tangent is saved."""
    missing = [v for v, known in zip(eqn.invars, instantiated, strict=True) if not known and not isinstance(v, Literal)]
    count = len(eqn.outvars)
    if any(unknown):
        staged = eqn.replace(params={**eqn.params, "is_held": True})
        return None, staged, [True] * count, [True] * count, missing
    return eqn, eqn, [False] * count, [True] * count, missing


# -- batches -------------------------------------------------------------------------------------------------
def one_by_one(primitive: Primitive, args: Values, axes: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    """A call for each of a batch, in a loop of JAX's."""
    is_mapped = [axis is not None for axis in axes]
    mapped = [jnp.moveaxis(a, k, 0) for a, k in zip(args, axes, strict=True) if k is not None]

    def call(some: Values) -> Any:
        rest = iter(some)
        return primitive.bind(*(next(rest) if m else a for a, m in zip(args, is_mapped, strict=True)), **params)

    found = jax.lax.map(call, mapped)
    return found, [0] * len(found)


def primitive(
    name: str, compute: Callable[..., Any], shapes: Callable[..., Any], derivative: Any, static: tuple[str, ...] = ()
) -> Primitive:  # fmt: skip
    """A primitive whose parameters are the program and `static`."""
    made = Primitive(name)
    made.multiple_results = True
    made.def_impl(jax.jit(made.bind, static_argnames=("program", *static)))
    made.def_abstract_eval(shapes)
    mlir.register_lowering(made, mlir.lower_fun(compute, multiple_results=True))
    ad.primitive_jvps[made] = derivative
    batching.primitive_batchers[made] = partial(one_by_one, made)
    return made


function_p = primitive("loopdiff", function, shapes_of_function, derivative_of_function)
forward_p = primitive("loopdiff_forward", forward, shapes_of_forward, derivative_of_forward)
tangent_p = primitive("loopdiff_tangent", tangent, shapes_of_tangent, derivative_of_tangent, ("kept", "is_held"))
reverse_p = primitive("loopdiff_reverse", reverse, shapes_of_reverse, derivative_of_reverse)
ad.primitive_transposes[tangent_p] = transpose_of_tangent
ad.primitive_transposes[reverse_p] = transpose_of_reverse
pe.dce_rules[forward_p] = without_rest
pe.dce_rules[tangent_p] = without_kept
pe.custom_partial_eval_rules[tangent_p] = held
pe.partial_eval_jaxpr_custom_rules[tangent_p] = held_in_checkpoint
