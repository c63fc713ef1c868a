"""Collects derived statements and shares the expressions they repeat."""

from __future__ import annotations

from dataclasses import dataclass, field

from loopdiff.errors import NOWHERE, Span
from loopdiff.immutable import replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import is_atom
from loopdiff.ir.names import NameSupply
from loopdiff.ir.walk import subexprs, substitute


@dataclass(slots=True)
class Head:
    """A Let that stands ahead of all that is emitted, and Lets before it that hold `parts` of its value."""

    let: ir.Let
    parts: list[ir.Let] = field(default_factory=list)

    def name_of(self, expr: ir.Expr, stem: str, names: NameSupply) -> ir.Var | None:
        """The name that holds `expr` from then on, if that is in the value of the Let."""
        if expr not in subexprs(self.let.value):
            return None
        if expr == self.let.value:
            return ir.Var(self.let.name, loc=self.let.loc)
        part = ir.Let(names.fresh(stem), expr, loc=self.let.loc)
        held = ir.Var(part.name, loc=part.loc)
        self.parts.append(part)
        self.let = replace(self.let, value=substitute(self.let.value, {expr: held}))
        return held


@dataclass(slots=True)
class Emitter:
    """Statements in order; `shared` maps an expression to the Let that already holds it, `ahead` may come to hold
    more."""

    names: NameSupply
    loc: Span = NOWHERE
    out: list[ir.Stmt] = field(default_factory=list)
    shared: dict[ir.Expr, ir.Var] = field(default_factory=dict)
    ahead: Head | None = None

    def emit(self, stmt: ir.Stmt) -> None:
        self.out.append(stmt)

    def hold(self, expr: ir.Expr, stem: str) -> ir.Expr:
        """`expr` itself if repeating it is free, else a Let that holds it."""
        if is_atom(expr):
            return expr
        if expr not in self.shared:
            value = substitute(expr, self.shared)
            held = self.ahead.name_of(value, stem, self.names) if self.ahead is not None else None
            if held is None:
                held = ir.Var(self.names.fresh(stem), loc=self.loc)
                self.emit(ir.Let(held.name, value, loc=self.loc))
            self.shared[expr] = held
        return self.shared[expr]

    def share(self, expr: ir.Expr) -> ir.Expr:
        """A Let for `expr` when it is an operation worth naming after itself."""
        if isinstance(expr, ir.Apply):
            return self.hold(expr, f"{expr.op.stem}_val")
        return expr

    def nested(self) -> Emitter:
        """An emitter for a block inside the current one: it sees what is shared so far and adds nothing to it."""
        return Emitter(self.names, self.loc, [], dict(self.shared))
