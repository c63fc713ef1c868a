"""Where subscripts stay in range: conditions on shapes and integer arguments, checked once per call.

For an affine access the condition is exact: it fails if and only if some executed instance leaves the array.
Accesses whose execution or address depends on data are checked element by element, unless a sufficient
condition holds; so are those of arrays that are laid out by hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import permutations
from typing import Any, Literal

from loopdiff.analysis.overflow import without_overflow
from loopdiff.analysis.polyhedral.events import EVERYWHERE, Event, extend
from loopdiff.analysis.polyhedral.expressions import affine_expr, fails, function_expr, sum_of, weighted
from loopdiff.analysis.polyhedral.pairs import digits_in
from loopdiff.analysis.polyhedral.sets import (
    Model,
    bounded_below,
    domain,
    largest,
    less,
    meeting,
    pieces,
    possible,
    translation,
)
from loopdiff.analysis.polyhedral.terms import has_opaque
from loopdiff.analysis.polyhedral.translation import isl
from loopdiff.errors import Span
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.affine import linear
from loopdiff.ir.build import all_of, any_of, at_least_one, compare, extents_of, floordiv
from loopdiff.ir.ops import Op
from loopdiff.ir.printer import print_element, print_expr
from loopdiff.ir.types import BOOL, INT
from loopdiff.ir.walk import Path, subexprs

Side = Literal["low", "high"]
ALWAYS, NEVER = ir.Const(True, BOOL), ir.Const(False, BOOL)


@immutable
class Unchecked:
    """An access whose subscript on `axis` needs a check for each element, unless `sufficient` holds for the
    call (None: no such condition is known). `path` is () for results. The check is `0 <= subscript < extent`.
    """

    path: Path
    access: ir.Access
    axis: int
    is_write: bool
    sufficient: ir.Expr | None


@immutable
class NegativeSubscript:
    """A subscript that is negative in every instance: it counts from the end."""

    path: Path
    access: ir.Access
    axis: int


@immutable
class Limit:
    """One side of one axis of one access: `cond` holds exactly where no instance of `event` is beyond it.

    `is_exact` is False where instances are over-approximated, and `cond` is sufficient only. `where` is the set of
    parameters for which it fails if the extent is a function of them, else None; `extreme` the farthest subscript.
    """

    event: Event
    axis: int
    side: Side
    cond: ir.Expr
    is_exact: bool
    where: Any
    extreme: Any


def bounds_conditions(model: Model) -> tuple[ir.Require, ...]:
    """One Require (LD310 too large, LD311 negative) for each limit that some call may break, the weaker ones
    of an axis left out; in textual order. Subscripts that are always negative count as errors: rewrite them
    first.
    """
    found: dict[tuple[str, int, ir.Expr, str], Limit] = {}
    for limit in limits(model):
        if limit.is_exact and limit.cond != ALWAYS:
            found.setdefault((limit.event.access.array, limit.axis, limit.cond, str(limit.extreme)), limit)
    out: dict[ir.Expr, ir.Require] = {}
    for limit in strongest(model, tuple(found.values())):
        out.setdefault(limit.cond, requirement(model, limit))
    return tuple(out.values())


def overflow_conditions(requires: Iterable[ir.Require]) -> tuple[ir.Require, ...]:
    """One Require (LD310) for each condition that means what it says only for numbers that are not too large."""
    out: dict[ir.Expr, ir.Require] = {}
    for require in requires:
        small = without_overflow(require.cond)
        cond = NEVER if small is None else small
        needed = "none can" if small is None else f"it needs {print_expr(small)}"
        message = f"numbers are too large for subscripts at {ir.PLACE} to be checked: {needed}"
        if cond != ALWAYS:
            out.setdefault(cond, ir.Require(cond, "LD310", message, loc=require.loc))
    return tuple(out.values())


def unchecked_accesses(model: Model) -> tuple[Unchecked, ...]:
    """Accesses whose range depends on data: under data-dependent conditions, in loops with data-dependent
    bounds, and at subscripts that are not affine. Those that are in range whatever the data are left out.
    """
    found: dict[tuple[Path, ir.Access, int], list[Limit]] = {}
    for limit in limits(model):
        if not limit.is_exact:
            found.setdefault((limit.event.path, limit.event.access, limit.axis), []).append(limit)
    out: list[Unchecked] = []
    for (path, access, axis), group in found.items():
        conds = [limit.cond for limit in group]
        if any(c != ALWAYS for c in conds):
            is_write = any(limit.event.is_write for limit in group)
            is_known = NEVER not in conds and not any(is_by_value(model, limit) for limit in group)
            out.append(Unchecked(path, access, axis, is_write, safely(all_of(conds)) if is_known else None))
    return tuple(out)


def is_by_value(model: Model, limit: Limit) -> bool:
    """Whether the limit is that of numbers in memory: a subscript may be far from it, and the program right without."""
    return any(d in model.terms.stored for d in limit.event.opaques)


def safely(cond: ir.Expr) -> ir.Expr | None:
    """`cond`, for numbers so small that nothing in it overflows; None if there is no saying."""
    small = without_overflow(cond)
    return None if small is None else all_of((small, cond))


def negative_subscripts(model: Model) -> tuple[NegativeSubscript, ...]:
    """Subscripts that are negative whenever they are evaluated, to be replaced by `extent + subscript`; but for those
    that are counted from the end already, like `v[-2]`, and before the start of `v` all the same.
    """
    out: list[NegativeSubscript] = []
    for event in accesses(model):
        for axis, term in enumerate(event.subscripts[: len(event.access.subscripts)]):
            is_left = model.terms.may_be_negative(term) and not is_counted(model, event.access, axis)
            if is_left and is_negative(model, event, term):
                out.append(NegativeSubscript(event.path, event.access, axis))
    return tuple(dict.fromkeys(out))


def is_counted(model: Model, access: ir.Access, axis: int) -> bool:
    """Whether a subscript is the extent less a constant."""
    extent = extents_of(model.ls.array(access.array))[axis]
    terms, constant = linear(ir.Apply(Op.SUB, (extent, access.subscripts[axis])))
    return not terms and constant > 0


def is_negative(model: Model, event: Event, term: ir.Expr) -> bool:
    frame = unassuming(model, event)
    runs = domain(model, frame)
    rest = meeting(model, frame, ir.Apply(Op.GE, (term, ir.Const(0, INT))))
    return model.bounded(lambda: rest.is_empty() and not runs.is_empty(), False)


# -- limits --------------------------------------------------------------------------------------------------
def limits(model: Model) -> tuple[Limit, ...]:
    """Every limit of every access."""
    return model.cached("limits", lambda: tuple(find_limits(model)))


def find_limits(model: Model) -> Iterator[Limit]:
    for event in accesses(model):
        kind = model.ls.array(event.access.array).type
        inherent = 1 if kind is not None and kind.is_pair else 0  # the axis of the parts has constant subscripts
        stated = event.subscripts[: len(event.access.subscripts)]
        for axis, term in enumerate(stated[: len(stated) - inherent]):
            yield low_limit(model, event, axis, term)
            yield high_limit(model, event, axis, term)


def accesses(model: Model) -> list[Event]:
    return [e for e in model.events if not e.is_whole and e.access.subscripts]


def unassuming(model: Model, event: Event) -> Any:
    """The frame of `event` without the assumption that its subscripts are in range."""
    key = ("unassuming", event)
    base = event.frame.parent
    assert base is not None
    dims = event.frame.dims[len(base.dims) :]
    return model.cached(key, lambda: extend(model.terms, base, (), dims))


def in_digits(model: Model, event: Event, axis: int, term: ir.Expr) -> tuple[ir.Expr, tuple[ir.Expr, ...]]:
    """The first digit, translated, and the radixes of a subscript that is not affine and a number of several digits: if
    that one is not negative, neither is the number. The subscript `term` of others, and no radixes."""
    found = digits_in(model, event, unassuming(model, event)) if has_opaque(term) else {}
    return next(((first, d.radixes) for d, first in found.items() if d.is_first and d.axis == axis), (term, ()))


def is_affine(event: Event, term: ir.Expr) -> bool:
    """Whether data decide neither if the access is made, nor the subscript `term`: those of other axes they may."""
    base = event.frame.parent
    assert base is not None
    return not has_opaque(term) and not any(d.kind == "opaque" for d in base.dims)


def low_limit(model: Model, event: Event, axis: int, term: ir.Expr) -> Limit:
    frame = unassuming(model, event)
    is_exact = is_affine(event, term)
    first, _ = in_digits(model, event, axis, term)
    below = ir.Apply(Op.LT, (first, ir.Const(0, INT)))

    def compute() -> Limit:
        where = possible(model, frame, meeting(model, frame, below).params())
        where = where.gist(known_parameters(model, where))
        return Limit(event, axis, "low", fails(model, where), is_exact, where, None)

    return model.bounded(compute, Limit(event, axis, "low", NEVER, False, None, None))


def high_limit(model: Model, event: Event, axis: int, term: ir.Expr) -> Limit:
    frame = unassuming(model, event)
    is_exact = is_affine(event, term)
    unknown = Limit(event, axis, "high", NEVER, False, None, None)
    extent, function = extent_of(model, event.access.array, axis)
    first, radixes = in_digits(model, event, axis, term)

    def compute() -> Limit:
        if domain(model, frame).is_empty():
            return Limit(event, axis, "high", ALWAYS, is_exact, None, None)
        extreme = largest(model, frame, first)
        if extreme is None and function is not None and not (is_exact or radixes):
            beyond = ir.Apply(Op.GE, (first, model.terms.integer(extent, (), 0)))
            where = possible(model, frame, meeting(model, frame, beyond).params())
            if not (where.is_empty() or has_range(model, first)):
                return unknown
            cond = fails(model, where.gist(known_parameters(model, where)))
            return Limit(event, axis, "high", cond, False, None, None)
        if extreme is None:
            return unknown
        if radixes:
            rows = reduce(lambda count, radix: floordiv(count, at_least_one(radix)), radixes, extent)
            return Limit(event, axis, "high", compare(Op.GT, rows, function_expr(model, extreme)), False, None, None)
        if function is not None:
            where = possible(model, frame, extreme.ge_set(function).params())
            where = where.gist(known_parameters(model, where))
            return Limit(event, axis, "high", fails(model, where), is_exact, where, extreme)
        cond = all_of(fits(model, extent, *piece) for piece in pieces(extreme))
        return Limit(event, axis, "high", cond, is_exact, None, extreme)

    return model.bounded(compute, unknown)


def has_range(model: Model, term: ir.Expr) -> bool:
    """Whether some numbers in `term` are not affine, and something is known of all of them, as of remainders."""
    found = [*model.terms.opaques_in((term,))]
    return bool(found) and all(d in model.terms.ranges for d in found)


def fits(model: Model, extent: ir.Expr, where: Any, affine: Any) -> ir.Expr:
    """`extent` exceeds `affine`, or the parameters are not in `where`."""
    known = known_parameters(model, where.align_params(affine.get_space()))
    possible = known.intersect(affine.to_pw_aff().nonneg_set())
    if where.intersect(possible).is_empty():
        return ALWAYS
    return any_of((exceeds(model, extent, affine), fails(model, where.gist(possible))))


def exceeds(model: Model, extent: ir.Expr, affine: Any) -> ir.Expr:
    scale = affine.get_denominator_val().to_python()
    if scale != 1:
        return ir.Apply(Op.GT, (extent, affine_expr(model, affine)))
    weights, constant = weighted(model, affine, 1)
    if weights and constant == 0:
        return ir.Apply(Op.GT, (extent, sum_of(weights, 0)))
    return ir.Apply(Op.GE, (extent, sum_of(weights, constant + 1)))


def extent_of(model: Model, array: str, axis: int) -> tuple[ir.Expr, Any]:
    """The extent, and its isl function if it is one of the parameters of the Model."""
    extent = extents_of(model.ls.array(array))[axis]
    term = model.terms.integer(extent, (), 0)
    if any(isinstance(e, ir.Var) for e in subexprs(term)):
        return extent, None
    return extent, translation(model, EVERYWHERE).function(term).project_domain_on_params()


def known_parameters(model: Model, where: Any) -> Any:
    """What holds for all parameters that the set `where` mentions: extents are not negative."""
    return bounded_below(model, isl.Set.universe(where.get_space().params()))


def strongest(model: Model, found: Sequence[Limit]) -> list[Limit]:
    """Limits of `found` without those that others of the same side of the same axis make unnecessary; the first of
    equal ones stays."""
    groups: dict[tuple[str, int, Side, bool], list[int]] = {}
    for number, limit in enumerate(found):
        place = (limit.event.access.array, limit.axis, limit.side, limit.where is None)
        groups.setdefault(place, []).append(number)
    weaker = {
        k
        for group in groups.values()
        for k, j in permutations(group, 2)
        if implies(model, found[j], found[k]) and (j < k or not implies(model, found[k], found[j]))
    }
    return [limit for k, limit in enumerate(found) if k not in weaker]


def implies(model: Model, strong: Limit, weak: Limit) -> bool:
    """Whether no call that passes the check of `strong` fails that of `weak`, on the same side of the same
    axis.
    """
    frame = unassuming(model, weak.event)
    if weak.where is not None:
        return less(model, frame, weak.where, strong.where).is_empty()
    outside = less(model, frame, weak.extreme.domain(), strong.extreme.domain())
    return outside.is_empty() and weak.extreme.gt_set(strong.extreme).is_empty()


def requirement(model: Model, limit: Limit) -> ir.Require:
    event, axis = limit.event, limit.axis
    text = print_element(event.access, model.ls)
    needed = "no shapes allow it" if limit.cond == NEVER else f"it needs {print_expr(limit.cond)}"
    loc = location(model, event)
    verb = "writes" if event.is_write else "reads"
    if limit.side == "low":
        message = f"`{text}` at {ir.PLACE} has a negative subscript on axis {axis}: {needed}"
        return ir.Require(limit.cond, "LD311", message, loc=loc)
    reach = f"axis {axis} of `{event.access.array}`"
    extreme = function_expr(model, limit.extreme)
    reach += "" if isinstance(extreme, ir.Select) else f" up to {print_expr(extreme)}"
    message = f"`{text}` at {ir.PLACE} {verb} {reach}: {needed}"
    return ir.Require(limit.cond, "LD310", message, loc=loc)


def location(model: Model, event: Event) -> Span:
    """Where the access stands in the user's program."""
    if event.access.loc.line or not event.path:
        return event.access.loc
    return model.sites[event.path].stmt.loc
