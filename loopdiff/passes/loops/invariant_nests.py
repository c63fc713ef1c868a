"""Loop-invariant code motion of nests: arrays that every iteration would make anew, and alike, are made once.

    for t in range(T):                               for i in range(n):
        for i in range(n):                               for j in range(n):
            for j in range(n):                               S[i, j] = A[i, j] + A[j, i]
                S[i, j] = A[i, j] + A[j, i]  becomes  for t in range(T):
        for i in range(n):                               for i in range(n):
            for j in range(n):                               for j in range(n):
                y[i] += S[i, j] * y[j]                           y[i] += S[i, j] * y[j]

Whole-array code makes such arrays where it uses them. Their adjoints are then summed in one array over all iterations.
Moved is what can raise nothing, even where the loop does not run: all subscripts are seen to be inside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from loopdiff.analysis.known_sizes import KnownSizes
from loopdiff.canonical.invariant_motion import is_total
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import extents_of, is_from_zero
from loopdiff.ir.ops import Op
from loopdiff.ir.types import INT
from loopdiff.ir.typing import TypeEnv, type_env, type_of
from loopdiff.ir.walk import (
    accesses,
    all_statements,
    children,
    has_values,
    indices_in,
    lets_in,
    lets_used,
    map_blocks,
    read_arrays,
    result_arrays,
    stmt_exprs,
    subexprs,
    touched_arrays,
    written_arrays,
)

Block = tuple[ir.Stmt, ...]
Ranges = Mapping[str, ir.Expr]


def hoist_nests(ls: ir.LoopSet) -> ir.LoopSet:
    """`ls`, normal, with nests that make the same arrays in every iteration of a loop ahead of the loop."""
    if not any(isinstance(s, ir.Loop) and any(map(is_nest, s.body)) for s in all_statements(ls.body)):
        return ls
    body = Mover(ls, type_env(ls), mentions(ls.body)).block(ls.body, KnownSizes(ls.params))
    return ls if body == ls.body else replace(ls, body=body)


def is_nest(stmt: ir.Stmt) -> bool:
    return isinstance(stmt, ir.Loop) and all(
        isinstance(s, ir.Loop | ir.Let | ir.Assign) for s in all_statements((stmt,))
    )


def mentions(body: Block) -> Counter[str]:
    """How many statements have to do with each array."""
    found: Counter[str] = Counter()
    for stmt in all_statements(body):
        found.update({a.array for a in accesses(stmt)} if children(stmt) else touched_arrays((stmt,)))
    return found


@immutable
class Mover:
    """`uses` says how many statements of the function have to do with each array."""

    ls: ir.LoopSet
    types: TypeEnv
    uses: Mapping[str, int]

    def block(self, body: Block, known: KnownSizes) -> Block:
        out: list[ir.Stmt] = []
        for stmt in body:
            known = known.after(stmt)
            stmt = map_blocks(lambda inner, known=known: self.block(inner, known), stmt)
            if isinstance(stmt, ir.Loop) and any(map(is_nest, stmt.body)):
                moved = self.invariant(stmt, known)
                out += moved
                stmt = replace(stmt, body=tuple(s for s in stmt.body if s not in moved))
            out.append(stmt)
        return tuple(out)

    def invariant(self, loop: ir.Loop, known: KnownSizes) -> list[ir.Stmt]:
        """The statements of `loop` to be moved: nests, and that the arrays come into being that they make."""
        found: list[ir.Stmt] = []
        here = mentions((loop,))
        for number, stmt in enumerate(loop.body):
            if not isinstance(stmt, ir.Loop) or not is_nest(stmt):
                continue
            made = written_arrays((stmt,))
            start = [s for s in loop.body[:number] if isinstance(s, ir.Allocate) and s.array in made]
            others = tuple(s for s in loop.body if s is not stmt and s not in start and s not in found)
            is_alike = not (made | read_arrays((stmt,))) & written_arrays(others) and self.is_same(stmt, loop, known)
            if is_alike and not made & read_arrays((*loop.body[:number], stmt)) and self.are_own(made, here, start):
                found += [*start, stmt]
        return found

    def are_own(self, arrays: frozenset[str], here: Mapping[str, int], start: Sequence[ir.Allocate]) -> bool:
        """Whether nobody else sees the `arrays`, which the function makes `here` and nowhere else."""
        decls = [self.ls.array(a) for a in arrays]
        is_local = all(d.role == "local" and d.extents and here[d.name] == self.uses[d.name] for d in decls)
        is_plain = all(s.fill is None for s in start)
        return is_local and is_plain and not arrays & result_arrays(self.ls)

    def is_same(self, nest: ir.Loop, loop: ir.Loop, known: KnownSizes) -> bool:
        """Whether nothing in `nest` but elements of arrays may be other in each iteration of `loop`, and all subscripts
        are seen to be inside of their arrays."""
        exprs = [e for s in all_statements((nest,)) for e in stmt_exprs(s)]
        if not all(self.is_total(e) for expr in exprs for e in subexprs(expr)):
            return False
        is_free = loop.index not in indices_in(*exprs) and not (lets_used((nest,)) - lets_in((nest,))) & lets_in(
            loop.body
        )
        return is_free and self.is_inside((nest,), {}, known)

    def is_total(self, expr: ir.Expr) -> bool:
        """Whether an operation raises nothing: those on integers may, and what becomes one."""
        match expr:
            case ir.Apply(args=args):
                return is_total(expr) or any(type_of(a, self.types).is_float for a in args)
            case ir.Cast(value=value, dtype=dtype):
                return not (dtype is INT and type_of(value, self.types).is_float)
            case _:
                return True

    def is_inside(self, body: Block, ranges: Ranges, known: KnownSizes) -> bool:
        for stmt in body:
            if isinstance(stmt, ir.Loop):
                if not is_from_zero(stmt) or has_values(stmt.upper) or indices_in(stmt.upper) & ranges.keys():
                    return False
                if not self.is_inside(stmt.body, {**ranges, stmt.index: known.named(stmt.upper)}, known):
                    return False
            elif not all(self.is_within(a, ranges, known) for a in accesses(stmt)):
                return False
        return True

    def is_within(self, access: ir.Access, ranges: Ranges, known: KnownSizes) -> bool:
        extents = map(known.named, extents_of(self.ls.array(access.array)))
        return all(is_in_range(s, e, ranges) for s, e in zip(access.subscripts, extents, strict=True))


def is_in_range(subscript: ir.Expr, extent: ir.Expr, ranges: Ranges) -> bool:
    match subscript, extent:
        case ir.Const(value=value), ir.Const(value=size):
            return 0 <= value < size
        case ir.Index(name=name), ir.Apply(op=Op.MAX, args=(size, ir.Const(value=0))):
            return ranges.get(name) in (size, extent)
        case ir.Index(name=name), _:
            return ranges.get(name) == extent
        case _:
            return False
