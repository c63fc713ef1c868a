"""What the checks of a program say of sizes: which are equal, and which are not negative."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import reduce

from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.affine import exponents_in, factors_of, joined_powers, quotient_of_powers
from loopdiff.ir.build import integer, mul
from loopdiff.ir.ops import Op
from loopdiff.ir.types import F64, INT
from loopdiff.ir.walk import subexprs, substitute

ZERO, ONE = integer(0), integer(1)
KEPT = (Op.ADD, Op.MUL, Op.MIN, Op.FLOORDIV, Op.STRICT_ADD, Op.STRICT_MUL)  # of numbers that are not negative


@immutable
class KnownSizes:
    """What checks have said of sizes: which are `equal`, and which are `natural` numbers. `names` are extents and
    arguments that others stand for."""

    params: tuple[str, ...] = ()
    equal: tuple[tuple[ir.Expr, ir.Expr], ...] = ()
    natural: frozenset[ir.Expr] = frozenset()
    names: Mapping[ir.Expr, ir.Expr] = field(default_factory=dict)

    def after(self, stmt: ir.Stmt) -> KnownSizes:
        """With what is known behind a statement."""
        match stmt:
            case ir.Require(cond=cond):
                return self.told(cond)
            case ir.Let(name=name, value=value) if self.is_natural(value):
                return replace(self, natural=self.natural | {ir.Var(name)})
            case _:
                return self

    def told(self, cond: ir.Expr) -> KnownSizes:
        """With what follows from a check."""
        if any(isinstance(e, ir.Load) for e in subexprs(cond)):
            return self
        match cond:
            case ir.Apply(op=Op.AND, args=args):
                return reduce(KnownSizes.told, args, self)
            case ir.Apply(op=Op.EQ, args=args):
                a, b = map(self.named, args)
                if isinstance(a, ir.Dim | ir.Param) and isinstance(b, ir.Dim | ir.Param):
                    first, other = sorted((a, b), key=lambda size: precedence(size, self.params))
                    return self.renamed({other: first})
                powers = ((e, joined_powers(e, INT)) for e in (a, b) if isinstance(e, ir.Apply))
                return replace(self, equal=(*self.equal, (a, b), *powers))
            case ir.Apply(op=Op.GE, args=(a, b)) if b == ZERO:
                return replace(self, natural=self.natural | {self.named(a)})
            case _:
                return self

    def named(self, expr: ir.Expr) -> ir.Expr:
        return substitute(expr, dict(self.names)) if self.names else expr

    def within(self, loop: ir.Loop) -> KnownSizes:
        """With what the index of `loop` is known to be in its body."""
        is_up = isinstance(loop.step, ir.Const) and loop.step.value > 0 and self.is_natural(loop.lower)
        return replace(self, natural=self.natural | {ir.Index(loop.index)}) if is_up else self

    def renamed(self, names: Mapping[ir.Expr, ir.Expr]) -> KnownSizes:
        new = {**{a: names.get(b, b) for a, b in self.names.items()}, **names}
        known = replace(self, names=new)
        return replace(
            known,
            equal=tuple((known.named(a), known.named(b)) for a, b in self.equal),
            natural=frozenset(map(known.named, self.natural)),
        )

    def same_as(self, size: ir.Expr) -> Iterator[ir.Expr]:
        """`size`, and all that is known to be equal."""
        found, waiting = {size}, [size]
        while waiting:
            yield (one := waiting.pop())
            pairs = ((a, b) for pair in self.equal for a, b in (pair, pair[::-1]))
            more = dict.fromkeys(b for a, b in pairs if a == one and b not in found)
            found.update(more)
            waiting += more

    def over(self, size: ir.Expr, part: ir.Expr) -> ir.Expr | None:
        """`size` over `part`, where this goes into it because of what is multiplied in both."""
        left, factors = Counter(factors_of(size)), Counter(factors_of(part))
        if factors <= left:
            return reduce(mul, (left - factors).elements(), ONE)
        found = quotient_of_powers(size, part, INT)
        return found if found is not None and all(map(self.is_natural, exponents_in(found))) else None

    def is_natural(self, size: ir.Expr) -> bool:
        """Whether a number, if it does not wrap, is certainly not negative."""
        match size:
            case ir.Const(value=value):
                return value >= 0
            case ir.Dim() | ir.Apply(op=Op.ABS):
                return True
            case ir.Cast(value=value, dtype=dtype) if dtype is F64:
                return self.is_natural(value)
            case ir.Apply(op=op, args=args) if op in KEPT:
                return size in self.natural or all(map(self.is_natural, args))
            case ir.Apply(op=Op.POW, args=(base, _)):
                return size in self.natural or self.is_natural(base)
            case ir.Apply(op=Op.MAX, args=args):
                return any(map(self.is_natural, args))
            case _:
                return size in self.natural


def precedence(size: ir.Expr, params: tuple[str, ...]) -> tuple[bool, int, int]:
    """Which of equal sizes stands for the others: constants before extents of arrays before arguments, which may be
    negative; the first argument first."""
    match size:
        case ir.Const():
            return False, -1, 0
        case ir.Dim(array=array, axis=axis) if array in params:
            return False, params.index(array), axis
        case ir.Param(name=name):
            return True, params.index(name), 0
        case _:
            return True, len(params), 0
