"""Products that take long look out for signals: they count their work, and leave out what is left once one came."""

from __future__ import annotations

from typing import Any

from llvmlite import ir as llvm_ir
from numba.core import cgutils

from loopdiff.backends.cpu.interrupts import looking

from .build import INT64
from .words import Word

LONG = 1 << 24  # multiplications from one look to the next
CELLS = llvm_ir.ArrayType(INT64, 2)  # what is watched: the work since the last look, and whether to end


def watched(builder: Any) -> tuple[Word, Any]:
    """The address of a watch that begins here, and where it says whether to end."""
    cells = cgutils.alloca_once(builder, CELLS)
    builder.store(llvm_ir.Constant(CELLS, [0, 0]), cells)
    return Word(builder, builder.ptrtoint(cells, INT64)), cgutils.gep_inbounds(builder, cells, 0, 1)


def goes_on(builder: Any, watch: Word, work: Word) -> Any:
    """Whether to do the next so many multiplications."""
    cells = builder.inttoptr(watch.value, CELLS.as_pointer())
    count, ended = (cgutils.gep_inbounds(builder, cells, 0, k) for k in (0, 1))
    total = builder.add(builder.load(count), work.value)
    builder.store(total, count)
    is_due = builder.icmp_signed(">", total, INT64(LONG))
    with cgutils.if_unlikely(builder, builder.and_(is_due, builder.icmp_signed("==", builder.load(ended), INT64(0)))):
        builder.store(INT64(0), count)
        builder.store(builder.zext(looking(builder), INT64), ended)
    return builder.icmp_signed("==", builder.load(ended), INT64(0))
