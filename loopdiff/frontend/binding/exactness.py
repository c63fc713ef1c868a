"""Whether what is computed of integers in floats is what Python computes of them without rounding, where that shows: in
remainders, whole quotients, integers that are cut off, comparisons, and differences of what may be beyond 2**53.

Lists that hold floats hold integers as floats, too. So do names, as `best` in `best = -np.inf` and `best = k[i]`, and
what `max(k[i], 0.5)` or `k[i] if c else 0.5` gives is a float, too: where rounding may show, all that is no float for
certain is checked (LD335) when it becomes one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from loopdiff.errors import Span
from loopdiff.frontend.binding.large_integers import Check, checks_of_parts, negated, required, stored_value, unless
from loopdiff.frontend.binding.sizes import CHOICES, QUOTIENTS, SUMS, Size, Sizes, is_inexact
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import all_of, compare, integer
from loopdiff.ir.ops import BITWISE, COMPARISONS, Op
from loopdiff.ir.types import ScalarType
from loopdiff.ir.walk import all_statements, map_body, operands, stmt_exprs, subexprs, without_children

EXACT, NARROW_EXACT = 53, 24  # bits of integers that floats of double and of single precision hold
USUAL, LONGEST = 20, 28  # bits of numbers that are given or count, and of how often loops run
ANY = 63  # bits of numbers that are given, however large
ROUNDS = 20
MOST_POWER = 64
MESSAGE = "an integer is too large for the float that it becomes here: write `float(...)` of it"


def with_integers_that_floats_hold(ls: ir.LoopSet, types: Mapping[str, ScalarType]) -> ir.LoopSet:
    """Surface `ls` whose names have `types`, with checks of the integers that become floats because others do, if it
    shows that these are rounded."""
    sizes = Sizes(ls, displays(ls), types)
    sizes.find()
    indices = indices_of_elements(ls)
    if next(Exactness(sizes, math.inf, ANY, True, indices).inexact(), None) is None:
        return ls
    checks = Checks(Exactness(sizes, EXACT, ANY, True, indices))
    body = map_body(ls.body, lambda s: (*checks.ahead_of(s), s))
    results = (r.value for r in ls.results if isinstance(r, ir.ScalarResult))
    last = (required(*check) for value in results for check in checks.inside(value, value.loc))
    return replace(ls, body=(*body, *last))


def indices_of_elements(ls: ir.LoopSet) -> frozenset[str]:
    """Indices of loops that no loop of the program is: these give their variables a value. What NumPy chooses there,
    element by element, it has converted before."""
    loops = [s for s in all_statements(ls.body) if isinstance(s, ir.Loop)]
    stores = [s.value for s in all_statements(ls.body) if isinstance(s, ir.Assign)]
    return frozenset(loop.index for loop in loops) - {value.name for value in stores if isinstance(value, ir.Index)}


def displays(ls: ir.LoopSet) -> frozenset[str]:
    """Arrays that hold what is written as the items of a list, as in `sorted([k, x[0]])`, and what these are copied to:
    a list of Python would keep the integers that it is made of."""
    found = {a.name for a in ls.arrays if a.role == "local" and a.extents != () and a.type is None}
    for stmt in all_statements(ls.body):
        match stmt:
            case ir.Assign(target=ir.Access(array=array, subscripts=subscripts), value=value) if not (
                isinstance(value, ir.Load) or any(isinstance(s, ir.Const) for s in subscripts)
            ):
                found.discard(array)
            case ir.Accumulate(target=target):
                found.discard(target.array)
            case _:
                pass
    return frozenset(found)


@dataclass(slots=True)
class Exactness:
    """How many bits the integers have that numbers may be, where those that a call gives have at most `given`, and
    those that are put into lists of floats `limit`; `is_of_names`: what becomes a float elsewhere, instead, but by
    the indices `of_elements` of whole arrays."""

    sizes: Sizes
    limit: float
    given: int = USUAL
    is_of_names: bool = False
    of_elements: frozenset[str] = frozenset()
    known: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        before: Mapping[str, float] = {}
        for _ in range(ROUNDS):
            before = dict(self.known)
            self.known = {name: self.held(name) for name in self.sizes.stores}
            if self.known == before:
                return
        self.known = {n: bits if before.get(n) == bits else math.inf for n, bits in self.known.items()}

    def held(self, name: str) -> float:
        """The bits of what is stored in `name`; integers that are added to it again and again may be as often as loops
        run: with a float it is no integer any more. What is checked when it is put into a list has as many bits as the
        check lets through."""
        sizes, stores = self.sizes, self.sizes.stores[name]
        is_checked = not self.is_of_names and name in sizes.lists and sizes.is_mixed(name)
        if is_checked and any(sizes.of(value) is Size.LARGE for value, _ in stores):
            stores = [(value, is_added) for value, is_added in stores if sizes.of(value) is not Size.LARGE]
            return max((self.limit, *(self.of(value) for value, _ in stores)))
        bits = ((self.of(value), is_added) for value, is_added in stores)
        most = max((own + (LONGEST if is_added and own else 0) for own, is_added in bits), default=0)
        return min(most, self.limit) if self.is_of_names and sizes.is_mixed(name) else most

    def inexact(self) -> Iterator[ir.Expr]:
        """What shows that a number before it was rounded which is an integer in Python."""
        ls = self.sizes.ls
        exprs = [e for stmt in all_statements(ls.body) for e in stmt_exprs(without_children(stmt))]
        exprs += [r.value for r in ls.results if isinstance(r, ir.ScalarResult)]
        yield from (e for expr in exprs for e in subexprs(expr) if self.shows_rounding(e))

    def shows_rounding(self, expr: ir.Expr) -> bool:
        match expr:
            case ir.Cast(dtype=dtype, value=value) if not is_inexact(dtype):
                return self.is_rounded(value)
            case ir.Apply(op=op, args=args) if op in QUOTIENTS or op in BITWISE:
                return any(map(self.is_rounded, args))
            case ir.Apply(op=op, args=args) if op in SUMS:
                return any(map(self.is_rounded, args)) and all(EXACT < self.of(a) < math.inf for a in args)
            case ir.Apply(op=op, args=(left, right)) if op in COMPARISONS:
                return any(self.is_rounded(a) and not self.is_small(b) for a, b in ((left, right), (right, left)))
            case _:
                return False

    def is_rounded(self, expr: ir.Expr) -> bool:
        """Whether `expr` is a float here, and may be an integer in Python that no float holds."""
        return self.of(expr) > self.exact(expr) and self.is_float(expr)

    def exact(self, expr: ir.Expr) -> int:
        """How many bits of an integer the float `expr` holds."""
        names = (self.name_of(e) for e in subexprs(expr)) if self.is_of_names else ()
        return NARROW_EXACT if any(self.sizes.is_narrow(n) for n in names if n is not None) else EXACT

    def is_small(self, expr: ir.Expr) -> bool:
        """Whether `expr` is certain to be so small that a float is as far on the same side of it as what was rounded to
        that: integers of a call, and other floats, may be anything."""
        match expr:
            case ir.Const(value=value):
                return abs(value) <= 1 << EXACT or value in (math.inf, -math.inf)
            case _:
                return isinstance(expr, ir.Index | ir.Dim | ir.SizeOf | ir.RankOf)

    def is_float(self, expr: ir.Expr) -> bool:
        names = (self.name_of(e) for e in subexprs(expr))
        return self.has_literal(expr) or any(self.sizes.is_of_floats(n) for n in names if n is not None)

    def has_literal(self, expr: ir.Expr) -> bool:
        return self.is_of_names and any(isinstance(e, ir.Const) and isinstance(e.value, float) for e in subexprs(expr))

    def is_choice_with_floats(self, expr: ir.Expr) -> bool:
        """Whether `expr` is an integer in Python, or a float, and a float here."""
        is_choice = isinstance(expr, ir.Select) or (isinstance(expr, ir.Apply) and expr.op in CHOICES)
        return is_choice and self.sizes.of(expr) is not Size.FLOAT and self.is_float(expr)

    def is_of_elements(self, expr: ir.Expr) -> bool:
        return any(isinstance(e, ir.Index) and e.name in self.of_elements for e in subexprs(expr))

    def is_converted(self, expr: ir.Expr) -> bool:
        """Whether `expr` is a float for certain, since NumPy chose an element of it."""
        if self.is_choice_with_floats(expr):
            return self.is_of_elements(expr)
        return isinstance(expr, ir.Apply) and expr.op not in COMPARISONS and any(map(self.is_converted, expr.args))

    def name_of(self, expr: ir.Expr) -> str | None:
        match expr:
            case ir.Var(name=name) | ir.Load(access=ir.Access(array=name)):
                return name
            case _:
                return None

    def of(self, expr: ir.Expr) -> float:
        """The bits of the integer that `expr` may be; 0 for what is none."""
        if self.sizes.of(expr) is Size.FLOAT or (self.of_elements and self.is_converted(expr)):
            return 0
        match expr:
            case ir.Const(value=value):
                return int(value).bit_length()
            case ir.Var(name=name) | ir.Load(access=ir.Access(array=name)) if name in self.sizes.stores:
                return self.known.get(name, 0)
            case ir.Select() | ir.Apply(op=Op.MIN | Op.MAX):
                most = max(map(self.of, parts_of_choice(expr)))
                return min(most, self.limit) if self.is_of_names and self.is_choice_with_floats(expr) else most
            case ir.Cast(value=value):
                return self.of(value) or USUAL
            case ir.Apply(op=op, args=args):
                return self.of_operation(op, args)
            case ir.Param() | ir.Var() | ir.Load():
                return self.given
            case _:
                return USUAL

    def of_operation(self, op: Op, args: tuple[ir.Expr, ...]) -> float:
        bits = [self.of(a) for a in args]
        match op, args:
            case Op.MUL, _ if min(bits) <= 1:
                return max(bits)
            case Op.MUL, _:
                return sum(bits)
            case Op.POW, (_, ir.Const(value=int(exponent))) if 0 <= exponent <= MOST_POWER:
                return bits[0] * exponent
            case Op.POW, _:
                return math.inf
            case Op.MOD, (_, divisor):
                return self.of(divisor) or bits[0]
            case Op.FLOORDIV, _:
                return bits[0]
            case _:
                return max(bits, default=0) + (op in SUMS)


def parts_of_choice(expr: ir.Expr) -> tuple[ir.Expr, ...]:
    """What a conditional expression, or the larger or smaller of several numbers, may be."""
    match expr:
        case ir.Select(then=then, orelse=orelse):
            return then, orelse
        case _:
            return operands(expr)


@immutable
class Checks:
    """What is checked, by what is `known` of how many bits integers have: what names of floats get, what meets floats,
    and what is computed with these where rounding would show."""

    known: Exactness

    def ahead_of(self, stmt: ir.Stmt) -> Iterator[ir.Stmt]:
        for expr in stmt_exprs(without_children(stmt)):
            yield from (required(*check) for check in self.inside(expr, stmt.loc))
        if isinstance(stmt, ir.Assign | ir.Accumulate) and self.is_too_large(stmt):
            yield required(self.fits(stored_value(stmt)), stmt.loc, MESSAGE)

    def is_too_large(self, stmt: ir.Assign | ir.Accumulate) -> bool:
        """Whether a name of floats may get an integer that they do not hold."""
        known, name = self.known, stmt.target.array
        if name not in known.sizes.stores or not known.sizes.is_mixed(name):
            return False
        is_added = isinstance(stmt, ir.Accumulate) and stmt.op == "add"
        own = known.of(stmt.value)
        return own + (LONGEST if is_added and own else 0) > (NARROW_EXACT if known.sizes.is_narrow(name) else EXACT)

    def inside(self, expr: ir.Expr, at: Span) -> Iterator[Check]:
        """What must hold ahead of `expr`, what is inside of it first."""
        yield from checks_of_parts(expr, lambda part: self.inside(part, at))
        known, place = self.known, expr.loc if expr.loc.line else at
        match expr:
            case _ if known.is_of_elements(expr) and known.is_choice_with_floats(expr):
                pass
            case ir.Select(cond=cond, then=then, orelse=orelse) if known.is_choice_with_floats(expr):
                yield from unless(negated(cond), self.large((then,), place))
                yield from unless(cond, self.large((orelse,), place))
            case ir.Apply(args=args) if known.is_choice_with_floats(expr):
                yield from self.large(args, place)
            case _ if known.shows_rounding(expr):
                yield from self.large(filter(known.is_rounded, operands(expr)), place)
            case _:
                pass

    def large(self, parts: Iterable[ir.Expr], at: Span) -> Iterator[Check]:
        return ((self.fits(part), at, MESSAGE) for part in parts if self.known.of(part) > self.known.exact(part))

    def fits(self, expr: ir.Expr) -> ir.Expr:
        most = 1 << self.known.exact(expr)
        return all_of((compare(Op.LT, integer(-most), expr), compare(Op.LT, expr, integer(most))))
