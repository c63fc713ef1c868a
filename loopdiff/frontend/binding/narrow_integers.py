"""Arithmetic of elements that are narrow integers, which wraps as NumPy's does: 200 + 100 is 44 for two of `uint8`.

Values have 64 bits here, so what may leave the range is brought back into it. Python's integers take the type that they
meet. Elements of int32 and int64 are computed with in 64 bits, and so is what a function of NumPy adds up: sums of its
own have 64 bits there, too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from loopdiff.errors import Diagnostic, Span
from loopdiff.errors.codes import reject
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import BITWISE, COMPARISONS, FLOAT_TESTS, INFO, ROUNDINGS, Op
from loopdiff.ir.types import INT, ArrayType
from loopdiff.ir.walk import all_statements, map_body, map_own_exprs, operands, rebuild
from loopdiff.numpy_functions import is_of_numpy

NARROW = ("uint8", "int8", "uint16", "int16", "uint32")
LEAVING = (Op.ADD, Op.SUB, Op.MUL, Op.NEG, Op.ABS, Op.POW, Op.SHL, Op.INVERT)
HINT = "say which is meant: `int(v)` of each, or `v.astype(...)`"


@immutable
class Width:
    """Of which type integers are where NumPy computes with them: `dtype`, or Python's where that is None.
    `is_open`: only the run says which of both."""

    dtype: str | None = None
    is_open: bool = False


PYTHONS = Width()
Found = Width | Literal["wide"]  # wide: floating numbers, and integers of 64 bits or computed with as such


def with_narrow_integers(
    surface: ir.LoopSet, types: Mapping[str, str], numbers: Collection[str]
) -> tuple[ir.LoopSet, list[Diagnostic]]:
    """`surface` with arithmetic that wraps, and what is wrong with it (LD214), for arrays of element `types` and
    arguments of which `numbers` are integers of Python."""
    if not any(kind in NARROW for kind in types.values()):
        return surface, []
    widths = Widths(types, frozenset(numbers), generated_totals(surface))
    widths.settle(surface)
    body = map_body(surface.body, lambda s: (widths.statement(s),))
    results = tuple(
        ir.ScalarResult(widths.wrapped(r.value)) if isinstance(r, ir.ScalarResult) else r for r in surface.results
    )
    return replace(surface, body=body, results=results), widths.diagnostics


def generated_totals(surface: ir.LoopSet) -> frozenset[str]:
    """Where functions of NumPy add up, or multiply: one place in the text says what it starts with, and goes on. But
    for products of matrices, which wrap."""
    stores = [s for s in all_statements(surface.body) if isinstance(s, ir.Assign | ir.Accumulate)]
    starts = {(s.target.array, s.loc) for s in stores if isinstance(s, ir.Assign) and isinstance(s.value, ir.Const)}
    further = (s for s in stores if isinstance(s, ir.Accumulate) or not isinstance(s.value, ir.Const))
    return frozenset(s.target.array for s in further if (s.target.array, s.loc) in starts and not is_of_products(s))


def is_of_products(stmt: ir.Assign | ir.Accumulate) -> bool:
    """Whether the operation that adds up makes the products, too."""
    return isinstance(stmt, ir.Accumulate) and isinstance(stmt.value, ir.Apply) and stmt.value.loc == stmt.loc


@dataclass(slots=True)
class Widths:
    """What integers are, of arrays of element `types` and of names (`held`)."""

    types: Mapping[str, str]
    numbers: frozenset[str]
    totals: frozenset[str]
    held: dict[str, Found] = field(default_factory=dict)
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def settle(self, surface: ir.LoopSet) -> None:
        """Find what names hold, by repetition until nothing changes."""
        before: dict[str, Found] | None = None
        while self.held != before:
            before = dict(self.held)
            for stmt in all_statements(surface.body):
                match stmt:
                    case ir.Assign(target=target, value=value) if target.array not in self.types:
                        self.note(target.array, self.of(value))
                    case ir.Accumulate(target=target, value=value) if target.array not in self.types:
                        self.note(target.array, joined([self.array(target.array), self.of(value)]))
                    case ir.Call(results=results):
                        for result in results:
                            self.note(result.array, "wide")
                    case _:
                        pass

    def note(self, name: str, found: Found) -> None:
        old = self.held.get(name, found)
        self.held[name] = "wide" if name in self.totals else either(old, found)

    def array(self, name: str) -> Found:
        dtype = self.types.get(name)
        if dtype is not None:
            return Width(dtype) if dtype in NARROW else PYTHONS if dtype == "bool" else "wide"
        return self.held.get(name, PYTHONS)

    def of(self, expr: ir.Expr) -> Found:
        """What the value of `expr` is."""
        match expr:
            case ir.Const(value=value):
                return PYTHONS if isinstance(value, int) else "wide"
            case ir.Index() | ir.Dim() | ir.SizeOf() | ir.RankOf():
                return PYTHONS
            case ir.Param(name=name):
                return PYTHONS if name in self.numbers else self.array(name) if name in self.types else "wide"
            case ir.Load(access=access):
                return self.array(access.array)
            case ir.Select(then=then, orelse=orelse):
                return either(self.of(then), self.of(orelse))
            case ir.Cast(dtype=dtype, value=value):
                is_numpys = isinstance(value, ir.Cast) and value.dtype is dtype
                return PYTHONS if dtype is INT and not is_numpys else "wide"
            case ir.Apply(op=op) if op in COMPARISONS or op in FLOAT_TESTS or op in (Op.AND, Op.OR, Op.NOT):
                return PYTHONS
            case ir.Apply(op=op, args=args) if INFO[op].result == "same" or op in (*BITWISE, *ROUNDINGS):
                return joined([self.of(a) for a in args])
            case _:
                return "wide"

    def statement(self, stmt: ir.Stmt) -> ir.Stmt:
        made = map_own_exprs(self.wrapped, stmt)
        match made:
            case ir.Accumulate(op="add", target=target, value=value) if target.array not in {*self.types, *self.totals}:
                total = ir.Apply(Op.ADD, (ir.Load(target, loc=made.loc), value), loc=made.loc)
                kept = self.brought_back(total)
                return made if kept is total else ir.Assign(target, kept, loc=made.loc)
            case _:
                return made

    def wrapped(self, expr: ir.Expr) -> ir.Expr:
        """`expr` with arithmetic that wraps."""
        parts = tuple(map(self.wrapped, operands(expr)))
        made = expr if all(a is b for a, b in zip(parts, operands(expr), strict=True)) else rebuild(expr, parts)
        return self.brought_back(made) if isinstance(made, ir.Apply) else made

    def brought_back(self, expr: ir.Apply) -> ir.Expr:
        """What NumPy makes of the operation."""
        if expr.op not in LEAVING or is_of_numpy(expr.loc.file):
            return expr
        found: list[Found] = [self.of(a) for a in expr.args]
        whole = joined(found)
        if whole == "wide" or whole.dtype is None:
            return expr
        if whole.is_open:
            self.refuse(whole.dtype, expr.loc)
        return within(expr, whole.dtype)

    def refuse(self, dtype: str, span: Span) -> None:
        message = f"an integer here is one of NumPy's `{dtype}`, or one of Python's: NumPy's wrap"
        found = reject("LD214", message, span, HINT)
        if found not in self.diagnostics:
            self.diagnostics.append(found)


def either(a: Found, b: Found) -> Found:
    """What holds for a value that is one or the other."""
    if a == b:
        return a
    if a == "wide" or b == "wide":
        return "wide"
    return Width(max((w.dtype for w in (a, b) if w.dtype is not None), key=NARROW.index), True)


def joined(found: Sequence[Found]) -> Found:
    """What an operation gives of such values."""
    if "wide" in found:
        return "wide"
    widths = [w for w in found if isinstance(w, Width)]
    certain = [w.dtype for w in widths if w.dtype is not None and not w.is_open]
    dtypes = [w.dtype for w in widths if w.dtype is not None]
    if not dtypes:
        return PYTHONS
    common = str(np.result_type(*map(np.dtype, dtypes)))
    if common not in NARROW:
        return "wide"
    return Width(common, any(w.is_open for w in widths) and common not in certain)


def within(expr: ir.Apply, dtype: str) -> ir.Expr:
    """The value of `expr` modulo two to the number of bits, in the range of `dtype`."""
    kind = ArrayType(dtype, 0)
    bits, loc = np.iinfo(kind.dtype).bits, expr.loc
    mask, half = ir.Const(2**bits - 1, loc=loc), ir.Const(2 ** (bits - 1), loc=loc)
    if dtype.startswith("u"):
        return ir.Apply(Op.BITAND, (expr, mask), loc=loc)
    moved = ir.Apply(Op.BITAND, (ir.Apply(Op.ADD, (expr, half), loc=loc), mask), loc=loc)
    return ir.Apply(Op.SUB, (moved, half), loc=loc)
