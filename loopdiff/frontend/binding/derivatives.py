"""Calls of derivatives become their loops: in a bound LoopSet, where the types of their arguments are known.

What is the derivative's own, its tapes and adjoints, becomes local. Its arrays are those of the call, or rows of these,
and what the call fills is what the loops filled. From here on there is one program, to be fused, scheduled and
differentiated like any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from loopdiff.errors import LoopdiffError, Span, UnsupportedLoopError
from loopdiff.errors.codes import reject
from loopdiff.frontend.derivatives import Derivative, DerivedLoops, asked_here
from loopdiff.frontend.parsing.placing import placed_block, with_place
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import cast, nested, over_elements
from loopdiff.ir.names import NameSupply, supply
from loopdiff.ir.printer import print_expr
from loopdiff.ir.renaming import rename_everywhere
from loopdiff.ir.slicing import eliminate_dead
from loopdiff.ir.types import INT, ArrayType, ScalarType
from loopdiff.ir.typing import TypeEnv, type_env, type_of
from loopdiff.ir.verify import verify
from loopdiff.ir.walk import (
    all_statements,
    loads,
    map_accesses,
    map_blocks,
    map_body,
    map_expr,
    map_stmt_exprs,
    printed_in,
    stmt_exprs,
    subexprs,
    touched_arrays,
    written_arrays,
)

NEEDED = ": it needs "  # in messages, before the condition that shapes have to meet


def with_derivatives(ls: ir.LoopSet) -> ir.LoopSet:
    """The bound `ls` with loops in place of the derivatives that it calls.

    Raises UnsupportedLoopError: LD109 where arguments have other types than the parser took them to have, LD208 where
    what a derivative keeps has extents that are not known at entry.
    """
    if not any(isinstance(s, ir.Call) and isinstance(s.rule, Derivative) for s in all_statements(ls.body)):
        return ls
    writer = Writer(ls, supply(ls), type_env(ls), written_arrays(ls.body), names_seen(ls))
    body = writer.block(ls.body)
    used = touched_arrays(body) | writer.seen | set(ls.params)
    arrays = (a for a in (*ls.arrays, *writer.made) if a.extents == () or a.name in used)
    found = replace(ls, body=body, arrays=tuple(arrays))
    verify(found, "derivatives")
    return found


@dataclass(slots=True)
class Writer:
    """Writes out calls in `ls`, which has `written` arrays, and of whose arrays some are `seen` by more than the calls
    that fill them; `made` are the arrays that this takes."""

    ls: ir.LoopSet
    names: NameSupply
    env: TypeEnv
    written: frozenset[str]
    seen: frozenset[str]
    made: list[ir.ArrayDecl] = field(default_factory=list)

    def block(self, body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        out: list[ir.Stmt] = []
        for stmt in body:
            if isinstance(stmt, ir.Call) and isinstance(stmt.rule, Derivative):
                self.call(stmt, stmt.rule, out)
            else:
                out.append(map_blocks(self.block, stmt))
        return tuple(out)

    def call(self, stmt: ir.Call, rule: Derivative, out: list[ir.Stmt]) -> None:
        """The loops of the derivative; `out` are the statements before them."""
        args = dict(zip(rule.params, stmt.args, strict=True))
        loops, targets = self.wanted(self.loops(stmt, rule), stmt, rule, args)
        filled = [t for t, r in zip(targets, loops.results, strict=True) if isinstance(r, ir.ArrayResult)]
        given = {a.access.array for n, a in args.items() if n in rule.outputs and isinstance(a, ir.Load)}
        fresh = {s.array for s in trailing_allocations(out)} & given
        out[:] = [s for s in out if not (isinstance(s, ir.Allocate) and s.array in fresh and s.fill is None)]
        results = zip(targets, loops.results, strict=True)
        names = {r.array: t for t, r in results if isinstance(r, ir.ArrayResult)}
        names |= {n: self.names.fresh(n) for n in sorted(supply(loops).taken - set(names))}
        renamed = rename_everywhere(loops, names)  # parameters too: no name is one of the program around
        args = {names[n]: a for n, a in args.items() if n in names and a is not None}
        places, values = self.arguments(stmt, renamed, args, out)
        outside = Outside(places, values, {a.name: a for a in self.ls.arrays}, stmt.loc)
        entry = replace(outside, values={n: args[n] for n in values})
        for decl in renamed.arrays:
            if decl.name not in renamed.params and decl.name not in filled:
                self.made.append(replace(decl, extents=self.extents(decl, entry, stmt)))
        for one in renamed.body:
            out += outside.statement(one, frozenset(filled) - fresh, self.names)
        inner = type_env(renamed)
        for target, result in zip(targets, renamed.results, strict=True):
            if isinstance(result, ir.ScalarResult):
                kind = type_of(result.value, inner)
                stored = cast(outside.expr(result.value), kind, self.env.arrays[target].element)
                cell = ir.Access(target, loc=stmt.loc)
                out.append(ir.Assign(cell, with_place(stored, stmt.loc), loc=stmt.loc))

    def wanted(
        self, loops: ir.LoopSet, stmt: ir.Call, rule: Derivative, args: Mapping[str, ir.Expr | None]
    ) -> tuple[ir.LoopSet, list[str]]:
        """`loops` with the results that somebody looks at, and the cells and arrays that get them."""
        arrays = iter([a.access.array for n, a in args.items() if n in rule.outputs and isinstance(a, ir.Load)])
        cells = iter(stmt.results)
        targets = [next(arrays) if isinstance(r, ir.ArrayResult) else next(cells).array for r in loops.results]
        kept = [(t, r) for t, r in zip(targets, loops.results, strict=True) if t in self.seen]
        found = replace(loops, results=tuple(r for _, r in kept))
        return eliminate_dead(found, frozenset(loops.params) | printed_in(loops.body)), [t for t, _ in kept]

    def loops(self, stmt: ir.Call, rule: Derivative) -> ir.LoopSet:
        try:
            found = rule.bound
        except LoopdiffError as error:
            raise asked_here(error, rule.said, stmt.loc) from None
        if isinstance(found, DerivedLoops) and found.is_called_like(rule.made):
            return found.loops
        reason = found if isinstance(found, str) else "types of its arguments change later in the program"
        hint = "make them floating numbers from the start, as 0.0, and name what is differentiated: `wrt=`"
        raise UnsupportedLoopError(reject("LD109", f"`{rule.said}`: {reason}", stmt.loc, hint))

    def arguments(
        self, stmt: ir.Call, loops: ir.LoopSet, args: Mapping[str, ir.Expr], out: list[ir.Stmt]
    ) -> tuple[dict[str, ir.Access], dict[str, ir.Expr]]:
        """Where the arrays of `loops` are, and what its numbers are, evaluated once, ahead of the loops."""
        places: dict[str, ir.Access] = {}
        values: dict[str, ir.Expr] = {}
        for name in loops.params:
            arg = args[name]
            if loops.has_array(name):
                assert isinstance(arg, ir.Load)
                self.check_elements(stmt, loops.array(name), arg.access.array)
                subscripts = tuple(self.held(s, f"{name}_at", INT, stmt, out) for s in arg.access.subscripts)
                places[name] = replace(arg.access, subscripts=subscripts)
            else:
                kind = loops.scalar(name).type
                assert kind is not None
                number = with_place(cast(arg, type_of(arg, self.env), kind), stmt.loc)
                values[name] = self.held(number, name, kind, stmt, out)
        return places, values

    def check_elements(self, stmt: ir.Call, decl: ir.ArrayDecl, given: str) -> None:
        """Raise UnsupportedLoopError (LD109) for a direction with other elements than what it is a direction of."""
        assert decl.type is not None
        found = self.env.arrays[given].dtype
        if found != decl.type.dtype:
            assert isinstance(stmt.rule, Derivative)
            message = f"`{stmt.rule.said}` takes a direction of {decl.type.dtype} and gets {found}"
            hint = f"convert it: `.astype(np.{decl.type.dtype})`"
            raise UnsupportedLoopError(reject("LD109", message, stmt.loc, hint))

    def held(self, expr: ir.Expr, stem: str, kind: ScalarType, stmt: ir.Call, out: list[ir.Stmt]) -> ir.Expr:
        """`expr`, in a cell if it is more than a name that nothing changes."""
        if isinstance(expr, ir.Const | ir.Param | ir.Index | ir.Dim):
            return expr
        cell = ir.Access(self.names.fresh(stem), loc=stmt.loc)
        self.made.append(ir.ArrayDecl(cell.array, ArrayType(kind.value, 0), "local", (), loc=stmt.loc))
        out.append(ir.Assign(cell, expr, loc=stmt.loc))
        return ir.Load(cell, loc=stmt.loc)

    def extents(self, decl: ir.ArrayDecl, entry: Outside, stmt: ir.Call) -> tuple[ir.Expr, ...]:
        """The extents of an array of the loops, which must be known at entry."""
        found = tuple(map(entry.expr, decl.extents or ()))
        unknown = next((e for e in found if not self.is_static(e)), None)
        if unknown is not None:
            assert isinstance(stmt.rule, Derivative)
            message = f"`{stmt.rule.said}` keeps arrays whose extents depend on what is not known at entry"
            hint = "let loops of what it differentiates go over arrays and arguments that nothing changes"
            text = print_expr(unknown).replace("[]", "")
            raise UnsupportedLoopError(reject("LD208", f"{message}: `{text}`", stmt.loc, hint))
        return found

    def is_static(self, expr: ir.Expr) -> bool:
        """Whether `expr` has the same value at entry."""
        constant = set(self.ls.params) - self.written
        return not any(
            isinstance(e, ir.Index | ir.Var) or (isinstance(e, ir.Load) and e.access.array not in constant)
            for e in subexprs(expr)
        )


def names_seen(ls: ir.LoopSet) -> frozenset[str]:
    """Arrays and cells that `ls` reads or returns, but for calls that fill them."""
    exprs = [r.value for r in ls.results if isinstance(r, ir.ScalarResult)]
    for stmt in all_statements(ls.body):
        match stmt:
            case ir.Call(rule=Derivative() as rule, args=args):
                pairs = zip(rule.params, args, strict=True)
                exprs += [a for n, a in pairs if n not in rule.outputs and a is not None]
            case _:
                exprs += stmt_exprs(stmt)
    returned = {r.array for r in ls.results if isinstance(r, ir.ArrayResult)}
    return frozenset(returned | {load.access.array for e in exprs for load in loads(e)})


def trailing_allocations(body: list[ir.Stmt]) -> list[ir.Allocate]:
    """The allocations that `body` ends with."""
    found: list[ir.Allocate] = []
    for stmt in reversed(body):
        if not isinstance(stmt, ir.Allocate):
            break
        found.append(stmt)
    return found


@immutable
class Outside:
    """What the names of loops mean in the program around, which calls them at `span`: `places` of arrays, `values` of
    numbers."""

    places: Mapping[str, ir.Access]
    values: Mapping[str, ir.Expr]
    declared: Mapping[str, ir.ArrayDecl]
    span: Span
    spans: dict[Span, Span] = field(default_factory=dict)

    def at(self, span: Span) -> Span:
        """The place `span` of the function that is differentiated, as one that the call led to."""
        if span not in self.spans:
            is_own = span.line and span.called_from is None
            self.spans[span] = replace(span, called_from=self.span) if is_own else span if span.line else self.span
        return self.spans[span]

    def leaf(self, expr: ir.Expr) -> ir.Expr:
        match expr:
            case ir.Param(name=name):
                return self.values.get(name, expr)
            case ir.Dim(array=name, axis=axis) if name in self.places:
                place = self.places[name]
                axis += len(place.subscripts)
                decl = self.declared[place.array]
                return ir.Dim(place.array, axis, loc=self.span) if decl.extents is None else decl.extents[axis]
            case _:
                return replace(expr, loc=self.at(expr.loc))

    def expr(self, expr: ir.Expr) -> ir.Expr:
        found = self.one(ir.Require(expr, "", ""))
        assert isinstance(found, ir.Require)
        return found.cond

    def one(self, stmt: ir.Stmt) -> ir.Stmt:
        """`stmt` with the names of the program around."""

        def placed(s: ir.Stmt) -> tuple[ir.Stmt, ...]:
            found = replace(s, loc=self.at(s.loc))
            return (check_in_program(found) if isinstance(found, ir.Require) else found,)

        (found,) = map_body((map_stmt_exprs(lambda e: map_expr(self.leaf, e), stmt),), placed)
        return map_accesses(self.access, found)

    def access(self, access: ir.Access) -> ir.Access:
        place, span = self.places.get(access.array), self.at(access.loc)
        if place is None:
            return replace(access, loc=span)
        return ir.Access(place.array, (*place.subscripts, *access.subscripts), loc=span)

    def statement(self, stmt: ir.Stmt, filled: frozenset[str], names: NameSupply) -> tuple[ir.Stmt, ...]:
        """`stmt` in the program around, where arrays that are `filled` have their memory already."""
        match self.one(stmt):
            case ir.Allocate(array=array, fill=fill) if array in filled:
                if fill is None:
                    return ()
                loops, at = over_elements(self.declared[array].extents or (), names, "i", stmt.loc)
                return placed_block(nested(loops, (ir.Assign(ir.Access(array, at), fill, loc=self.span),)))
            case found:
                return (found,)


def check_in_program(stmt: ir.Require) -> ir.Require:
    """A check of the derivative, which the program may not come to: one that shapes and arguments decide is asked early
    where they also say whether it does (`passes.checks.early_checks`)."""
    if not all(isinstance(e, ir.Const | ir.Dim | ir.Param | ir.Apply) for e in subexprs(stmt.cond)):
        return replace(stmt, is_early=False)
    return replace(stmt, message=stmt.message.partition(NEEDED)[0], is_early=True)
