"""Both sweeps as one thing that passes give anew."""

from __future__ import annotations

from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.names import supply
from loopdiff.passes.loops.factored_sums import factor_sums
from loopdiff.passes.storage.workspace import with_shared_workspace
from loopdiff.passes.sweeps.last_value import keep_last
from loopdiff.schedule.blocks.sweeps import block_sweeps
from loopdiff.schedule.blocks.tape_layout import align_tapes
from loopdiff.settings.requests import Requests


@immutable
class BothSweeps:
    """The forward sweep, the reverse sweep that goes on with its arrays, and the loops that are to become lanes."""

    forward: ir.LoopSet
    reverse: ir.LoopSet
    lanes: frozenset[str] = frozenset()


def with_last_kept(both: BothSweeps) -> BothSweeps:
    """Both sweeps with indices on the tape in place of flags that one iteration at most makes use of."""
    forward, reverse = keep_last(both.forward, both.reverse)
    return replace(both, forward=forward, reverse=reverse)


def with_rows_in_blocks(both: BothSweeps, asked: tuple[Requests, Requests]) -> BothSweeps:
    """Both sweeps in row blocks where that makes matrices of vectors."""
    return BothSweeps(*block_sweeps(both.forward, both.reverse, asked=asked))


def with_sums_factored(both: BothSweeps) -> BothSweeps:
    """Both sweeps with factors taken out of the sums that do not need them, and sums of the same products made once."""
    names = supply(both.forward, both.reverse)
    new_forward, new_reverse = (factor_sums(ls, names) for ls in (both.forward, both.reverse))
    forward, reverse = with_shared_workspace(both.forward, both.reverse, new_forward, new_reverse)
    return replace(both, forward=forward, reverse=reverse)


def with_tapes_aligned(both: BothSweeps) -> BothSweeps:
    """Both sweeps with the axes of tapes reordered where vectors run along another than the last."""
    forward, reverse = align_tapes(both.forward, both.reverse, both.lanes)
    return replace(both, forward=forward, reverse=reverse)
