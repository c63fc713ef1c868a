"""One reading of a function, as it is written: its syntax tree to a surface LoopSet, in which scalars are rank-0 arrays
and types are still unknown."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from loopdiff.errors import Span, UnsupportedLoopError, raise_if
from loopdiff.frontend.binding.bind import bind
from loopdiff.frontend.callees import ArrayParameters, Known, Sources
from loopdiff.frontend.capture import ArgumentType, number_for_array
from loopdiff.frontend.extents import Question, is_so
from loopdiff.frontend.parsing.bindings import ArrayName
from loopdiff.frontend.parsing.boxes import shared_boxes
from loopdiff.frontend.parsing.calling.inline import inline_call
from loopdiff.frontend.parsing.expressions import parse_quantity
from loopdiff.frontend.parsing.frames import CallFrame, Returned
from loopdiff.frontend.parsing.lists.exactness import with_lists_of_floats
from loopdiff.frontend.parsing.lists.growing import refuse_unbounded
from loopdiff.frontend.parsing.lists.kinds import refuse_wide_lists
from loopdiff.frontend.parsing.lists.making import make_list
from loopdiff.frontend.parsing.placing import placed_block, placed_declaration, with_place
from loopdiff.frontend.parsing.sites import Decisions, KnownLists, ParseAgain, still_growing, with_more
from loopdiff.frontend.parsing.state import State, Whole
from loopdiff.frontend.parsing.statements import parse_block
from loopdiff.frontend.parsing.ways.joins import broken
from loopdiff.frontend.parsing.ways.jumps import remove_jumps
from loopdiff.frontend.parsing.ways.returns import check_end
from loopdiff.frontend.survey import Survey
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.names import NameSupply
from loopdiff.ir.ops import Op
from loopdiff.ir.printer import print_expr
from loopdiff.ir.renaming import renamed
from loopdiff.ir.types import ArrayType
from loopdiff.ir.walk import all_statements, map_body, read_arrays, substitute, written_arrays
from loopdiff.source.functions import SourceFunction
from loopdiff.source.scopes import parameters as arguments_of

OF_CLASSES = re.compile(r"\b(isinstance|callable|isscalar)\s*\(")
MOST_ROUNDS = 20  # in which it is found how lists grow
SETTLING_ROUNDS = 6  # after which those whose limits still grow have none


@dataclass(slots=True)
class Attempt:
    """How a function is read: with which `lists` of known length; only until it is certain that it is rejected, where
    it `stops` there and nobody asks for what; and whether it `has_stopped`."""

    lists: KnownLists = field(default_factory=KnownLists)
    stops: bool = False
    has_stopped: bool = False


@immutable
class Surface:
    """The surface LoopSet, and what of the extents of arguments decides what it is."""

    ls: ir.LoopSet
    asked: frozenset[Question]


def asks_for_classes(sources: Iterable[SourceFunction]) -> bool:
    return any(OF_CLASSES.search(s.text) for s in sources)


def parse_as_written(
    source: SourceFunction,
    sources: Sources,
    types: Mapping[str, ArgumentType] | None,
    attempt: Attempt | None = None,
) -> Surface:
    """The surface of `source` for arguments of `types`; what the `attempt` comes to is noted there.

    Raises UnsupportedLoopError, and TypesNeeded.
    """
    attempt = attempt or Attempt()
    parameters = tuple(source.signature.parameters)
    found = replace(ArrayParameters(sources).survey(Known(source, source.node, {})), parameters=parameters)
    if types is not None:
        arrays = {n for n in parameters if isinstance(t := types[n], ArrayType) and t.rank}
        found = replace(found, array_names=found.array_names | arrays)
        if asks_for_classes((source, *sources.known.values())):  # what makes an array of a number may be left out
            found = replace(found, array_names=found.array_names - {n for n in parameters if n not in arrays})
        check_numbers(source, found.array_names, types)
    first = Decisions(known_lists=attempt.lists)
    state = parsed(source, found, sources, types, first, attempt)
    ls = finished(state)
    bound = bound_with_lists(state.whole, ls)
    if bound is not None and not is_as_supposed(state.whole, bound):
        # Lists grow as they did: that is seen to again, and found in fewer rounds.
        again = Decisions(known_lists=attempt.lists, supposes=False, grown=first.grown, endless=first.endless)
        state = parsed(source, found, sources, types, again, attempt)
        ls = finished(state)
        bound = bound_with_lists(state.whole, ls)
    if bound is not None and state.whole.lists:
        ls = with_lists_of_floats(ls, bound, state.whole.lists)
    return Surface(ls, frozenset(state.whole.asked))


def finished(state: State) -> ir.LoopSet:
    """The surface LoopSet of a function that has been parsed to its end."""
    source, whole, parameters = state.source, state.whole, state.survey.parameters
    raise_if([*(state.diagnostics or whole.following), *shared_boxes(whole, tuple(state.out))])
    span = source.span(source.node)
    scalars = tuple(ir.ScalarDecl(p, None, loc=span) for p in parameters if p not in state.survey.array_names)
    kept = without_flags(tuple(state.out), frozenset(whole.flags))
    unused = whole.flags - written_arrays(kept)
    whole.arrays = {n: a for n, a in whole.arrays.items() if n not in unused}
    body, flags = remove_jumps(placed_block(kept), state.names, span)
    body = (*asked_extents(whole, span), *body)
    if whole.printed is not None:
        body = (ir.Allocate(whole.printed, ir.Const(0, loc=span), loc=span), *body)
    results, is_tuple = ((), False) if state.returned is None else (results_of(state.returned), state.returned.is_tuple)
    arrays = (*map(placed_declaration, state.arrays.values()), *flags)
    return indices_apart(ir.LoopSet(source.name, parameters, arrays, scalars, body, results, is_tuple, loc=span))


def asked_extents(whole: Whole, span: Span) -> Iterator[ir.Require]:
    """That extents of arguments are those that the program was parsed for."""
    for question in sorted(whole.asked, key=repr):
        array, axis, other = question
        if other != 1 and is_so(question, whole.types or {}):
            size = ir.Dim(array, axis, loc=span)
            wanted = ir.Const(other, loc=span) if isinstance(other, int) else ir.Dim(*other, loc=span)
            message = f"`{array}.shape[{axis}]` is not `{print_expr(wanted)}`, which it was when this was compiled"
            yield ir.Require(ir.Apply(Op.EQ, (size, wanted), loc=span), "LD320", message, loc=span, is_early=True)


def indices_apart(ls: ir.LoopSet) -> ir.LoopSet:
    """`ls` with other names for indices that are called like an array, which may have got its name, as `i` in
    `i = 2.0 * x`, after a loop over its elements. Cells of loop variables share theirs.
    """
    with_axes = {a.name for a in ls.arrays if a.extents != ()}
    indices = [s.index for s in all_statements(ls.body) if isinstance(s, ir.Loop)]
    names = NameSupply({*ls.params, *(a.name for a in ls.arrays), *indices})
    new: dict[ir.Expr, ir.Expr] = {ir.Index(i): ir.Index(names.fresh(i)) for i in indices if i in with_axes}
    arrays = tuple(replace(a, values=tuple(substitute(v, new) for v in a.values)) for a in ls.arrays)
    return replace(ls, arrays=arrays, body=placed_block(tuple(renamed(s, new) for s in ls.body))) if new else ls


def bound_with_lists(whole: Whole, ls: ir.LoopSet) -> ir.LoopSet | None:
    """`ls` with the types of all elements, where something depends on them; None where nothing does, and where bind
    refuses it, which is said later. Raises UnsupportedLoopError (LD204) where elements of lists may be subscripts that
    are floats because of what else is in the list."""
    if whole.types is None or not (whole.supposed or whole.lists):
        return None
    try:
        return bind(ls, whole.types)
    except UnsupportedLoopError as error:
        if whole.lists and "LD204" in error.codes:
            raise
        return None


def is_as_supposed(whole: Whole, bound: ir.LoopSet) -> bool:
    """Whether arrays have the types of elements that they were taken to have."""
    arrays = {a.name: a.type for a in bound.arrays}
    found = ((arrays[name], dtype) for name, dtype in whole.supposed.items() if name in arrays)
    return all(kind is not None and kind.dtype == dtype for kind, dtype in found)


def parsed(
    source: SourceFunction,
    found: Survey,
    sources: Sources,
    types: Mapping[str, ArgumentType] | None,
    decisions: Decisions,
    attempt: Attempt,
) -> State:
    """The state at the end of the function, parsed until all that was assumed of its names on the way holds; or where
    it is certain that it will be rejected, if that is all that is asked."""
    rounds = 0
    while True:
        # Indices keep clear of arguments and arrays; they share their names with the cells of loop variables.
        names, indices = NameSupply(found.all_names), NameSupply({*found.parameters, *found.array_names})
        whole = Whole(names, indices, sources, inline_call, parse_quantity, make_list, types, decided=decisions)
        state = State(source, found, whole, (CallFrame(source.code, source.name),))
        whole.active.append(state)
        declare_parameters(state)
        try:
            for statement in source.node.body:
                parse_block(state, [statement])
                if attempt.stops and is_rejected_anyway(whole):
                    attempt.has_stopped = True
                    return state
        except ParseAgain:
            continue
        seen = whole.grown
        if state.diagnostics or whole.following:  # what follows a rejection has not been parsed
            seen = dict(decisions.grown) | {p: with_more(decisions.grown.get(p), growth) for p, growth in seen.items()}
        if seen != decisions.grown and rounds < MOST_ROUNDS:
            if rounds >= SETTLING_ROUNDS:
                decisions.endless |= set(still_growing(decisions.grown, seen))
            decisions.grown, rounds = seen, rounds + 1
            continue
        whole.unbounded += [p[0][0] for p, growth in whole.grown.items() if growth != decisions.grown.get(p)]
        refuse_unbounded(state)
        refuse_wide_lists(state, tuple(state.out))
        told_apart = broken(whole) - decisions.shared
        if not told_apart:
            check_end(state)
            return state
        decisions.shared |= told_apart


def is_rejected_anyway(whole: Whole) -> bool:
    """Whether something was rejected, between two statements, before anything was asked of what may be decided
    otherwise when the function is parsed again: up to here all is as it will be then, and nobody takes it back."""
    return bool(whole.diagnostics or whole.following) and not whole.was_asked and whole.types is not None


def without_flags(body: tuple[ir.Stmt, ...], flags: frozenset[str]) -> tuple[ir.Stmt, ...]:
    """`body` without those of `flags` that nothing reads but to set such a flag."""

    def sets(stmt: ir.Stmt, cells: frozenset[str]) -> bool:
        return isinstance(stmt, ir.Assign) and stmt.target.array in cells

    def without(cells: frozenset[str]) -> tuple[ir.Stmt, ...]:
        return map_body(body, lambda s: () if sets(s, cells) else (s,))

    live = flags & read_arrays(without(flags))
    while more := (flags & read_arrays(without(flags - live))) - live:
        live |= more
    return without(flags - live)


def check_numbers(source: SourceFunction, arrays: Collection[str], types: Mapping[str, ArgumentType]) -> None:
    """Raise UnsupportedLoopError (LD201) if a number was passed for what is used as an array."""
    nodes = {a.arg: a for a in arguments_of(source.node.args)}
    wrong = [n for n in nodes if n in arrays and not isinstance(types[n], ArrayType)]
    raise_if([number_for_array(n, source.span(nodes[n])) for n in wrong])


def results_of(returned: Returned) -> tuple[ir.Result, ...]:
    """What the function returns, in the IR."""
    return tuple(
        ir.ArrayResult(v.array) if isinstance(v, ArrayName) else ir.ScalarResult(with_place(v, returned.span))  # type: ignore[arg-type]
        for v in returned.values
    )


def declare_parameters(state: State) -> None:
    """Arguments used as arrays are arrays; scalar arguments that are assigned are copied to a cell."""
    arguments = {a.arg: a for a in arguments_of(state.source.node.args)}
    for name in state.survey.parameters:
        span = state.source.span(arguments[name])
        if name in state.survey.array_names:
            state.arrays[name] = ir.ArrayDecl(name, None, "argument", loc=span)
            state.bindings[name] = ArrayName(name)
        elif name in state.survey.assigned:
            cell = state.define(name, span)
            use = state.source.span(state.survey.first_uses[name])
            state.out.append(ir.Assign(cell, ir.Param(name, loc=use), loc=span))
