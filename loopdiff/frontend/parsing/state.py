"""What the parser knows while it walks a function: meanings of names, the block being written, rejections."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from loopdiff.errors import Diagnostic, Span
from loopdiff.errors.codes import Related, reject
from loopdiff.frontend.arrays.values import ArrayValue, Quantity, View, holes
from loopdiff.frontend.binding.types import Inferred, Kind
from loopdiff.frontend.callees import Sources
from loopdiff.frontend.capture import ArgumentType
from loopdiff.frontend.extents import Question
from loopdiff.frontend.liveness import LiveNames, find_live_names
from loopdiff.frontend.parsing.bindings import (
    ArrayName,
    Binding,
    Bindings,
    Cell,
    Given,
    ListName,
    ListRow,
    LocalFunction,
    Meaning,
    Mixed,
    Outside,
    Rejected,
    Unsure,
    Value,
    Varying,
    VaryingUsed,
)
from loopdiff.frontend.parsing.frames import CallFrame, Returned
from loopdiff.frontend.parsing.iterations import Heads, LoopState, MadeList, Resized, Trips
from loopdiff.frontend.parsing.sites import ArrayEvent, Copy, Decisions, Growth, JoinSite, Place, choice_site
from loopdiff.frontend.survey import Survey, becomes_part_of_itself
from loopdiff.ir import nodes as ir
from loopdiff.ir.names import NameSupply
from loopdiff.ir.types import ArrayType
from loopdiff.ir.walk import map_expr, subexprs
from loopdiff.numpy_functions import is_of_numpy
from loopdiff.source.functions import MISSING, SourceFunction, dotted_name
from loopdiff.source.nodes import syntax_nodes
from loopdiff.source.scopes import bound_by, of_scope, words_in


class TypesNeeded(Exception):
    """What the function means depends on the ranks of its arguments, and these are not known yet."""


@dataclass(slots=True)
class Whole:
    """What the function and the helpers written out in it share.

    `call` writes a call out and gives its value: None after a rejection, MISSING if it calls no Python function.
    `parse` gives the value of any expression, `make_list` a list that it makes: None after a rejection, MISSING if it
    makes none. `inlined`: number of statements of helpers so far. `types` are those of the arguments, None while they
    are unknown, `asked` is what was asked of their extents. `fixed` are the values of cells that are assigned in one
    place and known at entry; `truths` local arrays of booleans, `fresh` those that have no name yet, `turned` those
    whose rows may not follow one another in NumPy's memory, `roomy` those that have more room than NumPy's, `pieces`
    what views are reshapes of, `parts` copies of parts of arrays of which elements are taken, with these, `indexed`
    what brackets are behind; `undecided` cells that may be arrays once types are known.

    `trips` are those of the loops around. `lists` are arrays in which lists are kept, `grown` how they grow, by the
    place where they are made; of those at `unbounded` nothing says how long they become. `holding`: how deep in lists.

    `active` are the states of the functions being parsed. `heads` are those of loops around whose iterations start with
    different arrays; `catching` cells for each of whose values a statement around can be written, `versions` how many
    statements around are. `site` numbers the places where arrays are made, `ranges` are the first value and the end of
    what cells of loop variables hold where they are known; nothing that loops around have `entered` is negative as they
    run; while `is_inside`, slices are taken to lie inside of arrays. `resized` are arrays of which cells count what is
    there, in an iteration cells have `held` formulas of these, or at `most` such. `boxed` are the numbers that
    `np.where` gives, `changed` the names behind cells that augmented assignments change (see `boxes`). `flags` are
    cells that say whether loops ran. `diagnostics` are rejections, `following` those that follow from another,
    `rejected` is how many there were. Of calls that are `unknown`, something in what they call was rejected.

    For `joins`: where arrays are made (`births`) and `altered` by statements of the program, and `copies` of arrays
    that have other names; lists are `lengthened`; `supposed` types of elements, and `dtypes` that follow from what is
    known; `around` are the loops around, `clock` numbers all. `kinds` are of cells that derivatives give values. A
    search for a limit is `looking` at so many more. `was_asked`: something depends on what was `decided`.
    """

    names: NameSupply
    indices: NameSupply
    sources: Sources
    call: Callable[[State, ast.Call], Value | None]
    parse: Callable[[State, ast.expr], Quantity]
    make_list: Callable[[State, ast.expr], Value | None]
    types: Mapping[str, ArgumentType] | None = None
    asked: set[Question] = field(default_factory=set)
    fixed: dict[str, ir.Expr] = field(default_factory=dict)
    truths: set[str] = field(default_factory=set)
    fresh: set[str] = field(default_factory=set)
    turned: set[str] = field(default_factory=set)
    roomy: set[str] = field(default_factory=set)
    pieces: dict[View, View] = field(default_factory=dict)
    parts: dict[str, tuple[View, View]] = field(default_factory=dict)
    indexed: set[ast.expr] = field(default_factory=set)
    undecided: set[str] = field(default_factory=set)
    trips: list[Trips] = field(default_factory=list)
    lists: dict[str, MadeList] = field(default_factory=dict)
    grown: dict[Place, Growth] = field(default_factory=dict)
    unbounded: list[Span] = field(default_factory=list)
    holding: int = 0
    is_inside: bool = False
    active: list[State] = field(default_factory=list)
    heads: list[Heads] = field(default_factory=list)
    catching: frozenset[str] = frozenset()
    versions: int = 0
    site: int = 0
    ranges: dict[str, tuple[ir.Expr, ir.Expr]] = field(default_factory=dict)
    resized: dict[str, Resized] = field(default_factory=dict)
    held: dict[str, ir.Expr] = field(default_factory=dict)
    most: dict[str, ir.Expr] = field(default_factory=dict)
    entered: list[ir.Expr] = field(default_factory=list)
    boxed: set[ir.Expr] = field(default_factory=set)
    changed: dict[str, tuple[str, Span, bool]] = field(default_factory=dict)
    arrays: dict[str, ir.ArrayDecl] = field(default_factory=dict)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    following: list[Diagnostic] = field(default_factory=list)
    rejected: int = 0
    unknown: set[Span] = field(default_factory=set)
    inlined: int = 0
    decided: Decisions = field(default_factory=Decisions)
    was_asked: bool = False
    flags: set[str] = field(default_factory=set)
    printed: str | None = None
    births: dict[str, ArrayEvent] = field(default_factory=dict)
    altered: list[ArrayEvent] = field(default_factory=list)
    lengthened: list[ArrayEvent] = field(default_factory=list)
    copies: list[Copy] = field(default_factory=list)
    supposed: dict[str, str] = field(default_factory=dict)
    dtypes: dict[str, Inferred] = field(default_factory=dict)
    kinds: dict[str, Kind] = field(default_factory=dict)
    around: list[int] = field(default_factory=list)
    clock: int = 0
    makes_numbers: bool = False  # whether a function of NumPy may have made a number of Python's numbers
    looking: int | None = None

    @property
    def decisions(self) -> Decisions:
        """What was `decided`, now that something depends on it."""
        self.was_asked = True
        return self.decided

    def event(self, array: str) -> ArrayEvent:
        """Something that happens to `array` here."""
        self.clock += 1
        return ArrayEvent(array, self.clock, tuple(self.around))

    def note_altered(self, arrays: Iterable[str], since: int) -> None:
        """Arrays altered by a statement that began at the time `since`, but those that it made itself."""
        items = ArrayEvent.items_since(self.altered, since)
        older = (a for a in arrays if a not in self.births or self.births[a].number <= since)
        self.altered += [self.event(a) for a in older if a not in items]


@dataclass(slots=True)
class State:
    """The parser's state: `out` is the block being written, `opened` are those around it, `bindings` what local names
    stand for here. `stack`: the function, and those whose calls led to it, itself last. `around`: the state of that in
    which a function is defined. `is_dead`: nothing comes here, because a jump was before. `loops` are those around,
    innermost last, `iterated` the arrays that they go over. `returned`: None before the first `return`."""

    source: SourceFunction
    survey: Survey
    whole: Whole
    stack: tuple[CallFrame, ...]
    around: State | None = None
    cells: dict[str, str] = field(default_factory=dict)
    bindings: Bindings = field(default_factory=dict)
    out: list[ir.Stmt] = field(default_factory=list)
    opened: list[list[ir.Stmt]] = field(default_factory=list)
    loops: list[LoopState] = field(default_factory=list)
    iterated: list[str] = field(default_factory=list)
    is_dead: bool = False
    returned: Returned | None = None
    known_live: LiveNames | None = None

    @property
    def live(self) -> LiveNames:
        """Where names of the function are live."""
        if self.known_live is None:
            self.known_live = find_live_names(self.source.node, self.survey.assigned)
        return self.known_live

    @property
    def names(self) -> NameSupply:
        return self.whole.names

    @property
    def arrays(self) -> dict[str, ir.ArrayDecl]:
        return self.whole.arrays

    @property
    def diagnostics(self) -> list[Diagnostic]:
        return self.whole.diagnostics

    @property
    def types(self) -> Mapping[str, ArgumentType] | None:
        return self.whole.types

    @property
    def is_helper(self) -> bool:
        return len(self.stack) > 1

    # -- rejections ------------------------------------------------------------------------------------------
    def reject(
        self, code: str, message: str, node: ast.AST | Span, hint: str | None = None, related: Related = ()
    ) -> ir.Const:
        """Record a rejection, unless it only follows from another: of the same, of a part of it, of what a call in it
        writes out, or of what gave a name in it its meaning. What is rejected is unknown from here on; the value stands
        in for it, so that parsing goes on."""
        span = node if isinstance(node, Span) else self.source.span(node)
        while is_of_numpy(span.file) and span.called_from is not None:  # the call is what can be mended
            span = span.called_from
        found = reject(code, message, span, hint, related)
        follows = not isinstance(node, Span) and (self.reads_rejected(node) or self.rejected_in(span))
        said = self.whole.following if follows else self.diagnostics
        self.whole.rejected += 1
        if found not in said:
            said.append(found)
        return ir.Const(0, loc=span)

    def is_rejected(self, node: ast.AST) -> bool:
        """Whether `node` or a part of it was rejected, or what gave a name in it its meaning."""
        return self.reads_rejected(node) or self.rejected_in(self.source.span(node))

    def reads_rejected(self, node: ast.AST) -> bool:
        names = (n.id for n in syntax_nodes(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
        bindings = [(self.owner(n) or self).bindings.get(n) for n in names]
        self.repeat(*(causes := [b.cause for b in bindings if isinstance(b, Rejected)]))
        return bool(causes)

    def repeat(self, *causes: Diagnostic) -> None:
        """Who reads a rejected name says why again: the rejection may be from before parsing went back."""
        self.diagnostics.extend(c for c in dict.fromkeys(causes) if c not in self.diagnostics)

    def rejected_in(self, span: Span) -> bool:
        """Whether something was rejected in the region `span`, or in what is called there."""
        return any(map(span.holds, (*(d.span for d in self.diagnostics), *self.whole.unknown)))

    def site(self, name: str, span: Span) -> JoinSite:
        """The place `span` where `name` gets a meaning."""
        return JoinSite(tuple(frame.name for frame in self.stack), name, span.line, span.column)

    # -- values ----------------------------------------------------------------------------------------------
    def quantity(self, node: ast.expr) -> Quantity:
        """The value of `node`: a number or an array, which has axes."""
        value = self.whole.parse(self, node)
        return value.element if isinstance(value, ArrayValue) and not value.extents else value

    def number(self, node: ast.expr) -> ir.Expr:
        """The value of `node`, which must be a number."""
        return self.as_number(self.quantity(node), node)

    def as_number(self, value: Quantity, node: ast.expr) -> ir.Expr:
        if isinstance(value, View | ArrayValue):
            return self.reject("LD108", f"`{ast.unparse(node)}` is an array, used here as a number", node)
        return value

    def owned(self, value: Value | None, node: ast.AST, is_written: bool = False) -> bool:
        """Whether `value` may be given a name; else a rejection: it is one of two arrays, and somebody would tell it
        from its copy, as also where it `is_written` through."""
        if not isinstance(value, ArrayValue) or value.memory is None:
            return True
        is_part, is_shared = isinstance(value.element, ir.PartOf), choice_site(value) in self.whole.decisions.shared
        is_owned = not is_shared and (is_part or not is_written)
        if not is_owned and is_part:
            message = f"`{ast.unparse(node)}` is a part of an array, which is written to later"
            self.reject("LD116", message, node, "write `.copy()` after it")
        elif not is_owned:
            message = f"`{ast.unparse(node)}` may stand for different arrays here"
            self.reject("LD116", message, node, "write the `if` around the statements that use it")
        return is_owned

    # -- blocks ----------------------------------------------------------------------------------------------
    @contextmanager
    def block(self) -> Iterator[list[ir.Stmt]]:
        """Statements written inside go to the new list."""
        outer, self.out = self.out, []
        self.opened.append(outer)
        try:
            yield self.out
        finally:
            self.out = self.opened.pop()

    # -- arrays ----------------------------------------------------------------------------------------------
    def need_types(self) -> Mapping[str, ArgumentType]:
        """The types of the arguments, without which parsing cannot go on. Raises TypesNeeded."""
        if self.types is None:
            raise TypesNeeded
        return self.types

    def array_name(self, stem: str) -> str:
        """A name for a new array: the user's own where `stem` is one."""
        return self.own_name(stem) if stem in self.survey.first_uses else self.names.fresh(stem)

    def rank(self, array: str) -> int:
        decl = self.arrays[array]
        if decl.role == "argument":
            kind = self.need_types()[array]
            return kind.rank if isinstance(kind, ArrayType) else 0
        return len(decl.extents) if decl.extents is not None else self.rank(decl.like or "")

    def dim(self, array: str, axis: int, span: Span) -> ir.Dim:
        """`array.shape[axis]`; once types are known, an axis that is counted from the end is the one that it is."""
        if axis < 0 and self.types is not None and -axis <= (rank := self.rank(array)):
            axis += rank
        return ir.Dim(array, axis, loc=span)

    def extent(self, array: str, axis: int, span: Span) -> ir.Expr:
        """The extent of `array`, of a local one as it was stated if that is known at entry."""
        decl = self.arrays[array]
        if decl.role != "argument" and decl.like is not None:
            return self.extent(decl.like, axis, span)
        if decl.extents is not None:
            stated = self.known(decl.extents[axis])
            if self.is_fixed(stated):
                return stated
        return ir.Dim(array, axis, loc=span)

    def all_of(self, array: str, span: Span) -> View:
        """All of `array`."""
        rank = self.rank(array)
        return View(array, holes(rank), tuple(self.extent(array, k, span) for k in range(rank)))

    def known(self, expr: ir.Expr) -> ir.Expr:
        """`expr` with cells whose value is known at entry replaced by that, and extents of local arrays likewise."""
        return map_expr(self.known_leaf, expr)

    def known_leaf(self, expr: ir.Expr) -> ir.Expr:
        match expr:
            case ir.Load(access=ir.Access(array=cell)):
                return self.whole.fixed.get(cell, expr)
            case ir.Dim(array=array, axis=axis) if self.arrays[array].role == "local":
                decl = self.arrays[array]
                if decl.like is not None:
                    return self.known_leaf(ir.Dim(decl.like, axis, loc=expr.loc))
                extents = decl.extents or ()
                stated = self.known(extents[axis]) if 0 <= axis < len(extents) else expr
                return stated if self.is_fixed(stated) else expr
            case _:
                return expr

    def is_fixed(self, expr: ir.Expr) -> bool:
        """Whether `expr` means the same everywhere in the function."""
        return all(map(self.is_fixed_node, subexprs(expr)))

    def is_fixed_node(self, node: ir.Expr) -> bool:
        match node:
            case ir.SizeOf(array=array) | ir.RankOf(array=array):
                return self.arrays[array].role == "argument"
            case _:
                return isinstance(node, ir.Const | ir.Dim | ir.Apply | ir.Select | ir.Param | ir.Cast)

    # -- local names -----------------------------------------------------------------------------------------
    def forget(self, target: ast.AST) -> None:
        """Names that `target`, which was rejected, binds count as bound, so that one mistake is reported once."""
        for node in of_scope(target):
            self.bindings |= {name: Rejected(self.diagnostics[-1]) for name in bound_by(node)}

    def define(self, name: str, span: Span) -> ir.Access:
        """`name` gets a scalar value: the cell to store it in."""
        if name not in self.cells:
            self.cells[name] = cell = self.own_name(name)
            self.arrays[cell] = ir.ArrayDecl(cell, None, "local", (), loc=span)
        self.bindings[name] = Cell(self.cells[name])
        return ir.Access(self.cells[name], loc=span)

    def own_name(self, name: str) -> str:
        """A name in the IR for what `name` stands for, also where it already stood for something else."""
        if self.is_helper:
            found = self.names.fresh(f"{self.source.name}_{name}")
            self.whole.indices.taken.add(found)
            return found
        is_taken = name in self.arrays or name in self.survey.parameters
        return self.names.fresh(name) if is_taken else name

    def fresh_names(self, *stems: str) -> list[str]:
        """Names for variables of our own, which mean nothing in the function or in those that it stands in."""
        known: set[str] = set()
        around: State | None = self
        while around is not None:
            known |= words_in(around.source.node)
            around = around.around
        return [self.fresh_beside(known, stem) for stem in stems]

    def fresh_beside(self, known: set[str], stem: str) -> str:
        name = self.names.fresh(stem)
        while name in known:
            name = self.names.fresh(stem)
        return name

    def index(self, stem: str) -> str:
        """A name for the index of a new loop."""
        return self.whole.indices.fresh(f"{self.source.name}_{stem}" if self.is_helper else stem)

    def temporary(self, stem: str, span: Span) -> ir.Access:
        """A new cell that no Python name stands for."""
        name = self.names.fresh(stem)
        self.arrays[name] = ir.ArrayDecl(name, None, "local", (), loc=span)
        return ir.Access(name, loc=span)

    def owner(self, name: str) -> State | None:
        """The function among this and those around it whose local `name` is; None if it is from outside of all."""
        if name in self.survey.assigned or name in self.survey.parameters or name in self.bindings:
            return self
        return None if self.around is None else self.around.owner(name)

    def binding(self, name: str) -> Binding | None:
        """What the local `name` stands for here; None if it has no value."""
        owner = self.owner(name)
        found = None if owner is None else owner.bindings.get(name)
        if isinstance(found, Varying):
            raise VaryingUsed(found.which)
        return found

    def settle(self, name: str, node: ast.AST) -> Meaning | None:
        """What the local `name` stands for where `node` reads it; None after a rejection."""
        owner = self.owner(name) or self
        match owner.bindings.get(name):
            case (
                Cell() | ArrayName() | View() | ListName() | ListRow() | Given() | Outside() | LocalFunction() as known
            ):
                return known
            case Unsure(meant=meant, span=span, ran=ran) as unsure:
                if ran is None:
                    self.reject_unsure(name, node, span)
                else:
                    where = unsure.without_value(name, is_told=name in dict(owner.source.told))
                    self.out.append(ir.Require(ran, "LD331", where, loc=self.source.span(node), about=span))
                if owner is self:  # what a helper learns of a name around it may hold in one of its branches only
                    self.bindings[name] = meant
                return meant
            case Varying(which=which):
                raise VaryingUsed(which)
            case Mixed(span=span, kind=kind):
                related = (("depends on what happened here", span),)
                shrinks = becomes_part_of_itself(owner.source.node, name)
                way = f"keep a copy of all of `{name}`, count what is left, as `m -= 1`, and use `{name}[:m]`"
                message = f"`{name}` may stand for different {kind} here"
                self.reject("LD116", message, node, way if shrinks else None, related)
                owner.note_rejected(name, self)
                return None
            case Rejected(cause=cause):
                self.repeat(cause)
                return None
            case None if name in owner.survey.parameters:
                return Given(ir.Param(name, loc=self.source.span(node)))
            case None:
                self.reject("LD114", f"`{name}` is read before it is assigned", node, f"assign `{name}` first")
                owner.note_rejected(name, self)
                return None

    def note_rejected(self, name: str, reader: State) -> None:
        """`name` has no meaning that goes on, unless it is a helper, maybe in one of its branches, that asks."""
        if reader is self:
            self.bindings[name] = Rejected(self.diagnostics[-1])

    def reject_unsure(self, name: str, node: ast.AST, span: Span) -> None:
        hint = f"assign `{name}` before line {span.line}"
        related = (("assigned only if this runs", span),)
        self.reject("LD114", f"`{name}` may have no value here", node, hint, related=related)

    def is_local(self, name: str) -> bool:
        """Whether `name` stands for something that the function computes."""
        owner = self.owner(name)
        return owner is not None and not isinstance(owner.bindings.get(name), Outside)

    def load(self, binding: Cell, span: Span) -> ir.Expr:
        return ir.Load(ir.Access(binding.cell, loc=span), loc=span)

    # -- names from outside ----------------------------------------------------------------------------------
    def outside(self, node: ast.expr) -> Any:
        """The Python value of a name or dotted name from outside the function; MISSING if it has none."""
        text = dotted_name(node)
        if text is None:
            return node.value if isinstance(node, ast.Constant) and callable(node.value) else MISSING
        name = text.split(".")[0]
        if self.owner(name) is None:
            return self.source.outer.get(text, MISSING)
        match node:
            case ast.Attribute(value=base, attr=attr):
                owner = self.outside(base)
                return MISSING if owner is MISSING else self.whole.sources.attribute(owner, attr)
            case _:
                found = self.binding(name)
                return found.value if isinstance(found, Outside) else MISSING
