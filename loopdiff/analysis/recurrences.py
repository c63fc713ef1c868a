"""Recurrences: elements and cells that an iteration gets from the one right before it.

    a[i] = (a[i - 1] + b[i] + c[i] + d[i]) / 4

Whatever the machine does at once, one iteration after the other takes as long as the operations from `a[i - 1]` to
`a[i]`: four here, of which three can be done before.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from loopdiff.analysis.cell_flow import exposed_cells
from loopdiff.immutable import immutable
from loopdiff.ir import nodes as ir
from loopdiff.ir.affine import Sum, linear
from loopdiff.ir.typing import cell_types
from loopdiff.ir.walk import all_statements, nodes_of, subexprs, written_arrays

Form = tuple[tuple[Sum, int], ...]
Names = frozenset[str]
NONE: Names = frozenset()
FAR = 4  # iterations: what was made before that is ready


@immutable
class Recurrence:
    """What comes from the iterations right before: elements as they are accessed, Lets and cells by name."""

    elements: frozenset[ir.Access]
    names: frozenset[str]

    def waits(self, expr: ir.Expr) -> bool:
        """Whether the value of `expr` needs what an earlier iteration made."""
        return any(self.is_late(e) for e in subexprs(expr))

    def is_late(self, expr: ir.Expr) -> bool:
        match expr:
            case ir.Load(access=access):
                return access in self.elements or (not access.subscripts and access.array in self.names)
            case ir.Var(name=name):
                return name in self.names
            case _:
                return False


NOTHING = Recurrence(frozenset(), frozenset())


def recurrence(loop: ir.Loop, cells: Collection[str]) -> Recurrence:
    """What iterations of an innermost loop hand on to the next ones; `cells` are the scalars of the function."""
    sites = all_statements(loop.body)
    if any(isinstance(s, ir.Loop) for s in sites) or not isinstance(loop.step, ir.Const):
        return NOTHING
    known = frozenset(cells)
    begun = exposed_cells(loop.body, written_arrays(loop.body) & known, known)
    stored = [s.target for s in sites if isinstance(s, ir.Assign | ir.Accumulate) and s.target.subscripts]
    loaded = {e.access for s in sites for e in nodes_of(s) if isinstance(e, ir.Load)}
    forms = [(w.array, form(w)) for w in stored]
    elements = frozenset(r for r in loaded if any(r.array == a and follows(f, form(r), loop) for a, f in forms))
    flow = Flow(elements, {c: frozenset((c,)) for c in begun}, {})
    flow.block(loop.body)
    late = flow.late(begun)
    return Recurrence(elements, frozenset(n for n, found in flow.ever.items() if found & late) | (late & begun))


@dataclass(slots=True)
class Flow:
    """Follows what iterations begin with: `now`, the cells whose beginnings go into each cell and Let, and `ever` did.

    Late `elements` go by the name of none.
    """

    elements: frozenset[ir.Access]
    now: dict[str, Names]
    ever: dict[str, Names]

    def block(self, body: tuple[ir.Stmt, ...], is_sure: bool = True) -> None:
        for stmt in body:
            match stmt:
                case ir.Let(name=name, value=value):
                    self.give(name, self.of(value))
                case ir.Assign(target=ir.Access(array=name, subscripts=()), value=value):
                    self.give(name, self.of(value) | (NONE if is_sure else self.now.get(name, NONE)))
                case ir.Accumulate(target=ir.Access(array=name, subscripts=()), value=value):
                    self.give(name, self.of(value) | self.now.get(name, NONE))
                case ir.If(then=then, orelse=orelse):
                    self.block(then, is_sure=False)
                    self.block(orelse, is_sure=False)
                case _:
                    pass

    def give(self, name: str, found: Names) -> None:
        self.now[name] = found
        self.ever[name] = self.ever.get(name, NONE) | found

    def of(self, value: ir.Expr) -> Names:
        found = NONE
        for e in subexprs(value):
            match e:
                case ir.Load(access=access) if access in self.elements:
                    found |= {""}
                case ir.Load(access=ir.Access(array=name, subscripts=())) | ir.Var(name=name):
                    found |= self.now.get(name, NONE)
                case _:
                    pass
        return found

    def late(self, begun: Names) -> Names:
        """The cells, of those that iterations begin with, that go into themselves, or into which such a cell goes."""
        reached = {c: self.now.get(c, NONE) for c in begun}
        for middle in begun:
            for c in begun:
                if middle in reached[c]:
                    reached[c] |= reached[middle]
        late = {"", *(c for c in begun if c in reached[c])}
        return frozenset(late | {c for c in begun if reached[c] & late})


def form(access: ir.Access) -> Form:
    """Subscripts as sums."""
    return tuple(map(linear, access.subscripts))


def follows(store: Form, load: Form, loop: ir.Loop) -> bool:
    """Whether the load reads the element that the store wrote in one of the iterations right before."""
    assert isinstance(loop.step, ir.Const)
    if len(store) != len(load) or any(at[0] != to[0] for to, at in zip(store, load, strict=True)):
        return False
    index, step = ir.Index(loop.index), int(loop.step.value)
    return any(
        all(at[1] - to[1] == -back * step * at[0].get(index, 0) for to, at in zip(store, load, strict=True))
        for back in range(1, FAR + 1)
        if any(index in at[0] for at in load)
    )


def hands_on(loop: ir.Loop, ls: ir.LoopSet) -> bool:
    """Whether iterations of `loop`, an innermost one, get values from the ones right before."""
    found = recurrence(loop, cell_types(ls))
    return bool(found.elements or found.names)
