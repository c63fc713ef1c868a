"""Sparsity of Jacobians: which outputs depend on which inputs, by sets of inputs as bits of integers.

The program that computes tangents, with a set of at most 64 inputs in place of each tangent:

    y_tan[i] = x[i + 1] * x_tan[i] + x[i] * x_tan[i + 1]      becomes      y_tan[i] = x_tan[i] | x_tan[i + 1]

What is made of several values depends on what each of them depends on (Griewank and Walther, "Evaluating Derivatives",
2008, section 7.1). Branches, loops and subscripts are those of the program, so that the sets are right for the branches
taken; they may hold inputs whose derivative is zero by chance. Values that no branch, loop or subscript needs are not
computed: most programs are left with integers alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import field
from functools import reduce

from loopdiff.ad.ruled import given
from loopdiff.canonical.simplify import simplify
from loopdiff.canonical.single_assignment import normalize
from loopdiff.errors import DifferentiationError
from loopdiff.errors.codes import reject
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import compare, extents_of, integer, is_zero, nested, over_elements
from loopdiff.ir.mentions import written_parts
from loopdiff.ir.names import NameSupply, supply
from loopdiff.ir.ops import Op
from loopdiff.ir.slicing import eliminate_dead
from loopdiff.ir.types import INT, ArrayType
from loopdiff.ir.walk import all_statements, map_body, operands

BITS = 64  # of a set
EMPTY = integer(0)


def build_sparsity(normal: ir.LoopSet, tangent: ir.LoopSet) -> ir.LoopSet:
    """Sets of inputs for what `tangent`, of the program `normal`, computes of tangents.

    Parameters are those of `tangent`, with 64-bit integers in place of tangents: for arrays the sets of what the
    elements depend on come in, and those of the final values go out. Results: the sets of the floating results. Raises
    DifferentiationError (LD408) where a condition looks at tangents otherwise than for zero.
    """
    slopes = tangent.results[len(normal.results) :]
    returned = {r.array for r in slopes if isinstance(r, ir.ArrayResult)}
    carriers = carried(tangent.body, returned | set(tangent.params[len(normal.params) :]))
    sets = Sets(tangent, carriers, supply(tangent))
    body = map_body(tangent.body, sets.statement)
    arrays = tuple(of_sets(a) if a.name in carriers else a for a in tangent.arrays)
    cells = (ir.ArrayDecl(c, ArrayType("int64", 0), "local", ()) for c in sets.cells)
    derived = replace(
        tangent,
        name=f"{normal.name}_sparsity",
        arrays=(*arrays, *cells),
        scalars=tuple(replace(s, type=INT, is_weak=False) if s.name in carriers else s for s in tangent.scalars),
        body=body,
        results=tuple(ir.ScalarResult(sets.of(r.value)) if isinstance(r, ir.ScalarResult) else r for r in slopes),
        returns_tuple=len(slopes) > 1,
    )
    return simplify(normalize(eliminate_dead(derived, carriers & frozenset(tangent.params))))


def of_sets(decl: ir.ArrayDecl) -> ir.ArrayDecl:
    assert decl.type is not None
    return replace(decl, type=replace(decl.type, dtype="int64"))


# -- what is a tangent -----------------------------------------------------------------------------------------
def carried(body: tuple[ir.Stmt, ...], first: Collection[str]) -> frozenset[str]:
    """The names `first`, and the arrays and Lets that these flow into: no value of the program depends on a tangent."""
    found, stmts = frozenset(first), all_statements(body)
    while True:
        more = found.union(*(made_of(s, found) for s in stmts))
        if more == found:
            return found
        found = more


def made_of(stmt: ir.Stmt, carriers: frozenset[str]) -> Iterable[str]:
    """What becomes a tangent in `stmt` where `carriers` are tangents."""
    match stmt:
        case ir.Let(name=name, value=value) if flows(value, carriers):
            return (name,)
        case ir.Assign(target=target, value=value) | ir.Accumulate(target=target, value=value):
            return (target.array,) if flows(value, carriers) else ()
        case ir.Call(form="tangent"):
            return (a.array for a in slopes_of(stmt))
        case _:
            return ()


def flows(expr: ir.Expr, carriers: frozenset[str]) -> bool:
    """Whether one of `carriers` is among what `expr` is made of. What it is found by, subscripts, is not."""
    match expr:
        case ir.Load(access=access):
            return access.array in carriers
        case ir.Var(name=name) | ir.Param(name=name):
            return name in carriers
        case _:
            return any(flows(e, carriers) for e in operands(expr))


def directions_of(call: ir.Call) -> list[ir.Expr]:
    """The tangents that `call` takes."""
    values = set(call.rule.params)
    return [arg for name, arg in given(call).items() if name not in values]


def slopes_of(call: ir.Call) -> tuple[ir.Access, ...]:
    """Where the tangents go that `call` computes: cells, and parts of arrays."""
    values = {arg.access for name, arg in given(call).items() if name in call.rule.params and isinstance(arg, ir.Load)}
    parts = (a for a in written_parts(call) if a not in values)
    return (*(call.results[1::2] if call.rule.has_slope else ()), *parts)


# -- sets in place of tangents -----------------------------------------------------------------------------------
@immutable
class Sets:
    """Statements of `ls` with sets in place of what `carriers` hold; `cells` are new ones, for sets."""

    ls: ir.LoopSet
    carriers: frozenset[str]
    names: NameSupply
    cells: list[str] = field(default_factory=list)

    def statement(self, stmt: ir.Stmt) -> tuple[ir.Stmt, ...]:
        match stmt:
            case ir.Let(name=name, value=value) if name in self.carriers:
                return (replace(stmt, value=self.of(value)),)
            case ir.Assign(target=target, value=value) if target.array in self.carriers:
                return (replace(stmt, value=self.of(value)),)
            case ir.Accumulate(target=target, value=value) if target.array in self.carriers:
                return (self.joined_to(target, self.of(value)),)
            case ir.Allocate(array=array, fill=fill) if array in self.carriers and fill is not None:
                assert is_zero(fill)
                return (replace(stmt, fill=EMPTY),)
            case ir.If(cond=cond) | ir.Exit(cond=cond) | ir.Require(cond=cond):
                return (replace(stmt, cond=self.condition(cond, stmt)),)
            case ir.Call(form="tangent"):
                return tuple(self.call(stmt))
            case _:
                return (stmt,)

    def of(self, expr: ir.Expr) -> ir.Expr:
        """The set of what the tangent `expr` is made of."""
        match expr:
            case ir.Load(access=access):
                return expr if access.array in self.carriers else EMPTY
            case ir.Var(name=name) | ir.Param(name=name):
                return expr if name in self.carriers else EMPTY
            case ir.Select(cond=cond, then=then, orelse=orelse) if not flows(cond, self.carriers):
                first, second = self.of(then), self.of(orelse)
                return first if first == second else ir.Select(cond, first, second)
            case _:
                return union(self.of(e) for e in operands(expr))

    def condition(self, cond: ir.Expr, stmt: ir.Stmt) -> ir.Expr:
        """A condition of the program itself, or whether a tangent can be other than zero."""
        match cond:
            case ir.Apply(op=Op.OR, args=args):
                return replace(cond, args=tuple(self.condition(a, stmt) for a in args))
            case ir.Apply(op=Op.NE, args=(a, b)) if flows(cond, self.carriers) and is_zero(b):
                return compare(Op.NE, self.of(a), EMPTY)
            case _ if flows(cond, self.carriers):
                message = "a branch depends on a derivative: what the outputs depend on is not known"
                raise DifferentiationError(reject("LD408", message, stmt.loc))
            case _:
                return cond

    def call(self, stmt: ir.Call) -> Iterable[ir.Stmt]:
        """The function itself; all tangents that it would compute depend on all that it is given."""
        cell = ir.Access(self.names.fresh(f"{stmt.rule.name}_set"))
        self.cells.append(cell.array)
        yield ir.Assign(cell, EMPTY, loc=stmt.loc)
        for arg in directions_of(stmt):
            rest = self.elements(arg.access) if isinstance(arg, ir.Load) else None
            if rest is None:
                yield self.joined_to(cell, self.of(arg))
            else:
                loops, access = rest
                yield from nested(loops, (self.joined_to(cell, ir.Load(access)),))
        args, step = given(stmt), 2 if stmt.rule.has_slope else 1
        yield ir.Call(
            stmt.rule, "primal", tuple(args[n] for n in stmt.rule.params), stmt.results[::step], loc=stmt.loc
        )  # fmt: skip
        for slope in slopes_of(stmt):
            loops, access = self.elements(slope) or ([], slope)
            yield from nested(loops, (ir.Assign(access, ir.Load(cell), loc=stmt.loc),))

    def elements(self, part: ir.Access) -> tuple[list[ir.Loop], ir.Access] | None:
        """Loops over the elements of a part of an array, and an element; None for a single one."""
        decl = self.ls.array(part.array) if self.ls.has_array(part.array) else None
        if decl is None or decl.type is None or decl.type.rank == len(part.subscripts):
            return None
        loops, place = over_elements(extents_of(decl)[len(part.subscripts) :], self.names)
        return loops, ir.Access(part.array, (*part.subscripts, *place))

    def joined_to(self, target: ir.Access, found: ir.Expr) -> ir.Stmt:
        return ir.Assign(target, union((ir.Load(target), found)))


def union(sets: Iterable[ir.Expr]) -> ir.Expr:
    parts = [s for s in dict.fromkeys(sets) if s != EMPTY]
    return reduce(lambda a, b: ir.Apply(Op.BITOR, (a, b)), parts) if parts else EMPTY
