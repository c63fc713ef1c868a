"""Operands of products that a loop does not change: they are copied for the products in its first iteration only.

    for t in range(T):                             kept = NOTHING_YET
        multiply(g, h, u, ...)                     for t in range(T):
        ...                             becomes        kept = multiply_again(g, h, u, ..., kept)
                                                       ...
                                                   give_up(kept, ...)

The copy is in the memory that products have for their copies anyway, of which there is a fixed number of parts, and
which others may take: then it is made anew. A function that ends early keeps nothing, as nobody else has its ticket.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from loopdiff.backends.cpu.emission import LoopEmitter
from loopdiff.backends.cpu.scalar_math import spell_constant
from loopdiff.backends.cpu.simd.rooms import NOTHING_YET
from loopdiff.ir import nodes as ir
from loopdiff.ir.walk import lets_in, loops_in, statements, subexprs, written_arrays
from loopdiff.mapping.loops import Product, ScalarLoop, TiledNest


@contextmanager
def operands_kept(emitter: LoopEmitter, loop: ir.Loop) -> Iterator[None]:
    """Around `loop`, as it is being written: its products have tickets, but for those that have them around it."""
    found = {nest.index: product for nest, product in lasting_products(emitter, loop) if nest.index not in emitter.kept}
    for index in found:
        emitter.kept[index] = emitter.names.fresh(f"{index}_kept")
        emitter.writer.line(f"{emitter.kept[index]} = {NOTHING_YET}")
    yield
    for index, product in found.items():
        kind = emitter.types.arrays[product.right.array].element
        emitter.writer.line(f"give_up({emitter.kept.pop(index)}, {spell_constant(0, kind)})")


def lasting_products(emitter: LoopEmitter, loop: ir.Loop) -> Iterator[tuple[ir.Loop, Product]]:
    """The nests inside of `loop` that are products whose right operand it leaves as it is, and that are written there:
    not in functions of chunks, nor several times side by side."""
    for site in statements(loop.body):
        mapping = emitter.mapping_of(site.stmt)
        product = mapping.product if isinstance(mapping, TiledNest) else None
        if product is None or product.lanes or not isinstance(site.stmt, ir.Loop):
            continue
        if is_written_here(emitter, (*site.loops, site.stmt)) and lasts(loop, site.stmt, product):
            yield site.stmt, product


def is_written_here(emitter: LoopEmitter, loops: Iterable[ir.Loop]) -> bool:
    for loop in loops:
        mapping = emitter.mapping_of(loop)
        is_jammed = isinstance(mapping, ScalarLoop) and mapping.together > 1
        if is_jammed or (emitter.is_sharing and loop.index in emitter.sharing):
            return False
    return True


def lasts(loop: ir.Loop, nest: ir.Loop, product: Product) -> bool:
    """Whether the right operand of `product`, which is `nest`, and what says where it is, are the same in all
    iterations of `loop` around it. How its copy is arranged also depends on the strides of the left operand: an array
    has the same ones as long as the function runs."""
    own = {product.columns, *product.sums}
    bounds = [b for p in loops_in((nest,)) if p.index in own for b in (p.lower, p.upper, p.step)]
    used = [e for expr in (*product.right.subscripts, *bounds) for e in subexprs(expr)]
    arrays = {product.right.array, *(e.access.array for e in used if isinstance(e, ir.Load))}
    inside = {loop.index, *(p.index for p in loops_in(loop.body))} - own
    names = {e.name for e in used if isinstance(e, ir.Index | ir.Var)}
    return not arrays & written_arrays(loop.body) and not names & (inside | lets_in(loop.body))
