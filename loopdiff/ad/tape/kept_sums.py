"""Sums of local arrays that the reverse sweep asks for are kept instead of the arrays.

    for i: for j: p[i, j] = ...                           for i: for j: p[i, j] = ...
    for i: for j: q[i, j] = ...                           for i: for j: q[i, j] = ...
    for i: for j:                               becomes   for i: for j:
        y[i, j] = c[i, j] * (p[i + 1, j] - q[i, j])           tape[i, j] = p[i + 1, j] - q[i, j]
                                                              y[i, j] = c[i, j] * (p[i + 1, j] - q[i, j])

The adjoint of `c` then reads one array in place of two, and as nobody looks at `p` and `q` after these nests, a few
rows of them are enough where the nests run row by row together.
"""

from __future__ import annotations

from loopdiff.ad.facts import Facts
from loopdiff.ad.tape.sweeps import Built
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import PRODUCTS, SUMS, Op
from loopdiff.ir.walk import operands, read_arrays, written_arrays
from loopdiff.model import tuning

Names = frozenset[str]
NONE: Names = frozenset()


def arrays_to_sum(facts: Facts, plain: Built) -> Names:
    """Local arrays that some outermost loops fill and others use, and that the reverse sweep of `plain` reads."""
    outermost = [(read_arrays((s,)), written_arrays((s,))) for s in facts.ls.body]
    both = NONE.union(*(read & written for read, written in outermost))
    found = (local_ranks(facts).keys() & read_arrays(plain.sweeps.reverse.body)) - both
    return frozenset(found) if len(found) >= tuning.FREED_ARRAYS else NONE


def is_sum_of(expr: ir.Expr, arrays: Names) -> bool:
    """Whether `expr` is a sum of elements of several of `arrays`, and of nothing else."""
    found = summed(expr)
    return found is not None and found <= arrays and len(found) >= tuning.FREED_ARRAYS


def summed(expr: ir.Expr) -> Names | None:
    """The arrays whose elements, perhaps times constants, `expr` is a sum of; None if it is something else."""
    match expr:
        case ir.Load(access=access) if access.subscripts:
            return frozenset({access.array})
        case ir.Apply(op=op, args=(ir.Const(), a) | (a, ir.Const())) if op in PRODUCTS:
            return summed(a)
        case ir.Apply(op=op) if op in SUMS or op is Op.NEG:
            parts = [summed(e) for e in operands(expr)]
            known = [p for p in parts if p is not None]
            return NONE.union(*known) if len(known) == len(parts) else None
        case _:
            return None


def handed_on(facts: Facts, built: Built) -> float:
    """How much the reverse sweep gets, by number of axes: tapes, and local arrays where they are."""
    read = read_arrays(built.sweeps.reverse.body)
    left = [rank for name, rank in local_ranks(facts).items() if name in read]
    return built.tape.weight + sum(tuning.AXIS_LENGTH**rank for rank in left)


def local_ranks(facts: Facts) -> dict[str, int]:
    """The local arrays that have rows, with how many axes they have."""
    local = (a for a in facts.ls.arrays if a.role == "local")
    return {a.name: a.type.rank for a in local if a.type is not None and a.type.rank > 1}
