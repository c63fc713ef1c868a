"""Estimates multiplied out: a program of a hundred statements says how long it takes by a few terms of its extents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import field

from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.affine import linear
from loopdiff.ir.ops import Op
from loopdiff.ir.types import F64
from loopdiff.ir.walk import subexprs

Monomial = tuple[ir.Expr, ...]
Polynomial = Mapping[Monomial, float]
DIGITS = 3  # of a coefficient: what is estimated is right within a factor of two


def multiplied_out(work: ir.Expr) -> ir.Expr:
    """`work`, a sum of products of floats, with one coefficient for each product of extents, in Horner's form; as it is
    where that is no shorter."""
    found = in_horner_form({monomial: x for monomial, x in Expansion().of(work).items() if x})
    return found if size(found) < size(work) else work


def size(expr: ir.Expr) -> int:
    return sum(1 for _ in subexprs(expr))


@immutable
class Expansion:
    """What is multiplied, in the order in which it was met, which is that of monomials."""

    places: dict[ir.Expr, int] = field(default_factory=dict)

    def of(self, expr: ir.Expr) -> Polynomial:
        match expr:
            case ir.Const(value=value):
                return {(): float(value)}
            case ir.Apply(op=Op.ADD, args=(a, b)):
                return self.total(self.of(a), self.of(b))
            case ir.Apply(op=Op.MUL, args=(a, b)):
                return self.product(self.of(a), self.of(b))
            case ir.Cast(dtype=dtype, value=span) if dtype is F64:
                terms, constant = linear(span)
                return {**{self.alone(ir.Cast(F64, t)): float(n) for t, n in terms.items()}, (): float(constant)}
            case _:
                return {self.alone(expr): 1.0}

    def alone(self, atom: ir.Expr) -> Monomial:
        self.places.setdefault(atom, len(self.places))
        return (atom,)

    def total(self, a: Polynomial, b: Polynomial) -> Polynomial:
        return {**a, **{monomial: a.get(monomial, 0.0) + x for monomial, x in b.items()}}

    def product(self, a: Polynomial, b: Polynomial) -> Polynomial:
        found: dict[Monomial, float] = {}
        for mine, x in a.items():
            for other, y in b.items():
                monomial = tuple(sorted((*mine, *other), key=self.places.__getitem__))
                found[monomial] = found.get(monomial, 0.0) + x * y
        return found


def in_horner_form(found: Polynomial) -> ir.Expr:
    """The polynomial as an expression: what the most of its terms have in common is multiplied once."""
    shared = Counter(atom for monomial in found for atom in dict.fromkeys(monomial))
    if not shared:
        return ir.Const(float(f"{found.get((), 0.0):.{DIGITS}g}"), F64)
    atom = shared.most_common(1)[0][0]
    inside = {without(monomial, atom): x for monomial, x in found.items() if atom in monomial}
    rest = {monomial: x for monomial, x in found.items() if atom not in monomial}
    product = ir.Apply(Op.MUL, (atom, in_horner_form(inside)))
    return ir.Apply(Op.ADD, (in_horner_form(rest), product)) if rest else product


def without(monomial: Monomial, atom: ir.Expr) -> Monomial:
    place = monomial.index(atom)
    return monomial[:place] + monomial[place + 1 :]
