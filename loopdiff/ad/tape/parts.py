"""Parts of arrays: the elements that an iteration of the loops around a copy reads, of all that its tape has room for.

for k in range(n):                     for k in range(n):
    for i in range(k): s += y[i]           for d in range(k): tape[k, d] = y[d]       not range(n)
    ...                                    for i in range(k): s += y[i]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from loopdiff.ad.facts import Facts
from loopdiff.analysis.strides import coefficient
from loopdiff.ir import nodes as ir
from loopdiff.ir.affine import folded, linear
from loopdiff.ir.build import add, integer, sub
from loopdiff.ir.ops import Op
from loopdiff.ir.types import INT
from loopdiff.ir.walk import Path, indices_in, subexprs, substitute

Part = tuple[ir.Expr, ir.Expr]  # the first element along an axis, and the one after the last
Parts = tuple[Part | None, ...]  # None: as many elements as the tape has room for along the axis


def parts_read(facts: Facts, path: Path, subscripts: Sequence[ir.Expr], depth: int) -> Parts:
    """Along each axis, the part that the statement at `path` reads at `subscripts` in one iteration of the loops
    outside of the statement so deep around it."""
    loops = [loop for place, loop in facts.loops_around(path) if len(place) >= depth]
    return tuple(part_read(subscript, loops) for subscript in subscripts)


def part_read(subscript: ir.Expr, inner: Sequence[ir.Loop]) -> Part | None:
    """What `subscript` runs through in the `inner` loops, by what is the same in all of them; None if that is not
    known."""
    least, last = subscript, subscript
    for loop in reversed(inner):
        first, final = ends_of(loop)
        low = at_ends(least, loop.index, first, final)
        high = at_ends(last, loop.index, final, first)
        if low is None or high is None:
            return None
        least, last = low, high
    ends = folded(least, INT), folded(add(last, integer(1)), INT)
    is_outside = not indices_in(*ends) & {loop.index for loop in inner}
    return ends if is_outside and all(map(is_known_around, ends)) else None


def is_known_around(expr: ir.Expr) -> bool:
    """Whether `expr` is arithmetic of indices, extents and integer arguments that cannot fail."""
    return all(
        isinstance(e, ir.Index | ir.Dim | ir.SizeOf | ir.Param | ir.Const)
        or (isinstance(e, ir.Apply) and e.op in (Op.ADD, Op.SUB, Op.MUL, Op.NEG, Op.MIN, Op.MAX))
        for e in subexprs(expr)
    )


def ends_of(loop: ir.Loop) -> Part:
    """No index of `loop` is less than the first of these, or greater than the second."""
    if isinstance(loop.step, ir.Const) and loop.step.value > 0:
        return loop.lower, sub(loop.upper, integer(1))
    if isinstance(loop.step, ir.Const):
        return add(loop.upper, integer(1)), loop.lower
    lowest = ir.Apply(Op.MIN, (loop.lower, add(loop.upper, integer(1))))
    return lowest, ir.Apply(Op.MAX, (loop.lower, sub(loop.upper, integer(1))))


def at_ends(expr: ir.Expr, index: str, falling_to: ir.Expr, rising_to: ir.Expr) -> ir.Expr | None:
    """`expr` where `index` makes it least, if the ends are given in this order; None if it is not affine in that."""
    sign = coefficient(expr, index)
    if not sign:
        return expr if sign == 0 else None
    return substitute(expr, {ir.Index(index): falling_to if sign > 0 else rising_to})


def joined(several: Iterable[Parts]) -> Parts:
    """The parts that have all elements of `several`; None where it cannot be told which of their ends is the outer
    one."""
    return tuple(joined_part(along) for along in zip(*several, strict=True))


def joined_part(along: Sequence[Part | None]) -> Part | None:
    found = [part for part in along if part is not None]
    if len(found) < len(along):
        return None
    outer = (part for part in found if all(is_within(other, part) for other in found))
    return next(outer, None)


def is_within(inner: Part | None, outer: Part | None) -> bool:
    """Whether the part `outer` surely has all elements of `inner`."""
    if outer is None or inner is None:
        return outer is None
    return is_no_greater(outer[0], inner[0]) and is_no_greater(inner[1], outer[1])


def is_no_greater(one: ir.Expr, other: ir.Expr) -> bool:
    terms, more = linear(sub(other, one))
    return not terms and more >= 0


def clamped(facts: Facts, place: Path, part: Part, size: ir.Expr) -> Part:
    """`part`, or what of it is among the first `size` elements where it may not be in all iterations that come to the
    statement at `place`. That what reads it runs in those is not known."""
    first, end = part
    bounds = size.args if isinstance(size, ir.Apply) and size.op is Op.MIN else (size,)
    least, greatest = first, end
    for around, loop in reversed(facts.loops_around(place)):
        hull = facts.index_hull(around)
        if hull is not None:
            least = at_ends(least, loop.index, *hull) or least
            greatest = at_ends(greatest, loop.index, *hull[::-1]) or greatest
    is_natural = is_no_greater(integer(0), least)
    return (
        first if is_natural else ir.Apply(Op.MAX, (integer(0), first)),
        end if all(is_no_greater(greatest, bound) for bound in bounds) else ir.Apply(Op.MIN, (end, size)),
    )
