"""Early ends of iterations of the reverse sweep whose rest only adds multiples of an adjoint that is zero.

    for j in ...:                                for j in ...:
        bar = t_adj[i, j]                            bar = t_adj[i, j]
        for k in range(j): ties += ...               if bar != 0.0:
        share = bar / ties              becomes          for k in range(j): ties += ...
        t_adj[i, j - 1] += share * c                     share = bar / ties
        w_adj[i, j] = share                              t_adj[i, j - 1] += share * c
                                                         w_adj[i, j] = share
                                                     else:
                                                         w_adj[i, j] = 0.0

What is left out would have added zeros, which the next iteration has to wait for all the same.
"""

from __future__ import annotations

from loopdiff.analysis.cell_flow import exposed_cells
from loopdiff.immutable import immutable, replace
from loopdiff.ir import nodes as ir
from loopdiff.ir.build import compare, zero
from loopdiff.ir.ops import Op
from loopdiff.ir.slicing import names_read
from loopdiff.ir.typing import TypeEnv
from loopdiff.ir.walk import accesses, all_statements, lets_in, result_arrays, written_arrays
from loopdiff.passes.sweeps.zero_implication import vanishes

Body = tuple[ir.Stmt, ...]
Names = frozenset[str]


@immutable
class IterationIdler:
    ls: ir.LoopSet
    types: TypeEnv
    cells: Names

    def skipping(self, body: Body) -> Body | None:
        """The `body` of a loop with its rest under the condition that an adjoint which it begins with is not zero; None
        if there is no such adjoint."""
        for number, stmt in enumerate(body):
            match stmt:
                case ir.Let(name=name, value=ir.Load(access=access)) if self.is_adjoint(access):
                    found = self.under(name, body[number + 1 :])
                    if found is not None:
                        late = late_lets(body[:number], names_read((stmt, *found.orelse)))
                        early = (s for s in body[: number + 1] if s not in late)
                        return (*early, replace(found, then=(*late, *found.then)))
                case _:
                    pass
        return None

    def is_adjoint(self, access: ir.Access) -> bool:
        """Whether it is an element of an adjoint: of other numbers zero times infinity is to be seen."""
        decl = self.ls.array(access.array)
        return bool(access.subscripts) and decl.role in ("adjoint", "gradient")

    def under(self, name: str, rest: Body) -> ir.If | None:
        """What follows the Let `name` in an iteration, under the condition that this is not zero; None if it may do
        something where it is."""
        if not any(isinstance(s, ir.Loop) for s in rest) or not self.is_inside(rest):
            return None
        zeros = {name}
        left = self.left(rest, zeros)
        if left is None or names_read(left) & (lets_in(rest) | written_arrays(rest)):
            return None
        kind = self.types.lets[name]
        return ir.If(compare(Op.NE, ir.Var(name), zero(kind)), rest, left, loc=rest[0].loc)

    def is_inside(self, rest: Body) -> bool:
        """Whether the cells that statements write matter to them alone, and have a new value each time."""
        written = written_arrays(rest) & self.cells
        elsewhere = [a.array for s in all_statements(self.ls.body) for a in accesses(s) if a.array in written]
        inside = [a.array for s in all_statements(rest) for a in accesses(s) if a.array in written]
        is_theirs = sorted(elsewhere) == sorted(inside) and not written & result_arrays(self.ls)
        return is_theirs and not exposed_cells(rest, written, self.cells)

    def left(self, body: Body, zeros: set[str]) -> Body | None:
        """What `body` still does where `zeros`, to which Lets are added, are zero; None if that is more than to store
        zeros."""
        out: list[ir.Stmt] = []
        for stmt in body:
            found = self.left_of(stmt, zeros)
            if found is None:
                return None
            out += found
        return tuple(out)

    def left_of(self, stmt: ir.Stmt, zeros: set[str]) -> Body | None:
        match stmt:
            case ir.Let(name=name, value=value):
                if vanishes(value, zeros):
                    zeros.add(name)
                return ()
            case ir.Assign(target=target) | ir.Accumulate(target=target) if target.array in self.cells:
                return ()
            case ir.Accumulate(op="add", value=value) if vanishes(value, zeros):
                return ()
            case ir.Assign(target=target, value=value) if vanishes(value, zeros):
                return (replace(stmt, value=zero(self.types.arrays[target.array].element)),)
            case ir.If(then=then, orelse=orelse):
                yes, no = self.left(then, set(zeros)), self.left(orelse, set(zeros))
                if yes is None or no is None:
                    return None
                return (replace(stmt, then=yes, orelse=no),) if yes or no else ()
            case ir.Loop(body=body):
                return () if self.left(body, set(zeros)) == () else None
            case _:
                return None


def late_lets(body: Body, needed: Names) -> Body:
    """The Lets at the end of `body` beside those `needed` there."""
    out: list[ir.Stmt] = []
    for stmt in reversed(body):
        if not isinstance(stmt, ir.Let):
            break
        if stmt.name in needed:
            needed |= names_read((stmt,))
        else:
            out.insert(0, stmt)
    return tuple(out)
