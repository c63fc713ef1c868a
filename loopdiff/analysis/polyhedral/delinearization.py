"""Subscripts of arrays that are laid out by hand: `A[i * n + j]` is row `i`, column `j`, where `0 <= j < n`.

A product of an index and a parameter is not affine, and says nothing to isl. Where the subscript is a number whose
digits in a mixed radix are affine, equal elements have equal digits. Reference: Maslov, "Delinearization: an efficient
way to break multiloop dependence equations" (PLDI 1992); the form with parameters: Grosser et al., "Optimistic
delinearization of parametrically sized arrays" (ICS 2015). Nothing is assumed here: that a digit is one has a proof.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from loopdiff.analysis.polyhedral.events import Event, depth
from loopdiff.analysis.polyhedral.terms import Terms, has_opaque
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import add, integer, mul
from loopdiff.ir.ops import Op
from loopdiff.ir.types import INT
from loopdiff.ir.typing import type_of

MOST = 16  # products of a subscript that is looked at


@immutable
class Product:
    """`factor` times all `atoms`."""

    factor: int
    atoms: tuple[ir.Expr, ...]

    @property
    def radixes(self) -> tuple[ir.Expr, ...]:
        """What it is a multiple of that never changes."""
        return tuple(a for a in self.atoms if isinstance(a, ir.Dim | ir.Param))

    def over(self, radix: ir.Expr) -> Product:
        place = self.atoms.index(radix)
        return Product(self.factor, self.atoms[:place] + self.atoms[place + 1 :])

    @property
    def expr(self) -> ir.Expr:
        return reduce(mul, self.atoms, integer(self.factor))


Products = tuple[Product, ...]


@immutable
class Digit:
    """Which digit of the subscript on an `axis`: the last but those of earlier `radixes`, or what is left of the number
    before all of them (`is_first`)."""

    axis: int
    radixes: tuple[ir.Expr, ...]
    is_first: bool


def digits(terms: Terms, event: Event, is_digit: Callable[[ir.Expr, ir.Expr], bool]) -> dict[Digit, ir.Expr]:
    """Digits of the subscripts of `event`, translated; `is_digit` says whether a number is not negative and less than a
    radix, for all instances."""
    found: dict[Digit, ir.Expr] = {}
    for axis, subscript in enumerate(event.access.subscripts):
        rest = products(subscript, terms)
        radixes: tuple[ir.Expr, ...] = ()
        while (split := last_digit(terms, event, rest, is_digit)) is not None:
            radix, digit, rest = split
            radixes += (radix,)
            found[Digit(axis, radixes, is_first=False)] = digit
        if radixes and not has_opaque(first := total(terms, event, rest)):
            found[Digit(axis, radixes, is_first=True)] = first
    return found


def last_digit(
    terms: Terms, event: Event, number: Products, is_digit: Callable[[ir.Expr, ir.Expr], bool]
) -> tuple[ir.Expr, ir.Expr, Products] | None:  # fmt: skip
    """A radix, the last digit of a number by it, translated, and the number without that."""
    for radix in dict.fromkeys(r for p in number if len(p.atoms) > 1 for r in p.radixes if r in terms.parameters):
        low = tuple(p for p in number if radix not in p.atoms)
        high = tuple(p.over(radix) for p in number if radix in p.atoms)
        for carry in (0, 1, -1):
            digit = total(terms, event, (*low, Product(carry, (radix,))) if carry else low)
            if not has_opaque(digit) and is_digit(digit, radix):
                return radix, digit, (*high, Product(-carry, ()))
    return None


def total(terms: Terms, event: Event, number: Products) -> ir.Expr:
    expr = reduce(add, (p.expr for p in number), integer(0))
    return terms.integer(expr, event.path, depth(event.frame))


def products(expr: ir.Expr, terms: Terms) -> Products:
    """An integer expression as a sum of products."""
    match expr:
        case ir.Const(value=value, dtype=dtype) if dtype == INT:
            return (Product(int(value), ()),)
        case ir.Var(name=name) if terms.is_pure(value := terms.lets[name][0].value):
            return products(value, terms)
        case ir.Cast(value=value, dtype=dtype) if dtype == INT and type_of(value, terms.types) == INT:
            return products(value, terms)
        case ir.Apply(op=Op.ADD, args=(a, b)):
            return products(a, terms) + products(b, terms)
        case ir.Apply(op=Op.SUB, args=(a, b)):
            return products(a, terms) + negative(products(b, terms))
        case ir.Apply(op=Op.NEG, args=(a,)):
            return negative(products(a, terms))
        case ir.Apply(op=Op.MUL, args=(a, b)):
            ones, others = products(a, terms), products(b, terms)
            if len(ones) * len(others) <= MOST:
                return tuple(Product(p.factor * q.factor, p.atoms + q.atoms) for p in ones for q in others)
        case _:
            pass
    return (Product(1, (expr,)),)


def negative(number: Products) -> Products:
    return tuple(Product(-p.factor, p.atoms) for p in number)
