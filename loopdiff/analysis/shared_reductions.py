"""Reductions that the iterations of a loop share, and updates that would be lost on several threads."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from loopdiff.analysis.exposure import depth_of
from loopdiff.analysis.legality import commute, conflicting_pairs, may_meet, within
from loopdiff.analysis.polyhedral.model import Model
from loopdiff.analysis.polyhedral.pairs import Order
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import Path, all_statements, loads_of

Names = frozenset[str]
Sums = dict[str, ir.AccumulateOp]


def shared_sums(model: Model, path: Path, private: Names) -> Sums:
    """Arrays and cells into which several iterations of the loop at `path` accumulate, but those that are `private`."""
    found: Sums = {}
    order = Order(depth_of(model, path) - 1, True)
    for a, b in conflicting_pairs(within(model, path)):
        name = a.access.array
        if name in private or name in found or a.combines is None or not commute(a, b):
            continue
        if may_meet(model, a, b, order) or (a is not b and may_meet(model, b, a, order)):
            found[name] = a.combines
    return found


def lost_values(
    loop: ir.Loop,
    owned: Names,
    sums: Mapping[str, ir.AccumulateOp],
    is_cell: Callable[[ir.Access], bool],
    has_parts: Callable[[str], bool],
) -> str:  # fmt: skip
    """What of `sums` and cells threads could not hand on to those who need it, in words; nothing if they can.

    Each thread owns the arrays and cells `owned`. `has_parts` says whether what is summed can be so in parts.
    """
    for name in sums:
        if not has_parts(name):
            return f"what it accumulates in `{name}` has no form in parts"
    for stmt in all_statements(loop.body):
        read = {e.access.array for e in loads_of(stmt)}
        if read & sums.keys():
            return f"it reads `{min(read & sums.keys())}`, into which it sums"
        match stmt:
            case ir.Accumulate(op=op, target=target) if target.array in sums:
                if op != sums[target.array]:
                    return f"it accumulates into `{target.array}` in two ways"
            case ir.Assign(target=target) | ir.Accumulate(target=target):
                if target.array in sums or (target.array not in owned and is_cell(target)):
                    return f"`{target.array}` keeps the value of one iteration"
            case _:
                pass
    return ""
