"""Rows of a loop: what each of its iterations has for itself, and the statements that may be distributed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from loopdiff.analysis.privatization import Privates
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.ops import PRODUCTS, SUMS, Op
from loopdiff.ir.walk import Path, mentioned, subexprs, substitute, written_arrays
from loopdiff.model import tuning

CHEAP = frozenset((*SUMS, *PRODUCTS, Op.NEG))
CHEAP_NODES = (ir.Const, ir.Index, ir.Param, ir.Dim, ir.Var, ir.Load)
Names = frozenset[str]


@immutable
class RowPart:
    """A statement of a row that is moved as one, with the loops of the row around it."""

    path: Path
    stmt: ir.Stmt
    loops: tuple[Path, ...]

    @property
    def is_sum(self) -> bool:
        return isinstance(self.stmt, ir.Accumulate) and self.stmt.op == "add" and len(self.loops) >= 2


Piece = tuple[RowPart, ...]


@immutable
class Row:
    """The body of the loop at `path`, and what each row has for its `own`. The loops `around` it have nothing else in
    them, and rows of all their iterations are independent, too.

    `repeated` are the Lets that every piece evaluates where it needs them, `lets` the others.
    """

    around: tuple[ir.Loop, ...]
    loop: ir.Loop
    path: Path
    own: Privates
    leaves: tuple[RowPart, ...]
    lets: Mapping[str, RowPart]
    repeated: Mapping[str, RowPart]

    @property
    def nest(self) -> tuple[ir.Loop, ...]:
        return (*self.around, self.loop)

    def mentioned(self, stmt: ir.Stmt) -> Names:
        """Arrays, cells and Lets in a leaf and in the Lets that are repeated with it."""
        names = mentioned((stmt,))
        for name in names & self.repeated.keys():
            if self.repeated[name].stmt is not stmt:
                names |= self.mentioned(self.repeated[name].stmt)
        return names

    def inlined(self, expr: ir.Expr) -> ir.Expr:
        """`expr` with the Lets that are repeated with it in place."""
        values: dict[ir.Expr, ir.Expr] = {}
        for name in self.repeated:
            stmt = self.repeated[name].stmt
            assert isinstance(stmt, ir.Let)
            values[ir.Var(name)] = stmt.value
        used = [e for e in subexprs(expr) if e in values]
        return self.inlined(substitute(expr, values)) if used else expr

    def paths(self, piece: Piece) -> frozenset[Path]:
        """Of the leaves of `piece` and of the Lets repeated with them."""
        own = {leaf.path for leaf in piece}
        used = {n for leaf in piece for n in self.mentioned(leaf.stmt)}
        return frozenset(own | {leaf.path for n, leaf in self.repeated.items() if n in used})


def row_of(around: tuple[ir.Loop, ...], loop: ir.Loop, path: Path, own: Privates) -> Row:
    found = tuple(leaves(loop.body, path, ()))
    lets = {leaf.stmt.name: leaf for leaf in found if isinstance(leaf.stmt, ir.Let)}
    repeated = repeated_lets(lets, written_arrays(loop.body))
    rest = tuple(leaf for leaf in found if not (isinstance(leaf.stmt, ir.Let) and leaf.stmt.name in repeated))
    kept = {n: leaf for n, leaf in lets.items() if n not in repeated}
    return Row(around, loop, path, own, rest, kept, {n: lets[n] for n in repeated})


def leaves(body: tuple[ir.Stmt, ...], prefix: Path, loops: tuple[Path, ...]) -> Iterator[RowPart]:
    """Statements in textual order, those of nested loops one by one, conditions whole."""
    for number, stmt in enumerate(body):
        path = (*prefix, number)
        if isinstance(stmt, ir.Loop):
            yield from leaves(stmt.body, path, (*loops, path))
        else:
            yield RowPart(path, stmt, loops)


def repeated_lets(lets: Mapping[str, RowPart], written: Names) -> Names:
    """Lets that would take a buffer as large as the work, and those that are cheap and of values not `written`."""
    operations: dict[str, int] = {}
    for name, leaf in lets.items():
        assert isinstance(leaf.stmt, ir.Let)
        parts = list(subexprs(leaf.stmt.value))
        is_cheap = all(isinstance(e, CHEAP_NODES) or (isinstance(e, ir.Apply) and e.op in CHEAP) for e in parts)
        reads = {e.access.array for e in parts if isinstance(e, ir.Load)}
        used = [e.name for e in parts if isinstance(e, ir.Var) and e.name in lets]
        count = sum(isinstance(e, ir.Apply) for e in parts) + sum(
            operations.get(u, tuning.REPEATED_OPERATIONS) for u in used
        )
        is_free = (
            is_cheap and count <= tuning.REPEATED_OPERATIONS and not reads & written and operations.keys() >= set(used)
        )
        if is_free or len(leaf.loops) >= 2:
            operations[name] = count
    return frozenset(operations)
