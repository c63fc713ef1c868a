"""Chunks of register tiles: along indices of the target, so that chunks have nothing in common."""

from __future__ import annotations

from loopdiff.analysis.contractions import Contraction, contraction
from loopdiff.analysis.strides import coefficient
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import subexprs
from loopdiff.mapping.loops import NestedCut, Parallel, Serial, Sharing, TiledNest
from loopdiff.schedule.cpu.nested_chunks import known_before

# Whole tiles, of any width. Each chunk of a product arranges the right-hand matrix for itself: it has `PRODUCT` rows,
# or `WINDOW` where there are some for each place of a window.
ROWS, DOTS, COLUMNS, BATCH, PRODUCT, WINDOW = 8, 24, 48, 16, 64, 24


def share_tile(stmt: ir.Loop, tile: TiledNest) -> Sharing:
    """Chunks along indices of the target: at best of loops around the tile, then of its sides that make whole tiles."""
    found = contraction(stmt)
    assert found is not None
    along = cuts(tile, [k for k in found.kept if is_apart(found, k)])
    if not along:
        return Serial("no index of its result tells the results of chunks apart")
    first, *others = along
    granule = PRODUCT if is_of_product(first.index, tile) and first.granule == ROWS else first.granule
    return Parallel(first.index, granule, further=known_before(stmt, tuple(others)))


def cuts(tile: TiledNest, apart: list[str]) -> list[NestedCut]:
    """Along the indices that are `apart`, the best one first."""
    sides = {tile.lanes, tile.rows, tile.columns}
    around = sorted((k for k in apart if k not in sides), key=lambda k: is_of_product(k, tile))
    found = [NestedCut(k, 1, 1, is_of_product(k, tile)) for k in around]
    if not tile.is_dot and tile.columns != tile.lanes:
        found.append(NestedCut(tile.lanes, BATCH, BATCH))
    if tile.rows is not None:
        found.append(rows_of(tile, tile.rows, apart))
    found.append(NestedCut(tile.columns, COLUMNS, COLUMNS))
    return [c for c in found if c.index in apart]


def rows_of(tile: TiledNest, index: str, apart: list[str]) -> NestedCut:
    """Along the rows of a tile."""
    if tile.product is None:
        granule = DOTS if tile.is_dot else ROWS
        return NestedCut(index, granule, granule)
    is_whole = any(k not in apart for k in tile.product.rows)
    return NestedCut(index, ROWS, WINDOW if is_whole else PRODUCT, is_dear=True)


def is_of_product(index: str, tile: TiledNest) -> bool:
    """Whether the loop over `index` is a part of a product of matrices."""
    return tile.product is not None and any(index in kind for kind in tile.product.kinds)


def is_apart(found: Contraction, index: str) -> bool:
    """Whether iterations of the loop over `index` never meet in the target, whatever the other indices are."""
    others = {p.index for p in found.loops} - {index}
    return any(
        coefficient(s, index) not in (0, None)
        and not any(isinstance(e, ir.Index) and e.name in others for e in subexprs(s))
        for s in found.update.target.subscripts
    )
