"""A function for each of a batch, as one function: the batch is a loop of the LoopSet like any other.

    def f(x, a): t = 0.0                      def f(x, a): for e in range(x.shape[0]):
        for i in range(n): t += a * x[i]  ->      t = 0.0
        return t                                  for i in range(n): t += a * x[e, i]
                                                  result[e] = t
                                              return result

Arguments of the batch get a first axis, others are shared by all. What all add to is summed over the batch: such are
the gradients by shared arguments in a reverse sweep.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import takewhile

from loopdiff.canonical.simplify import simplify
from loopdiff.canonical.single_assignment import normalize
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import cast, extents_of, nested, over_elements, upto, zero
from loopdiff.ir.names import NameSupply, supply
from loopdiff.ir.types import ELEMENT_TYPES, ArrayType
from loopdiff.ir.typing import type_env, type_of
from loopdiff.ir.walk import map_accesses, map_body, map_expr, map_stmt_exprs, subexprs


@immutable
class Batch:
    """Which arguments have an element for each example: arrays, and the numbers `scalars`, by the dtype that they have
    as arrays. `results` are the dtypes of the arrays that numbers among the results become, by their places, `sums` the
    places of those that are summed over the batch; nobody looks at what `scratch` holds."""

    arrays: frozenset[str]
    scalars: Mapping[str, str]
    results: Mapping[int, str]
    sums: frozenset[int] = frozenset()
    scratch: frozenset[str] = frozenset()

    @property
    def key(self) -> str:
        """The same in every process."""
        named = sorted(self.scalars.items()), sorted(self.results.items())
        return repr((sorted(self.arrays), *named, sorted(self.sums), sorted(self.scratch)))


def decides_sizes(ls: ir.LoopSet, mapped: Collection[str]) -> bool:
    """Whether how large arrays are depends on one of the arguments `mapped`, beyond their shapes."""
    nodes = [e for a in ls.arrays for extent in a.extents or () for e in subexprs(extent)]
    names = {e.name for e in nodes if isinstance(e, ir.Param)}
    names |= {e.access.array for e in nodes if isinstance(e, ir.Load)}
    return not names.isdisjoint(mapped)


def build_batch(ls: ir.LoopSet, batch: Batch) -> ir.LoopSet:
    """The normal LoopSet `ls` for a batch.

    Parameters are those of `ls` without `batch.scratch`. Every result is an array with a first axis for the batch, but
    for the sums, which are numbers. Arguments that are written and not of the batch are summed into.
    """
    names = supply(ls)
    first = next(p for p in ls.params if p in batch.arrays or p in batch.scalars)
    size, example = ir.Dim(first, 0), ir.Index(names.fresh("example"))
    returned = frozenset(r.array for r in ls.results if isinstance(r, ir.ArrayResult))
    rewritten = Rewrite(ls, batch, batch.arrays | (returned - set(ls.params)), example, names)
    body = [new for s in ls.body for new in rewritten.statement(s)]
    checks = list(takewhile(is_shared_check, body))
    results, before, after = rewritten.results()
    arrays = [as_argument(rewritten.declared(a, size), ls, batch) for a in ls.arrays]
    arrays += [ir.ArrayDecl(n, ArrayType(dtype, 1), "argument") for n, dtype in batch.scalars.items()]
    arrays += [replace(a, extents=(size,)) if a.type is not None and a.type.rank else a for a in rewritten.made]
    inner = body[len(checks) :]
    whole = replace(
        ls, name=f"{ls.name}_batch", arrays=tuple(arrays), params=tuple(p for p in ls.params if p not in batch.scratch),
        scalars=tuple(s for s in ls.scalars if s.name not in batch.scalars),
        body=(*checks, *before, upto(example.name, size, (*inner, *after))), results=results,
    )  # fmt: skip
    return simplify(normalize(whole))


def is_shared_check(stmt: ir.Stmt) -> bool:
    """Whether a check says the same for all of a batch: of shapes and of numbers that all share."""
    kinds = ir.Const | ir.Dim | ir.Apply | ir.Param
    return isinstance(stmt, ir.Require) and all(isinstance(e, kinds) for e in subexprs(stmt.cond))


def as_argument(decl: ir.ArrayDecl, ls: ir.LoopSet, batch: Batch) -> ir.ArrayDecl:
    """A parameter as memory that the caller looks at, whatever it was between sweeps; scratch as memory of its own."""
    if decl.name in batch.scratch:
        return replace(decl, role="local")
    return replace(decl, role="argument", extents=None) if decl.name in ls.params else decl


class Rewrite:
    """Statements of `ls` for the example that a loop is at; the arrays `mapped` have an axis for it."""

    def __init__(
        self, ls: ir.LoopSet, batch: Batch, mapped: frozenset[str], example: ir.Index, names: NameSupply
    ) -> None:
        self.ls, self.batch, self.mapped, self.example, self.names = ls, batch, mapped, example, names
        self.made: list[ir.ArrayDecl] = []

    def declared(self, decl: ir.ArrayDecl, size: ir.Expr) -> ir.ArrayDecl:
        extents = None if decl.extents is None else tuple(map(self.expr, decl.extents))
        if decl.name not in self.mapped:
            return replace(decl, extents=extents)
        assert decl.type is not None
        kind = replace(decl.type, rank=decl.type.rank + 1)
        return replace(decl, type=kind, extents=None if extents is None else (size, *extents))

    def expr(self, expr: ir.Expr) -> ir.Expr:
        return map_expr(self.node, expr)

    def node(self, expr: ir.Expr) -> ir.Expr:
        match expr:
            case ir.Dim(array=array, axis=axis) if array in self.mapped:
                return replace(expr, axis=axis + 1)
            case ir.Param(name=name) if name in self.batch.scalars:
                declared, own = self.ls.scalar(name).type, ELEMENT_TYPES[self.batch.scalars[name]]
                assert declared is not None
                return cast(ir.Load(ir.Access(name, (self.example,)), loc=expr.loc), own, declared)
            case _:
                return expr

    def access(self, access: ir.Access) -> ir.Access:
        if access.array not in self.mapped:
            return access
        return replace(access, subscripts=(self.example, *access.subscripts))

    def statement(self, stmt: ir.Stmt) -> tuple[ir.Stmt, ...]:
        moved = map_accesses(self.access, map_stmt_exprs(self.expr, stmt))
        return map_body((moved,), self.filled)

    def filled(self, stmt: ir.Stmt) -> tuple[ir.Stmt, ...]:
        """The part of an array that belongs to an example is filled, not the array."""
        if not isinstance(stmt, ir.Allocate) or stmt.array not in self.mapped:
            return (stmt,)
        if stmt.fill is None:
            return ()
        decl = self.ls.array(stmt.array)
        extents = [self.expr(e) for e in extents_of(decl)]
        loops, place = over_elements(extents, self.names, "d", stmt.loc)
        return nested(loops, (ir.Assign(ir.Access(stmt.array, (self.example, *place)), stmt.fill, loc=stmt.loc),))

    def results(self) -> tuple[tuple[ir.Result, ...], list[ir.Stmt], list[ir.Stmt]]:
        """The results, and what to do before the loop and at the end of its body."""
        types = type_env(self.ls)
        out: list[ir.Result] = []
        before: list[ir.Stmt] = []
        after: list[ir.Stmt] = []
        for place, result in enumerate(self.ls.results):
            if isinstance(result, ir.ArrayResult):
                out.append(result)
                continue
            kind, value = type_of(result.value, types), self.moved(result.value)
            name = self.names.fresh("result")
            if place in self.batch.sums:
                self.made.append(ir.ArrayDecl(name, ArrayType(kind.value, 0), "local", ()))
                before.append(ir.Assign(ir.Access(name), zero(kind)))
                after.append(ir.Accumulate("add", ir.Access(name), value))
                out.append(ir.ScalarResult(ir.Load(ir.Access(name))))
            else:
                dtype = self.batch.results[place]
                self.made.append(ir.ArrayDecl(name, ArrayType(dtype, 1), "local", ()))
                before.append(ir.Allocate(name))
                converted = cast(value, kind, ELEMENT_TYPES[dtype])
                after.append(ir.Assign(ir.Access(name, (self.example,)), converted))
                out.append(ir.ArrayResult(name))
        return tuple(out), before, after

    def moved(self, value: ir.Expr) -> ir.Expr:
        found = map_accesses(self.access, ir.Let("value", self.expr(value)))
        assert isinstance(found, ir.Let)
        return found.value
