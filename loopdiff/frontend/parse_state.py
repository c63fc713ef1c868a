"""What the parser knows while it walks a function: meanings of names, the block being written, rejections."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Final

from loopdiff.codes import Related, reject
from loopdiff.errors import Diagnostic, Span
from loopdiff.frontend.survey import Survey
from loopdiff.ir.nodes import Access, ArrayDecl, Const, Expr, Load, Require, Result, Stmt
from loopdiff.names import NameSupply
from loopdiff.source import SourceFunction

MISSING: Final = object()


@dataclass(frozen=True, slots=True)
class Cell:
    """The name certainly has a value, in the rank-0 array `cell`."""

    cell: str


@dataclass(frozen=True, slots=True)
class ArrayName:
    """The name stands for `array`."""

    array: str


@dataclass(frozen=True, slots=True)
class Unsure:
    """The name has the value of `meant` only if the statement at `span` gave it one.

    `ran`: a condition, still true to what it was there, under which it did; None when none can be stated.
    """

    meant: Cell | ArrayName
    span: Span
    ran: Expr | None


@dataclass(frozen=True, slots=True)
class Mixed:
    """After `span` the name stands for different things depending on the way there."""

    span: Span


Binding = Cell | ArrayName | Unsure | Mixed
Bindings = dict[str, Binding]


@dataclass(frozen=True, slots=True)
class Returned:
    """What the function returns; `span` is its first `return`."""

    results: tuple[Result, ...]
    is_tuple: bool
    span: Span


@dataclass(slots=True)
class LoopState:
    """What is known of a loop while its body is parsed: what names stood for at each `break`, and at each end of an
    iteration (`continue` included). `broke`: a cell that says whether a `break` was taken; None if nothing asks."""

    broke: Access | None = None
    breaks: list[Bindings] = field(default_factory=list)
    ends: list[Bindings] = field(default_factory=list)


@dataclass(slots=True)
class State:
    """The parser's state: `out` is the block being written, `bindings` what local names stand for here.

    `is_dead`: nothing comes here, because a jump was before. `loops` are those around, innermost last. `returned`: None
    before the first `return`. `array_uses` records under which binding each array name
    was used, in order.
    """

    source: SourceFunction
    survey: Survey
    names: NameSupply
    indices: NameSupply
    arrays: dict[str, ArrayDecl] = field(default_factory=dict)
    cells: dict[str, str] = field(default_factory=dict)
    bindings: Bindings = field(default_factory=dict)
    out: list[Stmt] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    array_uses: list[tuple[str, ArrayName]] = field(default_factory=list)
    loops: list[LoopState] = field(default_factory=list)
    is_dead: bool = False
    returned: Returned | None = None

    # -- rejections ------------------------------------------------------------------------------------------
    def reject(
        self, code: str, message: str, node: ast.AST | Span, hint: str | None = None, related: Related = ()
    ) -> Const:
        """Record a rejection; the value stands in for the rejected expression so that parsing goes on."""
        span = node if isinstance(node, Span) else self.source.span(node)
        found = reject(code, message, span, hint, related)
        if found not in self.diagnostics:
            self.diagnostics.append(found)
        return Const(0, loc=span)

    # -- blocks ----------------------------------------------------------------------------------------------
    @contextmanager
    def block(self) -> Iterator[list[Stmt]]:
        """Statements written inside go to the new list."""
        outer, self.out = self.out, []
        try:
            yield self.out
        finally:
            self.out = outer

    # -- local names -----------------------------------------------------------------------------------------
    def define(self, name: str, span: Span) -> Access:
        """`name` gets a scalar value: the cell to store it in."""
        if name not in self.cells:
            taken = name in self.arrays or name in self.survey.parameters
            self.cells[name] = self.names.fresh(name) if taken else name
            cell = self.cells[name]
            self.arrays[cell] = ArrayDecl(cell, None, "local", (), loc=span)
        self.bindings[name] = Cell(self.cells[name])
        return Access(self.cells[name], loc=span)

    def temporary(self, stem: str, span: Span) -> Access:
        """A new cell that no Python name stands for."""
        name = self.names.fresh(stem)
        self.arrays[name] = ArrayDecl(name, None, "local", (), loc=span)
        return Access(name, loc=span)

    def settle(self, name: str, node: ast.AST) -> Cell | ArrayName | None:
        """What the local `name` stands for where `node` reads it; None after a rejection."""
        match self.bindings.get(name):
            case ArrayName() as binding:
                self.array_uses.append((name, binding))
                return binding
            case Cell() as binding:
                return binding
            case Unsure(meant=meant, span=span, ran=ran):
                if ran is None:
                    self.reject_unsure(name, node, span)
                else:
                    where = f"`{name}` has no value: the loop at line {span.line} did not run"
                    self.out.append(Require(ran, "LD331", where, loc=self.source.span(node)))
                self.bindings[name] = meant
                return meant
            case Mixed(span=span):
                related = (("depends on what happened here", span),)
                self.reject("LD116", f"`{name}` may stand for different arrays here", node, related=related)
                return None
            case None:
                self.reject("LD114", f"`{name}` is read before it is assigned", node, f"assign `{name}` first")
                return None

    def reject_unsure(self, name: str, node: ast.AST, span: Span) -> None:
        hint = f"assign `{name}` before line {span.line}"
        related = (("assigned only if this runs", span),)
        self.reject("LD114", f"`{name}` may have no value here", node, hint, related=related)

    def is_local(self, name: str) -> bool:
        return name in self.survey.assigned or name in self.survey.parameters

    def load(self, binding: Cell, span: Span) -> Expr:
        return Load(Access(binding.cell, loc=span), loc=span)

    # -- names from outside ----------------------------------------------------------------------------------
    def outside(self, node: ast.expr) -> Any:
        """The Python value of a name or dotted name from outside the function; MISSING if it has none."""
        match node:
            case ast.Name(id=name):
                return MISSING if self.is_local(name) else self.source.namespace.get(name, MISSING)
            case ast.Attribute(value=base, attr=attr):
                owner = self.outside(base)
                if owner is MISSING or not (isinstance(owner, ModuleType) or is_plain_record(owner, attr)):
                    return MISSING
                return getattr(owner, attr, MISSING)
            case _:
                return MISSING


def is_plain_record(owner: Any, attr: str) -> bool:
    """Whether reading `attr` runs no code of the owner: a class attribute or an instance field."""
    if isinstance(owner, type):
        return not isinstance(vars(owner).get(attr), property)
    fields = (*getattr(owner, "__dict__", ()), *getattr(type(owner), "__slots__", ()))
    return attr in fields or isinstance(owner, tuple)
