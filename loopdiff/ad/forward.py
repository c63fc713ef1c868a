"""Forward mode: the tangent LoopSet computes values and directional derivatives side by side, from the same table."""

from __future__ import annotations

from collections.abc import Mapping

from loopdiff.ad.emitter import Emitter
from loopdiff.ad.partials import partials, with_squares
from loopdiff.ad.regions import Region, mark_regions, region_of, where
from loopdiff.ad.ruled import cleared, constant_parts, given, is_asked, partial_calls, tangent_of_call
from loopdiff.ad.strength import Strength
from loopdiff.analysis.activity import Activity, analyse_activity, is_active
from loopdiff.canonical.simplify import simplify
from loopdiff.canonical.single_assignment import normalize
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import cast, compare, divide, is_constant, mul, strong_mul, zero
from loopdiff.ir.names import NameSupply, supply
from loopdiff.ir.ops import Op
from loopdiff.ir.slicing import eliminate_dead
from loopdiff.ir.types import ArrayType, ScalarType
from loopdiff.ir.typing import TypeEnv, type_env, type_of
from loopdiff.ir.walk import Path, map_blocks_at, map_expr, map_own_exprs, printed_in, subexprs, substitute

RESULT = ir.Var("$result")


def build_tangent(ls: ir.LoopSet, wrt: tuple[str, ...]) -> ir.LoopSet:
    """The normal LoopSet `ls` together with its derivative in a direction of the arguments `wrt`.

    Parameters: the arguments, then `X_tan` for each differentiated or written floating argument: for arrays the
    direction comes in and the tangent of the final value goes out. Results: those of `ls`, then the tangents of the
    floating ones. Raises DifferentiationError (LD4xx) where a derivative has no rule.
    """
    marked, regions = mark_regions(ls)
    names = supply(marked)
    activity = analyse_activity(marked, wrt)
    types = type_env(marked)
    # A returned array has a tangent even where no derivative flows into it.
    returned = {r.array for r in ls.results if isinstance(r, ir.ArrayResult) and types.arrays[r.array].element.is_float}
    scalars = set(wrt) & {s.name for s in ls.scalars}
    carried = sorted(activity.tracked | activity.active | returned | scalars)
    tangent_of = {n: names.fresh(f"{n}_tan") for n in carried}
    tangent = Tangent(marked, regions, activity, types, names, tangent_of, {})
    body = tangent.block(marked.body, ())
    emitter = Emitter(names)
    slopes: list[ir.Result] = []
    for result in marked.results:
        match result:
            case ir.ArrayResult(array=array) if array in tangent_of:
                slopes.append(ir.ArrayResult(tangent_of[array]))
            case ir.ScalarResult(value=value) if type_of(value, tangent.types).is_float:
                slopes.append(ir.ScalarResult(tangent.of(value, emitter)))
            case _:
                pass
    derived = replace(
        marked,
        name=f"{ls.name}_tangent",
        params=(*ls.params, *(tangent_of[p] for p in ls.params if p in tangent_of)),
        arrays=(*marked.arrays, *tangent_arrays(marked, tangent)),
        scalars=(*ls.scalars, *tangent_scalars(ls, tangent_of)),
        body=(*body, *emitter.out),
        results=(*marked.results, *slopes),
        returns_tuple=len(marked.results) + len(slopes) > 1,
    )
    return simplify(normalize(derived))


def build_pushforward(ls: ir.LoopSet, tangent: ir.LoopSet) -> ir.LoopSet:
    """The directional derivatives of `ls` without its results, from its `tangent`.

    Parameters: the arguments, which end as `ls` leaves them, then the tangents. Results: the tangents of the floating
    results of `ls`.
    """
    arrays = tuple(replace(a, role="argument", extents=None) if a.role == "tangent" else a for a in tangent.arrays)
    slopes = tangent.results[len(ls.results) :]
    alone = replace(tangent, name=f"{ls.name}_pushforward", arrays=arrays, results=slopes, returns_tuple=bool(slopes))
    return simplify(normalize(eliminate_dead(alone, frozenset(alone.params) | printed_in(alone.body))))


def tangent_arrays(ls: ir.LoopSet, tangent: Tangent) -> list[ir.ArrayDecl]:
    out: list[ir.ArrayDecl] = []
    for decl in ls.arrays:
        if decl.name in tangent.tangent_of:
            role = "local" if decl.role != "argument" else "tangent"
            assert decl.type is not None
            name, kind = tangent.tangent_of[decl.name], decl.type.slope
            out.append(replace(decl, name=name, type=kind, role=role, like=None, dtype_like=None))
    ties = [ir.ArrayDecl(n, ArrayType(k.value, 0), "local", ()) for n, k in tangent.ties.values()]
    return [*out, *ties]


def tangent_scalars(ls: ir.LoopSet, tangent_of: Mapping[str, str]) -> list[ir.ScalarDecl]:
    return [replace(s, name=tangent_of[s.name], is_weak=False) for s in ls.scalars if s.name in tangent_of]


@immutable
class Tangent:
    """Derives statements; `tangent_of` names the tangent of each carrier, `ties` the tie count of each region, and
    other cells of its own."""

    ls: ir.LoopSet
    regions: tuple[Region, ...]
    activity: Activity
    types: TypeEnv
    names: NameSupply
    tangent_of: Mapping[str, str]
    ties: dict[str, tuple[str, ScalarType]]

    # -- statements ------------------------------------------------------------------------------------------
    def block(self, body: tuple[ir.Stmt, ...], prefix: Path, offset: int = 0) -> tuple[ir.Stmt, ...]:
        return tuple(new for k, s in enumerate(body, offset) for new in self.statement(s, (*prefix, k)))

    def statement(self, stmt: ir.Stmt, path: Path) -> list[ir.Stmt]:
        match stmt:
            case ir.Loop() | ir.If():
                return [map_blocks_at(self.block, stmt, path)]
            case ir.Allocate(array=array) if array in self.tangent_of:
                return [stmt, replace(stmt, array=self.tangent_of[array], fill=zero(self.kind(array)))]
            case ir.Let(name=name) if any(name in (r.before, r.after) for r in self.regions):
                return self.edge(stmt)
            case ir.Let(name=name, value=value) if name in self.tangent_of:
                emitter = Emitter(self.names, stmt.loc)
                slope = self.of(value, emitter)
                held = ir.Let(self.tangent_of[name], slope, loc=stmt.loc)
                return [*emitter.out, shared(stmt, emitter), held]
            case ir.Assign(target=target, value=value) if target.array in self.tangent_of:
                emitter = Emitter(self.names, stmt.loc)
                slope = ir.Assign(self.tangent(target), self.of(value, emitter), loc=stmt.loc)
                return [*emitter.out, slope, shared(stmt, emitter)]
            case ir.Accumulate(op="add", target=target, value=value) if target.array in self.tangent_of:
                emitter = Emitter(self.names, stmt.loc)
                slope = self.of(value, emitter)
                step: list[ir.Stmt] = [ir.Accumulate("add", self.tangent(target), slope, loc=stmt.loc)]
                return [*emitter.out, *([] if is_constant(slope, 0) else step), shared(stmt, emitter)]
            case ir.Accumulate(target=target) if target.array in self.tangent_of:
                return self.extremum(stmt, path)
            case ir.Call():
                return self.call(stmt)
            case _:
                return [stmt]

    def call(self, stmt: ir.Call) -> list[ir.Stmt]:
        """The rule's own function for values and tangents; what it declares constant has the tangent zero."""
        asked = is_asked(stmt, "tangent", self.activity.active, self.tangent_of, self.types)
        emitter = Emitter(self.names, stmt.loc)
        made: list[ir.Stmt] = [stmt]
        constant = [] if asked else [r for r in stmt.results if r.array in self.tangent_of]
        if asked and stmt.rule.partials:
            return self.through_partials(stmt)
        if asked:
            scratch = self.names.fresh(f"{stmt.rule.name}_tan")
            kinds = [self.kind(r.array) for r in stmt.results if r.array not in self.tangent_of]
            self.ties.update((scratch, (scratch, k)) for k in kinds)
            made = tangent_of_call(stmt, self.types, self.tangent_of, lambda e: self.of(e, emitter), emitter, scratch)
        zeros = [ir.Assign(self.tangent(r), zero(self.kind(r.array)), loc=stmt.loc) for r in constant]
        parts = [p for p in constant_parts(stmt, asked) if p.array in self.tangent_of]
        clear = [cleared(p, self.tangent_of[p.array], self.ls, self.names) for p in parts]
        return [*emitter.out, *made, *zeros, *clear]

    def through_partials(self, stmt: ir.Call) -> list[ir.Stmt]:
        """The tangent of the result is the sum of those of the numbers, each times the derivative by it."""
        emitter, args, (result,) = Emitter(self.names, stmt.loc), given(stmt), stmt.results
        total: ir.Expr | None = None
        for partial in partial_calls(stmt, self.types, self.activity.active, self.names):
            arg = args[partial.name]
            self.ties[partial.cell] = (partial.cell, partial.own_kind)
            emitter.emit(partial.statement(stmt.args))
            term = partial.scaled(self.of(arg, emitter), type_of(arg, self.types), partial.kind)
            total = term if total is None else ir.Apply(Op.ADD, (total, term))
        slope = zero(self.kind(result.array)) if total is None else total
        return [*emitter.out, ir.Assign(self.tangent(result), slope, loc=stmt.loc), stmt]

    def kind(self, array: str) -> ScalarType:
        return self.types.arrays[array].element

    def tangent(self, target: ir.Access) -> ir.Access:
        return replace(target, array=self.tangent_of[target.array])

    def edge(self, stmt: ir.Let) -> list[ir.Stmt]:
        """Entering a region one value attains the extremum; leaving it, the tangents of all that do are averaged."""
        region = next(r for r in self.regions if stmt.name in (r.before, r.after))
        array = region.target.array
        if array not in self.tangent_of:
            return [stmt]
        kind = self.kind(array)
        slope = self.tangent(region.target)
        held: list[ir.Stmt] = []
        if stmt.name in self.tangent_of:
            held = [ir.Let(self.tangent_of[stmt.name], where(region.reach, ir.Load(slope), kind), loc=stmt.loc)]
        if stmt.name == region.before:
            self.ties[region.after] = (self.names.fresh(f"{array}_ties"), kind)
            return [stmt, *held, ir.Assign(ir.Access(self.ties[region.after][0]), ir.Const(1.0, kind), loc=stmt.loc)]
        mean = divide(ir.Load(slope), ir.Load(ir.Access(self.ties[region.after][0])))
        final = ir.Load(region.target)
        attained = where(compare(Op.EQ, final, final), mean, kind)  # nothing attains NaN
        averaged = ir.Assign(slope, attained, loc=stmt.loc)
        guarded = averaged if region.reach is None else ir.If(region.reach, (averaged,), loc=stmt.loc)
        return [stmt, guarded, *held]

    def extremum(self, stmt: ir.Accumulate, path: Path) -> list[ir.Stmt]:
        """Keep the sum of the tangents of the operands that attain the extremum so far, and how many they are."""
        array, kind = stmt.target.array, self.kind(stmt.target.array)
        ties = ir.Access(self.ties[region_of(self.regions, path, array).after][0])
        emitter = Emitter(self.names, stmt.loc)
        slope = emitter.hold(self.of(stmt.value, emitter), "slope")
        value = emitter.hold(stmt.value, "operand")
        current = ir.Load(stmt.target, loc=stmt.loc)
        better = compare(Op.GT if stmt.op == "max" else Op.LT, value, current)
        target, one = self.tangent(stmt.target), ir.Const(1.0, kind)
        tie = ir.If(
            compare(Op.EQ, value, current),
            (ir.Accumulate("add", target, slope, loc=stmt.loc), ir.Accumulate("add", ties, one, loc=stmt.loc)),
            loc=stmt.loc,
        )
        replaced = (ir.Assign(target, slope, loc=stmt.loc), ir.Assign(ties, one, loc=stmt.loc))
        return [*emitter.out, ir.If(better, replaced, (tie,), loc=stmt.loc), replace(stmt, value=value)]

    # -- expressions -----------------------------------------------------------------------------------------
    def of(self, expr: ir.Expr, emitter: Emitter | None) -> ir.Expr:
        """The tangent of `expr`; `emitter` None: as one closed expression."""
        kind = type_of(expr, self.types)
        if not is_active(expr, self.activity.active | set(self.tangent_of), self.types):
            return zero(kind)
        match expr:
            case ir.Load(access=access):
                return replace(expr, access=self.tangent(access))
            case ir.Var(name=name):
                return ir.Var(self.tangent_of[name])
            case ir.Param(name=name):
                return ir.Param(self.tangent_of[name])
            case ir.Cast(value=value, dtype=dtype):
                return cast(self.of(value, emitter), type_of(value, self.types), dtype)
            case ir.Select(cond=cond, then=then, orelse=orelse):
                return ir.Select(cond, self.of(then, None), self.of(orelse, None))
            case ir.Apply():
                return self.of_apply(expr, kind, emitter)
            case _:
                return zero(kind)

    def of_apply(self, expr: ir.Apply, kind: ScalarType, emitter: Emitter | None) -> ir.Expr:
        expr = with_squares(expr)
        slopes = [self.of(a, emitter) for a in expr.args]
        args = tuple(a if isinstance(a, ir.Const) else ir.Var(f"${k}") for k, a in enumerate(expr.args))
        table = partials(replace(expr, args=args), kind, RESULT)
        total: ir.Expr | None = None
        strength = Strength(self.types)

        def hold(slope: ir.Expr) -> ir.Expr:
            return slope if emitter is None else emitter.hold(slope, "slope")

        for position, (slope, partial) in enumerate(zip(slopes, table, strict=True)):
            if is_constant(slope, 0) or is_constant(partial, 0):
                continue
            factor = self.provide(partial, expr, emitter)
            term = strength.times(expr, position, slope, factor, hold)
            if term is None and strength.is_needed(expr, position, partial):
                term = strong_mul(hold(slope), factor)
            elif term is None:
                term = mul(factor, slope)
            total = term if total is None else ir.Apply(Op.ADD, (total, term))
        return zero(kind) if total is None else total

    def provide(self, partial: ir.Expr, expr: ir.Apply, emitter: Emitter | None) -> ir.Expr:
        """`partial` with its placeholders replaced by the operands and the value of `expr`."""
        values: dict[str, ir.Expr] = {}
        for name in sorted({e.name for e in subexprs(partial) if isinstance(e, ir.Var)}):
            source = expr if name == RESULT.name else expr.args[int(name[1:])]
            values[name] = source if emitter is None else emitter.share(source)
        return map_expr(lambda e: values[e.name] if isinstance(e, ir.Var) and e.name in values else e, partial)


def shared(stmt: ir.Stmt, emitter: Emitter) -> ir.Stmt:
    """`stmt` with what `emitter` already holds put in place of the expressions it repeats."""

    return map_own_exprs(lambda e: substitute(e, emitter.shared), stmt)
