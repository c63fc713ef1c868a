"""Collects derived statements and shares the expressions they repeat."""

from __future__ import annotations

from dataclasses import dataclass, field

from loopdiff.errors import NOWHERE, Span
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import is_atom
from loopdiff.ir.names import NameSupply
from loopdiff.ir.walk import substitute


@dataclass(slots=True)
class Emitter:
    """Statements in order; `shared` maps an expression to the Let that already holds it."""

    names: NameSupply
    loc: Span = NOWHERE
    out: list[ir.Stmt] = field(default_factory=list)
    shared: dict[ir.Expr, ir.Var] = field(default_factory=dict)

    def emit(self, stmt: ir.Stmt) -> None:
        self.out.append(stmt)

    def hold(self, expr: ir.Expr, stem: str) -> ir.Expr:
        """`expr` itself if repeating it is free, else a Let that holds it."""
        if is_atom(expr):
            return expr
        if expr not in self.shared:
            var = ir.Var(self.names.fresh(stem), loc=self.loc)
            self.emit(ir.Let(var.name, substitute(expr, self.shared), loc=self.loc))
            self.shared[expr] = var
        return self.shared[expr]

    def share(self, expr: ir.Expr) -> ir.Expr:
        """A Let for `expr` when it is an operation worth naming after itself."""
        if isinstance(expr, ir.Apply):
            return self.hold(expr, f"{expr.op.stem}_val")
        return expr

    def nested(self) -> Emitter:
        """An emitter for a block inside the current one: it sees what is shared so far and adds nothing to it."""
        return Emitter(self.names, self.loc, [], dict(self.shared))
