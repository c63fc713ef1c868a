"""Instances and elements as isl's integer sets, and the pairs of instances that meet.

Every access is an `Event`: a set of instances (iterations of the loops around it; `polyhedra_terms` describes
the other dimensions) and an exact map from instances to elements. Extents are assumed not to be negative,
different array arguments not to overlap, and subscripts to be in range and not negative (`bounds` asks for
the checks).

isl contexts must not be shared between threads that run at the same time, so every Model has its own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

from loopdiff.analysis.polyhedral.delinearization import Digit, digits
from loopdiff.analysis.polyhedral.events import EVERYWHERE, Event, Frame, element_event, find_events
from loopdiff.analysis.polyhedral.facts import Fact, Facts, Owners, find_owners
from loopdiff.analysis.polyhedral.terms import Terms
from loopdiff.analysis.polyhedral.translation import PARAM, SET, Translation, isl
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.types import INT
from loopdiff.ir.walk import Path, Site, statements

IN, OUT = isl.dim_type.in_, isl.dim_type.out
QUOTA = 500_000
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
    context: Any
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


@dataclass(frozen=True, slots=True)
class Kept:
    """Models, the latest first, and what was derived of LoopSets, each with the LoopSet."""

    models: list[Model] = field(default_factory=list)
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


def build_model(ls: ir.LoopSet) -> Model:
    """The affine view of the normal LoopSet `ls`."""
    kept = KEPT.get()
    latest = [] if kept is None else kept.models
    for known in latest:
        if known.ls is ls:
            return known
    found = find_events(ls)
    owners = find_owners(tuple(found.facts.values()), found.terms.parameters)
    model = Model(ls, found.terms, found.frames, found.bodies, tuple(found.events.values()), owners, isl.Context())
    latest[:] = [model, *latest][:MOST_KEPT]
    return model


# -- instances -----------------------------------------------------------------------------------------------
def translation(model: Model, frame: Frame) -> Translation:
    """Of formulas over the dimensions of `frame`."""
    space = isl.Space.set_alloc(model.context, 0, len(frame.dims))
    return Translation(space, model.terms.parameters, {d.leaf: k for k, d in enumerate(frame.dims)})


def places_of_parameters(model: Model, found: Any) -> list[tuple[int, ir.Expr]]:
    """The parameters that a set, map or function of isl's has, in the order of the LoopSet, each with its place there
    in `found`."""
    names = ((int(found.get_dim_name(PARAM, k)[1:]), k) for k in range(found.dim(PARAM)))
    listed = model.cached("parameters", lambda: tuple(model.terms.parameters))
    return [(k, listed[number]) for number, k in sorted(names)]


@dataclass(frozen=True, slots=True)
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
    return model.cached(("domain", frame), lambda: compute_domain(model, frame))


def compute_domain(model: Model, frame: Frame) -> Domain:
    """Every formula is used, and the facts that leave no more pieces than there are: in programs on slices, equal
    extents are `max(n - 2, 0) == max(m - 2, 0)`, which is `n == m` in loops over the slices, but may be something
    else outside of them.
    """
    into = translation(model, frame)
    outer = Domain(isl.Set.universe(into.space)) if frame.parent is None else restricted(model, frame.parent)
    found = outer.instances.add_dims(SET, len(into.places) - outer.instances.dim(SET))
    for formula in frame.formulas:
        found = found.intersect(into.truth(formula))
    facts = model.owners.needed(facts_in(model, frame), (e for _, e in places_of_parameters(model, found)))
    found = with_sorted_parameters(bounded_below(model, found, outer.instances))
    found, pending = with_facts(model, into, found, tuple(f for f in facts if f not in outer.facts))
    return Domain(found, frozenset(facts).difference(pending), pending)


def facts_in(model: Model, frame: Frame) -> Facts:
    """What holds in `frame`."""

    def find() -> Facts:
        outer = () if frame.parent is None else facts_in(model, frame.parent)
        return tuple(dict.fromkeys((*outer, *frame.facts))) if frame.facts else outer

    return model.cached(("facts", frame), find)


def bounded_below(model: Model, found: Any, but: Any = None) -> Any:
    """The set `found` where extents are not negative, but for parameters of the set `but`, of which that is known."""
    known = {expr for _, expr in places_of_parameters(model, but)} if but is not None else set()
    for place, expr in places_of_parameters(model, found):
        if isinstance(expr, ir.Dim) and expr not in known:
            found = found.lower_bound_val(PARAM, place, integer(model, 0))
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

    def compute(_: Facts, found: Any, other: Any) -> Any:
        if found.is_disjoint(other):
            return found
        if isinstance(found, isl.Map):
            return aware(model, frame, found.wrap(), other).unwrap().subtract(other)
        return aware(model, frame, found, other).subtract(other)

    return once(model, "less", compute, facts_in(model, frame), found, other)


def once(model: Model, name: str, compute: Callable[..., Any], *values: Any) -> Any:
    """`compute(*values)` of sets and maps that the Model made, computed once for the same objects."""
    return model.cached((name, *map(id, values)), lambda: (compute(*values), values))[0]


def instances(model: Model, event: Event) -> Any:
    """Instances of `event`, those of opaque conditions and subscripts over-approximated."""
    return domain(model, event.frame)


def element_map(model: Model, event: Event) -> Any:
    """From instances of `event` to the element each one touches."""
    return model.cached(("elements", event), lambda: compute_map(model, event))


def compute_map(model: Model, event: Event) -> Any:
    into = translation(model, event.frame)
    found = isl.Map.from_domain(isl.Set.universe(into.space))
    for term in event.subscripts:
        axis = isl.Map.from_pw_aff(into.function(term))
        found = found.flat_range_product(axis)
    return found.intersect_domain(aware(model, event.frame, instances(model, event), found))


# -- pairs of instances --------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Order:
    """A way for an instance of one event to come before an instance of another: they agree on the first
    `shared` loops around both, and the next loop carries the step (`is_carried`) or the program text decides.
    """

    shared: int
    is_carried: bool


def common_loops(first: Event, second: Event) -> int:
    """Number of loops around both events."""
    count = 0
    for mine, other in zip(first.loops, second.loops, strict=False):
        if mine is not other and mine.key != other.key:
            break
        count += 1
    return count


def orders(first: Event, second: Event, least: int = 0) -> Iterator[Order]:
    """Ways for `first` to come before `second` in the same iteration of the `least` outermost loops, nearest
    first.
    """
    common = common_loops(first, second)
    if common < least:
        return
    if first.order < second.order:
        yield Order(common, False)
    for shared in reversed(range(least, common)):
        yield Order(shared, True)


@dataclass(frozen=True, slots=True)
class Touched:
    """From instances of an event to the `element` that each touches, and to `digits` of its subscripts: see
    `polyhedra_digits`. One for all events with the same, so that what follows from it is found once."""

    element: Any
    digits: tuple[tuple[Digit, Any], ...]


def touched(model: Model, event: Event) -> Touched:
    def compute() -> Touched:
        into = translation(model, event.frame)
        found = digits_in(model, event, event.frame)
        maps = tuple((key, isl.Map.from_pw_aff(into.function(term))) for key, term in found.items())
        new = Touched(element_map(model, event), maps)
        names = tuple(new.element.get_var_names(PARAM))  # which isl's hash leaves out
        return model.cached((names, new), lambda: new)

    return model.cached(("touched", event), compute)


def same_element(model: Model, first: Event, second: Event) -> Any:
    """Pairs of instances that touch the same element."""
    a, b = touched(model, first), touched(model, second)
    return once(model, "same", compute_same, a, b)


def compute_same(first: Touched, second: Touched) -> Any:
    pairs = first.element.apply_range(second.element.reverse())
    others = dict(second.digits)
    for key, digit in first.digits:
        if key in others:
            pairs = pairs.intersect(digit.apply_range(others[key].reverse()))
    return pairs


def digits_in(model: Model, event: Event, frame: Frame) -> dict[Digit, ir.Expr]:
    """Digits of the subscripts of `event`, translated, if its instances are those of `frame`."""

    def is_digit(term: ir.Expr, radix: ir.Expr) -> bool:
        outside = ir.Apply(Op.OR, (ir.Apply(Op.LT, (term, ir.Const(0, INT))), ir.Apply(Op.GE, (term, radix))))
        return model.bounded(lambda: meeting(model, frame, outside).is_empty(), False)

    return model.cached(("digits", event, frame), lambda: digits(model.terms, event, is_digit))


def ordered(model: Model, first: Event, second: Event, order: Order) -> Any:
    """Pairs of instances that touch the same element, `first` before `second` in the way of `order`."""
    return model.cached((first, second, order), lambda: find_ordered(model, first, second, order))


def find_ordered(model: Model, first: Event, second: Event, order: Order) -> Any:
    """`ordered`, of which there is one for all pairs of events that touch the same and meet in the same way."""
    places = second.places
    carrier = first.loops[order.shared] if order.is_carried else None
    way: list[tuple[int, int, int]] = []
    for place, dim in enumerate(first.frame.dims):
        if dim == carrier:
            way.append((place, places[dim.key], dim.stride))
        elif is_fixed(dim, order) and dim.key in places:
            way.append((place, places[dim.key], 0))
    pairs = same_element(model, first, second)
    return model.cached(("ordered", id(pairs), *way), lambda: compute_ordered(pairs, way))


def compute_ordered(pairs: Any, way: Iterable[tuple[int, int, int]]) -> Any:
    """Those of `pairs` that are equal in two places, where the stride is zero, or else one after the other."""
    if pairs.is_empty():
        return pairs
    found = isl.BasicMap.universe(pairs.get_space())
    for mine, other, stride in way:
        if stride == 0:
            found = found.equate(IN, mine, OUT, other)
        else:
            found = found.order_gt(OUT, other, IN, mine) if stride > 0 else found.order_gt(IN, mine, OUT, other)
    return pairs.intersect(isl.Map.from_basic_map(found))


def ahead(model: Model, first: Event, second: Event, lag: int) -> Any:
    """Pairs of instances in neighbouring loops that touch the same element, in the same iteration of the loops around
    both, that of `first` in an iteration of its loop more than `lag` after that of `second`.
    """
    return apart(model, first, second, common_loops(first, second), None, -1 - lag)


def apart(model: Model, first: Event, second: Event, shared: int, least: int | None, most: int | None = None) -> Any:
    """Pairs of instances that touch the same element, in the same iteration of the `shared` outermost loops: that of
    `second` comes at least and at most so many iterations of the next loop after that of `first`, where that is said.
    """
    pairs, places = same_element(model, first, second), second.places
    for place, dim in enumerate(first.frame.dims):
        if dim.kind != "element" and dim.level <= shared and dim.key in places:
            pairs = pairs.equate(IN, place, OUT, places[dim.key])
    mine, other = (event.places[event.loops[shared].key] for event in (first, second))
    for sign, bound in ((1, least), (-1, most)):
        if bound is not None:
            later = isl.Constraint.alloc_inequality(isl.LocalSpace.from_space(pairs.get_space()))
            later = later.set_coefficient_val(IN, mine, integer(model, -sign))
            later = later.set_coefficient_val(OUT, other, integer(model, sign))
            pairs = pairs.add_constraint(later.set_constant_val(integer(model, -sign * bound)))
    return pairs


def is_fixed(dim: Any, order: Order) -> bool:
    """Whether instances that agree on the shared loops agree on `dim`."""
    return dim.kind != "element" and dim.level <= order.shared


def is_certain(first: Event, second: Event, order: Order) -> bool:
    """Whether every instance of `first` that `ordered` pairs with an executed one of `second` is executed as
    well: what its domain does not know is known from the iteration it shares with `second`.
    """
    places = second.places
    return not first.is_possible and all(is_fixed(d, order) and d.key in places for d in first.opaques)


def integer(model: Model, value: int) -> Any:
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
