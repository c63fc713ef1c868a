"""Numbers as arrays of one element: what a foreign call on a GPU gets and gives without waiting for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import cast, integer
from loopdiff.ir.types import ELEMENT_TYPES, ArrayType
from loopdiff.ir.walk import map_expr, map_stmt_exprs

FIRST = (integer(0),)


def with_boxed_numbers(ls: ir.LoopSet, dtypes: Mapping[str, str], results: Sequence[tuple[str, str]]) -> ir.LoopSet:
    """`ls` with the arguments `dtypes` as arrays of one element, and with its numbers in such arrays too, whose names
    and dtypes are `results`, after its parameters. It returns nothing."""

    def read(expr: ir.Expr) -> ir.Expr:
        if not isinstance(expr, ir.Param) or expr.name not in dtypes:
            return expr
        declared, found = ls.scalar(expr.name).type, ELEMENT_TYPES[dtypes[expr.name]]
        assert declared is not None
        return cast(ir.Load(ir.Access(expr.name, FIRST)), found, declared)

    numbers = [r.value for r in ls.results if isinstance(r, ir.ScalarResult)]
    stores = [ir.Assign(ir.Access(name, FIRST), v) for (name, _), v in zip(results, numbers, strict=True)]
    boxes = (*dtypes.items(), *results)
    return replace(
        ls, params=(*ls.params, *(name for name, _ in results)),
        arrays=(*ls.arrays, *(ir.ArrayDecl(name, ArrayType(dtype, 1), "argument") for name, dtype in boxes)),
        scalars=tuple(s for s in ls.scalars if s.name not in dtypes),
        body=tuple(map_stmt_exprs(lambda e: map_expr(read, e), s) for s in (*ls.body, *stores)),
        results=(), returns_tuple=False,
    )  # fmt: skip
