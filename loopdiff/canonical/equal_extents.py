"""One name for extents that are equal: after `require n == x.shape[0]`, what says `n` says `x.shape[0]`.

    require NP == A.shape[1]
    for i in range(NI):                                        for i in range(NI):
        for j in range(NP):                          becomes       for j in range(A.shape[1]):
            s += A[(i * NP + j) // A.shape[1],                         s += A[i, j]
                   (i * NP + j) % A.shape[1]]

Behind `allocate y` with the extent `n`, which is refused where it is negative, `max(n, 0)` is `n` as well. Whoever asks
whether two loops go over the same range, or a loop over all of an array, then compares expressions. Digits
of a number in a mixed radix are what it was made of, where loops keep these below their radix: so a reshaped array that
was given its own shape, or one with axes of one element more, is read where it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from loopdiff.analysis.known_sizes import precedence
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import integer, is_from_zero
from loopdiff.ir.ops import Op
from loopdiff.ir.types import INT
from loopdiff.ir.walk import (
    accesses,
    all_statements,
    map_blocks,
    map_expr,
    map_own_exprs,
    nodes_of,
    result_arrays,
    substitute,
)

Block = tuple[ir.Stmt, ...]
Equal = Mapping[ir.Expr, ir.Expr]
Ranges = Mapping[str, ir.Expr]


def with_equal_extents(ls: ir.LoopSet) -> ir.LoopSet:
    """`ls`, normal, with one expression for all extents and arguments that a check says are equal, after that check."""
    mentions = Counter(n for s in all_statements(ls.body) for n in mentioned_arrays(s))
    walk = Walk(ls, mentions, {a.name: a for a in ls.arrays})
    body = walk.block(ls.body, {}, {})
    arrays = tuple(walk.arrays.values())
    return ls if (body, arrays) == (ls.body, ls.arrays) else replace(ls, arrays=arrays, body=body)


def mentioned_arrays(stmt: ir.Stmt) -> Iterator[str]:
    """Arrays that the statement itself has to do with, each as often as it has."""
    yield from (a.array for a in accesses(stmt))
    yield from (e.array for e in nodes_of(stmt) if isinstance(e, ir.Dim))
    match stmt:
        case ir.Allocate(array=array):
            yield array
        case ir.Call(results=results):
            yield from (r.array for r in results)
        case _:
            pass


@dataclass(slots=True)
class Walk:
    """One walk over `ls`; `mentions` is how often each array occurs, `arrays` are the declarations anew."""

    ls: ir.LoopSet
    mentions: Mapping[str, int]
    arrays: dict[str, ir.ArrayDecl] = field(default_factory=dict)

    def block(self, body: Block, equal: Equal, ranges: Ranges) -> Block:
        """`body`, ahead of which `equal` are known, each with what stands for it; loops around go up to `ranges`.

        Constants stand for extents where loops end, and as extents of arrays: `v[v.shape[0] - 2]` would be `v[-1]`.
        """
        out: list[ir.Stmt] = []
        for number, stmt in enumerate(body):
            if isinstance(stmt, ir.Require):
                pair = self.equated(stmt.cond, equal)
                if pair is not None:
                    equal = {**{e: pair[1] if f == pair[0] else f for e, f in equal.items()}, pair[0]: pair[1]}
                    self.declare(body[number:], equal)
                limits: dict[ir.Expr, ir.Expr] = {e: f for e, f in equal.items() if isinstance(e, ir.Apply)}
                out.append(replace(stmt, cond=substitute(stmt.cond, limits)) if limits else stmt)
                continue
            if isinstance(stmt, ir.Allocate) and (known := self.without_limits(stmt.array)).keys() - equal.keys():
                equal = {**equal, **known}
                self.declare(body[number + 1 :], equal)
            names: dict[ir.Expr, ir.Expr] = {e: f for e, f in equal.items() if not isinstance(f, ir.Const)}
            new = map_own_exprs(lambda e, names=names: substitute(e, names), stmt) if names else stmt
            new = map_own_exprs(lambda e: map_expr(lambda x: digit(x, ranges), e), new)
            inside = ranges
            if isinstance(new, ir.Loop) and is_from_zero(new):
                inside = {**ranges, new.index: new.upper}
            if isinstance(new, ir.Loop) and equal:
                new = replace(new, lower=substitute(new.lower, equal), upper=substitute(new.upper, equal))
            out.append(map_blocks(lambda b, equal=equal, inside=inside: self.block(b, equal, inside), new))
        return tuple(out)

    def equated(self, cond: ir.Expr, equal: Equal) -> tuple[ir.Expr, ir.Expr] | None:
        """What a check says is equal to what: the first is to be replaced by the second."""
        match cond:
            case ir.Apply(op=Op.EQ, args=(a, b)):
                pair = sorted((equal.get(a, a), equal.get(b, b)), key=lambda size: precedence(size, self.ls.params))
                return (pair[1], pair[0]) if pair[0] != pair[1] and all(map(self.is_extent, pair)) else None
            case _:
                return None

    def without_limits(self, array: str) -> Equal:
        """Arguments behind the place where `array` is made with such extents: they are not negative there."""
        extents = (e for e in self.arrays[array].extents or () if isinstance(e, ir.Param))
        pairs = ((e, order) for e in extents for order in ((e, integer(0)), (integer(0), e)))
        return {ir.Apply(Op.MAX, order): e for e, order in pairs}

    def is_extent(self, expr: ir.Expr) -> bool:
        match expr:
            case ir.Dim(array=array):
                return self.ls.array(array).role == "argument"
            case ir.Param(name=name):
                return self.ls.scalar(name).type == INT
            case ir.Const(value=value):
                return type(value) is int
            case _:
                return False

    def declare(self, rest: Block, equal: Equal) -> None:
        """Declare arrays that only `rest` has to do with, ahead of which `equal` are known."""
        here = Counter(n for s in all_statements(rest) for n in mentioned_arrays(s))
        for name, count in here.items():
            decl = self.arrays[name]
            is_local = decl.role == "local" and decl.extents and name not in result_arrays(self.ls)
            if is_local and count == self.mentions[name]:
                self.arrays[name] = replace(decl, extents=tuple(substitute(e, equal) for e in decl.extents or ()))


def digit(expr: ir.Expr, ranges: Ranges) -> ir.Expr:
    """`expr`, or what it is where it takes a number apart that was put together from digits."""
    match expr:
        case ir.Apply(op=Op.FLOORDIV, args=(number, radix)):
            found = quotient(number, radix, ranges)
            return expr if found is None else found
        case ir.Apply(op=Op.MOD, args=(number, radix)):
            parts = digits_of(number, radix, ranges)
            return expr if parts is None else parts[1]
        case _:
            return expr


def quotient(number: ir.Expr, radix: ir.Expr, ranges: Ranges) -> ir.Expr | None:
    """`number // radix`, where digits are known, which a radix that is a product takes one after the other."""
    parts = digits_of(number, radix, ranges)
    if parts is not None:
        return parts[0]
    match radix:
        case ir.Apply(op=Op.MUL, args=(a, b)):
            for first, second in ((b, a), (a, b)):
                found = quotient(number, first, ranges)
                rest = None if found is None else quotient(found, second, ranges)
                if rest is not None:
                    return rest
        case _:
            pass
    return None


def digits_of(number: ir.Expr, radix: ir.Expr, ranges: Ranges) -> tuple[ir.Expr, ir.Expr] | None:
    """The number that is left of `number` and its last digit: an index that a loop keeps from 0 up to `radix`."""
    match number:
        case ir.Apply(op=Op.ADD, args=(ir.Apply(op=Op.MUL, args=(left, times)), ir.Index(name=name) as last)):
            is_digit = times == radix and ranges.get(name) == radix
            return (left, last) if is_digit else None
        case _:
            return None
