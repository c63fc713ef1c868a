"""The accesses of a LoopSet as events: formulas over the iterations around them, before isl sees any of it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

from loopdiff.analysis.polyhedral.facts import Equalities, Fact
from loopdiff.analysis.polyhedral.terms import Dimension, Terms, constant_terms, guarded_loads, has_opaque
from loopdiff.analysis.polyhedral.value_ranges import ValueRange
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import conjuncts, integer
from loopdiff.ir.ops import NEGATED_ON_INTEGERS, Op
from loopdiff.ir.types import INT
from loopdiff.ir.walk import Path, all_statements, exits, stmt_exprs, subexprs, written_access

END: Path = (1 << 60,)


@dataclass(frozen=True, eq=False)
class Frame:
    """The instance space of a block: the dimensions around it and the `formulas` that hold in it, its
    parent's first. Any of its `facts` may be left out.
    """

    parent: Frame | None
    dims: tuple[Dimension, ...]
    formulas: tuple[ir.Expr, ...]
    facts: tuple[Fact, ...] = ()

    @cached_property
    def loops(self) -> tuple[Dimension, ...]:
        return tuple(d for d in self.dims if d.kind == "loop")

    @cached_property
    def opaques(self) -> tuple[Dimension, ...]:
        return tuple(d for d in self.dims if d.kind == "opaque")

    @cached_property
    def places(self) -> dict[Hashable, int]:
        return {d.key: k for k, d in enumerate(self.dims)}


EVERYWHERE = Frame(None, (), ())


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """One access. `frame` adds to that of the statement what is known of subscripts: they are in range.

    `order` is its textual position: reads of a statement come before its write. `path` is () for reads at the
    end of the function. `is_whole`: every element, by an Allocate or (`is_final`) by the caller, who sees
    arguments and returned arrays. `subscripts` are translated terms. `combines`: the target of an Accumulate
    of that op. `is_possible`: a write that may leave elements as they are.
    """

    path: Path
    access: ir.Access
    is_write: bool
    order: tuple[Path, int]
    frame: Frame
    subscripts: tuple[ir.Expr, ...]
    is_whole: bool = False
    is_final: bool = False
    combines: ir.AccumulateOp | None = None
    is_possible: bool = False

    @property
    def loops(self) -> tuple[Dimension, ...]:
        return self.frame.loops

    @property
    def opaques(self) -> tuple[Dimension, ...]:
        return self.frame.opaques

    @property
    def places(self) -> dict[Hashable, int]:
        return self.frame.places


def find_events(
    ls: ir.LoopSet, number: Callable[[ir.Expr], int], known: Mapping[str, ValueRange] = MappingProxyType({})
) -> Builder:
    """Events and frames of the normal LoopSet `ls`, whose parameters have a `number`, and of whose arrays the ranges of
    some are `known`."""
    terms = Terms(ls, number, known)
    extents = [e for a in ls.arrays for e in a.extents or ()]
    used = (e for stmt in all_statements(ls.body) if not tests_data(stmt) for e in stmt_exprs(stmt))
    results = (r.value for r in ls.results if isinstance(r, ir.ScalarResult))
    for expr in (*used, *results, *extents):
        for e in subexprs(expr):
            if isinstance(e, ir.Dim):
                terms.parameter(e)
    builder = Builder(terms)
    builder.results(builder.block(ls.body, (), EVERYWHERE, Equalities()))
    terms.is_closed = True
    return builder


@dataclass(slots=True)
class Builder:
    """Walks the LoopSet once, before anything is known to isl, so that all parameters are found first."""

    terms: Terms
    frames: dict[Path, Frame] = field(default_factory=dict)
    bodies: dict[Path, Frame] = field(default_factory=dict)
    events: dict[Hashable, Event] = field(default_factory=dict)
    facts: dict[ir.Expr, Fact] = field(default_factory=dict)

    def block(
        self, body: tuple[ir.Stmt, ...], prefix: Path, frame: Frame, known: Equalities, first: int = 0
    ) -> Frame:  # fmt: skip
        """Events of `body`, at whose start equalities are `known`; what holds at its end."""
        equal = Equalities(known)
        for position, stmt in enumerate(body, start=first):
            path = (*prefix, position)
            self.frames[path] = frame
            self.statement(stmt, path, frame)
            match stmt:
                case ir.Loop():
                    self.bodies[path] = self.reached(stmt, path, self.inside(stmt, path, frame))
                    self.block(stmt.body, path, self.bodies[path], equal)
                case ir.If(cond=cond, then=then, orelse=orelse):
                    where, elsewhere = self.terms.branches(cond, path, depth(frame))
                    self.block(then, path, extend(self.terms, frame, (where,)), equal)
                    self.block(orelse, path, extend(self.terms, frame, (elsewhere,)), equal, first=len(then))
                case ir.Exit(cond=cond):
                    term = self.terms.condition(cond, path, depth(frame))
                    frame = extend(self.terms, frame, (ir.Apply(Op.NOT, (term,)),))
                case ir.Require(cond=cond) if not tests_data(stmt):
                    term = without_negations(self.terms.condition(cond, path, depth(frame)))
                    for part in filter(is_simple, map(as_natural, conjuncts(term))):
                        stated = equal.stated(part)
                        frame = frame if stated is None else Frame(frame, frame.dims, (), (self.fact(stated),))
                case _:
                    pass
        return frame

    def fact(self, formula: ir.Expr) -> Fact:
        return self.facts.setdefault(formula, Fact(formula, frozenset(subexprs(formula))))

    def reached(self, loop: ir.Loop, path: Path, frame: Frame) -> Frame:
        """The frame of the body of `loop`: whether an earlier iteration left the loop is not known."""
        if not exits(loop):
            return frame
        leaf = self.terms.dimension(("reached", path), depth(frame)).leaf
        return extend(self.terms, frame, (ir.Apply(Op.EQ, (leaf, ir.Const(1, INT))),))

    def inside(self, loop: ir.Loop, path: Path, frame: Frame) -> Frame:
        """The frame of the body of `loop`."""
        level = depth(frame)
        lower, upper, step = (self.terms.integer(e, path, level) for e in (loop.lower, loop.upper, loop.step))
        stride = constant_terms(step)
        index: ir.Expr = ir.Index(loop.index)
        if not stride:
            # A dimension of their own numbers the iterations; the index is some value fixed by the number.
            self.terms.trips[loop.index] = held = self.terms.dimension(("index", path), level + 1)
            number = Dimension("loop", path, level + 1, ir.Index(f"{loop.index} trip"))
            up = ir.Apply(Op.AND, (ir.Apply(Op.GE, (held.leaf, lower)), ir.Apply(Op.LT, (held.leaf, upper))))
            down = ir.Apply(Op.AND, (ir.Apply(Op.LE, (held.leaf, lower)), ir.Apply(Op.GT, (held.leaf, upper))))
            formulas: tuple[ir.Expr, ...] = (
                ir.Apply(Op.GE, (number.leaf, ir.Const(0, INT))),
                ir.Apply(Op.OR, (up, down)),
            )
            return extend(self.terms, frame, formulas, (number,))
        number = Dimension("loop", path, level + 1, index, stride)
        least = lower if stride > 0 else ir.Apply(Op.ADD, (upper, ir.Const(1, INT)))
        if (constant_terms(least) is None and self.terms.may_be_negative(least)) or (constant_terms(least) or 0) < 0:
            self.terms.signed.add(loop.index)
        reach = (Op.GE, Op.LT) if stride > 0 else (Op.LE, Op.GT)
        formulas = (ir.Apply(reach[0], (index, lower)), ir.Apply(reach[1], (index, upper)))
        if abs(stride) != 1:
            offset = ir.Apply(Op.MOD, (ir.Apply(Op.SUB, (index, lower)), ir.Const(abs(stride), INT)))
            formulas += (ir.Apply(Op.EQ, (offset, ir.Const(0, INT))),)
        return extend(self.terms, frame, formulas, (number,))

    def statement(self, stmt: ir.Stmt, path: Path, frame: Frame) -> None:
        if isinstance(stmt, ir.Call):
            self.call(stmt, path, frame)
            return
        for expr in stmt_exprs(stmt):
            self.loads(expr, path, (path, 0), frame)
        target = written_access(stmt)
        if target is not None:
            op = stmt.op if isinstance(stmt, ir.Accumulate) else None
            for is_write in (False, True) if op else (True,):
                self.add(element_event(self.terms, path, target, is_write, frame, combines=op))
        if isinstance(stmt, ir.Allocate):
            self.add(whole_event(self.terms, path, stmt.array, True, frame))

    def call(self, call: ir.Call, path: Path, frame: Frame) -> None:
        """What a function that is not looked into may touch: all of the parts it gets."""
        written, filled = call.rule.written(call.form), call.rule.filled(call.form)
        writes: list[tuple[ir.Access, bool]] = [(r, True) for r in call.results]
        for name, arg in zip(call.rule.names(call.form), call.args, strict=True):
            if arg is None or not (isinstance(arg, ir.Load) and name in written):
                self.loads(ir.Const(0, INT) if arg is None else arg, path, (path, 0), frame)
                continue
            for subscript in arg.access.subscripts:
                self.loads(subscript, path, (path, 0), frame)
            if name not in filled:
                self.add(element_event(self.terms, path, arg.access, False, frame))
            writes.append((arg.access, name in filled))
        for access, is_sure in writes:
            self.add(replace(element_event(self.terms, path, access, True, frame), is_possible=not is_sure))

    def loads(self, expr: ir.Expr, path: Path, order: tuple[Path, int], frame: Frame) -> None:
        for load, guards in guarded_loads(expr):
            inner = frame
            for cond, outcome in guards:
                term = self.terms.condition(cond, path, depth(inner))
                inner = extend(self.terms, inner, (term if outcome else ir.Apply(Op.NOT, (term,)),))
            self.add(element_event(self.terms, path, load.access, False, inner, order), guards)

    def results(self, frame: Frame) -> None:
        """Reads after the body: scalar results, then what the caller can see."""
        ls = self.terms.ls
        for result in ls.results:
            if isinstance(result, ir.ScalarResult):
                self.loads(result.value, (), (END, 0), frame)
        returned = [r.array for r in ls.results if isinstance(r, ir.ArrayResult)]
        for name in dict.fromkeys([*(p for p in ls.params if ls.has_array(p)), *returned]):
            self.add(whole_event(self.terms, (), name, False, frame))

    def add(self, event: Event, guards: Hashable = ()) -> None:
        key = (event.path, event.access, event.is_write, event.is_whole, guards)
        self.events.setdefault(key, event)


def depth(frame: Frame) -> int:
    return len(frame.loops)


def tests_data(stmt: ir.Stmt) -> bool:
    """Whether `stmt` requires something of elements, which says nothing of the extents that it mentions."""
    return isinstance(stmt, ir.Require) and any(isinstance(e, ir.Load) for e in subexprs(stmt.cond))


def without_negations(formula: ir.Expr) -> ir.Expr:
    """The same formula of comparisons of integers, in which `not` does not occur."""
    match formula:
        case ir.Apply(op=Op.NOT, args=(ir.Apply(op=Op.NOT, args=(inner,)),)):
            return without_negations(inner)
        case ir.Apply(op=Op.NOT, args=(ir.Apply(op=(Op.AND | Op.OR) as op, args=args),)):
            other = Op.OR if op is Op.AND else Op.AND
            return ir.Apply(other, tuple(without_negations(ir.Apply(Op.NOT, (a,))) for a in args))
        case ir.Apply(op=Op.NOT, args=(ir.Apply(op=op, args=args),)) if op in NEGATED_ON_INTEGERS:
            return ir.Apply(NEGATED_ON_INTEGERS[op], args)
        case ir.Apply(op=(Op.AND | Op.OR) as op, args=args):
            return ir.Apply(op, tuple(map(without_negations, args)))
        case _:
            return formula


def as_natural(formula: ir.Expr) -> ir.Expr:
    """`formula`, of an extent that is not zero as one that is at least one."""
    match formula:
        case ir.Apply(op=Op.NE, args=(ir.Dim() as extent, ir.Const(value=0)) | (ir.Const(value=0), ir.Dim() as extent)):
            return ir.Apply(Op.GE, (extent, integer(1)))
        case _:
            return formula


def is_simple(formula: ir.Expr) -> bool:
    """Whether `formula` is one comparison, or several that all hold, of known terms: it costs sets nothing."""
    match formula:
        case ir.Apply(op=Op.AND, args=args):
            return all(is_simple(a) for a in args)
        case ir.Apply(op=(Op.LT | Op.LE | Op.GT | Op.GE | Op.EQ)):
            return not has_opaque(formula)
        case _:
            return False


def extend(terms: Terms, frame: Frame, formulas: tuple[ir.Expr, ...], dims: tuple[Dimension, ...] = ()) -> Frame:
    """`frame` with more formulas, the dimensions they need, and what is known of these."""
    stated, known = 0, with_opaques(terms, (*frame.dims, *dims), formulas)
    while stated < len(known):
        new, stated = known[stated:], len(known)
        ranges = (terms.ranges[d] for d in new if d in terms.ranges and d not in frame.dims)
        formulas = (*formulas, *ranges)
        known = with_opaques(terms, known, formulas)
    return Frame(frame, known, formulas)


def with_opaques(terms: Terms, dims: tuple[Dimension, ...], formulas: Iterable[ir.Expr]) -> tuple[Dimension, ...]:
    more = list(terms.opaques_in(tuple(formulas)))
    return tuple(dict.fromkeys((*dims, *more))) if more else tuple(dims)


def element_event(
    terms: Terms,
    path: Path,
    access: ir.Access,
    is_write: bool,
    frame: Frame,
    order: tuple[Path, int] | None = None,
    combines: ir.AccumulateOp | None = None,
) -> Event:
    """An access of one element, or of the part of an array at the first few subscripts."""
    frame, subscripts = place_of_access(terms, path, access, frame)
    own = (path, int(is_write)) if path else (END, 0)
    return Event(path, access, is_write, order or own, frame, subscripts, combines=combines)


def place_of_access(
    terms: Terms, path: Path, access: ir.Access, frame: Frame
) -> tuple[Frame, tuple[ir.Expr, ...]]:  # fmt: skip
    """What is known inside of `access`, and its subscripts: one for all statements in `frame`, unless something in
    there is known by the statement."""
    if (frame, access) in terms.places:
        return terms.places[frame, access]
    level = depth(frame)
    rest, around = free_axes(terms, path, access, frame)
    subscripts = tuple(terms.integer(e, path, level) for e in access.subscripts)
    are_opaque, extents = [*map(has_opaque, subscripts)], known_extents(terms, access.array, len(subscripts))
    inside: list[ir.Expr] = []
    for term, extent, is_opaque in zip(subscripts, extents, are_opaque, strict=True):
        if is_opaque or terms.may_be_negative(term):
            inside.append(ir.Apply(Op.GE, (term, ir.Const(0, INT))))
        if extent is not None and constant_terms(term) is None:
            inside.append(ir.Apply(Op.LT, (term, extent)))
    found = extend(terms, around, tuple(inside)), (*subscripts, *rest)
    if not rest and not any(are_opaque):
        terms.places[frame, access] = found
    return found


def known_extents(terms: Terms, array: str, rank: int) -> tuple[ir.Expr | None, ...]:
    """Extents of `array` where they are expressions of parameters the LoopSet mentions."""
    key = (array, rank, len(terms.parameters))  # of which there may be more later
    if key not in terms.extents:
        terms.extents[key] = find_extents(terms, array, rank)
    return terms.extents[key]


def find_extents(terms: Terms, array: str, rank: int) -> tuple[ir.Expr | None, ...]:
    decl = terms.ls.array(array)
    extents = decl.extents or tuple(ir.Dim(array, k) for k in range(rank))
    out: list[ir.Expr | None] = []
    for extent in extents[:rank]:
        if isinstance(extent, ir.Dim) and decl.extents is None:
            out.append(extent if extent in terms.parameters else None)
        elif any(isinstance(e, ir.Param) and e.name not in terms.types.scalars for e in subexprs(extent)):
            # A tape as long as the count of a data-dependent loop, which only whoever allocates it knows.
            out.append(None)
        else:
            term = terms.integer(extent, (), 0)
            out.append(None if has_opaque(term) else term)
    return tuple(out)


def whole_event(terms: Terms, path: Path, array: str, is_write: bool, frame: Frame) -> Event:
    subscripts, inner = free_axes(terms, path, ir.Access(array), frame)
    order = (path, 1) if path else (END, 1)
    return Event(path, ir.Access(array, subscripts), is_write, order, inner, subscripts, True, not path)


def free_axes(terms: Terms, path: Path, access: ir.Access, frame: Frame) -> tuple[tuple[ir.Expr, ...], Frame]:
    """Every subscript of the axes that `access` has none for: dimensions, and the frame with these."""
    kind = terms.ls.array(access.array).type
    rank, first = 0 if kind is None else kind.rank, len(access.subscripts)
    if first >= rank:
        return (), frame
    keys = ((path, access.array, k) for k in range(first, rank))
    axes = tuple(Dimension("element", key, depth(frame), ir.Index(f"element {key[-1]}")) for key in keys)
    formulas: list[ir.Expr] = []
    for axis, extent in zip(axes, known_extents(terms, access.array, rank)[first:], strict=True):
        formulas.append(ir.Apply(Op.GE, (axis.leaf, ir.Const(0, INT))))
        formulas += [] if extent is None else [ir.Apply(Op.LT, (axis.leaf, extent))]
    return tuple(a.leaf for a in axes), extend(terms, frame, tuple(formulas), axes)
