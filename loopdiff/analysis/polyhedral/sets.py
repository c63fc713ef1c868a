"""Instances and elements as isl's integer sets.

Every access is an `Event`: a set of instances (iterations of the loops around it; `polyhedra_terms` describes
the other dimensions) and an exact map from instances to elements. Extents are assumed not to be negative,
different array arguments not to overlap, and subscripts to be in range and not negative (`bounds` asks for
the checks).

isl contexts must not be shared between threads that run at the same time: Models have one of their own, or share it
with those of the same compilation.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeVar

from loopdiff.analysis.polyhedral.events import EVERYWHERE, Event, Frame, element_event, find_events
from loopdiff.analysis.polyhedral.facts import Fact, Facts, Owners, find_owners
from loopdiff.analysis.polyhedral.shared import Shared
from loopdiff.analysis.polyhedral.terms import Terms
from loopdiff.analysis.polyhedral.translation import PARAM, SET, Translation, isl
from loopdiff.analysis.polyhedral.value_ranges import ValueRange
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import Path, Site, statements

QUOTA = 500_000
FEW = 4  # pieces of what is left of a set: it is put together where there are more, of which each step makes two
GIVING_UP = ("maximal number of operations exceeded", "unbounded optimum")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """Events of one LoopSet in textual order; the frames in which statements run, and those of loop bodies.

    `cache` holds isl objects and answers already computed, never state: a
    Model answers the same question the same way each time.
    """

    ls: ir.LoopSet
    terms: Terms
    frames: Mapping[Path, Frame]
    bodies: Mapping[Path, Frame]
    events: tuple[Event, ...]
    owners: Owners
    shared: Shared
    cache: dict[Hashable, Any] = field(default_factory=dict)

    def cached(self, key: Hashable, compute: Callable[[], T]) -> T:
        if key not in self.cache:
            self.cache[key] = compute()
        return self.cache[key]

    def touching(self, array: str, is_write: bool) -> tuple[Event, ...]:
        """Events that read, or write, `array`."""
        return self.cached(
            (array, is_write),
            lambda: tuple(e for e in self.events if e.access.array == array and e.is_write == is_write),
        )

    @property
    def context(self) -> Any:
        return self.shared.context

    @property
    def sites(self) -> Mapping[Path, Site]:
        """Statements by path."""
        return self.cached("sites", lambda: {s.path: s for s in statements(self.ls.body)})

    def loop(self, path: Path) -> ir.Loop:
        stmt = self.sites[path].stmt
        assert isinstance(stmt, ir.Loop)
        return stmt

    def reading(self, path: Path, access: ir.Access) -> Event:
        """`access` read by the statement at `path`, whether or not it occurs there."""
        return self.cached((path, access), lambda: element_event(self.terms, path, access, False, self.frames[path]))

    def bounded(self, compute: Callable[[], T], otherwise: T) -> T:
        """`compute()`, or `otherwise` where there is no bound or isl takes too long (it can be exponential)."""
        outer = self.context.get_max_operations()
        if not outer:
            self.context.reset_operations()
            self.context.set_max_operations(QUOTA)
        try:
            return compute()
        except isl.Error as error:
            if any(text in str(error) for text in GIVING_UP):
                return otherwise
            raise
        finally:
            self.context.set_max_operations(outer)


MOST_KEPT = 2  # LoopSets, such as both sweeps, whose models are kept


@immutable
class Kept:
    """Models, the latest first, what they have in common, and what was derived of LoopSets, each with the LoopSet."""

    models: list[Model] = field(default_factory=list)
    shared: Shared = field(default_factory=Shared)
    derived: dict[tuple[str, int], tuple[ir.LoopSet, Any]] = field(default_factory=dict)


KEPT: ContextVar[Kept | None] = ContextVar("KEPT", default=None)


@contextmanager
def models_kept() -> Iterator[None]:
    """Where `build_model` is asked for one of the LoopSets that it was asked for last, it answers with the same Model,
    and `derived_once` with what it derived before.
    """
    if KEPT.get() is not None:
        yield
        return
    token = KEPT.set(Kept())
    try:
        yield
    finally:
        KEPT.reset(token)


def derived_once(ls: ir.LoopSet, name: str, derive: Callable[[ir.LoopSet], T]) -> T:
    """`derive(ls)`, known by its `name`."""
    kept = KEPT.get()
    if kept is None:
        return derive(ls)
    key = (name, id(ls))
    if key not in kept.derived:
        kept.derived[key] = (ls, derive(ls))
    return kept.derived[key][1]


def build_model(ls: ir.LoopSet, ranges: Mapping[str, ValueRange] = MappingProxyType({})) -> Model:
    """The affine view of the normal LoopSet `ls`, with the `ranges` of some of its arrays."""
    kept = KEPT.get()
    latest = [] if kept is None else kept.models
    for known in latest:
        if known.ls is ls and (not ranges or known.terms.known is ranges):
            return known
    shared = Shared() if kept is None else kept.shared
    found = find_events(ls, shared.number, ranges)
    owners = find_owners(tuple(found.facts.values()), found.terms.parameters)
    model = Model(ls, found.terms, found.frames, found.bodies, tuple(found.events.values()), owners, shared)
    latest[:] = [model, *latest][:MOST_KEPT]
    return model


# -- instances -----------------------------------------------------------------------------------------------
def translation(model: Model, frame: Frame) -> Translation:
    """Of formulas over the dimensions of `frame`."""
    space = isl.Space.set_alloc(model.context, 0, len(frame.dims))
    return Translation(space, model.terms.parameters, {d.leaf: k for k, d in enumerate(frame.dims)})


def places_of_parameters(model: Model, found: Any) -> list[tuple[int, ir.Expr]]:
    """The parameters that a set, map or function of isl's has, in the order of their numbers, each with its place
    there in `found`."""
    names = ((int(found.get_dim_name(PARAM, k)[1:]), k) for k in range(found.dim(PARAM)))
    return [(k, model.shared.parameters[number]) for number, k in sorted(names)]


@immutable
class Domain:
    """Instances of a frame, the facts that they were restricted to, and those that say something of their parameters
    and would split them."""

    instances: Any
    facts: frozenset[Fact] = frozenset()
    pending: Facts = ()


def domain(model: Model, frame: Frame) -> Any:
    """The instances of `frame`."""
    return restricted(model, frame).instances


def restricted(model: Model, frame: Frame) -> Domain:
    return from_outside(model, frame, "domain", lambda f, outer: compute_domain(model, f, outer))


def from_outside(model: Model, frame: Frame, name: str, derive: Callable[[Frame, T | None], T]) -> T:
    """What is derived of `frame` from the same of what is around it: of that first, as there are as many frames in each
    other as checks in a row."""
    missing: list[Frame] = []
    around: Frame | None = frame
    while around is not None and (name, around) not in model.cache:
        missing.append(around)
        around = around.parent
    outer = None if around is None else model.cache[name, around]
    for inner in reversed(missing):
        outer = model.cache[name, inner] = derive(inner, outer)
    return model.cache[name, frame]


def compute_domain(model: Model, frame: Frame, around: Domain | None) -> Domain:
    """Every formula is used, and the facts that leave no more pieces than there are: in programs on slices, equal
    extents are `max(n - 2, 0) == max(m - 2, 0)`, which is `n == m` in loops over the slices, but may be something
    else outside of them.
    """
    into = translation(model, frame)
    outer = Domain(nowhere(model)) if around is None else around

    def inside() -> Any:
        found = outer.instances.add_dims(SET, len(into.places) - outer.instances.dim(SET))
        for formula in frame.formulas:
            found = found.intersect(into.truth(formula))
        return with_sorted_parameters(bounded_below(model, found, outer.instances))

    said = tuple(map(into.text, frame.formulas))
    found = model.shared.once(("inside", len(into.places), said), inside, outer.instances)
    facts = model.owners.needed(facts_in(model, frame), (e for _, e in places_of_parameters(model, found)))
    more = tuple(f for f in facts if f not in outer.facts)
    if not more:
        return Domain(found, frozenset(facts))

    def known() -> tuple[Any, tuple[int, ...]]:
        where, pending = with_facts(model, into, found, more)
        return where, tuple(more.index(f) for f in pending)

    found, left = model.shared.once(("facts", *(text_of(model, into, f) for f in more)), known, found)
    pending = tuple(more[k] for k in left)
    return Domain(found, frozenset(facts).difference(pending), pending)


def nowhere(model: Model) -> Any:
    """The set of the one instance that no loop is around."""
    return model.shared.once("universe", lambda: isl.Set.universe(isl.Space.set_alloc(model.context, 0, 0)))


def text_of(model: Model, into: Translation, fact: Fact) -> Hashable:
    """What `fact` says, whatever names dimensions have."""
    if fact.is_local:
        return into.text(fact.formula)
    return model.cached(("text", fact), lambda: translation(model, EVERYWHERE).text(fact.formula))


def facts_in(model: Model, frame: Frame) -> Facts:
    """What holds in `frame`."""

    def find(inner: Frame, outer: Facts | None) -> Facts:
        return tuple(dict.fromkeys((*(outer or ()), *inner.facts)))

    return from_outside(model, frame, "facts", find)


def bounded_below(model: Model, found: Any, but: Any = None) -> Any:
    """The set `found` where extents are not negative, but for parameters of the set `but`, of which that is known."""
    known = {expr for _, expr in places_of_parameters(model, but)} if but is not None else set()
    for place, expr in places_of_parameters(model, found):
        if isinstance(expr, ir.Dim) and expr not in known:
            found = found.lower_bound_val(PARAM, place, isl_integer(model, 0))
    return found


def with_facts(model: Model, into: Translation, found: Any, pending: Facts) -> tuple[Any, Facts]:
    """The set `found` restricted to those of the facts `pending` that do not split it, and the others; one may decide
    the next."""
    left: list[Fact] = []
    for fact in pending:
        fewer = where_true(model, into, found, fact).coalesce()
        if fewer.n_basic_set() > max(found.n_basic_set(), 1):
            left.append(fact)
        else:
            found = fewer
    return (found, pending) if len(left) == len(pending) else with_facts(model, into, found, tuple(left))


def where_true(model: Model, into: Translation, found: Any, fact: Fact) -> Any:
    """The set `found` where `fact` holds."""
    if not fact.parts.isdisjoint(into.places):
        return found.intersect(into.truth(fact.formula))
    outside = translation(model, EVERYWHERE)
    where = model.cached(("truth", fact), lambda: bounded_below(model, outside.truth(fact.formula)).params())
    return found.intersect_params(where)


def needed_facts(model: Model, frame: Frame, found: Any) -> Facts:
    """What holds in `frame` of the parameters of `found`, whatever the iteration is."""
    facts = model.owners.needed(facts_in(model, frame), (e for _, e in places_of_parameters(model, found)))
    return tuple(f for f in facts if not f.is_local)


def possible(model: Model, frame: Frame, where: Any) -> Any:
    """The parameters `where`, of some instances of `frame`, restricted by what else it knows of parameters, as far as
    that does not split them."""
    known = restricted(model, frame)
    facts = tuple(f for f in needed_facts(model, frame, where) if f not in known.facts)
    found = bounded_below(model, isl.Set.from_params(where), known.instances)
    return with_facts(model, translation(model, EVERYWHERE), found, facts)[0].params()


def aware(model: Model, frame: Frame, found: Any, other: Any) -> Any:
    """The set `found`, of which `frame` has told what it knows, with what it knows of the parameters of `other` as
    well."""
    known = {e for _, e in places_of_parameters(model, found)}
    if all(e in known for _, e in places_of_parameters(model, other)):
        return found
    facts = needed_facts(model, frame, found)
    whole = bounded_below(model, found.align_params(other.get_space()), found)
    more = tuple(f for f in needed_facts(model, frame, whole) if f not in facts)
    return with_facts(model, translation(model, EVERYWHERE), whole, more)[0]


def meeting(model: Model, frame: Frame, formula: ir.Expr) -> Any:
    """The instances of `frame` for which `formula` holds, too."""
    where = translation(model, frame).truth(formula)
    return aware(model, frame, domain(model, frame), where).intersect(where)


def less(model: Model, frame: Frame, found: Any, other: Any) -> Any:
    """`found`, instances of `frame` or pairs with such, without `other`: the same object where they have nothing in
    common."""

    def compute(_: tuple[Hashable, ...], found: Any, other: Any) -> Any:
        if found.is_disjoint(other):
            return found
        if isinstance(found, isl.Map):
            return aware(model, frame, found.wrap(), other).unwrap().subtract(other)
        left = aware(model, frame, found, other).subtract(other)
        return left.coalesce() if left.n_basic_set() > FEW else left

    return once(model, "less", compute, said_in(model, frame), found, other)


def said_in(model: Model, frame: Frame) -> tuple[Hashable, ...]:
    """What facts say in `frame`, each with its owner, which decides where it is left out: the same object where that is
    the same."""

    def find() -> tuple[Hashable, ...]:
        into = translation(model, frame)
        said = tuple((text_of(model, into, f), model.owners.of.get(f)) for f in facts_in(model, frame))
        return model.shared.once(("said", said), lambda: said)

    return model.cached(("said", frame), find)


def once(model: Model, name: Hashable, compute: Callable[..., Any], *values: Any) -> Any:
    """`compute(*values)` of sets and maps that Models made, computed once for the same objects."""
    return model.shared.once(name, lambda: compute(*values), *values)


def instances(model: Model, event: Event) -> Any:
    """Instances of `event`, those of opaque conditions and subscripts over-approximated."""
    return domain(model, event.frame)


def element_map(model: Model, event: Event) -> Any:
    """From instances of `event` to the element each one touches."""
    return model.cached(("elements", event), lambda: compute_map(model, event))


def compute_map(model: Model, event: Event) -> Any:
    into = translation(model, event.frame)

    def everywhere() -> Any:
        found = isl.Map.from_domain(isl.Set.universe(into.space))
        for term in event.subscripts:
            axis = isl.Map.from_pw_aff(into.function(term))
            found = found.flat_range_product(axis)
        return found

    said = tuple(map(into.text, event.subscripts))
    found = model.shared.once(("elements", len(into.places), said), everywhere)
    runs = aware(model, event.frame, instances(model, event), found)
    return model.shared.once("there", lambda: found.intersect_domain(runs), found, runs)


def isl_integer(model: Model, value: int) -> Any:
    """`value` as isl's integer."""
    return isl.Val.int_from_si(model.context, value)


def largest(model: Model, frame: Frame, term: ir.Expr) -> Any:
    """The greatest value of `term` in `frame`, a piecewise function of the parameters; None if there is no
    bound.
    """
    function = translation(model, frame).function(term)
    runs = aware(model, frame, domain(model, frame), function)
    values = with_sorted_parameters(isl.Map.from_pw_aff(function).intersect_domain(runs).range())
    return model.bounded(lambda: values.dim_max(0).coalesce(), None)


def with_sorted_parameters(found: Any) -> Any:
    """`found` with its parameters in the order of the LoopSet."""
    names = sorted((found.get_dim_name(PARAM, k) for k in range(found.dim(PARAM))), key=lambda name: int(name[1:]))
    space = isl.Space.params_alloc(found.get_ctx(), len(names))
    for place, name in enumerate(names):
        space = space.set_dim_name(PARAM, place, name)
    return found.align_params(space)


def pieces(function: Any) -> list[tuple[Any, Any]]:
    """Where, and which, affine function of the parameters `function` is."""
    return list(with_sorted_parameters(function).get_pieces())
