"""What comes late in an iteration, the rest being done first: what the one before made, and sums of loops inside.

    a[i] = (a[i - 1] + b[i] + c[i] + d[i]) / e[i]

Whatever the machine does at once, one iteration after the other takes as long as the operations from `a[i - 1]` to
`a[i]`: three sums and a division here. Two of the sums can be made before, and the inverse of `e[i]`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from loopdiff.analysis.liveness import exposed_cells
from loopdiff.ir.linear import Sum, linear
from loopdiff.ir.nodes import Access, Accumulate, Assign, Const, Expr, If, Index, Let, Load, Loop, Stmt, Var
from loopdiff.ir.walk import statements, stmt_exprs, subexprs, written_arrays

Form = tuple[tuple[Sum, int], ...]
Names = frozenset[str]
NONE: Names = frozenset()
FAR = 4  # iterations: what was made before that is ready


@dataclass(frozen=True, slots=True)
class Recurrence:
    """What comes late: elements as they are accessed, Lets and cells by name, and all elements of some arrays."""

    elements: frozenset[Access] = frozenset()
    names: Names = NONE
    arrays: Names = NONE

    def waits(self, expr: Expr) -> bool:
        """Whether the value of `expr` needs something that comes late."""
        return any(self.is_late(e) for e in subexprs(expr))

    def is_late(self, expr: Expr) -> bool:
        match expr:
            case Load(access=Access(array=array, subscripts=())):
                return array in self.names
            case Load(access=access):
                return access in self.elements or access.array in self.arrays
            case Var(name=name):
                return name in self.names
            case _:
                return False


NOTHING = Recurrence()


def recurrence(loop: Loop, cells: Collection[str]) -> Recurrence:
    """What comes late in iterations of `loop`; `cells` are the scalars of the function."""
    if not isinstance(loop.step, Const):
        return NOTHING
    if any(isinstance(s.stmt, Loop) for s in statements(loop.body)):
        return results_inside(loop)
    sites = [s.stmt for s in statements(loop.body)]
    known = frozenset(cells)
    begun = exposed_cells(loop.body, written_arrays(loop.body) & known, known)
    stored = [s.target for s in sites if isinstance(s, Assign | Accumulate) and s.target.subscripts]
    loaded = {e.access for s in sites for x in stmt_exprs(s) for e in subexprs(x) if isinstance(e, Load)}
    forms = [(w.array, form(w)) for w in stored]
    elements = frozenset(r for r in loaded if any(r.array == a and hands_on(f, form(r), loop) for a, f in forms))
    flow = Flow(Recurrence(elements), {c: frozenset((c,)) for c in begun}, {})
    flow.block(loop.body)
    late = flow.late(begun)
    return Recurrence(elements, frozenset(n for n, found in flow.ever.items() if found & late) | (late & begun))


def results_inside(loop: Loop) -> Recurrence:
    """What loops inside of `loop` make: elements that are the same for all their iterations, and any of arrays of which
    each makes one."""
    inside = [s for s in statements(loop.body) if s.loops]
    indices = {s.stmt.index for s in statements(loop.body) if isinstance(s.stmt, Loop)}
    targets = [s.stmt.target for s in inside if isinstance(s.stmt, Assign | Accumulate)]
    places = {t: {e.name for s in t.subscripts for e in subexprs(s) if isinstance(e, Index | Var)} for t in targets}
    moving = indices | {s.stmt.name for s in inside if isinstance(s.stmt, Let)}
    cells = frozenset(t.array for t in targets if not t.subscripts)
    fixed = frozenset(t for t in targets if t.subscripts and not places[t] & moving)
    found = Recurrence(fixed, cells, frozenset(t.array for t in targets if places[t] & moving))
    flow = Flow(found, dict.fromkeys(cells, frozenset(("",))), {})
    flow.block(loop.body)
    return replace(found, names=cells | {n for n, sources in flow.ever.items() if sources})


@dataclass(slots=True)
class Flow:
    """Follows what iterations begin with: `now`, the cells whose beginnings go into each cell and Let, and `ever` did.

    What is `known` to be late goes by the name of none.
    """

    known: Recurrence
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
                case Load(access=Access(subscripts=subscripts)) if subscripts and self.known.is_late(e):
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


def hands_on(store: Form, load: Form, loop: Loop) -> bool:
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
