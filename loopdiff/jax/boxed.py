"""Numbers as arrays of one element: what a foreign call on a GPU gets and gives without waiting for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from loopdiff.ir.build import cast, integer
from loopdiff.ir.nodes import Access, ArrayDecl, Assign, Expr, Load, LoopSet, Param, ScalarResult
from loopdiff.ir.types import ELEMENT_TYPES, ArrayType
from loopdiff.ir.walk import map_expr, map_stmt_exprs

FIRST = (integer(0),)


def with_boxed_numbers(ls: LoopSet, dtypes: Mapping[str, str], results: Sequence[tuple[str, str]]) -> LoopSet:
    """`ls` with the arguments `dtypes` as arrays of one element, and with its numbers in such arrays too, whose names
    and dtypes are `results`, after its parameters. It returns nothing."""

    def read(expr: Expr) -> Expr:
        if not isinstance(expr, Param) or expr.name not in dtypes:
            return expr
        declared, found = ls.scalar(expr.name).type, ELEMENT_TYPES[dtypes[expr.name]]
        assert declared is not None
        return cast(Load(Access(expr.name, FIRST)), found, declared)

    numbers = [r.value for r in ls.results if isinstance(r, ScalarResult)]
    stores = [Assign(Access(name, FIRST), v) for (name, _), v in zip(results, numbers, strict=True)]
    boxes = (*dtypes.items(), *results)
    return replace(
        ls, params=(*ls.params, *(name for name, _ in results)),
        arrays=(*ls.arrays, *(ArrayDecl(name, ArrayType(dtype, 1), "argument") for name, dtype in boxes)),
        scalars=tuple(s for s in ls.scalars if s.name not in dtypes),
        body=tuple(map_stmt_exprs(lambda e: map_expr(read, e), s) for s in (*ls.body, *stores)),
        results=(), returns_tuple=False,
    )  # fmt: skip
