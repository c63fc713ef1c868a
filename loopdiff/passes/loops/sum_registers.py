"""Scalar replacement of sums: an element that all iterations of a loop add to is loaded before and stored after it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from loopdiff.analysis.privatization import is_zero
from loopdiff.errors import Span
from loopdiff.ir.build import all_of, compare
from loopdiff.ir.names import NameSupply
from loopdiff.ir.nodes import (
    Access,
    Accumulate,
    ArrayDecl,
    Assign,
    Const,
    Exit,
    Expr,
    If,
    Index,
    Let,
    Load,
    Loop,
    LoopSet,
    Require,
    Stmt,
    Var,
)
from loopdiff.ir.ops import Op
from loopdiff.ir.types import F64, ArrayType
from loopdiff.ir.walk import Site, accesses, map_accesses, statements, stmt_exprs, subexprs, written_arrays
from loopdiff.mapping.launches import Launch


@dataclass(frozen=True, slots=True)
class SumHolder:
    """`lists`: arrays whose elements a thread cannot read, as what it adds to them goes to a list."""

    ls: LoopSet
    names: NameSupply
    cells: list[ArrayDecl]
    lists: frozenset[str] = frozenset()

    def launch(self, launch: Launch) -> Launch:
        before = len(self.cells)
        lists = frozenset(launch.grid.lists) if launch.grid is not None else frozenset[str]()
        new = replace(self, lists=lists).block(launch.body)
        own = tuple(c.name for c in self.cells[before:])
        return replace(launch, body=new, cells=(*launch.cells, *own)) if own else launch

    def block(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        out: list[Stmt] = []
        for stmt in body:
            match stmt:
                case Loop():
                    found = dict(self.sums(stmt))
                    started = self.started(stmt, found, out)
                    if started is not None:
                        out[len(out) - len(found) :] = started
                    else:
                        out.append(self.held(stmt, found) or replace(stmt, body=self.block(stmt.body)))
                case If(then=then, orelse=orelse):
                    out.append(replace(stmt, then=self.block(then), orelse=self.block(orelse)))
                case _:
                    out.append(stmt)
        return tuple(out)

    def started(
        self, loop: Loop, found: Mapping[Access, tuple[Loop, ...]], before: Sequence[Stmt]
    ) -> tuple[Stmt, ...] | None:  # fmt: skip
        """The loop with all that it adds to in cells, if the statements right before it say where that starts."""
        last = before[len(before) - len(found) :]
        starts = {s.target: s.value for s in last if isinstance(s, Assign) and is_zero(s.value)}
        if not found or starts.keys() != found.keys() or any(found.values()):
            return None
        kept, new = self.in_cells(loop, found)
        begin = (Assign(kept[element], value, loc=loop.loc) for element, value in starts.items())
        return (*begin, new, *(Assign(element, Load(cell), loc=loop.loc) for element, cell in kept.items()))

    def held(self, loop: Loop, found: Mapping[Access, tuple[Loop, ...]]) -> Stmt | None:
        """The loop with the elements in cells that it only adds to; None if there are none."""
        around = [p for loops in found.values() for p in loops]
        runs = runs_all(loop, around) if found else None
        if runs is None:
            return None
        kept, new = self.in_cells(loop, found)
        before = [Assign(cell, self.first(element), loc=loop.loc) for element, cell in kept.items()]
        after = [self.last(element, cell, loop.loc) for element, cell in kept.items()]
        # Where `loop` has iterations and one inside has none, the rest of it runs all the same.
        return If(runs, (*before, new, *after), (loop,) if around else (), loc=loop.loc)

    def in_cells(self, loop: Loop, found: Iterable[Access]) -> tuple[dict[Access, Access], Loop]:
        """A cell for each element, and the loop with these."""
        kept: dict[Access, Access] = {}
        for target in found:
            kind = self.ls.array(target.array).type
            assert kind is not None
            cell = ArrayDecl(self.names.fresh(f"{target.array}_total"), ArrayType(kind.dtype, 0), "local", ())
            self.cells.append(cell)
            kept[target] = Access(cell.name)
        new = map_accesses(lambda a: kept.get(a, a), loop)
        assert isinstance(new, Loop)
        return kept, replace(new, body=self.block(new.body))

    def first(self, element: Access) -> Expr:
        """What a cell begins with."""
        return Const(0.0, F64) if element.array in self.lists else Load(element)

    def last(self, element: Access, cell: Access, loc: Span) -> Stmt:
        """The statement that brings a cell back."""
        if element.array in self.lists:
            return Accumulate("add", element, Load(cell), loc=loc)
        return Assign(element, Load(cell), loc=loc)

    def sums(self, loop: Loop) -> Iterator[tuple[Access, tuple[Loop, ...]]]:
        """Elements that every iteration adds to, and that nothing else in the loop touches, with the loops around."""
        inside = list(statements(loop.body))
        if any(isinstance(s.stmt, Exit | Require) for s in inside):
            return
        changing = frozenset(
            {loop.index}
            | {s.stmt.index for s in inside if isinstance(s.stmt, Loop)}
            | {s.stmt.name for s in inside if isinstance(s.stmt, Let)}
        )
        written = written_arrays(loop.body)
        for site in inside:
            match site.stmt:
                case Accumulate(op="add", target=target) if not site.is_conditional and self.is_array(target.array):
                    others = (a for s in inside for a in accesses(s.stmt) if a.array == target.array)
                    is_alone = all(a == target for a in others) and not is_used(target, inside)
                    parts = (e for s in target.subscripts for e in subexprs(s))
                    if is_alone and not any(is_changing(e, changing, written) for e in parts):
                        yield target, site.loops
                case _:
                    pass

    def is_array(self, name: str) -> bool:
        kind = self.ls.array(name).type if self.ls.has_array(name) else None
        return kind is not None and kind.rank > 0 and kind.dtype in ("float64", "float32")


def is_used(target: Access, inside: Iterable[Site]) -> bool:
    """Whether the element is read, or given a value, beside being added to."""
    for site in inside:
        match site.stmt:
            case Assign(target=other) if other == target:
                return True
            case Accumulate(op="max" | "min", target=other) if other == target:
                return True
            case _:
                pass
        if any(isinstance(e, Load) and e.access == target for x in stmt_exprs(site.stmt) for e in subexprs(x)):
            return True
    return False


def is_changing(expr: Expr, names: frozenset[str], written: frozenset[str]) -> bool:
    match expr:
        case Index(name=name) | Var(name=name):
            return name in names
        case Load(access=access):
            return access.array in written
        case _:
            return False


def runs_all(loop: Loop, around: Sequence[Loop]) -> Expr | None:
    """Whether the loop, and each of those `around` what it adds to, has an iteration; None if that changes inside."""
    conditions: list[Expr] = []
    inner = list({p.index: p for p in (loop, *around)}.values())
    indices = {p.index for p in inner}
    lets = {s.stmt.name for s in statements(loop.body) if isinstance(s.stmt, Let)}
    written = written_arrays(loop.body)
    for part in inner:
        if not isinstance(part.step, Const):
            return None
        bounds = [e for b in (part.lower, part.upper) for e in subexprs(b)]
        if any(is_changing(e, frozenset(indices | lets), written) for e in bounds):
            return None
        conditions.append(compare(Op.LT if part.step.value > 0 else Op.GT, part.lower, part.upper))
    return all_of(conditions)
