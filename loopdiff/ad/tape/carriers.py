"""Copies that are made by loops which read the elements anyway, element by element.

for k in range(n):                                 for k in range(n):
    for d in range(k): tape[k, d] = y[d]               for i in range(k):
    for i in range(k): s += y[i]          becomes          tape[k, i] = y[i]
                                                           s += y[i]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from loopdiff.ad.facts import Facts
from loopdiff.ad.tape.parts import Part, Parts, is_within, part_read
from loopdiff.analysis.strides import coefficient
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import is_constant
from loopdiff.ir.ops import Op
from loopdiff.ir.walk import Path, all_statements, indices_in, operands, stmt_exprs

Read = tuple[Path, ir.Access]


def carrier_among(facts: Facts, path: Path, reads: Iterable[Read], parts: Parts, first: int) -> Read | None:
    """The one of `reads` that comes to all elements of `parts`, each once, whenever a copy would be made before the
    statement at `path`, which has the axes of the array from the `first` on; None if there is none."""
    return next((read for read in reads if carries(facts, path, *read, parts, first)), None)


def carries(facts: Facts, path: Path, at: Path, access: ir.Access, parts: Parts, first: int) -> bool:
    depth, own = len(path), access.subscripts[first:]
    if at[: depth - 1] != path[:-1] or at[depth - 1 : depth] < path[-1:]:
        return False
    loops = [loop for p, loop in facts.loops_around(at) if len(p) >= depth]
    if not own or len(loops) != len(own) or len(loops) != len(at) - depth:
        return False
    between = [facts.sites[*path[:-1], k].stmt for k in range(path[-1], at[depth - 1] + 1)]
    return (
        counts_apart(loops, own)
        and all(map(is_all, (part_read(s, loops) for s in own), parts))
        and any(is_evaluated(e, access) for e in stmt_exprs(facts.sites[at].stmt))
        and not any(isinstance(s, ir.Exit) for s in all_statements(tuple(between)))
    )


def counts_apart(loops: Sequence[ir.Loop], subscripts: Sequence[ir.Expr]) -> bool:
    """Whether each of the `loops` counts one by one, in one of the `subscripts`, and none changes how often another one
    runs."""
    indices = {loop.index for loop in loops}
    is_free = not any(indices_in(e) & indices for loop in loops for e in (loop.lower, loop.upper))
    counted = {loop.index for loop in loops if is_constant(loop.step, 1)}
    used = [(s, indices_in(s) & indices) for s in subscripts]
    are_single = all(len(inside) == 1 and coefficient(s, *inside) == 1 for s, inside in used)
    return is_free and are_single and frozenset[str]().union(*(inside for _, inside in used)) == counted == indices


def is_all(part: Part | None, wanted: Part | None) -> bool:
    """Whether `part` has the elements that are `wanted`, and no other."""
    return part is not None and wanted is not None and is_within(part, wanted) and is_within(wanted, part)


def is_evaluated(expr: ir.Expr, access: ir.Access) -> bool:
    """Whether `expr` reads `access` whatever the values of other parts are."""
    match expr:
        case ir.Load(access=found):
            return found == access or any(is_evaluated(s, access) for s in found.subscripts)
        case ir.Select(cond=cond):
            return is_evaluated(cond, access)
        case ir.Apply(op=Op.AND | Op.OR, args=(first, *_)):
            return is_evaluated(first, access)
        case _:
            return any(is_evaluated(part, access) for part in operands(expr))
