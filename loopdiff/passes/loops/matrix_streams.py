"""Fusion of nests that go through the same matrix, and sums over its rows, row after row, several rows at once.

    for i: for j: s[i] += A[i, j] * p[j]           for i in steps of 4:
    for j: for i: y[j] += r[i] * A[i, j]               for j:
                                                           t0, t1, t2, t3 += A[i .. i + 3, j] * p[j]
                                          becomes          y[j] += r[i] * A[i, j] + ... + r[i + 3] * A[i + 3, j]
                                                       s[i .. i + 3] += t0 .. t3

Products of a matrix and vectors, and the updates of rank one that are their gradients, take as long as the matrix
takes to come from memory. So it comes once for all that needs it, in the order in which it lies there (Howell, Demmel,
Fulton, Hammarling and Marmol, "Cache efficient bidiagonalization using BLAS 2.5 operators", ACM TOMS 34, 2008), and
elements of `y` are loaded and stored once for several rows (unroll-and-jam); so are those of a matrix that is updated
and then multiplied. Sums may come in any order; what one nest hands to the next, it hands on in the same iteration, or
in the same row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import reduce
from typing import Literal

from loopdiff.analysis.contractions import contraction, is_rectangular, nest_of_update
from loopdiff.analysis.strides import dense_axis, lane_axis
from loopdiff.canonical.put_in_place import nest_with_lets
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import add, integer, shifted, sub
from loopdiff.ir.names import NameSupply, supply
from loopdiff.ir.ops import Op
from loopdiff.ir.renaming import renamed_block
from loopdiff.ir.types import ArrayType, ScalarType
from loopdiff.ir.typing import TypeEnv, type_env
from loopdiff.ir.walk import (
    accesses,
    are_independent,
    indices_in,
    loads,
    map_blocks,
    map_own_exprs,
    subexprs,
    substitute,
)
from loopdiff.model import tuning

Block = tuple[ir.Stmt, ...]
Form = Literal["dot", "sum", "update"]
FAST = frozenset((Op.ADD, Op.SUB, Op.MUL, Op.NEG))


@immutable
class Stream:
    """A nest over the `rows` and `columns` of a matrix around `stmt`, in which Lets are in place, and what it is.

    `dot`: a sum over columns for each row, `sum`: over rows for each column, `update`: of elements. `start`: the zero
    that a sum begins with. `is_turned`: columns are outside. `nest` is the statement as it was.
    """

    rows: ir.Loop
    columns: ir.Loop
    stmt: ir.Assign | ir.Accumulate
    start: ir.Assign | None
    form: Form
    is_turned: bool
    nest: ir.Stmt

    @property
    def range(self) -> tuple[ir.Expr, ...]:
        return self.rows.lower, self.rows.upper, self.columns.lower, self.columns.upper

    @property
    def elements(self) -> frozenset[ir.Access]:
        """The elements of matrices that it touches."""
        both = {self.rows.index, self.columns.index}
        return frozenset(a for a in accesses(self.stmt) if both <= indices_in(*a.subscripts))

    def over(self, other: Stream) -> Stream:
        """The same with the indices of `other`."""
        pairs = ((self.rows, other.rows), (self.columns, other.columns))
        new: dict[ir.Expr, ir.Expr] = {ir.Index(mine.index): ir.Index(its.index) for mine, its in pairs}
        start = None if self.start is None else renamed_in(self.start, new)
        return replace(
            self, rows=other.rows, columns=other.columns, stmt=renamed_in(self.stmt, new), start=start
        )  # fmt: skip


Asked = tuple[ir.Stmt, Stream | None]  # a statement, and what it is


def renamed_in(stmt: ir.Assign | ir.Accumulate, new: dict[ir.Expr, ir.Expr]) -> ir.Assign | ir.Accumulate:
    found = map_own_exprs(lambda e: substitute(e, new), stmt)
    assert isinstance(found, ir.Assign | ir.Accumulate)
    return found


def stream_matrices(ls: ir.LoopSet) -> ir.LoopSet:
    """`ls` with neighbouring nests over one matrix as one, and sums over its rows several rows at once."""
    streamer = Streamer(ls, type_env(ls), supply(ls))
    body = streamer.block(ls.body)
    return ls if body == ls.body else replace(ls, body=body, arrays=(*ls.arrays, *streamer.cells))


@immutable
class Streamer:
    ls: ir.LoopSet
    types: TypeEnv
    names: NameSupply
    cells: list[ir.ArrayDecl] = field(default_factory=list)

    # -- which nests -----------------------------------------------------------------------------------------
    def block(self, body: Block) -> Block:
        """`body` with each group of nests in the place of its last one."""
        return self.arranged([(s, stream(self.ls, self.types, s)) for s in body])

    def arranged(self, body: Sequence[Asked]) -> Block:
        for number, (_, first) in enumerate(body):
            if first is None:
                continue
            rest = body[number + 1 :]
            group, taken = self.group(first, rest)
            if is_worth(group):
                here = 1 + max(taken, default=-1)
                before = tuple(self.inside(s) for s, _ in body[:number])
                between = self.arranged([s for k, s in enumerate(rest[:here]) if k not in taken])
                return (*before, *between, *self.merged(group), *self.arranged(rest[here:]))
        return tuple(self.inside(s) for s, _ in body)

    def group(self, first: Stream, rest: Sequence[Asked]) -> tuple[list[Stream], set[int]]:
        """`first` and those of the statements behind it that go along, of which the places are told as well."""
        group, taken = [first], set[int]()
        skipped: list[ir.Stmt] = []
        for number, (stmt, found) in enumerate(rest[: tuning.STREAMS_LOOK_AHEAD]):
            is_left = any(isinstance(s, ir.Exit) for s in skipped)
            if is_left or not are_independent(tuple(s.nest for s in group), tuple(skipped)):
                break
            if found is not None and goes_along(group, found.over(first)) and found.range == first.range:
                group.append(found.over(first))
                taken.add(number)
            else:
                skipped.append(stmt)
        return group, taken

    def inside(self, stmt: ir.Stmt) -> ir.Stmt:
        """`stmt` with the nests in it done, but for those of a product of matrices."""
        return stmt if contraction(stmt) is not None else map_blocks(self.block, stmt)

    # -- the nest --------------------------------------------------------------------------------------------
    def merged(self, group: Sequence[Stream]) -> Block:
        rows = group[0].rows
        count = tuning.STREAMED_ROWS if len(group) > 1 else tuning.STREAMED_ROWS_ALONE
        if all(s.form == "update" for s in group):
            count = 1
        fills = (self.filled(s) for s in group if s.form == "sum" and s.start is not None)
        if count == 1:
            return (*fills, replace(rows, body=self.rows(group, 1)))
        end = sub(rows.upper, ir.Apply(Op.MOD, (sub(rows.upper, rows.lower), integer(count))))
        many = replace(rows, upper=end, step=integer(count), body=self.rows(group, count))
        rest = replace(rows, lower=ir.Apply(Op.MAX, (rows.lower, end)), body=self.rows(group, 1))
        return (*fills, many, *renamed_block((rest,), self.names))

    def filled(self, found: Stream) -> ir.Stmt:
        """What a sum over rows begins with, for all columns."""
        assert found.start is not None
        (fill,) = renamed_block((replace(found.columns, body=(found.start,)),), self.names)
        return fill

    def rows(self, group: Sequence[Stream], count: int) -> Block:
        """What `count` rows do, from the index of the loop over rows on: once more through these where a sum along them
        is asked for."""
        parts: list[list[Stream]] = [[]]
        for found in group:
            given = {s.stmt.target.array for s in parts[-1] if s.form == "dot"}
            if any(e.access.array in given for e in loads(found.stmt.value)):
                parts.append([])
            parts[-1].append(found)
        return tuple(s for part in parts for s in self.once(part, count))

    def once(self, group: Sequence[Stream], count: int) -> Block:
        """What `count` rows do in one loop over columns. Elements that are updated and also used are so in registers,
        and go to memory at its end."""
        before: list[ir.Stmt] = []
        within: list[ir.Stmt] = []
        after: list[ir.Stmt] = []
        held: dict[ir.Expr, ir.Expr] = {}
        for found in group:
            copies = [at_row(found, k) for k in range(count)]
            values = [substitute(c.stmt.value, held) for c in copies]
            match found.form:
                case "update" if all(s is found or found.stmt.target not in s.elements for s in group):
                    within += [replace(c.stmt, value=v) for c, v in zip(copies, values, strict=True)]
                case "update":
                    for copy, value in zip(copies, values, strict=True):
                        within.append(self.update(copy, value, held))
                case "sum":
                    within.append(replace(found.stmt, value=reduce(add, values)))
                case "dot":
                    for copy, value in zip(copies, values, strict=True):
                        cell = self.cell(found)
                        zero = ir.Const(0.0, self.element(found), loc=found.stmt.loc)
                        before.append(ir.Assign(cell, zero, loc=found.stmt.loc))
                        within.append(replace(copy.stmt, target=cell, value=value))
                        after.append(stored(copy, ir.Load(cell)))
        within += [ir.Assign(e.access, v, loc=v.loc) for e, v in held.items() if isinstance(e, ir.Load)]
        inner = replace(group[0].columns, body=tuple(within))
        return (*before, *renamed_block((inner,), self.names), *after)

    def update(self, found: Stream, value: ir.Expr, held: dict[ir.Expr, ir.Expr]) -> ir.Let:
        """The new element that `found` makes, which is `held` from here on."""
        stmt = found.stmt
        element = ir.Load(stmt.target)
        if isinstance(stmt, ir.Accumulate):
            value = add(held.get(element, element), value)
        name = self.names.fresh("element")
        held[element] = ir.Var(name, loc=stmt.loc)
        return ir.Let(name, value, loc=stmt.loc)

    def element(self, found: Stream) -> ScalarType:
        return self.types.arrays[found.stmt.target.array].element

    def cell(self, found: Stream) -> ir.Access:
        name = self.names.fresh("row_sum")
        dtype = self.element(found).value
        self.cells.append(ir.ArrayDecl(name, ArrayType(dtype, 0), "local", (), loc=found.stmt.loc))
        return ir.Access(name, loc=found.stmt.loc)


def at_row(found: Stream, k: int) -> Stream:
    """`found` for the `k`-th row from the index on."""
    index = ir.Index(found.rows.index)
    return replace(found, stmt=renamed_in(found.stmt, {index: shifted(index, k)}))


def stored(found: Stream, value: ir.Expr) -> ir.Stmt:
    """The sum of a row where it belongs."""
    if found.start is not None:
        return ir.Assign(found.stmt.target, value, loc=found.stmt.loc)
    return replace(found.stmt, value=value)


# -- what is one ---------------------------------------------------------------------------------------------
def stream(ls: ir.LoopSet, types: TypeEnv, stmt: ir.Stmt) -> Stream | None:
    """What `stmt` is, if it is a nest of two loops over a matrix around one fast statement."""
    if not isinstance(stmt, ir.Loop):
        return None
    found = nest_of_update(stmt)
    if found is not None:
        loops, inner, start = list(found.loops), replace(found.update, value=found.summand), found.start
    else:
        parts = nest_with_lets(stmt)
        if parts is None or not isinstance(parts[2], ir.Assign):
            return None
        loops, start = parts[0], None
        inner = replace(parts[2], value=substitute(parts[2].value, parts[1]))
    if len(loops) != 2 or not is_rectangular(tuple(loops)) or not is_fast(inner, types):
        return None
    for rows, columns in (loops, loops[::-1]):
        form = form_of(ls, inner, rows.index, columns.index)
        if form is not None:
            is_turned = rows is loops[1]
            return Stream(replace(rows, body=()), replace(columns, body=()), inner, start, form, is_turned, stmt)
    return None


def is_fast(stmt: ir.Assign | ir.Accumulate, types: TypeEnv) -> bool:
    """Whether memory takes the time: a few sums and products of elements of one floating type, at places that no
    memory says."""
    used = [*accesses(stmt)]
    kinds = {types.arrays[a.array].element for a in used}
    operations = [e for e in subexprs(stmt.value) if not isinstance(e, ir.Const | ir.Load | ir.Index | ir.Dim)]
    return (
        len(kinds) == 1
        and all(k.is_float for k in kinds)
        and not any(True for a in used for s in a.subscripts for _ in loads(s))
        and len(operations) <= tuning.STREAMED_OPERATIONS
        and all(isinstance(e, ir.Param) or (isinstance(e, ir.Apply) and e.op in FAST) for e in operations)
    )


def form_of(ls: ir.LoopSet, stmt: ir.Assign | ir.Accumulate, row: str, column: str) -> Form | None:
    """What `stmt` is where all matrices have their `column`s side by side; None if that is not so, or if iterations
    have to do with each other."""
    target = stmt.target
    read = [e.access for e in loads(stmt.value) if e.access.array == target.array]
    matrices = 0
    for access in (target, *(e.access for e in loads(stmt.value))):
        used = indices_in(*access.subscripts)
        along, across = (lane_axis(access, k, frozenset({k})) for k in (column, row))
        if column in used and along != (dense_axis(access, ls), 1):
            return None
        if row in used and across is None:
            return None
        if {row, column} <= used:
            if along is None or across is None or along[0] == across[0]:  # iterations meet in one element
                return None
            matrices += 1
    if not matrices:
        return None
    used = indices_in(*target.subscripts) & {row, column}
    if used == {row, column}:
        return "update" if all(a == target for a in read) else None
    if not used or read or not isinstance(stmt, ir.Accumulate):
        return None
    return "dot" if used == {row} else "sum"


def goes_along(group: Sequence[Stream], found: Stream) -> bool:
    """Whether `found` touches elements of a matrix that one of `group` does, and what they hand on to each other are
    such elements, or sums along rows."""
    if not any(found.elements & s.elements for s in group):
        return False
    for other in group:
        written = {other.stmt.target.array, found.stmt.target.array}
        mine, its = ({a for a in accesses(s.stmt) if a.array in written} for s in (found, other))
        shared = {a.array for a in mine} & {a.array for a in its}
        touched = {a for a in mine | its if a.array in shared}
        handed = {other.stmt.target} if other.form == "dot" and found.stmt.target.array not in shared else set()
        if len(touched) != len(shared) or not touched <= found.elements | handed:
            return False
    return True


def is_worth(group: Sequence[Stream]) -> bool:
    """Whether something is gained: the matrix comes once, or in the order in which it lies in memory."""
    (first, *others) = group
    return bool(others) or first.form == "sum" or (first.form == "update" and first.is_turned)
