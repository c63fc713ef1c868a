"""One function for one combination of argument types: what is generated for it, each part when asked for."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from threading import RLock
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from loopdiff.cache.keys import Identity, digest_of
from loopdiff.cache.store import Store
from loopdiff.errors import DifferentiationError
from loopdiff.errors.codes import reject
from loopdiff.frontend.capture import ArgumentType
from loopdiff.frontend.extents import Question, decisive_types
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.types import ArrayType, ScalarType
from loopdiff.ir.walk import written_arrays
from loopdiff.pipeline.code import (
    arrange_for_target,
    compile_function,
    explain_for_cuda,
    instantiate,
    reload_function,
    runs_on_threads,
)
from loopdiff.pipeline.derive import (
    arrange_one_pass,
    arrange_primal_rows,
    arrange_rows,
    bind_types,
    choose_wrt,
    derive_one_pass,
    derive_prospects,
    derive_sparsity,
    derive_tangent,
    keeps_any_whole,
    may_keep_functions,
    plain_buffers,
    plan_sweeps,
    sweeps_in_form,
    with_results_given,
)
from loopdiff.pipeline.stages import Stages
from loopdiff.settings.options import Options, PlanPolicy
from loopdiff.settings.requests import NOTHING, Request, Requests
from loopdiff.source.functions import SourceFunction
from loopdiff.source.nodes import syntax_nodes
from loopdiff.specialize.gradients import record_type
from loopdiff.specialize.interface import Interface
from loopdiff.specialize.results import LOSS_FIRST, is_floating, names_asked, refuse_integers, result_types
from loopdiff.specialize.units import Plan, SweepName, SweepUnits, Unit, kept_plan

if TYPE_CHECKING:
    from loopdiff.ad.tape.sweeps import SweepForm, Sweeps
    from loopdiff.frontend.written import Surface
    from loopdiff.mapping.loops import Arranged

T = TypeVar("T")
# Parts that depend on the schedule.
GENERATED = (
    "primal", "rows", "sweeps", "run", "one pass", "one-pass", "tangent", "identity", "variant", "tuned", "pullback",
    "pushforward", "by", "batch",
)  # fmt: skip
# Parts that do not depend on what is differentiated.
OF_NO_DERIVATIVE = (
    "surface", "asked", "bound", "normal", "interface", "written", "result types", "default wrt", "primal",
    "primal rows", "primal filling loops", "primal filling", "words",
)  # fmt: skip


class AnyProgram(Protocol):
    """What a Specialization is of: a function as it was written, or one that is derived from another."""

    source: SourceFunction
    surface: ir.LoopSet | None
    options: Options
    stages: Stages
    lock: RLock
    identity: Identity
    key: str | None
    has_value: bool  # whether results come before the gradients, if it gives any

    def read(self, types: Mapping[str, ArgumentType], stages: Stages) -> Surface:
        """The function as it was written, for arguments of `types`."""
        ...

    def lower(self, spec: Specialization) -> ir.LoopSet:
        """The normal LoopSet for the types of `spec`."""
        ...

    def interface(self, spec: Specialization) -> Interface:
        """What the caller of `spec` passes and gets."""
        ...

    def inner(self, types: Mapping[str, ArgumentType], /) -> Specialization | None:
        """What it is the gradient of, if it is one, for `types`."""
        ...


class Specialization:
    """What is derived from `program` for arguments of `types`; every part is made once, at its first use."""

    def __init__(
        self, program: AnyProgram, types: Mapping[str, ArgumentType], wrt: tuple[str, ...] | None,
        options: Options | None = None,
    ) -> None:  # fmt: skip
        self.program = program
        self.types = types
        self.requested = wrt
        self.options = options or program.options
        self.stages = Stages(program.source.name, program.stages.progress)
        self.lock = program.lock
        self.made: dict[str, Any] = {}
        place = repr(program.identity.homes) if any(r.line for r in self.options.schedule) else ""
        parts = [program.key or "", repr(sorted(types.items())), self.options.key, place]
        self.store = Store(digest_of(parts) if program.key else None, program.identity.homes)

    def once(self, name: str, make: Callable[[], T]) -> T:
        """The part `name`, made by the first thread that asks for it."""
        found = self.made.get(name)
        if found is None:
            with self.lock:
                found = self.made.get(name)
                if found is None:
                    with self.stages.progress:
                        found = self.made[name] = make()
        return found

    def kept(self, name: str, make: Callable[[], T]) -> T:
        """Like `once`, from disk if it is there."""

        def load_or_make() -> T:
            value = self.store.load(name)
            if value is None:
                value = make()
                self.store.save(name, value)
            return value

        return self.once(name, load_or_make)

    def variant(self, schedule: tuple[Request, ...]) -> Specialization:
        """The same under another `schedule`, with all that does not depend on it."""
        if schedule == self.options.schedule:
            return self

        def make() -> Specialization:
            made = Specialization(self.program, self.types, self.requested, replace(self.options, schedule=schedule))
            made.made |= {name: part for name, part in self.made.items() if not name.startswith(GENERATED)}
            return made

        return self.once(f"variant {schedule!r}", make)

    # -- parts -----------------------------------------------------------------------------------------------
    @property
    def surface(self) -> Surface:
        """The function as it was written, for these types."""
        return self.once("surface", lambda: self.program.read(self.types, self.stages))

    @property
    def bound(self) -> ir.LoopSet:
        """The same with these types."""
        return self.once("bound", lambda: bind_types(self.surface.ls, self.types, self.stages))

    @property
    def asked(self) -> frozenset[Question]:
        """What of the extents of arguments decides what is generated."""
        return self.kept("asked", lambda: self.surface.asked)

    def for_all_alike(self) -> Specialization:
        """The same for types without what nothing depends on, which it is kept on disk for."""
        types = decisive_types(self.types, self.asked)
        if types == self.types:
            return self
        made = Specialization(self.program, types, self.requested)
        made.made |= {name: part for name, part in self.made.items() if name in ("surface", "asked")}
        return made

    @property
    def normal(self) -> ir.LoopSet:
        return self.kept("normal", lambda: self.program.lower(self))

    @property
    def inner(self) -> Specialization | None:
        """What this is the gradient of, if it is one."""
        return self.program.inner(self.types)

    @property
    def count_names(self) -> tuple[str, ...]:
        """Parameters that the caller does not give: what sizes the tapes inside a gradient."""
        return self.normal.params[len(self.interface.params) :]

    @property
    def record(self) -> type[tuple[Any, ...]] | None:
        """The named tuple that the results make."""
        if self.inner is None or self.program.has_value:
            return None
        return record_type("Gradients", self.inner.wrt_of_caller)

    @property
    def interface(self) -> Interface:
        """What the caller passes and gets."""
        return self.kept("interface", lambda: self.program.interface(self))

    @property
    def written(self) -> frozenset[str]:
        """Array arguments that the function writes."""
        return self.once("written", lambda: written_arrays(self.normal.body) & frozenset(self.normal.params))

    @property
    def result_types(self) -> tuple[ScalarType | ArrayType, ...]:
        """Type of each result."""
        return self.once("result types", lambda: result_types(self.normal))

    @property
    def wrt(self) -> tuple[str, ...]:
        """Parameters to differentiate. Raises DifferentiationError: LD402 for an integer, LD403 for none."""
        return self.once("wrt", self.find_wrt)

    @property
    def wrt_of_caller(self) -> tuple[str, ...]:
        """The same, by the names that the caller knows."""
        return self.once("wrt of caller", lambda: self.interface.gathered(self.wrt))

    def find_wrt(self) -> tuple[str, ...]:
        if self.requested is None:
            floating = self.kept("default wrt", lambda: choose_wrt(self.normal, self.stages))
            source = self.program.source
            wrt = tuple(name for name in floating if name not in source.hidden | source.unasked)
        else:
            asked = names_asked(self.requested, self.interface.names, self.program.source, self.types)
            wrt = self.interface.expanded(asked)
            refuse_integers(self.normal, wrt)
        if not wrt:
            message = f"`{self.normal.name}` has no floating argument to differentiate"
            raise DifferentiationError(reject("LD403", message, self.normal.loc))
        return wrt

    @property
    def primal(self) -> Unit:
        return self.once("primal", self.make_primal)

    def make_primal(self) -> Unit:
        return self.unit("primal", self.primal_loops, self.requests("primal"))

    @property
    def primal_loops(self) -> ir.LoopSet:
        """The LoopSet that `primal` is made from."""
        if not (self.options.fastmath and self.options.is_for_cpu):
            return self.normal
        requests = self.requests("primal")
        return self.kept("primal rows", lambda: arrange_primal_rows(self.normal, requests, self.stages))

    @property
    def filling_loops(self) -> ir.LoopSet:
        """Those of `primal`, with the arrays that it returns as parameters after all others."""
        return self.once("primal filling loops", lambda: with_results_given(self.primal_loops))

    @property
    def filling(self) -> Unit:
        """`primal` for callers that own all arrays."""

        def make() -> Unit:
            return self.unit("filling", self.filling_loops, self.requests("primal"))

        return self.once("primal filling", make) if self.filling_loops.params != self.normal.params else self.primal

    def by(self, wrt: tuple[str, ...]) -> Specialization:
        """The same for other parameters to differentiate, with all that does not depend on them."""
        if wrt == self.wrt:
            return self

        def make() -> Specialization:
            made = Specialization(self.program, self.types, wrt, self.options)
            made.made |= {name: self.made[name] for name in OF_NO_DERIVATIVE if name in self.made}
            made.made["wrt"] = wrt
            return made

        return self.once(f"by {wrt!r}", make)

    def requests(self, sweep: str) -> Requests:
        """What the options ask of the loops of one sweep."""
        return Requests(tuple(r for r in self.options.schedule if r.sweep == sweep), self.words)

    @property
    def words(self) -> frozenset[str]:
        """The names in the text of the program."""
        node = self.program.source.node
        return self.once("words", lambda: frozenset(n.id for n in syntax_nodes(node) if isinstance(n, ast.Name)))

    @property
    def finish(self) -> Callable[[Any], Any] | None:
        """Makes the compiled function's return value the function's own."""
        return self.interface.finish(self.result_types, self.record)

    def own_result(self, flat: Iterable[Any]) -> Any:
        """The result as the caller knows it, from those of the compiled code."""
        return self.once("maker of results", lambda: self.interface.maker_of_result(self.record))(flat)

    def form(self, form: SweepForm) -> SweepForm:
        """`form`, but for functions that write no floating array: their gradient is the pullback."""
        written = (self.normal.array(n).type for n in self.written)
        gets_cotangents = any(kind is not None and kind.element.is_float for kind in written)
        return "pullback" if form == "gradient" and not gets_cotangents else form

    def plan(self, form: SweepForm = "sums", tape: PlanPolicy | None = None) -> Plan:
        """The sweeps in one of their forms, under the tape policy of the options, or under `tape`."""
        policy = tape or self.options.tape
        label = f"plan-{form}-{policy}-{digest_of(list(self.wrt))[:12]}"
        return self.kept(label, lambda: self.planned(form, policy))

    def planned(self, form: SweepForm, policy: PlanPolicy) -> Plan:
        """`plan`, not from disk; the same object for policies that keep the same."""
        is_like_rows = policy == "auto" and "built rows" in self.made and self.built("auto") == self.built("rows")
        found = "rows" if is_like_rows else policy
        return self.once(
            f"planned {form} {found}",
            lambda: kept_plan(sweeps_in_form(self.normal, self.wrt, self.built(found), self.stages, form)),
        )

    def built(self, policy: PlanPolicy) -> Sweeps:
        """Sweeps under a tape policy, in no form."""
        return self.once(
            f"built {policy}", lambda: plan_sweeps(self.normal, self.wrt, policy, self.stages, self.options.of_loss)
        )

    def sweeps(self, form: SweepForm, tape: PlanPolicy) -> SweepUnits:
        return self.once(f"sweeps {form} {tape}", lambda: self.make_sweeps(form, tape))

    def make_sweeps(self, form: SweepForm, tape: PlanPolicy) -> SweepUnits:
        label = f"{form}-{tape}-{digest_of(list(self.wrt))[:12]}"
        asked = (self.requests("forward"), self.requests("reverse"))
        if self.options.fastmath and self.options.is_for_cpu:
            plan = self.kept(f"rows-{label}", lambda: self.in_rows(self.plan(form, tape), asked))
        else:
            plan = self.plan(form, tape)

        def make(name: SweepName) -> Unit:
            match name:
                case "forward":
                    return self.unit(f"forward-{label}", plan.forward, asked[0], plan.reverse)
                case "reverse":
                    return self.unit(f"reverse-{label}", plan.reverse, asked[1])
                case "counts":
                    assert plan.counts is not None
                    return self.unit(f"counts-{label}", plan.counts)

        return SweepUnits(plan, lambda name: self.once(f"sweeps {name} {label}", lambda: make(name)))

    def in_rows(self, plan: Plan, asked: tuple[Requests, Requests]) -> Plan:
        forward, reverse = arrange_rows(plan.forward, plan.reverse, asked, self.stages)
        tapes = {a.name: a for a in forward.arrays}
        temporaries = tuple(t.laid_out(tapes[t.name]) if t.name in tapes else t for t in plan.temporaries)
        return replace(plan, forward=forward, reverse=reverse, temporaries=temporaries)

    @property
    def one_pass(self) -> Unit | None:
        """The value with its gradient as one function, where that keeps less than a sweep after the other does."""
        found = self.one_pass_loops
        label = f"{self.one_pass_label}-code"
        return None if found is None else self.once("one pass", lambda: self.unit(label, found, NOTHING))

    @property
    def one_pass_label(self) -> str:
        return self.of_wrt("one-pass")

    @property
    def one_pass_loops(self) -> ir.LoopSet | None:
        """The LoopSet of `one_pass`; none where the caller says how sweeps run, or what is kept between them."""
        is_number = self.interface.number is not None
        if not (is_number and self.may_choose_sweeps and all(map(self.is_plain_gradient, self.wrt))):
            return None
        return self.kept(self.one_pass_label, lambda: (self.find_one_pass(),))[0]

    @property
    def may_choose_sweeps(self) -> bool:
        """Whether nobody said anything about the sweeps that keeps them apart."""
        options, asked = self.options, (*self.requests("forward").items, *self.requests("reverse").items)
        is_plain = options.fastmath and options.tape == "auto" and not asked
        return (
            is_plain
            and options.is_for_cpu
            and options.memory_limit is None
            and options.spill is None
            and options.check != "first"
            and not options.autotune
        )

    def one_pass_of(self, plan: Plan) -> ir.LoopSet | None:
        """Both sweeps of a plan in one pass; none where something has to be counted before."""
        if plan.count_names:
            return None
        return derive_one_pass(self.normal, plan.forward, plan.reverse, self.wrt, self.stages)

    def find_one_pass(self) -> ir.LoopSet | None:
        form = self.form("gradient")
        plain = self.plan(form)
        if not derive_prospects(plain.forward, plain.reverse, self.stages):
            return None
        rows = self.plan(form, "rows") if may_keep_functions(self.normal) else None
        found = None if rows is None else self.one_pass_of(rows)
        if rows is None or found is None or keeps_any_whole(found, rows.forward):
            found = found if plain == rows else self.one_pass_of(plain)
        if found is None:
            return None
        arranged = arrange_one_pass(found, self.stages)
        is_as_asked = not self.options.parallel or runs_on_threads(arranged, self.options, self.stages)
        return arranged if is_as_asked else None

    def is_plain_gradient(self, name: str) -> bool:
        """Whether the gradient by `name` is a number or a C-ordered array."""
        if not self.normal.has_array(name):
            return True
        kind = self.normal.array(name).type
        return kind is not None and kind.rank > 0 and kind.layout != "F"

    @property
    def tangent(self) -> Unit:
        return self.once("tangent", self.make_tangent)

    def make_tangent(self) -> Unit:
        return self.unit(f"{self.of_wrt('tangent')}-code", plain_buffers(self.tangent_loops), self.requests("tangent"))

    @property
    def tangent_loops(self) -> ir.LoopSet:
        """The LoopSet that `tangent` is made from."""
        return self.kept(self.of_wrt("tangent"), lambda: derive_tangent(self.normal, self.wrt, self.stages))

    @property
    def sparsity(self) -> Unit:
        """What the outputs depend on: takes and gives sets of inputs where `tangent` has tangents."""
        return self.once("sparsity", self.make_sparsity)

    def make_sparsity(self) -> Unit:
        label = self.of_wrt("sparsity")
        ls = self.kept(label, lambda: derive_sparsity(self.normal, self.tangent_loops, self.stages))
        return self.unit(f"{label}-code", plain_buffers(ls))

    def of_wrt(self, name: str) -> str:
        """The label of a part that depends on what is differentiated."""
        return f"{name}-{digest_of(list(self.wrt))[:12]}"

    def unit(self, label: str, ls: ir.LoopSet, requests: Requests = NOTHING, reader: ir.LoopSet | None = None) -> Unit:
        """`ls` with its function; the generated text is found again on disk without emitting it.

        `requests` are for its loops, `reader` goes on with the arrays that it leaves.
        """
        store = self.store if self.program.identity.has_rules_of(ls) else Store(None)
        kept = store.load(f"{label}-emitted")
        function = None if kept is None else reload_function(*kept)
        if function is None:
            function = compile_function(ls, self.options, requests, self.stages, reader)
            store.save(f"{label}-emitted", (function.name, function.source))
        entry = instantiate(ls, function, self.options, self.stages)
        return Unit(ls, function, requests, reader, entry, self.options.target == "cuda")

    def arranged(self, unit: Unit) -> Arranged:
        """The loops that `unit` was generated from; those of a function from disk are arranged again."""
        return unit.function.arranged or arrange_for_target(
            unit.ls, self.options, unit.requests, self.stages, unit.reader
        )

    def explain_for_cuda(
        self, unit: Unit, shapes: Mapping[str, tuple[int, ...]] | None, values: Mapping[str, Any]
    ) -> tuple[str, float | None]:  # fmt: skip
        """The launch plan of `unit` in words, and the nanoseconds that it takes at least, where `shapes` are known."""
        return explain_for_cuda(unit.ls, self.options, unit.requests, self.stages, unit.reader, shapes, values)


def require_scalar_result(spec: Specialization) -> None:
    """Raise DifferentiationError (LD404) unless the function returns one floating number, or a record of one; where it
    is asked for a loss, unless that comes first in a tuple."""
    kinds, is_alone = spec.interface.results, not spec.interface.returns_tuple or spec.record is not None
    is_first = bool(kinds) and isinstance(kinds[0], ScalarType) and is_floating(kinds[0])
    if is_first and (spec.interface.returns_tuple if spec.options.of_loss else len(kinds) == 1 and is_alone):
        return
    found = "nothing" if not kinds else ", ".join(getattr(k, "value", str(k)) for k in kinds)
    message, hint = f"`{spec.normal.name}` returns {found}, and a gradient needs one floating-point number", None
    if spec.options.of_loss:
        message, hint = f"`{spec.normal.name}` returns {found}, with `has_aux`", LOSS_FIRST
    elif spec.options.has_aux:
        hint = "differentiate a function that returns the number alone"
    elif is_first and len(kinds) > 1:
        hint = "set `has_aux=True`, or use `vjp`, and pass seeds and cotangents to the pullback"
    raise DifferentiationError(reject("LD404", message, spec.normal.loc, hint))
