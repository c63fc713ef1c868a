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
from jax.extend.core import Literal, Primitive
from jax.interpreters import ad, batching, mlir
from jax.interpreters import partial_eval as pe

from loopdiff.jax.batches import Marks, in_batch, levels, may_be_batched, sizes_of, summed, unmarked, with_wanted_axes
from loopdiff.jax.calls import LoopCode
from loopdiff.jax.derived import gradient_inputs, gradients_among, tangent_inputs, tangents_among
from loopdiff.jax.manual import types_like, varying_together
from loopdiff.jax.partitioning import let_know_devices, lowering
from loopdiff.jax.program import JaxProgram
from loopdiff.jax.reverse import is_known_zero, rounded_slope

Values = Sequence[Any]
AllMarks = tuple[Marks, ...]


def apply(program: JaxProgram, traced: Values) -> tuple[Any, ...]:
    """The outputs of `program`."""
    return tuple(compiled(program)(*varying_together(traced)))


def compiled(program: JaxProgram) -> Callable[..., Any]:
    def make() -> Callable[..., Any]:
        def call(*traced: Any) -> Any:
            return function_p.bind(*traced, program=program, marks=unmarked(traced))

        call.__name__ = program.ls.name
        return jax.jit(call, inline=True)

    return program.once("compiled", make)


# -- what the primitives compute -----------------------------------------------------------------------------
def function(*traced: Any, program: JaxProgram, marks: AllMarks) -> list[Any]:
    return [*program.evaluate(traced, marks)]


def forward(*traced: Any, program: JaxProgram, marks: AllMarks) -> list[Any]:
    """The outputs, then the rest of what is kept."""
    outputs, rest = program.forward(traced, marks)
    return [*outputs, *rest]


def tangent(*given: Any, program: JaxProgram, marks: AllMarks, kept: int, is_held: bool) -> list[Any]:
    """The tangents of the floating outputs, from inputs, as many arrays `kept`, and the tangents by `slopes`.

    What is kept is for the transpose alone. `is_held`: there is going to be one.
    """
    traced, _, slopes = zip(*(split(program, v, kept) for v in (given, marks)), strict=True)
    inputs, own = map(partial(tangent_inputs, program), traced, slopes)
    among = partial(tangents_among, program)
    return in_full(
        program.pushforward().evaluate(inputs, own), inputs, own, among, tangent_kinds(program), given, marks
    )


def reverse(*given: Any, program: JaxProgram, marks: AllMarks, wanted: AllMarks) -> list[Any]:
    """The gradients by `slopes`, from inputs, what is kept, and the cotangents of the floating outputs."""
    traced, kept, cotangents = split(program, given, len(program.kept))
    return [*program.reverse(traced, kept, cotangents, marks, wanted)]


def split(program: JaxProgram, given: Values, kept: int) -> tuple[Values, Values, Values]:
    """The inputs, what is kept, and what follows."""
    count = len(program.traced)
    return given[:count], given[count : count + kept], given[count + kept :]


def in_full(
    outputs: Values, inputs: Values, own: AllMarks, among: Callable[[Values, Values], Values],
    kinds: Sequence[jax.ShapeDtypeStruct], given: Values, marks: AllMarks,
) -> list[Any]:  # fmt: skip
    """What there is `among` the outputs of a program for a batch, and its inputs with their `own` marks, as what each
    example has for itself; None is zero. `given` for the batch are the operands with `marks`."""
    sizes, whole = sizes_of(list(map(jnp.shape, given)), marks), every(marks)
    found = zip(among(outputs, inputs), among([whole] * len(outputs), own), kinds, strict=True)
    return [
        jnp.zeros(in_batch(kind.shape, whole, sizes), kind.dtype) if v is None or m is None or is_known_zero(v)
        else rounded_slope(with_wanted_axes(v, m, whole, sizes), kind.dtype)
        for v, m, kind in found
    ]  # fmt: skip


def kind_in_loops(kind: jax.ShapeDtypeStruct) -> jax.ShapeDtypeStruct:
    """The kind of a derivative in the loops."""
    return jax.ShapeDtypeStruct(kind.shape, jnp.promote_types(kind.dtype, jnp.float32))


def tangent_kinds(program: JaxProgram) -> list[jax.ShapeDtypeStruct]:
    """What there is a tangent of."""
    kinds = program.output_kinds
    return [kinds[k] for k in program.with_slopes]


# -- their types ---------------------------------------------------------------------------------------------
def kinds_of(
    kinds: Sequence[jax.ShapeDtypeStruct], like: Values, marks: AllMarks, wanted: AllMarks | None = None
) -> list[Any]:  # fmt: skip
    """The types of outputs for a batch, each of one of the `kinds` for single examples."""
    sizes = sizes_of([v.shape for v in like], marks)
    axes = wanted if wanted is not None else [(True,) * len(sizes)] * len(kinds)
    shapes = [in_batch(k.shape, own, sizes) for k, own in zip(kinds, axes, strict=True)]
    return types_like([jax.ShapeDtypeStruct(s, k.dtype) for s, k in zip(shapes, kinds, strict=True)], like)


def types_of_function(*like: Any, program: JaxProgram, marks: AllMarks) -> list[Any]:
    return kinds_of(program.output_kinds, like, marks)


def types_of_forward(*like: Any, program: JaxProgram, marks: AllMarks) -> list[Any]:
    return kinds_of([*program.output_kinds, *program.rest_kinds], like, marks)


def types_of_tangent(*like: Any, program: JaxProgram, marks: AllMarks, kept: int, is_held: bool) -> list[Any]:
    return kinds_of(tangent_kinds(program), like, marks)


def types_of_reverse(*like: Any, program: JaxProgram, marks: AllMarks, wanted: AllMarks) -> list[Any]:
    return kinds_of(program.slope_kinds, like, marks, wanted)


# -- derivatives ---------------------------------------------------------------------------------------------
def zero_like(value: Any) -> Any:
    return ad.Zero(jax.typeof(value).to_tangent_aval())


def perturbed(program: JaxProgram, tangents: Values) -> list[str]:
    return [n for n, t in zip(program.traced, tangents, strict=True) if not is_known_zero(t)]


def every(marks: AllMarks) -> Marks:
    """The marks of what has an axis for every level."""
    return (True,) * levels(marks)


def along(program: JaxProgram, primals: Values, marks: AllMarks, kept: Values, tangents: Values) -> list[Any]:
    """The tangents of the floating outputs along those of the inputs."""
    given = dict(zip(program.traced, zip(tangents, marks, strict=True), strict=True))
    slopes = [given[n] for n in program.slopes]
    own = (*marks, *(every(marks) for _ in kept), *(m for _, m in slopes))
    values = (*primals, *kept, *(ad.instantiate_zeros(t) for t, _ in slopes))
    return tangent_p.bind(*values, program=program, marks=own, kept=len(kept), is_held=False)


def at_outputs(program: JaxProgram, outputs: Values, slopes: Values) -> list[Any]:
    """A tangent for each output, zero for integers."""
    found = dict(zip(program.with_slopes, slopes, strict=True))
    return [found[k] if k in found else zero_like(v) for k, v in enumerate(outputs)]


def derivative_of_function(
    primals: Values, tangents: Values, *, program: JaxProgram, marks: AllMarks
) -> tuple[Values, Values]:
    names = perturbed(program, tangents)
    if not program.with_slopes or not names:
        outputs = function_p.bind(*primals, program=program, marks=marks)
        return outputs, [zero_like(v) for v in outputs]
    swept = program.by(names)
    if not swept.has_known_workspace:  # the transpose of the tangent is going to say so, if there is one
        outputs = function_p.bind(*primals, program=program, marks=marks)
        return outputs, at_outputs(program, outputs, along(swept, primals, marks, (), tangents))
    found, slopes = derivative_of_forward(primals, tangents, program=swept, marks=marks)
    return found[: len(program.outputs)], slopes[: len(program.outputs)]


def derivative_of_forward(
    primals: Values, tangents: Values, *, program: JaxProgram, marks: AllMarks
) -> tuple[Values, Values]:
    found = forward_p.bind(*primals, program=program, marks=marks)
    outputs, rest = found[: len(program.outputs)], found[len(program.outputs) :]
    swept = program.by(perturbed(program, tangents))
    kept = program.kept_of(outputs, rest) if swept is program else ()
    slopes = along(swept, primals, marks, kept, tangents)
    return found, [*at_outputs(program, outputs, slopes), *map(zero_like, rest)]


def derivative_of_tangent(
    primals: Values, tangents: Values, *, program: JaxProgram, marks: AllMarks, kept: int, is_held: bool
) -> tuple[Values, Values]:
    bind = partial(tangent_p.bind, program=program, marks=marks, kept=kept, is_held=is_held)
    traced, held, slopes = zip(*(split(program, v, kept) for v in (primals, tangents, marks)), strict=True)
    if all(map(is_known_zero, traced[1])):
        return bind(*primals), bind(*traced[0], *held[0], *map(ad.instantiate_zeros, slopes[1]))
    inputs, directions, own = map(partial(tangent_inputs, program), traced, slopes)
    outputs, found = derivative_of_function(inputs, directions, program=program.pushforward(), marks=own)
    whole = own, partial(tangents_among, program), tangent_kinds(program), primals, marks
    return in_full(outputs, inputs, *whole), in_full(found, directions, *whole)


def derivative_of_reverse(
    primals: Values, tangents: Values, *, program: JaxProgram, marks: AllMarks, wanted: AllMarks
) -> tuple[Values, Values]:
    bind = partial(reverse_p.bind, program=program, marks=marks, wanted=wanted)
    traced, kept, cotangents = zip(
        *(split(program, v, len(program.kept)) for v in (primals, tangents, marks)), strict=True
    )
    if all(map(is_known_zero, traced[1])):
        return bind(*primals), bind(*traced[0], *kept[0], *map(ad.instantiate_zeros, cotangents[1]))
    inputs, directions, own = map(partial(gradient_inputs, program), traced, cotangents)
    outputs, found = derivative_of_function(inputs, directions, program=program.pullback(), marks=own)
    kinds = program.slope_kinds
    whole = own, partial(gradients_among, program), [*map(kind_in_loops, kinds)], primals, marks
    each = in_full(outputs, inputs, *whole), in_full(found, directions, *whole)
    values, slopes = (
        [rounded_slope(summed(v, every(marks), m), k.dtype) for v, m, k in zip(g, wanted, kinds, strict=True)]
        for g in each
    )
    return values, slopes


# -- transposes ----------------------------------------------------------------------------------------------
def transposed(given: Values, found: Values) -> list[Any]:
    """`found` for the linear ones among `given`."""
    return [f if ad.is_undefined_primal(g) else None for g, f in zip(given, found, strict=True)]


def transpose_of_tangent(
    cotangents: Values, *given: Any, program: JaxProgram, marks: AllMarks, kept: int, is_held: bool
) -> list[Any]:
    (traced, held, slopes), (of_traced, of_held, of_slopes) = (split(program, v, kept) for v in (given, marks))
    before = [None] * (len(traced) + kept)
    if all(map(is_known_zero, cotangents)):
        return [*before, *map(zero_of, slopes)]
    if len(held) < len(program.kept):
        found = forward_p.bind(*traced, program=program, marks=tuple(of_traced))
        held = program.kept_of(found[: len(program.outputs)], found[len(program.outputs) :])
        of_held = tuple(every(marks) for _ in held)
    values = (*traced, *held, *map(ad.instantiate_zeros, cotangents))
    own = (*of_traced, *of_held, *(every(marks) for _ in cotangents))
    gradients = reverse_p.bind(*values, program=program, marks=own, wanted=tuple(of_slopes))
    return [*before, *transposed(slopes, gradients)]


def transpose_of_reverse(
    cotangents: Values, *given: Any, program: JaxProgram, marks: AllMarks, wanted: AllMarks
) -> list[Any]:
    count = len(program.kept)
    (traced, kept, seeds), (of_traced, of_kept, of_seeds) = (split(program, v, count) for v in (given, marks))
    before = [None] * (len(traced) + len(kept))
    if all(map(is_known_zero, cotangents)):
        return [*before, *map(zero_of, seeds)]
    values = (*traced, *kept, *map(ad.instantiate_zeros, cotangents))
    own = (*of_traced, *of_kept, *wanted)
    found = tangent_p.bind(*values, program=program, marks=own, kept=count, is_held=True)
    whole = [summed(v, every(marks), m) for v, m in zip(found, of_seeds, strict=True)]
    return [*before, *transposed(seeds, whole)]


def zero_of(given: Any) -> Any:
    """The zero of a linear operand, None for another."""
    return ad.Zero(given.aval.to_tangent_aval()) if ad.is_undefined_primal(given) else None


# -- what is left out ----------------------------------------------------------------------------------------
def without_rest(used: list[bool], *rest: Any) -> tuple[list[bool], Any]:
    """The forward sweep whose rest nobody uses is the function. JAX 0.12 says more than `used` and the equation."""
    eqn = rest[-1]
    if not any(used):
        return [False] * len(eqn.invars), None
    program = eqn.params["program"]
    count = len(program.outputs)
    if any(used[count:]):
        return [True] * len(eqn.invars), eqn
    params = {"program": program.base, "marks": eqn.params["marks"]}
    return [True] * len(eqn.invars), eqn.replace(primitive=function_p, outvars=eqn.outvars[:count], params=params)


def without_kept(used: list[bool], *rest: Any) -> tuple[list[bool], Any]:
    """A tangent that nobody transposes needs nothing that is kept."""
    eqn = rest[-1]
    if not any(used):
        return [False] * len(eqn.invars), None
    program, kept, is_held = (eqn.params[n] for n in ("program", "kept", "is_held"))
    if is_held or not kept:
        return [True] * len(eqn.invars), eqn
    traced, held, slopes = split(program, eqn.invars, kept)
    of_traced, _, of_slopes = split(program, eqn.params["marks"], kept)
    needed = [*([True] * len(traced)), *([False] * len(held)), *([True] * len(slopes))]
    params = {**eqn.params, "kept": 0, "marks": (*of_traced, *of_slopes)}
    return needed, eqn.replace(invars=[*traced, *slopes], params=params)


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
def for_batch(primitive: Primitive, args: Values, axes: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    """One level more: a loop of the LoopSet, or where that cannot be one of JAX's, around calls."""
    is_mapped = [axis is not None for axis in axes]
    if not may_be_batched(code_of(primitive, params["program"]), mapped_names(params["program"], is_mapped)):
        return one_by_one(primitive, args, axes, **params)
    if primitive is function_p and not levels(params["marks"]):
        return batch_of_function(args, axes, params["program"])
    marks = tuple((*own, m) for own, m in zip(params["marks"], is_mapped, strict=True))
    params = {**params, "marks": marks}
    if "wanted" in params:
        params["wanted"] = tuple((*own, True) for own in params["wanted"])
    found = primitive.bind(
        *(a if k is None else jnp.moveaxis(a, k, 0) for a, k in zip(args, axes, strict=True)), **params
    )
    return found, [0] * len(found)


def batch_of_function(args: Values, axes: Sequence[Any], program: JaxProgram) -> tuple[Any, Any]:
    """The function for a batch is a program of its own, whose sweeps are those of the batch."""
    (size,) = {a.shape[k] for a, k in zip(args, axes, strict=True) if k is not None}
    is_mapped = [k is not None or n in program.written for n, k in zip(program.traced, axes, strict=True)]
    given: list[Any] = []
    for value, axis, m in zip(args, axes, is_mapped, strict=True):
        moved = value if axis is None else jnp.moveaxis(value, axis, 0)
        given.append(jnp.broadcast_to(moved, (size, *value.shape)) if m and axis is None else moved)
    whole = program.base.for_batch(is_mapped, size)
    found = function_p.bind(*given, program=whole, marks=unmarked(given))
    return found, [0] * len(found)


def code_of(primitive: Primitive, program: JaxProgram) -> LoopCode:
    if primitive is function_p:
        return program.base.primal_call.code
    if primitive is tangent_p:
        return program.pushforward().primal_call.code
    return program.forward_call.code if primitive is forward_p else program.reverse_plan.call.code


def mapped_names(program: JaxProgram, is_mapped: Sequence[bool]) -> list[str]:
    """The inputs among what is mapped."""
    return [n for n, m in zip(program.traced, is_mapped, strict=False) if m]


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
    name: str, compute: Callable[..., Any], types: Callable[..., Any], derivative: Any, static: tuple[str, ...] = ()
) -> Primitive:  # fmt: skip
    """A primitive whose parameters are the program, the marks of its operands, and `static`."""
    made = Primitive(name)
    made.multiple_results = True
    made.def_impl(at_once(made, ("program", "marks", *static)))
    made.def_abstract_eval(types)
    mlir.register_lowering(made, lowering(compute))
    let_know_devices(made)
    ad.primitive_jvps[made] = derivative
    batching.primitive_batchers[made] = partial(for_batch, made)
    return made


def at_once(primitive: Primitive, static: tuple[str, ...]) -> Callable[..., Any]:
    """A call outside of programs, which is a program of its own, under `jax.disable_jit` too."""
    call = jax.jit(primitive.bind, static_argnames=static)

    def run(*given: Any, **params: Any) -> Any:
        with jax.disable_jit(False):
            return call(*given, **params)

    return run


function_p = primitive("loopdiff", function, types_of_function, derivative_of_function)
forward_p = primitive("loopdiff_forward", forward, types_of_forward, derivative_of_forward)
tangent_p = primitive("loopdiff_tangent", tangent, types_of_tangent, derivative_of_tangent, ("kept", "is_held"))
reverse_p = primitive("loopdiff_reverse", reverse, types_of_reverse, derivative_of_reverse, ("wanted",))
ad.primitive_transposes[tangent_p] = transpose_of_tangent
ad.primitive_transposes[reverse_p] = transpose_of_reverse
pe.dce_rules[forward_p] = without_rest
pe.dce_rules[tangent_p] = without_kept
pe.custom_partial_eval_rules[tangent_p] = held
pe.partial_eval_jaxpr_custom_rules[tangent_p] = held_in_checkpoint
