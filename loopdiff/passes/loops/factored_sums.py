"""Factoring of sums of products: what a sum does not depend on is taken out of it; sums that are left alike are one.

    for i in range(M):                                   for k in range(K):
        for j in range(N):                                   for j in range(N):
            for k in range(K):                                   t[k, j] = 0.0
                s += A[i, k] * B[k, j] * D[i, j]                 for i in range(M):
                E[i, k] += c * D[i, j] * B[k, j]                     t[k, j] += A[i, k] * D[i, j]
                F[k, j] += c * D[i, j] * A[i, k]    becomes  for k in range(K):
                                                             for j in range(N):
                                                                 s += B[k, j] * t[k, j]
                                                                 F[k, j] += c * t[k, j]
                                                         for i in range(M):
                                                             for j in range(N):
                                                                 for k in range(K):
                                                                     E[i, k] += c * D[i, j] * B[k, j]

A product distributes over the sum of its other factors (Aji and McEliece, "The generalized distributive law", 2000): on
the left `s` is a sum of three factors that no register tile has, on the right what is left of it is the product of two
matrices that `F` needs as well. The reverse of `C += c * A @ B` is of this kind, with `s` the adjoint of `c`; so is a
quadratic form of each row, `q[b] += x[b, i] * W[i, j] * x[b, j]`. An adjoint that is the same for all of a sum of
slopes is taken out as it is: where it is zero it contributes nothing, whatever the sum.

Sums may come in any order (`fastmath`), and products that decisions depend on are strict, which are no products here.
Where nothing is summed nothing is added, whatever the other factors are: NaN times an empty sum is no zero. The sum
takes an array no larger than one that the nest goes through anyway, and pays where fewer operations are left, and what
is summed is a product of matrices, which is bound by arithmetic rather than by memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import combinations
from typing import TypeGuard

from loopdiff.analysis.contractions import Contraction, access_indices, accumulation, is_uniform
from loopdiff.analysis.polyhedral.model import Model, build_model
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import all_of, compare, is_constant, mul, natural, neg, nested, sub, zero
from loopdiff.ir.names import NameSupply, supply
from loopdiff.ir.ops import Op
from loopdiff.ir.printer import print_expr
from loopdiff.ir.renaming import renamed_block
from loopdiff.ir.types import ArrayType
from loopdiff.ir.typing import TypeEnv, type_env, type_of
from loopdiff.ir.walk import Path, Site, all_statements, has_values, indices_in, loads_in, statements, written_arrays
from loopdiff.model.register_tiles import as_product
from loopdiff.model.trip_counts import Extents, TripCounter
from loopdiff.passes.loops.distribution import repeats_functions, split, upright

PRODUCT_LOOPS = 3  # of a product of matrices: rows, columns, and what is summed over
MOST_LOOPS = 6  # of a nest, whose sets of loops are all tried
LEAST_TRIPS = 8  # of each of its loops, where that is known: as many as vectors have lanes
MOST_FACTORS = 8  # that are looked at ahead
TILE_OPERATIONS = 2  # of each product in a register tile: all that scales it is multiplied later
UPDATE_OPERATIONS = 4  # of each update from a sum that is made: the sum is stored and loaded, and the update likewise


def factor_sums(ls: ir.LoopSet, names: NameSupply | None = None) -> ir.LoopSet:
    """`ls` with factors taken out of the sums that do not need them, and sums of the same products made once.

    New local arrays, the last of the result's and allocated where it begins, hold these sums.
    """
    if not any(is_promising(s) for s in all_statements(ls.body)):
        return ls
    tidy = upright(ls)
    factorer = Factorer(build_model(tidy), type_env(tidy), names or supply(ls), [])
    body = factorer.block(tidy.body, ())
    if not factorer.arrays:
        return ls
    fresh = tuple(ir.Allocate(a.name) for a in factorer.arrays)
    return replace(tidy, arrays=(*ls.arrays, *factorer.arrays), body=(*fresh, *body))


# -- a first look, before any dependence is asked for ------------------------------------------------------------
def is_promising(stmt: ir.Stmt) -> bool:
    """Whether `stmt` is a loop around a sum of two elements times what does not depend on all of the loops."""
    if not isinstance(stmt, ir.Loop):
        return False
    sites = list(statements((stmt,)))
    lets = {s.stmt.name: s.stmt.value for s in sites if isinstance(s.stmt, ir.Let)}
    return any(is_promising_sum(s, lets) for s in sites)


def is_promising_sum(site: Site, lets: Mapping[str, ir.Expr]) -> bool:
    inside = frozenset(p.index for p in site.loops)
    if not is_added(site.stmt) or site.is_conditional or not PRODUCT_LOOPS <= len(inside) <= MOST_LOOPS:
        return False
    summed = inside - access_indices(site.stmt.target)
    parts = visible_factors(site.stmt.value, lets)
    return any(
        indices_in(a, b) == inside and any(is_outside(f, summed & indices_in(a) & indices_in(b)) for f in others)
        for a, b, others in pairs(parts)
    )


def is_added(stmt: ir.Stmt) -> TypeGuard[ir.Accumulate]:
    return isinstance(stmt, ir.Accumulate) and stmt.op == "add"


def is_outside(factor: ir.Expr, summed: frozenset[str]) -> bool:
    """Whether a factor of the loops does not depend on all that is `summed` over."""
    found = indices_in(factor)
    return bool(found) and bool(summed - found)


def visible_factors(value: ir.Expr, lets: Mapping[str, ir.Expr]) -> list[ir.Expr]:
    """The first few factors of a product, with `lets` in place that are products themselves."""
    pending, found = [value], list[ir.Expr]()
    while pending and len(found) < MOST_FACTORS:
        match pending.pop():
            case ir.Apply(op=Op.MUL | Op.NEG | Op.STRONG_MUL, args=args):
                pending += args
            case ir.Var(name=name) if name in lets:
                pending.append(lets[name])
            case other:
                found.append(other)
    return found


def pairs(parts: Sequence[ir.Expr]) -> Iterator[tuple[ir.Load, ir.Load, list[ir.Expr]]]:
    """Two elements among the factors of a product, and its other factors."""
    for first, second in combinations(range(len(parts)), 2):
        match parts[first], parts[second]:
            case ir.Load() as a, ir.Load() as b:
                yield a, b, [f for k, f in enumerate(parts) if k not in (first, second)]


# -- sums of products --------------------------------------------------------------------------------------------
@immutable
class Sum:
    """`update` in the `loops` adds the product of `factors`, or subtracts it; it is the statement at `place`.

    Where the `adjoint` is given, that is multiplied by this product, and contributes nothing where it is zero.
    """

    place: int
    loops: tuple[ir.Loop, ...]
    update: ir.Accumulate
    factors: tuple[ir.Expr, ...]
    is_negative: bool
    adjoint: ir.Expr | None = None

    @property
    def target(self) -> ir.Access:
        return self.update.target

    @property
    def free(self) -> tuple[str, ...]:
        """The loops that the sum may be made over before anything else is multiplied."""
        fixed = access_indices(self.target) | (indices_in(self.adjoint) if self.adjoint is not None else frozenset())
        return tuple(p.index for p in self.loops if p.index not in fixed)

    @property
    def value(self) -> ir.Expr:
        """What is added, or subtracted."""
        return self.times(self.factors)

    def times(self, parts: Iterable[ir.Expr]) -> ir.Expr:
        """What is added, or subtracted, where `parts` are the factors."""
        product = reduce(mul, parts)
        return product if self.adjoint is None else ir.Apply(Op.STRONG_MUL, (self.adjoint, product))

    def rest(self, over: frozenset[str]) -> tuple[ir.Expr, ...]:
        """The factors that do not depend on the loops `over`."""
        return tuple(f for f in self.factors if not over & indices_in(f))


@immutable
class Inner:
    """The sum over the loops `over` of the product of `parts`, which `users` multiply by what they have besides.

    `kept` are the other loops, in the order of the axes of an array that is as large as the sum.
    """

    over: tuple[ir.Loop, ...]
    kept: tuple[ir.Loop, ...]
    parts: tuple[ir.Expr, ...]
    users: tuple[Sum, ...]

    @property
    def summed(self) -> frozenset[str]:
        return frozenset(p.index for p in self.over)

    @property
    def value(self) -> ir.Expr:
        return reduce(mul, self.parts)


def sums_of(pieces: Sequence[ir.Stmt], types: TypeEnv) -> Iterator[Sum]:
    """The pieces that are perfect nests around a sum of a product of numbers of one type, which it does not read."""
    for place, piece in enumerate(pieces):
        found = accumulation(piece)
        if found is None or found.start is not None or not PRODUCT_LOOPS <= len(found.loops) <= MOST_LOOPS:
            continue
        kind = types.arrays[found.update.target.array].element
        if is_uniform(found, types) and all(is_constant(p.step, 1) for p in found.loops):
            is_negative, parts, adjoint = in_factors(found.summand)
            if all(type_of(f, types) == kind for f in (*parts, *([] if adjoint is None else [adjoint]))):
                yield Sum(place, found.loops, found.update, parts, is_negative, adjoint)


def in_factors(value: ir.Expr) -> tuple[bool, tuple[ir.Expr, ...], ir.Expr | None]:
    """Whether a product is negative, its factors, and the adjoint that it is the slope of, if it is one."""
    match value:
        case ir.Apply(op=Op.NEG, args=(a,)):
            is_negative, parts, adjoint = in_factors(a)
            return not is_negative, parts, adjoint
        case ir.Apply(op=Op.STRONG_MUL, args=(adjoint, slope)):
            is_negative, parts = signed_factors(slope)
            return is_negative, parts, adjoint
        case _:
            return *signed_factors(value), None


def signed_factors(value: ir.Expr) -> tuple[bool, tuple[ir.Expr, ...]]:
    """Whether a product is negative, and its factors."""
    match value:
        case ir.Apply(op=Op.NEG, args=(a,)):
            is_negative, parts = signed_factors(a)
            return not is_negative, parts
        case ir.Apply(op=Op.MUL, args=(a, b)):
            (first, left), (second, right) = signed_factors(a), signed_factors(b)
            return first != second, left + right
        case _:
            return False, (value,)


def inner_sums(sums: Sequence[Sum]) -> Iterator[Inner]:
    """What can be taken out of the `sums`, each with all that it may be taken out of."""
    users: dict[tuple[tuple[ir.Loop, ...], frozenset[str], tuple[str, ...]], list[Sum]] = {}
    for found in sums:
        heads = tuple(replace(p, body=()) for p in found.loops)
        for count in range(1, len(found.free) + 1):
            for over in map(frozenset, combinations(found.free, count)):
                parts = sorted(print_expr(f) for f in found.factors if over & indices_in(f))
                users.setdefault((heads, over, tuple(parts)), []).append(found)
    for (heads, over, _), found in users.items():
        parts = tuple(f for f in found[0].factors if over & indices_in(f))
        kept = axes(found, over)
        if len(parts) == 2 and all(isinstance(f, ir.Load) for f in parts) and kept is not None:
            summed = tuple(p for p in heads if p.index in over)
            loops = tuple(next(p for p in heads if p.index == k) for k in kept)
            if indices_in(*parts) == over | set(kept) and depend_on(loops, ()) and depend_on(summed, kept):
                yield Inner(summed, loops, parts, tuple(found))


def axes(users: Sequence[Sum], over: frozenset[str]) -> tuple[str, ...] | None:
    """The loops that are not summed `over`, as an array has them that one of `users` has to do with; None if none has
    them all."""
    kept = frozenset(p.index for p in users[0].loops) - over
    for user in users:
        for access in (*(f.access for f in user.rest(over) if isinstance(f, ir.Load)), user.target):
            if access_indices(access) == kept:
                order = dict.fromkeys(k for s in access.subscripts for k in sorted(indices_in(s)))
                return tuple(order)
    return None


def depend_on(loops: Iterable[ir.Loop], known: Iterable[str]) -> bool:
    """Whether the ranges of `loops` depend on arguments and the indices `known` alone."""
    bounds = [b for p in loops for b in (p.lower, p.upper)]
    return indices_in(*bounds) <= set(known) and not has_values(*bounds)


# -- nests anew --------------------------------------------------------------------------------------------------
@immutable
class Factorer:
    """Nests of `model` with sums factored; `arrays` are those that hold these."""

    model: Model
    types: TypeEnv
    names: NameSupply
    arrays: list[ir.ArrayDecl]

    def block(self, body: tuple[ir.Stmt, ...], prefix: Path) -> tuple[ir.Stmt, ...]:
        """`body` with its outermost nests that can be distributed and factored."""
        out: list[ir.Stmt] = []
        for number, stmt in enumerate(body):
            path = (*prefix, number)
            found = self.factored(stmt, path) if isinstance(stmt, ir.Loop) and is_promising(stmt) else None
            match found, stmt:
                case None, ir.Loop(body=inner):
                    out.append(replace(stmt, body=self.block(inner, path)))
                case None, _:
                    out.append(stmt)
                case nests, _:
                    out += nests
        return tuple(out)

    def factored(self, loop: ir.Loop, path: Path) -> list[ir.Stmt] | None:
        """`loop` distributed, with sums of its pieces factored; None where that leaves no fewer operations."""
        pieces: list[ir.Loop] = split(self.model, loop, path)
        if repeats_functions(pieces):
            return None
        sums = list(sums_of(pieces, self.types))
        blocks: list[tuple[ir.Stmt, ...]] = [(p,) for p in pieces]
        before = len(sums)
        while (best := self.best(sums, blocks)) is not None:
            inner, place = best
            taken = {u.place for u in inner.users}
            blocks = [() if k in taken else block for k, block in enumerate(blocks)]
            blocks[place] = self.nests(inner)
            sums = [s for s in sums if s.place not in taken]
        if len(sums) == before:
            return None
        return [s for block in blocks for nest in block for s in renamed_block((nest,), self.names)]

    def best(self, sums: Sequence[Sum], blocks: Sequence[tuple[ir.Stmt, ...]]) -> tuple[Inner, int] | None:
        """What saves most operations when it is made in a register tile, and the place of a piece where it may be."""
        found: list[tuple[tuple[float, bool], Inner, int]] = []
        for inner in inner_sums(sums):
            saved, place = self.saved(inner), meeting_place(inner.users, blocks)
            product = as_product(self.declared(inner), self.product(inner)) if saved > 0 and place is not None else None
            if product is not None and place is not None:
                found.append(((saved, not product.is_packed), inner, place))
        return max(found, key=lambda f: f[0])[1:] if found else None

    def saved(self, inner: Inner) -> float:
        """Operations that go, as far as the lengths of the loops are known."""
        trips = TripCounter.of(self.model.ls, Extents()).nest_trips(inner.users[0].loops, {})
        if min(trips.values()) < LEAST_TRIPS:
            return 0.0
        kept, whole = iterations(trips, inner.kept), iterations(trips, inner.users[0].loops)
        before = sum(whole * self.operations(u) for u in inner.users)
        after = kept * sum(len(u.rest(inner.summed)) + UPDATE_OPERATIONS for u in inner.users)
        return before - after - TILE_OPERATIONS * whole

    def operations(self, found: Sum) -> int:
        """Operations of one product that is added, as the nest is."""
        is_tile = found.target.subscripts and as_product(self.model.ls, as_contraction(found)) is not None
        return TILE_OPERATIONS if is_tile else len(found.factors) + (found.adjoint is not None)

    # -- the array of the sums -----------------------------------------------------------------------------------
    def array(self, inner: Inner) -> ir.ArrayDecl:
        """The array for the sums, without a name yet."""
        kind = self.types.arrays[inner.users[0].target.array].element
        extents = tuple(natural(sub(p.upper, p.lower)) for p in inner.kept)
        return ir.ArrayDecl("", ArrayType(kind.value, len(extents)), "local", extents)

    def declared(self, inner: Inner) -> ir.LoopSet:
        return replace(self.model.ls, arrays=(*self.model.ls.arrays, self.array(inner)))

    def product(self, inner: Inner, name: str = "") -> Contraction:
        """The sum in an array called `name`."""
        update = ir.Accumulate("add", element(name, inner), inner.value, loc=inner.users[0].update.loc)
        return Contraction((*inner.kept, *inner.over), update, inner.value, None)

    def nests(self, inner: Inner) -> tuple[ir.Stmt, ...]:
        """The nest of the sum, and the one of all that uses it."""
        name = self.names.fresh("inner")
        self.arrays.append(replace(self.array(inner), name=name))
        found, kind = self.product(inner, name), self.types.arrays[inner.users[0].target.array].element
        start = ir.Assign(found.update.target, zero(kind), loc=found.update.loc)
        (summing,) = nested(inner.kept, (start, *nested(inner.over, (found.update,))))
        return (summing, updating(inner, ir.Load(found.update.target)))


def iterations(trips: Mapping[str, float], loops: Iterable[ir.Loop]) -> float:
    return reduce(lambda count, p: count * trips[p.index], loops, 1.0)


def as_contraction(found: Sum) -> Contraction:
    return Contraction(found.loops, found.update, found.value, None)


def element(name: str, inner: Inner) -> ir.Access:
    return ir.Access(name, tuple(sub(ir.Index(p.index), p.lower) for p in inner.kept))


def updating(inner: Inner, total: ir.Expr) -> ir.Stmt:
    """The updates by all users of a sum, given its `total`, where anything was summed."""
    body: tuple[ir.Stmt, ...] = ()
    for user in inner.users:
        value = user.times((*user.rest(inner.summed), total))
        body += (replace(user.update, value=neg(value) if user.is_negative else value),)
    cond = all_of(compare(Op.LT, p.lower, p.upper) for p in inner.over)
    varying = [k for k, p in enumerate(inner.kept) if p.index in indices_in(cond)]
    outside = varying[-1] + 1 if varying else 0
    guarded = ir.If(cond, nested(inner.kept[outside:], body), loc=inner.over[0].loc)
    return nested(inner.kept[:outside], (guarded,))[0]


def meeting_place(users: Sequence[Sum], blocks: Sequence[tuple[ir.Stmt, ...]]) -> int | None:
    """The place of one of `users` that the others may be moved to; None if there is none."""
    targets = {u.target.array for u in users}
    if any(targets & loaded(blocks[u.place]) for u in users):
        return None
    for home in (u.place for u in users):
        between = ((u.place, k) for u in users for k in range(min(u.place, home), max(u.place, home) + 1))
        if all(commute(blocks[a], blocks[b]) for a, b in between if a != b):
            return home
    return None


def commute(first: tuple[ir.Stmt, ...], second: tuple[ir.Stmt, ...]) -> bool:
    """Whether two nests may change places: neither writes what the other reads, and what both write they add to."""
    if written_arrays(first) & loaded(second) or written_arrays(second) & loaded(first):
        return False
    both = written_arrays(first) & written_arrays(second)
    writes = (s for s in all_statements((*first, *second)) if both & written_arrays((s,)))
    return all(is_added(s) or isinstance(s, ir.Loop) for s in writes)


def loaded(body: tuple[ir.Stmt, ...]) -> frozenset[str]:
    return frozenset(e.access.array for e in loads_in(body))
