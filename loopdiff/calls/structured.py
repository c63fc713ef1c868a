"""Calls with lists, dictionaries and records: flattened, computed with by a function of their leaves, put together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial, wraps
from operator import is_, itemgetter
from types import FunctionType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from loopdiff.calls.arguments import Arguments
from loopdiff.calls.pullback import Pullback
from loopdiff.errors import NOWHERE, ArgumentError, DifferentiationError, UnsupportedLoopError
from loopdiff.errors.codes import reject
from loopdiff.frontend.callees import Sources
from loopdiff.frontend.capture import ArgumentType, argument_types, refusal_of_value
from loopdiff.frontend.classes import is_plain_class
from loopdiff.frontend.structures.apart import taken_apart
from loopdiff.frontend.structures.given import (
    flattened,
    is_part,
    is_structure,
    known_rank,
    leaves_like,
    of_leaves,
    of_values,
    trees_of,
)
from loopdiff.frontend.structures.objects.chosen import chosen_names, names_one
from loopdiff.frontend.structures.objects.seen import ALL, Seen, attributes_seen, objects_in
from loopdiff.frontend.structures.scope import Apart, Outer
from loopdiff.frontend.structures.signs import is_known, sources_reached
from loopdiff.frontend.structures.trees import (
    Branch,
    Leaf,
    NotSeen,
    Rank,
    Static,
    Tree,
    described,
    leaves,
    same,
    statics,
)
from loopdiff.immutable import immutable, replace
from loopdiff.source.functions import MISSING, SourceFunction, is_of_library
from loopdiff.source.parameters import root_named
from loopdiff.specialize.gradients import record_type
from loopdiff.specialize.results import LOSS_FIRST

if TYPE_CHECKING:
    from loopdiff.calls.runs import ReverseRun
    from loopdiff.settings.options import Options
    from loopdiff.specialize.programs import Program
    from loopdiff.specialize.specialization import Specialization

Names = tuple[str, ...] | None
VALUES = (np.ndarray, float, int)  # most of what is no part of a program
MOST_KNOWN = 100  # structures of one function: each new lambda that it is given is another
Record = tuple[type[tuple[Any, ...]], tuple[tuple[Any, tuple[int | None, ...]], ...]]  # of gradients, by leaves
MakeFlat = Callable[[SourceFunction, Sources, Names], "Flat"]


class Flat(Protocol):
    """The function of the leaves, as `differentiable.Differentiable` is one."""

    program: Any
    requested: Names
    options: Options

    def __call__(self, /, *args: Any) -> Any: ...
    def value_and_grad(self, /, *args: Any) -> tuple[Any, Any]: ...
    def vjp(self, /, *args: Any) -> tuple[Any, Pullback]: ...
    def jvp(self, args: tuple[Any, ...], tangents: Mapping[str, Any]) -> tuple[Any, Any]: ...
    def hvp(self, args: tuple[Any, ...], vectors: Mapping[str, Any]) -> tuple[Any, Any, Any]: ...
    def compiled(self, args: tuple[Any, ...], form: Any, is_shown: bool) -> Any: ...
    def specializations_of(self, args: tuple[Any, ...]) -> tuple[Specialization, ...]: ...
    def jacobian(self, /, *args: Any, structure: Any = "dense", **named: Any) -> Any: ...


@immutable
class Place:
    """An argument: `spec` says how its leaves stand, `names` the parameters they became, None for what is known."""

    name: str
    tree: Tree
    spec: Any
    names: tuple[str | None, ...]

    @property
    def taken(self) -> tuple[str, ...]:
        return tuple(n for n in self.names if n is not None)


class StructuredCalls:
    """Entry points for arguments of one structure, as `Checked` has them for numbers and arrays.

    Arrays from outside the function are read at each call.
    """

    looks_at_values = True

    def __init__(self, flat: Flat, apart: Apart, args: Arguments, seen: Seen) -> None:
        self.flat, self.apart, self.seen = flat, apart, seen
        found, self.spec = flattened(seen.of(args))
        self.known = [(k, leaf, read_by(leaf)) for k, leaf in enumerate(found) if is_known(leaf)]
        self.taken = tuple(k for k, leaf in enumerate(found) if not is_known(leaf))
        self.records: dict[type[Any], Record] = {}
        self.readers = tuple(array.reader() for array in apart.hidden if isinstance(array, Outer))
        self.ranks = [known_rank(found[k]) for k in self.taken] if apart.uses_ranks else None
        self.outside = [(structure.reader(), *there) for structure, there in apart.outside.items()]
        self.places = tuple(places_of(apart, self.spec, found))
        self.met: tuple[Arguments, list[Any]] | None = None  # what `guard` took apart last, until it is asked for

    @property
    def specialization(self) -> Specialization:
        raise AssertionError("structures have leaves, which have specializations")

    def prepare(self, *args: Any) -> Arguments:
        raise AssertionError(self.specialization)

    def launcher(self, run: ReverseRun) -> Callable[..., Any]:
        raise AssertionError(self.specialization)

    def guard(self, *args: Any) -> bool:
        """Whether the arguments have this structure, and the same known values."""
        found, spec = flattened(self.seen.of(args))
        is_same = spec == self.spec and all(
            same(found[k], value) and (read is None or is_unchanged(read)) for k, value, read in self.known
        )
        are_values = is_same and all(type(found[k]) in VALUES or not is_known(found[k]) for k in self.taken)
        if not are_values or not self.is_alike(found):
            return False
        self.met = args, found
        return True

    def is_alike(self, found: Sequence[Any]) -> bool:
        """Whether structures from outside are as they were, and arrays have the axes that they had, if that matters."""
        uses_ranks = self.ranks is not None
        if uses_ranks and [known_rank(found[k]) for k in self.taken] != self.ranks:
            return False
        return all(is_as_it_was(*outside, uses_ranks, self.seen) for outside in self.outside)

    def leaves(self, args: Arguments) -> Arguments:
        """The arguments of `flat`."""
        met, self.met = self.met, None
        is_met = met is not None and len(met[0]) == len(args) and all(map(is_, met[0], args))
        found = met[1] if met is not None and is_met else flattened(self.seen.of(args))[0]
        return (*[found[k] for k in self.taken], *[read() for read in self.readers])

    def plain(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """`function`, which takes structures, as a function of their leaves, which gives those of its result."""

        @wraps(function)
        def of_parts(*values: Any) -> Any:
            found = [value for _, value, _ in sorted(self.known, key=itemgetter(0))]
            for k, value in zip(self.taken, values, strict=False):
                found.insert(k, value)
            result, form = function(*of_leaves(self.spec, found)), self.apart.result
            return result if form is None else tuple(leaves_like(form, result))

        return of_parts

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters of `flat`."""
        return (*(name for place in self.places for name in place.taken), *self.apart.hidden.values())

    def primal(self, *args: Any) -> Any:
        return self.result(self.flat(*self.leaves(args)))

    def result(self, value: Any) -> Any:
        """What the function returns, of what `flat` does."""
        return value if self.apart.result is None else of_values(self.apart.result, iter(value))

    def tangent(self, value: Any) -> Any:
        """What the result changes by, in its structure, with None for what is no number, of what `flat` gives."""
        form = self.apart.result
        return value if form is None else of_values(without_known(form), iter(value))

    def with_written(self, found: Any) -> Any:
        """The result in its structure, then arrays that are written, of what a plug makes of `flat`."""
        if self.apart.result is None:
            return found
        values = found if isinstance(found, tuple) else (found,)
        count = sum(1 for _ in leaves(self.apart.result))
        result, written = self.result(values[:count]), values[count:]
        return (result, *written) if written else result

    def value_and_grad(self, *args: Any) -> tuple[Any, Any]:
        if self.flat.options.has_aux:
            self.require_loss()
        value, gradients = self.flat.value_and_grad(*self.leaves(args))
        return self.result(value), self.gradients(gradients)

    def require_loss(self) -> None:
        """Raise DifferentiationError (LD404) if what is returned first is a structure."""
        form = self.apart.result
        if form is not None and not (
            form.items[1:] and isinstance(form.items[0], Leaf) and issubclass(form.type, tuple)
        ):
            source, message = self.apart.source, f"`{self.apart.source.name}` returns {described(form)}, with `has_aux`"
            raise DifferentiationError(reject("LD404", message, source.span(source.node), LOSS_FIRST))

    def gradients(self, found: Any) -> Any:
        """Gradients, or tangents, in the structure of the arguments, None where there is none; of a named tuple."""
        record, places = self.records.get(type(found)) or self.record_of(type(found))
        return tuple.__new__(
            record, [of_leaves(spec, [None if k is None else found[k] for k in leaves]) for spec, leaves in places]
        )

    def record_of(self, flat: Any) -> Record:
        """The gradients of arguments, of the class of those of leaves, in their order."""
        where = {name: k for k, name in enumerate(flat._fields)}
        firsts = {p.name: min((where[n] for n in p.names if n in where), default=None) for p in self.places}
        found = [(first, p) for p in self.places if (first := firsts[p.name]) is not None]
        places = [p for _, p in sorted(found, key=itemgetter(0))]
        record = record_type("Gradients", tuple(p.name for p in places))
        made = record, tuple((p.spec, tuple(None if n is None else where.get(n) for n in p.names)) for p in places)
        self.records[flat] = made
        return made

    def vjp(self, *args: Any) -> tuple[Any, StructuredPullback]:
        value, pullback = self.flat.vjp(*self.leaves(args))
        return self.result(value), StructuredPullback(self, pullback)

    def jvp(self, args: tuple[Any, ...], tangents: Mapping[str, Any]) -> tuple[Any, Any]:
        value, along = self.flat.jvp(self.leaves(args), self.spread(tangents, "LD344", "direction"))
        found = {"result": self.tangent(along[0])} if along._fields[:1] == ("result",) else {}
        written = self.gradients(along)
        found |= dict(zip(written._fields, written, strict=True))
        return self.result(value), tuple.__new__(record_type("Tangents", tuple(found)), tuple(found.values()))

    def hvp(self, args: tuple[Any, ...], vectors: Mapping[str, Any]) -> tuple[Any, Any, Any]:
        value, gradients, products = self.flat.hvp(self.leaves(args), self.spread(vectors, "LD344", "vector"))
        return self.result(value), self.gradients(gradients), self.gradients(products)

    def spread(self, given: Mapping[str, Any], code: str, what: str) -> dict[str, Any]:
        """Values for arguments, as values for their leaves. Raises ArgumentError with `code`."""
        found: dict[str, Any] = {}
        for name, value in given.items():
            place = next((p for p in self.places if p.name == name), None)
            if place is None:
                found[name] = value  # which `flat` refuses
                continue
            parts = parts_of(place.tree, value, code, f"the {what} of `{name}`")
            found |= {n: part for n, part in zip(place.taken, parts, strict=True) if part is not None}
        return found


class StructuredPullback(Pullback):
    """A pullback that takes seeds in the structure of the result, and gives gradients in that of the arguments."""

    def __init__(self, calls: StructuredCalls, pullback: Pullback) -> None:
        self.calls, self.pullback, self.run = calls, pullback, pullback.run

    def __call__(self, /, *seed: Any, **cotangents: Any) -> Any:
        """As `Pullback` does. Raises ArgumentError (LD340, LD341)."""
        result = self.calls.apart.result
        seeds = seed if result is None else tuple(tuple(parts_of(result, s, "LD340", "the seed")) for s in seed)
        return self.calls.gradients(self.pullback(*seeds, **self.calls.spread(cotangents, "LD341", "cotangent")))


def without_known(tree: Tree) -> Tree:
    """`tree` with None in place of texts, functions and the like."""
    match tree:
        case Branch(items=items):
            return tree.with_items(tuple(map(without_known, items)))
        case Static():
            return Static(None)
        case _:
            return tree


def places_of(apart: Apart, spec: Any, found: Sequence[Any]) -> Iterator[Place]:
    start = 0
    trees = trees_of(spec, found)
    for (name, names), tree, child in zip(apart.parameters.items(), trees, spec.children(), strict=True):
        rest, values = iter(names), found[start : start + child.num_leaves]
        yield Place(name, tree, child, tuple(None if is_known(value) else next(rest) for value in values))
        start += child.num_leaves


def parts_of(tree: Tree, value: Any, code: str, what: str) -> list[Any]:
    """What `value` has for the leaves of `tree`. Raises ArgumentError with `code` if it is of another structure."""
    try:
        return list(leaves_like(tree, value))
    except ValueError:
        raise ArgumentError(reject(code, f"{what} is not {described(tree)} of the same structure", NOWHERE)) from None


# -- functions that are arguments --------------------------------------------------------------------------
Read = list[tuple[Callable[[], Any], Any]]


def read_by(value: Any) -> Read | None:
    """What a function, and functions that it finds, read from outside: how to read it again, and what it was."""
    found: Read = []
    met = set[int]()
    functions = [value.py_func if hasattr(value, "py_func") else value]
    while functions:
        function = functions.pop()
        if not isinstance(function, FunctionType) or id(function) in met or is_of_library(function):
            continue
        met.add(id(function))
        cells = [partial(getattr, cell, "cell_contents", None) for cell in function.__closure__ or ()]
        names = [partial(function.__globals__.get, name) for name in function.__code__.co_names]
        for read in (*cells, *names):
            now = read()
            if not isinstance(now, np.ndarray):  # arrays are read at each call
                found.append((read, now))
                functions.append(now)
    return found or None


def is_as_it_was(read: Callable[[], Any], before: list[Any], spec: Any, uses_ranks: bool, seen: Seen) -> bool:
    """Whether a structure from outside has the form that it had, and the same known values."""
    now, found = flattened(seen.of((read(),)))
    if found != spec:
        return False
    pairs = list(zip(now, before, strict=True))
    if uses_ranks and any(known_rank(a) != known_rank(b) for a, b in pairs):
        return False
    return all(same(a, b) for a, b in pairs if is_part(b) or is_part(a))


def is_unchanged(read: Read) -> bool:
    return all(one() is before for one, before in read)


# -- finding them ------------------------------------------------------------------------------------------
def find_calls(
    known: list[StructuredCalls], program: Program, wrt: Names, make: MakeFlat, args: Arguments
) -> StructuredCalls | None:
    """The entry points for arguments like these, among those that are `known`, or new; None for numbers and arrays.

    `make` gives the function of the leaves, to be differentiated by some of them. Raises UnsupportedLoopError (LD134).
    """
    is_flat = program.source.apart is not None
    if is_flat or (not program.has_structures and not any(map(is_structure, args))):
        return None
    found = next((calls for calls in known if calls.guard(*args)), None)
    if found is None:
        found = made_calls(program, wrt, make, args)
        known.append(found)
        del known[:-MOST_KNOWN]
    return found


def made_calls(program: Program, wrt: Names, make: MakeFlat, args: Arguments) -> StructuredCalls:
    """Entry points for a structure that was not met before."""
    given = dict(zip(program.source.signature.parameters, args, strict=True))
    asked = given.keys() - program.source.unasked if wrt is None else map(root_named, wrt)
    if not any(True for _ in objects_in([given.get(name) for name in asked])):  # gradients have what objects have
        seen = attributes_seen(program.source, program.sources, (*args, *objects_outside(program)))
        with suppress(NotSeen):
            made = calls_where(program, wrt, make, args, seen)
            if not seen.kinds or not returns_object(made.apart.result):
                return made
    return calls_where(program, wrt, make, args, ALL)


def objects_outside(program: Program) -> list[Any]:
    """What the function, and what it calls, finds outside."""
    return [value for one in sources_reached(program.source, program.sources) for value in one.outer.values()]


def returns_object(tree: Tree | None) -> bool:
    """Whether an object is returned, or something that holds one: all of it."""
    return isinstance(tree, Branch) and (is_plain_class(tree.type) or any(map(returns_object, tree.items)))


def calls_where(program: Program, wrt: Names, make: MakeFlat, args: Arguments, seen: Seen) -> StructuredCalls:
    """Entry points for a structure, of whose objects the function reads what is `seen`."""
    found, spec = flattened(seen.of(args))
    trees = dict(zip(program.source.signature.parameters, map(seen.marked, trees_of(spec, found)), strict=True))
    values = [leaf for leaf in found if not is_known(leaf)]
    odd = next((v for v in values if isinstance(v, dict | list | tuple)), None)
    if odd is not None:
        raise ArgumentError(reject("LD210", f"an argument is, or holds, a {type(odd).__name__}", NOWHERE))
    given = {name: tree for name, tree in trees.items() if not isinstance(tree, Leaf) or tree.known is not MISSING}
    functions = [f for tree in given.values() for f in statics(tree)]  # which are read as they are now
    read = {f: source for f, source in program.sources.known.items() if f not in functions}
    sources = replace(program.sources, known=read, attributes=dict(program.sources.attributes), seen=seen)
    apart = taken_apart(program.source, sources, given)
    if apart.is_open or apart.diagnostics:
        from loopdiff.frontend.parse import apart_otherwise

        typed = partial(types_of_leaves, values=values)
        apart, sources = apart_otherwise(program.source, sources, given, apart, typed) or (apart, sources)
    if apart.diagnostics:
        refuse_values(
            trees, args, {name for name in apart.as_arrays if not (name in trees and has_arrays(trees[name]))}
        )
        raise UnsupportedLoopError(*apart.findings)
    names = [name for of in apart.parameters.values() for name in of]
    floating = {name for name, value in zip(names, values, strict=True) if kind_of_number(value) in "fc"}
    for of in wrt or ():
        chosen_names(apart.parameters, trees, of, floating)  # or it says that there are none
    named = {of: chosen_names(apart.parameters, trees, of, names) for of in wrt or ()}
    chosen = None if wrt is None else tuple(dict.fromkeys(n for found in named.values() for n in found))
    sure = {n for of, found in named.items() if names_one(trees, of) for n in found}
    unasked = frozenset(n for of in program.source.unasked for n in apart.parameters[of])
    source = replace(apart.source, unasked=unasked, if_floating=frozenset(chosen or ()) - sure)
    return StructuredCalls(make(source, sources, chosen), apart, args, seen)


def types_of_leaves(apart: Apart, values: Sequence[Any]) -> dict[str, ArgumentType]:
    """The types of the parameters of a function that was taken apart, which get these `values`."""
    names = [name for of in apart.parameters.values() for name in of]
    outside = {name: of.reader()() for of, name in apart.hidden.items() if isinstance(of, Outer)}
    return argument_types(dict(zip(names, values, strict=True)) | outside)


def has_arrays(tree: Tree) -> bool:
    return any(isinstance(leaf.known, Rank) for _, leaf in leaves(tree))


def kind_of_number(value: Any) -> str:
    """NumPy's letter for the kind of a number, or of an array's elements, whatever library it is of; O for the rest."""
    dtype = getattr(value, "dtype", type(value))
    if isinstance(dtype, np.dtype | type):
        return np.dtype(dtype).kind
    from loopdiff.memory.foreign import interface_of_array

    interface = interface_of_array(value)
    return "O" if interface is None else np.dtype(interface["typestr"]).kind


def refuse_values(trees: Mapping[str, Tree], args: Arguments, as_arrays: Collection[str]) -> None:
    """Raise ArgumentError (LD209, LD210) for texts, None and lists of numbers that are used as arrays, and for what
    else among the arguments has no type."""
    wrong = {name for name in as_arrays if name in trees and is_no_structure(trees[name])}
    if not wrong:
        return
    wrong |= {
        n for n, t in trees.items() if isinstance(t, Leaf) or (isinstance(t, Static) and isinstance(t.value, str))
    }
    found = [refusal_of_value(name, value) for name, value in zip(trees, args, strict=True) if name in wrong]
    raise ArgumentError(*(d for d in found if d is not None))


def is_no_structure(tree: Tree) -> bool:
    """Whether somebody may have meant an array: a list of numbers, or nothing of the kind."""
    if isinstance(tree, Branch):
        return tree.kind in ("tuple", "list") and all(isinstance(item, Leaf) for item in tree.items)
    return isinstance(tree, Static)
