"""What names stand for after branches and loops: the meanings of every way there, merged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from loopdiff.errors import Span
from loopdiff.frontend.arrays.values import View
from loopdiff.frontend.parsing.bindings import (
    AnyList,
    ArrayName,
    Binding,
    Bindings,
    Cell,
    Mixed,
    Rejected,
    Unsure,
    Varying,
    meaning_of,
)
from loopdiff.frontend.parsing.iterables import Iteration
from loopdiff.frontend.parsing.state import State
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import subexprs


def merged(left: Bindings, right: Bindings, span: Span) -> Bindings:
    """What names stand for after either of two ways through the program."""
    result: Bindings = {}
    for name in (*left, *(n for n in right if n not in left)):
        result[name] = merged_binding(left.get(name), right.get(name), span)
    return result


def meet(state: State, ways: Sequence[Bindings | None], span: Span) -> None:
    """Go on with what names stand for after any of `ways`; None is a way that nothing comes from."""
    coming = [w for w in ways if w is not None]
    state.is_dead = not coming
    if coming:
        state.bindings = as_told(state, reduce(lambda a, b: merged(a, b, span), coming))


def as_told(state: State, bindings: Bindings) -> Bindings:
    """`bindings`, where names may have no value, if variables say so, as these say it."""
    for name, flag in state.source.told:
        known, binding = state.bindings.get(flag), bindings.get(name)
        if isinstance(known, Cell) and isinstance(binding, Unsure):
            bindings[name] = replace(binding, ran=state.load(known, binding.span))
    return bindings


def merged_binding(left: Binding | None, right: Binding | None, span: Span) -> Binding:
    if left == right and left is not None:
        return left
    rejected = next((b for b in (left, right) if isinstance(b, Rejected)), None)
    if rejected is not None:
        return rejected
    present = left if left is not None else right
    meanings = {meaning_of(b) for b in (left, right) if b is not None}
    is_varied = any(isinstance(m, Varying) for m in meanings)
    if len(meanings) > 1 or isinstance(present, Mixed) or present is None or is_varied:
        return Mixed.of(meanings, span)
    earlier = next((b for b in (left, right) if isinstance(b, Unsure)), None)
    is_array = earlier is not None and isinstance(earlier.meant, ArrayName | View)
    if earlier is not None and is_array and {left, right} == {earlier, earlier.meant}:
        return earlier  # a name is not bound to one array twice: on the other way it was read, and had its value
    return Unsure(meanings.pop(), span if earlier is None else earlier.span, None)  # type: ignore[arg-type]


def after_loop(
    state: State,
    before: Bindings,
    ran: ir.Expr | None,
    flags: Mapping[str, ir.Expr],
    written: frozenset[str],
    span: Span,
) -> Bindings:
    """Names after a loop that wrote the cells `written`: what it assigned first has a value if it `ran`, or as `flags`
    say."""
    result = dict(before)
    for name, binding in state.bindings.items():
        if name not in before and isinstance(binding, Cell | ArrayName | View | AnyList):
            result[name] = Unsure(binding, span, flags.get(name, ran))
        elif name not in before and isinstance(binding, Unsure) and name in flags:
            result[name] = replace(binding, ran=flags[name])
        elif name not in before:
            result[name] = merged_binding(None, binding, span)
        elif isinstance(earlier := before[name], Unsure) and isinstance(binding, Cell):
            result[name] = either(earlier, ran) if binding.cell in written else earlier
        elif isinstance(earlier, Unsure) and binding == earlier.meant and None not in (ran, earlier.ran):
            result[name] = either(earlier, ran)  # an iteration bound the name, or found that it has a value
        elif isinstance(binding, Varying):
            result[name] = binding
        elif before[name] != binding:
            result[name] = merged_binding(before[name], binding, span)
    return as_told(state, result)


def either(earlier: Unsure, ran: ir.Expr | None) -> Unsure:
    """`earlier`, or a loop that ran if `ran`, gave the name its value."""
    if earlier.ran is None or ran is None:
        return replace(earlier, ran=None)
    return replace(earlier, ran=ir.Apply(Op.OR, (earlier.ran, ran), loc=ran.loc))


def with_conditions(at_break: Bindings, after: Bindings) -> Bindings:
    """`at_break` with what certainly has a value there said as in `after` the loop: if the loop ran, as it did."""
    unsure = ((n, b) for n, b in after.items() if isinstance(b, Unsure) and b.ran is not None)
    return {**at_break, **{n: b for n, b in unsure if at_break.get(n) == b.meant}}


def constant_trips(iteration: Iteration) -> int | None:
    match iteration.lower, iteration.upper, iteration.step:
        case ir.Const(value=int(a)), ir.Const(value=int(b)), ir.Const(value=int(s)):
            return len(range(a, b, s))
        case _:
            return None


def stable_condition(state: State, iteration: Iteration) -> ir.Expr | None:
    """That the loop ran, if it can still be said after it: bounds over names that are assigned once."""
    if not isinstance(iteration.step, ir.Const):
        return None
    stores, given = state.survey.stores, state.survey.parameters
    once = {cell for name, cell in state.cells.items() if stores[name] + (name in given) == 1}
    for bound in (iteration.lower, iteration.upper):
        for e in subexprs(bound):
            if isinstance(e, ir.Index) or (isinstance(e, ir.Load) and e.access.array not in once):
                return None
    op = Op.LT if iteration.step.value > 0 else Op.GT
    return ir.Apply(op, (iteration.lower, iteration.upper), loc=iteration.lower.loc)
