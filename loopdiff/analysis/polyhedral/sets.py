"""Instances and elements as isl's integer sets, and the pairs of instances that meet.

Every access is an `Event`: a set of instances (iterations of the loops around it; `polyhedra_terms` describes
the other dimensions) and an exact map from instances to elements. Extents are assumed not to be negative,
different array arguments not to overlap, and subscripts to be in range and not negative (`bounds` asks for
the checks).

isl contexts must not be shared between threads that run at the same time, so every Model has its own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, TypeVar

from loopdiff.analysis.polyhedral.delinearization import Digit, digits
from loopdiff.analysis.polyhedral.events import EVERYWHERE, Event, Fact, Frame, element_event, find_events
from loopdiff.analysis.polyhedral.terms import Terms, constant_terms
from loopdiff.errors import InternalError
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.printer import print_expr
from loopdiff.ir.types import INT
from loopdiff.ir.walk import Path, Site, statements
from loopdiff.settings.deferred import deferred_interrupts

with deferred_interrupts():  # half of its types would be registered, and the next import abort the process
    import islpy as isl

IN, OUT, SET = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.set
PARAM, DIV = isl.dim_type.param, isl.dim_type.div
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


LATEST: ContextVar[list[Model] | None] = ContextVar("LATEST", default=None)


@contextmanager
def models_kept() -> Iterator[None]:
    """Where `build_model` is asked for the LoopSet that it was asked for last, it answers with the same Model."""
    if LATEST.get() is not None:
        yield
        return
    token = LATEST.set([])
    try:
        yield
    finally:
        LATEST.reset(token)


def build_model(ls: ir.LoopSet) -> Model:
    """The affine view of the normal LoopSet `ls`."""
    latest = LATEST.get()
    if latest and latest[0].ls is ls:
        return latest[0]
    found = find_events(ls)
    model = Model(ls, found.terms, found.frames, found.bodies, tuple(found.events.values()), isl.Context())
    if latest is not None:
        latest[:] = [model]
    return model


# -- formulas to sets ----------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Translation:
    """Formulas and terms over the dimensions `places` as isl sets and functions on `space`."""

    space: Any
    parameters: Mapping[ir.Expr, int]
    places: Mapping[ir.Expr, int]

    def truth(self, formula: ir.Expr) -> Any:
        """The set where `formula` holds."""
        match formula:
            case ir.Const(value=value):
                return isl.Set.universe(self.space) if value else isl.Set.empty(self.space)
            case ir.Apply(op=Op.AND, args=args):
                return self.join(args, "intersect")
            case ir.Apply(op=Op.OR, args=args):
                return self.join(args, "union")
            case ir.Apply(op=Op.NOT, args=(arg,)):
                return self.truth(arg).complement()
            case ir.Apply(op=op, args=args):
                return self.comparison(op, args)
            case _:
                raise InternalError(f"LD906: no set for {print_expr(formula)}")

    def comparison(self, op: Op, args: tuple[ir.Expr, ...]) -> Any:
        plain = without_extremum(op, args)
        if plain is None:
            name = {Op.LT: "lt", Op.LE: "le", Op.GT: "gt", Op.GE: "ge", Op.EQ: "eq", Op.NE: "ne"}[op]
            return getattr(self.function(args[0]), f"{name}_set")(self.function(args[1]))
        if op in (Op.EQ, Op.NE):
            both, ways = (Op.AND, (Op.LE, Op.GE)) if op == Op.EQ else (Op.OR, (Op.LT, Op.GT))
            return self.truth(ir.Apply(both, tuple(ir.Apply(way, args) for way in ways)))
        return self.truth(plain)

    def join(self, args: tuple[ir.Expr, ...], how: str) -> Any:
        found = self.truth(args[0])
        for arg in args[1:]:
            found = getattr(found, how)(self.truth(arg))
        return found

    def function(self, term: ir.Expr) -> Any:
        """`term` as a piecewise affine function."""
        if term in self.parameters:
            return self.variable(PARAM, self.parameters[term])
        if term in self.places:
            return self.variable(SET, self.places[term])
        value = constant_terms(term)
        if value is not None:
            return isl.PwAff.from_aff(isl.Aff.zero_on_domain(self.local).set_constant_val(self.number(value)))
        match term:
            case ir.Apply(op=Op.NEG, args=(a,)):
                return self.function(a).neg()
            case ir.Apply(op=Op.ADD, args=(a, b)):
                return self.function(a).add(self.function(b))
            case ir.Apply(op=Op.SUB, args=(a, b)):
                return self.function(a).sub(self.function(b))
            case ir.Apply(op=Op.MUL, args=(a, b)):
                return self.function(a).mul(self.function(b))
            case ir.Apply(op=(Op.FLOORDIV | Op.MOD) as op, args=(a, b)):
                return self.division(op, self.function(a), constant_terms(b) or 1)
            case ir.Apply(op=(Op.MIN | Op.MAX) as op, args=args):
                return self.extremum("min" if op == Op.MIN else "max", args)
            case _:
                raise InternalError(f"LD906: no affine function for {print_expr(term)}")

    def division(self, op: Op, function: Any, divisor: int) -> Any:
        """Python's // and %, which round towards minus infinity."""
        if divisor < 0:
            opposite = self.division(op, function.neg(), -divisor)
            return opposite if op == Op.FLOORDIV else opposite.neg()
        value = self.number(divisor)
        return function.scale_down_val(value).floor() if op == Op.FLOORDIV else function.mod_val(value)

    def extremum(self, which: str, args: tuple[ir.Expr, ...]) -> Any:
        found = self.function(args[0])
        for arg in args[1:]:
            found = getattr(found, which)(self.function(arg))
        return found

    @property
    def local(self) -> Any:
        return isl.LocalSpace.from_space(self.space)

    def variable(self, kind: Any, place: int) -> Any:
        return isl.PwAff.from_aff(isl.Aff.var_on_domain(self.local, kind, place))

    def number(self, value: int) -> Any:
        return isl.Val.int_from_si(self.space.get_ctx(), value)


def without_extremum(op: Op, args: tuple[ir.Expr, ...]) -> ir.Expr | None:
    """A comparison of sums with one minimum or maximum less, None if there is none: `i < min(n, m) - 1` is
    `i < n - 1 and i < m - 1`, in fewer pieces than as a comparison with a function that has several.
    """
    a, b = args
    for is_left, term in ((True, a), (False, b)):
        found = extremum_in(term)
        if found is not None:
            which, parts = found
            pairs = ((p, b) if is_left else (a, p) for p in parts)
            both = (which == Op.MIN) == ((op in (Op.GT, Op.GE)) == is_left)
            return ir.Apply(Op.AND if both else Op.OR, tuple(ir.Apply(op, pair) for pair in pairs))
    return None


def extremum_in(term: ir.Expr) -> tuple[Op, tuple[ir.Expr, ...]] | None:
    """The sum `term` as minimum, or maximum, of sums, None if nothing in it is one."""
    match term:
        case ir.Apply(op=(Op.MIN | Op.MAX) as which, args=args):
            return which, args
        case ir.Apply(op=(Op.ADD | Op.SUB | Op.NEG) as op, args=args):
            for place, arg in enumerate(args):
                found = extremum_in(arg)
                if found is not None:
                    which, parts = found
                    if op == Op.NEG or (op == Op.SUB and place == 1):
                        which = Op.MAX if which == Op.MIN else Op.MIN
                    return which, tuple(ir.Apply(op, (*args[:place], p, *args[place + 1 :])) for p in parts)
            return None
        case _:
            return None


def translation(model: Model, frame: Frame) -> Translation:
    """Of formulas over the dimensions of `frame`."""
    parameters = model.terms.parameters
    space = isl.Space.set_alloc(model.context, len(parameters), len(frame.dims))
    for place in parameters.values():
        space = space.set_dim_name(PARAM, place, f"p{place}")
    return Translation(space, parameters, {d.leaf: k for k, d in enumerate(frame.dims)})


@dataclass(frozen=True, slots=True)
class Domain:
    """Instances of a frame, and the facts of it and its parents that they were not restricted to."""

    instances: Any
    pending: tuple[Fact, ...]


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
    if frame.parent is None:
        found, pending = isl.Set.universe(into.space), frame.facts
        for expr, place in model.terms.parameters.items():
            if isinstance(expr, ir.Dim):
                found = found.lower_bound_val(PARAM, place, into.number(0))
    else:
        outer = restricted(model, frame.parent)
        found = outer.instances.add_dims(SET, len(frame.dims) - len(frame.parent.dims))
        pending = tuple(dict.fromkeys((*outer.pending, *frame.facts)))
    for formula in frame.formulas:
        found = found.intersect(into.truth(formula))
    return with_facts(model, into, found, pending) if frame.formulas or frame.facts else Domain(found, pending)


def with_facts(model: Model, into: Translation, found: Any, pending: tuple[Fact, ...]) -> Domain:
    """`found` restricted to those of the facts `pending` that do not split it; one may decide the next."""
    left: list[Fact] = []
    for fact in pending:
        fewer = found.intersect(where_true(model, into, fact)).coalesce()
        if fewer.n_basic_set() > max(found.n_basic_set(), 1):
            left.append(fact)
        else:
            found = fewer
    return Domain(found, pending) if len(left) == len(pending) else with_facts(model, into, found, tuple(left))


def possible(model: Model, frame: Frame, where: Any) -> Any:
    """The parameters `where`, restricted by what `frame` knows of parameters, as far as that does not split them."""
    dims = {d.leaf for d in frame.dims}
    known = tuple(f for f in restricted(model, frame).pending if f.parts.isdisjoint(dims))
    into = translation(model, EVERYWHERE)
    return with_facts(model, into, isl.Set.from_params(where), known).instances.params()


def where_true(model: Model, into: Translation, fact: Fact) -> Any:
    """The set where `fact` holds: one for all frames of so many dimensions, if it is about parameters only."""
    if not fact.parts.isdisjoint(into.places):
        return into.truth(fact.formula)
    return model.cached(("truth", fact, len(into.places)), lambda: into.truth(fact.formula))


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
    return found.intersect_domain(instances(model, event))


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
    pairs = zip(first.loops, second.loops, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0].key == pair[1].key, pairs))


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


def same_element(model: Model, first: Event, second: Event) -> Any:
    """Pairs of instances that touch the same element."""
    return model.cached(("same", first, second), lambda: compute_same(model, first, second))


def compute_same(model: Model, first: Event, second: Event) -> Any:
    pairs = element_map(model, first).apply_range(element_map(model, second).reverse())
    one, other = digit_maps(model, first), digit_maps(model, second)
    for key in one:
        if key in other:
            pairs = pairs.intersect(one[key].apply_range(other[key].reverse()))
    return pairs


def digit_maps(model: Model, event: Event) -> dict[Digit, Any]:
    """From instances of `event` to digits of its subscripts: see `polyhedra_digits`."""

    def compute() -> dict[Digit, Any]:
        into = translation(model, event.frame)
        found = digits_in(model, event, event.frame)
        return {key: isl.Map.from_pw_aff(into.function(term)) for key, term in found.items()}

    return model.cached(("digit maps", event), compute)


def digits_in(model: Model, event: Event, frame: Frame) -> dict[Digit, ir.Expr]:
    """Digits of the subscripts of `event`, translated, if its instances are those of `frame`."""

    def is_digit(term: ir.Expr, radix: ir.Expr) -> bool:
        outside = ir.Apply(Op.OR, (ir.Apply(Op.LT, (term, ir.Const(0, INT))), ir.Apply(Op.GE, (term, radix))))
        into = translation(model, frame)
        return model.bounded(lambda: domain(model, frame).intersect(into.truth(outside)).is_empty(), False)

    return model.cached(("digits", event, frame), lambda: digits(model.terms, event, is_digit))


def ordered(model: Model, first: Event, second: Event, order: Order) -> Any:
    """Pairs of instances that touch the same element, `first` before `second` in the way of `order`."""
    return model.cached(("ordered", first, second, order), lambda: compute_ordered(model, first, second, order))


def compute_ordered(model: Model, first: Event, second: Event, order: Order) -> Any:
    pairs = same_element(model, first, second)
    if pairs.is_empty():
        return pairs
    places = second.places
    carrier = first.loops[order.shared] if order.is_carried else None
    way = isl.BasicMap.universe(pairs.get_space())
    for place, dim in enumerate(first.frame.dims):
        if dim == carrier:
            mine, other = (IN, place), (OUT, places[dim.key])
            way = way.order_gt(*other, *mine) if dim.stride > 0 else way.order_gt(*mine, *other)
        elif is_fixed(dim, order) and dim.key in places:
            way = way.equate(IN, place, OUT, places[dim.key])
    return pairs.intersect(isl.Map.from_basic_map(way))


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
    values = isl.Map.from_pw_aff(function).intersect_domain(domain(model, frame)).range()
    return model.bounded(lambda: values.dim_max(0).coalesce(), None)


def pieces(function: Any) -> list[tuple[Any, Any]]:
    """Where, and which, affine function of the parameters `function` is."""
    return list(function.get_pieces())
