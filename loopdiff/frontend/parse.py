"""A function's source to a surface LoopSet: scalars are rank-0 arrays, types are still unknown.

All rejections of a function come in one UnsupportedLoopError.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from itertools import repeat

import numpy as np

from loopdiff.errors import Span, UnsupportedLoopError, raise_if
from loopdiff.errors.codes import reject
from loopdiff.frontend.binding.bind import bind
from loopdiff.frontend.bound_sometimes import with_names_told, with_none_first
from loopdiff.frontend.callees import ArrayParameters, Known, Sources
from loopdiff.frontend.capture import ArgumentType, number_for_array
from loopdiff.frontend.classes import class_of
from loopdiff.frontend.extents import Question, is_so
from loopdiff.frontend.following import of_their_own
from loopdiff.frontend.parsing.bindings import ArrayName
from loopdiff.frontend.parsing.boxes import shared_boxes
from loopdiff.frontend.parsing.calling.inline import inline_call
from loopdiff.frontend.parsing.expressions import parse_quantity
from loopdiff.frontend.parsing.lists.growing import refuse_unbounded
from loopdiff.frontend.parsing.lists.integers import with_lists_of_floats
from loopdiff.frontend.parsing.lists.kinds import refuse_wide_lists
from loopdiff.frontend.parsing.lists.making import make_list
from loopdiff.frontend.parsing.placing import placed_block, placed_declaration, with_place
from loopdiff.frontend.parsing.sites import Decisions, ParseAgain, still_growing, with_more
from loopdiff.frontend.parsing.state import CallFrame, Returned, State, TypesNeeded, Whole
from loopdiff.frontend.parsing.statements import parse_block
from loopdiff.frontend.parsing.ways.joins import broken
from loopdiff.frontend.parsing.ways.jumps import remove_jumps
from loopdiff.frontend.parsing.ways.returns import check_end
from loopdiff.frontend.structures.apart import is_flat, taken_apart
from loopdiff.frontend.structures.scope import FEW_ITEMS, Apart
from loopdiff.frontend.structures.trees import Leaf, Rank, Tree
from loopdiff.frontend.survey import Survey
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.names import NameSupply
from loopdiff.ir.ops import Op
from loopdiff.ir.printer import print_expr
from loopdiff.ir.renaming import renamed
from loopdiff.ir.types import ArrayType
from loopdiff.ir.walk import all_statements, map_body, read_arrays, substitute, written_arrays
from loopdiff.source.columns import columns_of
from loopdiff.source.dictionaries.buckets import with_buckets
from loopdiff.source.dictionaries.reasons import with_reasons
from loopdiff.source.dictionaries.statements import with_dictionaries
from loopdiff.source.first_iterations import with_first_apart
from loopdiff.source.functions import SourceFunction
from loopdiff.source.lists.changed import with_changing_lists
from loopdiff.source.lists.missing import with_missing_apart
from loopdiff.source.nodes import syntax_nodes
from loopdiff.source.scopes import parameters as arguments_of
from loopdiff.source.written_calls import with_calls_written_out

QUOTED, WORD = re.compile(r"`([^`]+)`"), re.compile(r"[A-Za-z_]\w*")
MOST_ROUNDS = 20  # in which it is found how lists grow
SETTLING_ROUNDS = 6  # after which those whose limits still grow have none
NAMED = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.KEYWORD_ONLY,
)


@immutable
class Surface:
    """The surface LoopSet, and what of the extents of arguments decides what it is."""

    ls: ir.LoopSet
    asked: frozenset[Question]


OF_TUPLES = {"LD107", "LD134", "LD204"}  # refused of lists of tuples
FEW_CALLS = 4
UNBOUND = frozenset(("LD114", "LD116"))
OF_CLASSES = re.compile(r"\b(isinstance|callable|isscalar)\s*\(")
NARROW = ("float16", "float32", "complex64")


def parse_function(source: SourceFunction, types: Mapping[str, ArgumentType] | None = None) -> ir.LoopSet:
    """The surface LoopSet of `source` for arguments of `types`.

    Raises UnsupportedLoopError with every rejection of the function, and TypesNeeded if its meaning depends on types
    that are not given.
    """
    return parse_surface(source, Sources(), types).ls


def parse_surface(source: SourceFunction, sources: Sources, types: Mapping[str, ArgumentType] | None = None) -> Surface:
    """`source` for arguments of `types`. Raises UnsupportedLoopError, of dictionaries with what is done with them, and
    TypesNeeded."""
    try:
        return parse_rewritten(source, sources, types)
    except UnsupportedLoopError as error:
        known = (source, *sources.known.values())
        if types is None and (asks_for_classes(known) or goes_by_axes(known)):
            raise TypesNeeded from None  # what is refused may be in a branch for others
        said = of_their_own((), error.diagnostics, known, dict(source.spoken)) if source.spoken else error.diagnostics
        raise with_reasons(UnsupportedLoopError(*said), known) from None


def asks_for_classes(sources: Iterable[SourceFunction]) -> bool:
    return any(OF_CLASSES.search(s.text) for s in sources)


def goes_by_axes(sources: Iterable[SourceFunction]) -> bool:
    """Whether a loop may be one for each axis of an array, whose type says how many there are."""
    return any("ndindex" in s.text for s in sources)


def parse_rewritten(source: SourceFunction, sources: Sources, types: Mapping[str, ArgumentType] | None) -> Surface:
    """`source` for arguments of `types`; where names may have no value, with the first iterations of loops apart, where
    lists hold what no array does, with one for each place in their tuples, and dictionaries as lists."""
    try:
        return parse_in_some_way(source, sources, types)
    except UnsupportedLoopError as error:
        if sources.spelt is None and (others := with_lists(source, sources, types)) is not None:
            try:
                return parse_rewritten(*others, types)
            except UnsupportedLoopError as second:
                if names_what_is_not_there(second, (source, *sources.known.values())):
                    raise error from None
                raise
        if OF_TUPLES & set(error.codes) and (others := spelt_so(source, sources, columns_of)) is not None:
            try:
                return parse_rewritten(*others, types)
            except UnsupportedLoopError:
                raise error from None
        found = parse_with_values(source, sources, types, frozenset(error.codes))
        if found is None:
            raise
        return found


def parse_with_values(
    source: SourceFunction, sources: Sources, types: Mapping[str, ArgumentType] | None, codes: Collection[str]
) -> Surface | None:
    """`source`, where names may have no value, with the first iterations of loops apart, or with variables that say
    whether they have one; None if that was not refused, to which `codes` belong, or is refused still."""
    ways = [partial(first_apart, are_inside=are_inside) for are_inside in (False, True)] if UNBOUND & set(codes) else []
    for spelt in (*ways, *((with_names_told, with_none_first) if "LD114" in codes else ())):
        if (others := spelt_so(source, sources, spelt)) is not None:
            try:
                return parse_with_columns(*others, types)
            except UnsupportedLoopError:
                continue
    return None


def parse_with_columns(source: SourceFunction, sources: Sources, types: Mapping[str, ArgumentType] | None) -> Surface:
    """`source` for arguments of `types`, as it is or with a list for each place in the tuples that lists hold."""
    try:
        return parse_in_some_way(source, sources, types)
    except UnsupportedLoopError as error:
        others = spelt_so(source, sources, columns_of) if OF_TUPLES & set(error.codes) else None
        if others is None:
            raise
        return parse_in_some_way(*others, types)


def first_apart(source: SourceFunction, are_inside: bool) -> SourceFunction:
    """`source` with the first iterations of loops that ask for them apart."""
    node = with_first_apart(source.node, source.outer, are_inside)
    return source if node is source.node else replace(source, node=node)


def names_what_is_not_there(error: UnsupportedLoopError, sources: Iterable[SourceFunction]) -> bool:
    """Whether `error` is about something that stands in no text of `sources`, but in what was made of them."""
    known = {word for source in sources for word in WORD.findall(source.text)}
    quoted = (text for found in error.diagnostics for text in QUOTED.findall(found.message))
    return any(word not in known for text in quoted for word in WORD.findall(text))


def with_lists(
    source: SourceFunction, sources: Sources, types: Mapping[str, ArgumentType] | None
) -> tuple[SourceFunction, Sources] | None:
    """`source`, and what it calls, with dictionaries as lists; None where there are none, or where numbers may be keys
    whose hashes are not those of numbers of Python's that they are equal to."""
    if any(isinstance(t, ArrayType) and t.dtype in NARROW for t in (types or {}).values()):
        return None
    return spelt_so(source, sources, with_own_lists)


def spelt_so(
    source: SourceFunction, sources: Sources, spelt: Callable[[SourceFunction], SourceFunction]
) -> tuple[SourceFunction, Sources] | None:
    """`source`, and what it calls, as `spelt` writes them; None where that changes nothing."""
    own, others = spelt(source), sources.rewritten(spelt)
    is_same = own is source and all(made is sources.known[f] for f, made in others.known.items())
    return None if is_same else (own, others)


def with_own_lists(source: SourceFunction) -> SourceFunction:
    """`source` with its dictionaries, and its lists of lists that grow, as lists; with lists that change otherwise than
    at their ends; what is called with these is written out."""
    long = with_changing_lists(with_missing_apart(with_calls_written_out(source)))
    return with_dictionaries(with_buckets(long))


def parse_in_some_way(source: SourceFunction, sources: Sources, types: Mapping[str, ArgumentType] | None) -> Surface:
    """`source` for arguments of `types`: as it was written, or else without the structures in it.

    Lists of known length are structures, before they are arrays.
    """
    try:
        return parse_as_written(source, sources, types, takes_known=False)
    except UnsupportedLoopError:
        apart = taken_apart(source, sources, ranks(types or {}))
        if not apart.is_changed or apart.hidden or apart.outside or not (apart.result is None or is_flat(apart.result)):
            return or_by_columns(apart, lambda: parse_as_written(source, sources, types), source, sources, types)
    if apart.is_open and sources.spelt is None and (others := with_lists(source, sources, types)) is not None:
        try:
            return parse_rewritten(*others, types)
        except UnsupportedLoopError:
            pass  # the keys are those that there are
    are_repeated = are_calls_repeated(source.node, apart.source.node)
    if apart.is_long or are_repeated:
        most = 1 if are_repeated else FEW_ITEMS
        try:
            found = parse_apart(taken_apart(source, sources, ranks(types or {}), most), source, sources, types)
            if types is not None:
                bind(found.ls, types)
            return found
        except UnsupportedLoopError:
            pass  # lists that are no arrays need their loops written out
    try:
        return or_by_columns(apart, lambda: parse_apart(apart, source, sources, types), source, sources, types)
    except UnsupportedLoopError as error:
        try:
            return parse_as_written(source, sources, types)
        except UnsupportedLoopError:
            raise error from None


def or_by_columns(
    apart: Apart,
    parse: Callable[[], Surface],
    source: SourceFunction,
    sources: Sources,
    types: Mapping[str, ArgumentType] | None,
) -> Surface:
    """What `parse` gives; where that is refused, and lists of rows were left in `apart`, `source` with a list for each
    place in these rows."""
    try:
        return parse()
    except UnsupportedLoopError:
        if not apart.leaves_rows:
            raise
        columns = taken_apart(source, sources, ranks(types or {}), by_columns=True)
        try:
            return parse_apart(columns, source, sources, types)
        except UnsupportedLoopError:
            pass
        raise


def are_calls_repeated(node: ast.FunctionDef, apart: ast.FunctionDef) -> bool:
    """Whether what a function calls is called time and again in its form `apart`, in which short loops are written out:
    where the lists that grow there can be arrays, it compiles in a fraction of the time."""
    before, after = (
        Counter(ast.unparse(n.func) if isinstance(n, ast.Call) else "@" for n in syntax_nodes(function) if is_work(n))
        for function in (node, apart)
    )
    return (after - before).total() >= FEW_CALLS


def is_work(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult))


def parse_apart(
    apart: Apart, source: SourceFunction, sources: Sources, types: Mapping[str, ArgumentType] | None
) -> Surface:
    """`source` without its structures; what is wrong with these is said before what follows from it."""
    try:
        found = parse_as_written(apart.source, sources, types)
    except UnsupportedLoopError as error:
        known = (source, *sources.known.values())
        others = of_their_own(apart.diagnostics, error.diagnostics, known, dict(apart.source.spoken))
        raise UnsupportedLoopError(*apart.findings, *others) from None
    raise_if(apart.findings)
    return found


def ranks(types: Mapping[str, ArgumentType]) -> dict[str, Tree]:
    """What is known of arguments of `types`."""
    found = {
        name: Rank(kind.rank, np.ndarray) if isinstance(kind, ArrayType) else Rank(0, class_of(kind))
        for name, kind in types.items()
    }
    return {
        name: Leaf(ast.Constant(0), rank)
        for name, rank in found.items()
        if rank.axes or not isinstance(types[name], ArrayType)
    }


def parse_as_written(
    source: SourceFunction, sources: Sources, types: Mapping[str, ArgumentType] | None, takes_known: bool = True
) -> Surface:
    check_parameters(source)
    parameters = tuple(source.signature.parameters)
    found = replace(ArrayParameters(sources).survey(Known(source, source.node, {})), parameters=parameters)
    if types is not None:
        arrays = {n for n in parameters if isinstance(t := types[n], ArrayType) and t.rank}
        found = replace(found, array_names=found.array_names | arrays)
        if asks_for_classes((source, *sources.known.values())):  # what makes an array of a number may be left out
            found = replace(found, array_names=found.array_names - {n for n in parameters if n not in arrays})
        check_numbers(source, found.array_names, types)
    state = parsed(source, found, sources, types, Decisions(takes_known=takes_known))
    ls = finished(state)
    bound = bound_with_lists(state.whole, ls)
    if bound is not None and not is_as_supposed(state.whole, bound):
        state = parsed(source, found, sources, types, Decisions(takes_known=takes_known, supposes=False))
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
) -> State:
    """The state at the end of the function, parsed until all that was assumed of its names on the way holds."""
    rounds = 0
    while True:
        # Indices keep clear of arguments and arrays; they share their names with the cells of loop variables.
        names, indices = NameSupply(found.all_names), NameSupply({*found.parameters, *found.array_names})
        whole = Whole(names, indices, sources, inline_call, parse_quantity, make_list, types, decisions=decisions)
        state = State(source, found, whole, (CallFrame(source.code, source.name),))
        whole.active.append(state)
        declare_parameters(state)
        try:
            parse_block(state, source.node.body)
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


def check_parameters(source: SourceFunction) -> None:
    arguments = {a.arg: a for a in arguments_of(source.node.args)}
    refused = [p for p in source.signature.parameters.values() if p.kind not in NAMED]
    if refused:
        stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
        messages = (f"`{stars[p.kind]}{p.name}` takes any number of arguments" for p in refused)
        spans = (source.span(arguments[p.name]) for p in refused)
        raise UnsupportedLoopError(*map(reject, repeat("LD117"), messages, spans))


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
