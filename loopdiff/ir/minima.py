"""Differences of integers in a form in which what is equal looks alike, minima, maxima and quotients included.

A maximum is written as a sum less a minimum, and a minimum as the smaller of zero and a difference. So
`min(n, 1) + max(n - 1, 0)`, which `np.concatenate((x[1:], x[:1]))` has elements, is seen to be `n`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache, reduce
from types import MappingProxyType

from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.affine import add_to, added, factors_of, joined_powers, linear
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import subexprs

SMALL = 64  # elements along an axis of a large array, at least
PRODUCTS = (Op.MUL, Op.POW, Op.SHL)
MOST_SPLITS = 4  # of minima into the two numbers that they may be


@immutable
class SmallerThanZero:
    """The sum of `terms` and `constant`, or zero if that is less. The first term, by its text, is added."""

    terms: frozenset[tuple[Atom, int]]
    constant: int


@immutable
class Quotient:
    """The sum of `terms` and `constant` by `divisor`, rounded down."""

    terms: frozenset[tuple[Atom, int]]
    constant: int
    divisor: int


Atom = ir.Expr | SmallerThanZero | Quotient
AtomSum = tuple[dict[Atom, int], int]
Values = Mapping[ir.Expr, AtomSum]


def difference(a: ir.Expr, b: ir.Expr, values: Values = MappingProxyType({})) -> AtomSum:
    """`a - b` as a sum of multiples of atoms and a constant, where extents have the `values`, if these are given."""
    (terms, constant), (others, less) = linear(a), linear(b)
    add_to(terms, others, -1)
    return in_atoms(terms, constant - less, values)


def could_be_equal_if_large(a: ir.Expr, b: ir.Expr) -> bool:
    """Whether `b`, which depends on the extents in `a`, may be equal to `a` where these are large: each is taken to be
    at least `SMALL` and all other extents in `b` together. What is left of the difference then is zero, or depends on
    the others alone and may have either sign, as `3 - m` does."""
    mine = extents_in(a)
    theirs = [e for e in extents_in(b) if e not in mine]
    above: AtomSum = ({e: 1 for e in theirs}, SMALL)
    terms, constant = difference(a, b, {e: plus_multiple(above, ({e: 1}, 0), 1) for e in mine})
    if not terms:
        return constant == 0
    if not mine or not set(mine) <= set(extents_in(b)) or any(depends_on(atom, frozenset(mine)) for atom in terms):
        return False
    return not is_sum_nonnegative(terms, constant) and not is_sum_nonnegative(*negated_sum((terms, constant)))


def extents_in(expr: ir.Expr) -> list[ir.Expr]:
    return list(dict.fromkeys(e for e in subexprs(expr) if isinstance(e, ir.Dim | ir.SizeOf)))


def depends_on(atom: Atom, extents: frozenset[ir.Expr]) -> bool:
    if isinstance(atom, SmallerThanZero | Quotient):
        return any(depends_on(a, extents) for a, _ in atom.terms)
    return any(e in extents for e in subexprs(atom))


def in_atoms(terms: Mapping[ir.Expr, int], constant: int, values: Values) -> AtomSum:
    found: dict[Atom, int] = {}
    for term, count in terms.items():
        joined = {term: count}
        if isinstance(term, ir.Apply) and term.op in PRODUCTS:
            joined, more = linear(joined_powers(ir.Apply(Op.MUL, (ir.Const(count), term))))
            constant += more
        for part, times in joined.items():
            atoms, more = atoms_of(part, values)
            constant += times * more
            add_to(found, atoms, times)
    return found, constant


def plus_multiple(left: AtomSum, right: AtomSum, count: int) -> AtomSum:
    return added(left[0], right[0], count), left[1] + count * right[1]


def negated_sum(value: AtomSum) -> AtomSum:
    return plus_multiple(({}, 0), value, -1)


def atoms_of(term: ir.Expr, values: Values) -> AtomSum:
    match term:
        case ir.Apply(op=Op.MIN | Op.MAX as op, args=(a, b)):
            left, right = (in_atoms(*linear(e), values) for e in (a, b))
            smaller = plus_multiple(left, smaller_than_zero(plus_multiple(right, left, -1)), 1)
            return smaller if op is Op.MIN else plus_multiple(plus_multiple(left, right, 1), smaller, -1)
        case ir.Apply(op=Op.FLOORDIV, args=(a, ir.Const(value=int(divisor)))) if divisor > 0:
            return quotient(in_atoms(*linear(a), values), int(divisor))
        case ir.Apply(op=Op.MUL):
            found = reduce(lambda a, b: ir.Apply(Op.MUL, (a, b)), sorted(factors_of(term), key=repr))
            return values.get(found, ({found: 1}, 0))
        case _:
            return values.get(term, ({term: 1}, 0))


def smaller_than_zero(value: AtomSum) -> AtomSum:
    """`min(value, 0)`."""
    opposite = negated_sum(value)
    if is_sum_nonnegative(*value):
        return {}, 0
    if is_sum_nonnegative(*opposite):
        return value
    first = next(iter(value[0])) if len(value[0]) == 1 else min(value[0], key=text_of)
    if value[0][first] > 0:
        return {SmallerThanZero(frozenset(value[0].items()), value[1]): 1}, 0
    return plus_multiple(value, ({SmallerThanZero(frozenset(opposite[0].items()), opposite[1]): 1}, 0), 1)


@lru_cache(maxsize=4096)
def text_of(atom: Atom) -> str:
    return repr(atom)


def quotient(value: AtomSum, divisor: int) -> AtomSum:
    """`value // divisor`; whole multiples of `divisor` stand beside what is divided."""
    terms, constant = value
    whole: AtomSum = ({a: n // divisor for a, n in terms.items() if n % divisor == 0}, constant // divisor)
    rest = {a: n for a, n in terms.items() if n % divisor}
    if not rest:
        return whole
    return plus_multiple(whole, ({Quotient(frozenset(rest.items()), constant % divisor, divisor): 1}, 0), 1)


def is_sum_nonnegative(terms: Mapping[Atom, int], constant: int, splits: int = MOST_SPLITS) -> bool:
    """Whether the sum is certainly not negative; extents and sizes of arrays are not."""
    if constant >= 0 and all(is_multiple_nonnegative(atom, count, splits) for atom, count in terms.items()):
        return True
    if splits and any(is_nonnegative_by(atom, terms, constant, splits) for atom in terms):
        return True
    for atom, count in terms.items() if splits else ():
        if isinstance(atom, SmallerThanZero):
            rest = ({a: n for a, n in terms.items() if a != atom}, constant)
            alternatives = (rest, plus_multiple(rest, (dict(atom.terms), atom.constant), count))
            found = (is_sum_nonnegative(*s, splits - 1) for s in alternatives)
            return all(found) if count > 0 else any(found)
    return False


def is_nonnegative_by(atom: Atom, terms: Mapping[Atom, int], constant: int, splits: int) -> bool:
    """Whether the sum is not negative because a quotient that is taken from it is at most what it rounds down, so that
    `n - 3 * (n // 4)` is at least a quarter of `n`."""
    count = terms[atom]
    if not isinstance(atom, Quotient) or count > 0:
        return False
    rest: AtomSum = ({a: n * atom.divisor for a, n in terms.items() if a != atom}, constant * atom.divisor)
    return is_sum_nonnegative(*plus_multiple(rest, (dict(atom.terms), atom.constant), count), splits - 1)


def is_multiple_nonnegative(atom: Atom, count: int, splits: int) -> bool:
    match atom:
        case ir.Dim() | ir.SizeOf():
            return count > 0
        case SmallerThanZero():
            return count < 0
        case Quotient(terms=terms, constant=constant):
            return count > 0 and splits > 0 and is_sum_nonnegative(dict(terms), constant, splits - 1)
        case _:
            return False
