"""Collects derived statements and shares the expressions they repeat."""

from __future__ import annotations

from dataclasses import dataclass, field

from loopdiff.errors import NOWHERE, Span
from loopdiff.ir.build import is_atom
from loopdiff.ir.names import NameSupply
from loopdiff.ir.nodes import Apply, Expr, Let, Stmt, Var
from loopdiff.ir.walk import substitute


@dataclass(slots=True)
class Emitter:
    """Statements in order; `shared` maps an expression to the Let that already holds it."""

    names: NameSupply
    loc: Span = NOWHERE
    out: list[Stmt] = field(default_factory=list)
    shared: dict[Expr, Var] = field(default_factory=dict)

    def emit(self, stmt: Stmt) -> None:
        self.out.append(stmt)

    def hold(self, expr: Expr, stem: str) -> Expr:
        """`expr` itself if repeating it is free, else a Let that holds it."""
        if is_atom(expr):
            return expr
        if expr not in self.shared:
            var = Var(self.names.fresh(stem), loc=self.loc)
            self.emit(Let(var.name, substitute(expr, self.shared), loc=self.loc))
            self.shared[expr] = var
        return self.shared[expr]

    def share(self, expr: Expr) -> Expr:
        """A Let for `expr` when it is an operation worth naming after itself."""
        if isinstance(expr, Apply):
            return self.hold(expr, f"{expr.op.stem}_val")
        return expr

    def nested(self) -> Emitter:
        """An emitter for a block inside the current one: it sees what is shared so far and adds nothing to it."""
        return Emitter(self.names, self.loc, [], dict(self.shared))
