"""Writes a contraction as a product of matrices: a call that says where operands lie and how loops move in them."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass

from loopdiff.analysis.contractions import Contraction
from loopdiff.analysis.strides import coefficient
from loopdiff.backends.cpu.patience import PatientEmitter
from loopdiff.backends.cpu.scalar_math import spell_cast
from loopdiff.backends.cpu.simd.products import ADD, IN_PARTS
from loopdiff.ir import nodes as ir
from loopdiff.ir.typing import type_of
from loopdiff.ir.walk import substitute
from loopdiff.mapping.loops import Product
from loopdiff.model.work import PRODUCT, number, times_work


@dataclass(slots=True)
class ProductWriter:
    """Writes one product inside the loops that are not part of it, each of which counts `ticks` then."""

    emitter: PatientEmitter
    nest: Product
    found: Contraction
    ticks: str = ""

    def write(self) -> None:
        found, writer = self.found, self.emitter.writer
        writer.quote(found.update.loc)
        if len(self.inside) < len(found.loops):
            runs = self.emitter.patience.estimate(*found.loops).runs(tuple(map(self.loop, sorted(self.inside))))
            self.ticks = self.emitter.patience.ticks(times_work(number(PRODUCT), runs), "product_ticks")
        with ExitStack() as stack:
            for loop in found.loops:
                if loop.index not in self.inside:
                    lower, upper = self.emitter.expr(loop.lower), self.emitter.expr(loop.upper)
                    stack.enter_context(writer.block(f"for {loop.index} in range({lower}, {upper}):"))
            self.call()

    def call(self) -> None:
        nest, emitter = self.nest, self.emitter
        if self.ticks:
            emitter.patience.count(self.ticks)
        target = emitter.types.arrays[self.found.update.target.array]
        emitter.products.add(("lane_product" if nest.lanes else "product", target.dtype))
        scale = spell_cast(emitter.expr(nest.scale), type_of(nest.scale, emitter.types), target.element)
        if not isinstance(nest.scale, ir.Const):
            # Where nothing is summed the factor is not asked for: infinity times an empty sum would not be zero.
            ranges = [(self.loop(k).lower, self.loop(k).upper) for kind in nest.kinds for k in kind]
            some = " and ".join(f"{emitter.expr(lower)} < {emitter.expr(upper)}" for lower, upper in ranges)
            scale = f"({scale} if {some} else {emitter.expr(ir.Const(0.0, target.element))})"
        columns = (nest.columns, *nest.lanes)
        parts = [
            self.operand(self.found.update.target, (*nest.rows, *(columns if nest.lanes else ()))),
            self.operand(nest.left, (*nest.rows, *nest.lanes, *nest.sums)),
            self.operand(nest.right, (*columns, *nest.sums)),
            listed([listed([self.extent(k) for k in kind]) for kind in nest.kinds]),
            str(self.how),
            scale,
        ]
        kept = emitter.kept.get(self.found.loops[0].index)
        if kept is None:
            emitter.writer.line(f"multiply({', '.join(parts)})")
        else:
            emitter.writer.line(f"{kept} = multiply_again({', '.join((*parts, kept))})")

    @property
    def how(self) -> int:
        """Whether the product is added to its target, and whether only some of its rows may be."""
        in_parts = IN_PARTS if self.emitter.sharing and not self.nest.lanes else 0
        return in_parts if self.found.start is not None else in_parts + ADD

    def loop(self, index: str) -> ir.Loop:
        return next(p for p in self.found.loops if p.index == index)

    def extent(self, index: str) -> str:
        loop, spell = self.loop(index), self.emitter.expr
        lower, upper = spell(loop.lower), spell(loop.upper)
        if lower == "0":
            return upper if isinstance(loop.upper, ir.Dim) else f"max(0, {upper})"
        return f"max(0, {upper} - {lower})"

    def operand(self, access: ir.Access, indices: tuple[str, ...]) -> str:
        """An array, where the loops begin in it, and how far each moves along its axes."""
        starts: dict[ir.Expr, ir.Expr] = {
            ir.Index(p.index): p.lower for p in self.found.loops if p.index in self.inside
        }
        first = listed([self.emitter.expr(substitute(s, starts)) for s in access.subscripts])
        moves = [listed([str(coefficient(s, k)) for s in access.subscripts]) for k in indices]
        return f"{access.array}, {first}, {listed(moves)}"

    @property
    def inside(self) -> frozenset[str]:
        """Indices of the loops that are part of the product."""
        return frozenset(k for kind in self.nest.kinds for k in kind)


def listed(texts: list[str]) -> str:
    """A tuple."""
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"
