"""Strip-mining of a function, or of both its sweeps, whose blocks share one workspace."""

from __future__ import annotations

from loopdiff.ir import nodes as ir
from loopdiff.ir.names import NameSupply, supply
from loopdiff.ir.walk import returned_arrays
from loopdiff.model import tuning
from loopdiff.passes.storage.workspace import own_arrays, refilled_tapes, scratch, with_shared_workspace
from loopdiff.schedule.blocks.outer_vectors import has_lanes, widen_lanes
from loopdiff.schedule.blocks.row_blocks import block_rows, has_rows
from loopdiff.schedule.blocks.row_sums import add_by_blocks
from loopdiff.settings.requests import NOTHING, Requests


def block_sweeps(
    forward: ir.LoopSet,
    reverse: ir.LoopSet,
    rows: int = tuning.BLOCK_ROWS,
    asked: tuple[Requests, Requests] = (NOTHING, NOTHING),
) -> tuple[ir.LoopSet, ir.LoopSet, frozenset[str]]:
    """Both sweeps in blocks of `rows`, whose buffers are workspace of both, after that of the forward sweep, and the
    indices of loops over the lanes of a block. `asked` may say otherwise for each sweep."""
    names = supply(forward, reverse)
    shared = scratch(forward) & frozenset(forward.params)
    first = shared & own_arrays(forward, reverse) if is_worth_a_look(forward, shared) else frozenset[str]()
    second = shared | refilled_tapes(reverse)
    new_forward, lanes = in_blocks(forward, first, names, rows, asked[0])
    new_reverse, others = in_blocks(reverse, second, names, rows, asked[1])
    return *with_shared_workspace(forward, reverse, new_forward, new_reverse), lanes | others


def is_worth_a_look(ls: ir.LoopSet, most: frozenset[str]) -> bool:
    """Whether there is a loop that may become blocks, if no more than `most` arrays are dead."""
    return has_rows(ls, most) or has_lanes(ls, most)


def block_primal(ls: ir.LoopSet, rows: int = tuning.BLOCK_ROWS, requests: Requests = NOTHING) -> ir.LoopSet:
    """The function itself in blocks of `rows`, whose buffers are its own."""
    return in_blocks(ls, scratch(ls) - returned_arrays(ls) - frozenset(ls.params), supply(ls), rows, requests)[0]


def in_blocks(
    ls: ir.LoopSet, dead: frozenset[str], names: NameSupply, rows: int, requests: Requests
) -> tuple[ir.LoopSet, frozenset[str]]:  # fmt: skip
    """As rows of a matrix where that isolates contractions, else as lanes where the loops inside make no vectors; the
    indices of these lanes."""
    blocked = add_by_blocks(block_rows(ls, dead, names, rows, requests), names)
    return widen_lanes(blocked, dead, names, rows, requests)
