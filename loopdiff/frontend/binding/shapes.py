"""Shapes at bind time: ranks become numbers, extents of local arrays become expressions known at entry.

One forward walk carries what integer cells are known to hold, so that `n = A.shape[0] - 1; t = np.empty(n)`
gives `t` the extent `A.shape[0] - 1`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from loopdiff.errors import Diagnostic, Span
from loopdiff.errors.codes import reject
from loopdiff.frontend.binding.types import plural
from loopdiff.frontend.derivatives import Derivative
from loopdiff.frontend.parsing.folding import FOLD, binary
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import Op
from loopdiff.ir.printer import print_expr
from loopdiff.ir.walk import map_expr, map_stmt_exprs, subexprs, written_arrays

Known = dict[str, ir.Expr]
MOST_NODES = 500  # of what a cell holds: cells that are computed from each other in turn double it with each step
SHAPE_CODES = ("LD310", "LD320", "LD321", "LD322")


@dataclass(slots=True)
class Shapes:
    """`ranks` of argument arrays; `extents` of local arrays, filled in as the walk meets their allocation."""

    decls: Mapping[str, ir.ArrayDecl]
    ranks: Mapping[str, int]
    written: frozenset[str]
    extents: dict[str, tuple[ir.Expr, ...]] = field(default_factory=dict)
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def rank(self, array: str) -> int:
        return self.ranks[array] if array in self.ranks else len(self.extents[array])

    def is_cell(self, array: str) -> bool:
        decl = self.decls.get(array)
        return decl is not None and decl.role == "local" and decl.extents == ()

    # -- expressions -----------------------------------------------------------------------------------------
    def resolve(self, expr: ir.Expr) -> ir.Expr:
        """`expr` without SizeOf and RankOf, Dims of local arrays and negative axes, and folded."""
        return map_expr(self.resolve_node, expr)

    def resolve_node(self, expr: ir.Expr) -> ir.Expr:
        match expr:
            case ir.RankOf(array=array):
                return ir.Const(self.rank(array), loc=expr.loc)
            case ir.SizeOf(array=array):
                return self.size(array, expr)
            case ir.Dim(array=array, axis=axis):
                return self.dim(array, axis, expr)
            case ir.Apply(op=op, args=(ir.Const(dtype=None) as a, ir.Const(dtype=None) as b)) if op in FOLD:
                return binary(op, a, b, expr.loc)
            case ir.Apply(op=Op.NOT, args=(ir.Const(value=a),)):
                return ir.Const(not a, loc=expr.loc)
            case ir.Select(cond=ir.Const(value=value), then=then, orelse=orelse):
                return then if value else orelse
            case _:
                return expr

    def size(self, array: str, expr: ir.SizeOf) -> ir.Expr:
        product: ir.Expr = ir.Const(1, loc=expr.loc)
        for axis in range(self.rank(array)):
            extent = self.dim(array, axis, ir.Dim(array, axis, loc=expr.loc))
            product = extent if axis == 0 else ir.Apply(Op.MUL, (product, extent), loc=expr.loc)
        return product

    def dim(self, array: str, axis: int, expr: ir.Dim) -> ir.Expr:
        rank = self.rank(array)
        if not -rank <= axis < rank:
            if not any(d.span == expr.loc for d in self.diagnostics):
                axes = plural(rank, "axis", "axes")
                self.refuse("LD207", f"`{array}` has {axes}: there is no `{print_expr(expr)}`", expr.loc)
            return ir.Const(0, loc=expr.loc)
        axis %= rank
        if array in self.extents:
            return self.extents[array][axis]
        return replace(expr, axis=axis)

    def refuse(self, code: str, message: str, span: Span, hint: str | None = None) -> None:
        found = reject(code, message, span, hint)
        if found not in self.diagnostics:
            self.diagnostics.append(found)

    # -- statements ------------------------------------------------------------------------------------------
    def block(self, body: tuple[ir.Stmt, ...], known: Known) -> tuple[tuple[ir.Stmt, ...], Known]:
        out: list[ir.Stmt] = []
        for stmt in body:
            new, known = self.statement(stmt, known)
            out += new
        return tuple(out), known

    def function(self, body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
        """The body of the function, with what it requires of shapes ahead of what it does."""
        out: list[ir.Stmt] = []
        known: Known = {}
        front = 0
        for stmt in body:
            new, known = self.statement(stmt, known)
            for one in new:
                match one:
                    case ir.Require(cond=cond, code=code) if code in SHAPE_CODES and self.is_static(
                        static := self.resolve(substituted(cond, known))
                    ):
                        if not any(isinstance(s, ir.Require) and s.cond == static for s in out[:front]):
                            out.insert(front, replace(one, cond=static))
                            front += 1
                    case _:
                        out.append(one)
                        front = len(out) if isinstance(one, ir.Require) else front
        return tuple(out)

    def statement(self, stmt: ir.Stmt, known: Known) -> tuple[tuple[ir.Stmt, ...], Known]:
        match stmt:
            case ir.Loop(lower=lower, upper=upper, step=step, body=body):
                known = forget(known, written_arrays(body))
                inner, _ = self.block(body, known)
                bounds = {
                    "lower": self.resolve(lower),
                    "upper": self.resolve(upper),
                    "step": self.resolve(step),
                }
                return (replace(stmt, body=inner, **bounds),), known
            case ir.If():
                return self.branch(stmt, known)
            case ir.Require(cond=cond, code=code, message=message):
                checked = self.resolve(cond)
                if isinstance(checked, ir.Const) and (checked.value or code == "LD207"):
                    if not checked.value:
                        self.refuse_unpacking(stmt, message)
                    return (), known
                return (replace(stmt, cond=checked),), known
            case ir.Exit(cond=cond):
                return (replace(stmt, cond=self.resolve(cond)),), known
            case ir.Allocate(array=array):
                self.allocate(stmt, known)
                return (map_stmt_exprs(self.resolve, replace(stmt, array=array)),), known
            case ir.Assign() | ir.Accumulate():
                stmt = map_stmt_exprs(self.resolve, stmt)
                return (stmt,), self.learned(stmt, known)
            case ir.Call(rule=Derivative(), args=args):
                # What a derivative keeps is sized by its arguments: they are what they are known to be at entry.
                held = tuple(known.get(a.access.array, a) if isinstance(a, ir.Load) else a for a in args)
                return (map_stmt_exprs(self.resolve, replace(stmt, args=held)),), known
            case ir.Call():
                return (map_stmt_exprs(self.resolve, stmt),), forget(known, {r.array for r in stmt.results})
            case _:
                return (stmt,), known

    def refuse_unpacking(self, stmt: ir.Require, message: str) -> None:
        """`M, N = A.shape` for an array with another number of axes, or `a, b = A[0]` of other elements than two."""
        ranks = [e for e in subexprs(stmt.cond) if isinstance(e, ir.RankOf)]
        if not ranks:
            self.refuse("LD207", message, stmt.loc)
        for e in ranks:
            axes = plural(self.rank(e.array), "axis", "axes")
            self.refuse("LD207", f"{message}, but `{e.array}` has {axes}", stmt.loc)

    def branch(self, stmt: ir.If, known: Known) -> tuple[tuple[ir.Stmt, ...], Known]:
        cond = self.resolve(stmt.cond)
        if isinstance(cond, ir.Const):
            return self.block(stmt.then if cond.value else stmt.orelse, known)
        then, after_then = self.block(stmt.then, known)
        orelse, after_else = self.block(stmt.orelse, known)
        both = {c: e for c, e in after_then.items() if after_else.get(c) == e}
        return (replace(stmt, cond=cond, then=then, orelse=orelse),), both

    def learned(self, stmt: ir.Stmt, known: Known) -> Known:
        """What cells hold after an assignment."""
        match stmt:
            case ir.Assign(target=ir.Access(array=cell), value=value) if self.is_cell(cell):
                static = substituted(value, known)
            case ir.Accumulate(op="add", target=ir.Access(array=cell), value=value) if cell in known:
                static = ir.Apply(Op.ADD, (known[cell], substituted(value, known)), loc=stmt.loc)
            case ir.Accumulate(target=ir.Access(array=cell)):
                return forget(known, {cell})
            case _:
                return known
        small = len(list(subexprs(static))) <= MOST_NODES
        return {**known, cell: static} if small and self.is_static(static) else forget(known, {cell})

    def is_static(self, expr: ir.Expr) -> bool:
        """Whether `expr` has the same value at entry: no cells, no indices, no arrays that are written."""
        for e in subexprs(expr):
            match e:
                case ir.Index() | ir.Var() | ir.SizeOf() | ir.RankOf():
                    return False
                case ir.Load(access=access) if access.array not in self.ranks or access.array in self.written:
                    return False
                case _:
                    pass
        return True

    def allocate(self, stmt: ir.Allocate, known: Known) -> None:
        """Fix the extents of the array that `stmt` allocates."""
        decl = self.decls[stmt.array]
        if decl.like is not None:
            axes = (ir.Dim(decl.like, k, loc=decl.loc) for k in range(self.rank(decl.like)))
            self.extents[stmt.array] = tuple(self.resolve_node(a) for a in axes)
            return
        found = tuple(self.resolve(substituted(self.resolve(e), known)) for e in decl.extents or ())
        self.extents[stmt.array] = found
        for extent in found:
            if not self.is_static(extent):
                text = print_expr(extent).replace("[]", "")
                self.refuse(
                    "LD208",
                    f"the extent `{text}` of `{stmt.array}` is not known at entry",
                    extent_span(extent, decl),
                )


def extent_span(extent: ir.Expr, decl: ir.ArrayDecl) -> Span:
    return extent.loc if extent.loc.line else decl.loc


def substituted(expr: ir.Expr, known: Mapping[str, ir.Expr]) -> ir.Expr:
    """`expr` with known cells replaced by what they hold."""
    return map_expr(lambda e: known.get(e.access.array, e) if isinstance(e, ir.Load) else e, expr)


def forget(known: Known, cells: frozenset[str] | set[str]) -> Known:
    return {c: e for c, e in known.items() if c not in cells}
