"""How large the integers are in what also holds floats. Python keeps them exactly; in the array that a list is kept in,
and in the cell of a name, they are floats, which hold integers below 2**53. Lists that may come to hold larger ones
are refused; of integers that a call gives it is checked (LD335) that two of them may be multiplied, or more where that
shows (see `exactness`).

Elements that are integers may be added to by small numbers as often as a program can (2**53 times 2**0 takes weeks);
what multiplies them, or adds them to one another, would be too large after some fifty steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from loopdiff.frontend.parsing.placing import with_place
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import all_of, any_of, compare, integer
from loopdiff.ir.ops import BITWISE, Op
from loopdiff.ir.types import BOOL, C64, F32, ScalarType
from loopdiff.ir.walk import all_statements

NARROW = (F32, C64)
SMALL_LITERAL, EXACT_LITERAL = 1 << 16, 1 << 50
SUMS = (Op.ADD, Op.SUB)
CHOICES = (Op.MIN, Op.MAX)
KEEPING = (Op.NEG, Op.ABS, Op.STOP, Op.SIGN)
QUOTIENTS = (Op.FLOORDIV, Op.MOD)
PRODUCTS = (Op.MUL, Op.POW)


class Size(IntEnum):
    """What a number is in Python: a `FLOAT`; or maybe an integer, which is `ZERO`, a `SMALL` one, one as large as an
    `ELEMENT` of a list, which small ones may be added to, or one that may be `LARGE`."""

    FLOAT = 0
    ZERO = 1
    SMALL = 2
    ELEMENT = 3
    LARGE = 4


@dataclass(slots=True)
class Sizes:
    """The sizes of numbers in `ls`; `known` are those of what cells and elements of lists hold where they hold no
    floats, as far as they have been found."""

    ls: ir.LoopSet
    lists: frozenset[str]
    types: Mapping[str, ScalarType | None]
    known: dict[str, Size] = field(default_factory=dict)
    stores: dict[str, list[tuple[ir.Expr, bool]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        cells = {a.name for a in self.ls.arrays if a.extents == () and a.role == "local"}
        for stmt in all_statements(self.ls.body):
            match stmt:
                case ir.Let(name=name, value=value):
                    self.stores.setdefault(name, []).append((value, False))
                case (
                    ir.Assign(target=ir.Access(array=name), value=value)
                    | ir.Accumulate(target=ir.Access(array=name), value=value)
                ) if name in cells or name in self.lists:
                    is_added = isinstance(stmt, ir.Accumulate) and stmt.op == "add"
                    self.stores.setdefault(name, []).append((value, is_added))
                case _:
                    pass

    def find(self) -> None:
        before: dict[str, Size] | None = None
        while self.known != before:
            before = dict(self.known)
            for name in self.stores:
                size = max((before.get(name, Size.FLOAT), *self.made(name)))
                if size is not Size.FLOAT:
                    self.known[name] = size

    def made(self, name: str) -> list[Size]:
        """What `name` holds by what is stored in it; what is assigned in several places may be counted up."""
        stores = self.stores[name]
        sizes = self.stored(name)
        is_one = len(stores) == 1 and name not in self.lists and not stores[0][1]
        return sizes if is_one else list(map(as_element, sizes))

    def is_of_floats(self, name: str) -> bool:
        kind = self.types.get(name)
        return kind is not None and is_inexact(kind)

    def is_mixed(self, array: str) -> bool:
        """Whether the list holds integers, of loops perhaps, or elements of such lists, in an array of floats."""
        return self.is_of_floats(array) and self.known.get(array, Size.FLOAT) is not Size.FLOAT

    def is_too_large(self, array: str) -> bool:
        """Whether the list may hold an integer that its array does not: float32 ends at 2**24."""
        most = max(self.stored(array), default=Size.FLOAT)
        return most is Size.LARGE or (self.is_narrow(array) and most > Size.ZERO)

    def is_narrow(self, array: str) -> bool:
        return self.types.get(array) in NARROW

    def stored(self, name: str) -> list[Size]:
        """The sizes of what is stored in `name`: elements that are added to it again and again become large, and what
        is added to a float is none."""
        is_float = name not in self.lists and self.known.get(name, Size.FLOAT) is Size.FLOAT
        stores = self.stores.get(name, ())
        sizes = [(self.of(value), is_added) for value, is_added in stores if not (is_float and is_added)]
        return [Size.LARGE if is_added and size is Size.ELEMENT else size for size, is_added in sizes]

    def checks(self, array: str, bits: int) -> Iterator[tuple[ir.Stmt, ir.Require] | None]:
        """What is checked ahead of statements that put integers with more than these `bits` into the list; None for
        what is no integer for certain, or is added to an element."""
        message = f"a list that also holds floats gets an integer beyond 2**{bits}: write `float(...)` of it"
        for stmt in all_statements(self.ls.body):
            if not isinstance(stmt, ir.Assign | ir.Accumulate) or stmt.target.array != array:
                continue
            if isinstance(stmt, ir.Accumulate):
                size = self.of(stmt.value)
                if size is Size.LARGE or (stmt.op == "add" and size is Size.ELEMENT):
                    yield None
            elif self.of(stmt.value) is Size.LARGE:
                conds = list(self.limits(stmt.value, 1 << bits))
                is_known = None not in conds
                cond = with_place(all_of(filter(None, conds)), stmt.loc)
                yield (stmt, ir.Require(cond, "LD335", message, loc=stmt.loc)) if is_known else None

    def limits(self, expr: ir.Expr, most: int) -> Iterator[ir.Expr | None]:
        """What must hold of integers that `expr` may be, None where one is no integer for certain."""
        match expr:
            case ir.Select(cond=cond, then=then, orelse=orelse):
                for exempt, part in ((ir.Apply(Op.NOT, (cond,)), then), (cond, orelse)):
                    yield from (None if found is None else any_of((exempt, found)) for found in self.limits(part, most))
            case _ if self.of(expr) is not Size.LARGE:
                pass
            case _ if self.is_whole(expr, most):
                yield compare(Op.LE, integer(-most), expr)
                yield compare(Op.LE, expr, integer(most))
            case _:
                yield None

    def is_whole(self, expr: ir.Expr, most: int) -> bool:
        """Whether `expr` is an integer for certain, but for literals that are too large."""
        match expr:
            case ir.Const(value=value):
                return isinstance(value, int) and abs(value) <= most
            case ir.Index() | ir.Dim() | ir.SizeOf() | ir.RankOf():
                return True
            case ir.Param(name=name) | ir.Var(name=name) | ir.Load(access=ir.Access(array=name)):
                kind = self.types.get(name)
                return kind is not None and not is_inexact(kind)
            case ir.Cast(dtype=dtype):
                return not is_inexact(dtype)
            case ir.Apply(op=op) if op not in (*SUMS, *CHOICES, *KEEPING, *QUOTIENTS, *BITWISE, Op.MUL):
                return False
            case ir.PartOf() | ir.Pair():
                return False
            case ir.Select(then=then, orelse=orelse):
                return self.is_whole(then, most) and self.is_whole(orelse, most)
            case ir.Apply(args=args):
                return all(self.is_whole(a, most) for a in args)

    def of(self, expr: ir.Expr) -> Size:
        match expr:
            case ir.Const(value=value):
                return of_literal(value)
            case ir.Index() | ir.Dim() | ir.SizeOf() | ir.RankOf():
                return Size.SMALL
            case ir.Param(name=name) | ir.Var(name=name) | ir.Load(access=ir.Access(array=name)):
                return self.known.get(name, Size.FLOAT) if name in self.stores else self.of_given(name)
            case ir.Cast(dtype=dtype, value=value):
                size = self.of(value)
                return Size.FLOAT if is_inexact(dtype) else Size.LARGE if size is Size.FLOAT else size
            case ir.Select(then=then, orelse=orelse):
                return max(self.of(then), self.of(orelse))
            case ir.Apply(op=op, args=args):
                return combined(op, [self.of(a) for a in args])
            case ir.PartOf() | ir.Pair():
                return Size.FLOAT

    def of_given(self, name: str) -> Size:
        """What an argument or an array holds: any numbers of its type."""
        kind = self.types.get(name)
        return Size.FLOAT if kind is None or is_inexact(kind) else Size.SMALL if kind is BOOL else Size.LARGE


def is_inexact(kind: ScalarType) -> bool:
    return kind.is_float or kind.is_complex


def as_element(size: Size) -> Size:
    """The size of an element of a list that others of this size are put into."""
    return Size.ELEMENT if size is Size.SMALL else size


def of_literal(value: float) -> Size:
    if not isinstance(value, int):
        return Size.FLOAT
    if abs(value) < SMALL_LITERAL:
        return Size.ZERO if value == 0 else Size.SMALL
    return Size.ELEMENT if abs(value) < EXACT_LITERAL else Size.LARGE


def combined(op: Op, sizes: list[Size]) -> Size:
    """The size of what `op` makes of numbers of these."""
    most = max(sizes, default=Size.FLOAT)
    if op in CHOICES or op in KEEPING:
        return most
    if op in BITWISE:
        return Size.LARGE
    if op not in (*SUMS, *QUOTIENTS, *PRODUCTS) or min(sizes) is Size.FLOAT:
        return Size.FLOAT
    if op in SUMS:
        return Size.LARGE if sizes.count(Size.ELEMENT) > 1 else most
    if op in QUOTIENTS:
        return most
    if op is Op.MUL and Size.ZERO in sizes:
        return Size.ZERO
    return Size.SMALL if op is Op.POW and sizes[0] is Size.ZERO else Size.LARGE
