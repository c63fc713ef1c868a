"""What a generated function needs of the arrays and numbers that it is called with, and whether it gets that.

The functions of `calls.compiled` run on the caller's own buffers. Compiled code trusts them: whatever is wrong with
one would be read or written somewhere else in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from loopdiff.calls.arguments import INT_MAX, INT_MIN, overlap, overlapping, refusals, repeating, repeats
from loopdiff.calls.recognition import Recognise, recogniser
from loopdiff.calls.runs import make_arena
from loopdiff.errors import NOWHERE, ArgumentError, Diagnostic
from loopdiff.errors.codes import reject
from loopdiff.frontend.extents import is_so
from loopdiff.ir import nodes as ir
from loopdiff.ir.names import tail_names
from loopdiff.ir.printer import print_expr
from loopdiff.ir.types import BOOL, INT, ArrayType, ScalarType
from loopdiff.ir.walk import all_statements, subexprs, written_arrays
from loopdiff.memory.arena import EXTENT_NAMES, placed
from loopdiff.specialize.entry_points import may_share_function
from loopdiff.specialize.specialization import Specialization
from loopdiff.specialize.units import Unit

Shape = tuple[int | None, ...]
NUMBERS: Mapping[ScalarType, tuple[str, tuple[type, ...]]] = {
    BOOL: ("a boolean", (bool, np.bool_)),
    INT: ("an integer", (int, np.integer)),
}
REAL = ("a real number", (int, float, np.integer, np.floating, np.bool_))
ORDERS = {"C": " in C order", "F": " in Fortran order", "A": ""}
Counts = Callable[[tuple[Any, ...]], tuple[int, ...]]


class EntryChecks:
    """The checks of calls of one generated function, `name` of a CompiledGradient.

    `counts` finds the totals `count_names` of tapes that the function fills without a look at their extents.
    """

    def __init__(
        self, spec: Specialization, unit: Unit, name: str, count_names: tuple[str, ...], counts: Counts | None
    ) -> None:
        self.spec, self.ls, self.name = spec, unit.ls, name
        self.count_names, self.counts = count_names, counts
        self.kinds = {p: kind_of(unit.ls, p) for p in unit.ls.params}
        self.arrays = [p for p, kind in self.kinds.items() if isinstance(kind, ArrayType)]
        self.written = written_arrays(unit.ls.body) & frozenset(self.arrays)
        self.extents = {q[:2]: n for q in spec.asked if isinstance(n := q[2], int) and is_so(q, spec.types)}
        self.several = sorted(q[:2] for q in spec.asked if q[2] == 1 and not is_so(q, spec.types))
        arguments = spec.normal.params
        self.count_args = len(arguments)
        made = [unit.ls.array(p) for p in self.arrays if p not in arguments]
        self.sized = [decl for decl in made if decl.extents is not None]
        alike = [decl.name for decl in made if decl.extents is None]
        given = [p for p in self.arrays if p in arguments]
        self.like = {b: a for a, b in tail_names(alike, given, "_tan" if name == "tangent" else "_adj").items()}
        self.arena = make_arena(spec.normal, (*arguments, *count_names), self.sized)
        own = {(s.code, s.message) for s in all_statements(unit.ls.body) if isinstance(s, ir.Require)}
        conditions = [s for s in spec.normal.body if isinstance(s, ir.Require) and (s.code, s.message) not in own]
        conditions = [s for s in conditions if is_of_parameters(s.cond, spec.normal)]
        self.conditions = [(s, condition_of(s.cond, unit.ls.params)) for s in conditions]
        deciding = [e for d in self.sized for extent in d.extents or () for e in subexprs(extent)]
        deciding += [e for s in conditions for e in subexprs(s.cond)]
        self.deciding = {e.name for e in deciding if isinstance(e, ir.Param)} - set(count_names)
        self.is_fixed = counts is None and not any(isinstance(e, ir.Load) for e in deciding)

    def __call__(self, args: tuple[Any, ...]) -> Recognise | None:
        """What recognises other arguments like these, where that is possible.

        Raises ArgumentError (LD303 to LD310, LD347, LD349) for those that the function cannot be run with.
        """
        given = dict(zip(self.ls.params, args, strict=True))
        for find in (self.unfit, self.misshapen, self.conflicts):
            found = list(find(given))
            if found:
                raise ArgumentError(*found)
        if not self.is_fixed:
            return None
        places = {p: k for k, p in enumerate(self.ls.params)}
        return recogniser(args, {places[p] for p in self.written}, {places[p] for p in self.deciding})

    # -- each for itself ---------------------------------------------------------------------------------------
    def unfit(self, given: Mapping[str, Any]) -> Iterator[Diagnostic]:
        """Values that are not of the type, rank and layout that the function was compiled for."""
        for name, value in given.items():
            kind = self.kinds[name]
            if isinstance(kind, ArrayType):
                if self.fits(name, kind, value):
                    yield from refusals(name, value, name in self.written)
                else:
                    yield self.misfit(name, value)
            else:
                yield from self.unfit_number(name, kind, value)

    def unfit_number(self, name: str, kind: ScalarType, value: Any) -> Iterator[Diagnostic]:
        wanted, types = NUMBERS.get(kind, REAL)
        if not isinstance(value, types):
            message = f"`{name}` is {described(value)}; `{self.name}` takes {wanted}"
            yield reject("LD349", message, NOWHERE, "convert it")
        elif kind is INT and not INT_MIN <= value <= INT_MAX:
            yield reject("LD306", f"`{name}` is {value}, which does not fit in 64 bits", NOWHERE)

    def fits(self, name: str, kind: ArrayType, value: Any) -> bool:
        if not isinstance(value, np.ndarray) or value.dtype != np.dtype(kind.dtype) or value.ndim != kind.rank:
            return False
        flags = value.flags
        is_laid_out = {"C": flags.c_contiguous, "F": flags.f_contiguous, "A": True}[kind.layout]
        return is_laid_out and matches(value.shape, self.shape(name))

    def shape(self, name: str) -> Shape:
        """The extents that are the same in every call; None for others."""
        kind = self.kinds[name]
        assert isinstance(kind, ArrayType)
        found = [self.extents.get((name, axis)) for axis in range(kind.rank)]
        return (*found[:-1], 2) if kind.is_pair else tuple(found)

    def misfit(self, name: str, value: Any, shape: Shape | None = None) -> Diagnostic:
        """The refusal of an array: what it is, and what it should be."""
        kind = self.kinds[name]
        assert isinstance(kind, ArrayType)
        extents = self.formula(name) if shape is None else str(shape)
        wanted = f"{kind.dtype} of shape {extents}{ORDERS[kind.layout]}"
        return reject("LD349", f"`{name}` is {described(value)}; `{self.name}` takes {wanted}", NOWHERE)

    def formula(self, name: str) -> str:
        """The shape of an array in terms of the arguments."""
        if name in self.like:
            return f"`{self.like[name]}.shape`"
        stated = next((d.extents for d in self.sized if d.name == name), None)
        if stated is None:
            return in_brackets([":" if n is None else str(n) for n in self.shape(name)])
        return f"`{in_brackets([print_expr(extent) for extent in stated])}`"

    # -- together ----------------------------------------------------------------------------------------------
    def misshapen(self, given: Mapping[str, Any]) -> Iterator[Diagnostic]:
        """Arrays that are too small or too large for the arguments, and arguments that do not fit together."""
        for name, axis in self.several:
            if given[name].shape[axis] == 1:
                message = f"`{name}` has one element along axis {axis}; `{self.name}` was compiled for several, or none"
                yield reject("LD349", message, NOWHERE)
        for stmt, holds in self.conditions:
            if not holds(*given.values()):
                yield reject(stmt.code, stmt.said, stmt.loc)
        for name, argument in self.like.items():
            if given[name].shape != given[argument].shape:
                yield self.misfit(name, given[name], given[argument].shape)
        arguments = tuple(given.values())[: self.count_args]
        totals = (0,) * len(self.count_names) if self.counts is None else self.counts(arguments)
        for decl, shape in zip(self.sized, self.arena.sizes((*arguments, *totals)), strict=True):
            yield from self.missized(decl, given[decl.name], shape)

    def missized(self, decl: ir.ArrayDecl, value: np.ndarray, shape: tuple[int, ...]) -> Iterator[Diagnostic]:
        """Whether an array has its extents, along an axis that totals decide about at least these."""
        counted = [is_counted(extent, self.count_names) for extent in decl.extents or ()]
        if not matches(value.shape, tuple(None if c else n for n, c in zip(shape, counted, strict=True))):
            yield self.misfit(decl.name, value, shape)
        elif any(c and n < least for n, least, c in zip(value.shape, shape, counted, strict=True)):
            yield reject("LD347", f"the workspace has too little room in `{decl.name}`", NOWHERE)

    def conflicts(self, given: Mapping[str, Any]) -> Iterator[Diagnostic]:
        """Arrays whose elements are also those of an array that is written."""
        may_share = may_share_function()
        for k, name in enumerate(self.arrays):
            array = given[name]
            if name in self.written and not array.flags.forc and repeats(array):
                yield repeating(name)
            for other in self.arrays[k + 1 :]:
                if self.written.isdisjoint((name, other)) or not may_share(array, given[other]):
                    continue
                if overlap(array, given[other]):
                    yield overlapping(name, other) if name in self.written else overlapping(other, name)


def kind_of(ls: ir.LoopSet, name: str) -> ArrayType | ScalarType:
    found = ls.array(name).type if ls.has_array(name) else ls.scalar(name).type
    assert found is not None
    return found


def matches(shape: Sequence[int], expected: Shape) -> bool:
    return all(n == m or m is None for n, m in zip(shape, expected, strict=True))


def is_counted(extent: ir.Expr, count_names: Sequence[str]) -> bool:
    return any(isinstance(e, ir.Param) and e.name in count_names for e in subexprs(extent))


def is_of_parameters(cond: ir.Expr, ls: ir.LoopSet) -> bool:
    """Whether a condition is about extents and numbers of arguments alone, not about what arrays hold."""
    nodes = list(subexprs(cond))
    known = [e.array if isinstance(e, ir.Dim) else e.name for e in nodes if isinstance(e, ir.Dim | ir.Param)]
    return set(known) <= set(ls.params) and not any(isinstance(e, ir.Load | ir.Var) for e in nodes)


def condition_of(cond: ir.Expr, params: Sequence[str]) -> Callable[..., bool]:
    """The function that says of arguments whether a condition on extents and numbers holds."""
    places = {name: f"a{k}" for k, name in enumerate(params)}
    return eval(f"lambda {', '.join(places.values())}: {print_expr(placed(cond, places))}", dict(EXTENT_NAMES))


def in_brackets(extents: Sequence[str]) -> str:
    """A shape as Python writes it."""
    return f"({extents[0]},)" if len(extents) == 1 else f"({', '.join(extents)})"


def described(value: Any) -> str:
    """What a value is, in the words in which the refusal says what it should be."""
    if not isinstance(value, np.ndarray):
        return f"a {type(value).__name__}"
    flags = value.flags
    order = " in C order" if flags.c_contiguous else " in Fortran order" if flags.f_contiguous else " with gaps"
    return f"{value.dtype} of shape {value.shape}{order}"
