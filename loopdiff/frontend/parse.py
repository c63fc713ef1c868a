"""A function's source to a surface LoopSet, read in one way after the other until one is accepted.

All rejections of a function come in one UnsupportedLoopError.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial

import numpy as np

from loopdiff.errors import Diagnostic, UnsupportedLoopError, raise_if
from loopdiff.frontend.binding.bind import bind
from loopdiff.frontend.bound_sometimes import with_names_told, with_none_first
from loopdiff.frontend.callees import Sources
from loopdiff.frontend.capture import ArgumentType
from loopdiff.frontend.classes import class_of
from loopdiff.frontend.following import of_their_own
from loopdiff.frontend.parsing.state import TypesNeeded
from loopdiff.frontend.readings import Readings
from loopdiff.frontend.structures.apart import is_flat, taken_apart
from loopdiff.frontend.structures.scope import FEW_ITEMS, SHARED, Apart
from loopdiff.frontend.structures.trees import Leaf, Rank, Tree, types_in
from loopdiff.frontend.written import Surface, asks_for_classes
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.types import ArrayType
from loopdiff.source.columns import columns_of
from loopdiff.source.dictionaries.buckets import with_buckets
from loopdiff.source.dictionaries.reasons import with_reasons
from loopdiff.source.dictionaries.statements import with_dictionaries
from loopdiff.source.first_iterations import with_first_apart
from loopdiff.source.functions import SourceFunction
from loopdiff.source.lists.changed import with_changing_lists
from loopdiff.source.lists.filled import with_filled_lists
from loopdiff.source.lists.missing import with_missing_apart
from loopdiff.source.named.parts import NamedParts, computed_attributes
from loopdiff.source.nodes import syntax_nodes
from loopdiff.source.written_calls import with_calls_written_out

QUOTED, WORD = re.compile(r"`([^`]+)`"), re.compile(r"[A-Za-z_]\w*")


OF_TUPLES = {"LD107", "LD134", "LD204"}  # refused of lists of tuples
FEW_CALLS = 4
UNBOUND = frozenset(("LD114", "LD116"))
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
        return parse_rewritten(source, sources, Readings(types))
    except UnsupportedLoopError as error:
        known = (source, *sources.known.values())
        if types is None and (asks_for_classes(known) or goes_by_axes(known)):
            raise TypesNeeded from None  # what is refused may be in a branch for others
        said = of_their_own((), error.diagnostics, known, dict(source.spoken)) if source.spoken else error.diagnostics
        raise with_reasons(UnsupportedLoopError(*said), known) from None


def goes_by_axes(sources: Iterable[SourceFunction]) -> bool:
    """Whether a loop may be one for each axis of an array, whose type says how many there are."""
    return any("ndindex" in s.text for s in sources)


def parse_rewritten(source: SourceFunction, sources: Sources, readings: Readings) -> Surface:
    """`source` for arguments of `types`; where names may have no value, with the first iterations of loops apart, where
    lists hold what no array does, with one for each place in their tuples, and dictionaries as lists."""
    try:
        return parse_in_some_way(source, sources, readings)
    except UnsupportedLoopError as error:
        for others in with_parts(source, sources, readings, error.diagnostics):
            try:
                return parse_rewritten(*others, readings)
            except UnsupportedLoopError:
                continue
        found = parse_with_lists(source, sources, readings, error) if sources.spelt is None else None
        if found is not None:
            return found
        if OF_TUPLES & set(error.codes) and (others := spelt_so(source, sources, columns_of)) is not None:
            try:
                return parse_rewritten(*others, readings)
            except UnsupportedLoopError:
                raise error from None
        found = parse_with_values(source, sources, readings, frozenset(error.codes))
        found = found or parse_written_out(source, sources, readings, error)
        if found is None:
            raise
        return found


def parse_with_lists(
    source: SourceFunction, sources: Sources, readings: Readings, error: UnsupportedLoopError
) -> Surface | None:
    """`source` with dictionaries as lists, and lists of None as such of numbers or else of arrays; None where there are
    none. Raises UnsupportedLoopError: the `error` before, where that is about what nobody has written."""
    said: UnsupportedLoopError | None = None
    if (others := with_lists(source, sources, readings)) is not None:
        try:
            return parse_rewritten(*others, readings)
        except UnsupportedLoopError as second:
            said = second
    if (filled := with_filled(source, sources, readings, said or error)) is not None:
        try:
            return parse_rewritten(*filled, readings)
        except UnsupportedLoopError:
            pass
    if said is None:
        return None
    raise error if names_what_is_not_there(said, (source, *sources.known.values())) else said from None


def parse_written_out(
    source: SourceFunction, sources: Sources, readings: Readings, error: UnsupportedLoopError
) -> Surface | None:
    """`source` with loops of few iterations written out in which names get arrays of other shapes, as
    `v = np.repeat(v, 2)`: those that the `error` is about, and errors after it. None if it is refused still."""
    loops, types = frozenset[tuple[str, int]](), readings.types
    while types is not None:
        said = (d for d in error.diagnostics if d.code == "LD116")
        more = loops | {(at.file, at.line) for d in said for _, at in d.related}
        apart = taken_apart(source, sources, ranks(types), written_out=more) if more != loops else None
        if apart is None or not apart.is_changed or apart.hidden or apart.outside:
            return None
        if not (apart.result is None or is_flat(apart.result)):
            return None
        loops = more
        try:
            found = parse_apart(apart, source, sources, readings)
            bind(found.ls, types)
            return found
        except UnsupportedLoopError as again:
            error = again
    return None


def parse_with_values(
    source: SourceFunction, sources: Sources, readings: Readings, codes: Collection[str]
) -> Surface | None:
    """`source`, where names may have no value, with the first iterations of loops apart, or with variables that say
    whether they have one; None if that was not refused, to which `codes` belong, or is refused still."""
    ways = [partial(first_apart, are_inside=are_inside) for are_inside in (False, True)] if UNBOUND & set(codes) else []
    for spelt in (*ways, *((with_names_told, with_none_first) if "LD114" in codes else ())):
        if (others := spelt_so(source, sources, spelt)) is not None:
            try:
                return parse_with_columns(*others, readings)
            except UnsupportedLoopError:
                continue
    return None


def parse_with_columns(source: SourceFunction, sources: Sources, readings: Readings) -> Surface:
    """`source` for arguments of `types`, as it is or with a list for each place in the tuples that lists hold."""
    try:
        return parse_in_some_way(source, sources, readings)
    except UnsupportedLoopError as error:
        others = spelt_so(source, sources, columns_of) if OF_TUPLES & set(error.codes) else None
        if others is None:
            raise
        return parse_in_some_way(*others, readings)


def first_apart(source: SourceFunction, are_inside: bool) -> SourceFunction:
    """`source` with the first iterations of loops that ask for them apart."""
    node = with_first_apart(source.node, source.outer, are_inside)
    return source if node is source.node else replace(source, node=node)


def names_what_is_not_there(error: UnsupportedLoopError, sources: Iterable[SourceFunction]) -> bool:
    """Whether `error` is about something that stands in no text of `sources`, but in what was made of them."""
    known = {word for source in sources for word in WORD.findall(source.text)}
    quoted = (text for found in error.diagnostics for text in QUOTED.findall(found.message))
    return any(word not in known for text in quoted for word in WORD.findall(text))


def with_lists(source: SourceFunction, sources: Sources, readings: Readings) -> tuple[SourceFunction, Sources] | None:
    """`source`, and what it calls, with dictionaries as lists; None where there are none, or where numbers may be keys
    whose hashes are not those of numbers of Python's that they are equal to."""
    if any(isinstance(t, ArrayType) and t.dtype in NARROW for t in (readings.types or {}).values()):
        return None
    return spelt_so(source, sources, with_own_lists)


def with_parts(
    source: SourceFunction,
    sources: Sources,
    readings: Readings,
    said: Iterable[Diagnostic],
    given: Iterable[Tree] = (),
) -> Iterator[tuple[SourceFunction, Sources]]:
    """`source`, and what it calls, without names for attributes that are the same all the time, where it was `said`
    that something is changed which others may have; with dictionaries as lists, too."""
    if sources.spelt is not None or not any(SHARED in d.message for d in said):
        return
    outside = [v for one in (source, *sources.known.values()) for v in one.outer.values()]
    classes = {v if isinstance(v, type) else type(v) for v in outside} | {c for tree in given for c in types_in(tree)}
    parts = NamedParts({name for kind in classes for name in computed_attributes(kind)})
    for known in (source, *sources.known.values()):
        parts.note(known)
    found = spelt_so(source, sources, parts.written_out)
    if found is not None:
        yield found
        others = with_lists(found[0], sources.rewritten(parts.written_out), readings)
        yield from () if others is None else (others,)


def with_filled(
    source: SourceFunction, sources: Sources, readings: Readings, said: UnsupportedLoopError | None = None
) -> tuple[SourceFunction, Sources] | None:
    """The same with lists of None as lists that arrays are put into one after the other, as was `said` of some; None
    where there are none."""
    stored = (d.message for d in ([] if said is None else said.diagnostics) if d.code == "LD121")
    known = {word for message in stored for quoted in QUOTED.findall(message) for word in WORD.findall(quoted)[:1]}
    filled = spelt_so(source, sources, lambda s: with_filled_lists(s, known))
    return None if filled is None else with_lists(filled[0], filled[1], readings) or filled


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


def parse_in_some_way(source: SourceFunction, sources: Sources, readings: Readings) -> Surface:
    """`source` for arguments of `types`: as it was written, or else without the structures in it.

    Lists of known length are structures, before they are arrays.
    """
    try:
        return readings.read(source, sources, takes_known=False, is_tried=True)
    except UnsupportedLoopError:
        apart = taken_apart(source, sources, ranks(readings.types or {}))
        if not apart.is_changed or apart.hidden or apart.outside or not (apart.result is None or is_flat(apart.result)):
            return or_by_columns(apart, lambda: readings.read(source, sources), source, sources, readings)
    if apart.is_open and sources.spelt is None and (others := with_lists(source, sources, readings)) is not None:
        try:
            return parse_rewritten(*others, readings)
        except UnsupportedLoopError:
            pass  # the keys are those that there are
    are_repeated = are_calls_repeated(source.node, apart.source.node)
    if apart.is_long or are_repeated:
        most = 1 if are_repeated else FEW_ITEMS
        try:
            short = taken_apart(source, sources, ranks(readings.types or {}), most)
            found = parse_apart(short, source, sources, readings, is_tried=True)
            if readings.types is not None:
                bind(found.ls, readings.types)
            return found
        except UnsupportedLoopError:
            pass  # lists that are no arrays need their loops written out
    try:
        return or_by_columns(apart, lambda: parse_apart(apart, source, sources, readings), source, sources, readings)
    except UnsupportedLoopError as error:
        try:
            return readings.read(source, sources, is_tried=True)
        except UnsupportedLoopError:
            raise error from None


def or_by_columns(
    apart: Apart,
    parse: Callable[[], Surface],
    source: SourceFunction,
    sources: Sources,
    readings: Readings,
) -> Surface:
    """What `parse` gives; where that is refused, and lists of rows were left in `apart`, `source` with a list for each
    place in these rows."""
    try:
        return parse()
    except UnsupportedLoopError:
        if not apart.leaves_rows:
            raise
        columns = taken_apart(source, sources, ranks(readings.types or {}), by_columns=True)
        try:
            return parse_apart(columns, source, sources, readings, is_tried=True)
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
    apart: Apart, source: SourceFunction, sources: Sources, readings: Readings, is_tried: bool = False
) -> Surface:
    """`source` without its structures; what is wrong with these is said before what follows from it, unless it
    `is_tried`: nobody asks what."""
    if is_tried:
        raise_if(apart.findings)
    try:
        found = readings.read(apart.source, sources, is_tried=is_tried)
    except UnsupportedLoopError as error:
        known = (source, *sources.known.values())
        others = of_their_own(apart.diagnostics, error.diagnostics, known, dict(apart.source.spoken))
        raise UnsupportedLoopError(*apart.findings, *others) from None
    raise_if(apart.findings)
    return found


def apart_otherwise(
    source: SourceFunction,
    sources: Sources,
    given: Mapping[str, Tree],
    refused: Apart,
    typed: Callable[[Apart], Mapping[str, ArgumentType]],
) -> tuple[Apart, Sources] | None:
    """`source` without the structures `given` for its parameters, and what it calls, written otherwise than where it is
    `refused`, or takes dictionaries to have the keys that they begin with; None where that is refused as well. `typed`:
    the types of what parameters become."""
    try:
        first = Readings(typed(refused))
    except UnsupportedLoopError:
        return None
    said: UnsupportedLoopError | None = None
    parts = with_parts(source, sources, first, refused.diagnostics, given.values())
    lists = [with_lists(source, sources, first)]
    for own, callees in (*parts, *filter(None, lists)):
        try:
            return apart_and_read(own, callees, given, typed)
        except UnsupportedLoopError as error:  # the keys are those that there are
            said = error
    if (filled := with_filled(source, sources, first, said)) is not None:
        try:
            return apart_and_read(*filled, given, typed)
        except UnsupportedLoopError:
            pass
    return None


def apart_and_read(
    source: SourceFunction,
    sources: Sources,
    given: Mapping[str, Tree],
    typed: Callable[[Apart], Mapping[str, ArgumentType]],
) -> tuple[Apart, Sources]:
    """`source` without the structures `given`, where that can be read. Raises UnsupportedLoopError."""
    apart = taken_apart(source, sources, given)
    raise_if(apart.diagnostics)
    types = typed(apart)
    bind(parse_rewritten(apart.source, sources, Readings(types)).ls, types)
    return apart, sources


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
