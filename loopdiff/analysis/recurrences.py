"""Recurrences: elements and cells that an iteration gets from the one right before it.

    a[i] = (a[i - 1] + b[i] + c[i] + d[i]) / 4

Whatever the machine does at once, one iteration after the other takes as long as the operations from `a[i - 1]` to
`a[i]`: four here, of which three can be done before.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from loopdiff.analysis.liveness import exposed_cells
from loopdiff.ir.affine import Sum, linear
from loopdiff.ir.nodes import Access, Accumulate, Assign, Const, Expr, If, Index, Let, Load, Loop, LoopSet, Stmt, Var
from loopdiff.ir.typing import cell_types
from loopdiff.ir.walk import statements, stmt_exprs, subexprs, written_arrays

Form = tuple[tuple[Sum, int], ...]
Names = frozenset[str]
NONE: Names = frozenset()
FAR = 4  # iterations: what was made before that is ready


@dataclass(frozen=True, slots=True)
class Recurrence:
    """What comes from the iterations right before: elements as they are accessed, Lets and cells by name."""

    elements: frozenset[Access]
    names: frozenset[str]

    def waits(self, expr: Expr) -> bool:
        """Whether the value of `expr` needs what an earlier iteration made."""
        return any(self.is_late(e) for e in subexprs(expr))

    def is_late(self, expr: Expr) -> bool:
        match expr:
            case Load(access=access):
                return access in self.elements or (not access.subscripts and access.array in self.names)
            case Var(name=name):
                return name in self.names
            case _:
                return False


NOTHING = Recurrence(frozenset(), frozenset())


def recurrence(loop: Loop, cells: Collection[str]) -> Recurrence:
    """What iterations of an innermost loop hand on to the next ones; `cells` are the scalars of the function."""
    sites = [s.stmt for s in statements(loop.body)]
    if any(isinstance(s, Loop) for s in sites) or not isinstance(loop.step, Const):
        return NOTHING
    known = frozenset(cells)
    begun = exposed_cells(loop.body, written_arrays(loop.body) & known, known)
    stored = [s.target for s in sites if isinstance(s, Assign | Accumulate) and s.target.subscripts]
    loaded = {e.access for s in sites for x in stmt_exprs(s) for e in subexprs(x) if isinstance(e, Load)}
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

    elements: frozenset[Access]
    now: dict[str, Names]
    ever: dict[str, Names]

    def block(self, body: tuple[Stmt, ...], is_sure: bool = True) -> None:
        for stmt in body:
            match stmt:
                case Let(name=name, value=value):
                    self.give(name, self.of(value))
                case Assign(target=Access(array=name, subscripts=()), value=value):
                    self.give(name, self.of(value) | (NONE if is_sure else self.now.get(name, NONE)))
                case Accumulate(target=Access(array=name, subscripts=()), value=value):
                    self.give(name, self.of(value) | self.now.get(name, NONE))
                case If(then=then, orelse=orelse):
                    self.block(then, is_sure=False)
                    self.block(orelse, is_sure=False)
                case _:
                    pass

    def give(self, name: str, found: Names) -> None:
        self.now[name] = found
        self.ever[name] = self.ever.get(name, NONE) | found

    def of(self, value: Expr) -> Names:
        found = NONE
        for e in subexprs(value):
            match e:
                case Load(access=access) if access in self.elements:
                    found |= {""}
                case Load(access=Access(array=name, subscripts=())) | Var(name=name):
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


def form(access: Access) -> Form:
    """Subscripts as sums."""
    return tuple(map(linear, access.subscripts))


def follows(store: Form, load: Form, loop: Loop) -> bool:
    """Whether the load reads the element that the store wrote in one of the iterations right before."""
    assert isinstance(loop.step, Const)
    if len(store) != len(load) or any(at[0] != to[0] for to, at in zip(store, load, strict=True)):
        return False
    index, step = Index(loop.index), int(loop.step.value)
    return any(
        all(at[1] - to[1] == -back * step * at[0].get(index, 0) for to, at in zip(store, load, strict=True))
        for back in range(1, FAR + 1)
        if any(index in at[0] for at in load)
    )


def hands_on(loop: Loop, ls: LoopSet) -> bool:
    """Whether iterations of `loop`, an innermost one, get values from the ones right before."""
    found = recurrence(loop, cell_types(ls))
    return bool(found.elements or found.names)
