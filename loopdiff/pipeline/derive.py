"""What is derived from a function, in which order, and nothing else.

    source -> surface                                            read
    surface -> bound -> normal                                   lower
    normal -> forward + reverse (+ counts)                       derive_sweeps
    normal -> tangent                                            derive_tangent
    forward + reverse -> gradient, to start again from           derive_gradient
    forward + reverse -> both in one pass                        derive_one_pass
    forward + reverse -> pullback, likewise                      derive_pullback
    tangent -> tangents alone, likewise                          derive_pushforward
    any of these -> the same for a batch                         derive_batch
    any of these -> the same for a part of what it loops over    derive_part
    forward + reverse -> the same in blocks                      arrange_rows

`code.py` makes functions of these. Every step goes through `Stages`, which verifies, times and dumps its result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from loopdiff.errors import DifferentiationError, UnsupportedLoopError
from loopdiff.frontend.capture import ArgumentType
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.pipeline.stages import Stages
from loopdiff.settings.options import PlanPolicy
from loopdiff.settings.requests import Requests
from loopdiff.source.functions import SourceFunction
from loopdiff.source.parameters import takes_any_number

T = TypeVar("T")

if TYPE_CHECKING:
    from loopdiff.ad.tape.sweeps import SweepForm, Sweeps
    from loopdiff.analysis.split_axes import SplitAxis
    from loopdiff.canonical.batching import Batch
    from loopdiff.frontend.callees import Sources
    from loopdiff.frontend.written import Surface


# The surface LoopSet, None where it depends on types, and whether the function is only called by its leaves.
Look = tuple[ir.LoopSet | None, bool]


def look_through(source: SourceFunction, sources: Sources, stages: Stages) -> ir.LoopSet | None:
    """The surface LoopSet if it is the same for all types, else None. Raises UnsupportedLoopError (LD1xx) with every
    rejection of a function that can be rejected whatever its arguments are.
    """
    from loopdiff.frontend.parse import parse_surface
    from loopdiff.frontend.parsing.state import TypesNeeded

    try:
        return stages.run("look", parse_surface, source, sources).ls
    except TypesNeeded:
        return None


def read(source: SourceFunction, sources: Sources, types: Mapping[str, ArgumentType], stages: Stages) -> Surface:
    """The surface LoopSet for arguments of `types`. Raises UnsupportedLoopError (LD1xx) with every rejection.

    `sources` are those of the functions that it calls.
    """
    from loopdiff.frontend.parse import parse_surface

    found = stages.run("parse", parse_surface, source, sources, types)
    stages.check("surface", found.ls)
    return found


def looked_through(source: SourceFunction, sources: Sources, stages: Stages) -> Look:
    """A first look at a function, when it is decorated. Raises UnsupportedLoopError (LD1xx)."""
    from loopdiff.frontend.parsing.foreseen import refuse_missing, refuse_unknown_functions

    if source.apart is not None:
        return look_through(source, sources, stages), False
    refuse_missing(source)
    look = looked_at_or_apart(source, sources, stages)
    if look[0] is None:
        refuse_unknown_functions(source, sources)
    return look


def looked_at_or_apart(source: SourceFunction, sources: Sources, stages: Stages) -> Look:
    """The same, with what arguments of a structure would make of the function where its text alone is not enough."""
    from loopdiff.frontend.structures.apart import is_flat, taken_apart
    from loopdiff.frontend.structures.signs import makes_structures, reads_data, takes_structures

    if takes_any_number(source.signature) or reads_data(source, sources):
        return None, True
    refusal = None
    try:
        found = look_through(source, sources, stages)
        if found is not None or not makes_structures(source, sources):
            return found, False
    except UnsupportedLoopError as error:
        refusal = error
    try:
        apart = taken_apart(source, sources, {})
        result, is_read_at_calls = apart.result, bool(apart.hidden or apart.outside)
    except (DifferentiationError, UnsupportedLoopError):  # of a derivative inside, by what may be a structure
        if not takes_structures(source, sources):
            raise
        result, is_read_at_calls = None, False
    if is_read_at_calls or (result is not None and not is_flat(result)):
        return None, True
    if refusal is not None and not takes_structures(source, sources):
        raise refusal
    return None, False


def lower(
    surface: ir.LoopSet,
    types: Mapping[str, ArgumentType],
    stages: Stages,
    fastmath: bool = True,
    from_end: bool = False,
    bound: ir.LoopSet | None = None,
) -> ir.LoopSet:
    """The normal LoopSet for arguments of `types`, from what it is `bound` to if that is known. Raises
    UnsupportedLoopError (LD2xx)."""
    words = frozenset((*(a.name for a in surface.arrays), *(s.name for s in surface.scalars)))
    found = bind_types(surface, types, stages) if bound is None else bound
    return stages.check("normal", after("LOWERING", found, stages, fastmath=fastmath, from_end=from_end, words=words))


def after(pipeline: str, loops: T, stages: Stages, **facts: Any) -> T:
    """`loops` after the passes of `pipeline`, in a Context of these `facts`."""
    from loopdiff.settings.deferred import deferred_interrupts

    with deferred_interrupts():  # the operations of generated code are registered once, when they are imported
        from loopdiff.pipeline.passes import Context
        from loopdiff.pipeline.runner import PIPELINES, run_passes
    return run_passes(PIPELINES[pipeline], loops, Context(**facts), stages)


def bind_types(surface: ir.LoopSet, types: Mapping[str, ArgumentType], stages: Stages) -> ir.LoopSet:
    """The LoopSet with the caller's types, complex ones included. Raises UnsupportedLoopError (LD2xx)."""
    from loopdiff.frontend.binding.bind import bind

    return stages.run("bound", bind, surface, types)


def choose_wrt(normal: ir.LoopSet, stages: Stages) -> tuple[str, ...]:
    """The default `wrt`: floating arguments but pure outputs and scratch."""
    from loopdiff.analysis.activity import default_wrt
    from loopdiff.analysis.exposure import exposed_reads
    from loopdiff.analysis.polyhedral.model import build_model

    model = stages.run("model", build_model, normal)
    exposed = stages.run("flow", exposed_reads, model)
    return default_wrt(normal, frozenset(access.array for _, access in exposed))


def derive_sweeps(
    normal: ir.LoopSet, wrt: tuple[str, ...], tape: PlanPolicy, stages: Stages, form: SweepForm = "sums"
) -> Sweeps:  # fmt: skip
    """Forward and reverse sweep and the plan between them, in a form. Raises DifferentiationError (LD4xx)."""
    return sweeps_in_form(normal, wrt, plan_sweeps(normal, wrt, tape, stages), stages, form)


def plan_sweeps(
    normal: ir.LoopSet, wrt: tuple[str, ...], tape: PlanPolicy, stages: Stages, of_loss: bool = False
) -> Sweeps:  # fmt: skip
    """The sweeps, in no form yet; `of_loss`: only the first result has a derivative.

    Raises DifferentiationError (LD4xx)."""
    from loopdiff.ad.auxiliary import with_slope_of_first
    from loopdiff.ad.reverse import build_sweeps

    loops = stages.run("auxiliary", with_slope_of_first, normal) if of_loss else normal
    return stages.run("sweeps", build_sweeps, after("DIFFERENTIATED", loops, stages), wrt, tape)


def sweeps_in_form(
    normal: ir.LoopSet, wrt: tuple[str, ...], sweeps: Sweeps, stages: Stages, form: SweepForm
) -> Sweeps:  # fmt: skip
    """What `plan_sweeps` found, in a form.

    In the form `sums` the reverse sweep adds to all buffers. As a `pullback` it is given cotangents of the arrays that
    the function writes, as a `gradient` none; what it is not given starts at zero, whatever the buffers hold, and
    those that are no gradients are left with anything in them.
    """
    from loopdiff.ad.fresh import start_adjoints
    from loopdiff.passes.storage.cotangent_copies import keep_cotangents

    started, forgotten = start_adjoints(normal, sweeps, wrt, form)
    scratch = frozenset(a.name for a in started.arrays if a.extents is not None and a.role == "adjoint")
    reverse = after("REVERSE", started, stages, dead=scratch, forgotten=forgotten)
    sweeps = replace(sweeps, reverse=reverse)
    sweeps = stages.run("cotangents", keep_cotangents, sweeps, forgotten)
    stages.check("forward", sweeps.forward)
    stages.check("reverse", sweeps.reverse)
    if sweeps.counts is not None:
        stages.check("counts", sweeps.counts)
    return sweeps


def derive_tangent(normal: ir.LoopSet, wrt: tuple[str, ...], stages: Stages) -> ir.LoopSet:
    """Values and directional derivatives side by side. Raises DifferentiationError (LD4xx)."""
    from loopdiff.ad.forward import build_tangent

    return stages.run("tangent", build_tangent, normal, wrt)


def derive_pushforward(normal: ir.LoopSet, tangent: ir.LoopSet, stages: Stages) -> ir.LoopSet:
    """The directional derivatives of a function for any directions as a program of its own."""
    from loopdiff.ad.forward import build_pushforward

    return stages.run("pushforward", build_pushforward, normal, tangent)


def derive_batch(ls: ir.LoopSet, batch: Batch, stages: Stages) -> ir.LoopSet:
    """A function for each of a batch, as one function."""
    from loopdiff.canonical.batching import build_batch

    return stages.run("batch", build_batch, ls, batch)


def derive_part(ls: ir.LoopSet, axes: Sequence[SplitAxis], stages: Stages) -> ir.LoopSet:
    """A function for a part of the elements along `axes`."""
    from loopdiff.canonical.parts import program_of_part

    return stages.run("part", program_of_part, ls, axes)


def derive_sparsity(normal: ir.LoopSet, tangent: ir.LoopSet, stages: Stages) -> ir.LoopSet:
    """What the outputs depend on, as sets of inputs, found by the tangent. Raises DifferentiationError (LD4xx)."""
    from loopdiff.ad.sparsity import build_sparsity

    return stages.run("sparsity", build_sparsity, normal, tangent)


def plain_buffers(ls: ir.LoopSet) -> ir.LoopSet:
    """`ls` with contiguous adjoint and tangent buffers where the argument itself is strided."""
    arrays = tuple(
        replace(a, type=replace(a.type, layout="C"))
        if a.type is not None and a.role in ("adjoint", "gradient", "tangent") and a.type.layout == "A"
        else a
        for a in ls.arrays
    )
    return replace(ls, arrays=arrays)


def with_results_given(ls: ir.LoopSet) -> ir.LoopSet:
    """`ls` with the arrays that it returns as parameters after all others."""
    from loopdiff.passes.storage.workspace import with_given_results

    return with_given_results(ls)


def arrange_primal_rows(normal: ir.LoopSet, requests: Requests, stages: Stages) -> ir.LoopSet:
    """The function itself, for sums that may run in any order, in row blocks."""
    return after("PRIMAL", normal, stages, requests=requests)


def arrange_one_pass(found: ir.LoopSet, stages: Stages) -> ir.LoopSet:
    """What `derive_one_pass` finds in row blocks, its own arrays, then the gradients, as parameters after the
    arguments."""
    return after("ONE_PASS", found, stages)


def arrange_rows(
    forward: ir.LoopSet, reverse: ir.LoopSet, asked: tuple[Requests, Requests], stages: Stages
) -> tuple[ir.LoopSet, ir.LoopSet]:  # fmt: skip
    """The sweeps, for sums that may run in any order, in row blocks where that makes matrices of vectors."""
    from loopdiff.pipeline.both import BothSweeps

    both = after("BOTH_SWEEPS", BothSweeps(forward, reverse), stages, asked=asked)
    return both.forward, both.reverse


def derive_gradient(
    normal: ir.LoopSet,
    forward: ir.LoopSet,
    reverse: ir.LoopSet,
    count_names: tuple[str, ...],
    wrt: tuple[str, ...],
    has_value: bool,
    stages: Stages,
) -> ir.LoopSet:
    """The gradient of a function with one floating result as a program of its own, to be derived like `normal`."""
    from loopdiff.ad.gradient import build_gradient, without_value

    found = stages.run("gradient", build_gradient, normal, forward, reverse, count_names, wrt)
    return found if has_value else without_value(found)


def may_keep_functions(normal: ir.LoopSet) -> bool:
    """Whether elementary functions are evaluated: to keep their values may pay where these stay in the caches. A long
    program is not planned a second time for it."""
    from loopdiff.ad.tape.costs import has_functions
    from loopdiff.ir.walk import expressions
    from loopdiff.model.edges import is_long

    return has_functions(expressions(normal)) and not is_long(normal)


def derive_prospects(forward: ir.LoopSet, reverse: ir.LoopSet, stages: Stages) -> bool:
    """Whether it is worth a look if sweeps, in the form `gradient`, run together."""
    from loopdiff.passes.sweeps.prospects import may_run_together

    return stages.run("prospects", may_run_together, forward, reverse)


def derive_one_pass(
    normal: ir.LoopSet,
    forward: ir.LoopSet,
    reverse: ir.LoopSet,
    wrt: tuple[str, ...],
    stages: Stages,
) -> ir.LoopSet | None:
    """The value and the gradient of a function with one floating result as one function, where loops of both sweeps run
    together so that less is kept, or arrays of the reverse sweep are copies; None where neither is so. For sums that
    may run in any order.
    """
    from loopdiff.passes.sweeps.sweep_fusion import in_one_pass
    from loopdiff.pipeline.both import BothSweeps

    recorded = frozenset(a.name for a in forward.arrays if a.role in ("tape", "local"))
    last = after("LAST", BothSweeps(forward, reverse), stages)
    both = derive_gradient(normal, last.forward, last.reverse, (), wrt, True, stages)
    fewer = after("GRADIENT", both, stages)
    found = stages.run("one pass", in_one_pass, fewer, recorded) or (None if fewer is both else fewer)
    if found is None:
        return None
    return replace(start_unseen(found, stages), name=f"{normal.name}_value_and_gradient")


def start_unseen(found: ir.LoopSet, stages: Stages) -> ir.LoopSet:
    """`found`, both sweeps as one function, with arrays of its own that start with what is first added to them."""
    from loopdiff.passes.sweeps.sweep_fusion import carriers

    unseen = carriers(found)
    return after("REVERSE", found, stages, dead=unseen, forgotten=unseen)


def keeps_any_whole(ls: ir.LoopSet, forward: ir.LoopSet) -> bool:
    """Whether one of the tapes of `forward` has as many axes in `ls`."""
    axes = {a.name: len(a.extents or ()) for a in ls.arrays}
    return any(0 < len(a.extents or ()) == axes.get(a.name) for a in forward.arrays if a.role == "tape")


def derive_pullback(
    normal: ir.LoopSet,
    forward: ir.LoopSet,
    reverse: ir.LoopSet,
    count_names: tuple[str, ...],
    wrt: tuple[str, ...],
    stages: Stages,
) -> ir.LoopSet:
    """The gradients of a function for any seeds and cotangents as a program of its own."""
    from loopdiff.ad.gradient import build_pullback

    return stages.run("pullback", build_pullback, normal, forward, reverse, count_names, wrt)


def derive_checks(reverse: ir.LoopSet, like: Mapping[str, str], counted: tuple[str, ...], stages: Stages) -> ir.LoopSet:
    """What sees to it that a reverse sweep stays inside its arrays, those of `like` with the extents of another one."""
    from loopdiff.passes.checks.checks_alone import only_checks

    return stages.run("checks alone", only_checks, reverse, like, counted)
