"""Whether what is computed of integers in lists of floats is what Python computes of them without rounding, where that
shows: in remainders, whole quotients, integers that are cut off, comparisons, and differences of what may be beyond
2**53."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from loopdiff.errors import raise_if
from loopdiff.errors.codes import reject
from loopdiff.frontend.parsing.iterations import MadeList
from loopdiff.frontend.parsing.lists.integers import QUOTIENTS, SUMS, Size, Sizes, is_inexact
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import BITWISE, COMPARISONS, Op
from loopdiff.ir.types import ArrayType, ScalarType
from loopdiff.ir.walk import all_statements, map_body, stmt_exprs, subexprs, without_children

HINT = "write `float(...)` of the integers, or `0.0` for `0`"
APART = "keep the integers in a list of their own"
ROUNDED = "integers of a list that also holds floats may be too large here for what is computed to be exact"
EXACT = 53  # bits of integers that floats hold
LIMITS = (26, 20, 17, 13, 10, 8, 6, 4)  # bits of the integers that a call gives, the first that are few enough
USUAL, LONGEST = 20, 28  # bits of numbers that are given or count, and of how often loops run
ROUNDS = 20
MOST_POWER = 64


def with_lists_of_floats(ls: ir.LoopSet, bound: ir.LoopSet, lists: Mapping[str, MadeList]) -> ir.LoopSet:
    """`ls`, a surface LoopSet, with checks of the integers that are put into those of the `lists` that hold floats:
    `bound` is the LoopSet with its types. Raises UnsupportedLoopError (LD134) if some that are computed may be too
    large for a float."""
    sizes = Sizes(ls, frozenset(lists), element_types(bound))
    sizes.find()
    large = [a for a in sorted(lists) if sizes.is_mixed(a) and sizes.is_too_large(a)]
    bits, rounded = most_bits(sizes) if any(map(sizes.is_mixed, lists)) else (LIMITS[0], None)
    found = {a: list(sizes.checks(a, bits)) for a in large}
    wrong = (a for a in large if sizes.is_narrow(a) or None in found[a])
    displays = ((lists[a].owner.source, lists[a].display, APART if sizes.is_narrow(a) else HINT) for a in wrong)
    message = "this list holds floats, and integers that may be too large for one"
    raise_if([reject("LD134", message, source.span(display), hint) for source, display, hint in displays])
    if rounded is not None:
        raise_if([reject("LD134", ROUNDED, rounded.loc, APART)])
    checks = {id(stmt): check for each in found.values() for stmt, check in filter(None, each)}
    body = map_body(ls.body, lambda s: (checks[id(s)], s) if id(s) in checks else (s,))
    return replace(ls, body=body) if checks else ls


def element_types(ls: ir.LoopSet) -> dict[str, ScalarType | None]:
    types = {a.name: a.type.element if isinstance(a.type, ArrayType) else None for a in ls.arrays}
    return types | {s.name: s.type for s in ls.scalars}


def most_bits(sizes: Sizes) -> tuple[int, ir.Expr | None]:
    """How many bits integers that a call gives may have in lists of floats; and what is not exact however few they
    have, if there is something."""
    found: ir.Expr | None = None
    for limit in LIMITS:
        found = next(Exactness(sizes, limit).inexact(), None)
        if found is None:
            return limit, None
    return LIMITS[0], found


@dataclass(slots=True)
class Exactness:
    """How many bits the integers have that numbers may be, where those that a call gives have at most `limit`."""

    sizes: Sizes
    limit: int
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
        is_checked = name in sizes.lists and sizes.is_mixed(name)
        if is_checked and any(sizes.of(value) is Size.LARGE for value, _ in stores):
            stores = [(value, is_added) for value, is_added in stores if sizes.of(value) is not Size.LARGE]
            return max((self.limit, *(self.of(value) for value, _ in stores)))
        bits = ((self.of(value), is_added) for value, is_added in stores)
        return max((own + (LONGEST if is_added and own else 0) for own, is_added in bits), default=0)

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
        return self.of(expr) > EXACT and self.is_float(expr)

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
        return any(self.sizes.is_mixed(n) or self.sizes.is_of_floats(n) for n in names if n is not None)

    def name_of(self, expr: ir.Expr) -> str | None:
        match expr:
            case ir.Var(name=name) | ir.Load(access=ir.Access(array=name)):
                return name
            case _:
                return None

    def of(self, expr: ir.Expr) -> float:
        """The bits of the integer that `expr` may be; 0 for what is none."""
        if self.sizes.of(expr) is Size.FLOAT:
            return 0
        match expr:
            case ir.Const(value=value):
                return int(value).bit_length()
            case ir.Var(name=name) | ir.Load(access=ir.Access(array=name)) if name in self.sizes.stores:
                return self.known.get(name, 0)
            case ir.Select(then=then, orelse=orelse):
                return max(self.of(then), self.of(orelse))
            case ir.Cast(value=value):
                return self.of(value) or USUAL
            case ir.Apply(op=op, args=args):
                return self.of_operation(op, args)
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
